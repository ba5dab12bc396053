"""``hovis.jit``: residuals made when they are first needed, kept by what the arguments are.

What is known of arguments is told in :mod:`hovis.front.cache_keys`.  Folded reads of the environment are guards: when one does not
hold any more, the function is traced again.  Calls find their residual without a lock; tracing takes one.

Whether a residual is quicker than the function itself, finding and guarding it included, is found out in its first calls, some
of which go to the function (:mod:`hovis.front.autotuner`).  Where no residual has won, calls are not looked at for some time.
"""

import asyncio
import dis
import inspect
import threading
import time
import types
from collections.abc import Callable, Iterable
from typing import Any, Final

from hovis.arguments.signature import own_signature
from hovis.backend.tracebacks import hide
from hovis.base import deadline, interrupts, own_code
from hovis.base.function_wrapper import Wrapper, take_names
from hovis.base.once import COMPILER, in_turn
from hovis.engine.environment.guards import Guard, compile_guards, failing
from hovis.engine.state.budget import WHY
from hovis.engine.state.specialization_tables import Promote
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.errors import SpecError, said
from hovis.front import nested_jit, traces, tracing
from hovis.front.autotuner import LONGER, STAYS, Contest
from hovis.front.cache_keys import DYNAMIC, KNOWN, WIDE, Key, Path, by_types, constant, key_of, part_at, spec_of, variable
from hovis.ir.operations import UNBOUND
from hovis.lattice import Const
from hovis.lattice.inspection import attribute, is_a

own_code.leave_as_calls(__file__)

#: Residuals that one function keeps; the oldest go first.
VARIANTS: Final = 64
#: Values of what chooses (a number, a string, a class, a shape), before it is unknown after all.
VALUES: Final = 8
#: The same, once tracing the function has taken longer than it may: what is known does not help enough.
FEW_VALUES: Final = 2
#: What of its time tracing may take for other arguments, once it has taken all of it in vain; and how often that much may be lost in all.
FURTHER: Final = 0.1
LOSSES: Final = 2
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
#: Of so many code objects it is asked whether they name a function.
MOST_CODES: Final = 256
#: What reads a global (Lib/opcode.py).
_GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
#: What calls of which say nothing of what it takes to run it (Include/cpython/code.h: generators, coroutines, asynchronous generators).
_LATER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
    return Jitted(fn, names, tracing.Options(strict=strict, frozen=False, **choices))


def _mark_coroutine(made: Any) -> None:
    """Let it be taken for a coroutine function, which its class does not say."""
    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(made)
    made._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)


