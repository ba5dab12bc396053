"""Tuples, lists and dicts of known length with an unknown operand: an index, a member, an order. Also rows of arrays."""

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.block_slots import same_slot, tensor
from hovis_xla.emit.builder import T, and_, compare, like, or_, select
from hovis_xla.emit.values import (
    ARRAY,
    INT32,
    INT64,
    PYTHON,
    SCALAR,
    TRUTH,
    Bound,
    Known,
    NotLowerable,
    Num,
    OneOf,
    Operand,
    ShapeUnknown,
    Struct,
    Val,
    named_tuple,
    num_of_value,
    python_num,
)
from hovis_xla.ops.scalar import arithmetic
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of, number

#: Longer sequences are not split into items.
MOST: Final = 4096
#: Maximum number of comparisons that are unrolled.
COMPARED: Final = 64

#: An item of up to this many numbers is found by selects, which stay within a native loop; of more, by a load from an array.
SELECTED: Final = 8

SEQUENCES: Final = (operations.make_tuple, operations.make_list)


def _range(low: L, *ends: Operand) -> Operand | None:
    """Lower ``range`` as an object, whose length has to be known."""
    if any(class_of(x) not in (int, bool) for x in ends):
        return None
    if not all(isinstance(x, Known) for x in ends):
        raise ShapeUnknown("the length of a range is known only at run time")
    try:
        return Known(range(*(x.value for x in ends if isinstance(x, Known))))
    except ValueError as error:
        raise NotLowerable(f"range: {error}") from error


def with_ranges(x: Operand) -> Operand:
    """Replace ranges by lists, which NumPy converts number by number (one may be too large for the array)."""
    if isinstance(x, Struct) and x.callee in SEQUENCES:
        parts = tuple(map(with_ranges, x.parts))
        return x if all(a is b for a, b in zip(parts, x.parts, strict=True)) else Struct(x.callee, parts, x.op)
    if not (isinstance(x, Known) and type(x.value) is range):
        return x
    if len(x.value) > MOST:
        raise NotLowerable("a long range is used as a list or an array")
    return Struct(operations.make_list, tuple(map(Known, x.value)), object())


def same_items(items: Any, before: Any) -> bool:
    """Does a list or dict that the program knows hold the same objects as before?"""
    now = (*items.items(),) if type(items) is dict else items
    if type(items) is dict:
        return len(now) == len(before) and all(a[0] is b[0] and a[1] is b[1] for a, b in zip(now, before, strict=True))
    return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))


def parts_of(low: L, x: Operand) -> list[Operand] | None:
    """Return the items of a tuple or list of known length, or None. A list from outside gives its present items, which are checked at every
    call.
    """
    if isinstance(x, Struct) and x.callee in SEQUENCES:
        return list(x.parts)
    if not isinstance(x, Known) or type(x.value) not in (tuple, list) or len(x.value) > MOST:
        return None
    if type(x.value) is list:
        low.environment.append((same_items, (x.value, tuple(x.value)), True))
    return [Known(v) for v in x.value]


# ------------------------------------------------------------------------------------------------- an unknown index


def _getitem(low: L, a: Operand, index: Operand) -> Operand | None:
    if isinstance(a, Known) and type(a.value) is dict:
        return _entry(low, a.value, index)
    if not is_index(index):
        return None
    items = parts_of(low, a)
    if isinstance(a, Known) and type(a.value) is str and len(a.value) <= MOST:
        items = [Known(c) for c in a.value]
    if items is None:
        return None
    if isinstance(index, Known):
        at = int(index.value)
        return items[at] if -len(items) <= at < len(items) else None
    if not items:
        return None
    x = builder.convert(tensor(low.val(index)), INT64)
    size = like(len(items), x)
    wrapped = select(compare("LT", x, like(0, x)), builder.add(x, size), x)
    low.raise_if(or_(compare("LT", wrapped, like(0, x)), compare("GE", wrapped, size)), IndexError)
    return pick(low, items, wrapped)


def is_index(x: Operand) -> bool:
    if isinstance(x, Known):
        return is_a(x.value, int | np.integer)
    return isinstance(x, Val) and x.num.dtype.kind in "iub" and x.num.kind in (PYTHON, SCALAR) and not (x.num.kind == SCALAR and x.num.dtype.kind == "b")


