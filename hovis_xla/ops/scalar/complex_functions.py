"""Elementwise functions of complex numbers, where XLA's own differ from NumPy's: infinities, signs of zeros, branch cuts.

They are computed from real and imaginary parts, as in the C library and NumPy.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis_xla.emit import builder
from hovis_xla.emit.builder import T, add, and_, compare, div, imag, is_finite, like, make_complex, mul, neg, not_, or_, real, select, sub, xor
from hovis_xla.ops.scalar import arithmetic


def _is_inf(x: T) -> T:
    size = builder.absolute(x)
    return compare("EQ", size, like(math.inf, size))


def is_infinite(z: T) -> T:
    """Is one part infinite, whatever the other is?"""
    return or_(_is_inf(real(z)), _is_inf(imag(z)))


def absolute(z: T) -> T:
    size = builder.absolute(z)
    return select(is_infinite(z), like(math.inf, size), size)


def _times(a: T, b: T) -> T:
    """Multiply, where zero times anything is zero."""
    product = mul(a, b)
    zero = like(0, a)
    signed = select(xor(arithmetic.sign_bit(a), arithmetic.sign_bit(b)), neg(zero), zero)
    return select(or_(arithmetic.is_zero(a), arithmetic.is_zero(b)), signed, product)


# ------------------------------------------------------------------------------------------------- arithmetic


def divide(x: T, y: T) -> T:
    """Divide by Smith's method, as NumPy does."""
    ar, ai, br, bi = real(x), imag(x), real(y), imag(y)
    wide = compare("GE", builder.absolute(br), builder.absolute(bi))
    most, least = select(wide, br, bi), select(wide, bi, br)
    ratio = div(least, most)
    scale = div(like(1, most), add(most, mul(least, ratio)))
    re = mul(select(wide, add(ar, mul(ai, ratio)), add(mul(ar, ratio), ai)), scale)
    im = mul(select(wide, sub(ai, mul(ar, ratio)), sub(mul(ai, ratio), ar)), scale)
    nothing = and_(arithmetic.is_zero(br), arithmetic.is_zero(bi))
    zero = builder.absolute(br)
    return make_complex(select(nothing, div(ar, zero), re), select(nothing, div(ai, zero), im))


def _sign(z: T) -> T:
    re, im, size = real(z), imag(z), absolute(z)
    one, zero = like(1, re), like(0, re)

    def part(mine: T, other: T) -> T:
        at_infinity = select(_is_inf(mine), select(_is_inf(other), like(math.nan, mine), arithmetic.copy_sign(one, mine)), zero)
        return select(builder.is_nan(size), size, select(_is_inf(size), at_infinity, select(arithmetic.is_zero(size), zero, div(mine, size))))

    return make_complex(part(re, im), part(im, re))


def _power(x: T, y: T) -> T:
    """Compute a power by products if the exponent is a small integer, otherwise by logarithms."""
    br, bi = real(y), imag(y)
    size = builder.absolute(br)
    whole = and_(and_(arithmetic.is_zero(bi), arithmetic.is_integral(br)), compare("LT", size, like(_SMALL, size)))
    count = builder.convert(select(whole, size, like(0, size)), np.dtype(np.int64))
    found, factor = like(1, x), x
    for bit in range(_SMALL.bit_length()):
        odd = compare("NE", builder.and_(count, builder.like(1 << bit, count)), like(0, count))
        found = select(odd, mul(found, factor), found)
        factor = mul(factor, factor) if bit + 1 < _SMALL.bit_length() else factor
    found = select(compare("LT", br, like(0, br)), divide(like(1, x), found), found)
    # the first power is the number itself: a product with one would spread a NaN to both parts
    found = select(compare("EQ", br, like(1, br)), x, found)
    general = _exp(mul(y, _log(x)))
    nothing = and_(arithmetic.is_zero(real(x)), arithmetic.is_zero(imag(x)))
    at_zero = select(compare("GT", br, like(0, br)), like(0, x), like(complex(math.nan, math.nan), x))
    found = select(nothing, at_zero, select(whole, found, general))
    return select(and_(arithmetic.is_zero(br), arithmetic.is_zero(bi)), like(1, x), found)


#: Powers with an integer exponent below this are computed by products.
_SMALL: Final = 100


# ------------------------------------------------------------------------------------------------- functions


def _sqrt(z: T) -> T:
    """Compute the square root; its imaginary part has the sign of the operand's, even if that is zero."""
    found, re, im = builder.op("sqrt", z), real(z), imag(z)
    top = like(math.inf, re)
    a = select(or_(_is_inf(im), compare("EQ", re, top)), top, real(found))
    b = select(or_(_is_inf(im), compare("EQ", re, neg(top))), top, imag(found))
    return make_complex(a, arithmetic.copy_sign(b, im))


