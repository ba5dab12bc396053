"""Items of whose classes something is told: where the program goes by the class of one, the residual looks at it.

So nothing has to be looked at on entry, and nobody can change what is relied on.  On the side where the item is of another
class nothing is told any more (``State.untold``): what follows has a copy of its own there, which looks at no item.
Where knowing the class would spare nothing, no item is looked at.
"""

import operator
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.machine.branches import narrow
from hovis.engine.state.frames_and_heap import Frame, substitute
from hovis.engine.state.type_lookup import is_python_class
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Items, Type, Union, Untested

if TYPE_CHECKING:
    from hovis.engine.worklist import Engine

#: Builtins that only ask for a class; with it known there is nothing left of them.
_ASKING: Final = (isinstance, type)
#: Instructions that go through a container, or take something out of it.
_TAKING: Final = frozenset({"GetIter", "GetItem", "Unpack", "UnpackEx"})
#: Other instructions that go by the class of what they take; on an object of whatever class they may do anything.
_BY_CLASS: Final = frozenset({
    "Unary", "ToBool", "Binary", "Inplace", "Compare", "Contains", "SetItem", "DelItem", "Convert", "Format", "ForIter", "WithEnter", "GetLen",
    "GetAttr", "GetMethod", "SetAttr", "DelAttr", *_TAKING,
})  # fmt: skip


def is_told(kind: AbstractValue) -> bool:
    """Does a type tell of items that nobody has looked at?"""
    return any(isinstance(one, Items) and one.is_untested() for one in _members(kind))


def _members(kind: AbstractValue) -> "tuple[AbstractValue, ...] | frozenset[AbstractValue]":
    return kind.members if isinstance(kind, Union) else (kind,)


def look(m: "Engine", frame: Frame, popped: int) -> None:
    """Before an instruction that goes by the classes of items: is each of the class that was told?"""
    taken = frame.stack[-popped:]
    for at, value in enumerate(taken):
        if isinstance(value, Dyn) and isinstance(value.type, Untested) and _matters(m, frame, taken, at, value.type.kind):
            _look_at(m, frame.stack[at - popped])


def _matters(m: "Engine", frame: Frame, taken: list[V], at: int, kind: AbstractValue) -> bool:
    """Would it spare something to know the class of one of the values that an instruction takes?"""
    instruction = frame.code.instructions[frame.pc]
    op, callee = instruction.op, taken[0]
    if op == "Match":
        return True
    if op == "Call":
        known: Any = callee.value if isinstance(callee, Known) else None
        if at == 0 or any(known is asking for asking in _ASKING):
            return True
        return isinstance(known, type) and not m.environment.frozen
    if op not in _BY_CLASS:
        return False
    if not m.environment.frozen or (op == "GetAttr" and instruction.arg == "__class__"):
        return True
    return any((isinstance(one, Items) and op in _TAKING) or (isinstance(one, Type) and is_python_class(one.cls)) for one in _members(kind))


def _look_at(m: "Engine", value: V) -> None:
    """One class after the other."""
    if not isinstance(value, Dyn) or not isinstance(value.type, Untested):
        return   # it stands on the stack twice
    first, *rest = sorted(_members(value.type.kind), key=repr)
    assert isinstance(first, Type)
    cls = m.emit(type, [value], effect=Effect.PURE)
    fits = m.emit(operator.is_, [cls, Known(first.cls)], type=Type(bool), effect=Effect.PURE)
    other = m.state.fork()
    if rest:
        left: AbstractValue = rest[0] if len(rest) == 1 else Union(frozenset(rest))
        substitute(other, value.value, Dyn(value.value, Untested(left)))
    else:
        other.untold = True
    narrow(m.state, fits.value, True)
    if isinstance(first, Items):
        substitute(m.state, value.value, Dyn(value.value, first))
    m.split(fits, other)
