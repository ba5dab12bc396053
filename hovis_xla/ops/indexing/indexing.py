"""``a[index]``: integers, slices, None, … and index arrays.

An unknown integer is checked: if it is out of range, Python does the call again, and raises the IndexError.
"""

import functools
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeGuard

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.analysis.speculative_loads import read_if
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.affine import difference
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, add, compare, like, or_, select
from hovis_xla.emit.values import (
    ARRAY,
    INT,
    INT64,
    NONE,
    SCALAR,
    ZERO,
    Known,
    NotLowerable,
    Num,
    Operand,
    Ragged,
    Raises,
    ShapeUnknown,
    Struct,
    Val,
    is_numpy,
    is_sequence,
)
from hovis_xla.emit.view_steps import Box, box_of
from hovis_xla.ops.array import ufuncs
from hovis_xla.ops.array.manipulation import as_array
from hovis_xla.ops.array.reductions import axis_of
from hovis_xla.ops.indexing import advanced_indexing
from hovis_xla.ops.ragged import ragged_arrays, ragged_indexing
from hovis_xla.ops.scalar.arithmetic import int_floor_mod
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of, position
from hovis_xla.prepare.pad_function import checked_index

_RAISE: Final = Known("raise")


def items_of(low: L, index: Operand) -> tuple[Operand, ...]:
    """Return the items of an index, with lists converted to arrays."""
    items: tuple[Operand, ...] = (index,)
    if isinstance(index, Struct) and index.callee is operations.make_tuple:
        items = index.parts
    elif isinstance(index, Known) and type(index.value) is tuple:
        items = tuple(map(Known, index.value))
    items = tuple(advanced_indexing.as_array_item(low, i) for i in items)
    if any(map(_is_no_index, items)):
        raise Raises("an index that is not an integer, a slice, a mask or the like: NumPy raises an exception", IndexError)
    return items


def _is_no_index(item: Operand) -> bool:
    """Is the item a float or a complex number, or an array of these?"""
    if isinstance(item, Val | Ragged):
        return (item.num if isinstance(item, Val) else item.full).dtype.kind in "fc"
    return isinstance(item, Known) and (is_a(item.value, float | complex) or getattr(getattr(item.value, "dtype", None), "kind", "") in ("f", "c"))


def is_integer(item: Operand) -> bool:
    if isinstance(item, Known):
        return is_a(item.value, int | np.integer) and not is_a(item.value, bool)
    return isinstance(item, Val) and item.num.dtype.kind in "iu" and item.num.kind != ARRAY


def _slice_of(item: Operand) -> slice | None:
    """Return a slice of constants, or None for any other item. A ``slice(a, b)`` made in the program raises `ShapeUnknown` if its bounds are not
    known.
    """
    if isinstance(item, Known):
        return item.value if type(item.value) is slice else None
    if isinstance(item, Struct) and item.callee is slice:
        if all(isinstance(p, Known) for p in item.parts):
            return slice(*(p.value for p in item.parts if isinstance(p, Known)))
        raise ShapeUnknown("a slice whose bounds are known only at run time")
    return None


def checked(low: L, item: Operand, size: int) -> T:
    """Return an index as an i64 counted from the front; raise an IndexError if it is out of range."""
    if isinstance(item, Known):
        value = int(item.value)
        if not -size <= value < size:
            raise Raises(f"index {value} of an axis of size {size}: NumPy raises an exception", IndexError)
        return builder.constant(value % size, INT64)
    x = position(low, item)
    least, greatest = low.interval(item) or (-(2**63), 2**63)
    if greatest < 0:
        x, least, greatest = add(x, like(size, x)), least + size, greatest + size
    elif least < 0:
        x = select(compare("LT", x, like(0, x)), add(x, like(size, x)), x)
        least, greatest = min(0, least + size), max(size - 1, greatest)
    outside = [compare("LT", x, like(0, x))] if least < 0 else []
    outside += [compare("GE", x, like(size, x))] if greatest >= size else []
    if outside:
        low.raise_if(functools.reduce(or_, outside), IndexError)
    return x


def _checked_index(low: L, index: Operand, size: Operand) -> Operand:
    """Return an index, counted from the front, into an array of which ``size`` elements count; bail out if it is out of range."""
    x, n = (position(low, v) for v in (index, size))
    wrapped = select(compare("LT", x, like(0, x)), add(x, n), x)
    low.bail_if(or_(compare("LT", wrapped, like(0, x)), compare("GE", wrapped, n)))
    return Val(INT, wrapped.ir)


