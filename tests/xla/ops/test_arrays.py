"""NumPy on XLA: elementwise functions, reductions, products, shapes, indexes, each beside NumPy itself."""
import warnings

import numpy as np
import pytest

import hovis_xla
from hovis_xla.ops.array import ufuncs
from tests.xla.harness.checking import agree, check, stays_python

pytestmark = pytest.mark.xla

rng = np.random.default_rng(7)
A = rng.normal(size=(4, 5))
B = rng.normal(size=(5, 3))
V = rng.normal(size=5)
F = rng.normal(size=(3, 4)).astype("f4")
I = rng.integers(-9, 10, size=(4, 5))
U = rng.integers(0, 200, size=7).astype("u1")
M = rng.random((4, 5)) < 0.5
C = rng.normal(size=4) + 1j * rng.normal(size=4)
W = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-3])
G = rng.normal(size=(3, 4))  # a global array

SAMPLES = {"f": np.array([0.1, 0.5, 0.9, 0.3]), "i": np.array([1, 2, 7, 3]), "?": np.array([True, False, True, True]), "c": np.array([1 + 2j, 0.5j, -1, 2])}


def call(u, dtypes):
    scope = {"np": np}
    names = ", ".join("xyz"[: u.nin])
    exec(f"def f({names}):\n    return np.{u.__name__}({names})\n", scope)
    return scope["f"]


@pytest.mark.parametrize("u", sorted(ufuncs.UFUNCS, key=lambda u: u.__name__), ids=lambda u: u.__name__)
def test_every_ufunc_on_every_kind_of_dtype(u):
    f = call(u, None)
    for kinds in {"f": "f", "i": "i", "?": "?", "c": "c", "mixed": "if"}.values():
        for dtype in {"f": ("f8", "f4"), "i": ("i8", "i4", "u2")}.get(kinds, (None,)):
            args = [SAMPLES[kinds[k % len(kinds)]] for k in range(u.nin)]
            args = [a.astype(dtype) if dtype else a for a in args]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    f(*args)
                except (TypeError, ValueError):
                    continue
            if u in (np.arccosh,):
                args = [a + 2 for a in args]
            jitted = hovis_xla.jit(f)
            agree(f, jitted, *args)
            if kinds in "fi" and (u, kinds) != (np.reciprocal, "i"):
                assert "XLA executable" in jitted.explain(), jitted.explain()


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit", "negative", "absolute", "square", "sqrt",
                                  "exp", "tanh", "sin", "logical_not"])
def test_special_values(name):
    check(call(getattr(np, name), None), (W,))


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "copysign", "less", "equal", "logical_and", "floor_divide", "remainder",
                                  "true_divide", "power", "fmod", "logaddexp", "heaviside"])
def test_special_values_of_two(name):
    check(call(getattr(np, name), None), (W[:, None], W[None, :]))


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "left_shift", "right_shift", "maximum", "bitwise_and", "power"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "i1", "u1", "u8"])
def test_integers_with_zeros_and_wraps(name, dtype):
    a = np.array([-7, 7, 0, 100, -128, 127, 3]).astype(dtype)
    b = np.array([2, 0, 5, 7, 9, 8, 70]).astype(dtype)
    with np.errstate(all="ignore"):
        check(call(getattr(np, name), None), (a, b))


def test_broadcasting_and_dtypes():
    check(lambda a, v: a + v * 2, (A, V))
    check(lambda a, v: a * v[:, None], (A.T.copy(), V))
    check(lambda a, i: a + i, (A, I))
    check(lambda a, i: a - i, (F, np.arange(4)))
    check(lambda f: f * 2.5 + 1, (F,))
    check(lambda u: u + 3, (U,))
    check(lambda u, n: u + n, (U, 3))
    check(lambda u: u / 2, (U,))
    check(lambda i, x: i * x, (I, 0.5))
    check(lambda b: (b & ~b, b | b, b ^ True), (M,))
    check(lambda c: (c * c, np.abs(c), c.real + 0, c.imag + 0, np.conj(c)), (C,))


def test_operators_on_arrays():
    check(lambda a: (-a, abs(a), a**2, a**3, a**0.5, a**-1), (np.abs(A),))
    check(lambda a: (a > 0, a == a, a != 0.5), (A,))
    check(lambda i: (i // 3, i % 3, i << 1, i >> 1, ~i, i**2), (I,))
    check(lambda a: np.where(a > 0, a, 0.1 * a), (A,))
    check(lambda a: np.clip(a, -0.5, 0.5), (A,))
    check(lambda a: a.clip(0.0, None), (A,))
    check(lambda a: a.astype(np.float32), (A,))
    check(lambda a: (a * 100).astype(np.int32), (A,))
    check(lambda a: np.float32(a), (A,))
    check(lambda a: np.round(a, 2), (A,))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "std", "var", "min", "max", "any", "all"])
