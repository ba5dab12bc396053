"""The operations emitted for each of NumPy's elementwise functions. The operands have the dtype of the loop and are broadcast."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from hovis_xla.emit import builder
from hovis_xla.emit.builder import T, and_, compare, like, not_, or_, select
from hovis_xla.emit.values import BOOL
from hovis_xla.ops.scalar import arithmetic, complex_functions
from hovis_xla.ops.scalar.math_module import log_base

Make = Callable[..., T]


def _op(name: str) -> Make:
    return lambda *xs: builder.op(name, *xs)


def _chlo(name: str) -> Make:
    def make(*xs: T) -> T:
        if xs[0].dtype.itemsize == 2:  # CHLO's expansions need more than half precision
            wide = [builder.convert(x, np.dtype(np.float32)) for x in xs]
            return builder.convert(builder.chlo_op(name, *wide), xs[0].dtype)
        return builder.chlo_op(name, *xs)

    return make


def _compare(direction: str) -> Make:
    def make(x: T, y: T) -> T:
        if x.dtype.kind == "c" and direction not in ("EQ", "NE"):
            a, b = ((builder.real(v), builder.imag(v)) for v in (x, y))
            strict = direction[0] + "T"
            return or_(compare(strict, a[0], b[0]), and_(compare("EQ", a[0], b[0]), compare(direction, a[1], b[1])))
        if x.dtype != y.dtype:
            return _compare_signed(direction, x, y)
        return compare(direction, x, y)

    return make


def _compare_signed(direction: str, x: T, y: T) -> T:
    """Compare an int64 with a uint64 exactly, as NumPy does: a negative integer is less."""
    signed = x if x.dtype.kind == "i" else y
    found = compare(direction, *(builder.convert(v, np.dtype(np.uint64)) for v in (x, y)))
    less = direction in ("NE", *(("LT", "LE") if signed is x else ("GT", "GE")))
    return select(compare("LT", signed, like(0, signed)), like(less, found), found)


def _logical(combine: Make) -> Make:
    return lambda *xs: combine(*(builder.convert(x, BOOL) for x in xs))


# ------------------------------------------------------------------------------------------------- arithmetic


def _floor_divide(x: T, y: T) -> T:
    """Divide and round down. By zero, an integer gives 0 and a float gives ``x / y``."""
    zero = arithmetic.is_zero(y)
    if x.dtype.kind in "iu":
        return select(zero, like(0, x), arithmetic.int_floor_div(x, select(zero, like(1, y), y)))
    return select(zero, builder.div(x, y), arithmetic.float_divmod(x, y)[0])


def _remainder(x: T, y: T) -> T:
    zero = arithmetic.is_zero(y)
    if x.dtype.kind in "iu":
        return select(zero, like(0, x), arithmetic.int_floor_mod(x, select(zero, like(1, y), y)))
    return select(zero, like(math.nan, x), arithmetic.float_divmod(x, y)[1])


def _fmod(x: T, y: T) -> T:
    if x.dtype.kind not in "iu":
        return builder.rem(x, y)
    zero = arithmetic.is_zero(y)
    return select(zero, like(0, x), builder.rem(x, select(zero, like(1, y), y)))


def _power(x: T, y: T) -> T:
    return arithmetic.int_power_any(x, y) if x.dtype.kind in "iu" else builder.op("power", x, y)


def _absolute(x: T) -> T:
    return builder.absolute(x)


def _sign(x: T) -> T:
    if x.dtype == BOOL:
        return x
    if x.dtype.kind == "u":
        return select(arithmetic.is_zero(x), x, like(1, x))
    if x.dtype.kind == "f":  # the sign of -0.0 is 0.0
        return select(arithmetic.is_zero(x), like(0, x), builder.op("sign", x))
    return builder.op("sign", x)


def reciprocal(x: T) -> T:
    if x.dtype.kind in "iu":  # computed as a double
        wide = builder.convert(x, np.dtype(float))
        return builder.convert(builder.div(like(1, wide), wide), x.dtype)
    if x.dtype.kind == "c":  # scaled by the larger part, as in NumPy
        re, im = builder.real(x), builder.imag(x)
        flat = compare("LE", builder.absolute(im), builder.absolute(re))
        most, least = select(flat, re, im), select(flat, im, re)
        ratio = builder.div(least, most)
        size = builder.add(most, builder.mul(least, ratio))
        one = like(1, re)
        parts = builder.div(select(flat, one, ratio), size), builder.neg(builder.div(select(flat, ratio, one), size))
        return builder.make_complex(*parts)
    return builder.div(like(1, x), x)


def _complex_or(real: Make, complex_: Make) -> Make:
    """Choose between a function for real operands and one for complex operands."""
    return lambda *xs: (complex_ if xs[0].dtype.kind == "c" else real)(*xs)


def _scaled_log(base: float) -> Make:
    return lambda x: builder.div(builder.op("log", x), like(math.log(base), x))


def _by_parts(make: Make) -> Make:
    return lambda x: builder.make_complex(make(builder.real(x)), make(builder.imag(x)))


def _chosen(direction: str) -> Make:
    """Make the maximum or minimum of complex numbers: by real part, then by imaginary part; an operand with a NaN wins."""

    def make(x: T, y: T) -> T:
        return select(or_(builder.is_nan(x), and_(not_(builder.is_nan(y)), _compare(direction)(x, y))), x, y)

    return make


def _log_add_exp2(x: T, y: T) -> T:
    most, difference = builder.op("maximum", x, y), builder.neg(builder.absolute(builder.sub(x, y)))
    power = builder.op("power", like(2, x), difference)
    found = builder.add(most, builder.mul(builder.op("log_plus_one", power), like(1 / math.log(2), x)))
    return select(compare("EQ", x, y), builder.add(x, like(1, x)), found)


def _bit_count(x: T) -> T:
    return builder.convert(builder.op("popcnt", x if x.dtype.kind == "u" else builder.absolute(x)), np.dtype(np.uint8))


def conjugate(x: T) -> T:
    return builder.make_complex(builder.real(x), builder.neg(builder.imag(x))) if x.dtype.kind == "c" else x


def _extreme(name: str) -> Make:
    def make(x: T, y: T) -> T:
        return builder.op(name, x, y)

    return make


def _ignoring_nan(name: str) -> Make:
    def make(x: T, y: T) -> T:
        if x.dtype.kind != "f":
            return builder.op(name, x, y)
        return select(builder.is_nan(x), y, select(builder.is_nan(y), x, builder.op(name, x, y)))

    return make


def _is_inf(x: T) -> T:
    return compare("EQ", builder.absolute(x), like(math.inf, builder.absolute(x))) if x.dtype.kind in "fc" else builder.zeros(BOOL, x.shape)


def _trunc(x: T) -> T:
    if x.dtype.kind != "f":
        return x
    return select(compare("LT", x, like(0, x)), builder.op("ceil", x), builder.op("floor", x))


def _rounding(name: str) -> Make:
    return lambda x: builder.op(name, x) if x.dtype.kind == "f" else x


def _hypot(x: T, y: T) -> T:
    a, b = builder.absolute(x), builder.absolute(y)
    most, least = builder.op("maximum", a, b), builder.op("minimum", a, b)
    ratio = builder.div(least, select(arithmetic.is_zero(most), like(1, most), most))
    found = builder.mul(most, builder.op("sqrt", builder.add(like(1, x), builder.mul(ratio, ratio))))
    return select(or_(_is_inf(x), _is_inf(y)), like(math.inf, x), found)


def _log_add_exp(x: T, y: T) -> T:
    most, difference = builder.op("maximum", x, y), builder.neg(builder.absolute(builder.sub(x, y)))
    found = builder.add(most, builder.op("log_plus_one", builder.op("exponential", difference)))
    return select(compare("EQ", x, y), builder.add(x, like(math.log(2), x)), found)


def _heaviside(x: T, y: T) -> T:
    found = select(compare("LT", x, like(0, x)), like(0, x), select(arithmetic.is_zero(x), y, like(1, x)))
    return select(builder.is_nan(x), x, found)


def _shift(name: str) -> Make:
    """Make a shift; a count of the bit width or more shifts every bit out."""

    def make(x: T, y: T) -> T:
        wide = like(8 * x.dtype.itemsize, y)
        unsigned = or_(compare("GE", y, wide), compare("LT", y, like(0, y))) if y.dtype.kind == "i" else compare("GE", y, wide)
        if name == "shift_left":
            return select(unsigned, like(0, x), builder.op(name, x, y))
        signed = "shift_right_arithmetic" if x.dtype.kind == "i" else "shift_right_logical"
        rest = select(compare("LT", x, like(0, x)), like(-1, x), like(0, x)) if x.dtype.kind == "i" else like(0, x)
        return select(unsigned, rest, builder.op(signed, x, y))

    return make


def _scaled(factor: float) -> Make:
    return lambda x: builder.mul(x, like(factor, x))


def _add(x: T, y: T) -> T:
    return or_(x, y) if x.dtype == BOOL else builder.add(x, y)


def _multiply(x: T, y: T) -> T:
    return and_(x, y) if x.dtype == BOOL else builder.mul(x, y)


#: ufunc → the function that emits it, for operands in the dtype of its loop.
UFUNCS: Final[dict[np.ufunc, Make]] = {
    np.add: _add, np.subtract: builder.sub, np.multiply: _multiply, np.true_divide: builder.div, np.floor_divide: _floor_divide,
    np.remainder: _remainder, np.fmod: _fmod, np.power: _power, np.float_power: _op("power"), np.negative: builder.neg, np.positive: lambda x: x,
    np.absolute: _absolute, np.fabs: _absolute, np.sign: _sign, np.square: lambda x: _multiply(x, x), np.reciprocal: reciprocal,
    np.conjugate: conjugate, np.maximum: _extreme("maximum"), np.minimum: _extreme("minimum"), np.fmax: _ignoring_nan("maximum"),
    np.fmin: _ignoring_nan("minimum"), np.less: _compare("LT"), np.less_equal: _compare("LE"), np.greater: _compare("GT"),
    np.greater_equal: _compare("GE"), np.equal: _compare("EQ"), np.not_equal: _compare("NE"),
    np.logical_and: _logical(and_), np.logical_or: _logical(or_), np.logical_xor: _logical(builder.xor), np.logical_not: _logical(not_),
    np.bitwise_and: and_, np.bitwise_or: or_, np.bitwise_xor: builder.xor, np.invert: not_,
    np.left_shift: _shift("shift_left"), np.right_shift: _shift("shift_right"),
    np.exp: _op("exponential"), np.exp2: lambda x: builder.op("power", like(2, x), x), np.expm1: _op("exponential_minus_one"), np.log: _op("log"),
    np.log1p: _op("log_plus_one"), np.log2: log_base(2), np.log10: log_base(10), np.sqrt: _op("sqrt"), np.cbrt: _op("cbrt"),
    np.sin: _op("sine"), np.cos: _op("cosine"), np.tan: _op("tan"), np.tanh: _op("tanh"), np.arctan2: _op("atan2"),
    np.arcsin: _chlo("asin"), np.arccos: _chlo("acos"), np.arctan: _chlo("atan"), np.sinh: _chlo("sinh"), np.cosh: _chlo("cosh"),
    np.arcsinh: _chlo("asinh"), np.arccosh: _chlo("acosh"), np.arctanh: _chlo("atanh"),
    np.hypot: _hypot, np.logaddexp: _log_add_exp, np.heaviside: _heaviside, np.copysign: arithmetic.copy_sign, np.signbit: arithmetic.sign_bit,
    np.floor: _rounding("floor"), np.ceil: _rounding("ceil"), np.rint: _op("round_nearest_even"), np.trunc: _trunc,
    np.isnan: builder.is_nan, np.isfinite: builder.is_finite, np.isinf: _is_inf,
    np.deg2rad: _scaled(math.pi / 180), np.radians: _scaled(math.pi / 180), np.rad2deg: _scaled(180 / math.pi), np.degrees: _scaled(180 / math.pi),
}  # fmt: skip


UFUNCS.update({
    np.logaddexp2: _log_add_exp2, np.gcd: arithmetic.gcd, np.lcm: arithmetic.lcm, np.ldexp: arithmetic.ldexp, np.nextafter: _chlo("next_after"),
    np.bitwise_count: _bit_count, np.log2: _complex_or(UFUNCS[np.log2], _scaled_log(2)), np.log10: _complex_or(UFUNCS[np.log10], _scaled_log(10)),
    np.exp2: _complex_or(UFUNCS[np.exp2], lambda x: builder.op("exponential", builder.mul(x, like(math.log(2), x)))),
    np.rint: _complex_or(UFUNCS[np.rint], _by_parts(UFUNCS[np.rint])), np.maximum: _complex_or(UFUNCS[np.maximum], _chosen("GE")),
    np.minimum: _complex_or(UFUNCS[np.minimum], _chosen("LE")),
})  # fmt: skip

UFUNCS.update({u: _complex_or(UFUNCS[u], make) for u, make in complex_functions.UFUNCS.items()})

#: Ufuncs with two results.
PAIRS: Final[dict[np.ufunc, Callable[[T], tuple[T, T]]]] = {np.frexp: arithmetic.frexp, np.modf: arithmetic.modf}

#: Functions that are implemented for real numbers only.
REAL_ONLY: Final = frozenset({
    np.log1p, np.expm1, np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.fmax, np.fmin, np.cbrt, np.logaddexp, np.logaddexp2,
})  # fmt: skip
