"""The collector of garbage, while hovis works.

A trace makes many objects that live as long as it does.  Looking through them for garbage every few hundred objects takes
a third of the time and finds nothing, so meanwhile the collector is asked to look less often; never, where it is off.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hovis.base import interrupts, once

#: New objects before the collector looks.
PATIENCE: Final = 50_000
#: Looks among the younger objects before all are looked at: of a large trace that takes seconds, each time.
RARELY: Final = 1_000

_lock: Final = once.lock()
_at_work = 0
_before = _meanwhile = gc.get_threshold()


@contextmanager
def seldom() -> Iterator[None]:
    """Within, garbage is collected less often; the last one who leaves puts the thresholds back, if they are still these.  Signals wait."""
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
            _leave(counted)  # what another thread sets may have arrived in the midst of it


def _leave(counted: list[None]) -> None:
    """Put the thresholds back, once."""
    global _at_work
    with _lock:
        if counted:
            counted.clear()
            _at_work = max(_at_work - 1, 0)
            if not _at_work and gc.get_threshold() == _meanwhile:
                gc.set_threshold(*_before)


def _alone() -> None:
    """In the child of a fork nobody is at work: those who were have stayed behind."""
    global _at_work
    if _at_work and gc.get_threshold() == _meanwhile:
        gc.set_threshold(*_before)
    _at_work = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
