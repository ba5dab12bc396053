"""Steps from an array to a view of it: how to load through each, store through it, and repeat it on the host.

A step can be read (``load``), stored through (``store``, which returns the whole array after the part was replaced), and repeated by the
host (``host``).

Slices, integers, new axes, transposes, flips and broadcasts in any order are one step, a :class:`Box`.  NumPy itself tells which Box a
call of NumPy makes: the call is done on a stand-in array whose strides are distinct marks, and the strides and the offset of the result
show what was done.
"""

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hovis_xla.emit import builder, slicing
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import BOOL, INT64, NotLowerable

#: A start index: a known integer, or an i64 value of the program.
Start = int | T

#: Stores an update (the second argument) into an array at these starts: a ``dynamic_update_slice`` of the walker.
Put = Callable[[T, T, tuple[T, ...]], T]


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of an array in C order, in elements."""
    *strides, _ = itertools.accumulate([max(size, 1) for size in reversed(shape)], operator.mul, initial=1)
    return tuple(reversed(strides))


class _View:
    """Define what a step does unless it says more: it cannot be stored through, and its strides are not known."""

    __slots__ = ()

    def store(self, t: T, new: T, put: Put) -> T:
        """Return ``t`` after ``new`` was stored through the view."""
        raise NotLowerable("a store into a read-only view: NumPy raises an exception")

    def layout(self, strides: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the strides of the view, given those of the array, or None if they are not known."""
        return None


# ------------------------------------------------------------------------------------------------- boxes


