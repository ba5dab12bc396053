"""Python models of methods and operators of containers, traced where user code is involved (CPython: Objects/listobject.c, tupleobject.c,
dictobject.c).

Elements are compared by identity first, then with ``==``, the element being the left operand; sizes are read again
after each comparison, because the comparison may have changed them.
"""

import sys
from typing import Any, Final

from hovis.ir.operations import join_strings


def contains(items: Any, value: Any) -> bool:
    """``value in items`` (list_contains)."""
    index = 0
    while index < len(items):
        item = items[index]
        if item is value or item == value:
            return True
        index += 1
    return False


def picked(mapping: Any, keys: Any, key: Any) -> Any:
    """``mapping[key]`` of a dict with these keys, by comparing key with each of them."""
    for one in keys:
        if key == one:
            return mapping[one]
    raise KeyError(key)


def picked_or(mapping: Any, keys: Any, key: Any, default: Any) -> Any:
    """``mapping.get(key, default)``, by comparing key with each of keys."""
    for one in keys:
        if key == one:
            return mapping[one]
    return default


def picked_item(sequence: Any, count: int, index: Any, complaint: str) -> Any:
    """``sequence[index]`` of a sequence of length count, by comparing index with each position; complaint is the message of the IndexError."""
    if index < 0:
        index = index + count
    for one in range(count):
        if index == one:
            return sequence[one]
    raise IndexError(complaint)


def count(items: Any, value: Any, /) -> int:
    found = 0
    index = 0
    while index < len(items):
        item = items[index]
        if item is value or item == value:
            found += 1
        index += 1
    return found


def _whole_message() -> bool:
    """Does the error message of ``list.index`` contain the value?"""
    empty: list[int] = []
    try:
        empty.index(7)
    except ValueError as error:
        return str(error) == "7 is not in list"
    raise AssertionError


_NAMES_VALUE: Final = _whole_message()


def index_in_list(items: Any, value: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> Any:
    at = _position(items, value, start, stop)
    if at < 0:
        raise ValueError(f"{value!r} is not in list" if _NAMES_VALUE else "list.index(x): x not in list")
    return at


def index_in_tuple(items: Any, value: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> Any:
    at = _position(items, value, start, stop)
    if at < 0:
        raise ValueError("tuple.index(x): x not in tuple")
    return at


def _position(items: Any, value: Any, start: Any, stop: Any) -> Any:
    if start < 0:
        start += len(items)
        if start < 0:
            start = 0
    if stop < 0:
        stop += len(items)
    index = start
    while index < stop and index < len(items):
        item = items[index]
        if item is value or item == value:
            return index
        index += 1
    return -1


def remove(items: Any, value: Any, /) -> None:
    index = 0
    while index < len(items):
        item = items[index]
        if item is value or item == value:
            del items[index]
            return
        index += 1
    raise ValueError("list.remove(x): x not in list")


def compared(items: Any, others: Any, operation: Any) -> Any:
    """A rich comparison of two lists or two tuples: the first items that differ decide, if they are still there after the ``==``
    (list_richcompare).
    """
    index = 0
    while index < len(items) and index < len(others):
        item, other = items[index], others[index]
        if not (item is other or item == other):
            break
        index += 1
    if index < len(items) and index < len(others):
        return operation(items[index], others[index])
    return operation(len(items), len(others))


def equal(items: Any, others: Any) -> bool:
    """``==`` of two lists or two tuples of the same length."""
    index = 0
    while index < len(items) and index < len(others):
        item, other = items[index], others[index]
        if not (item is other or item == other):
            # the ``==`` may have removed the compared items
            return (index >= len(items) or index >= len(others)) and len(items) == len(others)
        index += 1
    return len(items) == len(others)


def not_equal(items: Any, others: Any) -> bool:
    return not equal(items, others)


def equal_dicts(mine: Any, theirs: Any) -> bool:
    """``==`` of two dicts of the same size (dict_equal; the ``==`` of the values may change the dicts)."""
    keys = [*mine]
    at = 0
    while at < len(keys):
        key = keys[at]
        at += 1
        if key in mine:
            if key not in theirs:
                return False
            value, other = mine[key], theirs[key]
            if not (value is other or value == other):
                return False
            if at == len(keys) < len(mine):
                keys = [*mine]
    return True


def not_equal_dicts(mine: Any, theirs: Any) -> bool:
    return not equal_dicts(mine, theirs)


def sorted_by_key(arrange: Any, items: Any, key: Any, reverse: bool) -> Any:
    """``sorted(items, key=key, reverse=reverse)`` of a list."""
    keys = []
    for item in items:
        keys.append(key(item))
    return arrange(keys, [*items], reverse)


def sorted_unknown(arrange: Any, iterable: Any, key: Any, reverse: bool) -> Any:
    """``sorted(iterable, key=key, reverse=reverse)`` of any iterable (builtin_sorted: all keys are computed before the first comparison)."""
    items = list(iterable)
    keys = []
    for item in items:
        keys.append(key(item))
    return arrange(keys, items, reverse)


def sort_by_key(arrange: Any, items: Any, key: Any, reverse: bool) -> None:
    """``items.sort(key=key, reverse=reverse)``, where neither key nor the items have access to the list."""
    items[:] = sorted_by_key(arrange, items, key, reverse)


# ------------------------------------------------------------------------------------------------- text


def repr_list(items: Any) -> str:
    """``repr`` of a list that does not contain itself (list_repr)."""
    parts = []
    index = 0
    while index < len(items):
        parts.append(repr(items[index]))
        index += 1
    return join_strings("[", ", ".join(parts), "]")


def repr_tuple(items: Any) -> str:
    parts = []
    for item in items:
        parts.append(repr(item))
    return join_strings("(", ", ".join(parts), ",)" if len(items) == 1 else ")")


def repr_dict(mapping: Any) -> str:
    parts = []
    for key, value in mapping.items():
        parts.append(join_strings(repr(key), ": ", repr(value)))
    return join_strings("{", ", ".join(parts), "}")


def written(parts: list[str], pieces: Any) -> str:
    """Join the parts to one string, as CPython's string writer does (Objects/unicodeobject.c: _PyUnicodeWriter_WriteStr).

    If all the text is in the last part, the result is that part itself, even if it is an instance of a subclass of str.
    """
    if parts and not any(piece[0] for piece in pieces) and type(parts[-1]) is not str and join_strings(parts[-1]) and not join_strings(*parts[:-1]):
        return parts[-1]
    return join_strings(*parts)


def percent(pieces: Any, values: Any) -> str:
    """``template % values``. pieces is the parsed template: for each conversion the text before it, its specification, and the function that
    converts its value first (or None).
    """
    parts: list[str] = []
    at = 0
    for text, spec, convert in pieces:
        if text:
            parts.append(text)
        if spec:
            value = values[at]
            at += 1
            if convert is None:
                parts.append(spec % (value,))
            elif spec == "%s":
                parts.append(convert(value))
            else:
                parts.append(spec % (convert(value),))
    return written(parts, pieces)


def filled(pieces: Any, values: Any) -> str:
    """``template.format(…)``. pieces is the parsed template: for each field the text before it, whether there is a field, its conversion and its
    format specification; values are in order of use.
    """
    parts: list[str] = []
    at = 0
    for text, field, convert, spec in pieces:
        if text:
            parts.append(text)
        if field:
            value = values[at]
            at += 1
            if convert is not None:
                value = convert(value)
            parts.append(format(value, spec))
    return written(parts, pieces)
