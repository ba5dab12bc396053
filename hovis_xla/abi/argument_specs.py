"""How ``jit`` describes an argument: by its part of the specialization key, and by the spec that is traced.

Arrays are distinguished by dtype and shape, NumPy scalars and Python numbers by their class; strings, bools, None,
functions and their wrappers, classes, modules, dtypes and members of enumerations are known values.  Tuples (named tuples too), lists, dicts,
instances of plain classes and callables made of a function (a gradient) are taken apart, down to their leaves.
Anything else is unknown, and then the function most likely stays Python.

A *path* identifies a part of the arguments, as in :mod:`hovis.front.jit_cache.cache_keys`: the position or the name of an argument, then indices of parts.
"""

import types
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any, Final

import numpy as np

from hovis.arguments.specs import Any as Unknown
from hovis.arguments.specs import Array, Empty, Instance, Promotable, is_named_tuple
from hovis.base.function_wrapper import Alike, Held, Wrapper
from hovis.engine.environment.guards import can_change
from hovis.engine.state.type_lookup import attributes_of, bound_parts, lookup, slots_of
from hovis.front.jit_cache.cache_keys import DYNAMIC, KNOWN, WIDE, Path, alike_as_spec, constant, is_alike
from hovis.lattice import Const, Type
from hovis.lattice.constants import constant_key
from hovis.lattice.inspection import is_a

#: Classes that have few values, each of which is one object.
FEW: Final = frozenset({bool, type(None), type(Ellipsis)})
#: Classes whose values are part of the key: by equality for these, by identity for ``_NAMED``.
WORDS: Final = FEW | {str, bytes}
#: Classes that the residual may know of an argument, if it knows no more of it.
_TYPED: Final = frozenset({tuple, list, dict, str, bytes, np.random.Generator, np.random.RandomState})
_NAMED: Final = frozenset({type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc})
NUMBERS: Final = (int, float, complex)
#: Limits for taking arguments apart: the items of a container, the depth, and the parts of an argument.
WIDEST: Final = 256
DEEPEST: Final = 12
MOST: Final = 4096


class LeftWhole(Exception):
    """Raised for an argument that is not looked into: it has too many parts, or a part with a finalizer. Code that takes such an argument apart
    holds its parts, and the finalizer would run too late.
    """


def is_known(value: Any) -> bool:
    """Is the value part of the specialization key, whatever it is?"""
    kind: Any = type(value)
    if kind in WORDS or kind in _NAMED or issubclass(kind, type | Enum | np.dtype):
        return True
    return issubclass(kind, Wrapper) and (kind.by_itself or not value.is_told(is_known))


def structure(value: Any) -> tuple[Hashable, list[Any]] | None:
    """Return the shape (class and keys) and the parts of a container that is looked into, or None for any other value."""
    kind: Any = type(value)
    if kind is tuple or kind is list:
        return (kind, list(value)) if (value or kind is list) and len(value) <= WIDEST else None
    if kind is dict:
        known = len(value) <= WIDEST and all(is_known(k) or type(k) in (int, tuple) for k in value)
        return ((dict, constant(tuple(value))), list(value.values())) if known else None
    if issubclass(kind, tuple):
        return (kind, list(value)) if is_named_tuple(kind) and 0 < len(value) <= WIDEST else None
    found = attributes(value)
    return None if found is None else ((kind, tuple(found)), list(found.values()))


def attributes(value: Any) -> dict[str, Any] | None:
    """Return the attributes of an instance of a plain class by name, or None if its class is not plain, or it keeps state elsewhere."""
    kind: Any = type(value)
    if kind.__getattribute__ is not object.__getattribute__ or not all(can_change(base) for base in kind.__mro__[:-1]):
        return None
    slots = slots_of(kind)
    found = attributes_of(value, slots) if slots is not None else None
    return found if found is not None and len(found) <= WIDEST else None