class Jitted(Wrapper):
    """A function that is compiled for what it is called with.  Use :func:`jit`."""

    #: May a call go to the function itself, if that is quicker?  What stands for a transform is only there to be traced.
    has_plain = True

    __slots__ = (
        "__dict__", "__weakref__", "_by_itself", "_by_types", "_failed", "_function", "_hopeless", "_in_contest", "_longer", "_lost", "_made", "_noted",
        "_options", "_policy", "_seen", "_signature", "_static", "_variants",
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
        #: seconds of work of which nothing came
        self._lost = 0.0
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
        names = list(self._signature.parameters) if self._signature else _names_of(self._function)
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

    def _contested(self, variant: "Variant", contest: Contest, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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

    def _settle(self, variant: "Variant", contest: Contest) -> None:
        """Let all calls go the way that has won, if one has."""
        if contest.winner == "residual":
            variant.contest = None
        elif contest.winner == "plain":
            variant.told = f"The function itself is called, which is quicker: {contest}."
            self._leave_alone()

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

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant | None":
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
        function, _ = traces.python_function(self._function)
        noted: dict[int | str, Any] = {}
        for k, (name, parameter) in enumerate(self._signature.parameters.items() if self._signature and function else ()):
            variadic = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            spec = None if variadic or (name,) in self._static else tracing.noted(self._function, function, name)
            if spec is not None:
                noted |= {k: spec, name: spec}
                self._policy = {**self._policy, (k,): WIDE, (name,): WIDE}
        self._noted = noted

    def _in_time(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        """A variant, made in the time that there is for it; what has taken all of that in vain gets little for other arguments, and then none."""
        seconds = self._options.limit(1)
        tried = self._lost > FURTHER * seconds
        start, more = deadline.clock(), 1.0 if not tried else FURTHER if self._lost < LOSSES * seconds else 0.0
        before = f"for other arguments took longer than {seconds:g} s of work" if tried else ""
        with deadline.within(seconds * more, before), traces.at_work(self._function, self._options):
            made = self._variant(args, kwargs)
        if made.in_vain:
            self._lost += deadline.clock() - start
        return made

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        traced = self.trace(*args, **kwargs)
        made = Variant(traced, self._function, self._key(args, kwargs), len(args), tuple(kwargs))
        made.contest = self._contest(["plain"] if traced.fallback else ["residual", "plain"])
        return made

    def _changed(self, variant: "Variant") -> None:
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


def signature_of(fn: Any) -> inspect.Signature | None:
    """The signature that fn binds a call by, as it is now (whatever it wraps or says of itself); None if it has none."""
    try:
        function, bound = traces.python_function(fn)
    except SpecError:
        return None
    if function is None:
        return None
    parameters = list(own_signature(function).parameters.values())
    return inspect.Signature(parameters[len(bound) :] if parameters and parameters[0].kind in _POSITIONAL else parameters)


def may_recur(fn: Any) -> bool:
    """May calls of fn make calls of what is named like it?  Its own code is looked at, and that of functions of its module which it names.

    What is named is a global, a variable of a closure, or, if fn is a method, an attribute.

    What gives a generator or a coroutine is taken for one of these: its calls are not what takes the time.
    """
    function = getattr(fn, "__func__", fn)
    if not isinstance(function, types.FunctionType) or function.__code__.co_flags & _LATER:
        return True
    namespace, found, at = function.__globals__, [function.__code__], 0
    holder, _, name = function.__qualname__.rpartition(".")
    is_method = bool(holder) and not holder.endswith("<locals>")
    while at < len(found):
        code, at = found[at], at + 1
        named_so = name in code.co_names and (is_method or any(one.argval == name and one.opname in _GLOBALS for one in dis.get_instructions(code)))
        if named_so or name in code.co_freevars or at > MOST_CODES:
            return True
        named = [_unwrapped(value) for value in map(namespace.get, code.co_names)]
        others = [value.__code__ for value in named if is_a(value, types.FunctionType) and value.__globals__ is namespace]
        found += [other for other in (*others, *code.co_consts) if isinstance(other, types.CodeType) and other not in found]
    return False


def _unwrapped(value: object) -> object:
    """The function that a wrapper wraps."""
    return attribute(value, "__wrapped__", value) if callable(value) else value


def _names_of(fn: Any) -> list[str]:
    """The parameters of what is not written in Python, if it tells them."""
    try:
        return list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return []


class Places:
    """Where the engine finds what a call passes: parameters in the order of the code's locals, then what is in them."""

    __slots__ = ("bound", "by_name", "double", "names", "plain", "star")

    def __init__(self, fn: Any, signature: inspect.Signature | None) -> None:
        given = list(signature.parameters.values()) if signature else []
        function, bound = traces.python_function(fn) if signature else (None, ())
        self.bound = len(bound)
        plain = [p for p in given if p.kind in _POSITIONAL]
        named = [p.name for p in given if p.kind is inspect.Parameter.KEYWORD_ONLY]
        hidden = self.bound if function and function.__code__.co_argcount else 0
        self.names: list[str | None] = [*[None] * hidden, *(p.name for p in plain), *named]
        self.plain = hidden + len(plain)
        self.star = len(self.names)
        self.double = self.star + any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in given)
        self.by_name = {p.name for p in plain if p.kind is not inspect.Parameter.POSITIONAL_ONLY} | set(named)

    def paths(self, place: tuple[int, ...], kwargs: dict[str, Any]) -> list[Path]:
        """The ways to say where a place of the engine's is among the arguments of a call: by position, by name."""
        head, *rest = place
        if head == self.double:
            return [([name for name in kwargs if name not in self.by_name][rest[0]], *rest[1:])]
        if head >= self.star:
            return [(self.plain - self.bound + rest[0], *rest[1:])]
        by_position: list[Path] = [(head - self.bound, *rest)] if self.bound <= head < self.plain else []
        name = self.names[head]
        return by_position + ([(name, *rest)] if name in self.by_name and name is not None else [])


def _caller(fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn behind a signature that takes anything: its own complaint is what a misfit call should get."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call


class Variant:
    """One residual, what it is valid for, and how to call it."""

    __slots__ = ("call", "contest", "holds", "key", "picks", "plain", "told", "trace")
    contest: Any

    def __init__(self, traced: tracing.Trace, original: Callable[..., Any], key: Key, count: int, names: tuple[str, ...]) -> None:
        self.trace = traced
        self.key = key
        self.contest = None
        self.told = ""
        self.call: Callable[..., Any] = self.initial()
        self.holds = compile_guards(traced.guards)
        #: the unknown arguments, by position or name; None: the original is called as it was
        self.picks: list[int | str] | None = [k if type(k) is int and k < count else name for k, name in traced.signature.names()]
        if traced.fallback or not all(type(pick) is int or pick in names for pick in self.picks):
            self.call, self.picks = original, None
        #: all arguments are passed on as they are
        self.plain = not names and self.picks in (None, list(range(count)))

    @property
    def in_vain(self) -> bool:
        """Has nothing come of it?"""
        return self.trace.fallback

    def initial(self) -> Callable[..., Any]:
        """The function of the unknown arguments that is called to begin with."""
        return self.trace.by_position()

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the residual with the unknown ones of these arguments."""
        if self.plain:
            return self.call(*args)
        if self.picks is None:
            return self.call(*args, **kwargs)
        return self.call(*self.picked(args, kwargs))

    def picked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The unknown ones of these arguments."""
        return [args[pick] if isinstance(pick, int) else kwargs[pick] for pick in self.picks or ()]
