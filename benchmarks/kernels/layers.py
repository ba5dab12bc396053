"""Layers of neural networks in float32; channels are the last axis of images."""
import numpy as np

from .core import kernel


def normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def relu(x):
    return np.maximum(x, 0)


def softmax_of(x):
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def conv2d(image, weights):
    """Convolution: each position of the result is a window times all filters."""
    size = weights.shape[0]
    count, height, width = image.shape[0], image.shape[1] - size + 1, image.shape[2] - size + 1
    out = np.empty((count, height, width, weights.shape[3]), dtype=np.float32)
    for i in range(height):
        for j in range(width):
            out[:, i, j, :] = np.sum(image[:, i : i + size, j : j + size, :, np.newaxis] * weights[np.newaxis, :, :, :], axis=(1, 2, 3))
    return out


def maxpool2d(x):
    out = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            out[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


def batch_norm(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


@kernel(lambda rng, n: (normal(rng, n, n, n, n),), 4, 24)
def softmax(x):
    return softmax_of(x)


@kernel(lambda rng, n: (normal(rng, 2, n, n, 3), normal(rng, 3, 3, 3, 4), normal(rng, 4)), 6, 28)
def conv2d_bias(image, weights, bias):
    return conv2d(image, weights) + bias


def lenet_arguments(rng, n):
    after = ((n - 4) // 2 - 4) // 2
    flat = after * after * 16
    return (
        normal(rng, 2, n, n, 1), normal(rng, 5, 5, 1, 6), normal(rng, 6), normal(rng, 5, 5, 6, 16), normal(rng, 16),
        normal(rng, flat, 30) * 0.1, normal(rng, 30), normal(rng, 30, 20) * 0.1, normal(rng, 20), normal(rng, 20, 10) * 0.1, normal(rng, 10), 2, flat,
    )


@kernel(lenet_arguments, 16, 28)
def lenet(x, conv1, bias1, conv2, bias2, full1, bias3, full2, bias4, full3, bias5, count, flat):
    x = relu(conv2d(x, conv1) + bias1)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + bias2)
    x = maxpool2d(x)
    x = np.reshape(x, (count, flat))
    x = relu(x @ full1 + bias3)
    x = relu(x @ full2 + bias4)
    return x @ full3 + bias5


def perceptron(rng, n):
    return normal(rng, 8, n), normal(rng, n, 2 * n), normal(rng, 2 * n), normal(rng, 2 * n, n), normal(rng, n), normal(rng, n, 10), normal(rng, 10)


@kernel(perceptron, 8, 256)
def mlp(x, w1, b1, w2, b2, w3, b3):
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax_of(x @ w3 + b3)


@kernel(lambda rng, n: (normal(rng, 2, n, n, 8), normal(rng, 1, 1, 8, 4), normal(rng, 3, 3, 4, 4), normal(rng, 1, 1, 4, 8)), 5, 20)
def resnet_block(image, conv1, conv2, conv3):
    """A bottleneck block: reduce the channels, convolve with padding, expand the channels, add the input."""
    padded = np.zeros((image.shape[0], image.shape[1] + 2, image.shape[2] + 2, conv1.shape[3]))
    padded[:, 1:-1, 1:-1, :] = conv2d(image, conv1)
    x = relu(batch_norm(padded))
    x = relu(batch_norm(conv2d(x, conv2)))
    x = batch_norm(conv2d(x, conv3))
    return relu(x + image)


@kernel(lambda rng, n: (normal(rng, n, 16), normal(rng, 16, 48) * 0.3, normal(rng, 16, 16) * 0.3, 4), 6, 128)
def attention(x, project, out, heads):
    """Causal multi-head attention."""
    length = x.shape[0]
    q, k, v = np.split(x @ project, 3, axis=-1)
    mask = (1 - np.tri(length, dtype=x.dtype)) * -1e10
    found = []
    for qh, kh, vh in zip(np.split(q, heads, axis=-1), np.split(k, heads, axis=-1), np.split(v, heads, axis=-1)):
        found.append(softmax_of(qh @ kh.T / np.sqrt(qh.shape[-1]) + mask) @ vh)
    return np.hstack(found) @ out


@kernel(lambda rng, n: (normal(rng, 10, n), normal(rng, n, 3 * n) * 0.3, normal(rng, n, 3 * n) * 0.3, normal(rng, 3 * n)), 6, 64)
def gru(xs, wx, wh, b):
    """A gated recurrent unit over a sequence."""
    n = xs.shape[1]
    h = np.zeros(n, dtype=xs.dtype)
    seen = np.empty((xs.shape[0], n), dtype=xs.dtype)
    for t in range(xs.shape[0]):
        gx, gh = xs[t] @ wx + b, h @ wh
        reset = 1 / (1 + np.exp(-(gx[:n] + gh[:n])))
        update = 1 / (1 + np.exp(-(gx[n : 2 * n] + gh[n : 2 * n])))
        fresh = np.tanh(gx[2 * n :] + reset * gh[2 * n :])
        h = update * h + (1 - update) * fresh
        seen[t] = h
    return seen, h
