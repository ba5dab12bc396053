"""Fuel: how long a program may run that is compiled quickly for a first call, where it is not certain how often its loops go round.

Each round of a loop that may take long burns about as many nanoseconds as it would take a good program.  When all is burned
the program gives up, and the call is done from the start by one that is compiled in full.  So there is none for what does
something that can be seen from outside, or calls the host.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hovis_xla.choice.cost_model import FUEL, LITTLE
from hovis_xla.emit import builder
from hovis_xla.emit.locations import Location
from hovis_xla.emit.values import INT64
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.lowering.control.control_flow import Walker

#: What takes so many microseconds at most, as often as it is done, burns nothing.
FREE: Final = LITTLE / 16


def tank() -> Location:
    """Where is counted how much there is left."""
    return Location(INT64, ())


def full() -> builder.T:
    """What there is at first."""
    return builder.constant(int(FUEL * 1000), INT64)


@contextmanager
def burned(walker: Walker, body: Any) -> Iterator[None]:
    """Around what emits the body of a loop: a round burns what it takes, if all of them may take long."""
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
        walker.memory.write(walker.fuel, left)
        walker.bail_if(builder.compare("LT", left, builder.like(0, left)))
