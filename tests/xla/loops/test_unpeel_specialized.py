"""Loops that tracing makes two of, as something is known at first: what Python gives, and that there is one."""
import math

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check


def longest_chain(limit):
    best, longest = 1, 1
    for start in range(1, limit):
        n, length = start, 1
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            length += 1
        if length > longest:
            best, longest = start, length
    return best, longest


def most_rounds(limit):
    """What is known at first is what a round may leave it at."""
    best = 0
    for k in range(limit):
        n, rounds = k, 0
        while n > 3:
            n, rounds = n // 3, rounds + 1
        if rounds > best:
            best = rounds
    return best


def not_what_it_was(limit):
    """The first loop is left with something else than the second goes on with."""
    best, other = 1, 5
    for start in range(1, limit):
        n, length = start, 1
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            length += 1
        if length > best:
            best, other = length, other + start
        else:
            other = other - 1
    return best, other


def floats(limit, step):
    best = 0.0
    for k in range(limit):
        x, rounds = k * step, 0.0
        while x > 1.0:
            x, rounds = x * 0.5, rounds + 1.0
        if rounds > best:
            best = rounds
    return best


def zeros_of_either_sign(values):
    best = -0.0
    for v in values:
        x = v
        while x > 2.0:
            x = x / 3.0
        if x > best:
            best = x
    return best, math.copysign(1.0, best)


def with_stores(x):
    best, found = 0, np.zeros(len(x), dtype=np.int64)
    for k in range(len(x)):
        n, rounds = x[k], 0
        while n > 1:
            n, rounds = n // 2, rounds + 1
        found[k] = best
        if rounds > best:
            best = rounds
    return best, found


X = np.array([0, 1, 1, 9, 2, 300])
CALLS = {
    longest_chain: (0, 1, 2, 3, 30, 700),
    most_rounds: (0, 1, 3, 5, 100),
    not_what_it_was: (0, 1, 2, 3, 30),
    floats: ((0, 0.5), (1, 0.5), (20, 0.5), (20, -1.0), (5, math.nan)),
    zeros_of_either_sign: (np.array([]), np.array([0.0]), np.array([-0.0, 0.0]), np.array([-1.0, math.nan, 7.0])),
    with_stores: (X, X[:0], X[:2], -X),
}


@pytest.mark.xla
@pytest.mark.parametrize("fn", CALLS, ids=lambda fn: fn.__name__)
def test_like_python(fn):
    check(fn, *(c if isinstance(c, tuple) else (c,) for c in CALLS[fn]))


@pytest.mark.xla
def test_there_is_one_loop_in_the_other():
    text = hovis_xla.jit(longest_chain, target="xla").lower(700).as_text()
    assert text.count("stablehlo.while") == 2


@pytest.mark.xla
def test_room_is_asked_for_once_and_in_time():
    def chain(n, most):
        rounds = 0
        while n != 1 and rounds < most:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            rounds += 1
        return n, rounds

    def grows(n, most):
        while n < most:
            n = 3 * n + 1
        return n

    edges = [2**k + d for k in (50, 52, 53, 54, 56, 60, 61, 62, 63, 64) for d in (-1, 0, 1)]
    check(chain, *((n, 100) for n in edges), (2**53 - 1, 1), (-(2**54) - 1, 7), (1, 5))
    check(grows, (1, 10), (1, 2**53), (1, 2**60), (1, 2**62), (1, 2**70), (-(2**53), -(2**54)), (2**53 - 2, 2**57))
