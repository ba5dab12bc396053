"""Complex numbers and halves: infinities, nans, signs of zeros and branch cuts as NumPy has them."""
import warnings

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

inf, nan = np.inf, np.nan
PARTS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-3, 700.0, 1e200, 1e-200, inf, -inf, nan])


def grid(parts):
    z = np.repeat(parts[:, None] + 0j, len(parts), 1)
    z.imag = parts
    return z.ravel()


Z = grid(PARTS)
FINITE = grid(np.array([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 3.0]))


def close(got, want, tolerance=1e-10):
    """Each part by itself, signs of zeros included."""
    if got.dtype.kind == "c":
        return close(got.real, want.real, tolerance) & close(got.imag, want.imag, tolerance)
    with np.errstate(all="ignore"):
        equal = (got == want) & ((got != 0) | (np.signbit(got) == np.signbit(want)))
        return (np.isnan(got) & np.isnan(want)) | equal | (np.abs(got - want) <= tolerance * np.abs(want))


def compare(fn, *args, tolerance=1e-10):
    jitted = hovis_xla.jit(fn, strict=True)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = fn(*args)
    for k, (got, want) in enumerate(zip(jitted(*args), wanted, strict=True)):
        assert got.dtype == want.dtype
        bad = np.flatnonzero(~(close(got, want, tolerance) if got.dtype.kind in "fc" else got == want))
        assert not bad.size, (k, [(tuple(a[i] for a in args), got[i], want[i]) for i in bad[:5]])


def functions(a):
    return (
        np.abs(a), -a, np.conj(a), np.sqrt(a), np.square(a), np.exp(a), np.exp2(a), np.log(a), np.log2(a), np.log10(a), np.sin(a), np.cos(a), np.tan(a),
        np.sinh(a), np.cosh(a), np.tanh(a), np.reciprocal(a), np.sign(a), np.isnan(a), np.isinf(a), np.isfinite(a), np.angle(a), a.real * 2, a.imag * 2, a == a,
        a**0, a**1,
    )  # fmt: skip


def test_special_values():
    compare(functions, Z)


def test_ordinary_values():
    rng = np.random.default_rng(3)
    z = rng.normal(size=200) * 10 ** rng.uniform(-3, 1, 200) + 1j * rng.normal(size=200) * 10 ** rng.uniform(-3, 1, 200)
    compare(functions, z)
    compare(functions, z.astype("c8"), tolerance=2e-4)


def test_two_operands():
    def ordered(a, b):
        return a < b, a <= b, a > b, a >= b, a == b, a != b, np.maximum(a, b), np.minimum(a, b), a + b, a - b

    few = grid(np.array([0.0, -1.0, 2.0, inf, -inf, nan]))
    compare(ordered, few.repeat(len(few)), np.tile(few, len(few)))

    def divided(a, b):
        return (a / b,)

    wide = grid(np.array([0.0, -0.0, 1.0, -2.0, 1e200, 1e-200, inf, nan]))
    compare(divided, wide.repeat(len(wide)), np.tile(wide, len(wide)))

    def powers(a, b):
        return a**b, a**2, a**3, a**-1, a**0.5, a**-2, a**1.5, a**5

    jitted = hovis_xla.jit(powers, strict=True)
    a, b = FINITE.repeat(len(FINITE)), np.tile(FINITE, len(FINITE))
    with np.errstate(all="ignore"):
        for got, want in zip(jitted(a, b), powers(a, b), strict=True):
            assert ((np.abs(got - want) <= 1e-11 * np.abs(want)) | (np.isnan(got) & np.isnan(want))).all()


def test_every_half():
    def fn(a):
        return (
            np.abs(a), np.sqrt(a), np.exp(a), np.log(a), np.sin(a), np.tanh(a), np.floor(a), np.rint(a), np.isnan(a), np.signbit(a), np.sign(a), a * a, a + a,
            np.arctan(a), np.log1p(a), np.cosh(a), a > 1, a.astype(np.float32), np.maximum(a, 0), np.reciprocal(a),
        )  # fmt: skip

    compare(fn, np.arange(65536, dtype=np.uint16).view(np.float16), tolerance=2e-3)


def test_sorted_by_real_then_imaginary_parts():
    def fn(a):
        return np.sort(a), np.argmax(a), np.argmin(a), a.max(), a.min()

    check(fn, FINITE, np.array([1 + 2j, 1 - 2j, 0j, complex(nan, 0), complex(1, nan)]))


