"""Rules that compute an operand of a NumPy function from its result (:mod:`hovis.library.tables.inverses`)."""

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from hovis.library.tables.inverses import DIFFERENCE, PRODUCT, QUOTIENT, SUM, XOR, Unknown, inverse, put_together

Rule = Callable[..., Any]

_PAIRS: Final = (
    (np.exp, np.log), (np.expm1, np.log1p), (np.exp2, np.log2), (np.sin, np.arcsin), (np.cos, np.arccos), (np.tan, np.arctan),
    (np.sinh, np.arcsinh), (np.cosh, np.arccosh), (np.tanh, np.arctanh), (np.deg2rad, np.rad2deg), (np.radians, np.degrees),
    (np.square, np.sqrt), (np.fft.fft, np.fft.ifft), (np.fft.fft2, np.fft.ifft2), (np.fft.fftn, np.fft.ifftn),
    (np.fft.fftshift, np.fft.ifftshift),
)  # fmt: skip
_OWN: Final = (np.negative, np.positive, np.reciprocal, np.conjugate, np.invert, np.logical_not, np.linalg.inv)

_fn: Any
for _fn, _undo in _PAIRS:
    inverse(_fn, _undo)
    inverse(_undo, _fn)
for _same in _OWN:
    inverse(_same, _same)
for _fn, _rules in ((np.add, SUM), (np.subtract, DIFFERENCE), (np.multiply, PRODUCT), (np.true_divide, QUOTIENT), (np.bitwise_xor, XOR)):
    inverse(_fn, *_rules, alike=True)
inverse(np.log10, lambda y: 10.0**y)
inverse(np.cbrt, lambda y: y**3)
inverse(np.power, lambda y, a, b: y ** (1 / b), lambda y, a, b: np.log(y) / np.log(a), alike=True)


# ------------------------------------------------------------------------------------------------- linear


def _solved_right(y: Any, a: Any, b: Any) -> Any:
    """Solve y = a @ b for a."""
    return np.linalg.solve(np.swapaxes(b, -1, -2), np.swapaxes(y, -1, -2)).swapaxes(-1, -2) if y.ndim > 1 else np.linalg.solve(b.T, y)


def _solved_left(y: Any, a: Any, b: Any) -> Any:
    """Solve y = a @ b for b."""
    return np.linalg.solve(a, y)


for _fn in (operator.matmul, np.matmul, np.dot):
    inverse(_fn, _solved_right, _solved_left)
inverse(np.linalg.solve, None, lambda y, a, b: a @ y)


def _differences(y: Any, x: Unknown, axis: int | None = None) -> Any:
    if axis is None:
        return np.reshape(np.diff(y, prepend=0), _shape(x))
    return np.diff(y, axis=axis, prepend=0)


inverse(np.cumsum, _differences, None)
inverse(np.ndarray.cumsum, _differences, None)

# ------------------------------------------------------------------------------------------------- structure


def _shape(x: Unknown) -> tuple[int, ...]:
    if x.shape is None:
        raise ValueError("the shape of the operand is not known")
    return x.shape


def _reshaped(y: Any, x: Unknown, *how: Any, **named: Any) -> Any:
    return np.reshape(y, _shape(x))


for _fn in (
    np.reshape, np.ravel, np.squeeze, np.expand_dims, np.atleast_1d, np.atleast_2d,
    np.ndarray.reshape, np.ndarray.ravel, np.ndarray.flatten, np.ndarray.squeeze,
):  # fmt: skip
    inverse(_fn, _reshaped, None)


def _turned_back(y: Any, x: Unknown, *axes: Any, **named: Any) -> Any:
    order = named.get("axes", axes[0] if len(axes) == 1 else axes or None)
    return np.transpose(y) if order is None else np.transpose(y, tuple([order.index(k) for k in range(len(order))]))


def _attribute(y: Any, x: Unknown, name: str) -> Any:
    if name == "T":
        return np.transpose(y)
    raise ValueError(f"the object can't be found from its attribute {name!r}")


