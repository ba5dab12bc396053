"""What a run has done that can be seen from outside."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from hovis.ir.model import Location


class Done(NamedTuple):
    """An act that has been done: where, what it gave or raised, and what it stored into arguments and other arrays of the caller's.

    itself: it gave this argument.
    """

    site: Location | None
    value: Any = None
    error: BaseException | None = None
    trace: TracebackType | None = None
    stored: Sequence[tuple[int, np.ndarray[Any, Any]]] = ()
    changed: Sequence[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = ()
    itself: int | None = None


class Record(list[Done]):
    """What a run has done that can be seen from outside, its leaves, and what was in arrays of the caller's before it was told to others."""

    __slots__ = ("before", "leaves")

    def __init__(self) -> None:
        super().__init__()
        self.leaves: tuple[Any, ...] = ()
        self.before: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}

    def begin(self, leaves: tuple[Any, ...]) -> None:
        """A run begins, or has ended."""
        del self[:]
        self.leaves = leaves
        self.before.clear()

    def saves(self, array: np.ndarray[Any, Any]) -> None:
        """Keep what is in an array, for a run that is given up."""
        if id(array) not in self.before:
            self.before[id(array)] = array, array.copy()

    def undo(self) -> None:
        """The arrays are what they were."""
        for array, was in self.before.values():
            if array.flags.writeable:
                array[...] = was
