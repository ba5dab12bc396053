"""What the jit knows of a call: the key of its arguments, and the specs that say the same.

Both walk the arguments in the same way.  A *path* leads to a part of them: the position or the name of an argument,
then indices.  Strings, bools, None, functions and classes are known, and so are the shapes of small tuples and of small
dicts with string keys; of other containers and of objects the class is.  Numbers are unknown, unless they turn out to
choose; and whatever has too many values is unknown after all.  A *policy* says so, path by path.

What stands for a function (:mod:`hovis.base.function_wrapper`) is known as functions are, or by what it is made of.
"""

import re
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from hovis.arguments.specs import Any as Unknown
from hovis.arguments.specs import Array, Instance, Promotable, is_named_tuple
from hovis.base import own_code
from hovis.base.function_wrapper import Alike, Held, Wrapper
from hovis.engine.environment.guards import can_change
from hovis.engine.state.type_lookup import BOUND, attributes_of, bound_parts, slots_of
from hovis.ir.operations import UNBOUND
from hovis.lattice import Const, Refined, Type
from hovis.lattice.constants import ATOMS, constant_key

own_code.leave_as_calls(__file__)

Path = tuple[int | str, ...]
Policy = Mapping[Path, str]

#: Policies: its value is known; it is unknown even if it chooses; of its type alone something is known.
KNOWN: Final = "known"
DYNAMIC: Final = "dynamic"
WIDE: Final = "wide"

#: A longer text is data, not a choice.
TEXT: Final = 64
#: Elements of containers that are known one by one, by how deep they are nested.
SIZES: Final = (64, 16, 4)

#: With this the key of a known value begins that is no object.
_IS: Final = "is"
_NUMBERS: Final = frozenset({int, float, complex})
_WORDS: Final = frozenset({bool, type(None)})
_TEXTS: Final = frozenset({str, bytes})
_STRINGS: Final = frozenset({str})
_NAMED: Final = frozenset({types.FunctionType, types.ModuleType, re.Pattern})
#: Containers and the like of which the residual may know the class.
_TYPED: Final = frozenset({list, set, bytearray, dict, tuple, str, bytes, frozenset})
#: Of them those of which it knows no more, whatever their size.
_SIZED: Final = frozenset({list, set, bytearray, frozenset})


class Key(tuple[Any, ...]):
    """The key of a residual: what is known of the arguments.  It holds no ids, and can be pickled."""

    __slots__ = ()


def key_of(args: tuple[Any, ...], kwargs: Mapping[str, Any], policy: Policy) -> Key:
    """The key of a call."""
    seen: list[int] = []
    if policy:
        parts = [_part(value, (k,), policy, 0, seen) for k, value in enumerate(args)]
    else:
        parts = [kind if (kind := type(value)) in _NUMBERS else _part(value, (), policy, 0, seen) for value in args]
        if not kwargs and not seen:
            return Key(parts)
    for name, value in kwargs.items():
        parts += (name, _part(value, (name,), policy, 0, seen))
    if len(seen) > 1 and len(set(seen)) < len(seen):
        # one dict in two places: then no dict is known but by its class
        parts = [_part(value, (k,), policy, len(SIZES), seen) for k, value in enumerate(args)]
        for name, value in kwargs.items():
            parts += (name, _part(value, (name,), policy, len(SIZES), seen))
        parts.append(None)
    return Key(parts)


def by_types(variants: Mapping[Key, Any], policy: Policy) -> dict[tuple[Any, ...], Any]:
    """Those of all variants that are found by the types of the arguments alone, as of no argument anything else is known."""
    return {} if policy else {tuple(key): variant for key, variant in variants.items() if all(isinstance(part, type) and _is_all(part) for part in key)}


def _is_all(kind: type) -> bool:
    """Is its class all that a key knows of any value of a class (see ``_part``)?"""
    if kind in _NUMBERS or kind in _SIZED:
        return True
    return can_change(kind) and kind.__module__ != "numpy" and kind not in _NAMED and not issubclass(kind, tuple | type | Enum | Wrapper)


