"""Batched functions that change the shape or order of arrays, or join them."""

import operator
from typing import Any, Final

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.batching.base import shifted, spread
from hovis.library.tables.batching import Rule, batched, by

#: Functions that return a view in one lane, and whose batching rule returns a view for all lanes as well.
LANE_VIEWS: Final = frozenset({
    operator.getitem, getattr, np.reshape, np.ndarray.reshape, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.moveaxis,
    np.squeeze, np.ndarray.squeeze, np.expand_dims, np.flip, np.real, np.imag,
})  # fmt: skip


@batched(np.reshape, np.ndarray.reshape)
def _reshape(lanes: int, which: tuple[bool, ...], x: Any, *sizes: Any, shape: Any = None, order: str = "C") -> Any:
    new = shape if shape is not None else sizes[0] if len(sizes) == 1 else sizes
    if order != "C":
        raise Declined("another order of elements")
    return np.reshape(x, (lanes, *(new if isinstance(new, tuple | list) else (new,))))


#: Functions that return a view of a contiguous operand, and a copy of any other.
FLAT: Final = frozenset({np.ravel, np.ndarray.ravel})


@batched(*FLAT)
def _ravel(lanes: int, which: tuple[bool, ...], x: Any) -> Any:
    return np.reshape(x, (lanes, -1))


@batched(np.ndarray.flatten)
def _flatten(lanes: int, which: tuple[bool, ...], x: Any) -> Any:
    return np.reshape(x, (lanes, -1)).copy()


def _order(axes: Any, ndim: int) -> tuple[int, ...]:
    return (0, *(tuple(range(ndim - 1, 0, -1)) if axes is None else tuple([axis % (ndim - 1) + 1 for axis in axes])))


@batched(np.transpose)
def _transpose(lanes: int, which: tuple[bool, ...], x: Any, axes: Any = None) -> Any:
    return np.transpose(x, _order(axes, x.ndim))


@batched(np.ndarray.transpose)
def _transposed(lanes: int, which: tuple[bool, ...], x: Any, *axes: Any) -> Any:
    return np.transpose(x, _order(axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None, x.ndim))


@batched(getattr)
def _attribute(lanes: int, which: tuple[bool, ...], x: Any, name: str) -> Any:
    if name not in ("T", "mT", "real", "imag"):
        raise Declined("what is no array in each lane")
    return np.transpose(x, _order(None, x.ndim)) if name == "T" else getattr(x, name)


@batched(np.swapaxes, np.ndarray.swapaxes)
def _swapaxes(lanes: int, which: tuple[bool, ...], x: Any, a: int, b: int) -> Any:
    return np.swapaxes(x, shifted(a, x.ndim), shifted(b, x.ndim))


