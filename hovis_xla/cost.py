"""Is a function worth a call of XLA, which costs microseconds, and a compile, which costs milliseconds?

While a Function is lowered, :class:`Work` adds up what its ops take Python and NumPy, and what they may take XLA.  Where
there is no loop that says enough, most of the time: what takes less than a call is never compiled.  Where it does not, a
:class:`Trial` lets a few calls run here and a few there, and the quicker way is kept.  Each call is done once.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Op
from hovis_xla.types import ARRAY, Num, Val

#: Microseconds: a call of an executable, and each array that goes in or comes out.
CALL: Final = 6.0
ARRAY_IN: Final = 0.6
ARRAY_OUT: Final = 0.9
CALLBACK: Final = 2.0
#: Microseconds of Python: an op on numbers, a ufunc on arrays, another function of NumPy's, each element.
NUMBER: Final = 0.04
SCALAR: Final = 0.1
UFUNC: Final = 0.5
FUNCTION: Final = 1.5
ELEMENT: Final = 0.0006
#: The same of XLA, in loops.
XLA_NUMBER: Final = 0.002
XLA_ARRAY: Final = 0.05
XLA_ELEMENT: Final = 0.0004

#: How often each way is tried, and what trying Python may take: seconds, or so many calls of XLA.
ROUNDS: Final = 5
PATIENCE: Final = 0.05
TIMES: Final = 6.0
#: XLA stays if Python is not quicker by this much; if one is quicker by that much, nothing more is tried.
MARGIN: Final = 0.93
CLEAR: Final = 3.0


class Work:
    """What the ops of a Function take, in microseconds: those outside of loops, and one round of those inside."""

    def __init__(self) -> None:
        self.python = 0.0
        self.loops = False
        self.round_python = self.round_xla = 0.0

    def add(self, op: Op, result: object, inputs: Iterable[object], in_loop: bool) -> None:
        """One op that has been lowered."""
        nums = [v.num for v in (result, *inputs) if isinstance(v, Val)]
        if not nums or not isinstance(result, Val):
            return
        size = max(_size(n) for n in nums)
        if all(n.kind != ARRAY for n in nums):
            python, xla = SCALAR if any(n.kind == "scalar" for n in nums) else NUMBER, XLA_NUMBER
        else:
            python = (UFUNC if isinstance(op.callee, np.ufunc) or _is_operator(op.callee) else FUNCTION) + ELEMENT * size
            xla = XLA_ARRAY + XLA_ELEMENT * size
        if in_loop:
            self.round_python += python
            self.round_xla += xla
        else:
            self.python += python

    @property
    def ratio(self) -> float:
        """How much longer Python may take than XLA."""
        return min(60.0, max(1.0, self.round_python / self.round_xla)) if self.round_xla else TIMES


def _size(num: Num) -> int:
    return int(np.prod(num.shape, dtype=np.int64))


def _is_operator(callee: object) -> bool:
    return getattr(callee, "__module__", None) == "_operator"


def of_call(inputs: Iterable[Num], outputs: Iterable[Num], callbacks: int) -> float:
    """What a call of an executable costs besides its work."""
    return CALL + CALLBACK * callbacks + ARRAY_IN * sum(n.kind == ARRAY for n in inputs) + ARRAY_OUT * sum(n.kind == ARRAY and bool(n.shape) for n in outputs)


class Trial:
    """A few calls by XLA and by Python in turns, until it is clear which is quicker.

    The first call of each is not counted: it compiles, or fills caches.
    """

    def __init__(self, work: Work, overhead: float) -> None:
        self.work = work
        self.overhead = overhead
        self.calls = 0
        self.seconds: dict[str, list[float]] = {"xla": [], "python": []}

    @property
    def turn(self) -> str:
        """Who does the next call."""
        return "xla" if self.calls in (0, 1) or self.calls % 2 else "python"

    def run(self, call: Callable[[], Any]) -> Any:
        """Do a call, and note how long it takes."""
        who, start = self.turn, time.perf_counter()
        found = call()
        if self.calls:
            self.seconds[who].append(time.perf_counter() - start)
        self.calls += 1
        return found

    @property
    def verdict(self) -> str | None:
        """The quicker way, if it is known."""
        xla, python = (min(self.seconds[k], default=None) for k in ("xla", "python"))
        if xla is None:
            return None
        if python is None:
            known = self.work.python * 1e-6
            hopeless = known > CLEAR * 2 * xla or (self.work.ratio > TIMES and self.work.ratio * (xla - self.overhead * 1e-6) > PATIENCE)
            return "xla" if hopeless else None
        if python > CLEAR * xla and (python > PATIENCE or len(self.seconds["python"]) > 1):
            return "xla"
        rounds = min(map(len, self.seconds.values()))
        if rounds < ROUNDS and (xla < CLEAR * python or rounds < 2):
            return None
        return "python" if python < MARGIN * xla else "xla"

    def __str__(self) -> str:
        xla, python = (min(self.seconds[k], default=0.0) * 1e6 for k in ("xla", "python"))
        return f"{python:.1f} µs a call, through XLA {xla:.1f}"


__all__ = ["Trial", "Work", "of_call"]
