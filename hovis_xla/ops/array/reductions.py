"""Reductions and scans."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from hovis.lattice import Array
from hovis.lattice.inspection import is_a
from hovis.library.numpy.types.arrays import ask, dtype_of
from hovis_xla.emit import builder, reductions
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, and_, compare, like, or_, select
from hovis_xla.emit.values import ARRAY, BOOL, FALSE, INT64, NONE, PYTHON, SCALAR, TRUE, ZERO, Known, NotLowerable, Num, Operand, Val, is_numpy, num_of_value
from hovis_xla.ops.scalar.python_numbers import L, Row

#: ``np._NoValue``: an option that is left out.
NOTHING: Final = Known(np._NoValue)


def axes_of(axis: Operand, rank: int) -> tuple[int, ...] | None:
    """Return the axes counted from the front (all axes for a known None), or None if they are not known integers."""
    if not isinstance(axis, Known):
        return None
    if axis.value is None:
        return tuple(range(rank))
    found = axis.value if is_a(axis.value, tuple) else (axis.value,)
    if not all(isinstance(a, int | np.integer) for a in found):
        return None
    if not all(-rank <= a < rank for a in found) or len({a % rank for a in found}) < len(found):
        raise NotLowerable(f"axis {axis.value} of an array with {rank} dimensions: NumPy raises an exception")
    return tuple(int(a) % rank for a in found)


def axis_of(axis: Known, rank: int) -> int:
    """Return the known axis, counted from the front."""
    found = axes_of(axis, rank)
    if found is None or len(found) != 1:
        raise NotLowerable(f"axis {axis.value} is not a single axis of an array with {rank} dimensions")
    return found[0]


def finish(result: T, axes: Sequence[int], shape: tuple[int, ...], keepdims: Operand) -> Val | None:
    """Return the result as a `Val`, with the reduced axes kept at size 1 if keepdims is true, or None if keepdims is not known."""
    if not isinstance(keepdims, Known):
        return None
    if keepdims.value is True:
        kept = tuple(1 if k in axes else d for k, d in enumerate(shape))
        return Val(Num(ARRAY if kept else SCALAR, result.dtype, kept), builder.reshape(result, kept).ir)
    return Val(Num(ARRAY if result.shape else SCALAR, result.dtype, result.shape), result.ir)


def reduce(x: T, axes: Sequence[int], init: Any, body: Callable[[T, T], T]) -> T:
    if count(x.shape, axes) == 1:  # XLA would drop the identity, whose addition turns -0.0 into 0.0
        element = builder.reshape(x, tuple(d for k, d in enumerate(x.shape) if k not in axes))
        return body(like(init, element), element)
    found = reductions.reduce([x], [builder.constant(init, x.dtype)], axes, lambda a, b: [body(a, b)])[0]
    return builder.begun_with_zero(found, (x, axes)) if body is builder.add and not np.signbit(init) else found


def total(x: T, axes: Sequence[int]) -> T:
    return reduce(x, axes, 0, builder.add)


def result_dtype(fn: Callable[..., object], dtype: "np.dtype[Any]") -> "np.dtype[Any] | None":
    """Return the dtype of the result of NumPy's function for arrays of this dtype, or None if it is not known."""
    found = ask(fn, Array(np.ndarray, dtype, 1))
    return None if found is None else dtype_of(found)


def numpy_tensor(low: L, a: Operand) -> T | None:
    """Return an array or NumPy scalar as a tensor, or None for any other operand."""
    return tensor(low.val(a)) if is_numpy(a) else None


def left_out(*options: Operand) -> bool:
    """Are these options all known to be None?"""
    return all(isinstance(o, Known) and o.value is None for o in options)


def _dtype(fn: Callable[..., object], x: T, dtype: Operand) -> "np.dtype[Any] | None":
    if not isinstance(dtype, Known):
        return None
    return result_dtype(fn, x.dtype) if dtype.value is None else np.dtype(dtype.value)


# ------------------------------------------------------------------------------------------------- operands of reductions


