"""Calls of what has a row in the table of derivatives, to be checked against differences: of each callable a few."""

import builtins
import cmath
import math
import operator
from typing import Any

import numpy as np

from hovis.library.numpy.rules.manipulation import in_shape

_R = np.random.default_rng(7)


def a(*shape: int, lo: float = -1.0, hi: float = 1.0) -> Any:
    return _R.uniform(lo, hi, shape)


def p(*shape: int) -> Any:
    """Positive numbers."""
    return _R.uniform(0.5, 2.0, shape)


def c(*shape: int) -> Any:
    return _R.normal(size=shape) + 1j * _R.normal(size=shape)


def spd(n: int) -> Any:
    m = _R.normal(size=(n, n))
    return m @ m.T + n * np.eye(n)


X, Y, B, V, W = a(3, 4), a(3, 4), a(4), a(5), a(5)
Z, E = a(), a(0, 3)
SQ = a(3, 3) + 3 * np.eye(3)
CSQ = c(3, 3) + 3 * np.eye(3)
HOLES = np.array([[False, True, False], [False, False, True], [False, False, False]])
SPREAD = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])

Case = tuple[Any, Any, tuple[Any, ...]]
CASES: list[Case] = []


def case(row: Any, fn: Any, *args: Any) -> None:
    CASES.append((row, fn, args))


def calls(row: Any, *all_args: tuple[Any, ...]) -> None:
    """The callable itself, given these."""
    for args in all_args:
        n = len(args)
        plain = [f"a{k}" for k in range(n)]
        scope: dict[str, Any] = {"row": row}
        exec(f"def fn({', '.join(plain)}): return row({', '.join(plain)})", scope)
        CASES.append((row, scope["fn"], args))


for _op in (operator.add, operator.sub, operator.mul, np.add, np.subtract, np.multiply):
    calls(_op, (X, B), (X, 2.5), (2.5, X), (a(3, 1), B), (Z, B), (E, a(3)), (c(2, 3), a(3)), (a(3), c(2, 3)), (1.5, 2.5))
for _op in (operator.truediv, np.true_divide):
    calls(_op, (X, p(4)), (2.0, p(3)), (a(3), 2.0), (c(3), p(3)), (1.5, 2.5))
for _op in (operator.pow, np.power, builtins.pow):
    calls(_op, (p(3), a(3)), (X, 2), (X, 3), (p(2, 3), 0.5), (2.0, a(3)), (c(3), 2), (1.5, 2.5), (1.5, 3))
calls(np.float_power, (p(3), a(3)))
for _op in (operator.neg, operator.pos, operator.abs, builtins.abs, np.negative, np.positive, np.absolute, np.abs):
    calls(_op, (X,), (1.5,), (c(3),))
calls(np.fabs, (X,))
for _op in (operator.mod, np.remainder, np.fmod):
    calls(_op, (p(3) + 2, np.array([0.7, 1.3, 0.9])), (2.3, 0.7))
for _fn in (np.divmod, builtins.divmod):
    case(_fn, lambda x, y, _fn=_fn: _fn(x, y)[1], p(3) + 2, np.array([0.7, 1.3, 0.9]))
case(np.modf, lambda x: np.modf(x)[0], p(3))
case(np.frexp, lambda x: np.frexp(x)[0], np.array([1.3, 2.7, 0.6]))
for _u in (np.exp, np.exp2, np.expm1, np.sin, np.cos, np.sinh, np.cosh, np.tanh, np.arctan, np.arcsinh, np.square, np.sinc, np.deg2rad, np.rad2deg,
           np.radians, np.degrees, np.tan, np.i0):
    calls(_u, (X,), (Z,), (np.float64(0.3),)) if _u is not np.i0 else calls(_u, (V,))
for _u in (np.exp, np.sin, np.cos, np.sinh, np.cosh, np.tanh, np.square, np.sqrt, np.log, np.tan):
    calls(_u, (c(3),))
calls(np.sin, (0.5,), (E,))
for _u in (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.reciprocal):
    calls(_u, (p(3),))
