"""Loops over arrays: over time steps, over layers of one kind, until convergence."""
import numpy as np

from .core import program
from .models import small

# ------------------------------------------------------------------------------------------------- in jax, by hand


def _rnn():
    import jax.numpy as jnp
    from jax import lax

    def loss(p, xs, ys):
        def step(h, x):
            h = jnp.tanh(p["w"] @ h + p["u"] @ x + p["b"])
            return h, h

        _, hs = lax.scan(step, jnp.zeros(p["b"].shape[0]), xs)
        return jnp.mean((hs @ p["out"] - ys) ** 2)

    return loss


def _gru():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(p, xs, y):
        n = p["b"].shape[0] // 3

        def step(h, x):
            gx, gh = x @ p["wx"] + p["b"], h @ p["wh"]
            reset, update = jax.nn.sigmoid(gx[:, :n] + gh[:, :n]), jax.nn.sigmoid(gx[:, n : 2 * n] + gh[:, n : 2 * n])
            return update * h + (1 - update) * jnp.tanh(gx[:, 2 * n :] + reset * gh[:, 2 * n :]), None

        h, _ = lax.scan(step, jnp.zeros((xs.shape[1], n)), xs)
        return jnp.mean((h @ p["out"] - y) ** 2)

    return loss


def _heat():
    import jax.numpy as jnp
    from jax import lax

    def loss(u, target, rate, steps):
        def step(u, _):
            return u.at[1:-1].add(rate * (u[:-2] - 2.0 * u[1:-1] + u[2:])), None

        u, _ = lax.scan(step, u, None, length=steps)
        return jnp.sum((u - target) ** 2)

    return loss


def _wave():
    import jax.numpy as jnp
    from jax import lax

    def loss(speed, start, steps):
        def step(carry, _):
            before, now = carry
            bend = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * now[1:-1, 1:-1]
            inner = 2.0 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + speed[1:-1, 1:-1] * bend
            return (now, jnp.zeros_like(now).at[1:-1, 1:-1].set(inner)), None

        (_, last), _ = lax.scan(step, (start, start), None, length=steps)
        return jnp.sum(last * last)

    return loss


def _power_iteration():
    import jax.numpy as jnp
    from jax import lax

    def largest(a, v, steps):
        def step(v, _):
            v = a @ v
            return v / jnp.sqrt(jnp.sum(v * v)), None

        v, _ = lax.scan(step, v, None, length=steps)
        return v @ (a @ v)

    return largest


def _products():
    import jax.numpy as jnp
    from jax import lax

    def score(x):
        def step(product, one):
            product = product * one
            return product, product

        _, products = lax.scan(step, 1.0, x)
        return jnp.sum(products * products)

    return score


# ------------------------------------------------------------------------------------------------- in NumPy


def _recurrent(r):
    return {"w": 0.8 * small(r, 64, 64), "u": small(r, 64, 32), "b": np.zeros(64), "out": small(r, 64)}


@program(lambda r: (_recurrent(r), r.normal(size=(200, 32)), r.normal(size=200)), _rnn)
def rnn(p, xs, ys):
    hs = np.zeros((xs.shape[0], p["b"].shape[0]))
    h = np.zeros(p["b"].shape[0])
    for t in range(xs.shape[0]):
        h = np.tanh(p["w"] @ h + p["u"] @ xs[t] + p["b"])
        hs[t] = h
    return np.mean((hs @ p["out"] - ys) ** 2)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def _gated(r):
    return {"wx": small(r, 16, 96), "wh": small(r, 32, 96), "b": np.zeros(96), "out": small(r, 32)}


@program(lambda r: (_gated(r), r.normal(size=(100, 16, 16)), r.normal(size=16)), _gru, value=True)
def gru(p, xs, y):
    n = p["b"].shape[0] // 3
    h = np.zeros((xs.shape[1], n))
    for x in xs:
        gx, gh = x @ p["wx"] + p["b"], h @ p["wh"]
        reset, update = sigmoid(gx[:, :n] + gh[:, :n]), sigmoid(gx[:, n : 2 * n] + gh[:, n : 2 * n])
        h = update * h + (1 - update) * np.tanh(gx[:, 2 * n :] + reset * gh[:, 2 * n :])
    return np.mean((h @ p["out"] - y) ** 2)


@program(lambda r: (r.normal(size=1000), r.normal(size=1000), 0.2, 300), _heat, static=(3,))
def heat(u, target, rate, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += rate * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum((u - target) ** 2)


@program(lambda r: (r.uniform(0.1, 0.2, (48, 48)), r.normal(size=(48, 48)), 100), _wave, static=(2,))
def wave(speed, start, steps):
    before, now = start, start
    for _ in range(steps):
        after = np.zeros_like(now)
        bend = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * now[1:-1, 1:-1]
        after[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + speed[1:-1, 1:-1] * bend
        before, now = now, after
    return np.sum(now * now)


@program(lambda r: (r.normal(size=(80, 80)), r.normal(size=80), 60), _power_iteration, static=(2,))
def power_iteration(a, v, steps):
    for _ in range(steps):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v))
    return v @ (a @ v)


@program(lambda r: (r.uniform(0.99, 1.01, 3000),), _products)
def products(x):
    product, total = 1.0, 0.0
    for k in range(x.shape[0]):
        product = product * x[k]
        total = total + product * product
    return total
