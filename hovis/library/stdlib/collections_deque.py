"""The stand-in for ``collections.deque`` (CPython: Modules/_collectionsmodule.c).

The items are stored in a list that only the stand-in refers to (its content).  Where an index is not known, the real object
is built, and its method is called.
"""

import collections
import operator
from typing import Any, Final

from hovis.ir.operations.wording import message_of
from hovis.library.core import Library, acted, leave, real, seen, settled
from hovis.library.language.stepping import END, Steps
from hovis.library.stdlib.iterators import same

DEQUES: Final = Library("deques")


_EMPTY: Final = message_of(lambda: collections.deque().pop())
_FULL: Final = message_of(lambda: collections.deque([1], 1).insert(0, 2))
_RANGE: Final = message_of(lambda: collections.deque()[0])
_NOTHING: Final[collections.deque[Any]] = collections.deque()
_NOT_THERE: Final = message_of(lambda: _NOTHING.remove(1))
_NOT_FOUND: Final = message_of(lambda: _NOTHING.index(1))
_MAXLEN: Final = message_of(lambda: collections.deque(maxlen=-1))
_MUTATED: Final = "deque mutated during iteration"


def _about(message: str, value: Any) -> str:
    """Return the message about a value that is not found; 3.14 has the value in it."""
    return message if message[:1] != "1" else f"{value!r} is not in deque"