def pick(low: L, items: Sequence[Operand], at: T) -> Operand:
    """Return the item at an index that is in range: from a table, element by element of a tuple, or as a `OneOf`."""
    if all(same_slot(i, items[0]) for i in items):
        return items[0]
    nums = [_num(i) for i in items]
    if None not in nums and len(set(nums)) == 1 and nums[0] is not None and not nums[0].shape:
        return _from_table(low, items, at, nums[0])
    columns = [_columns(i) for i in items]
    if all(c is not None and len(c) == len(columns[0] or ()) for c in columns):
        return Struct(operations.make_tuple, tuple(pick(low, column, at) for column in zip(*columns, strict=True)), object())
    kinds: list[Any] = []
    places: list[int] = []
    for item, num in zip(items, nums, strict=True):
        kind = num if num is not None and not num.shape else next((k for k in kinds if not isinstance(k, Num) and same_slot(k, item)), item)
        if kind not in kinds:
            kinds.append(kind)
        places.append(kinds.index(kind))
    which = _from_table(low, [Known(p) for p in places], at, python_num(int))
    members: list[Operand] = []
    for kind in kinds:
        if isinstance(kind, Num):
            zero = Val(kind, builder.zeros(kind.dtype, ()).ir)
            members.append(_from_table(low, [i if n == kind else zero for i, n in zip(items, nums, strict=True)], at, kind))
        else:
            members.append(kind)
    if len(members) > COMPARED or any(isinstance(m, OneOf | Bound) for m in members):
        raise NotLowerable("a selection among too many values of different kinds")
    return OneOf(builder.convert(tensor(which), INT32).ir, tuple(members))


def _num(x: Operand) -> Num | None:
    return x.num if isinstance(x, Val) else num_of_value(x.value) if isinstance(x, Known) and not is_a(x.value, np.ndarray) else None


def _columns(x: Operand) -> Sequence[Operand] | None:
    if isinstance(x, Struct) and x.callee is operations.make_tuple:
        return x.parts
    return [Known(v) for v in x.value] if isinstance(x, Known) and type(x.value) is tuple and x.value else None


def _from_table(low: L, items: Sequence[Operand], at: T, num: Num) -> Val:
    if all(isinstance(i, Known) for i in items):
        table = builder.constant(np.array([i.value for i in items if isinstance(i, Known)], num.dtype))
    elif len(items) <= SELECTED:
        values = [tensor(low.val(i)) for i in items]
        found = values[-1]
        for place, value in enumerate(values[:-1]):
            found = select(compare("EQ", at, like(place, at)), value, found)
        return Val(num, found.ir)
    else:
        table = slicing.concatenate([builder.reshape(tensor(low.val(i)), (1,)) for i in items], 0)
    return Val(num, builder.reshape(slicing.dynamic_slice(table, [at], (1,)), ()).ir)


def _get(low: L, entries: Operand, key: Operand, default: Operand = Known(None)) -> Operand | None:  # noqa: B008
    """Lower ``entries.get(key, default)``."""
    return _entry(low, entries.value, key, default) if isinstance(entries, Known) and type(entries.value) is dict else None


def _entry(low: L, entries: dict[Any, Any], key: Operand, default: Operand | None = None) -> Operand | None:
    """Lower ``entries[key]`` of a dict from outside; without a default, a missing key raises a KeyError."""
    if not 0 < len(entries) <= COMPARED or (class_of(key) is None and not isinstance(key, Known)):
        return None
    low.environment.append((same_items, (entries, tuple(entries.items())), True))
    if isinstance(key, Known):
        # user-defined __hash__ methods are not called while compiling
        quiet = is_immutable(key.value) or type(key.value).__hash__ is object.__hash__  # type: ignore[comparison-overlap]
        return (Known(entries[key.value]) if key.value in entries else default) if quiet else None
    if not all(type(k) in (int, bool, float, str, type(None)) for k in entries):
        return None
    nowhere = builder.constant(len(entries), INT64)
    at = nowhere
    for place, k in enumerate(entries):
        hit = low.call(operator.eq, [Known(k), key], {})
        at = select(tensor(low.val(hit)), like(place, at), at)
    values: list[Operand] = [Known(v) for v in entries.values()]
    if default is not None:
        return pick(low, [*values, default], at)
    low.raise_if(compare("EQ", at, nowhere), KeyError)
    return pick(low, values, at)


# ------------------------------------------------------------------------------------------------- membership