calls(np.arccosh, (p(3) + 1,))
for _u in (np.arcsin, np.arccos, np.arctanh):
    calls(_u, (a(3) * 0.8,))
for _u in (np.arctan2, np.hypot, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2):
    calls(_u, (X, B), (X, 0.3))
for _fn in (builtins.max, builtins.min):
    calls(_fn, (0.5, 0.7), (0.9, 0.2), (0.5, 0.7, 0.3), (p(4),))
calls(np.copysign, (X, 2.0))
calls(np.ldexp, (X, 3))
calls(np.nextafter, (X, 2.0))
calls(np.nan_to_num, (X,))
case(np.heaviside, lambda x, h: np.heaviside(np.zeros(3), h) * x, a(3), a(3))
case(np.clip, lambda x: np.clip(x, -0.4, 0.5), X)
case(np.clip, lambda x, lo, hi: np.clip(x, lo, hi), X, -0.4, a(4) * 0.1 + 0.4)
case(np.clip, lambda x, lo: np.clip(x, a_min=lo, a_max=None), X, -0.4)
case(np.ndarray.clip, lambda x: x.clip(-0.4, 0.5), X)
for _u in (np.real, np.imag, np.angle, np.conjugate):
    calls(_u, (c(3),))
calls(np.real, (0.3,))
calls(np.sinc, (0.3,))
for _name in ("conj", "conjugate"):
    case(getattr(np.ndarray, _name), lambda z, _name=_name: getattr(z, _name)(), c(3))
case(complex.conjugate, lambda z: z.conjugate() * z, 1.5 + 0.5j)
case(float.conjugate, lambda z: z.conjugate() * z, 1.5)
case(builtins.complex, lambda x, y: complex(x, y) ** 2, 1.5, 0.5)
case(getattr, lambda z: z.real * z.imag, c(3))
case(getattr, lambda x: x.T @ x, X)
for _m in (math, cmath):
    for _name in ("exp", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "atanh", "log"):
        calls(getattr(_m, _name), (0.4,) if _m is math else (0.4 + 0.3j,))
    calls(_m.acosh, (1.7,) if _m is math else (1.7 + 0.2j,))
case(math.log, lambda x, b: math.log(x, b), 2.5, 3.5)
for _name in ("log2", "log1p", "expm1", "exp2", "cbrt", "fabs", "degrees", "radians", "erf", "erfc", "gamma", "lgamma"):
    if hasattr(math, _name):
        calls(getattr(math, _name), (1.3,), (3.7,))
case(math.lgamma, lambda x: math.lgamma(x), -1.3)
for _name in ("pow", "atan2", "fmod", "remainder"):
    calls(getattr(math, _name), (1.3, 0.7))
calls(math.copysign, (1.3, -2.0))
calls(math.ldexp, (1.3, 2))
calls(math.nextafter, (1.3, 2.0))
if hasattr(math, "fmax"):  # 3.15
    calls(math.fmax, (1.3, 0.7), (0.2, 1.0))
    calls(math.fmin, (1.3, 0.7), (0.2, 1.0))
calls(math.hypot, (1.3, 0.7), (1.0, 2.0, 3.0))
case(math.modf, lambda x: math.modf(x)[0] * x, 1.3)
case(math.frexp, lambda x: math.frexp(x)[0] * x, 1.3)
case(math.dist, lambda x, y: math.dist((x, y), (0.5, 0.25)), 1.5, 2.5)
case(math.fsum, lambda x, y: math.fsum([x, y, x * y]), 1.5, 2.5)
case(cmath.phase, lambda z: cmath.phase(z), 1.5 + 0.5j)
case(cmath.polar, lambda z: cmath.polar(z)[0] * cmath.polar(z)[1], 1.5 + 0.5j)
case(cmath.rect, lambda r, f: cmath.rect(r, f), 1.5, 0.5)
if hasattr(math, "sumprod"):
    case(math.sumprod, lambda x, y: math.sumprod([x, y], [y, x * x]), 1.5, 2.5)
if hasattr(math, "fma"):
    calls(math.fma, (1.5, 2.5, 3.5))

