"""A progress line on the terminal during long work: what is being done, and for how many seconds."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Work that is done sooner (seconds) shows no line.
PATIENCE = 2.0
#: Interval (seconds) at which the line is updated.
_EVERY: Final = 0.5


class _Mine(threading.local):
    def __init__(self) -> None:
        #: the activities of this thread, the innermost last, each with its start time
        self.doing: list[tuple[str, float]] = []


_mine: Final = _Mine()


@contextmanager
def told(what: str, patience: float | None = None) -> Iterator[None]:
    """Show the text ``what`` on the terminal if the enclosed block takes longer than ``patience`` seconds (PATIENCE); the line is erased at the
    end.

    A nested block replaces the text of the block around it while it runs; it has no delay of its own.
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
        except RuntimeError:  # the interpreter is shutting down
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
