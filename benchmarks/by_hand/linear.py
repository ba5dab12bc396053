"""The kernels of kernels/linear.py, written by hand in jax."""
import jax.numpy as jnp

from .core import by_hand


@by_hand()
def gemm(alpha, beta, C, A, B):
    return alpha * (A @ B) + beta * C


@by_hand()
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = x + beta * (y @ A) + z
    return A, w + alpha * (A @ x), x


@by_hand()
def gesummv(alpha, beta, A, B, x):
    return alpha * (A @ x) + beta * (B @ x)


@by_hand()
def two_products(alpha, beta, A, B, C, D):
    return alpha * (A @ B @ C) + beta * D


@by_hand()
def three_products(A, B, C, D):
    return A @ B @ (C @ D)


@by_hand()
def atax(A, x):
    return (A @ x) @ A


@by_hand()
def bicg(A, p, r):
    return r @ A, A @ p


@by_hand()
def mvt(x1, x2, y1, y2, A):
    return x1 + A @ y1, x2 + y2 @ A


@by_hand()
def syrk(alpha, beta, C, A):
    return jnp.tril(beta * C + alpha * (A @ A.T)) + jnp.triu(C, 1)


@by_hand()
def syr2k(alpha, beta, C, A, B):
    return jnp.tril(beta * C + alpha * (A @ B.T + B @ A.T)) + jnp.triu(C, 1)


@by_hand()
def symm(alpha, beta, C, A, B):
    full = jnp.tril(A) + jnp.tril(A, -1).T
    return beta * C + alpha * (full @ B)


@by_hand()
def trmm(alpha, A, B):
    return alpha * (B + jnp.tril(A, -1).T @ B)


@by_hand(0, 1, 2)
def doitgen(NR, NQ, NP, A, C4):
    return A @ C4
