"""Protocols for classes written in Python, themselves written in Python, which the engine traces through.

Each function does what CPython's slot function does (Objects/typeobject.c, Objects/abstract.c) after the special methods
have been looked up; the engine does the lookup, since classes are known.  Frames of this file are hidden.
"""

import abc
import operator
import sys
from collections.abc import Callable
from typing import Any, Final

from hovis.ir.operations import complaint, converted, converted_to_float, converted_to_hash, is_iterator, lacks, own_attribute, type_name
from hovis.ir.operations.wording import raises, wording

Method = Callable[..., Any]

#: What CPython says of a special method that returns an object of a wrong class.
_NO_BOOL: Final = wording(bool, "__bool__")
_NO_TEXT: Final = {"__str__": wording(str, "__str__"), "__repr__": wording(repr, "__repr__")}
_NO_FORMAT: Final = wording(format, "__format__")
_NO_HINT: Final = wording(operator.length_hint, "__length_hint__")
_NEGATIVE_HINT: Final = wording(operator.length_hint, "__length_hint__", result=-1)
_NO_CONTAINER: Final = wording(lambda sample: 1 in sample)
_NO_ITERATOR: Final = wording(iter, "__iter__")


def one(method: Method, a: Any, b: Any, fail: Method, x: Any, y: Any) -> Any:
    """A binary operation with one candidate (binary_op1)."""
    result = method(a, b)
    if result is not NotImplemented:
        return result
    return fail(x, y)


def two(first: Method, a: Any, b: Any, second: Method, c: Any, d: Any, fail: Method, x: Any, y: Any) -> Any:
    """A binary operation with two candidates, the first on (a, b), the second on (c, d)."""
    result = first(a, b)
    if result is not NotImplemented:
        return result
    result = second(c, d)
    if result is not NotImplemented:
        return result
    return fail(x, y)


def three(
    zero: Method, u: Any, v: Any, first: Method, a: Any, b: Any, second: Method, c: Any, d: Any, fail: Method, x: Any, y: Any
) -> Any:
    """An in-place operation with its own method and two candidates of the binary one."""
    result = zero(u, v)
    if result is not NotImplemented:
        return result
    return two(first, a, b, second, c, d, fail, x, y)


def contrary(equal: Method) -> Method:
    """Make ``!=`` for a class that has only ``__eq__`` (object_richcompare)."""

    def differs(a: Any, b: Any) -> Any:
        result = equal(a, b)
        return result if result is NotImplemented else not result

    return differs


def truth_by_bool(method: Method, x: Any) -> bool:
    """slot_nb_bool."""
    result = method(x)
    if result is True:
        return True
    if result is False:
        return False
    raise TypeError(complaint(_NO_BOOL, x, result))


def truth_by_len(method: Method, x: Any) -> bool:
    """slot_nb_bool by ``__len__``."""
    return bool(length(method, x))


def length(method: Method, x: Any) -> int:
    """slot_sq_length."""
    result = method(x)
    if type(result) is not int:
        result = operator.index(result)
    if result < 0:
        raise ValueError("__len__() should return >= 0")
    if result > sys.maxsize:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return result


def text(method: Method, x: Any, name: str) -> str:
    """PyObject_Str and PyObject_Repr."""
    result = method(x)
    if type(result) is str or isinstance(result, str):
        return result
    raise TypeError(complaint(_NO_TEXT[name], x, result))


def formatted(method: Method, x: Any, spec: Any) -> str:
    """builtin_format, and PyObject_Format."""
    if type(spec) is not str and not isinstance(spec, str):
        raise TypeError(f"format() argument 2 must be str, not {'None' if spec is None else type_name(spec)}")
    result = method(x, spec)
    if type(result) is str or isinstance(result, str):
        return result
    raise TypeError(complaint(_NO_FORMAT, x, result))


def formatted_as_text(x: Any, spec: str) -> str:
    """object___format___impl."""
    if len(spec) > 0:
        raise TypeError(f"unsupported format string passed to {type_name(x)}.__format__")
    return str(x)


def item_by_index(method: Method, sequence: Any, key: Any) -> Any:
    """Get an item of a builtin sequence by an instance with ``__index__``."""
    return sequence[as_index(method, key)]


def store_by_index(method: Method, sequence: Any, key: Any, value: Any) -> None:
    """Store an item of a builtin sequence by an instance with ``__index__``."""
    sequence[as_index(method, key)] = value


def delete_by_index(method: Method, sequence: Any, key: Any) -> None:
    """Delete an item of a builtin sequence by an instance with ``__index__``."""
    del sequence[as_index(method, key)]


def length_hint(x: Any, default: Any, size: Method | None, hint: Method | None) -> Any:
    """PyObject_LengthHint: by ``__len__`` or ``__length_hint__``, whose TypeErrors are ignored."""
    if size is not None:
        try:
            return length(size, x)
        except TypeError:
            pass
    if hint is None:
        return default
    try:
        result = hint(x)
    except TypeError:
        return default
    if result is NotImplemented:
        return default
    if not isinstance(result, int):
        raise TypeError(complaint(_NO_HINT, x, result))
    if result < 0:
        raise ValueError(complaint(_NEGATIVE_HINT, x))
    return result


def as_index(method: Method, x: Any) -> int:
    """PyNumber_Index."""
    result = method(x)
    if type(result) is int:
        return result
    return converted(result, "__index__", x)