def _exp(z: T) -> T:
    found, re, im = builder.op("exponential", z), real(z), imag(z)
    lost = not_(is_finite(im))
    zero, top = like(0, re), like(math.inf, re)
    below, above = compare("EQ", re, neg(top)), compare("EQ", re, top)
    plain = arithmetic.is_zero(im)
    a = select(plain, builder.op("exponential", re), select(and_(lost, above), top, select(and_(lost, below), zero, real(found))))
    b = select(plain, im, select(and_(lost, above), like(math.nan, re), select(and_(lost, below), zero, imag(found))))
    return make_complex(a, b)


def _log(z: T) -> T:
    found = builder.op("log", z)
    return make_complex(select(is_infinite(z), like(math.inf, real(z)), real(found)), imag(found))


def _scaled(z: T, factor: float) -> T:
    """Multiply each part separately: in a complex product, infinity times zero would be NaN."""
    return make_complex(mul(real(z), like(factor, real(z))), mul(imag(z), like(factor, real(z))))


def _sinh(z: T) -> T:
    x, y = real(z), imag(z)
    lost = and_(_is_inf(x), not_(is_finite(y)))
    re = _times(builder.chlo_op("sinh", x), builder.op("cosine", y))
    return make_complex(select(lost, x, re), _times(builder.chlo_op("cosh", x), builder.op("sine", y)))


def _cosh(z: T) -> T:
    x, y = real(z), imag(z)
    lost = and_(_is_inf(x), not_(is_finite(y)))
    re = _times(builder.chlo_op("cosh", x), builder.op("cosine", y))
    return make_complex(select(lost, builder.absolute(x), re), _times(builder.chlo_op("sinh", x), builder.op("sine", y)))


def _tanh(z: T) -> T:
    found, x, y = builder.op("tanh", z), real(z), imag(z)
    none = arithmetic.is_zero(x)
    lost = and_(none, not_(is_finite(y)))
    return make_complex(select(none, x, real(found)), select(lost, like(math.nan, y), select(arithmetic.is_zero(y), y, imag(found))))


def _turned(z: T) -> T:
    """Multiply z by the imaginary unit."""
    return make_complex(neg(imag(z)), real(z))


def _back(z: T) -> T:
    """Divide z by the imaginary unit."""
    return make_complex(imag(z), neg(real(z)))


def _ordered(direction: str, numbers: bool = False) -> Callable[[T, T], T]:
    """Make a comparison by real parts, then by imaginary parts. A NaN in an imaginary part makes the comparison of different real parts false,
    except for operators between NumPy's scalars (``numbers``).
    """

    def make(x: T, y: T) -> T:
        strict = compare(direction[0] + "T", real(x), real(y))
        if not numbers:
            strict = and_(strict, not_(or_(builder.is_nan(imag(x)), builder.is_nan(imag(y)))))
        return or_(strict, and_(compare("EQ", real(x), real(y)), compare(direction, imag(x), imag(y))))

    return make


#: ufunc → the function that emits it for complex operands.
UFUNCS: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.absolute: absolute, np.true_divide: divide, np.sign: _sign, np.power: _power, np.float_power: _power, np.sqrt: _sqrt, np.exp: _exp,
    np.exp2: lambda z: _exp(_scaled(z, math.log(2))), np.log: _log, np.log2: lambda z: _scaled(_log(z), math.log2(math.e)),
    np.log10: lambda z: _scaled(_log(z), math.log10(math.e)), np.sinh: _sinh, np.cosh: _cosh, np.tanh: _tanh,
    np.sin: lambda z: _back(_sinh(_turned(z))), np.cos: lambda z: _cosh(_turned(z)), np.tan: lambda z: _back(_tanh(_turned(z))),
    np.isinf: is_infinite, np.less: _ordered("LT"), np.less_equal: _ordered("LE"), np.greater: _ordered("GT"), np.greater_equal: _ordered("GE"),
}  # fmt: skip

__all__ = ["UFUNCS", "absolute", "divide", "is_infinite"]

#: ufunc → the function that emits its operator between two complex NumPy scalars.
OF_NUMBERS: Final[dict[np.ufunc, Callable[[T, T], T]]] = {
    u: _ordered(direction, numbers=True) for u, direction in ((np.less, "LT"), (np.less_equal, "LE"), (np.greater, "GT"), (np.greater_equal, "GE"))
}
