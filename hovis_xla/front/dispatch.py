"""Dispatch of calls to variants: first by the entries of a few recently used variants, else by the key of the arguments.

The front half (keys, guards, defaults, the table of variants) is that of ``hovis.jit``; the difference is what a variant runs:
an executable, and the residual Python wherever the executable gives up.
"""

import os
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis.backend.tracebacks import hide
from hovis.base import gc_pause, interrupts
from hovis.base.deadline import OutOfTime
from hovis.base.once import COMPILER, in_turn
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.errors import TraceError
from hovis.front import tracing
from hovis.front.autotuner import Spending
from hovis.front.jit import VARIANTS
from hovis.front.jit import Jitted as PythonJitted
from hovis.front.jit_cache.cache_keys import DYNAMIC, KNOWN, WIDE, Key, constant
from hovis.transforms.interpreter import Interpreter
from hovis_xla.abi.argument_specs import Walk, aliasing
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.emit.values import Late, NumberUnknown, ShapeUnknown
from hovis_xla.front.aot import Lowered
from hovis_xla.front.mutable_arguments import Adopting, Seen
from hovis_xla.front.residuals import without_checks
from hovis_xla.front.sanitizers import Overflows
from hovis_xla.front.variant import Variant
from hovis_xla.jaxlib import adapter, disk_cache
from hovis_xla.partition.decide import Decision
from hovis_xla.runtime.size_buckets import Sized, opened, sizes, without_sizes

#: Values of the option ``target``: where a function may run.
TARGETS: Final = ("auto", "xla", "python")

#: Number of variants whose entries a call tries before its key is computed.
QUICK: Final = 4
#: Maximal number of forms of calls in a table of quick entries.
FORMS: Final = 512
#: Ways to do a call for which it is not worth computing the key.
CHEAP: Final = frozenset({"residual", "plain"})


@dataclass(slots=True)
class _Family:
    """Calls whose arguments differ only in sizes: the specs merged over these sizes, and the variant for all of them."""

    specs: tuple[list[Any], dict[str, Any]]
    variant: "Variant | None" = None
    refused: bool = False


