"""Python models of functions that consume iterables; the engine traces them in place of the C functions.

Each loop calls ``next`` at a single place, so the body of a known generator is inlined only once.
Each model behaves exactly as the real function: the same results, exceptions and messages, and the same order of calls
of its arguments.  Where iterables, functions and types are known, nothing of the model is left in the residual.  Calls
whose arguments do not bind to a model's parameters are left to the real function, whose error message differs.
"""

import functools
import math
import operator
import struct
import types
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.operations import join_strings, type_name
from hovis.ir.operations.wording import message_of
from hovis.library.core import Library

REDUCTIONS: Final = Library("reductions")

#: The result of ``next`` for an exhausted iterator.
END: Final[Any] = operations.END

#: The default of an argument that was not passed.
MISSING: Final[Any] = END


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


_EMPTY: Final = {name: message_of(functools.partial(fn, ())) for name, fn in (("min", min), ("max", max))}


@REDUCTIONS.model(min)
def min_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _extreme("min", operator.lt, args, key, default)


@REDUCTIONS.model(max)
def max_(*args: Any, key: Any = None, default: Any = MISSING) -> Any:
    return _extreme("max", operator.gt, args, key, default)


#: Iterables whose iterators return themselves from ``__iter__`` unobservably; a ``for`` statement calls it once more.
_SAMPLES: Final[tuple[Any, ...]] = ([], (), "", b"", {}, set(), range(0), {}.values(), {}.items(), (_ for _ in ()))
_OWN: Final = frozenset(type(iter(made)) for made in _SAMPLES)


class _Rest:
    """A wrapper of an iterator that hides its ``__iter__``, so that only ``__next__`` is called."""

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

#: Does ``sum`` of floats use compensated summation (CPython: cs_add, Python/bltinmodule.c)?
COMPENSATED: Final = sum([0.1] * 10) == 1.0
#: Are complex numbers added with compensation, and ints among floats (3.14)?
_COMPLEX: Final = sum([1e16 + 0j, 1 + 0j, -1e16 + 0j]) == 1
_WITH_INTS: Final = sum([1.0, 2**53, 1, 1, -(2**53)], 0.0) == 3.0

#: Number of value bits of a C long: the fast path of ``sum`` for ints adds ints that fit a C long.
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
        # after a sum or an item that does not fit a C long, floats are added without compensation
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
    if _COMPLEX and type(total) is complex:
        total, done = _sum_complex(total, iterator)
        if done:
            return total
    while True:
        item = next(iterator, END)
        if item is END:
            return total
        total = total + item


def _sum_floats(total: Any, iterator: Any) -> Any:
    """The fast path for floats. Return the sum, and whether the iterator is exhausted."""
    lost = 0.0
    while True:
        item = next(iterator, END)
        if item is END:
            return _compensated(total, lost), True
        kind = type(item)
        if kind is float:
            if COMPENSATED:
                total, lost = _add(total, lost, item)
            else:
                total = total + item
            continue
        if issubclass(kind, int):
            if _WITH_INTS:
                total, lost = _add(total, lost, float(item if kind is int or kind is bool else int.__int__(item)))
                continue
            value = item if kind is int or kind is bool else int.__int__(item)
            if _LOW <= value <= _HIGH:
                total = total + value
                continue
        return _compensated(total, lost) + item, False


def _sum_complex(total: Any, iterator: Any) -> Any:
    """The fast path for complex numbers. Return the sum, and whether the iterator is exhausted."""
    real, imag = total.real, total.imag
    lost = lost_imag = 0.0
    while True:
        item = next(iterator, END)
        if item is END:
            return complex(_compensated(real, lost), _compensated(imag, lost_imag)), True
        kind = type(item)
        if kind is complex:
            real, lost = _add(real, lost, item.real)
            imag, lost_imag = _add(imag, lost_imag, item.imag)
        elif issubclass(kind, int):
            real, lost = _add(real, lost, float(item if kind is int or kind is bool else int.__int__(item)))
            imag = imag + 0.0
        elif issubclass(kind, float):
            real, lost = _add(real, lost, item if kind is float else float.__float__(item))
            imag = imag + 0.0
        else:
            return complex(_compensated(real, lost), _compensated(imag, lost_imag)) + item, False


def _add(total: Any, lost: Any, item: Any) -> Any:
    """Add an item to a sum, and what that has lost by rounding to what is lost (Neumaier 1974)."""
    after = total + item
    if abs(total) >= abs(item):
        return after, lost + ((total - after) + item)
    return after, lost + ((item - after) + total)


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
    operator.length_hint(iterable, 8)  # it calls __len__ and __length_hint__
    while True:
        item = next(iterator, END)
        if item is END:
            return made
        made.append(item)


class _Sized:
    """An iterable that tells whether its length is asked for."""

    def __init__(self) -> None:
        self.asked = False

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        self.asked = True
        return 0


_SIZED: Final = _Sized()
tuple(_SIZED)
#: Does ``tuple`` ask how long an iterable is (until 3.13)?
_SIZES_TUPLES: Final = _SIZED.asked


@REDUCTIONS.model(tuple)
def tuple_(iterable: Any = (), /) -> Any:
    if type(iterable) is tuple:
        return iterable
    made: list[Any] = []
    iterator = iter(iterable)
    if _SIZES_TUPLES:
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
        made.update(iterable)  # CPython copies these without calling __iter__
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
    """``dict(source)`` of a source without ``keys``."""
    made: dict[Any, Any] = {}
    fill_with_pairs(made, source)
    return made


#: What CPython says of an item of ``dict([item])`` that is no pair: in a note (3.14), or as the message.
_NOT_ITERABLE: Final = message_of(lambda: dict([1]))  # type: ignore[arg-type]
_NOTED: Final = "iterable" in _NOT_ITERABLE
_CANNOT: Final = f"{'Cannot' if _NOTED else 'cannot'} convert dictionary update sequence element #"


def fill_with_pairs(made: Any, source: Any) -> None:
    """Add the pairs of source to a dict (CPython: PyDict_MergeFromSeq2)."""
    index = 0
    for pair in source:
        if type(pair) is not tuple and type(pair) is not list:
            pair = _noted(pair, f"{_CANNOT}{index} to a sequence") if _NOTED else _sequence(pair, f"{_CANNOT}{index} to a sequence")
        if len(pair) != 2:
            raise ValueError(f"dictionary update sequence element #{index} has length {len(pair)}; 2 is required")
        made[pair[0]] = pair[1]
        index += 1  # noqa: SIM113 (models call no other models)


def _noted(iterable: Any, note: str) -> Any:
    """Return a list of the items; a TypeError gets a note, and one of ``iter`` another message."""
    try:
        iterator = iter(iterable)
    except TypeError:
        iterator = None
    if iterator is None:
        error = TypeError(_NOT_ITERABLE)
        error.add_note(note)
        raise error
    try:
        return [*iterator]
    except TypeError as raised:
        raised.add_note(note)
        raise


def _sequence(iterable: Any, complaint: str) -> Any:
    """Return a list of the items; any TypeError is replaced by one with the message complaint."""
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
