"""Parts of arrays whose size is only known at run time: ``A[i, :j] @ A[:j, j]``.

Such a part (``types.Ragged``) is held at the width of the whole dimension, with the number of elements that count, which
come first.  What is done elementwise is done to all of them; reductions and products are given what does not change
them in place of the rest (by ``where``, never by a product: NaN); a store leaves the rest as it is.  Where it matters
that two sizes agree and they do not, Python does the call again.

A part whose bounds differ by a known number is an ordinary view (``indexing.box_at``).
"""

import builtins
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis_xla import emit
from hovis_xla.emit import T, add, compare, like, or_, select, sub
from hovis_xla.ops import ufuncs
from hovis_xla.ops.arith import check_range
from hovis_xla.ops.python import L
from hovis_xla.slots import tensor
from hovis_xla.types import ARRAY, INT, INT64, SCALAR, Known, NotLowerable, Num, Operand, Ragged, ShapeUnknown, Stored, Struct, Val

#: How many elements of a dimension count; None: all of them.
Counts = tuple[T | None, ...]

_NAMES: Final = "add sub mul truediv floordiv mod pow neg pos abs invert and_ or_ xor lshift rshift lt le eq ne gt ge"
_ELEMENTWISE: Final = frozenset({
    *(getattr(operator, name) for name in _NAMES.split(" ")), builtins.abs, np.where, np.copy, np.ndarray.copy, np.ndarray.astype, np.clip,
    np.ndarray.clip, np.round,
})  # fmt: skip
_ZERO: Final = frozenset({np.sum, np.ndarray.sum, np.add.reduce, np.any, np.ndarray.any, np.linalg.norm, np.count_nonzero})
_ONE: Final = frozenset({np.prod, np.ndarray.prod, np.multiply.reduce, np.all, np.ndarray.all})
_LEAST: Final = frozenset({np.max, np.ndarray.max, np.argmax, np.ndarray.argmax, np.maximum.reduce})
_GREATEST: Final = frozenset({np.min, np.ndarray.min, np.argmin, np.ndarray.argmin, np.minimum.reduce})
_MEANS: Final = frozenset({np.mean, np.ndarray.mean})
_PRODUCTS: Final = frozenset({operator.matmul, np.matmul, np.dot, np.ndarray.dot, np.inner, np.vdot})


def concerns(args: Sequence[Operand], kwargs: dict[str, Operand]) -> bool:
    return any(isinstance(a, Ragged) for a in args) or any(isinstance(a, Ragged) for a in kwargs.values())


def call(low: L, callee: Any, args: list[Operand], kwargs: dict[str, Operand]) -> Operand:
    """A call with parts of unknown size among its arguments."""
    found = _call(low, callee, args, kwargs)
    if found is None:
        raise ShapeUnknown(f"{getattr(callee, '__name__', callee)} of a part of an array whose size is known at run time only")
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
        a, b = (_parts(low, x) for x in args)
        if a is None or b is None or len(a[0].shape) != 1 or len(b[0].shape) != 1:
            return None
        return made(low.call(np.outer, [as_array(a[0]), as_array(b[0])], {}), (a[1][0], b[1][0]))
    if callee in _ELEMENTWISE or (isinstance(callee, np.ufunc) and callee.signature is None and callee.nout == 1):
        return _elementwise(low, callee, args, kwargs)
    if not isinstance(first, Ragged):
        return None
    if callee in (np.flip, np.flipud) and len(args) == 1 and not kwargs:
        return _reversed(low, first)
    if callee is operator.getitem:
        return _item(low, first, args[1])
    if callee is builtins.len:
        return _size(first, 0)
    if callee is builtins.getattr and len(args) == 2 and isinstance(args[1], Known):
        return _attribute(first, args[1].value)
    return _reduced(low, callee, first, args[1:], kwargs)


def made(data: Operand, counts: Counts) -> Operand | None:
    """A result, of which so much counts."""
    if not isinstance(data, Val):
        return None
    if all(c is None for c in counts):
        return data
    return Ragged(data.num, lambda: data, counts)


def as_array(t: T) -> Val:
    return Val(Num(ARRAY, t.dtype, t.shape), t.ir)


