"""Loops of Python's ``while``: with the test at their heads, they give what Python gives."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check


def newton(x):
    guess = x
    while abs(guess * guess - x) > 1e-9 * x:
        guess = 0.5 * (guess + x / guess)
    return guess


def harmonic(x, end):
    t = 0.0
    while x > end:
        t += 1.0 / x
        x -= 1.0
    return t


def collatz(limit):
    best, longest = 1, 1
    for start in range(1, limit):
        n, length = start, 1
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            length += 1
        if length > longest:
            best, longest = start, length
    return best, longest


def two_that_go_on_alike(x, y, n):
    """The same goes into the next round twice, but something else into the first."""
    while x < n:
        x = y = x + y
    return x, y


def changing_places(a, b):
    rounds = 0
    while a != b:
        a, b, rounds = (b, a - b, rounds + 1) if a > b else (b - a, a, rounds + 1)
    return a, rounds


def begins_as_another_kind(x, n):
    """What the loop is left with is NumPy's, what it begins with is Python's, and before the first round there is none."""
    last, k = -np.inf, 0
    while k < n:
        found = x.sum() * k
        if found - last < 1e-6:
            break
        last = found
        k += 1
    return found, last, k


def left_before(v, n):
    """Another kind where no round is made: a text, or nothing."""
    k, seen = 0, None
    while k < n:
        seen = v[k] * 2.0
        k += 1
    return seen


def asked_of_something_else(a, n):
    """The test in front of the loop is no test of what goes into it."""
    i = 0
    if n > 3:
        while True:
            i += a
            if i >= n:
                break
    return i


def with_an_else(a, n):
    t = 0
    while a < n:
        a = a * 2 + 1
        t += a
    else:
        t = -t
    return t, a


def nested(n, x):
    t = 0.0
    i = 0
    while i < n:
        j = i
        while j > 0:
            t += x[j] / (i + j)
            j -= 1
        i += 1
    return t, i


def three_ways(n):
    """Numbers that need more than 64 bits in some round."""
    k = 0
    while n > 1:
        n = n // 3 if n % 3 == 0 else n * n + k
        k += 1
    return n, k


def jumps(program, fuel):
    """A place that is an int of Python's at first, and known, and one of NumPy's later."""
    pc = steps = 0
    while pc < len(program) and fuel > 0:
        if program[pc] != 0:
            pc = program[pc]
            steps += 1
        pc += 1
        fuel -= 1
    return pc, steps, fuel


CASES = {
    "newton": (newton, [2.0, 1.0, 1e-300, np.float64(7.0), 1e6, 0.0], []),
    "harmonic": (harmonic, [(5.0, 0.0), (2.5, -3.0), (-1.0, 0.0)], [(5.0, -1.0), (0.0, -1.0)]),
    "collatz": (collatz, [1, 2, 3, 20], []),
    "two that go on alike": (two_that_go_on_alike, [(1, 3, 50), (5, 2, 4), (0, 1, 1)], []),
    "changing places": (changing_places, [(12, 18), (7, 7), (1, 9)], []),
    "asked of something else": (asked_of_something_else, [(2, 9), (2, 3), (5, 4)], []),
    "with an else": (with_an_else, [(1, 50), (7, 7), (9, 7)], [(1, 2**63 - 1)]),
    "nested": (nested, [(0, np.arange(6.0)), (1, np.arange(6.0)), (6, np.arange(6.0))], [(7, np.arange(6.0))]),
    "jumps": (jumps, [(np.array(p), n) for p in ([0, 0, 0], [0, 2, 0, 0], [0, -3, 0], [1, 0, -1]) for n in (0, 1, 4)], [(np.array([0, -9]), 5)]),
    "begins as another kind": (begins_as_another_kind, [(np.arange(3.0), 5), (np.zeros(3), 4), (np.arange(3.0), 1)], [(np.arange(3.0), 0)]),
    "left before": (left_before, [(np.arange(3.0), 3), (np.arange(3.0), 1)], []),
    "three ways": (three_ways, [1, 0, 3, 9, -5], []),
}


@pytest.mark.parametrize("name", CASES)
def test_while(name):
    fn, *calls = CASES[name]
    for bails, some in zip((False, True), calls):
        check(fn, *some, bails=bails, exact=name != "newton")


def test_the_test_is_the_condition():
    """Nothing goes round but what the loop is about."""
    text = hovis_xla.jit(newton).lower(2.0).as_text()
    (loop,) = [line for line in text.splitlines() if "stablehlo.while" in line]
    assert "tensor<i1>" not in loop
