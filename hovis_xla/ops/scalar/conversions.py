"""Conversions between Python's numbers, and tests of their class."""

import builtins
import operator
from typing import Any, Final

import numpy as np

from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, and_, compare, like, not_
from hovis_xla.emit.values import INT64, PYTHON, SCALAR, Known, Operand, Val
from hovis_xla.ops.scalar.python_numbers import L, Row, as_class, class_of, common, is_infinite, number, position, whole

_NO_IMAGINARY: Final = Known(0.0)


def int_(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls is None or cls is complex:
        return None
    x = tensor(low.val(a))
    if cls is float:
        _fits(low, x)
    return whole(builder.convert(x, INT64))


def _fits(low: L, x: T) -> None:
    """Raise or bail out unless the float is finite and fits into 64 bits."""
    inside = and_(compare("LT", x, like(2.0**63, x)), compare("GE", x, like(-(2.0**63), x)))
    if low.scope.catching is None:
        low.bail_if(not_(inside))
        return
    low.raise_if(builder.is_nan(x), ValueError)
    low.raise_if(is_infinite(x), OverflowError)
    low.bail_if(and_(builder.is_finite(x), not_(inside)))


def _index(low: L, a: Operand) -> Operand | None:
    if isinstance(a, Val) and a.num.kind == SCALAR and a.num.dtype.kind in "iu":
        return whole(position(low, a))
    return int_(low, a) if class_of(a) in (bool, int) else None


def float_(low: L, a: Operand) -> Operand | None:
    return number(as_class(low, a, float)) if class_of(a) in (bool, int, float) else None


def complex_(low: L, a: Operand, b: Operand = _NO_IMAGINARY) -> Operand | None:
    if common(a, b) is complex:
        return number(as_class(low, a, complex)) if class_of(a) is complex and isinstance(b, Known) and b.value == 0 else None
    if common(a, b) is None:
        return None
    return number(builder.make_complex(as_class(low, a, float), as_class(low, b, float)))


def round_(low: L, a: Operand) -> Operand | None:
    cls = class_of(a)
    if cls in (bool, int):
        return whole(as_class(low, a, int))
    return to_whole("round_nearest_even")(low, a) if cls is float else None


def to_whole(name: str) -> Row:
    def row(low: L, a: Operand) -> Operand | None:
        if class_of(a) in (bool, int):
            return whole(as_class(low, a, int))
        if class_of(a) is not float:
            return None
        x = builder.op(name, tensor(low.val(a))) if name else tensor(low.val(a))
        _fits(low, x)
        return whole(builder.convert(x, INT64))

    return row


def type_(low: L, a: Operand) -> Operand | None:
    if isinstance(a, Val):
        return Known(a.num.python if a.num.kind == PYTHON else a.num.dtype.type if a.num.kind == "scalar" else np.ndarray)
    return Known(type(a.value)) if isinstance(a, Known) else None


def isinstance_(low: L, a: Operand, classes: Operand) -> Operand | None:
    found = type_(low, a)
    if not isinstance(found, Known) or not isinstance(classes, Known):
        return None
    return Known(issubclass(found.value, classes.value))


ROWS: Final[dict[Any, Row]] = {
    int: int_, float: float_, float.__float__: float_, complex: complex_, operator.index: _index, builtins.round: round_, type: type_, isinstance: isinstance_,
}  # fmt: skip
