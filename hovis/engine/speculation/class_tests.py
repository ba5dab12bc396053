"""Tests of classes: where the program depends on the class of an unknown value, the residual tests that it is that of an example.

Where a value is of another class, the residual is left by a side exit.
"""

import operator
from types import FunctionType
from typing import TYPE_CHECKING, Final

from hovis.engine.control.tested_items import BY_CLASS
from hovis.engine.machine import branches
from hovis.engine.speculation import side_exits
from hovis.engine.speculation.examples import NOTHING
from hovis.engine.state.frames_and_heap import Frame, substitute
from hovis.engine.state.type_lookup import is_python_class
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Effect
from hovis.lattice import Any as AnyType
from hovis.lattice import Type, attribute_slots, inline_attributes

if TYPE_CHECKING:
    from hovis.engine.worklist import Engine

#: Builtin classes that are tested for; and those that are written in Python.
_TESTED: Final = frozenset({int, float, complex, bool, str, bytes, type(None), list, dict, tuple, set, frozenset})


def look(m: "Engine", frame: Frame, popped: int) -> None:
    """Before an instruction that depends on the classes of its operands: emit a test that each is of the class of its example."""
    assumptions = m.assumptions
    instruction = frame.code.instructions[frame.pc]
    if (frame.code.code, instruction.offset) in assumptions.refuted:
        return
    taken = popped
    if instruction.op == "Call":
        callee = frame.stack[-popped]
        if not isinstance(callee, Known) or type(callee.value) is FunctionType:
            return
        taken -= 1
    elif instruction.op == "SetAttr":
        _look_at_old_value(m, frame.stack[-1], instruction.arg)
        taken = 1
    elif instruction.op not in BY_CLASS:
        return
    for at in range(-taken, 0):
        value = frame.stack[at]  # an earlier test may have replaced it
        if isinstance(value, Dyn) and isinstance(value.type, AnyType) and not value.maybe_unbound and not value.maybe_end:
            example = assumptions.examples.of(value)
            cls = type(example)
            if example is not NOTHING and (cls in _TESTED or is_python_class(cls)) and side_exits.can_leave(m, m.state):
                _test(m, value, cls)


def _look_at_old_value(m: "Engine", target: V, name: str) -> None:
    """Before a store into an attribute of a known object: emit a test that the class of the old value is one without finalizers, like that of the
    present one. (A store into an unknown object may change a known one: guards have to be tested behind it in any case.)
    """
    held = target.value if isinstance(target, Known) else None
    cls = type(held)
    if not isinstance(target, Known) or not is_python_class(cls) or not attribute_slots.is_generic(cls):
        return
    old = inline_attributes.read(held, name, NOTHING) if inline_attributes.can_read(cls, name) else NOTHING
    if old is NOTHING or may_end_visibly(Type(type(old))) or not side_exits.can_leave(m, m.state):
        return
    m.environment.thaw_attribute(held, name)
    _test(m, m.emit(getattr, [target, Known(name), Known(None)], effect=Effect.READS), type(old))
    m.ends_nothing = True


def _test(m: "Engine", value: Dyn, cls: type) -> None:
    """Emit a test that value is of this class, and a side exit where it is not."""
    found = m.emit(type, [value], effect=Effect.PURE)
    fits = m.emit(operator.is_, [found, Known(cls)], type=Type(bool), effect=Effect.PURE)
    other = m.state.fork()
    other.world = 2
    branches.narrow(m.state, fits.value, True)
    branches.split(m, fits, other)
    if cls is bool:  # what decides a branch has to be a bool in the IR, too
        substitute(m.state, value.value, m.emit(operator.is_, [Dyn(value.value, Type(bool)), Known(True)], type=Type(bool), effect=Effect.PURE))
