"""Conversions of the result of a special method to the number or the string that it has to be."""

import operator
import sys
from typing import Any


class _Answer:
    """An object whose special method returns a given result, so that CPython checks the result itself."""

    def __init__(self, name: str, result: object) -> None:
        self.made = type("object", (), {name: lambda _: result})()


def converted(result: Any, name: str) -> int:
    """The int that ``__int__`` or ``__index__`` returned; CPython's error if it is no int (PyNumber_Long, PyNumber_Index)."""
    made: Any = _Answer(name, result).made
    return int(made) if name == "__int__" else operator.index(made)


def converted_to_float(result: Any, name: str) -> float:
    """The float that ``__float__`` returned; CPython's error if it is no float (PyNumber_Float)."""
    return float(type(name, (), {"__float__": lambda _: result})())


def converted_to_hash(result: Any) -> int:
    """The hash for the int that ``__hash__`` returned; CPython's error if it is no int (slot_tp_hash)."""
    if type(result) is int and -sys.maxsize <= result <= sys.maxsize:
        return -2 if result == -1 else result
    return hash(_Answer("__hash__", result).made)


def format_value(value: object, spec: str = "") -> str:
    """FORMAT_VALUE: ``format(value, spec)``, but nothing is called for an exact str without spec."""
    return value if type(value) is str and not spec else format(value, spec)


def join_strings(*parts: str) -> str:
    """BUILD_STRING, for instances of str."""
    return "".join(parts)
