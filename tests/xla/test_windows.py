"""Slices with bounds that depend on loop variables and arguments: windows, and parts that grow."""
import numpy as np
import pytest

from tests.xla.checking import check

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


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=lambda p: getattr(p, "__name__", ""))
def test_windows(fn, calls):
    check(fn, *calls)
