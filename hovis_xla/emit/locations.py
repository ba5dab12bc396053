"""Where an array is in memory: a location, and the steps from it to a view.

A :class:`Location` is the memory of an array that was made by the caller (an argument, a global) or by an operation.
An array is a :class:`Place`: a location and *steps*, each of which is a view of the result of the steps before it (``view_steps``).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hovis_xla.emit.builder import T
from hovis_xla.emit.view_steps import Box, Part, Put, Reshaped, Step, c_strides


@dataclass(eq=False, slots=True)
class Location:
    """The memory of one array. ``owner``: the argument (by number) or the constant that it belongs to.

    ``mutable``: something may be stored into it, so the walker tracks its content.  ``c_order``: whether it is certainly in C order.
    ``asked``: whether the emitted code relies on its order.  The order may follow from that of other locations: these are ``relies``.
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
    """A location and the steps from it to a view.

    ``own``: whether it is the object that owns the memory itself, and not a view of all of it.
    """

    location: Location
    steps: "tuple[Step, ...]" = ()
    own: bool = True

    def then(self, step: "Step") -> "Place":
        """Return the place after one more step."""
        if self.steps and isinstance(self.steps[-1], Box) and isinstance(step, Box):
            return Place(self.location, (*self.steps[:-1], self.steps[-1].then(step)), False)
        return Place(self.location, (*self.steps, step), False)

    @property
    def writable(self) -> bool:
        """Whether the view is writable if the array is: no step gives a read-only view (``np.broadcast_to``)."""
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
        """The start indices that are known only at run time."""
        return [s for step in self.steps if isinstance(step, Box) for s in step.starts if isinstance(s, T)]

    def with_starts(self, starts: Sequence[T]) -> "Place":
        """Return this place with other values for the starts that are known only at run time."""
        left = iter(starts)
        steps = [s.with_starts(left) if isinstance(s, Box) else s for s in self.steps]
        return Place(self.location, tuple(steps), self.own)

    @property
    def skeleton(self) -> Any:
        """All but the location and the run-time starts: equal for two places that differ only in those."""
        return self.own, tuple(s.skeleton if isinstance(s, Box) else s for s in self.steps)

    def load(self, t: T) -> T:
        for step in self.steps:
            t = step.load(t)
        return t

    def store(self, t: T, new: T, put: Put) -> T:
        """Return the content of the location after ``new`` was stored through the view."""
        contents = list(itertools.accumulate(self.steps[:-1], lambda content, step: step.load(content), initial=t))
        for step in reversed(self.steps):
            new = step.store(contents.pop(), new, put)
        return new

    def host(self, array: np.ndarray[Any, Any], starts: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return the same view of a NumPy array, with the values of the run-time starts."""
        left = iter(starts)
        for step in self.steps:
            array = step.host(array, left)
        return array if self.own else array.view()

    def layout(self) -> tuple[int, ...] | None:
        """Return the strides, in elements, or None if they are not known."""
        if not self.location.c_order:
            return None
        found: tuple[int, ...] | None = c_strides(self.location.shape)
        for step in self.steps:
            found = None if found is None else step.layout(found)
        return found

    def is_in_order(self) -> bool:
        """Are the elements certainly in C order? (The stride of an axis of one element does not matter.)"""
        strides = self.layout()
        return strides is not None and all(n == 1 or a == b for n, a, b in zip(self.shape, strides, c_strides(self.shape), strict=True))


def rely_on_order(place: Place) -> None:
    """Record that the emitted code relies on C order for the array of this place; the host checks the order at each call."""
    for location in (place.location, *place.location.relies):
        location.asked = True


def _laid_out(place: Place) -> "np.ndarray[Any, Any] | None":
    """Return a stand-in with the shape and the strides of a place, or None if they are not known."""
    strides = place.layout()
    if strides is None:
        return None
    rely_on_order(place)
    return np.lib.stride_tricks.as_strided(np.empty((), np.uint8), place.shape, strides)


def is_contiguous(place: Place) -> bool | None:
    """Whether the elements are contiguous in C order, or None if that is not known."""
    base = _laid_out(place)
    return None if base is None else base.flags.c_contiguous


def reshaped(place: Place, shape: tuple[int, ...]) -> Reshaped | None:
    """Return the step for a reshape, or None if NumPy copies or it is not known whether it does."""
    base = _laid_out(place)
    try:
        found = None if base is None else np.reshape(base, shape, copy=False)
    except (ValueError, TypeError):  # the reshape copies or raises, or this version of NumPy does not know the parameter
        return None
    return None if found is None else Reshaped(found.shape, tuple(found.strides))
