"""Calls that a signal handler interrupts at random moments: run as a process of its own, `python -m tests.interrupted.anywhere [--suites FOLDER]`.

An alarm raises an exception while a jitted function is traced, compiled or run. The observable state afterwards (exceptions caught, output, mutations) must
be one that CPython can leave if the exception is raised before one of its instructions: all of these outcomes are found by tracing the original,
instruction by instruction. The next call must be right.
"""
from __future__ import annotations

import argparse
import ast
import collections
import copy
import importlib
import linecache
import random
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import hovis
from tests.differential.harness.compare import TookTooLong, observe
from tests.differential.harness.drawing.corpus import samples

#: Of programs with more instructions than this, only the ends of calls are compared.
MOST = 1200
#: Numbers of alarms during first calls, and during calls of the residual.
FIRST, LATER = 3, 12
#: The maximum time of a program of the corpus under plain CPython, in seconds.
LONGEST = 0.5


class Alarm(BaseException):
    """The exception that the handler raises; not an Exception, so that few programs catch it."""


def handler(signum: int, frame: Any) -> None:
    raise Alarm


class Case:
    """A function, and the arguments of a call."""

    def __init__(self, name: str, fn: Any, arguments: Any, watch: Any = None) -> None:
        self.name, self.fn, self.arguments, self.watch = name, fn, arguments, watch

    def fresh(self) -> tuple[Any, ...]:
        return tuple(self.arguments() if callable(self.arguments) else copy.deepcopy(self.arguments))


def told(case: Case, call: Any) -> Any:
    """Return the observable outcome of a call, without the context in which the alarm was raised."""
    def run(*args: Any) -> Any:
        try:
            return call(*args)
        except Alarm as error:
            error.__context__ = error.__cause__ = None
            raise
    args = case.fresh()
    return observe(run, args, seconds=60)


def alarmed(call: Any, seconds: float, fired: list[int]) -> Any:
    def run(*args: Any) -> Any:
        signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            return call(*args)
        except BaseException as error:
            fired[0] += has_alarm(error)
            raise
        finally:
            while signal.getitimer(signal.ITIMER_REAL)[0]:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Alarm:
                    pass
    return run


def has_alarm(error: BaseException) -> bool:
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, Alarm):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


class Stepping:
    """Raises an Alarm before the instruction with this number, and counts the instructions executed."""

    def __init__(self, number: int) -> None:
        self.left, self.seen = number, 0

    def __call__(self, fn: Any) -> Any:
        def run(*args: Any) -> Any:
            sys.settrace(self.enter)
            try:
                return fn(*args)
            finally:
                sys.settrace(None)
        return run

    def enter(self, frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename == __file__:
            return None
        frame.f_trace_opcodes = True
        return self.step

    def step(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "opcode":
            self.seen += 1
            if self.seen == self.left:
                raise Alarm
        return self.step


def outcomes(case: Case, first: Any) -> list[Any] | None:
    """Return all outcomes that are possible in CPython, or None if there are too many instructions."""
    counting = Stepping(0)
    if told(case, counting(case.fn)) != first or not 0 < counting.seen <= MOST:
        return None
    found = [first, told(case, raises_first)]
    for number in range(1, counting.seen + 1):
        here = told(case, Stepping(number)(case.fn))
        if here not in found:
            found.append(here)

    def raises_last(*args: Any) -> None:
        case.fn(*args)
        raise Alarm
    return [*found, told(case, raises_last)]


def raises_first(*args: Any) -> None:
    raise Alarm


def nearly(found: Any, known: Any) -> bool:
    """Are the outcomes equal except for missing output?  C code checks for signals in the middle of `print`."""
    rest = iter(known.stdout)
    return (found.value, found.arguments, found.warnings) == (known.value, known.arguments, known.warnings) and all(c in rest for c in found.stdout)


def ended(outcome: Any) -> Any:
    return outcome.value[0], outcome.value[1][0] if outcome.value[0] == "raised" else outcome.value[1]


def check(case: Case, draw: random.Random, counts: collections.Counter[str]) -> None:
    started = time.perf_counter()
    try:
        first = told(case, case.fn)
        if time.perf_counter() - started > LONGEST or told(case, case.fn) != first:
            counts["not the same twice, or slow"] += 1
            return
    except (TookTooLong, hovis.HovisError):
        return
    counts["programs"] += 1
    started = time.perf_counter()
    right(case, hovis.jit(case.fn), first, "undisturbed")
    taken = time.perf_counter() - started
    known = outcomes(case, first)
    counts["whose outcomes are all known"] += known is not None
    jitted, fired = hovis.jit(case.fn), [0]
    for round in range(FIRST + LATER):
        if round < FIRST:
            jitted = hovis.jit(case.fn)
        elif round == FIRST:
            started = time.perf_counter()
            right(case, jitted, first, "next")
            taken = min(1e-4, time.perf_counter() - started)
        before = fired[0]
        found = told(case, alarmed(jitted, max(1e-6, draw.uniform(0, taken)), fired))
        counts["calls"] += 1
        if fired[0] > before:
            counts["alarms that came out"] += 1
        elif found != first:
            counts["alarms that were caught"] += 1
        if found != first and known is None:
            counts["held against how they end alone"] += 1
        elif found not in (known or (first,)) and not any(nearly(found, other) for other in known):
            if told(case, case.fn) != first:
                counts["keep what an alarm has left"] += 1
                return
            counts["failures"] += 1
            print(f"FAIL {case.name}, round {round}: {found}\noriginally one of {len(known)}, nearest:\n{[k for k in known if ended(k) == ended(found)][-1:]}", flush=True)
        if not right(case, jitted, first, f"after round {round}"):
            counts["failures"] += 1


def right(case: Case, jitted: Any, first: Any, when: str) -> bool:
    """Is the next call right?  A difference counts only if the original still gives the first outcome: the alarm may have changed kept state."""
    found = told(case, jitted)
    if found != first and told(case, case.fn) == first:
        print(f"FAIL {case.name}, {when}: {found}\noriginally {first}", flush=True)
        return False
    return True


def of_corpus() -> Iterator[Case]:
    for sample in samples():
        source = sample.around + ast.unparse(sample.function) + "\n"
        file = f"<corpus {sample.function.name}>"
        linecache.cache[file] = len(source), None, source.splitlines(True), file
        module: dict[str, Any] = {"__name__": "program"}
        try:
            exec(compile(source, file, "exec"), module)
        except Exception:
            continue
        for k, texts in enumerate(sample.calls):
            try:
                [eval(text, module) for text in texts]
            except Exception:
                continue
            yield Case(f"{sample.function.name} {k}", module[sample.function.name], lambda texts=texts, module=module: [eval(text, module) for text in texts])


def of_suites(folder: str) -> Iterator[Case]:
    sys.path.insert(0, folder)
    for name in ("language", "programs", "interpreters"):
        for case in importlib.import_module(name).suite.cases:
            for k, call in enumerate(case.calls):
                yield Case(f"{name} {case.name} {k}", case.fn, call)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", type=int, default=1, help="every so many-th program alone")
    parser.add_argument("--suites", help="a folder with suites of programs: language.py, programs.py, interpreters.py")
    chosen = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    programs = of_suites(chosen.suites) if chosen.suites else of_corpus()
    for k, case in enumerate(programs):
        if k % chosen.part == chosen.seed % chosen.part:
            check(case, random.Random(f"{chosen.seed} {case.name}"), counts)
    print(", ".join(f"{what}: {count}" for what, count in counts.items()))
    sys.exit(bool(counts["failures"]))


if __name__ == "__main__":
    main()
