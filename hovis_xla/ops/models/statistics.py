"""Models of NumPy's functions that count, order and average: medians, quantiles, histograms, what leaves nans out."""

import operator
from typing import Any

from hovis_xla.emit import slicing
from hovis_xla.emit.values import NotLowerable, ShapeUnknown
from hovis_xla.ops.standin import StandIn, arrayed, at, axes_of, axis_of, cut, is_array, is_numpy, model, np, standing, wrap, zeros

# ------------------------------------------------------------------------------------------------- medians, quantiles


def _gathered(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The array with the axes of a reduction as its last one; which these are."""
    axes = axes_of(axis, a.ndim)
    rest = [k for k in range(a.ndim) if k not in axes]
    moved = np.transpose(a, (*rest, *axes))
    return np.reshape(moved, (*(a.shape[k] for k in rest), int(np.prod([a.shape[k] for k in axes], dtype=int)))), axes


def _kept(found: Any, a: Any, axes: tuple[int, ...], keepdims: Any, before: int = 0) -> Any:
    """The result with dimensions of one for the axes that are gone; ``before`` dimensions stand in front."""
    if keepdims is not True:
        return found
    shape = tuple(1 if k in axes else d for k, d in enumerate(a.shape))
    return np.reshape(arrayed(found), found.shape[:before] + shape)


def _middle(flat: Any) -> Any:
    """The median along the last axis of a sorted array."""
    size = flat.shape[-1]
    half = size // 2
    return np.mean(cut(flat, flat.ndim - 1, half, half + 1) if size % 2 else cut(flat, flat.ndim - 1, half - 1, half + 1), axis=-1)


@model(np.median)
def median(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = a if is_numpy(a) else arrayed(a)
    flat, axes = _gathered(arrayed(a), axis)
    if not flat.shape[-1] or a.dtype.kind not in "biuf":
        raise NotLowerable("np.median of nothing, or of complex numbers")
    ordered = np.sort(flat, axis=-1)
    found = _middle(ordered)
    if a.dtype.kind == "f":
        last = at(ordered, ordered.ndim - 1, -1)
        found = _alike(np.where(np.isnan(last), last, found))
    return _kept(found, a, axes, keepdims)


def _alike(x: Any) -> Any:
    """``np.where`` gives an array even of numbers: the scalar that NumPy's function gives there."""
    return x[()] if is_array(x) and not x.shape else x


#: Of each method of quantiles with known positions: the alphas and betas of the formula, or how positions are rounded.
_CONTINUOUS = {"linear": (1, 1), "weibull": (0, 0), "hazen": (0.5, 0.5), "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8)}


def _positions(q: Any, n: int, method: str) -> Any:
    """Where in n ordered elements a quantile is, in floating point; q is known."""
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
        raise NotLowerable("quantiles of other numbers than floats and integers")
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    flat, axes = _gathered(a, axis)
    n = flat.shape[-1]
    spots = _positions(q, n, method) if n else None
    if spots is None:
        raise NotLowerable(f"quantiles of nothing, or with method={method!r}")
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
    # as NumPy interpolates, from the nearer end
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
        raise NotLowerable("np.average of nothing")
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
        raise NotLowerable("np.cov of too little")
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


# ------------------------------------------------------------------------------------------------- leaving nans out


def _without(a: Any, value: Any) -> tuple[Any, Any]:
    """The array with value for every nan; where these were (None: it has none by its dtype)."""
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
        raise NotLowerable("a mean without nans of other numbers than floats")
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
        raise NotLowerable("np.nanmedian of nothing")
    ordered = np.sort(flat, axis=-1)
    count = np.sum(~np.isnan(flat), axis=-1, keepdims=True)
    low, high = (count - 1) // 2, count // 2
    low = np.maximum(low, 0)
    high = np.minimum(high, flat.shape[-1] - 1)
    pair = np.concatenate((np.take_along_axis(ordered, low, axis=-1), np.take_along_axis(ordered, high, axis=-1)), axis=-1)
    found = np.where(np.squeeze(count, -1) % 2 == 1, at(pair, pair.ndim - 1, 0), np.mean(pair, axis=-1))
    found = np.where(np.squeeze(count, -1) == 0, np.asarray(np.nan, a.dtype), found)
    return _kept(_alike(found), a, axes, keepdims)


# ------------------------------------------------------------------------------------------------- searching


def _before(a: Any, b: Any, equal: bool) -> Any:
    """Does a stand before b in NumPy's order (nans last)?"""
    found = a <= b if equal else a < b
    if a.dtype.kind == "f":
        found = found | (np.isnan(b) if equal else (np.isnan(b) & ~np.isnan(a)))
    return found


def _searched(a: Any, v: Any, right: bool) -> Any:
    """How many elements of the sorted a stand before each of v: halving, all of v together."""
    dtype = np.result_type(a.dtype, v.dtype)
    if dtype.kind == "c":
        raise NotLowerable("a search among complex numbers")
    a, v = a.astype(dtype), v.astype(dtype)
    found: Any = zeros(a, v.shape, np.int64)
    n = len(a)
    if n == 0:
        return found
    if n <= 16:
        for k in range(n):
            found = found + _before(a[k], v, right).astype(np.int64)
        return found
    step = 1 << (n.bit_length() - 1)
    while step:
        probe = found + step
        inside = probe <= n
        ahead = _before(a[np.minimum(probe, n) - 1], v, right)
        found = np.where(inside & ahead, probe, found)
        step >>= 1
    return found


@model(np.searchsorted, np.ndarray.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    first = standing(a, v, sorter)
    a = arrayed(a, first)
    scalar = not is_array(v) and not isinstance(v, list | tuple | np.ndarray)
    v = v.astype(v.dtype) if is_array(v) else _weakly_arrayed(a, v, first)
    if a.ndim != 1 or side not in ("left", "right"):
        raise ValueError("object of too small depth for desired array")
    if sorter is not None:
        a = np.take(a, arrayed(sorter, first))
    if a.dtype.kind == "b" or len(a) > 16:
        # halving is only as good as the order of the elements: where they are not sorted NumPy finds its own place
        if len(a) > 1:
            (~np.all(_before(a[:-1], a[1:], True))).refuse()
    found = _searched(a, v, side == "right")
    return found[()] if scalar and is_array(found) else found


def _weakly_arrayed(a: Any, v: Any, first: Any) -> Any:
    """A number of Python's: as an array, as ``np.asarray`` makes one."""
    return arrayed(v, first)


@model(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    first = standing(x, bins)
    bins = arrayed(bins, first)
    scalar = not is_array(x)
    x = arrayed(x, first)
    if bins.ndim != 1 or x.dtype.kind == "c" or not len(bins):
        raise ValueError("bins must be 1-d")
    rising, falling = (np.all(fn(bins[:-1], bins[1:])) if len(bins) > 1 else None for fn in (np.less_equal, np.greater_equal))
    up = _searched(bins, x, not right)
    if rising is None:
        found = up
    else:
        (~(rising | falling)).refuse()
        down = len(bins) - _searched(np.flip(bins), x, not right)
        # bins that are all the same rise
        found = np.where(rising, up, down)
    return found[()] if scalar and is_array(found) else found


@model(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    first = standing(element, test_elements)
    element, tests = arrayed(element, first), np.ravel(arrayed(test_elements, first))
    if kind is not None or element.dtype.kind == "c" or tests.dtype.kind == "c":
        raise NotLowerable("np.isin of complex numbers, or with a kind")
    if len(tests) == 0 or element.size == 0:
        return element.call(np.full, element.shape, bool(invert))
    dtype = np.result_type(element.dtype, tests.dtype)
    if len(tests) <= 16:
        found: Any = None
        for k in range(len(tests)):
            same = element == tests[k]
            found = same if found is None else found | same
    else:
        ordered = np.sort(tests.astype(dtype))
        place = np.minimum(_searched(ordered, element.astype(dtype), False), len(tests) - 1)
        found = ordered[place] == element.astype(dtype)
    return ~found if invert else found


@model(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    first = standing(keys)
    arrays = [keys[k] for k in range(len(keys))] if isinstance(keys, StandIn) else [arrayed(k, first) for k in keys]
    order = None
    for key in arrays:
        if key.ndim != 1 or axis_of(axis, 1):
            raise NotLowerable("np.lexsort of matrices")
        if order is None:
            order = np.argsort(key, kind="stable")
        else:
            order = order[np.argsort(key[order], kind="stable")]
    return order


@model(np.sort_complex)
def sort_complex(a: Any) -> Any:
    if a.dtype.kind == "c":
        return np.sort(a)
    return np.sort(a).astype("F" if a.dtype.char in "bhBH" else "D")


# ------------------------------------------------------------------------------------------------- counting


def counted(places: Any, size: int, weights: Any = None) -> Any:
    """How often each of ``size`` places comes, or the sum of the weights there; places out of range count nowhere."""
    start = zeros(places, size, np.int64 if weights is None else weights.dtype)
    amounts = np.ones_like(places, dtype=np.int64) if weights is None else weights
    return wrap(places.low, slicing.scatter_add(start.tensor, places.tensor, amounts.tensor))


@model(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """As long as minlength says; where a number is larger, the result would be longer, and Python does it."""
    first = standing(x, weights)
    x = arrayed(x, first)
    size = operator.index(minlength)
    if x.ndim != 1 or x.dtype.kind not in "iu" or x.dtype == np.uint64 or size < 0:
        raise TypeError("Cannot cast array data to dtype('int64') according to the rule 'safe'")
    if weights is not None:
        weights = arrayed(weights, first)
        if weights.shape != x.shape or weights.dtype.kind == "c":
            raise ValueError("The weights and list don't have the same length.")
        weights = weights.astype(np.float64)
    if len(x) == 0:
        if weights is not None:
            raise NotLowerable("np.bincount of nothing: it gives ints, whatever the weights are")
        return zeros(first, size, np.int64)
    if size == 0:
        raise NotLowerable("np.bincount without a minlength: the shape of the result depends on values")
    x = x.astype(np.int64)
    ((x < 0) | (x >= size)).refuse()
    return counted(x, size, weights)


@model(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    first = standing(a, weights, bins, range)
    a = np.ravel(arrayed(a, first))
    if weights is not None:
        weights = np.ravel(arrayed(weights, first))
        if weights.shape != a.shape or weights.dtype.kind not in "fiub":
            raise NotLowerable("np.histogram with such weights")
    if isinstance(bins, str) or a.dtype.kind not in "fiu":
        raise NotLowerable("np.histogram with an automatic number of bins")
    edges, uniform = _edges(a, bins, range, first)
    size = len(edges) - 1
    if uniform is not None:
        places, keep = _bins_of(a, edges, uniform, size)
    else:
        last = edges[-1]
        places = np.where(a == last, size - 1, np.searchsorted(edges, a, side="right") - 1)
        keep = (a >= edges[0]) & (a <= last)
    places = np.where(keep, places, size)
    if weights is not None and uniform is None:
        raise NotLowerable("np.histogram with weights and edges")
    counts = counted(places, size, None if weights is None else weights.astype(np.float64))
    counts = counts if weights is None else counts.astype(weights.dtype)
    if density:
        widths = np.diff(edges)
        counts = counts / widths.astype(float) / np.sum(counts)
    return counts, edges


@model(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    first = standing(a, bins, range)
    if isinstance(bins, str) or weights is not None:
        raise NotLowerable("np.histogram_bin_edges with an automatic number of bins")
    return np.copy(_edges(np.ravel(arrayed(a, first)), bins, range, first)[0])


def _edges(a: Any, bins: Any, limits: Any, first: Any) -> tuple[Any, Any]:
    """The edges of the bins; for bins of one width also the limits."""
    if isinstance(bins, StandIn) and not bins.shape:
        raise ShapeUnknown("a number of bins that is not known")
    if isinstance(bins, StandIn) or np.ndim(bins) == 1:
        edges = arrayed(bins, first)
        if edges.ndim != 1 or len(edges) < 2:
            raise NotLowerable("edges of no bin")
        np.any(edges[:-1] > edges[1:]).refuse()
        return edges, None
    count = operator.index(bins)
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if limits is not None:
        low, high = limits
        if isinstance(low, StandIn) or isinstance(high, StandIn):
            raise NotLowerable("limits of a histogram that are not known")
        if low > high or not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError("max must be larger than min in range parameter.")
        if low == high:
            low, high = low - 0.5, high + 0.5
    elif a.size == 0:
        low, high = 0, 1
    else:
        low, high = np.min(a), np.max(a)
        (~(np.isfinite(low) & np.isfinite(high)) | (low == high)).refuse()
    dtype = np.result_type(*(v.dtype if isinstance(v, StandIn) else v for v in (low, high)), a.dtype)
    dtype = np.result_type(dtype, float) if dtype.kind in "iu" else dtype
    edges = arrayed(np.linspace(low, high, count + 1, dtype=dtype), first)
    np.any(edges[:-1] >= edges[1:]).refuse()
    return edges, (low, high)


def _bins_of(a: Any, edges: Any, limits: Any, size: int) -> tuple[Any, Any]:
    """The bin of each element, by its place between the limits, and mended by the edges."""
    low, high = limits
    keep = (a >= low) & (a <= high)
    a = a.astype(edges.dtype)
    low, high = (v.astype(edges.dtype) if isinstance(v, StandIn) else v for v in (low, high))
    spots = np.where(keep, (a - low) / (high - low) * size, np.zeros((), edges.dtype))
    places = spots.astype(np.intp)
    places = np.where(places >= size, size - 1, places)
    places = places - (a < edges[places]).astype(np.intp) * keep
    more = (a >= edges[np.clip(places + 1, 0, size)]) & (places != size - 1) & keep
    return places + more.astype(np.intp), keep


