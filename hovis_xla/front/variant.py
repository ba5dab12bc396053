"""A variant of a jitted function, for arguments of one kind: an executable, its residual Python, and the choice between them."""

import contextlib
import itertools
import math
import time
from collections.abc import Callable
from typing import Any, Final

from hovis.base import deadline
from hovis.base.deadline import OutOfTime
from hovis.base.once import COMPILER
from hovis.front import tracing
from hovis.front.autotuner import GIVEN_UP, Contest
from hovis.front.jit_cache.cache_keys import Key
from hovis.front.jit_cache.variants import Variant as PythonVariant
from hovis.ir.naming import is_name
from hovis.lattice import Const
from hovis.transforms.interpreter import Interpreter
from hovis_xla.abi.argument_plan import Head, plan_of, quick_entry, taker
from hovis_xla.abi.argument_specs import aliasing
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.abi.errstate import is_watched
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.emit.values import Late
from hovis_xla.front.mutable_arguments import Adopting
from hovis_xla.front.residuals import AFTERWARDS, replaying, without_checks
from hovis_xla.jaxlib import adapter
from hovis_xla.jaxlib.adapter import XlaError
from hovis_xla.partition.decide import Decision, Parts, decide
from hovis_xla.partition.piece import overlap
from hovis_xla.runtime import jaxlib_checks
from hovis_xla.runtime.executable import Executable
from hovis_xla.runtime.size_buckets import Sized, never

#: The ways to do a call, in words for the user.
WAYS: Final = {"xla": "XLA", "parts": "residual Python with compiled pieces", "residual": "residual Python", "plain": "the plain function"}
#: Maximal number of calls for which a residual that is cut up into pieces runs, while these choose between XLA and Python, before it is
#: compared with the plain function.
SETTLING: Final = 32


