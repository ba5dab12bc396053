"""Values that a loop carries and values that leave it: parameters of the headers, arrays made in the loop, memory, and exits.

The kinds of header parameters are found by trial: :class:`Changed` is raised if a parameter changes to another kind than was assumed.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

from hovis.ir.model import Block
from hovis_xla.analysis.loop_condition import Top
from hovis_xla.analysis.loop_forest import Region
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import TAG, as_val, block_of, describe, join_nums, num_of, same_slot
from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.locations import Location
from hovis_xla.emit.memory_ssa import Loop, arrays_in, content, joined, moved
from hovis_xla.emit.values import INT64, UNDEF, Known, NotLowerable, Num, OneOf, Slot, Stored, Struct, Val, either_of, roots_behind, roots_carried
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.lowering.control.branches import Arrival
from hovis_xla.lowering.control.carried_kinds import START, WHICH, Kind, join, kind_of, lasting, members_of, nums_of, rebuild, split
from hovis_xla.lowering.control.control_flow import Walker

#: The kinds of header parameters, as far as they have been found.
Kinds = dict[tuple[Block, int], Kind]

#: The locations at the headers of arrays that are made in the loop; by header, parameter, and number of the array in the parameter.
Made = dict[tuple[Block, int, int], Location]


class Changed(Exception):
    """Parameters of loop headers change their kind: ``kinds`` says what they may be, ``replaced`` whether the new kinds have nothing in common
    with the old ones.
    """

    def __init__(self, kinds: Kinds, replaced: bool) -> None:
        super().__init__()
        self.kinds = kinds
        self.replaced = replaced


class CarriedValues:
    """The carried values of one loop. ``carry`` adds one: (value at the end of an iteration, value at the start)."""

    #: the operation before which code in front of the loop is emitted
    holder: Any
    #: the memory in the loop, and the contents at the end of its body
    loop: Loop
    inside: dict[Location, T]
    #: the carried values, as arguments of the body
    arguments: list[Val]

    def __init__(self, walker: Walker, start: Arrival, region: Region, until: Collection[Block], kinds: Kinds, made: Made) -> None:
        self.walker = walker
        self.start = start
        self.region = region
        #: does the loop read the environment again, or have observable effects?
        self.acts = region.acts and walker.token is not None
        self.heads = [block for block, _ in start.entries]
        self.until = {*self.heads, *region.exits, *until}
        self.roots: list[frozenset[object]] = []  # of all carried values, at the headers
        self.inits: list[Val] = []
        self.more: list[Any] = []
        self.body: Any = None
        self.ends: list[Any] = []
        self.fixed: dict[tuple[Block, int], Slot] = {}
        self.index: dict[tuple[Block, int], tuple[int, Kind]] = {}
        self.kinds = kinds
        self.made = made  # the locations at the headers of arrays that are made in the loop
        self.arrays: dict[Location, int] = {}  # the index under which their content is carried
        self.top: Top | None = None
        self.guard: T | None = None  # an iteration for which this holds would bail out, and is not begun
        self.after: dict[Location, Location] = {}  # the locations behind the loop of arrays that are made in it and used behind it

    # --------------------------------------------------------------------------------------------- at the headers

    def carry_heads(self) -> None:
        self._carry_arrays()
        for block, slots in self.start.entries:
            for k, slot in enumerate(slots):
                kind = self.kinds.get((block, k)) or self._first_kind(block, k, slot)
                if kind is None:
                    self.fixed[block, k] = slot
                    continue
                self.index[block, k] = len(self.inits), kind
                self.inits += map(as_val, split(slot, kind), nums_of(kind))

    def _first_kind(self, block: Block, k: int, slot: Slot) -> Kind | None:
        """Return the kind that is assumed for a parameter at first; None if it is assumed not to change."""
        if isinstance(slot, Stored):
            return kind_of(slot, "")
        num = num_of(slot)
        declared = either_of(block.params[k].type) if num is not None and k < len(block.params) else None
        return num if declared is None or num is None else join_nums(num, declared) or num

    def _carry_arrays(self) -> None:
        """Carry the contents of arrays that are made in the loop. If nothing else refers to the array that a header starts with, it is moved to
        the carried location and gives the initial content.
        """
        w = self.walker
        first = {(b, k, 0): s.place.location for b, slots in self.start.entries for k, s in enumerate(slots) if isinstance(s, Stored)}
        uses = [loc for _, slots in self.start.entries for s in slots for a in arrays_in(s) for loc in [a.place.location]]
        kept = set[Location]().union(*(w.kept(b) for b in self.heads)) if self.made else set()
        where: dict[Location, Location] = {}
        for found in dict.fromkeys(self.made.values()):
            keys = [key for key, one in self.made.items() if one is found]
            (source,) = sources if len(sources := {first.get(key) for key in keys}) == 1 else (None,)
            alone = source is not None and source not in kept and uses.count(source) == len(keys)
            if source is not None and alone and (source.dtype, source.shape) == (found.dtype, found.shape):
                where[source] = found
            before = w.memory.read(source) if source is not None and source in where else builder.zeros(found.dtype, found.shape)
            self.arrays[found] = len(self.inits)
            self.inits.append(content(before))
        if where:
            self.start = Arrival([(b, [moved(s, where) for s in slots]) for b, slots in self.start.entries], self.start.choice)

    def argument(self, num: Num) -> Any:
        return self.body.add_argument(tensor_type(num.dtype, num.shape), ir.Location.unknown(context()))

    def slot(self, block: Block, k: int, values: Sequence[Any]) -> Slot:
        """Return the slot of a header parameter, given all carried values (Vals or MLIR values)."""
        if (block, k) in self.fixed:
            return self.fixed[block, k]
        at, kind = self.index[block, k]
        parts = zip(nums_of(kind), values[at:], self.roots[at:], strict=False)
        return rebuild(kind, iter([Val(num, v.ir if isinstance(v, Val) else v, roots=roots) for num, v, roots in parts]))

    def carry_memory(self) -> dict[Location, int]:
        """Carry the memory that the body used; return the index under which each location is carried."""
        return {loc: self.carry(self.inside.get(loc, here), before, argument=False) for loc, (before, here) in self.loop.carried.items()}

    def carry(self, end: T, init: T | None = None, argument: bool = True) -> int:
        """Carry one more value and return its index; ``init`` is its value before the loop, by default zeros."""
        if init is None:
            init = self.outside(lambda: builder.zeros(end.dtype, end.shape))
        if argument:
            self.body.add_argument(init.ir.type, ir.Location.unknown(context()))
        self.more.append(init.ir)
        self.ends.append(end.ir)
        return len(self.ends) - 1

    def outside(self, make: Any) -> Any:
        """Emit before the loop."""
        with ir.InsertionPoint(self.holder):
            return make()

    def end_heads(self, arrival: Arrival) -> None:
        """Set the values of the header parameters for the next iteration."""
        self.ends = [v.ir for v in self.arguments]
        brought = self._end_arrays(dict(arrival.entries))
        ends = [value.roots for value in self.arguments]
        self._check_kinds(brought)
        for block in self.heads:
            for k, slot in enumerate(brought.get(block, ())):
                if (block, k) in self.fixed or slot is UNDEF:
                    continue
                first, kind = self.index[block, k]
                for at, value in enumerate(map(as_val, split(slot, kind), nums_of(kind)), first):
                    ends[at] |= value.roots
                    self.ends[at] = value.ir
        self.roots = roots_carried([v.roots for v in self.inits], ends, self)

    def _end_arrays(self, brought: dict[Block, list[Slot]]) -> dict[Block, list[Slot]]:
        """Return what is brought to the headers, with arrays that were made in the loop at their locations in the next iteration."""
        where: dict[Location, Location] = {}
        changed = False
        for block, slots in brought.items():
            for k, slot in enumerate(slots if block in self.heads else ()):
                for j, here in enumerate(a.place.location for a in arrays_in(slot)):
                    if not self._is_new(here):
                        continue
                    found = where.get(here) or self.made.get((block, k, j)) or joined([here])
                    changed = changed or self.made.get((block, k, j)) is not found
                    self.made[block, k, j] = where[here] = found
        if changed:
            raise Changed({}, False)
        if len(set(where.values())) < len(where):
            raise NotLowerable("an array in a loop is one of several arrays that the loop creates")
        for here, found in where.items():
            self.ends[self.arrays[found]] = self.inside[here].ir
        for found, at in self.arrays.items():
            if found not in where.values():
                self.ends[at] = self.inside[found].ir
        return {block: [moved(s, where) for s in slots] for block, slots in brought.items()}

    def _is_new(self, location: Location) -> bool:
        """Was the location made in the loop?"""
        return location in self.inside and location not in self.loop.carried and not self.walker.memory.knows(location)

    def _check_kinds(self, brought: dict[Block, list[Slot]]) -> None:
        """Raise Changed if a header parameter becomes another kind than was assumed."""
        found: Kinds = {}
        replaced = True
        for block, first in self.start.entries:
            for k, slot in enumerate(brought.get(block, ())):
                fixed, name = self.fixed.get((block, k)), self.walker.name_of(block, k)
                if slot is UNDEF or (fixed is not None and same_slot(slot, fixed)):
                    continue
                before = kind_of(first[k], name) if fixed is not None else self.index[block, k][1]
                brings = kind_of(slot, name)
                after = join(before, brings, name)
                if fixed is None and after == before:
                    continue
                if not lasting(after):
                    raise NotLowerable(f"{name} changes in a loop and is not a number but {describe(slot)}")
                found[block, k] = after
                replaced = replaced and not any(m in members_of(brings) for m in members_of(before))
        if found:
            raise Changed(found, replaced)

    # --------------------------------------------------------------------------------------------- at the exits

    def carry_exit(self, slot: Slot) -> Slot:
        """Carry the values of a slot of an exit. Returns the slot, with each array that was made in the loop at a location of its own behind it."""
        for location in (array.place.location for array in arrays_in(slot)):
            if location not in self.after and self._is_new(location):
                self.after[location] = joined([location])
                self._carry_value(self.inside[location].ir, content(self.inside[location]).num)
        slot = moved(slot, self.after)
        self._with_values(slot, self._carry_value)
        return slot

    def _carry_value(self, value: Any, num: Num) -> Any:
        """Carry an MLIR value that leaves the loop, unless it is visible outside; return it."""
        if block_of(value) == self.body and value not in self.ends:
            self.carry(T(value, num.dtype, num.shape))
        return value

    def behind(self, value: Any, results: Sequence[Any]) -> Any:
        """Return what a value that leaves the loop is behind it, given the results of the loop."""
        return results[self.ends.index(value)] if block_of(value) == self.body else value

    def left(self, slot: Slot, results: Sequence[Any]) -> Slot:
        """Return a slot of an exit as it is behind the loop, given the results of the loop."""
        return cast(Slot, self._with_values(slot, lambda value, _: self.behind(value, results)))

    def _with_values(self, slot: Any, found: Callable[[Any, Num], Any]) -> Any:
        """Return a slot with other MLIR values: with what ``found`` returns for each of them and its Num."""
        if isinstance(slot, Stored):
            return Stored(slot.num, slot.place.with_starts([T(found(s.ir, START), INT64, ()) for s in slot.place.starts]), slot.read)
        if isinstance(slot, Val):
            tag = None if slot.tag is None else found(slot.tag, TAG)
            value = found(slot.ir, slot.num)
            unchanged = value is slot.ir and tag is slot.tag
            return slot if unchanged else Val(slot.num, value, tag, roots_behind(slot.roots, self, self.roots))
        if isinstance(slot, Struct):
            return Struct(slot.callee, tuple(self._with_values(p, found) for p in slot.parts), slot.op)
        if isinstance(slot, OneOf):
            return OneOf(found(slot.which, WHICH), tuple(self._with_values(m, found) for m in slot.members))
        if slot is UNDEF or isinstance(slot, Known):
            return slot
        raise NotLowerable("a bound method of an array is used after the loop that creates it")
