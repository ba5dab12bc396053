"""Cost model: is a function worth a call of XLA, which costs microseconds, and a compilation, which costs milliseconds?

While a Function is lowered, :class:`Work` adds up the estimated time of its ops in Python and NumPy, and in XLA.  For a function without
loops this mostly suffices: if it takes less time than a call of XLA, it is never compiled.  Where it does not suffice, both have to be
tried (``autotuner``).
"""

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from hovis.front.autotuner import CLEAR, PATIENCE
from hovis.ir.model import Op
from hovis.ir.operations.tapes import filled, get, put, revise
from hovis_xla.analysis.speculative_loads import read_if
from hovis_xla.analysis.trip_counts import Rounds, is_certain, times
from hovis_xla.emit.values import ARRAY, Known, Num, Ragged, Struct, Val, is_array
from hovis_xla.jaxlib.compilation import NATIVE_LOOP_BYTES

#: Microseconds: a call of an executable, each input array, each output array, and each callback.
CALL: Final = 6.0
ARRAY_IN: Final = 0.6
ARRAY_OUT: Final = 0.9
CALLBACK: Final = 2.0
#: Microseconds of Python: an op on Python numbers, one on NumPy scalars, a ufunc on arrays, another function of NumPy, and each element.
NUMBER: Final = 0.04
SCALAR: Final = 0.1
UFUNC: Final = 0.5
FUNCTION: Final = 1.5
ELEMENT: Final = 0.0006
#: Microseconds of XLA, in loops: an op on numbers, one on arrays, and each element.
XLA_NUMBER: Final = 0.002
XLA_ARRAY: Final = 0.05
XLA_ELEMENT: Final = 0.0004

#: For arrays of at most this many elements a kernel takes a few microseconds, and compiling the kernel takes thousands of times as long.
FEW: Final = 1 << 12

#: Contractions, and the microseconds for each product of two numbers in them.
CONTRACTIONS: Final = frozenset({operator.matmul, operator.imatmul, np.matmul, np.dot, np.ndarray.dot, np.einsum, np.tensordot, np.inner, np.vdot})
XLA_PRODUCT: Final = 0.0001

#: ... and for an op that is part of a kernel or of a native loop, and for each element of it.
XLA_OP: Final = 0.0005
XLA_FUSED: Final = 0.0002

#: If an optimized program takes at most this many microseconds, quick compilation saves more time than the quickly compiled program loses.
LITTLE: Final = 8000.0
#: ... and if the time is unknown, it is limited to this many (``compile_budget``), if that is enough for a few iterations.
FUEL: Final = 2 * LITTLE
FEWEST: Final = 32

#: Callees that read a part of their first operand, and callees that store their third operand there.
READS: Final = (operator.getitem, get, read_if)
STORES: Final = (operator.setitem, put, revise)

#: Maximum ratio of the time of Python to that of XLA: in a loop of which nothing is known, and in any loop.
TIMES: Final = 6.0
MOST: Final = 60.0


