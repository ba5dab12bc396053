"""Python's own numbers: ``int`` as an i64 that bails out on overflow, ``float``, ``bool``, ``complex``.

Where Python raises (a division by zero, ``math.sqrt(-1)``, a shift by a negative count) the program bails out:
the residual Python then raises, in the right place and with the right message.
"""

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis_xla.analysis.ranges.intervals import before
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, and_, compare, like, not_, or_, select, xor
from hovis_xla.emit.values import CARRIERS, COMPLEX, COMPLEX128, FLOAT, FLOAT64, INT, INT64, PYTHON, TRUTH, Known, Operand, Struct, Val
from hovis_xla.ops.scalar import arithmetic, complex_functions

#: A Lowering: the first argument of rows.
L = Any
Row = Callable[..., "Operand | None"]

_TOWER: Final = [bool, int, float, complex]
#: Integer products whose value as a double is at or above this may exceed 64 bits.
_PRODUCT_LIMIT: Final = 9.2233720368547e18
#: Integers up to this are exact as doubles.
EXACT: Final = 2**53


def class_of(x: Operand) -> type | None:
    """Return bool, int, float or complex if x is a Python number, otherwise None."""
    if isinstance(x, Val):
        return x.num.python if x.num.kind == PYTHON else None
    return type(x.value) if isinstance(x, Known) and type(x.value) in CARRIERS else None


def common(*xs: Operand) -> type | None:
    """Return the class in which Python does arithmetic on these operands, or None if one is not a Python number."""
    classes = [class_of(x) for x in xs]
    return None if None in classes else max(classes, key=_TOWER.index)  # type: ignore[arg-type]


def as_class(low: L, x: Operand, cls: type) -> T:
    """Return x converted as in Python's arithmetic."""
    return builder.convert(tensor(low.val(x)), CARRIERS[cls])


def known(x: Operand) -> Any:
    """Return the value of a known operand, or None if it is not known."""
    return x.value if isinstance(x, Known) else None


def whole(t: T) -> Val:
    return Val(INT, t.ir)


def number(t: T) -> Val:
    return Val(FLOAT if t.dtype == FLOAT64 else COMPLEX if t.dtype == COMPLEX128 else INT if t.dtype == INT64 else TRUTH, t.ir)


def _arithmetic(low: L, a: Operand, b: Operand) -> tuple[type, T, T] | None:
    cls = common(a, b)
    if cls is None:
        return None
    cls = int if cls is bool else cls
    return cls, as_class(low, a, cls), as_class(low, b, cls)


# ------------------------------------------------------------------------------------------------- + - *


