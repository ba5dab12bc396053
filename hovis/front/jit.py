"""``hovis.jit``: residuals that are made when first needed, and cached by what is known of the arguments.

:mod:`hovis.front.jit_cache.cache_keys` defines what is known of arguments.  Folded reads of the environment become guards: when a guard fails,
the function is traced again.  Calls find their residual without a lock; tracing takes one.

The first calls of a residual, some of which go to the function itself, measure whether the residual is faster, its lookup and guards
included (:mod:`hovis.front.autotuner`).  If no residual has won, calls go to the function for some time without a lookup.
"""

import asyncio
import functools
import inspect
import operator
import threading
import time
from collections.abc import Callable, Iterable
from itertools import repeat
from types import CellType
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from hovis.base import deadline, interrupts, own_code
from hovis.base.function_wrapper import Wrapper, take_names
from hovis.base.once import COMPILER, in_turn
from hovis.bytecode.resumption.continuation import Exit
from hovis.engine.environment.guards import Guard, failing
from hovis.engine.learned import Learned
from hovis.engine.speculation.type_feedback import Feedback, observe
from hovis.engine.state.budget import WHY
from hovis.engine.state.specialization_tables import Promote
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.errors import SpecError, said
from hovis.front import traces, tracing
from hovis.front.autotuner import LONG, LONGER, STAYS, Contest
from hovis.front.callables import python_function
from hovis.front.jit_cache import nested_jit
from hovis.front.jit_cache.cache_keys import DYNAMIC, KNOWN, PLAIN, WIDE, Key, Path, by_types, constant, data_paths, key_of, part_at, spec_of, variable
from hovis.front.jit_cache.call_dispatch import MOST, WIDEST, compile_dispatch
from hovis.front.jit_cache.call_places import Places, names_of, signature_of
from hovis.front.jit_cache.plans import BRIEF, BY_CLASS, OBSERVED, SHORTER, WORTH, Plans, contest_between, with_refuted
from hovis.front.jit_cache.recursion import may_recur
from hovis.front.jit_cache.trace_time import TraceTime
from hovis.front.jit_cache.variants import Variant, exits_of, is_opaque
from hovis.ir.operations import UNBOUND
from hovis.lattice import Const

own_code.leave_as_calls(__file__)

#: Maximal number of residuals that are kept for one function; the oldest are dropped first.
VARIANTS: Final = 64
#: Initial number of instructions that a trace may interpret: the user waits for a first call, and on libraries of PyPI a larger number does not
#: give faster residuals. (``hovis.specialize``, which the user calls explicitly, has four times as many.)
FUEL: Final = 60_000
#: Maximal number of values of a known fact that decides (a number, a string, a class, a shape), before it is treated as unknown.
VALUES: Final = 8
#: The same once tracing the function has exceeded its time limit: then known values do not help enough.
FEW_VALUES: Final = 2
#: Number of changes of one read of the environment, before it is read at run time.
PATIENCE: Final = 4

#: Do residuals compete with the function itself?  (Tests switch this off to see residuals.)
CONTESTED = True
#: A residual that is faster by this factor need not win again, if calls take long.
CLEARLY: Final = 1.5
#: Limit, in seconds, of the first trace of a function: what takes longer is traced when the function has been called often enough for CPython's own
#: profile of it (PEP 659) to show what it executes. ENOUGH_CALLS, ENOUGH: this is after so many calls, or more if these take less than so many seconds.
BRIEFLY: Final = 0.1
ENOUGH_CALLS: Final = 16
ENOUGH: Final = 0.1
#: After this many lookups in vain, not counting those that residuals which have won made good, STAYS calls go to the function without one.
#: LOOKUP: the number of seconds for which a lookup counts.
LOSSES: Final = 64
LOOKUP: Final = 2e-6
#: If no residual has won, STAYS calls go to the function before the next lookup; this number grows by the factor LONGER each time, up to this limit.
LONGEST: Final = 1 << 20


