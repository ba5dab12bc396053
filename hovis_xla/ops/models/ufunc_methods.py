"""Models of the methods of ufuncs: ``outer``, ``accumulate``, ``reduce``, ``reduceat``."""

from typing import Any, Final

from hovis_xla.emit.values import ZERO, NotLowerable
from hovis_xla.ops.array import reductions
from hovis_xla.ops.scalar.python_numbers import Row
from hovis_xla.ops.standin import StandIn, arrayed, axes_of, axis_of, cut, model, np, row_of, standing

#: Associative ufuncs (except for the last bits): the elements may be combined in any order.
ASSOCIATIVE: Final = frozenset({
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or,
    np.bitwise_xor, np.gcd, np.lcm, np.hypot, np.logaddexp, np.logaddexp2,
})  # fmt: skip

#: Other ufuncs are unrolled step by step, for up to this many elements.
MOST_STEPS: Final = 64


def _loop_dtype(u: Any, method: str, dtype: Any) -> Any:
    """Return the dtype in which a method of u computes."""
    found: Any = getattr(u, method)(np.ones(1, dtype)).dtype
    return found


def _folding(u: Any, dtype: Any) -> Any:
    if not isinstance(u, np.ufunc) or u.nin != 2 or u.nout != 1 or u.signature is not None:
        raise ValueError("reduce only supported for binary functions")
    return _loop_dtype(u, "accumulate", dtype)


@model(np.ufunc.outer)
def outer(u: Any, a: Any, b: Any, /) -> Any:
    first = standing(a, b)
    left, right = (arrayed(x, first) for x in (a, b))  # also numbers, which are not weakly typed here
    if isinstance(left, StandIn) and left.ndim and np.ndim(right if not isinstance(right, StandIn) else np.empty(right.shape)):
        left = np.reshape(left, left.shape + (1,) * right.ndim)
    return u(left, right)


@model(np.ufunc.accumulate)
def accumulate(u: Any, array: Any, axis: int = 0, dtype: Any = None) -> Any:
    axis = axis_of(axis, array.ndim)
    if u in (np.add, np.multiply):
        return (np.cumsum if u is np.add else np.cumprod)(array, axis, dtype)
    found = _folding(u, array.dtype)
    if dtype is not None:
        raise NotLowerable("accumulate with a dtype")
    n = array.shape[axis]
    if u in ASSOCIATIVE:
        result, step = array.astype(found), 1
        while step < n:
            later = u(cut(result, axis, None, n - step), cut(result, axis, step, None)).astype(found)
            result = np.concatenate((cut(result, axis, None, step), later), axis=axis)
            step *= 2
        return result
    if n > MOST_STEPS:
        raise NotLowerable(f"np.{u.__name__}.accumulate of many elements")
    parts = [cut(array, axis, k, k + 1).astype(found) for k in range(n)]
    for k in range(1, n):
        parts[k] = u(parts[k - 1], parts[k]).astype(found)
    return np.concatenate(parts, axis=axis) if parts else array.astype(found)


def reduced(u: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Compute ``u.reduce`` by halving, or step by step if the order matters."""
    array = arrayed(array)
    axes = axes_of(axis, array.ndim)
    found = _folding(u, array.dtype)
    if dtype is not None or out is not None or (u not in ASSOCIATIVE and len(axes) > 1):
        raise NotLowerable(f"np.{u.__name__}.reduce with dtype=, out= or several axes")
    result = array.astype(found)
    for k in axes:
        result = _folded(u, result, k, found)
    kept = tuple(d for k, d in enumerate(result.shape) if k not in axes)
    return result if keepdims else np.reshape(result, kept) if kept else result[(0,) * result.ndim]


def _folded(u: Any, array: Any, axis: int, dtype: Any) -> Any:
    n = array.shape[axis]
    if not n:
        if u.identity is None:
            raise ValueError("zero-size array to reduction operation which has no identity")
        return np.full(tuple(1 if k == axis else d for k, d in enumerate(array.shape)), u.identity, dtype)
    if u not in ASSOCIATIVE:
        if n > MOST_STEPS:
            raise NotLowerable(f"np.{u.__name__}.reduce of many elements")
        result = cut(array, axis, 0, 1)
        for k in range(1, n):
            result = u(result, cut(array, axis, k, k + 1)).astype(dtype)
        return result
    while n > 1:
        half = n // 2
        folded = u(cut(array, axis, 0, half), cut(array, axis, half, 2 * half)).astype(dtype)
        array = np.concatenate((folded, cut(array, axis, 2 * half, None)), axis=axis) if n % 2 else folded
        n = array.shape[axis]
    return array


@model(np.ufunc.reduceat)
def reduceat(u: Any, array: Any, indices: Any, axis: int = 0) -> Any:
    """``np.ufunc.reduceat`` with known indices."""
    axis = axis_of(axis, array.ndim)
    if isinstance(indices, StandIn):
        raise NotLowerable("reduceat at indices that are not known")
    places, n = [int(k) for k in np.asarray(indices)], array.shape[axis]
    if any(not 0 <= k < n for k in places):
        raise IndexError("index out-of-bounds")
    if len(places) > 4 * MOST_STEPS:
        raise NotLowerable("reduceat at many indices")
    ends = [*places[1:], n]
    pieces = [cut(array, axis, k, max(e, k + 1)) for k, e in zip(places, ends, strict=True)]
    if u is np.add and array.dtype.kind in "fc":  # reduceat begins with the first element instead of 0.0: the sum may be -0.0
        return np.concatenate([_folded(u, piece, axis, array.dtype) for piece in pieces], axis=axis)
    return np.concatenate([u.reduce(piece, axis=axis, keepdims=True) for piece in pieces], axis=axis)


_GENERAL: Final[Row] = row_of(reduced)


def _reduce(low: Any, ufunc: Any, array: Any, *rest: Any, **named: Any) -> Any:
    """Lower ``np.add.reduce(a)`` with the method taken from the class: the axis defaults to 0."""
    row = reductions.BY_UFUNC.get(getattr(ufunc, "value", None))
    if row is None:
        return _GENERAL(low, ufunc, array, *rest, **named)
    if len(rest) > 1:
        return None
    axis = rest[0] if rest else named.pop("axis", ZERO)
    return row(low, array, axis, **named)


ROWS: Final[dict[Any, Row]] = {np.ufunc.reduce: _reduce, **{u.reduce: reductions.of_ufunc(row) for u, row in reductions.BY_UFUNC.items()}}
