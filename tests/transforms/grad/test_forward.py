"""Forward mode, Jacobians, rules of the user's own."""

import math
from typing import Any

import numpy as np
import pytest

import hovis


def newton(a: float) -> float:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def test_through_a_loop_whose_end_depends_on_data() -> None:
    y, t = hovis.jvp(newton, (2.0,), (1.0,))
    assert y == newton(2.0)
    assert t == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)


def test_through_stores_and_views() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[i] ** 2
        y[1:] += x[:2]
        y *= 2.0
        return y.sum()

    x = np.array([1.0, 2.0, 3.0])
    assert hovis.jvp(f, (x,), (np.ones(3),)) == (f(x), 2.0 * (2.0 + 4.0 + 6.0 + 2.0))
    assert np.array_equal(x, [1.0, 2.0, 3.0])


def test_through_recursion_and_lists() -> None:
    def power(x: float, n: int) -> float:
        return x if n <= 0 else x * power(x, n - 1)

    def collected(x: float, n: int) -> float:
        out = []
        for i in range(n):
            out.append(x * i)
        return sum(out)

    assert hovis.jvp(lambda x: power(x, 4), (2.0,), (1.0,)) == (32.0, 80.0)
    assert hovis.jvp(lambda x: collected(x, 4), (2.0,), (1.0,)) == (12.0, 6.0)


def test_jacobians() -> None:
    def f(x: Any) -> Any:
        return np.sin(x) * x[0]

    x = np.array([0.5, 1.0, 2.0])
    expected = np.diag(np.cos(x) * x[0])
    expected[:, 0] += np.sin(x)
    assert np.allclose(hovis.jacfwd(f)(x), expected)
    assert np.allclose(hovis.jacrev(f)(x), expected)
    assert hovis.jacfwd(lambda x: x * x)(3.0) == 6.0
    found = hovis.jacfwd(lambda p: {"y": p["a"] * p["b"]})({"a": 2.0, "b": x})
    assert np.allclose(found["y"]["a"], x)
    assert np.allclose(found["y"]["b"], 2.0 * np.eye(3))


def test_second_derivatives() -> None:
    x = np.array([1.0, 2.0, 3.0])
    found = hovis.hessian(lambda x: np.sum(x**3) * x[1])(x)
    assert np.allclose(found, [[12.0, 3.0, 0.0], [3.0, 48.0, 27.0], [0.0, 27.0, 36.0]])
    assert hovis.grad(lambda x: hovis.jvp(lambda y: y * y * y, (x,), (1.0,))[1])(2.0) == 12.0


def test_linearize() -> None:
    y, push = hovis.linearize(lambda x, w: np.sum(x * w), np.arange(3.0), np.ones(3))
    assert y == 3.0
    assert push(np.ones(3), np.zeros(3)) == 3.0


def test_rules_of_the_users_own() -> None:
    @hovis.custom_vjp
    def clipped(x: float) -> float:
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (min(g, 1.0),))

    @hovis.custom_jvp
    def cube(x: float) -> float:
        return x * x * x

    cube.defjvp(lambda args, tangents: (cube(*args), 3.0 * args[0] ** 2 * tangents[0]))
    assert clipped(2.0) == 2.0
    assert hovis.grad(lambda x: 5.0 * clipped(x))(3.0) == 1.0
    assert hovis.grad(cube)(2.0) == 12.0
    assert hovis.jvp(cube, (2.0,), (1.0,)) == (8.0, 12.0)
    assert hovis.grad(hovis.grad(cube))(2.0) == 12.0
    assert hovis.jit(lambda x: cube(x) + 1.0)(2.0) == 9.0


def test_what_does_not_change() -> None:
    assert hovis.grad(lambda x: x * hovis.stop_gradient(x))(3.0) == 3.0
    assert hovis.grad(lambda p: p["a"] * hovis.stop_gradient(p)["a"])({"a": 3.0}) == {"a": 3.0}


def test_a_complex_step_goes_through() -> None:
    step = 1e-30
    y = hovis.jit(lambda z: np.sin(z) * z)(0.5 + step * 1j)
    assert y.imag / step == pytest.approx(hovis.grad(lambda x: np.sin(x) * x)(0.5), rel=1e-14)


