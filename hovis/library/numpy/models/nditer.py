"""Python models of NumPy's iterators over the elements of an array: ``np.ndindex``, ``np.ndenumerate`` and ``a.flat``."""

import operator
from typing import Any, Final

import numpy as np

from hovis.engine.state.frames_and_heap import Paths, slots
from hovis.engine.state.values import Dyn, Known, V
from hovis.ir.model import Op, Param
from hovis.library.core import Form, Library, Stand
from hovis.library.language.stepping import END, Steps
from hovis.library.numpy.rules.aliasing import is_array, is_flat

WALKS: Final = Library("walks")


def place_of(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of the element at this position of an array of this shape, in row-major order.

    >>> place_of(5, (2, 3))
    (1, 2)
    """
    place: list[int] = []
    for size in shape[:0:-1]:
        place.append(position % size)
        position //= size
    if shape:
        place.append(position)
    return tuple(place[::-1])


def gone_on(made: Any, position: int) -> Any:
    """Advance an iterator by ``position`` steps, and return it."""
    for _ in range(position):
        next(made)
    return made


def make_ndindex(shape: tuple[int, ...], position: int) -> Any:
    """``np.ndindex(*shape)`` after ``position`` steps."""
    return gone_on(np.ndindex(*shape), position)


def make_ndenumerate(array: Any, position: int) -> Any:
    """``np.ndenumerate(array)`` after ``position`` steps."""
    return gone_on(np.ndenumerate(array), position)


def make_flat(array: Any, position: int) -> Any:
    """``array.flat`` after ``position`` steps."""
    return gone_on(array.flat, position)


@WALKS.stand(np.ndindex, make_ndindex, "shape position", eager=True)
class NdIndex(Steps):
    def __init__(self, *shape: Any) -> None:
        if len(shape) == 1 and isinstance(shape[0], tuple):
            shape = shape[0]
        if min(shape, default=0) < 0:
            raise ValueError("negative dimensions are not allowed")
        self.shape = tuple([operator.index(size) for size in shape])
        self.position = 0

    def step(self) -> Any:
        position, shape = self.position, self.shape
        size = 1
        for one in shape:
            size *= one
        if position >= size:
            return END
        self.position = position + 1
        return place_of(position, shape)


@WALKS.stand(np.ndenumerate, make_ndenumerate, "array position", eager=True)
class NdEnumerate(Steps):
    def __init__(self, arr: Any) -> None:
        self.array = np.asarray(arr)
        self.position = 0

    def step(self) -> Any:
        position, array = self.position, self.array
        if position >= array.size:
            return END
        self.position = position + 1
        place = place_of(position, array.shape)
        return place, array[place]


class FlatWalk(Steps):
    """``iter(a.flat)``."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.position = 0

    def step(self) -> Any:
        position, array = self.position, self.array
        if position >= array.size:
            return END
        self.position = position + 1
        return array[place_of(position, array.shape)]


WALKS.models[FlatWalk] = Stand.of(np.flatiter, FlatWalk, Form.of(make_flat, "array position"))


def _over_flat(m: Any, args: list[V], kwargs: dict[str, V]) -> tuple[V, list[V]] | None:
    """Model ``for x in a.flat`` by steps of the trace, where ``a.flat`` has just been read and no other reference to it exists."""
    flat = args[0]
    if not isinstance(flat, Dyn) or not isinstance(flat.value, Op) or not is_flat(flat.value) or m.block.ops[-1:] != [flat.value]:
        return None
    array = flat.value.args[0]
    held = (value for _, value, _ in slots(m.state, Paths()))
    if not is_array(array) or not isinstance(array, Op | Param) or any(isinstance(v, Dyn) and v.value is flat.value for v in held):
        return None
    return Known(FlatWalk), [Dyn(array, array.type)]


WALKS.actions[np.flatiter.__iter__] = _over_flat
