"""Loops over scalars, as one writes them where array operations are no obvious choice."""
import math

import numpy as np

from .core import kernel


@kernel(lambda rng, n: (n,), 20, 3000)
def collatz(limit):
    """The start below the limit with the longest Collatz chain."""
    best, longest = 1, 1
    for start in range(1, limit):
        n, length = start, 1
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            length += 1
        if length > longest:
            best, longest = start, length
    return best, longest


@kernel(lambda rng, n: (n,), 12, 200)
def gcd_sum(n):
    total = 0
    for i in range(1, n):
        for j in range(1, n):
            a, b = i, j
            while b:
                a, b = b, a % b
            total += a
    return total


@kernel(lambda rng, n: (n,), 20, 10000)
def newton_roots(n):
    """The sum of square roots, each by Newton's iteration."""
    total = 0.0
    for k in range(1, n):
        a = float(k)
        x = a
        while abs(x * x - a) > 1e-9 * a:
            x = 0.5 * (x + a / x)
        total += x
    return total


@kernel(lambda rng, n: (1.0, 1.0, 1.0, n / 10.0, 1e-6), 5, 100)
def lorenz_rk45(x, y, z, until, tolerance):
    """The Lorenz system, solved by the Runge-Kutta-Fehlberg method with step size control."""
    t, h = 0.0, 0.01
    accepted = rejected = 0

    def slope(x, y, z):
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z

    while t < until:
        h = min(h, until - t)
        a1, b1, c1 = slope(x, y, z)
        a2, b2, c2 = slope(x + h * a1 / 4, y + h * b1 / 4, z + h * c1 / 4)
        a3, b3, c3 = slope(x + h * (3 * a1 + 9 * a2) / 32, y + h * (3 * b1 + 9 * b2) / 32, z + h * (3 * c1 + 9 * c2) / 32)
        a4, b4, c4 = slope(
            x + h * (1932 * a1 - 7200 * a2 + 7296 * a3) / 2197,
            y + h * (1932 * b1 - 7200 * b2 + 7296 * b3) / 2197,
            z + h * (1932 * c1 - 7200 * c2 + 7296 * c3) / 2197,
        )
        a5, b5, c5 = slope(
            x + h * (439 / 216 * a1 - 8 * a2 + 3680 / 513 * a3 - 845 / 4104 * a4),
            y + h * (439 / 216 * b1 - 8 * b2 + 3680 / 513 * b3 - 845 / 4104 * b4),
            z + h * (439 / 216 * c1 - 8 * c2 + 3680 / 513 * c3 - 845 / 4104 * c4),
        )
        a6, b6, c6 = slope(
            x + h * (-8 / 27 * a1 + 2 * a2 - 3544 / 2565 * a3 + 1859 / 4104 * a4 - 11 / 40 * a5),
            y + h * (-8 / 27 * b1 + 2 * b2 - 3544 / 2565 * b3 + 1859 / 4104 * b4 - 11 / 40 * b5),
            z + h * (-8 / 27 * c1 + 2 * c2 - 3544 / 2565 * c3 + 1859 / 4104 * c4 - 11 / 40 * c5),
        )
        ea = a1 / 360 - 128 / 4275 * a3 - 2197 / 75240 * a4 + a5 / 50 + 2 / 55 * a6
        eb = b1 / 360 - 128 / 4275 * b3 - 2197 / 75240 * b4 + b5 / 50 + 2 / 55 * b6
        ec = c1 / 360 - 128 / 4275 * c3 - 2197 / 75240 * c4 + c5 / 50 + 2 / 55 * c6
        error = h * max(abs(ea), abs(eb), abs(ec))
        if error <= tolerance:
            t += h
            x += h * (25 / 216 * a1 + 1408 / 2565 * a3 + 2197 / 4104 * a4 - a5 / 5)
            y += h * (25 / 216 * b1 + 1408 / 2565 * b3 + 2197 / 4104 * b4 - b5 / 5)
            z += h * (25 / 216 * c1 + 1408 / 2565 * c3 + 2197 / 4104 * c4 - c5 / 5)
            accepted += 1
        else:
            rejected += 1
        h *= min(4.0, max(0.1, 0.9 * (tolerance / error) ** 0.25)) if error > 0.0 else 4.0
    return x, y, z, accepted, rejected


