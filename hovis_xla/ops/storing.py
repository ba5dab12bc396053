"""Stores into arrays that the function has made, as new versions of them (module ``stores``)."""

from typing import Any, Final

import numpy as np

from hovis_xla import emit, stores
from hovis_xla.emit import T, compare, or_
from hovis_xla.ops import indexing
from hovis_xla.ops.python import L, Row
from hovis_xla.slots import tensor
from hovis_xla.types import ARRAY, INT64, SCALAR, NotLowerable, Num, Operand, Val


def _updated(low: L, a: Operand, index: Operand, value: Operand) -> Operand:
    array = low.val(a)
    t = tensor(array)
    items = indexing.items_of(index)
    place = indexing.store_index(low, t.shape, indexing.expand(items, len(t.shape)) or []) if items is not None else None
    if place is None:
        raise NotLowerable("a store to an index that is not of integers and slices of step one")
    starts, extents, shape = place
    update = emit.reshape(_stored(low, low.val(value), t.dtype, shape), tuple(extents))
    result = low.put(t, update, tuple(starts)) if update.size else t
    return Val(Num(ARRAY, t.dtype, t.shape), result.ir)


def _stored(low: L, value: Val, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> T:
    """The value as what is stored: of this dtype, and broadcast to this shape."""
    x = tensor(value)
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise NotLowerable("a complex number stored into an array of another kind: NumPy warns or raises")
    if value.num.kind != ARRAY:
        _check_range(low, x, dtype)
    elif not shape:
        raise NotLowerable("an array stored as one element")
    while len(x.shape) > len(shape) and x.shape[0] == 1:
        x = emit.reshape(x, x.shape[1:])
    if len(x.shape) > len(shape) or np.broadcast_shapes(x.shape, shape) != shape:
        raise NotLowerable(f"a store of {x.shape} into {shape}: this raises")
    return emit.broadcast(emit.convert(x, dtype), shape)


def _check_range(low: L, x: T, dtype: "np.dtype[Any]") -> None:
    """NumPy refuses single numbers that an array of integers has no room for."""
    if dtype.kind not in "iu" or x.dtype.kind == "b" or np.can_cast(x.dtype, dtype):
        return
    limits = np.iinfo(dtype)
    if x.dtype.kind == "f":
        low.bail_if(emit.not_(emit.and_(compare("GT", x, emit.like(float(limits.min) - 1, x)), compare("LT", x, emit.like(float(limits.max) + 1, x)))))
        return
    wide = emit.convert(x, INT64) if x.dtype.itemsize < 8 else x
    least = max(limits.min, np.iinfo(wide.dtype).min)
    greatest = min(limits.max, np.iinfo(wide.dtype).max)
    low.bail_if(or_(compare("LT", wide, emit.like(least, wide)), compare("GT", wide, emit.like(greatest, wide))))


def _loaded(low: L, a: Operand, index: Operand) -> Operand | None:
    """``a[index]``, kept before the next store."""
    found = indexing.getitem(low, a, index)
    if not isinstance(found, Val) or found.num.kind not in (ARRAY, SCALAR):
        return found
    kept = low.barrier(tensor(found))
    low.loads.setdefault(low.val(a).ir, []).append(kept)
    return Val(found.num, kept.ir, roots=found.roots)


ROWS: Final[dict[Any, Row]] = {stores.updated: _updated, stores.loaded: _loaded}
