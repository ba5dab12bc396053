"""Queries of rules about the abstract arguments of a call: their exact class, and whether operations on them run user code."""

import sys
from typing import Any as Anything
from typing import Final

from hovis.ir.model import Effect
from hovis.lattice import ANY, AbstractValue, Const, Items, Partial, Type, Union, forget, join
from hovis.lattice.constants import ATOMS

PURE: Final = Effect.PURE
READS: Final = Effect.READS
WRITES: Final = Effect.WRITES
RAISES: Final = Effect.RAISES

INT: Final = Type(int)
FLOAT: Final = Type(float)
BOOL: Final = Type(bool)
COMPLEX: Final = Type(complex)
STR: Final = Type(str)
BYTES: Final = Type(bytes)
NONE: Final = Type(type(None))
TUPLE: Final = Type(tuple)
LIST: Final = Type(list)


def class_of(a: AbstractValue) -> type | None:
    """Return the exact class of all values described by ``a``, or None if it is not unique."""
    if isinstance(a, Const):
        return type(a.value)
    return a.cls if isinstance(a, Type | Partial) else None


def is_atomic(value: object, budget: int = 1000) -> bool:
    """Is value, with all its parts, of exact builtin types without user code: atoms, and tuples and frozensets of atoms?

    False if value has more parts than the budget allows to visit.
    """
    todo: list[Anything] = [value]
    while todo and (budget := budget - 1) > 0:
        item = todo.pop()
        kind = type(item)
        if kind in ATOMS:
            continue
        if kind is tuple or kind is frozenset:
            todo.extend(item)
        else:
            return False
    return not todo


def atomic(a: AbstractValue) -> bool:
    """Do operations on ``a`` never run user code, and never read mutable memory?"""
    if isinstance(a, Const):
        return is_atomic(a.value)
    if isinstance(a, Partial):
        return a.cls is tuple and all(map(atomic, a.parts))
    if isinstance(a, Union):
        return all(map(atomic, a.members))
    return isinstance(a, Type) and a.cls in ATOMS


#: Classes of containers of the trace whose parts are visible to the rules.
_HELD: Final = (tuple, list, dict)


def solid(a: AbstractValue) -> bool:
    """Do operations on ``a`` never run user code, because it is an atom, or a container of the trace that contains only such values?"""
    if isinstance(a, Partial):
        return a.cls in _HELD and all(map(solid, a.parts)) and (a.cls is not dict or all(map(is_atomic, a.keys)))
    return atomic(a)


def flat(a: AbstractValue) -> bool:
    """Is ``a`` a container of the trace that contains only atoms?"""
    return isinstance(a, Partial) and a.cls in _HELD and all(map(atomic, a.parts)) and (a.cls is not dict or all(map(is_atomic, a.keys)))


def looking_at(*values: AbstractValue) -> Effect:
    """Return the effect of inspecting these values: READS if one is mutable, else PURE."""
    return READS if any(isinstance(a, Partial) and (a.cls is not tuple or looking_at(*a.parts)) for a in values) else PURE


def moderate(a: AbstractValue) -> bool:
    """Is ``a`` an int that converts to float and to an index without overflow?"""
    if class_of(a) is bool:
        return True
    return isinstance(a, Const) and type(a.value) is int and -sys.maxsize <= a.value <= sys.maxsize


#: The most parts of a container for which the join of their types is computed.
MAX_PARTS: Final = 64


def values_of(a: AbstractValue) -> AbstractValue:
    """Return the type of an unknown value of a dict, or item of a list; ANY unless it is a container of the trace that contains only atoms, or
    its item type is known.
    """
    if isinstance(a, Items):
        return a.items
    if not isinstance(a, Partial) or not a.parts or len(a.parts) > MAX_PARTS or not flat(a):
        return ANY
    found = part(a.parts[0])
    for one in a.parts[1:]:
        found = join(found, part(one))
    return found


def printable(a: AbstractValue) -> bool:
    """Does conversion of ``a`` to text never raise? An int may have more digits than ``sys.get_int_max_str_digits()``."""
    if isinstance(a, Const):
        return is_atomic(a.value) and _few_digits(a.value)
    if isinstance(a, Partial):
        return all(map(printable, a.parts)) and (a.cls is not dict or all(is_atomic(k) and _few_digits(k) for k in a.keys))
    if isinstance(a, Union):
        return all(map(printable, a.members))
    return isinstance(a, Type) and a.cls in ATOMS - {int, range}


#: An int of this many bits has fewer digits than the lowest limit for ``sys.set_int_max_str_digits`` (640).
FEW_BITS: Final = 2100


def _few_digits(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_few_digits, value))
    if isinstance(value, range):
        return _few_digits((value.start, value.stop, value.step))
    return not isinstance(value, int) or value.bit_length() <= FEW_BITS


def part(a: AbstractValue) -> AbstractValue:
    """Return the type of ``a`` as a part of another value, without constants."""
    return forget(a) if isinstance(a, Const) else a


def tuple_of(*parts: AbstractValue) -> Partial:
    """Return the type of a tuple with these items."""
    return Partial(tuple, range(len(parts)), map(part, parts))


def items_of(a: AbstractValue) -> tuple[AbstractValue, ...] | None:
    """Return the types of the items of a tuple, or None if their number is not known."""
    if isinstance(a, Partial) and a.cls is tuple:
        return a.parts
    if isinstance(a, Const) and type(a.value) is tuple:
        return tuple(map(Const, a.value))
    return None
