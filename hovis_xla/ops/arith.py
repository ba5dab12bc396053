"""Arithmetic that Python and NumPy share and XLA does otherwise: floor division, remainders, signs, powers."""

import numpy as np

from hovis_xla import emit
from hovis_xla.adapter import stablehlo as hlo
from hovis_xla.emit import T, add, and_, compare, div, like, mul, neg, or_, rem, select, sub, xor
from hovis_xla.types import BOOL


def sign_bit(x: T) -> T:
    """Is the sign bit of a float set (-0.0 and negative nans included)?"""
    bits = np.dtype(f"i{x.dtype.itemsize}")
    raw = T(hlo.bitcast_convert(emit.tensor_type(bits, x.shape), x.ir), bits, x.shape)
    return compare("LT", raw, like(0, raw))


def copy_sign(x: T, y: T) -> T:
    """|x| with the sign of y."""
    size = emit.absolute(x)
    return select(sign_bit(y), neg(size), size)


def is_zero(x: T) -> T:
    return compare("EQ", x, like(0, x))


def int_floor_div(x: T, y: T) -> T:
    """``x // y`` of integers, y not 0; XLA truncates."""
    quotient = div(x, y)
    if x.dtype.kind == "u":
        return quotient
    off = and_(compare("NE", mul(quotient, y), x), compare("LT", xor(x, y), like(0, x)))
    return select(off, sub(quotient, like(1, x)), quotient)


def int_floor_mod(x: T, y: T) -> T:
    """``x % y`` of integers, y not 0; XLA's has the sign of x."""
    remainder = rem(x, y)
    if x.dtype.kind == "u":
        return remainder
    off = and_(compare("NE", remainder, like(0, x)), compare("LT", xor(remainder, y), like(0, x)))
    return select(off, add(remainder, y), remainder)


def float_divmod(x: T, y: T) -> tuple[T, T]:
    """``divmod(x, y)`` of floats, as CPython's float_divmod and NumPy's npy_divmod do it, y not 0."""
    zero = like(0, x)
    mod = rem(x, y)
    quotient = div(sub(x, mod), y)
    exact = compare("EQ", mod, zero)
    opposite = xor(compare("LT", y, zero), compare("LT", mod, zero))
    shift = and_(emit.not_(exact), opposite)
    quotient = select(shift, sub(quotient, like(1, x)), quotient)
    mod = select(exact, copy_sign(zero, y), select(shift, add(mod, y), mod))
    floor = emit.op("floor", quotient)
    floor = select(compare("GT", sub(quotient, floor), like(0.5, x)), add(floor, like(1, x)), floor)
    return select(is_zero(quotient), copy_sign(zero, div(x, y)), floor), mod


def int_power(x: T, exponent: int) -> T:
    """``x ** exponent`` for a known exponent that is not negative, with wrap-around."""
    result: T | None = None
    while exponent:
        if exponent & 1:
            result = x if result is None else mul(result, x)
        exponent >>= 1
        if exponent:
            x = mul(x, x)
    return like(1, x) if result is None else result


def int_power_any(x: T, y: T) -> T:
    """``x ** y`` for exponents known at run time, not negative, with wrap-around."""
    result = like(1, x)
    bits = 8 * x.dtype.itemsize
    for k in range(bits if x.dtype.kind == "u" else bits - 1):
        bit = emit.and_(y, like(1 << k, y))
        result = select(is_zero(bit), result, mul(result, x))
        x = mul(x, x)
    return result


def is_integral(x: T) -> T:
    return and_(emit.is_finite(x), compare("EQ", emit.op("floor", x), x))


def any_of(x: T) -> T:
    """Is one of the truths of a tensor set?  A rank-0 truth."""
    if not x.shape:
        return x
    return emit.reduce([x], [emit.constant(False)], range(len(x.shape)), lambda a, b: [or_(a, b)])[0]


def all_of(x: T) -> T:
    """Are all of the truths of a tensor set?  A rank-0 truth."""
    return emit.not_(any_of(emit.not_(x)))


def integer_range(dtype: "np.dtype[np.generic]") -> tuple[int, int]:
    if dtype == BOOL:
        return 0, 1
    info = np.iinfo(dtype)  # type: ignore[type-var]
    return int(info.min), int(info.max)