def _read_if(low: L, asked: Operand, array: Operand, index: Operand) -> Operand:
    """Load an element; bail out for an index out of range only if ``asked`` holds."""
    before, low.bail = low.bail, None
    try:
        found: Operand = low.call(operator.getitem, [array, index], {})
        outside = low.bail
    except Raises:
        num = Num(SCALAR, low.val(array).num.dtype)
        found, outside = Val(num, builder.zeros(num.dtype, ()).ir), builder.constant(True)
    finally:
        low.bail = before
    if outside is not None:
        low.bail_if(builder.and_(tensor(low.val(asked)), outside))
    return found


def expand(items: tuple[Operand, ...], rank: int) -> list[Operand]:
    """Return the items with the ellipsis written out: one for each dimension (and None for each new axis)."""
    spent = sum(1 for i in items if not (isinstance(i, Known) and (i.value is None or i.value is Ellipsis)))
    dots = [k for k, i in enumerate(items) if isinstance(i, Known) and i.value is Ellipsis]
    if spent > rank or len(dots) > 1:
        raise Raises("too many indices: NumPy raises an exception", IndexError)
    fill: list[Operand] = [Known(slice(None))] * (rank - spent)
    at = dots[0] if dots else len(items)
    return [*items[:at], *fill, *items[at + 1 :]]


def _nonzero(low: L, x: Operand) -> Operand | None:
    if not advanced_indexing.is_picking(x) or isinstance(x, Ragged) or not low.val(x).num.shape:
        return None
    return Struct(operations.make_tuple, tuple(advanced_indexing.places_of(low, x)), object())


def _where(low: L, condition: Operand, *values: Operand) -> Operand | None:
    return ufuncs.where(low, condition, *values) if values else _nonzero(low, condition)


def _argwhere(low: L, x: Operand) -> Operand | None:
    """Lower ``np.argwhere``: the indices of the nonzero elements, one per row."""
    if isinstance(x, Ragged) or not advanced_indexing.is_picking(x) or not low.val(x).num.shape:
        return None
    places = advanced_indexing.places_of(low, x)
    columns = [builder.reshape(tensor(p.read()), (*p.full.shape, 1)) for p in places]
    return ragged_indexing.made(as_array(slicing.concatenate(columns, 1)), (*places[0].counts, None))


def _extract(low: L, condition: Operand, a: Operand) -> Operand | None:
    if not (advanced_indexing.is_picking(condition) and advanced_indexing.is_picking(a)) or isinstance(condition, Ragged) or isinstance(a, Ragged):
        return None
    if low.val(condition).num.shape != low.val(a).num.shape:
        return None
    mask = low.call(np.not_equal, [condition, ZERO], {}) if low.val(condition).num.dtype.kind != "b" else condition
    return _copied(low, low.call(operator.getitem, [a, mask], {}))


def _copied(low: L, x: Operand) -> Operand:
    return low.fresh(tensor(x)) if isinstance(x, Val) else x


def _compress(low: L, condition: Operand, a: Operand, axis: Operand = NONE) -> Operand | None:
    if isinstance(condition, Ragged) or isinstance(a, Ragged) or not isinstance(axis, Known):
        return None
    if not advanced_indexing.is_picking(condition) or not advanced_indexing.is_picking(a):
        return None
    array, kind = low.val(a), low.val(condition).num
    if axis.value is None:
        array, at = low.call(np.ravel, [a], {}), 0
    else:
        at = axis_of(axis, len(array.num.shape))
    if kind.dtype.kind != "b" or len(kind.shape) != 1 or not array.num.shape or kind.shape[0] != array.num.shape[at]:
        return None
    index = Struct(operations.make_tuple, (*(Known(slice(None)) for _ in range(at)), condition), object())
    return _copied(low, getitem(low, array, index) or NONE)


def _unique(low: L, x: Operand) -> Operand | None:
    if isinstance(x, Ragged) or not advanced_indexing.is_picking(x):
        return None
    t = tensor(low.val(x))
    return ragged_arrays.distinct(low, t, (None,) * len(t.shape)) if t.shape else None


