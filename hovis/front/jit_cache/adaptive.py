"""Adaptive specialization: a residual that was made before the first call is made again, when calls and CPython's profile show more than the specs.

``hovis.specialize`` sees no call.  If its residual leaves opaque calls, the function that it returns first compares the residual with the original in
real calls.  Then it traces once more, for arguments like those of a call and with the profile of the original (hovis.engine.speculation), and
compares again.  In the end the function only calls the residual that is faster.  The environment is taken as frozen, as ever: as soon as anything
that the first residual has relied on is another, it is the one that is called.
"""

import functools
import inspect
import threading
import time
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

from hovis.backend.entry import prologue
from hovis.backend.tracebacks import hide
from hovis.base import deadline, interrupts, own_code
from hovis.base.function_wrapper import Wrapper, take_names
from hovis.base.once import in_turn
from hovis.bytecode.normalize import normalize
from hovis.bytecode.resumption.continuation import Exit
from hovis.bytecode.versions import UNREADABLE
from hovis.engine.environment.guards import compile_guards
from hovis.engine.learned import Learned
from hovis.engine.speculation import activations
from hovis.engine.speculation.type_feedback import Feedback, observe
from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.front.autotuner import Contest
from hovis.front.jit_cache.plans import OBSERVED, contest_between, with_refuted
from hovis.front.jit_cache.variants import LEAVING, exits_of, is_opaque
from hovis.front.traces import Trace
from hovis.ir.model import Effect

if TYPE_CHECKING:
    from hovis.front.tracing import Options

own_code.leave_as_calls(__file__)

#: Seconds that calls have to take in all, or their number, before the function is traced again.
ENOUGH: Final = 0.05
MANY: Final = 1024
#: Limit of the second trace, and of all further ones together, in multiples of the limit of a first call; SHORTEST: a trace with less time is not
#: worth while.
AGAIN: Final = 0.7
IN_ALL: Final = 1.0
SHORTEST: Final = 0.1
#: Number of calls for which the second residual does not hold, before it is given up: the function itself changes what it relies on.
PATIENCE: Final = 16

Ways = dict[str, Callable[..., Any]]


def adaptive(compiled: Any, traced: Trace, again: "Callable[[Options], Trace]") -> Any:
    """Return the residual `compiled` of a Trace, or a function that adapts itself if there is something to gain. again: traces the function with other
    options.
    """
    chosen, code = traced.options, getattr(traced.fn, "__code__", None)
    if UNREADABLE is not None or chosen.strict or not chosen.frozen or chosen.passes != "default" or chosen.seconds is not None or chosen.annotations:
        return compiled
    if type(compiled) is not FunctionType or traced.runs is not None or not is_opaque(traced) or type(code) is not CodeType:
        return compiled
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        return compiled
    if any(op.callee not in LEAVING and _counts_frames(op.callee) for function in traced.functions for op in function.ops() if op.effect & Effect.OPAQUE):
        return compiled
    variadic = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    if not prologue.bound_again(traced.fn).isdisjoint(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + variadic]):
        return compiled  # an argument ends with its variable, which the functions in between would hold
    return Adaptive(traced, again).function


def _counts_frames(callee: object) -> bool:
    """Does a function seem to ask for frames by their number? (There is one more than in the original.)"""
    return type(callee) is FunctionType and activations.counted_frames(normalize(callee.__code__)) > 1


