"""Arithmetic of closed intervals of integers: the possible results of an operation, given the intervals of its operands.

Integers are exact, as in Python; whether a result fits in 64 bits is tested elsewhere.
"""

import builtins
import operator
from collections.abc import Callable
from typing import Any, Final

from hovis.ir import operations

#: The least and the greatest integer, both included.
Interval = tuple[int, int]

#: Callees that add, and callees that subtract.
ADDS: Final = frozenset({operator.add, operator.iadd})
SUBTRACTS: Final = frozenset({operator.sub, operator.isub})

#: No bound is computed for shifts by more bits than this, or for powers with more bits.
_BITS: Final = 256


def join(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def meet(a: Interval, b: Interval) -> Interval:
    """Return the intersection. If it is empty, the place is unreachable, and any interval is correct."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else (low, low)


def within(a: Interval, b: Interval) -> bool:
    """Is the interval ``a`` contained in ``b``?"""
    return b[0] <= a[0] and a[1] <= b[1]


def _corners(fn: Callable[[int, int], int], x: Interval, y: Interval) -> Interval:
    found = [fn(a, b) for a in x for b in y]
    return min(found), max(found)


def add(x: Interval, y: Interval) -> Interval:
    return x[0] + y[0], x[1] + y[1]


def sub(x: Interval, y: Interval) -> Interval:
    return x[0] - y[1], x[1] - y[0]


def mul(x: Interval, y: Interval) -> Interval:
    return _corners(operator.mul, x, y)


def floordiv(x: Interval, y: Interval) -> Interval:
    """Return the interval of the quotient; a zero divisor raises."""
    if y[0] >= 0 or y[1] <= 0:
        nonzero = (max(1, y[0]), max(1, y[1])) if y[0] >= 0 else (min(-1, y[0]), min(-1, y[1]))
        return _corners(operator.floordiv, x, nonzero)
    most = max(abs(x[0]), abs(x[1]))
    return -most, most


def mod(x: Interval, y: Interval) -> Interval:
    """Return the interval of the remainder, which has the sign of the divisor."""
    if y[0] > 0 and x[0] >= 0 and x[1] < y[0]:
        return x
    low, high = min(0, y[0] + 1), max(0, y[1] - 1)
    return (low, min(high, x[1])) if x[0] >= 0 and low == 0 else (low, high)


def and_(x: Interval, y: Interval) -> Interval:
    bounds = [b[1] for b in (x, y) if b[0] >= 0]
    return (0, min(bounds)) if bounds else _bits(x, y)


def or_(x: Interval, y: Interval) -> Interval:
    low, high = _bits(x, y)
    return (max(x[0], y[0]), high) if low == 0 else (low, high)


def _bits(x: Interval, y: Interval) -> Interval:
    """Return the interval of the integers with no more bits than the operands."""
    bits = max((b if b >= 0 else ~b).bit_length() for b in (*x, *y))
    return (0 if x[0] >= 0 and y[0] >= 0 else -(1 << bits)), (1 << bits) - 1


def lshift(x: Interval, y: Interval) -> Interval | None:
    return _corners(operator.lshift, x, (max(0, y[0]), max(0, y[1]))) if y[1] <= _BITS else None


def rshift(x: Interval, y: Interval) -> Interval:
    return _corners(operator.rshift, x, (min(max(0, y[0]), _BITS), min(max(0, y[1]), _BITS)))


def pow_(x: Interval, y: Interval) -> Interval | None:
    if y[0] < 0 or y[1] * max(b.bit_length() for b in x) > _BITS:
        return None
    found = [a**n for a in x for n in y] + ([0] if x[0] <= 0 <= x[1] else [])
    high = max(map(abs, found))
    return (min(found) if x[0] >= 0 else 0 if y[0] == y[1] and y[0] % 2 == 0 else -high), high


def neg(x: Interval) -> Interval:
    return -x[1], -x[0]


def invert(x: Interval) -> Interval:
    return ~x[1], ~x[0]


def abs_(x: Interval) -> Interval:
    return (0 if x[0] <= 0 <= x[1] else min(abs(x[0]), abs(x[1]))), max(abs(x[0]), abs(x[1]))


def _least(*xs: Interval) -> Interval:
    return min(x[0] for x in xs), min(x[1] for x in xs)


def _greatest(*xs: Interval) -> Interval:
    return max(x[0] for x in xs), max(x[1] for x in xs)


def _same(x: Interval) -> Interval:
    return x


def before(bound: int, distance: int) -> int:
    """Return ``bound - distance``, clamped to the 64-bit integers: from below, or from above for a negative distance."""
    return (max(bound, distance - 2**63) if distance >= 0 else min(bound, distance + 2**63 - 1)) - distance


def _before(bound: Interval, distance: Interval) -> Interval | None:
    return (before(bound[0], distance[0]), before(bound[1], distance[0])) if distance[0] == distance[1] else None


#: For each operator that also exists in place, the function from the intervals of its operands to that of its result (None: unknown).
_ARITHMETIC: Final[dict[Any, Callable[..., Interval | None]]] = {
    operator.add: add, operator.sub: sub, operator.mul: mul, operator.floordiv: floordiv, operator.mod: mod, operator.and_: and_, operator.or_: or_,
    operator.xor: _bits, operator.lshift: lshift, operator.rshift: rshift, operator.pow: pow_,
}  # fmt: skip

#: The same for each callable.
RESULTS: Final[dict[Any, Callable[..., Interval | None]]] = {
    **_ARITHMETIC, **{getattr(operator, f"i{fn.__name__.strip('_')}"): found for fn, found in _ARITHMETIC.items()},
    operator.neg: neg, operator.pos: _same, operator.invert: invert, operator.abs: abs_, builtins.abs: abs_, builtins.min: _least, builtins.max: _greatest,
    int: _same, operator.index: _same, operations.range_step: _same, before: _before,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------- constraints from comparisons


def _not_equal(x: Interval, y: Interval) -> Interval:
    if y[0] != y[1] or x[0] == x[1]:
        return x
    return (x[0] + (x[0] == y[0])), (x[1] - (x[1] == y[0]))


#: The interval of x where a comparison of x with y holds.
SAYS: Final[dict[Any, Callable[[Interval, Interval], Interval]]] = {
    operator.lt: lambda x, y: meet(x, (x[0], y[1] - 1)),
    operator.le: lambda x, y: meet(x, (x[0], y[1])),
    operator.gt: lambda x, y: meet(x, (y[0] + 1, x[1])),
    operator.ge: lambda x, y: meet(x, (y[0], x[1])),
    operator.eq: meet,
    operator.ne: _not_equal,
}

#: Each comparison with its sides exchanged, and its negation.
SWAPPED: Final[dict[Any, Any]] = {
    operator.lt: operator.gt, operator.le: operator.ge, operator.gt: operator.lt, operator.ge: operator.le, operator.eq: operator.eq, operator.ne: operator.ne,
}  # fmt: skip
NEGATED: Final[dict[Any, Any]] = {
    operator.lt: operator.ge, operator.le: operator.gt, operator.gt: operator.le, operator.ge: operator.lt, operator.eq: operator.ne, operator.ne: operator.eq,
}  # fmt: skip
