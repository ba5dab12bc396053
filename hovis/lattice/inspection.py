"""Inspect values of user code without running any user code."""

from types import BuiltinMethodType, FunctionType, MethodType, MethodWrapperType, UnionType
from typing import Any, Final, TypeGuard, TypeVar, overload

_T = TypeVar("_T")


@overload
def is_a(value: object, cls: type[_T]) -> TypeGuard[_T]: ...


@overload
def is_a(value: object, cls: UnionType | tuple[type, ...]) -> bool: ...


def is_a(value: object, cls: type[_T] | UnionType | tuple[type, ...]) -> bool:
    """Whether the type of value is a subclass of cls. ``isinstance`` also reads ``value.__class__``, which may run code.

    >>> is_a(True, int), is_a("a", int | float)
    (True, False)
    """
    return issubclass(type(value), cls)


def attribute(value: object, name: str, default: Any = None) -> Any:
    """Read an attribute, for example ``__name__``, of a value that uses the standard attribute look-up; return default for other values.

    >>> attribute(len, "__name__"), attribute(3, "__name__", "none")
    ('len', 'none')
    """
    for base in type.mro(type(value)) if type(value) is not type else ():
        hooks = vars(base)
        if "__getattr__" in hooks or isinstance(hooks.get("__getattribute__"), FunctionType):
            return default
    return getattr(value, name, default)


_BOUND: Final = (MethodType, BuiltinMethodType, MethodWrapperType)


def bound_to(value: Any) -> Any:
    """Return the object that a method is bound to, or the module of a builtin function; None if value is neither.

    Other functions may also have an attribute ``__self__``, which need not be an object that they are bound to.

    >>> bound_to([3].append), bound_to(len).__name__, bound_to(bound_to)
    ([3], 'builtins', None)
    """
    return value.__self__ if is_a(value, _BOUND) else None
