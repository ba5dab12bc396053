"""Linear algebra: solutions, inverses, determinants, decompositions, norms.  Matrices may come in stacks."""

from typing import Any

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.adjoints.tangents import conjugate, fitted, is_complex, zeros_like
from hovis.library.numpy.derivatives.contractions import swapped
from hovis.library.tables.derivatives import constant, defined, pull, push

inv: Any = np.linalg.inv


def _of(g: Any, x: Any) -> Any:
    """A part of a cotangent, or zeros."""
    return zeros_like(x) if g is None else g


def _wide(x: Any) -> Any:
    """Numbers, one a matrix, to be multiplied by matrices."""
    return np.expand_dims(np.expand_dims(x, -1), -1) if isinstance(x, np.ndarray) else x


def _traces(x: Any) -> Any:
    return np.trace(x, axis1=-2, axis2=-1)


# ------------------------------------------------------------------------------------------------- solutions


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
    found = _wide(_of(g[1], y[1])) * swapped(inv(a))
    if is_complex(a) and g[0] is not None:
        # the sign turns with the imaginary part of the trace
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
    """``np.linalg.multi_dot``, from the left."""
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
    """The pseudo-inverse."""
    return np.linalg.pinv(a)


def _lstsq_left(g: Any, y: Any, a: Any, b: Any) -> Any:
    if g[0] is None:
        return zeros_like(a)
    back = np.expand_dims(g[0], -1) * conjugate(np.expand_dims(b, 0)) if b.ndim == 1 else np.matmul(g[0], swapped(b))
    return _pinv(back, inverse(a), a)


def _lstsq_right(g: Any, y: Any, a: Any, b: Any) -> Any:
    return zeros_like(b) if g[0] is None else np.matmul(swapped(inverse(a)), g[0])


# ------------------------------------------------------------------------------------------------- decompositions


