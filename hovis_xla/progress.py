"""How many compiles there have been, and a line on the terminal while one takes long."""

import itertools
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Compiles shorter than this (seconds) say nothing.
PATIENCE: Final = 1.0

_begun = itertools.count(1)
_latest = 0


def compiles() -> int:
    """How many have begun: what is timed while this changes is not timed again."""
    return _latest


@contextmanager
def told(what: str) -> Iterator[None]:
    """What is going on, and for how long: on a terminal only, and gone when it is done."""
    global _latest
    _latest = next(_begun)
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(what: str, done: threading.Event) -> None:
    start = time.monotonic()
    wait, shown = PATIENCE, ""
    while not done.wait(wait):
        shown = f"hovis_xla: {what}, {time.monotonic() - start:.0f} s …"
        print(f"\r{shown}", end="", file=sys.stderr, flush=True)
        wait = 0.5
    if shown:
        print(f"\r{' ' * len(shown)}\r", end="", file=sys.stderr, flush=True)
