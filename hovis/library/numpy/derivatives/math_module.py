"""Derivatives of the functions of ``math`` and ``cmath``, and of the methods of Python's numbers."""

import cmath
import math
from typing import Any

import numpy as np

from hovis.library.numpy.adjoints.tangents import choose
from hovis.library.numpy.derivatives.elementwise import elementwise
from hovis.library.tables.derivatives import constant, linear, pull, push

_TWO_BY_ROOT_PI = 2.0 / math.sqrt(math.pi)

for _module in (math, cmath):
    _m: Any = _module
    elementwise(_m.exp, lambda y, x: y)
    elementwise(_m.log10, lambda y, x: 1.0 / (x * math.log(10.0)))
    elementwise(_m.sqrt, lambda y, x: np.divide(0.5, y))
    elementwise(_m.tan, lambda y, x: 1.0 + y * y)
    elementwise(_m.tanh, lambda y, x: 1.0 - y * y)
    elementwise((_m.asin,), lambda y, x: np.divide(1.0, np.sqrt(1.0 - x * x)))
    elementwise((_m.acos,), lambda y, x: np.divide(-1.0, np.sqrt(1.0 - x * x)))
    elementwise(_m.atan, lambda y, x: 1.0 / (1.0 + x * x))
    elementwise(_m.asinh, lambda y, x: 1.0 / np.sqrt(x * x + 1.0))
    elementwise(_m.acosh, lambda y, x: np.divide(1.0, np.sqrt(x - 1.0) * np.sqrt(x + 1.0)))
    elementwise(_m.atanh, lambda y, x: 1.0 / (1.0 - x * x))
    constant(_m.isnan, _m.isinf, _m.isfinite, _m.isclose)

elementwise(math.sin, lambda y, x: math.cos(x))
elementwise(math.cos, lambda y, x: -math.sin(x))
elementwise(math.sinh, lambda y, x: math.cosh(x))
elementwise(math.cosh, lambda y, x: math.sinh(x))
elementwise(cmath.sin, lambda y, x: cmath.cos(x))
elementwise(cmath.cos, lambda y, x: -cmath.sin(x))
elementwise(cmath.sinh, lambda y, x: cmath.cosh(x))
elementwise(cmath.cosh, lambda y, x: cmath.sinh(x))


def _log(y: Any, x: Any, base: Any = None) -> Any:
    return 1.0 / x if base is None else 1.0 / (x * np.log(base))


elementwise((math.log, cmath.log), _log, lambda y, x, base: -y / (base * np.log(base)))
elementwise(math.log2, lambda y, x: 1.0 / (x * math.log(2.0)))
elementwise(math.log1p, lambda y, x: 1.0 / (x + 1.0))
elementwise(math.expm1, lambda y, x: y + 1.0)
if hasattr(math, "exp2"):
    elementwise(math.exp2, lambda y, x: y * math.log(2.0))
    elementwise(math.cbrt, lambda y, x: np.divide(1.0, 3.0 * y * y))
elementwise(
    math.pow, lambda y, a, b: 0.0 if b == 0 else b * np.power(a, b - 1.0), lambda y, a, b: choose(a == 0, 0.0, y * np.log(choose(a == 0, 1.0, a)))
)
elementwise(math.atan2, lambda y, a, b: b / (a * a + b * b), lambda y, a, b: -a / (a * a + b * b))
elementwise(math.fabs, lambda y, x: math.copysign(1.0, x) if x else 0.0)
elementwise(math.fmod, 1.0, lambda y, a, b: -math.trunc(a / b))
elementwise(math.remainder, 1.0, lambda y, a, b: -np.rint((a - y) / b))
elementwise(math.copysign, lambda y, a, b: math.copysign(1.0, a) * math.copysign(1.0, y), 0.0)
elementwise(math.ldexp, lambda y, a, b: math.ldexp(1.0, b), None)
elementwise(math.degrees, lambda y, x: 180.0 / math.pi)
elementwise(math.radians, lambda y, x: math.pi / 180.0)
elementwise(math.erf, lambda y, x: _TWO_BY_ROOT_PI * math.exp(-x * x))
elementwise(math.erfc, lambda y, x: -_TWO_BY_ROOT_PI * math.exp(-x * x))
elementwise(math.nextafter, 1.0, 0.0)
elementwise(math.lgamma, lambda y, x: digamma(x))
elementwise(math.gamma, lambda y, x: y * digamma(x))
pull(math.hypot, every=lambda k, g, y, *xs: g * np.divide(xs[k], y))
push(math.hypot, every=lambda k, t, y, *xs: t * np.divide(xs[k], y))
pull(math.modf, lambda g, y, x: g[0])
push(math.modf, lambda t, y, x: (t, 0.0))
pull(math.frexp, lambda g, y, x: math.ldexp(g[0], -y[1]))
push(math.frexp, lambda t, y, x: (math.ldexp(t, -y[1]), 0))
pull(math.dist, lambda g, y, p, q: _apart(g, y, p, q), lambda g, y, p, q: _apart(g, y, q, p))
push(
    math.dist,
    lambda t, y, p, q: math.fsum([d * (a - b) for d, a, b in zip(t, p, q, strict=True)]) / y,
    lambda t, y, p, q: math.fsum([d * (b - a) for d, a, b in zip(t, p, q, strict=True)]) / y,
)
linear(math.fsum, lambda g, y, xs: tuple([g for _ in xs]))


