"""Slices with bounds that depend on loop variables and arguments: windows, and parts that grow."""
import operator

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

R = np.random.default_rng(1)
CASES = []
#: So many rounds that loops stay loops.
N = 150


def x(*shape):
    return R.normal(size=shape)


def case(*calls):
    def note(fn):
        CASES.append((fn, calls))
        return fn
    return note


@case((x(N), 4), (x(N), 0))
def windows(a, n):
    s = 0.0
    for i in range(n + N - 20):
        s += a[i:i + 3].sum() + a[2 * i - i:i + 2].max()
        a[i:i + 2] = i
        a[i + 1:i + 5] *= 0.5
        s += a[i + 2:i + 1].sum()
    return s


@case((x(N), 3))
def counted_up_to(a, n):
    total = 0.0
    for k in range(N - 1, -5, -1):
        row = np.arange(k, dtype=np.float32)
        total += row.sum() + len(row) + np.arange(k + n % 5).sum()
        if k > 2:
            a[:k] = a[:k] + 0.01 * (k - 2.0 * np.arange(k))
            a[k] += a[np.arange(k)].sum() / N
    return total


@case((x(N),))
def windows_that_end(a):
    s = 0.0
    for i in range(N):
        s += a[i:i + 3].sum()
    return s


@case((x(N, N) + 50 * np.eye(N),))
def lu(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]


@case((x(N) / N,))
def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


@case((x(N, N), x(N, N)))
def products(a, b):
    c = np.zeros((N, N))
    for i in range(N):
        b[i] += a[i + 1:, i] @ b[i + 1:]
        c[i, i:] = a[:, i] @ b[:, i:]
        c[i:, i] += c[i, i:] * 2
    return c


@case((x(N), 3), (x(N), 0), (x(N), -2), (x(N), 1000), (x(N), -1000))
def bounds_of_all_kinds(a, k):
    s = 0.0
    for i in range(N):
        s += a[k - i:i].sum() + a[:i - k].sum() + a[i:k].sum() + a[-i:].sum() + np.float32(len(a[k:i]))
        a[k:i] = i
    return s


@case((x(N),), (np.where(np.arange(N) == 40, np.nan, x(N)),), (R.integers(-9, 9, N),))
def reductions(a):
    r = np.zeros((N, 11))
    for i in range(1, N):
        v = a[:i]
        r[i] = np.array([v.sum(), v.mean(), v.max(), v.min(), v.argmax(), v.argmin(), len(v), v[0], v[-1], np.linalg.norm(v), (v > 0).any()])
    return r


@case((x(N), x(N)))
def elementwise(a, b):
    for i in range(N):
        a[:i] = np.where(b[:i] > 0, np.sqrt(np.abs(a[:i])), b[N - i:])
        a[i:] /= b[i:]
        np.add(a[:i], 1, out=a[:i])


@case((x(N, 4), np.sort(R.integers(0, N, size=N))))
def rows_between(d, ptr):
    y = np.zeros((N - 1, 4))
    for i in range(N - 1):
        y[i] = d[ptr[i]:ptr[i + 1]].sum(axis=0)
    return y


@case((x(N), 0), (x(N), 3))
def nothing_has_no_greatest(a, k):
    s = 0.0
    for i in range(N):
        s += a[k:i].max()
    return s


