"""Which passes run, and in which order.

``clean`` is what a trace has gone through before anybody sees it: nothing is computed differently, there is only less
of it.  ``default`` simplifies as well.
"""

from collections.abc import Iterable
from typing import Final

from hovis.errors import SpecError, said
from hovis.ir.model import Function
from hovis.ir.verifier import verify as check_function
from hovis.passes.cfg.block_order import order
from hovis.passes.cfg.cross_jumping import endings
from hovis.passes.cfg.handler_elimination import passing, unseen_handlers
from hovis.passes.cfg.signal_polls import delayed_polls, spare_polls
from hovis.passes.cfg.simplify_cfg import straighten
from hovis.passes.cfg.tail_merging import tails, warm_tails
from hovis.passes.functions.argument_elimination import arguments
from hovis.passes.functions.inlining import inlining
from hovis.passes.functions.merge_functions import twins
from hovis.passes.functions.unpeel_recursion import peeled
from hovis.passes.loops.licm import hoisting, sinking
from hovis.passes.loops.loop_deletion import idle_loops
from hovis.passes.loops.loop_idioms import counting
from hovis.passes.loops.loop_versioning import versions
from hovis.passes.memory.dict_scalarization import layers
from hovis.passes.memory.list_append_merging import building
from hovis.passes.memory.load_store_forwarding import forwarding
from hovis.passes.pass_runner import Check, checking, run_pass
from hovis.passes.rewriting import Pass, copy
from hovis.passes.scalar.correlated_branches import implied, threading
from hovis.passes.scalar.dce import dead
from hovis.passes.scalar.effect_refinement import effects
from hovis.passes.scalar.gvn import numbering
from hovis.passes.scalar.instcombine import fold
from hovis.passes.scalar.loop_gvn import congruence
from hovis.passes.scalar.sccp import constants
from hovis.passes.scalar.strength_reduction import strength
from hovis.passes.scalar.trivial_phis import trivial_params

#: All passes by name.
PASSES: Final[dict[str, Pass]] = {
    one.__name__: one
    for one in (
        straighten, trivial_params, arguments, inlining, fold, constants, congruence, numbering, forwarding, layers, implied, threading, dead, effects,
        unseen_handlers, passing, spare_polls, delayed_polls, idle_loops, tails, warm_tails, versions, counting, hoisting, sinking, strength, endings, building,
        twins, peeled, order,
    )
}  # fmt: skip

_CLEAN: Final = ["passing", "spare_polls", "straighten", "trivial_params", "dead", "effects", "unseen_handlers"]
_DEFAULT: Final = [
    "passing", "spare_polls", "straighten", "trivial_params", "arguments", "inlining", "fold", "congruence", "numbering", "forwarding", "layers", "implied",
    "threading", "dead", "effects", "unseen_handlers", "idle_loops", "tails",
]
#: For text: ways that meet in a handler are told apart again there, arithmetic is as the user wrote it, and signals are looked for in place
#: of the jumps of loops only where Ctrl-C is caught.
_INSTEAD: Final = {"spare_polls": ("spare_polls", "delayed_polls"), "tails": ("warm_tails",)}
_READABLE: Final = [other for name in _DEFAULT for other in _INSTEAD.get(name, (name,))]
_LATE: Final = [
    "constants", "versions", "counting", "straighten", "trivial_params", "fold", "dead", "hoisting", "sinking", "strength", "endings", "building",
    "twins", "peeled", "order",
]
_READABLE_LATE: Final = [name for name in _LATE if name != "strength"]

#: What runs again and again until nothing changes, and what then runs once.
PIPELINES: Final[dict[str, tuple[list[str], list[str]]]] = {"clean": (_CLEAN, ["order"]), "default": (_DEFAULT, _LATE), "readable": (_READABLE, _READABLE_LATE)}

#: More rounds than this are not worth their time.
MAX_ROUNDS: Final = 20


def run(function: Function, passes: str | Iterable[str] = "default", verify: bool | None = None) -> Function:
    """A new Function: that of a pipeline ("clean", "default", "readable"), or of these passes, each once.

    "default-counting-versions" is the pipeline without these passes.

    With verify, or HOVIS_VERIFY=1 in the environment, the Function is verified before, and after every pass.  VerifierError
    names the pass.
    """
    check = checking() if verify is None else check_function if verify else None
    repeated, once = _named(passes) if isinstance(passes, str) else ([], list(passes))
    unknown = [one for one in once if type(one) is not str or one not in PASSES]
    if unknown:
        raise SpecError(f"there is no pass {said(unknown[0])}: {', '.join(PASSES)}")
    made: Function = run_pass("before all passes", copy, function, check)
    for _ in range(MAX_ROUNDS if repeated else 0):
        if not _each(made, repeated, check):
            break
    _each(made, once, check)
    return made


def _named(pipeline: str) -> tuple[list[str], list[str]]:
    name, *without = pipeline.split("-")
    unknown = [one for one in without if one not in PASSES]
    if name not in PIPELINES or unknown:
        raise SpecError(f"there is no {'pass ' + repr(unknown[0]) if unknown else 'pipeline ' + repr(name)}: {', '.join(PASSES if unknown else PIPELINES)}")
    repeated, once = PIPELINES[name]
    return [one for one in repeated if one not in without], [one for one in once if one not in without]


def _each(function: Function, names: list[str], check: Check[Function] | None) -> bool:
    """One round: every pass over every function."""
    changed = False
    for name in names:
        changed |= run_pass(name, PASSES[name].rewrite_all, function, check)
    return changed


def clean(function: Function) -> Function:
    """What tracing leaves behind is taken away; no algebra."""
    return run(function, "clean")


def default(function: Function) -> Function:
    """Simplified: what is known is computed, what is computed twice is computed once, loops for nothing are gone."""
    return run(function, "default")
