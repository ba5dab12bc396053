"""Index arrays with all else beside them, read and stored into; functions that store by places, masks and lists."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hovis_xla
from tests.xla.harness.checking import agree, check, compiled

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(2, 12))
M = RNG.normal(size=(4, 5))
X = RNG.normal(size=(3, 4, 5))
I = np.array([1, 3, 1, 0])
N = RNG.integers(0, 50, size=12)


def test_stores_beside_slices_and_new_axes():
    def f(a, x, i, v):
        a[i, 1:3] = v[:2]
        a[:, i] += 1
        a[i[:, None], np.array([0, 2])] = 8
        a[i, i] = v
        x[0, :, i] = 5
        x[:, i[:3], 1:3] = 0
        x[..., i] *= 2
        x[i[:2] % 3, 1, :] += 2
        return a[i, None], a[..., i], x[:, i], x[0, :, i], x[i % 3, :, i], x[:, i, i], a[i, -1]

    check(f, (M, X, I, B[:4]), (M, X, -I, B[:4]))


def test_of_equal_places_the_last_one_wins():
    def f(a, i, v):
        a[i] += 1
        a[i] = v
        return a

    check(f, (A, I, B[:4]), (A, np.array([2, 2, -10, 2]), B[:4]))


def test_rows_and_columns_are_swapped():
    def f(a, b, i, j):
        a[[i, j]] = a[[j, i]]
        a[:, [0, 1]] = a[:, [1, 0]]
        b[i], b[j] = b[j], b[i]
        a[i], a[j] = a[j], a[i]  # both are views
        return a, b

    check(f, (M, A, 2, 3), (M, A, 1, 1))


def test_what_is_out_of_range_raises():
    def f(a, i):
        a[0] = 7.0
        a[i] = 1
        return a

    agree(f, hovis_xla.jit(f, target="xla"), A, I + 10)

    def g(a, i):
        return a[i, i + 2]

    agree(g, hovis_xla.jit(g, target="xla"), M, I)

    def misfit(a, i):
        a[i] = np.arange(3.0)

    agree(misfit, hovis_xla.jit(misfit, target="xla"), A, I)


def test_methods_of_ufuncs_that_count_each_time():
    def f(a, m, n, i, v):
        np.add.at(a, i, 1.0)
        np.subtract.at(a, i, a[:4])
        np.multiply.at(a, [0, 0, 2], 3)
        np.maximum.at(a, i, v)
        np.add.at(m, (i, 1), v)
        np.add.at(m, (slice(None), 2), 1.0)
        np.add.at(m, i, m[::-1].copy())
        np.add.at(n, n % 3, 1)
        np.bitwise_or.at(n, i, 64)
        np.true_divide.at(a, a > 0, 2.0)
        return a, m, n

    check(f, (A, M, N, I, B[:4]))

    def casts(n, i):
        np.add.at(n, i, 1.5)

    agree(casts, hovis_xla.jit(casts, target="xla"), N, I)


def test_put_and_take():
    def f(a, m, i):
        np.put(a, i, 5.0)
        np.put(a, [4, -1], [1.0, 2.0])
        a.put(i, a[:2])
        np.put(m, i + 20, 5.0, mode="wrap")
        np.put(m, i - 20, [6.0, 7.0], mode="clip")
        return np.take(m, i + 20, mode="wrap"), np.take(a, [1, 2]), m.take(i, axis=1), np.take(m, i * 9, axis=0, mode="clip")

    check(f, (A, M, I))

    def beyond(a, i):
        np.put(a, i, 1.0)

    agree(beyond, hovis_xla.jit(beyond, target="xla"), A, I * 5)


def test_along_an_axis():
    def f(a):
        i = np.argsort(a, axis=1)
        b = np.take_along_axis(a, i, axis=1)
        np.put_along_axis(a, i, b * 2, axis=1)
        np.put_along_axis(a, np.argmax(a, axis=0)[None], 0.0, axis=0)
        return a, b

    check(f, (M,))


def test_stores_where_a_mask_holds():
    def f(a, b, v):
        np.place(a, a > 0, [1.0, 2.0])
        np.putmask(b, b > 0, a)
        np.putmask(b, b < 0, [3.0, 4.0])
        np.copyto(a, v, where=b > 2)
        return a, b

    check(f, (A, B, 0.5))

    def wider(a, v):
        np.putmask(a, a > 0, v)

    agree(wider, hovis_xla.jit(wider, target="xla"), A.astype(np.float32), B)


def test_lists_and_tuples_are_stored():
    def f(a, n, x):
        a[0] = 1, x, 3, 4, 5
        for k in range(4):
            a[k, :3] = [x, k, a[k, 0]]
        a[:, 4] = (9, 8, 7, 6)
        n[:2] = [True, 7]
        n[2:4] = (x, 2.5)
        np.fill_diagonal(a, [1.0, x])
        return a, n

    check(f, (M, N, 1.5), (M, N, float("nan")), (M, N, 1e300))

    def narrow(n, k):
        n[:2] = [k, 3]

    agree(narrow, compiled(narrow), N.astype(np.int8), 300)
    agree(narrow, compiled(narrow), N.astype(np.int8), 30)


def test_an_array_without_contents_is_filled():
    def f(x):
        a, b = np.ndarray((3, 4)), np.ndarray(3, np.float32)
        for i in range(3):
            b[i] = x * i
            for j in range(4):
                a[i, j] = i * j * x
        return a, b

    check(f, (2.5,))


# ------------------------------------------------------------------------------------------------- random programs

@pytest.mark.parametrize("view", [
    "np.sort(x)[..., 0].ravel()", "x[:, 1:2].ravel()", "x[1:2, :2].ravel()", "x[1, ::2].ravel()", "x[1, ::2].reshape(-1)", "x.T.ravel()", "x.T.ravel('F')",
    "np.ascontiguousarray(x[1:2, :2])", "np.ascontiguousarray(x[:, 1])", "x.squeeze()", "np.squeeze(x)", "x[:1].squeeze()", "x.squeeze(())",
])  # fmt: skip
def test_which_views_are_copies(view):
    scope = {"np": np}
    exec(f"def f(x):\n    v = {view}\n    v -= 1\n    return x, v\n", scope)
    agree(scope["f"], hovis_xla.jit(scope["f"], target="xla"), np.arange(12.0).reshape(3, 4))


def test_a_python_int_is_an_int64_to_a_method_of_a_ufunc():
    def added(x):
        np.add.at(x, [0, 1, 0], 1)
        np.add.at(x, [1, 1], [2, 3])
        np.add.at(x, [0, 0], np.uint64(5))
        return x

    with np.errstate(invalid="ignore"):
        for x in (np.array([2**63, 3], np.uint64), np.array([2**64 - 3, 2**64 - 1], np.uint64)):
            agree(added, hovis_xla.jit(added, target="xla"), x)


INDICES = ("i", "i, 1", "i, 1:3", ":, j", "i[:, None], j", "i, j", "0, j", "[0, 2]", ":, [1, 0]", "i, None", "-i - 1", "m[:, 0] > 0", "i, ::2", "..., j", "m > 0")
LINES = (
    "m[{i}] = {v}", "m[{i}] += {v}", "m[{i}] *= m[{i}]", "out.append(m[{i}])", "out.append(m[{i}].sum())", "np.add.at(m, i, {v})", "m = m[{i}].sum() + m",
    "np.put(m, j, {v})", "t = m[{i}]; t += 1; out.append(t)", "m[[0, 1]] = m[[1, 0]]", "np.putmask(m, m > {v}, n)", "n[{i}] = m[{i}]", "m, n = n, m", "m[1] = [{v}, 2, 3, 4, 5]",
)  # fmt: skip


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(INDICES), st.sampled_from(["2", "0.5", "v"])), min_size=2, max_size=5), st.integers(0, 999))
def test_random_programs(lines, seed):
    text = "def f(m, n, i, j, v):\n    out = []\n" + "".join(f"    {line.format(i=i, v=v)}\n" for line, i, v in lines) + "    return out, m, n\n"
    scope = {"np": np}
    exec(text, scope)
    rng = np.random.default_rng(seed)
    got = hovis_xla.jit(scope["f"], target="xla")
    for _ in range(2):
        agree(scope["f"], got, *rng.normal(size=(2, 4, 5)), rng.integers(0, 4, size=3), rng.integers(-5, 5, size=3), 1.5)


def test_what_is_in_range_is_looked_at_once():
    def f(x, rows, columns):
        g = np.zeros_like(x)
        g[rows, columns] += x[rows, columns]
        g[np.arange(len(x)), columns[: len(x)]] -= 1.0
        return g, x[rows] * 2, x[np.arange(2)]

    x = np.arange(12.0).reshape(4, 3)
    rows, columns = np.array([0, -1, 3, 2]), np.array([2, 0, -3, 1])
    check(f, (x, rows, columns), bails=False)
    check(f, (x, rows + 1, columns), (x, rows, columns - 1), bails=True)
    looks = [line for line in hovis_xla.jit(f).lower(x, rows, columns).as_text().splitlines() if "applies stablehlo.or" in line]
    assert len(looks) == 1


def test_what_one_branch_has_looked_at():
    def f(x, i, flag, n):
        total = 0.0
        if flag:
            total += x[i].sum()
        for k in range(n):
            total += x[i][k]
        return total, x[i] * 2 if not flag else x

    x, i = np.arange(6.0), np.array([1, -6, 5])
    for flag in (True, False):
        check(f, (x, i, flag, 0), (x, i, flag, 3), bails=False)
        check(f, (x, i + 1, flag, 1))


def laid_out(a, k):
    y = a[:, k]
    r = y.reshape(-1)
    r[:1] = 100
    z = a[k] + 1
    s = z.reshape(-1)
    s[:1] = 100
    return y, z


def einsum(a, k):
    y = np.einsum("ij->ji", a * 2) + 0
    r = y.ravel()
    r[:1] = 100
    return y


def einsum_of_two(a, k):
    y = np.einsum("ij,kj->ki", a, a)
    r = y.ravel()
    r[:1] = 100
    return y


def deleted(a, k):
    y = np.delete(a, [1, 2], axis=1)
    r = y.ravel()
    r[:1] = 100
    return y


def lines(a, k):
    y = np.linspace(a[0], a[1], 3, axis=1)
    r = y.ravel()
    r[:1] = 100
    return y


@pytest.mark.parametrize("fn", [laid_out, einsum, einsum_of_two, deleted, lines], ids=lambda fn: fn.__name__)
def test_new_arrays_that_are_not_in_c_order(fn):
    """A reshape of these is a copy."""
    jitted = hovis_xla.jit(fn, target="xla")
    a = np.arange(24.0).reshape(4, 6)
    for k in (np.array([3, 1, 2]), np.array([], int), np.array([[1, 0, 3], [2, 2, 0]])):
        agree(fn, jitted, a, k)
        agree(fn, jitted, a[::2, ::2], k % 2)


@pytest.mark.parametrize("taken", ["a.T.flatten('K')", "np.maximum.outer(a, a[0]).T.ravel(order='K')", "np.argmax(a, 0), (a + 1).T.flatten(order='A')",
                                   "np.ravel(np.stack([a, a]).T, 'K')", "(a + 1).T.reshape(-1, order='A')"])  # fmt: skip
def test_elements_as_they_are_in_memory(taken):
    fn = eval(f"lambda a: ({taken})", {"np": np})
    for jitted in (hovis_xla.jit(fn, target="xla"), hovis_xla.jit(fn)):
        for a in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.ones((1, 0))):
            for _ in range(2):
                agree(fn, jitted, a)
