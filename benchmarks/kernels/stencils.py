"""Time steps on grids, and tridiagonal solvers along their lines."""
import numpy as np

from .core import kernel


@kernel(lambda rng, n: (8, rng.normal(size=n), rng.normal(size=n)), 20, 10000)
def jacobi_1d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@kernel(lambda rng, n: (8, rng.normal(size=(n, n)), rng.normal(size=(n, n))), 10, 300)
def jacobi_2d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


@kernel(lambda rng, n: (6, rng.normal(size=(n, n, n)), rng.normal(size=(n, n, n))), 6, 40)
def heat_3d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )


@kernel(lambda rng, n: (4, n, rng.normal(size=(n, n))), 8, 60)
def seidel_2d(steps, N, A):
    """Gauss-Seidel sweeps, which use the values just stored."""
    for _ in range(steps - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


@kernel(lambda rng, n: (6, *(rng.normal(size=(n, n + 2)) for _ in range(3)), rng.normal(size=6)), 8, 250)
def fdtd_2d(steps, ex, ey, hz, source):
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@kernel(lambda rng, n: (4, n, rng.uniform(0.0, 1.0, size=(n, n))), 8, 100)
def adi(steps, N, u):
    """Alternating directions: a tridiagonal solve along columns, then along rows."""
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    dx, dt = 1.0 / N, 1.0 / steps
    mul1, mul2 = 2.0 * dt / (dx * dx), dt / (dx * dx)
    a, b = -mul1 / 2.0, 1.0 + mul1
    d, e = -mul2 / 2.0, 1.0 + mul2
    for _ in range(1, steps + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -a / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -d * u[j, 0 : N - 2] + (1.0 + 2.0 * d) * u[j, 1 : N - 1] - d * u[j, 2:N] - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -d / (d * p[1 : N - 1, j - 1] + e)
            q[1 : N - 1, j] = (
                -a * v[0 : N - 2, j] + (1.0 + 2.0 * a) * v[1 : N - 1, j] - a * v[2:N, j] - d * q[1 : N - 1, j - 1]
            ) / (d * p[1 : N - 1, j - 1] + e)
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]


def fields(rng, n):
    return rng.normal(size=(n + 4, n + 4, 5)), np.zeros((n, n, 5)), rng.uniform(size=(n, n, 5))


@kernel(fields, 8, 100)
def hdiff(in_field, out_field, coeff):
    """Horizontal diffusion with flux limiters."""
    I, J = out_field.shape[0], out_field.shape[1]
    lap = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :] + in_field[0 : I + 2, 1 : J + 3, :] + in_field[1 : I + 3, 2 : J + 4, :] + in_field[1 : I + 3, 0 : J + 2, :]
    )
    change = lap[1:, 1 : J + 1, :] - lap[:-1, 1 : J + 1, :]
    flx = np.where(change * (in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :]) > 0, 0, change)
    change = lap[1 : I + 1, 1:, :] - lap[1 : I + 1, :-1, :]
    fly = np.where(change * (in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :]) > 0, 0, change)
    out_field[:, :, :] = in_field[2 : I + 2, 2 : J + 2, :] - coeff[:, :, :] * (flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :])


def columns(rng, n):
    shape = (n, n, n // 2 + 4)
    wide = (n + 1, n, n // 2 + 4)
    return (*(rng.uniform(size=shape) for _ in range(2)), rng.uniform(size=wide), *(rng.uniform(size=shape) for _ in range(2)), 3.0 / 20.0)


@kernel(columns, 6, 30)
def vadv(utens, u_stage, wcon, u_pos, utens_stage, dtr_stage):
    """Vertical advection: a tridiagonal system along the last axis, forward and back."""
    bet_m, bet_p = 0.5 * (1.0 - 0.0), 0.5 * (1.0 + 0.0)
    I, J, K = utens_stage.shape[0], utens_stage.shape[1], utens_stage.shape[2]
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)
    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * bet_m
        ccol[:, :, k] = gcv * bet_p
        bcol = dtr_stage - ccol[:, :, k]
        correction = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided
    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * bet_m
        cs = gcv * bet_m
        acol = gav * bet_p
        ccol[:, :, k] = gcv * bet_p
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        as_ = gav * bet_m
        acol = gav * bet_p
        bcol = dtr_stage - acol
        correction = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])
    for k in range(K - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


def right_side(b, rho, dt, u, v, dx, dy):
    """The right-hand side of the Poisson equation of the pressure."""
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def relax_cavity(rounds, p, dx, dy, b):
    for _ in range(rounds):
        old = p.copy()
        p[1:-1, 1:-1] = ((old[1:-1, 2:] + old[1:-1, 0:-2]) * dy**2 + (old[2:, 1:-1] + old[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def cavity(rng, n):
    return n + 1, n, 5, 6, 0.001, 2.0 / n, 2.0 / (n - 1), np.zeros((n, n + 1)), np.zeros((n, n + 1)), np.zeros((n, n + 1)), 1.0, 0.1


@kernel(cavity, 8, 60)
def cavity_flow(nx, ny, steps, rounds, dt, dx, dy, u, v, p, rho, nu):
    """Cavity flow: a lid slides over a box of fluid."""
    b = np.zeros((ny, nx))
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        right_side(b, rho, dt, u, v, dx, dy)
        relax_cavity(rounds, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2]) + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1]))
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
            + nu * (dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, 0:-2]) + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[0:-2, 1:-1]))
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


