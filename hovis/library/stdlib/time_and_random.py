"""Rules for clocks and random numbers, which return a float or an int that differs from call to call."""

import random
import time
from collections.abc import Callable
from typing import Any, Final

from hovis.ir.model import Effect
from hovis.lattice import AbstractValue
from hovis.library.core import Library, Primitive
from hovis.library.language.signatures.type_queries import FLOAT, INT, class_of


def _clock(fn: Callable[[], Any], kind: AbstractValue) -> Primitive:
    return Primitive(fn, lambda: kind, Effect.CLOCK, fold=False)


def _of_random(generator: AbstractValue) -> AbstractValue | None:
    return FLOAT if class_of(generator) is random.Random else None


_FLOATS: Final = (time.time, time.monotonic, time.perf_counter, time.process_time)
_INTS: Final = (time.time_ns, time.monotonic_ns, time.perf_counter_ns, time.process_time_ns)

CLOCKS: Final = Library(
    "clocks",
    {
        **{fn: _clock(fn, FLOAT) for fn in _FLOATS},
        **{fn: _clock(fn, INT) for fn in _INTS},
        random.Random.random: Primitive(random.Random.random, _of_random, Effect.RANDOM, fold=False),
    },
)
