"""The passes that a Function goes through on its way to XLA, and then its module, by name and in order.

They are run as hovis's own are (``hovis.passes.pass_runner``), and with HOVIS_VERIFY=1 under verifiers: Functions under hovis's, StableHLO
under MLIR's.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.base import deadline
from hovis.errors import VerifierError
from hovis.ir.model import Function, callees
from hovis.passes import pipeline
from hovis.passes.cfg.signal_polls import delayed_polls, polling
from hovis.passes.pass_runner import checking, run_pass
from hovis_xla.analysis.exception_edges import with_handlers
from hovis_xla.analysis.loop_forest import pruned
from hovis_xla.hlo import dot_layout, licm, loop_distribution, read_before_write, scalar_load_hoisting
from hovis_xla.hlo.chain_splitting import cut_chains
from hovis_xla.hlo.partial_sort import select_few
from hovis_xla.hlo.reshape_cancelling import keep_shapes
from hovis_xla.jaxlib import adapter
from hovis_xla.loops.complex_pairing import paired
from hovis_xla.loops.merge_exit_conditions import conjoined
from hovis_xla.loops.overflow_predication import roomy
from hovis_xla.loops.split_shared_headers import nested
from hovis_xla.loops.unpeel import rerolled
from hovis_xla.loops.unpeel_half_iteration import whole
from hovis_xla.loops.unpeel_specialized import begun
from hovis_xla.loops.unroll_counted import unrolled
from hovis_xla.loops.unroll_while import repeated
from hovis_xla.loops.unrotate import turned
from hovis_xla.prepare.iterator_end_threading import ended, in_step
from hovis_xla.prepare.strided_stores import one_by_one
from hovis_xla.prepare.tail_recursion import looped

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
OF_LOOPS: Final[Sequence[Rewriting]] = (keep_shapes, loop_distribution.distribute, read_before_write.read_first, scalar_load_hoisting.read_numbers)
#: All of a module.
OF_MODULES: Final[Sequence[Rewriting]] = (select_few, *OF_LOOPS, dot_layout.put_in_order, licm.stay, cut_chains)


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
