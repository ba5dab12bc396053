"""Attributes and methods of Python's numbers, such as ``z.real`` and ``x.is_integer()``; and ``round`` of a NumPy scalar."""

import builtins
import operator
from typing import Any, Final

import numpy as np

from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.values import FLOAT64, NONE, SCALAR, Bound, Known, Operand, Val
from hovis_xla.ops.scalar import arithmetic
from hovis_xla.ops.scalar.conversions import to_whole
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of, number, position, whole


def _attribute(low: L, x: Operand, name: Operand) -> Operand | None:
    """Lower ``z.real`` and other attributes; a method becomes a `Bound` until it is called."""
    cls = class_of(x)
    if cls is None or not isinstance(name, Known):
        return Known(x.value.__name__) if isinstance(x, Known) and is_a(x.value, type) and isinstance(name, Known) and name.value == "__name__" else None
    value = low.val(x)
    if name.value in ("real", "imag") and cls is complex:
        return number((builder.real if name.value == "real" else builder.imag)(tensor(value)))
    if name.value in ("real", "numerator") and (cls is not float or name.value == "real"):
        return low.call(operator.pos, [x], {}) if cls is bool else x
    if name.value in ("imag", "denominator") and (cls is not float or name.value == "imag"):
        return Known(0.0 if cls is float else 0 if name.value == "imag" else 1)
    method = getattr(cls, name.value, None)
    return Bound(method, value) if callable(method) else None


def _conjugate(low: L, x: Operand) -> Operand | None:
    cls = class_of(x)
    if cls is not complex:
        return low.call(operator.pos, [x], {}) if cls is not None else None
    t = tensor(low.val(x))
    return number(builder.make_complex(builder.real(t), builder.neg(builder.imag(t))))


def _round(low: L, x: Operand, digits: Operand = NONE) -> Operand | None:
    """Lower ``round`` of a NumPy scalar: an int, or with digits a scalar of the same kind."""
    if not isinstance(x, Val) or x.num.kind != SCALAR or x.num.dtype.kind not in "fiu" or not isinstance(digits, Known):
        return None
    if digits.value is None and x.num.dtype.kind != "f":
        return whole(position(low, x))
    if digits.value is None:
        return to_whole("round_nearest_even")(low, number(builder.convert(tensor(x), FLOAT64)))
    found: Operand = low.call(np.generic.round, [x, digits], {})
    return found


def _is_integer(low: L, x: Operand) -> Operand | None:
    return number(arithmetic.is_integral(tensor(low.val(x)))) if class_of(x) is float else Known(True) if class_of(x) in (int, bool) else None


#: Tried after the rows for the same callables elsewhere.
LATER: Final[dict[Any, Row]] = {builtins.round: _round, builtins.getattr: _attribute}

ROWS: Final[dict[Any, Row]] = {float.is_integer: _is_integer, **{cls.conjugate: _conjugate for cls in (int, float, complex)}}
