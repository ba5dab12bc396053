"""Contractions: ``matmul``, ``dot``, ``tensordot``, ``einsum`` … are all sums of products over labelled dimensions.

:func:`sum_of_products` computes any of them by products of two operands at a time, each one a ``dot_general``.  An operand that is
a transpose is not computed for that: the corresponding dimensions of the array that was transposed are contracted instead.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.lattice.inspection import is_a
from hovis.library.numpy.types.einsum_subscripts import Labels, Terms, parse, split
from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import ARRAY, BOOL, FALSE, INT64, LAST, NONE, ZERO, Known, NotLowerable, Num, Operand, Val, is_numpy, num_of_dtype, view_roots
from hovis_xla.ops.array.elementwise import conjugate
from hovis_xla.ops.array.manipulation import as_array, literal
from hovis_xla.ops.array.reductions import finish, total
from hovis_xla.ops.scalar.python_numbers import L, Row, class_of

#: ``tensordot`` contracts two axes by default.
_TWO: Final = Known(2)


def strong(low: L, x: Operand) -> T | None:
    """Return an operand as ``np.asarray`` converts it (a Python number has a dtype, too), or None if it is neither number nor array."""
    return tensor(low.val(x)) if is_numpy(x) or class_of(x) is not None else None


def _pair(low: L, a: Operand, b: Operand) -> tuple[T, T] | None:
    """Return two operands in their common dtype, or None if they are not supported."""
    x, y = strong(low, a), strong(low, b)
    if x is None or y is None or not (is_numpy(a) or is_numpy(b)):
        return None
    dtype = np.result_type(x.dtype, y.dtype)
    return builder.convert(x, dtype), builder.convert(y, dtype)


def result(t: T) -> Val:
    return Val(num_of_dtype(t.dtype, t.shape), t.ir)


# ------------------------------------------------------------------------------------------------- two operands


def _turned_back(t: T) -> tuple[T, list[int]]:
    """Return the tensor that t is a transpose of (t itself if it is none), and the position there of each of t's dimensions."""
    order = list(range(len(t.shape)))
    owner: Any = getattr(t.ir, "owner", None)
    if getattr(owner, "name", "") != "stablehlo.transpose":
        return t, order
    order = [int(k) for k in owner.attributes["permutation"]]
    shape = [0] * len(order)
    for k, at in enumerate(order):
        shape[at] = t.shape[k]
    return T(owner.operands[0], t.dtype, tuple(shape)), order


def contract(x: T, y: T, axes: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]] = ((), ())) -> T:
    """Contract x and y over axes; for truth values, "and" multiplies and "or" adds. The result has the batch dimensions, then those of x, then
    those of y.

    A sum begins with 0.0, and therefore is never -0.0; to a sum of a single product, 0.0 is added explicitly.
    """
    if [x.shape[k] for k in axes[0]] != [y.shape[k] for k in axes[1]]:
        raise NotLowerable(f"a product of shapes {x.shape} and {y.shape}: NumPy raises an exception")
    if x.dtype == BOOL:
        return builder.convert(contract(builder.convert(x, INT64), builder.convert(y, INT64), axes, batch), BOOL)
    rest = [[k for k in range(len(t.shape)) if k not in (*axes[n], *batch[n])] for n, t in enumerate((x, y))]
    sides = [_turned_back(x), _turned_back(y)]
    inner, outer = ([[order[k] for k in where[n]] for n, (_, order) in enumerate(sides)] for where in (axes, batch))
    found = reductions.dot_general(sides[0][0], sides[1][0], (inner[0], inner[1]), (outer[0], outer[1]))
    of_vector = [math.prod(t.shape[k] for k in rest[n]) == 1 for n, t in enumerate((x, y))]
    # XLA's product of a vector and a matrix may begin with the first summands instead of 0.0, as a sum of equal summands does
    summed = () if sum(of_vector) == 1 else tuple((t, along) for (t, _), along in zip(sides, inner, strict=True))
    found = builder.begun_with_zero(found, *summed)
    # dot_general leaves the remaining dimensions in the order of its operands
    places = [[order[k] for k in rest[n]] for n, (_, order) in enumerate(sides)]
    count = len(batch[0])
    order = list(range(count)) + [count + sorted(places[0]).index(k) for k in places[0]]
    order += [len(order) + sorted(places[1]).index(k) for k in places[1]]
    if math.prod(x.shape[k] for k in axes[0]) == 1 and found.dtype.kind in "fc":
        found = builder.add(found, builder.like(0, found))
    return builder.transpose(found, order)