@batched(np.moveaxis)
def _moveaxis(lanes: int, which: tuple[bool, ...], x: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(x, shifted(source, x.ndim), shifted(destination, x.ndim))


@batched(np.squeeze, np.ndarray.squeeze)
def _squeeze(lanes: int, which: tuple[bool, ...], x: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple([k for k in range(x.ndim - 1) if x.shape[k + 1] == 1])
    return np.squeeze(x, shifted(axis, x.ndim))


@batched(np.expand_dims)
def _expand_dims(lanes: int, which: tuple[bool, ...], x: Any, axis: Any) -> Any:
    return np.expand_dims(x, shifted(axis, x.ndim))


@batched(np.broadcast_to)
def _broadcast_to(lanes: int, which: tuple[bool, ...], x: Any, shape: Any) -> Any:
    shape = shape if isinstance(shape, tuple | list) else (shape,)
    missing = len(shape) + 1 - x.ndim
    return np.broadcast_to(np.reshape(x, (lanes,) + (1,) * missing + x.shape[1:]), (lanes, *shape))


def _with_axes(fn: Any) -> Rule:
    """Make the row of a function whose axis, or axes, are passed last or by name; None means all axes."""

    def rule(lanes: int, which: tuple[bool, ...], x: Any, axis: Any = None) -> Any:
        return fn(x, shifted(axis, x.ndim))

    return rule


by(_with_axes, np.flip)


@batched(np.roll)
def _roll(lanes: int, which: tuple[bool, ...], x: Any, shift: Any, axis: Any = None) -> Any:
    if any(which[1:]):
        return _rolled(spread(lanes, x, which[0]), shift, axis)
    if axis is None:
        return np.reshape(np.roll(np.reshape(x, (lanes, -1)), shift, 1), x.shape)
    return np.roll(x, shift, shifted(axis, x.ndim))


def _rolled(x: Any, shift: Any, axis: Any) -> Any:
    """Roll each lane by its own shift."""
    if not isinstance(shift, np.ndarray) or shift.ndim != 1 or isinstance(axis, tuple):
        raise Declined("several axes along which it is rolled by another number in each lane")
    whole = np.reshape(x, (x.shape[0], -1)) if axis is None else x
    at = 1 if axis is None else shifted(axis, x.ndim) % x.ndim
    size = whole.shape[at]
    places = (np.arange(size) - np.expand_dims(shift, 1)) % max(size, 1)
    places = np.reshape(places, [x.shape[0] if k == 0 else size if k == at else 1 for k in range(whole.ndim)])
    return np.reshape(np.take_along_axis(whole, np.broadcast_to(places, whole.shape), at), x.shape)


def _joining(fn: Any) -> Rule:
    def rule(lanes: int, which: tuple[Any, ...], parts: Any, axis: Any = 0) -> Any:
        if axis is None or not isinstance(which[0], tuple):
            raise Declined("all elements in a row, or the parts of an array")
        ours = [spread(lanes, part, flag) for part, flag in zip(parts, which[0], strict=True)]
        return fn(ours, shifted(axis, ours[0].ndim))

    return rule


by(_joining, np.concatenate, np.stack)


@batched(np.array, np.asarray)
def _array(lanes: int, which: tuple[Any, ...], x: Any, dtype: Any = None, copy: Any = True) -> Any:
    return np.array(nested(lanes, which[0], x), dtype)


def nested(lanes: int, which: Any, x: Any) -> Any:
    """Return the batch of a list of values, possibly nested in further lists."""
    if not isinstance(which, tuple):
        return spread(lanes, x, which)
    return np.stack([nested(lanes, flag, part) for part, flag in zip(x, which, strict=True)], 1)


def _copying(fn: Any) -> Rule:
    return lambda lanes, which, x, *more, **named: fn(x, *more, **named)


@batched(np.tril)
def _tril(lanes: int, which: tuple[bool, ...], x: Any, k: int = 0) -> Any:
    return np.tril(_rows(x), k)


@batched(np.triu)
def _triu(lanes: int, which: tuple[bool, ...], x: Any, k: int = 0) -> Any:
    return np.triu(_rows(x), k)


def _rows(x: Any) -> Any:
    """Return matrices; a vector is repeated as the rows of a square matrix."""
    return x if x.ndim > 2 else np.broadcast_to(x[:, None, :], (x.shape[0], x.shape[1], x.shape[1]))


def _like(fn: Any) -> Rule:
    def rule(lanes: int, which: tuple[bool, ...], x: Any, dtype: Any = None) -> Any:
        return fn(x, dtype)

    return rule


by(_like, np.zeros_like, np.ones_like, np.empty_like)
by(
    _copying, np.copy, np.ndarray.copy, np.ndarray.astype,
    np.linalg.inv, np.linalg.det, np.linalg.cholesky, np.linalg.slogdet, np.linalg.eigh, np.linalg.eigvalsh,
    np.linalg.matrix_power, np.linalg.svd, np.linalg.qr, np.linalg.pinv,
)  # fmt: skip


@batched(np.trace, np.ndarray.trace)
def _trace(lanes: int, which: tuple[bool, ...], x: Any, offset: int = 0) -> Any:
    return np.trace(x, offset, 1, 2)


@batched(np.diagonal, np.ndarray.diagonal)
def _diagonal(lanes: int, which: tuple[bool, ...], x: Any, offset: int = 0) -> Any:
    return np.diagonal(x, offset, 1, 2)
