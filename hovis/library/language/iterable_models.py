"""What consumes iterables, in Python: the engine traces these in place of the C functions.

An iterator is asked at one place in each loop: where it is a generator that is known, its body is there once.
Each does exactly what the real one does: the same results, exceptions and messages, and the same order of calls of
whatever it is given.  Where iterables, functions and types are known, all of it dissolves.  Calls whose arguments do
not bind to a model's parameters are left to the real function, whose complaint differs.
"""

import functools
import math
import operator
import struct
import types
from collections.abc import Callable
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.operations import join_strings, type_name
from hovis.library.core import Library

REDUCTIONS: Final = Library("reductions")

#: What ``next`` gives at the end.
END: Final[Any] = operations.END

#: An argument that was not given.
MISSING: Final[Any] = END


def text_of(call: Callable[[], object]) -> str:
    """The message of the exception that this Python raises for call."""
    try:
        call()
    except Exception as error:
        return str(error)
    raise AssertionError("no exception")


# ------------------------------------------------------------------------------------------------- any, all, min, max


@REDUCTIONS.model(any)
def any_(iterable: Any, /) -> bool:
    for item in iterable:
        if item:
            return True
    return False


@REDUCTIONS.model(all)
def all_(iterable: Any, /) -> bool:
    for item in iterable:
        if not item:
            return False
    return True


_EMPTY: Final = {name: text_of(functools.partial(fn, ())) for name, fn in (("min", min), ("max", max))}


@REDUCTIONS.model(min)
def min_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _extreme("min", operator.lt, args, key, default)


@REDUCTIONS.model(max)
def max_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _extreme("max", operator.gt, args, key, default)


#: Iterators that nobody sees being asked for an iterator, which a for statement does.
_SAMPLES: Final[tuple[Any, ...]] = ([], (), "", b"", {}, set(), range(0), {}.values(), {}.items(), (_ for _ in ()))
_OWN: Final = frozenset(type(iter(made)) for made in _SAMPLES)


class _Rest:
    """An iterator of which only the items are asked for."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __iter__(self) -> "_Rest":
        return self

    def __next__(self) -> Any:
        return next(self.iterator)


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
    rest = iterator if type(iterator) in _OWN else _Rest(iterator)
    if key is None:
        for item in rest:
            if before(item, best):
                best = item
        return best
    rank = key(best)
    for item in rest:
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


@REDUCTIONS.model(sum)
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
        while True:
            item = next(iterator, END)
            if item is END:
                return total
            if type(item) is not int and type(item) is not bool:
                total = total + item
                break
            total = total + item
            large = large | (total < _LOW) | (total > _HIGH) | (item < _LOW) | (item > _HIGH)
    if type(total) is float and not large:
        total, done = _sum_floats(total, iterator)
        if done:
            return total
    while True:
        item = next(iterator, END)
        if item is END:
            return total
        total = total + item


def _sum_floats(total: Any, iterator: Any) -> Any:
    """The fast path for floats: the sum, and whether that was all."""
    lost = 0.0
    while True:
        item = next(iterator, END)
        if item is END:
            return _compensated(total, lost), True
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


def _compensated(total: Any, lost: Any) -> Any:
    if lost and math.isfinite(lost):
        return total + lost
    return total


@REDUCTIONS.model(math.prod)
def prod_(iterable: Any, /, *, start: Any = 1) -> Any:
    result = start
    for item in iterable:
        result = result * item
    return result


# ------------------------------------------------------------------------------------------------- containers


@REDUCTIONS.model(list)
def list_(iterable: Any = (), /) -> Any:
    made: list[Any] = []
    iterator = iter(iterable)
    operator.length_hint(iterable, 8)  # it asks for __len__ and __length_hint__
    while True:
        item = next(iterator, END)
        if item is END:
            return made
        made.append(item)


@REDUCTIONS.model(tuple)
def tuple_(iterable: Any = (), /) -> Any:
    if type(iterable) is tuple:
        return iterable
    made: list[Any] = []
    iterator = iter(iterable)
    operator.length_hint(iterable, 10)
    while True:
        item = next(iterator, END)
        if item is END:
            return (*made,)
        made.append(item)


_COPIED: Final = (set, frozenset, dict)


@REDUCTIONS.model(set)
def set_(iterable: Any = (), /) -> Any:
    made: set[Any] = set()
    if issubclass(type(iterable), _COPIED):
        made.update(iterable)  # it copies these without iterating
    else:
        for item in iterable:
            made.add(item)
    return made


#: Sources of pairs that have no ``keys`` attribute.
_NO_KEYS: Final = (list, tuple, types.GeneratorType, zip, map, filter, enumerate)


@REDUCTIONS.model(dict)
def dict_(source: Any = MISSING, /, **named: Any) -> Any:
    made: dict[Any, Any] = {}
    if source is not MISSING:
        if type(source) in _NO_KEYS:
            fill_with_pairs(made, source)
        else:
            made.update(source)
    for name, value in named.items():
        made[name] = value
    return made


def dict_of_pairs(source: Any) -> Any:
    """``dict(source)`` of what has no ``keys``."""
    made: dict[Any, Any] = {}
    fill_with_pairs(made, source)
    return made


def fill_with_pairs(made: Any, source: Any) -> None:
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


@REDUCTIONS.model(dict.fromkeys)
def fromkeys(iterable: Any, value: Any = None, /) -> Any:
    made: dict[Any, Any] = {}
    for key in iterable:
        made[key] = value
    return made


@REDUCTIONS.model(str.join)
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
            raise TypeError(f"sequence item {index}: expected str instance, {type_name(part)} found")
        if index:
            pieces.append(separator)
        pieces.append(part)
        index += 1  # noqa: SIM113
    return join_strings(*pieces)


@REDUCTIONS.model(functools.reduce)
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
    while True:
        item = next(iterator, END)
        if item is END:
            return result
        result = function(result, item)
