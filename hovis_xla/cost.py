"""Is a function worth a call of XLA, which costs microseconds, and a compile, which costs milliseconds?

While a Function is lowered, :class:`Work` adds up what its ops take Python and NumPy, and what they may take XLA.  Where
there is no loop that says enough, most of the time: what takes less than a call is never compiled.  Where it does not, it
has to be tried (``contest``).
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from hovis.ir.model import Op
from hovis_xla.contest import CLEAR, PATIENCE
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

#: How much longer than XLA Python may take in a loop of which nothing is known, and in any.
TIMES: Final = 6.0
MOST: Final = 60.0


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
        return min(MOST, max(1.0, self.round_python / self.round_xla)) if self.round_xla else TIMES


def _size(num: Num) -> int:
    return int(np.prod(num.shape, dtype=np.int64))


def _is_operator(callee: object) -> bool:
    return getattr(callee, "__module__", None) == "_operator"


def of_call(inputs: Iterable[Num], outputs: Iterable[Num], callbacks: int) -> float:
    """What a call of an executable costs besides its work."""
    return CALL + CALLBACK * callbacks + ARRAY_IN * sum(n.kind == ARRAY for n in inputs) + ARRAY_OUT * sum(n.kind == ARRAY and bool(n.shape) for n in outputs)


def hopeless(work: Work, overhead: float, seconds: float) -> bool:
    """Is Python sure to be slower than a call of XLA that takes so many seconds, or may it take too long to be tried?"""
    if work.python * 1e-6 > 2 * CLEAR * seconds:
        return True
    return work.ratio > TIMES and work.ratio * (seconds - overhead * 1e-6) > PATIENCE


__all__ = ["MOST", "Work", "hopeless", "of_call"]
