"""Particles, fractals, detectors, contours, Green's functions."""
import numpy as np

from .core import kernel


def bodies(rng, n):
    mass = 20.0 * np.ones((n, 1)) / n
    pos, vel = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    return mass, pos, vel, n, 5, 0.01, 0.1, 1.0


def acceleration(pos, mass, G, softening):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = dx**2 + dy**2 + dz**2 + softening**2
    inverse[inverse > 0] = inverse[inverse > 0] ** (-1.5)
    ax = G * (dx * inverse) @ mass
    ay = G * (dy * inverse) @ mass
    az = G * (dz * inverse) @ mass
    return np.hstack((ax, ay, az))


def energies(pos, vel, mass, G):
    kinetic = 0.5 * np.sum(mass * vel**2)
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    inverse = np.sqrt((x.T - x) ** 2 + (y.T - y) ** 2 + (z.T - z) ** 2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    potential = G * np.sum(np.sum(np.triu(-(mass * mass.T) * inverse, 1)))
    return kinetic, potential


@kernel(bodies, 8, 60)
def nbody(mass, pos, vel, N, steps, dt, softening, G):
    """N bodies by leapfrog integration; returns the energies at each step."""
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos, mass, G, softening)
    kinetic = np.ndarray(steps + 1, dtype=np.float64)
    potential = np.ndarray(steps + 1, dtype=np.float64)
    kinetic[0], potential[0] = energies(pos, vel, mass, G)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass, G, softening)
        vel += acc * dt / 2.0
        kinetic[i + 1], potential[i + 1] = energies(pos, vel, mass, G)
    return kinetic, potential


@kernel(lambda rng, n: (-1.75, 0.25, -1.0, 1.0, n, n + 2, 30, 2.0), 10, 120)
def mandelbrot1(xmin, xmax, ymin, ymax, xn, yn, most, horizon):
    """The Mandelbrot set, all points in each iteration; escaped points are masked."""
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(most):
        inside = np.less(abs(Z), horizon)
        N[inside] = n
        Z[inside] = Z[inside] ** 2 + C[inside]
    N[most - 1 == N] = 0
    return Z, N


@kernel(lambda rng, n: (-1.75, 0.25, -1.0, 1.0, n, n + 2, 30, 2.0), 10, 120)
def mandelbrot2(xmin, xmax, ymin, ymax, xn, yn, most, horizon):
    """The Mandelbrot set; escaped points are removed, so the arrays shrink."""
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)[Xi]
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)[Yi]
    C = X + Y * 1j
    N_ = np.zeros(C.shape, dtype=np.int64)
    Z_ = np.zeros(C.shape, dtype=np.complex128)
    Xi.shape = Yi.shape = C.shape = xn * yn
    Z = np.zeros(C.shape, np.complex128)
    for i in range(most):
        if not len(Z):
            break
        np.multiply(Z, Z, Z)
        np.add(Z, C, Z)
        escaped = abs(Z) > horizon
        N_[Xi[escaped], Yi[escaped]] = i + 1
        Z_[Xi[escaped], Yi[escaped]] = Z[escaped]
        np.logical_not(escaped, escaped)
        Z = Z[escaped]
        Xi, Yi = Xi[escaped], Yi[escaped]
        C = C[escaped]
    return Z_.T, N_.T


@kernel(lambda rng, n: (n, n + 2, 40), 8, 100)
def mandelbrot_points(width, height, most):
    """The Mandelbrot set, one point at a time."""
    counts = np.zeros((height, width), dtype=np.int64)
    for row in range(height):
        for column in range(width):
            c = complex(-2.1 + 3.0 * column / width, -1.0 + 2.0 * row / height)
            z = 0j
            n = 0
            while n < most and z.real * z.real + z.imag * z.imag <= 4.0:
                z = z * z + c
                n += 1
            counts[row, column] = n
    return counts


@kernel(lambda rng, n: (rng.uniform(size=n), rng.uniform(size=n), 10), 60, 20000)
def azimuthal_integration(data, radius, npt):
    """The mean of the data in each ring."""
    rmax = radius.max()
    res = np.zeros(npt, dtype=np.float64)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        ring = np.logical_and(r1 <= radius, radius < r2)
        values = data[ring]
        on_values = 0 if values.size == 0 else values.mean()
        res[i] = on_values
    return res


@kernel(lambda rng, n: tuple(rng.uniform(-1.5, 1.5, size=n) for _ in range(4)), 20, 20000)
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    """Arc distance of pairs of points on the sphere."""
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))


