"""Arithmetic, ``abs`` and the functions of cmath, written in Python as CPython has them (Objects/complexobject.c, Modules/cmathmodule.c)."""

import math
from typing import Final

#: Does arithmetic recover infinities, and take a real operand as it is (Python 3.14; C11, annex G)?
RECOVERS: Final = (complex(math.inf, math.nan) * 1j).imag == math.inf


def product(a: complex, b: complex) -> complex:
    ar, ai, br, bi = a.real, a.imag, b.real, b.imag
    rr, ii, ri, ir = ar * br, ai * bi, ar * bi, ai * br
    real, imag = rr - ii, ri + ir
    if math.isnan(real) and math.isnan(imag):
        again = False
        if math.isinf(ar) or math.isinf(ai):
            ar, ai, br, bi = _boxed(ar), _boxed(ai), _zero_for_nan(br), _zero_for_nan(bi)
            again = True
        if math.isinf(br) or math.isinf(bi):
            br, bi, ar, ai = _boxed(br), _boxed(bi), _zero_for_nan(ar), _zero_for_nan(ai)
            again = True
        if not again and (math.isinf(rr) or math.isinf(ii) or math.isinf(ri) or math.isinf(ir)):
            ar, ai, br, bi = _zero_for_nan(ar), _zero_for_nan(ai), _zero_for_nan(br), _zero_for_nan(bi)
            again = True
        if again:
            return complex(math.inf * (ar * br - ai * bi), math.inf * (ar * bi + ai * br))
    return complex(real, imag)


def _boxed(x: float) -> float:
    return math.copysign(1.0 if math.isinf(x) else 0.0, x)


def _zero_for_nan(x: float) -> float:
    return math.copysign(0.0, x) if math.isnan(x) else x


def quotient(a: complex, b: complex) -> complex:
    ar, ai, br, bi = a.real, a.imag, b.real, b.imag
    if abs(br) >= abs(bi):
        if br == 0.0:
            raise ZeroDivisionError
        ratio = bi / br
        denominator = br + bi * ratio
        real, imag = (ar + ai * ratio) / denominator, (ai - ar * ratio) / denominator
    elif abs(bi) >= abs(br):
        ratio = br / bi
        denominator = br * ratio + bi
        real, imag = (ar * ratio + ai) / denominator, (ai * ratio - ar) / denominator
    else:
        real, imag = math.nan, math.nan
    if RECOVERS and math.isnan(real) and math.isnan(imag):
        if (math.isinf(ar) or math.isinf(ai)) and math.isfinite(br) and math.isfinite(bi):
            x, y = _boxed(ar), _boxed(ai)
            return complex(math.inf * (x * br + y * bi), math.inf * (y * br - x * bi))
        if (math.isinf(br) or math.isinf(bi)) and math.isfinite(ar) and math.isfinite(ai):
            x, y = _boxed(br), _boxed(bi)
            return complex(0.0 * (ar * x + ai * y), 0.0 * (ai * x - ar * y))
    return complex(real, imag)


def quotient_of_real(a: float, b: complex) -> complex:
    br, bi = b.real, b.imag
    if abs(br) >= abs(bi):
        if br == 0.0:
            raise ZeroDivisionError
        ratio = bi / br
        denominator = br + bi * ratio
        real, imag = a / denominator, (-a * ratio) / denominator
    elif abs(bi) >= abs(br):
        ratio = br / bi
        denominator = br * ratio + bi
        real, imag = (a * ratio) / denominator, -a / denominator
    else:
        real, imag = math.nan, math.nan
    if math.isnan(real) and math.isnan(imag) and math.isfinite(a) and (math.isinf(br) or math.isinf(bi)):
        return complex(0.0 * (a * _boxed(br)), 0.0 * (-a * _boxed(bi)))
    return complex(real, imag)


def quotient_with_real(a: complex, b: float) -> complex:
    if b == 0.0:
        raise ZeroDivisionError
    return complex(a.real / b, a.imag / b)


def sum_with_real(a: complex, b: float) -> complex:
    return complex(a.real + b, a.imag)


def sum_of_real(a: float, b: complex) -> complex:
    return complex(a + b.real, b.imag)


def difference_with_real(a: complex, b: float) -> complex:
    return complex(a.real - b, a.imag)


def difference_of_real(a: float, b: complex) -> complex:
    return complex(a - b.real, -b.imag)


def product_with_real(a: complex, b: float) -> complex:
    return complex(a.real * b, a.imag * b)


def product_of_real(a: float, b: complex) -> complex:
    return complex(a * b.real, a * b.imag)


def magnitude(z: complex) -> float:
    found = math.hypot(z.real, z.imag)
    if math.isinf(found) and math.isfinite(z.real) and math.isfinite(z.imag):
        raise OverflowError
    return found


def phase(z: complex) -> float:
    return math.atan2(z.imag, z.real)


def polar(z: complex) -> tuple[float, float]:
    return abs(z), math.atan2(z.imag, z.real)


def rect(r: float, phi: float) -> complex:
    _finite(complex(r, phi))
    return complex(r * math.cos(phi), r * math.sin(phi))


def _finite(z: complex) -> None:
    if not (math.isfinite(z.real) and math.isfinite(z.imag)):
        raise ValueError


def cexp(z: complex) -> complex:
    _finite(z)
    size = math.exp(z.real)
    return complex(size * math.cos(z.imag), size * math.sin(z.imag))


def clog(z: complex) -> complex:
    _finite(z)
    ax, ay = abs(z.real), abs(z.imag)
    if ax == 0.0 and ay == 0.0:
        raise ValueError
    size = math.hypot(ax, ay)
    if 0.71 <= size <= 1.73:
        large, small = max(ax, ay), min(ax, ay)
        return complex(math.log1p((large - 1) * (large + 1) + small * small) / 2.0, math.atan2(z.imag, z.real))
    return complex(math.log(size), math.atan2(z.imag, z.real))


def csqrt(z: complex) -> complex:
    _finite(z)
    if z.real == 0.0 and z.imag == 0.0:
        return complex(0.0, z.imag)
    ax, ay = abs(z.real), abs(z.imag)
    if ax > 1e300 or ay > 1e300 or (ax < 1e-300 and ay < 1e-300):
        raise OverflowError
    ax /= 8.0
    s = 2.0 * math.sqrt(ax + math.hypot(ax, ay / 8.0))
    d = ay / (2.0 * s)
    if z.real >= 0.0:
        return complex(s, math.copysign(d, z.imag))
    return complex(d, math.copysign(s, z.imag))


def ccos(z: complex) -> complex:
    _finite(z)
    return complex(math.cos(z.real) * math.cosh(z.imag), -math.sin(z.real) * math.sinh(z.imag))


def csin(z: complex) -> complex:
    _finite(z)
    return complex(math.sin(z.real) * math.cosh(z.imag), math.cos(z.real) * math.sinh(z.imag))


def ccosh(z: complex) -> complex:
    _finite(z)
    return complex(math.cos(z.imag) * math.cosh(z.real), math.sin(z.imag) * math.sinh(z.real))


def csinh(z: complex) -> complex:
    _finite(z)
    return complex(math.cos(z.imag) * math.sinh(z.real), math.sin(z.imag) * math.cosh(z.real))
