"""Where an array is: a location, and the steps from it to what a view shows.

A :class:`Location` is the memory of an array that somebody has made: the caller (an argument, a global) or an operation.
An array is a :class:`Place`: a location and *steps*, each a view of what the steps before it give (``view_steps``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hovis_xla.emit.builder import T
from hovis_xla.emit.view_steps import Box, Part, Put, Reshaped, Step, c_strides


@dataclass(eq=False, slots=True)
class Location:
    """The memory of one array.  ``owner``: the number of the argument, or the constant, that it belongs to.

    ``mutable``: something may be stored into it, so its content is the walker's to know.  ``c_order``: is it certainly in
    C order?  ``asked``: was its order relied upon?  It may
    follow from the order of others, which it ``relies`` on.
    """

    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]
    mutable: bool = False
    c_order: bool = False
    owner: Any = None
    asked: bool = False
    relies: frozenset["Location"] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """A location and the way from it to a view.

    ``own``: the very object that owns the memory, no view of all of it.
    """

    location: Location
    steps: "tuple[Step, ...]" = ()
    own: bool = True

    def then(self, step: "Step") -> "Place":
        """The place after one more step."""
        if self.steps and isinstance(self.steps[-1], Box) and isinstance(step, Box):
            return Place(self.location, (*self.steps[:-1], self.steps[-1].then(step)), False)
        return Place(self.location, (*self.steps, step), False)

    @property
    def writable(self) -> bool:
        """May be stored through, if the array may be: no step gives what is read-only (``np.broadcast_to``)."""
        return all(step.writable for step in self.steps if isinstance(step, Box))

    @property
    def shape(self) -> tuple[int, ...]:
        for step in reversed(self.steps):
            if not isinstance(step, Part):
                return step.shape
        return self.location.shape

    @property
    def dtype(self) -> "np.dtype[Any]":
        part = any(isinstance(step, Part) for step in self.steps)
        return np.empty(0, self.location.dtype).real.dtype if part else self.location.dtype

    @property
    def starts(self) -> list[T]:
        """What of it is only known at run time."""
        return [s for step in self.steps if isinstance(step, Box) for s in step.starts if isinstance(s, T)]

    def with_starts(self, starts: Sequence[T]) -> "Place":
        """The same with other starts where they are only known at run time."""
        left = iter(starts)
        steps = [s.with_starts(left) if isinstance(s, Box) else s for s in self.steps]
        return Place(self.location, tuple(steps), self.own)

    def at(self, location: Location) -> "Place":
        return Place(location, self.steps, self.own)

    @property
    def skeleton(self) -> Any:
        """What two places have to have in common to differ in their location and starts only."""
        return self.own, tuple(s.skeleton for s in self.steps)

    def load(self, t: T) -> T:
        for step in self.steps:
            t = step.load(t)
        return t

    def store(self, t: T, new: T, put: Put) -> T:
        """The content of the location after the view has become new."""
        return _store(self.steps, t, new, put)

    def host(self, array: np.ndarray[Any, Any], starts: Sequence[int]) -> np.ndarray[Any, Any]:
        """The same view of an array of NumPy's."""
        left = iter(starts)
        for step in self.steps:
            array = step.host(array, left)
        return array if self.own else array.view()

    def layout(self) -> tuple[int, ...] | None:
        """The strides, in elements; None if they are not known."""
        if not self.location.c_order:
            return None
        found: tuple[int, ...] | None = c_strides(self.location.shape)
        for step in self.steps:
            found = None if found is None else step.layout(found)
        return found

    def is_in_order(self) -> bool:
        """Are its dimensions certainly those of an array in C order?  (Of a dimension of one element the stride does not matter.)"""
        strides = self.layout()
        return strides is not None and all(n == 1 or a == b for n, a, b in zip(self.shape, strides, c_strides(self.shape), strict=True))


def _store(steps: "tuple[Step, ...]", t: T, new: T, put: Put) -> T:
    if not steps:
        return new
    if len(steps) > 1:
        new = _store(steps[1:], steps[0].load(t), new, put)
    return steps[0].store(t, new, put)


def rely_on_order(place: Place) -> None:
    """What is done next is right only if the array is in C order, which the host will look at."""
    for location in (place.location, *place.location.relies):
        location.asked = True


def is_contiguous(place: Place, shape: tuple[int, ...]) -> bool | None:
    """Are its elements in a row, in C order?  None if that is not known."""
    strides = place.layout()
    if strides is None:
        return None
    rely_on_order(place)
    return bool(np.lib.stride_tricks.as_strided(np.empty((), np.uint8), shape, strides).flags.c_contiguous)


def reshaped(place: Place, before: tuple[int, ...], shape: tuple[int, ...]) -> Reshaped | None:
    """The step that a reshape is; None if NumPy copies, or if it is not known whether it does."""
    strides = place.layout()
    if strides is None:
        return None
    base = np.lib.stride_tricks.as_strided(np.empty((), np.uint8), before, strides)
    rely_on_order(place)
    try:
        found = np.reshape(base, shape, copy=False)
    except (ValueError, TypeError):  # it copies, raises, or is a NumPy that can't say
        return None
    return Reshaped(before, found.shape, tuple(found.strides))
