"""Stores into arrays, whole or in part: item stores, in-place operators, ``fill``, ``copyto`` …"""

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis_xla import emit
from hovis_xla.emit import T, compare
from hovis_xla.memory import same_memory
from hovis_xla.ops import indexing, ragged
from hovis_xla.ops.arith import check_range
from hovis_xla.ops.python import L, Row, class_of
from hovis_xla.places import Place
from hovis_xla.slots import tensor
from hovis_xla.types import ARRAY, FALSE, INT64, LAST, TRUE, Known, NotLowerable, Operand, Ragged, Stored, Val, is_numpy

NOTHING: Final = Known(None)
SAME_KIND: Final = Known("same_kind")


def target_of(low: L, a: Operand) -> Stored | None:
    """An array that is stored into."""
    if isinstance(a, Known) and isinstance(a.value, np.ndarray):
        a = low.val(a)
    if isinstance(a, Val) and a.num.kind == ARRAY and not isinstance(a, Stored):
        raise NotLowerable("a store into an array of unknown origin, or into what may be a view")
    return a if isinstance(a, Stored) else None


def assign(low: L, a: Operand, value: Operand, casting: Any = "same_kind", where: T | None = None) -> None:
    """Make the elements of an array those of a result."""
    target, new = target_of(low, a), low.val(value)
    if target is None:
        raise NotLowerable("out= of something that is no array")
    if not np.can_cast(new.num.dtype, target.num.dtype, casting) and new.num.kind != "python":
        raise NotLowerable(f"{new.num.dtype} put into {target.num.dtype}: this raises")
    x = _stored(low, new, target.num.dtype, target.num.shape)
    low.write(target.place, x if where is None else emit.select(where, x, tensor(target)))


def _setitem(low: L, a: Operand, index: Operand, value: Operand) -> Operand | None:
    target = target_of(low, a)
    items = indexing.items_of(index)
    if target is None or items is None or not (isinstance(value, Ragged) or is_numpy(value) or class_of(value) is not None):
        return None
    shape = target.num.shape
    bounds = indexing.unknown_bounds(indexing.expand(items, len(shape)))
    box = None if any(map(indexing.is_mask_or_array, items)) else indexing.box_at(low, shape, indexing.expand(items, len(shape)))
    if isinstance(value, Ragged) or (box is not None and bounds):
        if box is None:
            return None
        viewed = low.viewed(target, box)
        ragged.assign(low, ragged.part(low, viewed, bounds or dict.fromkeys(range(len(box.shape)), (NOTHING, NOTHING))), value)
        return NOTHING
    new = low.val(value)
    if box is None:
        return _set_chosen(low, target, items, new)
    place: Place = target.place.then(box)
    if not (isinstance(new, Stored) and same_memory(new.place, place)):
        low.write(place, _stored(low, new, target.num.dtype, box.shape))
    return NOTHING


def _set_chosen(low: L, target: Stored, items: tuple[Operand, ...], new: Val) -> Operand | None:
    """A mask for the first dimensions; or index arrays."""
    first, *rest = items
    if rest or not indexing.is_mask_or_array(first) or low.val(first).num.dtype.kind != "b":
        return _set_points(low, target, items, new)
    mask = tensor(low.val(first))
    shape = target.num.shape
    if mask.shape != shape[: len(mask.shape)]:
        raise NotLowerable("a mask of another shape: this raises")
    inner = shape[len(mask.shape) :]
    if len(new.num.shape) > len(inner) and new.num.shape[0] != 1:
        raise NotLowerable("as many values as a mask says are stored: the number depends on values")
    x = _stored(low, new, target.num.dtype, (1, *inner))
    x = emit.broadcast(emit.reshape(x, inner), shape)
    where = emit.broadcast(emit.reshape(mask, mask.shape + (1,) * len(inner)), shape)
    low.write(target.place, emit.select(where, x, tensor(target)))
    return NOTHING


def _set_points(low: L, target: Stored, items: tuple[Operand, ...], new: Val) -> Operand | None:
    """``a[i, j] = v`` with index arrays or integers for the first dimensions: later ones win."""
    shape = target.num.shape
    items = tuple(items)
    while items and isinstance(items[-1], Known) and type(items[-1].value) is slice and items[-1].value == slice(None):
        items = items[:-1]
    if not all(indexing.is_mask_or_array(i) or indexing.is_integer(i) for i in items) or len(items) > len(shape):
        return None
    if any(low.val(i).num.dtype.kind == "b" for i in items):
        return None
    points = [indexing.in_range(low, tensor(low.val(i)), d) for i, d in zip(items, shape, strict=False)]
    try:
        where = np.broadcast_shapes(*(p.shape for p in points))
    except ValueError as error:
        raise NotLowerable(f"{error}: this raises") from None
    inner = shape[len(points) :]
    x = _stored(low, new, target.num.dtype, where + inner)
    at = [emit.reshape(emit.broadcast(p, where), (-1 if not where else int(np.prod(where)),)) if where else emit.reshape(p, (1,)) for p in points]
    flat = emit.reshape(x, (at[0].shape[0], *inner))
    low.write(target.place, emit.scatter(tensor(target), at, flat))
    return NOTHING


