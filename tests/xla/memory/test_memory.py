"""Arrays that are stored into: arguments, views, views of views, and which of several is meant."""
import copy

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

R = np.random.default_rng(0)
CASES = []


def x(*shape):
    return R.normal(size=shape)


def case(*calls):
    def note(fn):
        CASES.append((fn, calls))
        return fn
    return note


@case((x(6), x(6)))
def in_place(a, b):
    a += b
    a[1:3] += b[1:3]
    a[0] -= 1
    v = a[2:]
    v *= 2
    a[b > 0] = 3.0
    np.add(a, b, out=a)
    return v.sum()


@case((x(6, 6),))
def rows(m):
    for row in m:
        row += 1
    for i in range(m.shape[0]):
        m[i, i] = 1
    m.T[0] = 7
    m[::2, ::-1][1] *= 3
    m[1::3, ::-2] = m[0, :3]


@case((x(6), x(6), 3), (x(6), x(6), 0), (x(6), x(6), 4))
def arguments_exchanged(a, b, n):
    for i in range(n):
        a, b = b, a
        a[0] = 1 + i
    a.fill(2)
    b[1] = 5
    return a, b


@case((x(8), 3), (x(8), 0))
def made_here_exchanged(a, n):
    b = np.zeros_like(a)
    a = a.copy()
    for _ in range(n):
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        a, b = b, a
    return a, b


@case((x(3, 3), x(3, 3), x(3), 4), (x(3, 3), x(3, 3), x(3), 0))
def layers(a, w, b, n):
    for _ in range(n):
        a = a @ w
        a += b
        a[a < 0] = 0
    return a


@case((x(5),), (np.arange(5.0),))
def views_of_views(a):
    v = a[1:4]
    w = v[::-1]
    w[0] = 9
    u = w[1:]
    u += 1
    return v, w, a, u


@case((x(4, 5),))
def views_returned(a):
    return a.T, a.reshape(-1), a.copy().T, a[2], a[None, :, 1], np.broadcast_to(a[0], (2, 5)), a.T.ravel(), np.flip(a, 1), np.diagonal(a)


@case((x(5), True), (x(5), False))
def known_choice(a, p):
    b = np.zeros(5)
    c = a if p else b
    c[0] = 5
    return c


@case((x(5), 1.0), (x(5), -1.0))
def choice(a, q):
    b = np.zeros(5)
    c = a if q > 0 else b
    c[0] = 5
    c += 1
    b[1] = 2
    return c, b


@case((x(5), 1.0), (x(5), -1.0))
def branches(a, q):
    if q > 0:
        a[0] = 1
    else:
        a[1:3] = 2
        a *= 2


@case((x(10), 4), (x(10), 0))
def new_and_old(a, n):
    prev, cur = a, a * 2
    for i in range(n):
        new = prev + cur
        new[0] = i
        prev, cur = cur, new
    return prev, cur


@case((x(6, 6), 5))
def seidel(a, n):
    for _ in range(n):
        for i in range(1, 5):
            for j in range(1, 5):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


@case((np.arange(6), np.array([1, 1, 3]), np.array([7, 8, 9])))
def index_arrays(a, i, v):
    a[i] = v
    a[i] += 1
    a.sort()


@case((x(4) + 1j * x(4),))
def parts_of_complex(z):
    z.real[1:] = 3
    z.imag[...] *= 2
    z *= 2
    return z.real


@case((x(4), 3), (x(4), 7))
def nothing_if_it_raises(a, i):
    a[0] = 5
    a[i] = 1


@case((np.asfortranarray(x(4, 4)),), (x(4, 4),), (x(8, 8)[::2, ::2],))
def layouts(a):
    a[1] = 2
    a += 1
    b = a.ravel()
    b[0] = 100


@case((x(4), x(4)))
def returned(a, b):
    a -= b
    return a


@case((x(4),))
def copies(a):
    return a, a.copy(), a[:], +a, np.asarray(a)


@case((x(4, 4), 2), (x(4, 4), -1))
def a_row(a, k):
    r = a[k]
    r[0] = 1
    r += 1
    a[k, 1] = 8
    return r


@case((x(4, 4), 3), (x(4, 4), 0))
def another_row_each_time(a, n):
    r = a[0]
    for i in range(n):
        r[1] = i
        r = a[i]
    r[2] = 5


@case((x(4), x(4), 2.0), (x(4), x(4), -2.0))
def exits(a, b, q):
    a[0] = 0
    if q > 0:
        b[0] = 1
        return a
    a[1] = 1
    return b


@case((x(3, 4), np.zeros((0, 4)), np.array(3.0)))
def odd_shapes(a, none, zero):
    none += 1
    none[:, 1] = 2
    zero += 2
    zero[...] = zero * 2
    a[1:1] = 5
    a[..., 0] = zero
    return none, zero


@case((x(3), 0), (x(3), 1))
def one_of_two_on_one_side(a, n):
    b = a[:1]
    c = a if n else b
    b += 1
    return b, c


