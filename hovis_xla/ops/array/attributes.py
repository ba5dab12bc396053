"""Attributes of arrays (shape, length, …), conversion of an item to a Python number, and views of the bits as another dtype."""

import builtins
import math
import operator
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Op
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.values import ARRAY, NONE, PYTHON, SCALAR, Bound, Known, Num, Operand, Struct, Val, is_numpy, is_sequence, view_roots
from hovis_xla.ops.array.manipulation import array, as_array, flattened
from hovis_xla.ops.scalar.python_numbers import L, Row


def _shape(low: L, a: Operand) -> Operand | None:
    return Known(a.num.shape) if isinstance(a, Val) else Known(np.shape(a.value)) if isinstance(a, Known) and is_numpy(a) else None


def _len(low: L, a: Operand) -> Operand | None:
    if isinstance(a, Val) and a.num.shape:
        return Known(a.num.shape[0])
    if isinstance(a, Known) and is_a(a.value, np.ndarray) and a.value.ndim:
        return Known(len(a.value))
    return Known(len(a.parts)) if isinstance(a, Struct) and is_sequence(a) else None


#: Methods of ufuncs; a call of one with ``out=`` looks the method up as an attribute.
_OF_UFUNCS: Final = frozenset({"reduce", "accumulate", "outer", "reduceat", "at"})


def _attribute(low: L, x: Operand, name: Operand) -> Operand | None:
    """Lower ``x.shape``, ``x.T`` and other attributes; a method becomes a `Bound` until it is called."""
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
    """Lower ``x.item()`` to a Python number; ``x.item(7)`` indexes the flattened array, ``x.item(1, 2)`` the array itself."""
    if at and isinstance(a, Val):
        flat = len(at) == 1 and not (isinstance(at[0], Known) and is_a(at[0].value, tuple))
        where = at[0] if len(at) == 1 else Struct(operations.make_tuple, at, Op(operations.make_tuple, ()))
        found = low.call(operator.getitem, [flattened(low, a) if flat else a, where], {})
        return _item(low, found) if isinstance(found, Val) and found.num.kind == SCALAR else None
    if not isinstance(a, Val) or a.num.kind == PYTHON or math.prod(a.num.shape) != 1:
        return None
    kind = {"b": np.bool_, "i": np.int64, "f": np.float64, "c": np.complex128}.get(a.num.dtype.kind)
    return None if kind is None else Val(Num(PYTHON, np.dtype(kind)), builder.convert(builder.reshape(tensor(a), ()), np.dtype(kind)).ir)


def _to_list(low: L, a: Operand) -> Operand | None:
    """Lower ``x.tolist()`` of a scalar."""
    return _item(low, a) if isinstance(a, Val) and not a.num.shape else None


def _seen_as(low: L, a: Operand, dtype: Operand = NONE) -> Operand | None:
    """Lower ``x.view(dtype)`` to a dtype of the same item size: reinterpret the bits."""
    t = array(low, a)
    if t is None or not isinstance(dtype, Known) or dtype.value is None or dtype.value is np.ndarray:
        return None
    found = np.dtype(dtype.value)
    if found == t.dtype:
        return as_array(t)
    if found.itemsize != t.dtype.itemsize or "c" in (found.kind, t.dtype.kind) or found.kind not in "iuf" or t.dtype.kind not in "iuf":
        return None
    return as_array(builder.bits_as(t, found))


ROWS: Final[dict[Any, Row]] = {
    np.shape: _shape, np.ndim: lambda low, a: Known(len(a.num.shape)) if isinstance(a, Val) else None,
    np.size: lambda low, a: Known(math.prod(a.num.shape)) if isinstance(a, Val) else None, builtins.len: _len,
    builtins.getattr: _attribute, np.ndarray.item: _item, np.generic.item: _item, np.ndarray.tolist: _to_list, np.generic.tolist: _to_list,
    np.ndarray.view: _seen_as,
}  # fmt: skip
