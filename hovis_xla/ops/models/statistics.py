"""Models of NumPy's order statistics and averages: medians, quantiles, covariances, and the functions that leave out NaNs."""

from typing import Any

from hovis_xla.emit.values import NotLowerable
from hovis_xla.ops.standin import StandIn, arrayed, at, axes_of, axis_of, cut, is_array, is_numpy, model, np, standing

# ------------------------------------------------------------------------------------------------- medians, quantiles


def _gathered(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the array with the axes of a reduction merged into its last axis, and these axes."""
    axes = axes_of(axis, a.ndim)
    rest = [k for k in range(a.ndim) if k not in axes]
    moved = np.transpose(a, (*rest, *axes))
    return np.reshape(moved, (*(a.shape[k] for k in rest), int(np.prod([a.shape[k] for k in axes], dtype=int)))), axes


def _kept(found: Any, a: Any, axes: tuple[int, ...], keepdims: Any, before: int = 0) -> Any:
    """Return the result with the reduced axes kept at size 1, if keepdims is true; ``before`` is the number of extra dimensions in front."""
    if keepdims is not True:
        return found
    shape = tuple(1 if k in axes else d for k, d in enumerate(a.shape))
    return np.reshape(arrayed(found), found.shape[:before] + shape)


def _middle(flat: Any) -> Any:
    """Return the median along the last axis of a sorted array."""
    size = flat.shape[-1]
    half = size // 2
    return np.mean(cut(flat, flat.ndim - 1, half, half + 1) if size % 2 else cut(flat, flat.ndim - 1, half - 1, half + 1), axis=-1)


@model(np.median)
def median(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = a if is_numpy(a) else arrayed(a)
    flat, axes = _gathered(arrayed(a), axis)
    if not flat.shape[-1] or a.dtype.kind not in "biuf":
        raise NotLowerable("np.median of an empty array, or of complex numbers")
    ordered = np.sort(flat, axis=-1)
    found = _middle(ordered)
    if a.dtype.kind == "f":
        last = at(ordered, ordered.ndim - 1, -1)
        found = _alike(np.where(np.isnan(last), last, found))
    return _kept(found, a, axes, keepdims)


def _alike(x: Any) -> Any:
    """Return an array of rank 0 as a scalar: ``np.where`` gives an array even of numbers, where NumPy's function gives a scalar."""
    return x[()] if is_array(x) and not x.shape else x


def _positions(q: Any, n: int, method: str) -> Any:
    """Return the positions of quantiles in n ordered elements, in floating point, or None if the method is not supported; q is known."""
    if method in ("lower", "higher", "nearest", "midpoint", "linear"):
        spot = (n - 1) * q
        if method == "lower":
            return np.floor(spot)
        if method == "higher":
            return np.ceil(spot)
        return spot if method == "linear" else None
    return None


@model(np.quantile)
def quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: Any = False) -> Any:
    q = _known_quantiles(q)
    return _quantiles(a, q, axis, method, keepdims)


@model(np.percentile)
def percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: Any = False) -> Any:
    found = _known_quantiles(q)
    return _quantiles(a, np.true_divide(found, 100), axis, method, keepdims)


def _known_quantiles(q: Any) -> Any:
    if isinstance(q, StandIn):
        raise NotLowerable("quantiles that are not known")
    return np.asanyarray(q)


def _quantiles(a: Any, q: Any, axis: Any, method: str, keepdims: Any) -> Any:
    a = arrayed(a)
    if a.dtype.kind not in "fiu" or q.ndim > 1 or a.dtype == np.float16 or (a.dtype == np.float32 and q.ndim):
        raise NotLowerable("quantiles of an unsupported dtype or number of dimensions")
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    flat, axes = _gathered(a, axis)
    n = flat.shape[-1]
    spots = _positions(q, n, method) if n else None
    if spots is None:
        raise NotLowerable(f"quantiles of an empty array, or with method={method!r}")
    ordered = np.sort(flat, axis=-1)
    last = at(ordered, ordered.ndim - 1, -1)
    found = [_quantile(ordered, spot, method, a.dtype) for spot in np.ravel(spots)]
    if a.dtype.kind == "f":
        found = [np.where(np.isnan(last), last, f) for f in found]
    result = np.stack(found) if q.ndim else _alike(found[0])
    return _kept(result, a, axes, keepdims, q.ndim)


