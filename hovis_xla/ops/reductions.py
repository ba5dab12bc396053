"""Reductions, scans and sorting."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.lattice import Array
from hovis.library.numpy.array import ask, dtype_of
from hovis_xla import emit
from hovis_xla.emit import T, and_, compare, like, not_, or_, select
from hovis_xla.ops.python import L, Row
from hovis_xla.slots import tensor
from hovis_xla.types import ARRAY, BOOL, FALSE, INT64, LAST, NONE, PYTHON, SCALAR, ZERO, Known, NotLowerable, Num, Operand, Val, is_numpy


def axes_of(axis: Operand, rank: int) -> tuple[int, ...] | None:
    """A known axis, or several, as positions."""
    if not isinstance(axis, Known):
        return None
    if axis.value is None:
        return tuple(range(rank))
    found = axis.value if isinstance(axis.value, tuple) else (axis.value,)
    if not all(isinstance(a, int | np.integer) for a in found):
        return None
    if not all(-rank <= a < rank for a in found):
        raise NotLowerable(f"axis {axis.value} of {rank} dimensions: this raises")
    return tuple(int(a) % rank for a in found)


def finish(result: T, axes: Sequence[int], shape: tuple[int, ...], keepdims: Operand) -> Val | None:
    """The result with the dimensions of size 1 that keepdims asks for."""
    if not isinstance(keepdims, Known):
        return None
    if keepdims.value is True:
        kept = tuple(1 if k in axes else d for k, d in enumerate(shape))
        return Val(Num(ARRAY if kept else SCALAR, result.dtype, kept), emit.reshape(result, kept).ir)
    return Val(Num(ARRAY if result.shape else SCALAR, result.dtype, result.shape), result.ir)


def reduce(x: T, axes: Sequence[int], init: Any, body: Callable[[T, T], T]) -> T:
    if not axes:
        return x
    return emit.reduce([x], [emit.constant(init, x.dtype)], axes, lambda a, b: [body(a, b)])[0]


def total(x: T, axes: Sequence[int]) -> T:
    return reduce(x, axes, 0, emit.add)


def result_dtype(fn: Callable[..., object], dtype: "np.dtype[Any]") -> "np.dtype[Any] | None":
    """The dtype that NumPy's function gives for arrays of this dtype."""
    found = ask(fn, Array(np.ndarray, dtype, 1))
    return None if found is None else dtype_of(found)


def _array(low: L, a: Operand) -> T | None:
    """An array or NumPy scalar as a tensor."""
    return tensor(low.val(a)) if is_numpy(a) else None


def _plain(*options: Operand) -> bool:
    """Are these options left out?"""
    return all(isinstance(o, Known) and o.value is None for o in options)


def _dtype(fn: Callable[..., object], x: T, dtype: Operand) -> "np.dtype[Any] | None":
    if not isinstance(dtype, Known):
        return None
    return result_dtype(fn, x.dtype) if dtype.value is None else np.dtype(dtype.value)


# ------------------------------------------------------------------------------------------------- sums and means