def _contains(low: L, a: Operand, x: Operand) -> Operand | None:
    if isinstance(a, Val) and a.num.kind == ARRAY and not (isinstance(x, Val) and x.num.kind == ARRAY):
        same = tensor(low.val(low.call(operator.eq, [a, x], {})))
        return number(arithmetic.any_of(same))
    if isinstance(a, Known) and type(a.value) is range:
        return _in_range(low, a.value, x)
    if isinstance(a, Known) and type(a.value) in (set, frozenset, dict):
        if type(a.value) is not frozenset:
            return None
        items: list[Operand] | None = [Known(v) for v in a.value]
    else:
        items = parts_of(low, a)
    if items is None or len(items) > COMPARED:
        return None
    found: Operand = Known(False)
    for item in items:
        hit = Known(True) if isinstance(item, Val) and same_slot(item, x) else low.call(operator.eq, [item, x], {})
        if isinstance(hit, Known):
            if hit.value:
                return Known(True) if not isinstance(found, Val) else number(or_(tensor(found), builder.constant(True)))
            continue
        truth = tensor(low.val(low.call(operator.truth, [hit], {})))
        found = Val(TRUTH, truth.ir) if isinstance(found, Known) else number(or_(tensor(low.val(found)), truth))
    return found


def _in_range(low: L, values: range, x: Operand) -> Operand | None:
    if class_of(x) not in (int, bool) or not values:
        return None if values else Known(False)
    t = builder.convert(tensor(low.val(x)), INT64)
    least, most = sorted((values[0], values[-1]))
    inside = and_(compare("GE", t, like(least, t)), compare("LE", t, like(most, t)))
    step = like(abs(values.step), t)
    return number(and_(inside, compare("EQ", builder.rem(builder.sub(t, like(least, t)), step), like(0, t))))


# ------------------------------------------------------------------------------------------------- order


def _sorted(low: L, a: Operand, reverse: Operand = Known(False)) -> Operand | None:  # noqa: B008
    """Lower ``sorted`` of numbers of one class."""
    items = parts_of(low, a)
    if isinstance(a, Val) and a.num.kind == ARRAY and len(a.num.shape) == 1 and a.num.shape[0] <= COMPARED:
        items = [low.call(operator.getitem, [a, Known(k)], {}) for k in range(a.num.shape[0])]
    if items is None or not isinstance(reverse, Known) or not 0 < len(items) <= COMPARED:
        return None
    nums = {_num(i) for i in items}
    num = nums.pop()
    if nums or num is None or num.shape or num.dtype.kind == "c":
        return None
    whole = slicing.concatenate([builder.reshape(tensor(low.val(i)), (1,)) for i in items], 0)
    if num.dtype.kind == "f":
        low.bail_if(arithmetic.any_of(builder.is_nan(whole)))
    (ordered,) = reductions.sort([whole], 0, lambda x, y: compare("GT" if reverse.value else "LT", x, y))
    parts = [Val(num, builder.reshape(slicing.static_slice(ordered, [k], [k + 1], [1]), ()).ir) for k in range(len(items))]
    return Struct(operations.make_list, tuple(parts), object())


def _extreme(fn: Callable[..., Any], before: Callable[..., Any]) -> Row:
    """Make the lowering of ``min(a, b, …)`` of numbers of any classes, and of ``min(array)``."""

    def row(low: L, *xs: Operand) -> Operand | None:
        if len(xs) == 1:
            return _extreme_of_array(low, xs[0], fn)
        best = xs[0]
        for x in xs[1:]:
            better = low.call(operator.truth, [low.call(before, [x, best], {})], {})
            best = (x if better.value else best) if isinstance(better, Known) else low.choose(tensor(better), x, best)
        return best

    return row


def _extreme_of_array(low: L, a: Operand, fn: Callable[..., Any]) -> Operand | None:
    """Return the first element that no later one beats. A NaN beats nothing, and nothing beats it if it comes first."""
    if not isinstance(a, Val) or len(a.num.shape) != 1 or a.num.shape[0] == 0 or a.num.dtype.kind == "c":
        items = parts_of(low, a)
        return low.call(fn, items, {}) if items is not None and 1 < len(items) <= COMPARED else None
    t = tensor(a)
    if t.dtype.kind == "f":
        first = builder.reshape(slicing.static_slice(t, [0], [1], [1]), ())
        stuck = builder.broadcast(builder.is_nan(first), t.shape)
        t = select(stuck, builder.broadcast(first, t.shape), select(builder.is_nan(t), like(math.inf if fn is min else -math.inf, t), t))
    at = low.call(np.argmin if fn is min else np.argmax, [Val(a.num, t.ir)], {})
    found: Operand = low.call(operator.getitem, [Val(a.num, tensor(a).ir), at], {})
    return found


