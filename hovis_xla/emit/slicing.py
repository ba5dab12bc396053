"""Slices, concatenations, pads, gathers and scatters of tensors.

A read from an array that has been stored into, if all indices are known, gives either the earlier content or a stored value, and is
replaced by that.  The gradient of ``c[0] + c[1] + …`` adds to one element after the other: XLA would do these stores one by one, each with
a copy and a kernel of its own.  Here a store concatenates the array from its parts, and later reads find these parts.
"""

from collections.abc import Sequence
from typing import Any, Final

from hovis_xla.emit.builder import T, broadcast, constant, fill_region, op, reshape, shape_of, unsigned, zeros
from hovis_xla.emit.fp_barriers import name_of, numbers
from hovis_xla.jaxlib.adapter import stablehlo as hlo

#: Maximal number of stores and concatenations through which a read is traced back.
FAR: Final = 64

Bounds = Sequence[int]


# ------------------------------------------------------------------------------------------------- stored parts


def before(value: Any, starts: Bounds, stops: Bounds) -> tuple[Any, Bounds, Bounds]:
    """Trace a part of an array back, past stores and concatenations, to the value that it comes from; return that value and the bounds in it."""
    for _ in range(FAR):
        found = _before(value, starts, stops)
        if found is None:
            break
        value, starts, stops = found
    return value, starts, stops


def _before(value: Any, starts: Bounds, stops: Bounds) -> tuple[Any, Bounds, Bounds] | None:
    name = name_of(value)
    if name == "dynamic_update_slice":
        array, update, *places = value.owner.operands
        known = numbers(places)
        if known is None:
            return None
        size = shape_of(update)
        at = [max(0, min(int(k), d - n)) for k, d, n in zip(known, shape_of(array), size, strict=True)]
        if any(b <= k or k + n <= a for a, b, k, n in zip(starts, stops, at, size, strict=True)):
            return array, starts, stops
        return _within(update, at, starts, stops)
    if name == "concatenate":
        axis, start = axis_of(value), 0
        for part in value.owner.operands:
            stop = start + shape_of(part)[axis]
            if start <= starts[axis] and stops[axis] <= stop:
                return _within(part, [start if k == axis else 0 for k in range(len(starts))], starts, stops)
            start = stop
    return None


def _within(part: Any, at: Bounds, starts: Bounds, stops: Bounds) -> tuple[Any, Bounds, Bounds] | None:
    """Return ``part``, which stands at ``at``, with the bounds relative to it, or None if it does not contain them."""
    if not all(k <= a and b <= k + n for a, b, k, n in zip(starts, stops, at, shape_of(part), strict=True)):
        return None
    return part, [a - k for a, k in zip(starts, at, strict=True)], [b - k for b, k in zip(stops, at, strict=True)]


def axis_of(value: Any) -> int:
    """Return the axis of a concatenation."""
    return int(value.owner.attributes["dimension"])


def pieces(value: Any, axis: int, start: int, stop: int) -> list[tuple[Any, int, int]]:
    """Return the parts of an array between two positions of an axis: for each, the array it comes from, and its start and stop there."""
    if start >= stop:
        return []
    if name_of(value) != "concatenate" or axis_of(value) != axis:
        return [(value, start, stop)]
    found, at = [], 0
    for part in value.owner.operands:
        size = shape_of(part)[axis]
        found += pieces(part, axis, max(start - at, 0), min(stop - at, size))
        at += size
    return found


def filling(value: Any) -> Any:
    """Return the scalar that an array is a broadcast of, or None."""
    if name_of(value) == "broadcast_in_dim" and not shape_of(value.owner.operands[0]):
        return value.owner.operands[0]
    return None


# ------------------------------------------------------------------------------------------------- slices


