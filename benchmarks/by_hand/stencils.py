"""The kernels of kernels/stencils.py, written by hand in jax."""
import jax.numpy as jnp
from jax import lax

from .core import by_hand


@by_hand(0)
def jacobi_1d(steps, A, B):
    def smooth(A, B):
        return B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))

    def step(_, carry):
        A, B = carry
        B = smooth(A, B)
        return smooth(B, A), B

    return lax.fori_loop(1, steps, step, (A, B))


@by_hand(0)
def jacobi_2d(steps, A, B):
    def smooth(A, B):
        return B.at[1:-1, 1:-1].set(0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]))

    def step(_, carry):
        A, B = carry
        B = smooth(A, B)
        return smooth(B, A), B

    return lax.fori_loop(1, steps, step, (A, B))


@by_hand(0)
def heat_3d(steps, A, B):
    def spread(A, B):
        middle = A[1:-1, 1:-1, 1:-1]
        return B.at[1:-1, 1:-1, 1:-1].set(
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * middle + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * middle + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * middle + A[1:-1, 1:-1, :-2])
            + middle
        )

    def step(_, carry):
        A, B = carry
        B = spread(A, B)
        return spread(B, A), B

    return lax.fori_loop(1, steps, step, (A, B))


@by_hand(0, 1)
def seidel_2d(steps, N, A):
    def row(i, A):
        above, here, below = A[i - 1], A[i], A[i + 1]
        known = here[1:-1] + above[:-2] + above[1:-1] + above[2:] + here[2:] + below[:-2] + below[1:-1] + below[2:]

        def along(left, value):
            new = (value + left) / 9.0
            return new, new

        return A.at[i, 1:-1].set(lax.scan(along, here[0], known)[1])

    return lax.fori_loop(0, steps - 1, lambda _, A: lax.fori_loop(1, N - 1, row, A), A)


@by_hand(0)
def fdtd_2d(steps, ex, ey, hz, source):
    def step(t, carry):
        ex, ey, hz = carry
        ey = ey.at[0, :].set(source[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return lax.fori_loop(0, steps, step, (ex, ey, hz))


@by_hand(0, 1)
def adi(steps, N, u):
    dx, dt = 1.0 / N, 1.0 / steps
    mul1, mul2 = 2.0 * dt / (dx * dx), dt / (dx * dx)
    a, b, d, e = -mul1 / 2.0, 1.0 + mul1, -mul2 / 2.0, 1.0 + mul2

    def sweep(u, a, b, d):
        """Solve the tridiagonal system along the first axis of u for each inner column, with boundary value 1."""
        right = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]

        def forward(carry, given):
            p, q = carry
            below = a * p + b
            return ((-a / below, (given - a * q) / below),) * 2

        def back(value, pq):
            value = pq[0] * value + pq[1]
            return value, value

        ones = jnp.ones(N - 2)
        _, pq = lax.scan(forward, (jnp.zeros(N - 2), ones), right)
        return lax.scan(back, ones, pq, reverse=True)[1]

    def step(_, u):
        v = jnp.ones((N, N)).at[1:-1, 1:-1].set(sweep(u, a, b, d))
        new = sweep(v.T, d, e, a)
        return u.at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0).at[1:-1, 1:-1].set(new.T)

    return lax.fori_loop(0, steps, step, u)


@by_hand()
def hdiff(in_field, out_field, coeff):
    lap = 4.0 * in_field[1:-1, 1:-1] - (in_field[2:, 1:-1] + in_field[:-2, 1:-1] + in_field[1:-1, 2:] + in_field[1:-1, :-2])
    change = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flx = jnp.where(change * (in_field[2:-1, 2:-2] - in_field[1:-2, 2:-2]) > 0, 0.0, change)
    change = lap[1:-1, 1:] - lap[1:-1, :-1]
    fly = jnp.where(change * (in_field[2:-2, 2:-1] - in_field[2:-2, 1:-2]) > 0, 0.0, change)
    return in_field[2:-2, 2:-2] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])


