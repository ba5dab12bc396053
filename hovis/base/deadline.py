"""Time limits of tracing: what a first call does besides running the function ends within a few seconds.

The limit counts CPU time of the thread itself (``time.thread_time``), so the load of the machine and the work of other
threads do not change what is compiled.  Code that may take long calls :func:`check` regularly; when the time is up, it raises
:class:`OutOfTime`, and again at each later call, until everything that was begun within the limit has been left.
"""

import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from hovis.base import interrupts, once

#: Default limit for the first call of a jitted function, in seconds.
SECONDS: Final = 2.0
#: Factor by which the limit is longer for a trace that the user asks for explicitly.
ASKED_FOR: Final = 10
VARIABLE: Final = "HOVIS_TRACE_SECONDS"

#: The clock: CPU time of this thread, in seconds.
clock: Callable[[], float] = time.thread_time


class OutOfTime(Exception):
    """Raised when tracing has used up its time; the argument says in words how long that is."""


class _Mine(threading.local):
    end = math.inf
    why = ""


_mine: Final = _Mine()
_unread: Final[set[str]] = set()


def default() -> float:
    """Return the limit that the environment variable sets, or SECONDS."""
    text = os.environ.get(VARIABLE, "").strip()
    try:
        found = float(text or SECONDS)
    except ValueError:
        found = -1.0
    if found >= 0:
        return found
    if text not in _unread:
        _unread.add(text)
        warnings.warn(f"{VARIABLE} must be a number of seconds, not {text!r}: {SECONDS:g} is used instead", RuntimeWarning, stacklevel=2)
    return SECONDS


def _unasked() -> float | None:
    return None


#: Returns the limit in seconds that the options in force set, or None; replaced by the module that keeps the options.
asked: Callable[[], float | None] = _unasked


def limit(times: float = 1) -> float:
    """Return how many seconds of work something may take: what the options in force say, or else the limit of a first call multiplied by
    ``times``.
    """
    found = asked()
    return default() * times if found is None else found


def check() -> None:
    """Raise OutOfTime if the time is up; also handle the signals that have arrived."""
    once.step()
    if interrupts.waiting:
        interrupts.check()
    end = _mine.end
    if end < math.inf and clock() > end:
        raise OutOfTime(why())


def why() -> str:
    """Return the reason to report for something that was abandoned because the time is up."""
    return _mine.why


def left() -> float:
    """Return the number of seconds that are left."""
    return _mine.end - clock()


@contextmanager
def within(seconds: float, before: str = "") -> Iterator[None]:
    """Limit the work of this thread in the enclosed block to so many seconds, and to the limit of any block around it.

    before: describes earlier work that has used up the time, for the message
    """
    end, outer = clock() + seconds, (_mine.end, _mine.why)
    if end < _mine.end:
        _mine.end = end
        _mine.why = f"tracing it {before or f'took longer than {seconds:g} s of work'}; set {VARIABLE} or options(seconds=…) to allow more"
    try:
        yield
    finally:
        _mine.end, _mine.why = outer


@contextmanager
def unbounded() -> Iterator[None]:
    """Exempt the enclosed block from the limit: its time does not count. The block must end without one."""
    start, end = clock(), _mine.end
    _mine.end = math.inf
    try:
        yield
    finally:
        _mine.end = end + clock() - start
