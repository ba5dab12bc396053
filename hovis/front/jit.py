"""``hovis.jit``: residuals made when they are first needed, kept by what the arguments are.

What is known of arguments is told in :mod:`hovis.front.jit_cache.cache_keys`.  Folded reads of the environment are guards: when one does not
hold any more, the function is traced again.  Calls find their residual without a lock; tracing takes one.

Whether a residual is quicker than the function itself, finding and guarding it included, is found out in its first calls, some
of which go to the function (:mod:`hovis.front.autotuner`).  Where no residual has won, calls are not looked at for some time.
"""

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from hovis.backend.tracebacks import hide
from hovis.base import deadline, interrupts, own_code
from hovis.base.function_wrapper import Wrapper, take_names
from hovis.base.once import COMPILER, in_turn
from hovis.engine.environment.guards import Guard, failing
from hovis.engine.state.budget import WHY
from hovis.engine.state.specialization_tables import Promote
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.errors import SpecError, said
from hovis.front import traces, tracing
from hovis.front.autotuner import LONGER, STAYS, Contest
from hovis.front.callables import python_function
from hovis.front.jit_cache import nested_jit
from hovis.front.jit_cache.cache_keys import DYNAMIC, KNOWN, WIDE, Key, Path, by_types, constant, key_of, part_at, spec_of, variable
from hovis.front.jit_cache.call_places import Places, names_of, signature_of
from hovis.front.jit_cache.recursion import may_recur
from hovis.front.jit_cache.trace_time import TraceTime
from hovis.front.jit_cache.variants import Variant
from hovis.ir.operations import UNBOUND
from hovis.lattice import Const

own_code.leave_as_calls(__file__)

#: Residuals that one function keeps; the oldest go first.
VARIANTS: Final = 64
#: Instructions that a trace may interpret to begin with: a first call is waited for, and on libraries of PyPI more of them do not
#: give a quicker residual. (``hovis.specialize``, which is asked for, has four times as many.)
FUEL: Final = 60_000
#: Values of what chooses (a number, a string, a class, a shape), before it is unknown after all.
VALUES: Final = 8
#: The same, once tracing the function has taken longer than it may: what is known does not help enough.
FEW_VALUES: Final = 2
#: Changes of one thing in the environment, before it is read at run time.
PATIENCE: Final = 4

#: Are residuals held against the function itself?  (Tests want to see residuals.)
CONTESTED = True
#: A residual has to be so much quicker than the function itself (5 %).
WORTH: Final = 1.05
#: CPython makes code quicker in its first calls (Python/specialize.c): those of a new residual are not counted.
WARMING: Final = 8
#: Where no residual has won, STAYS calls go to the function before the next one is looked at, each time LONGER times more, up to so many.
LONGEST: Final = 1 << 20


def jit(fn: Any = None, *, static: Iterable[str] | str = (), strict: bool = False, **choices: Any) -> Any:
    """fn, specialized by itself to what it is called with; also a decorator, with or without options.

    static     names of parameters whose values are part of the key
    strict     raise TraceError where anything is left as an opaque call
    annotations   parameters are taken for what they are annotated with: a call with something else is one of fn itself
    Other options are those of :class:`hovis.Options`.

    >>> @jit
    ... def double(x): return x + x
    >>> double(4), double(1.5), double("ab")
    (8, 3.0, 'abab')
    """
    if fn is None:
        return lambda wrapped: jit(wrapped, static=static, strict=strict, **choices)
    names = (static,) if isinstance(static, str) else tuple(static)
    return Jitted(fn, names, tracing.Options(strict=strict, frozen=False, **{"fuel": FUEL, **choices}))


def _mark_coroutine(made: Any) -> None:
    """Let it be taken for a coroutine function, which its class does not say."""
    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(made)
    made._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)


