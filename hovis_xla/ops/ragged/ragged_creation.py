"""Arrays as large as a part of unknown size: ``np.zeros(x[m].shape)``, ``np.ones(len(x[m]))``, ``np.zeros_like(x[m])``.

How many elements such a part has is a number, of which it is remembered what it counts (``ops/ragged/extents``): what is made with it is
as wide as the whole, and the same of it counts, so that the two fit wherever they are put together.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.library.numpy.adjoints.tangents import fitted_like
from hovis_xla.emit.block_slots import block_of, is_within, tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.values import INT, Known, Operand, Ragged, Struct, Val
from hovis_xla.jaxlib.adapter import ir
from hovis_xla.ops.ragged import extents
from hovis_xla.ops.scalar.python_numbers import L

#: What takes a shape, and where; and where what it is filled with is, if it is given that.
_SHAPED: Final[dict[Any, int]] = {np.zeros: 0, np.ones: 0, np.empty: 0, np.full: 0, np.broadcast_to: 1}
_FILLING: Final[dict[Any, int]] = {np.full: 1, np.broadcast_to: 0, np.full_like: 1}
_LIKE: Final = frozenset({np.zeros_like, np.ones_like, np.empty_like, np.full_like})


def size(low: L, x: Ragged, axis: int) -> Operand:
    """How many elements of a dimension there are."""
    extent = x.counts[axis]
    if extent is None:
        return Known(x.full.shape[axis])
    found = Val(INT, extents.number(extent).ir)
    low.measured[found.ir] = x.full.shape[axis], extent
    return found


def shaped(low: L, callee: Any, args: Sequence[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """What is made of a shape in which there are such numbers; None if this is no such thing."""
    place = _SHAPED.get(callee)
    if place is None or len(args) <= place or not low.measured:
        return None
    shape = args[place]
    parts = shape.parts if isinstance(shape, Struct) and shape.callee in (operations.make_tuple, operations.make_list) else (shape,)
    sizes = [_measure(low, part) for part in parts]
    if any(one is None for one in sizes) or all(counts is None for _, counts in sizes):  # type: ignore[misc]
        return None
    full, counts = tuple(width for width, _ in sizes), tuple(extent for _, extent in sizes)  # type: ignore[misc]
    if not _repeats(callee, args, counts):
        return None
    made = low.call(callee, [*args[:place], Known(full), *args[place + 1 :]], kwargs)
    return _counted(made, counts, callee is not np.broadcast_to)


def _repeats(callee: Any, args: Sequence[Operand], counts: extents.Counts) -> bool:
    """Is what it is filled with the same all along the dimensions of unknown size?  Else it would have to be just as large."""
    place = _FILLING.get(callee)
    if place is None:
        return True
    given = args[place] if len(args) > place else None
    if not isinstance(given, Val | Known):
        return False
    shape = given.num.shape if isinstance(given, Val) else np.shape(given.value)
    if callee is np.broadcast_to and shape:
        return False  # a view, of what may be the caller's
    return all(size == 1 or extent is None for size, extent in zip(reversed(shape), reversed(counts), strict=False))


def _measure(low: L, part: Operand) -> tuple[int, T | None] | None:
    """How wide a dimension of this size is to be, and what of it counts."""
    if isinstance(part, Known):
        return (operator.index(part.value), None) if type(part.value) is int and part.value >= 0 else None
    if not isinstance(part, Val):
        return None
    found: tuple[int, T] | None = low.measured.get(part.ir)
    return found if found is not None and is_within(ir.InsertionPoint.current.block, block_of(found[1].ir)) else None


def alike(low: L, callee: Any, args: Sequence[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """What is made like a part of unknown size, or brought to its shape and dtype; None if this is no such thing."""
    x = args[0] if args else None
    if callee is fitted_like:
        return _fitted(low, x, args[1])
    if callee not in _LIKE or not isinstance(x, Ragged) or "shape" in kwargs or not _repeats(callee, args, x.counts):
        return None
    return _counted(low.call(callee, [_whole(x), *args[1:]], kwargs), x.counts)


def _fitted(low: L, g: Operand | None, x: Operand) -> Operand | None:
    if not isinstance(g, Ragged) or not isinstance(x, Ragged) or len(g.counts) != len(x.counts):
        return None
    for mine, other, width, wanted in zip(g.counts, x.counts, g.full.shape, x.full.shape, strict=True):
        if mine is None or other is None:
            if mine is not other or width != wanted:
                return None
        elif not extents.same(mine, other):
            extents.require(low, extents.number(mine), extents.number(other))
    if x.full.dtype.kind not in "fc" or g.full.dtype == x.full.dtype:
        return g
    return _counted(low.call(np.ndarray.astype, [_whole(g), Known(x.full.dtype)], {}), g.counts)


def _whole(x: Ragged) -> Val:
    """All of it, and what is beside it."""
    return Val(x.full, tensor(x.read()).ir)


def _counted(made: Operand, counts: extents.Counts, own: bool = True) -> Operand | None:
    return Ragged(made.num, Val(made.num, made.ir), counts, own=own) if isinstance(made, Val) else None
