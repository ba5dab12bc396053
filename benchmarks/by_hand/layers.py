"""The kernels of kernels/layers.py, written by hand in jax."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .core import by_hand


def convolution(image, weights):
    return lax.conv_general_dilated(image, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pooled(x):
    n, h, w, c = x.shape
    return x[:, : h // 2 * 2, : w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))


@by_hand()
def softmax(x):
    return jax.nn.softmax(x, axis=-1)


@by_hand()
def conv2d_bias(image, weights, bias):
    return convolution(image, weights) + bias


@by_hand(11, 12)
def lenet(x, conv1, bias1, conv2, bias2, full1, bias3, full2, bias4, full3, bias5, count, flat):
    x = pooled(jax.nn.relu(convolution(x, conv1) + bias1))
    x = pooled(jax.nn.relu(convolution(x, conv2) + bias2)).reshape(count, flat)
    x = jax.nn.relu(x @ full1 + bias3)
    return jax.nn.relu(x @ full2 + bias4) @ full3 + bias5


@by_hand()
def mlp(x, w1, b1, w2, b2, w3, b3):
    x = jax.nn.relu(x @ w1 + b1)
    return jax.nn.softmax(jax.nn.relu(x @ w2 + b2) @ w3 + b3, axis=-1)


@by_hand(3)
def attention(x, project, out, heads):
    length, width = x.shape
    q, k, v = (x @ project).reshape(length, 3, heads, width // heads).transpose(1, 2, 0, 3)
    scores = (q @ k.transpose(0, 2, 1)).astype(jnp.float64) / np.sqrt(width // heads)  # in double precision from here on, as in NumPy
    scores = jnp.where(jnp.tri(length, dtype=bool), scores, -1e10)
    return (jax.nn.softmax(scores, axis=-1) @ v).transpose(1, 0, 2).reshape(length, width) @ out


@by_hand()
def gru(xs, wx, wh, b):
    n = xs.shape[1]

    def step(h, x):
        gx, gh = x @ wx + b, h @ wh
        reset, update = jax.nn.sigmoid(gx[:n] + gh[:n]), jax.nn.sigmoid(gx[n : 2 * n] + gh[n : 2 * n])
        h = update * h + (1 - update) * jnp.tanh(gx[2 * n :] + reset * gh[2 * n :])
        return h, h

    h, seen = lax.scan(step, jnp.zeros(n, xs.dtype), xs)
    return seen, h
