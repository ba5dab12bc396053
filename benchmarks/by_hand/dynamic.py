"""The kernels of kernels/dynamic.py, written by hand in jax."""
import jax.numpy as jnp
from jax import lax

from .core import by_hand


@by_hand()
def edit_distance(a, b):
    n, m = a.shape[0], b.shape[0]

    def row(i, d):
        def cell(j, d):
            cost = jnp.where(a[i - 1] == b[j - 1], 0, 1)
            return d.at[i, j].set(jnp.minimum(jnp.minimum(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost))

        return lax.fori_loop(1, m + 1, cell, d)

    d = jnp.zeros((n + 1, m + 1), jnp.int64).at[:, 0].set(jnp.arange(n + 1)).at[0, :].set(jnp.arange(m + 1))
    return lax.fori_loop(1, n + 1, row, d)[n, m]


@by_hand()
def time_warp(x, y):
    def row(above, xi):
        def cell(left, given):
            up, diagonal, yj = given
            new = jnp.abs(xi - yj) + jnp.minimum(jnp.minimum(up, left), diagonal)
            return new, new

        found = lax.scan(cell, jnp.inf, (above[1:], above[:-1], y))[1]
        return jnp.concatenate([jnp.array([jnp.inf]), found]), None

    first = jnp.full(y.shape[0] + 1, jnp.inf).at[0].set(0.0)
    return lax.scan(row, first, x)[0][-1]


@by_hand()
def viterbi(observed, step, emit, start):
    def forward(score, o):
        candidates = score[:, None] + step
        score = candidates.max(axis=0) + emit[:, o]
        return score, candidates.argmax(axis=0)

    last, back = lax.scan(forward, start + emit[:, observed[0]], observed[1:])
    end = jnp.argmax(last)
    first, path = lax.scan(lambda at, row: (row[at], at), end, back, reverse=True)
    return jnp.concatenate([first[None], path]), last[end]


@by_hand()
def viterbi_rows(observed, step, emit, start):
    return viterbi(observed, step, emit, start)[0]


@by_hand(2)
def knapsack(weights, values, capacity):
    room = jnp.arange(capacity + 1)

    def item(best, wv):
        w, v = wv
        return jnp.where(room >= w, jnp.maximum(best, best[jnp.clip(room - w, 0)] + v), best), None

    return lax.scan(item, jnp.zeros(capacity + 1, jnp.int64), (weights, values))[0][-1]


@by_hand()
def crc16(poly, data):
    def byte(crc, b):
        def bit(_, carry):
            crc, bits = carry
            return jnp.where((crc ^ bits) & 1, (crc >> 1) ^ poly, crc >> 1), bits >> 1

        return lax.fori_loop(0, 8, bit, (crc, b.astype(jnp.int64)))[0], None

    crc = ~lax.scan(byte, jnp.int64(0xFFFF), data)[0] & 0xFFFF
    return ((crc << 8) | (crc >> 8 & 0xFF)) & 0xFFFF


@by_hand()
def insertion_sort(x):
    def insert(i, x):
        value = x[i]

        def shift(carry):
            x, j = carry
            return x.at[j + 1].set(x[j]), j - 1

        x, j = lax.while_loop(lambda c: (c[1] >= 0) & (c[0][jnp.clip(c[1], 0)] > value), shift, (x, i - 1))
        return x.at[j + 1].set(value)

    return lax.fori_loop(1, x.shape[0], insert, x)


@by_hand()
def go_fast(a):
    return a + jnp.sum(jnp.tanh(jnp.diag(a)))
