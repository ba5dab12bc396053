"""Ranges and lists where NumPy makes arrays of them; generators over arrays."""
import numpy as np

import hovis_xla
from tests.xla.harness.checking import agree, check

A = np.array([1.5, -2.0, 0.25, 4.0, -0.0, 3.0])
M = np.arange(12.0).reshape(3, 4)


def test_ranges_are_stored_and_made_arrays():
    def fn(a, m):
        a[:3] = range(3)
        m[:, 1] = range(1, 6, 2)
        return np.array(range(4), dtype=np.float32), np.array([range(3), range(3, 6)])

    check(fn, (A, M))


def test_ranges_are_indices():
    def fn(a, m):
        m[range(2), range(1, 3)] = 7
        return a[range(5, 0, -2)], m[range(2)], np.concatenate([range(2), a])

    check(fn, (A, M))


def test_numbers_of_a_range_that_have_no_room():
    def fn(u, a):
        u[1:4] = range(3)
        a[range(0)] = 5
        u[:2] = range(254, 256)
        return u, np.array(range(254, 256), dtype=np.uint8)

    def too_large(u):
        u[0] = 7
        u[:2] = range(255, 257)
        return u

    check(fn, (A.astype(np.uint8), A))
    jitted = hovis_xla.jit(too_large)
    agree(too_large, jitted, np.zeros(3, np.uint8))
    agree(too_large, jitted, np.zeros(3, np.int16))


def test_a_range_of_unknown_length():
    def fn(n):
        return np.array(range(n + 2)), 2 in range(n)

    check(fn, 1, 3, 6)


def test_a_range_is_a_range_elsewhere():
    def fn(a, n):
        r = range(2, 9, 3)
        return r, n in r, len(r), r[1] + a[0], sum(r), list(r)

    check(fn, (A, 5), (A, 6))


def test_lists_among_what_is_joined():
    def fn(a, x, n):
        rows = np.stack([a, [1, 2, 3, 4, 5, n]]), np.vstack(([x] * 6, a)), np.column_stack([a, (n, 2, 3, 4, 5, 6)])
        return np.concatenate([a, [x]]), np.concatenate(([n], [1, 2])), np.hstack([[0], a, [x, n]]), rows

    check(fn, (A, 2.5, 3), (A, -0.0, 0))


def test_where_is_a_list():
    def fn(a, n):
        return np.sum(a, where=[True, False] * 3), a.any(where=[n > 1, True] * 3), np.max(a, where=[True, True, False] * 2, initial=-9)

    check(fn, (A, 1), (A, 2))


def test_generators_over_arrays_of_which_little_is_used():
    def fn(a, most):
        count = 0
        for _ in (v for v in a):
            count += 1
        return count, any(v > most for v in a), all(v > most for v in a), any(v == most for v in a if v > 0)

    big = np.arange(100.0)
    check(fn, (A, 0.0), (A, 4.0), (A, -5.0))
    check(fn, (big, 50.0), (big, 1000.0), (big, -1.0))


def test_tuples_of_numpys_numbers_are_not_ordered_by_bools():
    def fn(a):
        best = (a[0], 0)
        for k, x in enumerate(a):
            if (x, k) > best:
                best = (x, k)
        return best, max(zip(a, range(6))), (a[0], 1) < (a[1], 0)

    for target in ("python", "xla"):
        jitted = hovis_xla.jit(fn, target=target)
        agree(fn, jitted, A)
        agree(fn, jitted, -A)


def test_lists_of_the_callers_in_the_place_of_arrays():
    def reduced(values):
        total = 0.0
        for v in values:
            total += v * v
        return np.sum(values), np.mean(values), np.std(values), np.max(values), np.argmax(values), np.median(values), total

    def beside(values, a):
        return np.dot(values, a), np.multiply(a, values), np.interp(0.5, values, a), np.cumsum(values) + a, np.where(a > 1, values, a)

    def nested(rows, a):
        return np.mean(rows, axis=0), np.max([a, a * 2, rows[0]], axis=0), np.linalg.norm(rows), np.shape(rows), np.sort((rows[1][0], 3, a[1]))

    def changed(values):
        before = np.array_equal(values, [1, 2, 3]), np.sum(values)
        values[0] = values[0] + 10
        return before, np.sum(values), np.exp(values)

    a = np.arange(3.0)
    check(reduced, ([0.5, -2.0, 3.0],), ([1, 2, 2],), ([True, False, True],))
    check(beside, ([0.25, 1.0, 4.0], a), ([1, 2, 3], a), ((1.0, 2.0, 3.0), a.astype(np.float32)))
    check(nested, ([[1.0, 2.0, 0.5], [0.5, -1.0, 2.0]], a), ([[1, 2, 3], [4, 5, 6]], a))
    check(changed, ([1, 2, 3],))
    for fn, args in ((reduced, ([],)), (beside, ([1.0], a)), (nested, ([[1.0, 2.0], [3.0]], a))):
        agree(fn, hovis_xla.jit(fn, target="xla"), *args)
