"""Random programs that several threads call at once while the process forks: run as a process of its own, `python -m tests.interrupted.at_once SEED COUNT`.

First calls, calls with other types and further traces coincide: another thread rebinds the module's functions and values to equal copies. Each call must
have the same outcome as a call without concurrency, in the threads and in the child processes. The parent process detects a hang by a timeout.
"""
from __future__ import annotations

import collections
import contextlib
import io
import os
import random
import signal
import sys
import threading
import time
import traceback
import types
import warnings
from typing import Any

import hovis
from tests.differential.harness.choices import Seeded
from tests.differential.harness.compare import TookTooLong, _drain, _Picture, limit
from tests.differential.harness.drawing import MODULES, THEMES, draw
from tests.differential.harness.program import Program

ALONE = [theme for theme in THEMES if not hasattr(MODULES.get(theme), "MUTATED") and theme not in ("forks", "lifetimes")]
THREADS, TIMES = 4, 4
HANGS = 120


def told(fn: Any, arguments: list[Any]) -> Any:
    """Return the outcome of a call and the state of its arguments; output is left out, since it is not separated by threads."""
    picture = _Picture()
    try:
        value = "returned", _drain(fn(*arguments))
    except Exception as error:
        value = "raised", error
    found = value[0], picture(value[1]), picture(tuple(arguments))
    if value[0] == "raised":
        value[1].__traceback__ = None
    return found


def again(value: Any) -> Any:
    """Return another object that is equal to `value`, or `value` itself for other types."""
    if isinstance(value, types.FunctionType):
        made = types.FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, value.__closure__)
        made.__kwdefaults__, made.__qualname__ = value.__kwdefaults__, value.__qualname__
        made.__dict__.update(value.__dict__)
        return made
    if type(value) in (int, float, str, tuple, dict, list):
        return type(value)(value) if type(value) in (dict, list) else value
    return value


class Together:
    """A program, and the outcomes of its calls without concurrency."""

    def __init__(self, program: Program) -> None:
        self.program, self.module, self.errors = program, program.module(), []
        self.f = self.module["f"]
        self.wanted = [self.plainly(k) for k in range(2)]

    def arguments(self, k: int) -> list[Any]:
        return self.program.arguments(self.module, k, frozen=False)

    def plainly(self, k: int) -> Any:
        with limit(0.3):
            return told(self.f, self.arguments(k))

    def is_fit(self) -> bool:
        return all(self.plainly(k) == self.wanted[k] for k in (0, 1, 1, 0))

    def call(self, jitted: Any, draw: random.Random) -> None:
        for _ in range(TIMES):
            k = draw.randrange(2)
            found = told(jitted, self.arguments(k))
            if found != self.wanted[k]:
                self.errors.append(f"call {k}: {found}\noriginally {self.wanted[k]}")

    def work(self, jitted: Any, seed: str, gate: threading.Barrier) -> None:
        gate.wait()
        try:
            self.call(jitted, random.Random(seed))
        except BaseException:
            self.errors.append(traceback.format_exc())

    def change(self, done: threading.Event) -> None:
        # names that a program tests for identity are left out
        names = [name for name in self.module if not name.startswith("__") and name != "f" and f" is {name}" not in self.program.source]
        while not done.is_set():
            for name in names:
                self.module[name] = again(self.module[name])
            time.sleep(0.002)

    def forked(self, jitted: Any, seed: str) -> None:
        child = os.fork()
        if not child:
            status = 1
            try:
                signal.alarm(HANGS)
                before = len(self.errors)
                self.call(jitted, random.Random(seed))
                status = 1 if len(self.errors) > before else 0
                if status:
                    os.write(2, self.errors[-1].encode())
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            self.errors.append(f"the child has ended with {status}")

    def check(self, seed: int) -> None:
        draw = random.Random(seed)
        jitted, gate, done = hovis.jit(self.f), threading.Barrier(THREADS), threading.Event()
        changes = threading.Thread(target=self.change, args=(done,))
        threads = [threading.Thread(target=self.work, args=(jitted, f"{seed} {k}", gate)) for k in range(THREADS)]
        for thread in (changes, *threads):
            thread.start()
        for _ in range(draw.randrange(3)):
            time.sleep(draw.uniform(0, 0.03))
            self.forked(jitted, f"{seed} child")
        for thread in threads:
            thread.join()
        done.set()
        changes.join()
        self.call(jitted, draw)


def check(seed: int, counts: collections.Counter[str]) -> None:
    choices = Seeded(f"at once {seed}")
    theme = choices.pick(ALONE)
    program = draw(choices, theme)
    program.shared, program.changes = None, []
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            together = Together(program)
            fit = together.is_fit()
        except (TookTooLong, Exception):
            fit = False
        if not fit:
            counts["that remember calls, or take long"] += 1
            return
        together.check(seed)
        remembers = together.errors and not together.is_fit()
    counts["programs"] += 1
    if remembers:
        counts["that remember calls, or take long"] += 1
    elif together.errors:
        counts["failures"] += 1
        print(f"FAIL {seed} ({theme}): {len(together.errors)}\n{program!r}\n{together.errors[0]}", flush=True)


def main(first: int, count: int) -> None:
    sys.setswitchinterval(1e-5)
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + count):
        check(seed, counts)
    print(", ".join(f"{what}: {count}" for what, count in counts.items()))
    sys.exit(bool(counts["failures"]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
