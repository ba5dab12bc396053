"""Stores into arrays that the function has made: values, what is refused, and that no loop copies an array."""
import re

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check, outcome, same

pytestmark = pytest.mark.xla

X = np.random.default_rng(3).normal(size=12)


def test_one_store_after_the_other():
    def f(n):
        a = np.zeros(10)
        for i in range(n):
            a[i] = i * 2
            a[i] += 1.5
        return a
    check(f, 0, 7, bails=False)
    check(f, 11, bails=True)


def test_all_kinds_of_basic_indexes():
    def f(x, k):
        a = x.copy()
        a[0] = 1
        a[-1] = k
        a[2:4] = 7.0
        a[4:6] = a[0:2]
        a[1:9] = a[0:8]
        a[k] = a[k + 1]
        b = np.zeros((3, 4))
        b[0] = x[:4]
        b[1, 1:3] = 5
        b[:, 3] = x[:3]
        b[2, ...] = b[2] + x[4:8]
        b[k, k] -= 1
        b[k] = b[0]
        c = np.full((2, 2), 3)
        c[...] = k
        c[1, 0] = 9
        return a, b, c
    check(f, (X, 2), (X, 0), (X, -1), bails=False)
    check(f, (X, 40), bails=True)


def test_places_that_are_known():
    def f(x, flag):
        a = np.zeros(6)
        for k in (5, 0, 3, 1):
            a[k] += x[k]
        before = a * 2
        a[2:5] = a[1:4] + x[:3]
        a[4] -= a[-1]
        a[::2] *= 3.0
        b = x.reshape(3, 2, 2)[:]
        c = np.zeros((3, 2, 2))
        for i in range(3):
            for j in range(2):
                c[i, j] += b[i, j] @ b[2 - i, j]
            c[i, :, 1] += 1.0
        if flag:
            c[1, 1, 1] = a[4]
            a[0] = c[1, 1, 1] + c[0, 1].sum()
        c[:2, 0] = c[1:, 1]
        z = np.zeros(4, complex)
        z[1], z[-1] = 2j, x[0]
        z[1] += 1
        return a, before, c, z, np.sum(c[1:, 1]), a[1:3]
    check(f, (X, True), (X, False), bails=False)
    text = hovis_xla.jit(f).lower(X, True).as_text()
    assert "dynamic_update_slice" not in text.partition("stablehlo.if")[0]


@pytest.mark.parametrize("dtype", ["i8", "i1", "u1", "u8", "f4", "f8", "?", "c16"])
@pytest.mark.parametrize("value", [3, -1, 300, 2.7, float("nan"), 1e30, True, np.float32(2.5), np.int64(-7), np.uint8(200)])
def test_what_is_stored_becomes_the_dtype(dtype, value):
    scope = {"np": np}
    exec(f"def f(v, i):\n    a = np.zeros(3, np.{np.dtype(dtype).type.__name__})\n    a[i] = v\n    return a\n", scope)
    check(scope["f"], (value, 1))


def test_arrays_are_cast_and_broadcast():
    def f(x, y):
        a = np.zeros((3, 4), np.int32)
        a[1:] = x
        b = np.empty((2, 3))
        b[:] = y
        return a, b
    check(f, (np.array([1.7, -2.2, 3.0, 9.9]), np.arange(6).reshape(1, 2, 3)))


def test_under_a_branch():
    def f(x, n):
        a = x.copy()
        for i in range(n):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
            elif a[i] < 0:
                a[i] = 0.0
            else:
                a[i] += 1
        return a, a.sum()
    check(f, (X, 0), (X, 11), bails=False)
    check(f, (X, 12), bails=True)


def test_one_side_stores_and_there_is_a_break():
    def f(x, n):
        a = np.zeros(12)
        count = 0
        for i in range(n):
            if x[i] > 1.0:
                a[i] = -1
                break
            if x[i] > 0:
                a[count] = x[i]
                count += 1
        return a, count
    check(f, (X, 12), (np.abs(X) / 9, 12), (X, 0), bails=False)


def test_nested_loops_over_two_arrays():
    def f(x, n):
        d = np.zeros((13, 13))
        best = np.zeros(13)
        for i in range(n):
            for j in range(n):
                if x[i] > x[j]:
                    d[i + 1, j + 1] = d[i, j] + 1
                else:
                    d[i + 1, j + 1] = d[i, j + 1] if d[i, j + 1] > d[i + 1, j] else d[i + 1, j]
                if d[i + 1, j + 1] > best[i]:
                    best[i] = d[i + 1, j + 1]
        return d[n, n], best
    check(f, (X, 12), (X, 1), (X, 0), bails=False)


def test_the_same_loops_of_known_length():
    def f(x):
        d = np.zeros((13, 13))
        for i in range(12):
            for j in range(12):
                if x[i] > x[j]:
                    d[i + 1, j + 1] = d[i, j] + 1
                else:
                    d[i + 1, j + 1] = d[i, j + 1]
        return d
    check(f, X)


def test_a_new_array_in_the_loop():
    def f(x, n):
        a = x * 2
        for i in range(n):
            a[i] = i
            a = a + 1
            a[0] = a[1]
        return a
    check(f, (X, 0), (X, 5), bails=False)


def test_views_between_stores():
    def f(x, i):
        a = x.copy()
        first = a[1:4].sum()
        a[i] = 100.0
        second = a[1:4].sum()
        return first, second, (a,)
    check(f, (X, 2), bails=False)


