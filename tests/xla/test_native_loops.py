"""Loops over numbers and cells of arrays: each is native code, none copies an array, all give what Python gives."""
import numpy as np
import pytest

import hovis_xla
from hovis_xla.hlotext import loops_of
from tests.xla.checking import agree


def loops(fn, *args):
    """The loops of fn, compiled for these arguments; it has to give what Python gives."""
    jitted = hovis_xla.jit(fn, strict=True)
    agree(fn, jitted, *args)
    return jitted.lower(*args).compile().loops


def floyd(w):
    d = w.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                v = d[i, k] + d[k, j]
                if v < d[i, j]:
                    d[i, j] = v
    return d


def matmul(a, b):
    n, k = a.shape
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for p in range(k):
                s += a[i, p] * b[p, j]
            c[i, j] = s
    return c


def mandelbrot(w, h, most):
    out = np.zeros((h, w), dtype=np.int64)
    for y in range(h):
        cy = -1.25 + 2.5 * y / h
        for x in range(w):
            cx = -2.0 + 3.0 * x / w
            zr = zi = 0.0
            n = 0
            while n < most and zr * zr + zi * zi <= 4.0:
                zr, zi = zr * zr - zi * zi + cx, 2.0 * zr * zi + cy
                n += 1
            out[y, x] = n
    return out


def sieve(n):
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[0] = prime[1] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
        i += 1
    count = 0
    for i in range(n + 1):
        if prime[i]:
            count += 1
    return count


def crc(data):
    c = 0xFFFFFFFF
    for i in range(len(data)):
        c ^= int(data[i])
        for _ in range(8):
            if c & 1:
                c = (c >> 1) ^ 0xEDB88320
            else:
                c = c >> 1
    return c ^ 0xFFFFFFFF


def bubble_sort(a):
    a = a.copy()
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def runs(a):
    """Two ways back that are no nest."""
    best = run = count = 0
    i = 0
    while i < len(a):
        if a[i] > 5:
            run += 1
        else:
            if run > best:
                best = run
                count += 1
            run = 0
        i += 1
    return best, run, count


RNG = np.random.default_rng(1)


@pytest.mark.parametrize(("fn", "args", "count"), [
    (floyd, (RNG.random((20, 20)),), 3),
    (matmul, (RNG.random((35, 37)), RNG.random((37, 36))), 3),
    (matmul, (RNG.random((9, 5)), RNG.random((5, 4))), None),
    (mandelbrot, (30, 25, 40), 3),
    (crc, (RNG.integers(0, 256, 300).astype(np.uint8),), 2),
    (bubble_sort, (RNG.random(300),), 2),
    (runs, (RNG.integers(0, 10, 300),), None),
])  # fmt: skip
def test_loops_of_a_nest_are_native_loops_of_their_own(fn, args, count):
    found = loops(fn, *args)
    assert (found.walked, found.copies) == (0, 0)
    # a loop that counts has one in front that does several rounds at a time
    assert count is None or count <= found.native <= 2 * count


def test_a_range_with_a_step_that_is_not_known():
    assert loops(sieve, 500).walked == 0
    jitted = hovis_xla.jit(sieve)
    jitted(500)
    assert "loops are native code" in jitted.explain()


def steps(a, b, step):
    total = 0
    for i in range(a, b, step):
        total = total * 3 % 1009 + i
    return total


def test_ranges_of_unknown_and_of_numpy_bounds():
    jitted = hovis_xla.jit(steps, strict=True)
    for args in [(0, 10, 3), (10, 0, -2), (0, 0, 1), (5, -9, -4), (0, -9, 4), (1, 2, 0)]:
        agree(steps, jitted, *args)

    def between(a):
        total = 0
        for i in range(a[0], a[1], a[2]):
            total += i
        return total

    agree(between, hovis_xla.jit(between, strict=True), np.array([2, 20, 3]))


def newton(n):
    total = 0.0
    for k in range(1, n):
        x = 1.0
        while True:
            y = 0.5 * (x + k / x)
            if abs(y - x) < 1e-12 * y:
                break
            x = y
        total += y
    return total


def gcd_sum(n):
    total = 0
    for i in range(1, n):
        for j in range(1, n):
            a, b = i, j
            while b:
                a, b = b, a % b
            total += a
    return total


def collatz(n):
    best = arg = 0
    for k in range(1, n):
        x, steps = k, 0
        while x != 1:
            if x % 2 == 0:
                x = x // 2
            else:
                x = 3 * x + 1
            steps += 1
        if steps > best:
            best, arg = steps, k
    return best, arg


def edit_distance(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for k in range(len(weights)):
        w = weights[k]
        v = values[k]
        for c in range(capacity, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[capacity]


def heap_sort(a):
    a = a.copy()
    for end in range(len(a) - 1, 0, -1):
        for start in range(end // 2, -1, -1):
            child = 2 * start + 1
            if child < end and a[child] < a[child + 1]:
                child += 1
            if child <= end and a[start] < a[child]:
                a[start], a[child] = a[child], a[start]
        a[0], a[end] = a[end], a[0]
    return a


def histogram(a, bins):
    h = np.zeros(bins, dtype=np.int64)
    for i in range(len(a)):
        h[a[i] % bins] += 1
    return h


@pytest.mark.parametrize(("fn", "args"), [
    (newton, (40,)), (gcd_sum, (12,)), (collatz, (60,)), (edit_distance, (RNG.integers(0, 4, 30), RNG.integers(0, 4, 25))),
    (knapsack, (RNG.integers(1, 9, 10), RNG.integers(1, 90, 10), 300)), (heap_sort, (RNG.random(300),)),
    (histogram, (RNG.integers(0, 1000, 300), 300)),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_no_loop_falls_to_thunks_and_no_array_is_copied(fn, args):
    found = loops(fn, *args)
    assert (found.walked, found.copies) == (0, 0)


def test_loops_say_what_they_are():
    text = "ENTRY %m (p: s64[]) -> s64[] {\n  %c = s64[] call(%p), to_apply=%f, frontend_attributes={xla_cpu_small_call=\"true\"}\n}\n"
    text += "\n%f (p: s64[]) -> s64[] {\n  %w = (s64[]) while(%t), condition=%k, body=%b\n}\n\n%b (p: s64[]) -> s64[] {\n  %x = f64[300]{0} copy(%y)\n}\n"
    assert str(loops_of(text)) == "Its loop is native code; in each round 1 arrays are copied."
    assert str(loops_of(text.replace("xla_cpu_small_call", "nothing"))) == "Its loop is not native code; in each round 1 arrays are copied."
