"""Models that are trained, without loops or with loops that are unrolled."""
import numpy as np

from .core import program


def small(r, *shape):
    return r.normal(size=shape) / np.sqrt(shape[0])


# ------------------------------------------------------------------------------------------------- in jax, by hand


def _logistic():
    import jax.numpy as jnp

    def loss(w, x, y):
        return jnp.mean(jnp.log1p(jnp.exp(-y * (x @ w)))) + 1e-3 * jnp.sum(w * w)

    return loss


def _cross_entropy():
    import jax
    import jax.numpy as jnp

    def loss(p, x, labels):
        scores = x @ p["w"] + p["b"]
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(labels.shape[0]), labels])

    return loss


def _mlp():
    import jax
    import jax.numpy as jnp

    def loss(layers, x, labels):
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ w + b) * labels, axis=1))

    return loss


def _layer_norm():
    import jax.numpy as jnp

    def loss(p, x, y):
        mean = jnp.mean(x, axis=-1, keepdims=True)
        h = (x - mean) / jnp.sqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5) * p["gain"] + p["shift"]
        return jnp.mean((jnp.maximum(h @ p["up"], 0.0) @ p["down"] + x - y) ** 2)

    return loss


def _attention():
    import jax
    import jax.numpy as jnp

    def loss(p, x, heads):
        n, length, width = x.shape
        q, k, v = [(x @ p[name]).reshape(n, length, heads, width // heads).transpose(0, 2, 1, 3) for name in "qkv"]
        weights = jax.nn.softmax(q @ k.swapaxes(2, 3) / np.sqrt(width // heads), axis=-1)
        mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(n, length, width) @ p["out"]
        return jnp.mean((x + mixed) ** 2)

    return loss


def _convolution():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(p, images):
        h = lax.conv_general_dilated(images, p["k"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = jax.nn.relu(h + p["b"])
        return jnp.mean(jnp.mean(h, axis=(1, 2)) @ p["w"])

    return loss


def _polynomial():
    import jax.numpy as jnp

    def loss(coefficients, x, y):
        value = jnp.zeros_like(x)
        for k in range(coefficients.shape[0]):
            value = value * x + coefficients[k]
        return jnp.mean((value - y) ** 2)

    return loss


# ------------------------------------------------------------------------------------------------- in NumPy


@program(lambda r: (small(r, 64), r.normal(size=(2000, 64)), np.sign(r.normal(size=2000))), _logistic)
def logistic(w, x, y):
    return np.mean(np.log1p(np.exp(-y * (x @ w)))) + 1e-3 * np.sum(w * w)


@program(lambda r: ({"w": small(r, 64, 10), "b": np.zeros(10)}, r.normal(size=(1000, 64)), r.integers(0, 10, 1000)), _cross_entropy)
def cross_entropy(p, x, labels):
    scores = x @ p["w"] + p["b"]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(labels.shape[0]), labels])


def _layers(r):
    return [(small(r, n, m), np.zeros(m)) for n, m in ((64, 128), (128, 128), (128, 10))]


@program(lambda r: (_layers(r), r.normal(size=(256, 64)), np.eye(10)[r.integers(0, 10, 256)]), _mlp, value=True)
def mlp(layers, x, labels):
    for w, b in layers[:-1]:
        x = np.tanh(x @ w + b)
    w, b = layers[-1]
    scores = x @ w + b
    scores = scores - np.max(scores, axis=1, keepdims=True)
    logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(np.sum(logs * labels, axis=1))


def _block(r):
    return {"gain": np.ones(64), "shift": np.zeros(64), "up": small(r, 64, 128), "down": small(r, 128, 64)}


@program(lambda r: (_block(r), r.normal(size=(512, 64)), r.normal(size=(512, 64))), _layer_norm)
def layer_norm(p, x, y):
    mean = np.mean(x, axis=-1, keepdims=True)
    h = (x - mean) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-5) * p["gain"] + p["shift"]
    return np.mean((np.maximum(h @ p["up"], 0.0) @ p["down"] + x - y) ** 2)


@program(lambda r: ({name: small(r, 64, 64) for name in ("q", "k", "v", "out")}, r.normal(size=(8, 48, 64)), 4), _attention, static=(2,))
def attention(p, x, heads):
    n, length, width = x.shape
    q, k, v = [(x @ p[name]).reshape(n, length, heads, width // heads).transpose(0, 2, 1, 3) for name in "qkv"]
    scores = q @ k.swapaxes(2, 3) / np.sqrt(width // heads)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(n, length, width) @ p["out"]
    return np.mean((x + mixed) ** 2)


@program(lambda r: ({"k": small(r, 3, 3, 4, 8), "b": np.zeros(8), "w": small(r, 8)}, r.normal(size=(8, 20, 20, 4))), _convolution)
def convolution(p, images):
    n, height, width, _ = images.shape
    h = np.zeros((n, height - 2, width - 2, p["b"].shape[0]))
    for i in range(3):
        for j in range(3):
            h = h + images[:, i : i + height - 2, j : j + width - 2] @ p["k"][i, j]
    h = np.maximum(h + p["b"], 0.0)
    return np.mean(np.mean(h, axis=(1, 2)) @ p["w"])


@program(lambda r: (r.normal(size=8), r.uniform(-1, 1, 20000), r.normal(size=20000)), _polynomial)
def polynomial(coefficients, x, y):
    value = np.zeros_like(x)
    for k in range(coefficients.shape[0]):
        value = value * x + coefficients[k]
    return np.mean((value - y) ** 2)
