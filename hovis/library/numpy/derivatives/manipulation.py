"""Derivatives of functions that rearrange elements: shapes, joining, selection, and conversion of values to arrays."""

import builtins
import math
from typing import Any

import numpy as np

from hovis.library.numpy.adjoints.tangents import fitted, in_a_row, rank_of, shape_of, shared_out, spread, zeros_like
from hovis.library.numpy.derivatives.indexing import scattered, taken
from hovis.library.numpy.rules.manipulation import in_shape
from hovis.library.tables.derivatives import Rule, constant, defined, linear, pull, push

_fn: Any


# ------------------------------------------------------------------------------------------------- shapes

linear(
    (np.reshape, np.ndarray.reshape, in_shape),
    lambda g, y, a, *shape, **named: np.reshape(g, shape_of(a), **{k: v for k, v in named.items() if k == "order"}),
)
linear((np.ravel, np.ndarray.ravel, np.ndarray.flatten), lambda g, y, a, *order, **named: np.reshape(g, shape_of(a), *order, **named))
linear((np.squeeze, np.ndarray.squeeze), lambda g, y, a, *axis, **named: np.reshape(g, shape_of(a)))
linear((np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d), lambda g, y, a, *axis, **named: np.reshape(g, shape_of(a)))


def _transpose(g: Any, y: Any, a: Any, *axes: Any, **named: Any) -> Any:
    if "axes" in named:
        axes = (named["axes"],)
    if len(axes) == 1 and not isinstance(axes[0], int):
        axes = axes[0] if axes[0] is not None else ()
    if not axes:
        return np.transpose(g)
    back = list(axes)
    for k in range(len(axes)):
        back[axes[k]] = k
    return np.transpose(g, back)


linear((np.transpose, np.ndarray.transpose, np.permute_dims), _transpose)
linear((np.matrix_transpose, np.linalg.matrix_transpose), lambda g, y, a: np.swapaxes(g, -1, -2))
linear((np.swapaxes, np.ndarray.swapaxes), lambda g, y, a, first, second: np.swapaxes(g, first, second))
linear(np.moveaxis, lambda g, y, a, source, destination: np.moveaxis(g, destination, source))


def _rollaxis(g: Any, y: Any, a: Any, axis: int, start: int = 0) -> Any:
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(g, start - 1 if axis < start else start, axis)


linear(np.rollaxis, _rollaxis)
linear(np.broadcast_to, lambda g, y, a, shape, **named: fitted(g, a))
linear(np.rot90, lambda g, y, a, k=1, axes=(0, 1): np.rot90(g, -k, axes))
linear(np.roll, lambda g, y, a, shift, axis=None: np.roll(g, tuple([-s for s in shift]) if isinstance(shift, tuple | list) else -shift, axis))
linear(np.tril, lambda g, y, a, k=0: np.tril(g, k))
linear(np.triu, lambda g, y, a, k=0: np.triu(g, k))


linear(np.flip, lambda g, y, a, axis=None: np.flip(g, axis))
linear(np.flipud, lambda g, y, a: np.flipud(g))
linear(np.fliplr, lambda g, y, a: np.fliplr(g))


