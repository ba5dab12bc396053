"""Forward mode through what is real, as in test_recorded; and stores, by whatever name the array is known."""

import copy
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.transforms.record.recorder import pushed_python, recorded_python
from tests.transforms.record.test_recorded import ARRAYS, CONTAINERS, OBJECTS, Node, differences, drawn

CASES = [CONTAINERS[3], CONTAINERS[-1], OBJECTS[0], ARRAYS[0], ARRAYS[2]]


def closed(case: Any) -> Any:
    f, _, *rest = case
    return lambda x: f(x, *copy.deepcopy(rest))


def direction(x: Any) -> Any:
    return drawn(*x.shape, seed=9) if isinstance(x, np.ndarray) else 0.7


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_agrees_with_central_differences(case):
    f, x = closed(case), case[1]
    t = direction(x)
    value, change = hovis.jvp(f, (copy.deepcopy(x),), (t,))
    assert value == f(copy.deepcopy(x))
    np.testing.assert_allclose(change, np.sum(differences(f, (x,)) * t), rtol=1e-5, atol=1e-6)


def test_derivatives_nest():
    def f(v):
        kept, a = [v[0]], v * 1.0
        for k in range(3):
            a[k] = kept[-1] * a[k + 1]
            kept.append(a[k] * v[k])
        return np.sum(a) * kept[-1]

    x, t = drawn(4), drawn(4, seed=9)
    # without tracing it, which takes longer
    push, pull = pushed_python(f, 1), recorded_python(lambda v: (f(v),), 1, 1)
    steps = [pull(x + step * t)[1] for step in (1e-6, -1e-6)]
    expected = (steps[0] - steps[1]) / 2e-6
    np.testing.assert_allclose(pushed_python(lambda v: pull(v)[1], 1)(x, t)[1], expected, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(recorded_python(lambda v: (np.sum(pull(v)[1] * t),), 1, 1)(x)[1], expected, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(recorded_python(lambda v: (push(v, t)[1],), 1, 1)(x)[1], expected, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(pushed_python(lambda v: push(v, t)[1], 1)(x, t)[1], expected @ t, rtol=1e-5)


def test_by_all_names():
    def f(x):
        kept = {"x": x}
        kept.setdefault(str(x), x * x)
        return max(kept.values())

    assert hovis.linearize(f, 3.0)[1](2.0) == 12.0
    assert hovis.jacfwd(f)(3.0) == 6.0
    assert hovis_xla.jit(lambda x: hovis.jvp(f, (x,), (2.0,)))(3.0) == (9.0, 12.0)


def test_results_have_tangents_of_their_structure():
    def f(x, n):
        kept = []
        for _ in range(n):
            kept.append(x * x)
        node = Node(kept[0] * x, [kept[-1], 1, "a"])
        return {"kept": kept, "node": node, "n": n, "pair": (1.5, x)}

    value, change = hovis.jvp(lambda x: f(x, np.int64(2)), (3.0,), (1.0,))
    assert value["kept"] == [9.0, 9.0]
    assert (change["kept"], change["n"], change["pair"]) == ([6.0, 6.0], None, (0.0, 1.0))
    assert (value["node"].value, change["node"].value) == (27.0, 27.0)
    assert change["node"].after == [6.0, None, None]


# ------------------------------------------------------------------------------------------------- stores, by other names


def reshaped(x):
    a = np.zeros(4)
    b = a.reshape(2, 2)
    b[0, 0] = x
    return a.sum() * x


def one_of_two(x):
    a, b = np.zeros(4), np.ones(4)
    y = a if x > 0 else b
    y[0] = x * x
    return a.sum() + 2 * b.sum()


def transposed(v):
    w = v.T
    w[0] = v[:, 1] * 2
    return v.sum() * v[0, 0]


def flattened(v):
    w = np.ravel(v)
    w[0] = w[1] ** 2
    return v[0, 0] * 3 + w[0]


def the_same(v):
    a = np.asarray(v)
    a[0] = a[1] * a[1]
    return np.sum(v)


def rows(v):
    for row in v:
        row[0] = row[1] ** 2
    return v.sum()


def as_it_grows(v):
    kept, k = [], 0
    while True:
        try:
            kept.append(v[k, 0] ** 2)
            k += 1
        except IndexError:
            return sum(kept) * np.sum(kept)


LAYOUTS = {
    "C": np.array, "F": np.asfortranarray, "strided": lambda v: np.repeat(np.repeat(v, 2, 0), 2, 1)[::2, ::2], "backwards": lambda v: np.array(v[::-1])[::-1],
}  # fmt: skip


@pytest.mark.parametrize("f", [reshaped, one_of_two])
@pytest.mark.parametrize("x", [0.5, -0.5])
def test_stores_by_other_names(f, x):
    np.testing.assert_allclose(hovis.jvp(f, (x,), (1.0,))[1], differences(f, (x,)), rtol=1e-6)


@pytest.mark.parametrize("f", [transposed, flattened, the_same, rows, as_it_grows])
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_stores_into_arguments_however_they_lie(f, layout):
    """What is a view of one array may be a copy of another; the derivative knows which."""
    def made(v):
        return LAYOUTS[layout](v)

    v, t = np.array([[0.3, 0.7], [1.1, -0.4]]), drawn(2, 2, seed=9)
    steps = [f(made(v + step * t)) for step in (1e-6, -1e-6)]
    expected = (steps[0] - steps[1]) / 2e-6
    np.testing.assert_allclose(hovis.jvp(f, (made(v),), (t,))[1], expected, rtol=1e-5)
    np.testing.assert_allclose(np.sum(hovis.grad(f)(made(v)) * t), expected, rtol=1e-5)


def test_what_is_not_wanted_may_be_stored_into():
    def f(x, a):
        a[0] = x * a[1]
        return np.sum(a * a)

    a = np.array([1.0, 2.0, 3.0])
    assert hovis.jvp(lambda x: f(x, a), (5.0,), (1.0,)) == (113.0, 40.0)
    assert a[0] == 10.0


@pytest.mark.parametrize("f", [lambda v: np.sum([v[0] * v[1], v[0]]), lambda v: np.max((v[0] * v[1], v[1])), lambda v: np.sum(np.stack([[v[0], 1.0], [2.0, v[1]]]) ** 2)])
def test_lists_that_are_arrays(f):
    v = np.array([2.0, 3.0])
    expected = differences(f, (v,))
    np.testing.assert_allclose(hovis.vjp(f, v)[1](1.0)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(hovis.linearize(f, v)[1](np.ones(2)), np.sum(expected), rtol=1e-6)
    np.testing.assert_allclose(hovis_xla.jit(hovis.grad(f))(v), expected, rtol=1e-6)


def squared_in_place(v):
    v *= v
    v **= 3
    return np.sum(v)


def by_its_neighbour(v):
    x = v * 1.0
    x[1:] *= x[:-1]
    y = x[::-1]
    x += y * x
    try:
        x /= y + 3.0
    except ValueError:
        return 0.0
    return np.sum(x * v)


@pytest.mark.parametrize("f", [squared_in_place, by_its_neighbour])
def test_in_place_by_itself(f):
    """Its tangent is made of what the operands were, although they are views of what the operator writes into."""
    v, t = np.array([0.6, 0.9, 0.35]), np.array([0.3, -0.2, 0.5])
    expected = np.sum(differences(f, (v,)) * t)
    np.testing.assert_allclose(hovis.jvp(f, (v.copy(),), (t,))[1], expected, rtol=1e-6)
    np.testing.assert_allclose(np.sum(hovis.grad(f)(v.copy()) * t), expected, rtol=1e-6)