def product(x: T, y: T) -> T:
    """Multiply two operands elementwise, with broadcasting."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    x, y = builder.broadcast(x, shape), builder.broadcast(y, shape)
    return builder.and_(x, y) if x.dtype == BOOL else builder.mul(x, y)


# ------------------------------------------------------------------------------------------------- any number of operands


def diagonal(t: T, offset: int, first: int, second: int) -> T:
    """Return the diagonal of two dimensions, as the last dimension of the result."""
    rest = [k for k in range(len(t.shape)) if k not in (first, second)]
    t = builder.transpose(t, [*rest, first, second])
    *batch, n, m = t.shape
    low, high = max(-offset, 0), max(offset, 0)
    size = max(min(n - low, m - high), 0)
    zeros = [0] * len(batch)
    width = max(m - high, 0)
    square = slicing.static_slice(t, [*zeros, min(low, n), min(high, m)], [*batch, min(low, n) + size, m], [1] * (len(batch) + 2))
    flat = builder.reshape(square, (*batch, size * width))
    return slicing.static_slice(flat, [*zeros, 0], [*batch, size * width], [1] * len(batch) + [width + 1])


def sum_of_products(operands: Sequence[T], terms: Terms) -> T:
    """Compute ``np.einsum`` of operands that already have the dtype of the result."""
    sizes: dict[Any, int] = {}
    for t, labels in zip(operands, terms.inputs, strict=True):
        for label, dim in zip(labels, t.shape, strict=True):
            if dim != 1 and sizes.get(label, 1) not in (1, dim):
                raise NotLowerable("einsum of dimensions that do not match: NumPy raises an exception")
            sizes[label] = dim if dim != 1 else sizes.get(label, 1)
    left = [_plain(t, labels, sizes) for t, labels in zip(operands, terms.inputs, strict=True)]
    while len(left) > 1:
        i, j = min(((i, j) for j in range(len(left)) for i in range(j)), key=lambda p: (_cost(left[p[0]][1], left[p[1]][1], sizes), p))
        x, y = left[i], left[j]
        left = [t for k, t in enumerate(left) if k not in (i, j)]
        wanted = {*terms.output, *(label for _, labels in left for label in labels)}
        left.append(_two(x, y, wanted))
    t, labels = _summed(*left[0], set(terms.output))
    # labels whose dimension is 1 in all operands may have been removed
    order = [labels.index(c) for c in terms.output if c in labels]
    return builder.reshape(builder.transpose(t, order), tuple(sizes[c] for c in terms.output))


def _cost(a: Labels, b: Labels, sizes: dict[Any, int]) -> int:
    return math.prod(sizes[c] for c in {*a, *b})


def _plain(t: T, labels: Labels, sizes: dict[Any, int]) -> tuple[T, Labels]:
    """Return an operand with no label twice, and without the dimensions of size 1 that broadcast."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if t.shape[first] != t.shape[second]:
                raise NotLowerable("einsum of a diagonal along axes of different sizes")
            t = diagonal(t, 0, first, second)
            labels = (*(c for k, c in enumerate(labels) if k not in (first, second)), label)
    kept = [k for k, c in enumerate(labels) if t.shape[k] == sizes[c] and sizes[c] != 1]
    return builder.reshape(t, tuple(t.shape[k] for k in kept)), tuple(labels[k] for k in kept)


