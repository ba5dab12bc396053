"""What is in the arrays that are stored into, at the place where the walker emits.

XLA has no memory that a program could write to: the content of a location (``locations``) is a value, and a store makes
the next one.  An ``if`` gives the contents that differ on its sides; a loop carries those that are used in it, which is
found out when they are.

Where paths meet, a variable may be one array on one path and another on the other.  If nothing else refers to either, it
is a location of its own from there on, with the content of the one that was meant; else it is one of several
(``values.OneOf``), and a store goes to the one that it is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, UNDEF, Bound, NotLowerable, Num, OneOf, Ragged, Slot, Stored, Struct, Val
from hovis_xla.jaxlib.adapter import context, ir


class Loop:
    """A loop that is being emitted: what was in memory before it, and what it carries, as arguments of its body."""

    def __init__(self, body: Any, outer: dict[Location, T]) -> None:
        self.body = body
        self.outer = outer
        self.carried: dict[Location, tuple[T, T]] = {}  # what it is before the loop, and in the body


class Memory:
    """``content`` is what has been written since the innermost loop began; the rest is looked up outside."""

    def __init__(self) -> None:
        self.content: dict[Location, T] = {}
        self.bottom: dict[Location, T] = {}  # what the caller gives
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
            raise NotLowerable("an array of which nothing is known here")
        loop = self.loops[level - 1]
        if location not in loop.carried:
            before = self._read(location, level - 1)
            argument = loop.body.add_argument(tensor_type(before.dtype, before.shape), ir.Location.unknown(context()))
            loop.carried[location] = before, T(argument, before.dtype, before.shape)
        return loop.carried[location][1]

    def knows(self, location: Location) -> bool:
        """Is it there at this place, and not made on some path only?"""
        return location in self.content or location in self.bottom or any(location in loop.outer for loop in self.loops)

    def known(self) -> set[Location]:
        """All that is there at this place."""
        return {*self.content, *self.bottom, *(location for loop in self.loops for location in loop.outer)}

    def write(self, location: Location, new: T) -> None:
        self.content[location] = new


def joined(places: Sequence[Location]) -> Location:
    """A location for what is one of these."""
    first = places[0]
    relies = frozenset[Location]().union(*(p.relies for p in places))
    return Location(first.dtype, first.shape, True, all(p.c_order for p in places), relies=relies)


def arrays_in(slot: Slot | None) -> list[Stored]:
    """The arrays that may be stored into which a slot is or holds, in order."""
    if isinstance(slot, Ragged):
        slot = slot.base
    if isinstance(slot, Stored):
        return [slot]
    if isinstance(slot, Struct | OneOf):
        return [s for p in (slot.parts if isinstance(slot, Struct) else slot.members) for s in arrays_in(p)]
    return arrays_in(slot.instance) if isinstance(slot, Bound) else []


def locations(slot: Slot | None) -> set[Location]:
    """The memory that a slot refers to."""
    return {s.place.location for s in arrays_in(slot)}


def moved(slot: Any, where: dict[Location, Location]) -> Any:
    """A slot whose arrays are in other locations."""
    if not where or not locations(slot) & where.keys():
        return slot
    if isinstance(slot, Stored):
        location = where.get(slot.place.location, slot.place.location)
        return Stored(slot.num, slot.place.at(location), slot.read)
    if isinstance(slot, Ragged):
        return replace(slot, base=moved(slot.base, where))
    if isinstance(slot, Struct):
        return Struct(slot.callee, tuple(moved(p, where) for p in slot.parts), slot.op)
    if isinstance(slot, OneOf):
        return OneOf(slot.which, tuple(moved(m, where) for m in slot.members))
    return Bound(slot.method, moved(slot.instance, where))


def same_memory(a: Place, b: Place) -> bool:
    """Are both the same view of the same array?"""
    return a.location is b.location and a.skeleton == b.skeleton and all(x.ir == y.ir for x, y in zip(a.starts, b.starts, strict=True))


def rows_of(slots: Sequence[Slot]) -> list[tuple[Location | None, ...]]:
    """The locations that one slot has on each path, array by array (None: it is not defined there)."""
    found = [None if s is UNDEF else [a.place.location for a in arrays_in(s)] for s in slots]
    counts = {len(f) for f in found if f is not None}
    if len(counts) == 1:
        return [tuple(None if f is None else f[k] for f in found) for k in range(counts.pop())]
    return [(location,) * len(slots) for f in found if f is not None for location in f]


def meet(rows: Iterable[tuple[Location | None, ...]], kept: Iterable[Location], made: dict[Any, Location]) -> dict[tuple[Location | None, ...], Location]:
    """Which rows become a location of their own: those whose locations nothing else refers to.  ``kept``: what others do."""
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
    """What is in a location, as a slot."""
    return Val(Num(ARRAY, t.dtype, t.shape), t.ir)
