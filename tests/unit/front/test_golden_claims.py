"""What the goldens of tests/golden/cases/interpreters.py mean, said without their text."""
from __future__ import annotations

import numpy as np
import pytest

import hovis
from hovis import Bool, Int, const
from tests.golden import harness

shown = harness.load(harness.FOLDER / "interpreters.py")


def callees(trace):
    return [getattr(op.callee, "__name__", str(op.callee)) for op in trace.ops]


def test_a_power_of_known_numbers_is_folded_whole():
    trace = hovis.trace(shown.pow, 2, 1000)
    assert not trace.ops
    assert trace.compile()() == 2 ** 1000


def test_a_loop_without_effect_goes_only_by_the_passes():
    assert len(hovis.trace(shown.pow, 1, Int).passes("default").blocks) == 1


@pytest.mark.parametrize("name", ["pow", "numpy"])
def test_long_loops_are_traced_as_loops(name):
    def repeated(x):
        for _ in range(1000):
            x = np.sin(x) * 0.5 + x
        return x
    fn, specs = (shown.pow, (Int, const(100000))) if name == "pow" else (repeated, (hovis.Array(np.dtype("float64"), (8,)),))
    assert len(hovis.trace(fn, *specs).blocks) <= 5


@pytest.mark.parametrize(("fn", "specs"), [(shown.env_loop, (Int, Int)), (shown.env_helper, (Int, Int)), (shown.slots, (Bool, Int))])
def test_no_container_is_left(fn, specs):
    left = set(callees(hovis.trace(fn, *specs))) & {"dict", "list", "getitem", "setitem", "getattr", "setattr", "Machine"}
    assert not left


def test_recursion_on_an_unknown_number_is_a_residual_function():
    trace = hovis.trace(shown.fact, Int)
    assert not trace.fallback
    assert str(trace.type) == "Int"
    assert trace.compile()(20) == shown.fact(20)


def test_two_additions():
    trace = hovis.trace(shown.flat, "++", {}, list)
    assert len(trace.blocks) == 1
    assert sum(name in ("add", "iadd") for name in callees(trace)) == 2


@pytest.mark.parametrize("specs", [(shown.flat, shown.MOVES, shown.jumps(shown.MOVES), list), (shown.tree, shown.parse(shown.MOVES), 0, list)], ids=["flat", "tree"])
def test_nothing_of_the_interpreter_is_left(specs):
    fn, *specs = specs
    # closed forms ask for the length
    trace = hovis.trace(fn, *specs).passes("default-loop_versioning")
    body = str(trace).partition("\n")[2]
    assert not trace.fallback
    assert not any(c in body for c in ("'+'", "'-'", "'>'", "'<'", "'['", "isinstance", "len("))
    for op in trace.ops:
        if getattr(op.callee, "__name__", "") == "getitem":
            assert op.args[1] in (const(0), const(1), const(2)), f"an index is not constant: {op.args[1]}"
