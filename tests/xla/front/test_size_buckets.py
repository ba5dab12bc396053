"""One executable for many lengths: results are those of the length, whatever stands behind it."""
import random

import numpy as np
import pytest

import hovis_xla
from hovis.front.autotuner import GIVEN_UP
from hovis_xla.prepare.pad_function import bucket
from tests.xla.harness.checking import same


def reductions(x):
    return x.sum(), x.mean(), x.std(), np.var(x), x.min(), x.max(), x.argmax(), np.argmin(x), x.prod(), (x > 0).any(), np.all(x < 9), np.count_nonzero(x > 0)


def along_axes(a):
    return a.sum(axis=0), a.mean(axis=1), a.max(axis=0, keepdims=True), np.sum(a, axis=(0, 1)), a.std(axis=0), a.argmin(axis=0), a - a.mean(axis=0)


def windows(x):
    return x[1:] - x[:-1], np.diff(x), x[-1], x[0], x[1:-1] * 2, np.cumsum(x), x[:2] + 1


def lengths(x):
    n = len(x)
    total = 0.0
    for k in range(n):
        total = total * 0.5 + x[k] * k
    return total / n, n * 2, x.size, x.shape[0] - 1, np.zeros(n), np.arange(x.size) + x, np.ones((n, 2))


def built(x):
    out = np.zeros(len(x))
    carry = 0.0
    for k in range(len(x)):
        carry = carry * 0.5 + x[k]
        out[k] = carry
    return out


def pairs(x):
    apart = x[:, None] - x[None, :]
    close = np.where(np.abs(apart) < 1.0, 1, 0)
    return close.sum(), (apart * apart).max(axis=1), np.outer(x, x).sum()


def products(a, w, x):
    z = a @ w
    return z, a.T @ z, np.dot(x, x), x @ z, np.inner(x, z), (a * x[:, None]).sum(axis=0)


def early(x):
    for k in range(len(x)):
        if x[k] > 1.5:
            return k, x[k]
    return -1, 0.0


def from_the_end(x):
    n = x.shape[0]
    return x[n - 1], x[-2], x[n - 2] * n, x[:-1] + x[1:]


VECTORS = [reductions, windows, lengths, built, pairs, early, from_the_end]


def special(rng, n):
    x = rng.normal(size=n)
    x[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0])
    return x


@pytest.mark.parametrize("fn", VECTORS)
def test_vectors(fn):
    got = hovis_xla.jit(fn, target="xla")
    rng = np.random.default_rng(5)
    for n in [7, 3, 8, 9, 16, 17, 2, 33, 64, 65, 12]:
        x = special(rng, n) if n % 2 else rng.normal(size=n)
        with np.errstate(all="ignore"):
            assert same(got(x), fn(x)), n
    assert executables(got) <= 6, got.explain()


def executables(jitted):
    """How many programs were compiled."""
    return sum(len(v.sized.executables) if v.sized is not None else v.xla is not None for v in jitted._variants.values())


def test_a_hundred_lengths_cost_few_executables():
    got = hovis_xla.jit(reductions, target="xla")
    rng = np.random.default_rng(5)
    order = rng.permutation(np.arange(1, 101))
    for n in order:
        x = rng.normal(size=n)
        assert same(got(x), reductions(x))
    assert executables(got) <= 8


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint16, np.bool_])
def test_other_dtypes(dtype):
    def fn(x):
        return x.sum(), x.max(), x.min(), x.mean(), np.prod(x), x.argmax(), np.dot(x, x), x * 2 + 1

    got = hovis_xla.jit(fn, target="xla")
    rng = np.random.default_rng(1)
    for n in [4, 5, 11, 20, 30]:
        x = rng.integers(-3, 3, size=n).astype(dtype)
        assert same(got(x), fn(x)), n


def test_minus_zeros_add_up_to_one():
    got = hovis_xla.jit(lambda x: (x.sum(), x.max()), target="xla")
    for n in (3, 5, 9):
        found, most = got(np.full(n, -0.0))
        assert np.signbit(found) == np.signbit(np.full(n, -0.0).sum())
        assert np.signbit(most) == np.signbit(np.full(n, -0.0).max())


def test_matrices():
    one, other = hovis_xla.jit(along_axes, target="xla"), hovis_xla.jit(products, target="xla")
    rng = np.random.default_rng(2)
    for n, m in [(3, 4), (5, 4), (5, 7), (6, 6), (9, 3), (9, 4), (20, 17)]:
        a = rng.normal(size=(n, m))
        assert same(one(a), along_axes(a)), (n, m)
        assert same(other(a, rng.normal(size=m) * 0 + 1, a[:, 0].copy()), products(a, np.ones(m), a[:, 0].copy())), (n, m)
    assert executables(one) <= 6


def test_an_index_out_of_range_is_one_of_the_length():
    def fn(x, k):
        return x[k] * 2

    got = hovis_xla.jit(fn, target="xla")
    for n in (3, 5, 6, 20):
        x = np.arange(float(n))
        assert got(x, -n) == 0.0
        for k in (n, -n - 1):
            with pytest.raises(IndexError, match=rf"index {k} is out of bounds for axis 0 with size {n}"):
                got(x, k)