def _sum(low: L, a: Operand, start: Operand = Known(0)) -> Operand | None:  # noqa: B008
    """Lower ``sum`` of the rows of an array."""
    if not isinstance(a, Val) or a.num.kind != ARRAY or not a.num.shape:
        return None
    if a.num.shape[0] == 0:
        return start
    dtype = INT64 if a.num.dtype.kind == "b" else a.num.dtype
    total = low.call(np.sum, [a], {"axis": Known(0), "dtype": Known(dtype)})
    plain = isinstance(start, Known) and type(start.value) is int and start.value == 0
    found: Operand = total if plain else low.call(operator.add, [start, total], {})
    return found


def _all_or_any(fn: Callable[..., Any]) -> Row:
    def row(low: L, a: Operand) -> Operand | None:
        if not isinstance(a, Val) or len(a.num.shape) != 1:
            return None
        found = tensor(low.val(low.call(np.any if fn is any else np.all, [a], {})))
        return number(found)

    return row


# ------------------------------------------------------------------------------------------------- containers


def _new_tuple(low: L, cls: Operand, items: Operand) -> Operand | None:
    """Lower ``tuple.__new__(P, items)``, which makes a named tuple."""
    if not isinstance(cls, Known) or not isinstance(items, Struct) or items.callee is not operations.make_tuple:
        return None
    fields = getattr(cls.value, "_fields", None)
    return Struct(named_tuple(cls.value), items.parts, object()) if type(fields) is tuple and len(fields) == len(items.parts) else None


def _stored(low: L, cls: Operand, state: Operand, whole: Operand) -> Operand | None:
    """Lower ``make_stored(cls, (), tuple)``, which makes an instance of a subclass of tuple."""
    return _new_tuple(low, cls, whole) or Struct(operations.make_stored, (cls, state, whole), object())


def _check_bound(low: L, value: Operand, name: Operand, free: Operand) -> Operand | None:
    return None if isinstance(value, Known) and value.value is operations.UNBOUND else value


def _unpack(low: L, value: Operand, count: Operand) -> Operand | None:
    """``a, b = array``."""
    items = parts_of(low, value)
    if items is None and isinstance(value, Val) and value.num.shape and value.num.shape[0] <= COMPARED:
        items = [low.call(operator.getitem, [value, Known(k)], {}) for k in range(value.num.shape[0])]
    if items is None or not isinstance(count, Known) or len(items) != count.value:
        return None
    return Struct(operations.make_tuple, tuple(items), object())


# ------------------------------------------------------------------------------------------------- products, distances


def _product(low: L, items: Operand, start: Operand = Known(1)) -> Operand | None:  # noqa: B008
    """``math.prod``."""
    parts = parts_of(low, items)
    if parts is None or len(parts) > COMPARED:
        return None
    found = start
    for part in parts:
        found = low.call(operator.mul, [found, part], {})
    return found


def _distance(low: L, p: Operand, q: Operand) -> Operand | None:
    a, b = parts_of(low, p), parts_of(low, q)
    if a is None or b is None or len(a) != len(b) or len(a) > COMPARED:
        return None
    floats = [[low.call(float, [x], {}) for x in side] for side in (a, b)]
    found: Operand = low.call(math.hypot, [low.call(operator.sub, [x, y], {}) for x, y in zip(*floats, strict=True)], {})
    return found


#: Tried after the rows for the same callables elsewhere.
LATER: Final[dict[Any, Row]] = {
    operator.getitem: _getitem, builtins.min: _extreme(min, operator.lt), builtins.max: _extreme(max, operator.gt),
}  # fmt: skip

ROWS: Final[dict[Any, Row]] = {
    range: _range, operator.contains: _contains, builtins.sorted: _sorted, builtins.sum: _sum, builtins.any: _all_or_any(any), builtins.all: _all_or_any(all),
    operations.drop: lambda low, x: Known(None), operations.make_stored: _stored, operations.check_bound: _check_bound, operations.unpack: _unpack,
    dict.get: _get, math.prod: _product, math.dist: _distance, tuple.__new__: _new_tuple,
}  # fmt: skip
