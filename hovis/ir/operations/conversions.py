"""Conversions of the result of a special method to the number or the string that it has to be."""

import operator
import sys
from typing import Any


def _answering(name: str, result: object, like: object) -> Any:
    """Make an object with the special method of this name, which returns result, so that CPython checks the result itself. Its class has the name of
    the class of like.
    """
    cls = type(like)
    return type(cls.__name__, (), {name: lambda _: result, "__module__": cls.__module__, "__qualname__": cls.__qualname__})()


def converted(result: Any, name: str, of: object) -> int:
    """The int that ``__int__`` or ``__index__`` of an object returned; CPython's error if it is no int (PyNumber_Long, PyNumber_Index)."""
    made = _answering(name, result, of)
    return int(made) if name == "__int__" else operator.index(made)


def converted_to_float(result: Any, of: object) -> float:
    """The float that ``__float__`` of an object returned; CPython's error if it is no float (PyNumber_Float)."""
    return float(_answering("__float__", result, of))


def converted_to_hash(result: Any, of: object) -> int:
    """The hash for the int that ``__hash__`` of an object returned; CPython's error if it is no int (slot_tp_hash)."""
    if type(result) is int and -sys.maxsize <= result <= sys.maxsize:
        return -2 if result == -1 else result
    return hash(_answering("__hash__", result, of))


def format_value(value: object, spec: str = "") -> str:
    """FORMAT_VALUE: ``format(value, spec)``, but nothing is called for an exact str without spec."""
    return value if type(value) is str and not spec else format(value, spec)


def join_strings(*parts: str) -> str:
    """BUILD_STRING, for instances of str."""
    return "".join(parts)
