"""Limits of constant folding: only operations that are fast and whose results are small are executed while tracing."""

from typing import Any as Anything
from typing import Final

from hovis.library.language.signatures.type_queries import FEW_BITS

#: The most units of work of an operation that is executed while tracing: about a millisecond.
LIMIT: Final = 50_000
#: The most characters or items of a result that is computed while tracing.
MAX_SIZE: Final = 500_000
#: The most bits of an int that takes part in arithmetic while tracing.
MAX_BITS: Final = 32_768


def weight(*values: object) -> int:
    """Return the amount of work of a walk through values; the walk stops once it is more than LIMIT."""
    total = 0
    todo: list[Anything] = list(values)
    while todo and total <= LIMIT:
        item = todo.pop()
        kind = type(item)
        if kind is int:
            total += 1 if item.bit_length() <= MAX_BITS else LIMIT
        elif kind is str or kind is bytes or kind is range:
            total += 1 + size_of(item)
        elif kind in (tuple, list, set, frozenset):
            total += 1 + len(item)
            todo.extend(item if len(item) <= LIMIT else ())
        elif kind is dict:
            todo += [list(item), list(item.values())]
        total += 1
    return total


def size_of(value: Anything) -> int:
    """Return the length of a sequence, at most LIMIT + 1."""
    if type(value) is range:
        return min(LIMIT + 1, max(0, (value.stop - value.start) // value.step + 1))
    return min(LIMIT + 1, len(value))


def small(*values: object, **named: object) -> bool:
    """Is an operation whose cost grows with the size of these values fast enough to be folded?"""
    return weight(*values, *named.values()) <= LIMIT


def short(*values: object, **named: object) -> bool:
    """Like `small`, for conversions between int and text: these are quadratic, and limited by a setting that may change."""
    return small(*values, **named) and _all_short((values, tuple(named.values())))


def _all_short(value: Anything) -> bool:
    if type(value) is int:
        return bool(value.bit_length() <= FEW_BITS)
    if type(value) is range:
        return _all_short((value.start, value.stop, value.step))
    if type(value) in (tuple, list, set, frozenset):
        return all(map(_all_short, value))
    return type(value) is not dict
