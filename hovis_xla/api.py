"""``hovis_xla.jit``: plain Python and NumPy, compiled by XLA for what it is called with.

The front half (keys, guards, defaults, the table of variants) is that of ``hovis.jit``; only what a variant runs
differs: an executable, and the residual Python wherever that gives up.
"""

import functools
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import hovis
from hovis import api
from hovis.backend.entry import leaves
from hovis.backend.load import hide
from hovis.errors import SpecError, TraceError
from hovis.ir.operations import UNBOUND
from hovis.jit import Jitted as PythonJitted
from hovis.jit import Variant as PythonVariant
from hovis.keys import DYNAMIC, KNOWN, Key, constant
from hovis_xla import adapter, storage
from hovis_xla.arguments import Walk, aliasing, is_mutable, part_at
from hovis_xla.calling import BAILED
from hovis_xla.executable import Executable
from hovis_xla.hlotext import Loops
from hovis_xla.interface import Keyed
from hovis_xla.layout import Taker, plan_of, quick_entry, taker
from hovis_xla.partition import Decision, Parts, decide, opaque_ops
from hovis_xla.sized import Sized, opened, sizes, without_sizes
from hovis_xla.status import is_watched
from hovis_xla.storage import StorageError
from hovis_xla.types import ShapeUnknown

#: Where a function may run.
TARGETS: Final = ("auto", "xla", "python")

