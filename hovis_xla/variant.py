"""What a jitted function keeps for arguments of one kind: an executable, its residual Python, and which of them to run."""

import itertools
import time
from collections.abc import Callable
from typing import Any, Final

from hovis import api
from hovis.backend.apart import stands_apart
from hovis.backend.assemble import assemble
from hovis.backend.entry import parts_of
from hovis.jit import Variant as PythonVariant
from hovis.keys import Key
from hovis.passes import pipeline
from hovis.transforms.interpret import Interpreter
from hovis_xla import cost
from hovis_xla.adapter import XlaError
from hovis_xla.ahead import replaying, taker_of
from hovis_xla.arguments import aliasing, is_mutable
from hovis_xla.calling import BAILED
from hovis_xla.cost import Trial
from hovis_xla.executable import Executable
from hovis_xla.interface import Keyed, Lowered
from hovis_xla.layout import plan_of, quick_entry
from hovis_xla.partition import Decision, Parts, decide
from hovis_xla.sized import Sized
from hovis_xla.status import is_watched
from hovis_xla.types import ShapeUnknown
from hovis_xla.watching import watched

#: After this many calls in a row that were given up, a variant stays Python.
PATIENCE: Final = 8
#: What Python was found to be quicker for may take so much longer, and its ints be so much larger.
SLOWER: Final = 10.0
LARGER: Final = 2
SLACK: Final = 0.0005
MUCH: Final = 0.05


