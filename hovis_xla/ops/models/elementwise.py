"""Models of NumPy's elementwise functions that are not ufuncs, and of comparisons of whole arrays: ``isclose``, ``array_equal``, ``sinc``,
``fix`` …
"""

import math
from typing import Any

from hovis_xla.emit.values import NotLowerable
from hovis_xla.ops.standin import StandIn, arrayed, as_python, axis_of, is_array, is_numpy, model, np, standing, zeros


@model(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    first = standing(a, b)
    x, y = (v if isinstance(v, StandIn) or type(v) in (int, float, complex) else arrayed(v, first) for v in (a, b))
    if is_numpy(y):
        y = y.astype(np.result_type(y.dtype, 1.0))
    elif (y.number if isinstance(y, StandIn) else type(y)) is int:
        y = y.call(float, y) if isinstance(y, StandIn) else float(y)
    result = np.less_equal(abs(x - y), atol + rtol * abs(y)) & np.isfinite(y) | (x == y)
    if equal_nan:
        result = result | (np.isnan(x) & np.isnan(y))
    return result if isinstance(result, StandIn) and result.ndim == 0 and not is_array(result) else result[()]


@model(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return as_python(np.all(isclose(a, b, rtol, atol, equal_nan)))


@model(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    first = standing(a1, a2)
    a1, a2 = arrayed(a1, first), arrayed(a2, first)
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    if equal_nan and a1.dtype.kind in "fc" and a2.dtype.kind in "fc":
        same = same | (np.isnan(a1) & np.isnan(a2))
    return as_python(np.all(same))


@model(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    first = standing(a1, a2)
    a1, a2 = arrayed(a1, first), arrayed(a2, first)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return as_python(np.all(a1 == a2))


@model(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if copy is not True:
        raise NotLowerable("np.nan_to_num with copy=False writes into its argument")
    if any(isinstance(v, StandIn) for v in (nan, posinf, neginf)):
        raise NotLowerable("np.nan_to_num with numbers that are not known")
    x = x if is_numpy(x) else arrayed(x)
    if x.dtype.kind not in "fc":
        return np.copy(x) if is_array(x) and x.ndim else x[()] if is_array(x) else x
    most = np.finfo(x.real.dtype).max

    def mended(d: Any) -> Any:
        d = np.where(np.isnan(d), np.asarray(nan, d.dtype), d)
        d = np.where(d == np.inf, np.asarray(most if posinf is None else posinf, d.dtype), d)
        return np.where(d == -np.inf, np.asarray(-most if neginf is None else neginf, d.dtype), d)

    if x.dtype.kind == "c":
        raise NotLowerable("np.nan_to_num of complex numbers")
    found = mended(x)
    return found[()] if found.ndim == 0 else found


@model(np.sinc)
def sinc(x: Any) -> Any:
    x = x if is_numpy(x) else arrayed(x)
    scalar = x.ndim == 0
    if x.dtype.kind in "iub":
        x = x.astype(float)
    y = math.pi * x
    tiny = np.finfo(y.dtype).eps
    # NumPy replaces zero by a number so small that the quotient is one
    y = np.where(y == 0, np.asarray(tiny, y.dtype), y)
    found = np.sin(y) / y
    return found[()] if scalar else found


@model(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    z = z if is_numpy(z) else arrayed(z)
    real = z.real if z.dtype.kind == "c" else z
    found = np.arctan2(z.imag, real) if z.dtype.kind == "c" else np.arctan2(np.zeros((), np.int64 if z.dtype.kind == "b" else z.dtype), z)
    return found * (180 / math.pi) if deg else found


@model(np.isposinf)
def isposinf(x: Any) -> Any:
    return np.logical_and(np.isinf(x), ~np.signbit(x))


@model(np.isneginf)
def isneginf(x: Any) -> Any:
    return np.logical_and(np.isinf(x), np.signbit(x))


@model(np.fix)
def fix(x: Any) -> Any:
    return np.trunc(x)


@model(np.iscomplex)
def iscomplex(x: Any) -> Any:
    x = x if is_numpy(x) else arrayed(x)
    if x.dtype.kind == "c":
        return x.imag != 0
    return x.call(np.zeros, x.shape, bool)[()] if not x.shape else zeros(x, x.shape, bool)


@model(np.isreal)
def isreal(x: Any) -> Any:
    x = x if is_numpy(x) else arrayed(x)
    return x.imag == 0 if x.dtype.kind == "c" else np.ones_like(x, dtype=bool)[()] if not x.shape else np.ones_like(x, dtype=bool)


@model(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axis_of(axisa, a.ndim), -1), np.moveaxis(b, axis_of(axisb, b.ndim), -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise NotLowerable("np.cross of vectors that do not have three elements")
    dtype = np.promote_types(a.dtype, b.dtype)
    a, b = np.broadcast_arrays(a.astype(dtype), b.astype(dtype))
    x, y = ([v[..., k] for k in range(3)] for v in (a, b))
    parts = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return np.moveaxis(np.stack(parts, axis=-1), -1, axis_of(axisc, a.ndim))


@model(*([np.linalg.cross] if hasattr(np.linalg, "cross") else []))
def cross_of_last(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return cross(x1, x2, axis=axis)
