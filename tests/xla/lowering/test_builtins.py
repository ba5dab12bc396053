"""Python's builtins, its math module, sequences asked with unknown indices, complex numbers: as CPython has them."""
import cmath
import math

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check, compiled, outcome, same

pytestmark = pytest.mark.xla

TABLE = [3, 1, 2]
WORDS = ("lo", "mid", "hi")
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]
PRICES = {"tea": 1.25, "bun": 0.5}
BY_NUMBER = {1: "one", 2: 2.0, 5: None}
INF, NAN = math.inf, math.nan


def test_unknown_indices():
    def mixed(k):
        return (1.5, 2.5, 3.5)[k], [1, 2.5, "x"][k], WORDS[k], MOVES[k], (math.sin, math.cos, abs)[k](0.5)

    def walk(n):
        x = y = 0
        for k in range(n):
            dx, dy = MOVES[(k * k) % 4]
            x, y = x + dx, y + dy * TABLE[k % 3]
        return x, y, WORDS[(x + y) % 3]

    def entries(k, x):
        thing = "tea" if x > 0 else "bun"
        return PRICES[thing] * x, BY_NUMBER[k]

    def or_else(k, x):
        return PRICES.get("tea" if x > 0 else "pie", 9.0) * x, BY_NUMBER.get(k), BY_NUMBER.get(k, x), {}.get(k, 1)

    def computed(a, b, k):
        return (a, b, a + b)[k], [a * 2, b][k % 2]

    f = hovis_xla.jit(mixed)
    for k in (0, 1, -1, 2, -2, 0, 1, 2, 1, 2, 3, -3, -4, 5):
        assert same_outcome(mixed, f, k)
    check(walk, (0,), (5,), (17,), bails=False)
    g = hovis_xla.jit(entries)
    for k, x in [(1, 1.0), (2, -1.0), (5, 2.0), (1, 3.0), (2, 3.0), (5, -3.0), (3, 1.0), (7, 1.0), (2, 0.0), (1, 1.5)]:
        assert same_outcome(entries, g, k, x)
    g = hovis_xla.jit(or_else)
    for k, x in [(1, 1.0), (2, -1.0), (5, 2.0), (1, 3.0), (2, 3.0), (5, -3.0), (3, 1.0), (7, -1.0), (2, 0.0), (1, 1.5)]:
        assert same_outcome(or_else, g, k, x)
    h = hovis_xla.jit(computed)
    for k in (0, 1, 2, -1, -2, -3, 3, 1, 2, 0):
        assert same_outcome(computed, h, 1.5, 2.0, k)


def same_outcome(fn, got, *args):
    wanted, seen = outcome(fn, args), outcome(got, args)
    return wanted[1] == seen[1] and (same(seen[0][1], wanted[0][1]) if wanted[0][0] == "returned" else wanted == seen)


def test_a_list_from_outside_that_changes():
    table = [3, 1, 2]

    def total(n):
        found = 0
        for k in range(n):
            found += table[k % 3]
        return found

    f = compiled(total)
    assert f(7) == total(7)
    table[1] = 100
    assert f(7) == total(7)
    table.append(4)
    assert f(8) == total(8)


def test_membership_and_order():
    def members(x, k):
        return x in (1, 3, 5), x not in (2, 4), x in (0.5, "a", None), k in range(2, 20, 3), k in (x, 4), WORDS[k % 3] in ("lo", "x")

    def order(a, b, c):
        return min(a, b), max(a, b, 3), min(a, b, c), sorted([a, b, c]), sorted((c, b, a), reverse=True), max((a, c)), a < b < c, a > b >= c

    check(members, (3.0, 5), (0.5, 8), (7.0, 4), bails=False)
    check(members, (3, 5), (5, 4), bails=False)
    check(order, (1.0, 2.0, -3.0), (0.0, -0.0, 5.0), (2.0, 2.0, 2.0))
    check(order, (1, 2, -3), (4, 4, 4))
    check(lambda a, b: (min(a, b), max(a, b), max(b, a), min(b, a, 0)), (1.0, 2), (2.0, 2), (NAN, 1), (-1.0, -7), bails=False)


