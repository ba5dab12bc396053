"""The observable outcome of a call, and the comparison of outcomes.

`observe` calls a function and records its outcome: the result, the exception, the state of everything reachable
from the arguments, the output, the warnings. Outcomes are plain nested tuples, which are compared by `==`: types
exactly, floats by their bits, and mutable objects by the order in which they are first reached, which captures the
aliasing. The identity of numbers, strings and tuples, which docs/semantics.md calls unobservable, is not recorded.
"""
from __future__ import annotations

import contextlib
import copy
import difflib
import io
import pprint
import re
import signal
import struct
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

try:
    import resource
except ImportError:
    resource = None  # on Windows

DRAINED = 200      # the maximum number of elements taken from a returned iterator
MEMORY = 1 << 30   # the number of bytes that a call may take, besides those that the process has


class TookTooLong(BaseException):
    """Not an Exception: no program under test may catch it."""


#: Exceptions that end a test and are not outcomes of a program.
NOT_THE_PROGRAM_S = (TookTooLong, KeyboardInterrupt, SystemExit, GeneratorExit)


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Limit the CPU time of a block, and the memory that it takes in addition; no limit where alarms are not available (Windows, other threads)."""
    def ring(*_: object) -> None:
        raise TookTooLong(f"more than {seconds} s")
    try:
        before = signal.signal(signal.SIGPROF, ring)
    except (AttributeError, ValueError):
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with _limited_memory():
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """Let a block fail at once that repeats a text 2**31 times; else it might take a minute, or all the memory of the machine."""
    statistics = Path("/proc/self/statm")
    if resource is None or not statistics.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = int(statistics.read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@dataclass(frozen=True)
class Outcome:
    value: Any          # ("returned", picture) or ("raised", picture)
    arguments: Any
    stdout: str
    warnings: tuple[str, ...]
    frames: tuple[tuple[str, str, int | None], ...] = field(default=(), compare=False)      # of the traceback: file, function, line

    def lines(self) -> list[str]:
        return [f"{field}: {line}" for field in ("value", "arguments", "stdout", "warnings")
                for line in pprint.pformat(getattr(self, field), width=120).splitlines()]


class _Picture:
    """Turns objects into nested tuples; one instance a call, since numbering is shared by the result and the arguments."""

    def __init__(self) -> None:
        self.met: dict[int, int] = {}
        self.kept: list[object] = []       # ids stay valid while the objects live

    def __call__(self, x: Any) -> Any:
        kind = type(x)
        name = kind.__qualname__
        if kind is str:
            return (name, unplaced(x))
        if x is None or kind in (bool, int, bytes):
            return (name, x)
        if kind is float:      # the sign of a nan is arbitrary: in CPython it changes when an addition is specialized to its fast instruction
            return (name, repr(x), struct.pack(">d", x).hex() if x == x else "")
        if kind is complex:
            return (name, self(x.real), self(x.imag))
        if kind is tuple:
            return (name, *map(self, x))
        if kind is frozenset:
            return (name, *sorted(map(self, x), key=repr))
        if isinstance(x, np.generic):
            return ("numpy." + name, str(x.dtype), x.tobytes(), repr(x))
        if isinstance(x, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc, np.dtype)):
            return ("named", getattr(x, "__qualname__", None) or getattr(x, "__name__", None) or repr(x))
        if kind in (slice, range):
            return (name, self(x.start), self(x.stop), self(x.step))
        if id(x) in self.met:
            return ("again", self.met[id(x)])
        number = self.met[id(x)] = len(self.met)
        self.kept.append(x)
        return (name, f"#{number}", *self.contents(x))

    def contents(self, x: Any) -> list[Any]:
        parts: list[Any] = []
        if isinstance(x, BaseException):
            parts += [self(x.args), ("cause", self(x.__cause__)), ("context", self(x.__context__)), x.__suppress_context__]
        elif isinstance(x, np.ndarray):
            data = [self(v) for v in x.ravel().tolist()] if x.dtype == object else x.tobytes()
            parts += [str(x.dtype), x.shape, data, x.flags.writeable, "view" if x.base is not None else "own"]
        elif isinstance(x, dict):
            parts += [(self(k), self(v)) for k, v in dict.items(x)]
        elif isinstance(x, (set, frozenset)):
            parts += sorted((self(v) for v in x), key=repr)
        elif isinstance(x, (list, tuple)):
            parts += map(self, x)
        elif isinstance(x, bytearray):
            parts.append(bytes(x))
        elif isinstance(x, types.MethodType):
            parts += [x.__name__, self(x.__self__)]
        parts += [(k, self(v)) for k, v in getattr(x, "__dict__", {}).items()]
        for cls in type(x).__mro__:
            slots = cls.__dict__.get("__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if slot not in ("__dict__", "__weakref__") and hasattr(x, slot):
                    parts.append((slot, self(getattr(x, slot))))
        return parts


def unplaced(text: str) -> str:
    """Remove memory addresses from a text."""
    return re.sub(r"\b0x[0-9a-f]{6,}", "0x", text) if "0x" in text else text


def _drain(x: Any) -> Any:
    """Replace a returned iterator by the elements that it yields."""
    if isinstance(x, (types.GeneratorType, zip, map, filter, enumerate, reversed)):
        got = []
        for item in x:
            got.append(item)
            if len(got) == DRAINED:
                break
        return ("iterator", got)
    return x


def observe(call: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, watch: Any = None, seconds: float = 20) -> Outcome:
    """Call it on these same objects, and record the outcome with the state of `watch`, which the caller holds (default: the arguments)."""
    kwargs = kwargs or {}
    out = io.StringIO()
    frames: list[tuple[str, str, int | None]] = []
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out), limit(seconds):
        warnings.simplefilter("always")
        try:
            ended, value = "returned", _drain(call(*args, **kwargs))
        except BaseException as error:
            if type(error) in NOT_THE_PROGRAM_S or type(error).__module__.partition(".")[0] in ("hovis", "hovis_xla"):
                raise
            ended, value = "raised", error
            frames = [(frame.filename, frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
        printed = unplaced(out.getvalue())
        picture = _Picture()
        outcome = Outcome((ended, picture(value)), picture((args, kwargs) if watch is None else watch), printed,
                          tuple(f"{w.category.__name__}: {w.message}" for w in caught), tuple(frames))
        if ended == "raised":      # otherwise its frames stay alive, and objects that they hold are finalized at an arbitrary later time
            value.__traceback__ = None
        del value, picture, caught[:]
    return outcome


def fresh(arguments: Any) -> Any:
    """Return a deep copy with the same aliasing; functions, classes and modules are not copied."""
    return copy.deepcopy(arguments)


def difference(expected: Outcome, got: Outcome) -> str | None:
    """Return a readable diff of two outcomes, or None if they are equal."""
    if expected == got:
        return None
    return "\n".join(difflib.unified_diff(expected.lines(), got.lines(), "CPython", "hovis", lineterm="", n=1))


def same(expected: Outcome, got: Outcome, told: str = "") -> None:
    """Assert that two outcomes are equal."""
    seen = difference(expected, got)
    if seen:
        raise AssertionError(f"{told}\n{seen}")
