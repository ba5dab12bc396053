"""Loops over numbers and cells of arrays: each is native code, none copies an array, all give what Python gives."""
import numpy as np
import pytest

import hovis_xla
from benchmarks.kernels.dynamic import edit_distance
from benchmarks.kernels.loops import gcd_sum
from hovis_xla.jaxlib.hlo_text import LARGE, loops_of
from tests.xla.harness.checking import agree


def loops(fn, *args, large=LARGE):
    """The loops of fn, compiled for these arguments; it has to give what Python gives."""
    jitted = hovis_xla.jit(fn, strict=True)
    agree(fn, jitted, *args)
    return loops_of(jitted.lower(*args).compile().as_text(), large)


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
    (crc, (RNG.integers(0, 256, 300).astype(np.uint8),), 1),  # eight rounds for each byte are written out
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


def insertion_sort(x):
    for i in range(1, len(x)):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value


def sift_down(a):
    """A loop with two ways out, which is entered under a condition, and a swap in it."""
    for end in range(len(a) - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        root = 0
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                break
            a[root], a[child] = a[child], a[root]
            root = child


def alignment(a, b, gap):
    """The cell that has just been stored is read again, and once more under a condition."""
    score = np.zeros((len(a) + 1, len(b) + 1))
    best, at = 0.0, (0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            step = 2.0 if a[i - 1] == b[j - 1] else -1.0
            score[i, j] = max(0.0, score[i - 1, j - 1] + step, score[i - 1, j] + gap, score[i, j - 1] + gap)
            if score[i, j] > best:
                best, at = score[i, j], (i, j)
    return best, at, score


def primes(n):
    """A loop that stores, on one of two ways through another."""
    prime = np.ones(n, dtype=np.bool_)
    count = 0
    for k in range(2, n):
        if prime[k]:
            count += 1
            for multiple in range(k * k, n, k):
                prime[multiple] = False
    return count, prime


def mirrored(a, b):
    """What is read on one way is read before the loop on the other way stores."""
    total = 0.0
    for i in range(len(a)):
        if b[i] > 0.5:
            for j in range(i, len(a)):
                a[j] = a[j] * 0.5
        else:
            total += a[i]
    return total


def intervals(x):
    """Rows are stored as tuples, and read as such."""
    stack = np.zeros((300, 2), dtype=np.int64)
    stack[0] = 0, len(x)
    top, total = 1, 0
    while top > 0:
        top -= 1
        low, high = stack[top]
        if high - low > 1:
            middle = (low + high) // 2
            stack[top] = low, middle
            stack[top + 1] = middle, high
            top += 2
        else:
            total += low * x[low]
    return total


@pytest.mark.parametrize(("fn", "args"), [
    (insertion_sort, (RNG.random(300),)), (sift_down, (np.sort(RNG.random(300))[::-1].copy(),)),
    (alignment, (RNG.integers(0, 4, 20), RNG.integers(0, 4, 19), -0.5)), (primes, (400,)), (mirrored, (RNG.random(300), RNG.random(300))),
    (intervals, (RNG.integers(0, 9, 50),)),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_no_array_is_copied_where_a_way_through_a_loop_does_not_store(fn, args):
    found = loops(fn, *args)
    assert (found.walked, found.copies) == (0, 0)


def test_a_tuple_that_is_stored_is_as_numpy_stores_it():
    def rows(a, x, n):
        a[0] = x, n
        a[1] = n, 2.75
        a[:, 1] = (n,)
        a[2] = [x, 1]
        return a.sum()

    jitted = hovis_xla.jit(rows, strict=True)
    for dtype in (np.int64, np.float32, np.int8):
        agree(rows, jitted, np.zeros((3, 2), dtype), 1.5, 7)
    agree(rows, jitted, np.zeros((3, 2), np.int8), 1.5, 300)


def extremes(a, n, x):
    """Python's numbers beside NumPy's; a power that may be complex."""
    total = max(0.0, a[0], a[1] + x) + min(a[2], x, a[3])
    return total, max(a[0], n), max(0.1, x**0.5)


def test_the_greatest_of_numbers_of_several_kinds_is_one_of_them():
    jitted = hovis_xla.jit(extremes, strict=True)
    for values in ([1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, np.nan, -3.0], [0.0, -0.0, 0.0, -0.0]):
        for n, x in ((0, 4.0), (-3, 0.0), (7, 9.0), (2, np.nan)):
            agree(extremes, jitted, np.array(values), n, x)
    agree(extremes, jitted, np.ones(4), 1, -1.0)
    agree(extremes, jitted, np.ones(4), 10**400, 1.0)


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return x * self.factor


WEIGHTS, NAMES, KNOWN = [1.5, 2.5, -1.0], ["up", "down", "flat"], {0: 0.5, 2: -0.5}
NEXT, STEPS, OBJECTS = ((1, 2), (2, 0), (0, 1)), [(1, 0), (0, 1), (-1, -1)], [Scaled(2.0), Scaled(-1.0), Scaled(0.5)]


def numbers_of_a_list(which, x):
    total = 0.0
    for i in range(len(x)):
        total += WEIGHTS[which[i]] * x[i] + KNOWN.get(int(which[i]), 0.0)
    return total


def names_of_a_list(which, x):
    total = 0.0
    for i in range(len(x)):
        if NAMES[which[i]] == "up":
            total += x[i]
    return total


def next_states(which, x):
    state, total = 0, 0.0
    for i in range(len(x)):
        state = NEXT[state][int(x[i] > 0)]
        total += state * x[i]
    return total, state


def rows_of_a_list(which, x):
    place = [0, 0]
    for i in range(len(x)):
        dx, dy = STEPS[which[i]]
        place[0] += dx
        place[1] += dy
    return place


def objects_of_a_list(which, x):
    total = 0.0
    for i in range(len(x)):
        total += OBJECTS[which[i]].apply(x[i])
    return total


@pytest.mark.parametrize("fn", [numbers_of_a_list, names_of_a_list, next_states, rows_of_a_list, objects_of_a_list])
def test_tables_are_looked_up_within_native_loops(fn):
    which, x = RNG.integers(0, 3, 300), RNG.normal(size=300)
    found = loops(fn, which, x)
    assert (found.walked, found.copies) == (0, 0)
    jitted = hovis_xla.jit(fn, strict=True)
    agree(fn, jitted, which, x)
    agree(fn, jitted, which[:0], x[:0])
    agree(fn, hovis_xla.jit(fn), np.array([0, 3, 1]), x[:3])


def test_loops_say_what_they_are():
    text = "ENTRY %m (p: s64[]) -> s64[] {\n  %c = s64[] call(%p), to_apply=%f, frontend_attributes={xla_cpu_small_call=\"true\"}\n}\n"
    text += "\n%f (p: s64[]) -> s64[] {\n  %w = (s64[]) while(%t), condition=%k, body=%b\n}\n\n%b (p: s64[]) -> s64[] {\n  %x = f64[300]{0} copy(%y)\n}\n"
    assert str(loops_of(text)) == "Its loop is native code; in each iteration 1 arrays are copied."
    assert str(loops_of(text.replace("xla_cpu_small_call", "nothing"))) == "Its loop is not native code; in each iteration 1 arrays are copied."


def picks(x, places):
    total = x[0]
    for k in range(len(places)):
        total += x[places[k]] * k**3
    return total


def test_a_loop_that_may_give_up_carries_one_flag_at_most():
    x = np.array([np.nan, 1.0, -0.0])
    jitted = hovis_xla.jit(picks, target="xla")
    for places in ([1, 2, 1, -3, 0, 2], [1], [], [1, 1, 3], [-4], [2**62, 1]):
        agree(picks, jitted, x, np.array(places, dtype=np.int64))
    loops = [line for line in jitted.lower(x, np.arange(40) % 3).as_text().splitlines() if "stablehlo.while(" in line]
    assert loops
    assert all(line.count("tensor<i1>") <= 1 for line in loops)


# ------------------------------------------------------------------------------------------------- the old array is read once more

GRID = np.random.default_rng(5).uniform(0.1, 0.9, (24, 24))


def flow(u, v, steps):
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        u[1:-1, 1:-1] = un[1:-1, :-2] - vn[2:, 1:-1] * 0.25
        v[1:-1, 1:-1] = vn[:-2, 1:-1] + un[1:-1, 1:-1] * un[1:-1, 2:]
        u[0], v[:, -1] = 1.0, 0.5
    return u, v


def until_it_is_steady(u, most):
    change, steps = 1.0, 0
    while change > 1e-3 and steps < most:
        un = u.copy()
        u[1:-1, 1:-1] = 0.5 * un[1:-1, 1:-1] + 0.25 * (un[1:-1, :-2] + un[1:-1, 2:])
        u[1:-1, 0] = un[1:-1, 1] - un[1:-1, -1]
        u[1:-1, -1] = un[1:-1, 0] * un[1:-1, 1]
        change = abs(np.sum(u) - np.sum(un)) / np.sum(un)
        steps += 1
    return u, steps


def halves_of_rows(x, half):
    for start in range(0, len(x) - 2 * half + 1, half):
        even, odd = x[start : start + half].copy(), x[start + half : start + 2 * half] * 0.5
        x[start : start + half] = even + odd
        x[start + half : start + 2 * half] = even - odd
    return x


def there_and_back(u, steps):
    v = np.zeros_like(u)
    for _ in range(steps):
        v[0] = 1.0
        for j in range(1, len(u) - 1):
            v[j, 1:-1] = u[1:-1, j] - 0.5 * u[1:-1, j - 1] + v[j - 1, 1:-1] * 0.25
        u[1:-1, 0] = 1.0
        for j in range(1, len(u) - 1):
            u[1:-1, j] = v[1:-1, j] + u[1:-1, j - 1] * 0.125
    return u, v


@pytest.mark.parametrize(("fn", "args"), [
    (flow, (GRID, GRID.T.copy(), 5)), (until_it_is_steady, (GRID + 3.0, 9)), (halves_of_rows, (GRID.ravel().copy(), 64)), (there_and_back, (GRID, 4)),
])  # fmt: skip
def test_what_is_read_again_is_read_before_the_store(fn, args):
    found = loops(fn, *args)
    assert (found.walked, found.copies) == (0, 0)


def test_a_mask_of_what_is_made_anew_is_made_once():
    def escaping(x, y, most):
        z, counts = np.zeros(x.shape), np.zeros(x.shape, dtype=np.int64)
        for n in range(most):
            inside = np.sqrt(np.abs(z) + 0.5) < 1.5
            counts[inside] = n
            z[inside] = z[inside] ** 2 + x[inside] * y
        return z, counts

    found = loops(escaping, GRID.ravel() * 2.0, 1.25, 20)
    assert (found.walked, found.copies) == (0, 0)


@pytest.mark.parametrize("shape", [(12, 11), (40, 3), (4, 5, 6)])
def test_what_a_mask_chooses_of_several_dimensions_changes_in_place(shape):
    def escaping(c, z, most):
        counts = np.zeros(z.shape, dtype=np.int64)
        for n in range(most):
            inside = abs(z) < 2.0
            counts[inside] = n
            z[inside] = z[inside] ** 2 + c[inside]
        return z, counts

    c = (np.arange(float(np.prod(shape))).reshape(shape) % 7 - 5) / 3 + 0.4j
    c[0, 1], c[1, 0], c[2, 1], c[3, 2] = -0.0, np.nan, complex(-0.0, -0.0), complex(np.inf, 1)
    found = loops(escaping, c, np.zeros(shape, dtype=complex), 9, large=16)
    assert (found.walked, found.copies) == (0, 0)


def test_what_is_reshaped_and_looked_at_elsewhere():
    def turned(a, steps):
        total = 0.0
        for k in range(steps):
            flat = a.ravel() * 0.5 + k
            total += flat[3:40].sum() + flat[k]
            a = np.where(flat > 20.0, -flat, flat).reshape(a.shape)
            b = (flat - 1.0).reshape(a.shape[::-1])
            a = a + b.T
        return a, total

    assert loops(turned, GRID.copy(), 6).walked == 0


def test_an_old_array_that_goes_on_is_copied():
    def histories(u, steps):
        old = np.zeros((steps, *u.shape))
        before = u.copy()
        for k in range(steps):
            old[k] = u
            before = u.copy()
            u[1:-1] = 0.5 * (before[:-2] + before[2:])
            u[0] = before[-1] + old[k, 1]
        return old, before, u

    assert loops(histories, GRID, 5).walked == 0


def test_numbers_are_read_before_the_arrays_that_are_made_with_them():
    def sums(x, values, places):
        for k in range(len(values)):
            x = x * 0.5 + values[k]
            x = np.where(x > values[places[k]], x, -x) - x[places[k] + 1]
        return x

    def turned(x, values):
        for w, v in zip(values, values[::-1]):
            x[w:] = np.maximum(x[w:], x[:-w] + v)
        return x[-1]

    rng = np.random.default_rng(2)
    found = loops(sums, GRID[0].repeat(3), rng.normal(size=50), rng.integers(0, 50, 50))
    assert found.walked == 0
    assert loops(turned, np.arange(60), rng.integers(1, 60, 40)).walked == 0


def test_arrays_that_are_made_anew_from_the_old_ones():
    def descended(a, b, steps):
        x, p, r = np.zeros(b.shape), b.copy(), b.copy()
        for _ in range(steps):
            q = a @ p
            step = (r @ r) / (p @ q)
            x += step * p
            before = r @ r
            r -= step * q
            p = r + (r @ r) / before * p
        return x, p

    def exchanged(u, v, steps):
        for k in range(steps):
            u, v = u * 0.5 + v, v * 0.25 - u * k
        return u, v

    rng = np.random.default_rng(4)
    a = rng.normal(size=(80, 80))
    found = loops(descended, a @ a.T + 80.0 * np.eye(80), rng.normal(size=80), 9, large=16)
    assert found.walked == 0 and found.copies <= 1
    assert loops(exchanged, rng.normal(size=80), rng.normal(size=80), 9).walked == 0
