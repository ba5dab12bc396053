"""``vjp`` and ``linearize``: the function is run once, and what it leaves is used as often as the second half is called."""

from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.functional.vjp import Linear, Pullback, Pulled, Pushed


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def layer(p: Any, x: Any) -> Any:
    h = np.tanh(x @ p["w"])
    return {"y": np.exp(h) * p["b"], "n": 3}, ("aux", h)


def loop(w: Any, n: Any) -> Any:
    h, k = w, 0
    while k < n:
        h = np.exp(np.sin(h * w))
        k += 1
    return h


def stored(w: Any) -> Any:
    a = np.zeros(3)
    a[:2] = np.exp(w)
    a[2] = a[0] * a[1]
    return a * a


def test_trees() -> None:
    p, x = {"w": drawn(4, 3), "b": 2.0, "name": "p"}, drawn(5, 4, seed=1)
    y, pull, aux = hovis.vjp(layer, p, x, has_aux=True)
    assert isinstance(pull, Pulled)
    assert np.array_equal(y["y"], layer(p, x)[0]["y"])
    assert (y["n"], aux[0], aux[1].shape) == (3, "aux", (5, 3))
    expected = hovis.grad(lambda p, x: np.sum(layer(p, x)[0]["y"] * 2.0), (0, 1))(p, x)
    for _ in range(2):
        of_p, of_x = pull({"y": np.full((5, 3), 2.0), "n": None})
        assert np.allclose(of_p["w"], expected[0]["w"], rtol=1e-12)
        assert of_p["b"] == pytest.approx(expected[0]["b"])
        assert type(of_p["b"]) is float
        assert of_p["name"] is None
        assert np.allclose(of_x, expected[1], rtol=1e-12)
    with pytest.raises(TypeError, match="2 leaves"):
        pull(np.ones((5, 3)))
    with pytest.raises(TypeError, match="shape"):
        pull({"y": np.ones(3), "n": None})


def test_cotangents_are_arrays_of_their_own() -> None:
    w, seed = drawn(3), np.ones(3)
    _, pull = hovis.vjp(lambda w: w + 1.0, w)
    (found,) = pull(seed)
    found[0] = 7.0
    assert seed[0] == 1.0
    assert pull(seed)[0][0] == 1.0


def test_loops() -> None:
    w = 0.3 * drawn(3)
    for n in (0, 1, 5):
        y, pull = hovis.vjp(loop, w, n)
        assert isinstance(pull, Pulled)
        assert np.array_equal(y, loop(w, n))
        for seed in (np.ones(3), drawn(3, seed=2)):
            assert np.allclose(pull(seed)[0], hovis.grad(lambda w, n=n, seed=seed: np.sum(loop(w, n) * seed))(w), rtol=1e-12)


def test_what_is_stored_into() -> None:
    """There the function is run again: a shadow serves once."""
    w = drawn(2)
    y, pull = hovis.vjp(stored, w)
    assert isinstance(pull, Pullback)
    for seed in (np.ones(3), np.array([0.0, 2.0, 1.0])):
        assert np.allclose(pull(seed)[0], hovis.grad(lambda w, seed=seed: np.sum(stored(w) * seed))(w), rtol=1e-12)
    assert np.array_equal(y, stored(w))
    assert isinstance(hovis.linearize(stored, w)[1], Linear)
    assert np.allclose(hovis.linearize(stored, w)[1](np.ones(2)), hovis.jvp(stored, (w,), (np.ones(2),))[1])


def test_linearize() -> None:
    w, x = drawn(4, 3), drawn(5, 4, seed=1)

    def f(w: Any, x: Any) -> Any:
        return np.exp(x @ w) * x[:, :1], x.sum()

    y, push = hovis.linearize(f, w, x)
    assert isinstance(push, Pushed)
    assert np.array_equal(y[0], f(w, x)[0])
    for seed in (2, 3):
        tangents = drawn(4, 3, seed=seed), drawn(5, 4, seed=seed)
        for found, expected in zip(push(*tangents), hovis.jvp(f, (w, x), tangents)[1], strict=True):
            assert np.allclose(found, expected, rtol=1e-12)


def test_in_a_trace_it_is_run_once() -> None:
    def twice(x: Any) -> Any:
        y, pull = hovis.vjp(lambda z: np.exp(np.sin(z)) * z, x)
        return pull(y)[0] + pull(x)[0]

    trace = hovis.trace(twice, hovis.float64[3]).passes()
    assert sum(op.callee is np.exp for op in trace.function.ops()) == 1
    x = drawn(3)
    expected = trace.compile()(x)
    assert np.allclose(twice(x), expected)
    compiled = hovis_xla.jit(twice, target="xla")
    assert np.allclose(compiled(x), expected)
    assert "one XLA executable" in compiled.explain()
    assert hovis.grad(lambda x: hovis.vjp(lambda y: y * y * y, x)[1](1.0)[0])(2.0) == 12.0
    assert hovis.grad(lambda x: hovis.linearize(lambda y: y * y * y, x)[1](1.0))(2.0) == 12.0


def grows(t: Any, x: Any) -> Any:
    t["n"].append(x)
    t["a"][0] = t["a"][0] ** 2 * x
    return t["a"][0] + len(t["n"])


@pytest.mark.parametrize("way", ["vjp", "linearize"])
def test_what_the_function_changes(way: str) -> None:
    """It is changed for the caller, once; the second half is that of what the arguments were."""
    t = {"n": [1.0, 2.0], "a": np.array([3.0, 2.0])}
    value, second = getattr(hovis, way)(grows, t, 5.0)
    for _ in range(2):
        assert value == 48.0
        assert (t["n"], list(t["a"])) == ([1.0, 2.0, 5.0], [45.0, 2.0])
        if way == "linearize":
            assert second({"n": [1.0, 1.0], "a": np.ones(2)}, 1.0) == 39.0
        else:
            found, of_x = second(1.0)
            assert (found["n"], list(found["a"]), of_x) == ([0.0, 0.0], [30.0, 0.0], 9.0)


def test_a_list_that_grows_is_handed_back() -> None:
    def f(t: Any) -> Any:
        t["l"].append(t["l"][0] * 3.0)
        t["p"] = t["l"][-1]
        return t["p"]

    t: Any = {"l": [1.0]}
    value, pull = hovis.vjp(f, t)
    assert (value, pull(1.0)[0], t) == (3.0, {"l": [3.0]}, {"l": [1.0, 3.0], "p": 3.0})
