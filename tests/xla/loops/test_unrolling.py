"""Counting loops that do several rounds at a time: every trip count, steps, branches, stores, carried values, exceptions."""
import operator

import numpy as np
import pytest

import hovis_xla
from hovis.ir.verifier import verify
from hovis_xla.analysis.ranges.intervals import before
from hovis_xla.loops.merge_exit_conditions import merge_exit_conditions
from hovis_xla.loops.unroll_counted import unroll_counted
from hovis_xla.loops.unroll_while import unroll_while
from tests.xla.harness.checking import agree


def total(n, x):
    s = 0.0
    for i in range(n):
        s = s * 0.5 + x[i]
    return s


def strided(a, b, x):
    s = 0
    for i in range(a, b, 3):
        s = s * 7 % 1009 + i
        if s % 2:
            x = x + s
        elif s % 5 == 1:
            continue
        x = x ^ i
    return s, x


def swaps(x):
    x = x.copy()
    for k in range(len(x) - 1):
        if x[k] > x[k + 1]:
            x[k], x[k + 1] = x[k + 1], x[k]
    return x


def fills(n, step):
    out = np.zeros(64, dtype=np.int64)
    i = 1
    while i < n:
        out[i] = out[i - 1] * 2 % 1000 + step
        i += 2
    return out, i


def nested(n, m):
    s = 0
    for i in range(n):
        for j in range(i, m):
            s = (s * 31 + i * j) % 10007
    return s


def first_time(n):
    last = None
    k = 0
    for k in range(5, n):
        last = k * 2
    return last is None, k


def downwards(n, stop, x):
    s = 0.0
    for i in range(n, stop, -2):
        s = s * 0.5 + x[i]
    return s


def downwards_ints(n, stop):
    s = 0
    for i in range(n, stop, -1):
        s = (s * 3 + i) % 1009
    return s


