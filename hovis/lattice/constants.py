"""Equality, hashable keys and immutability of known values.

Constants are compared by type and bits: ``1``, ``True`` and ``1.0`` differ, ``0.0`` and ``-0.0`` differ, a nan
equals itself, tuples are compared element by element, everything else by identity.
"""

import re
import struct
from collections.abc import Hashable
from typing import Final

#: Types whose values are the same constant exactly if their types and values are equal (``==``).
PLAIN = frozenset({int, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented)})

#: Types whose instances can never change, nor hold anything that can.
ATOMS = PLAIN | {float, complex, range}


#: A tuple or frozenset with at least this many items is inspected only once, and not again each time that an item is read.
LARGE: Final = 32
_large: dict[int, object] = {}


def constant_key(value: object) -> Hashable:
    """Return a hashable key. The keys of two values are equal exactly when the values are the same constant.

    The key of an object that is compared by identity contains its ``id``: whoever keeps the key has to keep the object alive.

    >>> constant_key(1) == constant_key(True), constant_key(0.0) == constant_key(-0.0)
    (False, False)
    >>> nan = float("nan"); constant_key((nan, 1)) == constant_key((float("nan"), 1))
    True
    """
    kind = type(value)
    if kind in PLAIN:
        return kind, value
    if kind is float:
        return kind, struct.pack("<d", value)
    if kind is complex:
        assert isinstance(value, complex)
        return kind, struct.pack("<dd", value.real, value.imag)
    if kind is tuple:
        assert isinstance(value, tuple)
        return kind, tuple(map(constant_key, value))
    if kind is range:
        assert isinstance(value, range)
        return kind, value.start, value.stop, value.step
    return "id", id(value)


def same_constant(a: object, b: object) -> bool:
    """Are a and b the same constant?"""
    if a is b:
        return True
    kind = type(a)
    return kind is type(b) and (a == b if kind in PLAIN else constant_key(a) == constant_key(b))


def is_immutable(value: object) -> bool:
    """Whether value is of an immutable builtin type, and all its parts are too."""
    kind = type(value)
    if kind in ATOMS:
        return True
    if kind is re.Pattern:
        return True
    if kind is tuple or kind is frozenset:
        if len(value) < LARGE:  # type: ignore[arg-type]
            return all(map(is_immutable, value))  # type: ignore[call-overload]
        if _large.get(id(value)) is not value:
            if not all(map(is_immutable, value)):  # type: ignore[call-overload]
                return False
            _large[id(value)] = value
        return True
    if kind is slice:
        assert isinstance(value, slice)
        return is_immutable((value.start, value.stop, value.step))
    return False


def forget_large() -> None:
    """Clear the cache of large immutable containers at the end of a trace."""
    _large.clear()


def is_key(value: object) -> bool:
    """Whether value is immutable (see ``is_immutable``) and hashable. A slice has no hash on some versions of Python."""
    if type(value) in ATOMS:
        return True
    if not is_immutable(value):
        return False
    try:
        hash(value)
    except TypeError:
        return False
    return True