@kernel(lambda rng, n: (n,), 50, 20000)
def sieve_elements(n):
    prime = np.ones(n, dtype=np.bool_)
    count = 0
    for k in range(2, n):
        if prime[k]:
            count += 1
            for multiple in range(k * k, n, k):
                prime[multiple] = False
    return count


@kernel(lambda rng, n: (0.0, 2.0, n), 20, 50000)
def simpson(a, b, n):
    h = (b - a) / (2 * n)
    total = math.exp(-a * a) + math.exp(-b * b)
    for k in range(1, 2 * n):
        x = a + k * h
        total += (4.0 if k % 2 else 2.0) * math.exp(-x * x) * math.sin(x)
    return total * h / 3.0


@kernel(lambda rng, n: (12345, n), 30, 20000)
def estimate_pi(seed, n):
    """A Monte Carlo estimate of pi from a quarter disc, with a linear congruential generator."""
    state, inside = seed, 0
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        x = state / 2147483648
        state = (1103515245 * state + 12345) % 2147483648
        y = state / 2147483648
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / n


@kernel(lambda rng, n: (rng.integers(1, 40, n + 1),), 7, 40)
def matrix_chain(dims):
    """The minimum number of multiplications for a product of matrices."""
    n = len(dims) - 1
    cost = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = 2**62
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if c < cost[i, j]:
                    cost[i, j] = c
    return cost[0, n - 1]


@kernel(lambda rng, n: (np.sort(rng.normal(size=n)), rng.normal(size=n)), 16, 3000)
def binary_searches(sorted_values, wanted):
    found = np.empty(len(wanted), dtype=np.int64)
    for k, value in enumerate(wanted):
        low, high = 0, len(sorted_values)
        while low < high:
            middle = (low + high) // 2
            if sorted_values[middle] < value:
                low = middle + 1
            else:
                high = middle
        found[k] = low
    return found


@kernel(lambda rng, n: (rng.normal(size=n),), 12, 2000)
def quicksort(x):
    """Quicksort with an explicit stack instead of recursion."""
    stack = np.zeros((64, 2), dtype=np.int64)
    stack[0] = 0, len(x) - 1
    top = 1
    while top > 0:
        top -= 1
        low, high = stack[top]
        while low < high:
            pivot = x[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while x[i] < pivot:
                    i += 1
                while x[j] > pivot:
                    j -= 1
                if i <= j:
                    x[i], x[j] = x[j], x[i]
                    i += 1
                    j -= 1
            if j - low < high - i:
                if i < high:
                    stack[top] = i, high
                    top += 1
                high = j
            else:
                if low < j:
                    stack[top] = low, j
                    top += 1
                low = i


def nested_program():
    """A program of five nested loops, each with nine iterations, and its jump table."""
    program = "+++++++++[>" * 5 + "+++" + "<-]" * 5
    opened, jumps = [], [0] * len(program)
    for k, op in enumerate(program):
        if op == "[":
            opened.append(k)
        elif op == "]":
            jumps[k] = opened.pop()
            jumps[jumps[k]] = k
    return np.array([ord(op) for op in program]), np.array(jumps)


@kernel(lambda rng, n: (*nested_program(), np.zeros(40, dtype=np.int64), 100 * n), 5, 1000)
def brainfuck(program, jumps, tape, fuel):
    """A Brainfuck interpreter whose program is an array, so no part of it is known."""
    at = pc = 0
    while pc < len(program) and fuel > 0:
        op = program[pc]
        if op == 62:
            at += 1
        elif op == 60:
            at -= 1
        elif op == 43:
            tape[at] += 1
        elif op == 45:
            tape[at] -= 1
        elif op == 91:
            if tape[at] == 0:
                pc = jumps[pc]
        elif op == 93:
            if tape[at] != 0:
                pc = jumps[pc]
        pc += 1
        fuel -= 1
    return at, pc, fuel