@dataclass(frozen=True, slots=True)
class Box(_View):
    """A rectangular part of an array: for each axis a start, a count and a stride, and an order of the axes.

    ``axes`` has, for each dimension of the view, that of the array, or None (a new dimension, with more than one element only if it was
    broadcast); a dimension of the array that is not in ``axes`` has one element.  ``writable``: whether the view is writable if the array is.
    """

    starts: tuple[Start, ...]
    counts: tuple[int, ...]
    strides: tuple[int, ...]
    axes: tuple[int | None, ...]
    shape: tuple[int, ...]
    writable: bool = True

    def then(self, other: "Box") -> "Box":
        """Compose this box with another box of the view that it gives."""
        starts, counts, strides = list(self.starts), list(self.counts), list(self.strides)
        for axis, start, count, stride in zip(self.axes, other.starts, other.counts, other.strides, strict=True):
            if axis is not None:
                starts[axis] = _moved(starts[axis], start, self.strides[axis])
                counts[axis] = count
                strides[axis] *= stride
        axes = tuple(None if a is None else self.axes[a] for a in other.axes)
        return Box(tuple(starts), tuple(counts), tuple(strides), axes, other.shape, self.writable and other.writable)

    @property
    def skeleton(self) -> Any:
        """All but the starts that are known only at run time."""
        return self.with_starts(itertools.repeat(None))

    def with_starts(self, left: Any) -> "Box":
        return replace(self, starts=tuple(next(left) if isinstance(s, T) else s for s in self.starts))

    def _spans(self) -> tuple[list[Start], list[int], list[int]]:
        """Return the first elements, extents and positive steps, for either direction."""
        starts: list[Start] = []
        extents, steps = [], []
        for start, count, stride in zip(self.starts, self.counts, self.strides, strict=True):
            extents.append((count - 1) * abs(stride) + 1 if count else 0)
            starts.append(_moved(start, (count - 1) * stride, 1) if stride < 0 else start)
            steps.append(abs(stride) if count > 1 else 1)
        return starts, extents, steps

    def _backwards(self) -> list[int]:
        return [k for k, (n, s) in enumerate(zip(self.counts, self.strides, strict=True)) if s < 0 and n > 1]

    def load(self, t: T) -> T:
        if 0 in self.shape:
            return builder.zeros(t.dtype, self.shape)
        starts, extents, steps = self._spans()
        static = [s for s in starts if isinstance(s, int)]
        if len(static) == len(starts):
            t = slicing.static_slice(t, static, [s + n for s, n in zip(static, extents, strict=True)], steps)
        else:
            t = slicing.dynamic_slice(t, [as_start(s) for s in starts], extents)
            if any(s > 1 for s in steps):
                t = slicing.static_slice(t, [0] * len(steps), extents, steps)
        t = slicing.reverse(t, self._backwards())
        named = [a for a in self.axes if a is not None]
        t = builder.reshape(builder.transpose(t, [*named, *(k for k in range(len(t.shape)) if k not in named)]), tuple(self.counts[a] for a in named))
        narrow = tuple(1 if a is None else n for a, n in zip(self.axes, self.shape, strict=True))
        return builder.broadcast(builder.reshape(t, narrow), self.shape)

    def store(self, t: T, new: T, put: Put) -> T:
        if 0 in self.shape:
            return t
        if any(a is None and n > 1 for a, n in zip(self.axes, self.shape, strict=True)):
            raise NotLowerable("a store into a broadcast array: NumPy refuses it, or writes the same element more than once")
        starts, extents, steps = self._spans()
        named = [a for a in self.axes if a is not None]
        new = builder.reshape(new, tuple(self.counts[a] for a in named))
        new = builder.transpose(new, sorted(range(len(named)), key=named.__getitem__))
        new = slicing.reverse(builder.reshape(new, self.counts), self._backwards())
        at = tuple(as_start(s) for s in starts)
        if any(s > 1 for s in steps):
            whole = tuple(extents) == t.shape
            old = t if whole else slicing.dynamic_slice(t, at, extents)
            wide = slicing.spread(new, [s - 1 for s in steps])
            stored = slicing.spread(builder.full(True, BOOL, self.counts), [s - 1 for s in steps])
            new = builder.select(stored, wide, old)
        return put(t, new, at)

    def host(self, array: np.ndarray[Any, Any], left: Any) -> np.ndarray[Any, Any]:
        found = self._view(array, left)
        if not self.writable:
            found.flags.writeable = False
        return found

    def _view(self, array: np.ndarray[Any, Any], left: Any) -> np.ndarray[Any, Any]:
        starts: Any = self.with_starts(left).starts
        if 0 in self.shape:
            return array[None][:0].reshape(self.shape)  # an array without elements can be viewed in any shape
        items: list[Any] = []
        for start, count, stride in zip(starts, self.counts, self.strides, strict=True):
            stop = start + count * stride
            items.append(slice(start, stop if stop >= 0 else None, stride) if count else slice(0, 0))
        found = array[(*items, ...)]
        if found.shape != tuple(self.counts):  # it belongs to a path that was not taken: nothing uses it
            return np.empty(self.shape, array.dtype)
        named = [a for a in self.axes if a is not None]
        found = found.transpose([*named, *(k for k in range(array.ndim) if k not in named)])
        # with ... even one element is a view
        found = found[(slice(None),) * len(named) + (0,) * (array.ndim - len(named)) + (...,)]
        narrow = found[(*(None if a is None else slice(None) for a in self.axes), ...)]
        return narrow if narrow.shape == self.shape else np.broadcast_to(narrow, self.shape)

    def layout(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if a is None else strides[a] * self.strides[a] for a in self.axes)


def _moved(start: Start, by: Start, factor: int) -> Start:
    """Return start + by * factor."""
    if isinstance(by, int) and by * factor == 0:
        return start
    if isinstance(start, int) and isinstance(by, int):
        return start + by * factor
    step = as_start(by if factor == 1 else by * factor) if isinstance(by, int) else by if factor == 1 else builder.mul(by, builder.constant(factor, INT64))
    return step if isinstance(start, int) and start == 0 else builder.add(as_start(start), step)


def as_start(start: Start) -> T:
    return builder.constant(start, INT64) if isinstance(start, int) else start


# ------------------------------------------------------------------------------------------------- other steps