def _quantile(ordered: Any, spot: Any, method: str, dtype: Any) -> Any:
    axis = ordered.ndim - 1
    n = ordered.shape[axis]
    low = int(np.floor(spot))
    if method != "linear":
        return at(ordered, axis, low)
    low, high = (n - 1, n - 1) if spot >= n - 1 else (low, low + 1)
    t = float(spot - np.floor(spot)) if spot < n - 1 else float(spot) - (n - 1)
    a, b = at(ordered, axis, low), at(ordered, axis, high)
    # interpolate from the nearer end, as NumPy does
    found = b - (b - a) * (1 - t) if t >= 0.5 else a + (b - a) * t
    return found if found.dtype.kind == "f" and dtype.kind == "f" else found.astype(np.float64)


# ------------------------------------------------------------------------------------------------- averages


@model(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    first = standing(a, weights)
    a = arrayed(a, first)
    if axis is not None:
        axes_of(axis, a.ndim)
    if weights is None:
        found = np.mean(a, axis=axis, keepdims=keepdims)
        scale = found.dtype.type(a.size / max(found.size, 1)) if found.size else None
    else:
        weights = arrayed(weights, first)
        if weights.shape != a.shape:
            if axis is None or isinstance(axis, tuple) or weights.ndim != 1 or weights.shape[0] != a.shape[axis]:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            weights = np.reshape(weights, tuple(-1 if k == axis_of(axis, a.ndim) else 1 for k in range(a.ndim)))
            weights = np.broadcast_to(weights, a.shape)
        dtype = np.result_type(a.dtype, weights.dtype, *(["f8"] if a.dtype.kind in "iub" else []))
        scale = np.sum(weights, axis=axis, dtype=dtype, keepdims=keepdims)
        (scale == 0.0).refuse()
        found = np.sum(a.astype(dtype) * weights.astype(dtype), axis=axis, keepdims=keepdims) / scale
    if not returned:
        return found
    if scale is None:
        raise NotLowerable("np.average of an empty array")
    return found, np.copy(np.broadcast_to(scale, found.shape)) if found.shape else scale + found.dtype.type(0)


@model(np.cov)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *, dtype: Any = None) -> Any:
    first = standing(m, y)
    parts = [arrayed(p, first) for p in (m, y) if p is not None]
    found = np.dtype(dtype) if dtype is not None else np.result_type(*(p.dtype for p in parts), np.float64)
    if any(p.ndim > 2 for p in parts):
        raise ValueError("m has more than 2 dimensions")
    rows = [np.atleast_2d(p.astype(found)) for p in parts]
    turned = [r.T if not rowvar and (p.ndim != 1 if k == 0 else r.shape[0] != 1) else r for k, (r, p) in enumerate(zip(rows, parts, strict=True))]
    x = np.concatenate(turned, axis=0) if len(turned) > 1 else turned[0]
    ddof = (0 if bias else 1) if ddof is None else ddof
    count = x.shape[1] - ddof
    if x.shape[0] == 0 or count <= 0:
        raise NotLowerable("np.cov of too few observations")
    x = x - np.mean(x, axis=1, keepdims=True)
    c = np.dot(x, np.conj(x.T)) * np.true_divide(1, count)
    return c if c.shape[0] > 1 else np.reshape(c, ())


