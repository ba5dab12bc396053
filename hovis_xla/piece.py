"""A numeric piece of a function at run time: a callable with an executable for each kind of arguments it has seen.

Called with the live-ins it gives a tuple, or None: "do it in Python".  What its shapes are it learns from the arguments,
so values on which shapes depend are no obstacle: the next piece is made for the shapes that come.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.ir.model import Effect, Value, callees
from hovis.lattice import Array, Const, Type
from hovis_xla.acting import Log
from hovis_xla.deeds import acts
from hovis_xla.executable import BAILED, Executable
from hovis_xla.outline import Outlined
from hovis_xla.status import is_watched
from hovis_xla.types import CARRIERS, Known, NotLowerable, Num, ShapeUnknown, num_of_value
from hovis_xla.worth import worth_a_call

#: Kinds of arguments that are compiled when they first come; later ones have to come again first.
AT_ONCE: Final = 4
#: How often such a kind has to come.
OFTEN: Final = 3
#: Executables of one piece.
MOST: Final = 32
#: After this many calls in a row that were given up, a kind stays Python.
PATIENCE: Final = 4

#: What runs a call: an executable, or None: Python does.
Runner = Callable[..., Any] | None


class Piece:
    """A region of a function, outlined.  ``complain`` is told why it can't be compiled; then the function is cut up anew."""

    def __init__(self, outlined: Outlined, exact: bool, complain: Callable[["Piece", NotLowerable], None]) -> None:
        self.outlined = outlined
        self.exact = exact
        self.complain = complain
        self.__name__ = self.__qualname__ = f"xla:{outlined.function.name}"
        self.__module__ = "builtins"
        self.table: dict[Any, Runner] = {}
        self.seen: dict[Any, int] = {}
        self.compiled = 0
        self.calls = 0
        self.off = False
        self.sizes_known = False
        self.reason: NotLowerable | None = None
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
            run = self.table[key]
        except KeyError:
            run = self._first(key, args)
        if run is None or (self._stores and _overlap(args)):
            return None
        result = run(*args)
        if result is BAILED:
            return self._given_up(key)
        self.calls += 1
        return result

    def _given_up(self, key: Any) -> None:
        count = self.seen.get(key, 0)
        self.seen[key] = count + 1 if count > 0 else 1
        if self.seen[key] >= PATIENCE + OFTEN:
            self.table[key] = None

    def _first(self, key: Any, args: tuple[Any, ...]) -> Runner:
        """What runs calls of this kind from now on; None if it is not yet worth it."""
        if self.compiled >= AT_ONCE:
            self.seen[key] = self.seen.get(key, 0) + 1
            if self.seen[key] < OFTEN or self.compiled >= MOST:
                if len(self.seen) > 4096:
                    self.seen.clear()
                return None
        types = [_num(a, self.sizes_known) for a in args]
        run: Runner = None
        if all(t is not None for t in types) and worth_a_call(self.outlined.function, types):
            run = self._compiled(types, args)
        if not self.off:
            self.table[key] = run
            self.seen[key] = 0
        return run

    def _compiled(self, types: list[Num | Known | None], args: tuple[Any, ...]) -> Runner:
        try:
            found = self._executable(types)
        except NotLowerable as reason:
            self.reason = reason
            self.off = True
            self.complain(self, reason)
            return None
        if found is None:
            return None
        self.compiled += 1
        found.log = self.log
        return found.enter

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
