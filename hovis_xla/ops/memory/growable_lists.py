"""Operations on lists that grow (``growable_lists``): each list is arrays in memory that hold the items, and the number of items."""

import builtins
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Function, Op
from hovis_xla.analysis.growable_lists import GROWS, AsTuple, Item, Listing, listings, parts_of
from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.block_slots import num_of, tensor
from hovis_xla.emit.builder import T, and_, compare, like, or_, select
from hovis_xla.emit.values import EITHER, INT, INT64, TRUTH, Known, Operand, Stored, Struct, Val
from hovis_xla.ops.indexing.stores import NOTHING
from hovis_xla.ops.memory.list_memory import (
    are_of_rank,
    arrays_of,
    count_of,
    enough,
    is_listing,
    joined_rows,
    listing_of,
    load_item,
    note_kind,
    set_count,
    store_item,
    whole,
)
from hovis_xla.ops.memory.tapes import reel_of
from hovis_xla.ops.scalar import arithmetic, ordering, sequences
from hovis_xla.ops.scalar.python_numbers import L

#: Calls that store into a list.
WRITES: Final = frozenset(GROWS)
_ARRAYS: Final = frozenset({np.array, np.asarray, np.asanyarray, np.ascontiguousarray})
_STACKS: Final = frozenset({np.stack, np.vstack})


def found_in(function: Function, tapes: int, slots: Mapping[int, int], seen: Mapping[Op, Item]) -> dict[Op, Listing]:
    """Find the lists of a function that grow; the numbers of their reels follow those of the tapes."""
    numbers = itertools.count(tapes)
    found = listings(function, lambda: reel_of(next(numbers), slots), seen)
    for listing in set(found.values()):
        listing.reel.slots, listing.reel.bytes = listing.room(listing.reel.slots), listing.size
    return found


def make(low: L, listing: Listing, items: Sequence[Operand]) -> Struct:
    """Make a list with these items, in the memory of its class, where no other list is live."""
    made = Struct(listing, listing.memory, listing)
    set_count(low, made, builder.constant(0, INT64))
    for item in items:
        _append(low, made, item)
    return made