inverse(np.transpose, _turned_back, None)
inverse(np.ndarray.transpose, _turned_back, None)
inverse(getattr, _attribute, None)




inverse(np.swapaxes, lambda y, x, a, b: np.swapaxes(y, a, b), None)
inverse(np.ndarray.swapaxes, lambda y, x, a, b: np.swapaxes(y, a, b), None)
inverse(np.moveaxis, lambda y, x, source, target: np.moveaxis(y, target, source), None)
inverse(np.flip, lambda y, x, axis=None: np.flip(y, axis), None)
inverse(np.flipud, np.flipud)
inverse(np.fliplr, np.fliplr)
inverse(np.roll, lambda y, x, shift, axis=None: np.roll(y, _negated(shift), axis), None)
inverse(np.rot90, lambda y, x, k=1, axes=(0, 1): np.rot90(y, -k, axes), None)
for _fn in (np.copy, np.ndarray.copy, np.asarray, np.ascontiguousarray):
    inverse(_fn, lambda y, *how, **named: y, None)


def _negated(shift: Any) -> Any:
    return tuple(-s for s in shift) if isinstance(shift, tuple) else -shift


def _unstacked(y: Any, parts: Unknown, axis: int = 0) -> Any:
    rows = np.moveaxis(y, axis, 0)
    return tuple([rows[k] for k in range(rows.shape[0])])


def _split(y: Any, parts: Unknown, axis: int = 0) -> Any:
    ends = [0]
    for part in parts.parts:
        ends.append(ends[-1] + _shape(part)[axis])
    before = (slice(None),) * (axis % y.ndim)
    return tuple([y[(*before, slice(a, b))] for a, b in pairwise(ends)])


inverse(np.stack, _unstacked, None)
inverse(np.concatenate, _split, None)


# ------------------------------------------------------------------------------------------------- parts of an array


def _order(x: Unknown, indices: Any) -> Any:
    """Return how results of subscripts make up the array x: (shape, position) if one result has all of its elements, or (axis, ((position, is a
    single index?), ...)) for slices that follow each other along an axis and cover it; None if they do not make up x.
    """
    if x.shape is None:
        return None
    for k, (index,) in enumerate(indices):
        if all(one is None or one is Ellipsis or one == slice(None) for one in (index if isinstance(index, tuple) else (index,))):
            return x.shape, k
    spans = [_span(x.shape, index) for (index,) in indices]
    if None in spans or len({span[0] for span in spans if span}) != 1:
        return None
    axis = spans[0][0] if spans[0] else 0
    at, order = 0, []
    for (_, start, stop, single), k in sorted((span, k) for k, span in enumerate(spans) if span):
        if start == at:
            order.append((k, single))
            at = stop
    return (axis, tuple(order)) if at == x.shape[axis] else None


def _joined(order: Any, *parts: Any) -> Any:
    axis, places = order
    if isinstance(axis, tuple):
        return np.reshape(parts[places], axis)
    return np.concatenate([np.expand_dims(parts[k], axis) if single else parts[k] for k, single in places], axis)


def _span(shape: tuple[int, ...], index: Any) -> tuple[int, int, int, bool] | None:
    """Return the one axis along which an index takes a part, with start, stop and whether it is a single position; None for any other index."""
    index = index if isinstance(index, tuple) else (index,)
    if index.count(None) or len(index) - index.count(Ellipsis) > len(shape):
        return None
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = (*index[:at], *[slice(None)] * (len(shape) - len(index) + 1), *index[at + 1 :])
    taken = [(axis, one) for axis, one in enumerate(index) if one != slice(None)]
    if len(taken) != 1:
        return None
    axis, one = taken[0]
    if isinstance(one, int):
        at = one % shape[axis]
        return axis, at, at + 1, True
    if not isinstance(one, slice):
        return None
    start, stop, step = one.indices(shape[axis])
    return (axis, start, stop, False) if step == 1 else None


put_together(operator.getitem, _order, _joined)