def as_int(method: Method, x: Any, name: str) -> int:
    """PyNumber_Long."""
    result = method(x)
    if type(result) is int:
        return result
    return converted(result, name, x)


def as_float(method: Method, x: Any) -> float:
    """PyNumber_Float."""
    result = method(x)
    if type(result) is float:
        return result
    return converted_to_float(result, x)


def by_index(fn: Method, method: Method, x: Any) -> Any:
    """Call a builtin that takes an index."""
    return fn(as_index(method, x))


def power_modulo(method: Method, x: Any, y: Any, z: Any) -> Any:
    """ternary_op, of a class with ``__pow__``."""
    result = method(x, y, z)
    if result is not NotImplemented:
        return result
    raise TypeError(f"unsupported operand type(s) for ** or pow(): '{type_name(x)}', '{type_name(y)}', '{type_name(z)}'")


def hashed(method: Method, x: Any) -> int:
    """slot_tp_hash."""
    return converted_to_hash(method(x), x)


def contained(method: Method, container: Any, item: Any) -> bool:
    """slot_sq_contains."""
    return bool(method(container, item))


def contained_by_iteration(container: Any, item: Any) -> bool:
    """_PySequence_IterSearch."""
    iterator = None
    try:
        iterator = iter(container)
    except TypeError:
        pass
    if iterator is None:
        raise TypeError(complaint(_NO_CONTAINER, container))
    for other in iterator:
        if other is item or other == item:
            return True
    return False


def without_result(method: Method, *args: Any) -> None:
    """setattr() and delattr(): call the method, and discard its result."""
    method(*args)


def get_or_ask(getter: Method, hook: Method, instance: Any, name: str, *args: Any) -> Any:
    """slot_tp_getattr_hook: ``__getattr__`` is called if getting the attribute raises AttributeError, which is dropped."""
    try:
        return getter(*args)
    except AttributeError:
        pass
    return hook(instance, name)


def own_or_ask(instance: Any, name: str, hook: Method) -> Any:
    """slot_tp_getattr_hook for a name that the class does not have."""
    if lacks(instance, name, type(instance)):
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


def iterator_of(method: Method, x: Any) -> Any:
    """PyObject_GetIter."""
    found = method(x)
    if is_iterator(found):
        return found
    raise TypeError(complaint(_NO_ITERATOR, x, found))


def by_position(sequence: Any) -> Any:
    """iter_iternext of Objects/iterobject.c: iterate over an instance of a class that has only ``__getitem__``."""
    at = 0
    while True:
        try:
            item = sequence[at]
        except (IndexError, StopIteration):
            return
        at += 1
        yield item


def step(method: Method, iterator: Any, end: Any) -> Any:
    """``next(iterator, end)``."""
    try:
        return method(iterator)
    except StopIteration:
        return end


def match_class(subject: Any, cls: type, itself: bool, names: tuple[str, ...], complaint: str | None) -> tuple[Any, ...] | None:
    """match_class of Python/ceval.c: None if subject is not an instance, or lacks an attribute."""
    if not isinstance(subject, cls):
        return None
    found: tuple[Any, ...] = (subject,) if itself else ()
    for name in names:
        try:
            value = getattr(subject, name)
        except AttributeError:
            return None
        found += (value,)
    if complaint is not None:
        raise TypeError(complaint)
    return found


def match_keys(subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """match_keys of Python/ceval.c."""
    missing = object()
    get = subject.get
    found: tuple[Any, ...] = ()
    for k, key in enumerate(keys):
        if key in keys[:k]:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        value = get(key, missing)
        if value is missing:
            return None
        found += (value,)
    return found


def is_instance(check: Method, cls: type, x: Any) -> bool:
    """object_isinstance by the ``__instancecheck__`` of a metaclass (object_recursive_isinstance)."""
    if type(x) is cls:
        return True
    return bool(check(cls, x))


class _NoClass:
    """An object without ``__class__``."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise AttributeError


#: Does ``isinstance`` with an abstract class raise the AttributeError of an object without ``__class__`` (until 3.13)?
_NEEDS_CLASS: Final = raises(lambda: isinstance(_NoClass(), abc.ABC))


def shows_instance(classes: tuple[type, ...], x: Any) -> bool:
    """object_isinstance and _abc__abc_instancecheck_impl, where the class of x is none of classes: its ``__class__`` may be."""
    for cls in classes:
        if isinstance(cls, abc.ABCMeta):
            try:
                shown = x.__class__
            except AttributeError:
                if _NEEDS_CLASS:
                    raise
                continue
            if shown is not type(x) and issubclass(shown, cls):
                return True
            continue
        try:
            shown = x.__class__
        except AttributeError:
            continue
        if shown is not type(x) and isinstance(shown, type) and issubclass(shown, cls):
            return True
    return False


# ------------------------------------------------------------------------------------------------- subclasses of builtins


def subscript(inside: Any, missing: Method, instance: Any, key: Any) -> Any:
    """dict_subscript of a class with ``__missing__``."""
    if key in inside:
        return inside[key]
    return missing(instance, key)


def in_place(change: Method, instance: Any, inside: Any, other: Any) -> Any:
    """Apply an in-place operator to the builtin value that an instance holds, and return the instance."""
    change(inside, other)
    return instance
