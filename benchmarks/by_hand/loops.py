"""The kernels of kernels/loops.py, written by hand in jax."""
import jax.numpy as jnp
from jax import lax

from .core import by_hand


@by_hand()
def collatz(limit):
    def chain(start):
        return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (start, 1))[1]

    def step(start, best):
        length = chain(start)
        return jnp.where(length > best[1], start, best[0]), jnp.maximum(length, best[1])

    return lax.fori_loop(1, limit, step, (1, 1))


@by_hand()
def gcd_sum(n):
    def pair(i, j):
        return lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (i, j))[0]

    return lax.fori_loop(1, n, lambda i, t: lax.fori_loop(1, n, lambda j, t: t + pair(i, j), t), 0)


@by_hand()
def newton_roots(n):
    def root(k):
        a = k.astype(float)
        return lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-9 * a, lambda x: 0.5 * (x + a / x), a)

    return lax.fori_loop(1, n, lambda k, t: t + root(k), 0.0)


@by_hand()
def lorenz_rk45(x, y, z, until, tolerance):
    def slope(s):
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(carry):
        t, h, s, accepted, rejected = carry
        h = jnp.minimum(h, until - t)
        k1 = slope(s)
        k2 = slope(s + h * k1 / 4)
        k3 = slope(s + h * (3 * k1 + 9 * k2) / 32)
        k4 = slope(s + h * (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = slope(s + h * (439 / 216 * k1 - 8 * k2 + 3680 / 513 * k3 - 845 / 4104 * k4))
        k6 = slope(s + h * (-8 / 27 * k1 + 2 * k2 - 3544 / 2565 * k3 + 1859 / 4104 * k4 - 11 / 40 * k5))
        error = h * jnp.max(jnp.abs(k1 / 360 - 128 / 4275 * k3 - 2197 / 75240 * k4 + k5 / 50 + 2 / 55 * k6))
        good = error <= tolerance
        s = jnp.where(good, s + h * (25 / 216 * k1 + 1408 / 2565 * k3 + 2197 / 4104 * k4 - k5 / 5), s)
        t = jnp.where(good, t + h, t)
        h = h * jnp.where(error > 0.0, jnp.clip(0.9 * (tolerance / error) ** 0.25, 0.1, 4.0), 4.0)
        return t, h, s, accepted + good, rejected + ~good

    _, _, s, accepted, rejected = lax.while_loop(lambda c: c[0] < until, step, (0.0, 0.01, jnp.stack([x, y, z]), 0, 0))
    return s[0], s[1], s[2], accepted, rejected


@by_hand(0)
def sieve_elements(n):
    def step(k, carry):
        prime, count = carry

        def strike(prime):
            return lax.while_loop(lambda c: c[1] < n, lambda c: (c[0].at[c[1]].set(False), c[1] + k), (prime, k * k))[0]

        return lax.cond(prime[k], strike, lambda p: p, prime), count + prime[k]

    return lax.fori_loop(2, n, step, (jnp.ones(n, bool), 0))[1]


@by_hand(2)
def simpson(a, b, n):
    h = (b - a) / (2 * n)
    k = jnp.arange(1, 2 * n)
    x = a + k * h
    total = jnp.exp(-a * a) + jnp.exp(-b * b) + jnp.sum(jnp.where(k % 2, 4.0, 2.0) * jnp.exp(-x * x) * jnp.sin(x))
    return total * h / 3.0


@by_hand()
def estimate_pi(seed, n):
    def step(_, carry):
        state, inside = carry
        state = (1103515245 * state + 12345) % 2147483648
        x = state / 2147483648
        state = (1103515245 * state + 12345) % 2147483648
        y = state / 2147483648
        return state, inside + (x * x + y * y < 1.0)

    return 4.0 * lax.fori_loop(0, n, step, (seed, 0))[1] / n


@by_hand()
def binary_searches(sorted_values, wanted):
    return jnp.searchsorted(sorted_values, wanted)


@by_hand()
def brainfuck(program, jumps, tape, fuel):
    def go_on(carry):
        return (carry[2] < program.shape[0]) & (carry[3] > 0)

    def step(carry):
        tape, at, pc, fuel = carry
        op, here = program[pc], tape[at]
        tape = tape.at[at].set(jnp.where(op == 43, here + 1, jnp.where(op == 45, here - 1, here)))
        to = jnp.where(((op == 91) & (here == 0)) | ((op == 93) & (here != 0)), jumps[pc], pc)
        return tape, at + (op == 62) - (op == 60), to + 1, fuel - 1

    tape, at, pc, fuel = lax.while_loop(go_on, step, (tape, 0, 0, fuel))
    return at, pc, fuel, tape
