"""The calls of a recorded program by kind: callables that only move values about, and Python functions and classes of user code."""

import collections
import functools
import math
import operator as o
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from hovis.engine.state.type_lookup import ENTERED_THROUGH
from hovis.ir.operations import apply, apply_all, apply_positional
from hovis.lattice.inspection import attribute, bound_to
from hovis.library.numpy.adjoints import shadow_memory
from hovis.library.standard import STANDARD
from hovis.library.tables.derivatives import TABLE

#: Builtin functions that only move values, or use operators that all values may have.
_MOVING: Final = frozenset(
    {
        iter, next, zip, enumerate, reversed, sorted, map, filter, list, tuple, dict, set, frozenset, sum, max, min, getattr, setattr, delattr, vars,
        o.setitem, o.delitem, o.getitem, o.concat, o.iconcat, o.add, o.mul, o.iadd, o.imul, o.or_, o.ior, types.CellType, functools.reduce,
        math.prod,
    }
)  # fmt: skip
#: Those of them that are numeric operations if their first argument is a number or an array; ``_BY_BOTH``: if one of the first two is.
_BY_FIRST: Final = frozenset({o.setitem, o.delitem, o.getitem})
_BY_BOTH: Final = frozenset({o.add, o.mul, o.iadd, o.imul, o.or_, o.ior})
#: Builtin functions that call functions passed to them.
CALLING: Final = frozenset({sorted, map, filter, max, min, functools.reduce, list.sort})
_CONTAINERS: Final = (list, dict, set, frozenset, tuple, collections.deque, types.GeneratorType, Iterator, types.MappingProxyType)
_MODULES: Final = ("collections", "_collections", "itertools", "_heapq", "heapq", "_bisect", "bisect", "_functools", "copy")
_PACKAGE: Final = __name__.partition(".")[0]
_OPERATIONS: Final = f"{_PACKAGE}.ir.operations"
_LIBRARIES: Final = ("numpy", _PACKAGE, f"{_PACKAGE}_xla", "copy", "dataclasses", "collections", "functools", "random", "heapq", "typing", "enum", "abc")

#: The special methods of a class that implement operators.
_SPECIAL: Final = {
    o.add: "__add__", o.sub: "__sub__", o.mul: "__mul__", o.truediv: "__truediv__", o.matmul: "__matmul__", o.pow: "__pow__", o.neg: "__neg__",
    o.getitem: "__getitem__", o.setitem: "__setitem__", o.lt: "__lt__", o.gt: "__gt__", o.le: "__le__", o.ge: "__ge__",
}  # fmt: skip

Entered = tuple[Callable[..., Any], tuple[Any, ...]]


def is_in(callee: Any, table: Any) -> bool:
    """Is callee in table? False if callee is not hashable."""
    try:
        return callee in table
    except TypeError:
        return False


def moves(callee: Any, args: tuple[Any, ...]) -> bool:
    """Does a call only move values of any kind, or apply Python's own operators to them (as ``sum`` does)?"""
    if isinstance(callee, Following) or is_in(callee, FOLLOWING):
        return True
    # repetition of a list or tuple
    if (callee is o.mul or callee is o.imul) and {type(x) for x in args[:2]} & {list, tuple}:
        return any(isinstance(x, int) or shadow_memory.is_integer(x) for x in args[:2])
    if callee is sum and args and type(args[0]) in (list, tuple) and all(x.__class__ in (int, float, bool) for x in (*args[0], *args[1:])):
        return False  # since CPython 3.12 floats are not added one by one
    if is_in(callee, _MOVING):
        looked_at = args[:1] if callee in _BY_FIRST else args[:2] if callee in _BY_BOTH else ()
        return not any(map(_is_numeric, looked_at))
    own = bound_to(callee)
    module = own.__name__ if isinstance(own, types.ModuleType) else attribute(callee, "__module__")
    if isinstance(module, str) and (module.startswith(_OPERATIONS) or module in _MODULES):
        return True
    if type(callee) is types.FunctionType:
        # hovis's own functions for operations on values unknown while tracing are Python code, which works on boxes as well
        return _is_library(module) and STANDARD.rule(callee) is not None and TABLE.of(callee) is None and not str(module).startswith("numpy")
    of = attribute(callee, "__objclass__") or (own if isinstance(own, type) else type(own) if own is not None else None)
    if of is None and isinstance(callee, type):
        of = callee
    return of is object or (of is not None and (issubclass(of, (*_CONTAINERS, BaseException)) or of.__module__ in _MODULES))


