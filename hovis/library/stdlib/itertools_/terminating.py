"""Stand-ins for the iterators of itertools that end with their input, ``accumulate`` to ``zip_longest`` (CPython: Modules/itertoolsmodule.c)."""

import itertools
import operator
import sys
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.operations.wording import message_of
from hovis.library.core import Form, Library
from hovis.library.language.stepping import END, Steps
from hovis.library.stdlib.iterators import MISSING, Filter, same, ssize

ITERTOOLS: Final = Library("itertools")


@ITERTOOLS.stand(
    itertools.chain, itertools.chain.from_iterable, "~source", Form.of(itertools.chain, "", source=None), Form.of(operations.make_chain, "active source"),
    when={"active": None},
)  # fmt: skip
class Chain(Steps):
    def __init__(self, *iterables: Any) -> None:
        self.source: Any = iter(iterables)
        self.active: Any = None

    def step(self) -> Any:
        while self.source is not None:
            if self.active is None:
                source, self.source = self.source, None  # an exception here exhausts this iterator
                iterable = next(source, END)
                if iterable is END:
                    return END
                self.active = iter(iterable)
                self.source = source
            item = next(self.active, END)
            if item is not END:
                return item
            self.active = None
        return END


@ITERTOOLS.model(itertools.chain.from_iterable, makes=True)
def chain_from_iterable(iterables: Any, /) -> Any:
    made = Chain()
    made.source = iter(iterables)
    return made


@ITERTOOLS.stand(itertools.accumulate, itertools.accumulate, "~iterator func=function", when={"total": MISSING, "initial": None})
class Accumulate(Steps):
    def __init__(self, iterable: Any, func: Any = None, *, initial: Any = None) -> None:
        self.iterator = iter(iterable)
        self.function = func
        self.initial = initial
        self.total = MISSING

    def step(self) -> Any:
        if self.initial is not None:
            self.total = self.initial
            self.initial = None
            return self.total
        item = next(self.iterator, END)
        if item is END:
            return END
        if self.total is MISSING:
            self.total = item
        elif self.function is None:
            self.total = self.total + item
        else:
            self.total = self.function(self.total, item)
        return self.total


@ITERTOOLS.stand(itertools.takewhile, itertools.takewhile, "predicate ~iterator", when={"stopped": False})
class Takewhile(Steps):
    def __init__(self, predicate: Any, iterable: Any, /) -> None:
        self.predicate = predicate
        self.iterator = iter(iterable)
        self.stopped = False

    def step(self) -> Any:
        if self.stopped:
            return END
        item = next(self.iterator, END)
        if item is END:
            return END
        if self.predicate(item):
            return item
        self.stopped = True
        return END


@ITERTOOLS.stand(itertools.dropwhile, itertools.dropwhile, "predicate ~iterator", when={"started": False})
class Dropwhile(Steps):
    def __init__(self, predicate: Any, iterable: Any, /) -> None:
        self.predicate = predicate
        self.iterator = iter(iterable)
        self.started = False

    def step(self) -> Any:
        while True:
            item = next(self.iterator, END)
            if item is END or self.started:
                return item
            if not self.predicate(item):
                self.started = True
                return item


@ITERTOOLS.stand(itertools.filterfalse, itertools.filterfalse, "function ~iterator")
class Filterfalse(Filter):
    def step(self) -> Any:
        plain = self.function is None or self.function is bool
        while True:
            item = next(self.iterator, END)
            if item is END or not (item if plain else self.function(item)):
                return item


@ITERTOOLS.stand(itertools.starmap, itertools.starmap, "function ~iterator")
class Starmap(Steps):
    def __init__(self, function: Any, iterable: Any, /) -> None:
        self.function = function
        self.iterator = iter(iterable)

    def step(self) -> Any:
        item = next(self.iterator, END)
        if item is END:
            return END
        return self.function(*tuple(item))


