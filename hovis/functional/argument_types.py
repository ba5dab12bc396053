"""Keys and specs of the arguments of transformed functions, computed down to their leaves.

The key of a number is its class, that of an array its dtype and shape; tuples, lists, dicts and instances of plain classes are
split into their parts.  Any other object is a known value if it is a string, a function, a class or the like, and unknown otherwise.
"""

import types
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any, Final

from hovis.arguments.specs import Any as Unknown
from hovis.arguments.specs import Array, Empty, Instance, Promotable
from hovis.base import pytree
from hovis.base.function_wrapper import Held
from hovis.front.jit_cache.cache_keys import DYNAMIC, KNOWN, Path, constant
from hovis.lattice import Const, Type
from hovis.lattice.constants import constant_key

_WORDS: Final = frozenset({str, bytes, bool, type(None), type(Ellipsis)})
_NAMED: Final = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, Enum)
_NUMBERS: Final = (int, float, complex)
#: Containers with more items than this, or nested deeper than this, are not split into their parts.
WIDEST: Final = 1024
DEEPEST: Final = 16


def looked_at(value: Any, path: Path, policy: Mapping[Path, str]) -> tuple[Hashable, Any]:
    """Return the key part of an argument, and its spec."""
    kind: Any = type(value)
    how = policy.get(path) if policy else None
    if how is KNOWN:
        return ("value", constant(value)), Const(value)
    if kind in _NUMBERS:
        return kind, Type(kind) if how is DYNAMIC else Promotable(kind)
    if kind.__module__ == "numpy" and hasattr(value, "dtype") and hasattr(value, "shape"):
        return _of_numpy(value)
    if kind in _WORDS:
        return ("value", constant_key(value)), Const(value)
    if isinstance(value, _NAMED) or kind.__module__ in ("numpy", "numpy.dtypes"):
        return ("value", Held(value)), Const(value)
    return _container(value, path, policy)


def _of_numpy(value: Any) -> tuple[Any, Any]:
    dtype, plain = value.dtype, value.dtype.kind in "biufc" and value.dtype.isnative
    if type(value).__name__ == "ndarray":
        return ("array", dtype.str, value.shape), Array(dtype, value.shape) if plain else Unknown
    return type(value), Type(type(value)) if plain else Unknown


def _container(value: Any, path: Path, policy: Mapping[Path, str]) -> tuple[Hashable, Any]:
    kind: Any = type(value)
    found = pytree.children_of(value) if len(path) <= DEEPEST and kind not in pytree.NODES else None
    if found is None and kind in pytree.NODES:
        names = pytree.attributes(value)
        found = None if names is None else ("instance", names, tuple([getattr(value, name) for name in names]))
    if found is None or len(found[2]) > WIDEST:
        return ("type", kind), Type(kind) if kind in (tuple, list, dict) else Unknown
    how, extra, children = found
    if kind is tuple and not children:
        return ("value", ()), Const(())
    if kind in (dict, list) and not children:
        return ("empty", kind), Empty(kind)
    told = [looked_at(child, (*path, k), policy) for k, child in enumerate(children)]
    key = how, kind, constant(extra) if extra is not None else None, *[key for key, _ in told]
    return key, _spec(how, kind, extra, [spec for _, spec in told])


def _spec(how: str, kind: Any, extra: Any, specs: list[Any]) -> Any:
    if how == "dict":
        return dict(zip(extra, specs, strict=True))
    if how == "instance":
        return Instance(kind, **dict(zip(extra, specs, strict=True)))
    return specs if kind is list else tuple.__new__(kind, specs)
