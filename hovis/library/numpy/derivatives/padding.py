"""The derivative of ``np.pad``, which joins blocks before and behind the array along one axis after the other."""

from typing import Any

import numpy as np

from hovis.errors import Declined
from hovis.library.tables.derivatives import defined

_STATISTICS: dict[str, Any] = {"mean": np.mean, "median": np.median, "maximum": np.max, "minimum": np.min}


def _pairs(given: Any, ndim: int) -> list[Any]:
    """Return the (before, behind) pair of a padding option for each axis."""
    if isinstance(given, dict):
        widths = [given.get(k, given.get(k - ndim, 0)) for k in range(ndim)]
        return [w if isinstance(w, tuple) else (w, w) for w in widths]
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, tuple | list):
        return [(given, given)] * ndim
    items = list(given)
    if not isinstance(items[0], tuple | list | np.ndarray):
        return [(items[0], items[-1])] * ndim
    pairs = [(item[0], item[-1]) for item in items]
    return pairs * ndim if len(pairs) == 1 else pairs


def _part(a: Any, axis: int, start: int, stop: int) -> Any:
    return a[(slice(None),) * axis + (slice(start, stop),)]


def _repeated(row: Any, axis: int, width: int) -> Any:
    """Broadcast row, of length one along the axis, to the given width."""
    return np.broadcast_to(row, row.shape[:axis] + (width,) + row.shape[axis + 1 :])


def _constants(a: Any, axis: int, width: int, value: Any) -> Any:
    return np.full(a.shape[:axis] + (width,) + a.shape[axis + 1 :], value)


def _picked(a: Any, axis: int, widths: Any, mode: str) -> Any:
    """Pad along an axis in a mode where every element of the result is an element of a."""
    pad: Any = np.pad
    return np.take(a, pad(np.arange(a.shape[axis]), widths, mode), axis=axis)


def _odd(a: Any, axis: int, widths: Any, mode: str) -> Any:
    """Pad by odd reflection: each new element is a linear combination of elements, whose weights are found by padding unit vectors."""
    pad: Any = np.pad
    weights = pad(np.eye(a.shape[axis]), (widths, (0, 0)), mode, reflect_type="odd")
    return np.moveaxis(np.tensordot(weights, a, axes=([1], [axis])), 0, axis)


def _ramp(edge: Any, axis: int, width: int, end: Any, rises: bool) -> Any:
    """Build a linear ramp from the end value up to the edge, or from the edge to the end value."""
    steps = np.arange(width) / max(width, 1)
    shape = [1] * edge.ndim
    shape[axis] = width
    return end + (edge - end) * np.reshape(steps if rises else np.flip(steps, 0), shape)


def padded(
    array: Any, pad_width: Any, mode: Any = None, constant_values: Any = None, end_values: Any = None, stat_length: Any = None, reflect_type: Any = None
) -> Any:
    """``np.pad`` in every mode except a callable."""
    if not (mode is None or isinstance(mode, str)):
        raise Declined("the derivative of np.pad is only known for the modes that have names")
    widths = _pairs(pad_width, array.ndim)
    for axis in range(array.ndim):
        low, high = widths[axis]
        n = array.shape[axis]
        if low == 0 and high == 0:
            continue
        if mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and reflect_type != "odd"):
            array = _picked(array, axis, (low, high), mode)
            continue
        if mode in ("reflect", "symmetric"):
            array = _odd(array, axis, (low, high), mode)
            continue
        if mode == "linear_ramp":
            ends = _pairs(0.0 if end_values is None else end_values, array.ndim)[axis]
            before = _ramp(_part(array, axis, 0, 1), axis, low, ends[0], True)
            behind = _ramp(_part(array, axis, n - 1, n), axis, high, ends[1], False)
        elif mode in _STATISTICS:
            first, last = _pairs(stat_length, array.ndim)[axis]
            statistic = _STATISTICS[mode]
            before = _repeated(statistic(_part(array, axis, 0, n if first is None else min(first, n)), axis=axis, keepdims=True), axis, low)
            behind = _repeated(statistic(_part(array, axis, 0 if last is None else n - min(last, n), n), axis=axis, keepdims=True), axis, high)
        else:
            values = _pairs(0.0 if constant_values is None else constant_values, array.ndim)[axis]
            before, behind = _constants(array, axis, low, values[0]), _constants(array, axis, high, values[1])
        array = np.concatenate((before, array, behind), axis=axis)
    return array


defined(np.pad, padded, parameters="array pad_width mode constant_values end_values stat_length reflect_type")
