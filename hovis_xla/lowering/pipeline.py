"""The pass pipeline on the way to XLA: passes over a Function, then over its StableHLO module, by name and in order.

They run as hovis's own passes do (``hovis.passes.pass_runner``).  With HOVIS_VERIFY=1, verifiers check the results: hovis's the Functions,
MLIR's the StableHLO.
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
#: A pass that rewrites a module.
Rewriting = Callable[..., Any]


def delay_polls(function: Function) -> Function:
    """Eliminate polls for signals that may be delivered later.

    Polls are removed where Ctrl-C may as well be noticed at the end: neither a compiled loop nor a call is interrupted.
    """
    function = complete_calls(function)
    return pipeline.run(poll_delay(function), "clean") if any(map(polling, callees(function))) else function


def complete_calls(function: Function) -> Function:
    """Let calls that cannot raise complete without polling for signals."""
    interrupted = any(op.effect & Effect.INTERRUPTED for one in callees(function) for op in one.ops())
    return pipeline.run(call_completion(function), "clean") if interrupted else function


#: Passes that bring loops and values into the form that is lowered.
SHAPING: Final[Sequence[Stage]] = (
    delay_polls, scalarize_strided_stores, eliminate_tail_recursion, thread_iterator_ends, merge_lockstep_iterators, unpeel,
    split_shared_headers, unpeel, merge_exit_conditions, predicate_overflow, pair_floats,
)  # fmt: skip
#: Passes that unroll the loops of a shaped function.
IN_ROUNDS: Final[Sequence[Stage]] = (unroll_while, unroll_counted)
#: Passes over each function at the start of its lowering.
LEADING: Final[Sequence[Stage]] = (convert_exception_edges, prune_raising_paths)

#: Passes over a module that is compiled in full, if it has loops.
OF_LOOPS: Final[Sequence[Rewriting]] = (
    cancel_reshapes, loop_distribution.distribute_loops, read_before_write.order_reads_before_writes, scalar_load_hoisting.hoist_scalar_loads,
)  # fmt: skip
#: All passes over modules.
OF_MODULES: Final[Sequence[Rewriting]] = (select_partially, *OF_LOOPS, dot_layout.assign_dot_layouts, licm.hoist_invariants, split_chains)


def through(stages: Sequence[Stage], function: Function) -> Function:
    """Run the passes over a function; return the same object if no pass changes it."""
    check = checking()
    with driver.keeping():
        for stage in stages:
            deadline.check()
            function = run_pass(stage.__name__, stage, function, check)
    return function


def rewrite(act: Rewriting, module: Module, *more: Any) -> Any:
    """Run a pass that rewrites a module, and return the result of the pass. What it adds has no location, unless it gives one."""
    with adapter.context(), adapter.ir.Location.unknown():
        return run_pass(act.__name__, lambda one: act(one, *more), module, checking(verify_module))


def verify_module(module: Module) -> None:
    """Raise VerifierError if MLIR finds a module broken."""
    try:
        module.ir.operation.verify()
    except adapter.ir.MLIRError as error:
        raise VerifierError(f"{error}\n{module}") from None


def shaped(function: Function) -> Function:
    """Return the function with its loops and values in the form that is lowered."""
    return through(SHAPING, function)


def in_rounds(function: Function) -> Function:
    """Unroll the loops of a shaped function: more code to lower and to compile, and less to run. Returns the same object if no loop is unrolled."""
    return through(IN_ROUNDS, function)


pipeline.OFFERED["xla-loops"] = lambda function: in_rounds(shaped(function))
