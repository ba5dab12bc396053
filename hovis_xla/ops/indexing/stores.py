"""Stores into arrays, whole or in part: item stores and in-place operators."""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, and_, compare, like
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.memory_ssa import same_memory
from hovis_xla.emit.values import ARRAY, INT64, PYTHON, SCALAR, Known, NotLowerable, Num, Operand, Ragged, Stored, Struct, Val, is_numpy
from hovis_xla.ops.array.manipulation import leaves_of
from hovis_xla.ops.indexing import advanced_indexing, indexing
from hovis_xla.ops.ragged import ragged_indexing
from hovis_xla.ops.scalar.arithmetic import check_range
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of, position

NOTHING: Final = Known(None)


def target_of(low: L, a: Operand) -> Stored | None:
    """Return an array that can be stored into, or None for an operand that is no array."""
    if isinstance(a, Known) and is_a(a.value, np.ndarray):
        a = low.val(a)
    if isinstance(a, Val) and a.num.kind == ARRAY and not isinstance(a, Stored):
        raise NotLowerable("a store into an array of unknown origin, which may be a view")
    return a if isinstance(a, Stored) else None


def assign(low: L, a: Operand, value: Operand, casting: Any = "same_kind", where: T | None = None) -> None:
    """Store a value into all elements of an array, or into those where the mask ``where`` holds."""
    target, new = target_of(low, a), low.val(value)
    if target is None:
        raise NotLowerable("out= is not an array")
    if not _fits(new.num, target.num.dtype, casting):
        raise NotLowerable(f"{new.num.dtype} stored into {target.num.dtype}: NumPy raises an exception")
    x = converted(low, new, target.num.dtype, target.num.shape)
    low.write(target.place, x if where is None else builder.select(where, x, tensor(target)))


def _fits(new: Num, dtype: "np.dtype[Any]", casting: Any) -> bool:
    """May the value be cast to dtype? A Python int may go into an array of unsigned ints; its range is checked when it is stored."""
    weak = new.kind == PYTHON and casting == "same_kind" and (new.dtype.kind, dtype.kind) == ("i", "u")
    return weak or np.can_cast(new.dtype, dtype, casting)


def setitem(low: L, a: Operand, index: Operand, value: Operand) -> Operand | None:
    if isinstance(a, Ragged):
        return _set_ragged(low, a, index, value)
    target = target_of(low, a)
    if target is None:
        return None
    given, value = value, as_stored_array(low, target, value)
    if not (isinstance(value, Ragged) or is_numpy(value) or class_of(value) is not None):
        return None
    items = _striding(low, target, indexing.items_of(low, index), value)
    if any(map(advanced_indexing.is_picking, items)):
        return _set_picked(low, target, items, value)
    shape = target.num.shape
    written = indexing.expand(items, len(shape))
    bounds = indexing.unknown_bounds(written)
    box = indexing.box_at(low, shape, written)
    if isinstance(value, Ragged) or (box is not None and bounds):
        if box is None:
            return None
        viewed = low.viewed(target, box)
        part = ragged_indexing.part(low, viewed, bounds or dict.fromkeys(range(len(box.shape)), (NOTHING, NOTHING)))
        low.stores_into(viewed.place)
        if value is not part:
            ragged_indexing.assign(low, part, value)
        return NOTHING
    if box is None:
        return None
    new = low.val(value)
    whole = any(isinstance(i, Known) and i.value is Ellipsis for i in items)
    if len(new.num.shape) > len(box.shape) and (value is not given or not (box.shape or whole)):
        raise NotLowerable("a list that is nested too deeply, or an array, stored into elements: NumPy raises an exception")
    place: Place = target.place.then(box)
    low.stores_into(place)
    if not (isinstance(new, Stored) and same_memory(new.place, place)):
        low.write(place, converted(low, new, target.num.dtype, box.shape))
    return NOTHING


def _striding(low: L, target: Stored, items: tuple[Operand, ...], value: Operand) -> tuple[Operand, ...]:
    """Return the items of an index; a slice with an unknown step, through which a number is stored (``sieve[p * p :: p] = False``), is replaced
    by the equivalent mask.
    """
    steps = [k for k, item in enumerate(items) if isinstance(item, Struct) and item.callee is slice and len(item.parts) == 3 and isinstance(item.parts[2], Val)]
    if len(steps) != 1 or any(isinstance(item, Known) and item.value in (None, Ellipsis) for item in items) or low.val(value).num.shape:
        return items
    (axis,) = steps
    strided = items[axis]
    assert isinstance(strided, Struct)
    size = target.num.shape[axis]
    start, stop, step = strided.parts
    by = position(low, step)
    low.bail_if(compare("LE", by, like(0, by)))
    places = builder.iota(INT64, (size,), 0)
    first, last, by = (
        builder.broadcast(builder.constant(t, INT64) if isinstance(t, int) else t, places.shape)
        for t in (ragged_indexing.clipped_bound(low, start, 0, size), ragged_indexing.clipped_bound(low, stop, size, size), by)
    )
    inside = and_(compare("GE", places, first), compare("LT", places, last))
    far = builder.op("remainder", builder.sub(places, first), builder.op("maximum", by, like(1, by)))
    mask = and_(inside, compare("EQ", far, like(0, far)))
    return (*items[:axis], Val(Num(ARRAY, mask.dtype, mask.shape), mask.ir), *items[axis + 1 :])


