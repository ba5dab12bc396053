"""The ``math`` module's functions of floats. Where Python raises, the program bails out."""

import builtins
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, and_, compare, like, not_, or_, select
from hovis_xla.emit.values import FLOAT64, INT64, Known, Operand, Struct
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.ops.scalar import arithmetic
from hovis_xla.ops.scalar.conversions import to_whole
from hovis_xla.ops.scalar.python_numbers import L, Row, as_class, class_of, is_infinite, number, whole

#: The smallest normal double; positive doubles below this are denormal.
_SMALLEST: Final = 2.2250738585072014e-308

#: The largest double with a finite exponential.
_MOST_EXPONENT: Final = 709.782712893384


def of_floats(make: Callable[..., T], checked: bool = True, grows: bool = False) -> Row:
    """Make the lowering of a function of floats. If checked, a NaN or an infinity out of finite arguments is an exception, as in Python.

    ``grows``: an infinity is an overflow, not a pole.
    """

    def row(low: L, *xs: Operand) -> Operand | None:
        if any(class_of(x) not in (bool, int, float) for x in xs):
            return None
        args = [as_class(low, x, float) for x in xs]
        result = make(*args)
        if checked:
            usable = builder.is_finite(args[0])
            for x in args[1:]:
                usable = and_(usable, builder.is_finite(x))
            odd = and_(not_(builder.is_finite(result)), usable)
            lost = builder.is_nan(result)
            for x in args:
                lost = and_(lost, not_(builder.is_nan(x)))
            low.raise_if(lost, ValueError)
            low.raise_if(odd, OverflowError if grows else ValueError)
        return number(result)

    return row


def of_one(make: Callable[[T], T], refused: Callable[[T], T], error: type[Exception] = ValueError, unsure: Callable[[T], T] | None = None) -> Row:
    """Make the lowering of a function of one float that raises error where ``refused`` holds of the argument; where ``unsure`` holds, XLA may
    give another result, and the program bails out.

    The conditions are of the argument: XLA computes a flag in a kernel of its own, and for a flag of the result, the result twice.
    """

    def row(low: L, x: Operand) -> Operand | None:
        if class_of(x) not in (bool, int, float):
            return None
        t = as_class(low, x, float)
        low.raise_if(refused(t), error)
        if unsure is not None:
            low.bail_if(unsure(t))
        return number(make(t))

    return row


def _is(how: str, bound: float) -> Callable[[T], T]:
    return lambda x: compare(how, x, like(bound, x))


def _of_size(how: str, bound: float) -> Callable[[T], T]:
    return lambda x: compare(how, builder.absolute(x), like(bound, x))


def _too_large(x: T) -> T:
    """Is x finite, and its exponential infinite?"""
    return and_(compare("GT", x, like(_MOST_EXPONENT, x)), compare("LT", x, like(math.inf, x)))


def _logarithm(make: Callable[[T], T]) -> Row:
    """Make the lowering of a logarithm; bail out for a denormal, which XLA treats as zero."""
    return of_one(make, _is("LE", 0.0), unsure=_is_denormal)


def _predicate(make: Callable[[T], T]) -> Row:
    def row(low: L, x: Operand) -> Operand | None:
        return number(make(as_class(low, x, float))) if class_of(x) in (bool, int, float) else None

    return row


def _op(name: str) -> Callable[..., T]:
    return lambda *xs: builder.op(name, *xs)


def _chlo(name: str) -> Callable[..., T]:
    return lambda *xs: builder.chlo_op(name, *xs)


def log_base(base: float) -> Callable[[T], T]:
    """Make a logarithm that is exact for powers of the base (two or ten), as the C functions are."""

    def make(x: T) -> T:
        found = builder.div(builder.op("log", x), like(math.log(base), x))
        near = builder.op("round_nearest_even", found)
        return select(compare("EQ", builder.op("power", like(base, x), near), x), near, found)

    return make


def _exp2(x: T) -> T:
    return builder.op("power", like(2.0, x), x)


# ------------------------------------------------------------------------------------------------- bits of doubles


def _bits(x: T) -> T:
    return T(hlo.bitcast_convert(builder.tensor_type(INT64, x.shape), x.ir), INT64, x.shape)


