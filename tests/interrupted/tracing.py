"""Signals while hovis traces and compiles: run as a process of its own, `python -m tests.interrupted.tracing SEED COUNT WAY [threads]`.

A handler raises exceptions at random moments, also of classes that tracing itself may catch.  The exception must reach the caller, and the next call
must be right and compiled: nothing was taken for a failure, no lock is held, the garbage collector has its settings again.  With `threads`, another
thread sets the exception (`PyThreadState_SetAsyncExc`).
"""
import _thread
import concurrent.futures
import ctypes
import gc
import random
import signal
import sys
import threading
import time

import numpy as np

import hovis


class Custom(Exception):
    pass


class Beyond(BaseException):
    pass


class Late(ValueError):
    pass


class Gone(LookupError):
    pass


class Unfit(TypeError):
    pass


#: Exceptions set by other threads: classes that hovis's own handlers do not catch by name.
SET = (Custom, Beyond, Late, Gone, Unfit, KeyboardInterrupt, TimeoutError)
KINDS = (ValueError, TimeoutError, KeyboardInterrupt, Custom, Beyond, LookupError, AttributeError, AssertionError, RecursionError, TypeError)

PYTHON = '''
def helper(x, table):
    total = 0
    for key, value in table.items():
        total += value * x if key & 1 else -value
    return total

def f(x, n):
    table = {k: k * 3 + SALT for k in range(12)}
    r = 0
    for i in range(n):
        r += helper(x + i, table)
        if r > 10 ** 6:
            r //= 7
    try:
        return r // (n - 3)
    except ZeroDivisionError:
        return "zero"
'''
ARRAYS = '''
def f(x, n):
    t = 0.0
    for i in range(n):
        x = np.sin(x * 0.5 + SALT) + 1.0 / (i + 1)
        t += x.sum()
    return x, t
'''


def compiled(fn):
    import hovis_xla
    return hovis_xla.jit(fn, target="xla")


WAYS = {
    "jit": (hovis.jit, PYTHON, (5, 9)), "specialize": (lambda fn: hovis.specialize(fn, int, int), PYTHON, (5, 9)),
    "xla": (compiled, ARRAYS, (np.arange(5.0), 6)),
}


def is_whole(way, residual):
    """Is the function compiled as a whole, without a fallback?"""
    if way == "xla":
        return "runs as one XLA executable" in str(residual.explain())
    return not any(trace.fallback for trace in ([residual.trace] if way == "specialize" else residual.traces))


class Setting:
    """A thread that sets an exception in the creating thread after a delay.  It uses no lock of `threading`, which the exception could leave locked."""

    def __init__(self, kind, seconds):
        self.kind, self.until, self.target = kind, time.perf_counter() + seconds, threading.get_ident()
        self.wanted, self.done = True, False
        _thread.start_new_thread(self.run, ())

    def run(self):
        while self.wanted and time.perf_counter() < self.until:
            time.sleep(0.0002)
        if self.wanted:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.target), ctypes.py_object(self.kind))
        self.done = True

    def end(self):
        """Stop the thread and wait for its end; an exception that it has set is raised here."""
        self.wanted = False
        while not self.done:
            time.sleep(0.0002)


def by_threads(seed, count, way):
    draw = random.Random(seed)
    make, source, args = WAYS[way]
    collector, raised, span = gc.get_threshold(), 0, 0.3
    module = {"np": np, "SALT": 1}
    exec(source, module)
    make(module["f"])(*args)
    for _ in range(count):
        module = {"np": np, "SALT": draw.randrange(10 ** 9)}
        exec(source, module)
        fn, kind = module["f"], draw.choice(SET)
        start, residual, setting = time.perf_counter(), None, None
        try:
            setting = Setting(kind, draw.uniform(0.0001, span))
            residual = make(fn)
            residual(*args)
            span = 1.2 * (time.perf_counter() - start)
            setting.end()
        except BaseException as error:
            # inside an XLA program the exception is converted to an error of XLA
            assert (type(error) is kind and not error.args) or (way == "xla" and kind.__name__ in str(error)), repr(error)
            raised += 1
        while setting is not None:
            try:
                setting.end()
                setting = None
            except kind:
                raised += 1
        residual = residual or make(fn)
        found, expected = residual(*args), fn(*args)
        assert all(map(np.allclose, found, expected)) if way == "xla" else found == expected
        assert is_whole(way, residual), residual.explain() if way == "xla" else hovis.explain(residual)
        assert gc.get_threshold() == collector
    print(f"{way}: {raised} of {count} were set by another thread")


def main(seed, count, way):
    draw = random.Random(seed)
    make, source, args = WAYS[way]
    collector = gc.get_threshold()
    kind, raised, span = ValueError, 0, 0.3

    def handler(signum, frame):
        raise kind("alarm")

    module = {"np": np, "SALT": 1}
    exec(source, module)
    make(module["f"])(*args)                     # the modules needed are imported
    signal.signal(signal.SIGALRM, handler)
    for _ in range(count):
        module = {"np": np, "SALT": draw.randrange(10 ** 9)}
        exec(source, module)
        fn, kind, residual = module["f"], draw.choice(KINDS), None
        start = time.perf_counter()
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.0001, span))
            residual = make(fn)
            residual(*args)
            signal.setitimer(signal.ITIMER_REAL, 0)
            span = 1.2 * (time.perf_counter() - start)
        except BaseException as error:
            assert type(error) is kind and error.args == ("alarm",), repr(error)
            raised += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        residual = residual or make(fn)
        found, expected = residual(*args), fn(*args)
        assert all(map(np.allclose, found, expected)) if way == "xla" else found == expected
        assert is_whole(way, residual), residual.explain() if way == "xla" else hovis.explain(residual)
        assert gc.get_threshold() == collector
        assert signal.getsignal(signal.SIGALRM) is handler
    print(f"{way}: {raised} of {count} were interrupted")


if __name__ == "__main__":
    first, most, kind_of_jit = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    if sys.argv[4:] != ["threads"]:
        main(first, most, kind_of_jit)
    else:
        by_threads(first, most, kind_of_jit)
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            other.submit(by_threads, first, most, kind_of_jit).result()
