"""Derivatives of norms of vectors and matrices, and of condition numbers. Matrices may be stacked."""

from typing import Any

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.adjoints.tangents import conjugate
from hovis.library.numpy.derivatives.linear_algebra.solutions import inv
from hovis.library.tables.derivatives import constant, defined


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.linalg.norm``, written with sums and extremes."""
    if axis is None:
        if ord is None:
            return _safe_root(np.sum(np.real(x * conjugate(x)), keepdims=keepdims))
        axis = 0 if x.ndim == 1 else (0, 1)
    if isinstance(axis, tuple) and len(axis) == 2:
        return matrix_norm(x, ord, axis, keepdims)
    if ord is None or ord == 2:
        return _safe_root(np.sum(np.real(x * conjugate(x)), axis=axis, keepdims=keepdims))
    size = np.abs(x)
    if ord == np.inf:
        return np.max(size, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0) * 1.0, axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _safe_root(total: Any) -> Any:
    """Return the square root, with a derivative of zero at zero."""
    zero = (total == 0) * 1.0
    return np.sqrt(total + zero) - zero


def matrix_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """Return the norm of a matrix or a stack of matrices."""
    rows, columns = axis[0] % x.ndim, axis[1] % x.ndim
    if ord is None or ord == "fro":
        return _safe_root(np.sum(np.real(x * conjugate(x)), axis=(rows, columns), keepdims=keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        first, second = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = np.sum(np.abs(x), axis=first, keepdims=True)
        found = np.max(sums, axis=second, keepdims=True) if ord > 0 else np.min(sums, axis=second, keepdims=True)
        return found if keepdims else np.squeeze(found, (rows, columns))
    values = np.linalg.svd(np.moveaxis(x, (rows, columns), (-2, -1)), compute_uv=False)
    found = np.sum(values, axis=-1) if ord == "nuc" else np.max(values, axis=-1) if ord == 2 else np.min(values, axis=-1)
    return np.expand_dims(found, (rows, columns)) if keepdims else found


defined(np.linalg.norm, norm)


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """``np.linalg.vector_norm``."""
    if axis is None and keepdims:
        raise Declined("the derivative of vector_norm is only known along an axis, or without keepdims")
    return norm(np.reshape(x, (-1,)), ord, 0) if axis is None else norm(x, ord, axis, keepdims)


defined(np.linalg.vector_norm, vector_norm)
defined(np.linalg.matrix_norm, lambda x, *, keepdims=False, ord="fro": matrix_norm(x, ord, (-2, -1), keepdims))


def condition(x: Any, p: Any = None) -> Any:
    """``np.linalg.cond``."""
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return matrix_norm(x, p, (-2, -1), False) * matrix_norm(inv(x), p, (-2, -1), False)


defined(np.linalg.cond, condition)
constant(np.linalg.matrix_rank)
