"""Models of NumPy's functions that search among sorted elements: ``searchsorted``, ``digitize``, ``isin``; and ``lexsort``."""

from typing import Any

from hovis_xla.emit.values import NotLowerable
from hovis_xla.ops.standin import StandIn, arrayed, axis_of, is_array, model, np, standing, zeros


def _before(a: Any, b: Any, equal: bool) -> Any:
    """Does a come before b in NumPy's sort order (NaNs last)? With equal, also if they are equal."""
    found = a <= b if equal else a < b
    if a.dtype.kind == "f":
        found = found | (np.isnan(b) if equal else (np.isnan(b) & ~np.isnan(a)))
    return found


def _searched(a: Any, v: Any, right: bool) -> Any:
    """Return the number of elements of the sorted array a that come before each element of v, by a binary search for all of v at once."""
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
    v = v.astype(v.dtype) if is_array(v) else arrayed(v, first)
    if a.ndim != 1 or side not in ("left", "right"):
        raise ValueError("object of too small depth for desired array")
    if sorter is not None:
        a = np.take(a, arrayed(sorter, first))
    if a.dtype.kind == "b" or len(a) > 16:
        # binary search needs sorted elements: for unsorted ones, NumPy's result depends on its own implementation
        if len(a) > 1:
            (~np.all(_before(a[:-1], a[1:], True))).refuse()
    found = _searched(a, v, side == "right")
    return found[()] if scalar and is_array(found) else found


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
        # bins that are all equal count as increasing
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
            raise NotLowerable("np.lexsort of keys that are not one-dimensional")
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