class Following:
    """A callable that records what it does itself when it is called with recorded values."""

    __slots__ = ()


#: Functions that record what they do themselves, like ``Following``.
FOLLOWING: Final[set[Any]] = set()


Given = tuple[Any, tuple[Any, ...], dict[str, Any]]


def unfolded(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given:
    """Return the callable that a call reaches in the end, with its args and kwargs: ``apply`` ops, ``functools.partial``, wrappers and bound
    methods of ufuncs are unwrapped.
    """
    if callee is apply or callee is apply_positional:
        return unfolded(args[0], tuple(args[1]), dict(args[2]) if callee is apply else {})
    if callee is apply_all:
        function, star, double, names, *values = args
        count = len(values) - len(names)
        named = dict(zip(names, values[count:], strict=True))
        if named.keys() & (double or {}).keys():
            return callee, args, kwargs
        return unfolded(function, (*values[:count], *star), {**named, **(double or {})})
    if shadow_memory.is_ufunc(bound_to(callee)) and not isinstance(callee, type):
        return getattr(type(callee.__self__), callee.__name__), (callee.__self__, *args), kwargs
    if callee is sum and args and type(args[0]) not in (list, tuple) and not _is_numeric(args[0]):
        return callee, (list(args[0]), *args[1:]), kwargs  # a list, because ``moves`` inspects the items
    if type(callee) in ENTERED_THROUGH:
        return unfolded(callee._function, args, kwargs)
    if type(callee) is types.MethodType and type(callee.__func__) in ENTERED_THROUGH:
        return unfolded(callee.__func__, (callee.__self__, *args), kwargs)
    if type(callee) is functools.partial:
        return unfolded(callee.func, (*callee.args, *args), {**callee.keywords, **kwargs})
    return callee, args, kwargs


def _is_numeric(x: Any) -> bool:
    return isinstance(x, int | float | complex) or shadow_memory.is_array(x) or shadow_memory.is_scalar(x) or hasattr(type(x), "__array_function__")


def entered(callee: Any, args: tuple[Any, ...], matters: Callable[[], bool]) -> Entered | None:
    """Return the Python function that a call runs and its arguments; None if there is none to follow.

    matters: does the call have an argument that changes?
    """
    kind = type(callee)
    if kind is types.MethodType:
        return entered(callee.__func__, (callee.__self__, *args), matters)
    if args and is_in(callee, _SPECIAL):
        return _of_class(args[0], _SPECIAL[callee], args)
    if is_in(callee, FOLLOWING):
        return None
    if kind is not types.FunctionType:
        return None if isinstance(callee, type) or TABLE.of(callee) is not None else _of_class(callee, "__call__", (callee, *args))
    if TABLE.of(callee) is not None or str(callee.__module__).startswith((_OPERATIONS, f"{_PACKAGE}.transforms")):
        return None
    if not _is_library(callee.__module__):
        return callee, args
    return (callee, args) if STANDARD.rule(callee) is None and matters() else None


def _of_class(instance: Any, name: str, args: tuple[Any, ...]) -> Entered | None:
    cls = type(instance)
    method = getattr(cls, name, None)
    return (method, args) if type(method) is types.FunctionType and not _is_library(cls.__module__) else None


def _is_library(module: Any) -> bool:
    return str(module).partition(".")[0] in _LIBRARIES


def is_made(callee: Any) -> bool:
    """Is callee a user class whose instances are made only by its own ``__init__`` (with ``object.__new__``)?"""
    if type(callee) is not type or _is_library(callee.__module__):
        return False
    cls: Any = callee
    return cls.__new__ is object.__new__ and type(cls.__init__) is types.FunctionType


__all__ = ["CALLING", "Following", "entered", "is_in", "is_made", "moves", "unfolded"]
