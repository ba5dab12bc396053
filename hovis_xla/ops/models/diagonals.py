"""Models of NumPy's functions of diagonals and triangles of matrices."""

import operator
from typing import Any

from hovis_xla.ops.standin import arrayed, axis_of, cut, model, np, numbers, zeros


def _diagonal_size(rows: int, columns: int, k: int) -> int:
    return max(0, min(rows, columns - k) if k >= 0 else min(rows + k, columns))


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """``np.diagonal`` for the models of this module; the function itself has its own lowering rule."""
    first, second = axis_of(axis1, a.ndim), axis_of(axis2, a.ndim)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    rest = [k for k in range(a.ndim) if k not in (first, second)]
    moved = np.transpose(a, (*rest, first, second))
    rows, columns = moved.shape[-2:]
    size = _diagonal_size(rows, columns, offset)
    if not size:
        return moved[(slice(None),) * len(rest) + (0 if rows else slice(0, 0), slice(0, 0))] if rows else np.reshape(moved, (*moved.shape[:-2], 0))
    start = offset if offset >= 0 else -offset * columns
    flat = np.reshape(moved, (*moved.shape[:-2], rows * columns))
    return cut(flat, len(rest), start, start + (size - 1) * (columns + 1) + 1, columns + 1)


@model(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return _diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    size = len(v) + abs(k)
    i, j = np.expand_dims(numbers(v, size), 1), np.expand_dims(numbers(v, size), 0)
    zero = zeros(v, (size, size), v.dtype)
    column = np.concatenate((zeros(v, abs(k), v.dtype), v)) if k > 0 else np.concatenate((v, zeros(v, abs(k), v.dtype))) if k else v
    # on the diagonal, the column alone determines the element
    return np.where(j - i == k, np.broadcast_to(column, (size, size)), zero)


@model(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return diag(np.ravel(arrayed(v)), k)


def _triangle(m: Any, k: int, lower: bool) -> Any:
    if m.ndim == 1:  # NumPy masks an n-by-n matrix, each row of which is the vector
        m = np.broadcast_to(m, (len(m), len(m)))
    if m.ndim < 2:
        raise ValueError("a triangle of a number")
    rows, columns = m.shape[-2:]
    off = np.expand_dims(numbers(m, columns), 0) - np.expand_dims(numbers(m, rows), 1)
    return np.where(off <= k if lower else off >= k, m, zeros(m, (), m.dtype))


@model(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, True)


@model(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return _triangle(m, k, False)


@model(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return np.tril_indices(arr.shape[-2], k, arr.shape[-1]) if arr.ndim == 2 else _refuse()


@model(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return np.triu_indices(arr.shape[-2], k, arr.shape[-1]) if arr.ndim == 2 else _refuse()


@model(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    return np.diag_indices(arr.shape[0], arr.ndim) if arr.ndim >= 2 and len(set(arr.shape)) == 1 else _refuse()


def _refuse() -> Any:
    raise ValueError("a shape that does not fit: NumPy raises an exception")


@model(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    columns = len(x) if N is None else operator.index(N)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    dtype = np.promote_types(x.dtype, int)
    powers, power = [], np.ones_like(x, dtype=dtype)
    for _ in range(columns):
        powers.append(power)
        power = power * x.astype(dtype)
    return np.stack(powers if increasing else powers[::-1], axis=1) if powers else zeros(x, (len(x), 0), dtype)