class Chosen(NamedTuple):
    """The input of a reduction: the elements, the axes to reduce, and a mask of the elements that count (None: all)."""

    x: T
    axes: tuple[int, ...]
    where: T | None = None

    def filled(self, identity: Any) -> T:
        """Return the elements, with the identity in place of the masked-out ones."""
        return self.x if self.where is None else select(self.where, self.x, like(identity, self.x))

    def many(self) -> T | int:
        """Return the number of elements that each result is made of."""
        if self.where is None:
            return count(self.x.shape, self.axes)
        return total(builder.convert(self.where, INT64), self.axes)

    def over(self, x: T, keepdims: bool = False) -> T:
        """Return x divided by the number of elements that each result is made of."""
        many = self.many()
        if isinstance(many, int):
            return builder.div(x, like(many, x))
        return builder.div(x, builder.broadcast(builder.reshape(builder.convert(many, x.dtype), x.shape), x.shape))


def chosen(low: L, a: Operand, axis: Operand, where: Operand = TRUE) -> Chosen | None:
    """Return the operand of a reduction with its axes and mask, or None if the arguments are not supported."""
    x = numpy_tensor(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    if x is None or axes is None:
        return None
    if isinstance(where, Known) and where.value is True:
        return Chosen(x, axes)
    if not is_numpy(where):
        return None
    test = tensor(low.val(where))
    if test.dtype != BOOL or len(test.shape) > len(x.shape) or np.broadcast_shapes(test.shape, x.shape) != x.shape:
        raise NotLowerable("where= of a reduction is not an array of bools whose shape can be broadcast")
    return Chosen(x, axes, builder.broadcast(test, x.shape))


def _is_left_out(initial: Operand) -> bool:
    return isinstance(initial, Known) and initial.value is np._NoValue


def _starting(low: L, result: T, initial: Operand, body: Callable[[T, T], T]) -> T | None:
    """Combine the result with ``initial=``; return None if initial is not supported."""
    if _is_left_out(initial):
        return result
    start = low.val(initial) if isinstance(initial, Val) or (isinstance(initial, Known) and num_of_value(initial.value) is not None) else None
    if start is None or start.num.shape or (result.dtype.kind != "f" and start.num.dtype.kind not in {result.dtype.kind, "b"}):
        return None
    if start.num.dtype.kind == "c" or (result.dtype.kind in "iu" and not (isinstance(initial, Known) and fits(initial.value, result.dtype))):
        return None
    return body(builder.broadcast(builder.convert(tensor(start), result.dtype), result.shape), result)


def fits(value: Any, dtype: "np.dtype[Any]") -> bool:
    """Can an integer array of this dtype hold the value?"""
    return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


# ------------------------------------------------------------------------------------------------- sums and means


def _folded(fn: Callable[..., object], identity: int, body: Callable[[T, T], T]) -> Row:
    """Make the lowering of a sum or a product."""

    def row(
        low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE,
        initial: Operand = NOTHING, where: Operand = TRUE,
    ) -> Operand | None:  # fmt: skip
        what = chosen(low, a, axis, where)
        found = None if what is None else _dtype(fn, what.x, dtype)
        if what is None or found is None or not left_out(out):
            return None
        combine = body if found != BOOL else or_ if identity == 0 else and_
        # NumPy sums float16 in float32
        wide = np.dtype(np.float32) if found == np.float16 else found
        # a sum that begins with ``initial=`` may be -0.0
        begun = -0.0 if identity == 0 and wide.kind in "fc" and not _is_left_out(initial) else identity
        elements = Chosen(builder.convert(builder.convert(what.x, found), wide), what.axes, what.where).filled(begun)
        result = _starting(low, builder.convert(reduce(elements, what.axes, begun, combine), found), initial, combine)
        return None if result is None else finish(result, what.axes, what.x.shape, keepdims)

    return row


_sum: Final = _folded(np.sum, 0, builder.add)
_prod: Final = _folded(np.prod, 1, builder.mul)


def count(shape: Sequence[int], axes: Sequence[int]) -> int:
    return math.prod(shape[k] for k in axes)


def mean_of(what: Chosen, dtype: "np.dtype[Any]", keepdims: bool = False) -> T:
    """Return the mean in this dtype; with keepdims, the reduced axes are kept at size 1."""
    summed = total(builder.convert(what.filled(0), dtype), what.axes)
    found = what.over(summed)
    return builder.reshape(found, tuple(1 if k in what.axes else d for k, d in enumerate(what.x.shape))) if keepdims else found


def _mean(
    low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE, where: Operand = TRUE
) -> Operand | None:
    what = chosen(low, a, axis, where)
    found = None if what is None else _dtype(np.mean, what.x, dtype)
    if what is None or found is None or found.kind not in "fc" or not left_out(out):
        return None
    # NumPy sums float16 in float32, unless dtype= is float16
    wide = np.dtype(np.float32) if found == np.float16 else found
    return finish(builder.convert(mean_of(what, wide), found), what.axes, what.x.shape, keepdims)


def _variance(root: bool) -> Row:
    def row(
        low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE, ddof: Operand = ZERO, keepdims: Operand = FALSE,
        where: Operand = TRUE,
    ) -> Operand | None:  # fmt: skip
        what = chosen(low, a, axis, where)
        found = None if what is None else _dtype(np.mean, what.x, dtype)
        if what is None or found is None or found.kind not in "fc" or not left_out(out) or not isinstance(ddof, Known):
            return None
        if not is_a(ddof.value, int | float) or (found.kind == "c" and not left_out(dtype)):
            return None
        wide = np.dtype(np.float32) if found == np.float16 else found
        what = what._replace(x=builder.convert(what.x, wide))
        off = builder.sub(what.x, builder.broadcast(mean_of(what, wide, keepdims=True), what.x.shape))
        parts = [builder.real(off), builder.imag(off)] if wide.kind == "c" else [off]
        squares = [builder.mul(p, p) for p in parts]
        square = squares[0] if len(squares) == 1 else builder.add(*squares)
        summed = total(what._replace(x=square).filled(0), what.axes)
        many = what.many()
        if isinstance(many, int):
            rest = like(max(many - ddof.value, 0), summed)
        else:
            rest = builder.convert(many, summed.dtype)
            rest = builder.op("maximum", builder.sub(rest, like(ddof.value, rest)), like(0, rest))
        variance = builder.div(summed, rest)
        narrow = found if found.kind == "f" else summed.dtype
        return finish(builder.convert(builder.op("sqrt", variance) if root else variance, narrow), what.axes, what.x.shape, keepdims)

    return row


# ------------------------------------------------------------------------------------------------- extremes, truths


def least(dtype: "np.dtype[Any]") -> Any:
    return False if dtype == BOOL else -math.inf if dtype.kind == "f" else np.iinfo(dtype).min


def greatest(dtype: "np.dtype[Any]") -> Any:
    return True if dtype == BOOL else math.inf if dtype.kind == "f" else np.iinfo(dtype).max


def check_nonempty(shape: Sequence[int], axes: Sequence[int]) -> None:
    if count(shape, axes) == 0:
        raise NotLowerable("a reduction without identity over no elements: NumPy raises an exception")


def extreme(x: T, axes: Sequence[int], name: str) -> T:
    check_nonempty(x.shape, axes)
    start = least(x.dtype) if name == "maximum" else greatest(x.dtype)
    if x.dtype.kind != "f":
        return reduce(x, axes, start, lambda a, b: builder.op(name, a, b))
    order = "GT" if name == "maximum" else "LT"

    def either(a: T, b: T) -> T:
        """Return the more extreme of a and b, or a if it is NaN: XLA hands a plain maximum of floats to a library, which loses NaNs."""
        return select(or_(compare("NE", a, a), compare(order, a, b)), a, b)

    return reduce(x, axes, start, either)


def _extreme(name: str) -> Row:
    def row(
        low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE, initial: Operand = NOTHING, where: Operand = TRUE
    ) -> Operand | None:
        what = chosen(low, a, axis, where)
        if what is None or not left_out(out) or what.x.dtype.kind == "c":
            return None
        started = not (isinstance(initial, Known) and initial.value is np._NoValue)
        if what.where is not None and not started:
            raise NotLowerable("reduction operation does not have an identity: NumPy raises an exception")
        if not started:
            return finish(extreme(what.x, what.axes, name), what.axes, what.x.shape, keepdims)
        identity = least(what.x.dtype) if name == "maximum" else greatest(what.x.dtype)
        combine = _combined(name)
        found = _starting(low, reduce(what.filled(identity), what.axes, identity, combine), initial, combine)
        return None if found is None else finish(found, what.axes, what.x.shape, keepdims)

    return row


def _combined(name: str) -> Callable[[T, T], T]:
    return lambda a, b: builder.op(name, a, b)


def _ptp(low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE) -> Operand | None:
    what = chosen(low, a, axis)
    if what is None or not left_out(out) or what.x.dtype.kind in "bc":
        return None
    span = builder.sub(extreme(what.x, what.axes, "maximum"), extreme(what.x, what.axes, "minimum"))
    return finish(span, what.axes, what.x.shape, keepdims)


def _truths(every: bool) -> Row:
    def row(low: L, a: Operand, axis: Operand = NONE, out: Operand = NONE, keepdims: Operand = FALSE, *, where: Operand = TRUE) -> Operand | None:
        what = chosen(low, a, axis, where)
        if what is None or not left_out(out):
            return None
        what = what._replace(x=builder.convert(what.x, BOOL))
        return finish(reduce(what.filled(every), what.axes, every, and_ if every else or_), what.axes, what.x.shape, keepdims)

    return row


def _count_nonzero(low: L, a: Operand, axis: Operand = NONE, *, keepdims: Operand = FALSE) -> Operand | None:
    x = numpy_tensor(low, a)
    axes = None if x is None else axes_of(axis, len(x.shape))
    if x is None or axes is None:
        return None
    found = finish(total(builder.convert(builder.convert(x, BOOL), INT64), axes), axes, x.shape, keepdims)
    # for a whole array, some versions of NumPy return a Python int
    counted: Any = np.count_nonzero(np.zeros(1))
    python = type(counted) is int and isinstance(axis, Known) and axis.value is None
    return Val(Num(PYTHON, INT64), found.ir) if found is not None and python and not found.num.shape else found


# ------------------------------------------------------------------------------------------------- scans


def _scan(fn: Callable[..., object], combine: Callable[[T, T], T]) -> Row:
    def row(low: L, a: Operand, axis: Operand = NONE, dtype: Operand = NONE, out: Operand = NONE) -> Operand | None:
        x = numpy_tensor(low, a)
        found = None if x is None else _dtype(fn, x, dtype)
        if x is None or found is None or not left_out(out) or not isinstance(axis, Known):
            return None
        if axis.value is None:
            x, at = builder.reshape(x, (math.prod(x.shape),)), 0
        else:
            axes = axes_of(axis, len(x.shape))
            if axes is None:
                return None
            at = axes[0]
        result = reductions.cumulative(builder.convert(x, found), at, combine)
        return Val(Num(ARRAY, found, result.shape), result.ir)

    return row


def of_ufunc(row: Row) -> Row:
    """Make the lowering of ``np.add.reduce`` from that of ``np.sum``: the axis defaults to 0."""
    return lambda low, a, axis=ZERO, **named: row(low, a, axis, **named)


BY_UFUNC: Final[dict[Any, Row]] = {
    np.add: _sum, np.multiply: _prod, np.maximum: _extreme("maximum"), np.minimum: _extreme("minimum"), np.logical_and: _truths(True),
    np.logical_or: _truths(False),
}  # fmt: skip


ROWS: Final[dict[Any, Row]] = {
    np.sum: _sum, np.ndarray.sum: _sum, np.prod: _prod, np.ndarray.prod: _prod, np.mean: _mean, np.ndarray.mean: _mean,
    np.var: _variance(False), np.ndarray.var: _variance(False), np.std: _variance(True), np.ndarray.std: _variance(True),
    np.max: _extreme("maximum"), np.amax: _extreme("maximum"), np.ndarray.max: _extreme("maximum"),
    np.min: _extreme("minimum"), np.amin: _extreme("minimum"), np.ndarray.min: _extreme("minimum"), np.ptp: _ptp,
    np.all: _truths(True), np.ndarray.all: _truths(True), np.any: _truths(False), np.ndarray.any: _truths(False), np.count_nonzero: _count_nonzero,
    np.cumsum: _scan(np.cumsum, builder.add), np.ndarray.cumsum: _scan(np.cumsum, builder.add),
    np.cumprod: _scan(np.cumprod, builder.mul), np.ndarray.cumprod: _scan(np.cumprod, builder.mul),
}  # fmt: skip
