"""Stand-ins for the iterators of the builtins, and helpers for those of itertools.

``__init__`` has the parameters of the real class, and calls ``iter()`` on the iterables immediately, as that does.
``step`` is ``__next__`` that returns END at the end: it makes the same calls in the same order, and a step that raises
leaves the same state.  The arguments of ``stand`` describe how the real iterator is built where a stand-in escapes.
(CPython: Python/bltinmodule.c, Objects/enumobject.c, Objects/listobject.c, Objects/iterobject.c.)
"""

import operator
import sys
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.operations.wording import message_of
from hovis.library.core import Library
from hovis.library.language.stepping import END, Steps

ITERATORS: Final = Library("iterators")

#: The default of an argument that was not passed.
MISSING: Final[Any] = END


@ITERATORS.stand(map, map, "function *~iterators")
class Map(Steps):
    def __init__(self, function: Any, iterable: Any, /, *more: Any) -> None:
        self.function = function
        self.iterators = [iter(source) for source in (iterable, *more)]

    def step(self) -> Any:
        args = []
        for iterator in self.iterators:
            item = next(iterator, END)
            if item is END:
                return END
            args.append(item)
        return self.function(*args)


@ITERATORS.stand(filter, filter, "function ~iterator")
class Filter(Steps):
    def __init__(self, function: Any, iterable: Any, /) -> None:
        self.function = function
        self.iterator = iter(iterable)

    def step(self) -> Any:
        plain = self.function is None or self.function is bool
        # next is called at a single place, so the body of a known generator is inlined only once
        while True:
            item = next(self.iterator, END)
            if item is END:
                return END
            if item if plain else self.function(item):
                return item


@ITERATORS.stand(zip, zip, "*~iterators strict=strict", quiet=True)
class Zip(Steps):
    def __init__(self, *iterables: Any, strict: Any = False) -> None:
        self.strict = bool(strict)
        self.iterators = [iter(source) for source in iterables]

    def step(self) -> Any:
        if not self.iterators:
            return END
        items: list[Any] = []
        for iterator in self.iterators:
            item = next(iterator, END)
            if item is END:
                if self.strict:
                    _check_lengths(self.iterators, len(items))
                return END
            items.append(item)
        return (*items,)


def _check_lengths(iterators: Any, ended: int) -> None:
    """Raise the ValueError of a strict zip unless all iterators end together: that at index ended is exhausted, those before it were not."""
    if ended:
        raise ValueError(f"zip() argument {ended + 1} is shorter than argument{'s 1-' if ended > 1 else ' '}{ended}")
    index = 0
    for iterator in iterators:
        if index and next(iterator, END) is not END:
            raise ValueError(f"zip() argument {index + 1} is longer than argument{'s 1-' if index > 1 else ' '}{index}")
        index += 1  # noqa: SIM113 (models call no other models)


@ITERATORS.stand(enumerate, enumerate, "~iterator index", quiet=True)
class Enumerate(Steps):
    def __init__(self, iterable: Any, start: Any = 0) -> None:
        self.index = operator.index(start)
        self.iterator = iter(iterable)

    def step(self) -> Any:
        item = next(self.iterator, END)
        if item is END:
            return END
        index = self.index
        self.index = index + 1
        return index, item


@ITERATORS.model(reversed, makes=True)
def reversed_(sequence: Any, /) -> Any:
    kind = type(sequence)
    if kind is list:
        return ReversedList(sequence, len(sequence) - 1)
    if kind is tuple or kind is str or kind is bytes:
        return Reversed(sequence, len(sequence) - 1)
    if kind is range:
        return range.__reversed__(sequence)
    if hasattr(kind, "__array_finalize__"):
        return Reversed(sequence, len(sequence) - 1)
    return reversed.__new__(reversed, sequence)


@ITERATORS.stand(type(reversed([])), operations.make_reverse_iterator, "sequence index", quiet=True)
class ReversedList(Steps):
    def __init__(self, sequence: Any, index: int) -> None:
        self.sequence = sequence
        self.index = index

    def step(self) -> Any:
        index = self.index
        if 0 <= index < len(self.sequence):
            self.index = index - 1
            return self.sequence[index]
        self.index = -1
        return END


@ITERATORS.stand(reversed, operations.make_reverse_iterator, "sequence index", quiet=True)
class Reversed(ReversedList):
    pass


_UNCALLABLE: Final = message_of(lambda: iter(3, 0))  # type: ignore[call-overload]


@ITERATORS.model(iter, makes=True)
def iter_(function: Any, sentinel: Any, /) -> Any:
    if not callable(function):
        raise TypeError(_UNCALLABLE)
    return Calls(function, sentinel)


@ITERATORS.stand(type(iter(int, 1)), iter, "function sentinel", when={"done": False})
class Calls(Steps):
    def __init__(self, function: Any, sentinel: Any) -> None:
        self.function = function
        self.sentinel = sentinel
        self.done: Any = False

    def step(self) -> Any:
        if self.done:
            return END
        try:
            result = self.function()
        except StopIteration:
            self.done = True
            return END
        if self.done or same(self.sentinel, result):     # the function may have exhausted this very iterator
            self.done = True
            return END
        return result


def same(a: Any, b: Any) -> Any:
    """PyObject_RichCompareBool with Py_EQ."""
    return True if a is b or a == b else False  # noqa: SIM210 (a bool, not the result of ==)


def ssize(value: Any) -> int:
    """Return value as an index that fits Py_ssize_t; OverflowError if it does not fit."""
    number = operator.index(value)
    if number > sys.maxsize or number < -sys.maxsize - 1:
        raise OverflowError("Python int too large to convert to C ssize_t")
    return number


@ITERATORS.model(operations.unpack)
def unpack(iterable: Any, count: int) -> Any:
    """``a, b = iterator``: takes one more step than there are names (unpack_iterable in Python/ceval.c)."""
    items: list[Any] = []
    for item in iterable:
        if len(items) == count:
            raise ValueError(f"too many values to unpack (expected {count})")
        items.append(item)
    if len(items) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    return tuple(items)
