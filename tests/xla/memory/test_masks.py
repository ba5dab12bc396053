"""Masks as indices, and what nonzero gives: the number of elements is known at run time only, the program is one all the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hovis_xla
from tests.xla.harness.checking import agree, check, compiled

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(2, 17))
M = RNG.normal(size=(5, 6))
N = RNG.integers(-4, 5, size=17)
NONE_HOLDS = -abs(A)
ALL_HOLD = abs(A) + 0.1


def both(fn, *arguments):
    """For masks that hold somewhere, everywhere, nowhere."""
    for first in (A, ALL_HOLD, NONE_HOLDS):
        agree(fn, compiled(fn), first, *arguments)


def test_a_store_of_a_number_and_in_place():
    def f(a, s):
        m = a > 0.2
        a[m] = np.sqrt(a[m]) + 1
        a[~m] -= s
        a[a < -1] *= a[a < -1]
        return a

    both(f, 0.5)


def test_values_of_another_array_under_one_mask():
    def f(a, b):
        m = a > 0
        b[m] = a[m] * b[m] + 1
        a[m] /= b[m]
        b[~m] = a[m].sum()
        return b

    both(f, B)


def test_values_of_another_mask_that_chooses_as_many():
    def f(a, b):
        a[a > 0] = b[b > 0]
        return a

    got = compiled(f)
    agree(f, got, A, A[::-1].copy())
    agree(f, got, A, NONE_HOLDS)  # a broadcast that fails
    agree(f, got, NONE_HOLDS, NONE_HOLDS)


def test_reductions():
    def f(x, y):
        m = x > 0
        return x[m].sum(), x[m].mean(), x[m].var(), np.std(x[m], ddof=1), (x[m] > 1).any(), (x[m] < 1).all(), np.prod(x[m]), len(x[m]), np.dot(x[m], y[m])

    for first in (A, ALL_HOLD):
        agree(f, compiled(f), first, B)

    def means(x):
        return x[x > 100].mean(), x[x > 100].sum(), x[x > 100].size, x[x > 100].shape

    check(means, (A,))


def test_the_extremes_of_nothing_raise():
    def f(x):
        try:
            return x[x > 0].max(), x[x > 0].argmin(), np.ptp(x[x > 0]), np.argmax(x[x > 0])
        except ValueError:
            return None

    both(f)

    def g(x):
        return np.min(x[x > 0])

    both(g)


def test_what_goes_by_the_order():
    def f(x):
        chosen = x[x > 0]
        return chosen[0], chosen[-1], np.cumsum(chosen), np.sort(chosen), np.diff(chosen), np.argsort(chosen), chosen[::-1], np.median(chosen)

    for first in (A, ALL_HOLD, A[:3] + 5):
        agree(f, compiled(f), first)

    def beyond(x):
        return x[x > 0][3]

    both(beyond)
    agree(beyond, compiled(beyond), A[:4])


def test_rows_and_columns():
    def f(a, row, i):
        m = a[:, 1] > 0
        n = a[2] > 0
        a[m] += row
        a[m, 0] = 2.0
        a[i, n] -= 1
        a[:, n] *= a[:, n]
        return a, a[m].mean(axis=0), a[m, 2:4].sum(), a[:, n].sum(axis=1), a[1:, n]

    check(f, (M, np.arange(6.0), 3), (M, np.arange(6.0), -1))
    agree(f, hovis_xla.jit(f, target="xla"), M, np.arange(6.0), 9)


def test_where_the_dimension_of_the_mask_comes():
    def f(x, i):
        m = x[0, :, 0] > 0
        return x[i, :, x[0, 0] > 0], x[:, m], x[i, m], x[..., x[0, 0] > 0], x[i, m, None], x[None, :, m]

    check(f, (RNG.normal(size=(3, 4, 5)), 1))


def test_a_mask_of_another_shape_and_values_that_do_not_fit_raise():
    def short(a):
        a[np.ones(3, dtype=bool)] = 0

    def many(a, v):
        a[a > 0] = v

    agree(short, hovis_xla.jit(short, target="xla"), A)
    check(many, (A, np.arange(3.0)), (A, np.arange((A > 0).sum())), (A, np.ones(1)))


def test_numbers_that_are_chosen_are_no_index():
    def f(a):
        return a[a[a > 0]]

    agree(f, hovis_xla.jit(f, target="xla"), np.array([3.0, 1.0, 2.0]))

    def g(a, n):
        return a[n[n > 0]], a[n[n > 9]]

    check(g, (A, N))


def test_nonzero_and_its_relatives():
    def f(a):
        (where,) = np.nonzero(a > 0)
        a[where] += 10.0
        a[np.where(a < -1)] = 0
        i = np.flatnonzero(a > 10.5)
        return a, where, len(i), a[i], i.sum(), np.argwhere(a > 0), np.extract(a > 0, a), np.compress(a > 0, a)

    both(f)

    def g(a):
        i, j = np.where(a > 0)
        a[i, j] = a[j % 5, i] + i
        return a, i, j, np.argwhere(a > 1)

    check(g, (M,))


def test_distinct_numbers():
    def f(n, x):
        return np.unique(n), len(np.unique(x)), np.unique(x)

    check(f, (N, A), (N * 0, np.array([np.nan, 1.0, np.nan, -np.inf])), (N, np.zeros(0)), (N, np.array([0.0, -0.0, 1.0])))


def test_loops_over_what_a_mask_chooses():
    def f(x):
        total = 0.0
        for v in x[x > 0]:
            for w in x[x < 0]:
                total += v * w
        return total

    both(f)

    def g(a, n):
        for k in range(n):
            where = np.where(a > k * 0.5)[0]
            if len(where) == 0:
                break
            a[where[0]] = -1.0
            a[where[1:3]] += 1
        return a

    agree(g, hovis_xla.jit(g, target="xla"), A, 5)


def test_what_is_chosen_is_a_copy():
    def f(a):
        m = a > 0
        t = a[m]
        u = t
        t += 1
        a[m] = 0
        t[t > 2] = -1
        return u, u.sum(), a

    both(f)


def test_parts_of_what_is_chosen():
    def f(x, n):
        chosen = x[x > 0]
        k = int(n.sum())
        return chosen[:3].sum(), chosen[1:k], len(chosen[-2:]), chosen[k:-1].sum()

    both(f, np.ones(2))

    def shared(x):
        chosen = x[x > 0]
        return chosen, chosen[::-1], chosen[:2]

    agree(shared, hovis_xla.jit(shared, target="xla"), A)


def test_the_same_array_twice_in_a_result():
    def f(a):
        t = a[a > 0]
        return t, t, a[a > 0]

    both(f)


def test_views_of_a_size_that_is_not_known_show_what_is_stored_later():
    def through_a_view(a, w):
        n = int(w.sum())
        back = a[:n][::-1]
        turned = a.reshape(2, -1)[:, :n].T
        a[0] = 7.0
        return back.sum() * 2, turned.sum(), back[0]

    check(through_a_view, (np.arange(8.0), np.ones(3)))

    def where_paths_meet(c, w):
        a, b = np.zeros(5), np.ones(5)
        front = a[: int(w.sum())]
        x = a if c > 0 else b
        x[0] = 5.0
        return front.sum()

    check(where_paths_meet, (1, np.ones(3)), (0, np.ones(3)))


def test_a_part_that_is_filled_is_returned():
    def f(x):
        out = np.empty(len(x))
        k = 0
        for v in x:
            if v > 0:
                out[k] = v
                k += 1
        return out[:k]

    both(f)


def test_integers_that_do_not_count_raise_nothing():
    def f(n, k):
        m = k >= 0
        return n[m] ** k[m], n[m] // 2

    check(f, (N, N[::-1].copy()), bails=False)


def test_lists_as_masks_and_indices():
    def f(a, i):
        a[[True, False, True, *[False] * 14]] = 5
        a[[i, 3]] = a[[3, i]]
        return a[[0, i]], a[[]]

    check(f, (A, 2))


# ------------------------------------------------------------------------------------------------- random programs

MASKS = ("a > 0", "b > a", "~(a > 0)", "n > 0", "(a > 0) & (b < 0)", "np.isnan(a)", "a > 100")
LINES = (
    "a[{m}] = {s}", "a[{m}] += {s}", "b[{m}] = a[{m}]", "a[{m}] = a[{m}] * b[{m}] - {s}", "n[{m}] //= 2", "n[{m}] = a[{m}]", "t = a[{m}]; t -= 1; b[{m}] = t",
    "out.append(a[{m}].sum())", "out.append(len(b[{m}]))", "out.append((n[{m}] > 1).any())", "out.append(a[{m}].mean())", "out.append(n[{m}])",
    "i = np.flatnonzero({m}); a[i] = i", "i = np.where({m}); b[i] += a[i]", "out.append(np.sort(n[{m}]))", "out.append(np.cumsum(n[{m}]))",
    "out.append(np.argmax(n[{m}]) if len(n[{m}]) else None)", "n[a > 0] = n[{m}][0] if len(n[{m}]) > 0 else 1", "b = np.where({m}, a, b)",
    "for v in n[{m}]: a[v] += 1", "a[1:][b[1:] > 0] = {s}", "a[[0, 1]] = a[[1, 0]]", "a, b = b, a", "out.append(a[{m}])", "out.append(np.unique(n[{m}]))",
)  # fmt: skip


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(MASKS), st.sampled_from(["2", "0.5", "s"])), min_size=2, max_size=6), st.integers(0, 999))
def test_random_programs(lines, seed):
    text = "def f(a, b, n, s):\n    out = []\n" + "".join(f"    {line.format(m=m, s=s)}\n" for line, m, s in lines) + "    return out, a, b, n\n"
    scope = {"np": np}
    exec(text, scope)
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 7))
    a[rng.integers(7)] = rng.choice([np.nan, 0.0, -0.0, 3.0])
    got = hovis_xla.jit(scope["f"], target="xla")
    for _ in range(2):
        agree(scope["f"], got, a, b, rng.integers(-3, 4, size=7), 1.5)


def test_arrays_as_large_as_what_a_mask_chooses():
    def f(x):
        kept = x[x > 0]
        z = np.zeros(len(kept))
        z[...] = 2.0
        z += np.ones(kept.shape) * kept
        spread = np.broadcast_to(3.0, kept.shape)
        return z, np.full(kept.size, 7), np.zeros_like(kept), np.ones((kept.shape[0], 2)), (z * spread).sum(), np.empty(len(kept)).shape

    both(f)

    def g(x, y):
        return np.zeros(len(x[x > 0])) + y[y > 0]  # as many, or it raises

    agree(g, compiled(g), A, abs(A) * np.sign(A))
    agree(g, compiled(g), A, ALL_HOLD)

    def h(x):
        seen = np.broadcast_to(x.sum(), x[x > 0].shape)
        seen[0] = 1.0  # raises: it is read-only

    agree(h, hovis_xla.jit(h), A)


def test_a_copy_by_a_mask_is_no_view():
    def f(x):
        kept = x[x > 0]
        kept += 1
        kept[...] = kept * 2
        part = kept[...]
        part *= 2
        return x, kept

    both(f)


@pytest.mark.parametrize("made", [
    lambda x: np.broadcast_to(x, x[x > 0].shape), lambda x: np.full(len(x[x > 0]), x), lambda x: np.full_like(x[x > 0], x),
    lambda x: np.zeros_like(x[x > 0], shape=(3,)), lambda x: np.full((17, len(x[x > 0])), x[:, None]), lambda x: np.full_like(x[x > 0], 3, dtype=np.int64),
    lambda x: np.broadcast_to(x[:1], x[x > 0].shape), lambda x: np.broadcast_to(x, (len(x[x > 0]), 17)),
])  # fmt: skip
def test_what_they_are_filled_with_has_to_fit(made):
    """As large as the whole is not as large as what a mask chooses: NumPy raises, unless it chooses all."""
    for x in (A, ALL_HOLD, NONE_HOLDS):
        agree(made, hovis_xla.jit(made, target="xla"), x)


def test_a_mask_that_is_computed_twice_is_one():
    def f(x):
        x[x > 0.5] = x[x > 0.5] ** -1.5
        return x

    both(f)
    assert "stablehlo.while" not in hovis_xla.jit(f, target="xla").lower(A).as_text()  # nothing is moved to the front


def test_masks_that_are_computed_alike_of_what_has_changed():
    def f(x):
        y = x[x > 0.5] * 2.0
        x[x > 0.5] -= 0.3
        n = x[x > 0.5].size
        return y[:n], x[x > 0.5] + y[:n]

    both(f)


def test_masks_with_other_bounds():
    def f(x, low, high):
        x[(x > low) & (x < high)] = x[(x > low) & (x < high)] + x[(high > x) & (x > low)]
        return x

    both(f, 0.3, 0.9)


def test_parts_in_two_dimensions():
    """What goes through all of an array, or through one axis where others have another default."""

    def fn(x):
        rows = x[x[:, 0] != 2]
        places = np.argwhere(x)
        reversed_ = np.flip(rows), np.flipud(places), np.flip(places.astype("c8"))
        return *reversed_, rows.argmax(), np.argmin(places), places.argmax(), np.argmax(rows, 0), np.vdot(rows, rows), np.vdot(x[x > 0], x[x > 0])

    x = np.array([[2, 0, 9], [0, 3, 4], [2, 1, 1], [5, 0, 4], [1, 5, -1]])
    jitted = hovis_xla.jit(fn, target="xla")
    one = hovis_xla.jit(lambda x: x[x[:, 0] != 2].argmax() + np.argwhere(x).argmin(), target="xla", strict=True)
    for a in (x, x[::-1], x + 1, -x):
        agree(fn, jitted, a)
        assert one(a) == a[a[:, 0] != 2].argmax() + np.argwhere(a).argmin()


def test_a_row_is_a_view_of_what_has_a_size_that_is_not_known():
    """Beside it, it is left to Python; alone it may be compiled."""
    x = np.array([5, 0, 3, 4])
    for fn in (lambda x: (np.argwhere(x), np.argwhere(x)[0]), lambda x: (lambda v: (v, v[0]))(np.argwhere(x)), lambda x: (lambda w: (w, w[-1]))(np.argwhere(x) > 0)):
        agree(fn, hovis_xla.jit(fn, target="xla"), x)
