"""Stores into attributes of arrays: ``z.real = x``, ``a.flat[k] = x``; and reads of ``a.flat``.

``a.flat`` is the array in one dimension, in C order; a part of it is a copy.  For arrays whose memory is in another order, Python does the call.
"""

import operator
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.emit.values import ARRAY, PYTHON, SCALAR, Known, NotLowerable, Num, Operand, Stored, Struct, Val, num_of_value
from hovis_xla.ops.indexing.stores import NOTHING
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of


def flat_of(array: np.ndarray[Any, Any]) -> Any:
    """``a.flat``."""
    return array.flat


def _flat(low: L, a: Operand, name: Operand) -> Operand | None:
    """``a.flat``."""
    if not isinstance(name, Known) or name.value != "flat":
        return None
    array = low.val(a) if isinstance(a, Val) or (isinstance(a, Known) and is_a(a.value, np.ndarray)) else None
    return None if array is None or array.num.kind != ARRAY else Struct(flat_of, (array,), object())


def _array(a: Operand) -> Operand | None:
    """Return the array whose ``flat`` this is, or None for any other operand."""
    return a.parts[0] if isinstance(a, Struct) and a.callee is flat_of else None


def _line(low: L, a: Operand) -> Operand:
    """Return the elements of an array in one dimension: a view, if the array is stored into."""
    found: Operand = low.call(np.ndarray.reshape, [a, Known(-1)], {})
    if isinstance(a, Stored) and not (isinstance(found, Stored) and found.place.location is a.place.location):
        raise NotLowerable("ndarray.flat of an array whose elements are not in C order")
    return found


def _index(low: L, index: Operand) -> Operand | None:
    """Return an index that is valid for one dimension (an int, a slice, an array or list of indices), or None."""
    if isinstance(index, Struct) and index.callee is operations.make_list:
        found: Operand = low.call(np.array, [index], {})
        return found
    if isinstance(index, Struct) and index.callee is not slice:
        return None
    return None if isinstance(index, Known) and is_a(index.value, tuple) else index


def _getitem(low: L, a: Operand, index: Operand) -> Operand | None:
    array = _array(a)
    places = _index(low, index) if array is not None else None
    if array is None or places is None:
        return None
    found: Operand = low.call(operator.getitem, [_line(low, array), places], {})
    if isinstance(found, Val) and found.num.kind == ARRAY:
        found = low.call(np.copy, [found], {})
    return found


def _setitem(low: L, a: Operand, index: Operand, value: Operand) -> Operand | None:
    """Lower ``a.flat[index] = value`` for a number, which is stored at each index. NumPy repeats an array cyclically: that is not lowered."""
    array = _array(a)
    places = _index(low, index) if array is not None and _is_number(value) else None
    return None if array is None or places is None else _into(low, _line(low, array), places, value)


def _len(low: L, a: Operand) -> Operand | None:
    array = _array(a)
    found: Operand | None = None if array is None else low.call(getattr, [array, Known("size")], {})
    return found


def _is_number(value: Operand) -> bool:
    num: Num | None = num_of_value(value.value) if isinstance(value, Known) else value.num if isinstance(value, Val) else None
    return class_of(value) is not None or (num is not None and num.kind in (PYTHON, SCALAR))


def _into(low: L, target: Operand, index: Operand, value: Operand) -> Operand | None:
    """Store the value; return None for a complex value and a real target: Python does that store, and warns or raises."""
    given = low.val(value).num.dtype
    if not isinstance(target, Stored) or (given.kind == "c" and target.num.dtype.kind != "c"):
        return None
    low.call(operator.setitem, [target, index, value], {})
    return NOTHING


def _setattr(low: L, a: Operand, name: Operand, value: Operand) -> Operand | None:
    """Lower ``z.real = x``, ``z.imag = x``, ``a.flat = x``."""
    if not isinstance(a, Stored) or not isinstance(name, Known) or not isinstance(value, Val | Known):
        return None
    if name.value == "flat":
        return _into(low, a, Known(...), value) if _is_number(value) else None
    if name.value not in ("real", "imag") or (name.value == "imag" and a.num.dtype.kind != "c"):
        return None
    return _into(low, low.call(getattr, [a, name], {}), Known(...), value)


#: Tried before other rows for the same callables.
SOONER: Final[dict[Any, Row]] = {setattr: _setattr, getattr: _flat, operator.getitem: _getitem, operator.setitem: _setitem, len: _len}
