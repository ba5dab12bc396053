"""Extents: which elements of a dimension count, where that is known at run time only (``types.Ragged``).

An extent is None (all elements), a number (an i64: this many elements from the first one on) or a mask (a boolean vector: the
elements where it holds, in order).  Elements that a mask selects stay in place: elementwise operations, reductions and stores under
the same mask do not depend on their positions.  Where positions matter, they are *packed* to the front.  For a mask that is a run
of consecutive elements (:class:`Span`), the start and the end are known, and packing is a shift.
"""

from collections.abc import Sequence
from typing import Any

from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.affine import difference
from hovis_xla.emit.builder import T, add, compare, like, select, sub
from hovis_xla.emit.fp_barriers import numbers
from hovis_xla.emit.values import INT64
from hovis_xla.hlo.structural_equality import alike
from hovis_xla.ops.scalar.python_numbers import L

Extent = T | None

#: One extent for each dimension.
Counts = tuple[Extent, ...]


class Span(T):
    """A mask of the elements from ``first`` on and before ``last``; their number is ``chosen``. ``is_rest``: it ends with the vector."""

    first: T
    last: T
    chosen: T
    is_rest: bool

    @staticmethod
    def of(first: T, last: T, size: int, is_rest: bool = False) -> "Span":
        at = builder.iota(INT64, (size,), 0)
        here = compare("GE", at, builder.broadcast(first, at.shape))
        if numbers([last.ir]) != [size]:  # a test of a constant would become a constant mask, which a loop reads in each iteration
            here = builder.and_(here, compare("LT", at, builder.broadcast(last, at.shape)))
        found = Span(*here)
        left = sub(last, first)
        found.first, found.last, found.chosen, found.is_rest = first, last, builder.op("maximum", left, like(0, left)), is_rest
        return found

    def reversed(self) -> "Span":
        """Return the span of the same elements in the reversed vector."""
        size = like(self.shape[0], self.first)
        return Span.of(sub(size, self.last), sub(size, self.first), self.shape[0], True)

    def same(self, other: "Span") -> bool:
        return self.shape == other.shape and difference(self.first.ir, other.first.ir) == 0 and difference(self.last.ir, other.last.ir) == 0


def is_mask(extent: Extent) -> bool:
    return extent is not None and extent.dtype.kind == "b"


def number(extent: T) -> T:
    """Return the number of elements that count."""
    if isinstance(extent, Span):
        return extent.chosen
    if not is_mask(extent):
        return extent
    return reductions.reduce([builder.convert(extent, INT64)], [builder.constant(0, INT64)], [0], lambda a, b: [add(a, b)])[0]


def counted(shape: tuple[int, ...], counts: Counts) -> T | None:
    """Return the mask of the elements that count, or None if all do."""
    found: T | None = None
    for axis, extent in enumerate(counts):
        if extent is None:
            continue
        if is_mask(extent):
            here = builder.broadcast(builder.reshape(extent, (shape[axis],) + (1,) * (len(shape) - axis - 1)), shape)
        else:
            here = compare("LT", builder.iota(INT64, shape, axis), builder.broadcast(extent, shape))
        found = here if found is None else builder.and_(found, here)
    return found


def filled(t: T, counts: Counts, value: Any) -> T:
    """Replace all elements that do not count by a value."""
    mask = counted(t.shape, counts)
    return t if mask is None else select(mask, t, like(value, t))


def require(low: L, a: T, b: T) -> None:
    """Bail out if two numbers of elements differ."""
    if not same(a, b):
        low.bail_if(compare("NE", a, b))


def widened(t: T, axis: int, size: int) -> T:
    """Pad t with zeros to this size along an axis."""
    extra = size - t.shape[axis]
    if not extra:
        return t
    return slicing.pad(t, 0, [0] * len(t.shape), [extra if k == axis else 0 for k in range(len(t.shape))])


def packed(t: T, counts: Counts, axes: Sequence[int] | None = None) -> tuple[T, Counts]:
    """Move the elements that masks select (along some axes) to the front; return the tensor and its new counts."""
    found = list(counts)
    for axis, extent in enumerate(counts):
        if extent is None or not is_mask(extent) or (axes is not None and axis not in axes):
            continue
        if isinstance(extent, Span):
            t, found[axis] = shifted(t, axis, extent.first), extent.chosen
        else:
            places, found[axis] = _places(extent)
            t = slicing.take(t, places, axis)
    return t, tuple(found)


def shifted(t: T, axis: int, by: T) -> T:
    """Shift t along an axis by ``by`` towards the front; the elements behind the last one are unspecified."""
    rank = range(len(t.shape))
    wide = slicing.pad(t, 0, [0 for _ in rank], [t.shape[k] if k == axis else 0 for k in rank])
    zero = builder.constant(0, INT64)
    return slicing.dynamic_slice(wide, [by if k == axis else zero for k in rank], t.shape)


def _shifted_back(t: T, axis: int, by: T) -> T:
    """Shift t along an axis by ``by`` towards the end; the elements before the first one are unspecified."""
    rank = range(len(t.shape))
    wide = slicing.pad(t, 0, [t.shape[k] if k == axis else 0 for k in rank], [0 for _ in rank])
    zero = builder.constant(0, INT64)
    return slicing.dynamic_slice(wide, [sub(like(t.shape[axis], by), by) if k == axis else zero for k in rank], t.shape)


