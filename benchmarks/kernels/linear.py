"""Products of matrices and vectors, in place."""
import numpy as np

from .core import kernel


def square(rng, n, count):
    return tuple(rng.normal(size=(n, n)) for _ in range(count))


def factors(rng, n):
    return 1.5, 1.2, rng.normal(size=(n, n + 3)), rng.normal(size=(n, n + 5)), rng.normal(size=(n + 5, n + 3))


@kernel(factors, 12, 250)
def gemm(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


def vectors(rng, n):
    return (1.5, 1.2, *square(rng, n, 1), *(rng.normal(size=n) for _ in range(8)))


@kernel(vectors, 12, 600)
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


@kernel(lambda rng, n: (1.5, 1.2, *square(rng, n, 2), rng.normal(size=n)), 12, 600)
def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


@kernel(lambda rng, n: (1.5, 1.2, *square(rng, n, 4)), 12, 250)
def two_products(alpha, beta, A, B, C, D):
    """D := alpha·A·B·C + beta·D."""
    D[:] = alpha * A @ B @ C + beta * D


@kernel(lambda rng, n: square(rng, n, 4), 12, 250)
def three_products(A, B, C, D):
    return A @ B @ (C @ D)


@kernel(lambda rng, n: (rng.normal(size=(n + 3, n)), rng.normal(size=n)), 12, 600)
def atax(A, x):
    return (A @ x) @ A


@kernel(lambda rng, n: (rng.normal(size=(n + 3, n)), rng.normal(size=n), rng.normal(size=n + 3)), 12, 600)
def bicg(A, p, r):
    return r @ A, A @ p


@kernel(lambda rng, n: (*(rng.normal(size=n) for _ in range(4)), *square(rng, n, 1)), 12, 600)
def mvt(x1, x2, y1, y2, A):
    x1 += A @ y1
    x2 += y2 @ A


@kernel(lambda rng, n: (1.5, 1.2, *square(rng, n, 1), rng.normal(size=(n, n + 4))), 10, 120)
def syrk(alpha, beta, C, A):
    """The lower triangle of beta·C + alpha·A·Aᵀ, row by row."""
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


@kernel(lambda rng, n: (1.5, 1.2, *square(rng, n, 1), rng.normal(size=(n, n + 4)), rng.normal(size=(n, n + 4))), 10, 100)
def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]


@kernel(lambda rng, n: (1.5, 1.2, rng.normal(size=(n, n + 4)), *square(rng, n, 1), rng.normal(size=(n, n + 4))), 10, 100)
def symm(alpha, beta, C, A, B):
    """C := alpha·S·B + beta·C, where only the lower triangle of the symmetric S is stored."""
    row = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            row[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * row


@kernel(lambda rng, n: (1.5, *square(rng, n, 1), rng.normal(size=(n, n + 4))), 10, 100)
def trmm(alpha, A, B):
    """B := alpha·Lᵀ·B for a unit lower triangle L."""
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


@kernel(lambda rng, n: (n, n + 1, n + 2, rng.normal(size=(n, n + 1, n + 2)), rng.normal(size=(n + 2, n + 2))), 6, 60)
def doitgen(NR, NQ, NP, A, C4):
    """A tensor times a matrix, plane by plane, each as a matrix product of rank-3 arrays."""
    for r in range(NR):
        A[r, :, :] = np.reshape(np.reshape(A[r], (NQ, 1, NP)) @ C4, (NQ, NP))
