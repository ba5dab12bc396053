"""Derivatives of elementwise functions, and of Python's equivalent operators."""

import builtins
import operator
from typing import Any

import numpy as np

from hovis.library.numpy.adjoints.tangents import choose, conjugate, fitted, is_complex, spread
from hovis.library.numpy.derivatives.elementwise import elementwise
from hovis.library.tables.derivatives import constant, pull, push

# ------------------------------------------------------------------------------------------------- operators


def _power_base(y: Any, a: Any, b: Any) -> Any:
    if isinstance(b, int):
        return 0.0 if b == 0 else 2.0 * a if b == 2 else b * a ** (b - 1)
    if not isinstance(b, np.ndarray):
        return 0.0 if b == 0 else b * np.power(a, b - 1.0)
    return choose(b == 0, 0.0, b * np.power(a, choose(b == 0, 1.0, b - 1)))


def _power_exponent(y: Any, a: Any, b: Any) -> Any:
    return choose(a == 0, 0.0, y * np.log(choose(a == 0, 1.0, a)))


def _quotient(y: Any, a: Any, b: Any) -> Any:
    return -np.floor_divide(a, b)


elementwise((operator.add, np.add), 1.0, 1.0)
elementwise((operator.sub, np.subtract), 1.0, -1.0)
elementwise((operator.mul, np.multiply), lambda y, a, b: b, lambda y, a, b: a)
elementwise((operator.truediv, np.true_divide), lambda y, a, b: 1.0 / b, lambda y, a, b: -y / b)
elementwise((operator.pow, builtins.pow, np.power, np.float_power), _power_base, _power_exponent)
elementwise((operator.neg, np.negative), -1.0)
elementwise((operator.pos, np.positive), 1.0)
elementwise((operator.mod, np.remainder), 1.0, _quotient)
elementwise(np.fmod, 1.0, lambda y, a, b: -np.trunc(a / b))

pull(builtins.divmod, lambda g, y, a, b: fitted(g[1], a), lambda g, y, a, b: fitted(g[1] * _quotient(y, a, b), b))
push(builtins.divmod, lambda t, y, a, b: (0.0 * y[0], spread(t, y[1])), lambda t, y, a, b: (0.0 * y[0], spread(t * _quotient(y, a, b), y[1])))
pull(np.divmod, lambda g, y, a, b: fitted(g[1], a), lambda g, y, a, b: fitted(g[1] * _quotient(y, a, b), b))
push(np.divmod, lambda t, y, a, b: (0.0 * y[0], spread(t, y[1])), lambda t, y, a, b: (0.0 * y[0], spread(t * _quotient(y, a, b), y[1])))
pull(np.modf, lambda g, y, a: g[0])
push(np.modf, lambda t, y, a: (t, 0.0 * y[1]))
pull(np.frexp, lambda g, y, a: np.ldexp(g[0], -y[1]))
push(np.frexp, lambda t, y, a: (np.ldexp(t, -y[1]), None))

# ------------------------------------------------------------------------------------------------- exponentials and logarithms

elementwise(np.exp, lambda y, x: y)
elementwise(np.exp2, lambda y, x: y * np.log(2.0))
elementwise(np.expm1, lambda y, x: y + 1.0)
elementwise(np.log, lambda y, x: 1.0 / x)
elementwise(np.log2, lambda y, x: 1.0 / (x * np.log(2.0)))
elementwise(np.log10, lambda y, x: 1.0 / (x * np.log(10.0)))
elementwise(np.log1p, lambda y, x: 1.0 / (x + 1.0))
elementwise(np.logaddexp, lambda y, a, b: np.exp(a - y), lambda y, a, b: np.exp(b - y))
elementwise(np.logaddexp2, lambda y, a, b: np.exp2(a - y), lambda y, a, b: np.exp2(b - y))
elementwise(np.sqrt, lambda y, x: 0.5 / y)
elementwise(np.cbrt, lambda y, x: 1.0 / (3.0 * y * y))
elementwise(np.square, lambda y, x: 2.0 * x)
elementwise(np.reciprocal, lambda y, x: -y * y)

# ------------------------------------------------------------------------------------------------- trigonometry

elementwise(np.sin, lambda y, x: np.cos(x))
elementwise(np.cos, lambda y, x: -np.sin(x))
elementwise(np.tan, lambda y, x: 1.0 + y * y)
elementwise(np.arcsin, lambda y, x: 1.0 / np.sqrt(1.0 - x * x))
elementwise(np.arccos, lambda y, x: -1.0 / np.sqrt(1.0 - x * x))
elementwise(np.arctan, lambda y, x: 1.0 / (1.0 + x * x))
elementwise(np.arctan2, lambda y, a, b: b / (a * a + b * b), lambda y, a, b: -a / (a * a + b * b))
elementwise(np.sinh, lambda y, x: np.cosh(x))
elementwise(np.cosh, lambda y, x: np.sinh(x))
elementwise(np.tanh, lambda y, x: 1.0 - y * y)
elementwise(np.arcsinh, lambda y, x: 1.0 / np.sqrt(x * x + 1.0))
elementwise(np.arccosh, lambda y, x: 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0)))
elementwise(np.arctanh, lambda y, x: 1.0 / (1.0 - x * x))
elementwise(np.hypot, lambda y, a, b: a / y, lambda y, a, b: b / y)
elementwise((np.deg2rad, np.radians), lambda y, x: np.pi / 180.0)
elementwise((np.rad2deg, np.degrees), lambda y, x: 180.0 / np.pi)


def _sinc(y: Any, x: Any) -> Any:
    safe = choose(x == 0, 1.0, x)
    return choose(x == 0, 0.0, (np.cos(np.pi * safe) - y) / safe)


