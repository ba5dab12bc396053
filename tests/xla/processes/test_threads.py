"""Many threads use XLA, compile the same function and trace it again at the same time; see ``in_threads``."""
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hovis.base.once import COMPILER, forget, lazy, lock, once

ROOT = Path(__file__).parents[3]
#: Processes of each kind; a race is not lost each time.
TIMES = 20 if "HOVIS_EXAMPLES" in os.environ else 1
HANGS = 600


@pytest.mark.parametrize("seed", range(TIMES))
@pytest.mark.parametrize("kind", ["first", "changed", "mixed"])
def test_eight_threads_at_once(kind, seed):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOVIS_CACHE_DIR": "off", "HOVIS_TARGET": "auto"}
    program = [sys.executable, str(ROOT / "tests" / "xla" / "harness" / "in_threads.py"), kind, str(seed)]
    found = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=HANGS)
    assert found.returncode == 0, found.stderr[-4000:]


def in_threads(work, count=8):
    gate, found = threading.Barrier(count), []

    def run():
        gate.wait()
        found.append(work())

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_what_is_made_once_is_one_object_for_all_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            made = once(lambda *key: [sum(range(100)), *key])
            assert len(set(map(id, in_threads(made)))) == 1
            assert len(set(map(id, in_threads(lambda made=made: made(1))))) == 1
            assert made() is not made(1)
    finally:
        sys.setswitchinterval(before)


def test_what_is_forgotten_is_made_again():
    made = once(lambda: [])
    first = made()
    forget(made)
    assert made() is not first and made() is made()


def test_a_lazy_attribute_is_computed_by_one_thread():
    class Holder:
        calls = 0

        @lazy
        def value(self):
            self.calls += 1
            return [sum(range(1000))]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            holder = Holder()
            assert len(set(map(id, in_threads(lambda holder=holder: holder.value)))) == 1 and holder.calls == 1
    finally:
        sys.setswitchinterval(before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_leaves_locks_free_that_another_thread_held():
    mine, held, done = lock(), threading.Event(), threading.Event()

    def hold():
        with mine, COMPILER:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        os._exit(0 if mine.acquire(timeout=1) and COMPILER.acquire(timeout=1) else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert status == 0
