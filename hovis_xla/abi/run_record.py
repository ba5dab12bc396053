"""A record of the visible side effects of a run."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from hovis.ir.model import Location


class Done(NamedTuple):
    """An act that has been done: its place, its result or exception, and what it stored into arguments and other arrays of the caller.

    itself: the number of the argument that it returned, if it returned one.
    """

    site: Location | None
    value: Any = None
    error: BaseException | None = None
    trace: TracebackType | None = None
    stored: Sequence[tuple[int, np.ndarray[Any, Any]]] = ()
    changed: Sequence[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = ()
    itself: int | None = None


class Record(list[Done]):
    """The visible side effects of a run, its leaves, and the contents of the caller's arrays before they were shown to others."""

    __slots__ = ("before", "leaves")

    def __init__(self) -> None:
        super().__init__()
        self.leaves: tuple[Any, ...] = ()
        self.before: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}

    def begin(self, leaves: tuple[Any, ...]) -> None:
        """Clear the record, as a run begins or has ended."""
        del self[:]
        self.leaves = leaves
        self.before.clear()

    def saves(self, array: np.ndarray[Any, Any]) -> None:
        """Save the content of an array, for a run that is given up."""
        if id(array) not in self.before:
            self.before[id(array)] = array, array.copy()

    def undo(self) -> None:
        """Restore the saved contents of the arrays."""
        for array, was in self.before.values():
            if array.flags.writeable:
                array[...] = was
