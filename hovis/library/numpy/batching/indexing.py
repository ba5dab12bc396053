"""Batched subscripts and stores, where the array, the index, or both differ from lane to lane."""

import operator
from typing import Any

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.adjoints.cotangents import updated
from hovis.library.numpy.batching.base import rank, spread, widened
from hovis.library.tables.batching import batched


def subscript(lanes: int, which: tuple[Any, ...], array: Any, index: Any) -> tuple[Any, Any, int, int]:
    """Return the array and the index for all lanes, the number of axes that index arrays produce, and the axis of one lane's result where these
    belong (-1 if no move is needed).

    For one lane, NumPy puts these axes at that position; for all lanes, it puts them right after the axis of the lanes.
    """
    parts, flags = _items(rank(array, which[0]), index, which[1])
    if any(flag and (isinstance(part, slice) or part.dtype.kind == "b") for part, flag in zip(parts, flags, strict=True)):
        raise Declined("masks and bounds of slices that differ from lane to lane")
    wide = max([part.ndim - flag for part, flag in zip(parts, flags, strict=True) if isinstance(part, np.ndarray)], default=0)
    among = [k for k, part in enumerate(parts) if part is not None and not isinstance(part, slice)]
    apart = wide > 0 and among[-1] - among[0] >= len(among)
    before = 0 if wide == 0 or apart else among[0]
    if not any(flags) and not apart:
        return array, (slice(None), *parts), wide, -1
    ours = [np.reshape(p, (lanes,) + (1,) * (wide + 1 - p.ndim) + p.shape[1:]) if flag else p for p, flag in zip(parts, flags, strict=True)]
    if not which[0] and among[0] == 0:
        return array, tuple(ours), wide, before
    return spread(lanes, array, which[0]), (np.reshape(np.arange(lanes), (lanes,) + (1,) * wide), *ours), wide, before


def _items(most: int, index: Any, which: Any) -> tuple[list[Any], list[bool]]:
    """Return the items of an index, and whether each is batched: an Ellipsis becomes slices, and an unbatched mask becomes the positions that it
    selects.
    """
    parts: list[Any] = []
    flags: list[bool] = []
    given = index if isinstance(index, tuple) else (index,)
    count = 0
    for part in given:
        count += 0 if part is None or part is Ellipsis else part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1
    for part, flag in zip(given, which if isinstance(which, tuple) else (which,) * len(given), strict=True):
        if isinstance(flag, tuple):
            raise Declined("bounds of slices that differ from lane to lane")
        if part is Ellipsis:
            parts += [slice(None)] * (most - count)
            flags += [False] * (most - count)
        elif isinstance(part, np.ndarray) and part.dtype.kind == "b" and not flag:
            found = np.nonzero(part)
            parts += found
            flags += [False] * len(found)
        elif isinstance(part, bool | np.bool_):
            raise Declined("a truth as an index")
        else:
            parts.append(part)
            flags.append(flag)
    return parts, flags


@batched(operator.getitem)
def _getitem(lanes: int, which: tuple[Any, ...], array: Any, index: Any) -> Any:
    ours, at, wide, before = subscript(lanes, which, array, index)
    found = ours[at]
    if before <= 0:
        return found
    return np.moveaxis(found, tuple(range(1, 1 + wide)), tuple(range(1 + before, 1 + before + wide)))


@batched(operator.setitem)
def _setitem(lanes: int, which: tuple[Any, ...], array: Any, index: Any, value: Any) -> None:
    ours, at, wide, before = subscript(lanes, which, array, index)
    if before <= 0:
        if which[2] and isinstance(value, np.ndarray):
            value = widened(value, ours[at].ndim - 1)
        ours[at] = value
        return
    part = np.moveaxis(ours[at], tuple(range(1, 1 + wide)), tuple(range(1 + before, 1 + before + wide))).copy()
    part[...] = widened(value, part.ndim - 1) if which[2] and isinstance(value, np.ndarray) else value
    ours[at] = np.moveaxis(part, tuple(range(1 + before, 1 + before + wide)), tuple(range(1, 1 + wide)))


def stored_for(lanes: int, which: tuple[Any, ...], mask: Any, array: Any, index: Any, value: Any) -> None:
    """Store a value in the lanes of a mask; the other lanes keep their elements."""
    ours = np.asarray(value)
    if ours.dtype.kind != array.dtype.kind and (array.dtype.kind not in "fc" or ours.dtype.kind == "c"):
        raise Declined("numbers that may not fit")
    old = _getitem(lanes, (True, which[1]), array, index)
    if which[2]:
        ours = widened(ours, old.ndim - 1)
    new = np.where(np.reshape(mask, (lanes,) + (1,) * (old.ndim - 1)), ours.astype(array.dtype), old)
    _setitem(lanes, (True, which[1], True), array, index, new)


def made_for(mask: Any, array: Any, value: Any) -> Any:
    """Overwrite the lanes of a mask in array with the value just computed; the other lanes keep their values."""
    array[...] = np.where(np.reshape(mask, mask.shape + (1,) * (array.ndim - 1)), value, array)
    return array


@batched(updated)
def _updated(lanes: int, which: tuple[Any, ...], array: Any, index: Any, value: Any) -> Any:
    made = spread(lanes, array, which[0]).copy()
    _setitem(lanes, (True, *which[1:]), made, index, value)
    return made


@batched(np.take)
def _take(lanes: int, which: tuple[bool, ...], array: Any, index: Any, axis: Any = None) -> Any:
    if axis is None:
        array = np.reshape(array, (lanes, -1)) if which[0] else np.ravel(array)
        axis = 0
    ndim = rank(array, which[0])
    at = axis + ndim if axis < 0 else axis
    if not which[1]:
        return np.take(array, index, at + 1)
    # equivalent to a subscript with slices for the other axes
    return _getitem(lanes, (which[0], (False,) * at + (True,)), array, (slice(None),) * at + (index,))