@model(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.shape:
        return (c / c)[()] if is_array(c / c) else c / c
    if c.dtype.kind == "c":
        raise NotLowerable("np.corrcoef of complex numbers")
    deviation = np.sqrt(np.diag(c))
    return np.clip(c / np.expand_dims(deviation, 1) / np.expand_dims(deviation, 0), -1, 1)


# ------------------------------------------------------------------------------------------------- ignoring NaNs


def _without(a: Any, value: Any) -> tuple[Any, Any]:
    """Return the array with value in place of every NaN, and the mask of the NaNs (None: its dtype has none)."""
    a = a if is_numpy(a) else arrayed(a)
    if a.dtype.kind not in "fc":
        return a, None
    holes = np.isnan(a)
    return np.where(holes, np.asarray(value, a.dtype), a), holes


@model(np.nansum)
def nansum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    return np.sum(_without(a, 0)[0], axis=axis, dtype=dtype, keepdims=keepdims)


@model(np.nanprod)
def nanprod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    return np.prod(_without(a, 1)[0], axis=axis, dtype=dtype, keepdims=keepdims)


@model(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumsum(_without(a, 0)[0], axis=axis, dtype=dtype)


@model(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumprod(_without(a, 1)[0], axis=axis, dtype=dtype)


@model(np.nanmax)
def nanmax(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return _nan_extreme(a, axis, keepdims, np.max, -np.inf)


@model(np.nanmin)
def nanmin(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return _nan_extreme(a, axis, keepdims, np.min, np.inf)


def _nan_extreme(a: Any, axis: Any, keepdims: Any, extreme: Any, worst: Any) -> Any:
    filled, holes = _without(a, worst)
    found = extreme(filled, axis=axis, keepdims=keepdims)
    if holes is None:
        return found
    return _alike(np.where(np.all(holes, axis=axis, keepdims=keepdims), np.asarray(np.nan, found.dtype), found))


@model(np.nanargmax)
def nanargmax(a: Any, axis: Any = None) -> Any:
    return _nan_arg(a, axis, np.argmax, -np.inf)


@model(np.nanargmin)
def nanargmin(a: Any, axis: Any = None) -> Any:
    return _nan_arg(a, axis, np.argmin, np.inf)


def _nan_arg(a: Any, axis: Any, arg: Any, worst: Any) -> Any:
    filled, holes = _without(a, worst)
    if holes is not None:
        np.all(holes, axis=axis).refuse()
    return arg(filled, axis=axis)


def _nan_mean(a: Any, axis: Any, keepdims: Any) -> tuple[Any, Any, Any]:
    filled, holes = _without(a, 0)
    if holes is None or a.dtype.kind != "f" or a.dtype == np.float16:
        raise NotLowerable("a mean without NaNs of numbers other than float32 and float64")
    count = np.sum(~holes, axis=axis, dtype=np.intp, keepdims=keepdims)
    return filled, holes, count


def _divided(total: Any, count: Any) -> Any:
    found = total / count
    return found.astype(total.dtype) if is_numpy(found) and found.dtype != total.dtype else found


@model(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    a = a if is_numpy(a) else arrayed(a)
    if a.dtype.kind != "f":
        return np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims)
    filled, _, count = _nan_mean(a, axis, keepdims)
    return _divided(np.sum(filled, axis=axis, dtype=dtype, keepdims=keepdims), count)


@model(np.nanvar)
def nanvar(a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: Any = False) -> Any:
    if not is_array(a) or a.dtype.kind != "f":
        return np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
    if dtype is not None:
        raise NotLowerable("np.nanvar with a dtype")
    filled, holes, count = _nan_mean(a, axis, True)
    mean = _divided(np.sum(filled, axis=axis, keepdims=True), count)
    off = np.where(holes, np.zeros((), a.dtype), filled - mean)
    total = np.sum(off * off, axis=axis, keepdims=keepdims)
    rest = np.sum(~holes, axis=axis, dtype=np.intp, keepdims=keepdims) - ddof
    found = _divided(total, rest)
    return _alike(np.where(rest <= 0, np.asarray(np.nan, found.dtype), found))


@model(np.nanstd)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: Any = False) -> Any:
    return np.sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


@model(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = arrayed(a)
    if a.dtype.kind != "f":
        return median(a, axis, keepdims=keepdims)
    flat, axes = _gathered(a, axis)
    if not flat.shape[-1]:
        raise NotLowerable("np.nanmedian of an empty array")
    ordered = np.sort(flat, axis=-1)
    count = np.sum(~np.isnan(flat), axis=-1, keepdims=True)
    low, high = (count - 1) // 2, count // 2
    low = np.maximum(low, 0)
    high = np.minimum(high, flat.shape[-1] - 1)
    pair = np.concatenate((np.take_along_axis(ordered, low, axis=-1), np.take_along_axis(ordered, high, axis=-1)), axis=-1)
    found = np.where(np.squeeze(count, -1) % 2 == 1, at(pair, pair.ndim - 1, 0), np.mean(pair, axis=-1))
    found = np.where(np.squeeze(count, -1) == 0, np.asarray(np.nan, a.dtype), found)
    return _kept(_alike(found), a, axes, keepdims)
