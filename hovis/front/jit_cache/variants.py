"""Cached residuals: their guards, and how they are called."""

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from hovis.base import own_code
from hovis.bytecode.resumption.continuation import Exit
from hovis.engine.environment.guards import compile_guards
from hovis.front.jit_cache.cache_keys import Key
from hovis.front.traces import Trace
from hovis.ir.model import Effect
from hovis.ir.operations import continued_generator, resume
from hovis.lattice import Const

own_code.leave_as_calls(__file__)

#: Callees that continue original code where a residual is left.
LEAVING: Final = (resume, continued_generator)


def is_opaque(traced: Trace) -> bool:
    """Has a trace left calls of which nothing is known, besides those that leave the residual?"""
    return any(op.effect & Effect.OPAQUE and op.callee not in LEAVING for function in traced.functions for op in function.ops())


def exits_of(traced: Trace) -> Iterator[Exit]:
    """Yield the places where the residual is left for the original code."""
    for function in traced.functions:
        for op in function.ops():
            if op.callee is resume and isinstance(op.args[0], Const) and isinstance(op.args[0].value, Exit):
                yield op.args[0].value


class Variant:
    """One residual with its key, its guards, and the way to call it."""

    __slots__ = ("__weakref__", "alone", "call", "contest", "has_won", "holds", "key", "lookup", "picks", "plain", "saves", "told", "trace")
    contest: Any

    def __init__(self, traced: Trace, original: Callable[..., Any], key: Key, count: int, names: tuple[str, ...]) -> None:
        self.trace = traced
        self.key = key
        self.contest = None
        #: has the residual won a contest narrowly?
        self.has_won = False
        #: the least number of seconds that it has taken to find it
        self.lookup = math.inf
        #: the number of seconds by which its calls are shorter than those of the function itself
        self.saves = 0.0
        #: a function that tests the classes of the arguments and the guards, and calls the residual; None: its key is more than these classes
        self.alone: Callable[..., Any] | None = None
        self.told = ""
        self.call: Callable[..., Any] = self.initial()
        self.holds = compile_guards(traced.guards)
        #: the unknown arguments, by position or name; None: the call is passed to the original unchanged
        self.picks: list[int | str] | None = [k if type(k) is int and k < count else name for k, name in traced.signature.names()]
        if traced.fallback or not all(type(pick) is int or pick in names for pick in self.picks):
            self.call, self.picks = original, None
        #: are all arguments passed on unchanged?
        self.plain = not names and self.picks in (None, list(range(count)))

    @property
    def in_vain(self) -> bool:
        """Has the trace left the whole function as a call of the original?"""
        return self.trace.fallback

    def gain(self, least: float = 0.0) -> float:
        """Return how many times as fast as the function itself the residual is, according to the contest; 0: not known, or calls of the function take
        less than `least` seconds.
        """
        times = self.contest.seconds if self.contest is not None else {}
        if not times.get("plain") or not times.get("residual") or min(times["plain"]) < least:
            return 0.0
        found: float = min(times["plain"]) / min(times["residual"])  # other processes only make calls slower
        return found

    def saving(self) -> float:
        """Return by how many seconds a call of the residual is shorter, according to the contest; 0: not known."""
        plain, residual = map(self.contest.typical, ("plain", "residual")) if self.contest is not None and self.gain() else (0.0, 0.0)
        return plain - residual

    def cost_of_lookup(self) -> float:
        """Return which part of a call finding the residual takes; 0: not known."""
        times = self.contest.seconds.get("residual") if self.contest is not None else None
        return self.lookup / min(times) if times else 0.0

    def initial(self) -> Callable[..., Any]:
        """Return the function of the unknown arguments that is called at first."""
        return self.trace.by_position()

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the residual with those of the arguments that are unknown."""
        if self.plain:
            return self.call(*args)
        if self.picks is None:
            return self.call(*args, **kwargs)
        return self.call(*self.picked(args, kwargs))

    def picked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return those of the arguments that are unknown."""
        return [args[pick] if isinstance(pick, int) else kwargs[pick] for pick in self.picks or ()]
