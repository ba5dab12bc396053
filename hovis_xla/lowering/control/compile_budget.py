"""Fuel: a limit on the run time of a program that is compiled quickly for a first call, where the trip counts of its loops are not certain.

Each iteration of a loop that may take long burns as much fuel as it would take nanoseconds in an optimized program.  When the fuel is
used up, the program bails out, and a program that is compiled in full does the call from the start.  Hence programs with observable
effects or calls of the host have no such limit.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hovis_xla.choice.cost_model import FUEL, LITTLE
from hovis_xla.emit import builder
from hovis_xla.emit.values import INT64
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.lowering.control.control_flow import Walker

#: A loop whose iterations take at most this many microseconds in all burns no fuel.
FREE: Final = LITTLE / 16


def full() -> builder.T:
    """Return the initial amount of fuel."""
    return builder.constant(int(FUEL * 1000), INT64)


@contextmanager
def burned(walker: Walker, body: Any) -> Iterator[None]:
    """Wrap the emission of a loop body: each iteration burns the fuel for its estimated time, if all iterations together may take long."""
    work, rounds = walker.work.xla, walker.rounds
    before = work.get(rounds, 0.0)
    yield
    taken = work.get(rounds, 0.0) - before
    often = math.prod(n if isinstance(n, int) else math.inf for n in rounds)
    if walker.fuel is None or often * taken <= FREE:
        return
    with ir.InsertionPoint(body), ir.Location.unknown(context()):
        left = walker.memory.read(walker.fuel)
        left = builder.sub(left, builder.like(max(1, round(taken * 1000)), left))
        walker.memory.content[walker.fuel] = left
        walker.bail_if(builder.compare("LT", left, builder.like(0, left)))
