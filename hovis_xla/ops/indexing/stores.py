"""Stores into arrays, whole or in part: item stores, in-place operators, ``fill``, ``copyto`` …"""

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis.library.numpy.rules.ufuncs import ufunc_result
from hovis.library.numpy.types.arrays import dtype_of
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, and_, compare, like
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.memory_ssa import same_memory
from hovis_xla.emit.values import (
    ARRAY,
    FALSE,
    INT64,
    LAST,
    PYTHON,
    SCALAR,
    TRUE,
    Known,
    NotLowerable,
    Num,
    Operand,
    Ragged,
    Stored,
    Struct,
    Val,
    abstract,
    is_numpy,
)
from hovis_xla.ops.array.manipulation import leaves_of
from hovis_xla.ops.indexing import advanced_indexing, indexing
from hovis_xla.ops.ragged import extents, ragged_arrays
from hovis_xla.ops.scalar.arithmetic import check_range
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of, position

NOTHING: Final = Known(None)
RAISE: Final = Known("raise")
SAME_KIND: Final = Known("same_kind")


def target_of(low: L, a: Operand) -> Stored | None:
    """An array that is stored into."""
    if isinstance(a, Known) and is_a(a.value, np.ndarray):
        a = low.val(a)
    if isinstance(a, Val) and a.num.kind == ARRAY and not isinstance(a, Stored):
        raise NotLowerable("a store into an array of unknown origin, or into what may be a view")
    return a if isinstance(a, Stored) else None


def assign(low: L, a: Operand, value: Operand, casting: Any = "same_kind", where: T | None = None) -> None:
    """Make the elements of an array those of a result."""
    target, new = target_of(low, a), low.val(value)
    if target is None:
        raise NotLowerable("out= of something that is no array")
    if not _fits(new.num, target.num.dtype, casting):
        raise NotLowerable(f"{new.num.dtype} put into {target.num.dtype}: this raises")
    x = _stored(low, new, target.num.dtype, target.num.shape)
    low.write(target.place, x if where is None else builder.select(where, x, tensor(target)))


def _fits(new: Num, dtype: "np.dtype[Any]", casting: Any) -> bool:
    """May it be cast to dtype?  An int of Python's goes into an array of unsigned ints, if it is in their range."""
    weak = new.kind == PYTHON and casting == "same_kind" and (new.dtype.kind, dtype.kind) == ("i", "u")
    return weak or np.can_cast(new.dtype, dtype, casting)


def _setitem(low: L, a: Operand, index: Operand, value: Operand) -> Operand | None:
    if isinstance(a, Ragged):
        return _set_ragged(low, a, index, value)
    target = target_of(low, a)
    if target is None:
        return None
    given, value = value, _listed(low, target, value)
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
        part = ragged_arrays.part(low, viewed, bounds or dict.fromkeys(range(len(box.shape)), (NOTHING, NOTHING)))
        low.stores_into(viewed.place)
        if value is not part:
            ragged_arrays.assign(low, part, value)
        return NOTHING
    if box is None:
        return None
    new = low.val(value)
    whole = any(isinstance(i, Known) and i.value is Ellipsis for i in items)
    if len(new.num.shape) > len(box.shape) and (value is not given or not (box.shape or whole)):
        raise NotLowerable("a list that is deeper than where it is stored, or an array as an element: this raises")
    place: Place = target.place.then(box)
    low.stores_into(place)
    if not (isinstance(new, Stored) and same_memory(new.place, place)):
        low.write(place, _stored(low, new, target.num.dtype, box.shape))
    return NOTHING


def _striding(low: L, target: Stored, items: tuple[Operand, ...], value: Operand) -> tuple[Operand, ...]:
    """The items of an index, for a number that is stored by a step that is not known (``sieve[p * p :: p] = False``) with the mask that it means."""
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
        for t in (ragged_arrays.clipped_bound(low, start, 0, size), ragged_arrays.clipped_bound(low, stop, size, size), by)
    )
    inside = and_(compare("GE", places, first), compare("LT", places, last))
    far = builder.op("remainder", builder.sub(places, first), builder.op("maximum", by, like(1, by)))
    mask = and_(inside, compare("EQ", far, like(0, far)))
    return (*items[:axis], Val(Num(ARRAY, mask.dtype, mask.shape), mask.ir), *items[axis + 1 :])


