"""Models of NumPy's functions that count: ``bincount``, histograms and the edges of their bins."""

import operator
from typing import Any

from hovis_xla.emit import builder, slicing
from hovis_xla.emit.values import NotLowerable, ShapeUnknown
from hovis_xla.ops.standin import StandIn, arrayed, model, np, standing, wrap, zeros


def counted(places: Any, size: int, weights: Any = None) -> Any:
    """Return how often each of ``size`` positions occurs, or the sum of its weights; positions out of range are ignored."""
    start = zeros(places, size, np.int64 if weights is None else weights.dtype)
    amounts = np.ones_like(places, dtype=np.int64) if weights is None else weights
    flat_places, flat_amounts = (builder.reshape(x.tensor, (x.tensor.size,)) for x in (places, amounts))
    return wrap(places.low, slicing.scatter(start.tensor, [flat_places], flat_amounts, "add"))


@model(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Count into a result of length minlength. A number that is larger would make the result longer: bail out to Python."""
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
            raise NotLowerable("np.bincount of an empty array with weights: NumPy returns ints")
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
            raise NotLowerable("np.histogram with weights of another shape or of an unsupported dtype")
    if isinstance(bins, str) or a.dtype.kind not in "fiu":
        raise NotLowerable("np.histogram with an automatic number of bins or of an unsupported dtype")
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
        raise NotLowerable("np.histogram with both weights and explicit bin edges")
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
        raise NotLowerable("np.histogram_bin_edges with weights or an automatic number of bins")
    return np.copy(_edges(np.ravel(arrayed(a, first)), bins, range, first)[0])


def _edges(a: Any, bins: Any, limits: Any, first: Any) -> tuple[Any, Any]:
    """Return the edges of the bins, and for bins of equal width also the limits (otherwise None)."""
    if isinstance(bins, StandIn) and not bins.shape:
        raise ShapeUnknown("a number of bins that is not known")
    if isinstance(bins, StandIn) or np.ndim(bins) == 1:
        edges = arrayed(bins, first)
        if edges.ndim != 1 or len(edges) < 2:
            raise NotLowerable("bin edges that are not a one-dimensional array of at least two")
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
    """Return the bin of each element, computed from its position between the limits and then corrected by the edges, and the mask of the
    elements within the limits.
    """
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
