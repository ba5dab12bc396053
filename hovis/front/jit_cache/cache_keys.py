"""Specialization keys for ``jit``: the key of the arguments of a call, and the specs that state the same facts.

Both walk the arguments in the same way.  A *path* identifies a part of them: the position or the name of an argument,
then indices.  Strings, bools, None, functions and classes are known, and so are the structures of small tuples and of small
dicts with string keys; for other containers and for objects only the class is known.  Numbers are unknown, unless they turn out to
decide a branch; and a part that has too many values becomes unknown.  A *policy* records these exceptions, by path.

A wrapper (:mod:`hovis.base.function_wrapper`) is known by identity, as functions are, or by the parts that it is made of.
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

#: Policies: the value is known; it is unknown even if it decides a branch; only its type is known; only its type if it is a container or a text.
KNOWN: Final = "known"
DYNAMIC: Final = "dynamic"
WIDE: Final = "wide"
PLAIN: Final = "plain"

#: Strings longer than this are treated as data: only their class is known.
TEXT: Final = 64
#: Maximal size of a container whose items are known one by one, by nesting depth.
SIZES: Final = (64, 16, 4)

#: First item of the key of a known value that is not an object.
_IS: Final = "is"
_NUMBERS: Final = frozenset({int, float, complex})
_WORDS: Final = frozenset({bool, type(None)})
_TEXTS: Final = frozenset({str, bytes})
_STRINGS: Final = frozenset({str})
_NAMED: Final = frozenset({types.FunctionType, types.ModuleType, re.Pattern})
#: Containers and texts whose class the residual may know.
_TYPED: Final = frozenset({list, set, bytearray, dict, tuple, str, bytes, frozenset})
#: Those of them of which it knows nothing but the class, whatever their size.
_SIZED: Final = frozenset({list, set, bytearray, frozenset})
#: Those of which PLAIN makes it know nothing but the class.
_DATA: Final = frozenset({dict, tuple, str, bytes})


class Key(tuple[Any, ...]):
    """The key of a residual: the known facts about the arguments. It holds no ids, and can be pickled."""

    __slots__ = ()


def key_of(args: tuple[Any, ...], kwargs: Mapping[str, Any], policy: Policy) -> Key:
    """Return the key of a call."""
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
        # one object occurs twice: then containers and wrappers are known by their class only
        parts = [_part(value, (k,), policy, len(SIZES), seen) for k, value in enumerate(args)]
        for name, value in kwargs.items():
            parts += (name, _part(value, (name,), policy, len(SIZES), seen))
        parts.append(None)
    return Key(parts)


def by_types(variants: Mapping[Key, Any], policy: Policy) -> dict[tuple[Any, ...], Any]:
    """Index the variants whose keys consist of types only, where the type is all that a key ever records of the argument (see ``_is_all``). They
    can be found by the types of the arguments alone.
    """
    inside = {path[0] for path in policy if len(path) > 1}

    def fits(at: int, part: Any) -> bool:
        how = policy.get((at,))
        if how is WIDE or (how is PLAIN and part in _DATA):
            return part in _TYPED or part in _NUMBERS
        return how is not KNOWN and at not in inside and isinstance(part, type) and _is_all(part)

    return {tuple(key): variant for key, variant in variants.items() if all(fits(at, part) for at, part in enumerate(key))}


def data_paths(args: tuple[Any, ...], kwargs: Mapping[str, Any], policy: Policy) -> list[Path]:
    """List the arguments that PLAIN would treat in another way than the policy does."""
    given = [((k,), value) for k, value in enumerate(args)] + [((name,), value) for name, value in kwargs.items()]
    return [path for path, value in given if type(value) in _DATA and path not in policy]


def _is_all(kind: type) -> bool:
    """Is the class the only fact that a key records of any value of class `kind` (see ``_part``)?"""
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
    if how is not None and (how is not PLAIN or kind in _DATA):
        return kind if kind in _TYPED else None
    if kind in _WORDS:
        return value, kind
    if kind in _TEXTS:
        return value if len(value) <= TEXT else kind
    # test the class: isinstance would read __class__ of the value, which may run user code
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
    """Is the value an object that a key holds itself: a function, a module, a class, an enum member, a pattern?"""
    kind = type(value)
    if kind in _NAMED or issubclass(kind, type | Enum) or (issubclass(kind, Wrapper) and kind.by_itself):
        return True
    return kind is types.BuiltinFunctionType and isinstance(value.__self__, types.ModuleType)


def is_alike(value: Any) -> bool:
    """Is the value a wrapper that names everything that determines what its calls do (``made_of``)?"""
    return issubclass(type(value), Wrapper) and value.made_of() is not None


def alike_as_spec(found: Alike) -> Refined:
    """Return the spec of an `Alike`."""
    return Refined(type(found.value), found.kept(), Alike)


def _made(value: Wrapper, path: Path, policy: Policy, depth: int, seen: list[int]) -> Any:
    """Return the key part of a wrapper: its class and its parts, if these can be distinguished from others (``is_told``), else the wrapper itself."""
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
        # containers in other attributes do not matter
        deep = {"fn": depth, "data": depth + 1}.get(name, len(SIZES))
        made = _bound if name == "fn" else _part
        found.append(constant(part) if name == "how" else made(part, at, policy, deep, seen))
    return (kind, tuple(held), *found)


def _bound(value: Any, path: Path, policy: Policy, depth: int, seen: list[int]) -> Any:
    """Return the key part of the function that a wrapper is made of. The instance of a bound method and the arguments of a ``partial`` are parts
    like any others.
    """
    held = bound_parts(value)
    if held is None:
        return _part(value, path, policy, depth, seen)
    found = []
    for k, (name, part) in enumerate(held.items()):
        made = _bound if name in ("func", "__func__") else _part
        found.append(made(part, (*path, k) if policy else path, policy, depth, seen))
    return (type(value), tuple(held), *found)


def _held_in(value: Any) -> dict[str, Any]:
    """Return the parts of a wrapper, a bound method or a ``partial``, by name."""
    return bound_parts(value) or attributes_of(value, slots_of(type(value)) or {}) or {}


def _is_made(kind: type) -> bool:
    """Are instances of this class split into parts (wrappers, bound methods and ``partial``)?"""
    return kind in BOUND or issubclass(kind, Wrapper)


def _parts(values: Any, path: Path, policy: Policy, depth: int, seen: list[int]) -> list[Any]:
    if not policy:
        # without a policy the path is not used
        return [kind if (kind := type(v)) in _NUMBERS else _part(v, path, policy, depth, seen) for v in values]
    return [_part(v, (*path, k), policy, depth, seen) for k, v in enumerate(values)]


def constant(value: Any) -> Any:
    """Return the key of a known value: equal for the same constant, without ids."""
    kind = type(value)
    if kind in ATOMS:
        return _IS, constant_key(value)
    if kind is tuple:
        return (_IS, *map(constant, value))
    return Held(value)


def is_config(value: dict[Any, Any], depth: int) -> bool:
    """Is the value a small dict with string keys?"""
    return depth < len(SIZES) and len(value) <= SIZES[depth] and _STRINGS.issuperset(map(type, value))


def spec_of(value: Any, part: Any, path: Path, policy: Policy) -> Any:
    """Return the spec of the argument `value`, whose part of the key is `part`."""
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
    """Yield the known parts of an argument that may have any number of different values, as (path, known fact)."""
    kind = type(value)
    if (policy and policy.get(path, PLAIN) is not PLAIN) or kind in _NUMBERS or kind in _WORDS or part is None or (kind in _DATA and part is kind):
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
    """Return the part of the arguments at `path`, or UNBOUND if there is none."""
    head = path[0]
    value: Any = kwargs.get(head, UNBOUND) if isinstance(head, str) else args[head] if head < len(args) else UNBOUND
    for index in path[1:]:
        if _is_made(type(value)):
            value = _held_in(value)
        parts = list(value.values()) if isinstance(value, dict) else value
        value = parts[index] if isinstance(parts, list | tuple) and isinstance(index, int) and index < len(parts) else UNBOUND
    return value