@case((x(N),))
def of_other_sizes(a):
    for i in range(N):
        a[:i + 1] = a[:i * 2 // 2]


def convolved(x, w):
    size = w.shape[0]
    out = np.ndarray((x.shape[0] - size + 1, x.shape[1] - size + 1, w.shape[2]), dtype=x.dtype)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j, :] = np.sum(x[i:i + size, j:j + size, np.newaxis] * w, axis=(0, 1))
    pooled = np.ndarray((out.shape[0] // 2, out.shape[1] // 2, w.shape[2]))
    for i in range(pooled.shape[0]):
        for j in range(pooled.shape[1]):
            pooled[i, j] = np.max(out[2 * i:2 * i + 2, 2 * j:2 * (j + 1)], axis=(0, 1))
    return pooled


def test_windows_of_a_known_size_leave_loops_as_they_are():
    args = x(14, 13), x(3, 3, 2)
    jitted = hovis_xla.jit(convolved, strict=True)
    assert str(jitted.trace(*args)).count("setitem!") == 2
    loops = jitted.lower(*args).compile().loops
    assert (loops.walked, loops.copies) == (0, 0)
    assert loops.native <= 8
    agree(convolved, jitted, *args)


def pooled_rows(a, rows):
    out = np.zeros((rows, 6))
    for i in range(rows):
        for j in range(6):
            out[i, j] = a[2 * i:2 * i + 3, 2 * j:2 * j + 2].sum()
    return out


@case((x(21, 12), 10), (x(20, 12), 10), (x(9, 12), 10))
def pooling_past_the_end(a, rows):
    return pooled_rows(a, rows)


@case((x(40),))
def windows_backwards(a):
    s = np.zeros(3)
    for i in range(-2, 30):
        s += a[i + 2:i + 5]
    for i in range(30, 2, -1):
        s += a[i - 2:i + 1] * i
    return s


def body_copies(fn, *args):
    """How many copies of what a loop stores there are in the trace."""
    return sum(op.callee is operator.setitem for op in hovis_xla.jit(fn).trace(*args).ops)


def test_rounds_that_are_too_many_are_not_told_apart_to_begin_with():
    assert body_copies(growing, x(N), N) <= 2


def growing(a, n):
    for i in range(N):
        a[i] = a[:i].sum() + n
    return a


def test_numbers_that_sizes_depend_on_become_known_together():
    jitted = hovis_xla.jit(shaped)
    calls = []
    plain = jitted._trace
    jitted._trace = lambda args, kwargs: calls.append(args) or plain(args, kwargs)
    assert np.array_equal(jitted(np.arange(24.0), 4, 6), shaped(np.arange(24.0), 4, 6))
    assert len(calls) == 2


@case((np.arange(1, 8), x(20)))
def changed_by_a_number_that_is_pythons_or_numpys(rows, a):
    """It is changed once, whichever it is."""
    total = 0.0
    for i in range(len(rows)):
        k = rows[i]
        a[:k] += total
        np.add(a[k:], total, out=a[k:])
        a[k:k + 2] -= total
        total = a[2] * 0.01 if i % 2 else 0.5
    return total


SPARSE = np.concatenate([[0], np.cumsum(R.integers(0, 40, 50))])
PLACES = R.integers(-60, 60, SPARSE[-1])


@case((SPARSE, PLACES, x(SPARSE[-1]), x(60)), (SPARSE[::-1].copy(), PLACES, x(SPARSE[-1]), x(60)), (SPARSE - 3, PLACES, x(SPARSE[-1]), x(60)))
def few_of_many(rows, columns, values, v):
    """Elements anywhere in long vectors: a reduction goes through these alone."""
    y = np.zeros((len(rows) - 1, 4))
    for i in range(len(rows) - 1):
        cols, vals = columns[rows[i]:rows[i + 1]], values[rows[i]:rows[i + 1]]
        y[i, 0] = vals @ v[cols]
        y[i, 1] = (vals * 2.0 - 1.0).sum()
        y[i, 2] = np.dot(vals, np.where(cols > 3, v[cols], np.inf) * 0.0 + vals) if i == 70 else vals.dot(vals)
        y[i, 3] = len(vals) + i
    return y


@case((SPARSE, np.where(np.arange(SPARSE[-1]) == 5, 60, PLACES), x(60)), (SPARSE, np.where(np.arange(SPARSE[-1]) == SPARSE[-1] - 1, -61, PLACES), x(60)),
      (SPARSE[:-2], np.where(np.arange(SPARSE[-1]) == SPARSE[-1] - 1, -61, PLACES), x(60)))
def a_place_that_is_not_there(rows, columns, v):
    total = 0.0
    for i in range(len(rows) - 1):
        total += v[columns[rows[i]:rows[i + 1]]].sum()
    return total


@case((SPARSE, np.where(np.arange(SPARSE[-1]) % 7 == 0, np.nan, x(SPARSE[-1]))))
def what_a_loop_changes(rows, values):
    total = 0.0
    for i in range(len(rows) - 1):
        values[rows[i]:rows[i + 1]] += total
        total = values[rows[i]:rows[i + 1]].sum() * 0.01 if i % 5 else 0.5
    return total


@case((x(12, 9), x(9), 4, 7), (x(12, 9), x(9), 0, 0), (x(12, 9), x(9), 7, 3), (x(12, 9), x(9), -4, 20))
def parts_that_begin_somewhere(m, a, i, j):
    """What has the same bounds is worked on where it is; all else is moved to the front first."""
    own = a[i:j] * m[0, i:j] + a[i:j]
    m[i:, i] = m[i:, i] * 2.0 - m[1 + i - 1:, i]
    m[:, i:j] += np.outer(m[:, 0], a[i:j])
    m[3, i:j] = own
    m[4, i:j] = m[5, i:j] = own - a[i:j].sum()
    moved = a[i:j] - m[i:j, 2]
    return m[:, 0] @ m[:, i:j], m[0, i:j] @ own, own.mean(), np.sort(own), np.cumsum(own), moved[::-1], own[::-1], len(own), own[1:] - own[:-1]


@case((x(9), 2, 7), (x(9), 8, 20))
def places_in_a_part(a, i, j):
    p = a[i:j]
    p[p < 0] = 0.0
    return p[0], p[-1], np.argmax(p), p.max(), np.argmin(p * -1.0), p[::-1].argmax()


@case((x(9), 5, 5), (x(9), 3, 2))
def nothing_in_a_part(a, i, j):
    return a[i:j].sum(), len(a[i:j]), a[i:j] + a[i:j]


@case((np.where(np.arange(9) == 6, np.nan, x(9)), x(9), 2, 5), (np.full(9, np.inf), x(9), 1, 4))
def what_is_not_in_a_part_does_not_count(a, b, i, j):
    return a[i:j] @ b[i:j], a[i:j].sum(), a[i:j].max(), b[i:j] * a[i:j]


@case((x(6, 6), x(6, 8), N), (x(6, 6), x(6, 8), 0))
def changed_in_place(c, a, n):
    """The part that is changed is the one that is stored back: nothing is to be done for that."""
    for k in range(n):
        i = k % 6
        c[i, :i + 1] *= 0.5
        c[i, i:] += a[i, k % 8] * a[i:, k % 8]
        c[:i, i] -= c[i, :i]
    return c.sum()


def shaped(a, rows, columns):
    return np.reshape(a, (rows, columns)) * 2.0


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda p: getattr(p, "__name__", ""))
def test_windows(fn, calls):
    check(fn, *calls)


def sums(a):
    return sliding_window_view(a, 3).sum(-1), sliding_window_view(a, 2)[::-1]


def pooled(a):
    return sliding_window_view(a, (2, 3)).max(axis=(2, 3)), sliding_window_view(a, 2, axis=-1) * 1.0, sliding_window_view(a[0], (2, 2), axis=(0, 0)) + 0


def stored_behind(a):
    kept = a * 1.0
    shown = sliding_window_view(kept, 2)
    before = shown.sum()
    kept[1] = kept[0] * 5
    return before, shown * 1, shown.sum()


def correlated(a, k):
    return np.einsum("ijkl,kl->ij", sliding_window_view(a, k.shape), k)


@pytest.mark.parametrize(("fn", "args"), [(sums, (x(7),)), (pooled, (x(4, 5),)), (stored_behind, (x(5),)), (correlated, (x(5, 6), x(3, 2)))])
def test_sliding_windows(fn, args):
    check(fn, args, bails=False)


def test_windows_of_the_callers_array_are_views_that_are_not_stored_into():
    array = x(6)
    shown = hovis_xla.jit(lambda a: sliding_window_view(a, 2), target="xla")(array)
    assert np.shares_memory(shown, array) and not shown.flags.writeable
    with pytest.raises(ValueError, match="window shape cannot be larger"):
        hovis_xla.jit(lambda a: sliding_window_view(a, 7))(array)