def _double(bits: T) -> T:
    return T(hlo.bitcast_convert(builder.tensor_type(FLOAT64, bits.shape), bits.ir), FLOAT64, bits.shape)


def _is_denormal(x: T) -> T:
    """Is x a positive denormal? XLA compares it as zero."""
    bits = _bits(x)
    return and_(compare("GT", bits, like(0, bits)), compare("LT", bits, like(1 << 52, bits)))


def _exponent(bits: T) -> T:
    return and_(builder.op("shift_right_logical", bits, like(52, bits)), like(0x7FF, bits))


def _frexp(low: L, x: Operand) -> Operand | None:
    if class_of(x) not in (bool, int, float):
        return None
    t = as_class(low, x, float)
    bits = _bits(t)
    exponent = _exponent(bits)
    none = and_(compare("EQ", exponent, like(0, bits)), compare("EQ", and_(bits, like((1 << 63) - 1, bits)), like(0, bits)))
    low.bail_if(and_(compare("EQ", exponent, like(0, bits)), not_(none)))
    plain = or_(none, compare("EQ", exponent, like(0x7FF, bits)))
    mantissa = _double(or_(and_(bits, like(-1 & ~(0x7FF << 52), bits)), like(1022 << 52, bits)))
    found = select(plain, t, mantissa), select(plain, like(0, bits), builder.sub(exponent, like(1022, bits)))
    return Struct(operations.make_tuple, (number(found[0]), whole(found[1])), object())


def _ldexp(low: L, x: Operand, i: Operand) -> Operand | None:
    if class_of(x) not in (bool, int, float) or class_of(i) not in (bool, int):
        return None
    t, n = as_class(low, x, float), as_class(low, i, int)
    n = builder.op("maximum", builder.op("minimum", n, like(2200, n)), like(-2200, n))
    found = t
    left = n
    for _ in range(3):
        part = builder.op("maximum", builder.op("minimum", left, like(1000, n)), like(-1000, n))
        found = builder.mul(found, _double(builder.op("shift_left", builder.add(part, like(1023, n)), like(52, n))))
        left = builder.sub(left, part)
    size = builder.absolute(found)
    given = and_(builder.is_finite(t), not_(arithmetic.is_zero(t)))
    low.bail_if(and_(given, or_(not_(builder.is_finite(found)), compare("LT", size, like(_SMALLEST, t)))))
    return number(found)


def _nextafter(low: L, x: Operand, y: Operand) -> Operand | None:
    if any(class_of(v) not in (bool, int, float) for v in (x, y)):
        return None
    a, b = as_class(low, x, float), as_class(low, y, float)
    bits = _bits(a)
    up = compare("EQ", compare("GT", b, a), compare("GT", a, like(0, a)))
    found = _double(builder.add(bits, select(up, like(1, bits), like(-1, bits))))
    found = select(compare("EQ", a, b), b, select(or_(builder.is_nan(a), builder.is_nan(b)), like(math.nan, a), found))
    low.bail_if(or_(compare("LE", builder.absolute(a), like(_SMALLEST, a)), compare("LT", builder.absolute(found), like(_SMALLEST, a))))
    return number(found)


# ------------------------------------------------------------------------------------------------- round(x, n)


def _round_to(low: L, x: Operand, digits: Operand) -> Operand | None:
    """Lower ``round(x, n)``: the double nearest to the decimal nearest to x; ties (of the exact value of x) go to even."""
    n = digits.value if isinstance(digits, Known) else None
    if class_of(x) is not float or type(n) is not int or abs(n) > 15:
        return None
    t = tensor(low.val(x))
    unit = like(10.0 ** abs(n), t)
    size = builder.absolute(t)
    if n >= 0:
        scaled, error = _product(size, 10.0**n)
        near = builder.op("round_nearest_even", scaled)
        off = builder.sub(scaled, near)
        # the rounded product is a tie, the exact product is none
        wrong_up = and_(compare("EQ", off, like(-0.5, t)), compare("LT", error, like(0, t)))
        wrong_down = and_(compare("EQ", off, like(0.5, t)), compare("GT", error, like(0, t)))
        near = select(wrong_up, builder.sub(near, like(1, t)), select(wrong_down, builder.add(near, like(1, t)), near))
        found = builder.div(near, unit)
        exact = compare("LT", scaled, like(2.0**51, t))
    else:
        near = builder.op("round_nearest_even", builder.div(size, unit))
        rest = builder.sub(size, builder.mul(near, unit))
        half = like(10.0 ** abs(n) / 2, t)
        odd = compare("NE", builder.rem(near, like(2, t)), like(0, t))
        up = or_(compare("GT", rest, half), and_(compare("EQ", rest, half), odd))
        down = or_(compare("LT", rest, builder.neg(half)), and_(compare("EQ", rest, builder.neg(half)), odd))
        near = select(up, builder.add(near, like(1, t)), select(down, builder.sub(near, like(1, t)), near))
        found = builder.mul(near, unit)
        exact = compare("LT", size, like(2.0**51, t))
    low.bail_if(not_(or_(exact, not_(builder.is_finite(t)))))
    return number(select(builder.is_finite(t), arithmetic.copy_sign(found, t), t))