def test_in_a_tuple_before_the_store():
    def f(x, i):
        a = x.copy()
        t = (a, 1)
        a[i] = 3.0
        return t
    check(f, (X, 2), bails=False)


def test_stores_and_print():
    def f(n):
        a = np.zeros(4)
        a[0] = n
        print("first", a[0])
        return a
    check(f, 3)


def test_a_matrix_row_by_row():
    def f(m, n):
        out = np.empty((4, 3))
        for i in range(n):
            out[i] = m[i] * 2
        return out
    check(f, (np.arange(12.0).reshape(4, 3), 4), bails=False)


MEANT = []


def kept(fn):
    MEANT.append(fn)
    return fn


@kept
def into_an_argument(x, i):
    x[i] = 1.0
    return x


@kept
def into_a_view(x, i):
    a = x.copy()
    b = a[1:]
    b[i] = 3.0
    return a


@kept
def with_a_view_alive(x, i):
    a = x.copy()
    b = a[1:]
    a[i] = 3.0
    return b + 1


@kept
def a_row_in_place(x, i):
    a = np.zeros((4, 12))
    a[i] += x
    return a


@kept
def perhaps_an_argument(x, i):
    a = x
    if i > 1:
        a = x.copy()
    a[i] = 3.0
    return a + 0


@kept
def one_of_two(x, i):
    a, b = x.copy(), x + 1
    c = a if i > 1 else b
    c[i] = 3.0
    return a, b


@kept
def exchanged(x, n):
    a, b = x.copy(), x + 1
    for i in range(n):
        a[i] = b[i] * 2
        a, b = b, a
    return a - b


@kept
def every_second(x, i):
    a = x.copy()
    a[::2] = 1.0
    return a + i


@kept
def of_unknown_origin(x, i):
    a = np.asarray(x)
    a[i] = 3.0
    return a + 0


@pytest.mark.parametrize("fn", MEANT, ids=lambda f: f.__name__)
def test_which_array_is_meant(fn):
    check(fn, (X.copy(), 3), (X.copy(), 0), (X.copy(), 1))


def swaps(x, n):
    a = x.copy()
    for i in range(n):
        j = (i * 7919) % n
        a[i], a[j] = a[j], a[i]
    return a


def bubble(x, n):
    a = x.copy()
    for i in range(n):
        for j in range(10):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def histogram(x, n):
    counts = np.zeros(100000, dtype=int)
    for i in range(n):
        counts[i % 100] += 1
    return counts


def flat(x, n):
    a = np.zeros(100000)
    for i in range(1000):
        a[i + 1] = a[i] + 1
    return a


@pytest.mark.parametrize("fn", [swaps, bubble, histogram, flat], ids=lambda f: f.__name__)
def test_no_loop_copies_the_array(fn):
    x = np.random.default_rng(0).normal(size=100000)
    compiled = hovis_xla.jit(fn, strict=True).lower(x, 500).compile()
    assert np.array_equal(compiled(x, 500), fn(x, 500))
    copies = re.findall(r"\[100000\]\S* copy\(", compiled.as_text())
    assert len(copies) <= 1


@pytest.mark.parametrize("casting", ["no", "same_kind", "unsafe"])
def test_out_keeps_what_is_masked(casting):
    """Where ``where=`` does not hold, what was there stays; and ``casting=`` is asked."""
    def masked(a, b, mask, out):
        np.add(a, b, out=out, where=mask, casting=casting)
        np.logical_and(a, b, out=a, where=mask)
        return out

    rows, mask = np.array([[1.0, 2.5, 0.0], [3.0, 0.0, 5.0]]), np.array([[True], [False]])
    for dtype in ("f8", "f4", "i8"):
        jitted = hovis_xla.jit(masked, target="xla")
        agree(masked, jitted, rows, rows[0].copy(), mask, np.full((2, 3), 7, dtype))
        agree(masked, jitted, rows, rows[0].copy(), rows > 1, np.full((2, 3), 7, dtype))


@pytest.mark.parametrize("order", [np.ascontiguousarray, np.asfortranarray])
def test_arrays_put_in_order_are_copies_where_they_have_to_be(order):
    def kept(x):
        return order(x), order(x.sum()), order(2)

    def stored(x):
        y = order(x)
        y[...] = 7
        return y.sum(), x.sum()

    table = np.arange(12.0).reshape(3, 4)
    for x in (table, table.T, table[..., 0], table[0], np.array(3.0)):
        for fn in (kept, stored):
            outcomes = [outcome(lambda base, fn=f, like=x: fn(_like(base, like)), (table.copy(),)) for f in (fn, hovis_xla.jit(fn, target="xla"))]
            assert same(outcomes[0][0], outcomes[1][0]), (x, outcomes)
            assert same(outcomes[0][2:], outcomes[1][2:]), (x, outcomes)


def _like(base, array):
    """The part of base that array is of its own."""
    return np.lib.stride_tricks.as_strided(base, array.shape, array.strides)


def test_parts_of_what_numpy_makes_are_arrays_of_their_own():
    def f(x):
        a = np.zeros(x.shape)
        a += x
        counts = np.histogram(a, bins=4, range=(0, 25))[0]
        whole, rest = np.divmod(a, 2.0)
        rest[0] += 1.0
        return a, counts, whole, rest

    check(f, (np.arange(20.0).reshape(4, 5),), bails=False)