class Walk:
    """Traversal of the arguments of one call, which builds their keys and specs, by what is known of them (``policy``)."""

    def __init__(self, policy: Mapping[Path, str]) -> None:
        self.policy = policy
        self.parts = 0
        #: paths and values of the parts that the policy says are known
        self.known: list[tuple[Path, Any]] = []
        #: paths of the ints about which the policy says nothing yet
        self.ints: list[Path] = []
        #: other parts of the key that may have any number of values: their paths, and what is known of them
        self.choices: list[tuple[Path, Hashable]] = []

    def argument(self, value: Any, path: Path) -> tuple[Hashable, Any]:
        """Return the argument's part of the specialization key, and its spec."""
        self.parts = 0
        try:
            return self.part(value, path)
        except LeftWhole:
            kind = type(value)
            return ("type", kind), Type(kind) if kind in _TYPED else Unknown

    def part(self, value: Any, path: Path) -> tuple[Hashable, Any]:
        kind: Any = type(value)
        how = self.policy.get(path) if self.policy else None
        if how is KNOWN:
            self.known.append((path, value))
            return ("value", constant(value)), Const(value)
        if how is WIDE:
            return ("type", kind), Type(kind) if kind in _TYPED else Unknown
        if kind in NUMBERS:
            if kind is int and how is None:
                self.ints.append(path)
            return kind, Type(kind) if how is DYNAMIC else Promotable(kind)
        if kind is np.ndarray:
            dtype = value.dtype  # its number is three times as fast as its name, and distinguishes all dtypes that are compiled
            known = dtype.kind in "biufc" and dtype.isnative
            return ("array", dtype.num, dtype.isnative, value.shape), Array(dtype, value.shape) if known else Unknown
        if is_alike(value):
            found = Alike(value)
            self.choices.append((path, found))
            return ("alike", found), alike_as_spec(found)
        if is_known(value):
            known = constant_key(value) if kind in WORDS else Held(value)
            if kind not in FEW:
                self.choices.append((path, known))
            return ("value", known), Const(value)
        if issubclass(kind, np.generic):
            return kind, Type(kind) if value.dtype.kind in "biufc" else Unknown
        return self.container(value, path)

    def container(self, value: Any, path: Path) -> tuple[Hashable, Any]:
        kind = type(value)
        found = structure(value) if len(path) <= DEEPEST else None
        if found is None:
            if kind is tuple and not value:
                return ("value", ()), Const(())
            return ("type", kind), Type(kind) if kind in _TYPED else Unknown
        if len(path) > 1 and lookup(kind, "__del__") is not None:
            raise LeftWhole
        shape, parts = found
        if kind is not tuple:
            self.choices.append((path, shape if kind is dict else (shape, len(parts))))
        self.parts += len(parts)
        if self.parts > MOST:
            raise LeftWhole
        names = list(attributes(value) or ()) if isinstance(value, Wrapper) else [""] * len(parts)
        inner = [self._named(name, v, (*path, k)) for k, (name, v) in enumerate(zip(names, parts, strict=True))]
        return (shape, *[key for key, _ in inner]), _spec(value, [spec for _, spec in inner])

    def _named(self, name: str, value: Any, path: Path) -> tuple[Hashable, Any]:
        """Return the key and the spec of the attribute ``name`` of a wrapper. A part without a name is treated like any other part."""
        if name == "how":
            return ("value", constant(value)), Const(value)
        found = bound_parts(value) if name in ("fn", "func", "__func__") else None
        if found is None:
            return self.part(value, path)
        inner = [self._named(name, v, (*path, k)) for k, (name, v) in enumerate(found.items())]
        spec = Instance(type(value), **dict(zip(found, [spec for _, spec in inner], strict=True)))
        return (type(value), *[key for key, _ in inner]), spec


def _spec(value: Any, specs: list[Any]) -> Any:
    """Build the spec of a container from the specs of its parts."""
    kind = type(value)
    if not specs and kind in (list, dict):
        return Empty(kind)
    if kind is list:
        return specs
    if kind is dict:
        return dict(zip(value, specs, strict=True))
    if isinstance(value, tuple):
        return tuple.__new__(kind, specs)
    return Instance(kind, **dict(zip(attributes(value) or (), specs, strict=True)))


def is_mutable(value: Any) -> bool:
    """Is the value mutable, and would aliasing with another argument matter?"""
    return is_a(value, list | dict | np.ndarray) or (attributes(value) is not None and not is_known(value))


def aliasing(values: list[Any]) -> Hashable:
    """Return which mutable arguments are the same object, as a pattern of indices; the pattern is empty if all are different."""
    first: dict[int, int] = {}
    pattern = tuple(first.setdefault(id(v), k) for k, v in enumerate(values) if is_mutable(v))
    return () if len(set(pattern)) == len(pattern) else pattern
