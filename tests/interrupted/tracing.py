"""Signals while hovis traces and compiles: run as a process of its own, `python -m tests.interrupted.tracing SEED COUNT WAY`.

A handler raises at random moments, exceptions of classes among them that tracing itself may meet.  It comes to the caller, and the next call
is right, and compiled: nothing was taken for a failure, no lock is held, the collector of garbage is as it was.
"""
import gc
import random
import signal
import sys
import time

import numpy as np

import hovis


class Custom(Exception):
    pass


class Beyond(BaseException):
    pass


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
    """Has nothing been given up?"""
    if way == "xla":
        return "runs as one XLA executable" in str(residual.explain())
    return not any(trace.fallback for trace in ([residual.trace] if way == "specialize" else residual.traces))


def main(seed, count, way):
    draw = random.Random(seed)
    make, source, args = WAYS[way]
    collector = gc.get_threshold()
    kind, raised, span = ValueError, 0, 0.3

    def handler(signum, frame):
        raise kind("alarm")

    module = {"np": np, "SALT": 1}
    exec(source, module)
    make(module["f"])(*args)                     # what is imported for it is there
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
        assert is_whole(way, residual), residual
        assert gc.get_threshold() == collector
        assert signal.getsignal(signal.SIGALRM) is handler
    print(f"{way}: {raised} of {count} were interrupted")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