def _flat_nonzero(low: L, x: Operand) -> Operand | None:
    return None if isinstance(x, Ragged) or not advanced_indexing.is_picking(x) else advanced_indexing.places_of(low, low.call(np.ravel, [x], {}))[0]


def getitem(low: L, a: Operand, index: Operand) -> Operand | None:
    if isinstance(a, Ragged):
        return ragged_indexing.item(low, a, index)
    if isinstance(a, Struct) and isinstance(index, Known) and type(index.value) is int and is_sequence(a):
        return a.parts[index.value] if -len(a.parts) <= index.value < len(a.parts) else None
    if not is_numpy(a) or (isinstance(a, Val) and a.num.kind != ARRAY):
        return None
    array = low.val(a)
    items = items_of(low, index)
    if any(map(advanced_indexing.is_picking, items)):
        return _pick(low, array, items)
    written = expand(items, len(array.num.shape))
    bounds = unknown_bounds(written)
    box = box_at(low, array.num.shape, written)
    if box is None:
        return None
    found: Val = low.viewed(array, box)
    if bounds:
        return ragged_indexing.part(low, found, bounds)
    if box.shape or any(isinstance(i, Known) and i.value is Ellipsis for i in items):
        return found
    return Val(Num(SCALAR, found.num.dtype), found.ir)


def box_at(low: L, shape: tuple[int, ...], items: list[Operand]) -> Box | None:
    """Return the view that integers, slices and new axes select in an array; None if there is any other item."""
    plain: list[Any] = []
    dynamic: dict[int, T] = {}
    axis = 0
    for item in items:
        if isinstance(item, Known) and item.value is None:
            plain.append(None)
            continue
        window = _window(low, item, shape[axis])
        if window is not None:
            dynamic[axis] = window[0]
            plain.append(slice(0, window[1]))
            axis += 1
            continue
        found = slice(None) if _is_ragged(item) else _slice_of(item)
        if found is not None:
            plain.append(found)
        elif isinstance(item, Known) and is_integer(item):
            checked(low, item, shape[axis])
            plain.append(int(item.value))
        elif is_integer(item):
            if not shape[axis]:
                raise Raises("an index into an empty axis: NumPy raises an exception", IndexError)
            dynamic[axis] = checked(low, item, shape[axis])
            plain.append(0)
        else:
            return None
        axis += 1
    box = box_of(shape, lambda x: x[(*plain, ...)])
    if box is None:
        raise NotLowerable("a view of an array with too many elements")
    return replace(box, starts=tuple(dynamic.get(k, s) for k, s in enumerate(box.starts))) if dynamic and 0 not in box.shape else box


def _window(low: L, item: Operand, size: int) -> tuple[T, int] | None:
    """Return the start and the length of a slice whose length is known although its bounds are not; None for any other item."""
    if not _is_slice(item) or all(isinstance(p, Known) for p in item.parts):
        return None
    start, stop, step = (*item.parts, NONE, NONE)[:3] if len(item.parts) > 1 else (NONE, item.parts[0], NONE)
    if not (isinstance(start, Val) and isinstance(stop, Val)) or not _is_one(step):
        return None
    if not (is_integer(start) and is_integer(stop)):
        return None
    count = difference(stop.ir, start.ir)
    if count is None:
        return None
    first, last = (position(low, v) for v in (start, stop))
    if count <= 0 or count > size:
        low.bail_if(compare("LT", last, like(0, last)) if count <= 0 else builder.constant(True))
        return builder.constant(0, INT64), 0 if count <= 0 else size
    low.bail_if(or_(compare("LT", first, like(0, first)), compare("GT", last, like(size, last))))
    return first, count


def _is_slice(item: Operand) -> TypeGuard[Struct]:
    return isinstance(item, Struct) and item.callee is slice


def _is_one(step: Operand) -> bool:
    return isinstance(step, Known) and step.value in (None, 1)


def _is_ragged(item: Operand) -> bool:
    """Is the item a slice of unknown length?"""
    return unknown_bounds([item]) != {}