class Variant(PythonVariant):
    """One executable, what it is valid for, and the residual Python that it falls back to.

    ``entry`` is the function of all arguments that a call runs: it gives BAILED if they are not its own, or if the program
    has given up.  While a ``trial`` goes on there is no such function yet.
    """

    __slots__ = (
        "_given", "bailed", "decision", "entry", "largest", "parts", "replay", "sized", "standby", "target", "told", "trial", "watch", "xla",
    )  # fmt: skip

    def __init__(
        self, traced: api.Trace, original: Callable[..., Any], key: Key, args: tuple[Any, ...], kwargs: dict[str, Any],
        exact: bool, target: str, sized: Sized | None = None,
    ) -> None:  # fmt: skip
        super().__init__(traced, original, key, len(args), tuple(kwargs))
        self.target = target
        self.sized = sized
        self.decision = Decision(None) if target == "python" or sized is not None else decide(traced.function, None, exact)
        self.xla: Executable | Sized | None = sized or self.decision.executable
        self.bailed = 0
        self.parts: Parts | None = None
        self.replay: Callable[..., Any] | None = None
        self.entry: Callable[..., Any] = self._first_entry
        #: what is not unknown of the arguments, until the entry is made
        self._given = args, kwargs
        self.told = "It runs as residual Python, as it was told to." if target == "python" else ""
        self.trial: Trial | None = None
        #: what runs calls op by op that are not XLA's
        self.watch: Interpreter | None = None
        #: the entry of the executable, while Python is what runs
        self.standby: Callable[..., Any] | None = None
        #: the largest ints that Python was tried with, by their places
        self.largest: dict[int, int] = {}
        if isinstance(self.xla, Executable) and target == "auto" and self.picks is not None:
            self._consider(self.xla)

    def _consider(self, executable: Executable) -> None:
        """Is it worth a call of XLA?"""
        low = executable.lowered
        if is_worth_it(low):
            self.trial = Trial(low.work, overhead_of(low))
            return
        self.xla = None
        self.told = f"{executable.name} runs as residual Python: about {low.work.python:.1f} µs of work, and a call of XLA costs {overhead_of(low):.0f}."

    def served(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Executable | None:
        """Of a variant for all sizes: the executable for this one, if there is one."""
        values = taker_of(self.trace, checked=False)(*self.picked(args, kwargs)) if self.picks is not None else None
        plan = self.sized.plan(values)[0] if values is not None and self.sized is not None else None
        return plan[0] if plan is not None else None

    def watch_by(self, interpreter: Interpreter | None) -> None:
        """Let calls that are not XLA's be run op by op."""
        if interpreter is not None and not self.trace.fallback:
            self.watch = interpreter
            if self.xla is None:
                self.told = "It is run op by op."
                self.entry = never

    def _python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves = taker_of(self.trace, checked=False)(*self.picked(args, kwargs)) if self.watch is not None else None
        if self.watch is None or leaves is None:
            return super().run(args, kwargs)
        return watched(self.watch, self.trace.function, leaves)

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

    # --------------------------------------------------------------------------------------------- entries

    def _first_entry(self, *values: Any) -> Any:
        """Make the entry, and use it: the program is compiled now."""
        args, kwargs = self._given
        try:
            self.entry = self._make_entry(args, kwargs, self.call if self.parts is None else self.in_pieces)
        except XlaError as error:
            self.xla, self.trial = None, None
            self.told = f"It runs as residual Python, because XLA does not compile it: {error}"
            self.entry = self._make_entry(args, kwargs, self.call)
        self._given = (), {}
        return self.entry(*values)

    def _make_entry(self, args: tuple[Any, ...], kwargs: dict[str, Any], python: Callable[..., Any]) -> Callable[..., Any]:
        """The function of all arguments that checks them and calls the executable, or else ``python``."""
        values, places = [*args, *kwargs.values()], [*range(len(args)), *kwargs]
        scope: dict[str, Any] = {"holds": self.holds, "aliasing": aliasing, "is_watched": is_watched, "pattern": self.key[0]}
        if self.picks is None:
            # a call of the original, with whatever it is
            return quick_entry([["leaf", None, type(v)] for v in values], ["not holds()"], scope, None, (python, list(enumerate(places))))
        plans = plan_of(self.trace.signature)
        if plans is None:
            return never
        chosen = [places.index(pick) for pick in self.picks]
        given: dict[int, Any] = dict(zip(chosen, plans, strict=False))
        whole = [given.get(k) or ["value", Keyed(value)] for k, value in enumerate(values)]
        tests = ["not holds()", *self._aliasing_tests(values)]
        tests += [f"not {-limit} <= a{k} <= {limit}" for k, limit in self.largest.items()]
        if self.xla is not None:
            return quick_entry(whole, [*tests, "is_watched()"], scope, self.xla.enter, (python, []))
        bare = without_checks(self.trace) if python is self.call and self.parts is None else None
        return quick_entry(whole, tests, scope, bare, (python, [(k, None) for k in chosen]), trusting=True)

    def _aliasing_tests(self, values: list[Any]) -> list[str]:
        mutable = [f"a{k}" for k, value in enumerate(values) if is_mutable(value)]
        if self.key[0] != () or len(mutable) > 3:
            return [f"aliasing([{', '.join(mutable)}]) != pattern"]
        return [f"{a} is {b}" for a, b in itertools.combinations(mutable, 2)]

    @property
    def shape_unknown(self) -> bool:
        """Would it be an executable if its integer arguments were known?"""
        return isinstance(self.decision.reason, ShapeUnknown)

    @property
    def settled(self) -> bool:
        """May calls go straight to its entry?"""
        return self.trial is None and self.bailed == 0

    # --------------------------------------------------------------------------------------------- running

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.trial is not None:
            return self._try(self.trial, args, kwargs)
        found = self.entry(*args, *kwargs.values())
        if found is BAILED:
            return self.give_up(args, kwargs)
        self.bailed = 0
        return found

    def give_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call in Python; after a few in a row, all calls."""
        if self.standby is not None:
            found = self.standby(*args, *kwargs.values())
            if found is not BAILED:
                self._to_xla()
                return found
        elif self.xla is not None and not is_watched():
            self.bailed += 1
            if self.bailed >= PATIENCE:
                self.xla, self.trial = None, None
                self.told = f"{self.sized or self.decision} It gave up {PATIENCE} times in a row (an exception, or an int past 64 bits) and is Python now."
                self.entry, self.bailed = never if self.watch is not None else self._make_entry(args, kwargs, self.call), 0
        if self.parts is not None and self.parts.stale:
            self.cut_up(self.parts.exact)
        again = self._again()
        return self._python(args, kwargs) if again is None else again(*self.picked(args, kwargs))

    def _again(self) -> Callable[..., Any] | None:
        """The residual for a call that was given up, if what was done of it must not be done twice."""
        executable = self.sized or self.decision.executable
        if executable is None or not self.has_acted:
            return None
        if self.replay is None:
            self.replay = replaying(self.trace, executable)
        return executable.log.once(self.replay)

    @property
    def has_acted(self) -> bool:
        """Has a call that was given up done something that can be seen?"""
        executable = self.sized or self.decision.executable
        return executable is not None and bool(executable.log.done)

    def _try(self, trial: Trial, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while it is not clear which way is quicker."""
        if trial.turn == "python":
            for k, value in enumerate(args):
                if type(value) is int:
                    self.largest[k] = max(self.largest.get(k, 8), LARGER * abs(value))
            found = trial.run(lambda: super(Variant, self).run(args, kwargs))
        else:
            found = trial.run(lambda: self.entry(*args, *kwargs.values()))
            if found is BAILED:
                return self.give_up(args, kwargs)
            self.bailed = 0
        if trial.verdict is not None:
            self.trial = None
            if trial.verdict == "python":
                self._to_python(trial, args, kwargs)
        return found

    def _to_python(self, trial: Trial, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Python is quicker: it runs from now on, as long as ints are about as large as they were and it takes about as long."""
        call, limit = self.call, SLOWER * min(trial.seconds["python"]) + SLACK
        slow = 0

        def timed(*unknown: Any) -> Any:
            nonlocal slow
            start = time.perf_counter()
            found = call(*unknown)
            taken = time.perf_counter() - start
            if taken > limit:
                # once may be somebody else's work on this machine
                slow += 1
                if slow > 2 or taken > MUCH:
                    self._to_xla()
            else:
                slow = 0
            return found

        self.standby, self.xla = self.entry, None
        if not trial.work.loops:
            self.largest = {}
        self.entry = self._make_entry(args, kwargs, timed if trial.work.loops else call)
        self.told = f"{self.trace.fn.__name__} runs as residual Python, which is quicker: {trial}."

    def _to_xla(self) -> None:
        """It is another kind of work now: the executable runs from here on."""
        if self.standby is not None:
            self.entry, self.standby, self.xla, self.told = self.standby, None, self.decision.executable, ""

    def explain(self) -> str:
        text = self.told or str(self.sized or self.decision)
        if self.parts is not None and self.parts.pieces:
            text += f"\n{self.parts}"
        return f"{text} {self.xla.loops}".rstrip() if isinstance(self.xla, Executable) else text


def overhead_of(low: Lowered) -> float:
    """What a call of XLA costs besides the work."""
    return cost.of_call(low.inputs, low.outputs, len(low.callbacks))


def is_worth_it(low: Lowered) -> bool:
    """May the work be more than what a call of XLA costs?"""
    return low.work.loops or low.work.python > overhead_of(low)


def without_checks(traced: api.Trace) -> Callable[..., Any] | None:
    """The residual as a function of its leaves, which somebody else has to check; None if the residual has to check more than that."""
    function = pipeline.run(traced.function, traced.options.passes)
    signature = traced.signature
    order = {id(p): k for k, p in enumerate(signature.kept)}
    params = function.blocks[0].params
    if traced.fallback or function.is_generator or [order.get(id(p)) for p in params] != [*range(len(order))]:
        return None
    if any(True for _ in stands_apart(parts_of(signature), function, traced.static)):
        return None
    names = [f"leaf_{k}" for k in range(len(params))]
    target = api.python_function(traced.fn)[0]
    return assemble(function, target.__globals__ if target is not None else {}, parameters=names, lasting=frozenset(names))


def never(*values: Any) -> Any:
    """The entry of what has none: the residual is called by the long way."""
    return BAILED