def _parts(low: L, x: Operand) -> tuple[T, Counts] | None:
    """An array at full width, and what of it counts."""
    if isinstance(x, Ragged):
        return tensor(x.read()), x.counts
    if isinstance(x, Val) or (isinstance(x, Known) and isinstance(x.value, np.ndarray)):
        t = tensor(low.val(x))
        return t, (None,) * len(t.shape)
    return None


def _mask(shape: tuple[int, ...], counts: Counts) -> T | None:
    """Which elements count."""
    found: T | None = None
    for axis, count in enumerate(counts):
        if count is not None:
            at = emit.iota(INT64, shape, axis)
            here = compare("LT", at, emit.broadcast(count, shape))
            found = here if found is None else emit.and_(found, here)
    return found


def _filled(t: T, counts: Counts, value: Any) -> T:
    """With a value in place of all that does not count."""
    mask = _mask(t.shape, counts)
    return t if mask is None else select(mask, t, like(value, t))


def _same(low: L, a: T, b: T) -> None:
    if a.ir != b.ir:
        low.bail_if(compare("NE", a, b))


def _widened(t: T, axis: int, size: int) -> T:
    """As wide as this along an axis."""
    extra = size - t.shape[axis]
    if not extra:
        return t
    return emit.pad(t, 0, [0] * len(t.shape), [extra if k == axis else 0 for k in range(len(t.shape))])


def _aligned(low: L, operands: list[tuple[T, Counts]]) -> tuple[list[T], Counts]:
    """Operands that can be broadcast against each other, and what counts of the result."""
    rank = max(len(t.shape) for t, _ in operands)
    tensors = [t for t, _ in operands]
    result: list[T | None] = []
    for axis in range(-rank, 0):
        sizes = [(k, counts[axis], t.shape[axis]) for k, (t, counts) in enumerate(operands) if len(t.shape) >= -axis]
        counted = [c for _, c, _ in sizes if c is not None]
        result.append(counted[0] if counted else None)
        if not counted:
            continue
        for other in counted[1:]:
            _same(low, counted[0], other)
        width = max(n for _, c, n in sizes if c is not None or n != 1)
        for k, c, n in sizes:
            if c is None and n != 1:
                low.bail_if(compare("NE", counted[0], like(n, counted[0])))
            if c is not None or n != 1:
                tensors[k] = _widened(tensors[k], len(tensors[k].shape) + axis, width)
    return tensors, tuple(result)


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
    parts = [_parts(low, args[k]) for k in arrays]
    tensors, counts = _aligned(low, [p for p in parts if p is not None])
    plain = list(args)
    for k, t in zip(arrays, tensors, strict=True):
        plain[k] = as_array(t)
    return made(low.call(callee, plain, {}), counts)


def _product(low: L, callee: Any, x: Operand, y: Operand) -> Operand | None:
    a, b = _parts(low, x), _parts(low, y)
    if a is None or b is None or not 1 <= len(a[0].shape) <= 2 or not 1 <= len(b[0].shape) <= 2:
        return None
    (s, left), (t, right) = a, b
    at = len(t.shape) - 1 if callee is np.inner else max(len(t.shape) - 2, 0)
    here, there = left[-1], right[at]
    count = here if here is not None else there
    if count is not None:
        width = max(s.shape[-1], t.shape[at])
        for other, size in ((here, s.shape[-1]), (there, t.shape[at])):
            if other is None:
                low.bail_if(compare("NE", count, like(size, count)))
            else:
                _same(low, count, other)
        s, t = _widened(s, len(s.shape) - 1, width), _widened(t, at, width)
        s = _filled(s, (*(None for _ in left[:-1]), count), 0)
        t = _filled(t, tuple(count if k == at else None for k in range(len(t.shape))), 0)
    found = low.call(callee, [as_array(s), as_array(t)], {})
    return made(found, (*left[:-1], *(c for k, c in enumerate(right) if k != at)))


