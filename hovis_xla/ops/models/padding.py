"""Models of ``np.pad``: constants, ramps, statistics or repeated content at the borders."""

from typing import Any

from hovis_xla.emit.values import NotLowerable
from hovis_xla.ops.standin import StandIn, cut, model, np


def _widths(width: Any, rank: int) -> list[tuple[int, int]]:
    found = np.broadcast_to(np.asarray(width), (rank, 2))
    if found.dtype.kind not in "iu" or (found < 0).any():
        raise ValueError("index can't contain negative values")
    return [(int(a), int(b)) for a, b in found]


def _pairs(values: Any, rank: int) -> list[tuple[Any, Any]]:
    """Return a pair of values for each axis, given one number, a pair, or a pair per axis; the values may be known at run time only."""
    if isinstance(values, StandIn):
        if values.shape:
            raise NotLowerable("an array of constants to pad with")
        return [(values, values)] * rank
    if not isinstance(values, tuple | list):
        return [(values, values)] * rank
    rows = [r if isinstance(r, tuple | list) else None for r in values]
    if all(r is None for r in rows):
        pair = (values[0], values[-1])
        return [pair] * rank
    pairs = [(r[0], r[-1]) for r in values]
    return pairs * rank if len(pairs) == 1 else pairs


@model(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    widths = _widths(pad_width, array.ndim)
    told = {k: 0 if k.endswith("_values") else v for k, v in options.items()}
    np.pad(np.zeros([min(n, 1) for n in array.shape]), widths, mode, **told)  # raises what NumPy raises for these arguments
    if mode in ("edge", "reflect", "symmetric", "wrap", "empty"):
        if mode == "empty":
            mode = "constant"
        elif options.get("reflect_type", "even") != "even" or not set(options) <= {"reflect_type"}:
            raise NotLowerable("np.pad with reflect_type='odd'")
        else:
            for axis, width in enumerate(widths):
                if width != (0, 0):
                    places = np.pad(np.arange(array.shape[axis]), width, mode=mode)
                    array = np.take(array, places, axis=axis)
            return np.copy(array)
    if mode == "constant":
        for axis, (before, after), values in zip(range(array.ndim), widths, _pairs(options.get("constant_values", 0), array.ndim), strict=True):
            array = _bordered(array, axis, (before, after), [_constant_border(array, axis, v) for v in values])
        return np.copy(array)
    if mode == "linear_ramp" and array.dtype.kind == "f":
        for axis, width, ends in zip(range(array.ndim), widths, _pairs(options.get("end_values", 0), array.ndim), strict=True):
            array = _ramped(array, axis, width, ends)
        return np.copy(array)
    if mode in ("mean", "maximum", "minimum") and array.dtype.kind == "f" and options.get("stat_length") is None:
        reduce = {"mean": np.mean, "maximum": np.max, "minimum": np.min}[mode]
        for axis, width in enumerate(widths):
            if width != (0, 0):
                found = reduce(array, axis=axis, keepdims=True)
                array = _bordered(array, axis, width, [found, found])
        return np.copy(array)
    raise NotLowerable(f"np.pad with mode={mode!r}")


def _constant_border(array: Any, axis: int, value: Any) -> Any:
    shape = tuple(1 if k == axis else d for k, d in enumerate(array.shape))
    return array.call(np.full, shape, _stored(array, value), array.dtype)


def _stored(array: Any, value: Any) -> Any:
    """Return a value as it is when assigned to an element of array; raise if it does not fit."""
    if isinstance(value, StandIn):
        if array.dtype.kind in "iub" and value.dtype != array.dtype:
            raise NotLowerable("np.pad with a number that may not fit the array")
        return value
    cell = np.empty(1, array.dtype)
    cell[0] = value
    return cell[0]


def _bordered(array: Any, axis: int, width: tuple[int, int], borders: list[Any]) -> Any:
    parts = [np.repeat(borders[0], width[0], axis=axis), array, np.repeat(borders[1], width[1], axis=axis)]
    return np.concatenate([p for p in parts if p is array or p.shape[axis]], axis=axis) if any(width) else array


def _ramped(array: Any, axis: int, width: tuple[int, int], ends: tuple[Any, Any]) -> Any:
    parts = [array]
    shape = [1] * array.ndim
    for side, count in enumerate(width):
        if count:
            edge = cut(array, axis, 0, 1) if side == 0 else cut(array, axis, array.shape[axis] - 1, None)
            steps = np.arange(count, dtype=array.dtype)
            shape[axis] = count
            ramp = np.reshape(steps, shape) * ((edge - ends[side]) / count) + ends[side]
            parts = [ramp, *parts] if side == 0 else [*parts, np.flip(ramp, axis)]
    return np.concatenate(parts, axis=axis) if len(parts) > 1 else array
