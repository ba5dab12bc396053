"""Membership of Python values in elements of the lattice, and the order of these elements."""

from collections.abc import Mapping

from hovis.lattice.constants import same_constant
from hovis.lattice.values import AbstractValue, Any, Array, Const, Partial, Raised, Refined, Some, Type, Union, Untested, join


def leq(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether a is below or equal to b: every value that fits a also fits b."""
    return a is b or isinstance(b, Untested) or join(a, b) == b


def contains(a: AbstractValue, value: object) -> bool:
    """Whether the Python value is one of those that the abstract value a describes."""
    if isinstance(a, Any):
        return not isinstance(a, Some) or (issubclass(type(value), BaseException) if isinstance(a, Raised) else value is not None)
    if isinstance(a, Const):
        return same_constant(a.value, value)
    if isinstance(a, Array):
        return type(value) is a.cls and value.dtype == a.dtype and value.ndim == a.rank  # type: ignore[attr-defined]
    if isinstance(a, Refined):
        return a.fits(value)
    if isinstance(a, Type):
        return type(value) is a.cls
    if isinstance(a, Union):
        return any(contains(m, value) for m in a.members)
    if isinstance(a, Partial):
        return type(value) is a.cls and _parts_fit(a, value)
    return False


def _parts_fit(a: Partial, value: object) -> bool:
    if isinstance(value, tuple | list):
        return len(value) == len(a.parts) and all(map(contains, a.parts, value))
    if isinstance(value, Mapping):
        return same_constant(tuple(value), a.keys) and all(map(contains, a.parts, value.values()))
    return all(hasattr(value, str(k)) and contains(p, getattr(value, str(k))) for k, p in zip(a.keys, a.parts, strict=True))