@ITERTOOLS.stand(itertools.compress, itertools.compress, "~data ~selectors")
class Compress(Steps):
    def __init__(self, data: Any, selectors: Any) -> None:
        self.data = iter(data)
        self.selectors = iter(selectors)

    def step(self) -> Any:
        while True:
            item = next(self.data, END)
            if item is END:
                return END
            selected = next(self.selectors, END)
            if selected is END:
                return END
            if selected:
                return item


@ITERTOOLS.stand(itertools.pairwise, itertools.pairwise, "~iterator", when={"before": MISSING}, quiet=True)
class Pairwise(Steps):
    def __init__(self, iterable: Any, /) -> None:
        self.iterator: Any = iter(iterable)
        self.before = MISSING

    def step(self) -> Any:
        iterator, self.iterator = self.iterator, None  # an exception here exhausts this iterator
        if iterator is None:
            return END
        before = self.before
        if before is MISSING:
            before = next(iterator, END)
            if before is END:
                return END
        item = next(iterator, END)
        if item is END:
            return END
        self.iterator = iterator
        self.before = item
        return before, item


@ITERTOOLS.stand(itertools.zip_longest, itertools.zip_longest, "*~iterators fillvalue=fill", when={"whole": True}, quiet=True)
class ZipLongest(Steps):
    def __init__(self, *iterables: Any, fillvalue: Any = None) -> None:
        self.fill = fillvalue
        self.iterators: list[Any] = [iter(source) for source in iterables]
        self.active = len(iterables)
        self.whole = True

    def step(self) -> Any:
        active, self.active = self.active, 0  # an exception here exhausts this iterator
        items = []
        if not active:
            return END
        for index in range(len(self.iterators)):
            item = self.fill if self.iterators[index] is None else next(self.iterators[index], END)
            if item is END:
                active -= 1
                self.whole = False
                if not active:
                    return END
                self.iterators[index] = None
                item = self.fill
            items.append(item)
        self.active = active
        return (*items,)


_STOP: Final = message_of(lambda: itertools.islice((), -1))
_INDICES: Final = message_of(lambda: itertools.islice((), -1, 1))
_STEP: Final = message_of(lambda: itertools.islice((), 0, 1, 0))


@ITERTOOLS.stand(itertools.islice, itertools.islice, "~iterator wanted end stride", when={"position": 0}, quiet=True)
class Islice(Steps):
    def __init__(self, iterable: Any, first: Any, second: Any = MISSING, step: Any = None, /) -> None:
        start, stop = (None, first) if second is MISSING else (first, second)
        low = 0 if start is None else _position(start)
        high = -1
        if stop is not None:
            high = _position(stop)
            if high == -1:
                raise ValueError(_STOP)
        if low < 0 or high < -1:
            raise ValueError(_STOP if second is MISSING else _INDICES)
        by = 1 if step is None else _position(step)
        if by < 1:
            raise ValueError(_STEP)
        self.iterator: Any = iter(iterable)
        self.wanted = low
        self.end = None if stop is None else high
        self.stride = by
        self.position = 0

    def step(self) -> Any:
        iterator, self.iterator = self.iterator, None  # if the source ends or raises here, this iterator is exhausted
        if iterator is None:
            return END
        while self.position < self.wanted:
            if next(iterator, END) is END:
                return END
            self.position += 1
        if self.end is not None and self.position >= self.end:
            return END
        item = next(iterator, END)
        if item is END:
            return END
        self.position += 1
        self.wanted += self.stride
        if self.end is not None and self.wanted > self.end:
            self.wanted = self.end
        self.iterator = iterator
        return item


def _position(value: Any) -> int:
    """Return value as an index, or -1 if it is not one or too large."""
    try:
        number = operator.index(value)
    except Exception:
        return -1
    return number if -sys.maxsize - 1 <= number <= sys.maxsize else -1


# ------------------------------------------------------------------------------------------------- groups, tees, batches


