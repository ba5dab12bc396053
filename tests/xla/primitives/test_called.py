"""Primitives of the user's own without a lowering: the compiled program calls them, and they are what they are in Python."""
import contextlib
import io

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.lattice import Partial, Type

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
def sum_shown(a):
    s = float(a.sum())
    print("seen", s)
    return s


@hovis.primitive
def array_shown(a):
    print("seen", a)
    return float(a.sum())


@hovis.primitive
def cleared_and_shown(a):
    a[0] = 0.0
    s = float(a.sum())
    print("seen", s)
    return s


@hovis.primitive
def handed_on_and_shown(a):
    print("seen", a.shape)
    return a


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


@hovis.primitive
def pair(x):
    return np.exp(x), np.sum(x)


@hovis.primitive
def nested(x, k):
    return np.exp(x) * k, (np.sum(x), "text", None, 3, k + 1)


@hovis.primitive
def told(x):
    return float(str(x)), int(str(x)[0])  # nothing that could be traced


told.defresult(lambda x: Partial(tuple, range(2), [Type(float), Type(int)]))


@hovis.primitive
def two_ways(x):
    if x[0] > 0.0:
        return x * 2.0, 1.0
    return x * 3.0, 2.0


@hovis.primitive
def with_itself(x):
    return x, x * 2.0


@hovis.primitive
def twice_the_same(x):
    y = x * 2.0
    return y, y


TABLE = np.ones(3), 2.0


@hovis.primitive
def of_others(x):
    return TABLE


of_others.defresult(lambda x: Partial(tuple, range(2), [Type(np.ndarray), Type(float)]))


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


def printing_arrays(x, n):
    s = 0.0
    for k in range(n):
        y = x + k
        s += sum_shown(y)
        y[0] = 9.0
        s += sum_shown(y)
    return s


def printing_an_array(x):
    s = array_shown(x + 1.0)
    return x * s


def printing_what_it_writes(x):
    s = cleared_and_shown(x)
    return s + x


def printing_what_it_gives(x):
    y = handed_on_and_shown(x)
    y[0] = 5.0
    return x * 2.0


def printing_and_giving_up(x):
    s = sum_shown(x)
    return sum_shown(refusing(x) + s)


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


def parts_in_a_loop(x, n):
    s = 0.0
    for k in range(n):
        y, t = pair(x * k)
        s += np.sum(y) - t
    return s


def parts_of_parts(x, k):
    y, (t, text, none, three, more) = nested(x * 2.0, k)
    return (y * t, text, none), three + more


def parts_by_declaration(x):
    a, b = told(x * 2.0)
    return a * b + 1.0


def one_of_two_ways(x):
    a, b = two_ways(x * 2.0)
    return a * b + 1.0


def stores_into_a_part(x):
    y, z = with_itself(x)
    y[0] = 5.0
    return x * 2.0 + z


def stores_into_parts_that_are_one(x):
    y, z = twice_the_same(x * 1.0)
    y[0] = 5.0
    return y + z


def stores_into_what_others_hold(x):
    y, t = of_others(x)
    y[0] += x[0]
    return y * t


def gives_the_parts(x):
    p = pair(x * 2.0)
    return p, len(p)


A = np.array([1.0, 2.0, 3.0])
CASES = [
    (in_a_loop, (A, 5)), (by_declaration, (A,)), (may_raise, (A,)), (may_raise, (A * 6.0,)), (stored_into_what_it_gives, (A,)), (printing, (1.5, 3)),
    (log_is_longer, (1.5,)), (dict_is_read_behind, (1.5,)), (class_is_read_behind, (1.5,)), (reads_what_is_stored, (1.5,)),
    (reads_an_array_that_is_stored_into, (1.5,)), (stores_into_its_argument, (A,)), (parts_in_a_loop, (A, 5)), (parts_of_parts, (A, 4)),
    (parts_by_declaration, (1.5,)), (one_of_two_ways, (A,)), (one_of_two_ways, (-A,)), (stores_into_a_part, (A,)), (stores_into_parts_that_are_one, (A,)),
    (stores_into_what_others_hold, (A,)), (gives_the_parts, (A,)), (printing_arrays, (A, 3)), (printing_an_array, (A,)), (printing_what_it_writes, (A,)),
    (printing_what_it_gives, (A,)), (printing_and_giving_up, (A,)), (printing_and_giving_up, (A * 6.0,)),
]
COMPILED = (in_a_loop, by_declaration, may_raise, printing, printing_arrays, parts_in_a_loop, parts_of_parts, parts_by_declaration, one_of_two_ways, gives_the_parts)


def rounded(found):
    if isinstance(found, tuple):
        return tuple(map(rounded, found))
    return np.round(found, 9) if isinstance(found, np.ndarray | float) else found


def calls_of(fn, args):
    """What several calls give, print, and leave behind."""
    STATE["k"], Held.k, WEIGHTS[:] = 0.0, 0.0, 1.0
    TABLE[0][:] = 1.0
    LOG.clear()
    found = []
    for _ in range(3):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                result = repr(rounded(fn(*given)))
            except ValueError as error:
                result = repr(error)
        found.append((result, repr(given), out.getvalue()))
    return found, dict(STATE), Held.k, list(LOG), WEIGHTS.tolist(), TABLE[0].tolist()


@pytest.mark.parametrize(("fn", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_as_in_python(fn, args):
    expected = calls_of(fn, args)
    assert calls_of(hovis.jit(fn), args) == expected
    assert calls_of(hovis_xla.jit(fn), args) == expected


@pytest.mark.parametrize(("fn", "args"), [case for case in CASES if case[0] in COMPILED and case is not CASES[3]], ids=lambda x: getattr(x, "__name__", ""))
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
