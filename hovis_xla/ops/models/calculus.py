"""Models of NumPy's functions that compute along an axis: differences, integrals, interpolation, polynomials, ranges."""

import math
import operator
from typing import Any

from hovis.library.numpy.adjoints.tangents import fitted_like
from hovis_xla.emit.values import NotLowerable
from hovis_xla.ops.standin import StandIn, arrayed, at, axes_of, axis_of, cut, is_array, is_numpy, model, np, numbers, standing, zeros

# ------------------------------------------------------------------------------------------------- derivatives


@model(fitted_like)
def fitted_to(g: Any, x: Any) -> Any:
    """Sum g over the axes along which x was broadcast; the shape of x is known here."""
    if g.shape != x.shape and g.ndim < x.ndim:
        g = np.broadcast_to(g, x.shape)
    elif g.shape != x.shape:
        extra = g.ndim - x.ndim
        axes = tuple(k for k in range(g.ndim) if k < extra or (x.shape[k - extra] == 1 and g.shape[k] != 1))
        g = np.reshape(np.sum(g, axis=axes), x.shape)
    return g.astype(x.dtype) if x.dtype.kind in "fc" and g.dtype != x.dtype else g


# ------------------------------------------------------------------------------------------------- differences


@model(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    if n < 0 or a.ndim == 0:
        raise ValueError("order must be non-negative")
    if n == 0:
        raise NotLowerable("np.diff with n=0 returns the array itself")
    axis = axis_of(axis, a.ndim)
    less = np.not_equal if a.dtype == np.bool_ else np.subtract
    for _ in range(n):
        a = less(cut(a, axis, 1, None), cut(a, axis, None, -1))
    return a


@model(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    flat = np.ravel(ary)
    parts = [flat[1:] - flat[:-1]]
    for given, place in ((to_begin, 0), (to_end, len(parts))):
        if given is not None:
            end = np.ravel(arrayed(given, ary))
            if not np.can_cast(end.dtype, flat.dtype, "same_kind"):
                raise TypeError("dtype must be compatible")
            parts.insert(place if place == 0 else len(parts), end.astype(flat.dtype))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@model(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    axes = axes_of(axis, f.ndim)
    if edge_order not in (1, 2) or len(varargs) not in (0, 1, len(axes)):
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind == "b":
        raise TypeError("numpy boolean subtract, the `-` operator, is not supported")
    if not np.issubdtype(f.dtype, np.inexact):
        f = f.astype(np.float64)
    given = list(varargs) or [1.0]
    steps = given * len(axes) if len(given) < len(axes) else given
    if len(varargs) == 1 and len(axes) > 1 and np.ndim(_known(varargs[0])):
        raise TypeError("invalid number of arguments")
    found = [_gradient_along(f, k, _spacing(f, h, f.shape[k]), edge_order).astype(f.dtype) for k, h in zip(axes, steps, strict=True)]
    return found[0] if len(axes) == 1 else tuple(found)


def _known(x: Any) -> Any:
    return np.empty(x.shape) if isinstance(x, StandIn) else x


def _spacing(f: Any, h: Any, size: int) -> Any:
    """Return one distance, or the distances between coordinates (of which NumPy takes one if all are equal)."""
    if not isinstance(h, StandIn):
        distances = np.asarray(h)
        if distances.ndim == 0:
            return h
        if distances.ndim != 1 or len(distances) != size:
            raise ValueError("distances must be either scalars or 1d")
        distances = np.diff(distances.astype(np.float64) if distances.dtype.kind in "iu" else distances)
        return distances[0] if (distances == distances[0]).all() else arrayed(distances, f)
    if h.ndim == 0:
        return h
    if h.ndim != 1 or len(h) != size:
        raise ValueError("distances must be either scalars or 1d")
    return np.diff(h.astype(np.float64) if h.dtype.kind in "iu" else h)


def _gradient_along(f: Any, axis: int, h: Any, edge_order: int) -> Any:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    if not (isinstance(h, StandIn) and h.ndim):
        return _joined(_even(f, axis, h, edge_order), axis)
    uneven = _joined(_uneven(f, axis, h, edge_order), axis)
    even = _joined(_even(f, axis, h[0], edge_order), axis)
    return np.where(np.all(h == h[0]), even, uneven)


def _joined(parts: Any, axis: int) -> Any:
    return np.concatenate([np.expand_dims(parts[0], axis), parts[1], np.expand_dims(parts[2], axis)], axis=axis)


def _even(f: Any, axis: int, h: Any, edge_order: int) -> Any:
    inner = (cut(f, axis, 2, None) - cut(f, axis, None, -2)) / (2.0 * h)
    if edge_order == 1:
        return (at(f, axis, 1) - at(f, axis, 0)) / h, inner, (at(f, axis, -1) - at(f, axis, -2)) / h
    first = -1.5 / h * at(f, axis, 0) + 2.0 / h * at(f, axis, 1) + -0.5 / h * at(f, axis, 2)
    last = 0.5 / h * at(f, axis, -3) + -2.0 / h * at(f, axis, -2) + 1.5 / h * at(f, axis, -1)
    return first, inner, last


def _uneven(f: Any, axis: int, h: Any, edge_order: int) -> Any:
    left, right = h[:-1], h[1:]
    shape = tuple(-1 if k == axis else 1 for k in range(f.ndim))
    factors = -right / (left * (left + right)), (right - left) / (left * right), left / (right * (left + right))
    a, b, c = (np.reshape(v, shape) for v in factors)
    inner = a * cut(f, axis, None, -2) + b * cut(f, axis, 1, -1) + c * cut(f, axis, 2, None)
    if edge_order == 1:
        return (at(f, axis, 1) - at(f, axis, 0)) / h[0], inner, (at(f, axis, -1) - at(f, axis, -2)) / h[-1]
    p, q, r, s = h[0], h[1], h[-2], h[-1]
    first = -(2.0 * p + q) / (p * (p + q)) * at(f, axis, 0) + (p + q) / (p * q) * at(f, axis, 1) + -p / (q * (p + q)) * at(f, axis, 2)
    last = s / (r * (r + s)) * at(f, axis, -3) + -(s + r) / (r * s) * at(f, axis, -2) + (2.0 * s + r) / (s * (r + s)) * at(f, axis, -1)
    return first, inner, last


@model(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = arrayed(y, standing(y, x))
    axis = axis_of(axis, y.ndim)
    d = dx
    if x is not None:
        x = arrayed(x, y)
        d = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            d = np.reshape(d, tuple(d.shape[0] if k == axis else 1 for k in range(y.ndim)))
    return np.sum(d * (cut(y, axis, 1, None) + cut(y, axis, None, -1)) / 2.0, axis=axis)


@model(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    axis = axis_of(axis, p.ndim)
    if isinstance(period, StandIn) or isinstance(discont, StandIn):
        raise NotLowerable("np.unwrap with a period that is not known")
    dd = diff(p, axis=axis)
    discont = period / 2 if discont is None else discont
    dtype = np.result_type(dd.dtype, period)
    if np.issubdtype(dtype, np.integer):
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    ddmod = np.mod(dd - -high, period) + -high
    if ambiguous:
        ddmod = np.where((ddmod == -high) & (dd > 0), np.asarray(high, ddmod.dtype), ddmod)
    correct = ddmod - dd
    correct = np.where(abs(dd) < discont, np.asarray(0, correct.dtype), correct)
    rest = (cut(p, axis, 1, None) + np.cumsum(correct, axis)).astype(dtype)
    return np.concatenate((cut(p, axis, 0, 1).astype(dtype), rest), axis=axis)


@model(np.cumulative_sum)
def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _cumulative(np.cumsum, 0, x, axis, dtype, include_initial)


@model(np.cumulative_prod)
def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _cumulative(np.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(fn: Any, start: int, x: Any, axis: Any, dtype: Any, initial: bool) -> Any:
    if x.ndim == 0 or (axis is None and x.ndim > 1):
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    k = axis_of(-1 if axis is None else axis, x.ndim)
    found = fn(x, axis=k, dtype=dtype)
    if not initial:
        return found
    shape = tuple(1 if j == k else d for j, d in enumerate(found.shape))
    return np.concatenate((np.full(shape, start, found.dtype), found), axis=k)


# ------------------------------------------------------------------------------------------------- interpolation


@model(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Interpolate as NumPy does: ``slope * (x - xp[j]) + fp[j]``, or from the other end of the interval if that is NaN."""
    first = standing(x, xp, fp)
    scalar = not is_array(x) or x.ndim == 0
    x, xp, fp = (arrayed(v, first) for v in (x, xp, fp))
    if any(v.dtype.kind == "c" for v in (x, xp, fp)) or xp.ndim != 1 or fp.ndim != 1 or len(xp) != len(fp) or not len(xp):
        raise ValueError("array of sample points is empty")
    x, xp, fp = (v.astype(np.float64) for v in (x, xp, fp))
    below, above = (given if given is not None else fp[k] for given, k in ((left, 0), (right, -1)))
    if len(xp) == 1:
        found = np.where(x < xp[0], below, np.where(x > xp[0], above, fp[0]))
    else:
        j = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, len(xp) - 2)
        x0, y0, x1, y1 = xp[j], fp[j], xp[j + 1], fp[j + 1]
        slope = (y1 - y0) / (x1 - x0)
        found = slope * (x - x0) + y0
        again = slope * (x - x1) + y1
        found = np.where(np.isnan(found), np.where(np.isnan(again) & (y0 == y1), y0, again), found)
        found = np.where(x == x0, y0, found)
        found = np.where(x < xp[0], below, np.where(x > xp[-1], above, np.where(x == xp[-1], fp[-1], found)))
    found = np.where(np.isnan(x), x, found)
    return found[()] if scalar else found


@model(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    first = standing(a, v)
    a, v = arrayed(a, first), arrayed(v, first)
    if len(v) > len(a):
        a, v = v, a
    return _correlated(a, np.flip(v), mode)


@model(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    first = standing(a, v)
    a, v = arrayed(a, first), arrayed(v, first)
    v = np.conj(v) if v.dtype.kind == "c" else v
    if len(v) > len(a):
        return np.flip(_correlated(v, a, mode))
    return _correlated(a, v, mode)


def _correlated(a: Any, v: Any, mode: str) -> Any:
    """Return the sums of products over windows; v is the shorter operand."""
    if a.ndim > 1 or v.ndim > 1 or not len(v) or mode not in ("full", "same", "valid"):
        raise ValueError("v cannot be empty")
    dtype = np.result_type(a.dtype, v.dtype)
    n, m = len(a), len(v)
    before = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    length = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    a, v = a.astype(dtype), v.astype(dtype)
    if m <= 32:
        result = None
        for k in range(m):
            # positions outside must not be multiplied: zero times infinity is NaN
            first = before - k
            term = (a * v[k])[max(-first, 0) : length - first]
            term = np.pad(term, (max(first, 0), length - max(first, 0) - len(term)))
            if result is None:  # the sums begin with 0.0, and so are never -0.0
                result = term + dtype.type(0) if dtype.kind in "fc" else term
            else:
                result = result + term
        return result
    np.any(~np.isfinite(a)).refuse()
    padded = np.pad(a, (before, max(length + m - 1 - before - n, 0)))
    if m * length > 1 << 24:
        raise NotLowerable("a convolution with many windows")
    windows = np.expand_dims(numbers(a, length), 1) + np.expand_dims(numbers(a, m), 0)
    return np.matmul(np.take(padded, windows), v)


# ------------------------------------------------------------------------------------------------- polynomials


@model(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    first = standing(p, x)
    p, x = arrayed(p, first), arrayed(x, first)
    y = zeros(x, x.shape, x.dtype) if x.shape else x * 0
    for k in range(len(p)):
        y = y * x + p[k]
    return y


@model(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    return _polynomial_sum(a1, a2, np.add)


@model(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    return _polynomial_sum(a1, a2, np.subtract)


def _polynomial_sum(a1: Any, a2: Any, combine: Any) -> Any:
    first = standing(a1, a2)
    a1, a2 = (np.atleast_1d(arrayed(a, first)) for a in (a1, a2))
    size = max(len(a1), len(a2))
    return combine(*(np.concatenate((zeros(a, size - len(a), a.dtype), a)) if len(a) < size else a for a in (a1, a2)))


@model(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    if m != 1 or not is_array(p) or p.ndim != 1 or p.dtype.kind not in "ifc":
        raise NotLowerable("np.polyder with m other than 1 or an unsupported polynomial")
    return p[:-1] * np.arange(len(p) - 1, 0, -1)


# ------------------------------------------------------------------------------------------------- ranges


def _weak(x: Any) -> Any:
    """Return the operand for a query of a dtype: the dtype of x, or, for an unknown Python number, a number of the same class."""
    if isinstance(x, StandIn):
        return x.dtype if x.number in (None, bool) else x.number(1)
    return x


@model(np.linspace)
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0) -> Any:
    if not isinstance(start, StandIn) and not isinstance(stop, StandIn):
        return np.linspace(start, stop, num, endpoint, retstep, dtype, axis)
    count = operator.index(num)
    if count < 0:
        raise ValueError("Number of samples must be non-negative.")
    div = count - 1 if endpoint else count
    real = np.linspace(*(np.zeros((), e.dtype) if is_numpy(e) else _weak(e) for e in (start, stop)), 1).dtype
    first = standing(start, stop)
    start, stop = (first.call(np.asarray, e).astype(real) for e in (start, stop))
    integer = dtype is not None and np.issubdtype(dtype, np.integer)
    delta = stop - start
    ramp = np.reshape(numbers(first, count).astype(real), (count,) + (1,) * delta.ndim)
    y = ramp * delta
    step = None
    if div > 0:
        step = delta / div
        # if any step is zero, NumPy computes all elements in another order
        y = np.where(np.any(step == 0), ramp / div * delta, ramp * step)
    y = y + start
    if endpoint and count > 1:
        y = np.concatenate((y[:-1], np.broadcast_to(stop, (1, *y.shape[1:]))))
    y = np.moveaxis(y, 0, axis) if axis else y
    y = np.floor(y) if integer else y
    y = y if dtype is None else y.astype(np.dtype(dtype))
    if retstep and step is None:
        raise NotLowerable("np.linspace with retstep=True but without a step")
    return (y, step) if retstep else y


@model(np.logspace)
def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Any:
    if isinstance(base, StandIn):
        raise NotLowerable("np.logspace to a base that is not known")
    if not isinstance(start, StandIn) and not isinstance(stop, StandIn):
        return np.logspace(start, stop, num, endpoint, base, dtype, axis)
    y = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(np.dtype(dtype))


@model(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    if not isinstance(start, StandIn) and not isinstance(stop, StandIn):
        return np.geomspace(start, stop, num, endpoint, dtype, axis)
    first = standing(start, stop)
    start, stop = (first.call(np.asarray, e) for e in (start, stop))
    real = np.result_type(start.dtype, stop.dtype, 1.0, np.zeros((), dtype))
    if real.kind == "c" or start.ndim or stop.ndim or axis or not num or num < 2:
        raise NotLowerable("np.geomspace of arrays or complex numbers, or of fewer than two numbers")
    start, stop = start.astype(real), stop.astype(real)
    ((start == 0) | (stop == 0)).refuse()
    sign = np.sign(start)
    start, stop = start / sign, stop / sign
    y = logspace(np.log10(start), np.log10(stop), num, endpoint, dtype=real)
    inner = y[1:-1] if endpoint else y[1:]
    parts = [np.reshape(start, (1,)), inner, *([np.reshape(stop, (1,))] if endpoint else [])]
    result = np.concatenate(parts) * sign
    return result if dtype is None else result.astype(np.dtype(dtype))