def static_slice(a: T, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> T:
    shape = tuple(max(0, -(-(p - b) // s)) for b, p, s in zip(starts, stops, steps, strict=True))
    if a.size and shape != a.shape:
        found, starts, stops = before(a.ir, starts, stops)
        number = filling(found)
        if number is not None:
            return broadcast(T(number, a.dtype, ()), shape)
        a = T(found, a.dtype, shape_of(found))
    return a if shape == a.shape else T(hlo.slice(a.ir, list(starts), list(stops), list(steps)), a.dtype, shape)


def reverse(a: T, axes: Sequence[int]) -> T:
    return T(hlo.reverse(a.ir, list(axes)), a.dtype, a.shape) if axes else a


def concatenate(parts: Sequence[T], axis: int) -> T:
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    return T(hlo.concatenate([p.ir for p in parts], axis), parts[0].dtype, tuple(shape))


def pad(a: T, value: Any, low: Sequence[int], high: Sequence[int]) -> T:
    shape = tuple(d + x + y for d, x, y in zip(a.shape, low, high, strict=True))
    return T(hlo.pad(a.ir, constant(value, a.dtype).ir, list(low), list(high), [0] * len(low)), a.dtype, shape)


def spread(a: T, gaps: Sequence[int]) -> T:
    """Insert zeros between the elements along each axis; ``gaps`` says how many."""
    shape = tuple(d + max(d - 1, 0) * n for d, n in zip(a.shape, gaps, strict=True))
    none = [0] * len(shape)
    return T(hlo.pad(a.ir, constant(0, a.dtype).ir, none, none, list(gaps)), a.dtype, shape)


def dynamic_slice(a: T, starts: Sequence[T], sizes: Sequence[int]) -> T:
    """Emit a dynamic slice. XLA clamps the starts, so the caller must handle those out of range."""
    if any(size > dim for size, dim in zip(sizes, a.shape, strict=True)):
        return zeros(a.dtype, tuple(sizes))  # a slice of too small an array: no start is in range
    return T(hlo.dynamic_slice(a.ir, _starts(starts, sizes), list(sizes)), a.dtype, tuple(sizes))


def dynamic_update_slice(a: T, update: T, starts: Sequence[T]) -> T:
    if any(size > dim for size, dim in zip(update.shape, a.shape, strict=True)):
        return a
    return T(hlo.dynamic_update_slice(a.ir, update.ir, _starts(starts, update.shape)), a.dtype, a.shape)


def _starts(starts: Sequence[T], sizes: Sequence[int]) -> list[Any]:
    """Return the starts as MLIR values. For a single element they are converted to unsigned integers, because no start is negative then and XLA
    needs to clamp at one end only.
    """
    return [unsigned(s).ir if set(sizes) == {1} else s.ir for s in starts]


def put_together(a: T, update: T, starts: Sequence[int]) -> T:
    """Store ``update`` at known starts by concatenating the parts of ``a`` that stay with the update."""
    axis = next((k for k, (n, d) in enumerate(zip(update.shape, a.shape, strict=True)) if n != d), None)
    if axis is None:
        return update
    start, stop = starts[axis], starts[axis] + update.shape[axis]
    row = along(a, axis, start, stop)
    made = put_together(row, update, [0 if k == axis else s for k, s in enumerate(starts)])
    ends = [[along(T(v, a.dtype, shape_of(v)), axis, b, e) for v, b, e in pieces(a.ir, axis, *span)] for span in ((0, start), (stop, a.shape[axis]))]
    return concatenate([*ends[0], made, *ends[1]], axis)


def take(a: T, indices: T, axis: int) -> T:
    """Emit ``np.take`` along one axis; the indices must be in range."""
    return _gathered(a, [axis], indices, indices.shape, axis)


def gather(a: T, axes: Sequence[int], indices: Sequence[T]) -> T:
    """Gather elements at indices along some axes, all of one shape and in range; the axes of the indices come first in the result."""
    return _gathered(a, axes, _stacked(indices), indices[0].shape, 0)


def _gathered(a: T, axes: Sequence[int], indices: T, shape: tuple[int, ...], at: int) -> T:
    """Gather at vectors of indices; ``shape`` is that of the array of vectors, whose axes come at position ``at`` of the result."""
    rest = tuple(d for k, d in enumerate(a.shape) if k not in axes)
    found = rest[:at] + shape + rest[at:]
    if any(not a.shape[k] for k in axes):
        return zeros(a.dtype, found)  # an axis is empty: no index is in range
    numbers = hlo.GatherDimensionNumbers.get(
        offset_dims=[k if k < at else k + len(shape) for k in range(len(rest))], collapsed_slice_dims=sorted(axes), operand_batching_dims=[],
        start_indices_batching_dims=[], start_index_map=list(axes), index_vector_dim=len(shape),
    )  # fmt: skip
    return T(hlo.gather(a.ir, indices.ir, numbers, [1 if k in axes else d for k, d in enumerate(a.shape)]), a.dtype, found)


def _stacked(indices: Sequence[T]) -> T:
    """Return arrays of indices as one array of vectors."""
    shape = indices[0].shape
    return concatenate([reshape(i, (*shape, 1)) for i in indices], len(shape))


def scatter(a: T, indices: Sequence[T], updates: T, combine: str | None = None, axes: Sequence[int] | None = None) -> T:
    """Emit ``a[i, j, …] = updates`` with one index vector for each of ``axes`` (None: the first ones); of equal indices the last one wins.

    Updates out of range are ignored.  combine: the name of an operation that combines the old element with the update, which otherwise
    replaces it.
    """
    axes = list(range(len(indices))) if axes is None else axes
    numbers = hlo.ScatterDimensionNumbers.get(
        update_window_dims=list(range(1, len(updates.shape))), inserted_window_dims=sorted(axes), input_batching_dims=[],
        scatter_indices_batching_dims=[], scattered_dims_to_operand_dims=list(axes), index_vector_dim=1,
    )  # fmt: skip
    made = hlo.ScatterOp([a.ir.type], [a.ir], _stacked(indices).ir, [updates.ir], numbers)
    fill_region(made.regions[0], [(a.dtype, ())] * 2, lambda old, new: [new if combine is None else op(combine, old, new)])
    return T(made.results[0], a.dtype, a.shape)


def along(a: T, axis: int, start: int, stop: int) -> T:
    """Slice one axis, from start to stop."""
    rank = range(len(a.shape))
    return static_slice(a, [start if k == axis else 0 for k in rank], [stop if k == axis else a.shape[k] for k in rank], [1] * len(a.shape))
