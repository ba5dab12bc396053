"""What consumes and makes iterators, in Python: the engine traces these in place of the C functions.

Each does exactly what the real one does: the same results, exceptions and messages, and the same order of calls of
whatever it is given.  Where iterables, functions and types are known, all of it dissolves.  Calls whose arguments do
not bind to a model's parameters are left to the real function, whose complaint differs.

A function in ``ITERATOR_MODELS`` makes an iterator: it takes the iterators of its arguments at once, as the real one
does.  The generator that it gives steps like the real iterator until one of its steps raises, then it is finished.
"""

import functools
import itertools
import math
import operator
import struct
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.operations import join_strings
from hovis.library.core import Library, Model

ITERATORS: Final = Library("iterators")

#: Callables that make iterators -> functions that make generators which step alike.
ITERATOR_MODELS: Final[dict[Any, Model]] = {}

#: What ``next`` gives at the end.
END: Final[Any] = operations.END

#: An argument that was not given.
MISSING: Final[Any] = END


def _text_of(call: Callable[[], object]) -> str:
    """The message of the exception that this Python raises for call."""
    try:
        call()
    except Exception as error:
        return str(error)
    raise AssertionError("no exception")


# ------------------------------------------------------------------------------------------------- any, all, min, max


@ITERATORS.model(any)
def any_(iterable: Any, /) -> bool:
    for item in iterable:
        if item:
            return True
    return False


@ITERATORS.model(all)
def all_(iterable: Any, /) -> bool:
    for item in iterable:
        if not item:
            return False
    return True


_EMPTY: Final = {name: _text_of(functools.partial(fn, ())) for name, fn in (("min", min), ("max", max))}


@ITERATORS.model(min)
def min_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _extreme("min", operator.lt, args, key, default)


@ITERATORS.model(max)
def max_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _extreme("max", operator.gt, args, key, default)


def _extreme(name: str, before: Any, args: Any, key: Any, default: Any) -> Any:
    if not args:
        raise TypeError(f"{name} expected at least 1 argument, got 0")
    if len(args) > 1 and default is not MISSING:
        raise TypeError(f"Cannot specify a default for {name}() with multiple positional arguments")
    iterator = iter(args if len(args) > 1 else args[0])
    best = next(iterator, END)
    if best is END:
        if default is MISSING:
            raise ValueError(_EMPTY[name])
        return default
    if key is None:
        while (item := next(iterator, END)) is not END:
            if before(item, best):
                best = item
        return best
    rank = key(best)
    while (item := next(iterator, END)) is not END:
        value = key(item)
        if before(value, rank):
            best, rank = item, value
    return best


# ------------------------------------------------------------------------------------------------- sum

#: Does ``sum`` of floats carry a compensation (CPython: cs_add, Python/bltinmodule.c)?
COMPENSATED: Final = sum([0.1] * 10) == 1.0

#: What fits a C long is added by the fast path for ints.
_LONG_BITS: Final = 8 * struct.calcsize("l") - 1
_LOW: Final = -(1 << _LONG_BITS)
_HIGH: Final = (1 << _LONG_BITS) - 1


