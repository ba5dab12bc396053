"""Factorisations, triangular solves, orthogonalisation, and statistics of a matrix."""
import numpy as np

from .core import kernel


def positive(rng, n):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@kernel(lambda rng, n: (positive(rng, n),), 10, 150)
def cholesky(A):
    """Cholesky factorisation in the lower triangle of A, element by element."""
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


@kernel(lambda rng, n: (positive(rng, n),), 10, 300)
def cholesky_columns(A):
    """Cholesky factorisation by columns: an outer product is subtracted from the rest of the matrix."""
    n = A.shape[0]
    for k in range(n):
        A[k, k] = np.sqrt(A[k, k])
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, np.newaxis] * A[k + 1 :, k]


@kernel(lambda rng, n: (positive(rng, n),), 20, 400)
def cholesky_library(A):
    A[:] = np.linalg.cholesky(A) + np.triu(A, k=1)


@kernel(lambda rng, n: (positive(rng, n),), 10, 120)
def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


@kernel(lambda rng, n: (positive(rng, n), rng.normal(size=n)), 10, 120)
def ludcmp(A, b):
    """LU factorisation in place, then both triangular solves."""
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(A.shape[0]):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


@kernel(lambda rng, n: (0.5 / (1.0 + np.arange(n)) * rng.uniform(0.5, 1.0, n),), 12, 800)
def durbin(r):
    """Durbin's solution of the Yule-Walker equations of a Toeplitz matrix."""
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@kernel(lambda rng, n: (rng.normal(size=(n + 4, n)),), 10, 120)
def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        length = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(length)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@kernel(lambda rng, n: (positive(rng, n), np.zeros(n), rng.normal(size=n)), 12, 800)
def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def table(rng, n):
    return n, np.float64(n + 6), rng.normal(size=(n + 6, n)) * 3.0 + 1.0


@kernel(table, 10, 200)
def correlation(M, float_n, data):
    mean = np.mean(data, axis=0)
    spread = np.std(data, axis=0)
    spread[spread <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * spread
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1 : M, i] = corr[i, i + 1 : M] = data[:, i] @ data[:, i + 1 : M]
    return corr


@kernel(table, 10, 200)
def covariance(M, float_n, data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:M, i] = cov[i, i:M] = data[:, i] @ data[:, i:M] / (float_n - 1.0)
    return cov


@kernel(lambda rng, n: (positive(rng, n), rng.normal(size=n), np.zeros(n), 1e-10, 5 * n), 12, 300)
def conjugate_gradient(A, b, x, tolerance, most):
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    rounds = 0
    while rounds < most and rs > tolerance:
        q = A @ p
        step = rs / (p @ q)
        x += step * p
        r -= step * q
        fresh = r @ r
        p = r + (fresh / rs) * p
        rs = fresh
        rounds += 1
    return rounds
