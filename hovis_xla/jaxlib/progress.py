"""The number of compiles, and a line on the terminal while one takes long."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from hovis.base import deadline, progress
from hovis.front.autotuner import DISTURBING

#: Compiles that take less time than this (in seconds) show nothing.
PATIENCE = 1.0

_begun = itertools.count(1)
_latest = 0


def compiles() -> int:
    """Return how many compiles have begun. A timing during which this number changes is not counted."""
    return _latest


DISTURBING.append(compiles)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Around a compile: show on the terminal what is being compiled and for how long. The compile cannot be interrupted, and does not count as
    tracing time.
    """
    global _latest
    _latest = next(_begun)
    with progress.told(f"hovis_xla: {what}", PATIENCE), deadline.unbounded():
        yield
