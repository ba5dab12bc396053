"""NaN goes through reductions of any size: libraries that XLA calls for large ones have lost it."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import same


def least_and_greatest(a):
    return a.max(axis=0), a.max(axis=1), a.min(axis=0), a.min(axis=1), a.max(), a.min(), np.ptp(a), np.maximum.reduce(a, axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 3), (64, 64), (100, 70), (256, 256)])
def test_extremes(shape, dtype):
    got = hovis_xla.jit(least_and_greatest, target="xla")
    a = np.random.default_rng(0).normal(size=shape).astype(dtype)
    assert same(got(a), least_and_greatest(a))
    for at in ((0, 0), (2, 1), (shape[0] - 1, shape[1] - 1)):
        b = a.copy()
        b[at] = np.nan
        assert same(got(b), least_and_greatest(b))


def test_sums_and_products():
    def fn(a):
        return a.sum(axis=1), a.mean(axis=0), a @ a, a.prod(axis=0), np.maximum(a, 0.5), np.minimum(0.5, a), np.clip(a, -1, 1)

    got = hovis_xla.jit(fn, target="xla")
    a = np.random.default_rng(0).normal(size=(64, 64))
    a[5, 7] = np.nan
    assert same(got(a), fn(a))