@dataclass(frozen=True, slots=True)
class Reshaped(_View):
    """A reshape of the same memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def load(self, t: T) -> T:
        return builder.reshape(t, self.shape)

    def store(self, t: T, new: T, put: Put) -> T:
        return builder.reshape(new, t.shape)

    def host(self, array: np.ndarray[Any, Any], left: Any) -> np.ndarray[Any, Any]:
        return array.reshape(self.shape)

    def layout(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        return self.strides


@dataclass(frozen=True, slots=True)
class Part(_View):
    """The real or the imaginary parts of complex numbers."""

    name: str

    def load(self, t: T) -> T:
        return builder.real(t) if self.name == "real" else builder.imag(t)

    def store(self, t: T, new: T, put: Put) -> T:
        return builder.make_complex(new, builder.imag(t)) if self.name == "real" else builder.make_complex(builder.real(t), new)

    def host(self, array: np.ndarray[Any, Any], left: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = getattr(array, self.name)
        return found


@dataclass(frozen=True, slots=True)
class Diagonal(_View):
    """``np.diagonal``: a read-only view."""

    shape: tuple[int, ...]
    offset: int = 0

    def load(self, t: T) -> T:
        at = builder.iota(INT64, self.shape, 0)
        rows, columns = (at if n == 0 else builder.add(at, builder.like(n, at)) for n in (max(-self.offset, 0), max(self.offset, 0)))
        return slicing.gather(t, (0, 1), [rows, columns]) if self.shape[0] else builder.zeros(t.dtype, self.shape)

    def host(self, array: np.ndarray[Any, Any], left: Any) -> np.ndarray[Any, Any]:
        return np.diagonal(array, self.offset)


@dataclass(frozen=True, slots=True)
class Windows(_View):
    """``sliding_window_view``: a read-only view, because its elements overlap."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    axes: tuple[int, ...]

    def load(self, t: T) -> T:
        for size, axis in zip(self.sizes, self.axes, strict=True):
            extents = (t.shape[axis] - size + 1, size)
            at = builder.add(builder.iota(INT64, extents, 0), builder.iota(INT64, extents, 1))
            order = range(2, len(t.shape) + 1)
            t = builder.transpose(slicing.gather(t, (axis,), [at]), (*order[:axis], 0, *order[axis:], 1))
        return t

    def host(self, array: np.ndarray[Any, Any], left: Any) -> np.ndarray[Any, Any]:
        return np.lib.stride_tricks.sliding_window_view(array, self.sizes, self.axes)


Step = Box | Reshaped | Part | Diagonal | Windows


# ------------------------------------------------------------------------------------------------- Boxes of NumPy's views


def box_of(shape: tuple[int, ...], view: Callable[[np.ndarray[Any, Any]], Any]) -> Box | None:
    """Return the Box for a view of an array of this shape, which the function ``view`` makes; None if the view is not a Box."""
    *marks, most = itertools.accumulate([4 * (size + 2) for size in shape], operator.mul, initial=1)
    if most >= 2**62:
        return None
    base = np.lib.stride_tricks.as_strided(np.empty((), np.uint8), shape, marks)
    found = view(base)
    if not isinstance(found, np.ndarray):
        return None
    if 0 in found.shape:
        return Box((0,) * len(shape), (0,) * len(shape), (1,) * len(shape), (None,) * found.ndim, found.shape, found.flags.writeable)
    return _decoded(shape, marks, found, _address(found) - _address(base))


def _address(array: np.ndarray[Any, Any]) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def _decoded(shape: tuple[int, ...], marks: list[int], found: np.ndarray[Any, Any], offset: int) -> Box | None:
    counts, strides = [1] * len(shape), [1] * len(shape)
    starts = [0] * len(shape)
    for k in reversed(range(len(shape))):
        starts[k], offset = divmod(offset, marks[k])
    axes: list[int | None] = []
    for size, stride in zip(found.shape, found.strides, strict=True):
        if size == 1 or stride == 0:
            axes.append(None)
            continue
        axis = max(k for k, mark in enumerate(marks) if mark <= abs(stride))
        if stride % marks[axis] or axis in axes:
            return None
        counts[axis], strides[axis] = size, stride // marks[axis]
        axes.append(axis)
    if any(not 0 <= s < max(n, 1) for s, n in zip(starts, shape, strict=True)):
        return None
    return Box(tuple(starts), tuple(counts), tuple(strides), tuple(axes), found.shape, found.flags.writeable)
