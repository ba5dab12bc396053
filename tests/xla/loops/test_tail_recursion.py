"""Functions that call themselves last: loops, as long as Python's stack would be deep enough."""

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

A = np.array([1.5, -2.0, 0.25, 4.0, -0.0, 3.0])


def divisor(a, b):
    def gcd(a, b):
        return a if b == 0 else gcd(b, a % b)

    return gcd(a, b) + gcd(b, a)


def relaxed(a, tolerance):
    def relax(x, n):
        y = (x + np.roll(x, 1)) / 2
        if np.max(np.abs(y - x)) < tolerance:
            return y, n
        return relax(y, n + 1)

    return relax(a, 0)


def place(a, x):
    def find(low, high):
        if high - low < 2:
            return low
        middle = (low + high) // 2
        return find(middle, high) if a[middle] <= x else find(low, middle)

    return find(0, len(a))


def counted_down(n):
    def down(k, s):
        return s if k == 0 else down(k - 1, s + k)

    try:
        return down(n, 0)
    except RecursionError:
        return -1


@pytest.mark.parametrize(("fn", "calls"), [
    (divisor, [(48, 36), (7, 0), (1, 10**12)]),
    (relaxed, [(A, 0.01), (A * 3, 1e-3)]),
    (place, [(np.arange(20.0), 7.0), (np.arange(20.0), -1.0), (np.arange(20.0), np.nan)]),
    (counted_down, [(5,), (5000,)]),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_calls_that_come_last(fn, calls):
    check(fn, *calls)


def test_what_happens_on_the_way():
    def fn(n, least):
        def up(k, total):
            print(k)
            if k == least:
                raise ValueError("enough", total)
            return total if k <= 0 else up(k - 1, total + k)

        return up(n, 0)

    for args in ((5, -1), (5, 2), (5000, 4998)):
        agree(fn, hovis_xla.jit(fn, target="xla"), *args)


def test_what_has_more_to_do_is_python():
    def fn(n):
        def product(k):
            return 1 if k == 0 else k * product(k - 1)

        return product(n)

    for n in (5, 30):
        agree(fn, hovis_xla.jit(fn, target="xla"), n)
