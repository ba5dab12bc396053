"""How many compiles there have been, and a line on the terminal while one takes long."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from hovis.base import deadline, progress
from hovis.front.autotuner import DISTURBING

#: Compiles shorter than this (seconds) say nothing.
PATIENCE = 1.0

_begun = itertools.count(1)
_latest = 0


def compiles() -> int:
    """How many have begun: what is timed while this changes is not timed again."""
    return _latest


DISTURBING.append(compiles)


@contextmanager
def told(what: str) -> Iterator[None]:
    """Around a compile: what is going on, and for how long; it can't be interrupted, and is no part of tracing."""
    global _latest
    _latest = next(_begun)
    with progress.told(f"hovis_xla: {what}", PATIENCE), deadline.unbounded():
        yield
