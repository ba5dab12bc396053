"""Arrays as large as a part of unknown size: ``np.zeros(x[m].shape)``, ``np.ones(len(x[m]))``, ``np.zeros_like(x[m])``.

For the number of elements of such a part, the extent that it counts is remembered (``ops/ragged/extents``).  An array that is made with
this number has the full width and the same extent; therefore the two arrays fit together in any operation.
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

#: Functions that take a shape, with the position of that argument; and the position of the fill value in those that take one.
_SHAPED: Final[dict[Any, int]] = {np.zeros: 0, np.ones: 0, np.empty: 0, np.full: 0, np.broadcast_to: 1}
_FILLING: Final[dict[Any, int]] = {np.full: 1, np.broadcast_to: 0, np.full_like: 1}
_LIKE: Final = frozenset({np.zeros_like, np.ones_like, np.empty_like, np.full_like})


def size(low: L, x: Ragged, axis: int) -> Operand:
    """Return the number of elements along an axis."""
    extent = x.counts[axis]
    if extent is None:
        return Known(x.full.shape[axis])
    found = Val(INT, extents.number(extent).ir)
    low.measured[found.ir] = x.full.shape[axis], extent
    return found


def shaped(low: L, callee: Any, args: Sequence[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """Create an array of a shape that contains the size of such a part; return None if the call does not do that."""
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
    """Is the fill value constant along the dimensions of unknown size? Otherwise it would have to be of the same size."""
    place = _FILLING.get(callee)
    if place is None:
        return True
    given = args[place] if len(args) > place else None
    if not isinstance(given, Val | Known):
        return False
    shape = given.num.shape if isinstance(given, Val) else np.shape(given.value)
    if callee is np.broadcast_to and shape:
        return False  # a view, perhaps of an array of the caller
    return all(size == 1 or extent is None for size, extent in zip(reversed(shape), reversed(counts), strict=False))


def _measure(low: L, part: Operand) -> tuple[int, T | None] | None:
    """Return the width and the extent of a dimension of this size, or None if they are not known."""
    if isinstance(part, Known):
        return (operator.index(part.value), None) if type(part.value) is int and part.value >= 0 else None
    if not isinstance(part, Val):
        return None
    found: tuple[int, T] | None = low.measured.get(part.ir)
    return found if found is not None and is_within(ir.InsertionPoint.current.block, block_of(found[1].ir)) else None


def alike(low: L, callee: Any, args: Sequence[Operand], kwargs: dict[str, Operand]) -> Operand | None:
    """Create an array like a part of unknown size, or bring one to its shape and dtype; return None if the call does neither."""
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
    """Return the array at full width, with the elements that do not count."""
    return Val(x.full, tensor(x.read()).ir)


def _counted(made: Operand, counts: extents.Counts, own: bool = True) -> Operand | None:
    return Ragged(made.num, Val(made.num, made.ir), counts, own=own) if isinstance(made, Val) else None
