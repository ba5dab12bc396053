"""Alias analysis of calls: whether a result shares memory with an argument, as the argument itself, a view of it, or a container of views."""

import operator
from collections.abc import Callable, Container
from typing import Any, Final

import numpy as np

from hovis.ir.model import Op, Operand
from hovis.ir.operations import make_list, make_tuple
from hovis.lattice import Array, Const, Type, Union
from hovis.lattice.inspection import attribute, is_a
from hovis.library.numpy.rules.manipulation import in_shape
from hovis.library.numpy.rules.ufuncs import SCALARS
from hovis.library.numpy.types import einsum_subscripts

_IN_PLACE: Final = "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift"

#: Operators that write to their first operand, if it is an array.
IN_PLACE: Final = frozenset(getattr(operator, name) for name in _IN_PLACE.split(" "))

#: Functions that return their first argument itself if there is nothing to do -> the operands that decide this, each with its
#: position, its name, and the value for which there is nothing to do.
IDLE: Final[dict[Any, tuple[tuple[int, str, Any], ...]]] = {
    np.diff: ((1, "n", 0),),
    **dict.fromkeys((np.polyder, np.polyint), ((1, "m", 0),)),
    np.linalg.matrix_power: ((1, "n", 1),),
    **dict.fromkeys((np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn), ((1, "s", ()), (2, "axes", ()))),
}

#: Callables whose result may be an argument, or a view of one.  All other functions of NumPy return new arrays.
SHARING: Final = frozenset({
    np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.moveaxis,
    np.rollaxis, np.expand_dims, np.squeeze, np.ndarray.squeeze, np.broadcast_to, np.broadcast_arrays, np.flip, np.flipud, np.fliplr, np.rot90,
    np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.real, np.imag,
    np.diagonal, np.ndarray.diagonal, np.diag, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.ndarray.view, np.ndarray.byteswap,
    np.matrix_transpose, np.permute_dims, np.unstack if hasattr(np, "unstack") else np.split, np.ndarray.astype, np.array, np.einsum, np.nan_to_num,
    np.linalg.diagonal, np.linalg.matrix_transpose, np.lib.stride_tricks.sliding_window_view, np.lib.stride_tricks.as_strided, np.ix_, np.meshgrid,
    np.ndarray.__array__, np.ndarray.conj, np.ndarray.conjugate, np.ndarray.clip, np.real_if_close, np.trim_zeros,
    np.ndarray.getfield, getattr, operator.getitem, in_shape, np.astype, *SCALARS, *IDLE,
})  # fmt: skip

_IDLE: Final = frozenset(IDLE)

#: The members of SHARING that copy, unless they are called with ``copy`` or ``out``.
_COPIES: Final = frozenset({np.array, np.astype, np.ndarray.astype, np.nan_to_num, np.ndarray.clip, np.ndarray.byteswap, np.meshgrid})


def is_array(value: object) -> bool:
    """Is value certainly an array, by its type?"""
    kind = getattr(value, "type", value)
    if isinstance(kind, Union):
        return all(map(is_array, kind.members))
    return isinstance(kind, Array) or (isinstance(kind, Const) and is_a(kind.value, np.ndarray))


def holds_nothing(value: object) -> bool:
    """Is value certainly neither an array nor an object that may hold one?"""
    kind = getattr(value, "type", value)
    if isinstance(kind, Const):
        if is_a(kind.value, tuple):  # an index, for example
            return all(holds_nothing(Const(part)) for part in kind.value)
        return not is_a(kind.value, np.ndarray | list | dict)
    if not isinstance(kind, Type) or isinstance(kind, Array):
        return False
    return kind.cls in (bool, int, float, complex, type(None)) or issubclass(kind.cls, np.generic)


def is_flat(value: object) -> bool:
    """Is value the op ``a.flat``?"""
    return isinstance(value, Op) and value.callee is getattr and isinstance(value.args[1], Const) and value.args[1].value == "flat"


