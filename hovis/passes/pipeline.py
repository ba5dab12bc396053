"""Pipelines: the passes that run, and their order.

``clean`` runs on each trace before anybody sees it: it only removes what is not needed, and changes no computation that stays.
``default`` simplifies computations as well.
"""

from collections.abc import Callable, Iterable
from typing import Final

from hovis.errors import SpecError, said
from hovis.ir.model import Function
from hovis.ir.verifier import verify as check_function
from hovis.passes.cfg.block_order import block_order
from hovis.passes.cfg.cross_jumping import cross_jumping
from hovis.passes.cfg.handler_elimination import handler_elimination, reraise_elimination
from hovis.passes.cfg.signal_polls import call_completion, poll_delay, poll_elimination
from hovis.passes.cfg.simplify_cfg import simplify_cfg
from hovis.passes.cfg.tail_merging import tail_merging, warm_tail_merging
from hovis.passes.functions.argument_elimination import argument_elimination
from hovis.passes.functions.inlining import inlining
from hovis.passes.functions.unpeel_recursion import unpeel_recursion
from hovis.passes.loops.licm import licm, sinking
from hovis.passes.loops.loop_deletion import loop_deletion
from hovis.passes.loops.loop_idioms import loop_idioms
from hovis.passes.loops.loop_versioning import loop_versioning
from hovis.passes.memory.list_append_merging import list_append_merging
from hovis.passes.memory.load_store_forwarding import load_store_forwarding
from hovis.passes.pass_runner import Check, checking, run_pass
from hovis.passes.rewriting import Pass, copy
from hovis.passes.scalar.correlated_branches import correlated_branches, jump_threading
from hovis.passes.scalar.dce import dce
from hovis.passes.scalar.effect_refinement import effect_refinement
from hovis.passes.scalar.gvn import gvn
from hovis.passes.scalar.instcombine import instcombine
from hovis.passes.scalar.loop_gvn import loop_gvn
from hovis.passes.scalar.strength_reduction import strength_reduction
from hovis.passes.scalar.trivial_phis import trivial_phis

#: All passes by name.
PASSES: Final[dict[str, Pass]] = {
    one.__name__: one
    for one in (
        simplify_cfg, trivial_phis, argument_elimination, inlining, instcombine, loop_gvn, gvn, load_store_forwarding,
        correlated_branches, jump_threading, dce, effect_refinement, handler_elimination, reraise_elimination, poll_elimination, poll_delay, loop_deletion,
        call_completion, tail_merging, warm_tail_merging, loop_versioning, loop_idioms, licm, sinking, strength_reduction, cross_jumping, list_append_merging,
        unpeel_recursion, block_order,
    )
}  # fmt: skip

#: The names of passes in hovis 0.1 -> their names now: the former names are still accepted.
FORMER: Final = {
    "straighten": "simplify_cfg", "trivial_params": "trivial_phis", "arguments": "argument_elimination", "fold": "instcombine",
    "congruence": "loop_gvn", "numbering": "gvn", "forwarding": "load_store_forwarding", "implied": "correlated_branches",
    "threading": "jump_threading", "dead": "dce", "effects": "effect_refinement", "unseen_handlers": "handler_elimination",
    "passing": "reraise_elimination", "spare_polls": "poll_elimination", "delayed_polls": "poll_delay", "idle_loops": "loop_deletion",
    "tails": "tail_merging", "warm_tails": "warm_tail_merging", "versions": "loop_versioning", "counting": "loop_idioms", "hoisting": "licm",
    "strength": "strength_reduction", "endings": "cross_jumping", "building": "list_append_merging",
    "peeled": "unpeel_recursion", "order": "block_order",
}  # fmt: skip

