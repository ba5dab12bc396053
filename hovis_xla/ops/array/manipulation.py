"""Reshaping, transposing and joining arrays. Shapes are known numbers here: an unknown shape has no lowering."""

import builtins
import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import ARRAY, NONE, SCALAR, ZERO, Known, NotLowerable, Num, Operand, ShapeUnknown, Struct, Val, is_numpy
from hovis_xla.ops.array.reductions import axes_of, axis_of
from hovis_xla.ops.array.ufuncs import cast
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of

#: The order of elements, if it is not given.
_C: Final = Known("C")


def array(low: L, x: Operand) -> T | None:
    """Return an array as a tensor, or None for any other operand."""
    if isinstance(x, Val):
        return tensor(x) if x.num.kind == ARRAY else None
    return tensor(low.val(x)) if isinstance(x, Known) and type(x.value) is np.ndarray else None


def as_array(t: T) -> Val:
    return Val(Num(ARRAY, t.dtype, t.shape), t.ir)


def sizes(operand: Operand, what: str = "a shape") -> tuple[int, ...] | None:
    """Return a known shape argument as integers, or None if it is not a shape. An integer known at run time only raises `ShapeUnknown`."""
    if isinstance(operand, Struct) and operand.callee in (operations.make_tuple, operations.make_list):
        found = [sizes(p, what) for p in operand.parts]
        return None if any(f is None for f in found) else tuple(f[0] for f in found if f is not None)
    if isinstance(operand, Val) and operand.num.dtype.kind in "iu" and not operand.num.shape:
        raise ShapeUnknown(f"{what} depends on a number that is known only at run time (jit(..., static=...) makes it known)")
    if not isinstance(operand, Known):
        return None
    value = operand.value
    if isinstance(value, int | np.integer):
        return (int(value),)
    if isinstance(value, tuple | list) and all(isinstance(d, int | np.integer) for d in value):
        return tuple(map(int, value))
    return None


def literal(operand: Operand) -> Operand:
    """Return a tuple or list of known items as a `Known`; any other operand stays as it is."""
    if isinstance(operand, Struct) and operand.callee in (operations.make_tuple, operations.make_list):
        parts = [literal(p) for p in operand.parts]
        values = [p.value for p in parts if isinstance(p, Known)]
        if len(values) == len(parts):
            return Known(operand.callee(*values))
    return operand


# ------------------------------------------------------------------------------------------------- reshape, axes


def _numbers(low: L, x: Operand) -> T | None:
    """Return an array or a number as a tensor, or None for any other operand."""
    return tensor(low.val(x)) if is_numpy(x) or class_of(x) is not None else None


