"""Primitives of the user's own without a lowering: the compiled program calls them, and they are what they are in Python."""
import contextlib
import io

import numpy as np
import pytest

import hovis
import hovis_xla

pytestmark = pytest.mark.xla

STATE = {"k": 0.0}
LOG = []
WEIGHTS = np.ones(3)


class Held:
    k = 0.0


@hovis.primitive
def softplus(x):
    return np.log1p(np.exp(x))


@hovis.primitive
def declared(x):
    return np.array([float(str(v)) for v in x])  # nothing that could be traced


declared.defresult(lambda x: x, lambda m, args, kwargs: args[0].dims)


@hovis.primitive
def refusing(x):
    if x[0] > 5.0:
        raise ValueError("too large")
    return x + 1.0


@hovis.primitive
def itself(x):
    return x


@hovis.primitive
def shown(x):
    print("seen", x)
    return x * 2.0


@hovis.primitive
def noted(x):
    LOG.append(x)
    return x * 2.0


@hovis.primitive
def kept_in_dict(x):
    STATE["k"] = x
    return x * 2.0


@hovis.primitive
def kept_in_class(x):
    Held.k = x
    return x * 2.0


@hovis.primitive
def of_dict(x):
    return x * 2.0 + STATE["k"]


@hovis.primitive
def of_array(x):
    return x * 2.0 + WEIGHTS[0]


@hovis.primitive
def storing(a):
    a[0] = 7.0
    return a.sum()


def in_a_loop(x, n):
    s = 0.0
    for k in range(n):
        s += np.sum(softplus(x) * k)
    return s


def by_declaration(x):
    return np.sum(declared(x) * 3.0)


def may_raise(x):
    return np.sum(refusing(x) * 3.0)


def stored_into_what_it_gives(x):
    y = itself(x)
    y[0] = 5.0
    return x * 2.0


def printing(x, n):
    s = 0.0
    for k in range(n):
        s += shown(x + k)
    return s


def log_is_longer(x):
    before = len(LOG)
    return noted(x) + len(LOG) - before


def dict_is_read_behind(x):
    before = STATE["k"]
    return kept_in_dict(x) + STATE["k"] + before


def class_is_read_behind(x):
    before = Held.k
    return kept_in_class(x) + Held.k + before


def reads_what_is_stored(x):
    first = of_dict(x)
    STATE["k"] = x + 1.0
    return first + of_dict(x)


def reads_an_array_that_is_stored_into(x):
    WEIGHTS[0] = x
    return of_array(x)


def stores_into_its_argument(a):
    return storing(a) + a[0]


A = np.array([1.0, 2.0, 3.0])
CASES = [
    (in_a_loop, (A, 5)), (by_declaration, (A,)), (may_raise, (A,)), (may_raise, (A * 6.0,)), (stored_into_what_it_gives, (A,)), (printing, (1.5, 3)),
    (log_is_longer, (1.5,)), (dict_is_read_behind, (1.5,)), (class_is_read_behind, (1.5,)), (reads_what_is_stored, (1.5,)),
    (reads_an_array_that_is_stored_into, (1.5,)), (stores_into_its_argument, (A,)),
]


def calls_of(fn, args):
    """What several calls give, print, and leave behind."""
    STATE["k"], Held.k, WEIGHTS[:] = 0.0, 0.0, 1.0
    LOG.clear()
    found = []
    for _ in range(3):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                result = repr(np.round(fn(*given), 9))
            except ValueError as error:
                result = repr(error)
        found.append((result, repr(given), out.getvalue()))
    return found, dict(STATE), Held.k, list(LOG), WEIGHTS.tolist()


@pytest.mark.parametrize(("fn", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_in_python(fn, args):
    expected = calls_of(fn, args)
    assert calls_of(hovis.jit(fn), args) == expected
    assert calls_of(hovis_xla.jit(fn), args) == expected


@pytest.mark.parametrize(("fn", "args"), [CASES[k] for k in (0, 1, 2, 5)], ids=lambda x: getattr(x, "__name__", ""))
def test_they_are_called_from_the_program(fn, args):
    jitted = hovis_xla.jit(fn)
    calls_of(jitted, args)
    assert "one XLA executable" in jitted.explain()


def test_their_derivatives_and_lanes_are_compiled_as_well():
    @hovis.primitive
    def cube(x):
        return x * x * x
    cube.defelementwise(lambda y, x: 3.0 * x * x)
    jitted = hovis_xla.jit(hovis.grad(lambda x: np.sum(cube(x) * 2.0)))
    np.testing.assert_allclose(jitted(A), 6.0 * A * A)
    np.testing.assert_allclose(hovis_xla.jit(hovis.vmap(lambda v: np.sum(cube(v)) * 2.0))(np.ones((2, 3))), [6.0, 6.0])
