"""Operands during lowering: as XLA values, as conditions, as intervals; conditions on which a call bails out; and names for error messages."""

import operator
from collections.abc import Callable
from typing import Any

from hovis.ir import operations
from hovis.ir.model import Op, Param
from hovis.ir.model import Operand as IrOperand
from hovis.lattice import AbstractValue, Array, Const, Partial, Type
from hovis.lattice.inspection import is_a
from hovis_xla.analysis.ranges.integer_ranges import limits, limits_of
from hovis_xla.analysis.ranges.intervals import RESULTS, Interval
from hovis_xla.analysis.speculative_loads import read_if
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import as_val, describe
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import ARRAY, EITHER, Known, NotLowerable, Operand, Raised, Struct, Val, abstract, num_of_value
from hovis_xla.lowering.array_values import Arrays


class Operands(Arrays):
    """The part of a lowering that interprets operands and emits bailouts."""

    def operand(self, value: IrOperand) -> Operand:
        if isinstance(value, Const):
            return Known(value.value)
        found = self.scope.env.get(value)
        if found is None:
            raise NotLowerable("a value that is defined only where an exception was caught", self.op.location if self.op else None)
        return found

    def val(self, operand: Operand) -> Val:
        """Return an operand as an XLA value; arrays that are constants are read at every call."""
        if isinstance(operand, Val):
            return operand
        if isinstance(operand, Known):
            num = num_of_value(operand.value)
            if num is not None and num.kind == ARRAY:
                return self.constant_array(operand.value, num)
            if num is not None:
                try:
                    return as_val(operand, num)
                except OverflowError:
                    raise NotLowerable("an integer of more than 64 bits") from None
        raise NotLowerable(f"a number or an array is needed here, not {describe(operand)}")

    def interval(self, operand: Operand) -> "Interval | None":
        """Return the interval of an integer operand of the current operation, or None if it is no integer."""
        if isinstance(operand, Known):
            return limits_of(operand.value)
        if not isinstance(operand, Val) or operand.num.shape:
            return None
        for value in self._operands():
            found = self.scope.env.get(value)
            if found is operand or (isinstance(found, Val) and found.ir == operand.ir):
                assert self.op is not None
                asked = self.op.args[0] if self.op.callee is read_if else None
                known = self.scope.ranges.at(value, self.scope.ranges.home[self.op], asked)
                if known is not None:
                    return known
        return limits(Type(operand.num.dtype.type)) if operand.num.dtype.kind in "biu" else None

    def _operands(self) -> "list[Op | Param]":
        """Collect the values that the current operation takes, including those inside tuples and slices."""
        todo = list(self.op.args) if self.op is not None and self.op in self.scope.ranges.home else []
        found: list[Op | Param] = []
        while todo:
            value = todo.pop()
            if isinstance(value, Op) and value.callee in (operations.make_tuple, slice):
                todo += value.args
            elif isinstance(value, Op | Param):
                found.append(value)
        return found

    # --------------------------------------------------------------------------------------------- bailing out

    def bail_if(self, condition: T) -> None:
        """Bail out where the condition holds: Python does the call again."""
        self.bail = condition if self.bail is None else builder.or_(self.bail, condition)

    def raise_if(self, condition: T, cls: type[BaseException]) -> None:
        """Handle a condition on which the original raises ``cls``: go to the compiled handler, or bail out if there is none."""
        if self.scope.catching is None:
            self.bail_if(condition)
        else:
            self.scope.catching.append((condition, cls))

    def give_up(self) -> None:
        self.bail_if(builder.constant(True))

    def in_range(self, callee: Callable[..., Any]) -> bool:
        """Is the result of the current op certainly within 64 bits, if the op is this callee on Ints?"""
        if self.op is None or self.op not in self.scope.ranges.home:
            return False
        # the products from which a power is computed stay within the range of the power
        mine = RESULTS.get(self.op.callee) in (RESULTS[callee], RESULTS[operator.pow] if callee is operator.mul else None)
        return mine and self.scope.ranges.has_room(self.op)


def is_raised(operand: Operand) -> bool:
    return isinstance(operand, Known) and is_a(operand.value, Raised)


def name_of(callee: object) -> str:
    if isinstance(callee, str):
        return callee
    name = getattr(callee, "__qualname__", None) or getattr(callee, "__name__", None) or repr(callee)
    module = getattr(callee, "__module__", None)
    return name if module in (None, "builtins", "_operator") else f"{module}.{name}"


def where_called(op: Op) -> str:
    """Describe the callee of an op and its place in the source."""
    at = op.location
    return name_of(op.callee) if at is None else f"{name_of(op.callee)} ({at.file}:{at.line})"


def as_told(told: AbstractValue, found: Operand) -> None:
    """Raise NotLowerable if a result has another dtype or class than the library found for the op: there, NumPy itself was asked."""
    if isinstance(found, Struct) and isinstance(told, Partial) and len(told.parts) == len(found.parts):
        for part, operand in zip(told.parts, found.parts, strict=True):
            as_told(part, operand)
    elif isinstance(found, Val) and found.num.kind != EITHER and (isinstance(told, Array) or type(told) is Type):
        seen = abstract(found)
        if not isinstance(seen, Type) or _facets(told) != _facets(seen):
            raise NotLowerable(f"a value of the traced type {told} is lowered to one of type {seen}")


def _facets(kind: Type) -> tuple[object, ...]:
    """Return the properties of a type that are compared: all that is known, except the memory order of an array."""
    return (kind.cls, kind.dtype, kind.rank) if isinstance(kind, Array) else (kind.cls,)
