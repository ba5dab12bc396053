"""Runs a drawn program under CPython and under hovis, one way or another, and says what differs."""
from __future__ import annotations

import collections
import functools
import re
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import hovis
from hovis.errors import SpecError
from tests.differential.harness.compare import Outcome, TookTooLong, difference, observe
from tests.differential.harness.program import Program
from tests.differential.harness.unwatched_loops import unwatched_loops

TRACED_IN = 5.0      # seconds; far more than any of these programs should take
RUN_IN = 5.0
CPYTHON_IN = 0.3     # what takes longer is no program for this


@dataclass
class Failure:
    """What went wrong: `kind` is the same for what probably has the same cause."""
    kind: str
    told: str


class Unfit(Exception):
    """No program to compare on: it does not compile, or runs for long under CPython as well."""


def _specialized(fn: Any, specs: list[Any]) -> Any:
    return hovis.options(fuel=FUEL).specialize(fn, *specs)


def _evaluated(fn: Any, specs: list[Any]) -> Any:
    return functools.partial(hovis.evaluate, hovis.options(fuel=FUEL).trace(fn, *specs).passes("default"))


def _plain(fn: Any, specs: list[Any]) -> Any:
    return hovis.options(passes="clean", fuel=FUEL).specialize(fn, *specs)


def _from_text(fn: Any, specs: list[Any]) -> Any:
    trace = hovis.options(fuel=FUEL).trace(fn, *specs)
    made = trace.text().load()
    made.trace = trace
    return made


RESIDUALS = {"source": _from_text, "specialize": _specialized, "evaluate": _evaluated, "plain": _plain}
WAYS = ("specialize", "evaluate", "plain", "source", "jit")
#: Instructions that one trace may interpret.
FUEL = 250_000
#: How often the whole function was left as one call of the original, by the reason.
fallbacks: collections.Counter[str] = collections.Counter()


def state(module: dict[str, Any]) -> dict[str, Any]:
    """What a module keeps: the globals that are data, and the data of classes."""
    kept = {}
    for name, value in module.items():
        if name.startswith("__") or isinstance(value, (types.FunctionType, types.ModuleType, types.BuiltinFunctionType)):
            continue
        if not isinstance(value, type):
            kept[name] = value
        elif value.__module__ == "program":
            kept |= {f"{name}.{k}": v for k, v in vars(value).items() if type(v) in (int, float, str, list, dict, tuple, bool) and not k.startswith("_")}
    return kept


def _calls(program: Program) -> Iterator[tuple[int, dict[str, Any], list[Any], bool]]:
    """Each call in order, and the first one again: its number, the module, the arguments, and is the module a new one?"""
    module = program.module()
    for number in (*range(len(program.calls)), len(program.calls)):
        program.change(module, number)
        arguments = program.arguments(module, number % len(program.calls), frozen=not program.changes)
        if number and not program.changes and program.mutable_known(arguments):     # a call may have changed what was taken as known
            break
        yield number, module, arguments, number == 0


def expected(program: Program) -> list[Outcome]:
    """What CPython does, one call after the other."""
    try:
        return [observe(module["f"], tuple(arguments), watch=(tuple(arguments), state(module)), seconds=CPYTHON_IN)
                for _, module, arguments, _ in _calls(program)]
    except (TookTooLong, Exception) as error:      # of the module's own lines, too
        raise Unfit(repr(error)) from None


def check(program: Program, way: str) -> Failure | None:
    """None, or the first thing that can be told apart."""
    wanted = expected(program)
    if "__del__" in program.source and any(outcome.value[0] == "raised" for outcome in wanted):
        raise Unfit("the traceback keeps alive what the frames of the original hold")
    if way == "source" and ("closed" in program.source or "__del__" in program.source):
        raise Unfit("variables of the text live as long as the tracebacks of their frame")
    if any("RecursionError" in repr(outcome.value) + outcome.stdout for outcome in wanted):
        raise Unfit("how deep recursion goes is nobody's business")
    failure = _jitted(program, wanted) if way == "jit" or program.changes else _residual(program, wanted, way)
    if failure and _shows_places(program, wanted):
        raise Unfit("what it does goes by where objects are")
    return failure


def _shows_places(program: Program, wanted: list[Outcome]) -> bool:
    """Does CPython itself do something else when objects are made elsewhere (`hash`, the text of an address)?"""
    kept = []
    for _ in range(3):
        kept.append(([object() for _ in range(1000)], [[] for _ in range(1000)], [{} for _ in range(1000)], [type("T", (), {})() for _ in range(100)]))
        if any(difference(one, other) for one, other in zip(wanted, expected(program))):
            return True
    return False


