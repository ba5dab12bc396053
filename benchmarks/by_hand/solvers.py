"""The kernels of kernels/solvers.py, written by hand in jax."""
import jax
import jax.numpy as jnp
from jax import lax

from .core import by_hand


def rows_below(n, k):
    return jnp.arange(n) < k


@by_hand()
def cholesky(A):
    n = A.shape[0]

    def row(i, A):
        def column(j, A):
            known = jnp.where(rows_below(n, j), A[i] * A[j], 0.0).sum()
            return A.at[i, j].set((A[i, j] - known) / A[j, j])

        A = lax.fori_loop(0, i, column, A)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - jnp.where(rows_below(n, i), A[i] ** 2, 0.0).sum()))

    return lax.fori_loop(0, n, row, A)


@by_hand()
def cholesky_columns(A):
    n = A.shape[0]
    index = jnp.arange(n)

    def step(k, A):
        root = jnp.sqrt(A[k, k])
        column = jnp.where(index > k, A[:, k] / root, A[:, k]).at[k].set(root)
        A = A.at[:, k].set(column)
        below = jnp.where(index > k, column, 0.0)
        return A - jnp.outer(below, below)

    return lax.fori_loop(0, n, step, A)


@by_hand()
def lu(A):
    n = A.shape[0]
    index = jnp.arange(n)

    def step(k, A):
        factor = jnp.where(index > k, A[:, k] / A[k, k], 0.0)
        A = A.at[:, k].set(jnp.where(index > k, factor, A[:, k]))
        return A - jnp.outer(factor, jnp.where(index > k, A[k], 0.0))

    return lax.fori_loop(0, n, step, A)


@by_hand()
def durbin(r):
    n = r.shape[0]
    index = jnp.arange(n)

    def step(k, carry):
        y, alpha, beta = carry
        beta = beta * (1.0 - alpha * alpha)
        turned = jnp.where(index < k, y[jnp.clip(k - 1 - index, 0, n - 1)], 0.0)
        alpha = -(r[k] + jnp.sum(r * turned)) / beta
        return (y + alpha * turned).at[k].set(alpha), alpha, beta

    return lax.fori_loop(1, n, step, (jnp.zeros(n).at[0].set(-r[0]), -r[0], 1.0))[0]


@by_hand()
def gramschmidt(A):
    m, n = A.shape

    def step(k, carry):
        A, Q, R = carry
        length = jnp.sqrt(A[:, k] @ A[:, k])
        q = A[:, k] / length
        row = jnp.where(jnp.arange(n) > k, q @ A, 0.0)
        return A - jnp.outer(q, row), Q.at[:, k].set(q), R.at[k].set(row.at[k].set(length))

    A, Q, R = lax.fori_loop(0, n, step, (A, jnp.zeros((m, n)), jnp.zeros((n, n))))
    return Q, R, A


@by_hand()
def trisolv(L, x, b):
    return jax.scipy.linalg.solve_triangular(L, b, lower=True)


@by_hand(0)
def correlation(M, float_n, data):
    spread = jnp.std(data, axis=0)
    data = (data - data.mean(axis=0)) / (jnp.sqrt(float_n) * jnp.where(spread <= 0.1, 1.0, spread))
    corr = data.T @ data
    return jnp.fill_diagonal(corr, 1.0, inplace=False), data


@by_hand(0)
def covariance(M, float_n, data):
    data = data - data.mean(axis=0)
    return data.T @ data / (float_n - 1.0), data


@by_hand()
def conjugate_gradient(A, b, x, tolerance, most):
    def go_on(carry):
        return (carry[4] < most) & (carry[3] > tolerance)

    def step(carry):
        x, r, p, rs, rounds = carry
        q = A @ p
        size = rs / (p @ q)
        r = r - size * q
        fresh = r @ r
        return x + size * p, r, r + fresh / rs * p, fresh, rounds + 1

    r = b - A @ x
    x, _, _, _, rounds = lax.while_loop(go_on, step, (x, r, r, r @ r, 0))
    return rounds, x