def _diagonal(g: Any, y: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    made = zeros_like(a)
    view = np.moveaxis(made, (axis1, axis2), (-2, -1))
    n = g.shape[-1]
    at = np.arange(n)
    view[..., at + max(-offset, 0), at + max(offset, 0)] = g
    return made


linear((np.diagonal, np.ndarray.diagonal), _diagonal)
linear(np.linalg.diagonal, lambda g, y, a, *, offset=0: _diagonal(g, y, a, offset, -2, -1))
linear(np.diag, lambda g, y, a, k=0: np.diagonal(g, k) if a.ndim == 1 else _diagonal(g, y, a, k))
linear(np.diagflat, lambda g, y, a, k=0: np.reshape(np.diagonal(g, k), a.shape))


def _windows(g: Any, y: Any, a: Any, window_shape: Any, axis: Any = None, **named: Any) -> Any:
    """Return the pull of sliding windows: the cotangents of an element are summed over its windows, one axis of windows after the other."""
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    for along in reversed([k % a.ndim for k in axes]):
        parts = np.moveaxis(g, (along, -1), (0, 1))
        made = np.zeros((parts.shape[0] + parts.shape[1] - 1, *parts.shape[2:]), g.dtype)
        np.add.at(made, np.arange(parts.shape[0])[:, np.newaxis] + np.arange(parts.shape[1]), parts)
        g = np.moveaxis(made, 0, along)
    return g


linear(np.lib.stride_tricks.sliding_window_view, _windows)


def _repeated(x: Any, repeats: Any, axis: Any) -> Any:
    """Return, for each position of the result along the axis, the position of x that it is copied from."""
    return np.repeat(np.arange(x.size if axis is None else x.shape[axis]), repeats)


def _repeat(g: Any, y: Any, a: Any, repeats: Any, axis: Any = None) -> Any:
    return taken(g, y, a, _repeated(a, repeats, axis), axis)


linear((np.repeat, np.ndarray.repeat), _repeat)


def _tile(g: Any, y: Any, a: Any, reps: Any) -> Any:
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    n = max(a.ndim, len(counts))
    shape, counts = (1,) * (n - a.ndim) + a.shape, (1,) * (n - len(counts)) + counts
    wide = np.reshape(g, [size for k in range(n) for size in (counts[k], shape[k])])
    return np.reshape(np.sum(wide, axis=tuple(range(0, 2 * n, 2))), a.shape)


linear(np.tile, _tile)


# ------------------------------------------------------------------------------------------------- joining


def _concatenate(g: Any, y: Any, arrays: Any, axis: Any = 0, *rest: Any, **named: Any) -> Any:
    found, start = [], 0
    for x in arrays:
        size = np.size(x) if axis is None else x.shape[axis]
        part = g[start : start + size] if axis is None else g[(slice(None),) * (axis % g.ndim) + (slice(start, start + size),)]
        found.append(fitted(np.reshape(part, shape_of(x)), x))
        start = start + size
    return tuple(found)


def _stack(g: Any, y: Any, arrays: Any, axis: int = 0, **named: Any) -> Any:
    return tuple([fitted(np.take(g, k, axis=axis), x) for k, x in enumerate(arrays)])


def _filled(t: Any, xs: Any) -> Any:
    """Return the tangents of a sequence, with zeros for None."""
    if not isinstance(t, tuple | list):
        return t
    return tuple([zeros_like(x) if one is None else one for one, x in zip(t, xs, strict=True)])


for _joining, _rule in (((np.concatenate, np.concat), _concatenate), ((np.stack,), _stack)):
    for _fn in _joining:
        pull(_fn, _rule)
        push(_fn, lambda t, y, xs, *rest, _fn=_fn, **named: _fn(_filled(t, xs), *rest, **named))


def _pieces(g: Any, y: Any, xs: Any, wide: Any, axis: int) -> Any:
    """Return the cotangents of arrays that were widened and joined along one axis."""
    found, start = [], 0
    for x in xs:
        size = wide(x).shape[axis]
        found.append(fitted(np.reshape(np.take(g, np.arange(start, start + size), axis=axis), shape_of(x)), x))
        start = start + size
    return tuple(found)


def _column(x: Any) -> Any:
    return np.reshape(x, (-1, 1)) if rank_of(x) < 2 else x


def _joined(fn: Any, wide: Any, axis: Any) -> None:
    pull(fn, lambda g, y, xs, **named: _pieces(g, y, xs, wide, axis(xs)))
    push(fn, lambda t, y, xs, **named: fn(_filled(t, xs)))


_joined(np.vstack, np.atleast_2d, lambda xs: 0)
_joined(np.hstack, np.atleast_1d, lambda xs: 0 if rank_of(xs[0]) <= 1 else 1)
_joined(np.dstack, np.atleast_3d, lambda xs: 2)
_joined(np.column_stack, _column, lambda xs: 1)


def _split(g: Any, y: Any, a: Any, sections: Any, axis: int = 0) -> Any:
    return np.concatenate([zeros_like(part) if one is None else one for one, part in zip(g, y, strict=True)], axis=axis)


linear((np.split, np.array_split), _split)
linear(np.hsplit, lambda g, y, a, sections: _split(g, y, a, sections, 0 if a.ndim == 1 else 1))
linear(np.vsplit, lambda g, y, a, sections: _split(g, y, a, sections, 0))
linear(np.dsplit, lambda g, y, a, sections: _split(g, y, a, sections, 2))
linear(np.unstack, lambda g, y, a, *, axis=0: np.stack([zeros_like(part) if one is None else one for one, part in zip(g, y, strict=True)], axis=axis))


def appended(a: Any, values: Any, axis: Any = None) -> Any:
    """``np.append``."""
    if axis is None:
        return np.concatenate((in_a_row(a), in_a_row(values)))
    return np.concatenate((a, values), axis=axis)


def resized(a: Any, new_shape: Any) -> Any:
    """``np.resize``: the elements in order, repeated cyclically."""
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    return np.reshape(np.take(np.reshape(a, (-1,)), np.arange(math.prod(shape)) % max(a.size, 1)), shape)


defined(np.append, appended)
defined(np.resize, resized)
pull(np.meshgrid, every=lambda k, g, y, *xs, **named: _mesh(k, g, y, xs, **named))
push(np.meshgrid, every=lambda k, t, y, *xs, **named: _mesh_push(k, t, y, xs, **named))


def _mesh_axis(k: int, indexing: str) -> int:
    return 1 - k if indexing == "xy" and k < 2 else k


def _mesh(k: int, g: Any, y: Any, xs: Any, indexing: str = "xy", **named: Any) -> Any:
    at = 0 if len(xs) == 1 else _mesh_axis(k, indexing)
    if g[k] is None:
        return None
    return fitted(np.sum(g[k], axis=tuple([j for j in range(g[k].ndim) if j != at])), xs[k])


def _mesh_push(k: int, t: Any, y: Any, xs: Any, indexing: str = "xy", **named: Any) -> Any:
    at = 0 if len(xs) == 1 else _mesh_axis(k, indexing)
    shape = [-1 if j == at else 1 for j in range(y[k].ndim)]
    return tuple([np.broadcast_to(np.reshape(t, shape), one.shape) if j == k else zeros_like(one) for j, one in enumerate(y)])


pull(np.broadcast_arrays, every=lambda k, g, y, *xs, **named: None if g[k] is None else fitted(g[k], xs[k]))
push(np.broadcast_arrays, every=lambda k, t, y, *xs, **named: tuple([np.broadcast_to(t, one.shape) if j == k else zeros_like(one) for j, one in enumerate(y)]))


# ------------------------------------------------------------------------------------------------- arrays made from values


def _array(g: Any, y: Any, x: Any, *rest: Any, **named: Any) -> Any:
    return shared_out(g, x)


def _array_push(t: Any, y: Any, x: Any, *rest: Any, **named: Any) -> Any:
    made = np.asarray(_all_filled(t, x)).astype(y.dtype)
    return np.reshape(made, y.shape) if rank_of(made) < rank_of(y) else made


def _all_filled(t: Any, x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [0.0 * part if t is None else _all_filled(one, part) for one, part in zip(t or x, x, strict=True)]
    return zeros_like(x) if t is None else t


def _asarray_push(fn: Any) -> Rule:
    """Make the push of a conversion to an array: an array is returned as it is, and therefore its tangent is, too."""
    return lambda t, y, x, *rest, **named: fn(t, *rest, **named) if isinstance(x, np.ndarray) else _array_push(t, y, x)


for _fn in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray):
    pull(_fn, _array)
    push(_fn, _array_push if _fn is np.array else _asarray_push(_fn))
for _fn in (np.copy, np.ndarray.copy):
    pull(_fn, lambda g, y, x, *rest, **named: fitted(g, x))
    push(_fn, lambda t, y, x, *rest, **named: np.copy(t))
for _fn in (np.ndarray.astype, np.astype):
    pull(_fn, lambda g, y, x, *rest, **named: fitted(g, x) if y.dtype.kind in "fc" else None)
    push(_fn, lambda t, y, x, *rest, **named: t.astype(y.dtype) if y.dtype.kind in "fc" else None)
for _fn in (np.full, np.full_like):
    pull(_fn, lambda g, y, like, value, *rest, **named: None, lambda g, y, shape, value, *rest, **named: fitted(g, value))
    push(_fn, lambda t, y, like, value, *rest, **named: None, lambda t, y, shape, value, *rest, **named: np.broadcast_to(t, y.shape))
for _kind in (builtins.float, float.__float__, np.float16, np.float32, np.float64, np.complex64, np.complex128):
    pull(_kind, lambda g, y, x: fitted(g, x))
    push(_kind, lambda t, y, x, _kind=_kind: _kind(t))
for _fn in (np.ndarray.item, np.generic.item):
    pull(_fn, lambda g, y, x, *index: fitted(g, x) if not index else scattered(g, x, index if len(index) > 1 else np.unravel_index(index[0], x.shape)))
    push(_fn, lambda t, y, x, *index: t.item(*index))


def _linspace(y: Any, start: Any, stop: Any, num: int, endpoint: bool) -> Any:
    n = num - 1 if endpoint else num
    return np.arange(num) / max(n, 1)


def _linspace_start(g: Any, y: Any, start: Any, stop: Any, num: int = 50, endpoint: bool = True, **named: Any) -> Any:
    part = _linspace(y, start, stop, num, endpoint)
    return np.tensordot(1.0 - part, g, 1) if g.ndim > 1 else np.sum(g * (1.0 - part))


def _linspace_stop(g: Any, y: Any, start: Any, stop: Any, num: int = 50, endpoint: bool = True, **named: Any) -> Any:
    part = _linspace(y, start, stop, num, endpoint)
    return np.tensordot(part, g, 1) if g.ndim > 1 else np.sum(g * part)


pull(np.linspace, _linspace_start, _linspace_stop)
push(
    np.linspace,
    lambda t, y, a, b, num=50, endpoint=True, **named: np.multiply.outer(1.0 - _linspace(y, a, b, num, endpoint), t),
    lambda t, y, a, b, num=50, endpoint=True, **named: np.multiply.outer(_linspace(y, a, b, num, endpoint), t),
)
defined(np.logspace, lambda start, stop, num=50, endpoint=True, base=10.0: np.power(base, np.linspace(start, stop, num, endpoint)))
defined(np.geomspace, lambda start, stop, num=50, endpoint=True: np.exp(np.linspace(np.log(start), np.log(stop), num, endpoint)))
defined(np.vander, lambda x, N=None, increasing=False: _vander(x, x.shape[0] if N is None else N, increasing))


def _vander(x: Any, n: int, increasing: bool) -> Any:
    powers = [k if increasing else n - 1 - k for k in range(n)]
    return np.stack([x**p if p else x * 0.0 + 1.0 for p in powers], axis=-1)


# ------------------------------------------------------------------------------------------------- attributes


def _attribute(g: Any, y: Any, x: Any, name: str) -> Any:
    if name in ("T", "mT"):
        return getattr(g, name)
    if name == "real":
        return fitted(g, x)
    if name == "imag":
        return fitted(g * 1j, x)
    return None


def _attribute_push(t: Any, y: Any, x: Any, name: str) -> Any:
    return getattr(t, name) if name in ("T", "mT", "real", "imag") else None


pull(getattr, _attribute)
push(getattr, _attribute_push)


# ------------------------------------------------------------------------------------------------- where, select, choose


def _chosen(g: Any, c: Any, x: Any) -> Any:
    return fitted(np.where(c, g, 0.0), x)


pull(np.where, None, lambda g, y, c, a, b: _chosen(g, c, a), lambda g, y, c, a, b: fitted(np.where(c, 0.0, g), b))
push(np.where, None, lambda t, y, c, a, b: spread(np.where(c, t, 0.0), y), lambda t, y, c, a, b: spread(np.where(c, 0.0, t), y))


def select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    """``np.select`` by ``np.where``."""
    found = default
    for k in range(len(conditions)):
        found = np.where(conditions[len(conditions) - 1 - k], choices[len(conditions) - 1 - k], found)
    return found


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """``np.choose`` by ``np.where``."""
    index = np.mod(a, len(choices)) if mode == "wrap" else np.clip(a, 0, len(choices) - 1)
    found = choices[0]
    for k in range(1, len(choices)):
        found = np.where(index == k, choices[k], found)
    return found


defined(np.select, select)
defined((np.choose, np.ndarray.choose), choose)
pull(np.compress, None, lambda g, y, c, a, axis=None, **named: taken(g, y, a, np.flatnonzero(c), axis))
push(np.compress, None, lambda t, y, c, a, axis=None, **named: np.compress(c, t, axis=axis))
linear(np.ndarray.compress, lambda g, y, a, c, axis=None, **named: taken(g, y, a, np.flatnonzero(c), axis))
pull(np.extract, None, lambda g, y, c, a: taken(g, y, a, np.flatnonzero(c)))
push(np.extract, None, lambda t, y, c, a: np.extract(c, t))
linear(np.delete, lambda g, y, a, obj, axis=None: taken(g, y, a, np.delete(np.arange(a.size if axis is None else a.shape[axis]), obj), axis))

constant(
    np.zeros, np.ones, np.empty, np.zeros_like, np.ones_like, np.empty_like, np.arange, np.eye, np.identity, np.tri, np.indices, np.shape, np.size,
    np.ndim, np.broadcast_shapes, np.result_type, np.unravel_index, np.ravel_multi_index, np.ix_, np.tril_indices, np.triu_indices, np.diag_indices,
    np.mask_indices, np.tril_indices_from, np.triu_indices_from, np.diag_indices_from, np.hanning, np.hamming, np.bartlett, np.blackman,
    np.shares_memory, np.may_share_memory,
)  # fmt: skip
