"""NumPy's iterators over the places of an array, ``np.ndindex`` and ``np.ndenumerate``, as Python that stands for them."""

import operator
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.library.core import Library

WALKS: Final = Library("walks")

END: Final[Any] = operations.END


def place_of(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Where in an array of this shape the element is that comes so late, row by row.

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
    """An iterator after so many steps."""
    for _ in range(position):
        next(made)
    return made


def make_ndindex(shape: tuple[int, ...], position: int) -> Any:
    """``np.ndindex(*shape)`` after so many steps."""
    return gone_on(np.ndindex(*shape), position)


def make_ndenumerate(array: Any, position: int) -> Any:
    """``np.ndenumerate(array)`` after so many steps."""
    return gone_on(np.ndenumerate(array), position)


class Walk:
    """Steps from place to place."""

    step: Any

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        item = self.step()
        if item is END:
            raise StopIteration
        return item


@WALKS.stand(np.ndindex, make_ndindex, "shape position", eager=True)
class NdIndex(Walk):
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
class NdEnumerate(Walk):
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