def test_reductions(name, axis):
    scope = {"np": np}
    exec(f"def f(a):\n    return np.{name}(a, axis={axis!r}), np.{name}(a, axis={axis!r}, keepdims=True), a.{name}(axis={axis!r})\n", scope)
    for x in (A, I, F, M) if name in ("sum", "any", "all", "mean") else (A, I, F):
        check(scope["f"], (x,))


@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum", "cumprod", "sort"])
def test_reductions_along_one_axis(name):
    scope = {"np": np}
    for axis in (0, 1, -1) if name == "sort" else (None, 0, 1, -1):
        exec(f"def f(a):\n    return np.{name}(a, axis={axis!r})\n", scope)
        for x in (A, I, np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan]]), np.array([[2, 2, 1], [1, 1, 2]])):
            check(scope["f"], (x,))


def test_reductions_of_special_shapes():
    check(lambda a: a.sum(), (np.zeros((0, 3)),))
    check(lambda a: a.sum(axis=0), (np.zeros((0, 3)),))
    check(lambda a: np.count_nonzero(a), (M,))
    check(lambda a: np.ptp(a), (A,))
    check(lambda a: (np.add.reduce(a), np.maximum.reduce(a)), (A,))
    check(lambda a: a.mean(dtype=np.float64), (F,))
    check(lambda a: np.std(a, ddof=1), (A,))
    check(lambda a: a.sum(), (np.array(2.5),))


def test_sums_of_truths_that_are_constants():
    def sums(a):
        a[::-1] = 3
        return np.cumsum(a, dtype=bool), np.cumprod(a, dtype=bool), np.sum(a, dtype=bool), (a > 0) + (a > 1), (a > 0) * (a > 1), np.add.accumulate(a > 2)

    check(sums, (np.array([4, 9, 1, 8]),))


def test_products():
    check(lambda a, b: a @ b, (A, B))
    check(lambda a, v: a @ v, (A, V))
    check(lambda v, b: v @ b, (V, B))
    check(lambda v: v @ v, (V,))
    check(lambda a, b: np.dot(a, b), (A, B))
    check(lambda a, v: a.dot(v), (A, V))
    check(lambda a, b: np.matmul(a, b), (np.stack([A, A]), B))
    check(lambda a, b: a @ b, (rng.normal(size=(2, 1, 3, 4)), rng.normal(size=(5, 4, 2))))
    check(lambda v, b: v @ b, (rng.normal(size=4), rng.normal(size=(5, 4, 2))))
    check(lambda a, v: a @ v, (rng.normal(size=(5, 2, 4)), rng.normal(size=4)))
    check(lambda i: i @ i.T, (I,))
    check(lambda f: f @ f.T, (F,))
    check(lambda v: np.outer(v, v), (V,))
    check(lambda a: np.tensordot(a, a, axes=([0], [0])), (A,))
    check(lambda a, b: np.einsum("ij,jk->ki", a, b), (A, B))
    check(lambda a: np.einsum("ij->j", a), (A,))
    check(lambda a: np.einsum("bij,bjk->bik", a, a), (rng.normal(size=(2, 3, 3)),))
    check(lambda a: (np.linalg.norm(a), np.linalg.norm(a, axis=1), np.trace(a)), (A,))


