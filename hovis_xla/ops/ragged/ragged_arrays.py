"""Parts of arrays whose size is only known at run time: ``A[i, :j] @ A[:j, j]``.

Such a part (``Ragged``) has the width of the whole dimension and stays in place; extents (``extents``) say which elements of it count.
Elementwise operations are done on all elements; for reductions and products, the elements that do not count are replaced by the
neutral element (by ``where``, never by a product: NaN); a store leaves them unchanged.  Where two sizes have to agree and do not,
Python does the call again.

A part whose bounds differ by a known number is an ordinary view (``indexing.box_at``).
"""

import builtins
import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np

from hovis.ir import operations
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder, reductions, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T, add, compare, like, or_, select, sub
from hovis_xla.emit.values import ARRAY, INT64, SCALAR, ZERO, Bound, Known, Num, Operand, Ragged, ShapeUnknown, Struct, Val
from hovis_xla.ops.array import ufuncs
from hovis_xla.ops.array.manipulation import as_array
from hovis_xla.ops.ragged import ragged_creation, ragged_reductions
from hovis_xla.ops.ragged.extents import Counts, Span, aligned, counted, filled, is_mask, number, packed, require, same, widened
from hovis_xla.ops.ragged.ragged_indexing import assign, data_and_counts, made, reversed_, seen
from hovis_xla.ops.scalar.arithmetic import sign_bit
from hovis_xla.ops.scalar.python_numbers import L
from hovis_xla.prepare.padding_reductions import extreme
from hovis_xla.prepare.padding_rules import BY_ELEMENT

_ELEMENTWISE: Final = (BY_ELEMENT - {np.nan_to_num}) | {np.copy, np.ndarray.copy}
_POWERS: Final = frozenset({operator.pow, np.power})
_ZERO: Final = frozenset({np.sum, np.ndarray.sum, np.add.reduce, np.any, np.ndarray.any, np.linalg.norm, np.count_nonzero})
_SUMS: Final = frozenset({np.sum, np.ndarray.sum, np.add.reduce})
_ONE: Final = frozenset({np.prod, np.ndarray.prod, np.multiply.reduce, np.all, np.ndarray.all})
_LEAST: Final = frozenset({np.max, np.ndarray.max, np.argmax, np.ndarray.argmax, np.maximum.reduce})
_GREATEST: Final = frozenset({np.min, np.ndarray.min, np.argmin, np.ndarray.argmin, np.minimum.reduce})
_PLACES: Final = frozenset({np.argmax, np.ndarray.argmax, np.argmin, np.ndarray.argmin})
_MEANS: Final = frozenset({np.mean, np.ndarray.mean})
_SPREADS: Final = frozenset({np.var, np.ndarray.var, np.std, np.ndarray.std})
_SCANS: Final = frozenset({np.cumsum, np.ndarray.cumsum, np.cumprod, np.ndarray.cumprod})
_ORDERED: Final = _SCANS | {np.sort, np.median, np.ptp, np.argsort, np.ndarray.argsort, np.diff}
_PRODUCTS: Final = frozenset({operator.matmul, np.matmul, np.dot, np.ndarray.dot, np.inner, np.vdot})


def concerns(args: Sequence[Operand], kwargs: dict[str, Operand]) -> bool:
    return any(isinstance(a, Ragged) for a in args) or any(isinstance(a, Ragged) for a in kwargs.values())


def call(low: L, callee: Any, args: list[Operand], kwargs: dict[str, Operand]) -> Operand:
    """Lower a call with parts of unknown size among its arguments; raise `ShapeUnknown` if it is not supported."""
    found = _call(low, callee, args, kwargs)
    if found is None:
        raise ShapeUnknown(f"{getattr(callee, '__name__', callee)} of a part of an array, and the size of the part is known only at run time")
    return found


