"""Functions turned around: what comes back is what went in."""

import cmath
import math
import operator

import numpy as np
import pytest

import hovis
from hovis.errors import InverseError
from hovis.library.tables.inverses import INVERSES

X = np.array([0.1, -0.2, 0.3, 0.45])
MATRIX = np.array([[2.0, 0.5, 0.0, 0.1], [0.0, 1.0, 0.3, 0.0], [0.2, 0.0, 3.0, 0.0], [0.0, 0.1, 0.0, 1.5]])


def coupling(x, scale):
    """A layer of a normalizing flow: what scales one half is a function of the other."""
    a, b = x[:2], x[2:]
    s = np.tanh(a @ np.array([[1.0, 0.3], [0.2, -0.5]])) * scale
    return np.concatenate([a, b * np.exp(s) + a])


def flow(x, scale):
    for _ in range(3):
        x = np.flip(coupling(x, scale))
    return x


FUNCTIONS = [
    lambda x: np.exp(np.tanh(x)),
    lambda x: np.exp(2.0 * x + 1.0),
    lambda x: 3.0 - x / 4.0,
    lambda x: 1.0 / (x + 2.0),
    lambda x: MATRIX @ x + 1.0,
    lambda x: x @ MATRIX,
    lambda x: np.linalg.solve(MATRIX, x),
    lambda x: np.cumsum(x) * 2.0,
    lambda x: np.roll(np.flip(x), 1),
    lambda x: np.arctan(np.sinh(x)),
    lambda x: (-x + 1.0) ** 3.0,
    lambda x: np.log1p(np.expm1(x) * 0.5),
    lambda x: np.fft.ifft(np.fft.fft(x) * 2.0),
    lambda x: flow(x, 0.7),
    lambda x: np.concatenate((x[2:] + 1.0, x[:2])),
]


@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_what_goes_in_comes_back(k):
    np.testing.assert_allclose(hovis.inverse(FUNCTIONS[k])(FUNCTIONS[k](X)), X, rtol=1e-10, atol=1e-12)


def test_shapes_that_change():
    def f(x):
        return x.reshape(2, 2).T[None] * 3.0

    np.testing.assert_allclose(hovis.inverse(f, like=X)(f(X)), X)


def test_trees():
    def f(p, shift):
        return {"sum": p[0] + shift, "rest": [p[1] * 2.0]}

    assert hovis.inverse(f, like=(0.0, 0.0))({"sum": 5.0, "rest": [8.0]}, 1.0) == (4.0, 4.0)


def test_one_result_helps_to_find_another():
    def f(p):
        a, b = p
        return a * 2.0, b + math.exp(a)

    assert hovis.inverse(f)(f((0.5, 3.0))) == (0.5, 3.0)


@pytest.mark.parametrize("fn", [fn for fn in INVERSES if getattr(fn, "__module__", "") in ("math", "cmath")], ids=lambda fn: f"{fn.__module__}.{fn.__name__}")
def test_rows_of_one_number(fn):
    x = 0.4 + 0.3j if fn.__module__ == "cmath" else 1.2 if fn is math.acosh else 0.4
    if fn is math.pow:
        assert hovis.inverse(lambda x: fn(x, 3.0))(fn(x, 3.0)) == pytest.approx(x)
    else:
        assert cmath.isclose(hovis.inverse(lambda x: fn(x))(fn(x)), x, rel_tol=1e-12)


@pytest.mark.parametrize("fn", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
@pytest.mark.parametrize("k", [0, 1])
def test_each_of_two_operands(fn, k):
    args = [1.7, 2.5]
    given = list(args)
    given[k] = fn(*args)
    assert hovis.inverse(fn if fn is not operator.pow else lambda a, b: a**b, k)(*given) == pytest.approx(args[k])


def test_twice_is_the_function():
    f = FUNCTIONS[1]
    np.testing.assert_allclose(hovis.inverse(hovis.inverse(f))(X), f(X))


def test_nothing_of_it_is_left():
    trace = hovis.trace(hovis.inverse(lambda x: np.exp(np.tanh(x))), hovis.float64[5])
    assert [op.callee for op in trace.ops] == [np.log, np.arctanh]


def outside(x):
    return np.abs(x) + 1.0


def test_what_has_no_inverse_is_named():
    with pytest.raises(InverseError, match=r"numpy.absolute has no inverse that hovis knows") as raised:
        hovis.inverse(outside)(2.0)
    assert "np.abs(x) + 1.0" in str(raised.value)


@pytest.mark.parametrize(("fn", "why"), [
    (lambda x: x * x, "in 2 of its operands"),
    (lambda x: x if x > 0.0 else -x, "decided at run time"),
    (lambda x: 3.0, "does not depend on it"),
    (lambda x: (x, x), "returns 2 values"),
])  # fmt: skip
def test_why_not(fn, why):
    with pytest.raises(InverseError, match=why):
        hovis.inverse(fn)(2.0)


def test_one_of_the_users_own():
    def squeeze(x):
        return x / (1.0 + abs(x))

    hovis.define_inverse(squeeze, lambda y: y / (1.0 - abs(y)))
    assert hovis.inverse(lambda x: squeeze(2.0 * x))(0.5) == 0.5