@ITERATORS.model(sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    iterator = iter(iterable)
    kind = type(start)
    if issubclass(kind, str):
        raise TypeError("sum() can't sum strings [use ''.join(seq) instead]")
    if issubclass(kind, bytes):
        raise TypeError("sum() can't sum bytes [use b''.join(seq) instead]")
    if issubclass(kind, bytearray):
        raise TypeError("sum() can't sum bytearray [use b''.join(seq) instead]")
    total = start
    large = kind is int and (start < _LOW or start > _HIGH)
    if kind is int and not large:
        # once a sum is large, floats are added without compensation
        while (item := next(iterator, END)) is not END:
            if type(item) is not int and type(item) is not bool:
                total = total + item
                break
            total = total + item
            large = large | (total < _LOW) | (total > _HIGH) | (item < _LOW) | (item > _HIGH)
        else:
            return total
    if type(total) is float and not large:
        total, done = _sum_floats(total, iterator)
        if done:
            return total
    while (item := next(iterator, END)) is not END:
        total = total + item
    return total


def _sum_floats(total: Any, iterator: Any) -> Any:
    """The fast path for floats: the sum, and whether that was all."""
    lost = 0.0
    while (item := next(iterator, END)) is not END:
        kind = type(item)
        if kind is float:
            after = total + item
            if COMPENSATED:
                if abs(total) >= abs(item):
                    lost = lost + ((total - after) + item)
                else:
                    lost = lost + ((item - after) + total)
            total = after
            continue
        if issubclass(kind, int):
            value = item if kind is int or kind is bool else int.__int__(item)
            if _LOW <= value <= _HIGH:
                total = total + value
                continue
        return _compensated(total, lost) + item, False
    return _compensated(total, lost), True


def _compensated(total: Any, lost: Any) -> Any:
    if lost and math.isfinite(lost):
        return total + lost
    return total


# ------------------------------------------------------------------------------------------------- containers


@ITERATORS.model(list)
def list_(iterable: Any = (), /) -> Any:
    made = []
    iterator = iter(iterable)
    operator.length_hint(iterable, 8)  # it asks for __len__ and __length_hint__
    while (item := next(iterator, END)) is not END:
        made.append(item)
    return made


@ITERATORS.model(tuple)
def tuple_(iterable: Any = (), /) -> Any:
    if type(iterable) is tuple:
        return iterable
    made = []
    iterator = iter(iterable)
    operator.length_hint(iterable, 10)
    while (item := next(iterator, END)) is not END:
        made.append(item)
    return (*made,)


@ITERATORS.model(set)
def set_(iterable: Any = (), /) -> Any:
    made: set[Any] = set()
    if issubclass(type(iterable), set | frozenset | dict):
        made.update(iterable)  # it copies these without iterating
    else:
        for item in iterable:
            made.add(item)
    return made


#: Sources of pairs that have no ``keys`` attribute.
_NO_KEYS: Final = (list, tuple, types.GeneratorType, zip, map, filter, enumerate)


@ITERATORS.model(dict)
def dict_(source: Any = MISSING, /, **named: Any) -> Any:
    made: dict[Any, Any] = {}
    if source is not MISSING:
        if type(source) in _NO_KEYS:
            _fill(made, source)
        else:
            made.update(source)
    for name, value in named.items():
        made[name] = value
    return made


def _fill(made: Any, source: Any) -> None:
    """CPython: PyDict_MergeFromSeq2."""
    index = 0
    for pair in source:
        if type(pair) is not tuple and type(pair) is not list:
            pair = _sequence(pair, f"cannot convert dictionary update sequence element #{index} to a sequence")
        if len(pair) != 2:
            raise ValueError(f"dictionary update sequence element #{index} has length {len(pair)}; 2 is required")
        made[pair[0]] = pair[1]
        index += 1  # noqa: SIM113 (models stay free of other models)


def _sequence(iterable: Any, complaint: str) -> Any:
    """A list of the items; every TypeError becomes one with this message."""
    try:
        return [*iter(iterable)]
    except TypeError:
        pass
    raise TypeError(complaint)


@ITERATORS.model(dict.fromkeys)
def fromkeys(iterable: Any, value: Any = None, /) -> Any:
    made: dict[Any, Any] = {}
    for key in iterable:
        made[key] = value
    return made


@ITERATORS.model(str.join)
def join(separator: Any, iterable: Any, /) -> Any:
    parts = iterable
    if type(iterable) is not list and type(iterable) is not tuple:
        try:
            iterator = iter(iterable)
        except TypeError:
            iterator = None
        if iterator is None:
            raise TypeError("can only join an iterable")
        parts = [*iterator]
    pieces = []
    index = 0
    for part in parts:
        if not issubclass(type(part), str):
            return join_strings(*[""] * index, part)  # it raises, with this index in the message
        if index:
            pieces.append(separator)
        pieces.append(part)
        index += 1  # noqa: SIM113
    return join_strings(*pieces)


@ITERATORS.model(functools.reduce)
def reduce(function: Any, iterable: Any, initial: Any = MISSING, /) -> Any:
    try:
        iterator = iter(iterable)
    except TypeError:
        iterator = None
    if iterator is None:
        raise TypeError("reduce() arg 2 must support iteration")
    result = initial
    if result is MISSING:
        result = next(iterator, END)
        if result is END:
            raise TypeError("reduce() of empty iterable with no initial value")
    while (item := next(iterator, END)) is not END:
        result = function(result, item)
    return result


# ------------------------------------------------------------------------------------------------- making iterators


def _makes(*fns: Any) -> Callable[[Model], Model]:
    def register(model: Model) -> Model:
        for fn in fns:
            ITERATOR_MODELS[fn] = model
        return model

    return register


@_makes(map)
def map_(function: Any, iterable: Any, /, *more: Any) -> Any:
    return _map(function, [iter(source) for source in (iterable, *more)])


def _map(function: Any, iterators: Any) -> Iterator[Any]:
    while True:
        args = []
        for iterator in iterators:
            item = next(iterator, END)
            if item is END:
                return
            args.append(item)
        try:
            value = function(*args)
        except StopIteration:
            return
        yield value


@_makes(filter)
def filter_(function: Any, iterable: Any, /) -> Any:
    return _filter(function, iter(iterable), True)


@_makes(itertools.filterfalse)
def filterfalse(function: Any, iterable: Any, /) -> Any:
    return _filter(function, iter(iterable), False)


def _filter(function: Any, iterator: Any, wanted: bool) -> Iterator[Any]:
    plain = function is None or function is bool
    while (item := next(iterator, END)) is not END:
        try:
            found = bool(item if plain else function(item))
        except StopIteration:
            return
        if found is wanted:
            yield item


@_makes(zip)
def zip_(*iterables: Any, strict: Any = False) -> Any:
    strict = bool(strict)
    return _zip([iter(source) for source in iterables], strict)


def _zip(iterators: Any, strict: bool) -> Iterator[Any]:
    while iterators:
        items: list[Any] = []
        for iterator in iterators:
            item = next(iterator, END)
            if item is END:
                if strict:
                    _check_lengths(iterators, len(items))
                return
            items.append(item)
        yield (*items,)


def _check_lengths(iterators: Any, ended: int) -> None:
    """The iterator at index ended is exhausted, the ones before it were not."""
    if ended:
        raise ValueError(f"zip() argument {ended + 1} is shorter than argument{'s 1-' if ended > 1 else ' '}{ended}")
    index = 0
    for iterator in iterators:
        if index and next(iterator, END) is not END:
            raise ValueError(f"zip() argument {index + 1} is longer than argument{'s 1-' if index > 1 else ' '}{index}")
        index += 1  # noqa: SIM113


@_makes(enumerate)
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    index = operator.index(start)
    return _enumerate(iter(iterable), index)


def _enumerate(iterator: Any, index: int) -> Iterator[Any]:
    while (item := next(iterator, END)) is not END:
        yield index, item
        index += 1


@_makes(reversed)
def reversed_(sequence: Any, /) -> Any:
    kind = type(sequence)
    if kind is list or kind is tuple or kind is str or kind is bytes or kind is range:
        return _reversed(sequence, len(sequence) - 1)
    return reversed.__new__(reversed, sequence)


def _reversed(sequence: Any, index: int) -> Iterator[Any]:
    while 0 <= index < len(sequence):
        yield sequence[index]
        index -= 1


# ------------------------------------------------------------------------------------------------- itertools


@_makes(itertools.chain)
def chain(*iterables: Any) -> Any:
    return _chain(iter(iterables))


@_makes(itertools.chain.from_iterable)
def chain_from_iterable(iterables: Any, /) -> Any:
    return _chain(iter(iterables))


def _chain(sources: Any) -> Iterator[Any]:
    while (source := next(sources, END)) is not END:
        try:
            iterator = iter(source)
        except StopIteration:
            return
        while (item := next(iterator, END)) is not END:
            yield item


@_makes(itertools.repeat)
def repeat(object: Any, times: Any = MISSING) -> Any:
    if times is MISSING:
        return _forever(object)
    return _repeat(object, _ssize(times))


def _ssize(value: Any) -> int:
    number = operator.index(value)
    if number > sys.maxsize or number < -sys.maxsize - 1:
        raise OverflowError("Python int too large to convert to C ssize_t")
    return number


def _forever(value: Any) -> Iterator[Any]:
    while True:
        yield value


def _repeat(value: Any, times: int) -> Iterator[Any]:
    for _ in range(times):
        yield value


@_makes(itertools.count)
def count(start: Any = 0, step: Any = 1) -> Any:
    if (type(start) is int or type(start) is float) and (type(step) is int or type(step) is float):
        return _count(start, step)
    return itertools.count.__new__(itertools.count, start, step)


def _count(value: Any, step: Any) -> Iterator[Any]:
    while True:
        after = value + step
        yield value
        value = after


@_makes(itertools.cycle)
def cycle(iterable: Any, /) -> Any:
    return _cycle(iter(iterable))


def _cycle(iterator: Any) -> Iterator[Any]:
    saved = []
    while (item := next(iterator, END)) is not END:
        saved.append(item)
        yield item
    while saved:
        for item in saved:
            yield item


@_makes(itertools.accumulate)
def accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    return _accumulate(iter(iterable), operator.add if func is None else func, initial)


def _accumulate(iterator: Any, function: Any, total: Any) -> Iterator[Any]:
    if total is None:
        total = next(iterator, END)
        if total is END:
            return
    yield total
    while (item := next(iterator, END)) is not END:
        try:
            total = function(total, item)
        except StopIteration:
            return
        yield total


@_makes(itertools.takewhile)
def takewhile(predicate: Any, iterable: Any, /) -> Any:
    return _takewhile(predicate, iter(iterable))


def _takewhile(predicate: Any, iterator: Any) -> Iterator[Any]:
    while (item := next(iterator, END)) is not END:
        try:
            good = bool(predicate(item))
        except StopIteration:
            return
        if not good:
            return
        yield item


@_makes(itertools.dropwhile)
def dropwhile(predicate: Any, iterable: Any, /) -> Any:
    return _dropwhile(predicate, iter(iterable))


def _dropwhile(predicate: Any, iterator: Any) -> Iterator[Any]:
    while (item := next(iterator, END)) is not END:
        try:
            good = bool(predicate(item))
        except StopIteration:
            return
        if not good:
            yield item
            break
    else:
        return
    while (item := next(iterator, END)) is not END:
        yield item


@_makes(itertools.starmap)
def starmap(function: Any, iterable: Any, /) -> Any:
    return _starmap(function, iter(iterable))


def _starmap(function: Any, iterator: Any) -> Iterator[Any]:
    while (item := next(iterator, END)) is not END:
        try:
            args = tuple(item)
            value = function(*args)
        except StopIteration:
            return
        yield value


@_makes(itertools.compress)
def compress(data: Any, selectors: Any) -> Any:
    return _compress(iter(data), iter(selectors))


def _compress(data: Any, selectors: Any) -> Iterator[Any]:
    while True:
        item = next(data, END)
        if item is END:
            return
        selected = next(selectors, END)
        if selected is END:
            return
        try:
            wanted = bool(selected)
        except StopIteration:
            return
        if wanted:
            yield item


@_makes(itertools.pairwise)
def pairwise(iterable: Any, /) -> Any:
    return _pairwise(iter(iterable))


def _pairwise(iterator: Any) -> Iterator[Any]:
    before = next(iterator, END)
    if before is END:
        return
    while (item := next(iterator, END)) is not END:
        yield before, item
        before = item


@_makes(itertools.zip_longest)
def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    return _zip_longest([iter(source) for source in iterables], fillvalue)


def _zip_longest(iterators: Any, fill: Any) -> Iterator[Any]:
    active = len(iterators)
    while active:
        items = []
        for index in range(len(iterators)):
            item = fill if iterators[index] is None else next(iterators[index], END)
            if item is END:
                active -= 1
                if not active:
                    return
                iterators[index] = None
                item = fill
            items.append(item)
        yield (*items,)


_STOP: Final = _text_of(lambda: itertools.islice((), -1))
_INDICES: Final = _text_of(lambda: itertools.islice((), -1, 1))
_STEP: Final = _text_of(lambda: itertools.islice((), 0, 1, 0))


@_makes(itertools.islice)
def islice(iterable: Any, first: Any, second: Any = MISSING, step: Any = None, /) -> Any:
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
    return _islice(iter(iterable), low, high, by)


def _position(value: Any) -> int:
    """An index that fits; -1 for whatever is none."""
    try:
        number = operator.index(value)
    except Exception:
        return -1
    return number if -sys.maxsize - 1 <= number <= sys.maxsize else -1


def _islice(iterator: Any, wanted: int, stop: int, step: int) -> Iterator[Any]:
    position = 0
    while True:
        while position < wanted:
            if next(iterator, END) is END:
                return
            position += 1
        if stop != -1 and position >= stop:
            return
        item = next(iterator, END)
        if item is END:
            return
        position += 1
        wanted += step
        if stop != -1 and wanted > stop:
            wanted = stop
        yield item