def add(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    result = builder.add(x, y)
    if cls is int and not low.in_range(operator.add):
        low.bail_if(compare("LT", and_(xor(x, result), xor(y, result)), like(0, x)))
    return number(result)


def sub(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    result = builder.sub(x, y)
    if cls is int and not low.in_range(operator.sub):
        low.bail_if(compare("LT", and_(xor(x, y), xor(x, result)), like(0, x)))
    return number(result)


def mul(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    if cls is int and not low.in_range(operator.mul):
        _check_product(low, x, y, known(b) if known(b) is not None else known(a), x if known(b) is not None else y)
    return number(builder.mul(x, y))


def _check_product(low: L, x: T, y: T, factor: int | None, other: T) -> None:
    if factor is None:
        product = builder.absolute(builder.mul(builder.convert(x, FLOAT64), builder.convert(y, FLOAT64)))
        low.bail_if(compare("GE", product, like(_PRODUCT_LIMIT, product)))
    elif factor not in (0, 1):
        most = (2**63 - 1) // abs(factor)
        low.bail_if(or_(compare("GT", other, like(most, other)), compare("LT", other, like(-most, other))))


# ------------------------------------------------------------------------------------------------- / // % **


def truediv(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _arithmetic(low, a, b)
    if found is None:
        return None
    cls, x, y = found
    _nonzero(low, b, y)
    if cls is int:
        # the quotient is correctly rounded only if both are exact as floats
        for operand, t in ((a, x), (b, y)):
            if not is_within(low, operand, -EXACT, EXACT):
                low.bail_if(or_(compare("GT", t, like(EXACT, t)), compare("LT", t, like(-EXACT, t))))
        x, y = builder.convert(x, FLOAT64), builder.convert(y, FLOAT64)
    return number(complex_functions.divide(x, y) if cls is complex else builder.div(x, y))


def _nonzero(low: L, operand: Operand, t: T) -> None:
    """Raise a ZeroDivisionError if the divisor is zero."""
    bounds = low.interval(operand)
    if not known(operand) and (bounds is None or bounds[0] <= 0 <= bounds[1]):
        low.raise_if(arithmetic.is_zero(t), ZeroDivisionError)


def is_within(low: L, operand: Operand, least: int, greatest: int) -> bool:
    """Is an integer certainly between least and greatest?"""
    bounds = low.interval(operand)
    return bounds is not None and bool(least <= bounds[0] and bounds[1] <= greatest)


def _divmod(low: L, a: Operand, b: Operand, want: str) -> "tuple[Operand, ...] | None":
    found = _arithmetic(low, a, b)
    if found is None or found[0] is complex:
        return None
    cls, x, y = found
    _nonzero(low, b, y)
    if cls is float:
        return tuple(map(number, arithmetic.float_divmod(x, y)))
    n = known(b)
    if not n and not (is_within(low, b, 1, 2**63) or is_within(low, b, -(2**63), -1)):
        # XLA's constant folding crashes on a division by zero
        y = select(arithmetic.is_zero(y), like(1, y), y)
    fits = is_within(low, a, 1 - 2**63, 2**63) or is_within(low, b, 0, 2**63) or is_within(low, b, -(2**63), -2)
    if want != "mod" and not fits and (n is None or n == -1):
        low.bail_if(and_(compare("EQ", y, like(-1, y)), compare("EQ", x, like(-(2**63), x))))
    if n is not None and n > 0 and n & (n - 1) == 0:
        shift = like(n.bit_length() - 1, x)
        return whole(builder.op("shift_right_arithmetic", x, shift)), whole(and_(x, like(n - 1, x)))
    signs = [is_within(low, operand, 0, 2**63) for operand in (a, b)]
    return whole(arithmetic.int_floor_div(x, y, *signs)), whole(arithmetic.int_floor_mod(x, y, *signs))


def floordiv(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _divmod(low, a, b, "div")
    return None if found is None else found[0]


def mod(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _divmod(low, a, b, "mod")
    return None if found is None else found[1]


def divmod_(low: L, a: Operand, b: Operand) -> Operand | None:
    found = _divmod(low, a, b, "both")
    return None if found is None else Struct(operations.make_tuple, found, object())


def power(low: L, a: Operand, b: Operand) -> Operand | None:
    cls, n = common(a, b), known(b)
    if cls in (bool, int):
        if n is None or n > 64:
            return None  # the result is an int or a float, by the sign of the exponent
        if n >= 0:
            return _int_power(low, a, int(n))
    if cls is complex or cls is None:
        return None
    x, y = as_class(low, a, float), as_class(low, b, float)
    if n == 2:
        result = builder.mul(x, x)
    else:
        low.raise_if(and_(arithmetic.is_zero(x), compare("LT", y, like(0, y))), ZeroDivisionError)
        if n is None or not float(n).is_integer():
            low.bail_if(and_(and_(compare("LT", x, like(0, x)), builder.is_finite(x)), and_(builder.is_finite(y), not_(arithmetic.is_integral(y)))))
        result = builder.op("power", x, y)
    low.raise_if(and_(is_infinite(result), and_(builder.is_finite(x), builder.is_finite(y))), OverflowError)
    return number(result)


def _int_power(low: L, a: Operand, n: int) -> Operand:
    result: Operand = Known(1)
    base: Operand = whole(as_class(low, a, int))
    while n:
        if n & 1:
            result = base if isinstance(result, Known) else _must(mul(low, result, base))
        n >>= 1
        if n:
            base = _must(mul(low, base, base))
    return result


def _must(x: Operand | None) -> Operand:
    assert x is not None
    return x


def is_infinite(x: T) -> T:
    return compare("EQ", builder.absolute(x), like(math.inf, x))


# ------------------------------------------------------------------------------------------------- bits


def _bitwise(name: str) -> Row:
    def row(low: L, a: Operand, b: Operand) -> Operand | None:
        cls = common(a, b)
        if cls not in (bool, int):
            return None
        if class_of(a) is bool and class_of(b) is bool:
            return number({"and": and_, "or": or_, "xor": xor}[name](tensor(low.val(a)), tensor(low.val(b))))
        return whole({"and": and_, "or": or_, "xor": xor}[name](as_class(low, a, int), as_class(low, b, int)))

    return row


def lshift(low: L, a: Operand, b: Operand) -> Operand | None:
    if common(a, b) not in (bool, int):
        return None
    x, n = as_class(low, a, int), as_class(low, b, int)
    result = builder.op("shift_left", x, n)
    if low.in_range(operator.lshift) and is_within(low, b, 0, 62):
        return whole(result)
    back = builder.op("shift_right_arithmetic", result, n)
    low.bail_if(or_(compare("NE", back, x), or_(compare("LT", n, like(0, n)), compare("GT", n, like(62, n)))))
    return whole(result)


def rshift(low: L, a: Operand, b: Operand) -> Operand | None:
    if common(a, b) not in (bool, int):
        return None
    x, n = as_class(low, a, int), as_class(low, b, int)
    if not is_within(low, b, 0, 2**63):
        low.bail_if(compare("LT", n, like(0, n)))
    if not is_within(low, b, -(2**63), 63):
        n = builder.op("minimum", n, like(63, n))
    return whole(builder.op("shift_right_arithmetic", x, n))


def invert(low: L, a: Operand) -> Operand | None:
    return whole(not_(as_class(low, a, int))) if class_of(a) in (bool, int) else None


# ------------------------------------------------------------------------------------------------- unary


def neg(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls is None:
        return None
    x = as_class(low, a, int if cls is bool else cls)
    if x.dtype == INT64 and not is_within(low, a, 1 - 2**63, 2**63):
        low.bail_if(compare("EQ", x, like(-(2**63), x)))
    return number(builder.neg(x))


def pos(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    return None if cls is None else number(as_class(low, a, int if cls is bool else cls))


def abs_(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls is None:
        return None
    x = as_class(low, a, int if cls is bool else cls)
    if x.dtype == INT64 and not is_within(low, a, 1 - 2**63, 2**63):
        low.bail_if(compare("EQ", x, like(-(2**63), x)))
    if cls is complex:
        size = complex_functions.absolute(x)
        low.bail_if(and_(is_infinite(size), builder.is_finite(x)))
        return number(size)
    return number(builder.absolute(x))


def truth(low: L, a: Operand) -> Operand | None:
    if class_of(a) is None:
        return Known(bool(a.value)) if isinstance(a, Known) and a.value is None else None
    return number(builder.convert(tensor(low.val(a)), CARRIERS[bool]))


def not_row(low: L, a: Operand) -> Operand | None:
    found = truth(low, a)
    return None if found is None else Known(not found.value) if isinstance(found, Known) else number(not_(tensor(found)))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------- ranges, positions


def range_step(low: L, step: Operand) -> Operand | None:
    t = as_class(low, step, int)
    _nonzero(low, step, t)
    return whole(t)


def range_goes_on(low: L, current: Operand, stop: Operand, step: Operand) -> Operand | None:
    at, end, by = (as_class(low, x, int) for x in (current, stop, step))
    if is_within(low, step, 0, 2**63):
        return number(compare("LT", at, end))
    return number(select(compare("GT", by, like(0, by)), compare("LT", at, end), compare("GT", at, end)))


def before_(low: L, bound: Operand, distance: Operand) -> Operand | None:
    x, d = as_class(low, bound, int), known(distance)
    far = builder.op("maximum", x, like(d - 2**63, x)) if d >= 0 else builder.op("minimum", x, like(d + 2**63 - 1, x))
    return whole(builder.sub(far, like(d, x)))


def position(low: L, a: Operand) -> T:
    """Return an integer that is a position as an i64; bail out for a number beyond that, which Python handles."""
    x = tensor(low.val(a))
    place = builder.convert(x, INT64)
    if x.dtype == np.uint64 and not x.shape:
        low.bail_if(compare("LT", place, like(0, place)))
    return place


ROWS: Final[dict[Any, Row]] = {
    operator.add: add, operator.sub: sub, operator.mul: mul, operator.truediv: truediv, operator.floordiv: floordiv, operator.mod: mod,
    operator.pow: power, builtins.pow: power, builtins.divmod: divmod_, operator.and_: _bitwise("and"), operator.or_: _bitwise("or"),
    operator.xor: _bitwise("xor"), operator.lshift: lshift, operator.rshift: rshift, operator.invert: invert, operator.neg: neg, operator.pos: pos,
    operator.abs: abs_, builtins.abs: abs_, operator.truth: truth, bool: truth, operator.not_: not_row,
    operations.range_step: range_step, before: before_, operations.range_goes_on: range_goes_on,
}  # fmt: skip
