"""Result types of arithmetic on exact numbers, and whether it may raise (CPython: Objects/abstract.c and the types' slots)."""

from typing import Final

from hovis.lattice import AbstractValue, Const, Type, join
from hovis.library.language.signatures.signature_language import ANYTHING, Answer
from hovis.library.language.signatures.type_queries import BOOL, COMPLEX, FLOAT, INT, PURE, RAISES, atomic, class_of, moderate, tuple_of

#: The order of numeric promotion: the result of arithmetic has the higher type of the two operands.
RANK: Final[dict[type | None, int]] = {bool: 0, int: 1, float: 2, complex: 3}
_BY_RANK: Final = (INT, INT, FLOAT, COMPLEX)


def common(a: AbstractValue, b: AbstractValue) -> Answer | None:
    """Return the numeric type that a and b are converted to, or None if they are not numbers. The conversion may raise, because an int may be
    too large.
    """
    one, other = RANK.get(class_of(a)), RANK.get(class_of(b))
    if one is None or other is None:
        return None
    rank = max(one, other)
    fits = rank < 2 or all(r != 1 or moderate(x) for r, x in ((one, a), (other, b)))
    return Answer(_BY_RANK[rank], PURE if fits else RAISES)


def nonzero(a: AbstractValue) -> bool:
    """Is ``a`` a known number other than 0?"""
    return isinstance(a, Const) and class_of(a) in RANK and a.value != 0


def divided(a: AbstractValue, b: AbstractValue) -> Answer | None:
    """``//`` and ``%``; None for complex numbers, which do not support them."""
    found = common(a, b)
    if found is None or found.type is COMPLEX:
        return None
    return found if nonzero(b) else Answer(found.type, RAISES)


def truediv(a: AbstractValue, b: AbstractValue) -> Answer | None:
    found = common(a, b)
    if found is None:
        return None
    known = nonzero(b) and (found.type is FLOAT or class_of(a) is bool)
    return Answer(FLOAT if found.type is INT else found.type, found.effect if known else RAISES)


def divmod_(a: AbstractValue, b: AbstractValue) -> Answer | None:
    """``divmod``, which returns a tuple."""
    found = divided(a, b)
    return found and Answer(tuple_of(found.type, found.type), found.effect)


def binary_power(a: AbstractValue, b: AbstractValue) -> Answer | None:
    """``**``: ints may give a float (negative exponent), floats may give a complex number (negative base)."""
    found = common(a, b)
    if found is None:
        return None
    if found.type is INT:
        if class_of(b) is bool or (isinstance(b, Const) and b.value >= 0):  # type: ignore[operator]
            return found
        return Answer(FLOAT if isinstance(b, Const) else join(INT, FLOAT), RAISES)
    if found.type is FLOAT and class_of(b) is float and not (isinstance(b, Const) and b.value.is_integer()):  # type: ignore[attr-defined]
        return Answer(join(FLOAT, COMPLEX), RAISES)
    return Answer(found.type, RAISES)


def power(a: AbstractValue, b: AbstractValue, modulus: AbstractValue | None = None) -> Answer | None:
    """``pow`` with two or three arguments."""
    if modulus is None or class_of(modulus) is type(None):
        return binary_power(a, b)
    return Answer(INT, RAISES) if all(class_of(x) in (int, bool) for x in (a, b, modulus)) else None


def shifted(a: AbstractValue, b: AbstractValue) -> Answer | None:
    if class_of(a) not in (int, bool) or class_of(b) not in (int, bool):
        return None
    known = class_of(b) is bool or (moderate(b) and b.value >= 0)  # type: ignore[attr-defined]
    return Answer(INT, PURE if known else RAISES)


def bitwise(a: AbstractValue, b: AbstractValue) -> Answer | None:
    classes = {class_of(a), class_of(b)}
    if classes == {bool}:
        return Answer(BOOL)
    if classes <= {set, frozenset}:
        return Answer(Type(class_of(a) or set), PURE if atomic(a) and atomic(b) else ANYTHING)
    return Answer(INT) if classes <= {bool, int} else None


def united(a: AbstractValue, b: AbstractValue) -> Answer | None:
    return Answer(Type(dict), ANYTHING) if class_of(a) is class_of(b) is dict else bitwise(a, b)


def subtract(a: AbstractValue, b: AbstractValue) -> Answer | None:
    if class_of(a) in (set, frozenset) and class_of(b) in (set, frozenset):
        return Answer(Type(class_of(a) or set), PURE if atomic(a) and atomic(b) else ANYTHING)
    return common(a, b)
