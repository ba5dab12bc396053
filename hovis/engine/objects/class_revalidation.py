"""Test the classes of objects that the trace has made and that unknown code has seen: it may have assigned another class to them.

The contents of such an object are read again in any case; before an operation that depends on its class, the residual tests whether
the object still has that class.  Reads of methods have their own test (``lacks``).
"""

import types
from typing import Any, Final

from hovis.engine.machine.machine import Machine
from hovis.engine.objects.instances import dict_descriptor, is_slot
from hovis.engine.state import class_templates
from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.type_lookup import ABSENT, find, is_data_descriptor, own_getattribute
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.lattice import ANY, Type
from hovis.lattice.inspection import is_a

#: Instructions that depend on the classes of all their operands.
_BY_CLASS: Final = frozenset({
    "Unary", "ToBool", "Binary", "Inplace", "Compare", "Contains", "GetItem", "SetItem", "DelItem", "Unpack", "UnpackEx", "Convert", "Format", "GetIter",
    "ForIter", "WithEnter", "Match", "GetLen", "GetSuper",
})  # fmt: skip
_FUNCTION: Final = types.FunctionType


def before(m: Machine, frame: Frame, popped: int) -> list[V]:
    """Return the objects whose class the next instruction relies on, and whose class may have changed."""
    instruction = frame.code.instructions[frame.pc]
    op, taken = instruction.op, frame.stack[-popped:]
    if op in ("GetAttr", "GetMethod", "SetAttr", "DelAttr"):
        return [value for value in taken[-1:] if _is_doubted(m, value) and _is_of_class(m.class_of(value), instruction.arg, op)]
    if op == "Call" and not _asks(taken[0]):
        taken = taken[:1]
    elif op != "Call" and op not in _BY_CLASS:
        return []
    return [value for k, value in enumerate(taken) if _is_doubted(m, value) and value not in taken[:k]]


def _is_doubted(m: Machine, value: V) -> bool:
    """May other code have seen the value and changed its class? For a value merged from several paths, only its class decides."""
    if isinstance(value, Ref):
        obj = m.state.heap[value.aid]
        return obj.forgotten is True and obj.kind == "instance" and obj.cls in m.doubted and class_templates.of(obj.cls) is None
    return isinstance(value, Dyn) and isinstance(value.type, Type) and value.type.cls in m.doubted and class_templates.of(value.type.cls) is None


def _asks(callee: V) -> bool:
    """Is the callee a class, or a function of a C module, which may depend on the classes of its arguments?"""
    if not isinstance(callee, Known):
        return False
    held: Any = callee.value
    return is_a(held, type) or (type(held) is types.BuiltinFunctionType and isinstance(held.__self__, types.ModuleType))


def _is_of_class(cls: Any, name: str, op: str) -> bool:
    """Does the class decide what happens to the attribute, other than by a method (for which there is a test whether the instance hides it)?"""
    raw = find(cls, name)
    if raw is not ABSENT and not is_slot(raw) and name != "__dict__" and (is_data_descriptor(raw) or not dict_descriptor(cls)):
        return True
    if op == "SetAttr" or op == "DelAttr":
        return isinstance(find(cls, "__setattr__" if op == "SetAttr" else "__delattr__"), _FUNCTION)
    return own_getattribute(cls) or (raw is ABSENT and find(cls, "__getattr__") is not ABSENT)


def of_any_class(m: Machine, state: State, gone: V) -> None:
    """Replace gone, everywhere in the state, by a value of unknown class."""
    real = m.operand(gone)

    def changed(value: Any) -> Any:
        is_it = value.aid == gone.aid if isinstance(value, Ref) and isinstance(gone, Ref) else isinstance(value, Dyn) and value.value is real
        return Dyn(real, ANY) if is_it else value

    for frame in state.frames:
        frame.locals = [changed(value) for value in frame.locals]
        frame.stack = [changed(value) for value in frame.stack]
    for aid, obj in state.heap.items():
        cells = tuple(changed(cell) for cell in obj.cells)
        if any(new is not old for new, old in zip(cells, obj.cells, strict=True)):
            state.heap[aid] = obj.replace(cells=cells)
