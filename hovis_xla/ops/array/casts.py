"""Casts of arrays and NumPy scalars to other dtypes, and to Python numbers and truth values."""

import math
import operator
from typing import Any, Final

import numpy as np

from hovis.base.once import once
from hovis.base.warning_filters import warnings_are
from hovis.library.numpy.rules.ufuncs import SCALARS
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import compare, like, not_
from hovis_xla.emit.values import BOOL, NONE, PYTHON, TRUE, Known, NotLowerable, Num, Operand, Val, is_numpy, num_of_dtype
from hovis_xla.ops.array.ufuncs import cast
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of, known


def _truth(low: L, a: Operand) -> Operand | None:
    if not isinstance(a, Val) or a.num.kind == PYTHON or math.prod(a.num.shape) != 1:
        return None
    return Val(Num(PYTHON, BOOL), builder.convert(builder.reshape(tensor(a), ()), BOOL).ir)


def _not(low: L, a: Operand) -> Operand | None:
    found = _truth(low, a)
    return Val(Num(PYTHON, BOOL), not_(tensor(found)).ir) if isinstance(found, Val) else None


@once
def _takes_one_element(cls: type) -> bool:
    """Does this version of NumPy let cls convert an array of one element that has a dimension?"""
    with warnings_are("ignore"):
        try:
            cls(np.ones(1))
        except TypeError:
            return False
    return True


def to_python(cls: type, row: Row) -> Row:
    """Make the lowering of ``int(x)`` or ``float(x)`` of an array with one element: apply row to the Python number of the same value."""

    def convert(low: L, a: Operand, *rest: Operand) -> Operand | None:
        if not isinstance(a, Val) or a.num.kind == PYTHON or rest or math.prod(a.num.shape) != 1:
            return None
        if a.num.shape and not _takes_one_element(cls):
            return None
        kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[a.num.dtype.kind]
        x = builder.reshape(tensor(a), ())
        if x.dtype == np.dtype(np.uint64):
            low.bail_if(compare("GT", x, like(2**63 - 1, x)))
        carrier = np.dtype({bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}[kind])
        return row(low, Val(Num(PYTHON, carrier), builder.convert(x, carrier).ir))

    return convert


def scalar_call(cls: type[np.generic]) -> Row:
    """``np.float32(x)``."""

    def row(low: L, x: Operand) -> Operand | None:
        if class_of(x) is None and not is_numpy(x):
            return None
        dtype = np.dtype(cls)
        if class_of(x) is float and dtype.kind in "iu":  # converted as by Python's int: a value that does not fit raises
            whole = low.call(int, [x], {})
            return None if whole is None else row(low, whole)
        if class_of(x) is int and dtype.kind in "iu":
            result = cast(low, x, dtype)
        else:
            result = builder.convert(tensor(low.val(x)), dtype)
        return Val(num_of_dtype(dtype, result.shape), result.ir)

    return row


def astype(
    low: L, x: Operand, dtype: Operand, order: Operand = NONE, casting: Operand = NONE, subok: Operand = TRUE, copy: Operand = TRUE, *, device: Operand = NONE
) -> Operand | None:
    """Lower ``astype``. Without ``copy=True`` the result may be the array itself; a new array is in C order, as everywhere."""
    options = (order, casting, copy, device)
    if not isinstance(dtype, Known) or not isinstance(x, Val) or x.num.kind == PYTHON or not all(isinstance(o, Known) for o in options):
        return None
    found = np.dtype(dtype.value)
    if not np.can_cast(x.num.dtype, found, known(casting) or "unsafe"):
        raise NotLowerable(f"a cast from {x.num.dtype} to {found} that is not allowed: NumPy raises an exception")
    if known(copy) is not True and found == x.num.dtype:
        return x if known(order) in (None, "K", "A") else None
    if found.kind not in "biufc" or not found.isnative or found.itemsize > (16 if found.kind == "c" else 8):
        return None
    return Val(Num(x.num.kind, found, x.num.shape), builder.convert(tensor(x), found).ir)


ROWS: Final[dict[Any, Row]] = {
    **{cls: scalar_call(cls) for cls in SCALARS},
    np.ndarray.astype: astype, np.generic.astype: astype, np.astype: lambda low, x, dtype, *, copy=TRUE, device=NONE: astype(low, x, dtype, copy=copy),
}  # fmt: skip

TRUTHS: Final[dict[Any, Row]] = {operator.truth: _truth, bool: _truth, operator.not_: _not}
