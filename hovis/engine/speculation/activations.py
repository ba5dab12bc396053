"""Activations: find what continues each frame of a state in its original code, from where it stands (see bytecode.resumption)."""

import functools
import os
import sys
from collections.abc import Sequence
from types import CodeType
from typing import Final, NamedTuple

from hovis.bytecode.instructions import JUMPS, TERMINAL, Code, effect
from hovis.bytecode.normalize import normalize
from hovis.bytecode.resumption import points as resume_points
from hovis.bytecode.resumption.continuation import Activation
from hovis.bytecode.stack_layout import HANDLED, LASTI, NULL
from hovis.engine.machine.machine import Machine
from hovis.engine.state import lifetimes
from hovis.engine.state.frames_and_heap import Frame, State, live_after
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.values import NONE, Dyn, Known, Ref, V
from hovis.engine.traced import construction
from hovis.ir.operations import END, UNBOUND

#: The code of the model for calls of classes: the frame of ``__init__`` is directly on top of that of the caller in CPython.
_CONSTRUCT: Final = construction.construct.__code__
#: Names of functions and attributes that give other frames.
_COUNTING: Final = frozenset(
    {"_getframe", "currentframe", "_getframemodulename", "f_back", "extract_stack", "format_stack", "print_stack", "walk_stack", "stack", "getouterframes"}
)  # fmt: skip
#: The number of frames that code counts, if it is not known.
UNKNOWN: Final = sys.maxsize
#: Instructions with which straight-line code ends.
_ENDS: Final = JUMPS | TERMINAL
#: How a frame may take the items of a generator that runs on top of it: by an instruction, which is executed again, or as the result of a call.
_BY_INSTRUCTION: Final = ("for", "send")
_BY_CALL: Final = ("value", "discard", "end")


class Found(NamedTuple):
    """An activation with its values, and the number of the generator that it is the body of.

    The value that continues the call of a generator is missing (see ``Activation.calls``). mode: how that gives its items.
    """

    activation: Activation
    values: Sequence[V]
    generator: int | None
    mode: str


class _Above(NamedTuple):
    """The frame that another one has called, or whose generator it has resumed: the mode, the number of the generator, and the attribute that it is
    asked for (see Frame).
    """

    mode: str
    generator: int | None
    asked: V | None = None
    name: str = ""


def of_state(m: Machine, state: State) -> tuple[list[Found], V] | None:
    """Return the activations of all frames, the outermost first, and the exception that is handled outside of them; None if one of them cannot be
    resumed.
    """
    root = state.frames[0]
    if root.code.is_generator and root.owner is None:
        return None  # gi_yieldfrom and the line of its frame would be those of a generator that delegates to its rest
    if state.classes or not all(_can_continue(m, obj) for aid in m.suspended if (obj := state.heap.get(aid)) is not None):
        return None
    found: list[Found] = []
    handled = state.handled
    above: _Above | None = None
    made: V | None = None
    for depth, frame in zip(reversed(range(len(state.frames))), reversed(state.frames), strict=True):
        mode = above.mode if above is not None else ""
        if mode == "value" and above is not None and above.generator is None:
            if frame.code.code is _CONSTRUCT and made is None and frame.asked is None and above.asked is None and _returns_none(found[-1].activation.code):
                above, made = _Above(frame.mode, None), frame.locals[0] if frame.mode == "value" else None
                continue
            if _is_model(m.package, frame.code) and _returns_result(frame) and (frame.asked is None or above.asked is None):
                asked, name = (above.asked, above.name) if frame.asked is None else (frame.asked, frame.asked_name)
                above = _Above(frame.mode, None, asked, name)
                continue
        counted = counted_frames(frame.code)
        if counted > 1 and counted > 1 + sum(not _is_model(m.package, outer.code) for outer in state.frames[:depth]):
            return None
        one = _activation(m, frame, above, handled)
        if one is None:
            return None
        activation, values, handled = one
        if made is not None:
            activation, values, made = activation._replace(constructs=True), [*values, made], None
        if above is not None and above.asked is not None:
            activation, values = activation._replace(asks=above.name), [*values, above.asked]
        found.append(Found(activation, values, frame.owner, mode))
        above = _Above(frame.mode, frame.owner, frame.asked, frame.asked_name)
    found.reverse()
    return found, handled


