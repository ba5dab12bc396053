"""Functions of NumPy that call functions, operators with lists beside arrays, and order: compiled, against NumPy."""

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

A = np.array([1.5, -2.0, 0.25, 4.0, -0.0, 3.0])
I = np.array([3, 1, 2, 5])
M = np.arange(12.0).reshape(3, 4)
NAN = np.array([1.0, np.nan, 3.0, -1.0, 0.0, -0.0])


def halves(n):
    found = []
    while n > 0:
        found.append(n)
        n = n // 2
    return found


def in_pieces(a):
    signs = np.piecewise(a, [a < 0, a >= 0], [-1, 1])
    return signs, np.piecewise(a, [a < 0, a > 2], [lambda v: -v, lambda v, k: v * k, 7.0], 3), np.piecewise(a, a > 1, [np.sqrt, 0.5])


def along_rows(m):
    return np.apply_along_axis(lambda r: r / r.sum(), 1, m), np.apply_along_axis(np.sum, 0, m), np.apply_along_axis(lambda r, k: r[:2] * k, -2, m, 2)


def from_iterators(a, n):
    first = np.fromiter((v * v for v in a), float, len(a)), np.fromiter((v for v in a if v > 0), np.float32)
    return first, np.fromiter((k * 0.75 for k in range(n)), dtype=int), np.fromiter(map(abs, a), bool, count=3)


@np.vectorize
def clipped(v, most):
    return v if v < most else most


def element_by_element(a, m, k):
    whole = np.vectorize(lambda v: v * v if v > 0 else 0.0)(a), np.vectorize(lambda v: int(v), otypes=[float])(m)
    return whole, clipped(m, 5.5), clipped(k, 2)


def beside(a, m, k):
    a += range(6)
    rows = m.reshape(4, 3) ** [1, 2, k], m[:, :2] + [[k], [1], [True]]
    return a * [1, 2, 3, 4, 5, 6], (1, 2, 3, 4, 5, 6.5) - a, a <= [1.5] * 6, a @ [1, 0, 2, 0, 1, 0], rows, range(6) / a


def rows(a, x, m):
    mixed = np.r_[a, x, 0], np.r_[a.astype("f4"), x], np.r_[a > 0, True], np.r_[x, 3]
    return mixed, np.r_[0:3, a], np.r_[1:5, 7] * x, np.r_[m, m], np.r_[a]


def columns(a, m, i):
    return np.c_[a, a * 2], np.c_[np.ones(3), m], np.c_[0:4, i], np.c_[i, i * 0.5]


def in_order(a):
    by_value = sorted(range(len(a)), key=lambda k: a[k]), sorted(range(6), key=lambda k: a[k], reverse=True)
    return by_value, sorted([(v * v, k) for k, v in enumerate(a)]), min((v * v, k) for k, v in enumerate(a)), max(zip(a, range(6)))


def lists_in_order(n):
    p = halves(n)
    p.sort()
    q = [(x % 3, x) for x in p]
    p.sort(reverse=True)
    return p, sorted(q), sorted(p, key=lambda x: -x % 3), sorted(q, reverse=True)[:1]


def queue(n):
    p, seen = halves(n), []
    while p:
        seen.append(p.pop(0))
        if len(p) > 2:
            p.insert(1, 7)
            p.insert(-90, 8)
        if len(seen) > 20:
            break
    return seen, p


def as_lists(a):
    p, q = list(a), a[1:].tolist()
    return p[0] + p[-1], len(p), sum(q), [x for x in q if x > 0], list(a), round(int(a[3]) * np.int64(2))


def long_ones(a):
    p, s = a.tolist(), 0.0
    for k in range(len(p)):
        s += p[k] * p[-1 - k]
    return s, sum(v for v in list(a) if v > 3)


@pytest.mark.parametrize(("fn", "calls"), [
    (in_pieces, [(A,), (NAN,)]),
    (along_rows, [(M,), (M.astype(int),)]),
    (from_iterators, [(A, 5), (A, 0)]),
    (element_by_element, [(A, M, I), (NAN, -M, -I)]),
    (beside, [(A, M, 2), (NAN, M, 0)]),
    (rows, [(A, 2.5, M), (NAN, -0.0, M)]),
    (columns, [(A, M, I)]),
    (in_order, [(A,), (np.zeros(6),)]),
    (lists_in_order, [(10,), (300,), (0,)]),
    (queue, [(10,), (300,), (0,)]),
    (as_lists, [(A,)]),
    (long_ones, [(np.arange(90.0),)]),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_compiled(fn, calls):
    check(fn, *calls)


def prints(a):
    print(*a, sep=", ")
    print("x", *a[:2], end="!\n")
    return max(*a), [*a, 1.0]


def calls_in_order(a):
    def told(v):
        print("told", v)
        return v * 2

    return np.vectorize(told)(a[:3]), np.apply_along_axis(lambda r: told(r.sum()), 0, a.reshape(2, 3))


@pytest.mark.parametrize("fn", [prints, calls_in_order])
def test_what_is_printed(fn):
    agree(fn, hovis_xla.jit(fn, target="xla"), A)


def too_short(a):
    return np.fromiter((v for v in a), float, 9)


def of_other_lengths(a):
    return a + [1, 2]


def of_other_ranks(a):
    return np.r_[a.reshape(2, 3), a]


def with_directions(a):
    return np.r_["0,2", a, a], np.r_[0:1:5j], np.r_[[1, 2], a]


def past_a_byte(a):
    return np.r_[a.astype("u1"), 300]


def too_many(a):
    return np.piecewise(a, [a < 0], [1, 2, 3])


def none_at_all(a):
    return [x for x in None]


def of_nothing(a):
    return np.fromiter([None, 2], float), np.fromiter(["3"], int)


def of_pairs(a):
    return np.vectorize(lambda v: (v, v + 1))(a), np.vectorize(lambda v, k=1: str(v))(a)


def of_matrices(a):
    return np.apply_along_axis(np.asmatrix, 1, a.reshape(2, 3))


def nan_as_int(a):
    return np.fromiter((v for v in a), int)


@pytest.mark.parametrize("fn", [too_short, of_other_lengths, of_other_ranks, with_directions, past_a_byte, too_many, none_at_all, of_nothing, of_pairs, of_matrices, nan_as_int])
def test_what_python_does(fn):
    jitted = hovis_xla.jit(fn)
    agree(fn, jitted, A)
    agree(fn, jitted, NAN)