def _part(value: Any, path: Path, policy: Policy, depth: int, seen: list[int]) -> Any:
    kind = type(value)
    how = policy.get(path) if policy else None
    if how is KNOWN:
        return constant(value)
    if kind in _NUMBERS:
        return kind
    if how is not None:
        return kind if kind in _TYPED else None
    if kind in _WORDS:
        return value, kind
    if kind in _TEXTS:
        return value if len(value) <= TEXT else kind
    # what is asked is the class: isinstance would ask the value, which may be code of the user's
    if kind is tuple or (issubclass(kind, tuple) and is_named_tuple(kind)):
        if depth >= len(SIZES) or len(value) > SIZES[depth]:
            return kind
        return (kind, *_parts(value, path, policy, depth + 1, seen))
    if kind is dict:
        if not is_config(value, depth):
            return kind
        seen.append(id(value))
        return (dict, tuple(value), *_parts(value.values(), path, policy, depth + 1, seen))
    if _is_named(value):
        return Alike(value) if is_alike(value) else Held(value)
    if issubclass(kind, Wrapper):
        return _made(value, path, policy, depth, seen)
    if kind.__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "shape"):
        return kind, value.dtype.str, len(value.shape)
    return kind if kind in _TYPED or can_change(kind) else None


def _is_named(value: Any) -> bool:
    """Is it known by itself, whatever its value?"""
    kind = type(value)
    if kind in _NAMED or issubclass(kind, type | Enum) or (issubclass(kind, Wrapper) and kind.by_itself):
        return True
    return kind is types.BuiltinFunctionType and isinstance(value.__self__, types.ModuleType)


def is_alike(value: Any) -> bool:
    """Is it known by all that decides what its calls do?"""
    return issubclass(type(value), Wrapper) and value.made_of() is not None


def alike_as_spec(found: Alike) -> Refined:
    """The spec of what is alike."""
    return Refined(type(found.value), found.kept(), Alike)


def _made(value: Wrapper, path: Path, policy: Policy, depth: int, seen: list[int]) -> Any:
    """What stands for a function, by what it is made of, where that is told; else by itself."""
    kind: Any = type(value)
    if depth >= len(SIZES):
        return kind
    held = _held_in(value) if value.is_told(_is_named) else {}
    if not held:
        return Held(value)
    seen.append(id(value))
    found = []
    for k, (name, part) in enumerate(held.items()):
        at = (*path, k) if policy else path
        # containers among its attributes are nothing that it needs
        deep = {"fn": depth, "data": depth + 1}.get(name, len(SIZES))
        made = _bound if name == "fn" else _part
        found.append(constant(part) if name == "how" else made(part, at, policy, deep, seen))
    return (kind, tuple(held), *found)


def _bound(value: Any, path: Path, policy: Policy, depth: int, seen: list[int]) -> Any:
    """The function that something is made of: what it is bound to, and what it is given, are parts like others."""
    held = bound_parts(value)
    if held is None:
        return _part(value, path, policy, depth, seen)
    found = []
    for k, (name, part) in enumerate(held.items()):
        made = _bound if name in ("func", "__func__") else _part
        found.append(made(part, (*path, k) if policy else path, policy, depth, seen))
    return (type(value), tuple(held), *found)


def _held_in(value: Any) -> dict[str, Any]:
    """What a wrapper, a bound method or a partial has, by name."""
    return bound_parts(value) or attributes_of(value, slots_of(type(value)) or {}) or {}


def _is_made(kind: type) -> bool:
    """Are these its parts?"""
    return kind in BOUND or issubclass(kind, Wrapper)