elementwise(np.sinc, _sinc)
elementwise(np.i0, lambda y, x: _bessel(x))


def _bessel(x: Any) -> Any:
    """Compute the Bessel function I1 by quadrature of its integral representation."""
    angle = np.linspace(0.0, np.pi, 1025)
    height = np.exp(np.expand_dims(x, -1) * np.cos(angle)) * np.cos(angle)
    return (np.sum(height, axis=-1) - 0.5 * (height[..., 0] + height[..., -1])) / 1024


# ------------------------------------------------------------------------------------------------- piecewise functions


def _share(k: int, y: Any, args: Any) -> Any:
    """Return the derivative of a maximum or minimum by argument k (or by each item of a single argument): arguments equal to the extreme share
    it equally.
    """
    if len(args) == 1:
        here = args[0] == y
        return here / max(np.sum(here), 1)
    return (args[k] == y) / max(sum([arg == y for arg in args]), 1)


#: Where both operands are equal, each has the derivative 0.5.
elementwise((np.maximum, np.fmax), lambda y, a, b: (a > b) + 0.5 * (a == b), lambda y, a, b: (b > a) + 0.5 * (a == b))
elementwise((np.minimum, np.fmin), lambda y, a, b: (a < b) + 0.5 * (a == b), lambda y, a, b: (b < a) + 0.5 * (a == b))
for _extreme in (builtins.max, builtins.min):
    pull(_extreme, every=lambda k, g, y, *args: fitted(g * _share(k, y, args), args[k]))
    push(_extreme, every=lambda k, t, y, *args: np.sum(t * _share(k, y, args)) if len(args) == 1 else spread(t * _share(k, y, args), y))
elementwise(np.copysign, lambda y, a, b: np.sign(y) * np.sign(a), 0.0)
elementwise(np.heaviside, 0.0, lambda y, a, b: (a == 0) * 1.0)
elementwise(np.ldexp, lambda y, a, b: np.ldexp(1.0, b), None)
elementwise(np.nextafter, 1.0, 0.0)
elementwise(np.nan_to_num, lambda y, x, *rest, **named: np.isfinite(x) * 1.0)


def _bounds(low: Any, high: Any, named: dict[str, Any]) -> tuple[Any, Any]:
    """Return the bounds of a clip, under whichever of their names they are passed."""
    return named.get("a_min", named.get("min", low)), named.get("a_max", named.get("max", high))


def _below(y: Any, a: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = _bounds(low, high, named)
    inside = a == a if low is None else a >= low
    return (inside if high is None else inside & (a <= high)) * 1.0


def _clipped_low(y: Any, a: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = _bounds(low, high, named)
    below = a < low
    return (below if high is None else below & (low <= high)) * 1.0


def _clipped_high(y: Any, a: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    low, high = _bounds(low, high, named)
    return ((a > high) if low is None else (np.maximum(a, low) > high)) * 1.0


elementwise((np.clip, np.ndarray.clip), _below, _clipped_low, _clipped_high, parameters="a a_min a_max")

# ------------------------------------------------------------------------------------------------- complex numbers


def _sign(z: Any) -> Any:
    if not is_complex(z):
        return np.sign(z)
    size = np.abs(z)
    return z / choose(size == 0, 1.0, size)


for _absolute in (operator.abs, builtins.abs, np.absolute, np.fabs):
    pull(_absolute, lambda g, y, z: fitted(g * _sign(z), z))
    push(_absolute, lambda t, y, z: (t * conjugate(_sign(z))).real if is_complex(z) else t * _sign(z))
for _conjugate in (np.conjugate, np.ndarray.conjugate, np.ndarray.conj, complex.conjugate, float.conjugate):
    pull(_conjugate, lambda g, y, z: conjugate(g))
    push(_conjugate, lambda t, y, z: conjugate(t))
pull(np.real, lambda g, y, z: fitted(g + 0j, z))
push(np.real, lambda t, y, z: np.real(t))
pull(np.imag, lambda g, y, z: fitted(g * 1j, z))
push(np.imag, lambda t, y, z: np.imag(t))
pull(np.angle, lambda g, y, z, deg=False: fitted(g * _turn(z, deg), z))
push(np.angle, lambda t, y, z, deg=False: np.real(t * conjugate(_turn(z, deg))))


def _turn(z: Any, deg: bool) -> Any:
    found = 1j * z / (z * conjugate(z))
    return found * (180.0 / np.pi) if deg else found


pull(builtins.complex, lambda g, y, *parts: fitted(g, parts[0]), lambda g, y, *parts: fitted(g * -1j, parts[1]))
push(builtins.complex, lambda t, y, *parts: t + 0j, lambda t, y, *parts: t * 1j)

# ------------------------------------------------------------------------------------------------- steps, comparisons, bits

constant(
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.is_, operator.is_not, operator.not_, operator.truth,
    operator.contains, operator.floordiv, operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift, operator.index,
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isinf, np.isfinite, np.isnat, np.isposinf, np.isneginf,
    np.isreal, np.iscomplex, np.isrealobj, np.iscomplexobj, np.isscalar, np.isclose, np.allclose, np.array_equal, np.array_equiv, np.signbit,
    np.sign, np.floor, np.ceil, np.trunc, np.rint, np.round, np.around, np.fix, np.floor_divide, np.spacing, np.ndarray.round, np.gcd, np.lcm,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift,
    np.right_shift, np.bitwise_count, builtins.bool, builtins.int, builtins.round, builtins.isinstance, builtins.type, builtins.len, builtins.hash,
    builtins.id, builtins.str, builtins.repr, builtins.format, builtins.print, builtins.callable, builtins.hasattr, builtins.all, builtins.any,
)  # fmt: skip