class Jitted(PythonJitted):
    """A function that XLA compiles, specialized to the arguments of its calls. Use :func:`jit`.

    A call tries the entries of a few variants (``argument_plan.quick_entry``), each of which checks whether it accepts the arguments;
    if none does, the key of the arguments decides.
    """

    #: The budget for traces comes from the calls that are done without them (``Spending``).
    pays_for_traces = False

    __slots__ = ("_by_head", "_chosen", "_exact", "_families", "_open", "_quick", "_spending", "_strict", "_watch")

    def __init__(
        self, fn: Callable[..., Any], static: tuple[str, ...], exact: bool, strict: bool, target: str | None, watch: Interpreter | None, seconds: float | None,
    ) -> None:  # fmt: skip
        super().__init__(fn, static, tracing.Options(strict="whole" if strict else False, frozen=False, known_sizes=True, seconds=seconds))
        self._exact = exact
        self._strict = strict
        self._chosen = target
        self._watch = watch
        #: the variants that were used last, by the number of arguments and the names of those passed by name
        self._quick: dict[Any, tuple[Variant, ...]] = {}
        #: the same, by the types and shapes of the arguments as well, for when there are too many variants
        self._by_head: dict[Any, tuple[Variant, ...]] = {}
        self._spending = Spending()
        #: the families of calls whose arguments differ only in sizes, by keys without sizes
        self._families: dict[Any, _Family] = {}
        self._open: tuple[list[Any], dict[str, Any]] | None = None
        _all.add(self)

    def _leave_behind(self) -> None:
        """In the child of a fork: drop everything that belongs to XLA. A variant that is missing is made again."""
        self._open = None
        if adapter.is_left_behind():
            self._variants = {key: v for key, v in self._variants.items() if isinstance(v, Variant) and v.xla is None and v.parts is None}
            self._quick, self._by_head, self._families, self._spending = {}, {}, {}, Spending()

    @property
    def _target(self) -> str:
        if adapter.is_left_behind():
            return "python"
        if self._watch is not None:
            return "xla" if isinstance(self._watch, Overflows) else "python"
        found = self._chosen or os.environ.get("HOVIS_TARGET", "auto")
        if found not in TARGETS:
            raise ValueError(f"HOVIS_TARGET is one of {', '.join(map(repr, TARGETS))}, not {found!r}")
        return found

    @property
    def notes(self) -> list[str]:
        """Always empty: :meth:`explain` says more."""
        return []

    @property
    def _auto(self) -> bool:
        """Whether the plain function may do a call."""
        return not self._strict and self._target == "auto"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        tried = self._quick.get((len(args), *kwargs) if kwargs else len(args), ())
        try:
            for variant in tried:
                found = variant.entry(*args, *kwargs.values())
                if found is not BAILED:
                    return found
                if variant.log is not None and variant.log.done:
                    return variant.give_up(args, kwargs)
            return self._call(args, kwargs, tried)
        except BaseException:
            hide()
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: "tuple[Variant, ...]") -> Any:
        """Do a call that none of the quick entries accepts, or that XLA has given up."""
        form, values = (len(args), *kwargs) if kwargs else len(args), (*args, *kwargs.values())
        head = (form, *[a.shape if type(a) is np.ndarray else type(a) for a in values])
        others = self._by_head.get(head, ())
        for other in others:
            if other not in tried:
                found = other.entry(*values)
                if found is not BAILED:
                    return found
                if other.log is not None and other.log.done:
                    return other.give_up(args, kwargs)
        if self._spending.rests():
            return self._without(args, kwargs)
        start = time.perf_counter()
        known = self._variants.get(self._key(args, kwargs))
        is_new = known is None or not known.holds()
        if is_new:
            if not self._may_make(args, kwargs):
                return self._in_vain(start, lambda: self._without(args, kwargs))
            known = self._compile(args, kwargs)
            if known is None:
                return self._without(args, kwargs)
        assert isinstance(known, Variant)
        variant = known.for_shared_memory(args, kwargs) or known
        if is_new:
            try:
                return self._run(variant, args, kwargs, form, head)
            finally:
                self._spending.made(time.perf_counter() - start)
        if variant in tried or variant in others:
            return variant.give_up(args, kwargs)
        if self._auto and not variant.contest.given_up and variant.contest.winner in CHEAP:
            return self._in_vain(start, lambda: self._run(variant, args, kwargs, form, head))
        return self._run(variant, args, kwargs, form, head)

    def _in_vain(self, start: float, call: Callable[[], Any]) -> Any:
        """Do a call for which it was not worth looking at the key, and record both times. ``start`` is when the look began."""
        looked = time.perf_counter()
        result = call()
        self._spending.looked(looked - start, time.perf_counter() - looked)
        return result

    def _run(self, variant: Variant, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any, head: Any) -> Any:
        """Do a call by a variant. Its entry is tried first from now on, unless it gives up calls."""
        found = variant.run(args, kwargs)
        self._remember(self._quick, form, variant)
        self._remember(self._by_head, head, variant)
        return found

    def _remember(self, table: dict[Any, tuple[Variant, ...]], place: Any, variant: Variant) -> None:
        """Add a variant to a table of quick entries, or remove it: one that has given up a call is found by its key only, until a call gets
        through.
        """
        known = tuple(v for v in table.get(place, ()) if v is not variant)
        if len(table) >= FORMS:
            table.clear()
        # residual Python accepts more calls than executables do, and the plain function calls of all kinds: the others are tried first
        ranked = sorted([variant, *known], key=lambda v: (v.xla is None, v.contest.winner == "plain"))
        table[place] = tuple(ranked[:QUICK]) if not variant.contest.given_up else known

    def _may_make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a variant may be made for these arguments."""
        if not self._auto:
            return True
        before = self._policy
        with interrupts.AtWork(), in_turn(interrupts.check) as mine:
            if not mine:
                return False
            self._widen(args, kwargs)
        self._spending.free += self._policy is not before
        return self._spending.affords()

    def _without(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do the call by the plain function, and record its time."""
        start = time.perf_counter()
        found = self._function(*args, **kwargs)
        self._spending.went_without(time.perf_counter() - start)
        return found

    def clear_cache(self) -> None:
        """Forget all executables and residuals."""
        with COMPILER:
            super().clear_cache()
            self._quick, self._by_head, self._spending = {}, {}, Spending()
            self._families = {}

    def _walk(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any], Walk]:
        """Return the key and the spec of each argument, and the Walk that found them."""
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
        """Make the integer arguments known, because a shape depends on a number; those that had too many values stay unknown. Return whether
        there are any.
        """
        fresh = dict.fromkeys(self._walk(args, kwargs)[2].ints, KNOWN)
        self._policy = {**self._policy, **fresh}
        return bool(fresh)

    def _widen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Treat as unknown from now on what has had too many values: a number that decides a shape, a string, a function, the keys of a dict."""
        for path, value in self._walk(args, kwargs)[2].known:
            if path not in self._static:
                self._count(path, constant(value), DYNAMIC)
        for path, known in self._walk(args, kwargs)[2].choices:
            if len(self._seen) < FORMS:
                self._count(path, known, WIDE, VARIANTS)

    def _variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        with gc_pause.seldom():
            made = None if self._target == "python" or self._watch is not None else self._of_all_sizes(args, kwargs)
            return made or self._of_this_size(args, kwargs)

    def _of_all_sizes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant | None":
        """Return the variant for arguments like these of any size, or None if they have not come with another size before or no program for all
        sizes is possible.
        """
        key = without_sizes(self._key(args, kwargs))
        specs = self._specs(args, kwargs)
        family = self._families.get(key)
        if family is None:
            while len(self._families) >= VARIANTS:
                del self._families[next(iter(self._families))]
            self._families[key] = _Family(specs)
            return None
        merged = opened(family.specs, specs)
        if family.refused or sizes(merged) == sizes(specs):
            return None
        if family.variant is None or not family.variant.holds() or sizes(merged) != sizes(family.specs):
            self._open = merged
            try:
                traced = self.trace(*args, **kwargs)
            finally:
                self._open = None
            if traced.late:
                family.refused = True
                return None
            family.specs = merged
            sized = Sized(traced.function, self._exact, without_checks(traced) if self._target == "auto" else None)
            family.variant = Variant(traced, self._function, self._key(args, kwargs), args, kwargs, self._exact, self._target, sized)
        if family.variant.serves(args, kwargs):
            return family.variant
        family.refused = family.variant.sized is None or family.variant.sized.hopeless
        return None

    def _of_this_size(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        made = self._compiled(args, kwargs)
        before = self._policy
        reason = made.decision.reason
        if isinstance(reason, ShapeUnknown | NumberUnknown) and self._promote_sizes(args, kwargs):
            again = self._compiled(args, kwargs)
            if isinstance(reason, NumberUnknown) and again.decision.executable is None:
                self._policy = before
            else:
                made = again
        if isinstance(made.decision.reason, Late) and not self._strict:
            return made
        if made.decision.executable is None and self._target != "python" and self._watch is None and made.picks is not None:
            with suppress(OutOfTime):
                adopting = Adopting.of(made.trace, args, kwargs, self._policy, self._exact)
                if isinstance(adopting, Seen):
                    made.decision = Decision(None, adopting.bare())
                elif adopting is not None:
                    made.adopt(adopting)
        if made.decision.executable is None and self._target != "python":
            if self._strict:
                raise TraceError(str(made.decision))
            if self._watch is None:
                made.cut_up(self._exact)
        return made

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant":
        traced = self.trace(*args, **kwargs)
        return Variant(traced, self._function, self._key(args, kwargs), args, kwargs, self._exact, self._target, watch=self._watch)

    def lower(self, /, *args: Any, **kwargs: Any) -> "Lowered":
        """The StableHLO program for arguments like these."""
        return Lowered(self.trace(*args, **kwargs), self._exact)

    def explain(self) -> str:
        """For every variant: whether it is an executable, and if it is not, why, with the place in the source."""
        kept = [v for v in list(self._variants.values()) if isinstance(v, Variant)]
        trouble = disk_cache.trouble() if any(v.xla is not None or v.parts is not None for v in kept) else ""
        return "\n".join([*(v.explain() for v in kept), *([trouble] if trouble else [])]) or "It has not been called yet."

    def __repr__(self) -> str:
        return f"<hovis_xla.jit of {self._function!r}>"


_all: Final[weakref.WeakSet[Jitted]] = weakref.WeakSet()


def _leave_behind() -> None:
    for jitted in list(_all):
        jitted._leave_behind()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)

# a trace continues in the wrapped function: it is compiled, or differentiated, together with the code around it
ENTERED_THROUGH.add(Jitted)