# reductions
for _name in ("sum", "mean", "prod", "var", "std", "max", "min"):
    _f, _m2 = getattr(np, _name), getattr(np.ndarray, _name)
    for _axis in (None, 0, -1, (0, 2)):
        case(_f, lambda x, _f=_f, _axis=_axis: _f(x, axis=_axis), a(2, 3, 4))
        case(_m2, lambda x, _m2=_m2, _axis=_axis: _m2(x, _axis, keepdims=True), a(2, 3, 4))
    case(_f, lambda x, _f=_f: _f(x) * x, Z + 0.5 if _name not in ("var", "std") else a(2))
case(np.sum, lambda x: np.sum(x, where=x > 0), X)
case(np.mean, lambda x: np.mean(x, axis=0, where=np.array([[True], [False], [True]])), X)
case(np.sum, lambda x: np.sum(x, axis=0), E)
case(np.var, lambda x: np.var(x, axis=1, ddof=1), X)
case(np.std, lambda z: np.std(z), c(4))
case(np.prod, lambda x: np.prod(x), np.array([1.5, 0.0, 2.5]))
case(np.average, lambda x, w: np.average(x, axis=1, weights=w), X, p(4))
case(np.average, lambda x: np.average(x), X)
case(np.ptp, lambda x: np.ptp(x, axis=0), SPREAD)
for _name in ("amax", "amin"):
    case(getattr(np, _name), lambda x, _f=getattr(np, _name): _f(x, axis=0), SPREAD)
for _name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin", "nancumsum", "nancumprod"):
    _f = getattr(np, _name)
    case(_f, lambda x, _f=_f: _f(np.where(HOLES, np.nan, x), axis=0), p(3, 3))
    case(_f, lambda x, _f=_f: _f(np.where(HOLES, np.nan, x)), p(3, 3))
for _name in ("cumsum", "cumprod"):
    for _axis in (None, 0, 1):
        case(getattr(np, _name), lambda x, _f=getattr(np, _name), _axis=_axis: _f(x, axis=_axis), X)
    case(getattr(np.ndarray, _name), lambda x, _f=getattr(np.ndarray, _name): _f(x, 0), X)
for _name in ("cumulative_sum", "cumulative_prod"):
    case(getattr(np, _name), lambda x, _f=getattr(np, _name): _f(x, axis=0, include_initial=True), X)
for _n in (1, 2):
    case(np.diff, lambda x, _n=_n: np.diff(x, n=_n, axis=0), X)
case(np.diff, lambda x: np.diff(x, prepend=0.0), V)
case(np.bincount, lambda w: np.bincount(np.arange(w.size) % 2, weights=w * w, minlength=4), V)
case(np.ediff1d, lambda x: np.ediff1d(x), V)
case(np.trapezoid, lambda y, x: np.trapezoid(y, x), V, np.sort(a(5)))
case(np.trapezoid, lambda y: np.trapezoid(y, dx=0.3, axis=0), X)
for _axis in (None, 0, 1):
    case(np.median, lambda x, _axis=_axis: np.median(x, axis=_axis), SPREAD)
    case(np.quantile, lambda x, _axis=_axis: np.quantile(x, 0.3, axis=_axis), SPREAD)
case(np.percentile, lambda x: np.percentile(x, [20.0, 70.0], axis=1), SPREAD)
for _method in ("hazen", "median_unbiased", "interpolated_inverted_cdf", "inverted_cdf", "averaged_inverted_cdf", "nearest", "lower", "higher", "midpoint"):
    case(np.quantile, lambda x, _m=_method: np.quantile(x, [0.0, 0.3, 0.9], axis=1, method=_m), SPREAD)
case(np.median, lambda x: np.median(x, axis=(0, 1), keepdims=True), SPREAD)
calls(np.resize, (X, (3, 5)), (X, 2))
case(np.ufunc.reduce, lambda x: np.add.reduce(x, axis=1) * np.multiply.reduce(x, axis=1), X)
case(np.ufunc.accumulate, lambda x: np.add.accumulate(x) * np.multiply.accumulate(x), V)
case(np.ufunc.outer, lambda x, y: np.multiply.outer(x, y), V, B)

