"""A line on the terminal while a compile takes long."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Compiles shorter than this (seconds) say nothing.
PATIENCE: Final = 1.0


@contextmanager
def told(what: str) -> Iterator[None]:
    """What is going on, and for how long: on a terminal only, and gone when it is done."""
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
