"""Handling of signals, and of exceptions that other threads set, that arrive while hovis traces or compiles.

A signal handler of the user may raise at any instruction of the main thread.  During a trace, that would leave tables half filled, or the exception
would be taken for one that a folded operation has raised.  So signal handlers are deferred, for at most a second, to a point where nothing is in
progress; an exception that one raises there passes all exception handlers of hovis and reaches the caller.

An exception that another thread sets (``PyThreadState_SetAsyncExc``) can't be deferred.  It is recognized by where it is raised, and reaches the caller
in the same way.
"""

import _signal  # type: ignore[import-not-found]  # the module signal without its enumerations, which are slow
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

#: Seconds for which signals may wait; the handlers run at once if another signal arrives later than that, whatever is in progress.
PATIENCE: Final = 1.0

_SIGNALS: Final = range(1, signal.NSIG)
#: Signals that have arrived, and the time of the first; the deferred handlers, by signal; the number of active ``AtWork`` blocks.
waiting: list[int] = []
_since = 0.0
_handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
_at_work = 0


class _Mine(threading.local):
    #: the active ``AtWork`` blocks of this thread; weak, so that one that was left without ``__exit__`` does not count
    inside: "list[weakref.ref[AtWork]]" = []  # noqa: RUF012 (it is never changed in place)


_mine: Final = _Mine()


class Interrupted(BaseException):
    """Carries ``error``, which a signal handler raised or another thread set while hovis was at work, past all handlers of hovis."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def _arrived(signum: int, frame: FrameType | None) -> None:
    """Record a signal that arrives while hovis is at work; call its handler at once otherwise, or if the signals have waited for too long."""
    global _since
    if not _at_work:
        # the original handler has not been restored yet
        _handlers[signum](signum, frame)
        return
    now = time.monotonic()
    if not waiting:
        _since = now
    waiting.append(signum)
    if now - _since > PATIENCE:
        check(frame)


def check(frame: FrameType | None = None) -> None:
    """Call the waiting signal handlers; raise Interrupted if one of them raises."""
    while waiting and threading.get_ident() == threading.main_thread().ident:
        signum = waiting.pop(0)
        try:
            _handlers[signum](signum, frame or sys._getframe(1))
        except BaseException as error:
            raise Interrupted(error) from None


def let_through(error: BaseException) -> None:
    """Raise Interrupted if a caught exception was set by another thread, not raised by the work of this one."""
    if _mine.inside and is_from_outside(error):
        raise Interrupted(error) from None


#: Instructions at which CPython checks for exceptions set by other threads: they raise none themselves, except those of the C code that they call.
_LOOKING: Final = ("RESUME", "JUMP_BACKWARD", "POP_JUMP_BACKWARD", "CALL", "PRECALL")
#: Exceptions that C code raises without arguments.
_BARE: Final = (StopIteration, StopAsyncIteration, GeneratorExit, MemoryError, RecursionError)


def is_from_outside(error: BaseException) -> bool:
    """Was an exception set by another thread? It then has no arguments, and is raised at an instruction where CPython looks for such exceptions."""
    at = error.__traceback__
    if error.args or at is None or isinstance(error, _BARE):
        return False
    while at.tb_next is not None:
        at = at.tb_next
    return dis.opname[at.tb_frame.f_code.co_code[at.tb_lasti]].startswith(_LOOKING)


def _call_all(signums: list[int], frame: FrameType) -> None:
    """Call the handlers of all these signals, whatever earlier ones raise. The caller gets the last exception that is raised; the earlier ones
    are its context.
    """
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
    """Context manager in which signal handlers wait, until the outermost one ends. Threads other than the main thread run no handlers."""

    __slots__ = ("__weakref__", "counts")

    def __enter__(self) -> None:
        global _at_work
        self.counts = threading.get_ident() == threading.main_thread().ident
        # an exception set by another thread may have arrived before the first instruction of an ``__exit__``, which then never ran
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
                    return  # this is not the main interpreter, which alone may set signal handlers

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
        """Raise the original exception if error is an Interrupted."""
        if isinstance(error, Interrupted):
            raised = error.error
            before = raised.__context__
            try:
                raise raised
            finally:
                raised.__context__ = before


def _alone() -> None:
    """Reset the state in the child of a fork, where nobody is at work: handlers that are not restored yet are called at once."""
    global _at_work
    _at_work = 0
    waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
