"""Loops that begin with a choice: what tracing puts in front of them is done in their first round, and they count."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check


def histogram(x, low, high):
    counts = np.zeros(4, dtype=np.int64)
    for v in x:
        k = int((v - low) / (high - low) * 4)
        if k == 4:
            k -= 1
        counts[k] += 1
    return counts


def by_sign(x):
    up = down = 0.0
    for v in x:
        if v > 0.0:
            up += v
        else:
            down -= v * 2
    return up, down


def changed_on_the_way(x):
    """The first round has stored when the second one reads."""
    for k in range(len(x) - 1):
        if x[k] > x[k + 1]:
            x[k + 1] += x[k]
        x[k] = 2 * x[k + 1]
    return x


def stored_in_front(x):
    x[0] = -x[0]
    t = 0.0
    for k in range(len(x)):
        if x[k] < 0.0:
            t += 1.0
        x[k] = t
    return x, t


def with_what_it_was(x):
    """What a round finds out is used by the next one, and behind the loop."""
    last = 0
    runs = 1
    for k in range(1, len(x)):
        same = x[k] == x[last]
        if not same:
            last = k
            runs += 1
    return last, runs, k, same


def two_choices(x, y):
    least = most = x[0]
    for k in range(len(x)):
        if x[k] < least:
            least = x[k]
        elif x[k] > most:
            most = x[k]
        if y[k] > 3:
            y[k] = 3
    return least, most, y


def first_of_its_kind(x, out):
    """The first round alone stores on its way."""
    first, total = True, 0.0
    for v in x:
        if v > 0.0:
            if first:
                out[0] = 7.0
            total += v
        first = False
    return total, out


def sums_of_sums(x, n):
    """Each round begins with a loop, and adds to an array that goes round."""
    total = np.zeros(3)
    for v in x:
        part = np.zeros(3)
        for k in range(n):
            part[k % 3] += v * k
        total += part
    return total


def made_anew(x, n):
    total, before = np.zeros(3), np.ones(3)
    for v in x:
        part = np.zeros(3)
        for k in range(n):
            part += v
        total, before = before + part, total
    return total - 2 * before


def of_another_shape(x, n):
    total = np.zeros((1, 3))
    for v in x:
        part = np.zeros((2, 3))
        for k in range(n):
            part[k % 2] += v + k
        total = total + part
    return total


def kept_as_it_was(x, n):
    total = np.zeros(3)
    old = total
    for v in x:
        for k in range(n):
            total[k % 3] += v
        old, total = total, total * 2
    return old + 3 * total


def row_by_row(x, y):
    """Each round begins with a store, and a loop."""
    above = np.arange(len(y) + 1)
    row = np.zeros_like(above)
    for i in range(len(x)):
        row[0] = i + 1
        for j in range(len(y)):
            row[j + 1] = min(above[j + 1] + 1, row[j] + 1, above[j] + (x[i] != y[j]))
        above[:] = row
    return above, row


X = np.array([0.5, -1.5, 2.0, 3.0, -0.0, 1.0, 7.5, -2.0, 4.0, 0.25, 9.0])
CASES = {
    "histogram": (histogram, [(X[:n], -2.0, 9.0) for n in (11, 1, 2)], [(np.where(X == 9.0, x, X), -2.0, 9.0) for x in (np.nan, np.inf, 1e9, -1e9)]),
    "by sign": (by_sign, [X, X[:1], -X, X[:0], np.array([np.nan, 1.0])], []),
    "changed on the way": (changed_on_the_way, [X, X[::-1].copy(), X[:1], X[:2]], []),
    "stored in front": (stored_in_front, [X, -X, X[:1]], []),
    "with what it was": (with_what_it_was, [np.array(a) for a in ([1, 1, 2, 2, 2, 3], [1, 2], [5, 5])], []),
    "first of its kind": (first_of_its_kind, [(X, np.zeros(1)), (-X, np.zeros(1)), (X[:0], np.zeros(1))], []),
    "sums of sums": (sums_of_sums, [(X, 4), (X[:1], 2), (X, 0), (X[:0], 3)], []),
    "made anew": (made_anew, [(X, 4), (X[:1], 2), (X[:2], 0)], []),
    "of another shape": (of_another_shape, [(X, 4), (X[:1], 2)], []),
    "row by row": (row_by_row, [(X, X[3:]), (X[:1], X), (X[:0], X), (X, X[:0])], []),
    "kept as it was": (kept_as_it_was, [(X, 4), (X[:1], 0)], []),
    "two choices": (two_choices, [(X, np.arange(11)), (X[:3], np.arange(3) + 2)], []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loop_that_begins_with_a_choice_or_a_loop(name):
    fn, good, bad = CASES[name]
    check(fn, *good, bails=False, exact=True)
    check(fn, *bad, bails=True)


def test_it_counts():
    """One loop does several rounds at a time, and one the rest: no flag says what the next round does."""
    text = hovis_xla.jit(by_sign).lower(np.arange(100.0)).as_text()
    assert sum("stablehlo.while" in line for line in text.splitlines()) == 2


@pytest.mark.parametrize(("fn", "more"), [(sums_of_sums, 4), (row_by_row, np.arange(12.0))])
def test_a_loop_that_begins_with_a_loop_counts(fn, more):
    """No flag says what the next round does."""
    text = hovis_xla.jit(fn).lower(np.arange(20.0), more).as_text()
    assert not any("while" in line and "tensor<i1>" in line for line in text.splitlines())
