"""A few elements of what is sorted, from either end: they are found without a sort."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import same

pytestmark = pytest.mark.xla

RNG = np.random.default_rng(5)
ARRAYS = {
    "floats": RNG.normal(size=40),
    "equal ones": RNG.integers(0, 4, 40).astype(float),
    "nans": np.where(RNG.random(40) < 0.6, np.nan, RNG.normal(size=40)),
    "all nan": np.full(20, np.nan),
    "infinite": np.array([np.inf, -np.inf, 0.0, np.nan] * 8),
    "zeros": np.array([0.0, -0.0, 1.0] * 8),
    "ints": RNG.integers(-2, 3, 40),
    "unsigned": RNG.integers(0, 255, 33).astype(np.uint8),
    "truths": RNG.random(17) < 0.5,
    "singles": RNG.normal(size=25).astype(np.float32),
}


def first(x):
    return np.argsort(x, kind="stable")[:5], np.sort(x, kind="stable")[:3], np.sort(x, kind="stable")[0]


def last(x):
    return np.argsort(x, kind="stable")[-4:], np.sort(x, kind="stable")[-2:], np.argsort(x, kind="stable")[-1]


def some(x):
    order = np.argsort(x, kind="stable")
    return order[1:4] + 0, order[2], order[:6] + 0


def both_ends(x):
    order = np.argsort(x, kind="stable")
    return order[:2] + 0, order[-2:] + 0


def in_rounds(x, rounds):
    total = 0
    for k in range(rounds):
        total += np.argsort(np.abs(x - k), kind="stable")[:3].sum()
    return total


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("fn", [first, last, some, both_ends])
def test_a_few_elements(fn, name):
    jitted = hovis_xla.jit(fn, target="xla")
    x = ARRAYS[name]
    assert same(jitted(x), fn(x))
    assert ("sort(" in jitted.lower(x).compile().as_text()) is (fn is both_ends)


def test_loops_with_few_elements_are_native():
    jitted = hovis_xla.jit(in_rounds, target="xla")
    x = ARRAYS["floats"]
    assert jitted(x, 4) == in_rounds(x, 4)
    assert jitted.lower(x, 4).compile().loops.walked == 0


def test_many_elements_are_sorted():
    jitted = hovis_xla.jit(lambda x: np.argsort(x, kind="stable")[:20], target="xla")
    x = ARRAYS["floats"]
    assert same(jitted(x), np.argsort(x, kind="stable")[:20])
    assert "sort(" in jitted.lower(x).compile().as_text()
