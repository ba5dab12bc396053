"""Loops that are left before an int needs more than 64 bits: they give what Python gives."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check


def chain(n):
    length = 1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        length += 1
    return length


def fibonacci(most):
    a, b = 0, 1
    while a < most:
        a, b = b, a + b
    return a, b


def downwards(n, end):
    rounds = 0
    while end < n:
        n = 5 * n - 7
        rounds += 1
    return n, rounds


def in_a_loop(starts, most):
    out = np.zeros(len(starts), dtype=np.int64)
    for k in range(len(starts)):
        n = int(starts[k])
        while n < most:
            n = n * 3 + 1
        out[k] = n % 1000
    return out


CASES = {
    "chain": (chain, [1, 2, 3, 27, 97], [2**62 + 1, 2**63 - 1]),
    "fibonacci": (fibonacci, [0, 1, 100, 2**59], [2**63 - 1]),
    "downwards": (downwards, [(1, -1000), (1, 5), (0, -1000)], [(1, -(2**63))]),
    "in a loop": (in_a_loop, [(np.array([1, 2, 50, 0]), 1000), (np.array([5]), 2)], [(np.array([1, 2**62]), 2**63 - 1)]),
}


@pytest.mark.parametrize("name", CASES)
def test_room(name):
    fn, good, bad = CASES[name]
    check(fn, *good, bails=False)
    check(fn, *bad)


def test_no_flag_goes_round():
    text = hovis_xla.jit(chain).lower(27).as_text()
    (loop,) = [line for line in text.splitlines() if "stablehlo.while" in line]
    assert "tensor<i1>" not in loop
