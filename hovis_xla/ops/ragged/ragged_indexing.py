"""Indexing of arrays whose size is known at run time only, and the resulting parts: views, and stores into them."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.affine import difference
from hovis_xla.emit.block_slots import block_of, is_within, tensor
from hovis_xla.emit.builder import T, add, compare, like, or_, select, sub
from hovis_xla.emit.values import ARRAY, INT64, SCALAR, Known, NotLowerable, Num, Operand, Ragged, Raises, Stored, Struct, Val, view_roots
from hovis_xla.jaxlib.adapter import ir
from hovis_xla.ops.array.manipulation import as_array
from hovis_xla.ops.ragged.extents import Counts, Span, aligned, counted, is_mask, number, packed, require, same, shifted, unpacked, widened
from hovis_xla.ops.scalar.arithmetic import check_range
from hovis_xla.ops.scalar.python_numbers import L, position

#: Maximum number of bounds clipped to one size that are remembered, to be reused for equal bounds.
REMEMBERED: Final = 8


def made(data: Operand | None, counts: Counts) -> Operand | None:
    """Return a result with its counts: a `Ragged`, or data itself if all of it counts. None stays None."""
    if not isinstance(data, Val):
        return None
    if all(c is None for c in counts):
        return data
    return Ragged(data.num, data, counts)


def data_and_counts(low: L, x: Operand) -> tuple[T, Counts] | None:
    """Return an array at full width and its counts, or None if the operand is no array."""
    if isinstance(x, Ragged):
        return tensor(x.read()), x.counts
    if isinstance(x, Val) or (isinstance(x, Known) and is_a(x.value, np.ndarray)):
        t = tensor(low.val(x))
        return t, (None,) * len(t.shape)
    return None


# ------------------------------------------------------------------------------------------------- items


def seen(x: Ragged, shown: Callable[[T], T], counts: Counts, full: Num | None = None) -> Ragged:
    """Return a view of an array; it shows the content that the array has when the view is read."""
    return Ragged(full or x.full, x.base, counts, lambda base: as_array(shown(tensor(x.shown(base)))), None, False)


def reversed_(low: L, x: Ragged) -> Operand | None:
    extent = x.counts[0]
    if extent is None:
        return None
    if is_mask(extent):
        return seen(x, lambda t: slicing.reverse(t, [0]), (extent.reversed() if isinstance(extent, Span) else slicing.reverse(extent, [0]), *x.counts[1:]))
    return seen(x, lambda t: shifted(slicing.reverse(t, [0]), 0, sub(like(t.shape[0], extent), extent)), x.counts)


def item(low: L, x: Ragged, index: Operand) -> Operand | None:
    """Lower ``x[index]``."""
    if isinstance(index, Known) and index.value is Ellipsis:
        return Ragged(x.full, x.base, x.counts, x.shown, x.write, False)
    if isinstance(index, Ragged) and index.full.dtype.kind == "b":
        return _chosen(low, x, index)
    if isinstance(index, Known) and is_a(index.value, slice) and (index.value.start, index.value.stop, index.value.step) == (None, None, -1):
        return reversed_(low, x)
    if (isinstance(index, Known) and type(index.value) is slice) or (isinstance(index, Struct) and index.callee is slice):
        return _sliced(low, x, index)
    integer = (isinstance(index, Known) and type(index.value) is int) or (isinstance(index, Val) and index.num.dtype.kind in "iu" and index.num.kind != ARRAY)
    if not integer or x.counts[0] is None:
        return None
    extent, counts = x.counts[0], x.counts
    t = tensor(x.read())
    if not isinstance(extent, Span):
        t, counts = packed(t, counts, [0])
        extent = counts[0]
    assert extent is not None
    count = number(extent)
    if not t.shape[0]:
        raise Raises("an index into an empty axis: NumPy raises an exception", IndexError)
    at = position(low, index)
    at = select(compare("LT", at, like(0, at)), add(at, count), at)
    low.raise_if(or_(compare("LT", at, like(0, at)), compare("GE", at, count)), IndexError)
    if isinstance(extent, Span):
        at = add(at, extent.first)
    zero = builder.constant(0, INT64)
    found = builder.reshape(slicing.dynamic_slice(t, [at, *(zero for _ in t.shape[1:])], [1, *t.shape[1:]]), t.shape[1:])
    if not found.shape:
        return Val(Num(SCALAR, t.dtype), found.ir)
    if isinstance(x.base, Stored) or not x.own:
        return None  # the result is a view, and may be stored into
    return made(Val(Num(ARRAY, found.dtype, found.shape), found.ir, roots=view_roots([x.base])), counts[1:])


def _sliced(low: L, x: Ragged, index: Operand) -> Operand | None:
    """Lower ``x[start:stop]`` to a view."""
    if isinstance(index, Struct):
        parts = index.parts if len(index.parts) > 1 else (Known(None), *index.parts)
    else:
        parts = tuple(Known(v) for v in (index.value.start, index.value.stop, index.value.step))  # type: ignore[union-attr]
    start, stop, step = (*parts, Known(None))[:3]
    extent = x.counts[0]
    if extent is None or not (isinstance(step, Known) and step.value in (None, 1)):
        return None
    if isinstance(extent, Span):
        begin = extent.first
        x = seen(x, lambda t: shifted(t, 0, begin), (extent.chosen, *x.counts[1:]))
        extent = number(extent)
    elif is_mask(extent):
        if isinstance(x.base, Stored):
            return None
        t, counts = packed(tensor(x.read()), x.counts, [0])
        x = Ragged(x.full, Val(x.full, t.ir, roots=x.base.roots), counts, own=x.own)
        extent = counts[0]
        assert extent is not None
    first, last = _within(low, start, like(0, extent), extent), _within(low, stop, extent, extent)
    if first is None or last is None:
        return None
    left = sub(last, first)
    return seen(x, lambda t: shifted(t, 0, first), (builder.op("maximum", left, like(0, left)), *x.counts[1:]))


def _within(low: L, bound: Operand, default: T, size: T) -> T | None:
    """Return a slice bound clipped, as in Python, to an unknown size, or None if it is not an integer."""
    if isinstance(bound, Known) and bound.value is None:
        return default
    known = isinstance(bound, Known) and type(bound.value) is int
    if not known and not (isinstance(bound, Val) and bound.num.dtype.kind in "iu" and bound.num.kind != ARRAY):
        return None
    x = position(low, bound)
    return select(compare("LT", x, like(0, x)), builder.op("maximum", add(x, size), like(0, x)), builder.op("minimum", x, size))


def _chosen(low: L, x: Ragged, mask: Ragged) -> Operand | None:
    """Lower ``x[mask]`` with a mask of the size of x."""
    if len(mask.counts) != 1:
        return None
    (which, t), counts = aligned(low, [(tensor(mask.read()), mask.counts), (tensor(x.read()), x.counts)]) if len(x.counts) == 1 else ((None, None), ())
    if which is None or t is None:
        return None
    here = counted(which.shape, counts)
    return made(as_array(t), (which if here is None else builder.and_(which, here),))


# ------------------------------------------------------------------------------------------------- slices


def part(low: L, array: Val, bounds: dict[int, tuple[Any, Any]]) -> Ragged:
    """Return a view of an array in which only start … stop counts along some axes. It is the same object if array and bounds are known to be the
    same.
    """
    shape = array.num.shape
    clipped = {axis: (clipped_bound(low, start, 0, shape[axis]), clipped_bound(low, stop, shape[axis], shape[axis])) for axis, (start, stop) in bounds.items()}
    whole = (array.place.location, array.place.skeleton, *(s.ir for s in array.place.starts)) if isinstance(array, Stored) else array.ir
    key = whole, shape, tuple((axis, *(b.ir if isinstance(b, T) else b for b in pair)) for axis, pair in clipped.items())
    found: Ragged | None = low.parts.get(key)
    if found is None or not all(is_within(ir.InsertionPoint.current.block, block_of(c.ir)) for c in found.counts if c is not None):
        found = low.parts[key] = _part(low, array, clipped)
    return found


def _part(low: L, array: Val, bounds: dict[int, tuple[Any, Any]]) -> Ragged:
    """Make the view for bounds that are within the array."""
    shape = array.num.shape
    counts: list[T | None] = [None] * len(shape)
    for axis, (first, last) in bounds.items():
        counts[axis] = _wide(last) if isinstance(first, int) and first == 0 else Span.of(_wide(first), _wide(last), shape[axis], isinstance(last, int))

    def write(base: Val, new: T) -> None:
        if not isinstance(base, Stored):
            raise NotLowerable("a store into an array of unknown origin, which may be a view")
        here = counted(shape, tuple(counts))
        assert here is not None
        low.write(base.place, select(here, new, tensor(base)))

    return Ragged(Num(ARRAY, array.num.dtype, shape), array, tuple(counts), write=write, own=False)


def _wide(start: Any) -> T:
    return builder.constant(start, INT64) if isinstance(start, int) else start


def clipped_bound(low: L, bound: Operand, default: int, size: int) -> Any:
    """Return a slice bound clipped, as in Python, to a dimension of this size; ``default`` for None."""
    if isinstance(bound, Known):
        return default if bound.value is None else slice(bound.value, None).indices(size)[0]
    if not isinstance(bound, Val) or bound.num.dtype.kind not in "iu" or bound.num.kind == ARRAY:
        raise NotLowerable("a slice with bounds that are not integers")
    given = tensor(bound)
    least, greatest = low.interval(bound) or (-(2**63), 2**63)
    key = size, least < 0, greatest > size  # what is certain of the bound here may not be certain elsewhere
    for before, clipped in low.clipped.get(key, ()):
        alike = before.ir == given.ir or (given.dtype == INT64 == before.dtype and difference(before.ir, given.ir) == 0)
        if alike and is_within(ir.InsertionPoint.current.block, block_of(clipped.ir)):
            return clipped
    x = position(low, bound)
    found = builder.op("minimum", x, like(size, x)) if greatest > size else x
    if least < 0:
        found = select(compare("LT", x, like(0, x)), builder.op("maximum", add(x, like(size, x)), like(0, x)), found)
    low.clipped[key] = ((given, found), *low.clipped.get(key, ())[:REMEMBERED])
    return found


def assign(low: L, target: Ragged, value: Operand, casting: Any = None) -> None:
    """Store a value into a part of unknown size."""
    if target.write is None:
        raise NotLowerable("a store into a copy of a part of an array")
    shape = target.full.shape
    found = data_and_counts(low, value) or (tensor(low.val(value)), ())
    t, counts = found
    if casting is not None and not (isinstance(value, Val) and value.num.kind == "python") and not np.can_cast(t.dtype, target.full.dtype, casting):
        raise NotLowerable(f"{t.dtype} stored into {target.full.dtype}: NumPy raises an exception")
    if len(t.shape) > len(shape) or (t.dtype.kind == "c" and target.full.dtype.kind != "c"):
        raise NotLowerable("a store of an array with more dimensions, or of complex numbers into an array that is not complex")
    for axis in range(-len(t.shape), 0):
        mine, other, size, place = target.counts[axis], counts[axis], t.shape[axis], len(t.shape) + axis
        if (other is None and size == 1) or (mine is not None and same(mine, other) and size == shape[axis]):
            continue
        if other is not None and is_mask(other):
            t, counts = packed(t, counts, [place])
            other = counts[axis]
        here = _wide(shape[axis]) if mine is None else number(mine)
        require(low, here, _wide(size) if other is None else other)
        t = widened(t, place, max(size, shape[axis]))
        if size > shape[axis]:
            t = slicing.along(t, place, 0, shape[axis])
        if mine is not None and is_mask(mine):
            t = unpacked(t, place, mine)
    if not t.shape and isinstance(value, Val | Known):
        check_range(low, t, target.full.dtype)
    target.write(target.base, builder.broadcast(builder.convert(t, target.full.dtype), shape))
