"""``hovis_xla.jit``: plain Python and NumPy, compiled by XLA for what it is called with.

The front half (keys, guards, defaults, the table of variants) is that of ``hovis.jit``; only what a variant runs
differs: an executable, and the residual Python wherever that gives up.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

import hovis
from hovis import api
from hovis.backend.entry import leaves
from hovis.errors import SpecError, TraceError
from hovis.jit import Jitted as PythonJitted
from hovis.jit import Variant as PythonVariant
from hovis.keys import DYNAMIC, KNOWN, Key, Path, constant, part_at
from hovis.lattice import Const, Type
from hovis.specs import Promotable
from hovis_xla import adapter, cache, storage
from hovis_xla.executable import BAILED, Executable
from hovis_xla.hlotext import Loops
from hovis_xla.layout import Taker, plan_of, taker
from hovis_xla.partition import Decision, Parts, decide, opaque_ops
from hovis_xla.storage import StorageError
from hovis_xla.types import ShapeUnknown

#: Where a function may run.
TARGETS: Final = ("auto", "xla", "python")

#: After this many calls in a row that were given up, a variant stays Python.
PATIENCE: Final = 8


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    static: Iterable[str] | str = (),
    donate: Iterable[str] | str = (),
    int_overflow: str = "replay",
    exact: bool = False,
    strict: bool = False,
    target: str = "auto",
) -> Any:
    """fn, compiled by XLA for what it is called with; also a decorator, with or without options.

    static        names of parameters whose values are part of the key
    donate        names of arrays that the call may use up (no copy is saved by it yet)
    int_overflow  what happens where a Python int needs more than 64 bits: "replay" does the call in Python
    exact         no fused multiply-add, at the price of speed: bits as NumPy's in elementwise arithmetic
    strict        raise TraceError where a function would run as residual Python because XLA has no place for something in it
    target        "xla": an executable even where Python would be quicker; "python": the residual alone; "auto": what is quicker
    """
    if fn is None:
        return lambda wrapped: jit(wrapped, static=static, donate=donate, int_overflow=int_overflow, exact=exact, strict=strict, target=target)
    if int_overflow != "replay":
        raise ValueError(f'int_overflow is "replay" (in this version), not {int_overflow!r}')
    if target not in TARGETS:
        raise ValueError(f"target is one of {', '.join(map(repr, TARGETS))}, not {target!r}")
    names = (static,) if isinstance(static, str) else tuple(static)
    return Jitted(fn, names, exact, strict, target)


class Jitted(PythonJitted):
    """A function that XLA compiles for what it is called with.  Use :func:`jit`."""

    def __init__(self, fn: Callable[..., Any], static: tuple[str, ...], exact: bool, strict: bool, target: str = "auto") -> None:
        super().__init__(fn, static, api.Options(strict="whole" if strict else False, frozen=False, known_sizes=True))
        self._exact = exact
        self._strict = strict
        self._target = target

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
        parts: list[Any] = [cache.key_of(a, (k,) in self._static) for k, a in enumerate(args)]
        parts += [(name, cache.key_of(v, (name,) in self._static)) for name, v in kwargs.items()]
        for path, how in self._policy.items():
            if how is KNOWN and path not in self._static:
                parts.append(constant(part_at(path, args, kwargs)))
        return Key((cache.aliasing([*args, *kwargs.values()]), *parts))

    def _specs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return [self._spec((k,), a) for k, a in enumerate(args)], {name: self._spec((name,), v) for name, v in kwargs.items()}

    def _spec(self, path: Path, value: Any) -> Any:
        """What the key says of an argument, as a spec."""
        kind = type(value)
        how = self._policy.get(path)
        if how is KNOWN:
            return Const(value)
        if kind in cache.NUMBERS:
            return Type(kind) if how is DYNAMIC else Promotable(kind)
        parts = cache.parts_of(value)
        if parts is None:
            return cache.spec_of(value)
        specs = [self._spec((*path, k), v) for k, v in enumerate(parts)]
        return dict(zip(value, specs, strict=True)) if kind is dict else kind(specs)

    def _promote_sizes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """A shape depends on a number: make the integer arguments known, unless they have had too many values."""
        given: list[tuple[Path, Any]] = [*(((k,), a) for k, a in enumerate(args)), *(((name,), v) for name, v in kwargs.items())]
        fresh = {path: KNOWN for path, v in given if type(v) is int and path not in self._policy}
        self._policy = {**self._policy, **fresh}
        return bool(fresh)

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._count_numbers(args, kwargs)

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        made = self._compiled(args, kwargs)
        if made.shape_unknown and self._promote_sizes(args, kwargs):
            made = self._compiled(args, kwargs)
        if made.xla is None and self._strict:
            raise TraceError(str(made.decision))
        if made.xla is None:
            made.cut_up(self._exact)
        return made

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        traced = self.trace(*args, **kwargs)
        return Variant(traced, self.__wrapped__, self._key(args, kwargs), len(args), tuple(kwargs), self._exact)

    def lower(self, *args: Any, **kwargs: Any) -> "Lowered":
        """The StableHLO program for arguments like these."""
        return Lowered(self.trace(*args, **kwargs), self._exact)

    def explain(self) -> str:
        """For every variant: whether it is an executable, and if it is not, why, with the place in the source."""
        return "\n".join(v.explain() for v in self._variants.values() if isinstance(v, Variant)) or "It has not been called yet."

    def __repr__(self) -> str:
        return f"<hovis_xla.jit of {self.__wrapped__!r}>"


class Variant(PythonVariant):
    """One executable, what it is valid for, and the residual Python that it falls back to."""

    __slots__ = ("bailed", "decision", "parts", "take", "xla")

    def __init__(self, traced: api.Trace, original: Callable[..., Any], key: Key, count: int, names: tuple[str, ...], exact: bool) -> None:
        super().__init__(traced, original, key, count, names)
        self.decision = decision_of(traced, exact)
        self.xla: Executable | None = self.decision.executable
        self.bailed = 0
        self.take = taker_of(traced, checked=False)
        self.parts: Parts | None = None

    def cut_up(self, exact: bool) -> None:
        """Let XLA run the numeric pieces of what it can't run as a whole."""
        if self.parts is None and self.picks is not None:
            self.parts = Parts(self.trace, self.decision.reason, exact)
        if self.parts is not None and self.parts.stale:
            self.call = self.parts.build() or self.trace.compile()

    @property
    def shape_unknown(self) -> bool:
        """Would it be an executable if its integer arguments were known?"""
        return isinstance(self.decision.reason, ShapeUnknown)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.xla is None or self.picks is None or _status_is_watched():
            if self.parts is not None and self.parts.stale:
                self.cut_up(self.parts.exact)
            return super().run(args, kwargs)
        values = self.take(*self.picked(args, kwargs))
        if values is None:
            return super().run(args, kwargs)
        result = self.xla(values)
        if result is not BAILED:
            self.bailed = 0
            return result
        self.bailed += 1
        if self.bailed >= PATIENCE:
            self.xla = None
        return super().run(args, kwargs)

    def explain(self) -> str:
        text = str(self.decision)
        if self.parts is not None and self.parts.pieces:
            text += f"\n{self.parts}"
        if self.decision.executable is not None and self.xla is None:
            text += f" It gave up {self.bailed} times in a row (an exception, or an int past 64 bits) and is Python now."
        elif self.xla is not None:
            text = f"{text} {self.xla.loops}".rstrip()
        return text