def test_the_gradient_of_a_real_function_of_a_complex_number_points_uphill() -> None:
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j])
    assert np.allclose(hovis.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2.0 * z)


def test_tangents_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match=r"the tangent of x, whose shape is \(3,\)"):
        hovis.jvp(lambda x: x, (np.ones(3),), (np.ones(2),))


def falls(x, rounds):
    """Nobody knows how many rounds: the gradient has tapes."""
    total, done = 0.0, 0.0
    while done < rounds:
        y, inner = x, 0.0
        while inner < done:
            y, inner = y * y + 0.1 * math.sin(x), inner + 1.0
        total, done = total + y * x, done + 1.0
    return total


def test_forward_mode_of_gradients_through_loops():
    slope = hovis.grad(falls)
    expected = (slope(0.4 + 1e-6, 4.0) - slope(0.4 - 1e-6, 4.0)) / 2e-6
    value, change = hovis.jvp(slope, (0.4, 4.0), (2.0, 0.0))
    assert value == slope(0.4, 4.0)
    assert abs(change / 2.0 - expected) < 1e-6
    assert abs(hovis.hessian(falls)(0.4, 4.0) - expected) < 1e-6


def in_a_tree(p):
    return {"a": p["u"] * 2.0, "b": np.sum(p["v"] ** 2), "c": p["v"][::-1] * p["u"]}


def prints(x):
    print("called")
    return np.sin(x) * x[0]


def until(x, n):
    k = 0.0
    while k < n:
        x, k = np.sin(x) * 1.1, k + 1.0
    return x


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: np.tanh(np.arange(15.0).reshape(3, 5) @ x), (np.linspace(0.1, 1.0, 5),)),
        (lambda x: np.where(x > 0.5, x * x, x) * (1 if x[0] > 0 else 2), (np.linspace(0.1, 1.0, 4),)),
        (lambda x: (x[0] * x, np.sum(x), x[::-1].astype(np.float32)), (np.linspace(0.1, 1.0, 3),)),
        (lambda x: np.outer(x, x) * 1j, (np.array([1.0 + 1j, 2.0]),)),
        (prints, (np.linspace(0.1, 1.0, 3),)),
        (until, (np.linspace(0.1, 1.0, 3), 4.0)),
    ],
    ids=["matrix", "branches", "several", "complex", "prints", "loop"],
)
def test_jacobians_of_all_directions_are_those_of_one_after_the_other(f, args):
    for jacobian in (hovis.jacfwd, hovis.jacrev)[: 1 if np.iscomplexobj(args[0]) else 2]:
        found = jacobian(f)(*args)
        columns = [hovis.jvp(lambda x: f(x, *args[1:]), args[:1], (direction,))[1] for direction in np.eye(args[0].size, dtype=args[0].dtype)]
        several = isinstance(found, tuple)
        for made, one in zip(found if several else (found,), zip(*columns, strict=True) if several else (columns,), strict=True):
            expected = np.stack([np.asarray(column) for column in one], -1)
            assert np.shape(made) == expected.shape
            assert made.dtype == (expected.dtype if jacobian is hovis.jacfwd else args[0].dtype)
            np.testing.assert_allclose(made, expected, rtol=1e-6, atol=1e-12)


def test_jacobians_of_trees():
    at = {"u": 2.0, "v": np.array([0.1, 0.3])}
    found = hovis.jacfwd(in_a_tree)(at)
    assert found["a"]["u"] == 2.0
    np.testing.assert_allclose(found["b"]["v"], 2 * at["v"])
    np.testing.assert_allclose(found["c"]["v"], [[0.0, 2.0], [2.0, 0.0]])


def test_the_gradient_of_a_hessian_through_a_loop():
    def chained(v):
        total = 0.0
        for i in range(len(v)):
            total = total + np.sin(v[i]) * v[i - 1] ** 2
        return total

    def summed(v):
        return np.sum(hovis.hessian(chained)(v))

    v, step = np.array([0.3, 0.5, 0.7]), 1e-5
    wanted = [(summed(v + step * unit) - summed(v - step * unit)) / (2 * step) for unit in np.eye(3)]
    np.testing.assert_allclose(hovis.grad(summed)(v), wanted, rtol=1e-7)
