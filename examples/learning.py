"""Three models that are trained: logistic regression, a gated recurrent network, a small transformer.

Each is a loss in plain NumPy, together with its gradient derived by hand. ``descend`` takes either the gradient computed
by ``hovis.value_and_grad(loss)`` or the one derived by hand; the losses of all steps are the same.

    python examples/learning.py
"""
import numpy as np

import hovis


def descend(slopes, params, data, steps, rate):
    """Run gradient descent with momentum: the final parameters, and the loss before each step."""
    losses = np.zeros(steps)
    speed = {name: np.zeros_like(value) for name, value in params.items()}
    for step in range(steps):
        losses[step], slope = slopes(params, *data)
        speed = {name: 0.9 * speed[name] - rate * slope[name] for name in params}
        params = {name: params[name] + speed[name] for name in params}
    return params, losses


# ------------------------------------------------------------------------------------------------- logistic regression


def logistic(params, x, y):
    """Loss of logistic regression with the labels 1.0 and -1.0 and an L2 penalty on the weights."""
    scores = x @ params["w"] + params["b"]
    return np.mean(np.log1p(np.exp(-y * scores))) + 0.01 * np.sum(params["w"] ** 2)


def logistic_by_hand(params, x, y):
    miss = np.exp(-y * (x @ params["w"] + params["b"]))
    at_scores = -y * miss / (1.0 + miss) / len(y)
    slopes = {"w": x.T @ at_scores + 0.02 * params["w"], "b": np.sum(at_scores, keepdims=True)}
    return np.mean(np.log1p(miss)) + 0.01 * np.sum(params["w"] ** 2), slopes


def logistic_data(count=80, width=5):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, width))
    y = np.where(x @ rng.normal(size=width) + 0.3 * rng.normal(size=count) > 0.0, 1.0, -1.0)
    return {"w": np.zeros(width), "b": np.zeros(1)}, (x, y)


# ------------------------------------------------------------------------------------------------- a recurrent network


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def gru(params, xs, targets):
    """Loss of a gated recurrent unit (GRU), with an update and a reset gate, that predicts the running product of signs at each time step."""
    state = np.zeros((xs.shape[1], params["u_keep"].shape[0]))
    total = 0.0
    for t in range(xs.shape[0]):
        keep = sigmoid(xs[t] @ params["w_keep"] + state @ params["u_keep"] + params["b_keep"])
        reset = sigmoid(xs[t] @ params["w_reset"] + state @ params["u_reset"] + params["b_reset"])
        new = np.tanh(xs[t] @ params["w_new"] + (reset * state) @ params["u_new"] + params["b_new"])
        state = keep * state + (1.0 - keep) * new
        total += np.mean((state @ params["out"] - targets[t]) ** 2)
    return total / len(xs)


def gru_by_hand(params, xs, targets):
    length, batch, _ = xs.shape
    width = params["u_keep"].shape[0]
    states = np.zeros((length + 1, batch, width))
    keeps, resets, news = (np.zeros((length, batch, width)) for _ in range(3))
    misses = np.zeros((length, batch))
    for t in range(length):
        state = states[t]
        keeps[t] = sigmoid(xs[t] @ params["w_keep"] + state @ params["u_keep"] + params["b_keep"])
        resets[t] = sigmoid(xs[t] @ params["w_reset"] + state @ params["u_reset"] + params["b_reset"])
        news[t] = np.tanh(xs[t] @ params["w_new"] + (resets[t] * state) @ params["u_new"] + params["b_new"])
        states[t + 1] = keeps[t] * state + (1.0 - keeps[t]) * news[t]
        misses[t] = states[t + 1] @ params["out"] - targets[t]
    slopes = {name: np.zeros_like(value) for name, value in params.items()}
    at_state = np.zeros((batch, width))
    for t in reversed(range(length)):
        at_miss = 2.0 * misses[t] / (batch * length)
        slopes["out"] += at_miss @ states[t + 1]
        at_state = at_state + np.outer(at_miss, params["out"])
        state, keep, reset, new = states[t], keeps[t], resets[t], news[t]
        before = at_state * keep
        at_new = at_state * (1.0 - keep) * (1.0 - new * new)
        at_keep = at_state * (state - new) * keep * (1.0 - keep)
        at_gated = at_new @ params["u_new"].T
        at_reset = at_gated * state * reset * (1.0 - reset)
        before = before + at_gated * reset
        for name, slope, seen in (("new", at_new, reset * state), ("keep", at_keep, state), ("reset", at_reset, state)):
            slopes["w_" + name] += xs[t].T @ slope
            slopes["u_" + name] += seen.T @ slope
            slopes["b_" + name] += np.sum(slope, axis=0)
        at_state = before + at_keep @ params["u_keep"].T + at_reset @ params["u_reset"].T
    return np.sum(np.mean(misses**2, axis=1)) / length, slopes