def _status_is_watched() -> bool:
    """Has somebody asked to hear of floating-point errors?  Compiled code would not tell."""
    return any(how in ("raise", "call", "log", "print") for how in np.geterr().values())


def decision_of(traced: api.Trace, exact: bool = False) -> Decision:
    """What becomes of a Trace."""
    return decide(traced.function, None, exact)


class Lowered:
    """A StableHLO program that is not compiled yet."""

    def __init__(self, traced: api.Trace, exact: bool = False) -> None:
        decision = decision_of(traced, exact)
        if decision.executable is None:
            raise TraceError(str(decision))
        self._traced = traced
        self._executable = decision.executable

    def as_text(self, locations: bool = False) -> str:
        """StableHLO; with locations, the user's file and line at each operation."""
        return self._executable.stablehlo(locations)

    def compile(self) -> "Compiled":
        """Hand it to XLA."""
        return Compiled(self._traced, self._executable)


class Compiled:
    """An executable that takes the unknown arguments of its trace, as ``Trace.compile()`` does."""

    def __init__(self, traced: api.Trace, executable: Executable) -> None:
        self.trace = traced
        self.executable = executable
        self._take = taker_of(traced, checked=True)
        _ = executable.program
        functools.update_wrapper(self, traced.fn, updated=())

    def __call__(self, *unknown: Any) -> Any:
        if not _status_is_watched():
            values = self._take(*self._filled(unknown)) if len(unknown) <= len(self.trace.signature.unknown) else None
            result = BAILED if values is None else self.executable(values)
            if result is not BAILED:
                return result
        return self.trace.compile()(*unknown)

    def _filled(self, unknown: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, and the defaults of those that are not given."""
        return unknown + tuple(u.default for u in self.trace.signature.unknown[len(unknown) :])

    def as_text(self) -> str:
        """The optimized HLO."""
        return self.executable.as_text()

    @property
    def loops(self) -> Loops:
        """How many loops are native code, how many are not, and how many arrays are copied in their rounds."""
        return self.executable.loops

    def cost_analysis(self) -> dict[str, float]:
        """XLA's own estimate: flops, bytes accessed …"""
        return self.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of code, arguments, results and temporaries."""
        return self.executable.memory_analysis()

    def serialize(self) -> bytes:
        """The executable as bytes for :func:`load`; for the same jaxlib on the same kind of CPU.

        What the trace read of its environment is frozen in it, arrays included.  StorageError if the result or the
        arguments hold what can't be written down: instances, functions, classes.
        """
        plans = plan_of(self.trace.signature)
        if plans is None:
            raise StorageError("it can't be stored: an argument is an instance or one of several values")
        return storage.dump(self.executable, [(u.name, plan) for u, plan in zip(self.trace.signature.unknown, plans, strict=True)])


class Loaded:
    """An executable out of bytes.  It knows no Python: calls that XLA gives up go to ``fallback``, or raise."""

    def __init__(self, blob: bytes, fallback: Callable[..., Any] | None) -> None:
        self.executable, arguments = storage.restore(blob)
        self.fallback = fallback
        self.__name__ = self.executable.name
        self._names = [name for name, _ in arguments]
        self._take = taker([plan for _, plan in arguments], checked=True)

    def __call__(self, *unknown: Any) -> Any:
        if len(unknown) != len(self._names):
            raise SpecError(f"{self.__name__} takes {len(self._names)} arguments ({', '.join(self._names)}), not {len(unknown)}")
        values = None if self.fallback is not None and _status_is_watched() else self._take(*unknown)
        result = BAILED if values is None else self.executable(values)
        if result is not BAILED:
            return result
        if self.fallback is not None:
            return self.fallback(*unknown)
        if values is None or not self.executable.fits(values):
            raise SpecError(f"the arguments do not fit what {self.__name__} was compiled for")
        raise TraceError(f"{self.__name__} raises here, or needs an int of more than 64 bits: that takes Python; load(blob, fallback=the function) has it")

    def as_text(self) -> str:
        """The optimized HLO."""
        return self.executable.as_text()

    def __repr__(self) -> str:
        return f"<hovis_xla executable {self.__name__}({', '.join(self._names)})>"


def load(blob: bytes, fallback: Callable[..., Any] | None = None) -> Loaded:
    """The executable of ``serialize()``, as a function of the unknown arguments.

    fallback      the original (or anything that takes the same arguments), for calls that XLA gives up: exceptions, ints
                  of more than 64 bits, arguments that do not fit.  Without it such calls raise.
    StorageError if the bytes are damaged, or made for another jaxlib, CPU or XLA_FLAGS.  The code in them is run: load
    only what you trust.
    """
    return Loaded(blob, fallback)


def taker_of(traced: api.Trace, checked: bool) -> Taker:
    """How the leaves are found in the unknown arguments of a trace."""
    plans = plan_of(traced.signature)
    if plans is not None:
        return taker(plans, checked)

    def take(*unknown: Any) -> tuple[Any, ...] | None:
        try:
            return tuple(leaves(traced.signature, unknown))
        except SpecError:
            return None

    return take


def compile(trace: api.Trace) -> Compiled:
    """Compile a Trace ahead of time; TraceError with the reason and the place if XLA has no place for it."""
    return Lowered(trace).compile()


def hlo_stage(trace: api.Trace) -> str:
    """``--stage=hlo`` of the command line."""
    return Lowered(trace).as_text()


__all__ = ["Compiled", "Jitted", "Loaded", "Lowered", "StorageError", "adapter", "compile", "hlo_stage", "hovis", "jit", "load", "opaque_ops"]
