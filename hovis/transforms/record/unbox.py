"""Removal of boxes from what a recorded program leaves, so that nobody else sees them."""

import collections
import types
from collections.abc import Iterator
from typing import Any

from hovis.transforms.record.boxes import Box
from hovis.transforms.record.tape import Tape


def cleaned(x: Any, tape: Tape, done: dict[int, Any]) -> Any:
    """Return x without the tape's boxes; mutable objects are changed in place. ``done`` maps the ids of objects to what was made of them."""
    kind = type(x)
    if kind is Box:
        return tape.outside(x) if x.tape is tape else x
    if id(x) in done:
        return done[id(x)]
    if kind in (int, float, str, bool, type(None), complex, bytes, types.ModuleType, types.BuiltinFunctionType) or isinstance(x, type):
        return x
    if issubclass(kind, tuple):
        items = [cleaned(item, tape, done) for item in x]
        if all(a is b for a, b in zip(items, x, strict=True)):
            return x
        return tuple(items) if kind is tuple else tuple.__new__(kind, items)
    done[id(x)] = x
    if isinstance(x, list | collections.deque):
        for k, item in enumerate(list(x)):
            new = cleaned(item, tape, done)
            if new is not item:
                x[k] = new
    elif isinstance(x, dict):
        shallow = "__builtins__" in x
        for key, item in list(x.items()):
            new = item if shallow and type(item) is not Box else cleaned(item, tape, done)
            if new is not item:
                x[key] = new
    elif isinstance(x, set):
        new_items = [cleaned(item, tape, done) for item in x]
        if any(type(item) is Box for item in x):
            x.clear()
            x.update(new_items)
    elif kind is types.CellType:
        try:
            x.cell_contents = cleaned(x.cell_contents, tape, done)
        except ValueError:
            return x
    elif not callable(x):
        _attributes(x, tape, done)
    return x


def _attributes(x: Any, tape: Tape, done: dict[int, Any]) -> None:
    """Remove the boxes from the attributes of an instance, in its dictionary or in slots."""
    held = getattr(x, "__dict__", None)
    if isinstance(held, dict):
        cleaned(held, tape, done)
    for member, item in _slots(x):
        new = cleaned(item, tape, done)
        if new is not item:
            member.__set__(x, new)


def _slots(x: Any) -> Iterator[tuple[types.MemberDescriptorType, Any]]:
    """Yield the slots of an instance that hold a value, each with its value."""
    for base in type(x).__mro__:
        for member in vars(base).values():
            if type(member) is types.MemberDescriptorType and base.__flags__ & (1 << 9):
                try:
                    yield member, member.__get__(x)
                except AttributeError:
                    continue


def members(x: Any) -> dict[str, Any] | None:
    """Return the attributes of an instance of a user class, by name; None if x is anything else."""
    kind: Any = type(x)
    if not kind.__flags__ & (1 << 9) or kind.__new__ is not object.__new__ or callable(x):
        return None
    return {**(getattr(x, "__dict__", None) or {}), **{member.__name__: item for member, item in _slots(x)}}