def call(low: L, callee: Any, args: list[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """Lower a call with growing lists among its arguments, or return None if it is not supported."""
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
        return joined_rows(low, first) if len(args) == 1 and not kwargs else None
    as_arrays = [whole(low, a) if isinstance(a, Struct) and is_listing(a) else a for a in args]
    if any(a is None for a in as_arrays):
        return None
    if callee in _ARRAYS or callee in _STACKS:
        if callee in _STACKS and (kwargs or len(args) > 1 or not are_of_rank(first, 1)):
            return None
        dtype = as_arrays[1] if len(args) == 2 else kwargs.get("dtype")
        if len(args) > 2 or kwargs.keys() - {"dtype"} or (dtype is not None and len(kwargs) == len(args) - 1 == 1):
            return None
        return as_arrays[0] if dtype is None else low.call(np.ndarray.astype, [as_arrays[0], dtype], {})
    return low.call(callee, as_arrays, kwargs) if all(are_of_rank(a, 0) for a in args if is_listing(a)) else None


# ------------------------------------------------------------------------------------------------- methods of lists


def _append(low: L, a: Struct, value: Operand) -> Operand:
    note_kind(a, value)
    count = count_of(a)
    store_item(low, listing_of(a).item, value, arrays_of(a), count)
    set_count(low, a, builder.add(count, like(1, count)))
    return NOTHING


def _place(low: L, a: Struct, index: Operand) -> T | None:
    """Return the position that an index means, or None if it is not supported; raise an IndexError if it is out of range."""
    if not sequences.is_index(index) or listing_of(a).holds_arrays or not listing_of(a).is_known:
        return None
    enough(low, a)
    count, at = count_of(a), builder.convert(tensor(low.val(index)), INT64)
    found = select(compare("LT", at, like(0, at)), builder.add(at, count), at)
    low.raise_if(or_(compare("LT", found, like(0, found)), compare("GE", found, count)), IndexError)
    return found


def _getitem(low: L, a: Struct, index: Operand) -> Operand | None:
    at = _place(low, a, index)
    return None if at is None else load_item(low, listing_of(a).item, arrays_of(a), at)


def _setitem(low: L, a: Struct, index: Operand, value: Operand) -> Operand | None:
    at = _place(low, a, index)
    if at is None:
        return None
    store_item(low, listing_of(a).item, value, arrays_of(a), at)
    return NOTHING


def _pop(low: L, a: Struct, index: Operand = Known(-1)) -> Operand | None:  # noqa: B008
    """Lower ``a.pop(index)``, by default of the last item. If there is no such item, nothing is changed before Python does the call again."""
    at = _place(low, a, index)
    if at is None:
        return None
    found = load_item(low, listing_of(a).item, arrays_of(a), at)
    count = count_of(a)
    if not (isinstance(index, Known) and index.value == -1):
        _moved(low, a, lambda places: builder.add(places, builder.convert(compare("GE", places, builder.broadcast(at, places.shape)), INT64)))
    set_count(low, a, select(compare("GT", count, like(0, count)), builder.sub(count, like(1, count)), count))
    return found


def _insert(low: L, a: Struct, index: Operand, value: Operand) -> Operand | None:
    note_kind(a, value)
    if not sequences.is_index(index) or listing_of(a).holds_arrays:
        return None
    count, at = count_of(a), builder.convert(tensor(low.val(index)), INT64)
    at = select(compare("LT", at, like(0, at)), builder.op("maximum", builder.add(at, count), like(0, at)), builder.op("minimum", at, count))
    _moved(low, a, lambda places: builder.sub(places, builder.convert(compare("GT", places, builder.broadcast(at, places.shape)), INT64)))
    store_item(low, listing_of(a).item, value, arrays_of(a), at)
    set_count(low, a, builder.add(count, like(1, count)))
    return NOTHING


def _moved(low: L, a: Struct, source: Callable[[T], T]) -> None:
    """Replace each item by the one at the position that ``source`` gives for it."""
    for array in arrays_of(a):
        t = tensor(array)
        places = builder.iota(INT64, (t.shape[0],), 0)
        low.write(array.place, slicing.take(t, builder.op("minimum", source(places), like(t.shape[0] - 1, places)), 0))


def _sort(low: L, a: Struct, key: Operand = Known(None), reverse: Operand = Known(False)) -> Operand | None:  # noqa: B008
    """Lower ``a.sort()``; the slots behind the last item stay as they are."""
    plain = isinstance(key, Known) and key.value is None and isinstance(reverse, Known)
    return NOTHING if plain and _put_in_order(low, a, a, bool(reverse.value)) else None  # type: ignore[union-attr]


def _arrange(low: L, keys: Operand, items: Operand, reverse: Operand) -> Operand | None:
    """Lower ``arrange(keys, items, reverse)`` of a list that is dead after the call: its memory becomes the result."""
    if not isinstance(keys, Struct) or not isinstance(items, Struct) or not is_listing(items) or not isinstance(reverse, Known):
        return None
    if not is_listing(keys):
        return None if keys.parts else items
    return items if _put_in_order(low, keys, items, bool(reverse.value)) else None


def _put_in_order(low: L, keys: Struct, items: Struct, down: bool) -> bool:
    enough(low, keys)
    enough(low, items)
    columns = [tensor(t) for t in arrays_of(keys)]
    if any(kind.kind == EITHER for kind in parts_of(listing_of(keys).item)) or any(len(t.shape) != 1 or t.dtype.kind == "c" for t in columns):
        return False
    if listing_of(items).holds_arrays or not listing_of(keys).is_known:
        return False
    moved = [] if keys is items else [tensor(t) for t in arrays_of(items)]
    slots = max(t.shape[0] for t in (*columns, *moved))
    columns, moved = ([_longer(t, slots) for t in ts] for ts in (columns, moved))
    count = count_of(items)
    places = builder.iota(INT64, columns[0].shape, 0)
    behind = builder.convert(compare("GE", places, builder.broadcast(count, places.shape)), INT64)
    for t in columns:
        low.bail_if(arithmetic.any_of(and_(builder.is_nan(t), compare("EQ", behind, like(0, behind)))))
    less = ordering.before(down)
    width = 2 * len(columns)

    def earlier(x: T, y: T, *pairs: T) -> T:
        return or_(compare("LT", x, y), and_(compare("EQ", x, y), less(*pairs[:width])))

    _, *found = reductions.sort([behind, *columns, *moved], 0, earlier)
    for array, t in zip(arrays_of(items), found[len(columns) :] if moved else found, strict=True):
        low.write(array.place, slicing.static_slice(t, [0], [array.num.shape[0]], [1]))
    return True


def _longer(t: T, slots: int) -> T:
    return t if t.shape[0] == slots else slicing.concatenate([t, builder.zeros(t.dtype, (slots - t.shape[0],))], 0)


def _clear(low: L, a: Struct) -> Operand:
    set_count(low, a, builder.constant(0, INT64))
    return NOTHING


def _len(low: L, a: Struct) -> Operand:
    return Val(INT, count_of(a).ir)


def _truth(low: L, a: Struct) -> Operand:
    count = count_of(a)
    return Val(TRUTH, compare("GT", count, like(0, count)).ir)


def _empty(low: L, a: Struct) -> Operand:
    return Val(TRUTH, builder.not_(tensor(low.val(_truth(low, a)))).ir)


def _reverse(low: L, a: Struct) -> Operand:
    """Lower ``a.reverse()``."""
    enough(low, a)
    count = count_of(a)
    for array in arrays_of(a):
        t = tensor(array)
        nth = builder.add(builder.iota(INT64, (t.shape[0],), 0), like(1, builder.iota(INT64, (t.shape[0],), 0)))
        at = builder.sub(builder.broadcast(count, (t.shape[0],)), nth)
        low.write(array.place, slicing.take(t, builder.op("maximum", at, like(0, at)), 0))
    return NOTHING


# ------------------------------------------------------------------------------------------------- all items at once


def _columns(a: Struct) -> list[T]:
    """Return the arrays that hold the numbers of the items."""
    arrays, found = arrays_of(a), []
    for kind in parts_of(listing_of(a).item):
        found.append(tensor(next(arrays)))
        if kind.kind == EITHER:
            next(arrays)
    return found


def _numbers(low: L, item: Item, value: Operand) -> list[T] | None:
    """Return the numbers of a value that has the structure and the dtypes of the items, for which equality is equality of the numbers; None for
    any other value.
    """
    if isinstance(item, tuple):
        parts = [Known(v) for v in value.value] if isinstance(value, Known) and type(value.value) is tuple else getattr(value, "parts", ())
        if len(parts) != len(item) or (isinstance(value, Struct) and value.callee is not operations.make_tuple):
            return None
        found = [_numbers(low, kind, part) for kind, part in zip(item, parts, strict=True)]
        return None if any(f is None for f in found) else [t for f in found for t in f or ()]
    num = num_of(value)
    return [tensor(low.val(value))] if num is not None and num.dtype == item.dtype and not num.shape else None


def _within(t: T, count: T) -> T:
    """Return the mask of the array elements that hold items."""
    places = builder.iota(INT64, (t.shape[0],), 0)
    return compare("LT", places, builder.broadcast(count, places.shape))


def _is_compared(a: Struct) -> bool:
    """Does the list hold real numbers, or tuples of them?"""
    listing = listing_of(a)
    return listing.is_known and not listing.holds_arrays and not any(kind.dtype.kind == "c" for kind in parts_of(listing.item))


def _contains(low: L, a: Struct, value: Operand) -> Operand | None:
    """Lower ``value in a``; bail out for a NaN, which is in a list only as the same object, and only Python knows that."""
    if not _is_compared(a):
        return None
    wanted = _numbers(low, listing_of(a).item, value)
    if wanted is None:
        return None
    enough(low, a)
    columns = _columns(a)
    same = _within(columns[0], count_of(a))
    for column, t in zip(columns, wanted, strict=True):
        low.bail_if(builder.is_nan(t))
        same = and_(same, compare("EQ", column, builder.broadcast(t, column.shape)))
    return Val(TRUTH, arithmetic.any_of(same).ir)


def _form(item: Item) -> Any:
    return tuple(map(_form, item)) if isinstance(item, tuple) else item.dtype


def _equal(low: L, negated: bool, a: Struct, b: Struct) -> Operand | None:
    """Lower ``a == b`` (``!=`` if negated) of two lists that hold the same kind of items."""
    if not is_listing(b) or not _is_compared(a) or not _is_compared(b) or _form(listing_of(a).item) != _form(listing_of(b).item):
        return None
    enough(low, a)
    enough(low, b)
    count = count_of(a)
    equal = compare("EQ", count, count_of(b))
    for x, y in zip(_columns(a), _columns(b), strict=True):
        slots = max(x.shape[0], y.shape[0])
        x, y = _longer(x, slots), _longer(y, slots)
        inside = _within(x, count)
        low.bail_if(arithmetic.any_of(and_(builder.is_nan(x), inside)))
        equal = and_(equal, builder.not_(arithmetic.any_of(and_(compare("NE", x, y), inside))))
    return Val(TRUTH, (builder.not_(equal) if negated else equal).ir)


def _as_tuple(low: L, a: Struct) -> Operand | None:
    """Lower ``tuple(a)``: a copy of the present items."""
    if not listing_of(a).is_known:
        return None
    enough(low, a)
    return Struct(AsTuple(listing_of(a)), tuple(Val(part.num, tensor(part).ir) if isinstance(part, Stored) else part for part in a.parts), object())


_COMPARES: Final = frozenset({operator.eq, operator.ne})

_ROWS: Final[dict[Any, Any]] = {
    list.append: _append, list.insert: _insert, list.pop: _pop, list.sort: _sort, list.clear: _clear, list.reverse: _reverse,
    operator.getitem: _getitem, operator.setitem: _setitem, operator.contains: _contains, builtins.tuple: _as_tuple,
    builtins.len: _len, operator.truth: _truth, builtins.bool: _truth,
    operator.not_: _empty, operations.drop: lambda low, a: NOTHING,
}  # fmt: skip
