"""Objects of the caller's that are adopted: for as long as a function runs they are objects of the trace, and nobody else's.

A program that is given such objects takes what is in them, and gives what has become of it: it stores into nothing that
is not its own, so that it can be compiled.  Who calls it puts what has changed into the real objects.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Adopted:
    """Arguments as a graph.  A part of it is one of these:

    ("leaf", k)                 the k-th leaf
    ("known", value)
    ("tuple", class, parts)
    ("object", k)               the k-th object, wherever it stands

    objects   of each object kind (list, dict, set, instance), class, keys, parts
    positional, named   the arguments
    """

    objects: tuple[tuple[str, type, tuple[Any, ...], tuple[Any, ...]], ...]
    positional: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]


def adopt(graph: Adopted, leaves: tuple[Any, ...]) -> Any:
    """The arguments of a graph: positional ones, those by name, and all objects.  The engine makes them of its own."""
    raise AssertionError("objects are adopted in a trace")


def release(objects: tuple[Any, ...], wholes: tuple[Any, ...]) -> Any:
    """Keys and parts of each adopted object, which is the real one (of wholes) from here on."""
    raise AssertionError("objects are adopted in a trace")


def program(fn: Callable[..., Any], graph: Adopted, wholes: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
    """What fn gives for the arguments of a graph, and what it has made of its objects."""
    args, named, objects = adopt(graph, leaves)
    result = fn(*args, **named)
    return result, release(objects, wholes)
