"""Views of arrays: which part of which memory the result of a NumPy call shows.

A view of an array that is stored into has to be a view in the lowering, too.  All other views are computed in the same way, and
where they are returned, the host makes the same views again.
"""

import builtins
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from hovis.ir import operations
from hovis.library.numpy.rules.manipulation import in_shape
from hovis.library.numpy.rules.ufuncs import SCALARS
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.locations import is_contiguous, reshaped
from hovis_xla.emit.values import ARRAY, Known, NotLowerable, Operand, Struct, Val
from hovis_xla.emit.view_steps import Diagonal, Part, Windows, box_of
from hovis_xla.ops.scalar.python_numbers import L

#: Functions whose result is a Box for any known arguments.
BOXES: Final = frozenset({
    np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze, np.ndarray.squeeze,
    np.broadcast_to, np.flip, np.flipud, np.fliplr, np.rot90, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.matrix_transpose, np.permute_dims,
    np.linalg.matrix_transpose,
})  # fmt: skip

#: Functions that return the array itself if it has at least this many dimensions.
AT_LEAST: Final[dict[Any, int]] = {np.atleast_1d: 1, np.atleast_2d: 2, np.atleast_3d: 3}

#: Functions that return the array itself if there is no dimension to remove.
SQUEEZES: Final = frozenset({np.squeeze, np.ndarray.squeeze})
#: Functions whose result is a list or tuple of boxes.
SPLITS: Final = frozenset({np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, *((np.unstack,) if hasattr(np, "unstack") else ())})
RESHAPES: Final = frozenset({np.reshape, np.ndarray.reshape})
RAVELS: Final = frozenset({np.ravel, np.ndarray.ravel})
DIAGONALS: Final = frozenset({np.diagonal, np.ndarray.diagonal, np.diag, np.linalg.diagonal})
#: Functions that return the array itself if it is already as requested.
SAME: Final = frozenset({np.asarray, np.asanyarray, np.ascontiguousarray})


def known(operand: Operand) -> Any:
    """Return the value of an operand that is known as a whole; otherwise raise `_Unknown`."""
    if isinstance(operand, Known):
        return operand.value
    if isinstance(operand, Struct) and operand.callee in (operations.make_tuple, operations.make_list):
        return tuple(map(known, operand.parts))
    raise _Unknown


class _Unknown(Exception):
    pass


