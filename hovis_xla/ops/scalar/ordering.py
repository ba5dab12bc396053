"""Comparisons of tuples and lists, and sorting by keys."""

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.block_slots import num_of, same_slot, tensor
from hovis_xla.emit.builder import T, and_, compare, or_
from hovis_xla.emit.values import INT64, PYTHON, SCALAR, Known, Num, Operand, Struct, Val
from hovis_xla.ops.scalar import arithmetic
from hovis_xla.ops.scalar.python_numbers import L, Row
from hovis_xla.ops.scalar.sequences import COMPARED, parts_of

#: Maximum number of items that are sorted by keys.
MOST: Final = 1024


# ------------------------------------------------------------------------------------------------- tuples and lists


def _kind(x: Operand) -> Any:
    if isinstance(x, Struct):
        return tuple if x.callee is operations.make_tuple else list if x.callee is operations.make_list else None
    return type(x.value) if isinstance(x, Known) else None


def _ordered(fn: Callable[[Any, Any], Any]) -> Row:
    """Make the lowering of ``a < b``: the result is that of the first items that differ (which may be NumPy's); if none differ, that of the
    lengths.
    """

    def row(low: L, a: Operand, b: Operand) -> Operand | None:
        xs, ys = parts_of(low, a), parts_of(low, b)
        if xs is None or ys is None or _kind(a) is not _kind(b) or min(len(xs), len(ys)) > COMPARED:
            return None
        found: Operand = Known(fn(len(xs), len(ys)))
        for x, y in reversed(list(zip(xs, ys, strict=False))):
            if same_slot(x, y):
                continue  # the same object
            _no_two_nans(low, x, y)
            equal = low.condition(low.call(operator.eq, [x, y], {}))
            if equal is not True:
                decides = low.call(fn, [x, y], {})
                found = decides if equal is False else low.pick(equal, found, decides)
        return found

    return row


def _no_two_nans(low: L, x: Operand, y: Operand) -> None:
    """Bail out if both are NaN: they are not equal, but may be one object."""
    if all(num is not None and num.dtype.kind in "fc" and not num.shape for num in map(num_of, (x, y))):
        low.bail_if(and_(*(builder.is_nan(tensor(low.val(v))) for v in (x, y))))


# ------------------------------------------------------------------------------------------------- order


def before(down: bool) -> Callable[..., T]:
    """Make a comparison of two rows by some columns, which are given in pairs: does the first row come before the second?"""
    first = "GT" if down else "LT"

    def less(*pairs: T) -> T:
        found = compare(first, *pairs[-2:])
        for x, y in list(zip(pairs[::2], pairs[1::2], strict=True))[-2::-1]:
            found = or_(compare(first, x, y), and_(compare("EQ", x, y), found))
        return found

    return less


def _arrange(low: L, keys: Operand, items: Operand, reverse: Operand) -> Operand | None:
    """``arrange(keys, items, reverse)``: a list of the items in the order of their keys."""
    ks, xs = parts_of(low, keys), parts_of(low, items)
    if ks is None or xs is None or not isinstance(reverse, Known) or not 0 < len(xs) <= MOST:
        return None
    columns = _columns(low, ks)
    if columns is None:
        return None
    for column in columns:
        low.bail_if(arithmetic.any_of(builder.is_nan(column)))
    less = before(bool(reverse.value))
    places = builder.iota(INT64, (len(xs),), 0)
    *_, order = reductions.sort([*columns, places], 0, lambda *pairs: less(*pairs[:-2]))
    found = _taken(low, xs, order)
    return None if found is None else Struct(operations.make_list, tuple(found), object())


def _number(x: Operand) -> Num | None:
    num = num_of(x)
    return num if num is not None and num.kind in (PYTHON, SCALAR) and num.dtype.kind != "c" else None


def _columns(low: L, xs: Sequence[Operand]) -> list[T] | None:
    """Return numbers of one kind as an array, tuples of such numbers as one array per element; None for any other items."""
    parts = [parts_of(low, x) if _kind(x) is tuple else None for x in xs]
    if parts[0] is not None:
        if any(p is None or len(p) != len(parts[0]) for p in parts):
            return None
        columns = [_columns(low, column) for column in zip(*[p for p in parts if p is not None], strict=True)]
        return None if None in columns else [t for column in columns if column is not None for t in column]
    nums = {_number(x) for x in xs}
    if len(nums) != 1 or None in nums:
        return None
    return [_column(low, xs)]


def _column(low: L, xs: Sequence[Operand]) -> T:
    if all(isinstance(x, Known) for x in xs):
        num = _number(xs[0])
        return builder.constant(np.array([x.value for x in xs if isinstance(x, Known)], None if num is None else num.dtype))
    return slicing.concatenate([builder.reshape(tensor(low.val(x)), (1,)) for x in xs], 0)


def _taken(low: L, xs: Sequence[Operand], order: T) -> list[Operand] | None:
    """Return the items at these positions, one by one: numbers of one kind, or tuples of such; None for any other items."""
    nums = {_number(x) for x in xs}
    num = nums.pop()
    if not nums and num is not None:
        column = slicing.take(_column(low, xs), order, 0)
        return [Val(num, builder.reshape(slicing.static_slice(column, [k], [k + 1], [1]), ()).ir) for k in range(len(xs))]
    parts = [parts_of(low, x) if _kind(x) is tuple else None for x in xs]
    if any(p is None or not p or len(p) != len(parts[0] or ()) for p in parts):
        return None
    columns = [_taken(low, column, order) for column in zip(*[p for p in parts if p is not None], strict=True)]
    if any(column is None for column in columns):
        return None
    return [Struct(operations.make_tuple, row, object()) for row in zip(*[c for c in columns if c is not None], strict=True)]


def _sorted(low: L, items: Operand, reverse: Operand = Known(False)) -> Operand | None:  # noqa: B008
    """``sorted`` of tuples of numbers."""
    return _arrange(low, items, items, reverse)


#: Tried after the rows for the same callables elsewhere.
LATER: Final[dict[Any, Row]] = {builtins.sorted: _sorted, **{fn: _ordered(fn) for fn in (operator.lt, operator.le, operator.gt, operator.ge)}}

ROWS: Final[dict[Any, Row]] = {operations.arrange: _arrange}
