"""Derivatives of matrix decompositions: Cholesky, eigenvalues, singular values, QR. Matrices may be stacked."""

from typing import Any

import numpy as np

from hovis.errors import Declined
from hovis.library.numpy.adjoints.tangents import conjugate, fitted, zeros_like
from hovis.library.numpy.derivatives.linear_algebra.contractions import swapped
from hovis.library.numpy.derivatives.linear_algebra.solutions import or_zeros
from hovis.library.tables.derivatives import pull, push


def _lower(x: Any) -> Any:
    """Return the lower triangle with half of the diagonal."""
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
    """Return the reciprocals of the pairwise differences of w, with zeros on the diagonal."""
    n = w.shape[-1]
    gaps = np.expand_dims(w, -2) - np.expand_dims(w, -1)
    same = np.eye(n)
    return (1.0 - same) / (gaps + same)


def _eigh(g: Any, y: Any, a: Any, UPLO: str = "L") -> Any:
    w, v = y[0], y[1]
    middle = np.expand_dims(or_zeros(g[0], w), -1) * np.eye(w.shape[-1])
    if g[1] is not None:
        middle = middle + _apart(w) * np.matmul(swapped(v), g[1])
    return _one_triangle(np.matmul(np.matmul(v, middle), swapped(v)), UPLO)


def _one_triangle(g: Any, UPLO: str) -> Any:
    """Convert the cotangent of a Hermitian matrix to one of the triangle that is read."""
    both = g + swapped(g)
    n = both.shape[-1]
    below = np.tri(n, k=-1) if UPLO == "L" else np.tri(n, k=-1).T
    return both * below + np.real(g) * np.eye(n)


def _whole(t: Any, UPLO: str) -> Any:
    """Build the tangent of a Hermitian matrix from the triangle that is read."""
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
    middle = np.expand_dims(or_zeros(g[0], w), -1) * np.eye(w.shape[-1])
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
    """Convert the cotangent of all columns of q to one of the first k, where the other columns span the orthogonal complement."""
    if q.shape[-1] == k:
        return g
    return g[..., :k] - np.matmul(q[..., k:], np.matmul(swapped(g[..., k:]), q[..., :k]))


def _with_rest(t: Any, q: Any, k: int) -> Any:
    """Extend the tangent of the first k columns of q to all columns; the others stay orthogonal to them."""
    if q.shape[-1] == k:
        return t
    return np.concatenate((t, -np.matmul(q[..., :k], np.matmul(swapped(t), q[..., k:]))), axis=-1)


def _singular(g: Any, y: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return the pull of a singular value decomposition. The basis of the orthogonal complement is not rotated within that space, which is right
    for any function that does not depend on the choice of this basis.
    """
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
    middle = np.expand_dims(or_zeros(gs, s), -1) * eye
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
        raise Declined("the derivative of np.linalg.qr is only known for q and r, not for mode='raw'")
    return np.linalg.qr(a) if mode == "r" else (y[0], y[1])


def _qr(g: Any, y: Any, a: Any, mode: str = "reduced") -> Any:
    """Return the pull of a QR decomposition: that of the first columns, as many as there are rows; further columns of a are q times those of r."""
    q, r = _factors(y, a, mode)
    k = min(a.shape[-2], a.shape[-1])
    gr = or_zeros(g if mode == "r" else g[1], r)[..., :k, :]
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