# contractions
for _op in (operator.matmul, np.matmul):
    calls(_op, (X, a(4, 2)), (X, B), (a(3), X), (B, a(4)), (a(2, 3, 4), a(4, 5)), (c(2, 1, 3, 4), c(4, 2)), (a(2, 0, 3), a(3, 2)), (a(2, 1, 3, 4), a(5, 4, 2)), (c(2, 3), a(3, 2)), (a(4), a(2, 4, 3)),
          (a(2, 3, 4), B), (a(0, 3), a(3, 2)))
for _f in (np.dot, np.ndarray.dot):
    case(_f, lambda x, y: x.dot(y), X, a(4, 2)) if _f is np.ndarray.dot else calls(_f, (X, B), (a(2, 3, 4), a(2, 4, 3)), (X, 2.0), (B, a(4)))
calls(np.inner, (X, a(2, 4)), (B, a(4)))
calls(np.vdot, (c(3), c(3)), (X, Y))
calls(np.outer, (V, B), (X, B))
calls(np.kron, (a(2, 3), a(3, 2)), (a(3), a(2, 2)))
for _mode in ("full", "same", "valid"):
    case(np.convolve, lambda x, y, _mode=_mode: np.convolve(x, y, _mode), V, a(3))
    case(np.correlate, lambda x, y, _mode=_mode: np.correlate(x, y, _mode), V, a(3))
case(np.tensordot, lambda x, y: np.tensordot(x, y, axes=([0, 2], [1, 0])), a(2, 3, 4), a(4, 2))
case(np.tensordot, lambda x, y: np.tensordot(x, y, 1), X, a(4, 2))
for _s, _args in (("ij,jk->ik", (X, a(4, 2))), ("ij->j", (X,)), ("ii->i", (SQ,)), ("ii", (SQ,)), ("i,j", (V, B)), ("...ij,...jk", (a(2, 3, 4), a(4, 2))),
                  ("ij,ij,i->", (X, Y, a(3)))):
    case(np.einsum, {1: lambda x, _s=_s: np.einsum(_s, x), 2: lambda x, y, _s=_s: np.einsum(_s, x, y), 3: lambda x, y, z, _s=_s: np.einsum(_s, x, y, z)}[len(_args)],
         *_args)
case(np.einsum, lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), X, a(4, 2))
case(np.einsum, lambda x, y: np.einsum(x, [..., 0], y, [0, 1]), a(2, 3, 4), a(4, 2))
case(np.trace, lambda x: np.trace(x, 1), SQ)
case(np.trace, lambda x: np.trace(x, axis1=0, axis2=2), a(3, 2, 3))
case(np.ndarray.trace, lambda x: x.trace(), SQ)
case(np.linalg.trace, lambda x: np.linalg.trace(x), a(2, 3, 3))
for _name, _args in (("vecdot", (X, Y)), ("matvec", (X, B)), ("vecmat", (a(3), X))):
    if hasattr(np, _name):
        calls(getattr(np, _name), _args)
calls(np.linalg.vecdot, (X, Y))
calls(np.linalg.matmul, (X, a(4, 2)))
calls(np.linalg.outer, (V, B))
case(np.linalg.tensordot, lambda x, y: np.linalg.tensordot(x, y, axes=1), X, a(4, 2))

# arranging
for _k in (0, -1, slice(1, 3), (slice(None), 2), (Ellipsis, None, 1), None, (slice(None, None, -1), slice(0, 4, 2)), (1, 2)):
    case(operator.getitem, lambda x, _k=_k: x[_k], X)
_I, _J, _M = np.array([0, 2, 2]), np.array([1, 1, 3]), np.array([[True, False, True, True]] * 3)
case(operator.getitem, lambda x: x[_I], X)
case(operator.getitem, lambda x: x[_I, _J], X)
case(operator.getitem, lambda x: x[:, _J], X)
case(operator.getitem, lambda x: x[_M], X)
case(operator.getitem, lambda x: x[_I, 1:3], X)
for _f in (np.take,):
    case(_f, lambda x: np.take(x, _I, axis=1), X)
    case(_f, lambda x: np.take(x, _J), X)
