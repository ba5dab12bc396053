"""Moving elements about, making arrays, and asking for shapes.  Shapes are numbers here: what is not known has no row."""

import builtins
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Op
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import rely_on_order
from hovis_xla.emit.values import (
    ARRAY,
    INT,
    INT64,
    NONE,
    PYTHON,
    SCALAR,
    ZERO,
    Bound,
    Known,
    NotLowerable,
    Num,
    Operand,
    Ragged,
    ShapeUnknown,
    Struct,
    Val,
    is_numpy,
    is_sequence,
    num_of_value,
    view_roots,
)
from hovis_xla.ops.array.reductions import axes_of, axis_of
from hovis_xla.ops.array.ufuncs import cast
from hovis_xla.ops.scalar.arithmetic import check_range
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of

#: The order of elements, if it is not given.
_C: Final = Known("C")

#: An array whose size is not known is held at the width that it has at most, if that is no more than this.
WIDEST: Final = 1 << 12


def array(low: L, x: Operand) -> T | None:
    """An array as a tensor."""
    if isinstance(x, Val):
        return tensor(x) if x.num.kind == ARRAY else None
    return tensor(low.val(x)) if isinstance(x, Known) and type(x.value) is np.ndarray else None


def as_array(t: T) -> Val:
    return Val(Num(ARRAY, t.dtype, t.shape), t.ir)


def sizes(operand: Operand, what: str = "a shape") -> tuple[int, ...] | None:
    """A shape argument: it has to be known."""
    if isinstance(operand, Struct) and operand.callee in (operations.make_tuple, operations.make_list):
        found = [sizes(p, what) for p in operand.parts]
        return None if any(f is None for f in found) else tuple(f[0] for f in found if f is not None)
    if isinstance(operand, Val) and operand.num.dtype.kind in "iu" and not operand.num.shape:
        raise ShapeUnknown(f"{what} depends on a number that is known at run time only (jit(..., static=...) makes it known)")
    if not isinstance(operand, Known):
        return None
    value = operand.value
    if isinstance(value, int | np.integer):
        return (int(value),)
    if isinstance(value, tuple | list) and all(isinstance(d, int | np.integer) for d in value):
        return tuple(map(int, value))
    return None


def literal(operand: Operand) -> Operand:
    """A tuple or list of known items as a known value."""
    if isinstance(operand, Struct) and operand.callee in (operations.make_tuple, operations.make_list):
        parts = [literal(p) for p in operand.parts]
        values = [p.value for p in parts if isinstance(p, Known)]
        if len(values) == len(parts):
            return Known(operand.callee(*values))
    return operand


# ------------------------------------------------------------------------------------------------- reshape, axes


def _numbers(low: L, x: Operand) -> T | None:
    """An array or a number as a tensor."""
    return tensor(low.val(x)) if is_numpy(x) or class_of(x) is not None else None


def _in_order(t: T, order: Operand) -> bool | None:
    """Are the elements taken column by column (``order="F"``)?  None: that is not known."""
    found = order.value if isinstance(order, Known) else None
    return {"C": False, "F": True}.get(found if isinstance(found, str) else "") if len(t.shape) > 1 or found not in ("A", "K") else False


def _reshape(low: L, x: Operand, *shape: Operand, order: Operand = _C) -> Operand | None:
    t = _numbers(low, x)
    by_columns = None if t is None else _in_order(t, order)
    if t is None or by_columns is None:
        return None
    if by_columns:
        new = _several(shape)
        turned = builder.transpose(t, range(len(t.shape))[::-1])
        found = None if new is None else _reshape_tensor(turned, new[::-1])
        return None if found is None else as_array(builder.transpose(found, range(len(found.shape))[::-1]))
    new = _several(shape)
    return None if new is None else as_array(_reshape_tensor(t, new))


