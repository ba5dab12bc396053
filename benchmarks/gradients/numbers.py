"""Scalar functions: Python floats, loops that end on convergence."""
import math

import numpy as np

from .core import program

# ------------------------------------------------------------------------------------------------- in jax, by hand


def _newton():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def root(a, most):
        def step(x, _):  # reverse mode requires a fixed number of iterations
            far = jnp.abs(x * x - a) > 1e-12
            return jnp.where(far, 0.5 * (x + a / jnp.where(far, x, 1.0)), x), None

        return lax.scan(step, jax.numpy.asarray(a), None, length=most)[0]

    return root


def _adaptive():
    import jax.numpy as jnp
    from jax import lax

    def orbit(rate, end, most):
        def slope(y):
            return rate * y * (1.0 - y)

        def step(carry, _):
            t, y, h = carry
            there = t >= end
            h = jnp.minimum(h, jnp.where(there, 1.0, end - t))
            k1 = slope(y)
            k2 = slope(y + 0.5 * h * k1)
            k3 = slope(y + 0.75 * h * k2)
            high = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
            error = jnp.abs(high - y - h * k2) + 1e-16
            good = (error < 1e-7) & ~there
            t, y = jnp.where(good, t + h, t), jnp.where(good, high, y)
            h = jnp.where(there, h, h * jnp.clip(0.9 * (1e-7 / error) ** (1.0 / 3.0), 0.2, 5.0))
            return (t, y, h), None

        (_, y, _), _ = lax.scan(step, (0.0, 0.01, 0.1), None, length=most)
        return y

    return orbit


def _logistic_map():
    from jax import lax

    def run(r, x, steps):
        def step(carry, _):
            x, total = carry
            x = r * x * (1.0 - x)
            return (x, total + x), None

        return lax.scan(step, (x, 0.0), None, length=steps)[0][1]

    return run


def _option():
    import jax.numpy as jnp
    from jax.scipy.special import erf

    def price(spot, strike, rate, spread, years):
        wide = spread * jnp.sqrt(years)
        d1 = (jnp.log(spot / strike) + (rate + 0.5 * spread * spread) * years) / wide
        phi = lambda x: 0.5 * (1.0 + erf(x / np.sqrt(2.0)))  # noqa: E731
        return spot * phi(d1) - strike * jnp.exp(-rate * years) * phi(d1 - wide)

    return price


# ------------------------------------------------------------------------------------------------- in Python


@program(lambda r: (2.0, 40), _newton, static=(1,))
def newton(a, most):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(lambda r: (1.5, 10.0, 600), _adaptive, static=(2,))
def adaptive(rate, end, most):
    t, y, h = 0.0, 0.01, 0.1
    while t < end:
        h = min(h, end - t)
        k1 = rate * y * (1.0 - y)
        y2 = y + 0.5 * h * k1
        k2 = rate * y2 * (1.0 - y2)
        y3 = y + 0.75 * h * k2
        k3 = rate * y3 * (1.0 - y3)
        high = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
        error = abs(high - y - h * k2) + 1e-16
        if error < 1e-7:
            t, y = t + h, high
        h = h * min(max(0.9 * (1e-7 / error) ** (1.0 / 3.0), 0.2), 5.0)
    return y


@program(lambda r: (3.2, 0.3, 10000), _logistic_map, static=(2,))
def logistic_map(r, x, steps):
    total = 0.0
    for _ in range(steps):
        x = r * x * (1.0 - x)
        total += x
    return total


@program(lambda r: (100.0, 95.0, 0.03, 0.25, 1.5), _option, value=True)
def option(spot, strike, rate, spread, years):
    wide = spread * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * spread * spread) * years) / wide
    near, far = 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0))), 0.5 * (1.0 + math.erf((d1 - wide) / math.sqrt(2.0)))
    return spot * near - strike * math.exp(-rate * years) * far
