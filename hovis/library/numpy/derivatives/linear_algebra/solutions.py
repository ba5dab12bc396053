"""Derivatives of solutions, inverses, determinants and powers of matrices. Matrices may be stacked."""

from typing import Any

import numpy as np

from hovis.library.numpy.adjoints.tangents import conjugate, fitted, is_complex, zeros_like
from hovis.library.numpy.derivatives.linear_algebra.contractions import swapped
from hovis.library.tables.derivatives import defined, pull, push

inv: Any = np.linalg.inv


def or_zeros(g: Any, x: Any) -> Any:
    """Return g, or zeros like x if g is None."""
    return zeros_like(x) if g is None else g


def _wide(x: Any) -> Any:
    """Add two axes to an array with one number per matrix, to multiply it with matrices."""
    return np.expand_dims(np.expand_dims(x, -1), -1) if isinstance(x, np.ndarray) else x


def _traces(x: Any) -> Any:
    return np.trace(x, axis1=-2, axis2=-1)


def _solve_left(g: Any, y: Any, a: Any, b: Any) -> Any:
    found = np.linalg.solve(swapped(a), g)
    if b.ndim == 1:
        return fitted(-(np.expand_dims(found, -1) * conjugate(np.expand_dims(y, -2))), a)
    return fitted(-np.matmul(found, swapped(y)), a)


def _solve_push(t: Any, y: Any, a: Any, b: Any) -> Any:
    return -np.linalg.solve(a, np.matmul(t, y))


pull(np.linalg.solve, _solve_left, lambda g, y, a, b: fitted(np.linalg.solve(swapped(a), g), b))
push(np.linalg.solve, _solve_push, lambda t, y, a, b: np.linalg.solve(a, t))
pull(np.linalg.inv, lambda g, y, a: -np.matmul(np.matmul(swapped(y), g), swapped(y)))
push(np.linalg.inv, lambda t, y, a: -np.matmul(np.matmul(y, t), y))
pull(np.linalg.det, lambda g, y, a: _wide(g * conjugate(y)) * swapped(inv(a)))
push(np.linalg.det, lambda t, y, a: y * _traces(np.matmul(inv(a), t)))


def _slogdet(g: Any, y: Any, a: Any) -> Any:
    found = _wide(or_zeros(g[1], y[1])) * swapped(inv(a))
    if is_complex(a) and g[0] is not None:
        # the phase of the complex sign changes by the imaginary part of the trace
        found = found + _wide(np.imag(g[0] * conjugate(y[0]))) * 1j * swapped(inv(a))
    return found


def _slogdet_push(t: Any, y: Any, a: Any) -> Any:
    change = _traces(np.matmul(inv(a), t))
    return (y[0] * 1j * np.imag(change) if is_complex(a) else zeros_like(y[0]), np.real(change))


pull(np.linalg.slogdet, _slogdet)
push(np.linalg.slogdet, _slogdet_push)


def power(a: Any, n: int) -> Any:
    """``np.linalg.matrix_power`` by squaring."""
    if n == 0:
        return a * 0.0 + np.eye(a.shape[-1])
    if n < 0:
        return power(inv(a), -n)
    found = None
    while n:
        if n % 2:
            found = a if found is None else np.matmul(found, a)
        n = n // 2
        if n:
            a = np.matmul(a, a)
    return found


def multi_dot(arrays: Any, out: Any = None) -> Any:
    """``np.linalg.multi_dot``, multiplied from the left."""
    found = arrays[0]
    for k in range(1, len(arrays)):
        found = np.matmul(found, arrays[k])
    return found


def _pinv(g: Any, y: Any, a: Any, *rest: Any, **named: Any) -> Any:
    rows, columns = np.eye(a.shape[-2]) - np.matmul(a, y), np.eye(a.shape[-1]) - np.matmul(y, a)
    yh, gh = swapped(y), swapped(g)
    return -np.matmul(np.matmul(yh, g), yh) + np.matmul(np.matmul(rows, gh), np.matmul(y, yh)) + np.matmul(np.matmul(np.matmul(yh, y), gh), columns)


def _pinv_push(t: Any, y: Any, a: Any, *rest: Any, **named: Any) -> Any:
    rows, columns = np.eye(a.shape[-2]) - np.matmul(a, y), np.eye(a.shape[-1]) - np.matmul(y, a)
    yh, th = swapped(y), swapped(t)
    return -np.matmul(np.matmul(y, t), y) + np.matmul(np.matmul(np.matmul(y, yh), th), rows) + np.matmul(np.matmul(np.matmul(columns, th), yh), y)


defined(np.linalg.matrix_power, power)
defined(np.linalg.multi_dot, multi_dot)
pull(np.linalg.pinv, _pinv)
push(np.linalg.pinv, _pinv_push)
defined(np.linalg.tensorinv, lambda a, ind=2: np.reshape(inv(np.reshape(a, (_size(a.shape[:ind]), _size(a.shape[ind:])))), a.shape[ind:] + a.shape[:ind]))
defined(np.linalg.tensorsolve, lambda a, b, axes=None: np.reshape(np.linalg.solve(np.reshape(a, (b.size, b.size)), np.reshape(b, (-1,))), a.shape[b.ndim :]))


def _size(shape: Any) -> int:
    found = 1
    for n in shape:
        found = found * n
    return found


pull(
    np.linalg.lstsq,
    lambda g, y, a, b, *rest, **named: _lstsq_left(g, y, a, b),
    lambda g, y, a, b, *rest, **named: _lstsq_right(g, y, a, b),
)
push(
    np.linalg.lstsq,
    lambda t, y, a, b, *rest, **named: (np.matmul(_pinv_push(t, inverse(a), a), b), None, None, None),
    lambda t, y, a, b, *rest, **named: (np.matmul(inverse(a), t), None, None, None),
)


def inverse(a: Any) -> Any:
    """Return the pseudo-inverse."""
    return np.linalg.pinv(a)


def _lstsq_left(g: Any, y: Any, a: Any, b: Any) -> Any:
    if g[0] is None:
        return zeros_like(a)
    back = np.expand_dims(g[0], -1) * conjugate(np.expand_dims(b, 0)) if b.ndim == 1 else np.matmul(g[0], swapped(b))
    return _pinv(back, inverse(a), a)


def _lstsq_right(g: Any, y: Any, a: Any, b: Any) -> Any:
    return zeros_like(b) if g[0] is None else np.matmul(swapped(inverse(a)), g[0])
