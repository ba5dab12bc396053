"""Derivatives of subscripts, stores, ``take`` and sorting, which permutes elements."""

import operator
from typing import Any

import numpy as np

from hovis.library.numpy.adjoints.cotangents import updated, zero_tape
from hovis.library.numpy.adjoints.tangents import fitted, zeros_like
from hovis.library.tables.derivatives import constant, linear, pull, push


def _getitem(g: Any, y: Any, x: Any, index: Any) -> Any:
    if isinstance(x, tuple | list):
        return tuple([g if k == index % len(x) else None for k in range(len(x))])
    return scattered(g, x, index)


def scattered(g: Any, x: Any, index: Any) -> Any:
    """Return zeros like x, with g added at an index."""
    made = zeros_like(x)
    if is_basic(index):
        made[index] = g
    else:
        np.add.at(made, index, g)
    return made


def is_basic(index: Any) -> bool:
    """Is the index made only of integers, slices, None, Ellipsis and masks, which select each element at most once?"""
    parts = index if isinstance(index, tuple) else (index,)
    once = [part is None or part is Ellipsis or isinstance(part, int | slice | np.integer) or is_mask(part) for part in parts]
    return all(once)


def is_mask(part: Any) -> bool:
    """Is part an array of bools?"""
    return isinstance(part, np.ndarray) and part.dtype.kind == "b"


def _getitem_push(t: Any, y: Any, x: Any, index: Any) -> Any:
    return t[index]


pull(operator.getitem, _getitem)
push(operator.getitem, _getitem_push)

constant(zero_tape)

pull(updated, lambda g, y, x, index, value: updated(g, index, 0.0), None, lambda g, y, x, index, value: fitted(g[index], value))
push(updated, lambda t, y, x, index, value: updated(t, index, 0.0), None, lambda t, y, x, index, value: updated(zeros_like(y), index, t))


def taken(g: Any, y: Any, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    size = a.size if axis is None else a.shape[axis]
    if mode == "wrap":
        indices = np.mod(indices, size)
    elif mode == "clip":
        indices = np.clip(indices, 0, size - 1)
    if axis is None:
        return np.reshape(scattered(g, np.reshape(a, (-1,)), indices), a.shape)
    return scattered(g, a, (slice(None),) * (axis % a.ndim) + (indices,))


linear((np.take, np.ndarray.take), lambda g, y, a, indices, *rest, **named: taken(g, y, a, np.asarray(indices), *rest, **named))


def _along(a: Any, indices: Any, axis: int) -> Any:
    """Return the index whose elements ``take_along_axis`` takes."""
    found = []
    for k in range(a.ndim):
        if k == axis % a.ndim:
            found.append(indices)
        else:
            shape = [1] * a.ndim
            shape[k] = indices.shape[k]
            found.append(np.reshape(np.arange(indices.shape[k]), shape))
    return tuple(found)


def _take_along_axis(g: Any, y: Any, a: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return np.reshape(scattered(g, np.reshape(a, (-1,)), indices), a.shape)
    return scattered(g, a, _along(a, indices, axis))


linear(np.take_along_axis, _take_along_axis)


def _sort(g: Any, y: Any, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **named: Any) -> Any:
    if axis is None:
        return np.reshape(scattered(g, np.reshape(a, (-1,)), np.argsort(np.reshape(a, (-1,)))), a.shape)
    return scattered(g, a, _along(a, np.argsort(a, axis=axis), axis))


def _sort_push(t: Any, y: Any, a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **named: Any) -> Any:
    if axis is None:
        return np.reshape(t, (-1,))[np.argsort(np.reshape(a, (-1,)))]
    return np.take_along_axis(t, np.argsort(a, axis=axis), axis)


pull(np.sort, _sort)
push(np.sort, _sort_push)
pull(np.partition, lambda g, y, a, kth, axis=-1, **named: scattered(g, a, _along(a, np.argpartition(a, kth, axis=axis), axis)))
push(np.partition, lambda t, y, a, kth, axis=-1, **named: np.take_along_axis(t, np.argpartition(a, kth, axis=axis), axis))
