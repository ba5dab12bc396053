"""Strided stores with an unknown step: numbers are stored one after the other, by a loop with as many iterations as needed.

    sieve[p * p :: p] = False      while start < stop: sieve[start] = False; start += step
"""

import functools
import operator
from typing import Any

from hovis.front import tracing
from hovis.ir.model import Function, Op, Operand, callees
from hovis.lattice import AbstractValue, Array, Const, Type, forget
from hovis.passes.rewriting import copy
from hovis_xla.emit.values import num_of_type

_INT = Type(int)


def _store_each(array: Any, start: int, stop: int, step: int, value: Any) -> None:
    """``array[start:stop:step] = value`` of a vector (PySlice_AdjustIndices)."""
    size = len(array)
    if step <= 0:
        raise ValueError
    if start < 0:
        start += size
        if start < 0:
            start = 0
    if stop < 0:
        stop += size
    if stop > size:
        stop = size
    while start < stop:
        array[start] = value
        start += step


@functools.lru_cache(maxsize=64)
def _storing(array: AbstractValue, value: AbstractValue) -> Function | None:
    traced = tracing.trace(_store_each, array, _INT, _INT, _INT, value)
    return None if traced.fallback else traced.function


def scalarize_strided_stores(function: Function) -> Function:
    """Expand stores with an unknown stride into loops of scalar stores.

    Returns a function in which these stores are loops; the same object if there are none.
    """
    if not any(_bounds(op) for one in callees(function) for op in one.ops()):
        return function
    made = copy(function)
    for op in [op for one in callees(made) for block in one.blocks for op in block.ops]:
        bounds = _bounds(op)
        storing = _storing(_type(op.args[0]), forget(_type(op.args[2]))) if bounds else None
        if storing is not None and len(storing.params) == 5:
            op.callee, op.args = copy(storing), (op.args[0], *bounds, op.args[2])
    return made


def _bounds(op: Op) -> tuple[Operand, ...]:
    """Return start, stop and step of a store of a number into a part of a vector with an unknown step; () for any other op."""
    if op.callee is not operator.setitem or len(op.args) != 3:
        return ()
    array, part, value = op.args
    kind, shape = _type(array), getattr(array, "dims", None)
    if not isinstance(kind, Array) or kind.rank != 1 or not isinstance(part, Op) or part.callee is not slice or len(part.args) != 3:
        return ()
    num = num_of_type(forget(_type(value)))
    start, stop, step = part.args
    if num is None or num.shape or isinstance(step, Const) or _type(step) != _INT or not (shape and isinstance(shape[0], Const)):
        return ()
    start = Const(0) if start == Const(None) else start
    stop = Const(shape[0].value) if stop == Const(None) else stop
    return (start, stop, step) if all(forget(_type(b)) == _INT for b in (start, stop)) else ()


def _type(operand: Any) -> AbstractValue:
    found: AbstractValue = operand if isinstance(operand, Const) else operand.type
    return found
