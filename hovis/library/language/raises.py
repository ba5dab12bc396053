"""The exceptions of operations that can raise only one exception, or one of a few classes (memory errors and signals apart).

A rule maps the types of the operands to the exception class and its arguments, each a constant, the operand at an Index,
or a Type if only the type is known.  There are rules only for operations that run no user code.  Messages are obtained by
executing a failing operation in the running CPython.  There are no rules for calls: a signal handler may raise in them.
"""

import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hovis.ir import operations as ops
from hovis.lattice import AbstractValue, Const, Type


class Index(NamedTuple):
    """A placeholder for an argument of the exception: the operand at this index."""

    at: int


#: The exception class (or several possible ones), and its arguments, or None if the arguments are not known.
Raised = tuple[type[BaseException] | tuple[type[BaseException], ...], tuple[Any, ...] | None]


def _told(fn: Callable[..., Any], *args: Any) -> Raised:
    """Call fn and return the class and the arguments of the exception that it raises."""
    try:
        fn(*args)
    except Exception as error:
        return type(error), error.args
    raise AssertionError(fn)


def _cls(kind: AbstractValue) -> type | None:
    if isinstance(kind, Const):
        return type(kind.value)
    return kind.cls if isinstance(kind, Type) else None


_INTS: Final = frozenset({int, bool})
_NUMBERS: Final = frozenset({int, bool, float})
#: The possible exceptions of a division that converts an int operand to float: the int may be too large.
_TOO_LARGE: Final = (ZeroDivisionError, OverflowError)


def _by_zero(fn: Callable[[Any, Any], Any], ints: bool = True) -> Callable[..., Raised | None]:
    of_ints, of_floats = _told(fn, 1, 0), _told(fn, 1.0, 0.0)

    def rule(a: AbstractValue, b: AbstractValue) -> Raised | None:
        kinds = {_cls(a), _cls(b)}
        if kinds == {float}:
            return of_floats
        if kinds <= _INTS and ints:
            return of_ints
        return (_TOO_LARGE, None) if kinds <= _NUMBERS else None

    return rule


#: Exact classes whose subscript by an int runs no user code.
_SEQUENCES: Final = frozenset({list, tuple, str, bytes, bytearray, range})
#: Classes of keys that are hashed and compared without user code.
_KEYS: Final = frozenset({int, bool, str, bytes, float, type(None)})


def _item(container: AbstractValue, key: AbstractValue, *_: AbstractValue) -> Raised | None:
    cls, kind = _cls(container), _cls(key)
    if cls in _SEQUENCES and kind in _INTS:
        return IndexError, (Type(str),)
    return (KeyError, (Index(1),)) if cls is dict and kind in _KEYS else None


def _set_item(container: AbstractValue, key: AbstractValue, value: AbstractValue) -> Raised | None:
    return (IndexError, (Type(str),)) if _cls(container) is list and _cls(key) in _INTS else None


def _unpacked(iterable: AbstractValue, *_: AbstractValue) -> Raised | None:
    return (ValueError, (Type(str),)) if _cls(iterable) in (list, tuple) else None


def _unbound(value: AbstractValue, name: AbstractValue, free: AbstractValue) -> Raised | None:
    if not isinstance(name, Const) or not isinstance(free, Const):
        return None
    error = ops.unbound(str(name.value), bool(free.value))
    return type(error), error.args


def _undefined(namespace: AbstractValue, name: AbstractValue) -> Raised | None:
    return _told(ops.load_global, {"__builtins__": {}}, name.value) if isinstance(name, Const) else None


RAISES: Final[dict[Any, Callable[..., Raised | None]]] = {
    operator.floordiv: _by_zero(operator.floordiv),
    operator.mod: _by_zero(operator.mod),
    operator.truediv: _by_zero(operator.truediv, ints=False),
    operator.getitem: _item,
    operator.delitem: lambda a, b: _item(a, b) if _cls(a) in (list, dict, bytearray) else None,
    operator.setitem: _set_item,
    ops.unpack: _unpacked,
    ops.check_bound: _unbound,
    ops.load_global: _undefined,
    ops.delete_global: _undefined,
}