def _parts(values: Any, path: Path, policy: Policy, depth: int, seen: list[int]) -> list[Any]:
    if not policy:
        # then nobody asks for the path
        return [kind if (kind := type(v)) in _NUMBERS else _part(v, path, policy, depth, seen) for v in values]
    return [_part(v, (*path, k), policy, depth, seen) for k, v in enumerate(values)]


def constant(value: Any) -> Any:
    """The key of a known value: equal for the same constant, without ids."""
    kind = type(value)
    if kind in ATOMS:
        return _IS, constant_key(value)
    if kind is tuple:
        return (_IS, *map(constant, value))
    return Held(value)


def is_config(value: dict[Any, Any], depth: int) -> bool:
    """Is it a small dict with string keys?"""
    return depth < len(SIZES) and len(value) <= SIZES[depth] and _STRINGS.issuperset(map(type, value))


def spec_of(value: Any, part: Any, path: Path, policy: Policy) -> Any:
    """The spec of an argument of which a key knows this part."""
    kind = type(value)
    how = policy.get(path) if policy else None
    if how is KNOWN:
        return Const(value)
    if kind in _NUMBERS:
        return Type(kind) if how is DYNAMIC else Promotable(kind)
    if part is None:
        return Unknown
    if type(part) is tuple and part and part[0] == _IS:
        return Const(value)
    if isinstance(part, type):
        return Type(part)
    if type(part) is Alike:
        return alike_as_spec(part)
    if issubclass(kind, tuple) and type(part) is tuple and value:
        return tuple.__new__(kind, (spec_of(v, p, (*path, k), policy) for k, (v, p) in enumerate(zip(value, part[1:], strict=True))))
    if kind is dict and value:
        inner = zip(value.items(), part[2:], strict=True)
        return {key: spec_of(v, p, (*path, k), policy) for k, ((key, v), p) in enumerate(inner)}
    if kind is dict:
        return Type(dict)
    if _is_made(kind) and type(part) is tuple:
        held = zip(_held_in(value).items(), part[2:], strict=True)
        return Instance(kind, **{name: spec_of(v, p, (*path, k), policy) for k, ((name, v), p) in enumerate(held)})
    if kind.__module__ == "numpy" and hasattr(value, "dtype"):
        if kind.__name__ == "ndarray":
            known = value.dtype.kind in "biufc" and value.dtype.isnative
            return Array(value.dtype, (None,) * value.ndim) if known else Unknown
        return Type(kind)
    return Const(value)


def variable(value: Any, part: Any, path: Path, policy: Policy) -> Iterator[tuple[Path, Any]]:
    """The parts of an argument that the key knows, but that may have any number of values: where, and what is known."""
    kind = type(value)
    if (policy and policy.get(path)) or kind in _NUMBERS or kind in _WORDS or part is None:
        return
    if issubclass(kind, tuple) and type(part) is tuple and part[0] is kind:
        yield path, len(part)
        for k, (v, p) in enumerate(zip(value, part[1:], strict=True)):
            yield from variable(v, p, (*path, k), policy)
    elif kind is dict and type(part) is tuple:
        yield path, part[1]
        for k, (v, p) in enumerate(zip(value.values(), part[2:], strict=True)):
            yield from variable(v, p, (*path, k), policy)
    elif _is_made(kind) and type(part) is tuple:
        yield path, part[1]
        for k, (v, p) in enumerate(zip(_held_in(value).values(), part[2:], strict=True)):
            yield from variable(v, p, (*path, k), policy)
    else:
        yield path, part


def part_at(path: Path, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The part of the arguments at a path; UNBOUND if there is none."""
    head = path[0]
    value: Any = kwargs.get(head, UNBOUND) if isinstance(head, str) else args[head] if head < len(args) else UNBOUND
    for index in path[1:]:
        if _is_made(type(value)):
            value = _held_in(value)
        parts = list(value.values()) if isinstance(value, dict) else value
        value = parts[index] if isinstance(parts, list | tuple) and isinstance(index, int) and index < len(parts) else UNBOUND
    return value