@functools.lru_cache(maxsize=4096)
def _is_model(package: str, code: Code) -> bool:
    """Is the code a model of C code? (There is other code of hovis that is traced: that of transforms.) package: the folder of hovis."""
    return code.filename.startswith((os.path.join(package, "library", ""), os.path.dirname(construction.__file__) + os.sep))


def _returns_result(frame: Frame) -> bool:
    """Does a frame only return the result of the call in progress?"""
    instructions = frame.code.instructions
    return instructions[frame.pc].op in ("Call", "CallEx") and instructions[frame.pc].handler is None and instructions[frame.pc + 1].op == "Return"


def of_generator(m: Machine, obj: VObj) -> Found | None:
    """Return the activation of a generator that has not begun, or is suspended: it stands before its Yield, which yields None once more. None if it
    cannot be resumed.
    """
    status, code, namespace, pc, count, _, _ = obj.extra
    stack, handled = list(obj.cells[count:]), NONE
    if status == "new":
        pc += 1  # behind what drops the value with which it is started
    else:
        pc -= 1
        stack.append(NONE)
        if positions := code.handling[pc]:  # see generators.yielded
            handled, stack[positions[0]] = stack[positions[0]], NONE
    if counted_frames(code) > 1:
        return None
    frame = Frame(code, -1, list(obj.cells[:count]), namespace, "value")
    frame.stack, frame.pc = stack, pc
    one = _activation(m, frame, None, handled)
    return None if one is None else Found(one[0], one[1], None, "")


def _can_continue(m: Machine, obj: VObj) -> bool:
    """Can a generator be continued in its original code, or does it not have to be?"""
    return obj.kind != "generator" or obj.node is not None or obj.extra[0] == "finished" or not m.is_model(obj.extra[1])


@functools.lru_cache(maxsize=1024)
def _returns_none(code: CodeType) -> bool:
    """Does the code return nothing but None?"""
    instructions = normalize(code).instructions
    entered = {one.arg[1] if one.op == "Branch" else one.arg for one in instructions if one.op in JUMPS}
    ends = [k for k, one in enumerate(instructions) if one.op == "Return"]
    return all(k not in entered and instructions[k - 1].op == "Const" and instructions[k - 1].arg is None for k in ends)


def _activation(m: Machine, frame: Frame, above: _Above | None, handled: V) -> tuple[Activation, list[V], V] | None:
    """Return the activation to be resumed, its values, and the exception that its caller handles; None if it cannot be resumed.

    above: the frame that it has called, or whose generator it has resumed; handled: the exception that is handled in the frame.
    """
    code = frame.code
    if code.is_coroutine or code.is_async_generator or code.reads_locals or frame.polls or type(frame.namespace) is not dict:
        return None
    is_model = _is_model(m.package, code)
    if is_model:
        frame = _live_part(frame, above is not None)
        if code.is_generator or _is_at_work(frame):
            return None
    elif code.filename.startswith(m.package):
        return None
    stack, calls, discards, end = list(frame.stack), False, False, None
    if above is None or (above.generator is not None and above.mode in _BY_INSTRUCTION):
        if above is not None and above.mode == "send":
            stack.append(NONE)
        at = resume_points.before(code, frame.pc)
    elif above.generator is None and above.mode == "step_for":
        end, at = END, resume_points.behind(code, frame.pc, False, steps=True)
    elif above.mode in _BY_CALL or (above.generator is None and above.mode == "step_end"):
        calls, discards = above.generator is not None, above.mode == "discard"
        at = resume_points.behind(code, frame.pc, discards)
    else:
        return None
    if at is None:
        return None
    if not m.tables.tuples_seen and _compares_objects(code):
        m.tables.tuples_seen = True
        raise Restart("tuples")
    kinds, values, offsets = list(at.stack), stack[: len(stack) - at.dropped], []
    if len(values) != len(kinds) - kinds.count(NULL):
        return None
    held: list[V] = []
    for k in reversed(range(len(kinds))):
        if kinds[k] == NULL:
            continue
        value = values.pop()
        if kinds[k] == LASTI:
            if not isinstance(value, Known) or type(value.value) is not int:
                return None
            offsets.append(code.instructions[value.value].offset)
        elif kinds[k] == HANDLED:
            held.append(handled)
            handled = value
        elif isinstance(value, Known) and value.value is UNBOUND:
            kinds[k] = NULL
        elif isinstance(value, Dyn) and value.maybe_unbound:
            return None  # a variable that an inlined comprehension hides (PEP 709)
        else:
            held.append(value)
    bound = [(slot, value) for slot, value in enumerate(frame.locals[: len(code.names)]) if value is not None and not _is_unbound(value)]
    slots = tuple([slot for slot, _ in bound])
    made = Activation(code.code, at._replace(stack=tuple(kinds)), frame.namespace, slots, discards, tuple(offsets[::-1]), False, calls, is_model, end)
    return made, [*(value for _, value in bound), *reversed(held)], handled