@kernel(lambda rng, n: (rng.integers(0, 1000, (n, n)), rng.integers(0, 1000, (n, n)), np.int64(4), np.int64(3), np.int64(9)), 10, 300)
def compute(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def contour(rng, n):
    ham = tuple(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)) for _ in range(4))
    points = rng.normal(size=6) + 1j * rng.normal(size=6)
    return n, n // 2 + 1, 2, np.stack(ham[:3]), points, rng.normal(size=(n, n // 2 + 1)) + 1j * rng.normal(size=(n, n // 2 + 1))


@kernel(contour, 6, 40)
def contour_integral(NR, NM, slabs, ham, points, Y):
    """Moments of a resolvent along a closed contour."""
    P0 = np.zeros((NR, NM), dtype=np.complex128)
    P1 = np.zeros((NR, NM), dtype=np.complex128)
    for z in points:
        Tz = np.zeros((NR, NR), dtype=np.complex128)
        for n in range(slabs + 1):
            zz = np.power(z, slabs / 2 - n)
            Tz += zz * ham[n]
        X = np.linalg.inv(Tz) if NR == NM else np.linalg.solve(Tz, Y)
        if abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


def greens(rng, n):
    Nkz, NE, Nqz, Nw, N3D, NA, NB = 2, n, 2, 2, 2, 3, 2
    neigh = rng.integers(0, NA, (NA, NB)).astype(np.int32)
    dH = rng.normal(size=(NA, NB, N3D, 2, 2)) + 1j * rng.normal(size=(NA, NB, N3D, 2, 2))
    G = rng.normal(size=(Nkz, NE, NA, 2, 2)) + 1j * rng.normal(size=(Nkz, NE, NA, 2, 2))
    D = rng.normal(size=(Nqz, Nw, NA, NB, N3D, N3D)) + 1j * rng.normal(size=(Nqz, Nw, NA, NB, N3D, N3D))
    return neigh, dH, G, D, np.zeros_like(G)


@kernel(greens, 3, 6)
def scattering_self_energies(neigh, dH, G, D, Sigma):
    for k in range(G.shape[0]):
        for E in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    for i in range(D.shape[-2]):
                        for j in range(D.shape[-1]):
                            for a in range(neigh.shape[0]):
                                for b in range(neigh.shape[1]):
                                    if E - w >= 0:
                                        dHG = G[k, E - w, neigh[a, b]] @ dH[a, b, i]
                                        dHD = dH[a, b, j] * D[q, w, a, b, i, j]
                                        Sigma[k, E, a] += dHG @ dHD


@kernel(lambda rng, n: (rng.uniform(size=(n, 3)), n, 1.0), 8, 60)
def lennard_jones(pos, n, side):
    """Lennard-Jones forces and energy, pair by pair in a periodic box."""
    force = np.zeros_like(pos)
    energy = 0.0
    for i in range(n - 1):
        for j in range(i + 1, n):
            d = pos[i] - pos[j]
            d -= side * np.round(d / side)
            r2 = np.sum(d * d) + 0.05
            inverse = 1.0 / (r2 * r2 * r2)
            energy += 4.0 * inverse * (inverse - 1.0)
            push = 24.0 * inverse * (2.0 * inverse - 1.0) / r2
            force[i] += push * d
            force[j] -= push * d
    return energy, force


@kernel(lambda rng, n: (np.where(rng.random((n, n)) < 0.5, -1, 1), rng.integers(0, n, (4 * n, 2)), rng.random(4 * n), 0.6), 8, 60)
def ising(spins, places, chances, beta):
    """Metropolis steps of the Ising model; the random numbers are arguments."""
    n, m = spins.shape
    flips = 0
    for k in range(len(chances)):
        i, j = places[k]
        around = spins[(i - 1) % n, j] + spins[(i + 1) % n, j] + spins[i, (j - 1) % m] + spins[i, (j + 1) % m]
        cost = 2 * spins[i, j] * around
        if cost <= 0 or chances[k] < np.exp(-beta * cost):
            spins[i, j] = -spins[i, j]
            flips += 1
    return flips


@kernel(lambda rng, n: (100.0, 105.0, 0.03, 0.2, 1.0, n), 20, 400)
def american_option(spot, strike, rate, volatility, years, steps):
    """An American option by a binomial tree, from its leaves to its root."""
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1.0 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    discount = np.exp(-rate * dt)
    prices = spot * up ** np.arange(steps, -steps - 1, -2.0)
    values = np.maximum(strike - prices, 0.0)
    for k in range(steps - 1, -1, -1):
        values[: k + 1] = discount * (p * values[: k + 1] + (1.0 - p) * values[1 : k + 2])
        prices[: k + 1] = spot * up ** (k - 2.0 * np.arange(k + 1))
        values[: k + 1] = np.maximum(values[: k + 1], strike - prices[: k + 1])
    return values[0]
