"""Paths of slots: the objects that contain a slot.

``parts`` describes a path as (the path of the object, the step from it); a path that begins in the state is a triple or a name.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

#: Number of repetitions of the same steps in a path after which the chain of objects is made real, and the most steps that are repeated.
REPETITIONS: Final = 8
PERIOD: Final = 3


def repeating_chain(parts: Sequence[Any], path: int) -> int | None:
    """Find where a long chain of nested objects with repeating steps begins that contains the slot; None if there is none."""
    steps, holders = [], []
    while len(parts[path]) == 2:
        path, step = parts[path]
        steps.append(step)
        holders.append(path)
    for period in range(1, PERIOD + 1):
        same = period
        while same < len(steps) and steps[same] == steps[same - period]:
            same += 1
        if same >= period * REPETITIONS:
            return holders[same // period * period - 1]
    return None


def items_of(parts: Sequence[Any], path: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the objects that contain a slot, the innermost first, each with the steps from one of its parts to the slot."""
    steps: tuple[Any, ...] = ()
    while len(parts[path]) == 2:
        path, step = parts[path]
        yield path, steps
        steps = (step, *steps)


def is_within(parts: Sequence[Any], path: int, whole: int) -> bool:
    """Is the slot path the slot whole, or one of its parts?"""
    while path != whole and len(parts[path]) == 2:
        path = parts[path][0]
    return path == whole
