"""Tests in several parts, and floats that go round in pairs: what Python gives, and what has become of the loop."""
import math

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check

NAN, INF = math.nan, math.inf


def escapes(a, b, most):
    x = y = 0.0
    n = 0
    while n < most and x * x + y * y <= 4.0:
        x, y = x * x - y * y + a, 2.0 * x * y + b
        n += 1
    return n, x, y


def escapes_by_complex(a, b, most):
    z, n, c = 0j, 0, complex(a, b)
    while n < most and z.real * z.real + z.imag * z.imag <= 4.0:
        z = z * z + c
        n += 1
    return n, z


def three_parts(x, y, n):
    while n > 0 and x < y and not x + y > 100.0:
        x, y = y - 1.5, x + 3.0
        n -= 1
    return x, y, n


def signs_of_zeros(x, y, n):
    """Both parts are what they are, each for itself."""
    while n > 0 and not x > 1.0:
        x, y = -y, x * 1.0
        n -= 1
    return x, y


def used_by_others(x, y, n):
    """What is made of the pair goes round as well."""
    total = 0.0
    while n > 0 and x < 9.0:
        x, y, total = y, x + y, total + x * y
        n -= 1
    return x, y, total


def asked_only_if(n, most):
    """The second part may fail, or need more than 64 bits, and is not asked where the first has said no."""
    k = 0
    while k != n and 100 // (n - k) < most:
        k += 1
    return k


def squares(n, most):
    k = 1
    while k < n and k * k < most:
        k += k
    return k


def within(values, least):
    """The second part reads an array, at a place that the first has looked at."""
    found = []
    for start in (0, 2):
        k = start
        while k < len(values) and values[k] > least:
            k += 1
        found.append(k)
    return found


def parts_with_different_ends(x, n):
    k = 0
    while True:
        if k >= n:
            return k, 0
        if x > 8.0:
            return k, 1
        x *= 1.5
        k += 1


CALLS = {
    escapes: ((0.3, 0.5, 40), (1.0, 1.0, 40), (0.0, 0.0, 0), (-1.0, 0.0, 1), (NAN, 0.0, 5), (INF, 1.0, 5), (-INF, INF, 9), (0.1, -0.0, -3)),
    escapes_by_complex: ((0.3, 0.5, 40), (1.0, 1.0, 40), (0.0, 0.0, 0), (-1.0, 0.0, 1), (NAN, 0.0, 5), (0.1, -0.0, -3)),
    three_parts: ((1.0, 2.0, 10), (1.0, 2.0, 0), (3.0, 2.0, 5), (90.0, 95.0, 5), (NAN, 1.0, 3)),
    signs_of_zeros: ((0.0, 0.0, 1), (0.0, 0.0, 2), (-0.0, 0.0, 3), (0.0, -0.0, 4), (INF, 1.0, 3), (0.5, -2.0, 3), (NAN, -0.0, 2)),
    used_by_others: ((0.0, 1.0, 20), (1.0, 1.0, 3), (9.0, 1.0, 3), (1.0, 1.0, 0)),
    asked_only_if: ((5, 1000), (0, 1000), (5, 20), (3, 40)),
    squares: ((10, 1000), (2**40, 2**20), (2**62, 2**63 - 1), (0, 5), (2**64, 2**70)),
    within: ((np.array([3.0, 2.0, 1.0, 5.0]), 0.5), (np.array([3.0, 2.0, 1.0]), 1.5), (np.array([], dtype=float), 0.5), (np.array([1.0]), 0.0)),
    parts_with_different_ends: ((1.0, 10), (1.0, 3), (9.0, 3), (1.0, 0), (NAN, 2)),
}


@pytest.mark.xla
@pytest.mark.parametrize("fn", CALLS, ids=lambda fn: fn.__name__)
def test_like_python(fn):
    check(fn, *CALLS[fn])


@pytest.mark.xla
@pytest.mark.parametrize("fn", [escapes, escapes_by_complex], ids=lambda fn: fn.__name__)
def test_the_test_is_the_loops_own_and_the_pair_is_one(fn):
    text = hovis_xla.jit(fn, target="xla").lower(0.3, 0.5, 40).as_text()
    carried = next(line for line in text.splitlines() if "stablehlo.while" in line)
    assert sorted(carried.split(" : ")[-1].split(", ")) == ["tensor<complex<f64>>", "tensor<i64>"], carried


@pytest.mark.xla
def test_what_others_are_made_of_stays_two():
    text = hovis_xla.jit(used_by_others, target="xla").lower(0.0, 1.0, 20).as_text()
    assert "complex" not in text
