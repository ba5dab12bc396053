"""The kernels of kernels/models.py, written by hand in jax."""
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from .core import VERSIONS, by_hand


@by_hand()
def logistic_regression(X, y, steps, rate):
    def step(_, carry):
        w, b = carry
        error = jax.nn.sigmoid(X @ w + b) - y
        return w - rate * (X.T @ error) / y.shape[0], b - rate * jnp.mean(error)

    return lax.fori_loop(0, steps, step, (jnp.zeros(X.shape[1]), 0.0))


@by_hand(3)
def train_network(params, X, Y, steps, rate):
    def loss(params):
        hidden = jnp.tanh(X @ params["w1"] + params["b1"])
        return -jnp.sum(Y * jax.nn.log_softmax(hidden @ params["w2"] + params["b2"], axis=1)) / X.shape[0]

    def step(params, _):
        value, slopes = jax.value_and_grad(loss)(params)
        return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, slopes), value

    params, losses = lax.scan(step, params, None, steps)
    return losses, *(params[name] for name in ("w1", "b1", "w2", "b2"))


@by_hand()
def fit_mixture(X, means, variances, weights, tolerance, most):
    def expect(means, variances, weights):
        log = jnp.log(weights) - 0.5 * (((X[:, None] - means) ** 2 / variances).sum(-1) + jnp.log(2 * jnp.pi * variances).sum(-1))
        total = jax.scipy.special.logsumexp(log, axis=1)
        return total.mean(), jnp.exp(log - total[:, None])

    def step(carry):
        (means, *_), _, (likelihood, share), rounds = carry
        size = share.sum(axis=0)
        means = share.T @ X / size[:, None]
        variances = jnp.einsum("nk,nkd->kd", share, (X[:, None] - means) ** 2) / size[:, None] + 1e-6
        model = means, variances, size / X.shape[0]
        return model, likelihood, expect(*model), rounds + 1

    start = means, variances, weights
    model, _, (likelihood, _), rounds = lax.while_loop(
        lambda c: (c[3] < most) & (c[2][0] - c[1] >= tolerance), step, (start, -jnp.inf, expect(*start), 0)
    )
    return likelihood, rounds, *model


def rms_norm(x, scale):
    return x / jnp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * scale


def transformer_block(x, heads, w):
    length, width = x.shape
    q, k, v = (rms_norm(x, w["norm1"]) @ w["qkv"]).reshape(length, 3, heads, width // heads).transpose(1, 2, 0, 3)
    scores = jnp.where(jnp.tri(length, dtype=bool), q @ k.transpose(0, 2, 1) / jnp.sqrt(width // heads), -jnp.inf)
    x = x + (jax.nn.softmax(scores, axis=-1) @ v).transpose(1, 0, 2).reshape(length, width) @ w["out"]
    return x + jax.nn.gelu(rms_norm(x, w["norm2"]) @ w["up"]) @ w["down"]


@partial(jax.jit, static_argnames="heads")
def decoder(tokens, params, heads):
    x = params["tokens"][tokens] + params["places"][: tokens.shape[0]]
    for weights in params["blocks"]:
        x = transformer_block(x, heads, weights)
    return rms_norm(x, params["norm"]) @ params["tokens"].T


VERSIONS["language_model"] = lambda tokens, params, config: decoder(tokens, params, config["heads"])


@by_hand()
def kalman(measured, covariance, step, process, noise):
    def update(carry, value):
        state, covariance = carry
        state = step @ state
        covariance = step @ covariance @ step.T + process * jnp.eye(2)
        gain = covariance[:, 0] / (covariance[0, 0] + noise)
        state = state + gain * (value - state[0])
        return (state, covariance - jnp.outer(gain, covariance[0])), state

    (_, covariance), out = lax.scan(update, (jnp.zeros(2), covariance), measured)
    return out, covariance


@by_hand()
def value_iteration(P, rewards, discount, tolerance):
    def step(carry):
        values, _, _, rounds = carry
        scores = rewards + discount * (P @ values).T
        fresh = scores.max(axis=1)
        return fresh, jnp.max(jnp.abs(fresh - values)), scores.argmax(axis=1), rounds + 1

    start = jnp.zeros(P.shape[1]), jnp.inf, jnp.zeros(P.shape[1], jnp.int64), 0
    values, _, best, rounds = lax.while_loop(lambda c: c[1] >= tolerance, step, start)
    return values, best, rounds
