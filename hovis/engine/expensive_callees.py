"""Callees that a trace of a function has found too expensive to trace, for later traces of the function for the same arguments with the same budget."""

import types
import weakref
from collections.abc import MutableSet, Sequence
from typing import Any, Final

from hovis.engine.trace import Fixed, Fresh, Leaf, Part
from hovis.ir.model import Param
from hovis.lattice import Any as AnyType
from hovis.lattice import Array, Const, Type
from hovis.lattice.constants import ATOMS, constant_key

#: Kinds of traces of one function that are remembered, the latest ones.
KINDS: Final = 4

_found: Final[weakref.WeakKeyDictionary[types.FunctionType, dict[Any, weakref.WeakSet[types.CodeType]]]] = weakref.WeakKeyDictionary()


def of(function: types.FunctionType, parts: Sequence[Part], budget: Any) -> MutableSet[types.CodeType] | None:
    """Return the set of callees for traces of the function with these arguments and budget, to read and to extend.

    None if it cannot be told later whether the known arguments are the same.
    """
    try:
        key = budget, tuple(map(_key_of, parts))
    except TypeError:
        return None
    kinds = _found.setdefault(function, {})
    callees = kinds.pop(key, None)
    if callees is None:
        callees = weakref.WeakSet()
    kinds[key] = callees
    while len(kinds) > KINDS:
        del kinds[next(iter(kinds))]
    return callees


class _Same:
    """The identity of an object, by a weak reference: a class that is kept alive would keep its methods alive, which are keys of the table."""

    __slots__ = ("at", "held")

    def __init__(self, value: object) -> None:
        self.at, self.held = id(value), weakref.ref(value)

    def __hash__(self) -> int:
        return self.at

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held() is not None and self.held() is other.held()


def _key_of(part: Part) -> Any:
    """Return a key by which the known values in an argument can be compared; TypeError if there is none."""
    if isinstance(part, Fixed):
        return _constant(part.value)
    if isinstance(part, Leaf):
        return _type_of(part.param)
    names = None if part.keys is None else tuple(map(_constant, part.keys))
    return type(part), None if isinstance(part, Fresh) else (part.kind, _Same(part.cls)), names, tuple(map(_key_of, part.parts))


def _type_of(param: Param) -> Any:
    """Return the type and dimensions of an unknown argument; TypeError if the type holds known values."""
    known = param.type
    if type(known) is AnyType:
        return None
    if type(known) is Type:
        return _Same(known.cls)
    if type(known) is not Array:
        raise TypeError
    dims = None if param.dims is None else tuple([_constant(dim.value) if isinstance(dim, Const) else None for dim in param.dims])
    return _Same(known.cls), known.dtype, known.rank, known.layout, dims


def _constant(value: object) -> Any:
    plain = type(value) in ATOMS or (type(value) is tuple and all(type(one) in ATOMS for one in value))
    return constant_key(value) if plain else _Same(value)
