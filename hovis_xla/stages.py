"""The passes that a Function goes through on its way to XLA, and then its module, by name and in order.

They are run as hovis's own are (``hovis.passes.running``), and with HOVIS_VERIFY=1 under verifiers: Functions under hovis's, StableHLO
under MLIR's.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis import deadline
from hovis.errors import VerifierError
from hovis.ir.model import Function, callees
from hovis.passes import pipeline
from hovis.passes.polls import delayed_polls, polling
from hovis.passes.running import checking, run_pass
from hovis_xla import adapter, distributing, invariants, lastreads, products, uniform
from hovis_xla.beginnings import begun
from hovis_xla.conjoined import conjoined
from hovis_xla.deep import cut_chains
from hovis_xla.ended import ended, in_step
from hovis_xla.halves import whole
from hovis_xla.handlers import with_handlers
from hovis_xla.nests import nested
from hovis_xla.paired import paired
from hovis_xla.regions import pruned
from hovis_xla.repeating import repeated
from hovis_xla.rerolling import rerolled
from hovis_xla.reshaped import keep_shapes
from hovis_xla.room import roomy
from hovis_xla.selecting import select_few
from hovis_xla.striding import one_by_one
from hovis_xla.tailcalls import looped
from hovis_xla.turning import turned
from hovis_xla.unrolling import unrolled

Stage = Callable[[Function], Function]
#: Rewrites a module.
Rewriting = Callable[..., Any]



def undisturbed(function: Function) -> Function:
    """The function without looks for signals where Ctrl-C may as well be heard of in the end: a compiled loop is not interrupted."""
    return pipeline.run(delayed_polls(function), "clean") if any(map(polling, callees(function))) else function


#: Loops and values become as they are lowered.
SHAPING: Final[Sequence[Stage]] = (undisturbed, one_by_one, looped, ended, in_step, rerolled, begun, nested, whole, conjoined, turned, conjoined, roomy, paired)
#: Loops of a function so shaped do several rounds at a time.
IN_ROUNDS: Final[Sequence[Stage]] = (repeated, unrolled)
#: Of each function where it is lowered.
LEADING: Final[Sequence[Stage]] = (with_handlers, pruned)

#: Of a module that is compiled in full, if it has loops.
OF_LOOPS: Final[Sequence[Rewriting]] = (keep_shapes, distributing.distribute, lastreads.read_first, uniform.read_numbers)
#: All of a module.
OF_MODULES: Final[Sequence[Rewriting]] = (select_few, *OF_LOOPS, products.put_in_order, invariants.stay, cut_chains)


def through(stages: Sequence[Stage], function: Function) -> Function:
    """The function after these passes; the very same, if none changes it."""
    check = checking()
    for stage in stages:
        deadline.check()
        before = function
        function = run_pass(stage.__name__, stage, before, check)
    return function


def rewrite(act: Rewriting, module: Any, *more: Any) -> Any:
    """Let a pass rewrite a module; what it says of it."""
    return run_pass(act.__name__, lambda one: act(one, *more), module, checking(verify_module))


def verify_module(module: Any) -> None:
    """Raise VerifierError if MLIR finds a module broken."""
    try:
        module.operation.verify()
    except adapter.ir.MLIRError as error:
        raise VerifierError(f"{error}\n{module}") from None


def shaped(function: Function) -> Function:
    """The function with loops and values as they are lowered."""
    return through(SHAPING, function)


def in_rounds(function: Function) -> Function:
    """A shaped function, its loops doing several rounds at a time: more to lower and to compile, and less to run; the very same, if none does."""
    return through(IN_ROUNDS, function)