def _places(mask: T) -> tuple[T, T]:
    """Return the indices where a mask holds, in order (followed by filler), and their number."""
    size = mask.shape[0]

    def step(i: T, k: T, found: T, mask: T) -> list[T]:
        here = builder.reshape(slicing.dynamic_slice(mask, [i], [1]), ())
        # an index stored where the mask does not hold is overwritten later, or stays behind the elements that count
        found = slicing.dynamic_update_slice(found, builder.reshape(i, (1,)), [k])
        return [add(i, like(1, i)), add(k, builder.convert(here, INT64)), found, mask]

    zero = builder.constant(0, INT64)
    start = [zero, zero, builder.zeros(INT64, mask.shape), mask]
    _, count, found, _ = reductions.repeat(start, lambda i, *_: compare("LT", i, like(size, i)), step)
    return found, count


def unpacked(t: T, axis: int, mask: T) -> T:
    """Move the elements at the front along an axis to where a mask holds."""
    if isinstance(mask, Span):
        return _shifted_back(t, axis, mask.first)
    return slicing.take(t, ranks(mask), axis)


def ranks(mask: T) -> T:
    """Return for each element the number of elements before it that a mask selects."""
    size = mask.shape[0]

    def step(i: T, k: T, found: T, mask: T) -> list[T]:
        here = builder.reshape(slicing.dynamic_slice(mask, [i], [1]), ())
        return [add(i, like(1, i)), add(k, builder.convert(here, INT64)), slicing.dynamic_update_slice(found, builder.reshape(k, (1,)), [i]), mask]

    zero = builder.constant(0, INT64)
    return reductions.repeat([zero, zero, builder.zeros(INT64, mask.shape), mask], lambda i, *_: compare("LT", i, like(size, i)), step)[2]


def same(a: Extent, b: Extent) -> bool:
    """Are two extents equal, as far as is known while lowering?"""
    if isinstance(a, Span) and isinstance(b, Span):
        return a.same(b)
    return a is b or (a is not None and b is not None and alike(a.ir, b.ir))


def aligned(low: L, operands: "list[tuple[T, Counts]]") -> tuple[list[T], Counts]:
    """Return operands that can be broadcast against each other, and the counts of the result."""
    rank = max(len(t.shape) for t, _ in operands)
    operands = _alike(low, operands, rank)
    tensors = [t for t, _ in operands]
    result: list[Extent] = []
    for axis in range(-rank, 0):
        sizes = [(k, counts[axis], t.shape[axis]) for k, (t, counts) in enumerate(operands) if len(t.shape) >= -axis]
        found = [c for _, c, _ in sizes if c is not None]
        result.append(found[0] if found else None)
        if not found:
            continue
        for other in found[1:]:
            require(low, found[0], other)
        width = max(n for _, c, n in sizes if c is not None or n != 1)
        for k, c, n in sizes:
            if c is None and n != 1:
                require(low, found[0], builder.constant(n, INT64))
            if c is not None or n != 1:
                tensors[k] = widened(tensors[k], len(tensors[k].shape) + axis, width)
    return tensors, tuple(result)


def _alike(low: L, operands: "list[tuple[T, Counts]]", rank: int) -> "list[tuple[T, Counts]]":
    """Return the operands in a form where all of them have the same mask, or none, in each dimension."""
    for axis in range(-rank, 0):
        mine = [(counts[axis], t.shape[axis]) for t, counts in operands if len(t.shape) >= -axis]
        first = next((c for c, _ in mine if c is not None and is_mask(c)), None)
        if first is not None and any((c is not None and not same(c, first)) or (c is None and n != 1) for c, n in mine):
            span = next((c for c, _ in mine if c is not None), None)
            if isinstance(span, Span) and all(n == span.shape[0] and (not is_mask(c) or isinstance(c, Span)) if c is not None else n == 1 for c, n in mine):
                operands = [_moved(low, t, counts, axis, span) if len(t.shape) >= -axis else (t, counts) for t, counts in operands]
            else:
                operands = [packed(t, counts, [len(t.shape) + axis]) if len(t.shape) >= -axis else (t, counts) for t, counts in operands]
    return operands


def _moved(low: L, t: T, counts: Counts, axis: int, span: Span) -> tuple[T, Counts]:
    """Move the elements that count along an axis to ``span``, where the first operand has them: the result is mostly stored in place of that."""
    extent = counts[axis]
    if extent is None or same(extent, span):
        return t, counts
    require(low, span.chosen, number(extent))
    rank, at = range(len(t.shape)), len(t.shape) + axis
    size = t.shape[at]
    if isinstance(extent, Span):
        ends = [size if k == at else 0 for k in rank]
        zero = builder.constant(0, INT64)
        start = add(like(size, span.first), sub(extent.first, span.first))
        t = slicing.dynamic_slice(slicing.pad(t, 0, ends, ends), [start if k == at else zero for k in rank], t.shape)
    else:
        t = _shifted_back(t, at, span.first)
    return t, tuple(span if k == at else c for k, c in enumerate(counts))
