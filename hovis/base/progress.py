"""A line on the terminal while something takes long: what is going on, and for how many seconds."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Tracing that is done sooner (seconds) says nothing.
PATIENCE = 2.0
#: How often the line is written anew.
_EVERY: Final = 0.5


class _Mine(threading.local):
    def __init__(self) -> None:
        #: what this thread is doing, the innermost last, and since when
        self.doing: list[tuple[str, float]] = []


_mine: Final = _Mine()


@contextmanager
def told(what: str, patience: float | None = None) -> Iterator[None]:
    """Say what is being done within, once it takes longer than patience (PATIENCE): on a terminal only, and gone when it is done.

    What is told within something else is said in its place, if the line is there by then.
    """
    doing = _mine.doing
    doing.append((what, time.monotonic()))
    try:
        if len(doing) > 1 or sys.stderr is None or not sys.stderr.isatty():
            yield
            return
        done = threading.Event()
        teller = threading.Thread(target=_tell, args=(doing, done, PATIENCE if patience is None else patience), daemon=True)
        try:
            teller.start()
        except RuntimeError:  # Python is about to end
            yield
            return
        try:
            yield
        finally:
            done.set()
            teller.join()
    finally:
        doing.pop()


def _tell(doing: list[tuple[str, float]], done: threading.Event, wait: float) -> None:
    width = 0
    while not done.wait(wait):
        what, since = doing[-1]
        line = f"{what}, {time.monotonic() - since:.0f} s …"
        print(f"\r{line.ljust(width)}", end="", file=sys.stderr, flush=True)
        width, wait = len(line), _EVERY
    if width:
        print(f"\r{' ' * width}\r", end="", file=sys.stderr, flush=True)