def gru_data(length=12, batch=10, width=6):
    rng = np.random.default_rng(1)
    signs = np.where(rng.random((length, batch)) < 0.3, -1.0, 1.0)
    params = {"out": rng.normal(size=width) / np.sqrt(width)}
    for name in ("keep", "reset", "new"):
        params["w_" + name] = rng.normal(size=(1, width))
        params["u_" + name] = rng.normal(size=(width, width)) / np.sqrt(width)
        params["b_" + name] = np.zeros(width)
    return params, (signs[:, :, None], np.cumprod(signs, axis=0))


# ------------------------------------------------------------------------------------------------- a transformer

HEADS = 2


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def normalize(x):
    far = x - np.mean(x, axis=-1, keepdims=True)
    return far / np.sqrt(np.mean(far * far, axis=-1, keepdims=True) + 1e-5)


def parts(x, heads=HEADS):
    """Split an array of shape (batch, length, width) into attention heads."""
    batch, length, width = x.shape
    return np.swapaxes(x.reshape(batch, length, heads, width // heads), 1, 2)


def joined(x):
    batch, heads, length, size = x.shape
    return np.swapaxes(x, 1, 2).reshape(batch, length, heads * size)


def transformer(params, ids):
    """Mean cross entropy of next-token prediction by a transformer block: attention and a two-layer perceptron."""
    seen, following = ids[:, :-1], ids[:, 1:]
    length, width = seen.shape[1], params["tokens"].shape[1]
    x = params["tokens"][seen] + params["places"][:length]
    y = normalize(x) * params["scale_1"]
    q, k, v = parts(y @ params["query"]), parts(y @ params["key"]), parts(y @ params["value"])
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(width // HEADS) + np.triu(np.full((length, length), -1e9), 1)
    x = x + joined(softmax(scores) @ v) @ params["out"]
    x = x + np.maximum(normalize(x) * params["scale_2"] @ params["up"], 0.0) @ params["down"]
    p = softmax(normalize(x) @ params["tokens"].T)
    return -np.mean(np.log(np.take_along_axis(p, following[:, :, None], axis=-1)))


def softmax_back(p, g):
    return p * (g - np.sum(p * g, axis=-1, keepdims=True))


def normalize_back(x, g):
    far = x - np.mean(x, axis=-1, keepdims=True)
    size = np.sqrt(np.mean(far * far, axis=-1, keepdims=True) + 1e-5)
    g = g / size - far * np.mean(g * far, axis=-1, keepdims=True) / size**3
    return g - np.mean(g, axis=-1, keepdims=True)


def product_back(a, b, g):
    """Cotangents of the operands of a @ b, where b is one matrix for the whole batch a, given the cotangent g of the product."""
    return g @ b.T, a.reshape(-1, a.shape[-1]).T @ g.reshape(-1, g.shape[-1])


def transformer_by_hand(params, ids):
    seen, following = ids[:, :-1], ids[:, 1:]
    (batch, length), width = seen.shape, params["tokens"].shape[1]
    root = np.sqrt(width // HEADS)
    x1 = params["tokens"][seen] + params["places"][:length]
    n1 = normalize(x1)
    y = n1 * params["scale_1"]
    q, k, v = parts(y @ params["query"]), parts(y @ params["key"]), parts(y @ params["value"])
    looks = softmax(q @ np.swapaxes(k, -1, -2) / root + np.triu(np.full((length, length), -1e9), 1))
    heads = joined(looks @ v)
    x2 = x1 + heads @ params["out"]
    n2 = normalize(x2)
    z = n2 * params["scale_2"]
    hidden = np.maximum(z @ params["up"], 0.0)
    x3 = x2 + hidden @ params["down"]
    n3 = normalize(x3)
    p = softmax(n3 @ params["tokens"].T)
    loss = -np.mean(np.log(np.take_along_axis(p, following[:, :, None], axis=-1)))

    slopes = {name: np.zeros_like(value) for name, value in params.items()}
    at_scores = p.copy()
    for b in range(batch):
        at_scores[b, np.arange(length), following[b]] -= 1.0
    at_scores /= batch * length
    at_n3, by_tokens = product_back(n3, params["tokens"].T, at_scores)
    at_x3 = normalize_back(x3, at_n3)
    at_hidden, slopes["down"] = product_back(hidden, params["down"], at_x3)
    at_z, slopes["up"] = product_back(z, params["up"], at_hidden * (hidden > 0.0))
    slopes["scale_2"] = np.sum(at_z * n2, axis=(0, 1))
    at_x2 = at_x3 + normalize_back(x2, at_z * params["scale_2"])
    at_heads, slopes["out"] = product_back(heads, params["out"], at_x2)
    at_heads = parts(at_heads)
    at_looks = softmax_back(looks, at_heads @ np.swapaxes(v, -1, -2)) / root
    at_y = np.zeros_like(y)
    for name, g in (("query", at_looks @ k), ("key", np.swapaxes(at_looks, -1, -2) @ q), ("value", np.swapaxes(looks, -1, -2) @ at_heads)):
        more, slopes[name] = product_back(y, params[name], joined(g))
        at_y += more
    slopes["scale_1"] = np.sum(at_y * n1, axis=(0, 1))
    at_x1 = at_x2 + normalize_back(x1, at_y * params["scale_1"])
    slopes["places"][:length] = np.sum(at_x1, axis=0)
    slopes["tokens"] = by_tokens.T
    np.add.at(slopes["tokens"], seen, at_x1)
    return loss, slopes


def transformer_data(batch=8, length=9, width=8, words=7):
    rng = np.random.default_rng(2)

    def matrix(rows, columns):
        return rng.normal(size=(rows, columns)) / np.sqrt(rows)

    params = {
        "tokens": matrix(words, width), "places": 0.1 * rng.normal(size=(length, width)), "scale_1": np.ones(width), "scale_2": np.ones(width),
        "query": matrix(width, width), "key": matrix(width, width), "value": matrix(width, width), "out": matrix(width, width),
        "up": matrix(width, 2 * width), "down": matrix(2 * width, width),
    }  # fmt: skip
    # each token is the sum of the two before it, modulo the number of words
    ids = np.zeros((batch, length), dtype=np.int64)
    ids[:, :2] = rng.integers(0, words, (batch, 2))
    for t in range(2, length):
        ids[:, t] = (ids[:, t - 1] + ids[:, t - 2]) % words
    return params, (ids,)


#: For each model: the loss, the gradient derived by hand, the training data, the number of steps, and the learning rate.
MODELS = {
    "logistic regression": (logistic, logistic_by_hand, logistic_data, 40, 0.1),
    "recurrent network": (gru, gru_by_hand, gru_data, 60, 0.1),
    "transformer": (transformer, transformer_by_hand, transformer_data, 60, 0.05),
}


def main():
    import hovis_xla

    for name, (loss, by_hand, data, steps, rate) in MODELS.items():
        params, given = data()
        compiled = hovis_xla.jit(descend)
        _, losses = compiled(hovis.value_and_grad(loss), params, given, steps, rate)
        _, expected = descend(by_hand, params, given, steps, rate)
        print(f"{name}: {losses[0]:.4f} to {losses[-1]:.4f}, off from gradients by hand by {np.max(np.abs(losses - expected)):.1e}")
        print("   ", compiled.explain().splitlines()[0])
        assert np.allclose(losses, expected, rtol=1e-9, atol=1e-12)


if __name__ == "__main__":
    main()