class Adaptive(Wrapper):
    """What the function calls while ways are compared.

    function: the function that the user has, which calls what its cell contains.
    """

    goes_by_name = False
    __slots__ = (
        "__dict__", "__weakref__", "_again", "_calls", "_cell", "_feedback", "_first", "_fixed", "_holds", "_left", "_missed", "_other", "_plain", "_refuted",
        "_round", "_seconds", "_thread", "_time", "_traced", "_unobserved", "function",
    )  # fmt: skip

    def __init__(self, traced: Trace, again: "Callable[[Options], Trace]") -> None:
        self._traced, self._first, self._again = traced, traced.by_position(), again
        take_names(self, traced.fn)
        self._refuted: frozenset[Any] | None = frozenset()
        #: how often is the function to be traced again? and the time for that, in multiples of the limit of a first call
        self._left = 1
        self._time = IN_ALL
        self._calls, self._missed, self._seconds = 0, 0, 0.0
        self._thread = 0
        #: is the environment as it was?
        self._holds = compile_guards(traced.assumed)
        self._fixed = traced.fixed
        #: what does calls for which the second residual is not faster: the first one, or the original
        self._other = self._first
        #: the contest that is held, and its ways: first with the original, so that CPython has a profile of it, then with the second residual
        self._plain = self._first if traced.fallback else again(traced.options.but(seconds=0.0)).by_position()
        self._round = self._begun({"first": self._first, "plain": self._plain})
        #: what was seen in calls of it, and the number of calls that are still observed before the next trace
        self._feedback: Feedback | None = None
        self._unobserved = OBSERVED
        self._cell = CellType(self)
        self.function = self._made()

    def _made(self) -> Callable[..., Any]:
        """Return a function with the parameters of the first residual that calls what the cell contains."""
        made = self._written(_PASSING, target=self._cell)
        like = self._first
        made.__qualname__, made.__module__, made.__doc__ = like.__qualname__, like.__module__, like.__doc__
        return prologue.with_kinds(made, self._traced.signature.unknown)

    def _written(self, text: str, **cells: CellType) -> FunctionType:
        """Return the function that text defines, with the parameters of the first residual by position. cells: its free variables."""
        like = self._first
        code = _code(text, like.__code__.co_varnames[: like.__code__.co_argcount], tuple(cells))
        return FunctionType(code, globals(), like.__name__, None, tuple([cells[name] for name in code.co_freevars]))

    def made_from(self) -> Any:
        """Return the function that was specialized."""
        return self._traced.fn

    def made_of(self) -> tuple[Any, ...]:
        return (self._first,)  # a trace enters the first residual

    def _traced_again(self, chosen: "Options") -> Callable[..., Any]:
        """Trace the function with other options, and return the residual, behind its guards: what is known has to be as it was."""
        traced = self._again(chosen)
        for left in exits_of(traced):
            left.often = self._refute
        made = traced.by_position()
        if not traced.guards:
            return made
        return self._written(_GUARDED, holds=CellType(compile_guards(traced.guards)), target=CellType(made), other=CellType(self._miss))

    def _miss(self, *values: Any) -> Any:
        """Do a call for which the second residual does not hold."""
        self._missed += 1
        if self._missed >= PATIENCE:
            self._stay()
        return self._first(*values)

    def _stay(self) -> None:
        """Use the first residual from now on."""
        self._left = 0
        self._refuted = None
        self._cell.cell_contents = self._first

    def _begun(self, ways: Ways) -> tuple[Contest, Ways]:
        return contest_between(list(ways)), ways

    def __call__(self, /, *values: Any) -> Any:
        """Do a call by one of the ways, and compare them."""
        (held, ways), here = self._round, threading.get_ident()
        if self._thread == here:  # a recursive call
            return self._first(*values)
        if not self._holds():
            self._stay()
            return self._first(*values)
        if self._left and held.winner is not None and (self._seconds > ENOUGH or self._calls > MANY):
            if "plain" in ways:
                self._other = ways[held.winner]
            if self._unobserved > 0:
                return self._observed(values)
            self._trace_again(values)
            held, ways = self._round
        way, self._thread = held.begin(), here
        start = time.perf_counter()
        try:
            return ways[way](*values)
        except BaseException:
            hide()
            raise
        finally:
            taken = time.perf_counter() - start
            self._thread = 0
            self._calls, self._seconds = self._calls + 1, self._seconds + taken
            held.note(way, taken)
            if not self._left and held.winner is not None and held is self._round[0]:
                self._cell.cell_contents = ways[held.winner]

    def _observed(self, values: tuple[Any, ...]) -> Any:
        """Call the function itself, and record what the next trace may assume."""
        self._unobserved -= 1
        if self._feedback is None:
            self._feedback = Feedback()
        self._thread = threading.get_ident()
        try:
            return observe(self._feedback, self._plain, values, {})
        except BaseException:
            hide()
            raise
        finally:
            self._thread = 0

    def _trace_again(self, values: tuple[Any, ...]) -> None:
        """Trace the function for arguments like these, and begin another contest."""
        with interrupts.AtWork(), in_turn(interrupts.check) as mine:
            if not mine or not self._left:
                return
            self._left -= 1
            start, share = deadline.clock(), min(AGAIN, self._time)
            given = {one.name: value for one, value in zip(self._traced.signature.unknown, values, strict=True)}
            chosen = self._traced.options.but(
                frozen=False, fixed=self._fixed, refuted=self._refuted, examples=((), given), feedback=self._feedback, learned=Learned(),
                seconds=deadline.limit(share),
            )  # fmt: skip
            try:
                made = self._traced_again(chosen)
            finally:
                chosen.forget_calls()
                self._feedback, self._unobserved = None, OBSERVED
            self._time -= (deadline.clock() - start) / max(deadline.limit(1), 1e-9)
            self._round = self._begun({"again": made, "other": self._other})

    def _refute(self, left: Exit) -> None:
        """Do not assume again what did not hold where the residual was left; the next call makes another one."""
        if self._refuted is None:
            return
        if self._time < SHORTEST:
            self._left, self._refuted, self._cell.cell_contents = 0, None, self._other
        else:
            self._refuted = with_refuted(self._refuted, left)
            self._left = 1
            self._cell.cell_contents = self


ENTERED_THROUGH.add(Adaptive)


#: Functions that pass their arguments on; and that do so if guards hold.
_PASSING: Final = """
  try: return target({given})
  except BaseException:
   hide()
   raise
"""
_GUARDED: Final = "\n  return target({given}) if holds() else other({given})\n"


@functools.lru_cache(maxsize=64)
def _code(body: str, names: tuple[str, ...], free: tuple[str, ...]) -> CodeType:
    """Return the code of a function with these parameters and free variables."""
    parameters = [f"p{k}" for k in range(len(names))]
    given = ", ".join(parameters)
    scope: dict[str, Any] = {}
    exec(compile(f"def outer({', '.join(free)}):\n def passing({given}):{body.format(given=given)} return passing", __file__, "exec"), scope)
    made: CodeType = scope["outer"](*free).__code__
    return made.replace(co_varnames=names)


__all__ = ["adaptive"]