def test_shapes():
    check(lambda a: a.reshape(2, 10) + 0, (A,))
    check(lambda a: a.reshape(-1) + 0, (A,))
    check(lambda a: np.reshape(a, (5, -1)) * 1.0, (A,))
    check(lambda a: a.T * 2, (A,))
    check(lambda a: np.transpose(a, (2, 0, 1)) + 0, (rng.normal(size=(2, 3, 4)),))
    check(lambda a: (np.swapaxes(a, 0, 1) + 0, np.moveaxis(a, 0, 1) + 0, a.ravel() + 0, a.flatten()), (A,))
    check(lambda a: a.reshape(a.shape[0], a.shape[1] // 5, 5).sum(axis=2), (A,))
    check(lambda a: np.concatenate([a, a + 1]), (A,))
    check(lambda a, i: np.concatenate((a, i), axis=1), (A, I))
    check(lambda v: np.stack([v, v * 2], axis=1), (V,))
    check(lambda v: (np.hstack([v, v]), np.vstack([v, v])), (V,))
    check(lambda v: np.expand_dims(v, 0) + np.expand_dims(v, 1), (V,))
    check(lambda a: np.squeeze(a, axis=0) + 0, (np.ones((1, 3)),))
    check(lambda v: np.broadcast_to(v, (3, 5)) + 0, (V,))
    check(lambda a: (np.flip(a, 0) + 0, np.roll(a, 2, axis=1), np.roll(a, -3), np.repeat(a, 2, axis=0), np.tile(a, (2, 1))), (A,))
    check(lambda a: (np.tril(a), np.triu(a, 1)), (A,))
    check(lambda v: np.diag(v), (V,))
    check(lambda a: (a.shape, a.ndim, a.size, len(a)), (A,))


def test_axes_of_arrays_of_many_dimensions_are_moved():
    check(lambda a: (np.moveaxis(a, (1, 2, 3), (-1, 0, 4)) + 0, np.moveaxis(a, 21, 0) + 0), (np.arange(12.0).reshape(2, *(1,) * 19, 3, 2),))


def test_creation():
    check(lambda a: np.zeros((2, 3)) + a, (1.5,))
    check(lambda a: (np.zeros(3) * a, np.arange(4) + a), (2.5,))
    check(lambda v: (np.zeros(len(v)), np.ones_like(v), np.full_like(v, 3)), (V,))
    check(lambda x, y: np.array([x, y, 1.0]), (1.5, 2.5))
    check(lambda x: np.array([[x, 1], [2, x]]), (1.5,))
    check(lambda x: np.linspace(0.0, 1.0, 5) * x, (2.0,))
    check(lambda v: np.array([v, v * 2]), (V,))
    check(lambda v: np.zeros(v.shape[0], dtype=np.int32), (V,))


def test_basic_indexes():
    check(lambda a: a[0, 1], (A,))
    check(lambda a: a[-1] + 0, (A,))
    check(lambda a: a[1:3, ::2] + 0, (A,))
    check(lambda a: a[::-1] + 0, (A,))
    check(lambda a: a[:, None, 2] + 0, (A,))
    check(lambda a: a[..., 0] + 0, (A,))
    check(lambda a: a[1, ...] + 0, (A,))
    check(lambda a: a[5:2] + 0, (A,))
    check(lambda a: a[::-2, 3:0:-1] + 0, (A,))
    check(lambda a: a[0][1], (A,))
    check(lambda a: a[...] + 0, (np.array(1.5),))


def test_an_index_that_is_not_known():
    check(lambda v, i: v[i], (V, 0), (V, 4), (V, -1), (V, -5), bails=False)
    check(lambda v, i: v[i], (V, 5), (V, -6), bails=True)
    check(lambda a, i: a[i] + 0, (A, 2), (A, -1))
    check(lambda a, i, j: a[i, j], (A, 2, 3), (A, 4, 0))
    check(lambda a, j: a[:, j] + 0, (A, 3), (A, 7))
    check(lambda a, j: a[1:, j] + 0, (A, 3))
    check(lambda v, i: v[i], (V, np.int64(2)))


def test_index_arrays():
    check(lambda a, i: a[i], (A, np.array([0, 3, -1])))
    check(lambda a, i: a[:, i], (A, np.array([[0, 1], [2, 3]])))
    check(lambda a, i: a[i, i], (A, np.array([0, 3])))
    check(lambda a, i: np.take(a, i, axis=1), (A, np.array([0, 3])))
    check(lambda a, i: a[i], (A, np.array([0, 9])), bails=True)


def test_results_in_containers():
    def f(a, x):
        return {"sum": a.sum(), "parts": [a + x, (a - x, None)], "x": x, "name": "f"}

    check(f, (A, 2.5), (A, 1.0))


def test_the_result_is_writable_and_the_callers_own():
    f = hovis_xla.jit(lambda a: (a + 1, a + 1), strict=True)
    for n in (4, 100_000):
        a = np.zeros(n)
        x, y = f(a)
        x[0] = 5
        assert (a[0], y[0]) == (0, 1)


def test_aliasing():
    """A result that is an argument is that very object; a view of one is a view of it."""
    f = hovis_xla.jit(lambda a, x: (a, x + 1, a), strict=True)
    found = f(A, 1.0)
    assert found[0] is A
    assert found[2] is A
    g = hovis_xla.jit(lambda a: (a.T, a[1:], a.copy()), strict=True)
    assert [np.shares_memory(found, A) for found in g(A)] == [True, True, False]

    def twice(a):
        b = a + 1
        return [b, b]

    found = hovis_xla.jit(twice, strict=True)(A)
    assert found[0] is found[1]


def test_global_arrays_are_read_at_every_call():
    f = hovis_xla.jit(lambda a: G * a, strict=True)
    assert np.array_equal(f(2.0), G * 2)
    old = G.copy()
    try:
        G[:] = 7
        assert np.array_equal(f(2.0), np.full((3, 4), 14.0))
    finally:
        G[:] = old


def test_arrays_of_odd_kinds():
    check(lambda a: a + 1, (np.asfortranarray(A),), (A[::2],), (A[::-1],))
    stays_python(lambda a: a + 1, A.astype(">f8"))
    stays_python(lambda a: a + 1, np.array([1, 2], dtype=object))
    stays_python(lambda a: a + 1, np.ma.masked_array([1.0, 2.0], [True, False]))
    check(lambda a: a + 1, (np.array(1.5),))
    check(lambda a: a + 1, (np.zeros((0, 3)),))
    check(lambda a: a + 1, (np.ones(3, "f2"),))


def test_shapes_that_do_not_fit_raise_as_numpy_does():
    f = hovis_xla.jit(lambda a, b: a + b)
    agree(lambda a, b: a + b, f, np.ones(3), np.ones(4))
    g = hovis_xla.jit(lambda a: a.reshape(7))
    agree(lambda a: a.reshape(7), g, A)


def test_a_watched_float_status_goes_to_numpy():
    f = hovis_xla.jit(lambda a: 1 / a)
    assert f(np.zeros(1))[0] == np.inf
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        f(np.zeros(1))


def test_different_shapes_and_dtypes_are_different_variants():
    f = hovis_xla.jit(lambda a: a * 2)
    for a in (np.ones(3), np.ones(4), np.ones(3, "f4"), np.ones(3), 1.5, 2, True, np.float32(2)):
        agree(lambda a: a * 2, f, a)
    assert f.cache_info()["made"] == 7


@pytest.mark.parametrize("call", [np.sum, np.mean, np.max, np.any, np.std, np.prod])
def test_an_axis_that_is_named_twice_raises(call):
    def reduced(x):
        call(x, axis=(0, -1))
        return x + 1

    jitted = hovis_xla.jit(reduced, target="xla")
    agree(reduced, jitted, np.ones(3))
    agree(reduced, jitted, np.ones((3, 2)))


def test_a_complex_number_is_no_array_of_floats():
    def made(z):
        np.asarray(z, dtype="f8")
        return z + 1

    jitted = hovis_xla.jit(made, target="xla")
    agree(made, jitted, 2.5 + 1j)
    agree(made, jitted, 2.5)


def narrow(x, n, out):
    return np.add(x, n, dtype="i4"), np.add(x, n, out=out, casting="unsafe")


def made(x, n, out):
    return np.array(n, dtype="i4"), np.asarray([n, x[0]], "i4"), np.array([[n]], np.uint64), np.choose(x % 2, [x, n])


def unused(x, n, out):
    np.multiply(x, n, dtype=x.dtype)
    np.array(n, x.dtype)


@pytest.mark.parametrize("fn", [narrow, made, unused])
def test_an_int_that_does_not_fit_raises(fn):
    x, out = np.arange(3, dtype="i4"), np.zeros(3)
    jitted = hovis_xla.jit(fn, target="xla")
    for n in (5, 2**31, -(2**50), 2**70):
        agree(fn, jitted, x, n, out)


def powers_of_sizes(x, radix, count):
    grid = np.mgrid[0:radix, 0 : radix**count]
    for k in range(count):
        x = x + np.reshape(x, (radix**k, radix, radix ** (count - k - 1))).transpose(1, 0, 2).reshape(-1)
    return x, grid


def bins(x, count, low):
    y, z = np.ogrid[0 : 1 : count * 1j, 0:2:5j]
    return y + z, np.histogram(x, count), np.geomspace(1, 2, num=count), np.histogram(x, bins=count, range=(0.0, 4.0))


def test_ints_that_choose_sizes_in_a_roundabout_way():
    check(powers_of_sizes, (np.arange(8.0), 2, 3), (np.arange(9.0), 3, 2))
    check(bins, (np.arange(8.0), 4, 0.0), (np.arange(8.0), 5, 0.0))


def at_one(x, k):
    try:
        x[:, k] += 1
        return x[k] * 2
    except LookupError:
        return x


def from_one(x, k):
    x[k:] = 1
    return x.sum(), np.arange(5)[k:] * 2


@pytest.mark.parametrize("fn", [at_one, from_one])
def test_places_beyond_64_bits(fn):
    jitted, jitted_of_arrays = hovis_xla.jit(fn, target="xla"), hovis_xla.jit(at_one, target="xla")
    for k in (1, 2**63 - 1, 2**63, 2**64 - 1):
        agree(fn, jitted, np.arange(9.0).reshape(3, 3), np.uint64(k))
        agree(at_one, jitted_of_arrays, np.arange(9.0).reshape(3, 3), np.array(k, np.uint64))


def test_no_number_is_equivalent_to_a_dtype():
    # NumPy ends the process if it is asked which dtypes these are
    stays_python(lambda x: np.multiply(x, 2, casting="equiv"), np.arange(3, dtype="u4"))
    check(lambda x: np.multiply(x, x, casting="equiv"), np.arange(3, dtype="u4"))