class Work:
    """Estimated cost of the ops of a Function, in microseconds: of those outside of loops, and of one iteration of those inside."""

    def __init__(self) -> None:
        self.python = 0.0
        self.loops = False
        self.round_python = self.round_xla = 0.0
        #: elements of the largest array that an op makes or stores into, outside of loops and inside
        self.largest = [0, 0]
        #: bytes that one iteration of all loops touches at most
        self.round_bytes = 0
        #: microseconds that ops take XLA in each iteration, by the trip counts of the loops around them
        self.xla: dict[tuple[Rounds, ...], float] = {}

    def add(self, op: Op, result: object, inputs: Sequence[object], rounds: tuple[Rounds, ...]) -> None:
        """Add the cost of one op that has been lowered, within loops with the trip counts ``rounds``."""
        in_loop = bool(rounds)
        self.xla[rounds] = self.xla.get(rounds, 0.0) + _taken(op, result, inputs)
        nums = [v.num for v in (result, *inputs) if isinstance(v, Val)]
        size = max((_size(n) for n in nums), default=0)
        if in_loop:
            self.round_bytes += _touched(op, result, inputs)
        if in_loop or (op.callee is not filled and any(map(is_array, inputs))):  # filling memory takes the same time in all kernels
            self.largest[in_loop] = max(self.largest[in_loop], _size(result.num) if isinstance(result, Val) else size)
        if not isinstance(result, Val):
            return
        if all(n.kind != ARRAY for n in nums):
            python, xla = SCALAR if any(n.kind == "scalar" for n in nums) else NUMBER, XLA_NUMBER
        else:
            is_ufunc = isinstance(op.callee, np.ufunc) or getattr(op.callee, "__module__", None) == "_operator"
            python = (UFUNC if is_ufunc else FUNCTION) + ELEMENT * size
            xla = XLA_ARRAY + XLA_ELEMENT * size
        if in_loop:
            self.round_python += python
            self.round_xla += xla
        else:
            self.python += python

    def is_little(self, values: Sequence[object], bounded: bool = False) -> bool:
        """Is a run with these arguments certain to end before an optimizing compiler would?

        bounded   the run gives up if it takes too long; then only the loops with certain trip counts have to be small
        """
        certain = [rounds for rounds in self.xla if is_certain(rounds)]
        if sum(self.xla[rounds] * times(rounds, values) for rounds in (certain if bounded else self.xla)) > LITTLE:
            return False
        return not bounded or all(self.xla[rounds] * FEWEST <= FUEL for rounds in self.xla if rounds not in certain)

    @property
    def native(self) -> bool:
        """Are there loops, and are they certain to be small enough to become native code?"""
        return self.loops and self.round_bytes < NATIVE_LOOP_BYTES

    @property
    def small(self) -> bool:
        """Is fast compilation of kernels worth more than fast kernels for long arrays? Native loops have no kernels."""
        outside, inside = self.largest
        return outside <= FEW and (inside <= FEW or self.native)

    @property
    def ratio(self) -> float:
        """Factor by which Python may be slower than XLA."""
        return min(MOST, max(1.0, self.round_python / self.round_xla)) if self.round_xla else TIMES


def _taken(op: Op, result: object, inputs: Sequence[object]) -> float:
    """Estimate the microseconds that an op takes XLA, where it makes one kernel of many ops."""
    looked_at = [result] if op.callee in READS else [inputs[2]] if op.callee in STORES else [result, *inputs]
    sizes = sorted(_size(v.num if isinstance(v, Val) else v.full) for v in looked_at if isinstance(v, Val | Ragged))
    products = math.sqrt(math.prod(sizes[-3:])) if op.callee in CONTRACTIONS else 0.0
    return XLA_OP + XLA_FUSED * max(sizes, default=1) + XLA_PRODUCT * products


def _size(num: Num) -> int:
    return math.prod(num.shape)


def _touched(op: Op, result: object, inputs: Sequence[object]) -> int:
    """Return an upper bound of the bytes of arrays that an op reads and writes. What is neither read nor stored does not count."""
    if op.callee in READS:
        return 2 * _bytes(result)
    if op.callee in STORES and (is_array(inputs[2]) or _is_one_item(inputs[1])):
        return 2 * _bytes(inputs[2])
    return sum(map(_bytes, (result, *inputs)))


def _bytes(operand: object) -> int:
    return _size(operand.num) * operand.num.dtype.itemsize if isinstance(operand, Val) else 0


def _is_one_item(index: object) -> bool:
    """Is the index a number, or one number for each dimension?"""
    parts = index.parts if isinstance(index, Struct) else index.value if isinstance(index, Known) and type(index.value) is tuple else (index,)
    return all(type(part) is int or (type(part.value) is int if isinstance(part, Known) else isinstance(part, Val) and not is_array(part)) for part in parts)


def of_call(inputs: Iterable[Num], outputs: Iterable[Num], callbacks: int) -> float:
    """Estimate the overhead of a call of an executable, in microseconds."""
    return CALL + CALLBACK * callbacks + ARRAY_IN * sum(n.kind == ARRAY for n in inputs) + ARRAY_OUT * sum(n.kind == ARRAY and bool(n.shape) for n in outputs)


def hopeless(work: Work, overhead: float, seconds: float) -> bool:
    """Is Python certain to be slower than a call of XLA that takes ``seconds``, or may it take too long to be tried?"""
    if work.python * 1e-6 > 2 * CLEAR * seconds:
        return True
    return work.ratio > TIMES and work.ratio * (seconds - overhead * 1e-6) > PATIENCE
