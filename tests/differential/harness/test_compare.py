"""Tests of the comparison: outcomes that it must distinguish, and outcomes that it must not."""
import numpy as np
import pytest

from tests.differential.harness.compare import TookTooLong, difference, observe


def outcome(value):
    return observe(lambda: value)


A, B = [1], [1]

DIFFERENT = [
    (1, True), (1, 1.0), (0.0, -0.0), (1, np.int64(1)), ([1], (1,)), ([A, A], [A, B]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.zeros(2), np.zeros((2, 1))), (np.zeros(2), np.zeros(2, np.float32)), (np.float64(0), np.float64(-0.0)), (Exception, Exception()),
]
ALIKE = [((1, 2), (1, 2)), (float("nan"), float("nan")), ({1, 2}, {2, 1}), ([A, B], [[1], [1]]), (np.arange(3), np.arange(3))]


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=repr)
def test_tells_apart(a, b):
    assert difference(outcome(a), outcome(b))


@pytest.mark.parametrize(("a", "b"), ALIKE, ids=repr)
def test_alike(a, b):
    assert difference(outcome(a), outcome(b)) is None


def test_aliasing_of_result_and_argument():
    assert difference(observe(lambda x: x, ([1],)), observe(lambda x: list(x), ([1],)))


def test_mutation_output_exception_and_its_cause():
    def raising(error, cause):
        def call():
            raise error from cause
        return call
    assert difference(observe(lambda x: None, ([1],)), observe(lambda x: x.append(2), ([1],)))
    assert difference(observe(lambda: print(1)), observe(lambda: print(2)))
    assert difference(observe(raising(ValueError(1), None)), observe(raising(ValueError(2), None)))
    assert difference(observe(raising(ValueError(1), None)), observe(raising(ValueError(1), KeyError())))


def test_cycles_and_iterators():
    loop = []
    loop.append(loop)
    assert difference(outcome(loop), outcome([[]]))
    assert difference(outcome(iter_of(3)), outcome(iter_of(3))) is None
    assert difference(outcome(iter_of(3)), outcome(iter_of(4)))


def iter_of(n):
    return (i for i in range(n))


def test_a_hang_is_stopped():
    def forever():
        while True:
            pass
    with pytest.raises(TookTooLong):
        observe(forever, seconds=0.05)