case(np.ndarray.take, lambda x: x.take(_I, 0), X)
case(np.take_along_axis, lambda x: np.take_along_axis(x, np.array([[0, 1], [2, 2], [3, 0]]), 1), X)
case(np.sort, lambda x: np.sort(x, axis=0), X)
case(np.sort, lambda x: np.sort(x, axis=None), X)
case(np.partition, lambda x: np.partition(x, 2), V)
case(np.reshape, lambda x: np.reshape(x, (2, 6)), X)
case(np.reshape, lambda x: np.reshape(x, (2, 6), order="F"), X)
case(np.ndarray.reshape, lambda x: x.reshape(2, -1), X)
case(in_shape, lambda x: in_shape(x * 1.0, (2, 6)), X)
for _f in (np.ravel, np.ndarray.ravel, np.ndarray.flatten, np.transpose, np.ndarray.transpose, np.flip, np.flipud, np.fliplr, np.tril, np.triu, np.atleast_1d,
           np.atleast_2d, np.atleast_3d, np.copy, np.ndarray.copy, np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray,
           np.matrix_transpose, np.linalg.matrix_transpose, np.diagflat, np.rot90):
    calls(_f, (X,))
case(np.transpose, lambda x: np.transpose(x, (2, 0, 1)), a(2, 3, 4))
case(np.ndarray.transpose, lambda x: x.transpose(2, 0, 1), a(2, 3, 4))
case(np.permute_dims, lambda x: np.permute_dims(x, (2, 0, 1)), a(2, 3, 4))
case(np.squeeze, lambda x: np.squeeze(x, 1), a(3, 1))
case(np.ndarray.squeeze, lambda x: x.squeeze(), a(3, 1))
case(np.expand_dims, lambda x: np.expand_dims(x, (0, 2)), X)
case(np.swapaxes, lambda x: np.swapaxes(x, 0, 1), X)
case(np.ndarray.swapaxes, lambda x: x.swapaxes(0, 1), X)
case(np.moveaxis, lambda x: np.moveaxis(x, (0, 1), (2, 0)), a(2, 3, 4))
case(np.rollaxis, lambda x: np.rollaxis(x, 2), a(2, 3, 4))
case(np.broadcast_to, lambda x: np.broadcast_to(x, (2, 3, 4)), X)
case(np.broadcast_arrays, lambda x, y: np.broadcast_arrays(x, y)[0] * 2.0, B, a(3, 1))
case(np.lib.stride_tricks.sliding_window_view, lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)), X)
case(np.lib.stride_tricks.sliding_window_view, lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-1), X)
case(np.roll, lambda x: np.roll(x, 1), X)
case(np.roll, lambda x: np.roll(x, (1, 2), (0, 1)), X)
case(np.diagonal, lambda x: np.diagonal(x, 1), X)
case(np.ndarray.diagonal, lambda x: x.diagonal(), X)
case(np.linalg.diagonal, lambda x: np.linalg.diagonal(x), a(2, 3, 3))
case(np.diag, lambda x: np.diag(x, 1), V)
case(np.diag, lambda x: np.diag(x), X)
case(np.repeat, lambda x: np.repeat(x, 2, axis=1), X)
case(np.repeat, lambda x: np.repeat(x, [1, 2, 0], axis=0), X)
case(np.ndarray.repeat, lambda x: x.repeat(2), X)
case(np.tile, lambda x: np.tile(x, (2, 3)), X)
case(np.tile, lambda x: np.tile(x, 2), V)
for _mode in ("constant", "edge", "reflect", "symmetric", "wrap", "mean", "median", "maximum", "minimum", "linear_ramp"):
    case(np.pad, lambda x, _mode=_mode: np.pad(x, ((1, 2), (0, 5)), mode=_mode), X)