def _call(low: L, callee: Any, args: list[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    first = args[0] if args else None
    if callee in ufuncs.IN_PLACE:
        if not isinstance(first, Ragged):
            return None
        assign(low, first, low.call(ufuncs.IN_PLACE[callee], args, kwargs), "same_kind")
        return first
    if callee in _PRODUCTS and len(args) == 2 and not kwargs:
        return _product(low, callee, args[0], args[1])
    if callee is np.outer and len(args) == 2 and not kwargs:
        a, b = (data_and_counts(low, x) for x in args)
        if a is None or b is None or len(a[0].shape) != 1 or len(b[0].shape) != 1:
            return None
        return made(low.call(np.outer, [as_array(a[0]), as_array(b[0])], {}), (a[1][0], b[1][0]))
    found = ragged_creation.alike(low, callee, args, kwargs)
    if found is not None:
        return found
    if callee in _ELEMENTWISE or (isinstance(callee, np.ufunc) and callee.signature is None and callee.nout == 1):
        return _elementwise(low, callee, args, kwargs)
    if not isinstance(first, Ragged):
        return None
    if (callee is np.flipud or (callee is np.flip and len(first.counts) == 1)) and len(args) == 1 and not kwargs:
        return reversed_(low, first)
    if callee is builtins.len:
        return ragged_creation.size(low, first, 0)
    if callee is builtins.getattr and len(args) == 2 and isinstance(args[1], Known):
        return _attribute(low, first, args[1].value)
    if callee in _ORDERED:
        return _ordered(low, callee, first, args[1:], kwargs)
    if callee is np.unique:
        return None if len(args) > 1 or kwargs else distinct(low, tensor(first.read()), first.counts)
    return _reduced(low, callee, first, args[1:], kwargs)


def one_of(condition: T, yes: Ragged, no: Ragged) -> Ragged | None:
    """Select between two results with the same counts; None if their counts or types differ."""
    if yes.full != no.full or not (yes.own and no.own) or not all(map(same, yes.counts, no.counts)):
        return None
    return Ragged(yes.full, as_array(select(condition, tensor(yes.read()), tensor(no.read()))), yes.counts)


def _elementwise(low: L, callee: Any, args: list[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    if "out" in kwargs:
        out = kwargs["out"]
        found = _elementwise(low, callee, args, {k: v for k, v in kwargs.items() if k != "out"})
        if not isinstance(out, Ragged) or found is None:
            return None
        assign(low, out, found, "same_kind")
        return out
    if kwargs:
        return None
    arrays = [k for k, a in enumerate(args) if isinstance(a, Ragged) or (isinstance(a, Val) and a.num.kind == ARRAY)]
    parts = [data_and_counts(low, args[k]) for k in arrays]
    tensors, counts = aligned(low, [p for p in parts if p is not None])
    plain = list(args)
    if callee in _POWERS:
        # exponents that do not count must not raise
        tensors = [filled(t, counts, 1) if t.shape == max((u.shape for u in tensors), key=len) else t for t in tensors]
    for k, t in zip(arrays, tensors, strict=True):
        plain[k] = as_array(t)
    return made(low.call(callee, plain, {}), counts)


def _product(low: L, callee: Any, x: Operand, y: Operand) -> Operand | None:
    a, b = data_and_counts(low, x), data_and_counts(low, y)
    most = 1 if callee is np.vdot else 2  # np.vdot flattens its operands
    if a is None or b is None or not 1 <= len(a[0].shape) <= most or not 1 <= len(b[0].shape) <= most:
        return None
    (s, left), (t, right) = a, b
    at = len(t.shape) - 1 if callee is np.inner else max(len(t.shape) - 2, 0)
    if any(e is not None and is_mask(e) for e in (left[-1], right[at])) and not same(left[-1], right[at]):
        (s, left), (t, right) = packed(s, left, [len(s.shape) - 1]), packed(t, right, [at])
    here, there = left[-1], right[at]
    walked = _walked(low, here, [s, t]) if len(s.shape) == len(t.shape) == 1 and same(here, there) else None
    if walked is not None:
        return walked
    count = here if here is not None else there
    if count is not None:
        width = max(s.shape[-1], t.shape[at])
        for other, size in ((here, s.shape[-1]), (there, t.shape[at])):
            if other is None:
                low.bail_if(compare("NE", count, like(size, count)))
            else:
                require(low, count, other)
        s, t = widened(s, len(s.shape) - 1, width), widened(t, at, width)
        s = filled(s, (*(None for _ in left[:-1]), count), 0)
        t = filled(t, tuple(count if k == at else None for k in range(len(t.shape))), 0)
    found = low.call(callee, [as_array(s), as_array(t)], {})
    return made(found, (*left[:-1], *(c for k, c in enumerate(right) if k != at)))


def _walked(low: L, extent: T | None, operands: Sequence[T]) -> Operand | None:
    """Emit the sum of (products of) vectors of floats as a loop over a run of elements that is a small part of them; None if it does not pay."""
    kinds = {x.dtype for x in operands}
    if not low.depth or not isinstance(extent, Span) or len(kinds) > 1 or any(d.kind != "f" or d.itemsize == 2 for d in kinds):
        return None

    def step(sums: T, here: T, *parts: T) -> T:
        x = functools.reduce(builder.mul, parts)
        return add(sums, select(here, x, like(0, x)))

    sums = ragged_reductions.reduced(extent, operands, builder.zeros(operands[0].dtype, (ragged_reductions.WIDTH,)), step)
    return None if sums is None else cast(Operand, low.call(np.sum, [as_array(sums)], {}))


def _reduced(low: L, callee: Any, x: Ragged, rest: Sequence[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    options = {**({"axis": rest[0]} if rest else {}), **kwargs}
    axis = options.get("axis", Known(0 if getattr(callee, "__name__", "") == "reduce" else None))
    allowed = {"axis", "ddof"} if callee in _SPREADS else {"axis", "dtype"}
    if len(rest) > 1 or not set(options) <= allowed or not isinstance(axis, Known) or not is_a(axis.value, int | None):
        return None
    t = tensor(x.read())
    rank = len(t.shape)
    walked = _walked(low, x.counts[0], [t]) if callee in _SUMS and rank == 1 and "dtype" not in options else None
    if walked is not None:
        return walked
    axes = range(rank) if axis.value is None else (axis.value % rank,)
    inner = tuple(c if k in axes else None for k, c in enumerate(x.counts))
    outer = tuple(c for k, c in enumerate(x.counts) if k not in axes)
    if callee in _MEANS or callee in _SPREADS:
        if t.dtype.kind not in "fiub" or t.dtype.itemsize == 2 or (callee in _MEANS and "dtype" in options):
            return None
        return made(_mean(low, t, inner, axes) if callee in _MEANS else _spread(low, callee, t, inner, axes, options.get("ddof", ZERO)), outer)
    if callee is np.linalg.norm and (options or rank > 1):
        return None
    fill: Any = None
    if callee in _ZERO or callee in _ONE:
        fill = int(callee in _ONE)
    elif t.dtype.kind in "fiub" and (callee in _LEAST or callee in _GREATEST):
        fill = extreme(t.dtype, callee in _LEAST)
        for extent in inner:
            if extent is not None:
                low.raise_if(compare("EQ", number(extent), like(0, number(extent))), ValueError)
    if fill is None or (callee in _PLACES and len(axes) > 1 and any(c is not None for c in inner[1:])):
        return None
    found = low.call(callee, [as_array(filled(t, inner, fill)), *rest], kwargs)
    if callee in _PLACES and isinstance(found, Val):
        found = _in_packed(found, inner[axes[0]], math.prod(t.shape[1:]) if len(axes) > 1 else 1)
    return made(found, outer)


def _in_packed(found: Val, extent: T | None, per: int) -> Val:
    """Convert a position to one among the elements that a mask selects, each of which stands for ``per`` positions."""
    if extent is None or not is_mask(extent):
        return found
    place = tensor(found)
    at = builder.div(place, like(per, place))
    if isinstance(extent, Span):
        before = builder.broadcast(extent.first, at.shape)
    else:
        shape = (*at.shape, extent.shape[0])
        ahead = compare("LT", builder.iota(INT64, shape, len(shape) - 1), builder.broadcast(builder.reshape(at, (*at.shape, 1)), shape))
        left_out = builder.convert(builder.and_(ahead, builder.not_(builder.broadcast(extent, shape))), INT64)
        before = reductions.reduce([left_out], [builder.constant(0, INT64)], [len(shape) - 1], lambda a, b: [add(a, b)])[0]
    return Val(found.num, sub(place, builder.mul(before, like(per, place))).ir)


def _number(t: T, counts: Counts, axes: Sequence[int]) -> T:
    """Return the number of elements that are reduced."""
    found = builder.constant(1, INT64)
    for k in axes:
        extent = counts[k]
        found = builder.mul(found, like(t.shape[k], found) if extent is None else number(extent))
    return found


def _axis(axes: Sequence[int], rank: int) -> dict[str, Operand]:
    return {} if len(axes) == rank else {"axis": Known(axes[0])}


def _mean(low: L, t: T, counts: Counts, axes: Sequence[int]) -> Operand:
    if t.dtype.kind in "iub":
        t = builder.convert(t, np.dtype(np.float64))
    total = low.call(np.sum, [as_array(filled(t, counts, 0))], _axis(axes, len(t.shape)))
    scale = builder.convert(_number(t, counts, axes), t.dtype)
    found: Operand = low.call(np.true_divide, [total, Val(Num(SCALAR, scale.dtype), scale.ir)], {})
    return found


def _spread(low: L, callee: Any, t: T, counts: Counts, axes: Sequence[int], ddof: Operand) -> Operand | None:
    """Emit the variance or the standard deviation."""
    if not isinstance(ddof, Known) or not is_a(ddof.value, int):
        return None
    if t.dtype.kind in "iub":
        t = builder.convert(t, np.dtype(np.float64))
    center = tensor(low.val(_mean(low, t, counts, axes)))
    kept = tuple(1 if k in axes else d for k, d in enumerate(t.shape))
    from_center = builder.sub(t, builder.broadcast(builder.reshape(center, kept), t.shape))
    squares = filled(builder.mul(from_center, from_center), counts, 0)
    total = low.call(np.sum, [as_array(squares)], _axis(axes, len(t.shape)))
    left = sub(_number(t, counts, axes), builder.constant(ddof.value, INT64))
    scale = builder.convert(builder.op("maximum", left, like(0, left)), t.dtype)
    found: Operand = low.call(np.true_divide, [total, Val(Num(SCALAR, scale.dtype), scale.ir)], {})
    return cast(Operand, low.call(np.sqrt, [found], {})) if callee in (np.std, np.ndarray.std) else found


def _ordered(low: L, callee: Any, x: Ragged, rest: Sequence[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """Lower a function that depends on the order of the elements of a vector."""
    extent = x.counts[0]
    if rest or kwargs or len(x.counts) != 1 or extent is None or x.full.dtype.kind == "c":
        return None
    t = tensor(x.read())
    if callee in _SCANS:
        return made(low.call(callee, [as_array(filled(t, x.counts, int(callee in (np.cumprod, np.ndarray.cumprod))))], {}), x.counts)
    if callee is np.sort:
        return _sorted(low, t, extent)
    if callee is np.median:
        return _median(low, t, extent)
    if callee is np.ptp:
        return cast(Operand, low.call(np.subtract, [low.call(np.max, [x], {}), low.call(np.min, [x], {})], {}))
    t, (count,) = packed(t, x.counts)
    assert count is not None
    if callee in (np.argsort, np.ndarray.argsort):
        return made(low.call(callee, [as_array(filled(t, (count,), _last(t.dtype)))], {}), (count,))
    less = sub(count, like(1, count))
    # there are as many differences as elements; the last one involves elements behind the end, and does not count
    size = t.shape[0]
    later = slicing.concatenate([slicing.along(t, 0, 1, size), slicing.along(t, 0, 0, 1)], 0) if size else t
    differences = low.call(np.subtract if t.dtype.kind != "b" else np.not_equal, [as_array(later), as_array(t)], {})
    return made(differences, (builder.op("maximum", less, like(0, less)),))


def _last(dtype: Any) -> Any:
    """Return a value of this dtype that sorts to the end."""
    return np.nan if dtype.kind == "f" else extreme(dtype, False)


def _sorted(low: L, t: T, extent: T) -> Operand | None:
    found = low.call(np.sort, [as_array(filled(t, (extent,), _last(t.dtype)))], {})
    return made(found, (number(extent),))


def _median(low: L, t: T, extent: T) -> Operand | None:
    if t.dtype.kind not in "fiu" or not t.shape[0]:
        return None
    count = number(extent)
    ordered = _sorted(low, t, extent)
    if not isinstance(ordered, Ragged):
        return None
    low.bail_if(compare("EQ", count, like(0, count)))
    middle = [builder.op("divide", sub(count, like(k, count)), like(2, count)) for k in (1, 0)]
    data = tensor(ordered.read())
    below, above, greatest = (slicing.dynamic_slice(data, [at], [1]) for at in (*middle, sub(count, like(1, count))))
    if t.dtype.kind == "f":
        low.bail_if(builder.reshape(builder.is_nan(greatest), ()))
    mean = low.call(np.mean, [as_array(slicing.concatenate([below, above], 0))], {})
    if not isinstance(mean, Val):
        return None
    alone = builder.convert(builder.reshape(below, ()), mean.num.dtype)
    return Val(mean.num, select(compare("EQ", *middle), alone, tensor(mean)).ir)


# ------------------------------------------------------------------------------------------------- distinct elements, attributes


def distinct(low: L, t: T, counts: Counts) -> Operand | None:
    """Return the distinct elements of an array, sorted; None if the dtype is not supported."""
    if t.dtype.kind not in "fiub":
        return None
    flat = builder.reshape(t, (t.size,))
    here = counted(t.shape, counts)
    extent = builder.full(True, np.dtype(bool), (t.size,)) if here is None else builder.reshape(here, (t.size,))
    if not t.size:
        return made(as_array(flat), (extent,))
    s = tensor(low.val(low.call(np.sort, [as_array(filled(flat, (extent,), _last(t.dtype)))], {})))
    new = compare("NE", slicing.along(s, 0, 1, t.size), slicing.along(s, 0, 0, t.size - 1))
    if t.dtype.kind == "f":
        new = builder.and_(new, builder.not_(builder.and_(builder.is_nan(slicing.along(s, 0, 1, t.size)), builder.is_nan(slicing.along(s, 0, 0, t.size - 1)))))
        # 0.0 and -0.0 are equal, and the sort determines which of them is kept
        low.bail_if(_mixed_zeros(flat))
    first = slicing.concatenate([builder.full(True, np.dtype(bool), (1,)), new], 0)
    inside = counted(s.shape, (number(extent),))
    return made(as_array(s), (first if inside is None else builder.and_(first, inside),))


def _mixed_zeros(t: T) -> T:
    """Are there zeros of both signs?"""
    zero = compare("EQ", t, like(0, t))
    negative = sign_bit(t)
    signed = builder.and_(zero, negative), builder.and_(zero, builder.not_(negative))
    return builder.and_(*(reductions.reduce([m], [builder.constant(False)], [0], lambda a, b: [or_(a, b)])[0] for m in signed))


def _attribute(low: L, x: Ragged, name: str) -> Operand | None:
    rank = len(x.counts)
    if name in ("ndim", "dtype"):
        return Known(rank if name == "ndim" else x.full.dtype)
    if name == "shape":
        return Struct(operations.make_tuple, tuple(ragged_creation.size(low, x, k) for k in range(rank)), object())
    if name == "size" and rank == 1:
        return ragged_creation.size(low, x, 0)
    if name == "T":
        full = Num(ARRAY, x.full.dtype, x.full.shape[::-1])
        return seen(x, lambda t: builder.transpose(t, range(rank)[::-1]), x.counts[::-1], full)
    method = getattr(np.ndarray, name, None)
    return Bound(method, x) if callable(method) else None
