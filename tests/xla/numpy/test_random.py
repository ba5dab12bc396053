"""np.random: draws are typed, stay in order, and are the original's numbers."""
import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.lattice import contains
from tests.xla.harness.checking import agree, same


def both(fn, *calls):
    """As the original, twice, through either jit; what is typed is not asked again."""
    for jit in (hovis.jit, hovis_xla.jit):
        jitted = jit(fn)
        for args in (*calls, calls[0]):
            agree(fn, jitted, *args)


def draws(seed, n):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 2))
    b = rng.random(n)
    c = rng.integers(0, 10, size=n)
    d = rng.permutation(n)
    e = rng.choice(5, size=3)
    f = rng.standard_normal((2, n), dtype=np.float32)
    g = rng.uniform(a, a + 1.0)
    return a * 2, b + c, d, e, f @ f.T, g.sum(), rng.random(), rng.integers(7), rng.normal(), rng.poisson(3.0), rng.permutation(b) * 2, rng.exponential(b)


def legacy(seed, n):
    np.random.seed(seed)
    a, b = np.random.randn(n, 3), np.random.randint(0, 10, size=n)
    c = np.random.choice(n, 2, replace=False)
    return a.T @ a, b * 2, c, np.random.uniform(-1, 1, (2, 2)) ** 2, np.random.normal(), np.random.rand() * 2, np.random.permutation(n), np.random.randint(5)


def test_generators():
    both(draws, (0, 4), (7, 4), (0, 6))


def test_the_global_generator():
    both(legacy, (0, 4), (7, 4))


def test_a_state_goes_on():
    state = np.random.RandomState(3)

    def fn(n):
        total = 0.0
        for _ in range(n):
            total += state.normal()
        return total + state.random_sample(n).sum()

    wanted = []
    for kind in (None, hovis.jit, hovis_xla.jit):
        state.seed(5)
        call = fn if kind is None else kind(fn)
        wanted.append([call(3), call(4), call(3)])
    assert same(wanted[1], wanted[0])
    assert same(wanted[2], wanted[0])


def test_two_generators_with_one_seed_are_two():
    def fn(seed):
        a, b = np.random.default_rng(seed), np.random.default_rng(seed)
        return a.random(), a.random(), b.random(), b is a

    both(fn, (1,), (2,))


def test_shuffling_writes():
    def fn(seed, x):
        rng = np.random.default_rng(seed)
        before = x[0] * 1.0
        rng.shuffle(x)
        return before, x[0] * 2, x

    both(fn, (1, np.arange(6.0)), (2, np.arange(6.0)))


def test_monte_carlo_and_training():
    def pi(n, seed):
        rng = np.random.default_rng(seed)
        hits = 0
        for _ in range(n):
            x, y = rng.random(), rng.random()
            if x * x + y * y <= 1.0:
                hits += 1
        return 4 * hits / n

    def train(x, y, seed):
        rng = np.random.default_rng(seed)
        w = rng.normal(scale=0.1, size=x.shape[1])
        for _ in range(3):
            p = rng.permutation(len(y))
            w = w - 0.1 * x[p].T @ (x[p] @ w - y[p]) / len(y)
        return w

    both(pi, (50, 1), (20, 2))
    rng = np.random.default_rng(0)
    both(train, (rng.normal(size=(20, 3)), rng.normal(size=20), 5))


def test_errors():
    def fn(scale):
        return np.random.default_rng(0).normal(0.0, scale, size=3) * 2

    both(fn, (1.0,), (-1.0,))


@pytest.mark.parametrize("text", [
    "random()", "random(3)", "random((2, 0))", "random(size=())", "random(2, np.float32)", "random(dtype='f4')", "normal(np.ones(3), 1.0)", "normal(size=None)", "integers(5)",
    "integers(0, 5, 3)", "integers(0, 5, (2, 2), dtype=np.uint8)", "integers(5, dtype=np.int16)", "integers(5, endpoint=True)", "integers(np.array([3, 4]))",
    "uniform(0, np.ones((2, 1)), None)", "binomial(5, 0.5)", "binomial(5, 0.5, 2)", "gamma(2.0, size=2)", "standard_gamma(np.ones(2))", "choice(3, 2)", "choice(np.ones(3), (2, 2))",
    "permutation(3)", "permutation(np.ones((3, 2)))", "zipf(2.0)", "exponential(np.float32(2))", "poisson([1.0])", "integers(5, dtype=int)", "choice(4)", "normal(size=np.int64(3))",
])  # fmt: skip
def test_rules_know_what_comes(text):
    """Whatever a rule says holds of what the call gives."""
    fn = eval(f"lambda: np.random.default_rng(0).{text}", {"np": np})
    found = hovis.return_type(fn)
    assert contains(found, fn()), (found, fn())


def test_a_generator_that_is_given():
    """Its draws are Python's, in order; what is computed of them is compiled."""
    def fn(rng, x, n):
        a, b = rng.uniform(size=n), rng.standard_normal((n, 3))
        inside = np.mean(np.sqrt(a * a + a[::-1]) < 1.0)
        total = 0.0
        for _ in range(5):
            i = rng.integers(0, len(x))
            total += rng.normal() * x[i]
        rng.shuffle(x)
        return inside, np.tanh(b @ b.T).sum(axis=0) + a, total, rng.permutation(n)

    def legacy_ones(rng, x, n):
        return np.tanh(np.outer(rng.normal(size=n), rng.random_sample(n))).sum() * x

    for call, kind in ((fn, np.random.default_rng), (legacy_ones, np.random.RandomState)):
        jitted = hovis_xla.jit(call, target="xla")
        mine, theirs = kind(4), kind(4)
        for n in (400, 400, 401):
            x, y = np.arange(6.0), np.arange(6.0)
            assert same(jitted(mine, x, n), call(theirs, y, n)) and same(x, y)
            assert same(mine.random(5), theirs.random(5), exact=True)
        assert "numeric piece" in jitted.explain()