def recurrence(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, (a + b) % 1000003
    return a, b


def short(n):
    s = k = 0
    for i in range(n):
        for j in range(3):
            s = (s * 5 + i * j) % 1009
        for k in range(9, 2, -3):
            if s % 2:
                s += k
    return s, k


def around(n, x, places):
    """What is read was read or stored in the round before, unless something was stored there since."""
    x = x.copy()
    for i in range(2, n):
        before = x[i - 1]
        x[i] += before + x[i - 2]
        x[i - 1] = before * 0.5
        x[places[i]] = x[i] + 1.0
        x[i - 2] = x[i] - x[i - 1] * x[i + 1]
    return x


def table(n, x):
    d = np.zeros((n + 1, 6))
    for i in range(1, n + 1):
        for j in range(1, 6):
            d[i, j] = max(d[i - 1, j], d[i, j - 1] + x[i], d[i - 1, j - 1] - x[j])
            if d[i, j] > 1.0:
                d[i - 1, j] -= 1.0
    return d


def of_rows(starts, x):
    """A sum for each row, of which an array says where it begins."""
    sums = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            sums[i] -= x[k] / 3.0
    return sums


X = np.random.default_rng(5).random(40)
PLACES = np.random.default_rng(6).integers(0, 40, 40)


@pytest.mark.parametrize(("fn", "calls"), [
    (total, [(n, X) for n in (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 40, 41, 60, -3)]),
    (strided, [(0, n, 1) for n in (0, 1, 3, 11, 12, 13, 24, 50)] + [(-(2**63), -(2**63) + 7, 1), (2**63 - 9, 2**63 - 1, 3), (5, -(2**63), 2)]),
    (swaps, [(X,), (X[::-1].copy(),)]),
    (fills, [(n, 3) for n in (0, 2, 3, 5, 6, 9, 64, 65, 70)]),
    (nested, [(4, n) for n in range(10)] + [(20, 30)]),
    (first_time, [(n,) for n in (0, 5, 6, 9, 20)]),
    (downwards, [(n, -1, X) for n in (0, 1, 2, 5, 7, 8, 9, 15, 16, 17, 39, 60, -3)] + [(9, 2, X), (9, -5, X)]),
    (downwards_ints, [(n, 0) for n in (0, 1, 7, 8, 9, 30)] + [(2**63 - 1, 2**63 - 9), (-(2**63) + 7, -(2**63)), (-(2**63), 2**63 - 1)]),
    (recurrence, [(n,) for n in (0, 1, 5, 8, 9, 31)]),
    (short, [(n,) for n in (0, 1, 2, 20)]),
    (around, [(n, X, PLACES) for n in (0, 3, 6, 9, 39, 40)]),
    (table, [(n, X) for n in (0, 1, 2, 9, 39)]),
    (of_rows, [(np.cumsum([0, 0, 1, 3, 4, 5, 8, 9, 0, 7]), X), (np.array([5, 2, 40]), X), (np.array([0, 3, 41]), X), (np.array([], dtype=np.int64), X)]),
])  # fmt: skip
def test_rounds_at_a_time_are_the_same_rounds(fn, calls):
    jitted = hovis_xla.jit(fn, target="xla")
    for args in calls:
        agree(fn, jitted, *args)


@pytest.mark.parametrize("fn", [total, nested, recurrence, downwards])
def test_there_are_two_loops_for_one(fn):
    args = {total: (8, X), nested: (4, 9), recurrence: (9,), downwards: (9, -1, X)}[fn]
    function = hovis_xla.jit(fn).trace(*args).function
    made = unroll_counted(function)
    verify(made)
    assert len(list(made.ops())) > 2 * len(list(function.ops()))


@pytest.mark.parametrize(("fn", "args", "callee"), [(of_rows, (np.arange(7), X), operator.truediv), (recurrence, (31,), operator.mod)])
def test_eight_short_rounds_at_a_time(fn, args, callee):
    function = hovis_xla.jit(fn).trace(*args).function
    assert [sum(op.callee is callee for op in f.ops()) for f in (function, unroll_counted(function))] == [1, 9]


def test_what_acts_or_leaves_in_the_middle_stays_as_it_is():
    def prints(n):
        for i in range(n):
            print(i)

    def leaves(n, x):
        for i in range(n):
            if x[i] > 0.9:
                return i
        return -1

    for fn, args in ((prints, (9,)), (leaves, (9, X))):
        function = hovis_xla.jit(fn).trace(*args).function
        assert unroll_counted(function) is function
        agree(fn, hovis_xla.jit(fn, target="xla"), *args)


def escapes(cx, cy, most):
    x = y = 0.0
    n = 0
    while n < most and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    return n, x, y


def settles(x, least):
    """Left in the middle, at two places, with what only the last round has made: it stays as it is."""
    k = 0
    while True:
        y = 0.5 * (x + least)
        if abs(y - x) < 1e-3:
            return k, y, True
        if k > 20:
            break
        x = y
        k += 1
    return k, x, False


def falls(x, factor):
    while True:
        x = x * factor
        if x < 1e-3:
            return 1
        if x > 1e6:
            break
    return 2


def searches(x, wanted):
    for k in range(len(x)):
        if x[k] == wanted:
            return k
    return -1


def beyond(x, k):
    """Raises, if there is nothing of the kind."""
    while x[k] < 0.5:
        k += 1
    return k


def halves(x):
    """What a round goes on with is chosen by what is read: it is not selected for the next one."""
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < 0.5:
            low = middle + 1
        else:
            high = middle
    return low


def grows(x, most):
    """An int that may need more than 64 bits."""
    n = 0
    while x < most:
        x = 3 * x + n
        n += 1
    return x, n


@pytest.mark.parametrize(("fn", "calls", "repeats"), [
    (escapes, [(x / 7, y / 5, n) for x in (-9, 0, 2) for y in (-3, 0, 4) for n in (0, 1, 2, 3, 4, 5, 11)] + [(np.nan, 0.0, 5), (0.0, 0.0, 9)], True),
    (settles, [(x, 0.25) for x in (0.25, 1.0, 7.0, -1e3, 1e9, np.inf, np.nan)], False),
    (falls, [(x, 0.5) for x in (1.0, 7.0, 1e-5, 0.4, 1e5, -3.0, np.inf)] + [(x, 3.0) for x in (1e-9, 0.9, 1e9)], True),
    (searches, [(X, X[k]) for k in (0, 1, 2, 3, 4, 5, 38, 39)] + [(X, 2.0), (X[:1], 2.0)], False),
    (beyond, [(np.array([0.1] * n + [0.9] + [0.1] * 3), k) for n in range(7) for k in (0, 1)] + [(np.zeros(9), 5), (np.zeros(3), -9), (np.zeros(3), -2)], False),
    (halves, [(np.linspace(0.0, 1.0, n),) for n in (64, 1, 2, 7)] + [(np.zeros(5),), (np.ones(5),)], False),
    (grows, [(1, 10**k) for k in (0, 3, 18, 30)], False),
])  # fmt: skip
def test_loops_without_a_count_do_rounds_at_a_time_too(fn, calls, repeats):
    function = merge_exit_conditions(hovis_xla.jit(fn).trace(*calls[0]).function)
    made = unroll_while(function)
    verify(made)
    assert (made is not function) is repeats
    jitted = hovis_xla.jit(fn, target="xla")
    for args in calls:
        agree(fn, jitted, *args)


def test_a_bound_is_never_below_all_integers():
    least = -(2**63)
    assert [before(b, -3) for b in (10, 2**63 - 1, 2**63 - 3, -(2**63))] == [13, 2**63 - 1, 2**63 - 1, 3 - 2**63]
    assert [before(b, 3) for b in (10, least, least + 2, least + 5, 2**63 - 1)] == [7, least, least, least + 2, 2**63 - 4]
