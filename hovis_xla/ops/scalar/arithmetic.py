"""Arithmetic in which Python and NumPy agree and XLA differs: floor division, remainders, signs, powers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from hovis_xla.emit import builder, reductions
from hovis_xla.emit.builder import T, add, and_, compare, div, like, mul, neg, or_, rem, select, sub, xor
from hovis_xla.emit.values import BOOL, INT64
from hovis_xla.jaxlib.adapter import stablehlo as hlo


def sign_bit(x: T) -> T:
    """Is the sign bit of a float set (-0.0 and negative nans included)?"""
    bits = np.dtype(f"i{x.dtype.itemsize}")
    raw = T(hlo.bitcast_convert(builder.tensor_type(bits, x.shape), x.ir), bits, x.shape)
    return compare("LT", raw, like(0, raw))


def copy_sign(x: T, y: T) -> T:
    """Return |x| with the sign of y."""
    size = builder.absolute(x)
    return select(sign_bit(y), neg(size), size)


def is_zero(x: T) -> T:
    return compare("EQ", x, like(0, x))


def _as_unsigned(fn: Callable[[T, T], T], x: T, y: T) -> T:
    """Divide integers that are not negative as unsigned ones, which needs no test of signs."""
    wide = np.dtype(f"u{x.dtype.itemsize}")
    return builder.convert(fn(builder.convert(x, wide), builder.convert(y, wide)), x.dtype)


def int_floor_div(x: T, y: T, natural_x: bool = False, natural_y: bool = False) -> T:
    """Return ``x // y`` of integers, y not 0; XLA truncates. ``natural_x``, ``natural_y``: that operand is never negative."""
    if x.dtype.kind == "u":
        return div(x, y)
    if natural_x and natural_y:
        return _as_unsigned(div, x, y)
    quotient = div(x, y)
    if natural_y:
        return select(compare("LT", sub(x, mul(quotient, y)), like(0, x)), sub(quotient, like(1, x)), quotient)
    off = and_(compare("NE", mul(quotient, y), x), compare("LT", xor(x, y), like(0, x)))
    return select(off, sub(quotient, like(1, x)), quotient)


def int_floor_mod(x: T, y: T, natural_x: bool = False, natural_y: bool = False) -> T:
    """Return ``x % y`` of integers, y not 0; XLA's remainder has the sign of x. ``natural_x``, ``natural_y``: that operand is never negative."""
    if x.dtype.kind == "u":
        return rem(x, y)
    if natural_x and natural_y:
        return _as_unsigned(rem, x, y)
    remainder = rem(x, y)
    if natural_y:
        return select(compare("LT", remainder, like(0, x)), add(remainder, y), remainder)
    off = and_(compare("NE", remainder, like(0, x)), compare("LT", xor(remainder, y), like(0, x)))
    return select(off, add(remainder, y), remainder)


def float_divmod(x: T, y: T) -> tuple[T, T]:
    """Return ``divmod(x, y)`` of floats, as computed by CPython's float_divmod and NumPy's npy_divmod, y not 0."""
    zero = like(0, x)
    mod = rem(x, y)
    quotient = div(sub(x, mod), y)
    exact = compare("EQ", mod, zero)
    opposite = xor(compare("LT", y, zero), compare("LT", mod, zero))
    shift = and_(builder.not_(exact), opposite)
    quotient = select(shift, sub(quotient, like(1, x)), quotient)
    mod = select(exact, copy_sign(zero, y), select(shift, add(mod, y), mod))
    floor = builder.op("floor", quotient)
    floor = select(compare("GT", sub(quotient, floor), like(0.5, x)), add(floor, like(1, x)), floor)
    return select(is_zero(quotient), copy_sign(zero, div(x, y)), floor), mod


def int_power(x: T, exponent: int) -> T:
    """Return ``x ** exponent`` for a known exponent that is not negative, with wrap-around."""
    result: T | None = None
    while exponent:
        if exponent & 1:
            result = x if result is None else mul(result, x)
        exponent >>= 1
        if exponent:
            x = mul(x, x)
    return like(1, x) if result is None else result


def int_power_any(x: T, y: T) -> T:
    """Return ``x ** y`` for exponents known at run time, not negative, with wrap-around."""
    result = like(1, x)
    bits = 8 * x.dtype.itemsize
    for k in range(bits if x.dtype.kind == "u" else bits - 1):
        bit = builder.and_(y, like(1 << k, y))
        result = select(is_zero(bit), result, mul(result, x))
        x = mul(x, x)
    return result


def _float_bits(x: T) -> tuple[T, "np.dtype[np.generic]", int, int]:
    """Return the bits of a float as an integer, their dtype, the number of bits of the fraction, and the bias of the exponent."""
    dtype: np.dtype[np.generic] = np.dtype(f"i{x.dtype.itemsize}")
    fraction, bias = {8: (52, 1023), 4: (23, 127)}[x.dtype.itemsize]
    return T(hlo.bitcast_convert(builder.tensor_type(dtype, x.shape), x.ir), dtype, x.shape), dtype, fraction, bias