def _unless_of(dtype: "np.dtype[Any]") -> Callable[[Any], bool]:
    """Make the predicate for ``np.float64(x)``: the result is a new array unless x is an array of this dtype, which is returned itself."""
    return lambda kind: isinstance(kind, Array) and kind.dtype != dtype


#: Members of SHARING that return a new array for some arguments (diag of a vector, conjugates of complex numbers) -> predicate on their type.
_FRESH_OF_WHAT: Final[dict[Any, Callable[[Any], bool]]] = {
    np.diag: lambda kind: isinstance(kind, Array) and kind.rank == 1,
    **dict.fromkeys((np.ndarray.conj, np.ndarray.conjugate), lambda kind: isinstance(kind, Array) and np.dtype(kind.dtype).kind == "c"),  # type: ignore[call-overload]
    **{cls: _unless_of(np.dtype(cls)) for cls in SCALARS},
}
_FRESH_OF: Final = frozenset(_FRESH_OF_WHAT)


def is_sharing(op: Op) -> bool:
    """May the result of op be, hold, or be a view of one of the arguments?"""
    if holds_nothing(op):
        return False
    if any(name == "out" for name, _ in op.kwargs):
        return True
    if is_in(op.callee, _FRESH_OF) and op.args and _FRESH_OF_WHAT[op.callee](getattr(op.args[0], "type", op.args[0])):
        return False
    if op.callee is operator.getitem and len(op.args) == 2 and is_array(op.args[0]):
        return not _picks(op.args[1])
    if op.callee is operator.getitem and is_flat(op.args[0]):
        return False
    if op.callee is np.einsum:
        return _rearranges(op)
    if is_in(op.callee, _IDLE):
        return _is_idle(op)
    if is_in(op.callee, _COPIES):
        return any(name in ("copy", "out") for name, _ in op.kwargs)
    if is_in(op.callee, SHARING) or is_in(op.callee, IN_PLACE):
        return True
    return not (is_numpy(op.callee) or (is_array(op) and getattr(op.callee, "__module__", None) in ("_operator", "builtins")))


def _picks(index: Operand) -> bool:
    """Does an index contain an index array or a mask? The result is a copy then."""
    if isinstance(index, Op) and index.callee is make_tuple:
        return any(map(_picks, index.args))
    if isinstance(index, Const) and type(index.value) is tuple:
        return any(isinstance(part, np.ndarray | list) for part in index.value)
    return is_array(index) or (isinstance(index, Const) and type(index.value) is list)


def _is_idle(op: Op) -> bool:
    """May the call have nothing to do, and return its argument?"""
    named = dict(op.kwargs)
    for place, name, idle in IDLE[op.callee]:
        given = op.args[place] if len(op.args) > place else named.get(name)
        if isinstance(given, Const):
            if is_a(given.value, int | tuple | list) and given.value in (idle, []):
                return True
        elif given is not None and not (isinstance(given, Op) and given.callee in (make_tuple, make_list) and given.args):
            return True
    return False


def _rearranges(op: Op) -> bool:
    """Is op an einsum of one operand that sums over no axis?"""
    text = op.args[0]
    if not isinstance(text, Const) or not is_a(text.value, str):
        return sum(map(is_array, op.args)) == 1
    inputs, output = einsum_subscripts.split(text.value)
    kept = [c for c in inputs[0] if c is Ellipsis or inputs[0].count(c) == 1] if output is None else output
    return len(inputs) == 1 and set(kept) == set(inputs[0])


def is_numpy(callee: object) -> bool:
    """Is callee a function, a ufunc or a method of NumPy?"""
    module = str(getattr(callee, "__module__", None))
    return type(callee) is np.ufunc or module.split(".")[0] == "numpy" or attribute(callee, "__objclass__") in (np.ndarray, np.generic, np.ufunc)


def is_in(callee: object, table: Container[Any]) -> bool:
    """Is callee in the table? An unhashable one is not."""
    try:
        return callee in table
    except TypeError:
        return False