def _residual(program: Program, wanted: list[Outcome], way: str) -> Failure | None:
    """With specialize, the last call is one of evaluate, on the same trace."""
    residual: Any = None
    for number, module, arguments, new in _calls(program):
        if new:
            made: list[Any] = []
            failed = _tracing(lambda: made.append(RESIDUALS[way](module["f"], program.specs(arguments))))
            if failed:
                return failed
            residual = made[0]
            if way == "specialize" and (loops := unwatched_loops(residual.__code__)):
                return Failure("a loop in which nobody looks for signals", f"{loops}")
            trace = residual.args[0] if way == "evaluate" else residual.trace
            _count([trace])
        call = functools.partial(hovis.evaluate, residual.trace) if way == "specialize" and number and number == len(wanted) - 1 else residual
        unknown = tuple(value for value, known in zip(arguments, program.static) if not known)
        failed = _compared(program, wanted[number], lambda: observe(call, unknown, watch=(tuple(arguments), state(module)), seconds=RUN_IN), call is residual and way not in ("evaluate", "source"))
        if failed:
            return failed
    return None


def _jitted(program: Program, wanted: list[Outcome]) -> Failure | None:
    jitted: Any = None
    for number, module, arguments, new in _calls(program):
        if new:
            jitted = hovis.jit(module["f"], static=[p for p, known in zip(program.parameters, program.static) if known], fuel=FUEL, annotations=program.annotate(module["f"], arguments))
        failed = _compared(program, wanted[number], lambda: observe(jitted, tuple(arguments), watch=(tuple(arguments), state(module)), seconds=TRACED_IN), True)
        if failed:
            return failed
        _count(jitted.traces)
    return None


def _count(traces: list[Any]) -> None:
    """What was left as it is, and why.  (With HOVIS_DEBUG=1 a failure of hovis itself is raised, and so found.)"""
    for trace in traces:
        if trace.fallback:
            fallbacks[trace.reasons[0].why if trace.reasons else "it does not bind"] += 1


def _tracing(make: Any) -> Failure | None:
    started = time.process_time()
    try:
        seen = observe(make, watch=(), seconds=TRACED_IN * 2)
    except TookTooLong:
        return Failure("slow trace", f"more than {TRACED_IN * 2} s")
    except Exception as error:
        return Failure(f"tracing raises {type(error).__name__}", repr(error))
    if seen.value[0] == "raised":
        where = seen.frames[-1] if seen.frames else ("", "", 0)
        return Failure(f"tracing raises {seen.value[1][0]} in {where[0].rpartition('/')[2]}:{where[1]}", f"{seen.value} {seen.frames[-3:]}")
    if seen.stdout or seen.warnings:
        return Failure("tracing is not silent", f"{seen.stdout} {seen.warnings}")
    taken = time.process_time() - started
    return Failure("slow trace", f"{taken:.1f} s") if taken > TRACED_IN else None


def _compared(program: Program, outcome: Outcome, run: Any, lines: bool) -> Failure | None:
    try:
        got = run()
    except TookTooLong:
        return Failure("hang", "a call takes longer than its seconds: the residual runs on, or, under a jit, is traced for as long")
    except SpecError:      # evaluate takes only what fits
        raise Unfit("arguments that do not fit") from None
    except Exception as error:      # hovis' own
        return Failure(f"residual raises {type(error).__name__}", repr(error))
    told = difference(outcome, got)
    if told:
        return Failure(_kind(outcome, got), told)
    frames, seen = ([frame for frame in end.frames if frame[0] == program.file] for end in (outcome, got))
    if lines and frames != seen:
        return Failure("traceback", f"{frames[-30:]}\n{seen[-30:]}")
    return None


def _kind(outcome: Outcome, got: Outcome) -> str:
    """The fields that differ, and the first difference of the text without its numbers."""
    fields = [name for name in ("value", "arguments", "stdout", "warnings") if getattr(outcome, name) != getattr(got, name)]
    ends = f"{_end(outcome)} / {_end(got)}" if outcome.value != got.value else ""
    return f"{'+'.join(fields)} {ends}".strip()


def _end(outcome: Outcome) -> str:
    ended, picture = outcome.value
    text = f"{picture[0]}{picture[2] if len(picture) > 2 else ''}" if ended == "raised" else ended
    return re.sub(r"\d+|'[^']*'", "_", str(text))[:100]
