"""Index arrays and masks as indices, with integers, slices and new axes beside them: ``a[rows, 1:3]``, ``a[:, mask]``.

The other items select a view (``indexing.box_at``); the arrays select along some of its axes.  The selected elements are a
``Ragged`` that can be read and stored into, whether or not their number is known: elements that a mask selects stay in place,
all others are gathered, and scattered (of equal positions, the last store wins).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import block_of, is_within, tensor
from hovis_xla.emit.builder import T, add, compare, like, or_, select, shape_of
from hovis_xla.emit.fp_barriers import name_of, source_of
from hovis_xla.emit.values import ARRAY, INT64, Known, NotLowerable, Num, Operand, Ragged, Raises, Stored, Struct, Val
from hovis_xla.jaxlib.adapter import ir
from hovis_xla.ops.array.manipulation import as_array
from hovis_xla.ops.ragged import extents, ragged_reductions
from hovis_xla.ops.ragged.extents import Counts
from hovis_xla.ops.scalar.arithmetic import any_of
from hovis_xla.ops.scalar.python_numbers import L, position

#: A size that marks the selected dimension: no other dimension has it.
_MARK: Final = 97

_BOOL: Final = np.dtype(bool)


@dataclass(slots=True)
class Picked:
    """The elements that index arrays select from a view: the indexed axes, the positions along each (all of one shape), and the axis of the
    result where their dimensions begin (``at``).
    """

    view: Val
    axes: list[int]
    points: list[T]
    counts: Counts
    at: int

    @property
    def where(self) -> tuple[int, ...]:
        return self.points[0].shape

    @property
    def rest(self) -> list[int]:
        return [d for k, d in enumerate(self.view.num.shape) if k not in self.axes]

    def order(self) -> list[int]:
        """Return the permutation that takes the dimensions of the positions, then the remaining ones, to those of the result."""
        front, rank = len(self.where), len(self.where) + len(self.rest)
        return [*range(front, front + self.at), *range(front), *range(front + self.at, rank)]

    def target(self, low: L) -> Ragged:
        """Return the selected elements as a `Ragged` that can be read and stored into."""
        order = self.order()
        shape = tuple([*self.where, *self.rest][k] for k in order)
        counts = tuple([*self.counts, *(None for _ in self.rest)][k] for k in order)
        inside = extents.counted(self.where, self.counts)

        def shown(base: Val) -> Val:
            points = [p if inside is None else select(inside, p, like(0, p)) for p in self.points]
            return as_array(builder.transpose(slicing.gather(tensor(base), self.axes, points), order))

        def write(base: Val, new: T) -> None:
            self.scatter(low, base, builder.transpose(new, [order.index(k) for k in range(len(order))]))

        return Ragged(Num(ARRAY, self.view.num.dtype, shape), self.view, counts, shown, write, False)

    def scatter(self, low: L, base: Val, new: T, combine: str | None = None) -> None:
        """Store new into the selected elements; the dimensions of the positions come first in new."""
        inside = extents.counted(self.where, self.counts)
        size = math.prod(self.where)
        # a scatter drops positions out of range
        points = [p if inside is None else select(inside, p, like(2**62, p)) for p in self.points]
        flat = [builder.reshape(p, (size,)) for p in points]
        t = slicing.scatter(tensor(base), flat, builder.reshape(new, (size, *self.rest)), combine, self.axes)
        store(low, base, t)


def store(low: L, base: Val, new: T) -> None:
    if not isinstance(base, Stored):
        raise NotLowerable("a store into an array of unknown origin, which may be a view")
    low.write(base.place, new)


def masked(low: L, view: Val, axis: int, mask: T, front: bool) -> Ragged:
    """Select by a mask over some dimensions of a view, from an axis on; ``front``: the selected dimension comes first."""
    shape = view.num.shape
    width = math.prod(mask.shape)
    behind = shape[axis + len(mask.shape) :]
    merged = (*shape[:axis], width, *behind)
    order = [axis, *(k for k in range(len(merged)) if k != axis)] if front else list(range(len(merged)))
    extent = builder.reshape(mask, (width,))
    counts = tuple(extent if k == axis else None for k in order)

    def shown(base: Val) -> Val:
        return as_array(builder.transpose(builder.reshape(tensor(base), merged), order))

    def write(base: Val, new: T) -> None:
        back = builder.reshape(builder.transpose(new, [order.index(k) for k in range(len(order))]), shape)
        here = builder.broadcast(builder.reshape(mask, mask.shape + (1,) * len(behind)), shape)
        store(low, base, select(here, back, tensor(base)))

    return Ragged(Num(ARRAY, view.num.dtype, tuple(merged[k] for k in order)), view, counts, shown, write, False)


def as_array_item(low: L, item: Operand) -> Operand:
    """Return a list in an index as the equivalent array; any other item stays as it is."""
    if isinstance(item, Known) and type(item.value) is list:
        found = np.asarray(item.value, dtype=None if item.value else np.intp)
        return as_array(builder.constant(found)) if found.dtype.kind in "iub" else item
    if isinstance(item, Struct) and item.callee is operations.make_list:
        if not item.parts:
            return as_array(builder.zeros(INT64, (0,)))
        made: Operand = low.call(np.array, [item], {})
        return made
    return item


def is_picking(item: Operand) -> bool:
    """Is the index item an array (whose size may be unknown)?"""
    if isinstance(item, Ragged):
        return True
    if isinstance(item, Val):
        return item.num.kind == ARRAY
    return isinstance(item, Known) and is_a(item.value, np.ndarray)


def _num(low: L, item: Operand) -> Num:
    return item.full if isinstance(item, Ragged) else low.val(item).num


def span(low: L, item: Operand) -> int:
    """Return the number of dimensions that an item of an index takes."""
    if isinstance(item, Known) and (item.value is None or item.value is Ellipsis):
        return 0
    if is_picking(item):
        num = _num(low, item)
        return len(num.shape) if num.dtype.kind == "b" else 1
    return 1


def written_out(low: L, items: Sequence[Operand], rank: int) -> list[Operand]:
    """Return the items with the ellipsis written out as slices."""
    spent = sum(span(low, i) for i in items)
    dots = [k for k, i in enumerate(items) if isinstance(i, Known) and i.value is Ellipsis]
    if spent > rank or len(dots) > 1:
        raise Raises("too many indices: NumPy raises an exception", IndexError)
    fill: list[Operand] = [Known(slice(None))] * (rank - spent)
    at = dots[0] if dots else len(items)
    return [*items[:at], *fill, *items[at + 1 :]]


def placing(low: L, items: Sequence[Operand], rank: int) -> int:
    """Return the axis of the result at which the selected dimensions begin: ask NumPy, with an array whose sizes tell."""
    plain: list[Any] = []
    first = True
    for item in items:
        if is_picking(item):
            plain.append(np.zeros(_MARK if first else 1, np.intp))
            first = False
            rank -= span(low, item) - 1
        elif isinstance(item, Known) and (item.value is None or item.value is Ellipsis):
            plain.append(item.value)
        else:
            plain.append(slice(None) if isinstance(item, Struct) or (isinstance(item, Known) and type(item.value) is slice) else 0)
    found: Any = np.empty((2,) * rank)[tuple(plain)]
    return int(found.shape.index(_MARK))


def picked(low: L, view: Val, arrays: Sequence[tuple[int, Operand]], at: int, of_mask: bool = True) -> "Picked | Ragged":
    """Return the elements of a view that index arrays select; each array comes with the axis that it begins at."""
    shape = view.num.shape
    nums = [_num(low, a) for _, a in arrays]
    for (axis, _), num in zip(arrays, nums, strict=True):
        if num.dtype.kind == "b" and num.shape != shape[axis : axis + len(num.shape)]:
            raise Raises("a mask of another shape: NumPy raises an exception", IndexError)
    axis, only = arrays[0]
    if of_mask and len(arrays) == 1 and nums[0].dtype.kind == "b" and not isinstance(only, Ragged):
        return masked(low, view, axis, tensor(low.val(only)), at != axis)
    axes: list[int] = []
    given: list[tuple[T, Counts]] = []
    for (axis, array), num in zip(arrays, nums, strict=True):
        if isinstance(array, Ragged):
            if num.dtype.kind == "b":
                raise NotLowerable("a mask whose size is known only at run time")
            given.append((tensor(array.read()), array.counts))
            axes.append(axis)
        elif num.dtype.kind == "b":
            mask = tensor(low.val(array))
            extent = builder.reshape(mask, (math.prod(mask.shape),))
            for k in range(len(mask.shape)):
                given.append((builder.reshape(builder.iota(INT64, mask.shape, k), extent.shape), (extent,)))
                axes.append(axis + k)
        else:
            given.append((tensor(low.val(array)) if num.shape else position(low, array), (None,) * len(num.shape)))
            axes.append(axis)
    try:
        tensors, counts = extents.aligned(low, given)
        where = np.broadcast_shapes(*(t.shape for t in tensors))
    except ValueError as error:
        raise Raises(f"{error}: NumPy raises an exception", IndexError) from None
    inside = extents.counted(where, counts)
    only_extent = counts[0] if len(counts) == 1 else None
    points = all_in_range(low, [builder.broadcast(t, where) for t in tensors], [shape[axis] for axis in axes], inside, only_extent)
    return Picked(view, axes, points, counts, at)


def in_range(low: L, x: T, size: int) -> T:
    """Return positions counted from the front; bail out, for an IndexError, if one is out of range."""
    return all_in_range(low, [x], [size])[0]


def all_in_range(low: L, places: Sequence[T], sizes: Sequence[int], inside: T | None = None, extent: T | None = None) -> list[T]:
    """Return positions along several axes, counted from the front; bail out, for an IndexError, if one (of those that count) is out of range.

    Positions that are certainly in range, or were checked before, are not checked; for all others together, there is one check.
    """
    wrapped, outside = [], []
    for x, size in zip((builder.convert(x, INT64) for x in places), sizes, strict=True):
        known = x if _is_counted_to(x, size) else low.in_range_already.get((x.ir, size))
        if known is None or not is_within(ir.InsertionPoint.current.block, block_of(known.ir)):
            known = select(compare("LT", x, like(0, x)), add(x, like(size, x)), x)
            outside.append(or_(compare("LT", known, like(0, x)), compare("GE", known, like(size, x))))
            if inside is None:
                low.in_range_already[x.ir, size] = known
        wrapped.append(known)
    if outside:
        _refuse(low, functools.reduce(or_, outside), inside, extent)
    return wrapped


def _is_counted_to(x: T, size: int) -> bool:
    """Are the values of x certainly among 0 … size - 1?"""
    source = source_of(x.ir)
    return name_of(source) == "iota" and shape_of(source)[int(source.owner.attributes["iota_dimension"])] <= size


def _refuse(low: L, outside: T, inside: T | None, extent: T | None) -> None:
    found = None
    if low.depth and isinstance(extent, extents.Span):
        none = builder.full(False, _BOOL, (ragged_reductions.WIDTH,))
        found = ragged_reductions.reduced(extent, [outside], none, lambda before, here, now: or_(before, builder.and_(here, now)))
    if found is None:
        found = outside if inside is None else builder.and_(outside, inside)
    low.bail_if(any_of(found))


def places_of(low: L, x: Operand) -> list[Ragged]:
    """Lower ``np.nonzero``: for each dimension, return the indices of the nonzero elements, not packed to the front."""
    t = builder.convert(tensor(low.val(x)), _BOOL)
    extent = builder.reshape(t, (math.prod(t.shape),))
    axes = [builder.reshape(builder.iota(INT64, t.shape, k), extent.shape) for k in range(len(t.shape))]
    return [Ragged(Num(ARRAY, INT64, extent.shape), as_array(axis), (extent,)) for axis in axes]