@case((x(5), 0), (x(5), 2), (x(5), 5))
def one_of_two_after_a_loop(a, n):
    b, c = a[1:], a[:2]
    for k in range(n):
        if a[0] > k - 1:
            c = b
        c[0] += 3
    return c, b


@case((x(2, 3),), (x(2, 3).T,), (x(2, 3).T[::-1],))
def joined_in_the_order_of_its_parts(a):
    b = np.concatenate([a, a])
    c = b.ravel()
    c *= 2
    return b, c


@case((np.array(2.5),), (x(3),), (x(2, 3).T,))
def contiguous_has_dimensions(a):
    b = np.ascontiguousarray(a)
    b += 1
    return b, np.complex128(b), b.ndim, a


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda p: getattr(p, "__name__", ""))
def test_memory(fn, calls):
    check(fn, *calls)


def test_arguments_that_overlap():
    def f(a, b):
        a[1:] = b[:-1]
        a += b

    base = np.arange(9.0)
    again = base.copy()
    jitted = hovis_xla.jit(f, strict=True)
    jitted(x(8), x(8))
    jitted(base[1:], base[:-1])
    f(again[1:], again[:-1])
    assert np.array_equal(base, again)
    jitted(base, base)
    f(again, again)
    assert np.array_equal(base, again)


def test_what_may_not_be_written():
    a = np.arange(3.0)
    a.flags.writeable = False

    def f(a):
        a += 1

    jitted = hovis_xla.jit(f, strict=True)
    jitted(np.arange(3.0))
    with pytest.raises(ValueError, match="read-only"):
        jitted(a)


def test_a_global_array():
    def f(a):
        G[1] += a[0]
        return G.sum()

    G = np.zeros(4)
    jitted = hovis_xla.jit(f)
    assert [jitted(np.ones(2)), jitted(np.ones(2))] == [1.0, 2.0]
    assert G.tolist() == [0, 2, 0, 0]


def test_what_does_not_fit():
    def f(a, b):
        a += b

    for a, b in ((np.ones(4, np.float32), x(4)), (np.ones(4, int), x(4)), (x(4), x(5)), (x(4), x(1)), (x(1), x(4)), (np.ones(4, np.uint8), np.ones(4, bool))):
        agree(f, hovis_xla.jit(f), a, b)


def test_views_of_one_element_are_views():
    def turned(x):
        y = x[::-1]
        y += 1
        return y, x.sum()

    check(turned, (np.array([6]),), (np.array([6, 7]),))

    def grown(x):
        y = x.T
        y += 1
        return y, np.expand_dims(x, 0)

    check(grown, (np.array(6),), (np.array([6]),))


def test_what_is_as_wanted_is_the_very_array():
    def f(x):
        y, z = np.int64(x), np.atleast_1d(x)
        x[0] = 9
        return y, z, np.float64(x)

    check(f, (np.array([1, 2]),), (np.array([[1, 2]]),))


def test_a_view_that_is_no_place_is_not_returned_beside_its_array():
    def f(x):
        y = x + 1
        return y, y.reshape(y.shape[::-1], order="F"), np.diagonal(np.stack([y, y]))

    agree(f, hovis_xla.jit(f, target="xla"), np.ones((2, 3)))


def test_a_view_is_one_object_behind_a_branch():
    def chosen(x, v):
        whole = v[...]
        first = v[...]
        kept = whole if x else 0
        return whole, kept, first

    jitted = hovis_xla.jit(chosen, target="xla")
    v = np.arange(3.0)
    for x in (3, 0):
        agree(chosen, jitted, x, v)
        found = jitted(x, v)
        assert [found[0] is found[k] for k in (1, 2)] == [x == 3, False]


@pytest.mark.parametrize("make", [lambda x: x.copy(), lambda x: x[:], lambda x: np.array(x[0] + 1.0)])
def test_a_copy_has_the_same_numbers_but_is_another_array(make):
    def fn(x, k):
        v = make(x)
        kept = v if k > 1 else x
        a, b = v, kept
        for _ in range(k):
            a, b = b, a
        return v, kept, a, b

    jitted = hovis_xla.jit(fn, target="xla")
    for k in (0, 1, 2, 3):
        agree(fn, jitted, np.array([1.0, 2.0]), k)
        x = np.array([1.0, 2.0])
        v, kept, a, b = jitted(x, k)
        assert (kept is v, kept is x, a is v, b is kept) == (k > 1, k <= 1, k > 1 or k % 2 == 0, k > 1 or k % 2 == 0)


def test_a_view_that_is_chosen_is_the_very_one():
    """Also where it stands at a place that is known at run time only."""

    def one(x, n):
        v = x[n % 2]
        w = v if n != 1 else n
        return v, w

    def two(x, n):
        v, u = x[n % 2], x[n % 2]
        return v if n > 2 else u, v, u

    def last(x, n):
        w = v = None
        for i in range(n):
            w, v = v, x[i % 2]
        return w, v

    for fn in (one, two, last):
        jitted = hovis_xla.jit(fn, target="xla")
        for n in (3, 2, 1, 4):
            x = np.arange(6.0).reshape(2, 3)
            found, wanted = jitted(x, n), fn(x, n)
            assert [[a is b for a in found] for b in found] == [[a is b for a in wanted] for b in wanted]
            agree(fn, jitted, x, n)


