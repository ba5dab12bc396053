"""Gradients of plain functions: eager, in what is traced, nested, in trees of arguments."""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import hovis
import hovis_xla


def cube(x: Any) -> Any:
    return x * x * x


def loss(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ p["w"] + p["b"]) ** 2) / x.shape[0]


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def difference(f: Any, x: Any, step: float = 1e-6) -> Any:
    """Central differences of a function of one array."""
    found = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[k] += step
        down[k] -= step
        found[k] = (f(up) - f(down)) / (2 * step)
    return found


def test_numbers() -> None:
    assert hovis.grad(cube)(2.0) == 12.0
    assert hovis.value_and_grad(cube)(2.0) == (8.0, 12.0)
    assert type(hovis.grad(cube)(2.0)) is float


def test_nested() -> None:
    assert hovis.grad(hovis.grad(cube))(2.0) == 12.0
    assert hovis.grad(hovis.grad(hovis.grad(cube)))(2.0) == 6.0
    assert hovis.grad(lambda x: x * hovis.grad(cube)(x))(2.0) == 36.0


def test_a_dict_of_arrays() -> None:
    p, x = {"w": drawn(4, 2), "b": drawn(2, seed=1), "name": "first"}, drawn(3, 4, seed=2)
    found = hovis.grad(loss)(p, x)
    assert list(found) == ["w", "b", "name"]
    assert found["name"] is None
    assert np.allclose(found["w"], difference(lambda w: loss({**p, "w": w}, x), p["w"]))
    assert np.allclose(found["b"], difference(lambda b: loss({**p, "b": b}, x), p["b"]))


@dataclass
class Layer:
    w: Any
    b: float
    kind: str = "plain"


class Pair(NamedTuple):
    first: Any
    second: Any


def test_objects() -> None:
    def f(tree: Any) -> Any:
        layers, pair = tree
        return np.sum(layers[0].w * layers[1].b) + pair.first * pair.second

    tree = [Layer(drawn(3), 2.0), Layer(drawn(3), 0.5)], Pair(3.0, 4.0)
    (layers, pair) = hovis.grad(f)(tree)
    assert type(layers) is list
    assert type(layers[1]) is Layer
    assert layers[1].kind is None
    assert np.array_equal(layers[0].w, np.full(3, 0.5))
    assert layers[1].b == pytest.approx(tree[0][0].w.sum())
    assert pair == Pair(4.0, 3.0)


def test_inside_of_what_is_traced() -> None:
    def train(p: Any, x: Any, n: int) -> Any:
        for _ in range(n):
            g = hovis.grad(lambda q: loss(q, x))(p)
            p = {k: p[k] - 0.1 * g[k] for k in p}
        return p

    p, x = {"w": drawn(4, 2), "b": drawn(2, seed=1)}, drawn(3, 4, seed=2)
    found, expected = hovis.jit(train)(p, x, 5), train(p, x, 5)
    assert np.allclose(found["w"], expected["w"], rtol=1e-12)
    assert loss(found, x) < loss(p, x)


def test_argnums_and_what_comes_with_the_value() -> None:
    def f(x: float, y: float, z: float) -> Any:
        return x * y * z, {"x": x}

    assert hovis.grad(f, argnums=1, has_aux=True)(2.0, 3.0, 4.0) == (8.0, {"x": 2.0})
    assert hovis.value_and_grad(f, argnums=(0, -1), has_aux=True)(2.0, 3.0, 4.0) == ((24.0, {"x": 2.0}), (12.0, 6.0))


def test_vjp() -> None:
    y, pull = hovis.vjp(lambda x, w: x * w, 2.0, 5.0)
    assert (y, pull(1.0), pull(2.0)) == (10.0, (5.0, 2.0), (10.0, 4.0))


def test_what_has_no_gradient() -> None:
    with pytest.raises(TypeError, match=r"shape \(3,\)"):
        hovis.grad(lambda x: x * 2.0)(drawn(3))
    with pytest.raises(TypeError, match="there is no real number"):
        hovis.grad(cube)(3)


def test_a_number_that_chooses_is_known_where_it_is() -> None:
    def f(x: float, n: int) -> float:
        y = 1.0
        for _ in range(n):
            y = y * x
        return y

    def all_of(x: float) -> list[float]:
        found = []
        for n in (1, 2, 3):
            found.append(hovis.grad(lambda z, n=n: f(z, n))(x))
        return found

    assert hovis.jit(all_of)(2.0) == [1.0, 4.0, 12.0]


def test_cross_products():
    a, d, b = np.random.default_rng(3).normal(size=(3, 3))

    def f(x):
        return np.sum(np.cross(x, b) ** 2)

    assert np.isclose(np.sum(hovis.grad(f)(a) * d), (f(a + 1e-6 * d) - f(a - 1e-6 * d)) / 2e-6)


def _recurrent(p: Any, xs: Any) -> Any:
    h = np.zeros(2)
    for k in range(xs.shape[0]):
        h = np.tanh(p["w"] @ h + xs[k])
    return np.sum(h)


def _in_some_rounds(p: Any, xs: Any) -> Any:
    total = 0.0
    for k in range(xs.shape[0]):
        if xs[k, 0] > 0:
            p["w"] = p["w"] * 0.5
        total = total + np.sum(p["w"]) * xs[k, 1]
    return total


def _at_the_end(p: Any, xs: Any) -> Any:
    h = np.zeros(2)
    for k in range(xs.shape[0]):
        h = np.tanh(p["w"] @ h + xs[k])
    if h[0] > 0.1:
        p["seen"] = 3
    p["parts"].append(np.sum(h))
    return np.sum(h)


@pytest.mark.parametrize("fn", [_recurrent, _in_some_rounds, _at_the_end])
@pytest.mark.parametrize("compiled", [False, True])
def test_containers_are_left_as_the_function_leaves_them(fn: Any, compiled: bool) -> None:
    """Whether it stores into them in a loop, on one way, or nowhere."""
    gradient = hovis_xla.jit(hovis.grad(fn), target="xla") if compiled else hovis.grad(fn)
    for seed in range(3):
        xs = np.random.default_rng(seed).normal(size=(5, 2))
        given = {"w": np.eye(2) * 0.7, "parts": []}
        plain, mine = copy.deepcopy(given), copy.deepcopy(given)
        fn(plain, xs)
        held = mine["parts"]
        found = gradient(mine, xs)
        assert list(mine) == list(plain)
        assert mine["parts"] is held
        np.testing.assert_allclose(mine["w"], plain["w"], rtol=1e-12)
        assert mine.get("seen") == plain.get("seen")
        assert [float(one) for one in mine["parts"]] == pytest.approx([float(one) for one in plain["parts"]])
        for at in np.ndindex(2, 2):
            above, below = copy.deepcopy(given), copy.deepcopy(given)
            above["w"][at] += 1e-6
            below["w"][at] -= 1e-6
            assert found["w"][at] == pytest.approx((fn(above, xs) - fn(below, xs)) / 2e-6, rel=1e-5, abs=1e-7)


def test_a_dict_that_is_only_read_leaves_no_dict() -> None:
    compiled = hovis_xla.jit(hovis.grad(_recurrent), strict=True, target="xla")
    compiled({"w": np.eye(2), "parts": []}, np.ones((3, 2)))
    assert "executable" in compiled.explain()
