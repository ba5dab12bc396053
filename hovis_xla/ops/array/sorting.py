"""Sorting and the positions of extremes: ``sort``, ``argsort``, ``argmax``, ``argmin``."""

import math
from typing import Any, Final

import numpy as np

from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.builder import T, and_, compare, not_, or_, select
from hovis_xla.emit.values import ARRAY, FALSE, INT64, LAST, NONE, Known, Num, Operand, Val
from hovis_xla.ops.array.reductions import axes_of, check_nonempty, finish, greatest, least, left_out, numpy_tensor
from hovis_xla.ops.scalar.arithmetic import all_of, any_of, is_zero, sign_bit
from hovis_xla.ops.scalar.python_numbers import L, Row

# ------------------------------------------------------------------------------------------------- positions of extremes


def arg_extreme(x: T, axis: int, greatest_first: bool) -> T:
    """Return the first index of the extreme element along the axis; a NaN is more extreme than every other element."""
    index = builder.iota(INT64, x.shape, axis)

    def body(a: T, i: T, b: T, j: T) -> list[T]:
        better = compare("GT" if greatest_first else "LT", a, b)
        if x.dtype.kind == "f":
            better = or_(better, and_(builder.is_nan(a), not_(builder.is_nan(b))))
            same = or_(compare("EQ", a, b), and_(builder.is_nan(a), builder.is_nan(b)))
        else:
            same = compare("EQ", a, b)
        first = or_(better, and_(same, compare("LT", i, j)))
        return [select(first, a, b), select(first, i, j)]

    start = least(x.dtype) if greatest_first else greatest(x.dtype)
    # the neutral element: every element wins against it, an equal one by its smaller position
    inits = [builder.constant(start, x.dtype), builder.constant(2**62, INT64)]
    return reductions.reduce([x, index], inits, [axis], body)[1]


def _arg(greatest_first: bool) -> Row:
    def row(low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, *, keepdims: Operand = FALSE) -> Operand | None:
        x = numpy_tensor(low, a)
        if x is None or not isinstance(axis, Known) or not left_out(out) or x.dtype.kind == "c":
            return None
        if axis.value is None:
            shape = x.shape
            x = builder.reshape(x, (math.prod(shape),))
            check_nonempty(x.shape, [0])
            return finish(arg_extreme(x, 0, greatest_first), range(len(shape)), shape, keepdims)
        axes = axes_of(axis, len(x.shape))
        if axes is None or len(axes) != 1:
            return None
        check_nonempty(x.shape, axes)
        return finish(arg_extreme(x, axes[0], greatest_first), axes, x.shape, keepdims)

    return row


# ------------------------------------------------------------------------------------------------- order


def _less(a: T, b: T) -> T:
    """Is a before b in NumPy's sort order? NaNs are last; complex numbers are ordered by real part, then by imaginary part."""
    if a.dtype.kind == "c":
        parts = [(builder.real(v), builder.imag(v)) for v in (a, b)]
        same = not_(or_(_less(parts[0][0], parts[1][0]), _less(parts[1][0], parts[0][0])))
        return or_(_less(parts[0][0], parts[1][0]), and_(same, _less(parts[0][1], parts[1][1])))
    if a.dtype.kind == "f":
        return or_(compare("LT", a, b), and_(not_(builder.is_nan(a)), builder.is_nan(b)))
    return compare("LT", a, b)


def _sortable(low: L, a: Operand, axis: Operand, kind: Operand, order: Operand) -> tuple[T, int] | None:
    """Return the tensor to sort and the axis (if axis is None: the flattened array and 0), or None if the arguments are not supported. Bail out
    for complex numbers with NaNs, which have an order of their own in NumPy.
    """
    x = numpy_tensor(low, a)
    if x is None or not isinstance(axis, Known) or not isinstance(kind, Known) or not left_out(order):
        return None
    axes = axes_of(axis, len(x.shape)) if axis.value is not None else [0]
    if axes is None or len(axes) != 1:
        return None
    if x.dtype.kind == "c":
        low.bail_if(any_of(builder.is_nan(x)))
    return (x, axes[0]) if axis.value is not None else (builder.reshape(x, (x.size,)), 0)


def _is_stable(kind: Operand, stable: Operand) -> bool:
    return (isinstance(kind, Known) and kind.value in ("stable", "mergesort")) or (isinstance(stable, Known) and stable.value is True)


def _sort(low: L, a: Operand, axis: Operand = LAST, kind: Operand = NONE, *, order: Operand = NONE, stable: Operand = NONE) -> Operand | None:
    found = _sortable(low, a, axis, kind, order)
    if found is None:
        return None
    x, at = found
    # equal numbers have equal bits, except zeros of different signs
    if x.dtype.kind in "fc" and not _is_stable(kind, stable):
        _same_zeros(low, x)
    (result,) = reductions.sort([x], at, _less)
    return Val(Num(ARRAY, x.dtype, x.shape), result.ir)


def _same_zeros(low: L, x: T) -> None:
    """Bail out if x has zeros of both signs: they compare equal, and an unstable sort does not specify where NumPy puts each."""
    for part in [builder.real(x), builder.imag(x)] if x.dtype.kind == "c" else [x]:
        zero, negative = is_zero(part), sign_bit(part)
        low.bail_if(and_(any_of(and_(zero, negative)), any_of(and_(zero, not_(negative)))))


def _argsort(low: L, a: Operand, axis: Operand = LAST, kind: Operand = NONE, order: Operand = NONE, *, stable: Operand = NONE) -> Operand | None:
    """Lower ``argsort``. An unstable sort does not specify the order of equal elements: bail out to NumPy if there are any."""
    found = _sortable(low, a, axis, kind, order)
    if found is None:
        return None
    x, at = found
    keys, places = reductions.sort([x, builder.iota(INT64, x.shape, at)], at, lambda a0, b0, a1, b1: _less(a0, b0))
    if not _is_stable(kind, stable) and x.shape[at] > 1:
        rank = range(len(x.shape))
        ends = [1 if k == at else 0 for k in rank]
        before = slicing.static_slice(keys, [0] * len(rank), [d - e for d, e in zip(x.shape, ends, strict=True)], [1] * len(rank))
        after = slicing.static_slice(keys, ends, x.shape, [1] * len(rank))
        low.bail_if(not_(all_of(_less(before, after))))
    return Val(Num(ARRAY, INT64, x.shape), places.ir)


ROWS: Final[dict[Any, Row]] = {
    np.argmax: _arg(True), np.ndarray.argmax: _arg(True), np.argmin: _arg(False), np.ndarray.argmin: _arg(False), np.sort: _sort, np.argsort: _argsort,
    np.ndarray.argsort: _argsort,
}  # fmt: skip
