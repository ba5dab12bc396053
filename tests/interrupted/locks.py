"""User code that runs in a tracing thread and acquires a lock: run as a process of its own, `python -m tests.interrupted.locks WAY...`.

Another thread holds the lock and calls a function that is not compiled yet.  A deadlock would be possible; the parent process detects it by a timeout.
"""
import gc
import os
import signal
import sys
import threading
import weakref

import numpy as np

import hovis
from hovis.base import once

once.PATIENCE = 0.5
#: The threshold of the garbage collector, and the number of allocations left before it when a trace begins.
OBJECTS, MISSING = 100_000, 4_000
#: Tracing this function takes more allocations than MISSING.
LONG = "def h(x):\n" + "".join(f" y{i} = x * {i} + {i} if x > {i} else x\n" for i in range(60)) + " return " + " + ".join(f"y{i}" for i in range(60)) + "\n"
LOCK = threading.Lock()
HAPPENED, ASKED = [], threading.Event()


def ask(*_):
    """Do what the user code does: acquire the lock."""
    ASKED.set()
    with LOCK:
        HAPPENED.append(threading.current_thread())


class Ends:
    def __init__(self):
        self.me = self

    def __del__(self):
        ask()


class Watched:
    def __init__(self):
        self.me = self


def as_garbage():
    gc.collect()
    Ends()


def as_callback():
    gc.collect()
    HAPPENED.append(weakref.ref(Watched(), ask))


def as_handler():
    signal.signal(signal.SIGUSR1, ask)


def is_free():
    """Is no thread tracing?"""
    free = once.COMPILER.acquire(blocking=False)
    if free:
        once.COMPILER.release()
    return free


def short(x):
    return x + 1 if x > 3 else x * 2


def arrays(x):
    y = x
    for _ in range(30):
        y = y * 0.5 + x
    return y


def compiled(fn):
    import hovis_xla
    return hovis_xla.jit(fn)


def compiled_always(fn):
    import hovis_xla
    return hovis_xla.jit(fn, target="xla")


WAYS = {"jit": hovis.jit, "xla": compiled, "always": compiled_always}


def check(way, happens):
    module = {}
    exec(LONG, module)
    long, fn = WAYS[way](module["h"]), WAYS[way](short if way == "jit" else arrays)
    arg = 5 if way == "jit" else np.arange(4.0)
    held, found = threading.Event(), []

    def other():
        with LOCK:
            held.set()
            while happens is as_handler and is_free() and not ASKED.is_set():
                pass
            if happens is as_handler:
                os.kill(os.getpid(), signal.SIGUSR1)
            ASKED.wait()
            found.append(fn(arg))

    HAPPENED.clear()
    ASKED.clear()
    thread = threading.Thread(target=other)
    thread.start()
    held.wait()
    gc.set_threshold(OBJECTS, 10, 10)
    happens()
    more = [[] for _ in range(OBJECTS - MISSING)] if happens is not as_handler else []
    once_more = long(3)
    ASKED.set()
    thread.join()
    del more
    assert once_more == module["h"](3)
    assert np.array_equal(found[0], (short if way == "jit" else arrays)(arg))
    assert np.array_equal(fn(arg), found[0]) and long(3) == once_more    # both are compiled now
    if way == "jit":
        assert threading.main_thread() in HAPPENED
        assert len(fn.traces) == len(long.traces) == 1


if __name__ == "__main__":
    for way in sys.argv[1:]:
        for happens in (as_garbage, as_callback, as_handler):
            print(way, happens.__name__, flush=True)
            check(way, happens)
