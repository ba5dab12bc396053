"""Look at values of the user's without running any code of theirs."""

from types import BuiltinMethodType, FunctionType, MethodType, MethodWrapperType, UnionType
from typing import Any, Final, TypeGuard, TypeVar, overload

_T = TypeVar("_T")


@overload
def is_a(value: object, cls: type[_T]) -> TypeGuard[_T]: ...


@overload
def is_a(value: object, cls: UnionType | tuple[type, ...]) -> bool: ...


def is_a(value: object, cls: type[_T] | UnionType | tuple[type, ...]) -> bool:
    """Is a value of this class, by its type alone?  ``isinstance`` asks the value for its ``__class__`` as well, which may run code.

    >>> is_a(True, int), is_a("a", int | float)
    (True, False)
    """
    return issubclass(type(value), cls)


def attribute(value: object, name: str, default: Any = None) -> Any:
    """Read an attribute, such as ``__name__``, of what looks for its attributes as all objects do; default for the rest.

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
    """The object that a method is bound to, the module of a builtin function; None: value is neither.

    A function may have an attribute ``__self__`` as well, of which it need not say the truth.

    >>> bound_to([3].append), bound_to(len).__name__, bound_to(bound_to)
    ([3], 'builtins', None)
    """
    return value.__self__ if is_a(value, _BOUND) else None
