"""A golden text for every pass, by its name: a small Function, or a small module of StableHLO, before and after the pass.

    == numbering
    fn twice(%1 :: Int) :: Int        the input of the pass, written by hand
    …
    --
    fn twice(%1 :: Int) :: Int        the output of the pass: `pytest tests/golden/test_passes.py --bless` rewrites it
    …

Functions are also run, before and after the pass.
"""
from __future__ import annotations

import difflib
import itertools
import math
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

import hovis
from hovis.errors import VerifierError
from hovis.ir import Branch, Edge, Function, Jump, Param, callees, parse, show, verify
from hovis.lattice import Array, Type
from hovis.passes import PASSES, Pass, run
from hovis.passes.pipeline import FORMER
from hovis.passes.rewriting import copy
from hovis.transforms import Interpreter, evaluate
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.analysis.loop_forest import Catching
from hovis_xla.hlo import chain_splitting, licm
from hovis_xla.hlo.module import Module
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.lowering import pipeline
from hovis_xla.partition.outlining import Outlined, outline
from hovis_xla.prepare.iterator_end_threading import thread_iterator_ends
from hovis_xla.prepare.pad_function import Size, bucket
from hovis_xla.prepare.padding_rules import bucketed
from hovis_xla.prepare.tail_recursion import eliminate_tail_recursion
from tests.differential.harness.compare import observe, same

pytestmark = pytest.mark.xla

FOLDER = Path(__file__).parent


def read(path: Path) -> dict[str, tuple[str, str]]:
    sections = path.read_text(encoding="utf-8").split("== ")[1:]
    found = [section.partition("\n")[::2] for section in sections]
    return {name: (text.partition("\n--\n")[0].strip(), text.partition("\n--\n")[2].strip()) for name, text in found}


def check(path: Path, name: str, got: str, bless: bool) -> None:
    golden = read(path)
    if bless:
        golden[name] = golden[name][0], got
        path.write_text("".join(f"== {name}\n{before}\n--\n{after}\n\n" for name, (before, after) in golden.items()), encoding="utf-8")
    elif got != golden[name][1]:
        diff = "\n".join(difflib.unified_diff(golden[name][1].splitlines(), got.splitlines(), "golden", "hovis", lineterm="", n=100))
        pytest.fail(f"{path.name}: {name}\n{diff}\n`pytest tests/golden/test_passes.py --bless` rewrites it", pytrace=False)


# ------------------------------------------------------------------------------------------------- Functions


class Piece:
    """An outlined piece of a Function, which is evaluated."""

    __name__ = "piece"
    left = staticmethod(lambda: None)

    def __init__(self, found: Outlined) -> None:
        self.outlined, self.log = found, Log()

    def __call__(self, *args: object) -> object:
        return evaluate(self.outlined.function, *args)


def outlined(function: Function) -> Function:
    """Outline the loop of a Function as a piece."""
    made = copy(function)
    loop = {block for block in made.blocks[1:-1]}
    outline(made, made.blocks[1], loop, Piece, {})
    return made


#: The function that runs a pass, by the name of the pass.
RUN = {
    **PASSES,
    **{stage.__name__: stage for stage in (*pipeline.SHAPING, *pipeline.IN_ROUNDS, *pipeline.LEADING)},
    "bucketed": lambda function: bucketed(function, [(Size(0),)], [bucket(10)])[0],
    "unpeel: half a round": pipeline.unpeel,
    "outline": outlined,
}
FUNCTIONS = FOLDER / "passes.txt"
#: Passes that are not run: their results take arguments of another kind, or leave exceptions to Python.
NOT_RUN = {"bucketed", "scalarize_strided_stores", "prune_raising_paths"}


def text_of(function: Function) -> str:
    """Return the text of a Function, with the handlers that are compiled."""
    caught = [f"# compiled: what block {k + 1} catches" for one in callees(function) for k, b in enumerate(one.blocks) if isinstance(b.terminator, Catching)]
    return "\n".join([show(function, full=True), *caught])


def test_every_pass_has_a_golden():
    assert set(read(FUNCTIONS)) == set(RUN)


@pytest.mark.parametrize("name", RUN)
def test_functions(name, bless):
    before, _ = read(FUNCTIONS)[name]
    function = parse(before)
    verify(function)
    after = RUN[name](function)
    verify(after)
    got = text_of(after)
    assert text_of(function) == text_of(parse(before)) != got, "it is left as it was, or changed where it stands"
    check(FUNCTIONS, name, got, bless)
    if name not in NOT_RUN:
        for args in itertools.islice(itertools.product(*map(some, function.params)), 4):
            same(observe(Bounded(parse(before)), deepcopy(args), {}), observe(Bounded(after), deepcopy(args), {}), f"{name}{args}")


def some(param: Param) -> list[object]:
    """Return some values of the type of a parameter."""
    if isinstance(param.type, Array):
        shape = [dim.value for dim in param.dims]
        return [np.arange(math.prod(shape), dtype=param.type.dtype).reshape(shape)]
    return SOME.get(param.type, [[3, 1, 2]])


