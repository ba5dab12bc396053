"""Signals, and threads that end loops: what is random in time is run in processes of its own, which must not hang."""
import dis
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hovis
from hovis.bytecode.decode import decode, exception_table
from hovis.bytecode.normalize import LOOKS_BEFORE
from hovis.ir.model import Invoke
from hovis.ir.operations import poll
from hovis.specs import Int

ROOT = Path(__file__).parents[2]
#: With HOVIS_EXAMPLES more of them are drawn.
MORE = int(os.environ.get("HOVIS_EXAMPLES", "60")) / 60


def run(*arguments):
    """A process of its own: it is right, and it ends."""
    done = subprocess.run([sys.executable, "-m", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_random_loops():
    run("tests.interrupted.loops", 0, int(10 * MORE))


@pytest.mark.parametrize("way", ["jit", "specialize", "xla"])
def test_flags(way):
    run("tests.interrupted.flags", way)


@pytest.mark.parametrize("way", ["jit", "specialize", "xla"])
def test_tracing(way):
    run("tests.interrupted.tracing", 0, int(12 * MORE), way)


# ------------------------------------------------------------------------------------------------- where signals are looked for


def endless(k):
    try:
        while True:
            k += 1
    except KeyboardInterrupt:
        return k


def bounded(k, n):
    try:
        while True:
            if k > n:
                break
            k += k & 3
    finally:
        print(k)


def called(k, n):
    try:
        return bounded(k, n)
    except BaseException as error:
        return type(error).__name__


def iterated(k, n):
    try:
        for i in range(n):
            k += i * k
            for j in range(k):
                k -= j * i
    except (ValueError, KeyboardInterrupt):
        return k
    return k + 1


def generated(k, n):
    def numbers():
        i = 0
        while True:
            yield i
            i += 1

    try:
        for i in numbers():
            if i * k > n:
                return i
    except Exception as error:
        return error


def bare(k, n):
    while k < n:
        k += k & 3
    return k


CASES = [(endless, (Int,)), (bounded, (Int, Int)), (called, (Int, Int)), (iterated, (Int, Int)), (generated, (Int, Int))]


def polled(function):
    return [block for block in function.blocks if isinstance(block.terminator, Invoke) and block.terminator.op.callee is poll]


def jumps_back(code):
    """For each jump back at which CPython looks for signals: is what a handler of these raises caught by one of the program's own?

    Those that only mend tracebacks, or put back what was being handled, raise again at once.
    """
    raws = decode(code)
    caught = {entry.target for entry in exception_table(code) if not entry.lasti}
    for k, raw in enumerate(raws):
        if raw.target is not None and raw.target <= k and "NO_INTERRUPT" not in raw.name:
            seen = raw if LOOKS_BEFORE else raws[raw.target - 1]
            yield seen.entry is not None and seen.entry.target in caught


@pytest.mark.parametrize(("fn", "specs"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_jumps_are_covered(fn, specs):
    residual = hovis.specialize(fn, *specs)
    function = residual.trace.passes("default")
    if any(jumps_back(fn.__code__)) or fn is called:
        assert polled(function.function)
        assert all(jumps_back(residual.__code__)), dis.Bytecode(residual).dis()


def test_loops_outside_of_handlers_look_for_nothing():
    residual = hovis.specialize(bare, Int, Int)
    assert not polled(residual.trace.function)
    assert not residual.trace.source().count("poll")