_CLEAN: Final = ["reraise_elimination", "poll_elimination", "simplify_cfg", "trivial_phis", "dce", "effect_refinement", "handler_elimination"]
_DEFAULT: Final = [
    "reraise_elimination", "poll_elimination", "simplify_cfg", "trivial_phis", "argument_elimination", "inlining", "instcombine", "loop_gvn", "gvn",
    "load_store_forwarding", "correlated_branches", "jump_threading", "dce", "effect_refinement", "handler_elimination",
    "loop_deletion", "tail_merging",
]
#: For printed source: paths that meet in an exception handler would have to be distinguished again there, and arithmetic stays as the user wrote it.
_INSTEAD: Final = {"tail_merging": ("warm_tail_merging",)}
_READABLE: Final = [other for name in _DEFAULT for other in _INSTEAD.get(name, (name,))]
_LATE: Final = [
    "loop_versioning", "loop_idioms", "simplify_cfg", "trivial_phis", "instcombine", "dce", "licm", "sinking", "strength_reduction",
    "cross_jumping", "list_append_merging", "unpeel_recursion", "block_order",
]
_READABLE_LATE: Final = [name for name in _LATE if name != "strength_reduction"]

#: Name of a pipeline -> the passes that are repeated until nothing changes, and the passes that run once after that.
PIPELINES: Final[dict[str, tuple[list[str], list[str]]]] = {
    "clean": (_CLEAN, ["block_order"]), "default": (_DEFAULT, _LATE), "readable": (_READABLE, _READABLE_LATE),
}  # fmt: skip

#: Pipelines of other back ends, by name; a back end registers its own when its package is imported.
OFFERED: Final[dict[str, Callable[[Function], Function]]] = {}

#: The repeated passes of a pipeline run at most this many times.
MAX_ROUNDS: Final = 20


def run(function: Function, passes: str | Iterable[str] = "default", verify: bool | None = None) -> Function:
    """Run a pipeline ("clean", "default", "readable"), or the passes with these names, each once, and return a new Function.

    "default-loop_idioms-loop_versioning" is the pipeline without these passes.

    With verify, or HOVIS_VERIFY=1 in the environment, the Function is verified before the first pass, and after every pass that changes it.
    VerifierError names the pass.
    """
    check = checking() if verify is None else check_function if verify else None
    if isinstance(passes, str) and passes in OFFERED:
        return OFFERED[passes](function)
    repeated, once = _named(passes) if isinstance(passes, str) else ([], [FORMER.get(one, one) for one in passes])
    unknown = [one for one in once if type(one) is not str or one not in PASSES]
    if unknown:
        raise SpecError(f"there is no pass {said(unknown[0])}: {', '.join(PASSES)}")
    made: Function = run_pass("before all passes", copy, function, check)
    fixed: dict[str, int] = {}
    changes = 0
    for _ in range(MAX_ROUNDS if repeated else 0):
        before, changes = changes, _each(made, repeated, check, fixed, changes)
        if changes == before:
            break
    _each(made, once, check, fixed, changes)
    return made


def _named(pipeline: str) -> tuple[list[str], list[str]]:
    name, *rest = pipeline.split("-")
    without = [FORMER.get(one, one) for one in rest]
    unknown = [one for one in without if one not in PASSES]
    if name not in PIPELINES or unknown:
        known = PASSES if unknown else [*PIPELINES, *OFFERED]
        raise SpecError(f"there is no {'pass ' + repr(unknown[0]) if unknown else 'pipeline ' + repr(name)}: {', '.join(known)}")
    repeated, once = PIPELINES[name]
    return [one for one in repeated if one not in without], [one for one in once if one not in without]


def _each(function: Function, names: list[str], check: Check[Function] | None, fixed: dict[str, int], changes: int) -> int:
    """Run every pass in names over every function; return the total number of pass runs that have changed something.

    changes  the number of changes so far
    fixed    pass → the number of changes when it last found nothing to do; until there is another change the pass is skipped
    """
    for name in names:
        if fixed.get(name) == changes:
            continue
        if run_pass(name, PASSES[name].rewrite_all, function, check, reports_change=True):
            changes += 1
        else:
            fixed[name] = changes
    return changes


def clean(function: Function) -> Function:
    """Remove the leftovers of tracing, without algebraic simplification."""
    return run(function, "clean")


def default(function: Function) -> Function:
    """Simplify: fold constants, remove common subexpressions, delete loops without effect."""
    return run(function, "default")