def _stored(low: L, value: Val, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> T:
    """The value as what is stored: of this dtype, and broadcast to this shape."""
    x = tensor(value)
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise NotLowerable("a complex number stored into an array of another kind: NumPy warns or raises")
    if value.num.kind != ARRAY:
        check_range(low, x, dtype)
    while len(x.shape) > len(shape) and x.shape[0] == 1:
        x = emit.reshape(x, x.shape[1:])
    if len(x.shape) > len(shape) or _broadcast(x.shape, shape) != shape:
        raise NotLowerable(f"a store of {x.shape} into {shape}: this raises")
    return emit.broadcast(emit.convert(x, dtype), shape)


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
    if target is None:
        return None
    low.write(target.place, _stored(low, low.val(value), target.num.dtype, target.num.shape))
    return NOTHING


def _copyto(low: L, dst: Operand, src: Operand, casting: Operand = SAME_KIND, where: Operand = TRUE) -> Operand | None:
    target = target_of(low, dst)
    if target is None or not isinstance(casting, Known) or not (is_numpy(src) or class_of(src) is not None):
        return None
    mask = None
    if not (isinstance(where, Known) and where.value is True):
        mask = emit.broadcast(emit.convert(tensor(low.val(where)), np.dtype(bool)), target.num.shape)
    assign(low, target, src, casting.value, mask)
    return NOTHING


def _fill_diagonal(low: L, a: Operand, val: Operand, wrap: Operand = FALSE) -> Operand | None:
    target = target_of(low, a)
    if target is None or len(target.num.shape) != 2 or low.val(val).num.shape or not isinstance(wrap, Known):
        return None
    rows, columns = target.num.shape
    if wrap.value and rows > columns:
        return None
    t = tensor(target)
    x = _stored(low, low.val(val), t.dtype, t.shape)
    i, j = (emit.iota(INT64, t.shape, k) for k in (0, 1))
    low.write(target.place, emit.select(compare("EQ", i, j), x, t))
    return NOTHING


def _sorted(low: L, a: Operand, axis: Operand = LAST) -> Operand | None:
    target = target_of(low, a)
    if target is None:
        return None
    assign(low, target, low.call(np.sort, [a, axis], {}))
    return NOTHING


def _put(low: L, a: Operand, indices: Operand, values: Operand) -> Operand | None:
    target = target_of(low, a)
    if target is None or len(target.num.shape) != 1 or low.val(indices).num.shape != low.val(values).num.shape:
        return None
    return _set_points(low, target, (indices,), low.val(values))


def _putmask(low: L, a: Operand, mask: Operand, values: Operand) -> Operand | None:
    target = target_of(low, a)
    if target is None or low.val(mask).num.shape != target.num.shape or low.val(values).num.shape not in ((), (1,), target.num.shape):
        return None
    assign(low, target, values, "same_kind", emit.convert(tensor(low.val(mask)), np.dtype(bool)))
    return NOTHING


def _place(low: L, arr: Operand, mask: Operand, vals: Operand) -> Operand | None:
    return None if low.val(vals).num.shape not in ((), (1,)) else _putmask(low, arr, mask, vals)


def _at(combine: str) -> Row:
    """``np.add.at``: repeated indices count each time."""

    def row(low: L, a: Operand, indices: Operand, b: Operand) -> Operand | None:
        target = target_of(low, a)
        items = indexing.items_of(indices)
        if target is None or items is None or len(items) > len(target.num.shape):
            return None
        if not all(indexing.is_mask_or_array(i) or indexing.is_integer(i) for i in items) or any(low.val(i).num.dtype.kind == "b" for i in items):
            return None
        points = [indexing.in_range(low, tensor(low.val(i)), d) for i, d in zip(items, target.num.shape, strict=False)]
        where = np.broadcast_shapes(*(p.shape for p in points))
        inner = target.num.shape[len(points) :]
        size = int(np.prod(where, dtype=np.int64))
        at = [emit.reshape(emit.broadcast(p, where), (size,)) for p in points]
        x = emit.reshape(_stored(low, low.val(b), target.num.dtype, where + inner), (size, *inner))
        low.write(target.place, emit.scatter(tensor(target), at, x, combine))
        return NOTHING

    return row


ROWS: Final[dict[Any, Row]] = {
    operator.setitem: _setitem, np.ndarray.fill: _fill, np.copyto: _copyto, np.fill_diagonal: _fill_diagonal, np.ndarray.sort: _sorted,
    np.put: _put, np.ndarray.put: _put, np.putmask: _putmask, np.place: _place,
    np.add.at: _at("add"), np.multiply.at: _at("multiply"), np.maximum.at: _at("maximum"), np.minimum.at: _at("minimum"),
}  # fmt: skip