case(np.pad, lambda x, v: np.pad(x, 2, constant_values=v), X, 0.5)
case(np.pad, lambda x, v, w: np.pad(x, (1, 2), constant_values=((v, 1.0), (v, w))), X, 0.5, 0.25)
case(np.pad, lambda x, v: np.pad(x, ((1,), (2,)), "linear_ramp", end_values=(v, 1.0)), X, 0.5)
case(np.pad, lambda x: np.pad(x, ((0, 0), (1, 2)), "mean", stat_length=((1, 2), (3, 2))), X)
case(np.pad, lambda x: np.pad(x, (1, 2), "maximum", stat_length=2), X)
for _mode in ("reflect", "symmetric"):
    case(np.pad, lambda x, _mode=_mode: np.pad(x, (3, 8), _mode, reflect_type="odd"), X)
case(np.concatenate, lambda x, y: np.concatenate((x, y), axis=1), X, a(3, 2))
case(np.concatenate, lambda x, y: np.concatenate((x, y), axis=None), X, a(3, 2))
case(np.concat, lambda x, y: np.concat((x, y)), X, Y)
case(np.concatenate, lambda x: np.concatenate((x, np.ones(2))), V)
case(np.stack, lambda x, y: np.stack((x, y), axis=1), X, Y)
for _f in (np.vstack, np.hstack, np.dstack, np.column_stack):
    case(_f, lambda x, y, _f=_f: _f((x, y)), V, W)
    case(_f, lambda x, y, _f=_f: _f((x, y)), X, Y)
case(np.split, lambda x: np.split(x, 2, axis=1)[1], X)
case(np.array_split, lambda x: np.array_split(x, 2)[0], V)
case(np.hsplit, lambda x: np.hsplit(x, 2)[1], X)
case(np.vsplit, lambda x: np.vsplit(x, 3)[1], X)
case(np.dsplit, lambda x: np.dsplit(x, 2)[1], a(2, 3, 4))
case(np.unstack, lambda x: np.unstack(x, axis=1)[2], X)
case(np.append, lambda x, y: np.append(x, y), X, V)
case(np.meshgrid, lambda x, y: np.meshgrid(x, y)[0] * 2.0, V, B)
case(np.array, lambda x, y: np.array([x, y, x * y]), 1.5, 2.5)
case(np.array, lambda x: np.array([[x[0], 1.0], [2.0, x[1]]]), V)
case(np.ndarray.astype, lambda x: x.astype(np.complex128) * 2.0, X)
case(np.astype, lambda x: np.astype(x, np.complex128), X)
case(np.full, lambda x: np.full((2, 3), x), 1.5)
case(np.full_like, lambda x, y: np.full_like(x, y) * x, X, 1.5)
case(builtins.float, lambda x: float(x[0]) * 2.0, V)
case(np.float64, lambda x: np.float64(x) * 2.0, 1.5)
case(np.complex128, lambda x: np.complex128(x) * 2.0, 1.5)
case(np.ndarray.item, lambda x: x.sum().item() * 2.0, V)
case(np.linspace, lambda x, y: np.linspace(x, y, 5), 1.5, 2.5)
case(np.logspace, lambda x, y: np.logspace(x, y, 4), 0.5, 1.5)
case(np.geomspace, lambda x, y: np.geomspace(x, y, 4), 0.5, 1.5)
case(np.vander, lambda x: np.vander(x, 3), V)
case(np.where, lambda x, y: np.where(x > 0, x, y), X, B)
case(np.where, lambda x: np.where(x > 0, x, 0.0), X)
case(np.select, lambda x: np.select([x > 0.5, x > 0], [x, x * x], -x), X)
case(np.choose, lambda x, y: np.choose(np.array([0, 1, 1, 0]), [x, y]), B, a(4))
case(np.compress, lambda x: np.compress([True, False, True], x, axis=0), X)
case(np.extract, lambda x: np.extract(_M, x), X)
case(np.delete, lambda x: np.delete(x, 1, axis=0), X)

# linear algebra
for _a, _b in ((SQ, a(3)), (SQ, a(3, 2)), (CSQ, c(3)), (np.stack((SQ, SQ + 1)), a(2, 3, 2))):
    calls(np.linalg.solve, (_a, _b))
