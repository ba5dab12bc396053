"""What is done with lists that grow (``growable_lists``): each is arrays in memory that hold the items, and how many there are."""

import builtins
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Function, Op
from hovis.lattice.inspection import is_a
from hovis_xla.analysis.growable_lists import GROWS, AsTuple, Item, ItemsSeen, Listing, listings
from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.block_slots import as_val, num_of, tensor
from hovis_xla.emit.builder import T, and_, compare, like, or_, select
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, BOOL, EITHER, INT, INT64, TRUTH, Known, NotLowerable, Num, Operand, Ragged, Stored, Struct, Val
from hovis_xla.emit.view_steps import Box
from hovis_xla.ops.indexing.stores import NOTHING
from hovis_xla.ops.memory.tapes import reel_of
from hovis_xla.ops.ragged import ragged_arrays
from hovis_xla.ops.scalar import arithmetic, ordering, sequences
from hovis_xla.ops.scalar.python_numbers import L

#: Calls that store into a list.
WRITES: Final = frozenset(GROWS)
_ARRAYS: Final = frozenset({np.array, np.asarray, np.asanyarray, np.ascontiguousarray})
_STACKS: Final = frozenset({np.stack, np.vstack})


def is_listing(operand: Operand) -> bool:
    """Is it a list that grows?"""
    return isinstance(operand, Struct) and isinstance(operand.callee, Listing)


def found_in(function: Function, tapes: int, slots: Mapping[int, int], seen: Mapping[Op, Item]) -> dict[Op, Listing]:
    """The lists of a function that grow; their reels have the numbers behind those of tapes."""
    numbers = itertools.count(tapes)
    found = listings(function, lambda: reel_of(next(numbers), slots), seen)
    for listing in set(found.values()):
        listing.reel.slots, listing.reel.bytes = listing.room(listing.reel.slots), listing.size
    return found


def prepare(low: L, listings: Iterable[Listing]) -> None:
    """Give each class its memory, at the beginning of a program."""
    for listing in listings:
        contents = [builder.constant(0, INT64), *(builder.zeros(num.dtype, (listing.slots, *num.shape)) for num in listing.nums())]
        places = [Place(Location(t.dtype, t.shape, True)) for t in contents]
        low.memory.content |= {place.location: t for place, t in zip(places, contents, strict=True)}
        low.pinned |= {place.location for place in places}
        listing.memory = tuple(map(low.array_at, places))


def make(low: L, listing: Listing, items: Sequence[Operand]) -> Struct:
    """A new list, with these items; another one of its class is needed no longer."""
    made = Struct(listing, listing.memory, listing)
    _counted(low, made, builder.constant(0, INT64))
    for item in items:
        _append(low, made, item)
    return made