def channel(rng, n):
    return 8, 2.0 / n**2, 2.0 / n, 2.0 / (n - 1), *(0.01 * rng.normal(size=(n, n + 1)) for _ in range(3)), 1.0, 0.1, 1.0


def right_side_around(rho, dt, dx, dy, u, v):
    """The right-hand side of the Poisson equation for a channel that is periodic in x."""
    b = np.zeros_like(u)
    east, west = np.roll(u, -1, axis=1), np.roll(u, 1, axis=1)
    ve, vw = np.roll(v, -1, axis=1), np.roll(v, 1, axis=1)
    inner = slice(1, -1)
    b[inner, :] = rho * (
        1 / dt * ((east[inner] - west[inner]) / (2 * dx) + (v[2:] - v[:-2]) / (2 * dy))
        - ((east[inner] - west[inner]) / (2 * dx)) ** 2
        - 2 * ((u[2:] - u[:-2]) / (2 * dy) * (ve[inner] - vw[inner]) / (2 * dx))
        - ((v[2:] - v[:-2]) / (2 * dy)) ** 2
    )
    return b


def relax_channel(rounds, p, dx, dy, b):
    for _ in range(rounds):
        old = p.copy()
        p[1:-1, 1:-1] = ((old[1:-1, 2:] + old[1:-1, :-2]) * dy**2 + (old[2:, 1:-1] + old[:-2, 1:-1]) * dx**2) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (
            2 * (dx**2 + dy**2)
        ) * b[1:-1, 1:-1]
        p[1:-1, -1] = ((old[1:-1, 0] + old[1:-1, -2]) * dy**2 + (old[2:, -1] + old[:-2, -1]) * dx**2) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (
            2 * (dx**2 + dy**2)
        ) * b[1:-1, -1]
        p[1:-1, 0] = ((old[1:-1, 1] + old[1:-1, -1]) * dy**2 + (old[2:, 0] + old[:-2, 0]) * dx**2) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (
            2 * (dx**2 + dy**2)
        ) * b[1:-1, 0]
        p[-1, :] = p[-2, :]
        p[0, :] = p[1, :]


@kernel(channel, 8, 60)
def channel_flow(rounds, dt, dx, dy, u, v, p, rho, nu, force):
    """Channel flow until it is steady: the number of steps is not known."""
    change = 1.0
    steps = 0
    while change > 0.02:
        un, vn = u.copy(), v.copy()
        b = right_side_around(rho, dt, dx, dy, u, v)
        relax_channel(rounds, p, dx, dy, b)
        for at, left, right in ((slice(1, -1), slice(0, -2), slice(2, None)), (-1, -2, 0), (0, -1, 1)):
            u[1:-1, at] = (
                un[1:-1, at]
                - un[1:-1, at] * dt / dx * (un[1:-1, at] - un[1:-1, left])
                - vn[1:-1, at] * dt / dy * (un[1:-1, at] - un[:-2, at])
                - dt / (2 * rho * dx) * (p[1:-1, right] - p[1:-1, left])
                + nu * (dt / dx**2 * (un[1:-1, right] - 2 * un[1:-1, at] + un[1:-1, left]) + dt / dy**2 * (un[2:, at] - 2 * un[1:-1, at] + un[:-2, at]))
                + force * dt
            )
            v[1:-1, at] = (
                vn[1:-1, at]
                - un[1:-1, at] * dt / dx * (vn[1:-1, at] - vn[1:-1, left])
                - vn[1:-1, at] * dt / dy * (vn[1:-1, at] - vn[:-2, at])
                - dt / (2 * rho * dy) * (p[2:, at] - p[:-2, at])
                + nu * (dt / dx**2 * (vn[1:-1, right] - 2 * vn[1:-1, at] + vn[1:-1, left]) + dt / dy**2 * (vn[2:, at] - 2 * vn[1:-1, at] + vn[:-2, at]))
            )
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return steps


def life(rng, n):
    return (rng.random((n, n)) < 0.4).astype(np.uint8), 6


@kernel(life, 10, 200)
def game_of_life(board, steps):
    for _ in range(steps):
        around = np.zeros(board.shape, dtype=np.uint8)
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    around += np.roll(np.roll(board, dx, axis=0), dy, axis=1)
        board[:] = (around == 3) | ((board == 1) & (around == 2))


@kernel(lambda rng, n: (rng.uniform(0.2, 1.0, (n, n)), rng.uniform(0.0, 0.3, (n, n)), 0.16, 0.08, 0.035, 0.065, 6), 10, 200)
def gray_scott(u, v, du, dv, feed, kill, steps):
    """Two reacting chemicals on a torus."""
    for _ in range(steps):
        lu = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        lv = np.roll(v, 1, 0) + np.roll(v, -1, 0) + np.roll(v, 1, 1) + np.roll(v, -1, 1) - 4 * v
        uvv = u * v * v
        u += du * lu - uvv + feed * (1 - u)
        v += dv * lv + uvv - (feed + kill) * v