def updated(low: L, a: Operand, index: Operand, value: Operand) -> Operand | None:
    """Return the array that results from storing value at index, without changing a; None if this is not supported."""
    items = indexing.items_of(low, index)
    if not isinstance(a, Val) or any(map(advanced_indexing.is_picking, items)) or not (is_numpy(value) or class_of(value) is not None):
        return None
    written = indexing.expand(items, len(a.num.shape))
    box = None if indexing.unknown_bounds(written) else indexing.box_at(low, a.num.shape, written)
    if box is None:
        return None
    new = converted(low, low.val(value), a.num.dtype, box.shape)
    t = Place(Location(a.num.dtype, a.num.shape)).then(box).store(tensor(a), new, slicing.dynamic_update_slice)
    return Val(Num(ARRAY, t.dtype, t.shape), t.ir)


def _row(low: L, value: Operand, dtype: "np.dtype[Any]") -> Val | None:
    """Return a tuple or list of numbers as an array of this dtype, each number converted separately; None for any other value."""
    parts: tuple[Operand, ...] = ()
    if isinstance(value, Struct) and value.callee in (operations.make_tuple, operations.make_list):
        parts = value.parts
    elif isinstance(value, Known) and type(value.value) is tuple:
        parts = tuple(map(Known, value.value))
    if not parts or any(class_of(p) is None and not _is_scalar(p) for p in parts):
        return None
    cells = [builder.reshape(converted(low, low.val(p), dtype, ()), (1,)) for p in parts]
    row = slicing.concatenate(cells, 0)
    return Val(Num(ARRAY, row.dtype, row.shape), row.ir)


def _is_scalar(value: Operand) -> bool:
    return isinstance(value, Val) and value.num.kind == SCALAR


def as_stored_array(low: L, target: Stored, value: Operand) -> Operand:
    """Return a list or tuple that is stored as an array, each of whose numbers has to fit; any other value stays as it is."""
    row = _row(low, value, target.num.dtype)
    if row is not None:
        return row
    leaves = list(leaves_of(value))
    if leaves == [value]:
        return value
    if any(isinstance(leaf, Stored) and leaf.place.location is target.place.location for leaf in leaves):
        raise NotLowerable("a list of parts of an array is stored into that array: NumPy copies one part after the other")
    found: Operand = low.call(np.array, [value], {})
    for leaf in leaves:
        if isinstance(leaf, Val | Known) and low.val(leaf).num.kind != ARRAY:
            check_range(low, tensor(low.val(leaf)), target.num.dtype)
    if isinstance(found, Val) and found.num.dtype.kind == "f" and target.num.dtype.kind in "iu" and any(low.val(x).num.dtype.kind in "iu" for x in leaves):
        raise NotLowerable("a list of both integers and floats stored into an array of integers")
    return found


def _set_picked(low: L, target: Stored, items: tuple[Operand, ...], value: Operand) -> Operand | None:
    """Lower ``a[index] = value`` with arrays in the index."""
    found = indexing.picked(low, target, items)
    if found is None:
        return None
    picked = found if isinstance(found, Ragged) else found.target(low)
    if isinstance(value, Ragged) or any(c is not None for c in picked.counts):
        ragged_indexing.assign(low, picked, value)
    else:
        assert picked.write is not None
        picked.write(picked.base, converted(low, low.val(value), target.num.dtype, picked.full.shape))
    return NOTHING


def _set_ragged(low: L, a: Ragged, index: Operand, value: Operand) -> Operand | None:
    """Store into the whole of an array of unknown size, or where a mask of the same size holds."""
    if isinstance(index, Known) and (index.value is Ellipsis or index.value == slice(None)):
        ragged_indexing.assign(low, a, value)
        return NOTHING
    if not isinstance(index, Ragged) or index.full.dtype.kind != "b":
        return None
    chosen = ragged_indexing.item(low, a, index)
    if not isinstance(chosen, Ragged) or len(a.counts) != 1:
        return None
    (extent,) = chosen.counts
    assert extent is not None

    def write(base: Val, new: T) -> None:
        assert a.write is not None
        a.write(base, builder.select(extent, new, tensor(a.read())))

    if a.write is None or extent.shape != a.full.shape:
        return None
    ragged_indexing.assign(low, Ragged(a.full, a.base, chosen.counts, a.shown, write, False), value)
    return NOTHING


def converted(low: L, value: Val, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> T:
    """Return the value in the form that is stored: of this dtype, and broadcast to this shape."""
    x = tensor(value)
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise NotLowerable("a complex number stored into an array of another kind: NumPy warns or raises")
    if value.num.kind != ARRAY:
        check_range(low, x, dtype)
    while len(x.shape) > len(shape) and x.shape[0] == 1:
        x = builder.reshape(x, x.shape[1:])
    if len(x.shape) > len(shape) or _broadcast(x.shape, shape) != shape:
        raise NotLowerable(f"a store of shape {x.shape} into shape {shape}: NumPy raises an exception")
    return builder.broadcast(builder.convert(x, dtype), shape)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------- in-place operators


def in_place(plain: Callable[..., Any], row: Row) -> Row:
    """Make the lowering of ``a += b``: an array is stored into; for numbers it is ``a = a + b``."""

    def does(low: L, a: Operand, b: Operand) -> Operand | None:
        num = getattr(a, "num", None)
        if (num is None or num.kind != ARRAY) and not isinstance(getattr(a, "value", None), np.ndarray):
            return row(low, a, b)
        target = target_of(low, a)
        found = low.call(plain, [a, b], {})
        if target is None or not isinstance(found, Val):
            return None
        if found.num.shape != target.num.shape:
            raise NotLowerable(f"a result of shape {found.num.shape} stored into shape {target.num.shape}: NumPy raises an exception")
        assign(low, target, found)
        return target

    return does


ROWS: Final[dict[Any, Row]] = {operator.setitem: setitem}
