"""A numeric piece of a function at run time: a callable with an executable for each kind of arguments it has seen.

Called with the live-ins it gives a tuple, or None: "do it in Python".  What its shapes are it learns from the arguments,
so values on which shapes depend are no obstacle: the next piece is made for the shapes that come.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect, Value, callees
from hovis.lattice import Array, Const, Type
from hovis_xla.acting import Log
from hovis_xla.cost import Trial, of_call
from hovis_xla.deeds import acts
from hovis_xla.executable import BAILED, Executable
from hovis_xla.outline import Outlined
from hovis_xla.status import is_watched
from hovis_xla.types import CARRIERS, Known, NotLowerable, Num, ShapeUnknown, num_of_value

#: Kinds of arguments that are compiled when they first come; later ones have to come again first.
AT_ONCE: Final = 4
#: How often such a kind has to come.
OFTEN: Final = 3
#: Executables of one piece.
MOST: Final = 32
#: After this many calls in a row that were given up, a kind stays Python.
PATIENCE: Final = 4

#: Where Python was found to be quicker, so much longer a round may take before it is XLA's turn for good.
SLOWER: Final = 10.0
SLACK: Final = 0.0005


class Kind:
    """How calls with arguments of one kind are run: by an executable, or (``run`` is None) by Python.

    While there is a ``trial`` it is not clear which way is quicker.  ``limit``: of more seconds in Python it is XLA's turn.
    """

    __slots__ = ("executable", "limit", "run", "trial")

    def __init__(self, executable: Executable | None) -> None:
        self.executable = executable
        self.run: Callable[..., Any] | None = None if executable is None else executable.enter
        low = None if executable is None else executable.lowered
        self.trial = Trial(low.work, of_call(low.inputs, low.outputs, len(low.callbacks))) if low is not None and low.work.loops else None
        self.limit = 0.0

    def judge(self) -> None:
        """Keep the quicker way, if it is known."""
        assert self.trial is not None
        verdict = self.trial.verdict
        if verdict == "python":
            self.run = None
            self.limit = SLOWER * min(self.trial.seconds["python"]) + SLACK
        if verdict is not None:
            self.trial = None


PYTHON: Final = Kind(None)


class Piece:
    """A region of a function, outlined.  ``complain`` is told why it can't be compiled; then the function is cut up anew."""

    def __init__(self, outlined: Outlined, exact: bool, complain: Callable[["Piece", NotLowerable], None]) -> None:
        self.outlined = outlined
        self.exact = exact
        self.complain = complain
        self.__name__ = self.__qualname__ = f"xla:{outlined.function.name}"
        self.__module__ = "builtins"
        self.table: dict[Any, Kind] = {}
        self.seen: dict[Any, int] = {}
        self.compiled = 0
        self.calls = 0
        self.off = False
        self.sizes_known = False
        self.reason: NotLowerable | None = None
        self._started: tuple[Kind, float] | None = None
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
        if self.off or is_watched():
            return None
        key = tuple([kind(a) for kind, a in zip(self._kinds, args, strict=True)])
        if self.sizes_known:
            key += tuple([a for a in args if type(a) is int])
        try:
            kind = self.table[key]
        except KeyError:
            kind = self._first(key, args)
        if kind.trial is not None and kind.trial.turn == "python":
            kind.trial.calls += 1
            self._started = kind, time.perf_counter()
            return None
        if kind.run is None or (self._stores and _overlap(args)):
            if kind.limit:
                self._started = kind, time.perf_counter()
            return None
        run = kind.run
        result = run(*args) if kind.trial is None else kind.trial.run(lambda: run(*args))
        if result is BAILED:
            return self._given_up(key)
        if kind.trial is not None:
            kind.judge()
        self.calls += 1
        return result

    def left(self) -> None:
        """Python has done a round of the piece."""
        if self._started is None:
            return
        kind, start = self._started
        self._started, seconds = None, time.perf_counter() - start
        if kind.trial is not None:
            kind.trial.seconds["python"].append(seconds)
            kind.judge()
        elif seconds > kind.limit and kind.executable is not None:
            kind.run, kind.limit = kind.executable.enter, 0.0

    def _given_up(self, key: Any) -> None:
        count = self.seen.get(key, 0)
        self.seen[key] = count + 1 if count > 0 else 1
        if self.seen[key] >= PATIENCE + OFTEN:
            self.table[key] = PYTHON

    def _first(self, key: Any, args: tuple[Any, ...]) -> Kind:
        """How calls of this kind are run from now on; by Python, if it is not (or not yet) worth more."""
        if self.compiled >= AT_ONCE:
            self.seen[key] = self.seen.get(key, 0) + 1
            if self.seen[key] < OFTEN or self.compiled >= MOST:
                if len(self.seen) > 4096:
                    self.seen.clear()
                return PYTHON
        types = [_num(a, self.sizes_known) for a in args]
        kind = self._compiled(types) if all(t is not None for t in types) else PYTHON
        if not self.off:
            self.table[key] = kind
            self.seen[key] = 0
        return kind

    def _compiled(self, types: list[Num | Known | None]) -> Kind:
        try:
            found = self._executable(types)
        except NotLowerable as reason:
            self.reason = reason
            if self.compiled or any(isinstance(t, Num) and 0 in t.shape for t in types):
                return PYTHON  # others can be, or could be
            self.off = True
            self.complain(self, reason)
            return PYTHON
        if found is None:
            return PYTHON
        low = found.lowered
        if not low.work.loops and low.work.python < of_call(low.inputs, low.outputs, len(low.callbacks)):
            return PYTHON
        self.compiled += 1
        found.log = self.log
        return Kind(found)

    def _executable(self, types: list[Num | Known | None]) -> Executable | None:
        try:
            return Executable.of(self.outlined.function, types, self.exact)
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
            Executable.of(self.outlined.function, types, self.exact)
        except ShapeUnknown:
            return None
        except NotLowerable as reason:
            return reason
        return None


def _kind_of(value: Value) -> Callable[[Any], Any]:
    """What of an argument tells executables apart, given what is known of it."""
    kind = value.type
    if isinstance(kind, Array):
        return _shape
    if isinstance(kind, Type) and (kind.cls in CARRIERS or issubclass(kind.cls, np.generic)):
        return _nothing
    return _all


def _shape(value: Any) -> Any:
    return value.shape


def _nothing(value: Any) -> Any:
    return None


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
