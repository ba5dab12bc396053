"""Callees that look at the frames above them: their callers are not inlined."""

from types import CodeType
from typing import Any

from hovis.engine.machine import Machine
from hovis.engine.state import Frame
from hovis.engine.tables import GiveUp, Restart


def leave_caller(m: Machine, fn: object) -> None:
    """fn looks at its caller's frame: the caller must be a real frame with the real variables."""
    why = _why(fn)
    if len(m.state.frames) == 1:
        raise GiveUp(why)
    m.tables.not_entered[m.frame.code.code] = why
    raise Restart("not entered")


def need_callers(m: Machine, fn: object) -> None:
    """fn looks at the places in the frames above it, not at their variables: none of them may be inlined.

    The residual itself is a frame with the right places.
    """
    _leave_inlined(m, _why(fn))


def need_callers_again(m: Machine, code: CodeType) -> None:
    """A call that stays one, of what was found to look at the frames above it: so it does here."""
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
    """The frame so many levels up, 1 being the current one: its globals, file and line.

    A number: it is so many levels above the traced function.
    """
    frames = [frame for frame in reversed(m.state.frames) if not _hidden(m, frame)]
    if level > len(frames):
        return level - len(frames)
    frame = frames[level - 1]
    line = frame.code.instructions[frame.pc].position[0]
    return frame.namespace, frame.code.filename, frame.code.first_line if line is None else line


def _hidden(m: Machine, frame: Frame) -> bool:
    """Is it a model of what is C code in CPython?"""
    return frame.code.filename.startswith(m.package)


def _why(fn: object) -> str:
    return f"it calls {getattr(fn, '__name__', fn)}, which looks at the frame of its caller"