def view(low: L, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """Return the result of a call that gives views of an array, or None if this is no such call."""
    if not args or not isinstance(args[0], Val) or args[0].num.kind != ARRAY:
        return None
    a = args[0]
    try:
        values, named = [known(v) for v in args[1:]], {k: known(v) for k, v in kwargs.items()}
        return _of_known(low, callee, a, values, named)
    except (_Unknown, TypeError):
        return None


def _of_known(low: L, callee: Any, a: Val, values: list[Any], named: dict[str, Any]) -> Operand | None:
    if callee in AT_LEAST and not values and len(a.num.shape) >= AT_LEAST[callee]:
        return a
    if callee in SQUEEZES and _squeezes_nothing(a, *values, **named):
        return a
    if callee in SCALARS:
        return a if np.dtype(callee) == a.num.dtype and a.num.shape else None
    if callee in BOXES:
        return _boxed(low, a, lambda x: callee(x, *values, **named))
    if callee in SPLITS and len(a.num.shape) > (callee is getattr(np, "unstack", None)):
        return _split(low, callee, a, values, named)
    if callee in RESHAPES or callee in RAVELS or callee is in_shape:
        return _reshaped(low, callee, a, values, named)
    if callee in DIAGONALS and len(a.num.shape) == 2 and not named and len(values) <= 1:
        offset = values[0] if values else 0
        shape = np.diagonal(_stand_in(a.num.shape), offset).shape
        viewed: Val = low.viewed(a, Diagonal(shape, offset))
        return viewed
    if callee is sliding_window_view:
        return _windows(low, a, *values, **named)
    if callee in SAME and not named and all(v is None or np.dtype(v) == a.num.dtype for v in values):
        return a if callee is not np.ascontiguousarray else _flat(low, a)
    if callee is builtins.getattr and values[0] in ("T", "mT"):
        return _boxed(low, a, lambda x: getattr(x, values[0]))
    if callee in (np.real, np.imag) or (callee is builtins.getattr and values[0] in ("real", "imag")):
        return _part(low, a, callee.__name__ if callee is not builtins.getattr else values[0])
    return None


def _windows(low: L, a: Val, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Operand | None:
    """Lower ``sliding_window_view`` if the result is read-only."""
    if writeable:
        return None
    try:
        shape = sliding_window_view(_stand_in(a.num.shape), window_shape, axis).shape
    except ValueError as error:
        raise NotLowerable(f"{error}: NumPy raises an exception") from None
    sizes = (window_shape,) if isinstance(window_shape, int) else tuple(window_shape)
    axes = range(len(a.num.shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    viewed: Val = low.viewed(a, Windows(shape, sizes, tuple(k % len(a.num.shape) for k in axes)))
    return viewed


def _stand_in(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return an array of this shape in one byte of memory."""
    return np.lib.stride_tricks.as_strided(np.empty((), np.uint8), shape, (0,) * len(shape))


def _squeezes_nothing(a: Val, axis: Any = None) -> bool:
    return bool(axis == () or (axis is None and 1 not in a.num.shape))


def _flat(low: L, a: Val) -> Operand | None:
    """Lower ``np.ascontiguousarray``: the array itself, or a copy; the rank is at least 1."""
    if a.place is None or not a.num.shape:
        return _reshaped(low, np.reshape, a, [(1,)], {})
    contiguous = is_contiguous(a.place)
    return a if contiguous else None if contiguous is None else low.fresh(tensor(a), True)


def _boxed(low: L, a: Val, make: Callable[[Any], Any]) -> Operand | None:
    try:
        box = box_of(a.num.shape, make)
    except (ValueError, np.exceptions.AxisError) as error:
        raise NotLowerable(f"{error}: NumPy raises an exception") from None
    return None if box is None else low.viewed(a, box)


def _split(low: L, callee: Any, a: Val, values: list[Any], named: dict[str, Any]) -> Operand | None:
    try:
        count = len(callee(_stand_in(a.num.shape), *values, **named))
    except (ValueError, np.exceptions.AxisError) as error:
        raise NotLowerable(f"{error}: NumPy raises an exception") from None
    parts = [_boxed(low, a, lambda x, k=k: callee(x, *values, **named)[k]) for k in range(count)]  # type: ignore[misc]
    if any(p is None for p in parts):
        return None
    return Struct(operations.make_tuple if callee is getattr(np, "unstack", None) else operations.make_list, tuple(p for p in parts if p is not None), object())


def _reshaped(low: L, callee: Any, a: Val, values: list[Any], named: dict[str, Any]) -> Operand | None:
    if any(v not in ("C", None) for v in named.values()) or a.place is None:
        return None
    shape = (-1,) if callee in RAVELS else values[0] if len(values) == 1 else tuple(values)
    if callee in RAVELS and values and values != ["C"]:
        return None
    # reshape of a strided vector gives a view, ravel a copy
    step = None if callee in RAVELS and not is_contiguous(a.place) else reshaped(a.place, shape)
    found: Val | None = None
    if step is not None:
        found = low.viewed(a, step)
    elif a.place.layout() is not None:
        if callee is in_shape:
            raise NotLowerable("a shape that is not possible without a copy: NumPy raises an exception")
        try:
            shape = np.empty(a.num.shape, np.bool_).reshape(shape).shape
        except ValueError as error:
            raise NotLowerable(f"{error}: NumPy raises an exception") from None
        found = low.fresh(builder.reshape(tensor(a), shape), True)
    return found


def _part(low: L, a: Val, name: str) -> Operand | None:
    if a.num.dtype.kind == "c":
        part: Val = low.viewed(a, Part(name))
        return part
    return a if name == "real" else None