def updated(low: L, a: Operand, index: Operand, value: Operand) -> Operand | None:
    """The array that it would be with something stored into it."""
    items = indexing.items_of(low, index)
    if not isinstance(a, Val) or any(map(advanced_indexing.is_picking, items)) or not (is_numpy(value) or class_of(value) is not None):
        return None
    written = indexing.expand(items, len(a.num.shape))
    box = None if indexing.unknown_bounds(written) else indexing.box_at(low, a.num.shape, written)
    if box is None:
        return None
    new = _stored(low, low.val(value), a.num.dtype, box.shape)
    t = Place(Location(a.num.dtype, a.num.shape)).then(box).store(tensor(a), new, slicing.dynamic_update_slice)
    return Val(Num(ARRAY, t.dtype, t.shape), t.ir)


def _row(low: L, value: Operand, dtype: "np.dtype[Any]") -> Val | None:
    """A tuple or list of numbers as what is stored of it: each for itself."""
    parts: tuple[Operand, ...] = ()
    if isinstance(value, Struct) and value.callee in (operations.make_tuple, operations.make_list):
        parts = value.parts
    elif isinstance(value, Known) and type(value.value) is tuple:
        parts = tuple(map(Known, value.value))
    if not parts or any(class_of(p) is None and not _is_scalar(p) for p in parts):
        return None
    cells = [builder.reshape(_stored(low, low.val(p), dtype, ()), (1,)) for p in parts]
    row = slicing.concatenate(cells, 0)
    return Val(Num(ARRAY, row.dtype, row.shape), row.ir)


def _is_scalar(value: Operand) -> bool:
    return isinstance(value, Val) and value.num.kind == SCALAR


def _listed(low: L, target: Stored, value: Operand) -> Operand:
    """A list or a tuple that is stored, as an array; its numbers have to fit one by one."""
    row = _row(low, value, target.num.dtype)
    if row is not None:
        return row
    leaves = list(leaves_of(value))
    if leaves == [value]:
        return value
    if any(isinstance(leaf, Stored) and leaf.place.location is target.place.location for leaf in leaves):
        raise NotLowerable("a list of parts of an array is stored into that array: NumPy copies one after the other")
    found: Operand = low.call(np.array, [value], {})
    for leaf in leaves:
        if isinstance(leaf, Val | Known) and low.val(leaf).num.kind != ARRAY:
            check_range(low, tensor(low.val(leaf)), target.num.dtype)
    if isinstance(found, Val) and found.num.dtype.kind == "f" and target.num.dtype.kind in "iu" and any(low.val(x).num.dtype.kind in "iu" for x in leaves):
        raise NotLowerable("integers and floats of a list stored into an array of integers")
    return found


def _set_picked(low: L, target: Stored, items: tuple[Operand, ...], value: Operand) -> Operand | None:
    """``a[index] = value`` with arrays in the index."""
    found = indexing.picked(low, target, items)
    if found is None:
        return None
    picked = found if isinstance(found, Ragged) else found.target(low)
    if isinstance(value, Ragged) or any(c is not None for c in picked.counts):
        ragged_arrays.assign(low, picked, value)
    else:
        assert picked.write is not None
        picked.write(picked.base, _stored(low, low.val(value), target.num.dtype, picked.full.shape))
    return NOTHING


def _set_ragged(low: L, a: Ragged, index: Operand, value: Operand) -> Operand | None:
    """A store into all of an array of unknown size, or where a mask of its size holds."""
    if isinstance(index, Known) and (index.value is Ellipsis or index.value == slice(None)):
        ragged_arrays.assign(low, a, value)
        return NOTHING
    if not isinstance(index, Ragged) or index.full.dtype.kind != "b":
        return None
    chosen = ragged_arrays.item(low, a, index)
    if not isinstance(chosen, Ragged) or len(a.counts) != 1:
        return None
    (extent,) = chosen.counts
    assert extent is not None

    def write(base: Val, new: T) -> None:
        assert a.write is not None
        a.write(base, builder.select(extent, new, tensor(a.read())))

    if a.write is None or extent.shape != a.full.shape:
        return None
    ragged_arrays.assign(low, Ragged(a.full, a.base, chosen.counts, a.shown, write, False), value)
    return NOTHING


