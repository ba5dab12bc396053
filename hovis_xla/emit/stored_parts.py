"""What is read of an array that has been stored into, where it is known which elements: what stood there before, or what was stored.

The gradient of ``c[0] + c[1] + …`` adds to one element after the other.  XLA would do these stores one by one, each with a copy
and a kernel of its own.  Here a store puts an array together of parts, and a part of that is found again.
"""

from collections.abc import Sequence
from typing import Any, Final

from hovis_xla.emit.fp_barriers import name_of, numbers
from hovis_xla.jaxlib.adapter import ir

#: So many stores are looked through at most.
FAR: Final = 64

Bounds = Sequence[int]


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(ir.RankedTensorType(value.type).shape)


def before(value: Any, starts: Bounds, stops: Bounds) -> tuple[Any, Bounds, Bounds]:
    """A part of an array as a part of an earlier one, or of what was put there."""
    for _ in range(FAR):
        found = _before(value, starts, stops)
        if found is None:
            break
        value, starts, stops = found
    return value, starts, stops


def _before(value: Any, starts: Bounds, stops: Bounds) -> tuple[Any, Bounds, Bounds] | None:
    name = name_of(value)
    if name == "dynamic_update_slice":
        array, update, *places = value.owner.operands
        known = numbers(places)
        if known is None:
            return None
        size = shape_of(update)
        at = [max(0, min(int(k), d - n)) for k, d, n in zip(known, shape_of(array), size, strict=True)]
        if any(b <= k or k + n <= a for a, b, k, n in zip(starts, stops, at, size, strict=True)):
            return array, starts, stops
        return _within(update, at, starts, stops)
    if name == "concatenate":
        axis, start = axis_of(value), 0
        for part in value.owner.operands:
            stop = start + shape_of(part)[axis]
            if start <= starts[axis] and stops[axis] <= stop:
                return _within(part, [start if k == axis else 0 for k in range(len(starts))], starts, stops)
            start = stop
    return None


def _within(part: Any, at: Bounds, starts: Bounds, stops: Bounds) -> tuple[Any, Bounds, Bounds] | None:
    """The same part of what stands at a place, if it is in there."""
    if not all(k <= a and b <= k + n for a, b, k, n in zip(starts, stops, at, shape_of(part), strict=True)):
        return None
    return part, [a - k for a, k in zip(starts, at, strict=True)], [b - k for b, k in zip(stops, at, strict=True)]


def axis_of(value: Any) -> int:
    """Along which axis something is put together."""
    return int(value.owner.attributes["dimension"])


def pieces(value: Any, axis: int, start: int, stop: int) -> list[tuple[Any, int, int]]:
    """The parts that an array is made of between two places of an axis: of which array, and from where to where."""
    if start >= stop:
        return []
    if name_of(value) != "concatenate" or axis_of(value) != axis:
        return [(value, start, stop)]
    found, at = [], 0
    for part in value.owner.operands:
        size = shape_of(part)[axis]
        found += pieces(part, axis, max(start - at, 0), min(stop - at, size))
        at += size
    return found


def filling(value: Any) -> Any:
    """The number that a whole array is full of, if it is made of one."""
    if name_of(value) == "broadcast_in_dim" and not shape_of(value.owner.operands[0]):
        return value.owner.operands[0]
    return None
