"""Numerical methods in plain Python and NumPy: an ODE solver with step size control, conjugate gradients, the edit distance of two words.

    python examples/solvers.py
"""
import numpy as np

#: The coefficients of Dormand and Prince: the stages, the fifth-order solution, and its difference from the fourth-order solution.
STAGES = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
]
SOLUTION = [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]
ERROR = [71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]


def orbit(t, y):
    """The derivative in the two-body problem: the acceleration points to the center."""
    x, v = y[:2], y[2:]
    return np.concatenate([v, -x / np.sum(x * x) ** 1.5])


def solve(f, y, start, end, tolerance, most=10000):
    """Integrate an ODE: y at the end, and the numbers of accepted and rejected steps."""
    t, h = start, 0.1 * (end - start)
    taken = refused = 0
    first = f(t, y)
    while t < end:
        if taken + refused >= most:
            raise RuntimeError(f"no end after {most} steps")
        h = min(h, end - t)
        slopes = [first]
        for row in STAGES[1:]:
            slopes.append(f(t + h * sum(row), y + h * sum(a * k for a, k in zip(row, slopes))))
        fresh = y + h * sum(b * k for b, k in zip(SOLUTION, slopes))
        slopes.append(f(t + h, fresh))
        error = h * sum(e * k for e, k in zip(ERROR, slopes))
        size = np.sqrt(np.mean((error / (tolerance + tolerance * np.maximum(np.abs(y), np.abs(fresh)))) ** 2))
        if size <= 1.0:
            t, y, first = t + h, fresh, slopes[-1]
            taken += 1
        else:
            refused += 1
        h *= min(5.0, max(0.2, 0.9 * size**-0.2)) if size > 0.0 else 5.0
    return y, taken, refused


def laplace(n):
    """Return the one-dimensional Laplace matrix, as of a chain of springs."""
    return 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)


def conjugate_gradient(A, b, tolerance=1e-10, most=1000):
    """Solve A x = b for a positive definite A: the solution, the norm of the residual, and the number of iterations."""
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for rounds in range(most):
        if np.sqrt(rs) < tolerance:
            return x, np.sqrt(rs), rounds
        q = A @ p
        step = rs / (p @ q)
        x += step * p
        r -= step * q
        fresh = r @ r
        p = r + fresh / rs * p
        rs = fresh
    return x, np.sqrt(rs), most


def letters(word):
    return np.frombuffer(word.encode("utf-32-le"), dtype=np.uint32).astype(np.int64)


def edit_distance(a, b):
    """Return the Levenshtein distance: the number of letters to insert, delete or replace."""
    above = np.arange(len(b) + 1)
    row = np.zeros_like(above)
    for i in range(len(a)):
        row[0] = i + 1
        for j in range(len(b)):
            replaced = above[j] + (a[i] != b[j])
            row[j + 1] = min(above[j + 1] + 1, row[j] + 1, replaced)
        above[:] = row
    return above[-1]


def calls():
    return [
        (solve, (orbit, np.array([1.0, 0.0, 0.0, 1.2]), 0.0, 10.0, 1e-6)),
        (conjugate_gradient, (laplace(20), np.linspace(0.0, 1.0, 20))),
        (edit_distance, (letters("partial evaluation"), letters("spatial elevation"))),
    ]


def main():
    import hovis_xla

    for fn, args in calls():
        compiled = hovis_xla.jit(fn)
        expected, got = fn(*args), compiled(*args)
        print(f"{fn.__name__}: {got}")
        print("   ", compiled.explain().splitlines()[0])
        pairs = zip(expected, got) if isinstance(expected, tuple) else [(expected, got)]
        assert all(np.allclose(x, y, rtol=1e-6, atol=1e-9) for x, y in pairs)


if __name__ == "__main__":
    main()