def _summed(t: T, labels: Labels, keep: set[Any]) -> tuple[T, Labels]:
    """Sum over the labels that are not in keep."""
    axes = [k for k, c in enumerate(labels) if c not in keep]
    return _sum(t, axes) if axes else t, tuple(c for c in labels if c in keep)


def _sum(t: T, axes: Sequence[int]) -> T:
    if t.dtype == BOOL:
        return builder.convert(total(builder.convert(t, INT64), axes), BOOL)
    return total(t, axes)


def _two(a: tuple[T, Labels], b: tuple[T, Labels], wanted: set[Any]) -> tuple[T, Labels]:
    x, i = _summed(*a, {*wanted, *b[1]})
    y, j = _summed(*b, {*wanted, *a[1]})
    batch = [c for c in i if c in j and c in wanted]
    inner = [c for c in i if c in j and c not in wanted]
    found = contract(x, y, ([i.index(c) for c in inner], [j.index(c) for c in inner]), ([i.index(c) for c in batch], [j.index(c) for c in batch]))
    return found, tuple(batch + [c for c in i if c not in batch + inner] + [c for c in j if c not in batch + inner])


def _einsum(low: L, *operands: Operand, dtype: Operand = NONE, optimize: Operand = FALSE) -> Operand | None:
    found = _terms(low, operands)
    if found is None or not isinstance(dtype, Known) or not isinstance(optimize, Known):
        return None
    tensors, terms = found
    kind = np.result_type(*(t.dtype for t in tensors)) if dtype.value is None else np.dtype(dtype.value)
    if any(not np.can_cast(t.dtype, kind, "safe") for t in tensors):
        return None
    made = result(sum_of_products([builder.convert(t, kind) for t in tensors], terms))
    if len(tensors) > 1 or set(terms.inputs[0]) != set(terms.output):
        return made
    # for one operand and without a sum, the result is a view
    source = low.val(next(o for o in operands if is_numpy(o) and not isinstance(getattr(o, "value", None), str)))
    return Val(made.num, made.ir, roots=view_roots([source])) if made.num.kind == ARRAY else made