def _of_bits(bits: T, dtype: "np.dtype[np.generic]") -> T:
    return T(hlo.bitcast_convert(builder.tensor_type(dtype, bits.shape), bits.ir), dtype, bits.shape)


def frexp(x: T) -> tuple[T, T]:
    """Return the mantissa (from 0.5 up to 1) and the exponent (an int32)."""
    bits, _, fraction, bias = _float_bits(x)
    field = builder.and_(builder.op("shift_right_logical", bits, like(fraction, bits)), like(2 * bias + 1, bits))
    plain = and_(builder.is_finite(x), builder.not_(is_zero(x)))
    cleared = builder.and_(bits, like(~((2 * bias + 1) << fraction), bits))
    mantissa = _of_bits(or_(cleared, like((bias - 1) << fraction, bits)), x.dtype)
    exponent = sub(field, like(bias - 1, bits))
    return select(plain, mantissa, x), builder.convert(select(plain, exponent, like(0, bits)), np.dtype(np.int32))


def ldexp(x: T, n: T) -> T:
    """Return ``x * 2**n``, in four steps, in which no power of two is too large or too small."""
    dtype: np.dtype[np.generic] = np.dtype(f"i{x.dtype.itemsize}")
    _, _, fraction, bias = _float_bits(x)
    n = builder.convert(n, np.dtype(np.int64))
    n = builder.op("maximum", builder.op("minimum", n, like(3 * bias, n)), like(-3 * bias, n))
    quarter = int_floor_div(n, like(4, n))
    rest = sub(n, mul(quarter, like(3, n)))
    for step in (rest, quarter, quarter, quarter):
        bits = builder.op("shift_left", builder.convert(add(step, like(bias, step)), dtype), builder.full(fraction, dtype, x.shape))
        x = mul(x, _of_bits(bits, x.dtype))
    return x


def modf(x: T) -> tuple[T, T]:
    """Return the fraction and the whole part, both with the sign of x."""
    whole = select(compare("LT", x, like(0, x)), builder.op("ceil", x), builder.op("floor", x))
    whole = copy_sign(whole, x)
    fraction = select(builder.is_finite(x), sub(x, whole), select(builder.is_nan(x), x, like(0, x)))
    return copy_sign(fraction, x), select(builder.is_nan(x), x, whole)


def gcd(x: T, y: T) -> T:
    """Return the greatest common divisor as NumPy does: of the absolute values as unsigned integers, which can hold that of the least integer."""
    a, b = map(_size, (x, y))

    def more(a: T, b: T) -> T:
        return any_of(compare("NE", b, like(0, b)))

    def step(a: T, b: T) -> list[T]:
        done = is_zero(b)
        rest = rem(a, select(done, like(1, b), b))
        return [select(done, a, b), select(done, b, rest)]

    return builder.convert(reductions.repeat([a, b], more, step)[0], x.dtype)


def lcm(x: T, y: T) -> T:
    a, b = map(_size, (x, y))
    divisor = gcd(a, b)
    none = is_zero(divisor)
    return builder.convert(select(none, like(0, a), mul(div(a, select(none, like(1, a), divisor)), b)), x.dtype)


def _size(x: T) -> T:
    """Return the absolute value of an integer as an unsigned integer."""
    return x if x.dtype.kind == "u" else builder.convert(builder.absolute(x), np.dtype(f"u{x.dtype.itemsize}"))


def is_integral(x: T) -> T:
    return and_(builder.is_finite(x), compare("EQ", builder.op("floor", x), x))


def any_of(x: T) -> T:
    """Is any truth value of a tensor true? The result has rank 0."""
    if not x.shape:
        return x
    return reductions.reduce([x], [builder.constant(False)], range(len(x.shape)), lambda a, b: [or_(a, b)])[0]


def all_of(x: T) -> T:
    """Are all truth values of a tensor true? The result has rank 0."""
    return builder.not_(any_of(builder.not_(x)))


def integer_range(dtype: "np.dtype[np.generic]") -> tuple[int, int]:
    if dtype == BOOL:
        return 0, 1
    info = np.iinfo(dtype)  # type: ignore[type-var]
    return int(info.min), int(info.max)


def check_range(low: Any, x: T, dtype: "np.dtype[Any]") -> None:
    """Bail out for a number that an integer array of this dtype cannot hold, which NumPy refuses."""
    if dtype.kind not in "iu" or x.dtype.kind == "b" or np.can_cast(x.dtype, dtype):
        return
    limits = np.iinfo(dtype)
    if x.dtype.kind == "f":
        above, below = compare("GT", x, builder.like(float(limits.min) - 1, x)), compare("LT", x, builder.like(float(limits.max) + 1, x))
        low.bail_if(builder.not_(builder.and_(above, below)))
        return
    wide = builder.convert(x, INT64) if x.dtype.itemsize < 8 else x
    least = max(limits.min, np.iinfo(wide.dtype).min)
    greatest = min(limits.max, np.iinfo(wide.dtype).max)
    low.bail_if(or_(compare("LT", wide, builder.like(least, wide)), compare("GT", wide, builder.like(greatest, wide))))