def jit(fn: Any = None, *, static: Iterable[str] | str = (), strict: bool = False, **choices: Any) -> Any:
    """Return fn, specialized automatically to the arguments of its calls; also a decorator, with or without options.

    static     names of parameters whose values are part of the key
    strict     raise TraceError where anything is left as an opaque call
    annotations   parameters are assumed to have their annotated types: calls with other arguments run fn itself
    Other options are those of :class:`hovis.Options`.

    >>> @jit
    ... def double(x): return x + x
    >>> double(4), double(1.5), double("ab")
    (8, 3.0, 'abab')
    """
    if fn is None:
        return lambda wrapped: jit(wrapped, static=static, strict=strict, **choices)
    names = (static,) if isinstance(static, str) else tuple(static)
    chosen = tracing.Options(strict=strict, frozen=False, **{"fuel": FUEL, **choices})
    chosen.refuted = None if strict else frozenset()  # in a strict residual, nothing is left to unknown code
    return Jitted(fn, names, chosen)


def _mark_coroutine(made: Any) -> None:
    """Mark ``made`` as a coroutine function, which its class does not show."""
    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(made)
    made._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)


class Jitted(Wrapper):
    """A function that is specialized to the arguments of its calls. Use :func:`jit`."""

    #: May a call go to the function itself, if that is faster?  (The function behind a transform can only be traced.)
    has_plain = True
    goes_by_name = False
    #: Is the cost of tracing weighed against the time that residuals have saved?
    pays_for_traces = True
    if TYPE_CHECKING:
        __call__: Callable[..., Any]

    __slots__ = (
        "__call__", "__dict__", "__weakref__", "_balance", "_by_types", "_failed", "_function", "_hopeless", "_in_contest", "_longer", "_made", "_noted",
        "_options", "_plans", "_policy", "_seen", "_signature", "_static", "_trace_time", "_unobserved", "_variants", "_waits",
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
        #: the variants whose keys consist of types only, by these types
        self._by_types: dict[tuple[Any, ...], Variant] = {}
        self._signature = signature_of(fn)
        #: the policies of parts of the arguments that are not treated by their types, by path
        self._policy: dict[Path, str] = dict.fromkeys(self._paths(static), KNOWN)
        self._static = frozenset(self._policy)
        #: specs of the annotated parameters, by name and by position; None: the annotations have not been read yet
        self._noted: dict[int | str, Any] | None = None if options.annotations else {}
        self._seen: dict[Path, set[Any]] = {}
        self._made = 0
        #: has tracing the function exceeded its time limit?
        self._hopeless = False
        self._trace_time = TraceTime()
        #: an iterator: a step for each call that goes to the function itself before the next lookup; and their number for the next time
        self._waits = CellType(repeat(None, 0))
        self._longer = STAYS
        #: seconds that residuals have saved lately, less those that were spent on useless lookups
        self._balance = 0.0
        #: number of calls that are observed before the next trace, unless it is the first one
        self._unobserved = OBSERVED
        self._plans = Plans(options.refuted is not None and options.seconds is None and not options.strict)
        #: the thread in which a call is being timed
        self._in_contest = 0
        #: guards that have failed, with the number of failures, by their keys
        self._failed: dict[Any, tuple[Guard, int]] = {}
        self._renew()

    def _paths(self, static: tuple[str, ...]) -> list[Path]:
        if not static:
            return []
        names = list(self._signature.parameters) if self._signature else names_of(self._function)
        for name in static:
            if name not in names:
                raise SpecError(f"{self._function!r} has no parameter {said(name)} that could be static")
        return [path for name in static for path in ((name,), (names.index(name),))]

    def made_from(self) -> Any:
        """Return the function itself, whatever its ``__wrapped__`` is."""
        return self._function

    def made_of(self) -> tuple[Any, ...] | None:
        # a trace enters the function itself, whatever residuals there are
        return (self._function,) if type(self) in ENTERED_THROUGH else None

    @property
    def _by_itself(self) -> int:
        """The number of calls that go to the function itself before the next lookup."""
        return operator.length_hint(self._waits.cell_contents)

    @_by_itself.setter
    def _by_itself(self, number: int) -> None:
        self._waits.cell_contents = repeat(None, number)

    def _renew(self) -> None:
        """Generate the function that calls run, for the residuals that are in use now."""
        fit = [(types, one) for types, one in self._by_types.items() if one.alone is not None and one.contest is None]
        _RUN.__set__(self, compile_dispatch(self, self._function, self._waits, fit[-MOST:]))

    def dispatch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do a call for which generated code has chosen nothing: find or make its residual by the key of the arguments."""
        variant = None if kwargs else self._by_types.get(tuple(map(type, args)))
        if variant is None:
            variant = self._variants.get(self._key(args, kwargs))
        if variant is None or not variant.holds():
            if self._unobserved > 0 and self._plans.current != BRIEF:
                return self._observed(args, kwargs)
            variant = self._compile(args, kwargs)
        if variant is None:
            return self._function(*args, **kwargs)
        if variant.contest is None:
            self._balance = min(self._balance + variant.saves, LOSSES * LOOKUP)
            return variant.run(args, kwargs)
        return self._contested(variant, variant.contest, args, kwargs)

    def _observed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function itself, and record what the next trace may assume."""
        self._unobserved -= 1
        if self._options.feedback is None:
            self._options.feedback = Feedback()
        return observe(self._options.feedback, self._function, args, kwargs)

    def _observe_anew(self) -> None:
        """Forget what was seen: before a later trace, calls are observed again."""
        self._options.feedback, self._unobserved = None, OBSERVED

    def _contested(self, variant: Variant, contest: Contest, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do a call that may go to the function itself: to find out which is quicker, or because that is known."""
        if contest.winner is not None:
            if self._leave_alone(args, kwargs):
                return self._timed(args, kwargs)
            self._lose()
            return self._function(*args, **kwargs)
        here = threading.get_ident()
        if self._in_contest == here:
            # a recursive call: calling the function from here takes two Python frames for each call, which would halve the recursion depth
            self._win(variant)
            return variant.run(args, kwargs)
        way, self._in_contest = contest.begin(), here
        start = time.perf_counter()
        try:
            if way == "plain":
                return self._function(*args, **kwargs)
            if variant.alone is not None:
                variant.lookup = 0.0
                return variant.alone(*args)
            found = self._variants.get(self._key(args, kwargs), variant)  # so that it takes as long as an ordinary call
            variant.lookup = min(variant.lookup, time.perf_counter() - start)
            found.holds()
            return variant.run(args, kwargs)
        finally:
            contest.note(way, time.perf_counter() - start)
            self._in_contest = 0
            self._settle(variant, contest, args, kwargs)

    def _timed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function itself, and choose after how many calls it is traced again."""
        start = time.perf_counter()
        try:
            return self._function(*args, **kwargs)
        finally:
            self._by_itself = max(ENOUGH_CALLS, min(STAYS, int(ENOUGH / max(time.perf_counter() - start, 1e-9))))

    def _settle(self, variant: Variant, contest: Contest, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let all calls go the way that has won the contest, if one has; or try another plan."""
        if contest.winner is None:
            return
        if contest.winner == "plain":
            variant.told = f"The function itself is called, which is quicker: {contest}."
            self._leave_alone(args, kwargs)
        elif variant.has_won or variant.gain(LONG) > CLEARLY:
            if self._tries_another(variant.gain(), variant.cost_of_lookup(), is_opaque(variant.trace), args, kwargs):
                self._by_itself = ENOUGH_CALLS
            else:
                self._win(variant)
                self._paid()
        else:  # it has to win again: other processes may have slowed down the function's calls, or these had other arguments
            variant.has_won = True
            contest.reopen()

    def _tries_another(self, gain: float, lookup: float, better: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Put another plan in force, if one is to be tried, or if one that was tried has gained more (see ``Plans.next``)."""
        plans = self._plans
        if plans.settled:
            return False
        with COMPILER:
            return self._changes_plan(plans, (gain, lookup), better, data_paths(args, kwargs, self._policy))

    def _changes_plan(self, plans: Plans, measured: tuple[float, float], better: bool, paths: list[Path]) -> bool:
        """As _tries_another. measured: gain, and cost of the lookup; paths: of the arguments that a plan by class treats in another way."""
        before = plans.current
        if plans.next(*measured, (self._policy, self._variants), bool(paths), better):
            self._policy = {path: how for path, how in self._policy.items() if how is not PLAIN}
            if plans.current == BY_CLASS:
                self._policy |= dict.fromkeys(paths, PLAIN)
            self._keep({})
            self._options.learned = Learned()  # what was not worth entering may be so with the profile
            return True
        has_gained = plans.settle() > WORTH
        self._observe_anew()
        if plans.current == before:
            return False
        self._policy, variants = plans.residuals()
        for variant in variants.values():
            if has_gained and variant.contest is not None and variant.contest.winner == "residual":
                self._win(variant)
        self._keep(variants)
        self._paid()
        return True

    def _paid(self) -> None:
        """Record that a residual is worth its tracing time. Variants that ran out of time are dropped, so that a call traces them again."""
        self._trace_time.paid()
        if any(variant.trace.late for variant in self._variants.values()):
            with COMPILER:
                self._keep({key: variant for key, variant in self._variants.items() if not variant.trace.late})

    def _keep(self, variants: dict[Key, Variant]) -> None:
        """Use these residuals from now on."""
        self._variants, self._by_types = variants, by_types(variants, self._policy)
        for types, variant in self._by_types.items():
            if variant.plain and variant.alone is None and len(types) <= WIDEST:
                variant.alone = compile_dispatch(self, self._function, self._waits, [(types, variant)])
        self._renew()

    def _win(self, variant: Variant) -> None:
        """Let the residual of this variant do all its calls."""
        variant.saves = variant.saving()
        variant.contest = None
        self._renew()

    def _lose(self) -> None:
        """Record that a call was looked up in vain, while other residuals have won. If that happens too often, such calls go to the function itself for
        a while.
        """
        self._balance -= LOOKUP
        if self._balance < -LOSSES * LOOKUP:
            self._balance, self._by_itself = 0.0, STAYS

    def _leave_alone(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """If no residual has won and one has lost, try another plan: return whether there is one. Else send calls to the function for a while without
        looking at them; then hold the contests again.
        """
        variants = list(self._variants.values())
        contests = [variant.contest for variant in variants]
        if None in contests or not contests:
            return False
        gain, lookup = max(variant.gain() for variant in variants), max(variant.cost_of_lookup() for variant in variants)
        if self._tries_another(gain, lookup, any(variant.trace.late or is_opaque(variant.trace) for variant in variants), args, kwargs):
            return True
        for contest in contests:
            if contest.winner == "plain":
                contest.reopen()
        self._by_itself, self._longer = self._longer, min(LONGEST, LONGER * self._longer)
        return False

    def _contest(self, ways: list[str]) -> Contest | None:
        """Return a Contest of these ways for calls of one kind; None if the variant is used whatever it takes (strict: each kind of calls is to
        be traced).
        """
        if not (CONTESTED and self.has_plain) or self._options.strict or may_recur(self._function):
            return None
        return contest_between(ways)

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key:
        return key_of(args, kwargs, self._policy)

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant | None:
        """Find or make the variant for a call; None if the thread that is tracing now may be waiting for this one."""
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
            if self._plans.settled:
                self._observe_anew()
            self._hopeless |= made.trace.fallback or any(WHY in remark.what for remark in made.trace.reasons)
            table = {k: v for k, v in self._variants.items() if k != made.key}
            while len(table) >= VARIANTS:
                del table[next(iter(table))]
            self._keep({**table, made.key: made})
            return made

    def _note(self) -> None:
        """Read the annotations: of an annotated parameter only the type counts."""
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
        """Make a variant within the time that is available for it."""
        start, limit = deadline.clock(), self._options.limit(1)
        brief = self._is_profiled_later()
        left = min(self._trace_time.left(limit), BRIEFLY if brief else limit if self._plans.current == BRIEF else SHORTER * limit)
        with deadline.within(left, self._trace_time.why(limit)), traces.at_work(self._function, self._options):
            made = self._variant(args, kwargs)
        if brief and made.trace.late:
            made.contest = Contest(["plain"])
            return made
        self._trace_time.spent(deadline.clock() - start, made.in_vain, self.pays_for_traces and made.contest is not None)
        return made

    def _is_profiled_later(self) -> bool:
        """Is the function traced again, when there is a profile of it?"""
        return self._plans.is_first() and CONTESTED and self.has_plain and not may_recur(self._function)

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Variant:
        traced = self.trace(*args, **kwargs)
        made = Variant(traced, self._function, self._key(args, kwargs), len(args), tuple(kwargs))
        for left in exits_of(traced):
            left.often = functools.partial(_refute, ref(self), ref(made))  # a cycle would keep the function alive until a garbage collection
        made.contest = self._contest(["plain"] if traced.fallback else ["residual", "plain"])
        return made

    def refute(self, variant: Variant, left: Exit) -> None:
        """Do not assume again what did not hold where a residual was left; the next call makes another one."""
        self._options.refuted = with_refuted(self._options.refuted, left)
        self._options.learned = Learned()
        variant.holds = _outdated

    def _changed(self, variant: Variant) -> None:
        """Count the guards of a variant that fail; what has failed PATIENCE times is read at run time from then on."""
        for guard in failing(variant.trace.guards):
            if guard.kind in ("function", "defaults") and guard.holder is self._function:
                continue
            key = (guard.kind, id(guard.holder), guard.name)
            count = self._failed[key][1] if key in self._failed else 0
            self._failed[key] = guard, count + 1
            if count + 1 >= PATIENCE:
                self._options.volatile |= {key}

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Treat as unknown, from now on, what has had too many values: a number that decides, a string, a class, a shape."""
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
        """Count one more value at a path; if there are too many, give the path the policy ``otherwise`` and return False."""
        seen = self._seen.setdefault(path, set())
        seen.add(value)
        if len(seen) > (FEW_VALUES if self._hopeless else most) and path not in self._static:
            self._policy = {**self._policy, path: otherwise}
            del self._seen[path]
            return False
        return True

    def trace(self, /, *args: Any, **kwargs: Any) -> tracing.Trace:
        """Return the Trace for arguments like these. A number on which a decision depends becomes known, for a few values of it."""
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
            chosen = self._options.but(examples=(args, kwargs))
            try:
                return tracing.trace_call(self._function, tuple(given), extra, chosen)
            finally:
                chosen.forget_calls()
        except SpecError:
            return self._left_alone()

    def _left_alone(self) -> tracing.Trace:
        """Return a Trace that is only a call of the original."""
        traced = self._options.trace(_caller(self._function))
        traced.fallback = True
        return traced

    def _promote(self, place: tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make a number on which a decision depends part of the key, by whatever way it is passed; after too many values it is unknown."""
        for path in Places(self._function, self._signature).paths(place, kwargs):
            if path not in self._policy and self._count(path, constant(part_at(path, args, kwargs)), DYNAMIC):
                self._policy = {**self._policy, path: KNOWN}

    def _specs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return what the key says of the arguments, as specs."""
        policy = self._policy
        key = key_of(args, kwargs, policy)
        named = enumerate(kwargs.items())
        return (
            [spec_of(value, key[k], (k,), policy) for k, value in enumerate(args)],
            {name: spec_of(value, key[len(args) + 2 * k + 1], (name,), policy) for k, (name, value) in named},
        )

    def _with_defaults(self, specs: list[Any], named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Add the defaults of parameters that are not passed, as known values."""
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
        return [variant.trace for variant in self._present()]

    def _present(self) -> list[Variant]:
        """Return the residuals that are kept; where they are about to be made again, those before."""
        variants = self._variants or (self._plans.residuals() or ({}, {}))[1]
        return list(variants.values())

    @property
    def notes(self) -> list[str]:
        """Further notes on the residuals that are kept, for ``hovis.explain``."""
        return [variant.told for variant in self._present() if variant.told]

    def cache_info(self) -> dict[str, int]:
        """Return how many residuals are kept, and how many were made."""
        return {"kept": len(self._variants), "made": self._made}

    def clear_cache(self) -> None:
        """Forget all residuals."""
        with COMPILER:
            self._keep({})

    def __repr__(self) -> str:
        return f"<hovis.jit of {self._function!r}>"


#: The slot in which CPython finds what a call runs; subclasses may have a method instead.
_RUN: Final[Any] = Jitted.__dict__["__call__"]
ENTERED_THROUGH.add(Jitted)
nested_jit.stands_for(jit, Jitted, nested_jit.OPTIONS)


def _refute(owner: "ref[Jitted]", variant: "ref[Variant]", left: Exit) -> None:
    """Tell a jitted function, if it still exists, that a residual of it was left often at one place."""
    made, one = owner(), variant()
    if made is not None and one is not None:
        made.refute(one, left)


def _outdated() -> bool:
    return False


def _caller(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Give fn a signature that takes anything, so that a call that does not fit gets the error of fn itself."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return call
