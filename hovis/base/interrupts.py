"""Signals that arrive while hovis traces or compiles.

A handler of the user's may raise, at any instruction of the main thread.  In the midst of a trace that would leave tables half filled, or be
taken for something that a folded operation has raised.  So what handlers there are wait meanwhile for a place where nothing is under way, at
most a second; what one raises there goes past all handlers of hovis's own, to the caller.
"""

import _signal  # type: ignore[import-not-found]  # as signal, but for enumerations, which take their time
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

#: Seconds after which a signal that comes once more is not kept waiting, whatever is under way.
PATIENCE: Final = 1.0

_SIGNALS: Final = range(1, signal.NSIG)
#: Signals that have arrived, and when the first of them did; the handlers that wait, by signal; how often hovis is at work.
waiting: list[int] = []
_since = 0.0
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
_at_work = 0


class Interrupted(BaseException):
    """A handler of a signal has raised ``error``, where hovis was at work."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def _arrived(signum: int, frame: FrameType | None) -> None:
    """A signal has arrived: it is noted, while hovis is at work."""
    global _since
    if not _at_work:
        # the handler itself is not back in its place yet
        _handlers[signum](signum, frame)
        return
    now = time.monotonic()
    if not waiting:
        _since = now
    waiting.append(signum)
    if now - _since > PATIENCE:
        check(frame)


def check(frame: FrameType | None = None) -> None:
    """Call the handlers that wait; Interrupted if one raises."""
    while waiting and threading.get_ident() == threading.main_thread().ident:
        signum = waiting.pop(0)
        try:
            _handlers[signum](signum, frame or sys._getframe(1))
        except BaseException as error:
            raise Interrupted(error) from None


def _call_all(signums: list[int], frame: FrameType) -> None:
    """Call the handlers of these signals, whatever those before them raise: the last that is raised is what the caller gets, behind the others."""
    raised: BaseException | None = None
    for signum in signums:
        try:
            try:
                if raised is not None:
                    raise raised
            finally:
                _handlers[signum](signum, frame)
        except BaseException as error:
            raised = error
    try:
        if raised is not None:
            raise raised
    finally:
        del raised  # its traceback holds this frame


class AtWork:
    """Within, handlers of signals wait; where a trace is made in a trace, until the outer one is done.  Other threads have none."""

    __slots__ = ("counts",)

    def __enter__(self) -> None:
        global _at_work
        self.counts = threading.get_ident() == threading.main_thread().ident
        if not self.counts:
            return
        _at_work += 1
        if _at_work == 1:
            try:
                self._replace()
            except BaseException:
                _at_work = 0
                raise

    def _replace(self) -> None:
        waiting.clear()
        for signum in _SIGNALS:
            handler = _signal.getsignal(signum)
            if callable(handler) and handler is not _arrived:
                _handlers[signum] = handler
                try:
                    _signal.signal(signum, _arrived)
                except ValueError:
                    return  # another interpreter of this process has them

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        global _at_work
        if not self.counts:
            return
        if _at_work > 1:
            _at_work -= 1
            return
        late = waiting[:]
        _at_work = 0
        for signum, handler in list(_handlers.items()):
            if _signal.getsignal(signum) is _arrived:
                _signal.signal(signum, handler)
        _call_all(late, sys._getframe(1))
        if isinstance(error, Interrupted):
            raised = error.error
            before = raised.__context__
            try:
                raise raised
            finally:
                raised.__context__ = before


def _alone() -> None:
    """In the child of a fork nobody is at work: handlers that are not back in their places are called at once."""
    global _at_work
    _at_work = 0
    waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