@DEQUES.stand(collections.deque, collections.deque, "items limit", eager=True, content="items", fill=collections.deque.extend)
class Deque:
    def __init__(self, iterable: Any = (), maxlen: Any = None) -> None:
        if maxlen is not None:
            if not settled(maxlen) or type(maxlen) is not int:
                leave()
            if maxlen < 0:
                raise ValueError(_MAXLEN)
        if not seen(iterable):
            leave()
        items = [*iter(iterable)]
        if maxlen is not None and len(items) > maxlen:
            del items[: len(items) - maxlen]
        self.limit = maxlen
        #: a token shared by the active iterators; a change sets it to None, which invalidates them, and the next iterator makes a new one
        self.token: Any = None
        self.items = items

    @property
    def maxlen(self) -> Any:
        return self.limit

    def append(self, item: Any, /) -> None:
        self.token = None
        self.items.append(item)
        if self.limit is not None and len(self.items) > self.limit:
            del self.items[0]

    def appendleft(self, item: Any, /) -> None:
        self.token = None
        self.items.insert(0, item)
        if self.limit is not None and len(self.items) > self.limit:
            del self.items[-1]

    def extend(self, iterable: Any, /) -> None:
        if iterable is self:
            iterable = [*self.items]
        for item in iterable:
            self.append(item)

    def extendleft(self, iterable: Any, /) -> None:
        if iterable is self:
            iterable = [*self.items]
        for item in iterable:
            self.appendleft(item)

    def pop(self) -> Any:
        if not self.items:
            raise IndexError(_EMPTY)
        self.token = None
        return self.items.pop()

    def popleft(self) -> Any:
        if not self.items:
            raise IndexError(_EMPTY)
        self.token = None
        return self.items.pop(0)

    def clear(self) -> None:
        self.token = None
        self.items.reverse()  # a deque drops its items from the left, a list from the end
        self.items.clear()

    def copy(self) -> Any:
        return Deque(self.items, self.limit)

    def __copy__(self) -> Any:
        return Deque(self.items, self.limit)

    def count(self, value: Any, /) -> int:
        found = 0
        for item in self:
            if same(item, value):
                found += 1
        return found

    def __contains__(self, value: Any) -> bool:
        for item in self:
            if same(item, value):
                return True
        return False

    def remove(self, value: Any, /) -> None:
        size = len(self.items)
        for index in range(size):
            found = same(self.items[index], value)
            if len(self.items) != size:
                raise IndexError("deque mutated during remove().")
            if found:
                self.token = None
                del self.items[index]
                return
        raise ValueError(_about(_NOT_THERE, value))

    def index(self, value: Any, *bounds: Any) -> Any:
        if bounds:
            return real(self).index(value, *bounds)
        at = 0
        for item in self:
            if same(item, value):
                return at
            at += 1  # noqa: SIM113 (models call no other models)
        raise ValueError(_about(_NOT_FOUND, value))

    def insert(self, index: Any, item: Any, /) -> None:
        if not settled(index) or type(index) is not int:
            real(self).insert(index, item)
            return
        if self.limit is not None and len(self.items) == self.limit:
            raise IndexError(_FULL)
        self.token = None
        self.items.insert(index, item)

    def reverse(self) -> None:
        self.items.reverse()

    def rotate(self, n: Any = 1, /) -> None:
        if not settled(n) or type(n) is not int:
            real(self).rotate(n)
            return
        if self.items:
            self.token = None
            at = -n % len(self.items)
            self.items[:] = self.items[at:] + self.items[:at]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        if not settled(index) or type(index) is not int:
            return real(self)[index]
        if not -len(self.items) <= index < len(self.items):
            raise IndexError(_RANGE)
        return self.items[index]

    def __setitem__(self, index: Any, item: Any) -> None:
        if not settled(index) or type(index) is not int:
            real(self)[index] = item
            return
        if not -len(self.items) <= index < len(self.items):
            raise IndexError(_RANGE)
        self.items[index] = item

    def __delitem__(self, index: Any) -> None:
        if not settled(index) or type(index) is not int:
            del real(self)[index]
            return
        if not -len(self.items) <= index < len(self.items):
            raise IndexError(_RANGE)
        self.token = None
        del self.items[index]

    def __iter__(self) -> Any:
        if self.token is None:
            self.token = []
        return DequeIterator(self, 0, 1)

    def __reversed__(self) -> Any:
        if self.token is None:
            self.token = []
        return DequeReversed(self, len(self.items) - 1, -1)

    def __iadd__(self, other: Any) -> Any:
        self.extend(other)
        return self

    def __add__(self, other: Any) -> Any:
        if type(other) is not collections.deque or not acted(other):
            return real(self) + other
        made = Deque(self.items, self.limit)
        made.extend(other)
        return made

    def __eq__(self, other: Any) -> Any:
        return _compared(self, other, operator.eq)

    def __ne__(self, other: Any) -> Any:
        return _compared(self, other, operator.ne)

    def __lt__(self, other: Any) -> Any:
        return _compared(self, other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return _compared(self, other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return _compared(self, other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return _compared(self, other, operator.ge)

    __hash__ = None  # type: ignore[assignment]


def _compared(a: Any, b: Any, test: Any) -> Any:
    """deque_richcompare."""
    kind: Any = type(b)
    if kind is not collections.deque:
        return NotImplemented
    if not acted(b):
        return test(real(a), b)
    if test is operator.eq or test is operator.ne:
        if a is b:
            return test is operator.eq
        if len(a.items) != len(b.items):
            return test is operator.ne
    one, other = iter(a), iter(b)
    while True:
        x, y = next(one, END), next(other, END)
        if x is END or y is END:
            # the lengths decide
            return test(0 if x is END else 1, 0 if y is END else 1)
        if not same(x, y):
            return True if test(x, y) else False  # noqa: SIM210


@DEQUES.stand(type(iter(collections.deque())))
class DequeIterator(Steps):
    def __init__(self, source: Any, index: int, stride: int) -> None:
        self.source = source
        self.token = source.token
        self.index = index
        self.stride = stride

    def step(self) -> Any:
        source = self.source
        if self.token is not source.token:
            self.index = len(source.items) if self.stride > 0 else -1
            raise RuntimeError(_MUTATED)
        index = self.index
        if not 0 <= index < len(source.items):
            return END
        self.index = index + self.stride
        return source.items[index]


@DEQUES.stand(type(reversed(collections.deque())))
class DequeReversed(DequeIterator):
    pass