def _in_order(t: T, order: Operand) -> bool | None:
    """Are the elements taken in column-major order (``order="F"``)? None if that is not known."""
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
    """Reshape a tensor; one size may be -1."""
    if -1 in new:
        rest = -math.prod(new)
        if new.count(-1) > 1 or (rest == 0 or t.size % rest):
            raise NotLowerable(f"an array of {t.size} elements reshaped to {new}: NumPy raises an exception")
        new = tuple(t.size // rest if d == -1 else d for d in new)
    if math.prod(new) != t.size:
        raise NotLowerable(f"an array of {t.size} elements reshaped to {new}: NumPy raises an exception")
    return builder.reshape(t, new)


def _several(shape: Sequence[Operand]) -> tuple[int, ...] | None:
    """Return a shape given as ``(2, 3)`` or as ``2, 3``, or None if it is not a known shape."""
    if len(shape) == 1:
        return sizes(shape[0])
    found = [sizes(s) for s in shape]
    return None if any(f is None for f in found) else tuple(f[0] for f in found if f is not None)


def flattened(low: L, x: Operand, order: Operand = _C) -> Operand | None:
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
    # what has a transpose of its own is asked for it: that is the order of the axes
    order: Any = np.moveaxis(types.SimpleNamespace(ndim=len(t.shape), transpose=list), source.value, destination.value)  # type: ignore[type-var]
    return as_array(builder.transpose(t, order))


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
        raise NotLowerable(f"{t.shape} broadcast to {new}: NumPy raises an exception") from None
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
    """Yield the leaves of nested lists and tuples."""
    parts = parts_of(value)
    if parts is None:
        yield value
    for part in parts or ():
        yield from leaves_of(part)


def tensors_of(low: L, items: Operand) -> list[T] | None:
    """Return the arrays of a tuple or list in their common dtype, or None if there are none or other items."""
    parts = parts_of(items)
    if not parts or not all(is_numpy(p) or class_of(p) is not None for p in parts):
        return None
    dtypes = [np.asarray(p.value).dtype if isinstance(p, Known) else p.num.dtype for p in parts]  # type: ignore[union-attr]
    dtype = np.result_type(*dtypes)
    return [cast(low, p, dtype) for p in parts]


def _concatenated(parts: Sequence[T], axis: int) -> Val:
    shapes = {tuple(d for k, d in enumerate(p.shape) if k != axis % max(len(p.shape), 1)) for p in parts}
    if len(shapes) > 1 or len({len(p.shape) for p in parts}) > 1 or not parts[0].shape:
        raise NotLowerable("arrays of different shapes are joined: NumPy raises an exception")
    return as_array(slicing.concatenate(parts, axis % len(parts[0].shape)))


def _concatenate(low: L, items: Operand, axis: Operand = ZERO) -> Operand | None:
    parts = tensors_of(low, items)
    if parts is None or not isinstance(axis, Known):
        return None
    if axis.value is None:
        return _concatenated([builder.reshape(p, (p.size,)) for p in parts], 0)
    return _concatenated(parts, axis_of(axis, len(parts[0].shape)))


def _stack(low: L, items: Operand, axis: Operand = ZERO) -> Operand | None:
    parts = tensors_of(low, items)
    if parts is None or not isinstance(axis, Known):
        return None
    at = axis_of(axis, len(parts[0].shape) + 1)
    return _concatenated([builder.reshape(p, (*p.shape[:at], 1, *p.shape[at:])) for p in parts], at)


def _joined(shape: Callable[[tuple[int, ...]], tuple[int, ...]], axis: Callable[[int], int]) -> Row:
    def row(low: L, items: Operand) -> Operand | None:
        parts = tensors_of(low, items)
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


# ------------------------------------------------------------------------------------------------- rows

#: Calls whose result may be a view of an argument.
VIEWS: Final = frozenset({
    np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.moveaxis,
    np.expand_dims, np.squeeze, np.ndarray.squeeze, np.broadcast_to, np.flip, np.flipud, np.fliplr, np.asarray, np.asanyarray, np.ascontiguousarray,
    np.atleast_1d, np.atleast_2d, np.real, np.imag, builtins.getattr, np.permute_dims, np.ndarray.view, np.asfortranarray,
})  # fmt: skip

ROWS: Final[dict[Any, Row]] = {
    np.reshape: lambda low, a, shape, order=_C: _reshape(low, a, shape, order=order), np.ndarray.reshape: _reshape, np.ravel: flattened,
    np.ndarray.ravel: flattened, np.ndarray.flatten: flattened, np.transpose: _transpose_function, np.ndarray.transpose: _transpose, np.swapaxes: _swapaxes,
    np.ndarray.swapaxes: _swapaxes, np.moveaxis: _moveaxis, np.expand_dims: _expand_dims, np.squeeze: _squeeze, np.ndarray.squeeze: _squeeze,
    np.broadcast_to: _broadcast_to, np.flip: _flip, np.flipud: lambda low, m: _flip(low, m, Known(0)), np.fliplr: lambda low, m: _flip(low, m, Known(1)),
    np.concatenate: _concatenate, np.stack: _stack, np.hstack: _joined(at_least_1d, lambda rank: 0 if rank == 1 else 1),
    np.vstack: _joined(at_least_2d, lambda rank: 0), np.column_stack: _joined(_as_column, lambda rank: 1), np.atleast_1d: _at_least(at_least_1d),
    np.atleast_2d: _at_least(at_least_2d), np.repeat: _repeat, np.ndarray.repeat: _repeat, np.tile: _tile,
    np.permute_dims: _transpose_function, np.concat: _concatenate,
}  # fmt: skip
