"""Stand-ins for products, combinations and permutations of itertools (CPython: Modules/itertoolsmodule.c)."""

import itertools
from typing import Any, Final

from hovis.ir.operations.wording import message_of
from hovis.library.core import Library
from hovis.library.language.stepping import END, Steps
from hovis.library.stdlib.iterators import ssize

CHOICES: Final = Library("choices")

_NEGATIVE: Final = message_of(lambda: itertools.combinations((), -1))
#: Is the number tested before the items are taken (3.15)?
_EARLY: Final = message_of(lambda: itertools.combinations(1, -1)) == _NEGATIVE  # type: ignore[call-overload]
_NEGATIVE_REPEATED: Final = message_of(lambda: itertools.combinations_with_replacement((), -1))
_NEGATIVE_ARRANGED: Final = message_of(lambda: itertools.permutations((), -1))


@CHOICES.stand(itertools.product, itertools.product, "*pools", when={"started": False}, quiet=True)
class Product(Steps):
    def __init__(self, *iterables: Any, repeat: Any = 1) -> None:
        times = ssize(repeat)
        if times < 0:
            raise ValueError("repeat argument cannot be negative")
        pools = [tuple(source) for source in iterables] if times else []
        self.pools = pools * times
        self.indices: Any = [0] * len(self.pools)
        self.started = False

    def step(self) -> Any:
        indices = self.indices
        if indices is None:
            return END
        if not self.started:
            self.started = True
            for pool in self.pools:
                if not pool:
                    self.indices = None
                    return END
        else:
            at = len(indices) - 1
            while at >= 0:
                indices[at] += 1
                if indices[at] < len(self.pools[at]):
                    break
                indices[at] = 0
                at -= 1
            else:
                self.indices = None
                return END
        return (*[self.pools[at][indices[at]] for at in range(len(indices))],)


class Choices(Steps):
    """An iterator over tuples of the items of pool at indices. ``advance`` moves the indices in place, and returns False at the end."""

    pool: Any
    count: int
    indices: Any
    started: bool

    def step(self) -> Any:
        indices = self.indices
        if indices is None:
            return END
        if self.started and not self.advance(indices):
            self.indices = None
            return END
        self.started = True
        return (*[self.pool[index] for index in indices[: self.count]],)

    def advance(self, indices: Any) -> bool:
        return False


@CHOICES.stand(itertools.combinations, itertools.combinations, "pool count", when={"started": False}, quiet=True)
class Combinations(Choices):
    def __init__(self, iterable: Any, r: Any) -> None:
        count = ssize(r)
        if count < 0 and _EARLY:
            raise ValueError(_NEGATIVE)
        self.pool = tuple(iterable)
        if count < 0:
            raise ValueError(_NEGATIVE)
        self.count = count
        self.indices: Any = [*range(count)] if count <= len(self.pool) else None
        self.started = False

    def advance(self, indices: Any) -> bool:
        at = self.count - 1
        last = len(self.pool) - self.count
        while at >= 0 and indices[at] == at + last:
            at -= 1
        if at < 0:
            return False
        indices[at] += 1
        for after in range(at + 1, self.count):
            indices[after] = indices[after - 1] + 1
        return True


@CHOICES.stand(
    itertools.combinations_with_replacement, itertools.combinations_with_replacement, "pool count", when={"started": False}, quiet=True
)
class CombinationsWithReplacement(Choices):
    def __init__(self, iterable: Any, r: Any) -> None:
        count = ssize(r)
        if count < 0 and _EARLY:
            raise ValueError(_NEGATIVE_REPEATED)
        self.pool = tuple(iterable)
        if count < 0:
            raise ValueError(_NEGATIVE_REPEATED)
        self.count = count
        self.indices: Any = [0] * count if self.pool or not count else None
        self.started = False

    def advance(self, indices: Any) -> bool:
        at = self.count - 1
        last = len(self.pool) - 1
        while at >= 0 and indices[at] == last:
            at -= 1
        if at < 0:
            return False
        index = indices[at] + 1
        for after in range(at, self.count):
            indices[after] = index
        return True


@CHOICES.stand(itertools.permutations, itertools.permutations, "pool count", when={"started": False}, quiet=True)
class Permutations(Choices):
    def __init__(self, iterable: Any, r: Any = None) -> None:
        self.pool = tuple(iterable)
        if r is not None and not isinstance(r, int):
            raise TypeError("Expected int as r")
        count = len(self.pool) if r is None else ssize(r)
        if count < 0:
            raise ValueError(_NEGATIVE_ARRANGED)
        self.count = count
        size = len(self.pool)
        self.indices: Any = [*range(size)] if count <= size else None
        self.cycles = [*range(size, size - count, -1)]
        self.started = False

    def advance(self, indices: Any) -> bool:
        size = len(self.pool)
        at = self.count - 1
        while at >= 0:
            self.cycles[at] -= 1
            if self.cycles[at]:
                other = size - self.cycles[at]
                indices[at], indices[other] = indices[other], indices[at]
                return True
            first = indices[at]
            for after in range(at, size - 1):
                indices[after] = indices[after + 1]
            indices[size - 1] = first
            self.cycles[at] = size - at
            at -= 1
        return False