def fluid(u, v, p, dt, dx, dy, rho, nu):
    """Return the inner cells of both velocities after a time step."""
    def moved(w):
        return (
            w[1:-1, 1:-1]
            - u[1:-1, 1:-1] * dt / dx * (w[1:-1, 1:-1] - w[1:-1, :-2])
            - v[1:-1, 1:-1] * dt / dy * (w[1:-1, 1:-1] - w[:-2, 1:-1])
            + nu * (dt / dx**2 * (w[1:-1, 2:] - 2 * w[1:-1, 1:-1] + w[1:-1, :-2]) + dt / dy**2 * (w[2:, 1:-1] - 2 * w[1:-1, 1:-1] + w[:-2, 1:-1]))
        )

    return moved(u) - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2]), moved(v) - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])


def pressure_source(u, v, dt, dx, dy, rho):
    ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    uy, vx = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy), (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    return rho * (1 / dt * (ux + vy) - ux**2 - 2 * uy * vx - vy**2)


def relaxed(p, b, dx, dy):
    return ((p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2 - dx**2 * dy**2 * b) / (2 * (dx**2 + dy**2))


@by_hand(0, 1, 2, 3)
def cavity_flow(nx, ny, steps, rounds, dt, dx, dy, u, v, p, rho, nu):
    def step(_, carry):
        u, v, p = carry
        b = pressure_source(u, v, dt, dx, dy, rho)

        def relax(_, p):
            p = p.at[1:-1, 1:-1].set(relaxed(p, b, dx, dy))
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0.0)

        p = lax.fori_loop(0, rounds, relax, p)
        nu_, nv = fluid(u, v, p, dt, dx, dy, rho, nu)
        u = jnp.zeros_like(u).at[1:-1, 1:-1].set(nu_).at[-1, :].set(1.0)
        return u, jnp.zeros_like(v).at[1:-1, 1:-1].set(nv), p

    return lax.fori_loop(0, steps, step, (u, v, p))


@by_hand(0)
def channel_flow(rounds, dt, dx, dy, u, v, p, rho, nu, force):
    def around(w):
        return jnp.concatenate([w[:, -1:], w, w[:, :1]], axis=1)

    def step(carry):
        u, v, p, _, count = carry
        wu, wv = around(u), around(v)
        b = pressure_source(wu, wv, dt, dx, dy, rho)

        def relax(_, p):
            p = p.at[1:-1, :].set(relaxed(around(p), b, dx, dy))
            p = p.at[-1, :].set(p[-2, :])
            return p.at[0, :].set(p[1, :])

        p = lax.fori_loop(0, rounds, relax, p)
        fresh_u, fresh_v = fluid(wu, wv, around(p), dt, dx, dy, rho, nu)
        new = jnp.zeros_like(u).at[1:-1, :].set(fresh_u + force * dt)
        return new, jnp.zeros_like(v).at[1:-1, :].set(fresh_v), p, (new.sum() - u.sum()) / new.sum(), count + 1

    u, v, p, _, count = lax.while_loop(lambda c: c[3] > 0.02, step, (u, v, p, 1.0, 0))
    return count, u, v, p


@by_hand(6)
def gray_scott(u, v, du, dv, feed, kill, steps):
    def around(w):
        return jnp.roll(w, 1, 0) + jnp.roll(w, -1, 0) + jnp.roll(w, 1, 1) + jnp.roll(w, -1, 1) - 4 * w

    def step(_, carry):
        u, v = carry
        uvv = u * v * v
        return u + du * around(u) - uvv + feed * (1 - u), v + dv * around(v) + uvv - (feed + kill) * v

    return lax.fori_loop(0, steps, step, (u, v))


@by_hand(1)
def game_of_life(board, steps):
    def step(_, board):
        around = sum(jnp.roll(board, (dx, dy), (0, 1)) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
        return ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)

    return lax.fori_loop(0, steps, step, board)
