"""NumPy's functions of Python's numbers: their types are known."""

import math
import warnings

import numpy as np
import pytest

import hovis
from hovis.library.numpy.models.traced_functions import ALIKE

#: Those of one operand.
OF_ONE = [fn for fn in ALIKE if fn not in (np.dot, np.inner, np.vdot, np.outer, np.append, np.repeat, np.allclose, np.array_equal, np.clip)]


@pytest.mark.parametrize("fn", OF_ONE, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("x", [2.5, -0.0, math.nan, 2.0 - 1j])
def test_a_float_is_to_these_what_a_float64_is(fn, x):
    """What the trace relies on where it makes them NumPy's: type, bits and exceptions are the same."""

    def done(value):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = fn(value)
            except Exception as error:
                return type(error), str(error)
        return type(found), np.asarray(found).dtype, np.shape(found), np.asarray(found).tobytes()

    as_numpy = np.complex128(x) if isinstance(x, complex) else np.float64(x)
    assert done(x) == done(as_numpy)


def test_numbers_have_no_dimensions():
    def f(x):
        return np.ndim(x), np.shape(x), np.size(x), np.sum(x), np.mean(x * 2)

    trace = hovis.trace(f, hovis.Float)
    assert trace(1.5) == f(1.5)
    assert type(trace(1.5)[3]) is np.float64
    assert "0, (), 1" in str(trace)
