"""A numeric piece of a function at run time: a callable with an executable for each kind of arguments.

Called with the live-ins, it returns a tuple, or None: "do it in Python".  It learns the shapes from its arguments, so values on
which shapes depend are no obstacle: the next piece is compiled for the shapes that it gets.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from hovis.base import interrupts
from hovis.base.once import in_turn
from hovis.front.autotuner import Contest, Spending
from hovis.ir.model import Effect, callees
from hovis_xla.abi.call_entry import BAILED
from hovis_xla.abi.errstate import is_watched
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.analysis.side_effects import acts
from hovis_xla.choice.cost_model import MOST as LONGEST
from hovis_xla.emit.values import Known, NotLowerable, Num, ShapeUnknown, num_of_value
from hovis_xla.partition.outlining import Outlined
from hovis_xla.runtime.executable import Executable

#: Number of kinds of arguments that are compiled at their first call; for later ones, the time that Python takes for them is the budget.
AT_ONCE: Final = 4
#: Maximal number of kinds that are kept.
MOST: Final = 32


class Kind:
    """How calls with arguments of one kind are done: by an executable or by Python, as the contest decides; by Python if there is no executable."""

    __slots__ = ("contest", "executable")

    def __init__(self, executable: Executable | None) -> None:
        self.contest = None if executable is None else executable.contest("python")
        self.executable = executable


PYTHON: Final = Kind(None)


class Piece:
    """An outlined region of a function. ``complain`` is called with the reason why it cannot be compiled; then the function is cut up again.

    ``ordered``: whether the order of the elements of its results in memory matters.
    """

    def __init__(self, outlined: Outlined, exact: bool, ordered: bool, complain: Callable[[NotLowerable], None]) -> None:
        self.outlined = outlined
        self.exact = exact
        self.ordered = ordered
        self.complain = complain
        self.__name__ = self.__qualname__ = f"xla:{outlined.function.name}"
        self.__module__ = "builtins"
        self.table: dict[Any, Kind] = {}
        self.spending = Spending(AT_ONCE)
        self.compiled = 0
        self.calls = 0
        self.off = False
        self.sizes_known = False
        #: the contest of a call that Python does (None: there is none), and when the call began
        self._started: tuple[Contest | None, float] | None = None
        #: the side effects that a call had before it was given up
        self.log = Log()
        self._acts = any(acts(op) for f in callees(outlined.function) for op in f.ops())
        self._stores = bool(outlined.effect & Effect.WRITES)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __call__(self, *args: Any) -> Any:
        if self._acts:
            self.log.begin(())
        self._started = None
        if self.off or is_watched():
            return None
        start = time.perf_counter()
        key = tuple(map(_kind_of, args))
        if self.sizes_known:
            key += tuple([a for a in args if type(a) is int])
        kind = self.table.get(key) or self._first(key, args)
        contest, executable = kind.contest, kind.executable
        if contest is None or executable is None:
            if kind is PYTHON:
                self._started = None, start
            return None
        if self._stores and overlap(args):
            return None
        if contest.begin(args) == "python":
            if contest.winner is None or contest.alert < math.inf:
                self._started = contest, start
            return None
        result = executable.enter(*args)
        if result is BAILED:
            contest.gave_up()
            contest.take_back("xla")
            return None
        if contest.winner is None:
            contest.note("xla", time.perf_counter() - start)
        contest.given_up = 0
        self.calls += 1
        return result

    def left(self) -> None:
        """Record that Python has run the piece once, and the time that took."""
        started, self._started = self._started, None  # another thread may be doing the same
        if started is None:
            return
        contest, start = started
        seconds = time.perf_counter() - start
        if contest is not None:
            contest.note("python", seconds)
        else:
            self.spending.went_without(seconds)

    @property
    def decided(self) -> bool:
        """Whether it is decided, for all kinds of calls, if XLA or Python does them."""
        return all(kind.contest is None or kind.contest.winner is not None for kind in list(self.table.values()))

    def gain(self) -> float:
        """Return how many times longer a call may take without the executables."""
        return max((min(LONGEST, kind.contest.gain()) for kind in list(self.table.values()) if kind.contest is not None), default=1.0)

    def _first(self, key: Any, args: tuple[Any, ...]) -> Kind:
        """Return how calls of this kind are done from now on; PYTHON if nothing may be spent on compiling more."""
        if not self.spending.affords():
            return PYTHON
        with in_turn(interrupts.check) as mine:
            if not mine:
                return PYTHON
            start = time.perf_counter()
            types = [Known(a) if self.sizes_known and type(a) is int else num_of_value(a) for a in args]
            kind = self.table.get(key) or (self._lowered(types) if all(t is not None for t in types) else Kind(None))
            if self.off or self.table.get(key) is kind:
                return kind
            while len(self.table) >= MOST:
                del self.table[next(iter(self.table))]
            self.table[key] = kind
        if kind.executable is not None:
            _ = kind.executable.enter  # it is compiled now, outside of the lock, so that other threads can continue
        self.spending.made(time.perf_counter() - start)
        return kind

    def _lowered(self, types: list[Num | Known | None]) -> Kind:
        try:
            found = Executable.of(self.outlined.function, types, self.exact, self.ordered)
        except NotLowerable as reason:
            if isinstance(reason, ShapeUnknown) and not self.sizes_known and any(isinstance(t, Num) and t.python is int for t in types):
                # a shape depends on an integer: from now on, integers are part of the key, and each value is compiled separately
                self.sizes_known = True
                self.table.clear()
                return Kind(None)
            if self.compiled or any(isinstance(t, Num) and 0 in t.shape for t in types):
                return Kind(None)  # other kinds can be lowered, or might be
            self.off = True
            self.complain(reason.bare())
            return Kind(None)
        if not found.is_worth_it:
            return Kind(None)
        self.compiled += 1
        found.log = self.log
        return Kind(found)

    def prepare(self, types: list[Num]) -> None:
        """Lower the piece for the types known before any arguments have come; complain if that is impossible."""
        try:
            Executable.of(self.outlined.function, types, self.exact, self.ordered)
        except ShapeUnknown:
            pass
        except NotLowerable as reason:
            self.complain(reason.bare())


def _kind_of(value: Any) -> Any:
    """Return the part of the key for an argument. None stands for a value that is not defined, and not used, on this path (``operations.missing``)."""
    return (value.dtype.num, value.dtype.isnative, value.shape) if type(value) is np.ndarray else type(value)


def overlap(args: Iterable[Any]) -> bool:
    """May two of the arrays among the values share memory? A store into one could then change the other."""
    return any(np.may_share_memory(a, b) for a, b in itertools.combinations([a for a in args if type(a) is np.ndarray], 2))
