"""The passes that a Function goes through on its way to XLA, and then its module, by name and in order.

They are run as hovis's own are (``hovis.passes.pass_runner``), and with HOVIS_VERIFY=1 under verifiers: Functions under hovis's, StableHLO
under MLIR's.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.base import deadline
from hovis.errors import VerifierError
from hovis.ir.model import Effect, Function, callees
from hovis.passes import pipeline
from hovis.passes.cfg.signal_polls import call_completion, poll_delay, polling
from hovis.passes.pass_runner import checking, run_pass
from hovis_xla.analysis.exception_edges import convert_exception_edges
from hovis_xla.analysis.loop_forest import prune_raising_paths
from hovis_xla.hlo import dot_layout, licm, loop_distribution, read_before_write, scalar_load_hoisting
from hovis_xla.hlo.chain_splitting import split_chains
from hovis_xla.hlo.module import Module
from hovis_xla.hlo.partial_sort import select_partially
from hovis_xla.hlo.reshape_cancelling import cancel_reshapes
from hovis_xla.jaxlib import adapter
from hovis_xla.loops import driver
from hovis_xla.loops.complex_pairing import pair_floats
from hovis_xla.loops.merge_exit_conditions import merge_exit_conditions
from hovis_xla.loops.overflow_predication import predicate_overflow
from hovis_xla.loops.split_shared_headers import split_shared_headers
from hovis_xla.loops.unpeel import unpeel
from hovis_xla.loops.unroll_counted import unroll_counted
from hovis_xla.loops.unroll_while import unroll_while
from hovis_xla.prepare.iterator_end_threading import merge_lockstep_iterators, thread_iterator_ends
from hovis_xla.prepare.strided_stores import scalarize_strided_stores
from hovis_xla.prepare.tail_recursion import eliminate_tail_recursion

Stage = Callable[[Function], Function]
#: Rewrites a module.
Rewriting = Callable[..., Any]



def delay_polls(function: Function) -> Function:
    """Eliminate polls for signals that may be delivered later.

    The function without looks for signals where Ctrl-C may as well be heard of in the end: a compiled loop is not interrupted, nor is a call.
    """
    function = complete_calls(function)
    return pipeline.run(poll_delay(function), "clean") if any(map(polling, callees(function))) else function


def complete_calls(function: Function) -> Function:
    """Let calls that cannot raise complete without a look for signals."""
    interrupted = any(op.effect & Effect.INTERRUPTED for one in callees(function) for op in one.ops())
    return pipeline.run(call_completion(function), "clean") if interrupted else function


#: Loops and values become as they are lowered.
SHAPING: Final[Sequence[Stage]] = (
    delay_polls, scalarize_strided_stores, eliminate_tail_recursion, thread_iterator_ends, merge_lockstep_iterators, unpeel,
    split_shared_headers, unpeel, merge_exit_conditions, predicate_overflow, pair_floats,
)  # fmt: skip
#: Loops of a function so shaped do several iterations at a time.
IN_ROUNDS: Final[Sequence[Stage]] = (unroll_while, unroll_counted)
#: Of each function where it is lowered.
LEADING: Final[Sequence[Stage]] = (convert_exception_edges, prune_raising_paths)

#: Of a module that is compiled in full, if it has loops.
OF_LOOPS: Final[Sequence[Rewriting]] = (
    cancel_reshapes, loop_distribution.distribute_loops, read_before_write.order_reads_before_writes, scalar_load_hoisting.hoist_scalar_loads,
)  # fmt: skip
#: All of a module.
OF_MODULES: Final[Sequence[Rewriting]] = (select_partially, *OF_LOOPS, dot_layout.assign_dot_layouts, licm.hoist_invariants, split_chains)


def through(stages: Sequence[Stage], function: Function) -> Function:
    """The function after these passes; the very same, if none changes it."""
    check = checking()
    with driver.keeping():
        for stage in stages:
            deadline.check()
            function = run_pass(stage.__name__, stage, function, check)
    return function


def rewrite(act: Rewriting, module: Module, *more: Any) -> Any:
    """Let a pass rewrite a module; what it says of it."""
    return run_pass(act.__name__, lambda one: act(one, *more), module, checking(verify_module))


def verify_module(module: Module) -> None:
    """Raise VerifierError if MLIR finds a module broken."""
    try:
        module.ir.operation.verify()
    except adapter.ir.MLIRError as error:
        raise VerifierError(f"{error}\n{module}") from None


def shaped(function: Function) -> Function:
    """The function with loops and values as they are lowered."""
    return through(SHAPING, function)


def in_rounds(function: Function) -> Function:
    """A shaped function, its loops doing several rounds at a time: more to lower and to compile, and less to run; the very same, if none does."""
    return through(IN_ROUNDS, function)


pipeline.OFFERED["xla-loops"] = lambda function: in_rounds(shaped(function))
