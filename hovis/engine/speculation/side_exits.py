"""Side exits: leave the residual, and continue all activations in their original code (deoptimization).

This is done where an assumption does not hold, or the environment has changed: in world 2, where nothing can be relied on.  Objects that the
residual has dissolved are made.
"""

import functools
from typing import Final

from hovis.bytecode.instructions import Code
from hovis.bytecode.resumption import points as resume_points
from hovis.bytecode.resumption.continuation import Activation, Exit
from hovis.bytecode.stack_layout import HANDLED, LASTI, NULL
from hovis.engine.machine.handler_table import HANDLERS
from hovis.engine.machine.machine import Machine
from hovis.engine.state.frames_and_heap import Frame, State
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Effect, Location, Op
from hovis.ir.operations import UNBOUND, leave_handler, resume
from hovis.lattice import Type

#: The location of a side exit: in hovis itself, as the activations have entries of their own in tracebacks.
_INSIDE: Final = Location(resume.__code__.co_filename, resume.__code__.co_firstlineno, None, None, None, resume.__name__, resume.__code__.co_firstlineno)
#: Names of functions and parameters that count frames.
_COUNTING: Final = frozenset({"warn", "stacklevel", "_getframe", "currentframe", "_getframemodulename"})


def leave(m: Machine) -> bool:
    """End the chain by a side exit. Return False, and do nothing, if an activation cannot be continued in its original code."""
    state = m.state
    code = m.frame.code
    site = code.code, code.instructions[m.frame.pc].offset
    activations = None if site in m.assumptions.refuted else _activations(m, state)
    if activations is None:
        return False
    found, handled = activations
    open_handlers = sum(activation.at.stack.count(HANDLED) for activation, _ in found)
    before, block, count = state.fork(), m.block, len(m.block.ops)
    root = state.frames[0]
    root.pc, root.stack, root.locals, state.frames = 0, [], [None] * len(root.locals), [root]
    values = [value for _, held in found for value in held]
    try:
        if m.catching():
            raise NotMaterializable
        for value in values:
            m.operand(value)
    except NotMaterializable:
        m.state, m.block = before, block
        del block.ops[count:]
        return False
    for _ in range(open_handlers):
        m.emit(leave_handler, [], type=Type(type(None)), effect=Effect.IO)
    state.handled = handled
    left = m.emit(resume, [Known(Exit([activation for activation, _ in found], site)), *values])
    assert isinstance(left.value, Op)
    left.value.location = _INSIDE
    root.stack.append(left)
    HANDLERS["Return"](m, None)
    return True


def can_leave(m: Machine, state: State) -> bool:
    """Can a chain in this state be ended by a side exit, unless there are objects that cannot be made?"""
    return _activations(m, state) is not None


def _activations(m: Machine, state: State) -> tuple[list[tuple[Activation, list[V]]], V] | None:
    """Return the activations to be resumed, the outermost first, with their values, and the exception that is handled outside of them; None if one
    of them cannot be resumed.
    """
    if state.classes or m.watching or m.suspended:
        return None
    found: list[tuple[Activation, list[V]]] = []
    handled, mode = state.handled, None
    for frame in reversed(state.frames):
        one = _activation(m, frame, mode, handled)
        if one is None:
            return None
        found.append(one[:2])
        handled, mode = one[2], frame.mode
    found.reverse()
    return found, handled


def _activation(m: Machine, frame: Frame, mode: str | None, handled: V) -> tuple[Activation, list[V], V] | None:
    """Return the activation to be resumed, its values, and the exception that its caller handles; None if it cannot be resumed.

    mode: that of the call in progress, if there is one; handled: the exception that is handled in the frame.
    """
    code = frame.code
    if frame.owner is not None or code.is_generator or code.reads_locals or frame.asked is not None or frame.polls or type(frame.namespace) is not dict:
        return None
    if code.filename.startswith(m.package) or mode not in (None, "value", "discard") or _counts_frames(code):
        return None
    at = resume_points.before(code, frame.pc) if mode is None else resume_points.behind(code, frame.pc, mode == "discard")
    if at is None:
        return None
    if not m.tables.tuples_seen and _compares_objects(code):
        m.tables.tuples_seen = True
        raise Restart("tuples")
    kinds, values, offsets = list(at.stack), frame.stack[: len(frame.stack) - at.dropped], []
    if len(values) != len(kinds) - kinds.count(NULL):
        return None
    stack: list[V] = []
    for k in reversed(range(len(kinds))):
        if kinds[k] == NULL:
            continue
        value = values.pop()
        if kinds[k] == LASTI:
            if not isinstance(value, Known) or type(value.value) is not int:
                return None
            offsets.append(code.instructions[value.value].offset)
        elif kinds[k] == HANDLED:
            stack.append(handled)
            handled = value
        elif isinstance(value, Known) and value.value is UNBOUND:
            kinds[k] = NULL
        elif isinstance(value, Dyn) and value.maybe_unbound:
            return None  # a variable that an inlined comprehension hides (PEP 709)
        else:
            stack.append(value)
    bound = [(slot, value) for slot, value in enumerate(frame.locals[: len(code.names)]) if value is not None and not _is_unbound(value)]
    made = Activation(code.code, at._replace(stack=tuple(kinds)), frame.namespace, tuple([slot for slot, _ in bound]), mode == "discard", tuple(offsets[::-1]))
    return made, [*(value for _, value in bound), *reversed(stack)], handled


@functools.lru_cache(maxsize=1024)
def _compares_objects(code: Code) -> bool:
    """Does the code ask whether two objects are the same, of which neither is a constant?"""
    return any(one.op == "Is" and code.instructions[k - 1].op != "Const" for k, one in enumerate(code.instructions))


@functools.lru_cache(maxsize=1024)
def _counts_frames(code: Code) -> bool:
    """Does the code seem to ask for frames by their number? (Between continued activations and their callers are frames of hovis.)"""
    names = {name for held in code.code.co_consts if type(held) is tuple for name in held if type(name) is str}
    return not _COUNTING.isdisjoint((*code.code.co_names, *names))


def _is_unbound(value: V) -> bool:
    return isinstance(value, Known) and value.value is UNBOUND
