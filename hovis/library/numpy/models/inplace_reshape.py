"""Escape analysis for ``a.shape = ...``: if only the trace refers to the array, the assignment makes a view under all its names.

Knowledge of an array is attached to its SSA value, so an array whose shape changes in place is another value from there on.
This is correct only if all references to it in the program are known: it was made in the basic block that is being written
(so no other path has passed it here under another name), and the operations on it since then compute from it or print it, but
neither store nor return a reference to it.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Op, Param, Value
from hovis.lattice import Array, Const
from hovis.library.numpy.rules.aliasing import IN_PLACE, holds_nothing, is_array, is_in, is_numpy, is_sharing
from hovis.library.numpy.rules.manipulation import in_shape

#: Callables that return a new array object, which may share memory with the operand.
_VIEWS: Final = frozenset({
    operator.getitem, operations.unpack, np.reshape, np.ndarray.reshape, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes,
    np.ravel, np.ndarray.ravel, np.ndarray.view, np.flip, np.flipud, np.fliplr, np.broadcast_to, np.diagonal, np.ndarray.diagonal, np.expand_dims,
    in_shape,
})  # fmt: skip
#: Builtins that keep no reference to their arguments.
_LOOKS: Final = frozenset({len, abs, float, int, complex, bool, print})


def names_of(ops: Sequence[Op], array: Op) -> list[Value] | None:
    """Return the values of these consecutive ops that are this array; None if another reference to it may exist."""
    names: list[Value] = [array]
    while is_in(array.callee, IN_PLACE) and isinstance(array.args[0], Op):
        array = array.args[0]
        names.append(array)
    if array not in ops or not _makes(array):
        return None
    for op in ops[ops.index(array) + 1 :]:
        if any(operand in names for operand in op.operands()):
            if is_in(op.callee, IN_PLACE) and op.args[0] in names:
                names += [] if op in names else [op]
            elif not _lets_go(op):
                return None
    return names


def _makes(op: Op) -> bool:
    """Does op make a new array?"""
    if op.callee is operator.getitem and isinstance(op.args[0], Op) and op.args[0].callee is operations.unpack:
        return is_array(op.args[0].args[0])
    return is_array(op) and _is_numeric(op) and _is_its_own(op)


def _is_its_own(op: Op) -> bool:
    """Is the result of op a different object from each of its operands?"""
    if isinstance(op.callee, np.ufunc) and len(op.args) > op.callee.nin:
        return False
    if is_in(op.callee, IN_PLACE):
        return False
    if op.callee is getattr:
        return op.args[1] in (Const("T"), Const("mT"))
    if not is_sharing(op):
        return is_numpy(op.callee) or getattr(op.callee, "__module__", None) == "_operator"
    return is_in(op.callee, _VIEWS) and is_array(op.args[0])


def _lets_go(op: Op) -> bool:
    """Does op keep no reference to its array operands?"""
    arrays = [operand for operand in op.operands() if is_array(operand)]
    if not all(map(_is_numeric, arrays)):
        return False
    if op.callee is operations.unpack:
        return True
    if is_array(op):
        return _is_its_own(op)
    if not holds_nothing(op):
        return False
    if op.callee is operator.setitem:
        return is_array(op.args[0])
    return is_numpy(op.callee) or is_in(op.callee, _LOOKS) or op.callee is getattr or getattr(op.callee, "__module__", None) == "_operator"


def _is_numeric(value: Any) -> bool:
    """Is value an array that holds no objects?"""
    kind = value.type if isinstance(value, Op | Param) else value
    return isinstance(kind, Const) or (isinstance(kind, Array) and getattr(kind.dtype, "kind", "O") in "biufc")
