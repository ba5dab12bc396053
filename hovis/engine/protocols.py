"""Python's protocols for classes written in Python, as Python that the engine traces through.

Each function is what CPython's slot function does (Objects/typeobject.c, Objects/abstract.c) once the special
methods have been looked up; the engine does the look-up, since classes are known.  Frames of this file are hidden.
"""

from collections.abc import Callable
from operator import index
from sys import maxsize
from typing import Any

from hovis.ir.operations import lacks, own_attribute

Method = Callable[..., Any]


def one(method: Method, a: Any, b: Any, fail: Method, x: Any, y: Any) -> Any:
    """A binary operation with one candidate (binary_op1)."""
    result = method(a, b)
    if result is not NotImplemented:
        return result
    return fail(x, y)


def two(first: Method, second: Method, a: Any, b: Any, c: Any, d: Any, fail: Method, x: Any, y: Any) -> Any:
    """A binary operation with two candidates, the first on (a, b), the second on (c, d)."""
    result = first(a, b)
    if result is not NotImplemented:
        return result
    result = second(c, d)
    if result is not NotImplemented:
        return result
    return fail(x, y)


def three(zero: Method, first: Method, second: Method, a: Any, b: Any, c: Any, d: Any, fail: Method, x: Any, y: Any) -> Any:
    """An in-place operation with its own method and two candidates of the binary one."""
    result = zero(x, y)
    if result is not NotImplemented:
        return result
    return two(first, second, a, b, c, d, fail, x, y)


def inverted(method: Method, a: Any, b: Any, fail: Method, x: Any, y: Any) -> Any:
    """``!=`` of a class that has only ``__eq__`` (object_richcompare)."""
    result = method(a, b)
    if result is not NotImplemented:
        return not result
    return fail(x, y)


def truth_by_bool(method: Method, x: Any) -> bool:
    """slot_nb_bool."""
    result = method(x)
    if result is True:
        return True
    if result is False:
        return False
    raise TypeError(f"__bool__ should return bool, returned {type(result).__name__}")


def truth_by_len(method: Method, x: Any) -> bool:
    """slot_nb_bool by ``__len__``."""
    return length(method, x) != 0


def length(method: Method, x: Any) -> int:
    """slot_sq_length."""
    result = method(x)
    size = result if type(result) is int else int(index(result))
    if size < 0:
        raise ValueError("__len__() should return >= 0")
    if size > maxsize:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return size


def formatted(method: Method, x: Any, spec: Any) -> str:
    """PyObject_Format."""
    result = method(x, spec)
    if isinstance(result, str):
        return result
    raise TypeError(f"__format__ must return a str, not {type(result).__name__}")


def text(method: Method, x: Any, name: str) -> str:
    """PyObject_Str and PyObject_Repr."""
    result = method(x)
    if type(result) is str or isinstance(result, str):
        return result
    raise TypeError(f"{name} returned non-string (type {type(result).__name__})")


def contained(method: Method, container: Any, item: Any) -> bool:
    """slot_sq_contains."""
    return bool(method(container, item))


def contained_by_iteration(container: Any, item: Any) -> bool:
    """_PySequence_IterSearch."""
    for other in container:
        if other is item or other == item:
            return True
    return False


def without_result(method: Method, *args: Any) -> None:
    """Behind setattr() and delattr(): what the method returns nobody sees."""
    method(*args)


def get_or_ask(getter: Method, hook: Method, instance: Any, name: str, *args: Any) -> Any:
    """slot_tp_getattr_hook: ``__getattr__`` answers where the attribute raises AttributeError, which nobody sees any more."""
    try:
        return getter(*args)
    except AttributeError:
        pass
    return hook(instance, name)


def own_or_ask(instance: Any, name: str, hook: Method) -> Any:
    """The same for a name that the class does not have."""
    if lacks(instance, name):
        return hook(instance, name)
    return own_attribute(instance, name)


def attribute_or(instance: Any, name: str, default: Any) -> Any:
    """``getattr`` with a default (builtin_getattr)."""
    try:
        return getattr(instance, name)
    except AttributeError:
        pass
    return default


def has_attribute(instance: Any, name: str) -> bool:
    """builtin_hasattr."""
    try:
        getattr(instance, name)
    except AttributeError:
        return False
    return True


def _wraps() -> bool:
    """Does an error of a ``__set_name__`` become a RuntimeError (else it is given a note)?"""

    class Failing:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyError

    try:
        type("A", (), {"a": Failing()})
    except KeyError:
        return False
    except RuntimeError:
        pass
    return True


_WRAPS = _wraps()


def defined(cls: type, naming: tuple[tuple[Method, Any, str], ...], init: Method | None, named: dict[str, Any]) -> type:
    """The end of type_new: ``__set_name__`` of what is in the namespace, ``__init_subclass__`` of the bases."""
    for method, value, name in naming:
        try:
            method(value, cls, name)
        except BaseException as error:
            told = f"Error calling __set_name__ on '{type(value).__name__}' instance {name!r} in '{cls.__name__}'"
            if _WRAPS:
                raise RuntimeError(told) from error
            error.add_note(told)
            raise
    if init is not None:
        init(cls, **named)
    return cls


def construct(instance: Any, init: Method, *args: Any, **kwargs: Any) -> Any:
    """type_call behind ``object.__new__``."""
    result = init(instance, *args, **kwargs)
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
    return instance


def construct_new(cls: type, new: Method, *args: Any, **kwargs: Any) -> Any:
    """type_call with a ``__new__`` written in Python and no ``__init__`` of its own."""
    return new(cls, *args, **kwargs)


def construct_both(cls: type, new: Method, init: Method, *args: Any, **kwargs: Any) -> Any:
    """type_call with ``__new__`` and ``__init__`` written in Python."""
    made = new(cls, *args, **kwargs)
    if isinstance(made, cls):
        return construct(made, type(made).__init__, *args, **kwargs)
    return made


def step(method: Method, iterator: Any, end: Any) -> Any:
    """``next(iterator, end)``."""
    try:
        return method(iterator)
    except StopIteration:
        return end