def test_beside_a_real_number():
    def fn(a, x):
        return a + x, x + a, a - x, x - a, a * x, x * a, a / x, x / a, a * a, a / a

    values = (1 - 0.0j, complex(-0.0, -0.0) + 1, complex(inf, 1.5), complex(nan, inf), complex(-1.5, nan))
    check(fn, *[(a, x) for a in values for x in (1.5, -0.0 + 1, inf, 3, 1e300)])


def test_pythons_own():
    def fn(a, b):
        return a / b, abs(a), a * b, a - b, a == b

    check(fn, (1 + 2j, 3 - 4j), (1e200 + 1e200j, 1e200 - 1j), (complex(inf, nan), 1j), (0j, 2 + 0j))
    jitted = hovis_xla.jit(fn)
    for args in ((1j, 0j), (1.7e308 + 1.7e308j, 1 + 0j)):
        agree(fn, jitted, *args)


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]", object, "U3", "S2", np.longdouble, np.dtype([("x", float)])])
def test_other_dtypes_stay_python(dtype):
    def fn(a):
        return a[::-1], a.shape

    a = np.zeros(3, dtype)
    jitted = hovis_xla.jit(fn)
    got = jitted(a)
    assert got[0].dtype == a.dtype and got[1] == (3,)
    assert "Python" in jitted.explain()


@pytest.mark.parametrize("factor", [-0.0, 1, complex(0.0, -0.0)])
def test_products_with_signs_of_zeros(factor):
    def fn(z, k):
        t = np.complex64(0)
        for _ in range(len(k)):
            t *= factor
        return z * factor, z[0] * factor * factor * factor, t, factor * k, complex(0.0, -0.0) * k[0] * 0, z[0] * np.prod(z[:0])

    jitted = hovis_xla.jit(fn, target="xla")
    for z in (np.array([complex(-0.0, -0.0), complex(0.0, -0.0)]), np.array([complex(-0.0, 0.0)], np.complex64)):
        for k in (np.array([-3, 2, 0]), np.array([True, False, True])):
            assert repr(jitted(z, k)) == repr(fn(z, k))


@pytest.mark.parametrize("factor", [np.int8(3), np.uint64(2), np.float32(-1), 2])
def test_products_of_what_was_real(factor):
    jitted = hovis_xla.jit(lambda x: x.astype("c16") * factor, target="xla")
    x = np.array([-1.25, 2.5, -0.0], np.float32)
    assert repr(jitted(x)) == repr(x.astype("c16") * factor)


def test_constants_in_loops():
    def fn(x, y, a):
        """What is dear is taken out of the loops, complex constants too."""
        s = 0j
        for i in range(a - 1, -1, -1):
            s *= y[i] / 2
            s += y[i]
        return s, np.array(-0.0)

    check(fn, (np.ones(3), np.array([1j, 2, 3 - 1j]), 3), (np.ones(3), np.array([0j, complex(-0.0, -0.0), 1]), 2))


MOVES = {
    "taken": lambda z: z[np.array([0, 1, 2])], "every other": lambda z: z[::2], "twice": lambda z: np.concatenate([z, z]), "repeated": lambda z: np.repeat(z, 2),
    "rolled": lambda z: np.roll(z, 1), "padded": lambda z: np.pad(z, 1), "turned": lambda z: np.flip(z), "one": lambda z: z[0], "some": lambda z: z[z != 5],
}  # fmt: skip


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_what_was_real_and_has_been_moved(move):
    """XLA finds the zeros of its imaginary parts through all that, and takes ``x + 0.0`` for x."""

    def f(x):
        z = move(np.complex128(x))
        return z * 1, z * -1, z * (1 - 1j), z - 0j, z * 1.0 * 1, np.outer(z, [1, 2])

    for x in (np.array([-2, 1, -3]), np.array([-2.0, -0.0, 0.0])):
        assert repr(hovis_xla.jit(f, target="xla")(x)) == repr(f(x))


def test_operators_between_numbers_look_for_no_nan():
    """``np.complex128(complex(2, nan)) > np.complex128(1)`` holds; of arrays, and by np.greater, it does not."""

    def fn(z, a, b):
        x, y = z[a], z[b]
        u, v = z[a : a + 1], z[b : b + 1]
        return x < y, x <= y, x > y, x >= y, x > 1.0, 2 <= x, x == y, u < v, u >= v, u > y, np.greater(x, y), np.less_equal(x, y)

    jitted = hovis_xla.jit(fn, target="xla", strict=True)
    z = grid(np.array([nan, 1.0, 2.0, inf]))
    for a in range(len(z)):
        for b in range(0, len(z), 3):
            with np.errstate(invalid="ignore"):
                wanted = fn(z, a, b)
            assert repr(jitted(z, a, b)) == repr(wanted), (z[a], z[b])