def _apart(g: Any, y: Any, p: Any, q: Any) -> Any:
    return tuple([g * np.divide(a - b, y) for a, b in zip(p, q, strict=True)])


def digamma(x: Any) -> Any:
    """Compute the derivative of ``lgamma``: by reflection, and ten steps of the recurrence to reach arguments where the asymptotic series is
    exact.
    """
    z = 1.0 - x if x <= 0.0 else x
    shift = 0.0
    for k in range(10):
        shift = shift + 1.0 / (z + k)
    z = z + 10.0
    r = 1.0 / (z * z)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))))))
    found = math.log(z) - 0.5 / z - series - shift
    return found - math.pi / math.tan(math.pi * x) if x <= 0.0 else found


pull(cmath.phase, lambda g, y, z: g * 1j * z / abs(z) ** 2)
push(cmath.phase, lambda t, y, z: (t * (1j * z / abs(z) ** 2).conjugate()).real)
pull(cmath.polar, lambda g, y, z: _polar(g, z))
push(cmath.polar, lambda t, y, z: ((t * z.conjugate()).real / abs(z), (t * (1j * z / abs(z) ** 2).conjugate()).real))
pull(cmath.rect, lambda g, y, r, phi: (g.conjugate() * cmath.rect(1.0, phi)).real, lambda g, y, r, phi: (g.conjugate() * 1j * y).real)
push(cmath.rect, lambda t, y, r, phi: t * cmath.rect(1.0, phi), lambda t, y, r, phi: t * 1j * y)


def _polar(g: Any, z: Any) -> Any:
    size, turn = g
    found = 0j if size is None else size * z / abs(z)
    return found if turn is None else found + turn * 1j * z / abs(z) ** 2


constant(math.floor, math.ceil, math.trunc, math.ulp, math.isqrt, math.gcd, math.lcm, math.comb, math.perm, math.factorial)
constant(float.is_integer, float.as_integer_ratio, float.hex, int.bit_length, int.bit_count, int.as_integer_ratio, int.conjugate)

if hasattr(math, "fmax"):  # since CPython 3.15
    _larger: Any = getattr(math, "fmax")  # noqa: B009
    _smaller: Any = getattr(math, "fmin")  # noqa: B009
    elementwise(
        _larger, lambda y, a, b: choose(a == b, 0.5, choose(a > b, 1.0, 0.0)), lambda y, a, b: choose(a == b, 0.5, choose(b > a, 1.0, 0.0))
    )
    elementwise(
        _smaller, lambda y, a, b: choose(a == b, 0.5, choose(a < b, 1.0, 0.0)), lambda y, a, b: choose(a == b, 0.5, choose(b < a, 1.0, 0.0))
    )
    constant(*[getattr(math, name) for name in ("isnormal", "issubnormal", "signbit")])

if hasattr(math, "sumprod"):
    _sumprod: Any = getattr(math, "sumprod")  # noqa: B009  # since CPython 3.12
    pull(
        _sumprod,
        lambda g, y, p, q: tuple([g * b for b in q]),
        lambda g, y, p, q: tuple([g * a for a in p]),
    )
    push(_sumprod, lambda t, y, p, q: _sumprod(t, q), lambda t, y, p, q: _sumprod(p, t))
if hasattr(math, "fma"):
    elementwise(math.fma, lambda y, a, b, c: b, lambda y, a, b, c: a, 1.0)

__all__ = ["digamma"]
