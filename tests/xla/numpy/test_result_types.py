"""Calls of NumPy's whose result has a type though no array is among the arguments, or though there are options."""

import numpy as np
import pytest

import hovis
from hovis import Array, Float, Int
from tests.xla.harness.checking import check

pytestmark = pytest.mark.xla

X = np.array([3.0, -1.0, 2.0, 2.0, 0.5])

CALLS = [
    (lambda x: np.argsort(x, kind="stable"), Array("float64", (5,)), "int64[:]", X),
    (lambda x: x.argsort(kind="mergesort"), Array("float64", (5,)), "int64[:]", X),
    (lambda x: np.sort(x, kind="stable"), Array("float64", (5,)), "float64[:]", X),
    (lambda x: np.average(x, axis=0, weights=x + 9), Array("float64", (5,)), "float64", X),
    (lambda x: np.zeros_like(x) + x, Float, "float64", 2.5),
    (lambda x: np.ones_like(np.float32(x)), Float, "float32[]", 2.5),
    (lambda x: np.full_like(x, 2), Float, "float64[]", 2.5),
    (lambda x: np.geomspace(1.0, x, 5), Float, "float64[:]", 2.5),
    (lambda x: np.logspace(0, x, 5), Float, "float64[:]", 2.5),
    (lambda x: np.where(x > 0, x, 0.0), Float, "float64[]", 2.5),
    (lambda x: np.interp(x, [0.0, 3.0], [2.0, 5.0]), Float, "float64", 2.5),
    (lambda x: np.round(x, 1), Float, "float64", 2.25),
]


@pytest.mark.parametrize(("fn", "spec", "wanted", "value"), CALLS, ids=range(len(CALLS)))
def test_what_a_call_gives_is_known(fn, spec, wanted, value):
    assert str(hovis.return_type(fn, spec)) == wanted
    check(lambda x, y: (fn(x), y * 2), (value, X))


def test_an_int_may_be_no_number_of_numpys():
    assert "Any" in str(hovis.return_type(lambda n: np.zeros_like(n), Int))