def _stored(low: L, value: Val, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> T:
    """The value as what is stored: of this dtype, and broadcast to this shape."""
    x = tensor(value)
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise NotLowerable("a complex number stored into an array of another kind: NumPy warns or raises")
    if value.num.kind != ARRAY:
        check_range(low, x, dtype)
    while len(x.shape) > len(shape) and x.shape[0] == 1:
        x = builder.reshape(x, x.shape[1:])
    if len(x.shape) > len(shape) or _broadcast(x.shape, shape) != shape:
        raise NotLowerable(f"a store of {x.shape} into {shape}: this raises")
    return builder.broadcast(builder.convert(x, dtype), shape)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------------- functions


def in_place(plain: Callable[..., Any], row: Row) -> Row:
    """``a += b``: an array is written to; for numbers it is ``a = a + b``."""

    def does(low: L, a: Operand, b: Operand) -> Operand | None:
        num = getattr(a, "num", None)
        if (num is None or num.kind != ARRAY) and not isinstance(getattr(a, "value", None), np.ndarray):
            return row(low, a, b)
        target = target_of(low, a)
        found = low.call(plain, [a, b], {})
        if target is None or not isinstance(found, Val):
            return None
        if found.num.shape != target.num.shape:
            raise NotLowerable(f"{found.num.shape} put into {target.num.shape}: this raises")
        assign(low, target, found)
        return target

    return does


def _fill(low: L, a: Operand, value: Operand) -> Operand | None:
    target = target_of(low, a)
    new = low.val(value)
    if target is None or new.num.shape:
        return None
    low.write(target.place, _stored(low, new, target.num.dtype, target.num.shape))
    return NOTHING


def _copyto(low: L, dst: Operand, src: Operand, casting: Operand = SAME_KIND, where: Operand = TRUE) -> Operand | None:
    target = target_of(low, dst)
    if target is None or not isinstance(casting, Known) or not (is_numpy(src) or class_of(src) is not None):
        return None
    mask = None
    if not (isinstance(where, Known) and where.value is True):
        mask = builder.broadcast(builder.convert(tensor(low.val(where)), np.dtype(bool)), target.num.shape)
    assign(low, target, src, casting.value, mask)
    return NOTHING


def _fill_diagonal(low: L, a: Operand, val: Operand, wrap: Operand = FALSE) -> Operand | None:
    target = target_of(low, a)
    if target is None or len(target.num.shape) != 2 or not isinstance(wrap, Known):
        return None
    rows, columns = target.num.shape
    new = low.val(_listed(low, target, val))
    if (wrap.value and rows > columns) or (new.num.shape and new.num.dtype.kind == "f" != target.num.dtype.kind):
        return None
    t = tensor(target)
    i, j = (builder.iota(INT64, t.shape, k) for k in (0, 1))
    if new.num.shape:
        values = _repeated(tensor(new), i)
        if values is None:
            return None
        x = builder.convert(values, t.dtype)
    else:
        x = _stored(low, new, t.dtype, t.shape)
    low.write(target.place, builder.select(compare("EQ", i, j), x, t))
    return NOTHING


def _repeated(values: T, at: T) -> T | None:
    """What is at places of values that begin again where they end."""
    size = math.prod(values.shape)
    return slicing.take(builder.reshape(values, (size,)), builder.op("remainder", at, builder.like(size, at)), 0) if size else None


def _sorted(low: L, a: Operand, axis: Operand = LAST) -> Operand | None:
    target = target_of(low, a)
    if target is None:
        return None
    assign(low, target, low.call(np.sort, [a, axis], {}))
    return NOTHING


def _put(low: L, a: Operand, indices: Operand, values: Operand, mode: Operand = RAISE) -> Operand | None:
    """``np.put``: at places of the array as a vector; values begin again where they end."""
    target = target_of(low, a)
    if target is None or not isinstance(mode, Known) or isinstance(indices, Ragged) or isinstance(values, Ragged):
        return None
    at, new = low.val(advanced_indexing.as_array_item(low, indices)), low.val(_listed(low, target, values))
    if at.num.dtype.kind not in "iu" or new.num.dtype.kind == "c" != target.num.dtype.kind:
        return None
    size, count = math.prod(target.num.shape), math.prod(at.num.shape)
    places = indexing.wrapped(low, builder.reshape(tensor(at), (count,)), size, mode.value)
    x = _repeated(tensor(new), builder.iota(INT64, (count,), 0))
    if places is None or x is None:
        return None
    if new.num.kind != ARRAY:
        check_range(low, tensor(new), target.num.dtype)
    flat = slicing.scatter(builder.reshape(tensor(target), (size,)), [places], builder.convert(x, target.num.dtype))
    low.write(target.place, builder.reshape(flat, target.num.shape))
    return NOTHING


def _masking(by_rank: bool) -> Row:
    """``np.putmask`` takes values by the place in the array, ``np.place`` (by_rank) one after the other."""

    def row(low: L, a: Operand, mask: Operand, values: Operand) -> Operand | None:
        target = target_of(low, a)
        if target is None or isinstance(mask, Ragged) or isinstance(values, Ragged) or not advanced_indexing.is_picking(mask):
            return None
        where, new = builder.convert(tensor(low.val(mask)), np.dtype(bool)), low.val(_listed(low, target, values))
        t = tensor(target)
        size = math.prod(t.shape)
        if where.shape != t.shape or (is_numpy(values) and new.num.kind == ARRAY and not np.can_cast(new.num.dtype, t.dtype, "safe")):
            return None
        flat = builder.reshape(where, (size,))
        several = math.prod(new.num.shape) > 1
        at = extents.ranks(flat) if by_rank and several else builder.iota(INT64, (size,), 0)
        x = _repeated(tensor(new), at)
        if x is None or new.num.dtype.kind == "c" != t.dtype.kind:
            return None
        if new.num.kind != ARRAY:
            check_range(low, tensor(new), t.dtype)
        low.write(target.place, builder.select(where, builder.reshape(builder.convert(x, t.dtype), t.shape), t))
        return NOTHING

    return row


def _put_along_axis(low: L, arr: Operand, indices: Operand, values: Operand, axis: Operand) -> Operand | None:
    target = target_of(low, arr)
    if target is None or not isinstance(axis, Known) or not is_a(axis.value, int) or isinstance(indices, Ragged):
        return None
    if not advanced_indexing.is_picking(indices):
        return None
    shape, given = target.num.shape, low.val(indices).num
    rank = len(shape)
    if given.dtype.kind not in "iu" or len(given.shape) != rank or not -rank <= axis.value < rank:
        return None
    along = [ragged_arrays.as_array(builder.reshape(builder.iota(INT64, (d,), 0), (1,) * k + (d,) + (1,) * (rank - k - 1))) for k, d in enumerate(shape)]
    items = [indices if k == axis.value % rank else places for k, places in enumerate(along)]
    return _setitem(low, target, Struct(operations.make_tuple, tuple(items), object()), values)


#: Ufuncs whose ``at`` is a scatter, and by what it combines.
_COMBINES: Final[dict[Any, str]] = {
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.true_divide: "divide", np.maximum: "maximum", np.minimum: "minimum",
    np.bitwise_or: "or_", np.bitwise_and: "and_", np.bitwise_xor: "xor",
}  # fmt: skip


def _at(low: L, ufunc: Operand, a: Operand, indices: Operand, b: Operand) -> Operand | None:
    """``np.add.at``: repeated indices count each time."""
    target = target_of(low, a)
    combine = _COMBINES.get(ufunc.value) if isinstance(ufunc, Known) else None
    if target is None or combine is None:
        return None
    items = indexing.items_of(low, indices)
    if isinstance(b, Ragged):
        masked = any(map(advanced_indexing.is_picking, items)) and isinstance(indexing.picked(low, target, items), Ragged)
        return _at_chosen(low, ufunc, target, indices, b) if masked and b.full.dtype == target.num.dtype else None
    if target.num.dtype == np.uint64 and not is_numpy(low.val(_listed(low, target, b))):
        return None  # to this method a Python int is an int64, and what it has in common with a uint64 is a double
    if not any(map(advanced_indexing.is_picking, items)):
        # a view has each of its elements once
        found = low.call(operator.getitem, [target, indices], {})
        changed = low.call(ufunc.value, [found, b], {})  # type: ignore[union-attr]
        kinds = low.val(found).num, low.val(changed).num
        return _setitem(low, target, indices, changed) if kinds[0].dtype == kinds[1].dtype and kinds[0].shape == kinds[1].shape else None
    picked = indexing.picked(low, target, items)
    new = low.val(_listed(low, target, b))
    result = ufunc_result(ufunc.value, *(t for t in (abstract(target), abstract(new if is_numpy(new) else b)) if t is not None))  # type: ignore[union-attr]
    if picked is None or result is None or dtype_of(result) != target.num.dtype:
        return None
    if isinstance(picked, Ragged):
        return _at_chosen(low, ufunc, target, indices, b)
    x = _stored(low, new, target.num.dtype, picked.target(low).full.shape)
    order = picked.order()
    picked.scatter(low, picked.view, builder.transpose(x, [order.index(k) for k in range(len(order))]), combine)
    return NOTHING


def _at_chosen(low: L, ufunc: Operand, target: Stored, indices: Operand, b: Operand) -> Operand | None:
    """The same where a mask chooses: each element once."""
    return _setitem(low, target, indices, low.call(ufunc.value, [low.call(operator.getitem, [target, indices], {}), b], {}))  # type: ignore[union-attr]


ROWS: Final[dict[Any, Row]] = {
    operator.setitem: _setitem, np.ndarray.fill: _fill, np.copyto: _copyto, np.fill_diagonal: _fill_diagonal, np.ndarray.sort: _sorted,
    np.put: _put, np.ndarray.put: _put, np.putmask: _masking(False), np.place: _masking(True), np.put_along_axis: _put_along_axis, np.ufunc.at: _at,
}  # fmt: skip