calls(np.linalg.inv, (SQ,), (np.stack((SQ, SQ + 1)),), (CSQ,))
calls(np.linalg.det, (SQ,), (CSQ,))
case(np.linalg.slogdet, lambda x: np.linalg.slogdet(x)[1], SQ)
case(np.linalg.slogdet, lambda x: np.linalg.slogdet(x)[1], CSQ)
for _n in (0, 1, 3, -2):
    case(np.linalg.matrix_power, lambda x, _n=_n: np.linalg.matrix_power(x, _n), SQ)
case(np.linalg.multi_dot, lambda x, y, z: np.linalg.multi_dot([x, y, z]), X, a(4, 2), a(2, 3))
calls(np.linalg.pinv, (X,), (a(4, 2),))
case(np.linalg.lstsq, lambda x, y: np.linalg.lstsq(x, y)[0], a(5, 2), V)
case(np.linalg.tensorsolve, lambda x, y: np.linalg.tensorsolve(x, y), SQ, a(3))
case(np.linalg.tensorinv, lambda x: np.linalg.tensorinv(x, 1), SQ)
case(np.linalg.cholesky, lambda x: np.linalg.cholesky(x @ x.T + 3 * np.eye(3)), a(3, 3))
case(np.linalg.eigh, lambda x: np.linalg.eigh(x + x.T)[0], a(3, 3))
case(np.linalg.eigh, lambda x: np.abs(np.linalg.eigh(x + x.T)[1]), a(3, 3))
case(np.linalg.eigh, lambda x: np.linalg.eigh(x)[0], SQ)
case(np.linalg.eigvalsh, lambda x: np.linalg.eigvalsh(x), SQ)
case(np.linalg.eig, lambda x: np.abs(np.linalg.eig(x)[0]), SQ)
case(np.linalg.eigvals, lambda x: np.abs(np.linalg.eigvals(x)), SQ)
case(np.linalg.svd, lambda x: np.linalg.svd(x, full_matrices=False)[1], X)
case(np.linalg.svd, lambda x: np.abs(np.linalg.svd(x, full_matrices=False)[0]), a(4, 3))
case(np.linalg.svd, lambda x: np.linalg.svd(x, compute_uv=False), X)
calls(np.linalg.svdvals, (X,))
# how the rest is spanned is left open; what is spanned is not
case(np.linalg.svd, lambda x: np.linalg.svd(x)[0][:, 2:] @ np.linalg.svd(x)[0][:, 2:].T, a(4, 2))
case(np.linalg.svd, lambda x: np.linalg.svd(x)[2][2:].T @ np.linalg.svd(x)[2][2:], a(2, 4))
case(np.linalg.svd, lambda x: np.real(np.conj(np.linalg.svd(x)[2][2:].T) @ np.linalg.svd(x)[2][2:]), c(2, 3))
case(np.linalg.qr, lambda x: np.linalg.qr(x)[1] * 2.0, a(4, 3))
case(np.linalg.qr, lambda x: np.linalg.qr(x)[0] * 2.0, SQ)
case(np.linalg.qr, lambda x: np.linalg.qr(x, mode="complete")[0][:, 2:] @ np.linalg.qr(x, mode="complete")[0][:, 2:].T, a(4, 2))
case(np.linalg.qr, lambda x: np.linalg.qr(x)[0] @ np.linalg.qr(x)[1][:, 1:], a(2, 4))
calls(np.linalg.qr, (a(3, 2), "r"), (a(2, 3), "r"))
for _ord in (None, 1, 2, 3, np.inf, -np.inf):
    case(np.linalg.norm, lambda x, _ord=_ord: np.linalg.norm(x, _ord), V)
for _ord in (None, "fro", "nuc", 1, 2, -2, np.inf):
    case(np.linalg.norm, lambda x, _ord=_ord: np.linalg.norm(x, _ord), X)
case(np.linalg.norm, lambda x: np.linalg.norm(x, axis=1, keepdims=True), X)
case(np.linalg.vector_norm, lambda x: np.linalg.vector_norm(x), X)
case(np.linalg.matrix_norm, lambda x: np.linalg.matrix_norm(x), X)
case(np.linalg.cond, lambda x: np.linalg.cond(x), SQ)
case(np.linalg.cond, lambda x: np.linalg.cond(x, 1), SQ)

