"""Calls, lookup of special methods for protocols, and attributes of the instance itself."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from hovis.ir.operations.sentinels import UNBOUND
from hovis.ir.operations.wording import complaint, without_context


def resume(exits: Any, *values: object) -> object:
    """Continue activations in their original code, and return the result of the outermost one. exits: an ``Exit``; values: of their variables and
    stacks, UNBOUND for no value.
    """
    begin = exits.begin(values, UNBOUND)
    del values  # from now on the continued activations hold them
    return begin()


def continued_generator(rest: Any, begun: bool, *values: object) -> object:
    """A generator whose body is continued in its original code. rest: a ``Continuation``; begun: it stands at a yield, which is executed once more;
    values: of its variables and stack, and those of the activations that it has called.
    """
    begin = rest.begin(values, UNBOUND)
    del values
    made = begin()
    if begun:
        next(made)
    return made


def apply(function: Callable[..., object], args: Iterable[object], kwargs: Mapping[str, object]) -> object:
    """``function(*args, **kwargs)``."""
    return function(*args, **kwargs)


def apply_positional(function: Callable[..., object], args: Iterable[object]) -> object:
    """``function(*args)``."""
    return function(*args)


def apply_all(function: Any, star: Iterable[object], double: Mapping[str, object] | None, names: tuple[str, ...], *values: object) -> object:
    """``function(*values, *star, **named, **double)``, where the last values are passed by the keywords in names."""
    count = len(values) - len(names)
    named = dict(zip(names, values[count:], strict=True))
    return function(*values[:count], *star, **named, **(double or {}))


def method_of(special: str, instance: object, words: str) -> object:
    """The special method of the type of instance, bound (``_PyObject_LookupSpecial``); TypeError with these words (see wording) if there is none."""
    for cls in type(instance).__mro__:
        if special in cls.__dict__:
            found = cls.__dict__[special]
            get = getattr(type(found), "__get__", None)
            return found if get is None else get(found, instance, type(instance))
    raise TypeError(complaint(words, instance))


def context_enter(manager: object) -> object:
    """The bound ``__enter__`` of a context manager (BEFORE_WITH, LOAD_SPECIAL)."""
    return method_of("__enter__", manager, without_context("__enter__", type(manager)))


def context_exit(manager: object) -> object:
    """The bound ``__exit__`` of a context manager (BEFORE_WITH, LOAD_SPECIAL)."""
    return method_of("__exit__", manager, without_context("__exit__", type(manager)))


def lacks(instance: object, name: str, cls: type) -> bool:
    """Is the instance still of this class, and does it have no attribute of that name itself? (The class may have one.)"""
    if type(instance) is not cls:
        return False
    for base in cls.__mro__:
        if name in base.__dict__:
            return name not in _attribute(instance, "__dict__")
    try:
        _attribute(instance, name)
    except AttributeError:
        return True
    return False


def is_method_of(cls: type, instance: object, name: str) -> bool:
    """Is the instance still of this class, and does no attribute of its own hide the method of that name in the class?

    A method is bound again each time that it is read.
    """
    return type(instance) is cls and getattr(instance, name, None) is not getattr(instance, name, None)


_attribute: Final = object.__getattribute__


def keeps(instance: object, cls: type) -> bool:
    """Is an instance that other code has seen still of this class?"""
    return type(instance) is cls


def inherits(value: object, cls: type) -> bool:
    """Is cls the class of value or one of its base classes, whatever these claim (PyObject_TypeCheck)?"""
    return cls in type(value).__mro__


def own_attribute(instance: object, name: str) -> object:
    """The attribute of that name of the instance itself, which its class does not have."""
    return _attribute(instance, name)