def _terms(low: L, operands: Sequence[Operand]) -> tuple[list[T], Terms] | None:
    """Return the operands of ``np.einsum`` and their labels, from either of its call forms; None if they are not known."""
    if isinstance(operands[0], Known) and is_a(operands[0].value, str):
        inputs, output = split(operands[0].value)
        given: Sequence[Operand] = operands[1:]
    else:
        given, lists = operands[: len(operands) // 2 * 2 : 2], [literal(o) for o in operands[1::2]]
        if len(operands) % 2:
            lists.append(literal(operands[-1]))
        if not all(isinstance(s, Known) and is_a(s.value, list | tuple) for s in lists):
            return None
        written = [list(s.value) for s in lists if isinstance(s, Known)]
        inputs, output = written[: len(given)], written[-1] if len(operands) % 2 else None
    tensors = [strong(low, o) for o in given]
    found = [t for t in tensors if t is not None]
    terms = parse(inputs, output, [len(t.shape) for t in found]) if len(found) == len(tensors) else None
    return None if terms is None else (found, terms)


# ------------------------------------------------------------------------------------------------- further functions


def _matmul(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None or not pair[0].shape or not pair[1].shape:
        return None
    return result(matmul(*pair))


def matmul(x: T, y: T) -> T:
    """``x @ y``."""
    if len(x.shape) <= 2 and len(y.shape) <= 2:
        return contract(x, y, ([len(x.shape) - 1], [max(len(y.shape) - 2, 0)]))
    inner = x.shape[-1], y.shape[-2] if len(y.shape) > 1 else y.shape[0]
    if inner[0] != inner[1]:
        raise NotLowerable(f"a product of shapes {x.shape} and {y.shape}: NumPy raises an exception")
    left, i = ("...ij", "i") if len(x.shape) > 1 else ("j", "")
    right, k = ("...jk", "k") if len(y.shape) > 1 else ("j", "")
    return _einsum_of(left, right, f"...{i}{k}", x, y)


def _along_last(place: Callable[[int], int]) -> Row:
    """Make the lowering of ``dot`` or ``inner``: the last dimension of a is contracted with the dimension of b that ``place`` gives for the rank
    of b.
    """

    def row(low: L, a: Operand, b: Operand) -> Operand | None:
        pair = _pair(low, a, b)
        if pair is None:
            return None
        x, y = pair
        if not x.shape or not y.shape:
            return result(product(x, y))
        return result(contract(x, y, ([len(x.shape) - 1], [place(len(y.shape))])))

    return row


_dot: Final = _along_last(lambda rank: max(rank - 2, 0))
_inner: Final = _along_last(lambda rank: rank - 1)


def _outer(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None:
        return None
    x, y = pair
    return result(product(builder.reshape(x, (x.size, 1)), builder.reshape(y, (1, y.size))))


def _vdot(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None:
        return None
    x, y = (builder.reshape(t, (t.size,)) for t in pair)
    return result(contract(conjugate(x), y, ([0], [0])))


def _tensordot(low: L, a: Operand, b: Operand, axes: Operand = _TWO) -> Operand | None:
    pair, axes = _pair(low, a, b), literal(axes)
    if pair is None or not isinstance(axes, Known):
        return None
    x, y = pair
    if is_a(axes.value, int):
        n = axes.value
        if not 0 <= n <= min(len(x.shape), len(y.shape)):
            return None
        pairs = list(range(len(x.shape) - n, len(x.shape))), list(range(n))
    else:
        left, right = ([s] if isinstance(s, int) else list(s) for s in axes.value)
        if len(left) != len(right) or any(not -len(x.shape) <= k < len(x.shape) for k in left) or any(not -len(y.shape) <= k < len(y.shape) for k in right):
            return None
        pairs = [k % len(x.shape) for k in left], [k % len(y.shape) for k in right]
    return as_array(contract(x, y, pairs))


def _vecdot(low: L, a: Operand, b: Operand, /, *, axis: Operand = LAST) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None or not isinstance(axis, Known) or not all(t.shape for t in pair):
        return None
    if any(not -len(t.shape) <= axis.value < len(t.shape) for t in pair):
        return None
    x, y = (_last(t, axis.value) for t in pair)
    if x.shape[-1] != y.shape[-1]:
        raise NotLowerable(f"a product of shapes {x.shape} and {y.shape}: NumPy raises an exception")
    return result(_einsum_of("...i", "...i", "...", conjugate(x), y))


def _last(t: T, axis: int) -> T:
    """Move an axis to the end."""
    rest = [k for k in range(len(t.shape)) if k != axis % len(t.shape)]
    return builder.transpose(t, [*rest, axis % len(t.shape)])


def _einsum_of(left: str, right: str, out: str, x: T, y: T) -> T:
    terms = parse(*split(f"{left},{right}->{out}"), [len(x.shape), len(y.shape)])
    if terms is None:
        raise NotLowerable(f"a product of shapes {x.shape} and {y.shape}: NumPy raises an exception")
    return sum_of_products([x, y], terms)


def _of_core(left: str, right: str, out: str, conjugates: bool = False) -> Row:
    """Make the lowering of a ufunc with these core dimensions."""

    def row(low: L, a: Operand, b: Operand) -> Operand | None:
        pair = _pair(low, a, b)
        if pair is None or len(pair[0].shape) < len(left) - 3 or len(pair[1].shape) < len(right) - 3:
            return None
        x, y = pair
        inner = x.shape[-1], y.shape[-2 if right.endswith("ij") else -1]
        if inner[0] != inner[1]:
            raise NotLowerable(f"a product of shapes {x.shape} and {y.shape}: NumPy raises an exception")
        return result(_einsum_of(left, right, out, conjugate(x) if conjugates else x, y))

    return row


def _kron(low: L, a: Operand, b: Operand) -> Operand | None:
    pair = _pair(low, a, b)
    if pair is None:
        return None
    rank = max(len(t.shape) for t in pair)
    x, y = (builder.reshape(t, (1,) * (rank - len(t.shape)) + t.shape) for t in pair)
    apart = [builder.reshape(t, tuple(s for d in t.shape for s in (((d, 1), (1, d))[n]))) for n, t in enumerate((x, y))]
    return result(builder.reshape(product(*apart), tuple(p * q for p, q in zip(x.shape, y.shape, strict=True))))


# ------------------------------------------------------------------------------------------------- diagonals


def _diagonal_of(low: L, a: Operand, offset: Operand, axis1: Operand, axis2: Operand) -> T | None:
    t = strong(low, a)
    if t is None or not all(isinstance(v, Known) and type(v.value) is int for v in (offset, axis1, axis2)):
        return None
    rank, at = len(t.shape), [v.value for v in (axis1, axis2) if isinstance(v, Known)]
    if rank < 2 or not all(-rank <= k < rank for k in at) or (at[0] - at[1]) % rank == 0 or not isinstance(offset, Known):
        return None
    return diagonal(t, offset.value, at[0] % rank, at[1] % rank)


def _diagonal(low: L, a: Operand, offset: Operand = ZERO, axis1: Operand = ZERO, axis2: Operand = Known(1)) -> Operand | None:  # noqa: B008  # a value
    found = _diagonal_of(low, a, offset, axis1, axis2)
    return None if found is None else Val(Num(ARRAY, found.dtype, found.shape), found.ir, roots=view_roots([low.val(a)]))


def _trace(low: L, a: Operand, offset: Operand = ZERO, axis1: Operand = ZERO, axis2: Operand = Known(1), dtype: Operand = NONE) -> Operand | None:  # noqa: B008
    found = _diagonal_of(low, a, offset, axis1, axis2)
    if found is None or not isinstance(dtype, Known):
        return None
    kind = np.zeros((1, 1), found.dtype).trace().dtype if dtype.value is None else np.dtype(dtype.value)
    last = len(found.shape) - 1
    return finish(total(builder.convert(found, kind), [last]), [last], found.shape, FALSE)


def _of_last_two(row: Any) -> Row:
    """Make the ``np.linalg`` variant of row: for matrices in the last two dimensions."""
    return lambda low, x, /, *, offset=ZERO, **named: row(low, x, offset, Known(-2), Known(-1), **named)


_ROWS: Final[dict[str, Row]] = {
    "vecdot": _vecdot, "matvec": _of_core("...ij", "...j", "...i"), "vecmat": _of_core("...i", "...ij", "...j", conjugates=True),
}  # fmt: skip

_LINALG: Final[dict[str, Row]] = {
    "matmul": _matmul, "outer": _outer, "vecdot": _vecdot, "tensordot": lambda low, x1, x2, /, *, axes=_TWO: _tensordot(low, x1, x2, axes),
    "diagonal": _of_last_two(_diagonal), "trace": _of_last_two(_trace),
}  # fmt: skip

ROWS: Final[dict[Any, Row]] = {
    np.matmul: _matmul, operator.matmul: _matmul, np.dot: _dot, np.ndarray.dot: _dot, np.outer: _outer, np.inner: _inner, np.vdot: _vdot,
    np.tensordot: _tensordot, np.einsum: _einsum, np.kron: _kron, np.trace: _trace, np.ndarray.trace: _trace,
    np.diagonal: _diagonal, np.ndarray.diagonal: _diagonal,
    **{getattr(np, name): row for name, row in _ROWS.items() if hasattr(np, name)},
    **{getattr(np.linalg, name): row for name, row in _LINALG.items() if hasattr(np.linalg, name)},
}  # fmt: skip

__all__ = ["ROWS", "contract", "diagonal", "matmul", "product", "result", "strong", "sum_of_products"]