def call(low: L, callee: Any, args: list[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """A call with lists among its arguments."""
    first = args[0]
    if callee is operations.arrange:
        return _arrange(low, *args)
    if callee in _COMPARES and len(args) == 2:
        one, other = args
        return _equal(low, callee is operator.ne, one, other) if isinstance(one, Struct) and isinstance(other, Struct) and is_listing(one) else None
    does = _ROWS.get(callee)
    if does is not None and isinstance(first, Struct) and is_listing(first) and (not kwargs or callee is list.sort):
        found: Operand | None = does(low, *args, **kwargs) if not any(map(is_listing, args[1:])) else None
        if found is not None:
            return found
    if getattr(callee, "__module__", None) is None or not str(callee.__module__).startswith("numpy"):
        if not isinstance(callee, np.ufunc):
            return None
    if callee is np.concatenate:
        return _joined(low, first) if len(args) == 1 and not kwargs else None
    as_arrays = [whole(low, a) if isinstance(a, Struct) and is_listing(a) else a for a in args]
    if any(a is None for a in as_arrays):
        return None
    if callee in _ARRAYS or callee in _STACKS:
        if callee in _STACKS and (kwargs or len(args) > 1 or not _rows(first, 1)):
            return None
        dtype = as_arrays[1] if len(args) == 2 else kwargs.get("dtype")
        if len(args) > 2 or kwargs.keys() - {"dtype"} or (dtype is not None and len(kwargs) == len(args) - 1 == 1):
            return None
        return as_arrays[0] if dtype is None else low.call(np.ndarray.astype, [as_arrays[0], dtype], {})
    return low.call(callee, as_arrays, kwargs) if all(_rows(a, 0) for a in args if is_listing(a)) else None


def _rows(a: Operand, rank: int) -> bool:
    """Are the items numbers (0) or vectors (1)?"""
    item = a.callee.item if isinstance(a, Struct) and isinstance(a.callee, Listing) else None
    return isinstance(item, Num) and len(item.shape) == rank


# ------------------------------------------------------------------------------------------------- memory


def _count(a: Struct) -> T:
    count = a.parts[0]
    assert isinstance(count, Val)
    return tensor(count)


def _counted(low: L, a: Struct, count: T) -> None:
    assert isinstance(a.parts[0], Stored)
    low.write(a.parts[0].place, count)


def _of(a: Struct) -> Listing:
    assert isinstance(a.callee, Listing)
    return a.callee


def enough(low: L, a: Struct) -> None:
    """There has to have been room for all items; if not, the host is told how much there should have been."""
    listing, count = _of(a), _count(a)
    before = low.memory.read(listing.reel.location)
    low.bail_if(compare("GT", count, like(listing.slots, count)))
    low.memory.write(listing.reel.location, select(compare("GT", count, before), count, before))


def _cell(array: Stored, at: T) -> Place:
    shape = array.num.shape[1:]
    rank = len(shape) + 1
    place: Place = array.place
    return place.then(Box((at, *(0,) * (rank - 1)), (1, *shape), (1,) * rank, tuple(range(1, rank)), shape))


def _arrays(a: Struct) -> Iterator[Stored]:
    return iter([part for part in a.parts[1:] if isinstance(part, Stored)])


def _store(low: L, item: Item, value: Operand, arrays: Iterator[Stored], at: T) -> None:
    """Put an item into its place."""
    if isinstance(item, tuple):
        parts = [Known(v) for v in value.value] if isinstance(value, Known) and is_a(value.value, tuple) else getattr(value, "parts", ())
        if len(parts) != len(item) or (isinstance(value, Struct) and value.callee is not operations.make_tuple):
            raise NotLowerable("items of different kinds in a list")
        for kind, part in zip(item, parts, strict=True):
            _store(low, kind, part, arrays, at)
        return
    num = num_of(value)
    if num is None or num.dtype != item.dtype or num.shape != item.shape or (item.kind not in (num.kind, EITHER)):
        raise NotLowerable("items of different kinds in a list")
    found = as_val(value, item)
    if found.num.shape and isinstance(found, Stored):
        raise NotLowerable("an array in a list that is stored into later")
    low.write(_cell(next(arrays), at), tensor(found))
    if item.kind == EITHER:
        low.write(_cell(next(arrays), at), T(found.tag, BOOL, ()))


def _see(a: Struct, value: Operand) -> None:
    """Something is put into a list: of what kind is it, if that is not known?"""
    if not _of(a).is_known:
        raise ItemsSeen(_of(a), _item(value))


def _item(value: Operand) -> Item:
    parts = [Known(v) for v in value.value] if isinstance(value, Known) and type(value.value) is tuple else getattr(value, "parts", ())
    if parts and not (isinstance(value, Struct) and value.callee is not operations.make_tuple):
        return tuple(map(_item, parts))
    num = num_of(value)
    if num is None or (num.kind == ARRAY and (not num.shape or isinstance(value, Known))):
        raise NotLowerable("an object in a list that grows")
    return num


def _load(low: L, item: Item, arrays: Iterator[Stored], at: T) -> Operand:
    if isinstance(item, tuple):
        return Struct(operations.make_tuple, tuple(_load(low, part, arrays, at) for part in item), object())
    t = low.load(_cell(next(arrays), at))
    return Val(item, t.ir, low.load(_cell(next(arrays), at)).ir if item.kind == EITHER else None)


def whole(low: L, a: Struct) -> Operand | None:
    """The array of all items; of none it would be one of floats."""
    item = _of(a).item
    if not isinstance(item, Num) or not _of(a).is_known:
        return None
    enough(low, a)
    count = _count(a)
    if item.dtype != np.float64 or item.shape:
        low.bail_if(compare("EQ", count, like(0, count)))
    t = tensor(next(_arrays(a)))
    return Ragged(Num(ARRAY, t.dtype, t.shape), ragged_arrays.as_array(t), (count, *(None for _ in item.shape)))


def _joined(low: L, a: Operand) -> Operand | None:
    """``np.concatenate``: all rows of all items."""
    found = whole(low, a) if isinstance(a, Struct) and not _rows(a, 0) else None
    if not isinstance(found, Ragged):
        return None
    slots, rows, *rest = found.full.shape
    t = builder.reshape(tensor(found.read()), (slots * rows, *rest))
    return Ragged(Num(ARRAY, t.dtype, t.shape), ragged_arrays.as_array(t), (builder.mul(found.counts[0], like(rows, found.counts[0])), *(None for _ in rest)))


# ------------------------------------------------------------------------------------------------- what lists do


def _append(low: L, a: Struct, value: Operand) -> Operand:
    _see(a, value)
    count = _count(a)
    _store(low, _of(a).item, value, _arrays(a), count)
    _counted(low, a, builder.add(count, like(1, count)))
    return NOTHING


def _place(low: L, a: Struct, index: Operand) -> T | None:
    """Where an index leads to."""
    if not sequences.is_index(index) or _of(a).holds_arrays or not _of(a).is_known:
        return None
    enough(low, a)
    count, at = _count(a), builder.convert(tensor(low.val(index)), INT64)
    found = select(compare("LT", at, like(0, at)), builder.add(at, count), at)
    low.raise_if(or_(compare("LT", found, like(0, found)), compare("GE", found, count)), IndexError)
    return found


def _getitem(low: L, a: Struct, index: Operand) -> Operand | None:
    at = _place(low, a, index)
    return None if at is None else _load(low, _of(a).item, _arrays(a), at)


def _setitem(low: L, a: Struct, index: Operand, value: Operand) -> Operand | None:
    at = _place(low, a, index)
    if at is None:
        return None
    _store(low, _of(a).item, value, _arrays(a), at)
    return NOTHING


def _pop(low: L, a: Struct, index: Operand = Known(-1)) -> Operand | None:  # noqa: B008
    """An item, the last one if nothing is said; where there is none, nothing is changed before Python does it again."""
    at = _place(low, a, index)
    if at is None:
        return None
    found = _load(low, _of(a).item, _arrays(a), at)
    count = _count(a)
    if not (isinstance(index, Known) and index.value == -1):
        _moved(low, a, lambda places: builder.add(places, builder.convert(compare("GE", places, builder.broadcast(at, places.shape)), INT64)))
    _counted(low, a, select(compare("GT", count, like(0, count)), builder.sub(count, like(1, count)), count))
    return found


def _insert(low: L, a: Struct, index: Operand, value: Operand) -> Operand | None:
    _see(a, value)
    if not sequences.is_index(index) or _of(a).holds_arrays:
        return None
    count, at = _count(a), builder.convert(tensor(low.val(index)), INT64)
    at = select(compare("LT", at, like(0, at)), builder.op("maximum", builder.add(at, count), like(0, at)), builder.op("minimum", at, count))
    _moved(low, a, lambda places: builder.sub(places, builder.convert(compare("GT", places, builder.broadcast(at, places.shape)), INT64)))
    _store(low, _of(a).item, value, _arrays(a), at)
    _counted(low, a, builder.add(count, like(1, count)))
    return NOTHING


def _moved(low: L, a: Struct, source: Callable[[T], T]) -> None:
    """Have each item be that of another place."""
    for array in _arrays(a):
        t = tensor(array)
        places = builder.iota(INT64, (t.shape[0],), 0)
        low.write(array.place, slicing.take(t, builder.op("minimum", source(places), like(t.shape[0] - 1, places)), 0))


def _sort(low: L, a: Struct, key: Operand = Known(None), reverse: Operand = Known(False)) -> Operand | None:  # noqa: B008
    """``a.sort()``: what is behind the last item stays there."""
    plain = isinstance(key, Known) and key.value is None and isinstance(reverse, Known)
    return NOTHING if plain and _put_in_order(low, a, a, bool(reverse.value)) else None  # type: ignore[union-attr]


def _arrange(low: L, keys: Operand, items: Operand, reverse: Operand) -> Operand | None:
    """``arrange(keys, items, reverse)`` of a list that nobody needs any more: it becomes the result."""
    if not isinstance(keys, Struct) or not isinstance(items, Struct) or not is_listing(items) or not isinstance(reverse, Known):
        return None
    if not is_listing(keys):
        return None if keys.parts else items
    return items if _put_in_order(low, keys, items, bool(reverse.value)) else None


def _put_in_order(low: L, keys: Struct, items: Struct, down: bool) -> bool:
    enough(low, keys)
    enough(low, items)
    columns = [tensor(t) for t in _arrays(keys)]
    if EITHER in map(_kind, _flat(_of(keys).item)) or any(len(t.shape) != 1 or t.dtype.kind == "c" for t in columns) or _of(items).holds_arrays:
        return False
    if not _of(keys).is_known:
        return False
    moved = [] if keys is items else [tensor(t) for t in _arrays(items)]
    slots = max(t.shape[0] for t in (*columns, *moved))
    columns, moved = ([_longer(t, slots) for t in ts] for ts in (columns, moved))
    count = _count(items)
    places = builder.iota(INT64, columns[0].shape, 0)
    behind = builder.convert(compare("GE", places, builder.broadcast(count, places.shape)), INT64)
    for t in columns:
        low.bail_if(arithmetic.any_of(and_(builder.is_nan(t), compare("EQ", behind, like(0, behind)))))
    less = ordering.before(down)
    width = 2 * len(columns)

    def earlier(x: T, y: T, *pairs: T) -> T:
        return or_(compare("LT", x, y), and_(compare("EQ", x, y), less(*pairs[:width])))

    _, *found = reductions.sort([behind, *columns, *moved], 0, earlier)
    for array, t in zip(_arrays(items), found[len(columns) :] if moved else found, strict=True):
        low.write(array.place, slicing.static_slice(t, [0], [array.num.shape[0]], [1]))
    return True


def _longer(t: T, slots: int) -> T:
    return t if t.shape[0] == slots else slicing.concatenate([t, builder.zeros(t.dtype, (slots - t.shape[0],))], 0)


def _flat(item: Item) -> Iterator[Num]:
    if isinstance(item, tuple):
        for part in item:
            yield from _flat(part)
    else:
        yield item


def _kind(num: Num) -> str:
    return num.kind


def _clear(low: L, a: Struct) -> Operand:
    _counted(low, a, builder.constant(0, INT64))
    return NOTHING


def _len(low: L, a: Struct) -> Operand:
    return Val(INT, _count(a).ir)


def _truth(low: L, a: Struct) -> Operand:
    count = _count(a)
    return Val(TRUTH, compare("GT", count, like(0, count)).ir)


def _empty(low: L, a: Struct) -> Operand:
    return Val(TRUTH, builder.not_(tensor(low.val(_truth(low, a)))).ir)


def _reverse(low: L, a: Struct) -> Operand:
    """The last item is the first one then."""
    enough(low, a)
    count = _count(a)
    for array in _arrays(a):
        t = tensor(array)
        nth = builder.add(builder.iota(INT64, (t.shape[0],), 0), like(1, builder.iota(INT64, (t.shape[0],), 0)))
        at = builder.sub(builder.broadcast(count, (t.shape[0],)), nth)
        low.write(array.place, slicing.take(t, builder.op("maximum", at, like(0, at)), 0))
    return NOTHING


# ------------------------------------------------------------------------------------------------- all items at once


def _columns(a: Struct) -> list[T]:
    """The arrays that hold the numbers of the items."""
    arrays, found = _arrays(a), []
    for kind in _flat(_of(a).item):
        found.append(tensor(next(arrays)))
        if kind.kind == EITHER:
            next(arrays)
    return found


def _numbers(low: L, item: Item, value: Operand) -> list[T] | None:
    """The numbers of a value, if it is made as items are, of numbers of the same kind: whatever it equals is the same then."""
    if isinstance(item, tuple):
        parts = [Known(v) for v in value.value] if isinstance(value, Known) and type(value.value) is tuple else getattr(value, "parts", ())
        if len(parts) != len(item) or (isinstance(value, Struct) and value.callee is not operations.make_tuple):
            return None
        found = [_numbers(low, kind, part) for kind, part in zip(item, parts, strict=True)]
        return None if any(f is None for f in found) else [t for f in found for t in f or ()]
    num = num_of(value)
    return [tensor(low.val(value))] if num is not None and num.dtype == item.dtype and not num.shape else None


def _within(t: T, count: T) -> T:
    """Which of the places in an array hold items."""
    places = builder.iota(INT64, (t.shape[0],), 0)
    return compare("LT", places, builder.broadcast(count, places.shape))


def _is_compared(a: Struct) -> bool:
    """Does it hold real numbers, or tuples of them?"""
    listing = _of(a)
    return listing.is_known and not listing.holds_arrays and not any(kind.dtype.kind == "c" for kind in _flat(listing.item))


def _contains(low: L, a: Struct, value: Operand) -> Operand | None:
    """``value in a``; a nan is in a list if it is that very object, which only Python knows."""
    if not _is_compared(a):
        return None
    wanted = _numbers(low, _of(a).item, value)
    if wanted is None:
        return None
    enough(low, a)
    columns = _columns(a)
    same = _within(columns[0], _count(a))
    for column, t in zip(columns, wanted, strict=True):
        low.bail_if(builder.is_nan(t))
        same = and_(same, compare("EQ", column, builder.broadcast(t, column.shape)))
    return Val(TRUTH, arithmetic.any_of(same).ir)


def _form(item: Item) -> Any:
    return tuple(map(_form, item)) if isinstance(item, tuple) else item.dtype


def _equal(low: L, negated: bool, a: Struct, b: Struct) -> Operand | None:
    """``a == b`` of two lists that hold the same kind of items."""
    if not is_listing(b) or not _is_compared(a) or not _is_compared(b) or _form(_of(a).item) != _form(_of(b).item):
        return None
    enough(low, a)
    enough(low, b)
    count = _count(a)
    equal = compare("EQ", count, _count(b))
    for x, y in zip(_columns(a), _columns(b), strict=True):
        slots = max(x.shape[0], y.shape[0])
        x, y = _longer(x, slots), _longer(y, slots)
        inside = _within(x, count)
        low.bail_if(arithmetic.any_of(and_(builder.is_nan(x), inside)))
        equal = and_(equal, builder.not_(arithmetic.any_of(and_(compare("NE", x, y), inside))))
    return Val(TRUTH, (builder.not_(equal) if negated else equal).ir)


def _as_tuple(low: L, a: Struct) -> Operand | None:
    """``tuple(a)``: what is in it now."""
    if not _of(a).is_known:
        return None
    enough(low, a)
    return Struct(AsTuple(_of(a)), tuple(Val(part.num, tensor(part).ir) if isinstance(part, Stored) else part for part in a.parts), object())


_COMPARES: Final = frozenset({operator.eq, operator.ne})

_ROWS: Final[dict[Any, Any]] = {
    list.append: _append, list.insert: _insert, list.pop: _pop, list.sort: _sort, list.clear: _clear, list.reverse: _reverse,
    operator.getitem: _getitem, operator.setitem: _setitem, operator.contains: _contains, builtins.tuple: _as_tuple,
    builtins.len: _len, operator.truth: _truth, builtins.bool: _truth,
    operator.not_: _empty, operations.drop: lambda low, a: NOTHING,
}  # fmt: skip
