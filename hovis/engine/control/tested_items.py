"""Items whose classes are declared but not yet tested: where the program depends on the class of one, the residual tests it.

So no item has to be tested on entry, and no other code can invalidate a class that is relied on.  If an item is of another
class, the declarations are not relied on any more (``State.untold``): the rest of the code has a separate copy for that case,
which tests no item.  Where knowledge of the class would save nothing, no item is tested.
"""

import operator
from typing import TYPE_CHECKING, Any, Final

from hovis.engine.machine import branches
from hovis.engine.state.frames_and_heap import Frame, substitute
from hovis.engine.state.type_lookup import is_python_class
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Effect
from hovis.lattice import AbstractValue, Items, Type, Union, Untested

if TYPE_CHECKING:
    from hovis.engine.worklist import Engine

#: Builtins that only ask for a class; if it is known, nothing of the call is left.
_ASKING: Final = (isinstance, type)
#: Instructions that iterate over a container, or take an item out of it.
_TAKING: Final = frozenset({"GetIter", "GetItem", "Unpack", "UnpackEx"})
#: Instructions that depend on the class of an operand; if it is unknown, they may have any effect.
BY_CLASS: Final = frozenset({
    "Unary", "ToBool", "Binary", "Inplace", "Compare", "Contains", "SetItem", "DelItem", "Convert", "Format", "ForIter", "WithEnter", "GetLen",
    "GetAttr", "GetMethod", "SetAttr", "DelAttr", *_TAKING,
})  # fmt: skip


def is_told(kind: AbstractValue) -> bool:
    """Does a type declare the classes of items that have not been tested?"""
    return any(isinstance(one, Items) and one.is_untested() for one in _members(kind))


def _members(kind: AbstractValue) -> "tuple[AbstractValue, ...] | frozenset[AbstractValue]":
    return kind.members if isinstance(kind, Union) else (kind,)


def look(m: "Engine", frame: Frame, popped: int) -> None:
    """Before an instruction that depends on the classes of items: emit a test that each is of the declared class."""
    taken = frame.stack[-popped:]
    for at, value in enumerate(taken):
        if isinstance(value, Dyn) and isinstance(value.type, Untested) and _matters(m, frame, taken, at, value.type.kind):
            _look_at(m, frame.stack[at - popped])


def _matters(m: "Engine", frame: Frame, taken: list[V], at: int, kind: AbstractValue) -> bool:
    """Does it save work to know the class of the value at position at, of those that an instruction takes?"""
    instruction = frame.code.instructions[frame.pc]
    op, callee = instruction.op, taken[0]
    if op == "Match":
        return True
    if op == "Call":
        known: Any = callee.value if isinstance(callee, Known) else None
        if at == 0 or any(known is asking for asking in _ASKING):
            return True
        return isinstance(known, type) and not m.environment.frozen
    if op not in BY_CLASS:
        return False
    if not m.environment.frozen or (op == "GetAttr" and instruction.arg == "__class__"):
        return True
    return any((isinstance(one, Items) and op in _TAKING) or (isinstance(one, Type) and is_python_class(one.cls)) for one in _members(kind))


def _look_at(m: "Engine", value: V) -> None:
    """Test one declared class of value; a Union of classes is tested one class after the other."""
    if not isinstance(value, Dyn) or not isinstance(value.type, Untested):
        return   # the value is on the stack twice, and has been tested already
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
    branches.narrow(m.state, fits.value, True)
    if isinstance(first, Items):
        substitute(m.state, value.value, Dyn(value.value, first))
    branches.split(m, fits, other)
