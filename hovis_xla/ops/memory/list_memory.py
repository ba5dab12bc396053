"""Memory of lists that grow: the number of items, storing and loading an item, and the array of all items."""

from collections.abc import Iterable, Iterator

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.analysis.growable_lists import Item, ItemsSeen, Listing
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import as_val, num_of, tensor
from hovis_xla.emit.builder import T, compare, like, select
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, BOOL, EITHER, INT64, Known, NotLowerable, Num, Operand, Ragged, Stored, Struct, Val
from hovis_xla.emit.view_steps import Box
from hovis_xla.ops.array.manipulation import as_array
from hovis_xla.ops.scalar.python_numbers import L


def is_listing(operand: Operand) -> bool:
    """Is the operand a list that grows?"""
    return isinstance(operand, Struct) and isinstance(operand.callee, Listing)


def prepare(low: L, listings: Iterable[Listing]) -> None:
    """Allocate the memory of each class of lists, at the beginning of a program."""
    for listing in listings:
        contents = [builder.constant(0, INT64), *(builder.zeros(num.dtype, (listing.slots, *num.shape)) for num in listing.nums())]
        places = [Place(Location(t.dtype, t.shape, True)) for t in contents]
        low.memory.content |= {place.location: t for place, t in zip(places, contents, strict=True)}
        low.scope.pinned |= {place.location for place in places}
        listing.memory = tuple(map(low.array_at, places))


def are_of_rank(a: Operand, rank: int) -> bool:
    """Are the items of the list of this rank: numbers (0) or vectors (1)?"""
    item = a.callee.item if isinstance(a, Struct) and isinstance(a.callee, Listing) else None
    return isinstance(item, Num) and len(item.shape) == rank


def count_of(a: Struct) -> T:
    count = a.parts[0]
    assert isinstance(count, Val)
    return tensor(count)


def set_count(low: L, a: Struct, count: T) -> None:
    assert isinstance(a.parts[0], Stored)
    low.write(a.parts[0].place, count)


def listing_of(a: Struct) -> Listing:
    assert isinstance(a.callee, Listing)
    return a.callee


def enough(low: L, a: Struct) -> None:
    """Bail out if there was no room for all items, and record for the host how many there should be room for."""
    listing, count = listing_of(a), count_of(a)
    before = low.memory.read(listing.reel.location)
    low.bail_if(compare("GT", count, like(listing.slots, count)))
    low.memory.content[listing.reel.location] = select(compare("GT", count, before), count, before)


def _cell(array: Stored, at: T) -> Place:
    shape = array.num.shape[1:]
    rank = len(shape) + 1
    place: Place = array.place
    return place.then(Box((at, *(0,) * (rank - 1)), (1, *shape), (1,) * rank, tuple(range(1, rank)), shape))


def arrays_of(a: Struct) -> Iterator[Stored]:
    return iter([part for part in a.parts[1:] if isinstance(part, Stored)])


def store_item(low: L, item: Item, value: Operand, arrays: Iterator[Stored], at: T) -> None:
    """Store an item at position ``at``."""
    if isinstance(item, tuple):
        parts = [Known(v) for v in value.value] if isinstance(value, Known) and is_a(value.value, tuple) else getattr(value, "parts", ())
        if len(parts) != len(item) or (isinstance(value, Struct) and value.callee is not operations.make_tuple):
            raise NotLowerable("items of different kinds in a list")
        for kind, part in zip(item, parts, strict=True):
            store_item(low, kind, part, arrays, at)
        return
    num = num_of(value)
    if num is None or num.dtype != item.dtype or num.shape != item.shape or (item.kind not in (num.kind, EITHER)):
        raise NotLowerable("items of different kinds in a list")
    found = as_val(value, item)
    if found.num.shape and isinstance(found, Stored):
        raise NotLowerable("an array that is stored into is an item of a growing list")
    low.write(_cell(next(arrays), at), tensor(found))
    if item.kind == EITHER:
        low.write(_cell(next(arrays), at), T(found.tag, BOOL, ()))


def note_kind(a: Struct, value: Operand) -> None:
    """Raise `ItemsSeen` with the kind of a value that is put into a list, if the kind of its items is not known."""
    if not listing_of(a).is_known:
        raise ItemsSeen(listing_of(a), _item(value))


def _item(value: Operand) -> Item:
    parts = [Known(v) for v in value.value] if isinstance(value, Known) and type(value.value) is tuple else getattr(value, "parts", ())
    if parts and not (isinstance(value, Struct) and value.callee is not operations.make_tuple):
        return tuple(map(_item, parts))
    num = num_of(value)
    if num is None or (num.kind == ARRAY and (not num.shape or isinstance(value, Known))):
        raise NotLowerable("an item of a growing list that is neither a number nor an array that the function makes")
    return num


def load_item(low: L, item: Item, arrays: Iterator[Stored], at: T) -> Operand:
    if isinstance(item, tuple):
        return Struct(operations.make_tuple, tuple(load_item(low, part, arrays, at) for part in item), object())
    t = low.load(_cell(next(arrays), at))
    return Val(item, t.ir, low.load(_cell(next(arrays), at)).ir if item.kind == EITHER else None)


def whole(low: L, a: Struct) -> Operand | None:
    """Return the array of all items, or None if they do not form one. Bail out for an empty list, whose array would be one of floats, if its
    items are not.
    """
    item = listing_of(a).item
    if not isinstance(item, Num) or not listing_of(a).is_known:
        return None
    enough(low, a)
    count = count_of(a)
    if item.dtype != np.float64 or item.shape:
        low.bail_if(compare("EQ", count, like(0, count)))
    t = tensor(next(arrays_of(a)))
    return Ragged(Num(ARRAY, t.dtype, t.shape), as_array(t), (count, *(None for _ in item.shape)))


def joined_rows(low: L, a: Operand) -> Operand | None:
    """Lower ``np.concatenate`` of a list: all rows of all items; None if this is not supported."""
    found = whole(low, a) if isinstance(a, Struct) and not are_of_rank(a, 0) else None
    if not isinstance(found, Ragged):
        return None
    slots, rows, *rest = found.full.shape
    t = builder.reshape(tensor(found.read()), (slots * rows, *rest))
    return Ragged(Num(ARRAY, t.dtype, t.shape), as_array(t), (builder.mul(found.counts[0], like(rows, found.counts[0])), *(None for _ in rest)))