LEVELS = np.arange(4.0)


def test_which_array_it_is():
    def same(x, y):
        return 1.0 if x is y else x @ y

    def filled(x, out=None):
        if out is None:
            out = np.empty_like(x)
        for i in range(len(x)):
            out[i] = x[i] * 2
        return out is x, out

    def told(x, y):
        x += y
        views = x[:] is x, x.T is x, x.reshape(4) is x, np.ravel(x) is x, x.squeeze() is x, x.astype(float) is x
        return views, np.asarray(x) is x, x.astype(float, copy=False) is x, np.multiply(x, 2.0, out=y) is y, x is not y, x is LEVELS, x

    def held(p, q):
        return p["w"] is q["w"], p["w"] + q["w"]

    x, y = np.arange(4.0), np.arange(4.0) + 1
    for fn, whole, others in (
        (same, (x, y), [(x, x)]), (filled, (x, y), [(x,), (x, x)]), (told, (x, y), [(x, x)]), (held, ({"w": x}, {"w": y}), [({"w": x}, {"w": x})]),
    ):  # fmt: skip
        hovis_xla.jit(fn, strict=True, target="xla")(*copy.deepcopy(whole))
        for calls in ([whole, *others], [*others[::-1], whole]):
            got = hovis_xla.jit(fn, target="xla")
            for args in (*calls, *calls):
                agree(fn, got, *args)
    got = hovis_xla.jit(lambda x, y: (x is LEVELS, y is LEVELS, x + y), target="xla")
    assert [got(a, b)[:2] for a, b in ((x, y), (LEVELS, y), (x, LEVELS), (y, x))] == [(False, False), (True, False), (False, True), (False, False)]


def _of_two_returns():
    """What is stored into, or what is made of it, by several returns."""

    def another(w, p, x):
        return (w * 2) if x > 0 else w

    def crossed(w, p, x):
        v = p * 3
        v[1] = 2
        return (w, v) if x > 0 else (v, w)

    def views(w, p, x):
        return (w[1:], w[:-1]) if x > 0 else (w[:-1], w[1:])

    def argument(w, p, x):
        return p if x > 0 else w

    def beside_another(w, p, x):
        return [p * 2, w] if x > 0 else [w, p * 3]

    def in_rounds(w, p, x):
        for i in range(3):
            w = w * i
            w[0] = x
            if w[1] > x:
                return w
            if w[2] > x:
                return p + i
        return p * 8

    def parts_of_an_argument(w, p, x):
        p[0] = x
        return (p[1:], w) if x > 0 else (p[::-1][1:], w)

    return another, crossed, views, argument, beside_another, in_rounds, parts_of_an_argument


@pytest.mark.parametrize("fn", _of_two_returns(), ids=lambda fn: fn.__name__)
def test_a_return_gives_what_it_returns(fn):
    """And nothing of what another return gives in its place: an array that is stored into, and another of its kind."""

    def stored(p, x):
        w = p * 2
        w[0] = 1
        return fn(w, p, x)

    jitted = hovis_xla.jit(stored, target="xla")
    for x in (1.0, -1.0, 3.0):
        agree(stored, jitted, np.array([2.0, -2.5, 0.5, -0.5]), x)


def test_stores_by_a_step_that_is_not_known():
    def part(a, start, stop, step):
        a[start:stop:step] = 7
        return a

    def sieve(n):
        prime = np.ones(n + 1, dtype=bool)
        prime[:2] = False
        p = 2
        while p * p <= n:
            if prime[p]:
                prime[p * p :: p] = False
            p += 1
        return np.nonzero(prime)[0]

    def rows(a, step, value):
        a[1, ::step] = value
        a[::step] = value + 1
        a[:, 1::step] = 0
        return a

    check(sieve, (200,), (4,), (2,))
    check(rows, *((np.arange(12.0).reshape(3, 4), step, 0.5) for step in (1, 2, 3, 9)))
    jitted = hovis_xla.jit(part, target="xla")
    for start in (-12, -3, 0, 9, 20):
        for stop in (-12, -2, 0, 5, 30):
            for step in (1, 3, 11, -2, 0):
                agree(part, jitted, np.arange(10), start, stop, step)
    assert "one XLA executable" in jitted.explain()


def test_a_store_through_a_view_of_one_of_several():
    def fn(a, n):
        c = np.zeros(6)
        u = a * 2 if n < 3 else c
        c[-1] = a[0]
        v = u[1:]
        v[0] = 7
        u[::-1][0] += 1
        u.reshape(2, 3).T[0] = -1
        return u + 1, c * 1

    jitted = hovis_xla.jit(fn, strict=True, target="xla")
    for n in (0, 4):
        agree(fn, jitted, np.arange(6.0) + 1, n)
