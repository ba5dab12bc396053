"""The kernels of kernels/physics.py, written by hand in jax."""
import jax
import jax.numpy as jnp
from jax import lax

from .core import by_hand


@by_hand(3, 4)
def nbody(mass, pos, vel, N, steps, dt, softening, G):
    def apart(pos):
        return pos[None, :, :] - pos[:, None, :]

    def pull(pos):
        d = apart(pos)
        return G * jnp.einsum("ijc,ij,j->ic", d, ((d**2).sum(-1) + softening**2) ** -1.5, mass[:, 0])

    def energy(pos, vel):
        distance = jnp.sqrt((apart(pos) ** 2).sum(-1))
        inverse = jnp.where(distance > 0, 1.0 / jnp.where(distance > 0, distance, 1.0), 0.0)
        return 0.5 * jnp.sum(mass * vel**2), G * jnp.sum(jnp.triu(-(mass * mass.T) * inverse, 1))

    def step(carry, _):
        pos, vel, acc = carry
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = pull(pos)
        vel = vel + acc * dt / 2.0
        return (pos, vel, acc), energy(pos, vel)

    vel = vel - jnp.mean(mass * vel, axis=0) / jnp.mean(mass)
    first = energy(pos, vel)
    (pos, vel, _), rest = lax.scan(step, (pos, vel, pull(pos)), None, steps)
    return *(jnp.concatenate([f[None], r]) for f, r in zip(first, rest, strict=True)), pos, vel


@by_hand(4, 5, 6)
def mandelbrot1(xmin, xmax, ymin, ymax, xn, yn, most, horizon):
    C = jnp.linspace(xmin, xmax, xn) + jnp.linspace(ymin, ymax, yn)[:, None] * 1j

    def step(n, carry):
        Z, N = carry
        inside = jnp.abs(Z) < horizon
        return jnp.where(inside, Z**2 + C, Z), jnp.where(inside, n, N)

    Z, N = lax.fori_loop(0, most, step, (jnp.zeros(C.shape, C.dtype), jnp.zeros(C.shape, jnp.int64)))
    return Z, jnp.where(most - 1 == N, 0, N)


@by_hand(0, 1)
def mandelbrot_points(width, height, most):
    def point(x, y):
        c = lax.complex(-2.1 + 3.0 * x / width, -1.0 + 2.0 * y / height)

        def step(carry):
            z, n = carry
            return z * z + c, n + 1

        return lax.while_loop(lambda s: (s[1] < most) & (s[0].real ** 2 + s[0].imag ** 2 <= 4.0), step, (c * 0, 0))[1]

    return jax.vmap(lambda y: jax.vmap(lambda x: point(x, y))(jnp.arange(width)))(jnp.arange(height))


@by_hand(2)
def azimuthal_integration(data, radius, npt):
    rmax = radius.max()

    def ring(i):
        inside = (rmax * i / npt <= radius) & (radius < rmax * (i + 1) / npt)
        count = inside.sum()
        return jnp.where(count == 0, 0.0, jnp.where(inside, data, 0.0).sum() / jnp.maximum(count, 1))

    return lax.map(ring, jnp.arange(npt))


@by_hand()
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = jnp.sin((theta_2 - theta_1) / 2) ** 2 + jnp.cos(theta_1) * jnp.cos(theta_2) * jnp.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * jnp.arctan2(jnp.sqrt(temp), jnp.sqrt(1 - temp))


@by_hand()
def compute(array_1, array_2, a, b, c):
    return jnp.clip(array_1, 2, 10) * a + array_2 * b + c


@by_hand(0, 1, 2)
def contour_integral(NR, NM, slabs, ham, points, Y):
    def step(carry, z):
        P0, P1 = carry
        powers = z ** (slabs / 2 - jnp.arange(slabs + 1))
        Tz = jnp.einsum("s,sij->ij", powers, ham)
        X = jnp.linalg.inv(Tz) if NR == NM else jnp.linalg.solve(Tz, Y)
        X = jnp.where(jnp.abs(z) < 1.0, -X, X)
        return (P0 + X, P1 + z * X), None

    zero = jnp.zeros((NR, NM), complex)
    return lax.scan(step, (zero, zero), points)[0]


@by_hand(5)
def american_option(spot, strike, rate, volatility, years, steps):
    dt = years / steps
    up = jnp.exp(volatility * jnp.sqrt(dt))
    p = (jnp.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    discount = jnp.exp(-rate * dt)
    index = jnp.arange(steps + 1)
    values = jnp.maximum(strike - spot * up ** (steps - 2.0 * index), 0.0)

    def back(k, values):
        k = steps - 1 - k
        held = discount * (p * values + (1.0 - p) * jnp.roll(values, -1))
        return jnp.where(index <= k, jnp.maximum(held, strike - spot * up ** (k - 2.0 * index)), values)

    return lax.fori_loop(0, steps, back, values)[0]


@by_hand()
def ising(spins, places, chances, beta):
    n, m = spins.shape

    def step(carry, given):
        spins, flips = carry
        (i, j), chance = given
        around = spins[(i - 1) % n, j] + spins[(i + 1) % n, j] + spins[i, (j - 1) % m] + spins[i, (j + 1) % m]
        cost = 2 * spins[i, j] * around
        flip = (cost <= 0) | (chance < jnp.exp(-beta * cost))
        return (spins.at[i, j].multiply(jnp.where(flip, -1, 1)), flips + flip), None

    (spins, flips), _ = lax.scan(step, (spins, 0), (places, chances))
    return flips, spins
