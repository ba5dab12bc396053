"""Division, ``abs`` and the functions of cmath, written in Python as CPython has them (Objects/complexobject.c, Modules/cmathmodule.c)."""

import math


def quotient(a: complex, b: complex) -> complex:
    ar, ai, br, bi = a.real, a.imag, b.real, b.imag
    if abs(br) >= abs(bi):
        if br == 0.0:
            raise ZeroDivisionError
        ratio = bi / br
        denominator = br + bi * ratio
        return complex((ar + ai * ratio) / denominator, (ai - ar * ratio) / denominator)
    if abs(bi) >= abs(br):
        ratio = br / bi
        denominator = br * ratio + bi
        return complex((ar * ratio + ai) / denominator, (ai * ratio - ar) / denominator)
    return complex(math.nan, math.nan)


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
