"""How long tracing may take: what a first call does besides running the function ends within some seconds.

They are seconds that the thread itself has worked (``time.thread_time``): how busy the machine is, and what other threads
do, does not change what is compiled.  Whatever may take long calls :func:`check` now and then; when the time is up it raises
:class:`OutOfTime`, here and at each later call, until all that was begun within the bound has been left.
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

#: Seconds that a first call of a jitted function may take, where nothing else is said.
SECONDS: Final = 2.0
#: Who asks for a trace by name waits so many times as long.
ASKED_FOR: Final = 10
VARIABLE: Final = "HOVIS_TRACE_SECONDS"

#: What time it is for this thread.
clock: Callable[[], float] = time.thread_time


class OutOfTime(Exception):
    """Tracing has taken as long as it may; the argument says how long that is, in words."""


class _Mine(threading.local):
    end = math.inf
    why = ""


_mine: Final = _Mine()
_unread: Final[set[str]] = set()


def default() -> float:
    """What the environment variable says, or SECONDS."""
    text = os.environ.get(VARIABLE, "").strip()
    try:
        found = float(text or SECONDS)
    except ValueError:
        found = -1.0
    if found >= 0:
        return found
    if text not in _unread:
        _unread.add(text)
        warnings.warn(f"{VARIABLE} is a number of seconds, not {text!r}: it is taken for {SECONDS:g}", RuntimeWarning, stacklevel=2)
    return SECONDS


def _unasked() -> float | None:
    return None


#: How many seconds the options in force allow for, if they say so; set by who keeps these.
asked: Callable[[], float | None] = _unasked


def limit(times: float = 1) -> float:
    """How many seconds of work something may take: where the options in force say nothing, so many times what a first call may."""
    found = asked()
    return default() * times if found is None else found


def check() -> None:
    """Raise OutOfTime if the time is up; signals that have arrived are heard of."""
    once.step()
    if interrupts.waiting:
        interrupts.check()
    end = _mine.end
    if end < math.inf and clock() > end:
        raise OutOfTime(why())


def why() -> str:
    """What to say of something that was left because the time is up."""
    return _mine.why


def left() -> float:
    """How many seconds there are."""
    return _mine.end - clock()


@contextmanager
def within(seconds: float, before: str = "") -> Iterator[None]:
    """What is done within takes so many seconds of this thread at most, and no longer than what is around it.

    before: what has taken so long that there are no more
    """
    end, outer = clock() + seconds, (_mine.end, _mine.why)
    if end < _mine.end:
        _mine.end = end
        _mine.why = f"tracing it {before or f'took longer than {seconds:g} s of work'}; {VARIABLE} or options(seconds=…) allow for more"
    try:
        yield
    finally:
        _mine.end, _mine.why = outer


@contextmanager
def unbounded() -> Iterator[None]:
    """What is done within does not count, and ends by itself."""
    start, end = clock(), _mine.end
    _mine.end = math.inf
    try:
        yield
    finally:
        _mine.end = end + clock() - start
