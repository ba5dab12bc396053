"""Indices that are looked at once, in front of a counting loop: what fails in some round fails, where and when Python's does, and no other."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check, outcome


def total(n, a):
    t = 0.0
    for i in range(n):
        t += a[i]
    return t


def by_threes(low, high, a, b):
    for i in range(low, high, 3):
        b[i] = a[i + 2] + a[i - 1]
    return b


def down(weight, room, best):
    for k in range(room, weight - 1, -1):
        best[k] = max(best[k], best[k - weight] + 1)
    return best


def while_less(i, last, a):
    t = 0.0
    while i <= last:
        t += a[i] * a[2 * i]
        i += 1
    return t, i


def greater(i, end, a):
    found = 0
    while end > i:
        found = found * 3 % 1001 + a[i - end]
        i += 5
    return found


def under_a_condition(n, which, a):
    t = 0.0
    for i in range(n):
        if which[i] > 0:
            t += a[i + which[i]]
    return t


def left_early(n, a):
    for i in range(n):
        if a[i] < 0:
            return i
    return -1


def one_behind_the_other(n, m, a, b):
    for i in range(n):
        a[i] += 1
    for i in range(m):
        b[i] += a[0]
    return a, b


def nested(n, m, a):
    t = 0
    for i in range(n):
        for j in range(m):
            t += a[i, j] * a[j, i]
    return t


A = np.arange(20.0)
CASES = {
    "total": (total, [(n, A) for n in (-3, 0, 1, 7, 8, 19, 20, 21, 29)]),
    "total of nothing": (total, [(n, A[:0]) for n in (-1, 0, 1)]),
    "far too many": (total, [(2**31, A)]),
    "by threes": (by_threes, [(low, high, A, np.zeros(20)) for low in (-20, -19, -18, 0, 1) for high in (-25, 0, 17, 18, 19, 20, 22)]),
    "down": (down, [(np.int64(w), k, np.arange(20)) for w in (-20, -1, 0, 2, 20, 21) for k in (-21, -20, 0, 19, 20)]),
    "down by much": (down, [(np.int64(w), 5, np.arange(20)) for w in (-(2**63), 2**63 - 1)]),
    "while": (while_less, [(i, k, A) for i in (-11, -10, 0, 5) for k in (-12, -1, 0, 9, 10, 11)]),
    "greater": (greater, [(i, end, np.arange(20)) for i in (-7, 0, 3) for end in (-7, 12, 13, 14, 20, 21)]),
    "under a condition": (under_a_condition, [(n, np.array([1, 0, 3, 2, 1, 0]), A[:k]) for n in (5, 6, 7) for k in (4, 5, 6)]),
    "left early": (left_early, [(n, np.array([1.0, 2.0, x])) for n in (2, 3, 4) for x in (3.0, -3.0)]),
    "one behind the other": (one_behind_the_other, [(n, m, np.arange(5), np.arange(6)) for n in (4, 5, 6) for m in (5, 6, 7)]),
    "nested": (nested, [(n, m, np.arange(12).reshape(3, 4)) for n in (0, 3, 4) for m in (0, 3, 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_round_that_fails(name):
    """XLA gives up where Python raises, and nowhere else."""
    fn, arguments = CASES[name]
    raising = [outcome(fn, args)[0][0] == "raised" for args in arguments]
    for bails in (False, True):
        check(fn, *(args for args, raises in zip(arguments, raising) if raises is bails), bails=bails)


@pytest.mark.parametrize("name", ["by threes", "down"])
def test_no_flag_goes_round(name):
    fn, arguments = CASES[name]
    text = hovis_xla.jit(fn).lower(*arguments[-1]).as_text()
    loops = [line for line in text.splitlines() if "stablehlo.while" in line]
    assert loops
    assert not any("tensor<i1>" in line for line in loops)
