"""Random loops after each pass over them, op by op, beside CPython (``python -m tests.xla.harness.random_loops`` has XLA run them)."""
import os

import pytest

import hovis
import hovis_xla
from hovis.backend.entry import prologue
from hovis.ir.verifier import verify
from hovis_xla.loops.complex_pairing import pair_floats
from hovis_xla.loops.merge_exit_conditions import merge_exit_conditions
from hovis_xla.loops.overflow_predication import predicate_overflow
from hovis_xla.loops.split_shared_headers import split_shared_headers
from hovis_xla.loops.unpeel import unpeel
from hovis_xla.loops.unroll_counted import unroll_counted
from hovis_xla.loops.unroll_while import unroll_while
from hovis_xla.prepare.iterator_end_threading import thread_iterator_ends
from tests.xla.harness.checking import outcome
from tests.xla.harness.random_loops import agrees, arguments, program, results

pytestmark = pytest.mark.xla

PASSES = [thread_iterator_ends, unpeel, split_shared_headers, unpeel, merge_exit_conditions, predicate_overflow, pair_floats, unroll_while, unroll_counted]
SEEDS = range(int(os.environ.get("HOVIS_EXAMPLES", "16")))


@pytest.mark.parametrize("seed", SEEDS)
def test_passes(seed):
    fn, source = program(seed)
    wanted = results(fn, seed, range(4))
    trace = hovis_xla.jit(fn).trace(*arguments(seed, 0))
    function = trace.function
    for after in PASSES:
        before, function = function, after(function)
        if function is before:
            continue
        verify(function)
        for number, found in wanted.items():
            seen = outcome(lambda *args: hovis.evaluate(function, *prologue.leaves(trace.signature, args)), arguments(seed, number))
            assert agrees(found, seen) or seen[0][1] is OverflowError, (after.__name__, number, found, seen, source)