def _reshape_tensor(t: T, new: tuple[int, ...]) -> T:
    """A tensor in another shape; one size may be -1."""
    if -1 in new:
        rest = -math.prod(new)
        if new.count(-1) > 1 or (rest == 0 or t.size % rest):
            raise NotLowerable(f"an array of {t.size} elements in the shape {new}: this raises")
        new = tuple(t.size // rest if d == -1 else d for d in new)
    if math.prod(new) != t.size:
        raise NotLowerable(f"an array of {t.size} elements in the shape {new}: this raises")
    return builder.reshape(t, new)


def _several(shape: Sequence[Operand]) -> tuple[int, ...] | None:
    """``(2, 3)`` or ``2, 3``."""
    if len(shape) == 1:
        return sizes(shape[0])
    found = [sizes(s) for s in shape]
    return None if any(f is None for f in found) else tuple(f[0] for f in found if f is not None)


def _flat(low: L, x: Operand, order: Operand = _C) -> Operand | None:
    t = _numbers(low, x)
    by_columns = None if t is None else _in_order(t, order)
    if t is None or by_columns is None:
        return None
    if by_columns:
        t = builder.transpose(t, range(len(t.shape))[::-1])
    return as_array(builder.reshape(t, (t.size,)))


def _transpose(low: L, x: Operand, *axes: Operand) -> Operand | None:
    t = array(low, x)
    if t is None:
        return None
    if not axes or (isinstance(axes[0], Known) and axes[0].value is None):
        return as_array(builder.transpose(t, range(len(t.shape))[::-1]))
    order = _several(axes)
    return None if order is None else as_array(builder.transpose(t, [k % len(t.shape) for k in order]))


def _transpose_function(low: L, a: Operand, axes: Operand = NONE) -> Operand | None:
    return _transpose(low, a, axes)


def _swapaxes(low: L, x: Operand, a: Operand, b: Operand) -> Operand | None:
    t = array(low, x)
    if t is None or not isinstance(a, Known) or not isinstance(b, Known):
        return None
    order = list(range(len(t.shape)))
    i, j = axis_of(a, len(order)), axis_of(b, len(order))
    order[i], order[j] = order[j], order[i]
    return as_array(builder.transpose(t, order))


def _moveaxis(low: L, x: Operand, source: Operand, destination: Operand) -> Operand | None:
    t = array(low, x)
    if t is None or not isinstance(source, Known) or not isinstance(destination, Known):
        return None
    order = np.moveaxis(np.empty((1,) * len(t.shape)), source.value, destination.value).ndim
    names = np.arange(order)
    stand_in = np.empty(tuple(names + 2))
    moved = np.moveaxis(stand_in, source.value, destination.value).shape
    return as_array(builder.transpose(t, [d - 2 for d in moved]))


def _expand_dims(low: L, a: Operand, axis: Operand) -> Operand | None:
    t = _numbers(low, a)
    if t is None or not isinstance(axis, Known):
        return None
    return as_array(builder.reshape(t, np.expand_dims(np.broadcast_to(0, t.shape), axis.value).shape))


def _squeeze(low: L, a: Operand, axis: Operand = NONE) -> Operand | None:
    t = array(low, a)
    if t is None or not isinstance(axis, Known):
        return None
    return as_array(builder.reshape(t, np.squeeze(np.broadcast_to(0, t.shape), axis.value).shape))


def _broadcast_to(low: L, x: Operand, shape: Operand) -> Operand | None:
    new = sizes(shape)
    if new is None or not (is_numpy(x) or class_of(x)):
        return None
    t = tensor(low.val(x))
    try:
        np.broadcast_to(np.broadcast_to(0, t.shape), new)
    except ValueError:
        raise NotLowerable(f"{t.shape} broadcast to {new}: this raises") from None
    return as_array(builder.broadcast(t, new))


def _flip(low: L, m: Operand, axis: Operand = NONE) -> Operand | None:
    t = array(low, m)
    axes = None if t is None else axes_of(axis, len(t.shape))
    if t is None or axes is None:
        return None
    return as_array(slicing.reverse(t, list(axes))) if t.shape else Val(Num(SCALAR, t.dtype), t.ir)


def _part(t: T, axis: int, start: int, stop: int) -> T:
    rank = range(len(t.shape))
    return slicing.static_slice(t, [start if k == axis else 0 for k in rank], [stop if k == axis else t.shape[k] for k in rank], [1] * len(t.shape))


# ------------------------------------------------------------------------------------------------- joining


def parts_of(items: Operand) -> tuple[Operand, ...] | None:
    if isinstance(items, Struct) and items.callee in (operations.make_tuple, operations.make_list):
        return items.parts
    if isinstance(items, Known) and is_a(items.value, tuple | list):
        return tuple(map(Known, items.value))
    return None


def leaves_of(value: Operand) -> Iterator[Operand]:
    """What is in nested lists and tuples."""
    parts = parts_of(value)
    if parts is None:
        yield value
    for part in parts or ():
        yield from leaves_of(part)


def _tensors(low: L, items: Operand) -> list[T] | None:
    """The arrays of a tuple or list, in their common dtype."""
    parts = parts_of(items)
    if not parts or not all(is_numpy(p) or class_of(p) is not None for p in parts):
        return None
    dtypes = [np.asarray(p.value).dtype if isinstance(p, Known) else p.num.dtype for p in parts]  # type: ignore[union-attr]
    dtype = np.result_type(*dtypes)
    return [cast(low, p, dtype) for p in parts]


def _concatenated(parts: Sequence[T], axis: int) -> Val:
    shapes = {tuple(d for k, d in enumerate(p.shape) if k != axis % max(len(p.shape), 1)) for p in parts}
    if len(shapes) > 1 or len({len(p.shape) for p in parts}) > 1 or not parts[0].shape:
        raise NotLowerable("arrays of different shapes are joined: this raises")
    return as_array(slicing.concatenate(parts, axis % len(parts[0].shape)))


def _concatenate(low: L, items: Operand, axis: Operand = ZERO) -> Operand | None:
    parts = _tensors(low, items)
    if parts is None or not isinstance(axis, Known):
        return None
    if axis.value is None:
        return _concatenated([builder.reshape(p, (p.size,)) for p in parts], 0)
    return _concatenated(parts, axis_of(axis, len(parts[0].shape)))


def _stack(low: L, items: Operand, axis: Operand = ZERO) -> Operand | None:
    parts = _tensors(low, items)
    if parts is None or not isinstance(axis, Known):
        return None
    at = axis_of(axis, len(parts[0].shape) + 1)
    return _concatenated([builder.reshape(p, (*p.shape[:at], 1, *p.shape[at:])) for p in parts], at)


def _joined(shape: Callable[[tuple[int, ...]], tuple[int, ...]], axis: Callable[[int], int]) -> Row:
    def row(low: L, items: Operand) -> Operand | None:
        parts = _tensors(low, items)
        if parts is None:
            return None
        grown = [builder.reshape(p, shape(p.shape)) for p in parts]
        return _concatenated(grown, axis(len(grown[0].shape)))

    return row


def at_least_1d(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape or (1,)


def at_least_2d(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (2 - len(shape)) + shape if len(shape) < 2 else shape


def _as_column(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (math.prod(shape), 1) if len(shape) < 2 else shape


def _at_least(shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Row:
    def row(low: L, x: Operand) -> Operand | None:
        if not is_numpy(x) and class_of(x) is None:
            return None
        t = tensor(low.val(x))
        return as_array(builder.reshape(t, shape(t.shape)))

    return row


def _repeat(low: L, a: Operand, repeats: Operand, axis: Operand = NONE) -> Operand | None:
    t = array(low, a)
    repeats = literal(repeats)
    if t is None or not isinstance(repeats, Known) or not isinstance(axis, Known):
        return None
    if axis.value is None:
        t, at = builder.reshape(t, (t.size,)), 0
    else:
        at = axis_of(axis, len(t.shape))
    if is_a(repeats.value, tuple | list):
        places = np.repeat(np.arange(t.shape[at]), repeats.value)
        return as_array(slicing.take(t, builder.constant(places), at))
    if not is_a(repeats.value, int):
        return None
    n = repeats.value
    wide = builder.broadcast(builder.reshape(t, (*t.shape[: at + 1], 1, *t.shape[at + 1 :])), (*t.shape[: at + 1], n, *t.shape[at + 1 :]))
    return as_array(builder.reshape(wide, (*t.shape[:at], t.shape[at] * n, *t.shape[at + 1 :])))


def _tile(low: L, x: Operand, reps: Operand) -> Operand | None:
    t, counts = array(low, x), sizes(reps, "a number of repetitions")
    if t is None or counts is None:
        return None
    rank = max(len(t.shape), len(counts))
    t = builder.reshape(t, (1,) * (rank - len(t.shape)) + t.shape)
    for axis, n in enumerate((1,) * (rank - len(counts)) + counts):
        t = slicing.concatenate([t] * n, axis) if n > 1 else t if n else _part(t, axis, 0, 0)
    return as_array(t)


# ------------------------------------------------------------------------------------------------- creation


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
    """``np.ndarray(shape, dtype)``, without memory of the caller's."""
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
    """An array, or a number of Python's, which is one without dimensions."""
    return tensor(low.val(a)) if is_numpy(a) or class_of(a) in (bool, float, complex) else None


def _full_like(low: L, a: Operand, fill_value: Operand, dtype: Operand = NONE) -> Operand | None:
    t = _shaped_as(low, a)
    found = None if t is None else dtype_argument(dtype, t.dtype)
    return None if t is None or found is None else as_array(builder.broadcast(cast(low, fill_value, found), t.shape))


def _known_array(fn: Callable[..., Any]) -> Row:
    """A creation function of known numbers: done here."""

    def row(low: L, *args: Operand, **named: Operand) -> Operand | None:
        for a in args:
            sizes(a)  # says so, if it is a number that is not known
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
    """``np.arange`` up to a bound of which it is known how much it is at most: as wide as that."""
    _, most = low.interval(bound) or (0, WIDEST + 1)
    if most > WIDEST:
        sizes(bound)
    count = low.number(bound, INT)
    row = as_array(builder.convert(builder.iota(INT64, (max(most, 0),), 0), dtype))
    return Ragged(row.num, row, (builder.op("maximum", count, builder.like(0, count)),))


def _asarray(copies: bool) -> Row:
    def row(low: L, obj: Operand, dtype: Operand = NONE, order: Operand = NONE, *, copy: Operand = NONE) -> Operand | None:
        # ``np.array`` copies unless it is told not to, ``np.asarray`` does where it has to
        if not isinstance(copy, Known) or not isinstance(order, Known) or copy.value is False or order.value not in (None, "C", "K", "A"):
            return None
        itself = copy.value is not True and (not copies or copy is not NONE)
        if is_numpy(obj) or class_of(obj) is not None:
            t = tensor(low.val(obj))
            found = dtype_argument(dtype, t.dtype)
            if found is None:
                return None
            if class_of(obj) is complex and found.kind not in "cb":
                raise NotLowerable(f"a complex number made {found}: this raises")
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
    """Lists of lists of numbers, or of arrays."""
    parts = parts_of(obj)
    if not parts:
        return None
    if all(is_numpy(p) or class_of(p) is not None for p in parts):
        rows = _tensors(low, obj)
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


# ------------------------------------------------------------------------------------------------- attributes, shapes


def _shape(low: L, a: Operand) -> Operand | None:
    return Known(a.num.shape) if isinstance(a, Val) else Known(np.shape(a.value)) if isinstance(a, Known) and is_numpy(a) else None


def _len(low: L, a: Operand) -> Operand | None:
    if isinstance(a, Val) and a.num.shape:
        return Known(a.num.shape[0])
    if isinstance(a, Known) and is_a(a.value, np.ndarray) and a.value.ndim:
        return Known(len(a.value))
    return Known(len(a.parts)) if isinstance(a, Struct) and is_sequence(a) else None


#: Methods of ufuncs: one with ``out=`` is looked up when it is called.
_OF_UFUNCS: Final = frozenset({"reduce", "accumulate", "outer", "reduceat", "at"})


def _attribute(low: L, x: Operand, name: Operand) -> Operand | None:
    """``x.shape``, ``x.T`` …, and methods, which wait for their call."""
    if isinstance(x, Known) and is_a(x.value, np.dtype | np.finfo | np.iinfo) and isinstance(name, Known):
        return Known(getattr(x.value, name.value))
    if isinstance(x, Known) and is_a(x.value, np.ufunc) and isinstance(name, Known) and name.value in _OF_UFUNCS:
        return Bound(getattr(np.ufunc, name.value), x)
    if not isinstance(name, Known) or not is_numpy(x):
        return None
    val = low.val(x)
    num = val.num
    known = {"shape": num.shape, "ndim": len(num.shape), "size": math.prod(num.shape), "dtype": num.dtype, "itemsize": num.dtype.itemsize}
    known["nbytes"] = known["size"] * num.dtype.itemsize
    if name.value in known:
        return Known(known[name.value])
    if name.value == "T" or (name.value == "mT" and len(num.shape) >= 2):
        rank = len(num.shape)
        order = range(rank)[::-1] if name.value == "T" else [*range(rank - 2), rank - 1, rank - 2]
        turned = builder.transpose(tensor(val), order)
        return Val(Num(num.kind, num.dtype, turned.shape), turned.ir, roots=view_roots([val]))
    if name.value in ("real", "imag") and (num.dtype.kind == "c" or name.value == "real"):
        part = builder.real(tensor(val)) if name.value == "real" else builder.imag(tensor(val))
        return Val(Num(num.kind, part.dtype, part.shape), part.ir, roots=view_roots([val]))
    method = getattr(np.ndarray if num.kind == ARRAY else num.dtype.type, name.value, None)
    return Bound(method, val) if callable(method) and num.kind != PYTHON else None


def _item(low: L, a: Operand, *at: Operand) -> Operand | None:
    """``x.item()``: a Python number; ``x.item(7)``: of the flat array; ``x.item(1, 2)``."""
    if at and isinstance(a, Val):
        flat = len(at) == 1 and not (isinstance(at[0], Known) and is_a(at[0].value, tuple))
        where = at[0] if len(at) == 1 else Struct(operations.make_tuple, at, Op(operations.make_tuple, ()))
        found = low.call(operator.getitem, [_flat(low, a) if flat else a, where], {})
        return _item(low, found) if isinstance(found, Val) and found.num.kind == SCALAR else None
    if not isinstance(a, Val) or a.num.kind == PYTHON or math.prod(a.num.shape) != 1:
        return None
    kind = {"b": np.bool_, "i": np.int64, "f": np.float64, "c": np.complex128}.get(a.num.dtype.kind)
    return None if kind is None else Val(Num(PYTHON, np.dtype(kind)), builder.convert(builder.reshape(tensor(a), ()), np.dtype(kind)).ir)


def _to_list(low: L, a: Operand) -> Operand | None:
    """``x.tolist()`` of a scalar."""
    return _item(low, a) if isinstance(a, Val) and not a.num.shape else None


def _seen_as(low: L, a: Operand, dtype: Operand = NONE) -> Operand | None:
    """``x.view(dtype)`` of elements of the same size: their bits."""
    t = array(low, a)
    if t is None or not isinstance(dtype, Known) or dtype.value is None or dtype.value is np.ndarray:
        return None
    found = np.dtype(dtype.value)
    if found == t.dtype:
        return as_array(t)
    if found.itemsize != t.dtype.itemsize or "c" in (found.kind, t.dtype.kind) or found.kind not in "iuf" or t.dtype.kind not in "iuf":
        return None
    return as_array(builder.bits_as(t, found))


def _contiguous(low: L, a: Operand, dtype: Operand = NONE) -> Operand | None:
    """``np.ascontiguousarray`` where it is not the array itself, and ``np.asfortranarray``: a copy, and never without dimensions."""
    if isinstance(a, Val) and a.num.kind == ARRAY and not a.num.shape:
        return None
    found = _asarray(False)(low, a, dtype)
    if found is a and isinstance(a, Val):
        if a.place is None or a.place.layout() is None:
            raise NotLowerable("an array in an order of memory that is known at run time only is put in order")
        rely_on_order(a.place)
        return as_array(tensor(a))
    return found if not isinstance(found, Val) or found.num.shape else as_array(builder.reshape(tensor(found), (1,)))


def _in_columns(low: L, a: Operand, dtype: Operand = NONE) -> Operand | None:
    return None if isinstance(a, Val) and a.num.kind == ARRAY and len(a.num.shape) == 1 else _contiguous(low, a, dtype)


#: Calls whose result may be a view of an argument.
VIEWS: Final = frozenset({
    np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.moveaxis,
    np.expand_dims, np.squeeze, np.ndarray.squeeze, np.broadcast_to, np.flip, np.flipud, np.fliplr, np.asarray, np.asanyarray, np.ascontiguousarray,
    np.atleast_1d, np.atleast_2d, np.real, np.imag, builtins.getattr, np.permute_dims, np.ndarray.view, np.asfortranarray,
})  # fmt: skip

ROWS: Final[dict[Any, Row]] = {
    np.reshape: lambda low, a, shape, order=_C: _reshape(low, a, shape, order=order), np.ndarray.reshape: _reshape, np.ravel: _flat, np.ndarray.ravel: _flat,
    np.ndarray.flatten: _flat, np.transpose: _transpose_function, np.ndarray.transpose: _transpose, np.swapaxes: _swapaxes,
    np.ndarray.swapaxes: _swapaxes, np.moveaxis: _moveaxis, np.expand_dims: _expand_dims, np.squeeze: _squeeze, np.ndarray.squeeze: _squeeze,
    np.broadcast_to: _broadcast_to, np.flip: _flip, np.flipud: lambda low, m: _flip(low, m, Known(0)), np.fliplr: lambda low, m: _flip(low, m, Known(1)),
    np.concatenate: _concatenate, np.stack: _stack, np.hstack: _joined(at_least_1d, lambda rank: 0 if rank == 1 else 1),
    np.vstack: _joined(at_least_2d, lambda rank: 0), np.column_stack: _joined(_as_column, lambda rank: 1), np.atleast_1d: _at_least(at_least_1d),
    np.atleast_2d: _at_least(at_least_2d), np.repeat: _repeat, np.ndarray.repeat: _repeat, np.tile: _tile,
    np.zeros: _filled(0), np.ones: _filled(1), np.empty: _filled(0), np.ndarray: _bare, np.full: _full, np.zeros_like: _like(0), np.ones_like: _like(1),
    np.empty_like: _like(0), np.full_like: _full_like, np.arange: _arange,
    np.array: _asarray(True), np.asarray: _asarray(False), np.asanyarray: _asarray(False),
    np.copy: _copy, np.ndarray.copy: _copy, np.ndarray.tolist: _to_list, np.generic.tolist: _to_list, np.ndarray.view: _seen_as,
    np.ascontiguousarray: _contiguous, np.asfortranarray: _in_columns, np.permute_dims: _transpose_function, np.concat: _concatenate,
    np.shape: _shape, np.ndim: lambda low, a: Known(len(a.num.shape)) if isinstance(a, Val) else None,
    np.size: lambda low, a: Known(math.prod(a.num.shape)) if isinstance(a, Val) else None, builtins.len: _len,
    builtins.getattr: _attribute, np.ndarray.item: _item, np.generic.item: _item,
}  # fmt: skip