def unknown_bounds(items: Sequence[Operand]) -> dict[int, tuple[Operand, Operand]]:
    """Return start and stop of the slices of unknown length, by the axis of the result."""
    found: dict[int, tuple[Operand, Operand]] = {}
    axis = 0
    for item in items:
        if _is_slice(item) and any(isinstance(p, Val) for p in item.parts):
            start, stop, step = (*item.parts, NONE, NONE)[:3] if len(item.parts) > 1 else (NONE, item.parts[0], NONE)
            known = isinstance(start, Val) and isinstance(stop, Val) and difference(stop.ir, start.ir) is not None
            if _is_one(step) and not known:
                found[axis] = start, stop
        axis += not is_integer(item)
    return found


def picked(low: L, array: Val, items: Sequence[Operand]) -> "advanced_indexing.Picked | Ragged | None":
    """Return the elements of an array that index arrays and masks select, together with the other items; None if this is not supported."""
    shape = array.num.shape
    written = advanced_indexing.written_out(low, items, len(shape))
    plain: list[Operand] = []
    arrays: list[tuple[int, Operand]] = []
    axis = 0
    for item in written:
        if advanced_indexing.is_picking(item):
            arrays.append((axis, item))
            plain += [Known(slice(None))] * advanced_indexing.span(low, item)
            axis += advanced_indexing.span(low, item)
        else:
            plain.append(item)
            axis += not is_integer(item)
    if unknown_bounds(plain):
        return None
    box = box_at(low, shape, plain)
    if box is None:
        return None
    return advanced_indexing.picked(low, low.viewed(array, box), arrays, advanced_indexing.placing(low, items, len(shape)))


def _pick(low: L, array: Val, items: Sequence[Operand]) -> Operand | None:
    """Lower ``a[index]`` with arrays in the index: a new array."""
    found = picked(low, array, items)
    if found is None:
        return None
    target = found if isinstance(found, Ragged) else found.target(low)
    t = tensor(target.read())
    if any(c is not None for c in target.counts):
        return ragged_indexing.made(as_array(t), target.counts)
    return low.fresh(t) if t.shape else Val(Num(SCALAR, t.dtype), t.ir)


def wrapped(low: L, at: T, size: int, mode: Any) -> T | None:
    """Return positions counted from the front, by the mode of ``np.take`` and ``np.put``, or None if the mode is not supported."""
    at = builder.convert(at, INT64)
    if mode == "raise":
        return advanced_indexing.in_range(low, at, size)
    if not size or mode not in ("wrap", "clip"):
        return None
    return int_floor_mod(at, like(size, at)) if mode == "wrap" else builder.op("minimum", builder.op("maximum", at, like(0, at)), like(size - 1, at))


def _take(low: L, a: Operand, indices: Operand, axis: Operand = NONE, out: Operand = NONE, mode: Operand = _RAISE) -> Operand | None:
    indices = advanced_indexing.as_array_item(low, indices)
    if not isinstance(mode, Known) or not (isinstance(out, Known) and out.value is None):
        return None
    if not is_numpy(a) or not isinstance(axis, Known) or not (is_numpy(indices) or class_of(indices) is int):
        return None
    t, at = tensor(low.val(a)), tensor(low.val(indices))
    if at.dtype.kind not in "iu" or not t.shape:
        return None
    if axis.value is None:
        t, where = builder.reshape(t, (t.size,)), 0
    else:
        where = axis_of(axis, len(t.shape))
    places = wrapped(low, at, t.shape[where], mode.value)
    if places is None:
        return None
    result = slicing.take(t, places, where)
    return Val(Num(ARRAY if result.shape else SCALAR, result.dtype, result.shape), result.ir)


def _slice(low: L, *bounds: Operand) -> Operand | None:
    """Lower ``slice(a, b)``: keep it, with bounds that may be unknown, for the index that uses it."""
    return Struct(slice, bounds, object())


ROWS: Final[dict[Any, Row]] = {
    operator.getitem: getitem, read_if: _read_if, checked_index: _checked_index, np.take: _take, np.ndarray.take: _take, slice: _slice,
    np.nonzero: _nonzero, np.ndarray.nonzero: _nonzero, np.flatnonzero: _flat_nonzero,
    np.where: _where, np.argwhere: _argwhere, np.unique: _unique,
}  # fmt: skip

#: Tried before the rows for known conditions.
SOONER: Final[dict[Any, Row]] = {
    np.extract: _extract, np.compress: _compress, np.ndarray.compress: lambda low, a, condition, axis=NONE: _compress(low, condition, a, axis),
}  # fmt: skip
