"""Callees that inspect the frames above them: their callers are not inlined."""

import _abc  # type: ignore[import-not-found]
import functools
import inspect
import pdb  # noqa: T100  # it is only named
import sys
import typing
import warnings
from types import CodeType
from typing import Any, Final

from hovis.engine.machine.machine import Machine
from hovis.engine.state.frames_and_heap import Frame
from hovis.engine.state.specialization_tables import GiveUp, Restart
from hovis.engine.state.type_lookup import find, flat
from hovis.engine.state.values import Known, V

#: Builtins that inspect the frame of their caller, and the largest number of arguments with which they do.
_READERS: Final[dict[object, int]] = {
    locals: 0,
    vars: 0,
    dir: 0,
    eval: 1,
    exec: 1,
    warnings.warn: 9,
}
#: Callees that stop in the caller's frame, for a person to look at.
_STOPPERS: Final[tuple[object, ...]] = (breakpoint, pdb.set_trace)
#: Builtins that return frames, from which all frames above can be reached.
_GIVERS: Final[tuple[object, ...]] = (sys._getframe, inspect.currentframe, inspect.stack, inspect.trace)
#: Builtins that call a class's ``__subclasshook__``; that of protocols inspects the frames above it (_allow_reckless_class_checks of Lib/typing.py).
_HOOK_CALLERS: Final[tuple[object, ...]] = (_abc._abc_instancecheck, _abc._abc_subclasscheck, isinstance, issubclass)
#: Builtins that install a hook which observes the functions that are called from then on, and the lines that they run.
_WATCHERS: Final[tuple[object, ...]] = (
    sys.settrace, sys.setprofile, *(getattr(sys.monitoring, name) for name in ("set_events", "set_local_events") if hasattr(sys, "monitoring"))
)  # fmt: skip

#: All of these, by id.
LOOKERS: Final = frozenset(map(id, (*_READERS, *_STOPPERS, *_GIVERS, *_HOOK_CALLERS, *_WATCHERS)))
#: Those that inspect a frame also when other code calls them, with one argument.
_PASSED_ON: Final = frozenset(map(id, (locals, eval, exec, warnings.warn)))
_MANY: Final = sys.maxsize
#: This many frames: the function itself, and one that it calls.
_NEAR: Final = 2


def called(m: Machine, fn: Any, args: list[V]) -> None:
    """Prepare a call of one of LOOKERS: the frames that it inspects have to exist."""
    if _is_one(fn, _WATCHERS):
        raise GiveUp(f"it calls {fn.__name__}, which can observe all later calls and their lines")
    if _is_one(fn, _GIVERS) or (_is_one(fn, _HOOK_CALLERS) and _asks_a_protocol(args)):
        need_callers(m, fn)
    if len(args) <= _READERS.get(fn, _MANY) and not _is_one(fn, _HOOK_CALLERS):
        leave_caller(m, fn)


def passed(m: Machine, *values: V) -> None:
    """Do not inline the current function if a value that is called, or passed as a callable, inspects the frame of its caller."""
    for value in values:
        if isinstance(value, Known):
            held = value.value
            while type(held) is functools.partial:
                held = held.func
            if id(held) in _PASSED_ON:
                leave_caller(m, held)


def _is_one(fn: object, among: tuple[object, ...]) -> bool:
    return any(fn is one for one in among)


def _asks_a_protocol(args: list[V]) -> bool:
    """Does args contain a class whose ``__subclasshook__`` inspects frames (a protocol)?"""
    held = [arg.value for arg in args if isinstance(arg, Known)]
    return any(isinstance(cls, type) and getattr(find(cls, "__subclasshook__"), "__module__", None) == typing.__name__ for value in held for cls in flat(value))


def leave_caller(m: Machine, fn: object) -> None:
    """Do not inline the caller of fn, which inspects its frame: it must be a real frame with the real variables."""
    why = _why(fn)
    caller = next((frame for frame in reversed(m.state.frames[1:]) if not _hidden(m, frame)), None)
    if caller is None:
        raise GiveUp(why)
    m.tables.not_entered[caller.code.code] = why
    raise Restart("not entered")


def need_callers(m: Machine, fn: object) -> None:
    """Do not inline any of the frames above fn, which inspects them.

    The frame of the residual itself has the right source locations, but not the original's variables: if these are inspected, the original
    has to run.
    """
    if len(m.state.frames) <= _NEAR and any("f_locals" in frame.code.code.co_names for frame in m.state.frames):
        raise GiveUp(_why(fn))
    _leave_inlined(m, _why(fn))


def need_callers_again(m: Machine, code: CodeType) -> None:
    """Do not inline the frames above a call that stays a call, if its code was found to inspect them."""
    if code in m.tables.frame_readers:
        _leave_inlined(m, m.tables.not_entered[code])


def _leave_inlined(m: Machine, why: str) -> None:
    inlined = [frame.code.code for frame in m.state.frames[1:] if not _hidden(m, frame)]
    if inlined:
        for code in inlined:
            m.tables.not_entered.setdefault(code, why)
        m.tables.frame_readers.update(inlined)
        raise Restart("not entered")


def caller(m: Machine, level: int) -> "tuple[dict[str, Any], str, int] | int":
    """Return the globals, file and line of the frame level levels up, 1 being the current one.

    If that frame is above the traced function, return the number of levels that it is above instead.
    """
    frames = [frame for frame in reversed(m.state.frames) if not _hidden(m, frame)]
    if level > len(frames):
        return level - len(frames)
    frame = frames[level - 1]
    line = frame.code.instructions[frame.pc].position[0]
    return frame.namespace, frame.code.filename, frame.code.first_line if line is None else line


def _hidden(m: Machine, frame: Frame) -> bool:
    """Is frame that of a model, whose original is C code and has no frame in CPython?"""
    return frame.code.filename.startswith(m.package)


def _why(fn: object) -> str:
    return f"it calls {getattr(fn, '__name__', fn)}, which looks at the frame of its caller"
