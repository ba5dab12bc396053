"""What integers can be: intervals hold, what they prove needs no check, and what they do not prove is still checked."""
import itertools
import operator

import numpy as np
import pytest

import hovis_xla
from hovis_xla.analysis.ranges import integer_ranges
from hovis_xla.analysis.ranges.intervals import NEGATED, RESULTS, SAYS, SWAPPED
from tests.xla.harness.checking import agree

SMALL = [(a, b) for a in range(-4, 5) for b in range(a, 5)]


@pytest.mark.parametrize("callee", [c for c in RESULTS if c.__name__.strip("_") in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift", "pow")], ids=lambda c: c.__name__)
def test_results_of_two_are_in_their_interval(callee):
    for x, y in itertools.product(SMALL, SMALL[::3]):
        found = RESULTS[callee](x, y)
        if found is None:
            continue
        for a, b in itertools.product(range(x[0], x[1] + 1), range(y[0], y[1] + 1)):
            try:
                value = callee(a, b)
            except (ZeroDivisionError, ValueError):
                continue
            assert isinstance(value, float) or found[0] <= value <= found[1], (callee, x, y, a, b, found)


@pytest.mark.parametrize("callee", [operator.neg, operator.invert, operator.abs, operator.pos])
def test_results_of_one_are_in_their_interval(callee):
    for x in SMALL:
        found = RESULTS[callee](x)
        values = [callee(a) for a in range(x[0], x[1] + 1)]
        assert (min(values), max(values)) == found


@pytest.mark.parametrize("callee", sorted(SAYS, key=lambda c: c.__name__), ids=lambda c: c.__name__)
def test_comparisons_take_away_nothing_that_can_be(callee):
    for x, y in itertools.product(SMALL, SMALL[::2]):
        for holds, left in itertools.product((True, False), repeat=2):
            how = callee if holds else NEGATED[callee]
            found = SAYS[how if left else SWAPPED[how]](x, y)
            for a, b in itertools.product(range(x[0], x[1] + 1), range(y[0], y[1] + 1)):
                if callee(*((a, b) if left else (b, a))) is holds:
                    assert found[0] <= a <= found[1], (callee, holds, left, x, y, a, b, found)


def lcg(n, seed):
    x, total = seed, 0
    for _ in range(n):
        x = (1103515245 * x + 12345) % 2147483648
        total ^= x >> 8
    return total


def insertion_sort(a):
    a = a.copy()
    for i in range(1, len(a)):
        v = a[i]
        j = i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v
    return a


def digits(n):
    total = 0
    for k in range(n):
        x = k
        while x > 0:
            total += (x % 10) ** 2
            x //= 10
    return total


def binary_search(a, keys):
    total = 0
    for k in range(len(keys)):
        lo, hi = 0, len(a)
        while lo < hi:
            mid = (lo + hi) // 2
            if a[mid] < keys[k]:
                lo = mid + 1
            else:
                hi = mid
        total += lo
    return total


def primes(n):
    count = 0
    for k in range(2, n):
        d = 2
        while d * d <= k and k % d:
            d += 1
        count += d * d > k
    return count


RNG = np.random.default_rng(3)


@pytest.mark.parametrize(("fn", "args"), [
    (lcg, (50, 42)), (insertion_sort, (RNG.random(40),)), (digits, (300,)), (binary_search, (np.sort(RNG.random(30)), RNG.random(20))), (primes, (200,)),
])  # fmt: skip
def test_what_is_proven_is_not_checked(fn, args, in_full):
    jitted = hovis_xla.jit(fn, strict=True, target="xla")
    agree(fn, jitted, *args)
    variant = next(iter(jitted._variants.values()))
    assert variant.xla.lowered.bail is None


def test_ints_that_are_not_small_have_a_program_of_their_own():
    jitted = hovis_xla.jit(lcg, strict=True, target="xla")
    for seed in (1, 2**32, -(2**32), 2**32 + 5, 2**33, 2**62, 2**63 - 1, 2**70, -5):
        agree(lcg, jitted, 7, seed)
    blob = hovis_xla.compile(jitted.trace(7, 1)).serialize()
    assert hovis_xla.load(blob)(7, 2**32 + 5) == lcg(7, 2**32 + 5)


def past_the_end(counts, a, n):
    """Written out, it always raises."""
    s = 0.0
    for i in range(1, len(a)):
        if a[i] > 0:
            s -= a[-1]
            n += i
        counts[i % len(a)] = 2
    return s, n


def test_larger_ints_are_python_s_where_there_is_no_program_for_them(monkeypatch):
    monkeypatch.setattr("hovis_xla.runtime.executable.QUICKLY", True)  # a first call's program does not write it out
    jitted = hovis_xla.jit(past_the_end, target="xla")
    for n in (3, 3, 2**40, 2**40):
        agree(past_the_end, jitted, np.zeros(4, int), np.ones(6), n)


def powers(n, x):
    r = 1
    for _ in range(n):
        r = r * x
    return r


def steps_of(n, step):
    total = 0
    k = 0
    while k < n:
        total += step
        k += 1
    return total


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def doubled(n, x):
    for _ in range(n):
        x = x + x
    return x


def down(n, x):
    while n > 0:
        x -= n
        n -= 1
    return x


def mixed(a, b):
    return a // b, a % b, -a // b, -a % b, a >> (b & 7), (a & 255) << (b & 31), a * a - b * b, abs(a - b), a / b


def clipped(a, k):
    total = 0.0
    for i in range(k, len(a), 2):
        total += a[i] + a[i - 3] + a[-i]
    return total


def sub_of(a, n):
    s = 0
    for i in range(n):
        s += a[i]
    return s


BYTE = np.int8(0)


def small_squares(places, a):
    """NumPy's product wraps around, so that a small one says nothing of what is squared."""
    s = 0.0
    for i in range(len(places)):
        if places[i] * places[i] < 100:
            s += a[places[i]]
    return s


def around(a, n):
    """A counter of NumPy's wraps around."""
    c, s = BYTE, 0.0
    for _ in range(n):
        c = c + 1
        s = s * 0.5 + a[c]
    return s


def rounds_of_a_byte(n):
    c, k, rounds = BYTE, 0, 0
    while k < n:
        c = c + 1
        if c > 0:
            rounds += c.item()
        k += 1
    return rounds


LARGE, THREE = np.uint64(2**63 - 2), np.uint64(3)


def past_63_bits(n, x):
    large = LARGE
    for _ in range(n):
        large = large + THREE
    return x[large - LARGE]


@pytest.mark.parametrize(("fn", "calls"), [
    (past_63_bits, [(n, np.arange(8.0)) for n in (0, 2, 3, 30)]),
    (small_squares, [(np.array([1, 2, -3]), RNG.random(9)), (np.array([1, 2**32]), RNG.random(9))]),
    (around, [(RNG.random(300), n) for n in (5, 127, 128, 200, 300)] + [(RNG.random(127), 128)]),
    (rounds_of_a_byte, [(5,), (700,)]),
    (powers, [(10, 3), (60, 3), (63, 2), (62, 2), (63, -2), (64, -2), (5, 0)]),
    (steps_of, [(3, 2**61), (4, 2**61), (10, -(2**61)), (3, 5), (0, 1), (2**3, 2**59)]),
    (fibonacci, [(10,), (92,), (93,), (200,)]),
    (doubled, [(3, 5), (62, 1), (63, 1), (63, -1), (64, -1)]),
    (down, [(5, 0), (3, -(2**63) + 5), (3, -(2**63) + 7), (0, 1)]),
    (mixed, [(7, 2), (-7, 2), (7, -2), (-7, -2), (2**62, 3), (2**32, 2**32), (-(2**63), -1), (2**53 + 1, 1), (5, 0), (2**40, 2**40)]),
    (clipped, [(RNG.random(20), 3), (RNG.random(20), 0), (RNG.random(20), -2), (RNG.random(20), -30), (RNG.random(2), 5)]),
    (sub_of, [(RNG.random(10), 10), (RNG.random(10), 11), (RNG.random(10), -1), (RNG.integers(-(2**62), 2**62, 10), 10), (np.arange(10, dtype=np.uint8), 10)]),
])  # fmt: skip
def test_what_is_not_proven_is_checked(fn, calls):
    jitted = hovis_xla.jit(fn, strict=True, target="xla")
    for args in calls:
        agree(fn, jitted, *args)


def test_bounds_beyond_all_stops_stay():
    stops = (-100, -1, 0, 1, 100)
    assert integer_ranges._widened((0, 0), (0, 1000), stops) == (0, 1000)
    assert integer_ranges._widened((0, 0), (-1000, 0), stops) == (-1000, 0)
    assert integer_ranges._widened((0, 0), (-7, 7), stops) == (-100, 100)
