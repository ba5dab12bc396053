"""Dynamic programming, where tables are filled step by step, and loops of scalar arithmetic over elements."""
import numpy as np

from .core import kernel


def bases(rng, n):
    return n, rng.integers(0, 4, n).astype(np.int32)


@kernel(bases, 10, 80)
def nussinov(N, seq):
    """The maximum number of base pairs of a folded strand (Nussinov)."""
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@kernel(lambda rng, n: (rng.integers(0, 5, n), rng.integers(0, 5, n + 3)), 10, 150)
def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


@kernel(lambda rng, n: (rng.integers(0, 5, n), rng.integers(0, 5, n + 3), 2.0, -1.0, -0.5), 10, 120)
def smith_waterman(a, b, match, mismatch, gap):
    """The best local alignment (Smith-Waterman): its score and its end."""
    n, m = a.shape[0], b.shape[0]
    score = np.zeros((n + 1, m + 1))
    best, at = 0.0, (0, 0)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            diagonal = score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            score[i, j] = max(0.0, diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap)
            if score[i, j] > best:
                best, at = score[i, j], (i, j)
    return best, at, score


def hidden(rng, n):
    states, symbols = 8, 5
    a, b, p = (rng.uniform(0.1, 1.0, s) for s in ((states, states), (states, symbols), states))
    return rng.integers(0, symbols, n), np.log(a / a.sum(1, keepdims=True)), np.log(b / b.sum(1, keepdims=True)), np.log(p / p.sum())


@kernel(hidden, 10, 200)
def viterbi(observed, step, emit, start):
    """The most likely path of a hidden Markov model, and its log probability."""
    T, S = len(observed), len(start)
    score = np.zeros((T, S))
    back = np.zeros((T, S), dtype=np.int64)
    score[0] = start + emit[:, observed[0]]
    for t in range(1, T):
        for s in range(S):
            best, arg = -np.inf, 0
            for r in range(S):
                value = score[t - 1, r] + step[r, s]
                if value > best:
                    best, arg = value, r
            score[t, s] = best + emit[s, observed[t]]
            back[t, s] = arg
    path = np.zeros(T, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(T - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[-1, path[-1]]


@kernel(hidden, 10, 300)
def viterbi_rows(observed, step, emit, start):
    """The Viterbi algorithm with array operations on whole rows."""
    T, S = len(observed), len(start)
    score = start + emit[:, observed[0]]
    back = np.zeros((T, S), dtype=np.int64)
    for t in range(1, T):
        candidates = score[:, np.newaxis] + step
        back[t] = np.argmax(candidates, axis=0)
        score = np.max(candidates, axis=0) + emit[:, observed[t]]
    path = np.zeros(T, dtype=np.int64)
    path[T - 1] = np.argmax(score)
    for t in range(T - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


@kernel(lambda rng, n: (rng.integers(1, 10, n), rng.integers(1, 50, n), 3 * n), 8, 60)
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        for room in range(capacity, weights[i] - 1, -1):
            best[room] = max(best[room], best[room - weights[i]] + values[i])
    return best[capacity]


@kernel(lambda rng, n: (rng.integers(1, 10, n), rng.integers(1, 50, n), 3 * n), 8, 200)
def knapsack_rows(weights, values, capacity):
    """The knapsack problem, one item at a time and all capacities at once: the lengths of the slices depend on the data."""
    best = np.zeros(capacity + 1, dtype=np.int64)
    for w, v in zip(weights, values):
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best[-1]


@kernel(lambda rng, n: (rng.normal(size=(n, n)),), 10, 400)
def go_fast(a):
    """The sum of the hyperbolic tangents of the diagonal, added to all elements."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@kernel(lambda rng, n: (0x1021, rng.integers(0, 256, n).astype(np.uint8)), 20, 2000)
def crc16(poly, data):
    """The CRC-16 checksum, computed bit by bit."""
    crc = 0xFFFF
    for b in data:
        bits = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (bits & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            bits >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


@kernel(lambda rng, n: (rng.normal(size=n),), 12, 400)
def insertion_sort(x):
    for i in range(1, len(x)):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value


@kernel(lambda rng, n: (n,), 50, 20000)
def sieve(n):
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if prime[k]:
            prime[k * k :: k] = False
    return np.flatnonzero(prime)


@kernel(lambda rng, n: (rng.normal(size=n), rng.normal(size=n)), 10, 150)
def time_warp(x, y):
    """The dynamic time warping distance of two series."""
    n, m = x.shape[0], y.shape[0]
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i, j] = abs(x[i - 1] - y[j - 1]) + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, m]


@kernel(lambda rng, n: (rng.integers(0, 16, n), 16), 40, 20000)
def counting_sort(x, kinds):
    counts = np.zeros(kinds, dtype=np.int64)
    for v in x:
        counts[v] += 1
    at = 0
    for v in range(kinds):
        for _ in range(counts[v]):
            x[at] = v
            at += 1
    return counts