def _sum(low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    x = _array(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    found = None if x is None else _dtype(np.sum, x, dtype)
    if x is None or axes is None or found is None or not _plain(out):
        return None
    return finish(total(emit.convert(x, found), axes), axes, x.shape, keepdims)


def _prod(low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    x = _array(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    found = None if x is None else _dtype(np.prod, x, dtype)
    if x is None or axes is None or found is None or not _plain(out):
        return None
    return finish(reduce(emit.convert(x, found), axes, 1, emit.mul), axes, x.shape, keepdims)


def count(shape: Sequence[int], axes: Sequence[int]) -> int:
    return math.prod(shape[k] for k in axes)


def mean_of(x: T, axes: Sequence[int], dtype: "np.dtype[Any]") -> T:
    """NumPy sums halves as singles."""
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    summed = total(emit.convert(x, wide), axes)
    return emit.convert(emit.div(summed, like(count(x.shape, axes), summed)), dtype)


def _mean(low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    x = _array(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    found = None if x is None else _dtype(np.mean, x, dtype)
    if x is None or axes is None or found is None or found.kind not in "fc" or not _plain(out):
        return None
    return finish(mean_of(x, axes, found), axes, x.shape, keepdims)


def _variance(root: bool) -> Row:
    def row(
        low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE, ddof: Operand = ZERO, keepdims: Operand = FALSE
    ) -> Operand | None:
        x = _array(low, a)
        axes = None if x is None else axes_of(axis, len(x.shape))
        found = None if x is None else _dtype(np.mean, x, dtype)
        if x is None or axes is None or found is None or found.kind != "f" or not _plain(out) or not isinstance(ddof, Known):
            return None
        wide = np.dtype(np.float32) if found == np.float16 else found
        x = emit.convert(x, wide)
        kept = tuple(1 if k in axes else d for k, d in enumerate(x.shape))
        center = emit.broadcast(emit.reshape(mean_of(x, axes, wide), kept), x.shape)
        off = emit.sub(x, center)
        summed = total(emit.mul(off, off), axes)
        found_var = emit.div(summed, like(max(count(x.shape, axes) - ddof.value, 0), summed))
        return finish(emit.convert(emit.op("sqrt", found_var) if root else found_var, found), axes, x.shape, keepdims)

    return row


# ------------------------------------------------------------------------------------------------- extremes, truths


def least(dtype: "np.dtype[Any]") -> Any:
    return False if dtype == BOOL else -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


def greatest(dtype: "np.dtype[Any]") -> Any:
    return True if dtype == BOOL else math.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _nonempty(shape: Sequence[int], axes: Sequence[int]) -> None:
    if count(shape, axes) == 0:
        raise NotLowerable("a reduction of nothing that has no identity: this raises")


def extreme(x: T, axes: Sequence[int], name: str) -> T:
    _nonempty(x.shape, axes)
    return reduce(x, axes, least(x.dtype) if name == "maximum" else greatest(x.dtype), lambda a, b: emit.op(name, a, b))


def _extreme(name: str) -> Row:
    def row(low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
        x = _array(low, a)
        axes = None if x is None else axes_of(axis, len(x.shape))
        if x is None or axes is None or not _plain(out) or x.dtype.kind == "c":
            return None
        return finish(extreme(x, axes, name), axes, x.shape, keepdims)

    return row


def _ptp(low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    x = _array(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    if x is None or axes is None or not _plain(out) or x.dtype.kind in "bc":
        return None
    return finish(emit.sub(extreme(x, axes, "maximum"), extreme(x, axes, "minimum")), axes, x.shape, keepdims)


def _truths(every: bool) -> Row:
    def row(low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
        x = _array(low, a)
        axes = None if x is None else axes_of(axis, len(x.shape))
        if x is None or axes is None or not _plain(out):
            return None
        return finish(reduce(emit.convert(x, BOOL), axes, every, and_ if every else or_), axes, x.shape, keepdims)

    return row


def _count_nonzero(low: L, a: Operand, axis: Operand = NONE, *, keepdims: Operand = FALSE) -> Operand | None:
    x = _array(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    if x is None or axes is None:
        return None
    found = finish(total(emit.convert(emit.convert(x, BOOL), INT64), axes), axes, x.shape, keepdims)
    # of a whole array it is a Python int, in some versions
    counted: Any = np.count_nonzero(np.zeros(1))
    python = type(counted) is int and isinstance(axis, Known) and axis.value is None
    return Val(Num(PYTHON, INT64), found.ir) if found is not None and python and not found.num.shape else found


def arg_extreme(x: T, axis: int, greatest_first: bool) -> T:
    """The first position of the extreme element; a nan is more extreme than everything."""
    index = emit.iota(INT64, x.shape, axis)

    def body(a: T, i: T, b: T, j: T) -> list[T]:
        better = compare("GT" if greatest_first else "LT", a, b)
        if x.dtype.kind == "f":
            better = or_(better, and_(emit.is_nan(a), not_(emit.is_nan(b))))
            same = or_(compare("EQ", a, b), and_(emit.is_nan(a), emit.is_nan(b)))
        else:
            same = compare("EQ", a, b)
        first = or_(better, and_(same, compare("LT", i, j)))
        return [select(first, a, b), select(first, i, j)]

    start = least(x.dtype) if greatest_first else greatest(x.dtype)
    # an identity: it loses against every element, by its position against equal ones
    inits = [emit.constant(start, x.dtype), emit.constant(2**62, INT64)]
    return emit.reduce([x, index], inits, [axis], body)[1]


def _arg(greatest_first: bool) -> Row:
    def row(low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, *, keepdims: Operand = FALSE) -> Operand | None:
        x = _array(low, a)
        if x is None or not isinstance(axis, Known) or not _plain(out) or x.dtype.kind == "c":
            return None
        if axis.value is None:
            shape = x.shape
            x = emit.reshape(x, (math.prod(shape),))
            _nonempty(x.shape, [0])
            return finish(arg_extreme(x, 0, greatest_first), range(len(shape)), shape, keepdims)
        axes = axes_of(axis, len(x.shape))
        if axes is None or len(axes) != 1:
            return None
        _nonempty(x.shape, axes)
        return finish(arg_extreme(x, axes[0], greatest_first), axes, x.shape, keepdims)

    return row


# ------------------------------------------------------------------------------------------------- scans, sorting


def _scan(fn: Callable[..., object], init: Any, combine: Callable[[T, T], T]) -> Row:
    def row(low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE) -> Operand | None:
        x = _array(low, a)
        found = None if x is None else _dtype(fn, x, dtype)
        if x is None or found is None or not _plain(out) or not isinstance(axis, Known):
            return None
        if axis.value is None:
            x, at = emit.reshape(x, (math.prod(x.shape),)), 0
        else:
            axes = axes_of(axis, len(x.shape))
            if axes is None:
                return None
            at = axes[0]
        result = emit.cumulative(emit.convert(x, found), at, init, combine)
        return Val(Num(ARRAY, found, result.shape), result.ir)

    return row


def _less(a: T, b: T) -> T:
    """NumPy's order: nans last."""
    if a.dtype.kind == "f":
        return or_(compare("LT", a, b), and_(not_(emit.is_nan(a)), emit.is_nan(b)))
    return compare("LT", a, b)


def _sort(low: L, a: Operand, axis: Operand = LAST) -> Operand | None:
    x = _array(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    if x is None or axes is None or len(axes) != 1 or x.dtype.kind == "c":
        return None
    (result,) = emit.sort([x], axes[0], _less)
    return Val(Num(ARRAY, x.dtype, x.shape), result.ir)


def _argsort(low: L, a: Operand, axis: Operand = LAST, *, kind: Operand = NONE, stable: Operand = NONE) -> Operand | None:
    """Only the stable sort: the others leave the order of equal elements open, and NumPy's own choice is not known."""
    x = _array(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    steady = (isinstance(kind, Known) and kind.value in ("stable", "mergesort")) or (isinstance(stable, Known) and stable.value is True)
    if x is None or axes is None or len(axes) != 1 or x.dtype.kind == "c" or not steady:
        return None
    _, order = emit.sort([x, emit.iota(INT64, x.shape, axes[0])], axes[0], lambda a0, b0, a1, b1: _less(a0, b0))
    return Val(Num(ARRAY, INT64, x.shape), order.ir)


def _of_ufunc(row: Row) -> Row:
    """``np.add.reduce``: the axis is 0 if none is given."""
    return lambda low, a, axis=ZERO, **named: row(low, a, axis, **named)


_BY_UFUNC: Final[dict[Any, Row]] = {
    np.add: _sum, np.multiply: _prod, np.maximum: _extreme("maximum"), np.minimum: _extreme("minimum"), np.logical_and: _truths(True),
    np.logical_or: _truths(False),
}  # fmt: skip


def _reduce(low: L, ufunc: Operand, array: Operand, axis: Operand = ZERO, *rest: Operand, **named: Operand) -> Operand | None:
    """``np.add.reduce(a)`` where the method has been taken from the class."""
    row = _BY_UFUNC.get(ufunc.value) if isinstance(ufunc, Known) else None
    return None if row is None or rest else row(low, array, axis, **named)


ROWS: Final[dict[Any, Row]] = {
    np.ufunc.reduce: _reduce,
    np.sum: _sum, np.ndarray.sum: _sum, np.prod: _prod, np.ndarray.prod: _prod, np.mean: _mean, np.ndarray.mean: _mean,
    np.var: _variance(False), np.ndarray.var: _variance(False), np.std: _variance(True), np.ndarray.std: _variance(True),
    np.max: _extreme("maximum"), np.amax: _extreme("maximum"), np.ndarray.max: _extreme("maximum"),
    np.min: _extreme("minimum"), np.amin: _extreme("minimum"), np.ndarray.min: _extreme("minimum"), np.ptp: _ptp,
    np.all: _truths(True), np.ndarray.all: _truths(True), np.any: _truths(False), np.ndarray.any: _truths(False), np.count_nonzero: _count_nonzero,
    np.argmax: _arg(True), np.ndarray.argmax: _arg(True), np.argmin: _arg(False), np.ndarray.argmin: _arg(False),
    np.cumsum: _scan(np.cumsum, 0, emit.add), np.ndarray.cumsum: _scan(np.cumsum, 0, emit.add),
    np.cumprod: _scan(np.cumprod, 1, emit.mul), np.ndarray.cumprod: _scan(np.cumprod, 1, emit.mul), np.sort: _sort, np.argsort: _argsort,
    np.ndarray.argsort: _argsort, **{u.reduce: _of_ufunc(row) for u, row in _BY_UFUNC.items()},
}  # fmt: skip
