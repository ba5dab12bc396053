"""Less frequent garbage collection while hovis works.

A trace makes many objects that live as long as it does.  Searching them for garbage every few hundred objects takes
a third of the time and finds nothing, so meanwhile the collector runs less often; if it is off, it stays off.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hovis.base import interrupts, once

#: Number of new objects before the collector runs (threshold of generation 0).
PATIENCE: Final = 50_000
#: Number of collections of the young objects before a full collection, which takes seconds for a large trace, each time.
RARELY: Final = 1_000

_lock: Final = once.lock()
_at_work = 0
_before = _meanwhile = gc.get_threshold()


@contextmanager
def seldom() -> Iterator[None]:
    """Collect garbage less often in the enclosed block. The last block to end restores the thresholds, unless somebody has changed them. Signals
    wait.
    """
    with interrupts.AtWork():
        yield from _seldom()


def _seldom() -> Iterator[None]:
    global _at_work, _before, _meanwhile
    with _lock:
        if not _at_work:
            _before = gc.get_threshold()
            _meanwhile = max(_before[0], PATIENCE) if _before[0] else 0, _before[1], max(_before[2], RARELY)
            gc.set_threshold(*_meanwhile)
        _at_work += 1
    counted = [None]
    try:
        yield
    finally:
        try:
            _leave(counted)
        finally:
            _leave(counted)  # an exception set by another thread may have interrupted the first call


def _leave(counted: list[None]) -> None:
    """Restore the thresholds at the end of the last block; a second call with the same ``counted`` does nothing."""
    global _at_work
    with _lock:
        if counted:
            counted.clear()
            _at_work = max(_at_work - 1, 0)
            if not _at_work and gc.get_threshold() == _meanwhile:
                gc.set_threshold(*_before)


def _alone() -> None:
    """Reset the state in the child of a fork, where the threads that were at work do not exist."""
    global _at_work
    if _at_work and gc.get_threshold() == _meanwhile:
        gc.set_threshold(*_before)
    _at_work = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
