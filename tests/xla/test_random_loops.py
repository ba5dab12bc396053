"""Random loops after each pass over them, op by op, beside CPython (``python -m tests.xla.random_loops`` has XLA run them)."""
import os

import pytest

import hovis
import hovis_xla
from hovis.backend import entry
from hovis.ir.verifier import verify
from hovis_xla.beginnings import begun
from hovis_xla.conjoined import conjoined
from hovis_xla.ended import ended
from hovis_xla.halves import whole
from hovis_xla.nests import nested
from hovis_xla.paired import paired
from hovis_xla.repeating import repeated
from hovis_xla.rerolling import rerolled
from hovis_xla.room import roomy
from hovis_xla.turning import turned
from hovis_xla.unrolling import unrolled
from tests.xla.checking import outcome
from tests.xla.random_loops import agrees, arguments, program, results

pytestmark = pytest.mark.xla

PASSES = [ended, rerolled, begun, nested, whole, conjoined, turned, conjoined, roomy, paired, repeated, unrolled]
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
            seen = outcome(lambda *args: hovis.evaluate(function, *entry.leaves(trace.signature, args)), arguments(seed, number))
            assert agrees(found, seen) or seen[0][1] is OverflowError, (after.__name__, number, found, seen, source)
