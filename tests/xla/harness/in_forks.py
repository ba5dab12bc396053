"""Run in a process of its own: XLA is used, then the process forks or starts others, which compare jitted functions with plain ones.

    python in_forks.py fork|unused|random|fork_pool|forkserver_pool|spawn_pool|executor|loky [seed]
"""
import concurrent.futures
import gc
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
import warnings

import numpy as np

import hovis
import hovis_xla

HANGS = 200


def sums(x, n):
    for k in range(n):
        x = x * 0.5 + k
        if x.sum() > 1e6:
            break
    return x


def stored(x, n):
    for k in range(1, len(x)):
        x[k] = x[k - 1] * 0.5 + n
    return x


def in_pieces(x, n):
    found = []
    for k in range(n):
        found.append(str(float((x * k + 1.0).sum())))
    return found


def added(x, n):
    return x + n


def one_more(x):
    return x + 1.0


PLAIN = [sums, stored, in_pieces, added]
JITTED = [hovis_xla.jit(plain, target="xla") for plain in PLAIN] + [hovis_xla.jit(plain) for plain in PLAIN] + [hovis.jit(plain) for plain in PLAIN]


def same(a, b):
    return a == b if isinstance(a, list) else type(a) is type(b) and np.allclose(a, b)


def call_all(size, n=3):
    """Assert that all jitted functions give the results of the plain functions."""
    for k, jitted in enumerate(JITTED):
        plain = PLAIN[k % len(PLAIN)]
        found, wanted = jitted(np.arange(size) * 0.25, n), plain(np.arange(size) * 0.25, n)
        assert same(found, wanted), (plain, size, found, wanted)
    return os.getpid()


def in_child(work):
    """Fork a child that calls `work` and exits normally; return its exit status. An alarm ends a child that hangs."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(HANGS)
    work()
    sys.exit(0)


def in_every_way():
    held = [JITTED[3](np.ones(100_000), 1)]     # its memory belongs to XLA
    call_all(5)
    call_all(7)
    fresh = hovis_xla.jit(lambda x: x * x, target="xla")
    assert same(fresh(np.ones(3)), np.ones(3))
    assert "spawn" in fresh.explain() and "spawn" in JITTED[0].explain() and "fork" in JITTED[0].explain()
    try:
        JITTED[0].lower(np.ones(3), 2).compile()
        raise SystemExit("it has compiled")
    except hovis.TraceError as error:
        assert "fork" in str(error)
    assert COMPILED(np.ones(4)).tolist() == [2.0] * 4
    try:
        LOADED(np.ones(4))
        raise SystemExit("it has run")
    except hovis.TraceError as error:
        assert "fork" in str(error)
    assert same(LOADED_TOO(np.ones(4)), np.ones(4) + 1.0)
    del held
    gc.collect()
    assert in_child(lambda: call_all(6)) == 0     # a child of the child


def at_random(seed):
    """Fork at random moments while threads call, trace and compile; return the exit statuses."""
    draw, done = random.Random(seed), threading.Event()

    def work(k):
        mine = random.Random(k)
        while not done.is_set():
            call_all(mine.randint(1, 8), mine.randint(0, 4))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    found = []
    try:
        for _ in range(3):
            time.sleep(draw.random() * 0.05)
            found.append(in_child(lambda: (call_all(5), call_all(9), gc.collect())))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    return found


def in_pool(method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert os.getpid() not in pool.map(call_all, [5, 6, 5, 6], 1)


def in_executor():
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert os.getpid() not in list(pool.map(call_all, [5, 6, 5, 6]))


def with_loky():
    import joblib
    folder = os.path.dirname(os.path.abspath(__file__))

    def elsewhere(size):
        """Import this file as a module: functions of the main module are pickled by value, but jitted functions by name."""
        import sys
        sys.path.insert(0, folder)
        import in_forks
        return in_forks.call_all(size)

    assert os.getpid() not in joblib.Parallel(2)(joblib.delayed(elsewhere)(size) for size in (5, 6, 5, 6))


def main(kind, seed):
    global COMPILED, LOADED, LOADED_TOO
    if kind == "unused":
        # only the child uses XLA, not the parent
        for jitted in JITTED:
            jitted.trace(np.ones(5), 3)

        def work():
            call_all(5)
            assert "XLA" in JITTED[0].explain() and "fork" not in JITTED[0].explain()

        assert in_child(work) == 0
    for _ in range(2):
        call_all(5)
    assert "one XLA executable" in JITTED[0].explain()
    COMPILED = hovis_xla.compile(hovis.trace(one_more, hovis.Array("float64", (4,))))
    LOADED, LOADED_TOO = hovis_xla.load(COMPILED.serialize()), hovis_xla.load(COMPILED.serialize(), fallback=one_more)
    if kind == "fork":
        assert in_child(in_every_way) == 0
    elif kind == "random":
        assert set(at_random(seed)) == {0}
    elif kind.endswith("_pool"):
        in_pool(kind.removesuffix("_pool"))
    elif kind == "executor":
        in_executor()
    elif kind == "loky":
        with_loky()
    call_all(8)
    assert "fork" not in JITTED[0].explain()


if __name__ == "__main__":
    warnings.filterwarnings("ignore", ".*multi-threaded.*", DeprecationWarning)
    main(sys.argv[1], int(sys.argv[2]))