def test_arrays_as_rows():
    def asked(v, x):
        return min(v), max(v), sum(v), sum(v, 1.5), any(v > 0.9), all(v > -2), x in v, x not in v, sorted(v)

    def rows(m):
        a, b = m[0]
        first, *rest = m
        return sum(m), a - b, first * 1, len(rest), rest[0] * 2

    v = np.array([0.5, -1.5, 2.0, 0.0])
    check(asked, (v, 2.0), (v * 0, 3.0), (np.array([-0.0, 0.0, -0.0]), 0.0), bails=False)
    f = compiled(asked)
    for special in (np.array([NAN, 1.0, 2.0]), np.array([1.0, NAN, 0.5]), np.array([INF, NAN, -INF]), np.array([NAN, NAN])):
        assert same(f(special, 1.0)[:5], asked(special, 1.0)[:5])
    for dtype in (np.int64, np.uint8, np.float32):
        check(asked, (np.array([3, 1, 2], dtype), 2), bails=False)
    check(lambda v: (sum(v), any(v), all(v)), np.array([True, False]), np.array([False, False]), bails=False)
    check(rows, (np.arange(6.0).reshape(3, 2),), bails=False)


def test_loops_over_arrays():
    def loops(v, w, m):
        total = 0.0
        for k, x in enumerate(v, 1):
            total += x / k
        for x, y in zip(v, w):
            total = total * 0.5 + x * y
        for x in reversed(v):
            total = total * 0.5 + x
        for a, b in m:
            total += a * b
        for a, (b, c) in zip(v, m):
            total -= a * b * c
        return total

    check(loops, (np.arange(4.0), np.ones(4), np.arange(8.0).reshape(4, 2)), (np.arange(60.0), np.ones(60), np.ones((50, 2))), bails=False)


def test_round():
    def rounded(x):
        return round(x, 2), round(x, 1), round(x, 0), round(x, 5), round(x, -1), round(x, -3), round(x)

    xs = [2.675, 0.125, 0.135, 1.005, 2.5, 3.5, -2.5, -0.5, 0.5, 1234.5678, -15.0, 25.0, 1e10 + 0.5, 5e-7, 0.05, 0.15, 1500.0, 2500.0, -0.0, 999.995]
    check(rounded, *[(x,) for x in xs], bails=False)
    rng = np.random.default_rng(0)
    f = compiled(rounded)
    for x in rng.uniform(-1000, 1000, 300).round(3):
        assert f(float(x)) == rounded(float(x))
        assert f(float(x) / 8) == rounded(float(x) / 8)
    check(lambda x: (round(x, 2), round(x, -2)), (NAN,), (INF,), (1e300,), (-1e17,), (12,))
    check(lambda n: (round(n, -1), round(n, -2), round(n, 3)), (15,), (25,), (-15,), (149,), (150,), (250,), bails=False)
    check(lambda x: (round(x), round(x, 1), int(x), float(x)), (np.float64(2.5),), (np.float64(-3.75),))
    check(lambda x: (round(x), round(x, 1), int(x), float(x)), (np.float32(2.5),), (np.float32(-3.75),))


def test_math_of_floats():
    def several(x, y):
        return (
            math.isclose(x, y), math.isclose(x, y, rel_tol=0.5), math.isclose(x, y, abs_tol=0.3), math.hypot(x, y), math.hypot(x, y, 2.0),
            math.dist((x, y), (1.0, 2.0)), math.modf(x), math.frexp(x), math.ldexp(x, 3), math.ldexp(y, -2), math.nextafter(x, y),
            math.copysign(x, -y), math.prod([x, y, 2]), math.asinh(x), math.pow(abs(x), y), math.cbrt(x), math.exp2(y), x.is_integer(),
        )  # fmt: skip

    check(several, (0.3, 0.4), (-1.5, 2.0), (3.0, -7.25), (1e10, 1.0), bails=False)
    check(lambda x: (math.modf(x), math.frexp(x), math.isclose(x, x), math.hypot(x, 1.0), x.is_integer()), (INF,), (-INF,), (0.0,), (-0.0,), bails=False)
    check(math_remainder := (lambda x, y: (math.remainder(x, y), math.fmod(x, y))), (5.5, 2.0), (-5.0, 2.0), (7.0, -2.0), (3.0, 2.0), (1.0, INF), (0.0, 3.0))
    check(math_remainder, (1.0, 0.0), (INF, 1.0), (NAN, 1.0))
    check(lambda x, b: (math.log(x, 2), math.log(x, b), math.log2(x)), (8.0, 3.0), (0.5, 10.0))
    check(lambda x, b: math.log(x, b), (8.0, 1.0), (-1.0, 2.0), (8.0, 0.0))
    check(lambda x, n: math.ldexp(x, n), (1.5, 4), (1.0, 1023), (1.0, 2000), (1e-300, -200), (0.0, 5000), (3.0, -1000))


