"""Training and inference of models: parameters in dicts, gradients derived by hand."""
import numpy as np

from .core import kernel


def classes(rng, n):
    X = rng.normal(size=(n, 8))
    return X, (X @ rng.normal(size=8) > 0).astype(float), 40, 0.5


@kernel(classes, 30, 1000)
def logistic_regression(X, y, steps, rate):
    w = np.zeros(X.shape[1])
    b = 0.0
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-(X @ w + b)))
        error = p - y
        w -= rate * (X.T @ error) / len(y)
        b -= rate * np.mean(error)
    return w, b


def network(rng, n):
    params = {
        "w1": rng.normal(size=(6, n)) / 6**0.5, "b1": np.zeros(n),
        "w2": rng.normal(size=(n, 3)) / n**0.5, "b2": np.zeros(3),
    }
    X = rng.normal(size=(4 * n, 6))
    return params, X, np.eye(3)[rng.integers(0, 3, 4 * n)], 10, 0.1


@kernel(network, 8, 64)
def train_network(params, X, Y, steps, rate):
    """Full-batch training of two layers with cross entropy; returns the loss of each step."""
    losses = np.zeros(steps)
    for step in range(steps):
        hidden = np.tanh(X @ params["w1"] + params["b1"])
        scores = hidden @ params["w2"] + params["b2"]
        scores = scores - scores.max(axis=1, keepdims=True)
        p = np.exp(scores)
        p /= p.sum(axis=1, keepdims=True)
        losses[step] = -np.sum(Y * np.log(p)) / len(X)
        d_scores = (p - Y) / len(X)
        d_hidden = d_scores @ params["w2"].T * (1.0 - hidden**2)
        params["w2"] -= rate * hidden.T @ d_scores
        params["b2"] -= rate * d_scores.sum(axis=0)
        params["w1"] -= rate * X.T @ d_hidden
        params["b1"] -= rate * d_hidden.sum(axis=0)
    return losses


def mixture(rng, n):
    X = np.concatenate([rng.normal(-2.0, 1.0, (n, 2)), rng.normal(2.0, 0.7, (n, 2))])
    return X, np.array([[-1.0, 0.0], [1.0, 0.5]]), np.ones((2, 2)), np.full(2, 0.5), 1e-6, 50


@kernel(mixture, 12, 500)
def fit_mixture(X, means, variances, weights, tolerance, most):
    """Expectation maximisation for two diagonal Gaussians, until the likelihood converges."""
    last, rounds = -np.inf, 0
    while rounds < most:
        parts = []
        for k in range(len(weights)):
            z = (X - means[k]) ** 2 / variances[k]
            parts.append(np.log(weights[k]) - 0.5 * (z.sum(axis=1) + np.log(2 * np.pi * variances[k]).sum()))
        log = np.stack(parts, axis=1)
        top = log.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(log - top).sum(axis=1))
        likelihood = total.mean()
        share = np.exp(log - total[:, None])
        if likelihood - last < tolerance:
            break
        last = likelihood
        rounds += 1
        for k in range(len(weights)):
            mine = share[:, k].sum()
            means[k] = share[:, k] @ X / mine
            variances[k] = share[:, k] @ (X - means[k]) ** 2 / mine + 1e-6
            weights[k] = mine / len(X)
    return likelihood, rounds


def transformer(rng, n):
    width, layers = 32, 3

    def w(*shape):
        return rng.normal(size=shape) / shape[0] ** 0.5

    blocks = [
        {
            "norm1": np.ones(width), "qkv": w(width, 3 * width), "out": w(width, width),
            "norm2": np.ones(width), "up": w(width, 4 * width), "down": w(4 * width, width),
        }
        for _ in range(layers)
    ]
    return rng.integers(0, 50, n), {"tokens": w(50, width), "places": w(n, width), "blocks": blocks, "norm": np.ones(width)}, {"heads": 4, "gated": False}


def rms_norm(x, scale):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * scale


def block(x, heads, gated, norm1, qkv, out, norm2, up, down):
    length, width = x.shape
    q, k, v = ((rms_norm(x, norm1) @ qkv).reshape(length, 3, heads, width // heads)).transpose(1, 2, 0, 3)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(width // heads)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    x = x + (weights @ v).transpose(1, 0, 2).reshape(length, width) @ out
    h = rms_norm(x, norm2) @ up
    h = 0.5 * h * (1.0 + np.tanh(0.7978845608 * (h + 0.044715 * h**3)))
    if gated:
        h = h * h
    return x + h @ down


@kernel(transformer, 6, 64)
def language_model(tokens, params, config):
    x = params["tokens"][tokens] + params["places"][: len(tokens)]
    for weights in params["blocks"]:
        x = block(x, **config, **weights)
    return rms_norm(x, params["norm"]) @ params["tokens"].T


def filtering(rng, n):
    return rng.normal(size=n).cumsum(), np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]]), 0.01, 0.5


@kernel(filtering, 20, 500)
def kalman(measured, covariance, step, process, noise):
    """A Kalman filter for position and velocity from noisy positions; the matrices are two by two."""
    state = np.zeros(2)
    out = np.empty((len(measured), 2))
    for k in range(len(measured)):
        state = step @ state
        covariance = step @ covariance @ step.T + process * np.eye(2)
        gain = covariance[:, 0] / (covariance[0, 0] + noise)
        state = state + gain * (measured[k] - state[0])
        covariance = covariance - np.outer(gain, covariance[0])
        out[k] = state
    return out, covariance


def policy(rng, n):
    P = rng.uniform(size=(4, n, n))
    return P / P.sum(axis=2, keepdims=True), rng.normal(size=(n, 4)), 0.9, 1e-8


@kernel(policy, 8, 60)
def value_iteration(P, rewards, discount, tolerance):
    values = np.zeros(P.shape[1])
    rounds = 0
    while True:
        scores = rewards + discount * (P @ values).T
        fresh = scores.max(axis=1)
        change = np.max(np.abs(fresh - values))
        values = fresh
        rounds += 1
        if change < tolerance:
            return values, scores.argmax(axis=1), rounds
