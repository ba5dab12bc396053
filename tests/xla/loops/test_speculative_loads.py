"""Loops whose tests read arrays: they go round, are left and fail where Python's do, and arrays are as Python's then."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import check, outcome


def first_not_below(x, pivot, i):
    while x[i] < pivot:
        i += 1
    return i


def last_not_above(x, pivot, i):
    while not x[i] <= pivot:
        i -= 1
    return i


def place_of(x, value, i, n):
    while i < n and x[i] != value:
        i += 1
    return i


def place_in_a_row(a, k, value, n):
    j = 0
    while j < n and a[k, j] != value:
        j += 1
    return j


def between(x, low, high, i):
    """Both parts read."""
    while x[i] > low and x[i + 1] < high:
        i += 1
    return i


def insertion_sort(x):
    for i in range(1, len(x)):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value


def sorted_from_the_left(x, n):
    for i in range(1, n):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j], x[j - 1]
            j -= 1


def shifted(x, by, value, j):
    """What is read, and where is stored, may be out of range."""
    while j >= 1 and x[j - by] > value:
        x[j] = x[j - by]
        j -= 1
    return j


def root(parent, a):
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


def partition(x, low, high):
    pivot = x[(low + high) // 2]
    i, j = low, high
    while i <= j:
        while x[i] < pivot:
            i += 1
        while x[j] > pivot:
            j -= 1
        if i <= j:
            x[i], x[j] = x[j], x[i]
            i += 1
            j -= 1
    return i, j


def stored_between(x, pivot, i):
    """What is asked in front of the loop is another thing by then."""
    if x[i] < pivot:
        x[i] = pivot + 1.0
        while True:
            x[i] += 1.0
            i += 1
            if not x[i] < pivot:
                break
    return i


def stored_behind(x, pivot, i):
    """What the test reads is stored into behind it."""
    v = x[i]
    while v < pivot:
        i += 1
        v = x[i]
        x[i] = v + 10.0
    return i, v


def under_something_else(flag, x, pivot):
    """The test is asked where something else is, and what that leads to is where the loop does."""
    i = 0
    if flag > 3:
        while x[i] < pivot:
            i += 1
    return i


def read_before(x, k, pivot):
    """An element that nobody uses may be missing."""
    i = 0
    x[k]
    if x[0] < pivot:
        x[k + 1]
        while x[i] < pivot:
            i += 1
    return i


def left_twice(x, pivot, i):
    while x[i] < pivot:
        i += 1
        if x[i] == 3.0:
            return -i
    return i


def counted(x, pivot, i):
    """An int may need more than 64 bits in the round that fails."""
    n = 2**62
    while x[i] < pivot:
        i += 1
        n += 2**60
    return i, n


def flags(found, i):
    while found[i]:
        i += 1
    return i


X = np.array([1.0, 2.0, 3.0, 4.0, 3.5, 0.5])
M = X[:4].reshape(2, 2)
CASES = {
    "first not below": (first_not_below, [(X, p, i) for p in (0.0, 1.0, 3.6, 4.5, np.nan) for i in (-7, -6, -2, 0, 3, 5, 6)]),
    "last not above": (last_not_above, [(X, p, i) for p in (0.1, 0.5, 2.0, 9.0) for i in (-7, -6, -1, 0, 4, 5, 6)]),
    "place of": (place_of, [(X, v, i, n) for v in (1.0, 3.5, 7.0) for i in (-7, -2, 0, 5, 6, 8) for n in (-1, 0, 5, 6, 7)]),
    "place in an empty one": (place_of, [(X[:0], 1.0, i, n) for i in (0, 1) for n in (0, 1, 2)]),
    "place in a row": (place_in_a_row, [(M, k, v, n) for k in (-3, -1, 0, 1, 2) for v in (2.0, 9.0) for n in (0, 2, 3)]),
    "between": (between, [(X, low, high, i) for low in (0.0, 2.5) for high in (2.5, 9.0) for i in (-7, -6, -1, 0, 2, 4, 5, 6)]),
    "insertion sort": (insertion_sort, [(x,) for x in (X, X[::-1].copy(), X[:1], X[:0], np.array([2.0, np.nan, 1.0]))]),
    "sorted from the left": (sorted_from_the_left, [(X, n) for n in (0, 1, 2, 5, 6, 7)]),
    "shifted": (shifted, [(X, by, v, j) for by in (-1, 1, 2, 9) for v in (0.0, 2.5) for j in (-3, 0, 1, 4, 5, 6, 7)]),
    "root": (root, [(np.array(p), a) for p in ([0, 0, 1, 2], [-4, 0, 1, 4], [1, 2, 3, 3], [0, -5, 1, 2]) for a in (-5, -1, 0, 3, 4)]),
    "partition": (partition, [(x, a, b) for x in (X, X[::-1].copy(), np.array([1.0, np.nan, 0.0])) for a in (0, 1) for b in (2, 5, 6)]),
    "stored between": (stored_between, [(X, p, i) for p in (0.0, 2.0, 3.7, 9.0) for i in (-1, 0, 2, 5)]),
    "stored behind": (stored_behind, [(X, p, i) for p in (0.0, 2.0, 9.0) for i in (-1, 0, 2, 5)]),
    "under something else": (under_something_else, [(f, X, p) for f in (0, 4) for p in (0.0, 3.0, 9.0)]),
    "read before": (read_before, [(X, k, p) for k in (0, 4, 5, 6) for p in (0.0, 3.0, 9.0)]),
    "left twice": (left_twice, [(X, p, i) for p in (1.5, 2.5, 9.0) for i in (0, 2, 3, 5)]),
    "counted": (counted, [(X, p, 0) for p in (2.0, 3.0, 9.0)] + [(np.zeros(9), 1.0, 0)]),
    "flags": (flags, [(np.array(f, dtype=np.bool_), i) for f in ([1, 1, 0], [1, 1, 1]) for i in (-1, 0, 2, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_test_that_reads(name):
    """XLA gives up where Python raises (or needs more than 64 bits), and nowhere else."""
    fn, arguments = CASES[name]
    if name == "counted":
        check(fn, *arguments[:2])
        check(fn, *arguments[2:], bails=True)
        return
    raising = [outcome(fn, args)[0][0] == "raised" for args in arguments]
    for bails in (False, True):
        some = [args for args, raises in zip(arguments, raising) if raises is bails]
        if some:
            check(fn, *some, bails=bails)


@pytest.mark.parametrize("name", ["first not below", "place of", "insertion sort", "flags"])
def test_no_flag_goes_round(name):
    """The innermost loop has its test at the head, the read and whether there is something to read included."""
    fn, arguments = CASES[name]
    text = hovis_xla.jit(fn).lower(*arguments[0]).as_text()
    loops = [line for line in text.splitlines() if "stablehlo.while" in line]
    assert loops
    assert "tensor<i1>" not in loops[-1]
