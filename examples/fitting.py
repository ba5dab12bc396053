"""Models fitted in plain NumPy: k-means, a Gaussian mixture by expectation maximisation (EM), and a neural network by gradient descent.

Each is a function in the usual style: loops that end on convergence, dicts of parameters, gradients derived by hand.

    python examples/fitting.py
"""
import numpy as np


def blobs(seed=0, count=60):
    """Return random points around three centers, and the index of the center of each point."""
    rng = np.random.default_rng(seed)
    centers = np.array([[-2.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    labels = np.repeat(np.arange(3), count // 3)
    return centers[labels] + 0.6 * rng.normal(size=(len(labels), 2)), labels


def k_means(points, centers, most=50):
    """Run k-means until the centers no longer move: the centers, the index of the nearest center of each point, and the number of iterations."""
    centers = centers.copy()
    for rounds in range(most):
        distances = np.linalg.norm(points[:, None, :] - centers[None, :, :], axis=2)
        nearest = np.argmin(distances, axis=1)
        before = centers.copy()
        for k in range(len(centers)):
            mine = nearest == k
            if np.any(mine):
                centers[k] = np.sum(points * mine[:, None], axis=0) / np.sum(mine)
        if np.allclose(centers, before):
            return centers, nearest, rounds
    return centers, nearest, most


def log_density(points, mean, covariance):
    """Log density of a two-dimensional Gaussian at each point."""
    a, b, c, d = covariance[0, 0], covariance[0, 1], covariance[1, 0], covariance[1, 1]
    det = a * d - b * c
    inverse = np.array([[d, -b], [-c, a]]) / det
    off = points - mean
    return -0.5 * (np.sum(off @ inverse * off, axis=1) + np.log(det) + 2.0 * np.log(2.0 * np.pi))


def fit_mixture(points, means, tolerance=1e-8, most=100):
    """Fit a Gaussian mixture by EM until the likelihood converges: the parameters, the likelihood of each iteration, the last iteration."""
    count, size = means.shape
    means = means.copy()
    covariances = np.stack([np.eye(size)] * count)
    weights = np.full(count, 1.0 / count)
    likelihoods = np.zeros(most)
    last = -np.inf
    for rounds in range(most):
        log = np.stack([np.log(weights[k]) + log_density(points, means[k], covariances[k]) for k in range(count)], axis=1)
        top = np.max(log, axis=1, keepdims=True)
        total = top + np.log(np.sum(np.exp(log - top), axis=1, keepdims=True))
        likelihood = np.mean(total)
        likelihoods[rounds] = likelihood
        if likelihood - last < tolerance:
            break
        last = likelihood
        share = np.exp(log - total)
        sizes = np.sum(share, axis=0)
        weights = sizes / len(points)
        for k in range(count):
            means[k] = share[:, k] @ points / sizes[k]
            off = points - means[k]
            covariances[k] = (share[:, k, None] * off).T @ off / sizes[k] + 1e-6 * np.eye(size)
    return {"means": means, "covariances": covariances, "weights": weights}, likelihoods, rounds


def network(seed=1, hidden=8):
    rng = np.random.default_rng(seed)
    return {"w1": rng.normal(size=(2, hidden)), "b1": np.zeros(hidden), "w2": 0.5 * rng.normal(size=(hidden, 3)), "b2": np.zeros(3)}


def train(params, points, labels, epochs, batch, rate, decay=0.99):
    """Train by gradient descent with momentum and gradients derived by hand; update ``params`` in place. Return the loss of each epoch."""
    velocity = {name: np.zeros_like(value) for name, value in params.items()}
    losses = np.zeros(epochs)
    for epoch in range(epochs):
        for start in range(0, len(points), batch):
            x, y = points[start : start + batch], labels[start : start + batch]
            hidden = np.tanh(x @ params["w1"] + params["b1"])
            scores = hidden @ params["w2"] + params["b2"]
            p = np.exp(scores - np.max(scores, axis=1, keepdims=True))
            p /= np.sum(p, axis=1, keepdims=True)
            losses[epoch] -= np.sum(np.log(p[np.arange(len(y)), y])) / len(points)
            d_scores = p.copy()
            d_scores[np.arange(len(y)), y] -= 1.0
            d_scores /= len(y)
            d_hidden = d_scores @ params["w2"].T * (1.0 - hidden * hidden)
            slopes = {"w1": x.T @ d_hidden, "b1": np.sum(d_hidden, axis=0), "w2": hidden.T @ d_scores, "b2": np.sum(d_scores, axis=0)}
            for name in params:
                velocity[name] = 0.9 * velocity[name] - rate * slopes[name]
                params[name] += velocity[name]
        rate *= decay
    return losses


def calls():
    """Return each function with the arguments of its example call."""
    points, labels = blobs()
    order = np.random.default_rng(2).permutation(len(points))
    starts = points[[0, 1, 2]]
    return [
        (k_means, (points, starts)),
        (fit_mixture, (points, np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))),
        (train, (network(), points[order], labels[order], 5, 15, 0.1)),
    ]


def main():
    import hovis_xla

    for (fn, args), (_, others) in zip(calls(), calls()):
        compiled = hovis_xla.jit(fn)
        expected, got = fn(*args), compiled(*others)
        if fn is train:
            expected, got = [expected, *args[0].values()], [got, *others[0].values()]
        print(f"{fn.__name__}: {got[0]}")
        print("   ", compiled.explain().splitlines()[0])
        for x, y in zip(expected[1:], got[1:]):
            assert np.allclose(x, y, rtol=1e-6, atol=1e-9)


if __name__ == "__main__":
    main()