class Jitted(Wrapper):
    """A function that is compiled for what it is called with.  Use :func:`jit`."""

    #: May a call go to the function itself, if that is quicker?  What stands for a transform is only there to be traced.
    has_plain = True
    goes_by_name = False
    #: Is what tracing has cost set against what residuals have won?
    pays_for_traces = True

    __slots__ = (
        "__dict__", "__weakref__", "_by_itself", "_by_types", "_failed", "_function", "_hopeless", "_in_contest", "_longer", "_made", "_noted",
        "_options", "_policy", "_seen", "_signature", "_static", "_trace_time", "_variants",
    )  # fmt: skip

    def __init__(self, fn: Any, static: tuple[str, ...], options: tracing.Options) -> None:
        if not callable(fn):
            outside = f": put @{type(fn).__name__} outside of @jit" if isinstance(fn, classmethod | staticmethod) else ""
            raise SpecError(f"jit takes a callable, not a {type(fn).__name__}{outside}")
        self._function = fn
        take_names(self, fn)
        if inspect.iscoroutinefunction(fn):
            _mark_coroutine(self)
        self._options = options
        self._variants: dict[Key, Variant] = {}
        #: the same for calls of which a key knows types alone, by these
        self._by_types: dict[tuple[Any, ...], Variant] = {}
        self._signature = signature_of(fn)
        #: what is known of parts of the arguments, other than by their types
        self._policy: dict[Path, str] = dict.fromkeys(self._paths(static), KNOWN)
        self._static = frozenset(self._policy)
        #: specs of the parameters that are annotated, by their names and places; None: they have not been looked at
        self._noted: dict[int | str, Any] | None = None if options.annotations else {}
        self._seen: dict[Path, set[Any]] = {}
        self._made = 0
        #: has tracing it taken longer than it may?
        self._hopeless = False
        self._trace_time = TraceTime()
        #: so many calls go to the function itself before one is looked at; and how many more the next time
        self._by_itself = 0
        self._longer = STAYS
        #: the thread in which a call is timed
        self._in_contest = 0
        #: guards that have failed, and how often, by their keys
        self._failed: dict[Any, tuple[Guard, int]] = {}

    def _paths(self, static: tuple[str, ...]) -> list[Path]:
        if not static:
            return []
        names = list(self._signature.parameters) if self._signature else names_of(self._function)
        for name in static:
            if name not in names:
                raise SpecError(f"{self._function!r} has no parameter {said(name)} that could be static")
        return [path for name in static for path in ((name,), (names.index(name),))]

    def made_from(self) -> Any:
        """The function itself, whatever it says that it wraps."""
        return self._function

    def made_of(self) -> tuple[Any, ...] | None:
        # what is traced goes on in the function, whatever residuals it has
        return (self._function,) if type(self) in ENTERED_THROUGH else None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if left := self._by_itself:
                self._by_itself = left - 1
                return self._function(*args, **kwargs) if kwargs else self._function(*args)
            variant = None if kwargs else self._by_types.get(tuple(map(type, args)))
            if variant is None:
                variant = self._variants.get(self._key(args, kwargs))
            if variant is None or not variant.holds():
                variant = self._compile(args, kwargs)
            if variant is None:
                return self._function(*args, **kwargs)
            return variant.run(args, kwargs) if variant.contest is None else self._contested(variant, variant.contest, args, kwargs)
        except BaseException:
            hide()
            raise

    def _contested(self, variant: Variant, contest: Contest, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that may go to the function itself: to find out which is quicker, or because that is known."""
        if contest.winner is not None:
            self._leave_alone()
            return self._function(*args, **kwargs)
        here = threading.get_ident()
        if self._in_contest == here:
            # it is called by itself: the function would take two frames of Python's for a call, where recursion may be as deep as it allows for one
            variant.contest = None
            return variant.run(args, kwargs)
        way, self._in_contest = contest.begin(), here
        start = time.perf_counter()
        try:
            if way == "plain":
                return self._function(*args, **kwargs)
            self._variants.get(self._key(args, kwargs), variant).holds()  # it takes as long as the first time
            return variant.run(args, kwargs)
        finally:
            contest.note(way, time.perf_counter() - start)
            self._in_contest = 0
            self._settle(variant, contest)

    def _settle(self, variant: Variant, contest: Contest) -> None:
        """Let all calls go the way that has won, if one has."""
        if contest.winner == "residual":
            variant.contest = None
            self._paid()
        elif contest.winner == "plain":
            variant.told = f"The function itself is called, which is quicker: {contest}."
            self._leave_alone()

    def _paid(self) -> None:
        """A residual is worth what tracing has cost: what there was no time for is tried again when it is called."""
        self._trace_time.paid()
        if any(variant.trace.late for variant in self._variants.values()):
            with COMPILER:
                self._variants = {key: variant for key, variant in self._variants.items() if not variant.trace.late}
                self._by_types = by_types(self._variants, self._policy)

    def _leave_alone(self) -> None:
        """Where no residual has won, and one has lost, calls are not looked at for a while; then all is tried again."""
        contests = [variant.contest for variant in self._variants.values()]
        if None not in contests:
            for contest in contests:
                if contest.winner == "plain":
                    contest.reopen()
            self._by_itself, self._longer = self._longer, min(LONGEST, LONGER * self._longer)

    def _contest(self, ways: list[str]) -> Contest | None:
        """Who may do the calls of one kind; None: what it has, whatever that takes (strict: each kind of calls is to be traced)."""
        if not (CONTESTED and self.has_plain) or self._options.strict or may_recur(self._function):
            return None
        return Contest(ways, grows=False, margin=WORTH, warming=WARMING)

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
        return key_of(args, kwargs, self._policy)

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant | None:
        """The variant for a call; None if the thread that traces something now may wait for this one."""
        with interrupts.AtWork(), in_turn(interrupts.check) as mine:
            if not mine:
                return None
            found = self._variants.get(self._key(args, kwargs))
            if found is not None:
                if found.holds():
                    return found
                self._changed(found)
            self._signature = signature_of(self._function)
            if self._noted is None:
                self._note()
            self._widen(args, kwargs)
            made = self._in_time(args, kwargs)
            self._made += 1
            self._hopeless |= made.trace.fallback or any(WHY in remark.what for remark in made.trace.reasons)
            table = {k: v for k, v in self._variants.items() if k != made.key}
            while len(table) >= VARIANTS:
                del table[next(iter(table))]
            self._variants = {**table, made.key: made}
            self._by_types = by_types(self._variants, self._policy)
            return made

    def _note(self) -> None:
        """Look at the annotations: of what has one the type alone counts."""
        function, _ = python_function(self._function)
        noted: dict[int | str, Any] = {}
        for k, (name, parameter) in enumerate(self._signature.parameters.items() if self._signature and function else ()):
            variadic = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            spec = None if variadic or (name,) in self._static else tracing.noted(self._function, function, name)
            if spec is not None:
                noted |= {k: spec, name: spec}
                self._policy = {**self._policy, (k,): WIDE, (name,): WIDE}
        self._noted = noted

    def _in_time(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant:
        """A variant, made in the time that there is for it."""
        start, limit = deadline.clock(), self._options.limit(1)
        with deadline.within(self._trace_time.left(limit), self._trace_time.why(limit)), traces.at_work(self._function, self._options):
            made = self._variant(args, kwargs)
        self._trace_time.spent(deadline.clock() - start, made.in_vain, self.pays_for_traces and made.contest is not None)
        return made

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant:
        traced = self.trace(*args, **kwargs)
        made = Variant(traced, self._function, self._key(args, kwargs), len(args), tuple(kwargs))
        made.contest = self._contest(["plain"] if traced.fallback else ["residual", "plain"])
        return made

    def _changed(self, variant: Variant) -> None:
        """Something that a residual relies on has changed; what does so again and again is read at run time in the end."""
        for guard in failing(variant.trace.guards):
            if guard.kind in ("function", "defaults") and guard.holder is self._function:
                continue
            key = (guard.kind, id(guard.holder), guard.name)
            count = self._failed[key][1] if key in self._failed else 0
            self._failed[key] = guard, count + 1
            if count + 1 >= PATIENCE:
                self._options.volatile |= {key}

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """What has had many values is unknown from now on: a number that chooses, a string, a class, a shape."""
        self._count_numbers(args, kwargs)
        key = key_of(args, kwargs, self._policy)
        for k, value in enumerate(args):
            for at, known in variable(value, key[k], (k,), self._policy):
                self._count(at, known, WIDE)
        for k, (name, value) in enumerate(kwargs.items()):
            for at, known in variable(value, key[len(args) + 2 * k + 1], (name,), self._policy):
                self._count(at, known, WIDE)

    def _count_numbers(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for path, how in self._policy.items():
            if how is KNOWN and path not in self._static:
                value = part_at(path, args, kwargs)
                if value is not UNBOUND:
                    self._count(path, constant(value), DYNAMIC)

    def _count(self, path: Path, value: Any, otherwise: str, most: int = VALUES) -> bool:
        """One more value at a path; False if there were too many, and from now on it is unknown."""
        seen = self._seen.setdefault(path, set())
        seen.add(value)
        if len(seen) > (FEW_VALUES if self._hopeless else most) and path not in self._static:
            self._policy = {**self._policy, path: otherwise}
            del self._seen[path]
            return False
        return True

    def trace(self, /, *args: Any, **kwargs: Any) -> tracing.Trace:
        """The Trace for arguments like these.  Numbers that turn out to choose become known, a few values of each."""
        with COMPILER:
            while True:
                try:
                    return self._trace(args, kwargs)
                except Promote as promoted:
                    before = self._policy
                    for place in promoted.args:
                        self._promote(place, args, kwargs)
                    if self._policy is before:
                        return self._left_alone()

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tracing.Trace:
        given, extra = self._with_defaults(*self._specs(args, kwargs))
        for at, spec in (self._noted or {}).items():
            if isinstance(at, str) and at in kwargs:
                extra[at] = spec
            elif isinstance(at, int) and at < len(args):
                given[at] = spec
        try:
            return tracing.trace_call(self._function, tuple(given), extra, self._options)
        except SpecError:
            return self._left_alone()

    def _left_alone(self) -> tracing.Trace:
        """The Trace of nothing but a call of the original."""
        traced = self._options.trace(_caller(self._function))
        traced.fallback = True
        return traced

    def _promote(self, place: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A number chooses: it becomes part of the key, by whatever way it is passed; after too many values it is unknown."""
        for path in Places(self._function, self._signature).paths(place, kwargs):
            if path not in self._policy and self._count(path, constant(part_at(path, args, kwargs)), DYNAMIC):
                self._policy = {**self._policy, path: KNOWN}

    def _specs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """What the key says of the arguments, as specs."""
        policy = self._policy
        key = key_of(args, kwargs, policy)
        named = enumerate(kwargs.items())
        return (
            [spec_of(value, key[k], (k,), policy) for k, value in enumerate(args)],
            {name: spec_of(value, key[len(args) + 2 * k + 1], (name,), policy) for k, (name, value) in named},
        )

    def _with_defaults(self, specs: list[Any], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Parameters that are not passed are known by their defaults; ``*args`` and ``**kwargs`` that are empty, too."""
        if self._signature is None:
            return specs, named
        extra = {}
        for k, p in enumerate(self._signature.parameters.values()):
            if p.default is not inspect.Parameter.empty and k >= len(specs) and p.name not in named and p.kind is not inspect.Parameter.POSITIONAL_ONLY:
                extra[p.name] = Const(p.default)
        return specs, {**extra, **named}

    @property
    def traces(self) -> list[tracing.Trace]:
        """The Traces of the residuals that are kept, for ``hovis.explain``."""
        return [variant.trace for variant in self._variants.values()]

    @property
    def notes(self) -> list[str]:
        """What else there is to say of the residuals that are kept, for ``hovis.explain``."""
        return [variant.told for variant in self._variants.values() if variant.told]

    def cache_info(self) -> dict[str, int]:
        """How many residuals are kept, and how many were made."""
        return {"kept": len(self._variants), "made": self._made}

    def clear_cache(self) -> None:
        """Forget all residuals."""
        with COMPILER:
            self._variants, self._by_types = {}, {}

    def __repr__(self) -> str:
        return f"<hovis.jit of {self._function!r}>"


ENTERED_THROUGH.add(Jitted)
nested_jit.stands_for(jit, Jitted, nested_jit.OPTIONS)


def _caller(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn behind a signature that takes anything: its own complaint is what a misfit call should get."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call