def _reduced(low: L, callee: Any, x: Ragged, rest: Sequence[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    options = {**({"axis": rest[0]} if rest else {}), **kwargs}
    axis = options.get("axis", Known(None))
    if len(rest) > 1 or not set(options) <= {"axis", "dtype"} or not isinstance(axis, Known) or not isinstance(axis.value, int | None):
        return None
    t = tensor(x.read())
    rank = len(t.shape)
    axes = range(rank) if axis.value is None else (axis.value % rank,)
    inner = tuple(c if k in axes else None for k, c in enumerate(x.counts))
    outer = tuple(c for k, c in enumerate(x.counts) if k not in axes)
    if callee in _MEANS:
        return None if t.dtype.kind not in "fiub" or set(options) > {"axis"} else _mean(low, t, x.counts, axes, options, outer)
    fill: Any = None
    if callee in _ZERO or callee in _ONE:
        fill = int(callee in _ONE)
    elif t.dtype.kind in "fiub" and (callee in _LEAST or callee in _GREATEST):
        least = callee in _LEAST
        limits = np.iinfo(t.dtype) if t.dtype.kind in "iu" else None
        fill = (limits.min if least else limits.max) if limits else not least if t.dtype.kind == "b" else -np.inf if least else np.inf
        for count in inner:
            if count is not None:
                low.bail_if(compare("EQ", count, like(0, count)))
    if fill is None:
        return None
    return made(low.call(callee, [as_array(_filled(t, inner, fill)), *rest], kwargs), outer)


def _mean(low: L, t: T, counts: Counts, axes: Sequence[int], options: dict[str, Operand], outer: Counts) -> Operand | None:
    if t.dtype.kind in "iub":
        t = emit.convert(t, np.dtype(np.float64))
    total = low.call(np.sum, [as_array(_filled(t, tuple(c if k in axes else None for k, c in enumerate(counts)), 0))], options)
    number = emit.constant(1, INT64)
    for k in axes:
        count = counts[k]
        number = emit.mul(number, like(t.shape[k], number) if count is None else count)
    if not isinstance(total, Val):
        return None
    scale = Val(Num(SCALAR, total.num.dtype), emit.convert(number, total.num.dtype).ir)
    return made(low.call(np.true_divide, [total, scale], {}), outer)


# ------------------------------------------------------------------------------------------------- what is in them


def _reversed(low: L, x: Ragged) -> Operand | None:
    count = x.counts[0]
    t = tensor(x.read())
    if count is None:
        return None
    return made(as_array(_shifted(emit.reverse(t, [0]), 0, sub(like(t.shape[0], count), count))), x.counts)


def _item(low: L, x: Ragged, index: Operand) -> Operand | None:
    if isinstance(index, Known) and isinstance(index.value, slice) and (index.value.start, index.value.stop, index.value.step) == (None, None, -1):
        return _reversed(low, x)
    integer = (isinstance(index, Known) and type(index.value) is int) or (isinstance(index, Val) and index.num.dtype.kind in "iu" and index.num.kind != ARRAY)
    count = x.counts[0]
    if not integer or len(x.counts) != 1 or count is None:
        return None
    at = emit.convert(tensor(low.val(index)), INT64)
    at = select(compare("LT", at, like(0, at)), add(at, count), at)
    low.bail_if(or_(compare("LT", at, like(0, at)), compare("GE", at, count)))
    t = tensor(x.read())
    return Val(Num(SCALAR, t.dtype), emit.reshape(emit.dynamic_slice(t, [at], [1]), ()).ir)


def _size(x: Ragged, axis: int) -> Operand:
    count = x.counts[axis]
    return Known(x.full.shape[axis]) if count is None else Val(INT, count.ir)


def _attribute(x: Ragged, name: str) -> Operand | None:
    rank = len(x.counts)
    if name in ("ndim", "dtype"):
        return Known(rank if name == "ndim" else x.full.dtype)
    if name == "shape":
        return Struct(operations.make_tuple, tuple(_size(x, k) for k in range(rank)), object())
    if name == "size" and rank == 1:
        return _size(x, 0)
    if name == "T":
        full = Num(ARRAY, x.full.dtype, x.full.shape[::-1])
        return Ragged(full, lambda: as_array(emit.transpose(tensor(x.read()), range(rank)[::-1])), x.counts[::-1])
    return None


# ------------------------------------------------------------------------------------------------- slices


def part(low: L, array: Val, bounds: dict[int, tuple[Any, Any]]) -> Ragged:
    """An array of which along some axes only start … stop counts, as a view."""
    shape = array.num.shape
    starts: dict[int, Any] = {}
    counts: list[T | None] = [None] * len(shape)
    for axis, (start, stop) in bounds.items():
        first, last = _clipped(low, start, 0, shape[axis]), _clipped(low, stop, shape[axis], shape[axis])
        difference = sub(_wide(last), _wide(first))
        counts[axis] = emit.op("maximum", difference, like(0, difference))
        starts[axis] = first

    def read() -> Val:
        t = tensor(array)
        for axis, first in starts.items():
            t = t if isinstance(first, int) and first == 0 else _shifted(t, axis, _wide(first))
        return as_array(t)

    def write(new: T) -> None:
        if not isinstance(array, Stored):
            raise NotLowerable("a store into an array of unknown origin, or into what may be a view")
        old = tensor(array)
        mask: T | None = None
        for axis, first in starts.items():
            if not (isinstance(first, int) and first == 0):
                new = _shifted_back(new, axis, _wide(first))
            at = sub(emit.iota(INT64, shape, axis), emit.broadcast(_wide(first), shape))
            count = counts[axis]
            assert count is not None
            here = emit.and_(compare("GE", at, like(0, at)), compare("LT", at, emit.broadcast(count, shape)))
            mask = here if mask is None else emit.and_(mask, here)
        assert mask is not None
        low.write(array.place, select(mask, new, old))

    return Ragged(Num(ARRAY, array.num.dtype, shape), read, tuple(counts), write)


def _wide(start: Any) -> T:
    return emit.constant(start, INT64) if isinstance(start, int) else start


def _clipped(low: L, bound: Operand, default: int, size: int) -> Any:
    """A bound of a slice as Python takes it."""
    if isinstance(bound, Known):
        return default if bound.value is None else slice(bound.value, None).indices(size)[0]
    if not isinstance(bound, Val) or bound.num.dtype.kind not in "iu" or bound.num.kind == ARRAY:
        raise NotLowerable("a slice with bounds that are no integers")
    x = emit.convert(tensor(bound), INT64)
    below = emit.op("maximum", add(x, like(size, x)), like(0, x))
    return select(compare("LT", x, like(0, x)), below, emit.op("minimum", x, like(size, x)))


def _shifted(t: T, axis: int, by: T) -> T:
    """What is at ``by`` and behind it, in front; whatever behind that."""
    rank = range(len(t.shape))
    wide = emit.pad(t, 0, [0 for _ in rank], [t.shape[k] if k == axis else 0 for k in rank])
    zero = emit.constant(0, INT64)
    return emit.dynamic_slice(wide, [by if k == axis else zero for k in rank], t.shape)


def _shifted_back(t: T, axis: int, by: T) -> T:
    """What is in front, at ``by``."""
    rank = range(len(t.shape))
    wide = emit.pad(t, 0, [t.shape[k] if k == axis else 0 for k in rank], [0 for _ in rank])
    zero = emit.constant(0, INT64)
    return emit.dynamic_slice(wide, [sub(like(t.shape[axis], by), by) if k == axis else zero for k in rank], t.shape)


def assign(low: L, target: Ragged, value: Operand, casting: Any = None) -> None:
    """Store into a part of unknown size."""
    if target.write is None:
        raise NotLowerable("a store into a copy of a part of an array")
    shape = target.full.shape
    found = _parts(low, value) or (tensor(low.val(value)), ())
    t, counts = found
    if casting is not None and not (isinstance(value, Val) and value.num.kind == "python") and not np.can_cast(t.dtype, target.full.dtype, casting):
        raise NotLowerable(f"{t.dtype} put into {target.full.dtype}: this raises")
    if len(t.shape) > len(shape) or (t.dtype.kind == "c" and target.full.dtype.kind != "c"):
        raise NotLowerable("a store of an array of more dimensions, or of complex numbers into others")
    for axis in range(-len(t.shape), 0):
        mine, other, size, place = target.counts[axis], counts[axis], t.shape[axis], len(t.shape) + axis
        if other is None and size == 1:
            continue
        here = _wide(shape[axis]) if mine is None else mine
        _same(low, here, _wide(size) if other is None else other)
        t = _widened(t, place, max(size, shape[axis]))
        if size > shape[axis]:
            t = emit.static_slice(t, [0] * len(t.shape), [shape[axis] if k == place else n for k, n in enumerate(t.shape)], [1] * len(t.shape))
    if not t.shape and isinstance(value, Val | Known):
        check_range(low, t, target.full.dtype)
    target.write(emit.broadcast(emit.convert(t, target.full.dtype), shape))
