"""Memory in SSA form: the contents of mutable arrays at the point where the walker emits.

XLA has no memory that a program could write to: the content of a location (``locations``) is an SSA value, and a store makes
a new one.  An ``if`` returns the contents that differ between its branches; a loop carries the contents that are used in it, each of
which is added at its first use.

Where paths meet, a variable may be one array on one path and another array on the other.  If nothing else refers to either of them,
the variable gets a new location, with the content of the array from the path that was taken; otherwise it is one of several arrays
(``values.OneOf``), and a store goes to the one that is selected at run time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, UNDEF, Bound, NotLowerable, Num, OneOf, Ragged, Slot, Stored, Struct, Val
from hovis_xla.jaxlib.adapter import context, ir


class Loop:
    """A loop that is being emitted: its body, the memory contents before it, and the contents that it carries as arguments of its body."""

    def __init__(self, body: Any, outer: dict[Location, T]) -> None:
        self.body = body
        self.outer = outer
        self.carried: dict[Location, tuple[T, T]] = {}  # the content before the loop, and in the body


class Memory:
    """The contents of all locations. ``content`` holds what was written since the innermost loop began; other locations are looked up outside of
    it.
    """

    def __init__(self) -> None:
        self.content: dict[Location, T] = {}
        self.bottom: dict[Location, T] = {}  # the contents that the caller provides
        self.loops: list[Loop] = []

    def read(self, location: Location) -> T:
        return self._read(location, len(self.loops))

    def _read(self, location: Location, level: int) -> T:
        content = self.content if level == len(self.loops) else self.loops[level].outer
        found = content.get(location)
        if found is not None:
            return found
        if not level and location in self.bottom:
            return self.bottom[location]
        if not level:
            raise NotLowerable("a read of an array whose contents are not known here")
        loop = self.loops[level - 1]
        if location not in loop.carried:
            before = self._read(location, level - 1)
            argument = loop.body.add_argument(tensor_type(before.dtype, before.shape), ir.Location.unknown(context()))
            loop.carried[location] = before, T(argument, before.dtype, before.shape)
        return loop.carried[location][1]

    def knows(self, location: Location) -> bool:
        """Is the location defined at this point, on every path?"""
        return location in self.content or location in self.bottom or any(location in loop.outer for loop in self.loops)

    def known(self) -> set[Location]:
        """Return all locations that are defined at this point."""
        return {*self.content, *self.bottom, *(location for loop in self.loops for location in loop.outer)}


def joined(places: Sequence[Location]) -> Location:
    """Make a location for an array that is in one of these locations."""
    first = places[0]
    relies = frozenset[Location]().union(*(p.relies for p in places))
    return Location(first.dtype, first.shape, True, all(p.c_order for p in places), relies=relies)


def arrays_in(slot: Slot | None) -> list[Stored]:
    """Return the mutable arrays that a slot is or holds, in order."""
    if isinstance(slot, Ragged):
        slot = slot.base
    if isinstance(slot, Stored):
        return [slot]
    if isinstance(slot, Struct | OneOf):
        return [s for p in (slot.parts if isinstance(slot, Struct) else slot.members) for s in arrays_in(p)]
    return arrays_in(slot.instance) if isinstance(slot, Bound) else []


def locations(slot: Slot | None) -> set[Location]:
    """Return the locations of the mutable arrays that a slot is or holds."""
    return {s.place.location for s in arrays_in(slot)}


def moved(slot: Any, where: dict[Location, Location]) -> Any:
    """Return the slot with its arrays moved to other locations, as ``where`` maps them."""
    if not where or not locations(slot) & where.keys():
        return slot
    if isinstance(slot, Stored):
        location = where.get(slot.place.location, slot.place.location)
        return Stored(slot.num, replace(slot.place, location=location), slot.read)
    if isinstance(slot, Ragged):
        return replace(slot, base=moved(slot.base, where))
    if isinstance(slot, Struct):
        return Struct(slot.callee, tuple(moved(p, where) for p in slot.parts), slot.op)
    if isinstance(slot, OneOf):
        return OneOf(slot.which, tuple(moved(m, where) for m in slot.members))
    return Bound(slot.method, moved(slot.instance, where))


def same_memory(a: Place, b: Place) -> bool:
    """Are both places the same view of the same array?"""
    return a.location is b.location and a.skeleton == b.skeleton and all(x.ir == y.ir for x, y in zip(a.starts, b.starts, strict=True))


def rows_of(slots: Sequence[Slot]) -> list[tuple[Location | None, ...]]:
    """Return, for each array in a slot, its location on each path (None where the slot is not defined). ``slots`` has the slot on each path."""
    found = [None if s is UNDEF else [a.place.location for a in arrays_in(s)] for s in slots]
    counts = {len(f) for f in found if f is not None}
    if len(counts) == 1:
        return [tuple(None if f is None else f[k] for f in found) for k in range(counts.pop())]
    return [(location,) * len(slots) for f in found if f is not None for location in f]


def meet(rows: Iterable[tuple[Location | None, ...]], kept: Iterable[Location], made: dict[Any, Location]) -> dict[tuple[Location | None, ...], Location]:
    """Return a new location for each row that is joined: its locations differ and nothing else refers to them. ``kept`` has the locations that
    are referred to elsewhere; ``made`` caches the new locations.
    """
    rows = list(dict.fromkeys(rows))
    single = {row: {loc for loc in row if loc is not None} for row in rows}
    certain = set(kept).union(*(found for found in single.values() if len(found) == 1))
    joins: dict[tuple[Location | None, ...], Location] = {}
    for row in rows:
        mine = single[row]
        alike = len({(loc.dtype, loc.shape) for loc in mine}) == 1
        if len(mine) > 1 and alike and not mine & certain and not any(mine & single[other] for other in rows if other is not row):
            if row not in made:
                made[row] = joined([loc for loc in row if loc is not None])
            joins[row] = made[row]
    return joins


def content(t: T) -> Val:
    """Wrap the content of a location as a slot."""
    return Val(Num(ARRAY, t.dtype, t.shape), t.ir)
