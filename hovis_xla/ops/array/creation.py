"""Creation of arrays from a number, a range, lists or other arrays. Shapes are known numbers here: an unknown shape has no lowering."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import rely_on_order
from hovis_xla.emit.values import ARRAY, INT64, NONE, Known, NotLowerable, Operand, Ragged, Val, is_numpy, num_of_value
from hovis_xla.ops.array.manipulation import array, as_array, leaves_of, parts_of, sizes, tensors_of
from hovis_xla.ops.array.ufuncs import cast
from hovis_xla.ops.scalar.arithmetic import check_range
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of

#: An array of unknown size is padded to its greatest possible size, if that is at most this.
WIDEST: Final = 1 << 12


def dtype_argument(dtype: Operand, default: Any) -> "np.dtype[Any] | None":
    if not isinstance(dtype, Known):
        return None
    found = np.dtype(default if dtype.value is None else dtype.value)
    return found if num_of_value(np.zeros(1, found)) is not None else None


def _filled(value: int) -> Row:
    def row(low: L, shape: Operand, dtype: Operand = NONE, order: Operand = NONE, *, device: Operand = NONE, like: Operand = NONE) -> Operand | None:
        new, found = sizes(shape), dtype_argument(dtype, float)
        return None if new is None or found is None or min(new, default=0) < 0 else as_array(builder.full(value, found, new))

    return row


def _bare(low: L, shape: Operand, dtype: Operand = NONE) -> Operand | None:
    """Lower ``np.ndarray(shape, dtype)`` without a buffer from the caller."""
    return _filled(0)(low, shape, dtype)


def _full(low: L, shape: Operand, fill_value: Operand, dtype: Operand = NONE) -> Operand | None:
    new = sizes(shape)
    if new is None or not (is_numpy(fill_value) or class_of(fill_value)):
        return None
    t = tensor(low.val(fill_value))
    found = dtype_argument(dtype, t.dtype)
    return None if found is None else as_array(builder.broadcast(cast(low, fill_value, found), new))


def _like(value: int) -> Row:
    def row(low: L, a: Operand, dtype: Operand = NONE) -> Operand | None:
        t = _shaped_as(low, a)
        found = None if t is None else dtype_argument(dtype, t.dtype)
        return None if t is None or found is None else as_array(builder.full(value, found, t.shape))

    return row


def _shaped_as(low: L, a: Operand) -> T | None:
    """Return an array, or a Python number as a tensor of rank 0; None for any other operand."""
    return tensor(low.val(a)) if is_numpy(a) or class_of(a) in (bool, float, complex) else None


def _full_like(low: L, a: Operand, fill_value: Operand, dtype: Operand = NONE) -> Operand | None:
    t = _shaped_as(low, a)
    found = None if t is None else dtype_argument(dtype, t.dtype)
    return None if t is None or found is None else as_array(builder.broadcast(cast(low, fill_value, found), t.shape))


def _known_array(fn: Callable[..., Any]) -> Row:
    """Make the lowering of a creation function of known numbers: evaluate it while lowering."""

    def row(low: L, *args: Operand, **named: Operand) -> Operand | None:
        for a in args:
            sizes(a)  # raises ShapeUnknown for an unknown number
        if not all(isinstance(a, Known) for a in (*args, *named.values())):
            return None
        found = fn(*(a.value for a in args), **{k: v.value for k, v in named.items()})  # type: ignore[union-attr]
        if found.nbytes > 1 << 20:
            raise NotLowerable("a constant array of more than a megabyte")
        return as_array(builder.constant(found))

    return row


def _arange(low: L, *bounds: Operand, dtype: Operand = NONE) -> Operand | None:
    if len(bounds) == 1 and isinstance(bounds[0], Known) and is_a(bounds[0].value, int):
        found = dtype_argument(dtype, np.int64)
        if found is None or np.dtype(found).kind == "b":
            return None
        return as_array(builder.convert(builder.iota(np.dtype(np.int64), (max(bounds[0].value, 0),), 0), found))
    if len(bounds) == 1 and class_of(bounds[0]) is int:
        found = dtype_argument(dtype, np.int64)
        return None if found is None or np.dtype(found).kind == "b" else _counting(low, bounds[0], found)
    found_row: Operand | None = _known_array(np.arange)(low, *bounds, dtype=dtype)
    return found_row


def _counting(low: L, bound: Operand, dtype: Any) -> Operand:
    """Lower ``np.arange`` up to a bound that is known at run time only: a `Ragged` array, as wide as the bound can be at most."""
    _, most = low.interval(bound) or (0, WIDEST + 1)
    if most > WIDEST:
        sizes(bound)
    count = tensor(low.val(bound))
    row = as_array(builder.convert(builder.iota(INT64, (max(most, 0),), 0), dtype))
    return Ragged(row.num, row, (builder.op("maximum", count, builder.like(0, count)),))


def _asarray(copies: bool) -> Row:
    def row(low: L, obj: Operand, dtype: Operand = NONE, order: Operand = NONE, *, copy: Operand = NONE) -> Operand | None:
        # ``np.array`` copies unless told not to, ``np.asarray`` only where necessary
        if not isinstance(copy, Known) or not isinstance(order, Known) or copy.value is False or order.value not in (None, "C", "K", "A"):
            return None
        itself = copy.value is not True and (not copies or copy is not NONE)
        if is_numpy(obj) or class_of(obj) is not None:
            t = tensor(low.val(obj))
            found = dtype_argument(dtype, t.dtype)
            if found is None:
                return None
            if class_of(obj) is complex and found.kind not in "cb":
                raise NotLowerable(f"a complex number converted to {found}: NumPy raises an exception")
            if class_of(obj) is not None:
                check_range(low, t, found)
            same = isinstance(obj, Val) and obj.num.kind == ARRAY and found == t.dtype and itself
            return obj if same else as_array(builder.convert(t, found))
        nested = _nested(low, obj)
        found = None if nested is None else dtype_argument(dtype, nested.dtype)
        if nested is None or found is None:
            return None
        for leaf in leaves_of(obj) if found != nested.dtype else ():
            if low.val(leaf).num.kind != ARRAY:
                check_range(low, tensor(low.val(leaf)), found)
        return as_array(builder.convert(nested, found))

    return row


def _nested(low: L, obj: Operand) -> T | None:
    """Return nested lists of numbers or arrays as one tensor, or None if they do not form one."""
    parts = parts_of(obj)
    if not parts:
        return None
    if all(is_numpy(p) or class_of(p) is not None for p in parts):
        rows = tensors_of(low, obj)
    else:
        found = [_nested(low, p) for p in parts]
        if any(f is None for f in found):
            return None
        inner = [f for f in found if f is not None]
        dtype = np.result_type(*(t.dtype for t in inner))
        rows = [builder.convert(t, dtype) for t in inner]
    if rows is None or len({r.shape for r in rows}) > 1:
        return None
    return slicing.concatenate([builder.reshape(r, (1, *r.shape)) for r in rows], 0)


def _copy(low: L, a: Operand) -> Operand | None:
    t = array(low, a)
    return None if t is None else as_array(t)


def _contiguous(low: L, a: Operand, dtype: Operand = NONE) -> Operand | None:
    """Lower ``np.ascontiguousarray`` where it is not the array itself, and ``np.asfortranarray``: a copy of rank 1 or more."""
    if isinstance(a, Val) and a.num.kind == ARRAY and not a.num.shape:
        return None
    found = _asarray(False)(low, a, dtype)
    if found is a and isinstance(a, Val):
        if a.place is None or a.place.layout() is None:
            raise NotLowerable("an array whose memory order is known only at run time is put into C or Fortran order")
        rely_on_order(a.place)
        return as_array(tensor(a))
    return found if not isinstance(found, Val) or found.num.shape else as_array(builder.reshape(tensor(found), (1,)))


def _in_columns(low: L, a: Operand, dtype: Operand = NONE) -> Operand | None:
    return None if isinstance(a, Val) and a.num.kind == ARRAY and len(a.num.shape) == 1 else _contiguous(low, a, dtype)


ROWS: Final[dict[Any, Row]] = {
    np.zeros: _filled(0), np.ones: _filled(1), np.empty: _filled(0), np.ndarray: _bare, np.full: _full, np.zeros_like: _like(0), np.ones_like: _like(1),
    np.empty_like: _like(0), np.full_like: _full_like, np.arange: _arange,
    np.array: _asarray(True), np.asarray: _asarray(False), np.asanyarray: _asarray(False), np.copy: _copy, np.ndarray.copy: _copy,
    np.ascontiguousarray: _contiguous, np.asfortranarray: _in_columns,
}  # fmt: skip