#: After this many calls in a row that were given up, a variant stays Python.
PATIENCE: Final = 8
#: Variants that a call tries before it looks at the key.
QUICK: Final = 4


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
    """A function that XLA compiles for what it is called with.  Use :func:`jit`.

    A call tries the entries of a few variants (``layout.quick_entry``), each of which sees for itself whether the arguments
    are its own; where none is, the key of the arguments decides.
    """

    def __init__(self, fn: Callable[..., Any], static: tuple[str, ...], exact: bool, strict: bool, target: str = "auto") -> None:
        super().__init__(fn, static, api.Options(strict="whole" if strict else False, frozen=False, known_sizes=True))
        self._exact = exact
        self._strict = strict
        self._target = target
        #: the variants that were used last, by how many arguments there are and which of them have names
        self._quick: dict[Any, tuple[Variant, ...]] = {}
        #: by keys without sizes, what has come with arguments alike but for these
        self._families: dict[Any, _Family] = {}
        self._open: tuple[list[Any], dict[str, Any]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tried = self._quick.get((len(args), *kwargs) if kwargs else len(args), ())
        try:
            for variant in tried:
                found = variant.entry(*args, *kwargs.values())
                if found is not BAILED:
                    return found
            return self._call(args, kwargs, tried)
        except BaseException:
            hide()
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: "tuple[Variant, ...]") -> Any:
        """A call that no quick entry is for, or that XLA has given up."""
        variant = self._variants.get(self._key(args, kwargs))
        if variant is None or not variant.holds():
            variant = self._compile(args, kwargs)
        assert isinstance(variant, Variant)
        # what has given up is tried again by the long way, until it has got through
        quick = tuple(v for v in tried if v is not variant)
        found = variant.give_up(args, kwargs) if variant in tried else variant.run(args, kwargs)
        if variant.bailed == 0:
            quick = (variant, *quick)[:QUICK]
        self._quick = {**self._quick, (len(args), *kwargs) if kwargs else len(args): quick}
        return found

    def clear_cache(self) -> None:
        """Forget all executables and residuals."""
        with self._lock:
            super().clear_cache()
            self._quick = {}
            self._families = {}

    def _walk(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any], Walk]:
        """Key and spec of each argument."""
        walk = Walk(self._policy)
        return [walk.argument(a, (k,)) for k, a in enumerate(args)], {name: walk.argument(v, (name,)) for name, v in kwargs.items()}, walk

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
        given, named, _ = self._walk(args, kwargs)
        return Key((aliasing([*args, *kwargs.values()]), *[key for key, _ in given], *[(name, key) for name, (key, _) in named.items()]))

    def _specs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        given, named, _ = self._walk(args, kwargs)
        specs = [spec for _, spec in given], {name: spec for name, (_, spec) in named.items()}
        return specs if self._open is None else opened(self._open, specs)

    def _promote_sizes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """A shape depends on a number: make the integer arguments known, unless they have had too many values."""
        fresh = dict.fromkeys(self._walk(args, kwargs)[2].ints, KNOWN)
        self._policy = {**self._policy, **fresh}
        return bool(fresh)

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for path, how in self._policy.items():
            if how is KNOWN and path not in self._static:
                value = part_at(path, args, kwargs)
                if value is not UNBOUND:
                    self._count(path, constant(value), DYNAMIC)

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        return self._of_all_sizes(args, kwargs) or self._of_this_size(args, kwargs)

    def _of_all_sizes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant | None":
        """The variant for arguments like these of any size, if they have come with another one before."""
        key = without_sizes(self._key(args, kwargs))
        specs = self._specs(args, kwargs)
        family = self._families.setdefault(key, _Family(specs))
        merged = opened(family.specs, specs)
        if family.refused or sizes(merged) == sizes(specs):
            return None
        if family.variant is None or not family.variant.holds() or sizes(merged) != sizes(family.specs):
            self._open = merged
            try:
                traced = self.trace(*args, **kwargs)
            finally:
                self._open = None
            family.specs = merged
            sized = Sized(traced.function, self._exact)
            family.variant = Variant(traced, self.__wrapped__, self._key(args, kwargs), args, kwargs, self._exact, sized)
        if family.variant.serves(args, kwargs):
            return family.variant
        family.refused = family.variant.sized is None or family.variant.sized.reason is not None
        return None

    def _of_this_size(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        made = self._compiled(args, kwargs)
        if made.shape_unknown and self._promote_sizes(args, kwargs):
            made = self._compiled(args, kwargs)
        if made.xla is None and self._strict:
            raise TraceError(str(made.decision))
        if made.xla is None:
            made.cut_up(self._exact)
        return made

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        return Variant(self.trace(*args, **kwargs), self.__wrapped__, self._key(args, kwargs), args, kwargs, self._exact)

    def lower(self, *args: Any, **kwargs: Any) -> "Lowered":
        """The StableHLO program for arguments like these."""
        return Lowered(self.trace(*args, **kwargs), self._exact)

    def explain(self) -> str:
        """For every variant: whether it is an executable, and if it is not, why, with the place in the source."""
        return "\n".join(v.explain() for v in self._variants.values() if isinstance(v, Variant)) or "It has not been called yet."

    def __repr__(self) -> str:
        return f"<hovis_xla.jit of {self.__wrapped__!r}>"


@dataclass(slots=True)
class _Family:
    """Calls whose arguments differ in sizes alone: what is common to their specs, and the variant for all of them."""

    specs: tuple[list[Any], dict[str, Any]]
    variant: "Variant | None" = None
    refused: bool = False


class Variant(PythonVariant):
    """One executable, what it is valid for, and the residual Python that it falls back to."""

    __slots__ = ("_given", "bailed", "decision", "entry", "parts", "sized", "xla")

    def __init__(
        self, traced: api.Trace, original: Callable[..., Any], key: Key, args: tuple[Any, ...], kwargs: dict[str, Any], exact: bool, sized: Sized | None = None
    ) -> None:
        super().__init__(traced, original, key, len(args), tuple(kwargs))
        self.sized = sized
        self.decision = decision_of(traced, exact) if sized is None else Decision(None)
        self.xla: Executable | Sized | None = sized or self.decision.executable
        self.bailed = 0
        self.parts: Parts | None = None
        self.entry: Callable[..., Any] = self._first_entry
        #: what is not unknown of the arguments, until the entry is made
        self._given = args, kwargs

    def serves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Of a variant for all sizes: is there an executable for this one?"""
        values = taker_of(self.trace, checked=False)(*self.picked(args, kwargs)) if self.picks is not None else None
        return values is not None and self.sized is not None and self.sized.serves(values)

    def cut_up(self, exact: bool) -> None:
        """Let XLA run the numeric pieces of what it can't run as a whole."""
        if self.parts is None and self.picks is not None:
            self.parts = Parts(self.trace, self.decision.reason, exact)
        if self.parts is not None and self.parts.stale:
            self.call = self.parts.build() or self.trace.compile()

    def in_pieces(self, *unknown: Any) -> Any:
        """The residual, cut up anew if a piece has turned out not to be one."""
        if self.parts is not None and self.parts.stale:
            self.cut_up(self.parts.exact)
        return self.call(*unknown)

    def _first_entry(self, *values: Any) -> Any:
        """Make the entry, and use it: the program is compiled now."""
        args, kwargs = self._given
        self.entry = self._make_entry([*args, *kwargs.values()], [*range(len(args)), *kwargs])
        self._given = (), {}
        return self.entry(*values)

    def _make_entry(self, values: list[Any], places: list[int | str]) -> Callable[..., Any]:
        """The function of all arguments that checks them and calls the executable, or else the residual."""
        plans = plan_of(self.trace.signature) if self.picks is not None else None
        if plans is None:
            return never
        chosen = [places.index(pick) for pick in self.picks or ()]
        given: dict[int, Any] = dict(zip(chosen, plans, strict=False))
        whole = [given.get(k) or ["value", Keyed(value)] for k, value in enumerate(values)]
        mutable = [f"a{k}" for k, value in enumerate(values) if is_mutable(value)]
        scope: dict[str, Any] = {"holds": self.holds, "aliasing": aliasing, "is_watched": is_watched, "pattern": self.key[0]}
        tests = ["not holds()"]
        if self.key[0] != () or len(mutable) > 3:
            tests.append(f"aliasing([{', '.join(mutable)}]) != pattern")
        else:
            tests += [f"{a} is {b}" for a, b in itertools.combinations(mutable, 2)]
        if self.xla is not None:
            tests.append("is_watched()")
        residual = self.call if self.parts is None else self.in_pieces
        made: Callable[..., Any] = quick_entry(whole, tests, scope, None if self.xla is None else self.xla.enter, (residual, chosen))
        return made

    @property
    def shape_unknown(self) -> bool:
        """Would it be an executable if its integer arguments were known?"""
        return isinstance(self.decision.reason, ShapeUnknown)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self.entry(*args, *kwargs.values())
        if found is BAILED:
            return self.give_up(args, kwargs)
        self.bailed = 0
        return found

    def give_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call in Python; after a few in a row, all calls."""
        if self.xla is not None and not is_watched():
            self.bailed += 1
            if self.bailed >= PATIENCE:
                self.xla = None
                self.entry, self.bailed = self._make_entry([*args, *kwargs.values()], [*range(len(args)), *kwargs]), 0
        if self.parts is not None and self.parts.stale:
            self.cut_up(self.parts.exact)
        return super().run(args, kwargs)

    def explain(self) -> str:
        text = str(self.sized or self.decision)
        if self.parts is not None and self.parts.pieces:
            text += f"\n{self.parts}"
        if (self.sized or self.decision.executable) is not None and self.xla is None:
            text += f" It gave up {PATIENCE} times in a row (an exception, or an int past 64 bits) and is Python now."
        elif isinstance(self.xla, Executable):
            text = f"{text} {self.xla.loops}".rstrip()
        return text


def never(*values: Any) -> Any:
    """The entry of what has none: the residual is called by the long way."""
    return BAILED


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
        if not is_watched():
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
        values = None if self.fallback is not None and is_watched() else self._take(*unknown)
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