def view(x):
    return x[1:]


def itself(x):
    return x


def stored_into(x):
    x[0] = 5.0
    return x.sum()


def ordered(x):
    return np.sort(x)


def backwards(x):
    return x[::-1] * 2


def flat(x):
    return x.reshape(-1, 1) + 1


def part(x):
    return x[:2]


@pytest.mark.parametrize("fn", [view, part, itself, stored_into, ordered, backwards, flat])
def test_what_is_not_known_to_be_safe_has_an_executable_for_each_length(fn):
    got = hovis_xla.jit(fn, target="xla")
    for n in (4, 5, 6, 11):
        x, y = np.arange(float(n)), np.arange(float(n))
        a, b = got(x), fn(y)
        assert same(a, b)
        assert same(x, y)
        assert (a is x, np.shares_memory(a, x)) == (b is y, np.shares_memory(b, y))


def test_what_does_not_fit_together_raises_as_ever():
    got = hovis_xla.jit(lambda x, y: x + y, target="xla")
    for n in (4, 5, 6):
        got(np.ones(n), np.ones(n))
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(5,\) \(6,\)"):
        got(np.ones(5), np.ones(6))
    assert same(got(np.ones(5), np.ones(1)), np.full(5, 2.0))
    assert same(got(np.ones(0), np.ones(0)), np.ones(0))


def test_arrays_in_containers():
    def fn(state, scale):
        return {"sum": (state["x"] * scale).sum(), "y": state["y"] + 1, "both": [state["x"] * 2, scale]}

    got = hovis_xla.jit(fn, target="xla")
    rng = np.random.default_rng(3)
    for n in (3, 4, 5, 9, 14):
        state = {"x": rng.normal(size=n), "y": rng.normal(size=n + 1)}
        assert same(got(state, 2.0), fn(state, 2.0))
    assert executables(got) <= 4


UNARY = ["np.tanh({})", "-{}", "np.abs({})", "{}[1:]", "{}[:-1]", "np.cumsum({})", "({} * 2 + 1)", "np.where({0} > 0, {0}, 0.5)", "{}.astype(np.float32)", "np.diff({})", "{}.copy()"]
BINARY = ["{} + {}", "{} * {}", "np.maximum({}, {})", "{} - {}.mean()", "{} * {}.sum()", "{} + {}[-1]", "{} - {}.max()"]
ENDS = ["{}.sum()", "{}.mean()", "{}", "{}.max()", "len({})", "{}.argmin()", "np.dot({0}, {0})", "{}.std()", "np.outer({0}, {0}).sum(axis=0)"]


def drawn(seed):
    """A function of a vector, and its text."""
    pick = random.Random(seed)
    names, lines = ["x"], []
    for k in range(pick.randint(2, 7)):
        shape = pick.choice(UNARY + BINARY)
        lines.append(f"    v{k} = {shape.format(*pick.choices(names, k=2))}")
        names.append(f"v{k}")
    result = ", ".join(pick.choice(ENDS).format(n) for n in pick.choices(names[1:], k=3))
    text = "def fn(x):\n" + "\n".join(lines) + f"\n    return {result}\n"
    scope = {"np": np}
    exec(text, scope)
    return scope["fn"], text


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    fn, text = drawn(seed)
    got = hovis_xla.jit(fn, target="xla")
    rng = np.random.default_rng(seed)
    for n in (9, 10, 12, 16, 30, 11):
        x = rng.normal(size=n)
        try:
            wanted = fn(x)
        except ValueError as error:
            with pytest.raises(ValueError) as told:
                got(x)
            assert str(told.value) == str(error), text
            continue
        for a, b in zip(got(x), wanted, strict=True):
            assert type(a) is type(b)
            assert np.allclose(a, b, rtol=1e-5 if "32" in text else 1e-9, atol=1e-4 if "32" in text else 1e-9), (n, text)


def test_buckets():
    for n in range(4, 20000, 37):
        low, high = bucket(n)
        assert low <= n <= high
        assert bucket(low) == bucket(high) == (low, high)
        assert high <= max(16, 2 * n)


def halves_or_raises(x):
    out = np.zeros(len(x), x.dtype)
    for k in range(len(x)):
        if x[k] < 0:
            raise ValueError("negative")
        out[k] = x[k] / 2 if x.dtype.kind == "f" else x[k] * 3
    return out


def test_other_dtypes_after_python_has_taken_over():
    fast = hovis_xla.jit(halves_or_raises, target="xla")
    for size in (1000, 1300, 1700):
        fast(np.ones(size))
    for size in range(1500, 1500 + GIVEN_UP):
        with pytest.raises(ValueError, match="negative"):
            fast(-np.ones(size))
    assert "Python does its calls now" in fast.explain()
    for dtype in ("f8", "i8", "f4"):
        assert same(fast(np.ones(1600, dtype)), halves_or_raises(np.ones(1600, dtype)))
