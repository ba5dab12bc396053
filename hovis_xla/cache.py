"""What an argument is to ``jit``: its part of the key, and the spec that is traced.

Arrays are told apart by dtype and shape, NumPy scalars and Python numbers by their class; strings, bools, None,
functions and classes are known; tuples, lists and dicts with string keys are looked into.  Anything else is unknown, and
then the function most likely stays Python.
"""

import types
from collections.abc import Hashable
from typing import Any, Final

import numpy as np

from hovis.keys import Held
from hovis.lattice import Const, Type
from hovis.lattice.constants import constant_key
from hovis.specs import Any as Unknown
from hovis.specs import Array

#: Values of these are part of the key.
KNOWN: Final = frozenset({str, bytes, bool, type(None), type, types.FunctionType, types.BuiltinFunctionType, np.dtype})
NUMBERS: Final = (int, float, complex)
#: Containers of more items than this are not looked into.
WIDEST: Final = 256
_STRINGS: Final = frozenset({str})


def is_plain_array(value: Any) -> bool:
    """An exact ndarray of numbers in native byte order."""
    return type(value) is np.ndarray and value.dtype.kind in "biufc" and bool(value.dtype.isnative)


def key_of(value: Any, static: bool = False) -> Hashable:
    """The part of the key that an argument gives."""
    kind = type(value)
    if kind is np.ndarray and not static:
        dtype = value.dtype  # its number: three times as quick as its name, and told apart as well for all that is compiled
        return "array", dtype.num, dtype.isnative, value.shape
    if static or kind in KNOWN:
        plain = kind in (str, bytes, bool, type(None)) or (static and kind in NUMBERS)
        return ("value", constant_key(value)) if plain else ("value", Held(value))
    if kind in (tuple, list) and len(value) <= WIDEST:
        return (kind, *[key_of(v) for v in value])
    if kind is dict and len(value) <= WIDEST and _STRINGS.issuperset(map(type, value)):
        return (dict, tuple(value), *[key_of(v) for v in value.values()])
    return "type", kind


def parts_of(value: Any) -> list[Any] | None:
    """The items of a container that is looked into."""
    kind = type(value)
    if not value or len(value) > WIDEST if kind in (tuple, list, dict) else True:
        return None
    if kind is dict:
        return list(value.values()) if all(type(k) is str for k in value) else None
    return list(value)


def aliasing(values: list[Any]) -> Hashable:
    """Which mutable arguments are the same object: a pattern, nothing where all are different."""
    first: dict[int, int] = {}
    pattern = tuple(first.setdefault(id(v), k) for k, v in enumerate(values) if isinstance(v, list | dict | np.ndarray))
    return () if len(set(pattern)) == len(pattern) else pattern


def spec_of(value: Any) -> Any:
    """What the key says of an argument that is no container to be looked into, as a spec."""
    kind = type(value)
    if kind in KNOWN:
        return Const(value)
    if kind in NUMBERS or (isinstance(value, np.generic) and value.dtype.kind in "biufc"):
        return Type(kind)
    if is_plain_array(value):
        return Array(value.dtype, value.shape)
    if kind is tuple and not value:
        return Const(())
    return Type(kind) if kind in (tuple, list, dict) else Unknown
