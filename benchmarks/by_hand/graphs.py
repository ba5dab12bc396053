"""The kernels of kernels/graphs.py, written by hand in jax."""
import jax
import jax.numpy as jnp
from jax import lax

from .core import by_hand


@by_hand()
def floyd_warshall(path):
    return lax.fori_loop(0, path.shape[0], lambda k, p: jnp.minimum(p, p[:, k, None] + p[k, None, :]), path)


@by_hand()
def floyd_warshall_rows(path):
    return lax.fori_loop(0, path.shape[0], lambda k, p: jnp.minimum(p, p[:, k, None] + p[k, None, :]), path)


@by_hand()
def spmv(rows, columns, values, x):
    count = rows.shape[0] - 1
    row = jnp.searchsorted(rows, jnp.arange(values.shape[0]), side="right") - 1
    return jax.ops.segment_sum(values * x[columns], row, count, indices_are_sorted=True)


@by_hand()
def spmv_elements(rows, columns, values, x):
    return spmv(rows, columns, values, x)


@by_hand()
def pagerank(links, damping, tolerance):
    n = links.shape[0]
    out = links.sum(axis=1)
    step = (links / jnp.where(out == 0, 1.0, out)[:, None]).T

    def go(carry):
        rank, _, rounds = carry
        fresh = damping * (step @ rank) + (1.0 - damping) / n
        fresh = fresh / fresh.sum()
        return fresh, jnp.abs(fresh - rank).sum(), rounds + 1

    rank, _, rounds = lax.while_loop(lambda c: (c[1] >= tolerance) & (c[2] < 200), go, (jnp.full(n, 1.0 / n), jnp.inf, 0))
    return rank, rounds


@by_hand(2)
def k_means(points, centers, rounds):
    count = centers.shape[0]

    def step(_, carry):
        centers, _ = carry
        nearest = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
        mine = (nearest[:, None] == jnp.arange(count)).astype(points.dtype)
        sizes = mine.sum(axis=0)
        return jnp.where(sizes[:, None] > 0, mine.T @ points / jnp.maximum(sizes, 1.0)[:, None], centers), nearest

    centers, nearest = lax.fori_loop(0, rounds, step, (centers, jnp.zeros(points.shape[0], jnp.int64)))
    return nearest, centers