class Bounded(Interpreter):
    """Runs a Function for a limited number of branches."""

    def __init__(self, function: Function) -> None:
        self.function, self.left = function, 200

    def __call__(self, *args: object) -> object:
        return self.evaluate(self.function, *args)

    def branch(self, branch: Branch, condition: object) -> bool:
        self.left -= 1
        assert self.left, "it may go on for ever"
        return super().branch(branch, condition)


SOME = {Type(int): [3, 1, 6, 0], Type(float): [2.5, 0.5, -1.0], Type(bool): [True, False], Type(dict): [{"a": 1}]}


# ------------------------------------------------------------------------------------------------- modules

MODULES = FOLDER / "modules.txt"
#: Bounds, set low enough that a small module exceeds them.
BOUNDS = {"split_chains": (chain_splitting, "DEEPEST", 4), "hoist_invariants": (licm, "MANY", 2)}


def test_every_pass_over_modules_has_a_golden():
    assert set(read(MODULES)) == {act.__name__ for act in pipeline.OF_MODULES}


@pytest.mark.parametrize("act", pipeline.OF_MODULES, ids=lambda act: act.__name__)
def test_modules(act, bless, monkeypatch):
    name = act.__name__
    if name in BOUNDS:
        monkeypatch.setattr(*BOUNDS[name])
    before, after = read(MODULES)[name]
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(before)
        pipeline.rewrite(act, Module(module), *([True] if name == "assign_dot_layouts" else []))
        got = str(module).strip()
        assert got != str(ir.Module.parse(before)).strip(), "it is left as it was"
        if not bless:  # each version of jaxlib prints it differently
            golden = str(ir.Module.parse(after)).strip()
            got = after if got == golden else got
    check(MODULES, name, got, bless)


# ------------------------------------------------------------------------------------------------- the pass runner


def broken(function: Function) -> Function:
    """A faulty pass: it adds a jump to the entry block without arguments."""
    made = copy(function)
    made.blocks[-1].terminator = Jump(Edge(made.blocks[0], ()))
    return made


def broken_module(module):
    """A faulty pass over modules: it changes the type of a function."""
    module.ir.body.operations[0].attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))


FUNCTION = "fn f(%1 :: Int) :: Int\n1:\n  %2 = (+)(%1, 1) :: Int\n  br 2\n2:\n  return %2"


def test_the_verifier_names_the_pass(monkeypatch):
    monkeypatch.setenv("HOVIS_VERIFY", "1")
    monkeypatch.setattr(pipeline, "SHAPING", (eliminate_tail_recursion, broken, thread_iterator_ends))
    with pytest.raises(VerifierError, match="^broken: f is broken:"):
        pipeline.shaped(parse(FUNCTION))
    monkeypatch.setitem(PASSES, "dce", Pass(lambda function: not function.blocks[0].ops.clear(), False, False))
    with pytest.raises(VerifierError, match="^dce: f is broken:"):
        run(parse(FUNCTION), ["instcombine", "dce"])
    with pytest.raises(VerifierError, match="^before all passes: f is broken:"):
        run(broken(parse(FUNCTION)), "clean")


def test_the_verifier_names_the_pass_over_a_module(monkeypatch):
    monkeypatch.setenv("HOVIS_VERIFY", "1")
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(read(MODULES)["split_chains"][0])
        with pytest.raises(VerifierError, match="^broken_module: "):
            pipeline.rewrite(broken_module, Module(module))
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(read(MODULES)["split_chains"][0])
        with pytest.raises(VerifierError):  # what such a pass returns does not say whether it has changed the module
            pipeline.rewrite(lambda one: bool(broken_module(one)), Module(module))


def test_nothing_is_verified_else(monkeypatch):
    monkeypatch.setenv("HOVIS_VERIFY", "0")
    monkeypatch.setattr(pipeline, "SHAPING", (broken,))
    pipeline.shaped(parse(FUNCTION))
    monkeypatch.delenv("HOVIS_VERIFY")
    run(broken(parse(FUNCTION)), [])


def test_what_a_pass_changes_is_printed(monkeypatch, capsys):
    monkeypatch.setenv("HOVIS_PRINT_AFTER", "simplify_cfg,eliminate_tail_recursion")
    run(parse(FUNCTION), ["simplify_cfg", "dce"])
    pipeline.shaped(parse(FUNCTION))
    printed = capsys.readouterr().err
    assert printed.count("== before simplify_cfg\n") == 1 and printed.count("== after ") == 1 and "== after simplify_cfg\n1: (%1 :: Int)" in printed

def test_passes_have_their_former_names_too():
    made = run(parse(FUNCTION), ["straighten", "dead"])
    assert len(made.blocks) == 1 and str(run(parse(FUNCTION), "default-counting")) == str(run(parse(FUNCTION), "default-loop_idioms"))
    assert set(FORMER.values()) <= set(PASSES) and not set(FORMER) & set(PASSES)


def test_the_passes_over_loops_are_a_pipeline():
    def collatz(n):
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    trace = hovis.trace(collatz, hovis.Int).passes("default")
    loops = trace.passes("xla-loops")
    assert str(loops.function) == str(pipeline.in_rounds(pipeline.shaped(trace.function))) != str(trace.function)
    assert hovis.evaluate(loops.function, 27) == collatz(27)
