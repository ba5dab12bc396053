"""Cached residuals: their guards, and how they are called."""

from collections.abc import Callable, Iterator
from typing import Any

from hovis.base import own_code
from hovis.bytecode.resumption.continuation import Exit
from hovis.engine.environment.guards import compile_guards
from hovis.front.jit_cache.cache_keys import Key
from hovis.front.traces import Trace
from hovis.ir.model import Effect
from hovis.ir.operations import resume
from hovis.lattice import Const

own_code.leave_as_calls(__file__)


class Variant:
    """One residual with its key, its guards, and the way to call it."""

    __slots__ = ("call", "contest", "has_won", "holds", "key", "picks", "plain", "told", "trace")
    contest: Any

    def __init__(self, traced: Trace, original: Callable[..., Any], key: Key, count: int, names: tuple[str, ...]) -> None:
        self.trace = traced
        self.key = key
        self.contest = None
        #: has the residual won a contest narrowly?
        self.has_won = False
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

    def is_opaque(self) -> bool:
        """Has the trace left calls of which nothing is known?"""
        return any(op.effect & Effect.OPAQUE for function in self.trace.functions for op in function.ops())

    def exits(self) -> Iterator[Exit]:
        """Yield the places where the residual is left for the original code."""
        for function in self.trace.functions:
            for op in function.ops():
                if op.callee is resume and isinstance(op.args[0], Const) and isinstance(op.args[0].value, Exit):
                    yield op.args[0].value

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