def _lower(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    n = x.shape[-1]
    return x * (np.tri(n) - 0.5 * np.eye(n))


def _cholesky(g: Any, y: Any, a: Any, **named: Any) -> Any:
    if named.get("upper", False):
        return _cholesky(swapped(g), swapped(y), a)
    middle = _lower(np.matmul(swapped(y), g))
    back = np.linalg.solve(swapped(y), middle)
    found = swapped(np.linalg.solve(swapped(y), swapped(back)))
    return 0.5 * (found + swapped(found))


def _cholesky_push(t: Any, y: Any, a: Any, **named: Any) -> Any:
    if named.get("upper", False):
        return swapped(_cholesky_push(t, swapped(y), a))
    half = np.linalg.solve(y, 0.5 * (t + swapped(t)))
    return np.matmul(y, _lower(swapped(np.linalg.solve(y, swapped(half)))))


pull(np.linalg.cholesky, _cholesky)
push(np.linalg.cholesky, _cholesky_push)


def _apart(w: Any) -> Any:
    """One over the differences of values, nothing where there is none."""
    n = w.shape[-1]
    gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    same = np.eye(n)
    return (1.0 - same) / (gaps + same)


def _eigh(g: Any, y: Any, a: Any, UPLO: str = "L") -> Any:
    w, v = y[0], y[1]
    middle = np.expand_dims(_of(g[0], w), -1) * np.eye(w.shape[-1])
    if g[1] is not None:
        middle = middle + _apart(w) * np.matmul(swapped(v), g[1])
    return _one_triangle(np.matmul(np.matmul(v, middle), swapped(v)), UPLO)


def _one_triangle(g: Any, UPLO: str) -> Any:
    """The cotangent of a Hermitian matrix, of the triangle that is read."""
    both = g + swapped(g)
    n = both.shape[-1]
    below = np.tri(n, k=-1) if UPLO == "L" else np.tri(n, k=-1).T
    return both * below + np.real(g) * np.eye(n)


def _whole(t: Any, UPLO: str) -> Any:
    """The tangent of a Hermitian matrix of which one triangle is read."""
    n = t.shape[-1]
    below = np.tri(n, k=-1) if UPLO == "L" else np.tri(n, k=-1).T
    return t * below + swapped(t * below) + np.real(t) * np.eye(n)


def _eigh_push(t: Any, y: Any, a: Any, UPLO: str = "L") -> Any:
    w, v = y[0], y[1]
    middle = np.matmul(np.matmul(swapped(v), _whole(t, UPLO)), v)
    return (np.real(np.diagonal(middle, axis1=-2, axis2=-1)), np.matmul(v, _apart(w) * middle))


pull(np.linalg.eigh, _eigh)
push(np.linalg.eigh, _eigh_push)
pull(np.linalg.eigvalsh, lambda g, y, a, UPLO="L": _eigh((g, None), np.linalg.eigh(a, UPLO), a, UPLO))
push(np.linalg.eigvalsh, lambda t, y, a, UPLO="L": _eigh_push(t, np.linalg.eigh(a, UPLO), a, UPLO)[0])


def _eig(g: Any, y: Any, a: Any) -> Any:
    w, v = y[0], y[1]
    back = swapped(v)
    middle = np.expand_dims(_of(g[0], w), -1) * np.eye(w.shape[-1])
    if g[1] is not None:
        inner = np.matmul(back, g[1])
        fixed = np.matmul(np.matmul(back, v), np.real(inner) * np.eye(w.shape[-1]))
        middle = middle + conjugate(_apart(w)) * (inner - fixed)
    return fitted(np.linalg.solve(back, np.matmul(middle, back)), a)


def _eig_push(t: Any, y: Any, a: Any) -> Any:
    w, v = y[0], y[1]
    middle = np.linalg.solve(v, np.matmul(t, v))
    free = np.matmul(v, _apart(w) * middle)
    along = np.real(np.sum(conjugate(v) * free, axis=-2, keepdims=True))
    return (np.diagonal(middle, axis1=-2, axis2=-1), free - v * along)


pull(np.linalg.eig, _eig)
push(np.linalg.eig, _eig_push)
pull(np.linalg.eigvals, lambda g, y, a: _eig((g, None), np.linalg.eig(a), a))
push(np.linalg.eigvals, lambda t, y, a: _eig_push(t, np.linalg.eig(a), a)[0])


def _thin(g: Any, q: Any, k: int) -> Any:
    """The cotangent of columns that span a space, the first k, where the others (which span the rest) have one, too."""
    if q.shape[-1] == k:
        return g
    return g[..., :k] - np.matmul(q[..., k:], np.matmul(swapped(g[..., k:]), q[..., :k]))


def _with_rest(t: Any, q: Any, k: int) -> Any:
    """The tangent of all columns, of that of the first k: the others stay at right angles to these."""
    if q.shape[-1] == k:
        return t
    return np.concatenate((t, -np.matmul(q[..., :k], np.matmul(swapped(t), q[..., k:]))), axis=-1)


def _singular(g: Any, y: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Of what spans the rest it is the derivative that turns nothing within it: that of all that does not ask how the rest is spanned."""
    if not compute_uv:
        u, s, vh = np.linalg.svd(a, False)
        return np.matmul(u * np.expand_dims(g, -2), vh)
    gu, gs, gvh = g[0], g[1], g[2]
    u, s, vh = y[0], y[1], y[2]
    k = s.shape[-1]
    gu = None if gu is None else _thin(gu, u, k)
    gvh = None if gvh is None else swapped(_thin(swapped(gvh), swapped(vh), k))
    u, vh = u[..., :k], vh[..., :k, :]
    uh, v = swapped(u), swapped(vh)
    eye = np.eye(k)
    row, column = np.expand_dims(s, -2), np.expand_dims(s, -1)
    f = (1.0 - eye) / (row * row - column * column + eye)
    middle = np.expand_dims(_of(gs, s), -1) * eye
    if gu is not None:
        skew = f * np.matmul(uh, gu)
        middle = middle + (skew + swapped(skew)) * row
    if gvh is not None:
        skew = f * np.matmul(vh, swapped(gvh))
        middle = middle + column * (skew + swapped(skew))
    found = np.matmul(np.matmul(u, middle), vh)
    if gu is not None:
        part = gu / row
        found = found + np.matmul(part - np.matmul(u, np.matmul(uh, part)), vh)
    if gvh is not None:
        part = gvh / column
        found = found + np.matmul(u, part - np.matmul(np.matmul(part, v), vh))
    return found


def _singular_push(t: Any, y: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if not compute_uv:
        u, s, vh = np.linalg.svd(a, False)
    else:
        u, s, vh = y[0], y[1], y[2]
    k = s.shape[-1]
    whole, whole_v = u, swapped(vh)
    u, vh = u[..., :k], vh[..., :k, :]
    uh, v = swapped(u), swapped(vh)
    middle = np.matmul(np.matmul(uh, t), v)
    ds = np.real(np.diagonal(middle, axis1=-2, axis2=-1))
    if not compute_uv:
        return ds
    eye = np.eye(k)
    row, column = np.expand_dims(s, -2), np.expand_dims(s, -1)
    f = (1.0 - eye) / (row * row - column * column + eye)
    left = middle * row
    right = column * middle
    du = np.matmul(u, f * (left + swapped(left)))
    dv = np.matmul(v, f * (right + swapped(right)))
    tv, tu = np.matmul(t, v) / row, np.matmul(swapped(t), u) / row
    du = du + tv - np.matmul(u, np.matmul(uh, tv))
    dv = dv + tu - np.matmul(v, np.matmul(vh, tu))
    return (_with_rest(du, whole, k), ds, swapped(_with_rest(dv, whole_v, k)))


pull(np.linalg.svd, _singular)
push(np.linalg.svd, _singular_push)
pull(np.linalg.svdvals, lambda g, y, a: _singular(g, y, a, False, False))
push(np.linalg.svdvals, lambda t, y, a: _singular_push(t, y, a, False, False))


def _factors(y: Any, a: Any, mode: str) -> tuple[Any, Any]:
    if mode == "raw":
        raise Declined("the derivative of np.linalg.qr is known for q and r, and not for mode='raw'")
    return np.linalg.qr(a) if mode == "r" else (y[0], y[1])


def _qr(g: Any, y: Any, a: Any, mode: str = "reduced") -> Any:
    """That of the first columns, as many as there are rows; the others are q times what r has more."""
    q, r = _factors(y, a, mode)
    k = min(a.shape[-2], a.shape[-1])
    gr = _of(g if mode == "r" else g[1], r)[..., :k, :]
    gq = zeros_like(q[..., :k]) if mode == "r" or g[0] is None else _thin(g[0], q, k)
    q, r = q[..., :k], r[..., :k, :]
    if a.shape[-1] == k:
        return _qr_tall(gq, gr, q, r)
    more = gr[..., k:]
    first = _qr_tall(gq + np.matmul(a[..., k:], swapped(more)), gr[..., :k], q, r[..., :k])
    return np.concatenate((first, np.matmul(q, more)), axis=-1)


def _qr_tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    middle = np.matmul(r, swapped(gr)) - np.matmul(swapped(gq), q)
    n = r.shape[-1]
    sym = np.tril(middle, -1)
    copied = sym + swapped(sym) + np.real(middle) * np.eye(n)
    return swapped(np.linalg.solve(r, swapped(gq + np.matmul(q, copied))))


def _qr_push(t: Any, y: Any, a: Any, mode: str = "reduced") -> Any:
    whole, r = _factors(y, a, mode)
    k = min(a.shape[-2], a.shape[-1])
    q = whole[..., :k]
    dq, dr = _qr_tall_push(t[..., :k], q, r[..., :k, :k])
    if a.shape[-1] > k:
        dr = np.concatenate((dr, np.matmul(swapped(dq), a[..., k:]) + np.matmul(swapped(q), t[..., k:])), axis=-1)
    if mode == "r":
        return dr
    if whole.shape[-1] > k:
        dr = np.concatenate((dr, zeros_like(r[..., k:, :])), axis=-2)
    return (_with_rest(dq, whole, k), dr)


def _qr_tall_push(t: Any, q: Any, r: Any) -> Any:
    across = swapped(np.linalg.solve(swapped(r), swapped(t)))
    inner = np.matmul(swapped(q), across)
    below = np.tril(inner, -1)
    turn = below - swapped(below)
    return (np.matmul(q, turn) + across - np.matmul(q, inner), np.matmul(inner - turn, r))


pull(np.linalg.qr, _qr)
push(np.linalg.qr, _qr_push)

# ------------------------------------------------------------------------------------------------- norms


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.linalg.norm`` by sums and extremes."""
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
    """The root, which at zero does not change."""
    zero = (total == 0) * 1.0
    return np.sqrt(total + zero) - zero


def matrix_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """The norm of matrices."""
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
        raise Declined("the derivative of vector_norm is known along an axis, or without keepdims")
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
