"""Stand-ins for the infinite iterators of itertools: ``count``, ``cycle`` and ``repeat`` (CPython: Modules/itertoolsmodule.c)."""

import itertools
from typing import Any, Final

from hovis.library.core import Library
from hovis.library.language.stepping import END, Steps
from hovis.library.stdlib.iterators import MISSING, ssize

INFINITE: Final = Library("infinite iterators")


@INFINITE.model(itertools.repeat, makes=True, eager=True)
def repeat(object: Any, times: Any = MISSING) -> Any:
    if times is MISSING:
        return Forever(object)
    count = ssize(times)
    return Repeat(object, count if count > 0 else 0)


@INFINITE.stand(itertools.repeat, itertools.repeat, "element", quiet=True)
class Forever(Steps):
    def __init__(self, element: Any) -> None:
        self.element = element

    def step(self) -> Any:
        return self.element


@INFINITE.stand(itertools.repeat, itertools.repeat, "element times", quiet=True)
class Repeat(Steps):
    def __init__(self, element: Any, times: int) -> None:
        self.element = element
        self.times = times

    def __length_hint__(self) -> int:
        return self.times

    def step(self) -> Any:
        if self.times > 0:
            self.times = self.times - 1
            return self.element
        return END


@INFINITE.model(itertools.count, makes=True, eager=True)
def count(start: Any = 0, step: Any = 1) -> Any:
    if (type(start) is int or type(start) is float) and (type(step) is int or type(step) is float):
        return Count(start, step)
    return itertools.count.__new__(itertools.count, start, step)


@INFINITE.stand(itertools.count, itertools.count, "value stride", quiet=True)
class Count(Steps):
    def __init__(self, value: Any, stride: Any) -> None:
        self.value = value
        self.stride = stride

    def step(self) -> Any:
        value = self.value
        self.value = value + self.stride
        return value


@INFINITE.stand(itertools.cycle, itertools.cycle, "~iterator", when={"started": False})
class Cycle(Steps):
    def __init__(self, iterable: Any, /) -> None:
        self.iterator: Any = iter(iterable)
        self.saved: list[Any] = []
        self.index = 0
        self.started = False

    def step(self) -> Any:
        if self.iterator is not None:
            item = next(self.iterator, END)
            if item is not END:
                self.started = True
                self.saved.append(item)
                return item
            self.iterator = None
        if not self.saved:
            return END
        item = self.saved[self.index]
        self.index = self.index + 1 if self.index + 1 < len(self.saved) else 0
        return item
