"""A numeric piece of a function at run time: a callable with an executable for each kind of arguments it has seen.

Called with the live-ins it gives a tuple, or None: "do it in Python".  What its shapes are it learns from the arguments,
so values on which shapes depend are no obstacle: the next piece is made for the shapes that come.
"""

import math
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.base import interrupts
from hovis.base.once import in_turn
from hovis.front.autotuner import Contest, Spending
from hovis.ir.model import Effect, Value, callees
from hovis.lattice import Array, Const, Type
from hovis_xla.abi.errstate import is_watched
from hovis_xla.abi.ordered_effects import Log
from hovis_xla.analysis.side_effects import acts
from hovis_xla.choice.cost_model import MOST as LONGEST
from hovis_xla.emit.values import CARRIERS, Known, NotLowerable, Num, ShapeUnknown, num_of_value
from hovis_xla.partition.outlining import Outlined
from hovis_xla.runtime.executable import BAILED, Executable

#: Kinds of arguments that are compiled when they first come; later ones are paid for by what Python takes for them.
AT_ONCE: Final = 4
#: Kinds that are kept.
MOST: Final = 32


class Kind:
    """How calls with arguments of one kind are run: by an executable or by Python, as the contest says; without one by Python."""

    __slots__ = ("contest", "executable")

    def __init__(self, executable: Executable | None) -> None:
        self.contest = None if executable is None else executable.contest("python")
        self.executable = executable


PYTHON: Final = Kind(None)


class Piece:
    """A region of a function, outlined.  ``complain`` is told why it can't be compiled; then the function is cut up anew.

    ``ordered``: it matters in which order the elements of its results are in memory.
    """

    def __init__(self, outlined: Outlined, exact: bool, ordered: bool, complain: Callable[["Piece", NotLowerable], None]) -> None:
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
        self.reason: NotLowerable | None = None
        #: a call that Python does, and when that began
        self._started: tuple[Contest | None, float] | None = None
        #: what has been done of a call that was given up
        self.log = Log()
        self._acts = any(acts(op) for f in callees(outlined.function) for op in f.ops())
        self._kinds = [_kind_of(p) for p in outlined.params]
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
        key = tuple([kind(a) for kind, a in zip(self._kinds, args, strict=True)])
        if self.sizes_known:
            key += tuple([a for a in args if type(a) is int])
        kind = self.table.get(key) or self._first(key, args)
        contest, executable = kind.contest, kind.executable
        if contest is None or executable is None:
            if kind is not self.table.get(key):
                self._started = None, start
            return None
        if self._stores and _overlap(args):
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
        """Python has done a round of the piece."""
        started, self._started = self._started, None  # another thread may be at it
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
        """Is it clear for all kinds of calls who does them?"""
        return all(kind.contest is None or kind.contest.winner is not None for kind in list(self.table.values()))

    def gain(self) -> float:
        """How much longer a call may take without its executables."""
        return max((min(LONGEST, kind.contest.gain()) for kind in list(self.table.values()) if kind.contest is not None), default=1.0)

    def _first(self, key: Any, args: tuple[Any, ...]) -> Kind:
        """How calls of this kind are run from now on; by Python, if nothing is to be spent on more."""
        if not self.spending.affords():
            return PYTHON
        with in_turn(interrupts.check) as mine:
            if not mine:
                return PYTHON
            start = time.perf_counter()
            types = [_num(a, self.sizes_known) for a in args]
            kind = self.table.get(key) or (self._lowered(types) if all(t is not None for t in types) else Kind(None))
            if self.off or self.table.get(key) is kind:
                return kind
            while len(self.table) >= MOST:
                del self.table[next(iter(self.table))]
            self.table[key] = kind
        if kind.executable is not None:
            _ = kind.executable.enter  # it is compiled now, while others do other things
        self.spending.made(time.perf_counter() - start)
        return kind

    def _lowered(self, types: list[Num | Known | None]) -> Kind:
        try:
            found = self._executable(types)
        except NotLowerable as reason:
            self.reason = reason.bare()
            if self.compiled or any(isinstance(t, Num) and 0 in t.shape for t in types):
                return Kind(None)  # others can be, or could be
            self.off = True
            self.complain(self, reason)
            return Kind(None)
        if found is None:
            return Kind(None)
        if not found.is_worth_it:
            return Kind(None)
        self.compiled += 1
        found.log = self.log
        return Kind(found)

    def _executable(self, types: list[Num | Known | None]) -> Executable | None:
        try:
            return Executable.of(self.outlined.function, types, self.exact, self.ordered)
        except ShapeUnknown:
            if self.sizes_known or not any(isinstance(t, Num) and t.python is int for t in types):
                raise
            # a shape depends on an integer: from now on each of its values is compiled
            self.sizes_known = True
            self.table.clear()
            return None

    def prepare(self, types: list[Num]) -> NotLowerable | None:
        """Lower it for what is known of the arguments before any have come; the reason if that can't be."""
        try:
            Executable.of(self.outlined.function, types, self.exact, self.ordered)
        except ShapeUnknown:
            return None
        except NotLowerable as reason:
            return reason.bare()
        return None


def _kind_of(value: Value) -> Callable[[Any], Any]:
    """What of an argument tells executables apart, given what is known of it."""
    kind = value.type
    if isinstance(kind, Array):
        return _shape
    if isinstance(kind, Type) and (kind.cls in CARRIERS or issubclass(kind.cls, np.generic)):
        return _nothing
    return _all


# None is what stands for a value that there is not, and that nobody asks for on this way (``operations.missing``)


def _shape(value: Any) -> Any:
    return None if value is None else value.shape


def _nothing(value: Any) -> Any:
    return value is None


def _all(value: Any) -> Any:
    return (value.dtype.num, value.dtype.isnative, value.shape) if type(value) is np.ndarray else type(value)


def _num(value: Any, sizes_known: bool) -> Num | Known | None:
    """What an argument is compiled as."""
    if sizes_known and type(value) is int:
        return Known(value)
    return num_of_value(value)


def _overlap(args: tuple[Any, ...]) -> bool:
    """May two of the arrays share memory?  Then a store into one could change the other."""
    arrays = [a for a in args if type(a) is np.ndarray]
    return any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[k + 1 :])


__all__ = ["Const", "Piece"]
