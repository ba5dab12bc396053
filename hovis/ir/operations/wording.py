"""Messages of exceptions in the words of the running Python: the words are found by provoking the exception with a sample."""

import warnings
from collections.abc import Callable
from typing import Any, Final

#: Flags of classes (CPython: Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE).
_HEAP_TYPE: Final = 1 << 9
_IMMUTABLE: Final = 1 << 8


def name_of_class(cls: type) -> str:
    """The name of cls in CPython's messages: tp_name, in which a class of C code outside of builtins has its module."""
    is_written = cls.__flags__ & _HEAP_TYPE and not cls.__flags__ & _IMMUTABLE
    return cls.__name__ if is_written or cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def type_name(value: object) -> str:
    """The name of value's class in CPython's messages (Py_TYPE(value)->tp_name)."""
    return name_of_class(type(value))


#: Modules whose classes are named without them where the full name of a class is told.
_UNTOLD: Final = frozenset({"builtins", "__main__"})


#: All results of `wording`.
FOUND: Final[set[object]] = set()


def _full_name(cls: type) -> str:
    """Return the name of a class with its module (``%N`` of PyUnicode_FromFormat)."""
    module = cls.__module__
    return cls.__qualname__ if type(module) is not str or module in _UNTOLD else f"{module}.{cls.__qualname__}"


def about(words: str, cls: type, other: type) -> str:
    """Return words with the names of two classes (see `wording`)."""
    return words.format(name_of_class(cls), name_of_class(other), _full_name(cls), _full_name(other))


def complaint(words: str, value: object, other: object = None) -> str:
    """The message about value, and another object: words with the names of their classes (see `wording`)."""
    return about(words, type(value), type(other))


def message_of(call: Callable[[], object]) -> str:
    """Return the message of the exception that call raises in the running Python."""
    try:
        call()
    except Exception as error:
        return str(error)
    raise AssertionError("no exception")


def raises(call: Callable[[], object]) -> bool:
    """Does call raise an exception in the running Python?"""
    try:
        call()
    except Exception:
        return True
    return False


def wording(call: Callable[[Any], object], *methods: str, result: object = None) -> str:
    """Return the message of what call raises for an instance of a class with these methods, which return result, or an instance of another class. In it,
    ``{0}`` and ``{1}`` stand for the names of the two classes, ``{2}`` and ``{3}`` for those with their modules.
    """
    other = type("Other", (), {"__module__": "elsewhere"})() if result is None else result
    sample = type("Sample", (), {"__module__": "somewhere", **dict.fromkeys(methods, lambda *_: other)})()
    found = message_of(lambda: call(sample))
    for name, place in (("somewhere.Sample", "{2}"), ("elsewhere.Other", "{3}"), ("Sample", "{0}"), ("Other", "{1}")):
        found = found.replace(name, place)
    FOUND.add(found)
    return found


def _enter(manager: Any) -> None:
    with manager:
        pass


#: A ``with`` statement whose manager has no ``__enter__``, or no ``__exit__``; what is added if it is an asynchronous one.
NO_ENTER: Final = wording(_enter, "__exit__")
NO_EXIT: Final = wording(_enter, "__enter__")
IS_ASYNCHRONOUS: Final = wording(_enter, "__enter__", "__aenter__", "__aexit__").removeprefix(NO_EXIT)
_ASYNCHRONOUS: Final = ("__aenter__", "__aexit__")
#: Is ``__exit__`` looked up first (3.14)?
EXIT_FIRST: Final = wording(_enter) == NO_EXIT
def without_context(name: str, cls: type) -> str:
    """Return the words for a ``with`` statement with an object of this class, which has no method of this name."""
    found = {one for base in cls.__mro__ for one in _ASYNCHRONOUS if one in base.__dict__}
    return (NO_ENTER if name == "__enter__" else NO_EXIT) + IS_ASYNCHRONOUS * (len(found) == len(_ASYNCHRONOUS))


#: ``{**value}`` of what is no mapping.
NO_DICT: Final = wording(lambda sample: {**sample})
#: ``[*value]`` and ``f(**value)`` of what cannot be unpacked; does the latter tell the name of the function?
NO_ITERABLE: Final = wording(lambda sample: [*sample])
NO_MAPPING: Final = wording(lambda sample: _enter(**sample))
NO_KEYS: Final = wording(lambda sample: _enter(**sample), "keys")
TELLS_FUNCTION: Final = "argument after" in NO_MAPPING

#: ``warnings.warn`` with a category that is none, and with another class (which is named since 3.15).
NO_CATEGORY: Final = wording(lambda sample: warnings.warn("", sample, stacklevel=1))
NO_CATEGORY_CLASS: Final = wording(lambda sample: warnings.warn("", type(sample), stacklevel=1))
