"""Run a random program under CPython and under hovis, in one of several ways, and report the differences."""
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
from tests.differential.harness.code_checks import unwatched_loops, wrong_depth
from tests.differential.harness.compare import Outcome, TookTooLong, difference, observe
from tests.differential.harness.forced_exits import forced
from tests.differential.harness.program import Program

TRACED_IN = 5.0      # seconds; far more than any of these programs should take
RUN_IN = 5.0
CPYTHON_IN = 0.3     # programs that take longer are not used


@dataclass
class Failure:
    """A failure: `kind` is the same for failures that probably have the same cause."""
    kind: str
    told: str


class Unfit(Exception):
    """The program is unfit for comparison: it does not compile, or runs too long under CPython as well."""


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
#: "exits" is the jit with forced side exits (see forced_exits).
WAYS = ("specialize", "evaluate", "plain", "source", "jit", "exits")
#: The maximum number of instructions that one trace interprets.
FUEL = 250_000
#: The number of fallbacks, where the whole function is one call of the original, by reason.
fallbacks: collections.Counter[str] = collections.Counter()


def state(module: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a module: the globals that are data, and the data of classes."""
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
    """Yield each call in order, and the first one again: its number, the module, the arguments, and whether the module is new."""
    module = program.module()
    for number in (*range(len(program.calls)), len(program.calls)):
        program.change(module, number)
        arguments = program.arguments(module, number % len(program.calls), frozen=not program.changes)
        if number and not program.changes and program.mutable_known(arguments):     # a call may have changed arguments that are known
            break
        yield number, module, arguments, number == 0


def expected(program: Program) -> list[Outcome]:
    """Return the outcomes of all calls under CPython, in order."""
    try:
        return [observe(module["f"], tuple(arguments), watch=(tuple(arguments), state(module)), seconds=CPYTHON_IN)
                for _, module, arguments, _ in _calls(program)]
    except (TookTooLong, Exception) as error:      # also raised by the module's own statements
        raise Unfit(repr(error)) from None


def check(program: Program, way: str) -> Failure | None:
    """Return the first observable difference, or None if there is none."""
    wanted = expected(program)
    if "__del__" in program.source and any(outcome.value[0] == "raised" for outcome in wanted):
        raise Unfit("the traceback keeps alive what the frames of the original hold")
    if way == "source" and ("closed" in program.source or "__del__" in program.source):
        raise Unfit("variables of the text live as long as the tracebacks of their frame")
    if way == "exits" and "__del__" in program.source and "raise " in program.source:
        raise Unfit("a traceback does not hold the variables of a function that a side exit continues")
    if way == "source" and any("<generator object" in outcome.stdout for outcome in wanted):
        raise Unfit("functions of the text that yield have names of their own")
    if any("RecursionError" in repr(outcome.value) + outcome.stdout for outcome in wanted):
        raise Unfit("how deep recursion goes is nobody's business")
    if way == "exits":
        with forced(program.source):
            failure = _jitted(program, wanted)
    else:
        failure = _jitted(program, wanted) if way == "jit" or program.changes else _residual(program, wanted, way)
    if failure and _shows_places(program, wanted):
        raise Unfit("what it does goes by where objects are")
    return failure


def _shows_places(program: Program, wanted: list[Outcome]) -> bool:
    """Does CPython itself behave differently when objects have other addresses (`hash`, the text of an address)?"""
    kept = []
    for _ in range(3):
        kept.append(([object() for _ in range(1000)], [[] for _ in range(1000)], [{} for _ in range(1000)], [type("T", (), {})() for _ in range(100)]))
        if any(difference(one, other) for one, other in zip(wanted, expected(program))):
            return True
    return False


def _residual(program: Program, wanted: list[Outcome], way: str) -> Failure | None:
    """Compare the calls of a residual; with `specialize`, the last call uses `hovis.evaluate` on the same trace."""
    residual: Any = None
    for number, module, arguments, new in _calls(program):
        if new:
            made: list[Any] = []
            failed = _tracing(lambda: made.append(RESIDUALS[way](module["f"], program.specs(arguments))))
            if failed:
                return failed
            residual = made[0]
            code = residual.trace.compile().__code__ if way == "specialize" else None
            if code is not None and (loops := unwatched_loops(code)):
                return Failure("a loop in which nobody looks for signals", f"{loops}")
            if code is not None and (wrong := wrong_depth(code)):
                return Failure("a wrong stack depth", wrong)
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
    """Count the fallbacks by their reasons.  (With HOVIS_DEBUG=1 an internal error of hovis is raised, and so detected.)"""
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
    except SpecError:      # evaluate accepts only arguments that fit the specs
        raise Unfit("arguments that do not fit") from None
    except Exception as error:      # raised by hovis itself
        return Failure(f"residual raises {type(error).__name__}", repr(error))
    told = difference(outcome, got)
    if told:
        return Failure(_kind(outcome, got), told)
    frames, seen = ([frame for frame in end.frames if frame[0] == program.file] for end in (outcome, got))
    if lines and frames != seen:
        return Failure("traceback", f"{frames[-30:]}\n{seen[-30:]}")
    return None


def _kind(outcome: Outcome, got: Outcome) -> str:
    """Name the kind of a difference: the fields that differ, and both ends of the call, without numbers and names."""
    fields = [name for name in ("value", "arguments", "stdout", "warnings") if getattr(outcome, name) != getattr(got, name)]
    ends = f"{_end(outcome)} / {_end(got)}" if outcome.value != got.value else ""
    return f"{'+'.join(fields)} {ends}".strip()


def _end(outcome: Outcome) -> str:
    ended, picture = outcome.value
    text = f"{picture[0]}{picture[2] if len(picture) > 2 else ''}" if ended == "raised" else ended
    return re.sub(r"\d+|'[^']*'", "_", str(text))[:100]
