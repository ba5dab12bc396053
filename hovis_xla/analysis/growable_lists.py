"""Lists that grow, represented as arrays in memory with a count of their items.

    out = []                          an array with room for some items, and 0
    while …: out.append((t, x))       an item is stored behind the last; 1 more
    return np.array(out)              what has been filled

All values that may be the same list form one *class*: values that are connected by edges, or as arguments and parameters of inlined functions.
A class has one memory; therefore no list of a class may be live when another one is made.  Items have to be of one kind: a number, an
array of known shape, or a tuple of these.  The host finds out how much room is needed as it does for tapes (``capacity_retry``): a call
that needs more is done again by a program that has it.  The operations are in ``ops/memory/growable_lists``.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Block, Branch, Function, Op, Param, callees
from hovis.lattice import Any as AnyType
from hovis.lattice import Const
from hovis.lattice.inspection import is_a
from hovis.library.numpy.rules.aliasing import is_in, is_sharing
from hovis_xla.analysis.exception_edges import convert_exception_edges
from hovis_xla.analysis.loop_forest import body_ops, live_in, reachable, successors, terminator_operands
from hovis_xla.analysis.primitive_effects import AGAIN
from hovis_xla.analysis.reachability import grouped, reached
from hovis_xla.emit.block_slots import TAG, join_nums
from hovis_xla.emit.values import ARRAY, EITHER, PYTHON, Num, either_of, num_of_type, num_of_value

#: Calls that change a list, and the index of the argument that is an item, or None.
GROWS: Final[Mapping[Any, int | None]] = {list.append: 1, list.insert: 2, list.pop: None, list.clear: None, list.sort: None, operator.setitem: 2}
#: Calls that use a list, but do not make the objects in it visible elsewhere.
_READS: Final = frozenset({len, operator.truth, operator.not_, bool, operations.drop, *GROWS})

#: Calls that put their operands into a container.
_HOLDING: Final = frozenset({operations.make_tuple, operations.make_list, list.append})

#: Initial room of a list: this many bytes of items, but at least this many items.
BYTES: Final = 1 << 12
ITEMS: Final = 64

#: The type of an item: a number or an array, or the parts of a tuple.
Item = Num | tuple[Any, ...]
#: An item type that is unknown so far: it is found when an item is stored.
UNKNOWN: Final = Num("unknown", np.dtype(bool))


@dataclass(eq=False)
class Listing:
    """A class of lists that share one memory, and what is known of it. The host calls it with the content of that memory, and it builds the
    list.

    makes   the ops that make the lists
    reel    where the number of items is recorded for which there should have been room (``ops/memory/tapes``)
    slots   the number of items for which there is room
    memory  the number of items, and the arrays that hold them, as places of a lowering
    """

    item: Item
    makes: tuple[Op, ...] = ()
    reel: Any = None
    slots: int = 0
    memory: tuple[Any, ...] = ()
    __name__ = "a list"

    def __call__(self, count: Any, *memory: Any) -> list[Any]:
        return _column(self.item, int(count), iter(memory))

    def room(self, slots: int) -> int:
        """Set and return the number of slots: at least ``slots``, and at least the initial room."""
        self.slots = max(slots, BYTES // max(1, self.size), ITEMS)
        return self.slots

    @property
    def size(self) -> int:
        """Number of bytes of an item."""
        return sum(num.dtype.itemsize * int(np.prod(num.shape)) for num in self.nums())

    def nums(self) -> list[Num]:
        """Return the types of the arrays that hold the items, part by part. A number that is either Python's or NumPy's has a second array, of
        bools that say which.
        """
        columns = [[Num(ARRAY, num.dtype, num.shape), *([TAG] if num.kind == EITHER else [])] for num in parts_of(self.item)]
        return [num for column in columns for num in column]

    @property
    def is_known(self) -> bool:
        """Is the type of the items known?"""
        return UNKNOWN not in parts_of(self.item)

    @property
    def holds_arrays(self) -> bool:
        return any(num.shape for num in self.nums())


@dataclass(frozen=True, eq=False)
class AsTuple:
    """Builds a tuple of the items of a list."""

    listing: Listing
    __name__ = "a tuple"

    def __call__(self, count: Any, *memory: Any) -> tuple[Any, ...]:
        return tuple(self.listing(count, *memory))


def parts_of(item: Item) -> list[Num]:
    """Return the numbers and arrays of which an item consists."""
    return [num for part in item for num in parts_of(part)] if isinstance(item, tuple) else [item]


def _column(item: Item, count: int, memory: Iterator[Any]) -> list[Any]:
    if isinstance(item, tuple):
        return list(zip(*[_column(part, count, memory) for part in item], strict=True))
    values = next(memory)[:count]
    if item.kind == EITHER:
        return [x if own else x.item() for x, own in zip(values, next(memory)[:count], strict=True)]
    if item.kind == PYTHON:
        found: list[Any] = values.tolist()
        return found
    return [row.copy() for row in values] if item.shape else list(values)


# ------------------------------------------------------------------------------------------------- finding the lists


class ItemsSeen(Exception):
    """Raised when lowering finds the type of items that are stored into lists whose item type was unknown; lowering begins again with that type."""

    def __init__(self, listing: Listing, item: Item) -> None:
        super().__init__()
        self.items = dict.fromkeys(listing.makes, item)


def listings(function: Function, reel: Callable[[], Any], seen: Mapping[Op, Item]) -> dict[Op, Listing]:
    """Find the lists of a Function (and of its callees) that grow, by the ops that make them.

    reel    function that gives each class its own reel
    seen    the types of items, where the types of the values do not tell
    """
    if not any(op.callee is list.append for one in callees(function) for op in one.ops()):
        return {}
    program = _Program(function, seen)
    found: dict[Op, Listing] = {}
    for members in program.classes():
        makes = [m for m in members if isinstance(m, Op) and m.callee is not operations.arrange]
        if makes and all(m.callee is operations.make_list for m in makes) and members.isdisjoint(function.params):
            listing = program.listing(members, makes)
            if listing is not None:
                listing.reel = reel()
                found |= dict.fromkeys(makes, listing)
    return found


class _Program:
    """A Function and its callees, as far as they are lowered."""

    def __init__(self, function: Function, seen: Mapping[Op, Item]) -> None:
        self.seen = seen
        self.functions = {made: list(reached(made.blocks[:1], _following)) for made in map(convert_exception_edges, callees(function))}
        self.blocks = [block for blocks in self.functions.values() for block in blocks]
        self.ops = [op for block in self.blocks for op in body_ops(block)]

    def classes(self) -> list[set[Any]]:
        """Return, for each list that grows, the set of values that may be the same list."""
        near = grouped(pair for param, arg in self._copies() for pair in ((param, arg), (arg, param)))
        found: list[set[Any]] = []
        for start in (op.args[0] for op in self.ops if op.callee is list.append):
            if not any(start in known for known in found):
                found.append(set(reached([start], lambda value: near.get(value, ()))))
        return found

    def _copies(self) -> Iterator[tuple[Any, Any]]:
        for block in self.blocks:
            for edge in successors(block):
                yield from zip(edge.block.params, edge.args, strict=True)
        for op in self.ops:
            if isinstance(op.callee, Function):
                yield from zip(op.callee.params, op.args, strict=False)
            elif op.callee is operations.arrange:
                yield op, op.args[1]  # it reorders a list that has no other use

    def listing(self, members: set[Any], makes: Sequence[Op]) -> Listing | None:
        """Return the Listing of a class, or None if its items differ in type, if two of its lists may be live at once, or if others may see
        arrays that it holds.
        """
        if not self._one_at_a_time(members, makes):
            return None
        given = [(op, op.args[at]) for op in self.ops if is_in(op.callee, GROWS) and (at := GROWS[op.callee]) and op.args[0] in members]
        given += [(make, value) for make in makes for value in make.args]
        found: Item | None = UNKNOWN
        for item in (*(item_of(value) for _, value in given), *(self.seen.get(make, UNKNOWN) for make in makes)):
            found = _joined(found, item)
        if found is None:
            return None
        listing = Listing(found, tuple(makes))
        if listing.holds_arrays and self._escapes(members) and not all(self._is_fresh(value, at) for at, value in given):
            return None
        return listing

    def _one_at_a_time(self, members: set[Any], makes: Sequence[Op]) -> bool:
        """Is no list of the class live when another one is made? If so, they can share one memory."""
        home = next(one for one, blocks in self.functions.items() if any(makes[0] in block.ops for block in blocks))
        order = reachable(home)
        live = live_in(order, {op for block in order for op in block.all_ops()})
        left = set(makes)
        for block in order:
            after = {a for a in terminator_operands(block) if isinstance(a, Op | Param)}
            for edge in successors(block):
                after |= {a for a in edge.args if isinstance(a, Op | Param)} | (live[edge.block] - set(edge.block.params))
            for op in reversed(body_ops(block)):
                if op in left:
                    left.discard(op)
                    if (after & members) - {op}:
                        return False
                after |= {a for a in op.operands() if isinstance(a, Op | Param)}
        return not left

    def _escapes(self, members: set[Any]) -> bool:
        """May the objects in a list become visible elsewhere?"""
        inside = any(not _reads_only(op) and any(a in members for a in op.operands()) for op in self.ops)
        return inside or any(a in members for block in self.blocks for a in terminator_operands(block))

    def _is_fresh(self, value: Any, at: Op) -> bool:
        """Is the item made again each time it is put into a list, and referenced nowhere else?"""
        if isinstance(value, Op) and value.callee is operations.make_tuple:
            return all(_is_number(part) or self._is_fresh(part, value) for part in value.args)
        if not isinstance(value, Op) or is_sharing(value) or not any(value in block.ops and at in block.ops for block in self.blocks):
            return False
        left = [a for block in self.blocks for a in (*terminator_operands(block), *(a for edge in successors(block) for a in edge.args))]
        uses = [op for op in self.ops if op is not at and value in op.operands()]
        return value not in left and not any(is_sharing(op) or op.callee in _HOLDING for op in uses)


def _following(block: Block) -> list[Block]:
    """Return the blocks to which lowering goes on, assuming that the environment does not change."""
    end = block.terminator
    if isinstance(end, Branch) and isinstance(end.cond, Op) and is_in(end.cond.callee, AGAIN) and all(isinstance(a, Const) for a in end.cond.args):
        return [end.true.block if end.cond.callee(*(a.value for a in end.cond.args)) else end.false.block]  # type: ignore[operator, union-attr]
    return [edge.block for edge in successors(block)]


def item_of(value: Any) -> Item | None:
    """Return the type of a value as a list item: UNKNOWN if nothing is known of it, None if it cannot be an item."""
    if isinstance(value, Const) and is_a(value.value, tuple) and value.value:
        parts = [item_of(Const(part)) for part in value.value]
    elif isinstance(value, Op) and value.callee is operations.make_tuple and value.args:
        parts = [item_of(part) for part in value.args]
    elif isinstance(getattr(value, "type", None), AnyType):
        return UNKNOWN
    else:
        num = num_of_value(value.value) if isinstance(value, Const) else num_of_type(value.type, value.dims) or either_of(value.type)
        return None if num is None or (num.kind == ARRAY and (not num.shape or isinstance(value, Const))) else num
    return None if None in parts else tuple(parts)


def _is_number(value: Any) -> bool:
    item = item_of(value)
    return isinstance(item, Num) and item.kind != ARRAY


def _joined(a: Item | None, b: Item | None) -> Item | None:
    """Join two item types; None if there is no join."""
    if a is UNKNOWN or b is UNKNOWN:
        return b if a is UNKNOWN else a
    if isinstance(a, Num) and isinstance(b, Num):
        return join_nums(a, b)
    if not isinstance(a, tuple) or not isinstance(b, tuple) or len(a) != len(b):
        return None
    parts = [_joined(x, y) for x, y in zip(a, b, strict=True)]
    return None if None in parts else tuple(parts)


def _reads_only(op: Op) -> bool:
    callee: Any = op.callee
    if isinstance(callee, Function):
        return True  # the uses in its body are examined on their own
    return is_in(callee, _READS) or str(getattr(callee, "__module__", "")).startswith("numpy")


def changes_list(op: Op) -> bool:
    """Does a call change a list?"""
    return is_in(op.callee, GROWS) or op.callee is list.reverse
