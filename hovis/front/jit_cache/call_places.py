"""Mapping of call arguments to parameters: the signature by which a function binds a call, and the engine's places."""

import inspect
from typing import Any, Final

from hovis.arguments.signature import own_signature
from hovis.base import own_code
from hovis.errors import SpecError
from hovis.front.callables import python_function
from hovis.front.jit_cache.cache_keys import Path

own_code.leave_as_calls(__file__)

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def signature_of(fn: Any) -> inspect.Signature | None:
    """Return the signature by which fn binds a call now (whatever it wraps or declares), or None if it has none."""
    try:
        function, bound = python_function(fn)
    except SpecError:
        return None
    if function is None:
        return None
    parameters = list(own_signature(function).parameters.values())
    return inspect.Signature(parameters[len(bound) :] if parameters and parameters[0].kind in _POSITIONAL else parameters)


def names_of(fn: Any) -> list[str]:
    """Return the parameter names of a callable that is not written in Python, or an empty list if it does not tell them."""
    try:
        return list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return []


class Places:
    """Maps the engine's places to the arguments of a call. A place is a parameter, in the order of the code's local variables, followed by
    indices into it.
    """

    __slots__ = ("bound", "by_name", "double", "names", "plain", "star")

    def __init__(self, fn: Any, signature: inspect.Signature | None) -> None:
        given = list(signature.parameters.values()) if signature else []
        function, bound = python_function(fn) if signature else (None, ())
        self.bound = len(bound)
        plain = [p for p in given if p.kind in _POSITIONAL]
        named = [p.name for p in given if p.kind is inspect.Parameter.KEYWORD_ONLY]
        hidden = self.bound if function and function.__code__.co_argcount else 0
        self.names: list[str | None] = [*[None] * hidden, *(p.name for p in plain), *named]
        self.plain = hidden + len(plain)
        self.star = len(self.names)
        self.double = self.star + any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in given)
        self.by_name = {p.name for p in plain if p.kind is not inspect.Parameter.POSITIONAL_ONLY} | set(named)

    def paths(self, place: tuple[int, ...], kwargs: dict[str, Any]) -> list[Path]:
        """Return the paths at which the argument at `place` may be found in a call: by position, by keyword."""
        head, *rest = place
        if head == self.double:
            return [([name for name in kwargs if name not in self.by_name][rest[0]], *rest[1:])]
        if head >= self.star:
            return [(self.plain - self.bound + rest[0], *rest[1:])]
        by_position: list[Path] = [(head - self.bound, *rest)] if self.bound <= head < self.plain else []
        name = self.names[head]
        return by_position + ([(name, *rest)] if name in self.by_name and name is not None else [])
