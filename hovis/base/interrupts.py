"""Signals, and exceptions that other threads set, that arrive while hovis traces or compiles.

A handler of the user's may raise, at any instruction of the main thread.  In the midst of a trace that would leave tables half filled, or be
taken for something that a folded operation has raised.  So what handlers there are wait meanwhile for a place where nothing is under way, at
most a second; what one raises there goes past all handlers of hovis's own, to the caller.

An exception that another thread sets (``PyThreadState_SetAsyncExc``) can't be kept waiting.  It is told by where it is raised, and goes the same way.
"""

import _signal  # type: ignore[import-not-found]  # as signal, but for enumerations, which take their time
import dis
import os
import signal
import sys
import threading
import time
import weakref
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


class _Mine(threading.local):
    #: where hovis is at work in this thread; what has ended is not, however it was left
    inside: "list[weakref.ref[AtWork]]" = []  # noqa: RUF012 (it is never changed in place)


_mine: Final = _Mine()


class Interrupted(BaseException):
    """A handler of a signal has raised ``error``, or another thread has set it, where hovis was at work."""

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


def let_through(error: BaseException) -> None:
    """Raise Interrupted if an exception that was caught is nothing that was raised by what is done, but was set by another thread."""
    if _mine.inside and is_from_outside(error):
        raise Interrupted(error) from None


#: Where CPython looks for what other threads have set: these instructions raise nothing by themselves, or what the C code raises that they call.
_LOOKING: Final = ("RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD", "CALL", "PRECALL")
#: What C code raises without arguments.
_BARE: Final = (StopIteration, StopAsyncIteration, GeneratorExit, MemoryError, RecursionError)


def is_from_outside(error: BaseException) -> bool:
    """Was an exception set by another thread?  It has no arguments then, and is raised where CPython looks for such."""
    at = error.__traceback__
    if error.args or at is None or isinstance(error, _BARE):
        return False
    while at.tb_next is not None:
        at = at.tb_next
    return dis.opname[at.tb_frame.f_code.co_code[at.tb_lasti]].startswith(_LOOKING)


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

    __slots__ = ("__weakref__", "counts")

    def __enter__(self) -> None:
        global _at_work
        self.counts = threading.get_ident() == threading.main_thread().ident
        # what another thread sets may have arrived in front of the first instruction of an ``__exit__``
        _mine.inside = [*(one for one in _mine.inside if one() is not None), weakref.ref(self)]
        if not self.counts:
            return
        _at_work = len(_mine.inside)
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
        _mine.inside = [one for one in _mine.inside if one() not in (None, self)]
        if not self.counts:
            self._unwrapped(error if not _mine.inside else None)
            return
        if _mine.inside:
            _at_work = len(_mine.inside)
            return
        late = waiting[:]
        _at_work = 0
        for signum, handler in list(_handlers.items()):
            if _signal.getsignal(signum) is _arrived:
                _signal.signal(signum, handler)
        _call_all(late, sys._getframe(1))
        self._unwrapped(error)

    @staticmethod
    def _unwrapped(error: BaseException | None) -> None:
        """Raise what has come from outside as what it is."""
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
