"""Paths of slots: the objects in which a slot lies.

``parts`` has a path as (the path of the object, the step from it), and one that begins in a frame as three parts or a name.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

#: So often the same steps lead further down, of so many steps at the most, before what they lead through is made real.
WINDINGS: Final = 8
PERIOD: Final = 3


def wound(parts: Sequence[Any], path: int) -> int | None:
    """Where a chain of objects in objects of the same make begins, in which a slot lies deep; None: in none."""
    steps, holders = [], []
    while len(parts[path]) == 2:
        path, step = parts[path]
        steps.append(step)
        holders.append(path)
    for period in range(1, PERIOD + 1):
        same = period
        while same < len(steps) and steps[same] == steps[same - period]:
            same += 1
        if same >= period * WINDINGS:
            return holders[same // period * period - 1]
    return None


def items_of(parts: Sequence[Any], path: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The objects in which a slot lies, the innermost first, each with the steps to it from one of their parts."""
    steps: tuple[Any, ...] = ()
    while len(parts[path]) == 2:
        path, step = parts[path]
        yield path, steps
        steps = (step, *steps)


def is_within(parts: Sequence[Any], path: int, whole: int) -> bool:
    """Is a slot the other, or one of its parts?"""
    while path != whole and len(parts[path]) == 2:
        path = parts[path][0]
    return path == whole