def test_integers():
    def several(a, b):
        return math.gcd(a, b), math.lcm(a, b), math.gcd(a, b, 6), math.lcm(a, 3), a.bit_length(), b.bit_count(), a.real, b.imag, a.conjugate()

    check(several, (12, 18), (7, 0), (0, 0), (-4, 6), (255, -256), (2**40, 2**20))
    check(lambda n, k: (math.comb(n, k), math.perm(n, k), math.factorial(n), math.isqrt(n)), (10, 3), (5, 5), (3, 5), (0, 0), (20, 10))
    check(lambda n, k: (math.comb(n, k), math.factorial(n)), (30, 15), (-1, 2), (60, 30))
    check(lambda n: math.isqrt(n), (0,), (1,), (99,), (2**52 + 1,), (2**60 - 1,), (10**18,), (-1,))
    check(lambda a, b, m: pow(a, b, m), (3, 5, 7), (10, 20, 1000), (2, 0, 1), (-3, 3, 5), (3, 4, -5), (2, -1, 5), (2, 3, 0))
    check(lambda a, b: a**b, (2, 3), (3, 0), (-3, 5), (2, 62), (2, 63), (3, 50), (0, 0), (1, 10**9))
    check(lambda a, b: a**b, (2, -1), (-4, -3), (10, -2), (0, -1))


def test_complex():
    def several(a, b):
        return a + b, a - b, a * b, a / b, abs(a), -a, a.real, b.imag, a.conjugate(), a == b, a != b, a**2, b**3, a**-1, complex(a.imag, 2), a * 2, 1.5 / b

    check(several, (1 + 2j, 3 - 1j), (0.5j, 1j), (-1.25 + 0j, 2 + 2j), (3 - 4j, -0.5 - 2j), bails=False)
    check(lambda a, b: a / b, (1 + 2j, 0j), (1 + 2j, 1e-3j))
    check(lambda a: abs(a), (complex(INF, NAN),), (complex(NAN, 1),), (3 + 4j,), (1e200 + 1e200j,), (1.7e308 + 1.7e308j,))
    check(lambda z: (cmath.exp(z), cmath.sqrt(z), cmath.phase(z), cmath.polar(z), cmath.log(z), cmath.sin(z), cmath.cos(z)),
          (1 + 2j,), (-1.5 + 0.25j,), (0.5 - 3j,), bails=False)  # fmt: skip
    check(lambda z: (cmath.sqrt(z), cmath.exp(z)), (0j,), (complex(INF, 1),), (-4 + 0j,), (complex(-4, -0.0),))
    check(lambda r, p: cmath.rect(r, p), (2.0, 0.5), (0.0, 1.0), (1.0, INF))


def test_a_division_by_what_turns_out_to_be_zero():
    check(lambda n: 7 // (n - n), (3,))
    check(lambda n: 7 % (n - n), (3,))
    check(lambda n: (7 // (n - n + 2), -7 % (n - n - 1)), (3,), bails=False)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_floats_as_unsigned_ints_and_back():
    def there_and_back(x):
        half, single = x.astype(np.uint32), x.astype(np.float32).astype(np.uint32)
        return half.astype(np.float64), single.astype(np.complex64), half / 2, single.astype(np.float16), x.astype(np.int64).astype(np.uint32) + np.float32(0.5)

    few = (-np.arange(8) * 0.75).astype(np.float16)
    check(there_and_back, (few,), (few.astype(np.int32),), (np.append(few, np.float16(65504)),), (few[3],), exact=True)
    large = np.array([0, 1, 2**24 + 1, 2**25 + 3, 2**31 - 1, 2**31, 2**31 + 129, 2**32 - 129, 2**32 - 1, 65519, 65520], np.uint32)
    check(lambda x: (x.astype(np.float32), x.astype(np.float64), x.astype(np.float16), x * 0.5, x.astype(np.complex64)), (large,), exact=True)