def _product(x: T, factor: float) -> tuple[T, T]:
    """Return the rounded product and its rounding error (computed from halves of the digits, whose products are exact)."""
    high = _double(and_(_bits(x), like(-1 << 27, _bits(x))))
    rest = builder.sub(x, high)
    bits = int(np.float64(factor).view(np.int64)) & (-1 << 27)
    upper = float(np.int64(bits).view(np.float64))
    lower = factor - upper
    product = builder.mul(x, like(factor, x))
    error = builder.sub(builder.mul(high, like(upper, x)), product)
    error = builder.add(error, builder.mul(high, like(lower, x)))
    error = builder.add(error, builder.mul(rest, like(upper, x)))
    return product, builder.add(error, builder.mul(rest, like(lower, x)))


#: Functions whose operands are converted to floats first.
MATH: Final[dict[Any, Row]] = {
    math.sqrt: of_one(_op("sqrt"), _is("LT", 0.0)), math.exp: of_one(_op("exponential"), _too_large, OverflowError), math.log: _logarithm(_op("log")),
    math.sin: of_one(_op("sine"), is_infinite), math.cos: of_one(_op("cosine"), is_infinite), math.tan: of_one(_op("tan"), is_infinite),
    math.tanh: of_floats(_op("tanh"), False), math.log1p: of_one(_op("log_plus_one"), _is("LE", -1.0)),
    math.expm1: of_one(_op("exponential_minus_one"), _too_large, OverflowError), math.atan2: of_floats(_op("atan2"), False),
    math.asin: of_one(_chlo("asin"), _of_size("GT", 1.0)), math.acos: of_one(_chlo("acos"), _of_size("GT", 1.0)), math.atan: of_floats(_chlo("atan"), False),
    math.sinh: of_floats(_chlo("sinh"), grows=True), math.cosh: of_floats(_chlo("cosh"), grows=True), math.asinh: of_floats(_chlo("asinh"), False),
    math.acosh: of_one(_chlo("acosh"), _is("LT", 1.0)), math.atanh: of_one(_chlo("atanh"), _of_size("GE", 1.0)), math.erf: of_floats(_chlo("erf"), False),
    math.erfc: of_floats(_chlo("erfc"), False), math.log2: _logarithm(log_base(2)), math.log10: _logarithm(log_base(10)),
    math.exp2: of_floats(_exp2, grows=True), math.cbrt: of_floats(_op("cbrt"), False), math.fabs: of_floats(builder.absolute, False),
    math.copysign: of_floats(arithmetic.copy_sign, False), math.fmod: of_floats(builder.rem),
    math.degrees: of_floats(lambda x: builder.mul(x, like(180 / math.pi, x)), False),
    math.radians: of_floats(lambda x: builder.mul(x, like(math.pi / 180, x)), False),
    math.isnan: _predicate(builder.is_nan), math.isfinite: _predicate(builder.is_finite), math.isinf: _predicate(is_infinite),
    math.floor: to_whole("floor"), math.ceil: to_whole("ceil"), math.trunc: to_whole(""),
}  # fmt: skip

ROWS: Final[dict[Any, Row]] = {**MATH, math.frexp: _frexp, math.ldexp: _ldexp, math.nextafter: _nextafter}

#: Tried after the rows for the same callables in ``python_numbers``.
LATER: Final[dict[Any, Row]] = {builtins.round: _round_to}