# transforms
for _name in ("fft", "ifft", "rfft"):
    for _x in (a(6), a(5), a(2, 4)):
        calls(getattr(np.fft, _name), (_x,))
    for _norm in ("ortho", "forward"):
        case(getattr(np.fft, _name), lambda x, _f=getattr(np.fft, _name), _norm=_norm: _f(x, n=4, axis=0, norm=_norm), a(6, 2))
calls(np.fft.irfft, (c(4),), (c(2, 3),))
case(np.fft.irfft, lambda x: np.fft.irfft(x, 5), c(3))
case(np.fft.hfft, lambda x: np.fft.hfft(x), c(4))
case(np.fft.ihfft, lambda x: np.fft.ihfft(x), a(6))
for _name in ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn"):
    calls(getattr(np.fft, _name), (a(3, 4),))
for _name in ("irfft2", "irfftn"):
    calls(getattr(np.fft, _name), (c(3, 4),))
calls(np.fft.fftshift, (V,))
calls(np.fft.ifftshift, (V,))

# calculus
case(np.interp, lambda y: np.interp([0.2, 0.7], [0.0, 0.5, 1.0], y), a(3))
case(np.interp, lambda x, f: np.interp(x, np.array([0.0, 0.4, 1.0]), f), np.array([0.1, 0.5, 0.9]), a(3))
case(np.interp, lambda x, at, f: np.interp(x, at, f, period=1.2), np.array([0.15, 0.55, -0.9, 3.3]), np.array([0.7, 0.1, 0.35]), a(3))
case(np.polyval, lambda q, x: np.polyval(q, x), a(3), V)
for _f in (np.polyadd, np.polysub, np.polymul):
    calls(_f, (V, a(3)))
calls(np.polyder, (V,))
calls(np.polyint, (V,))
case(np.polyfit, lambda y: np.polyfit(np.arange(5.0), y, 2), V)
case(np.gradient, lambda x: np.gradient(x), V)
case(np.gradient, lambda x: np.gradient(x, 0.5, axis=0), X)
case(np.gradient, lambda x: np.gradient(x, 0.5, edge_order=2), V)
case(np.gradient, lambda x: np.gradient(x, np.array([0.0, 1.0, 3.0, 3.5]), axis=1, edge_order=2), X)
case(np.gradient, lambda x, h: np.gradient(x, h), V, np.cumsum(p(5)))
case(np.unwrap, lambda x: np.unwrap(x), V)
case(np.cross, lambda x, y: np.cross(x, y), a(4, 3), a(3))
case(np.linalg.cross, lambda x, y: np.linalg.cross(x, y), a(2, 3), a(2, 3))
case(np.ndarray.choose, lambda x, y: np.array([0, 1, 1, 0]).choose([x, y]), B, a(4))
case(np.ndarray.compress, lambda x: x.compress([True, False, True], axis=0), X)
case(builtins.sum, lambda x: sum(x), X)
case(builtins.sum, lambda x, y: sum([x, y, x * y], 0.5), 1.5, 2.5)
case(np.generic.item, lambda x: x.sum().item() * 3.0, V)

# Numbers and lists where arrays are wanted.
case(np.append, lambda v, x: np.append(v, x), V, 0.7)
case(np.reshape, lambda x: np.reshape(x, (1, 1)), 0.7)
case(np.array, lambda x: np.array(x, ndmin=2), V)
case(np.array, lambda x, y: np.array([x, y * y], ndmin=2), 0.7, 0.4)
case(np.einsum, lambda v, x: np.einsum("i,i", [x, x * x], v[:2]), V, 0.7)
case(np.einsum, lambda v, x: np.einsum(",i->i", x, v), V, 0.7)
case(np.kron, lambda v, x: np.kron(v, x), V, 0.7)
case(np.meshgrid, lambda v, x: np.meshgrid(v, x)[0] * np.meshgrid(v, x)[1], V, 0.7)
