"""NumPy's functions that store into an array: ``fill``, ``copyto``, ``put``, ``place``, ``np.add.at`` …"""

import math
import operator
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis.library.numpy.rules.ufuncs import ufunc_result
from hovis.library.numpy.types.arrays import dtype_of
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, compare
from hovis_xla.emit.values import ARRAY, FALSE, INT64, LAST, TRUE, Known, Operand, Ragged, Stored, Struct, abstract, is_numpy
from hovis_xla.ops.array.manipulation import as_array
from hovis_xla.ops.indexing import advanced_indexing, indexing
from hovis_xla.ops.indexing.stores import NOTHING, as_stored_array, assign, converted, setitem, target_of
from hovis_xla.ops.ragged import extents
from hovis_xla.ops.scalar.arithmetic import check_range
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of

RAISE: Final = Known("raise")
SAME_KIND: Final = Known("same_kind")


def _fill(low: L, a: Operand, value: Operand) -> Operand | None:
    target = target_of(low, a)
    new = low.val(value)
    if target is None or new.num.shape:
        return None
    low.write(target.place, converted(low, new, target.num.dtype, target.num.shape))
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
    new = low.val(as_stored_array(low, target, val))
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
        x = converted(low, new, t.dtype, t.shape)
    low.write(target.place, builder.select(compare("EQ", i, j), x, t))
    return NOTHING


def _repeated(values: T, at: T) -> T | None:
    """Return the elements of values at these positions, repeated cyclically, or None if there are no values."""
    size = math.prod(values.shape)
    return slicing.take(builder.reshape(values, (size,)), builder.op("remainder", at, builder.like(size, at)), 0) if size else None


def _sorted(low: L, a: Operand, axis: Operand = LAST) -> Operand | None:
    target = target_of(low, a)
    if target is None:
        return None
    assign(low, target, low.call(np.sort, [a, axis], {}))
    return NOTHING


def _put(low: L, a: Operand, indices: Operand, values: Operand, mode: Operand = RAISE) -> Operand | None:
    """Lower ``np.put``: store at positions of the flattened array; values repeat cyclically."""
    target = target_of(low, a)
    if target is None or not isinstance(mode, Known) or isinstance(indices, Ragged) or isinstance(values, Ragged):
        return None
    at, new = low.val(advanced_indexing.as_array_item(low, indices)), low.val(as_stored_array(low, target, values))
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
    """Make the lowering of ``np.putmask``, which takes values by the position in the array, or of ``np.place`` (by_rank), which takes them one
    after the other.
    """

    def row(low: L, a: Operand, mask: Operand, values: Operand) -> Operand | None:
        target = target_of(low, a)
        if target is None or isinstance(mask, Ragged) or isinstance(values, Ragged) or not advanced_indexing.is_picking(mask):
            return None
        where, new = builder.convert(tensor(low.val(mask)), np.dtype(bool)), low.val(as_stored_array(low, target, values))
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
    along = [as_array(builder.reshape(builder.iota(INT64, (d,), 0), (1,) * k + (d,) + (1,) * (rank - k - 1))) for k, d in enumerate(shape)]
    items = [indices if k == axis.value % rank else places for k, places in enumerate(along)]
    return setitem(low, target, Struct(operations.make_tuple, tuple(items), object()), values)


#: Ufuncs whose ``at`` is a scatter, and the operation that combines the elements in it.
_COMBINES: Final[dict[Any, str]] = {
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.true_divide: "divide", np.maximum: "maximum", np.minimum: "minimum",
    np.bitwise_or: "or_", np.bitwise_and: "and_", np.bitwise_xor: "xor",
}  # fmt: skip


def _at(low: L, ufunc: Operand, a: Operand, indices: Operand, b: Operand) -> Operand | None:
    """Lower ``np.add.at``: repeated indices count each time."""
    target = target_of(low, a)
    combine = _COMBINES.get(ufunc.value) if isinstance(ufunc, Known) else None
    if target is None or combine is None:
        return None
    items = indexing.items_of(low, indices)
    if isinstance(b, Ragged):
        masked = any(map(advanced_indexing.is_picking, items)) and isinstance(indexing.picked(low, target, items), Ragged)
        return _at_chosen(low, ufunc, target, indices, b) if masked and b.full.dtype == target.num.dtype else None
    if target.num.dtype == np.uint64 and not is_numpy(low.val(as_stored_array(low, target, b))):
        return None  # this method converts a Python int to int64, whose common dtype with uint64 is float64
    if not any(map(advanced_indexing.is_picking, items)):
        # a view contains each element once
        found = low.call(operator.getitem, [target, indices], {})
        changed = low.call(ufunc.value, [found, b], {})  # type: ignore[union-attr]
        kinds = low.val(found).num, low.val(changed).num
        return setitem(low, target, indices, changed) if kinds[0].dtype == kinds[1].dtype and kinds[0].shape == kinds[1].shape else None
    picked = indexing.picked(low, target, items)
    new = low.val(as_stored_array(low, target, b))
    result = ufunc_result(ufunc.value, *(t for t in (abstract(target), abstract(new if is_numpy(new) else b)) if t is not None))  # type: ignore[union-attr]
    if picked is None or result is None or dtype_of(result) != target.num.dtype:
        return None
    if isinstance(picked, Ragged):
        return _at_chosen(low, ufunc, target, indices, b)
    x = converted(low, new, target.num.dtype, picked.target(low).full.shape)
    order = picked.order()
    picked.scatter(low, picked.view, builder.transpose(x, [order.index(k) for k in range(len(order))]), combine)
    return NOTHING


def _at_chosen(low: L, ufunc: Operand, target: Stored, indices: Operand, b: Operand) -> Operand | None:
    """Lower ``ufunc.at`` with a mask, which selects each element once."""
    return setitem(low, target, indices, low.call(ufunc.value, [low.call(operator.getitem, [target, indices], {}), b], {}))  # type: ignore[union-attr]


ROWS: Final[dict[Any, Row]] = {
    np.ndarray.fill: _fill, np.copyto: _copyto, np.fill_diagonal: _fill_diagonal, np.ndarray.sort: _sorted,
    np.put: _put, np.ndarray.put: _put, np.putmask: _masking(False), np.place: _masking(True), np.put_along_axis: _put_along_axis, np.ufunc.at: _at,
}  # fmt: skip