class Variant(PythonVariant):
    """An executable, the guards under which it is valid, and the residual Python to which it falls back.

    ``entry`` is the function of all arguments that a call runs: it returns BAILED if it does not accept them, or if the program has
    given up.  If there are several ways to do a call, an ``autotuner`` finds out which is the quickest; until then, the entry only
    passes calls on to the way that is being tried.
    """

    __slots__ = (
        "_auto", "_heads", "_made", "_places", "adopting", "decision", "entry", "log", "original", "parts", "replay", "settling", "shared", "sized",
        "watch", "xla",
    )  # fmt: skip

    def __init__(
        self, traced: tracing.Trace, original: Callable[..., Any], key: Key, args: tuple[Any, ...], kwargs: dict[str, Any],
        exact: bool, target: str, sized: Sized | None = None, watch: Interpreter | None = None,
    ) -> None:  # fmt: skip
        super().__init__(traced, original, key, len(args), tuple(kwargs))
        self.original = original
        self.sized = sized
        self.decision = Decision(None)
        if traced.late:
            self.decision = Decision(None, Late(traced.reasons[0].why, traced.reasons[0].location))
        elif target != "python" and sized is None:
            self.decision = decide(traced.function, None, exact, hurry=True)
        self.xla: Executable | Sized | None = sized or self.decision.executable
        self.parts: Parts | None = None
        self.replay: Callable[..., Any] | None = None
        self.entry: Callable[..., Any] = self._first_entry
        #: the entry of each way to do a call, and what all entries know about the arguments: their places and their heads
        self._made: dict[str, Callable[..., Any]] = {}
        self._places: list[int | str] = [*range(len(args)), *kwargs]
        given = enumerate(zip(self._places, (*args, *kwargs.values()), strict=True))
        self._heads = [Head.of(f"a{k}", value, None if place in (self.picks or ()) else Const(value)) for k, (place, value) in given]
        self.told = _told(target)
        #: the program for mutable arguments, if XLA does the calls by one
        self.adopting: Adopting | None = None
        #: the interpreter that runs, op by op, calls that XLA does not do
        self.watch = None if traced.fallback else watch
        #: the variant for calls whose arguments share memory
        self.shared: Variant | None = None
        self.settling = 0
        #: the visible side effects of a call that was given up; None if the executable has none before its call is over
        self.log = _log_of(self.xla)
        self._auto = target == "auto"
        self.contest = self._contest()
        if self.watch is not None and self.xla is None:
            self.told = "It is interpreted operation by operation."
            self.entry = never

    def initial(self) -> Callable[..., Any]:
        """Return a function that makes the residual when it is first called, because an executable may never need it."""
        return self._first_residual

    def _first_residual(self, *unknown: Any) -> Any:
        return self.residual()(*unknown)

    def residual(self) -> Callable[..., Any]:
        """Return the residual; make it now if that has not been done."""
        if getattr(self.call, "__func__", None) is Variant._first_residual:
            with deadline.within(AFTERWARDS * self.trace.options.limit(1)):
                self.call = self.trace.by_position()
        return self.call

    @property
    def in_vain(self) -> bool:
        return self.trace.fallback or isinstance(self.decision.reason, Late)

    def _contest(self) -> Contest:
        """Make the contest between the ways in which calls may be done."""
        executable = self.xla
        if not self._auto or self.picks is None or isinstance(executable, Sized):
            return Contest(["residual"] if executable is None else ["xla", "residual"], decided=True)
        if executable is None:
            return Contest(["residual", "plain"], grows=True)
        if executable.is_worth_it:
            return executable.contest("residual", "plain")
        self.xla = None
        low = executable.lowered
        self.told = f"{executable.name} runs as residual Python: about {low.work.python:.1f} µs of work, and a call of XLA costs {executable.overhead:.0f} µs."
        return Contest(["residual", "plain"], grows=not all(head.is_simple for head in self._heads))

    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return the leaves of the unknown arguments; None if the original does the calls."""
        return taker(plan_of(self.trace.signature))(*self.picked(args, kwargs)) if self.picks is not None else None

    def serves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether this variant for all sizes has a plan worth using for the sizes of these arguments."""
        values = self._leaves(args, kwargs)
        if values is None or self.sized is None:
            return False
        plan, _ = self.sized.plan(values)
        return plan is not None and (self.sized.python is not None or not self._auto or plan.executable.is_worth_it)

    def for_shared_memory(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "Variant | None":
        """Return a variant for a call whose arrays share memory, if the executable stores into arrays and therefore does not accept them; else
        None.
        """
        executable = self.decision.executable
        if not self._auto or self.xla is None or executable is None or not executable.lowered.written:
            return None
        if not overlap(self._leaves(args, kwargs) or ()):
            return None
        if self.shared is None:
            self.shared = Variant(self.trace, self.original, self.key, args, kwargs, executable.exact, "python")
            self.shared.contest = Contest(["residual", "plain"], grows=False)
        return self.shared

    def adopt(self, adopting: Adopting) -> None:
        """Have XLA do the calls by a program that takes objects apart and returns their changes."""
        self.adopting = adopting
        self.decision = Decision(adopting.executable)
        self.xla = adopting.executable
        self.log = _log_of(adopting.executable)
        self.told = ""
        self.contest = self._contest()

    def _python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.watch is not None and (leaves := self._leaves(args, kwargs)) is not None:
            return self.watch.evaluate(self.trace.function, *leaves)
        return super().run(args, kwargs)

    def cut_up(self, exact: bool) -> None:
        """Have XLA run the numeric pieces of a function that it cannot run as a whole."""
        with COMPILER:
            if self.parts is None and self.picks is not None:
                self.parts = Parts(self.trace, self.decision.reason, exact)
            if self.parts is not None and self.parts.stale:
                try:
                    with deadline.within(self.trace.options.limit(1)):
                        self.call = self.parts.build() or self.initial()
                except OutOfTime:
                    self.parts.close()
                    self.call = self.initial()
                if self.parts.pieces and self.contest.winner is None and self.contest.first != "parts":
                    self.contest = Contest(["parts", "plain"], self.parts.hopeless)
                    self.settling = SETTLING

    def in_pieces(self, *unknown: Any) -> Any:
        """Call the residual; cut it up again first, if a piece has turned out to be impossible."""
        if self.parts is not None and self.parts.stale:
            self.cut_up(self.parts.exact)
        return self.call(*unknown)

    # --------------------------------------------------------------------------------------------- entries

    def _trying(self, *values: Any) -> Any:
        """The entry while it is not decided which way is the quickest."""
        contest = self.contest
        if self.settling and self.parts is not None:
            self.settling = 0 if all(piece.decided for piece in self.parts.pieces) and self.settling < SETTLING else self.settling - 1
            return self._entry("parts")(*values)
        if self._entry("")(*values) is BAILED:
            return BAILED
        way = contest.begin(values)
        entry, start = self._entry(way), time.perf_counter()
        found = entry(*values)
        if found is BAILED:
            contest.take_back(way)
            return BAILED
        contest.note(way, time.perf_counter() - start)
        if contest.winner is not None:
            self._enter_by_winner()
        return found

    def _first_entry(self, *values: Any) -> Any:
        """Make the entry and call it; this compiles the program."""
        xla = self.xla
        if isinstance(xla, Executable) and self.picks is not None:
            if self.adopting is None and self._entry("")(*values) is BAILED:
                return BAILED  # a call of another kind, for which nothing is compiled
            if xla.in_a_hurry:
                with contextlib.suppress(XlaError):  # it is raised again, and handled, below
                    return self._make_entry("first")(*values)
        self._enter_by_winner()
        return self.entry(*values)

    def _enter_by_winner(self) -> None:
        """Have later calls done in the way that has won the contest, or in all ways in turn if it is held."""
        contest, way = self.contest, self.contest.winner
        if contest.first == "xla" and contest.scales:
            name = getattr(self.trace.fn, "__name__", None) or self.trace.function.name
            self.told = "" if way in ("xla", None) else f"{name} runs as {WAYS[way]}, which is quicker: {contest}."
        if way is None:
            self.entry = self._trying
            return
        watched = contest.alert < math.inf or contest.stays > 0
        self.entry = self._make_entry(way, (contest, self._late)) if watched else self._entry(way)

    def _late(self, values: tuple[Any, ...] | None, seconds: float = 0.0) -> Any:
        """Record that a call took long (``values`` is None), or reopen the contest, because the winner has done many calls, and do this call."""
        if values is None:
            self.contest.note(self.contest.winner or "", seconds)
        else:
            self.contest.reopen()
        self._enter_by_winner()
        return None if values is None else self.entry(*values)

    def _entry(self, way: str) -> Callable[..., Any]:
        """Return the entry of a way; XLA's program is compiled now."""
        if way not in self._made:
            try:
                self._made[way] = self._make_entry(way)
            except XlaError as error:
                self.contest.drop()
                self.xla = None
                self.told = f"It runs as residual Python, because XLA does not compile it: {error}"
                return self._entry("residual")
        return self._made[way]

    def _make_entry(self, way: str, watch: Any = None) -> Callable[..., Any]:
        """Make the function of all arguments that checks them and does the call in this way; with the way "" it only checks them."""
        heads, places = self._heads, self._places
        scope: dict[str, Any] = {"holds": self.holds, "aliasing": aliasing, "is_watched": is_watched, "pattern": self.key[0]}
        tests = [f"not {-limit} <= a{k} <= {limit}" for k, limit in self.contest.largest.items()] if way == self.contest.winner else []
        if self.picks is None or way == "plain":
            # the original function is called: shallow tests of the arguments are enough
            tests += ["not holds()"] if self.picks is None else [test for head in heads for test in head.outgrown]
            names = [f"a{k}" if isinstance(at, int) else f"{at}=a{k}" if is_name(at) else f"**{{{at!r}: a{k}}}" for k, at in enumerate(places)]
            return quick_entry([["leaf", None, head.cls] for head in heads], tests, scope, self.original, names, watch=watch)
        if way in ("xla", "first") and self.adopting is not None:
            return self.adopting.entry([*tests, "not holds()", "is_watched()"], scope, watch, way == "first")
        chosen = [places.index(pick) for pick in self.picks]
        given: dict[int, Any] = dict(zip(chosen, plan_of(self.trace.signature), strict=False))
        whole = [given.get(k) or ["value", head.known] for k, head in enumerate(heads)]
        tests = ["not holds()", *self._aliasing_tests(), *tests]
        xla = self.xla
        if way in ("xla", "first") and xla is not None:
            enter = xla.first if way == "first" and isinstance(xla, Executable) else xla.enter
            return quick_entry(whole, [*tests, "is_watched()"], scope, enter, watch=watch)
        if not way:
            return quick_entry(whole, tests, scope, bool, [])
        bare = without_checks(self.trace) if self.parts is None else None
        if bare is not None:
            return quick_entry(whole, tests, scope, bare, trusting=True, watch=watch)
        python = self.in_pieces if self.parts is not None else self.residual()
        return quick_entry(whole, tests, scope, python, [f"a{k}" for k in chosen], watch=watch)

    def _aliasing_tests(self) -> list[str]:
        mutable = [f"a{k}" for k, head in enumerate(self._heads) if head.mutable]
        if self.key[0] != () or len(mutable) > 3:
            return [f"aliasing([{', '.join(mutable)}]) != pattern"]
        return [f"{a} is {b}" for a, b in itertools.combinations(mutable, 2)]

    # --------------------------------------------------------------------------------------------- running

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self.entry(*args, *kwargs.values())
        if found is BAILED:
            return self.give_up(args, kwargs)
        self.contest.got_through()
        return found

    def give_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do in Python a call that the entry did not do; after a few in a row, all calls are done in Python."""
        contest = self.contest
        if contest.winner not in (None, contest.first) and contest.scales:
            # the entry of the winner does not accept arguments as large as these
            values = (*args, *kwargs.values())
            found = self._entry(contest.first)(*values)
            if found is not BAILED:
                self._heads = [Head.of(f"a{k}", value, head.known) for k, (value, head) in enumerate(zip(values, self._heads, strict=True))]
                self._made.pop("plain", None)
                contest.reopen()
                self._enter_by_winner()
                return found
        elif self.xla is not None and not is_watched():
            contest.gave_up()
            if not contest.scales:
                self._out()
        if self.parts is not None and self.parts.stale:
            self.cut_up(self.parts.exact)
        if self.log is None or not self.log.done:
            return self._python(args, kwargs)
        if self.replay is None:
            self.replay = replaying(self.trace, self.log)
        return self.replay(*self.picked(args, kwargs))

    def _out(self) -> None:
        """Drop the executable, because XLA has given up too often."""
        if self.contest.winner is not None:
            self._enter_by_winner()
        self.xla = None
        self.told = f"{self.sized or self.decision} It gave up {GIVEN_UP} times in a row (an exception or an int past 64 bits): Python does its calls now."
        self.contest.got_through()
        if self.watch is not None:
            self.entry = never

    def explain(self) -> str:
        text = self.told or str(self.sized or self.decision)
        if self.contest.winner == "plain" and self.contest.first != "xla":
            text += f" The plain function is called, which is quicker: {self.contest}."
        if self.parts is not None and self.parts.pieces:
            text += f"\n{self.parts}"
        if self.shared is not None:
            text += " Calls with arrays that share memory run as residual Python."
        runs = self.xla if self.contest.winner in (None, "xla") else None
        loops = str(runs.loops) if isinstance(runs, Executable) else ""
        grown = str(runs.growing or "") if isinstance(runs, Executable) else ""
        return " ".join(part for part in (text, grown, loops, jaxlib_checks.about_loops() if loops else "") if part)


def _told(target: str) -> str:
    """Return the explanation for calls that always run in Python; "" if there is no reason for that."""
    if adapter.is_left_behind():
        return f"It runs as residual Python. {adapter.AFTER_FORK}"
    return "It runs as residual Python, because its target is 'python'." if target == "python" else ""


def _log_of(executable: Executable | Sized | None) -> Log | None:
    """Return the log of an executable that may have visible side effects before its call is over; None for others."""
    if isinstance(executable, Executable) and executable.lowered.record is None and not executable.lowered.texts:
        return None
    return executable.log if executable is not None else None
