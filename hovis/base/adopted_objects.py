"""Adopted objects: objects of the caller that, while a function runs, are objects of the trace and of nobody else.

A program that gets adopted objects takes their contents as inputs and returns their final contents: it never stores into
an object that is not its own, so it can be compiled.  Its caller stores the changes into the real objects.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Adopted:
    """Arguments as a graph. Each part of it is one of these:

    ("leaf", k)                 the k-th leaf
    ("known", value)
    ("tuple", class, parts)
    ("object", k)               the k-th object; the same object may occur in several places

    objects   for each object: its kind (list, dict, set, instance), class, keys and parts
    positional, named   the arguments
    """

    objects: tuple[tuple[str, type, tuple[Any, ...], tuple[Any, ...]], ...]
    positional: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]


def adopt(graph: Adopted, leaves: tuple[Any, ...]) -> Any:
    """Build the arguments of a graph: the positional ones, those by name, and all objects. The engine creates the objects as its own."""
    raise AssertionError("objects are adopted in a trace")


def release(objects: tuple[Any, ...], wholes: tuple[Any, ...]) -> Any:
    """Return the keys and parts of each adopted object, which is the real one (of wholes) from here on."""
    raise AssertionError("objects are adopted in a trace")


def program(fn: Callable[..., Any], graph: Adopted, wholes: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
    """Call fn with the arguments of a graph; return its result and the final contents of the graph's objects."""
    args, named, objects = adopt(graph, leaves)
    result = fn(*args, **named)
    return result, release(objects, wholes)
