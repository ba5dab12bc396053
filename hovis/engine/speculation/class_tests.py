"""Tests of classes: where the program depends on the class of an unknown value, the residual tests that it is that of an example.

Where a value is of another class, the residual is left by a side exit.
"""

import operator
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from hovis.engine.control.tested_items import BY_CLASS
from hovis.engine.machine import branches
from hovis.engine.speculation import side_exits
from hovis.engine.speculation.assumptions import Assumptions
from hovis.engine.speculation.examples import NOTHING
from hovis.engine.state.frames_and_heap import Frame, substitute
from hovis.engine.state.type_lookup import is_common, is_python_class
from hovis.engine.state.values import Dyn, Known, Ref, V
from hovis.ir.analysis.live_ranges import may_end_visibly
from hovis.ir.model import Block, Branch, Edge, Effect, Jump
from hovis.lattice import BOTTOM, AbstractValue, Type, attribute_slots, inline_attributes, join
from hovis.lattice import Any as AnyType

if TYPE_CHECKING:
    from hovis.engine.worklist import Engine


def look(m: "Engine", frame: Frame, popped: int) -> None:
    """Before an instruction that depends on the classes of its operands: emit a test that each is of the class of its example, or else of the class
    that was seen there (type_feedback), or on which CPython has executed the instruction. Of a call: that the callee is the one that was seen.
    """
    assumptions = m.assumptions
    instruction = frame.code.instructions[frame.pc]
    if (frame.code.code, instruction.offset) in assumptions.refuted:
        return
    taken = popped
    if instruction.op == "Call":
        callee = frame.stack[-popped]
        if isinstance(callee, Dyn) and isinstance(callee.type, AnyType) and not callee.maybe_unbound:
            _look_at_callee(m, callee)
            callee = frame.stack[-popped]
        if not _is_c_code(m, callee):
            return
        taken -= 1
    elif instruction.op == "SetAttr":
        _look_at_old_value(m, frame.stack[-1], instruction.arg)
        taken = 1
    elif instruction.op not in BY_CLASS:
        return
    seen: Sequence[tuple[type, ...]] | None = None
    for at in range(-taken, 0):
        value = frame.stack[at]  # an earlier test may have replaced it
        if isinstance(value, Dyn) and isinstance(value.type, AnyType) and not value.maybe_unbound and not value.maybe_end:
            if seen is None:
                seen, is_complete = _seen(assumptions, m.state.frames)
            kinds = _expected(assumptions, value, seen[at] if -at <= len(seen) <= popped else (), is_complete)
            if kinds and side_exits.can_leave(m, m.state):
                _test(m, value, kinds)


def _is_c_code(m: "Engine", callee: V) -> bool:
    """Is a callee known, and not written in Python? (What is, is entered, and tests what it depends on.)"""
    if isinstance(callee, Ref):
        bound = m.state.heap[callee.aid]
        if bound.kind != "method":
            return False
        callee = bound.cells[0]
    return isinstance(callee, Known) and type(callee.value) is not FunctionType


def _seen(assumptions: Assumptions, frames: Sequence[Frame]) -> tuple[Sequence[tuple[type, ...]], bool]:
    """Return the classes that were seen of each operand of the instruction that comes next, and whether they were seen on this path."""
    found = assumptions.seen(frames)
    if found is not None:
        return found.kinds, True
    return [() if cls is None else (cls,) for cls in assumptions.profile.classes(frames[-1].code, frames[-1].pc)], False


def _expected(assumptions: Assumptions, value: Dyn, seen: tuple[type, ...], is_complete: bool) -> tuple[type, ...]:
    """Return the classes that a value is tested for, if any: that of its example, unless this is only one of several on this path; or those seen."""
    example = assumptions.examples.of(value)
    cls = type(example)
    if example is NOTHING or (is_complete and assumptions.examples.varies(value)):
        return seen if len(seen) == 1 or all(map(is_common, seen)) else ()
    return (cls,) if is_common(cls) or is_python_class(cls) or (len(seen) == 1 and seen[0] is cls) else ()


def _look_at_callee(m: "Engine", callee: Dyn) -> None:
    """Emit a test that a callee is the one that was seen."""
    seen = m.assumptions.seen(m.state.frames)
    found = seen.callee if seen is not None and seen.count > 1 else None
    if found is None or not side_exits.can_leave(m, m.state):
        return
    fits = m.emit(operator.is_, [callee, Known(found)], type=Type(bool), effect=Effect.PURE)
    other = m.state.fork()
    other.world = 2
    substitute(m.state, callee.value, Known(found))
    branches.split(m, fits, other)


def _look_at_old_value(m: "Engine", target: V, name: str) -> None:
    """Before a store into an attribute of an object of a known class: emit a test that the class of the old value is one without finalizers, like that
    of the present one, or of those that were seen. (A store into an unknown object may change a known one: guards have to be tested behind it in any
    case.)
    """
    cls, old = _owner(m, target), _old_class(m, target, name)
    if cls is None or old is None or not is_python_class(cls) or not attribute_slots.is_generic(cls) or not inline_attributes.can_read(cls, name):
        return
    if may_end_visibly(Type(old)) or not side_exits.can_leave(m, m.state):
        return
    if isinstance(target, Known):
        m.environment.thaw_attribute(target.value, name)
    _test(m, m.emit(getattr, [target, Known(name), Known(None)], effect=Effect.READS), (old,))
    m.ends_nothing = True


def _owner(m: "Engine", target: V) -> type | None:
    """Return the class of a real object."""
    if isinstance(target, Known):
        return type(target.value)
    return m.class_of(target) if isinstance(target, Dyn) else None


def _old_class(m: "Engine", target: V, name: str) -> type | None:
    """Return the class that an attribute probably has before it is replaced."""
    if isinstance(target, Known):
        held = target.value
        old = inline_attributes.read(held, name, NOTHING) if inline_attributes.can_read(type(held), name) else NOTHING
        return None if old is NOTHING else type(old)
    seen = m.assumptions.seen(m.state.frames)
    return None if seen is None else seen.replaced


def _test(m: "Engine", value: Dyn, kinds: tuple[type, ...]) -> None:
    """Emit a test that value is of one of these classes, and a side exit where it is not."""
    found = m.emit(type, [value], effect=Effect.PURE)
    fitting = Block()
    for cls in kinds[:-1]:
        fits, other = _is(m, found, cls), Block()
        m.block.terminator = Branch(fits.value, Edge(fitting), Edge(other), m.location())
        m.block = other
    cls = kinds[-1]
    fits = _is(m, found, cls)
    leaving = m.state.fork()
    leaving.world = 2
    if len(kinds) == 1:
        branches.narrow(m.state, fits.value, True)
    branches.split(m, fits, leaving)
    if len(kinds) > 1:
        m.block.terminator = Jump(Edge(fitting), m.location())
        m.block = fitting
        union: AbstractValue = BOTTOM
        for cls in kinds:
            union = join(union, Type(cls))
        substitute(m.state, value.value, Dyn(value.value, union))
    elif cls is bool:  # what decides a branch has to be a bool in the IR, too
        substitute(m.state, value.value, _is(m, Dyn(value.value, Type(bool)), True))


def _is(m: "Engine", value: Dyn, cls: object) -> Dyn:
    return m.emit(operator.is_, [value, Known(cls)], type=Type(bool), effect=Effect.PURE)
