"""Graph algorithms, sparse matrices, nearest neighbours, clustering."""
import numpy as np

from .core import kernel


def distances(rng, n):
    return (rng.integers(1, 100, (n, n)).astype(np.int32),)


@kernel(distances, 10, 150)
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


@kernel(distances, 8, 120)
def floyd_warshall_rows(path):
    """The Floyd-Warshall algorithm row by row, with broadcasting instead of an outer sum."""
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            path[i, :] = np.minimum(path[i, :], path[i, k] + path[k, :])


def sparse(rng, n):
    """Row pointers, column indices and values of a CSR matrix, and a vector."""
    counts = rng.integers(0, 6, n)
    rows = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    columns = rng.integers(0, n, counts.sum()).astype(np.uint32)
    return rows, columns, rng.normal(size=counts.sum()), rng.normal(size=n)


@kernel(sparse, 10, 2000)
def spmv(rows, columns, values, x):
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        cols = columns[rows[i] : rows[i + 1]]
        vals = values[rows[i] : rows[i + 1]]
        y[i] = vals @ x[cols]
    return y


@kernel(sparse, 10, 2000)
def spmv_elements(rows, columns, values, x):
    y = np.zeros(len(rows) - 1)
    for i in range(len(rows) - 1):
        total = 0.0
        for k in range(rows[i], rows[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


@kernel(lambda rng, n: ((rng.random((n, n)) < 0.2).astype(float), 0.85, 1e-9), 12, 300)
def pagerank(links, damping, tolerance):
    n = links.shape[0]
    out = links.sum(axis=1)
    out[out == 0] = 1.0
    step = (links / out[:, np.newaxis]).T
    rank = np.full(n, 1.0 / n)
    rounds = 0
    while True:
        fresh = damping * (step @ rank) + (1.0 - damping) / n
        fresh /= fresh.sum()
        change = np.abs(fresh - rank).sum()
        rank = fresh
        rounds += 1
        if change < tolerance or rounds >= 200:
            break
    return rank, rounds


@kernel(lambda rng, n: (rng.normal(size=(n, 3)), rng.integers(0, 4, n), rng.normal(size=(n // 2, 3)), 5), 20, 300)
def nearest_neighbours(points, labels, queries, k):
    """The most frequent label among the k nearest points."""
    result = np.empty(queries.shape[0], dtype=labels.dtype)
    for q in range(queries.shape[0]):
        distance = np.sqrt(np.sum((points - queries[q]) ** 2, axis=1))
        near = np.argsort(distance, kind="stable")[:k]
        votes = np.bincount(labels[near], minlength=4)
        result[q] = np.argmax(votes)
    return result


@kernel(lambda rng, n: (rng.normal(size=(n, 2)), rng.normal(size=(4, 2)), 8), 24, 2000)
def k_means(points, centers, rounds):
    for _ in range(rounds):
        distance = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
        nearest = distance.argmin(axis=1)
        for c in range(centers.shape[0]):
            mine = nearest == c
            if mine.any():
                centers[c] = points[mine].mean(axis=0)
    return nearest


@kernel(lambda rng, n: (rng.random((n, n)) < 0.1,), 10, 60)
def transitive_closure(reach):
    for k in range(len(reach)):
        reach |= reach[:, k : k + 1] & reach[k]
    return reach.sum()


@kernel(lambda rng, n: (rng.integers(1, 30, (n, n)) * (rng.random((n, n)) < 0.4), 0), 10, 120)
def dijkstra(weights, source):
    """Dijkstra's algorithm on a dense matrix of weights; 0 means no edge."""
    n = weights.shape[0]
    distance = np.full(n, 10**9)
    done = np.zeros(n, dtype=bool)
    distance[source] = 0
    for _ in range(n):
        u = int(np.argmin(np.where(done, 10**9 + 1, distance)))
        if distance[u] >= 10**9:
            break
        done[u] = True
        for v in range(n):
            if weights[u, v] > 0 and not done[v] and distance[u] + weights[u, v] < distance[v]:
                distance[v] = distance[u] + weights[u, v]
    return distance


@kernel(lambda rng, n: (rng.integers(0, n, 2 * n), rng.integers(0, n, 2 * n), n), 12, 1000)
def union_find(left, right, n):
    parent = np.arange(n)
    parts = n
    for k in range(len(left)):
        a, b = left[k], right[k]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            parts -= 1
    return parts, parent