def _live_part(frame: Frame, calls: bool) -> Frame:
    """Return a copy of a frame of a model, without the variables that it does not use any more. calls: it is in a call."""
    live = live_after(frame.code, frame.pc) if calls else frame.code.live[frame.pc]
    frame = frame.fork()
    frame.locals = [value if live >> k & 1 else None for k, value in enumerate(frame.locals)]
    return frame


def _is_at_work(frame: Frame) -> bool:
    """Does a method of a stand-in still use the object that it works on? The real one does not have its attributes."""
    held = frame.locals[0] if frame.code.names[:1] == ("self",) else None
    return isinstance(held, Ref)


@functools.lru_cache(maxsize=1024)
def _compares_objects(code: Code) -> bool:
    """Does the code ask whether two objects are the same, of which neither is a constant?"""
    return any(one.op == "Is" and code.instructions[k - 1].op != "Const" for k, one in enumerate(code.instructions))


@functools.lru_cache(maxsize=1024)
def counted_frames(code: Code) -> int:
    """Return how many frames the code seems to count: 1 for its own, when it calls ``warn``; UNKNOWN if it is not known how many.

    Between continued activations and their callers are frames of hovis.
    """
    names = {name for held in code.code.co_consts if type(held) is tuple for name in held if type(name) is str}
    if not _COUNTING.isdisjoint((*code.code.co_names, *names)) or "stacklevel" in code.code.co_names:
        return UNKNOWN
    counted = 0
    for k, one in enumerate(code.instructions):
        if one.arg == "warn":
            counted = max(counted, _level(code, k))
        elif one.op == "Call" and "stacklevel" in one.arg[1]:
            counted = max(counted, _level_of_call(code, k))
    return counted


def _level(code: Code, start: int) -> int:
    """Return the level of the warning that the callable gives that the instruction ``start`` pushes; UNKNOWN if it is not called at once."""
    depth, k = 1, start + 1
    while code.instructions[k].op not in _ENDS:
        pops, pushes = effect(code.instructions[k].op, code.instructions[k].arg)
        if depth <= pops:
            return _level_of_call(code, k) if code.instructions[k].op == "Call" else UNKNOWN
        depth, k = depth - pops + pushes, k + 1
    return UNKNOWN


def _level_of_call(code: Code, k: int) -> int:
    """Return the ``stacklevel`` that is passed by a call."""
    count, names = code.instructions[k].arg
    if "stacklevel" not in names:
        return 1 if count <= 2 else UNKNOWN
    level = code.instructions[k - 1]
    return level.arg if names[-1] == "stacklevel" and level.op == "Const" and type(level.arg) is int else UNKNOWN


def _is_unbound(value: V) -> bool:
    return isinstance(value, Known) and value.value is UNBOUND


def some_end(m: Machine) -> bool:
    """Has the present instruction dropped a generator whose end is visible, and not been traced yet?"""
    return bool(m.suspended) and bool(lifetimes.dying(m))