@ITERTOOLS.stand(itertools.groupby, itertools.groupby, "~iterator key", when={"wanted": MISSING, "key_now": MISSING})
class Groupby(Steps):
    def __init__(self, iterable: Any, key: Any = None) -> None:
        self.iterator = iter(iterable)
        self.key = key
        self.wanted = MISSING
        self.key_now = MISSING
        self.value_now = MISSING
        self.group: Any = None

    def step(self) -> Any:
        self.group = None
        while self.key_now is MISSING or (self.wanted is not MISSING and same(self.wanted, self.key_now)):
            if not self.advance():
                return END
        self.wanted = self.key_now
        group = self.group = Grouper(self, self.wanted)
        return self.key_now, group

    def advance(self) -> bool:
        value = next(self.iterator, END)
        if value is END:
            return False
        key = value if self.key is None else self.key(value)
        self.value_now = value
        self.key_now = key
        return True


@ITERTOOLS.stand(type(next(itertools.groupby("a"))[1]))
class Grouper(Steps):
    def __init__(self, parent: Any, wanted: Any) -> None:
        self.parent = parent
        self.wanted = wanted

    def step(self) -> Any:
        parent = self.parent
        if parent.group is not self:
            return END
        if parent.value_now is MISSING and not parent.advance():
            return END
        if not same(self.wanted, parent.key_now):
            return END
        value = parent.value_now
        parent.value_now = MISSING
        parent.key_now = MISSING
        return value


_NEGATIVE: Final = message_of(lambda: itertools.tee((), -1))


@ITERTOOLS.model(itertools.tee, makes=True)
def tee(iterable: Any, n: Any = 2, /) -> Any:
    count = ssize(n)
    if count < 0:
        raise ValueError(_NEGATIVE)
    if not count:
        return ()
    first: Any = iter(iterable)
    if not hasattr(first, "__copy__"):
        first = Tee(iter(first), [])
    elif type(first) is _TEE and not _KEEPS:
        first = first.__copy__()
    made = [first]
    while len(made) < count:
        made.append(first.__copy__())
    return (*made,)


def _about_tee() -> tuple[Any, bool]:
    """Return the class of ``tee`` iterators, and whether ``tee`` of a ``tee`` iterator returns that iterator itself first.

    The sample is local because no ``tee`` iterator may live until the interpreter exits: CPython 3.12 crashes on it in its last garbage collection.
    """
    sample: Any = itertools.tee(())[0]
    return type(sample), itertools.tee(sample)[0] is sample


_TEE, _KEEPS = _about_tee()


@ITERTOOLS.stand(_TEE, quiet=True)
class Tee(Steps):
    """An iterator of ``itertools.tee``; the copies share the source iterator and the items taken from it."""

    def __init__(self, iterator: Any, taken: Any) -> None:
        self.iterator = iterator
        self.taken = taken
        self.index = 0

    def __copy__(self) -> Any:
        made = Tee(self.iterator, self.taken)
        made.index = self.index
        return made

    def step(self) -> Any:
        if self.index < len(self.taken):
            item = self.taken[self.index]
        else:
            item = next(self.iterator, END)
            if item is END:
                return END
            self.taken.append(item)
        self.index += 1
        return item


if hasattr(itertools, "batched"):
    _BATCHED: Final[Any] = itertools.batched
    _SHORT: Final = message_of(lambda: _BATCHED((), 0))

    @ITERTOOLS.stand(_BATCHED, _BATCHED, "~iterator size", quiet=True)
    class Batched(Steps):
        def __init__(self, iterable: Any, n: Any) -> None:
            size = ssize(n)
            if size < 1:
                raise ValueError(_SHORT)
            self.iterator: Any = iter(iterable)
            self.size = size

        def step(self) -> Any:
            iterator, self.iterator = self.iterator, None  # an exception here exhausts this iterator
            if iterator is None:
                return END
            items: list[Any] = []
            while len(items) < self.size:
                item = next(iterator, END)
                if item is END:
                    if not items:
                        return END
                    break
                items.append(item)
            self.iterator = iterator
            return (*items,)
