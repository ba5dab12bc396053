"""``hovis.checkpoint``: the same derivatives, of which less is kept."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.ir.model import callees
from hovis.ir.operations import make_tape
from hovis.library.numpy.adjoints.tangents import afresh

SAME: Callable[..., Any] = lambda f: f  # noqa: E731


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def layer(p: Any, x: Any) -> Any:
    h = np.tanh(x @ p["w"]) * np.sin(x @ p["w"])
    return {"y": np.exp(-h) * p["b"], "name": "layer", "parts": [h, 3]}


def step(w: Any, h: Any) -> Any:
    return np.tanh(w @ np.sin(np.exp(-(w @ h) ** 2)))


def loss(keep: Any) -> Callable[..., Any]:
    def of(p: Any, x: Any) -> Any:
        found = keep(layer)(p, x=x)
        return np.sum(found["y"] ** found["parts"][1]) + np.sum(found["parts"][0])

    return of


def unrolled(keep: Any) -> Callable[..., Any]:
    def of(w: Any, h: Any) -> Any:
        for _ in range(3):
            h = keep(step)(w, h)
        return np.sum(h)

    return of


def looped(keep: Any) -> Callable[..., Any]:
    def of(w: Any, h: Any, rounds: int) -> Any:
        for _ in range(rounds):
            h = keep(step)(w, h)
        return np.sum(h)

    return of


P, X = {"w": drawn(4, 3), "b": 2.0}, drawn(5, 4, seed=1)
W, H = 0.3 * drawn(4, 4), drawn(4, seed=1)


def count(function: Any, callee: object) -> int:
    return sum(op.callee is callee for one in callees(function) for op in one.ops())


def test_trees() -> None:
    expected = hovis.grad(loss(SAME))(P, X)
    for grad in (hovis.grad(loss(hovis.checkpoint)), hovis_xla.jit(hovis.grad(loss(hovis.checkpoint)), target="xla")):
        found = grad(P, X)
        assert np.allclose(found["w"], expected["w"], rtol=1e-12)
        assert found["b"] == pytest.approx(expected["b"], rel=1e-12)
    assert hovis.checkpoint(layer)(P, X)["name"] == "layer"


def test_nothing_but_arguments_is_kept() -> None:
    """What the reverse sweep uses of the function is computed from its arguments, and not by what has computed it before."""
    trace = hovis.trace(lambda w, h: hovis.grad(unrolled(hovis.checkpoint))(w, h), hovis.float64[4, 4], hovis.float64[4]).passes()
    plain = hovis.trace(lambda w, h: hovis.grad(unrolled(SAME))(w, h), hovis.float64[4, 4], hovis.float64[4]).passes()
    assert count(plain.function, afresh) == 0
    assert count(trace.function, afresh) == 6
    assert count(trace.function, np.exp) > count(plain.function, np.exp) == 3
    assert np.allclose(trace.compile()(W, H), plain.compile()(W, H), rtol=1e-12)


def test_tapes_are_fewer_in_loops() -> None:
    def tapes(keep: Any) -> int:
        trace = hovis.trace(lambda w, h, n: hovis.grad(looped(keep))(w, h, n), hovis.float64[4, 4], hovis.float64[4], hovis.Int).passes()
        return count(trace.function, make_tape)

    assert tapes(hovis.checkpoint) == 1
    assert tapes(SAME) > 2
    expected = hovis.grad(looped(SAME))(W, H, 9)
    found = hovis_xla.jit(hovis.grad(looped(hovis.checkpoint)), target="xla")
    assert np.allclose(found(W, H, 9), expected, rtol=1e-12)
    assert "one XLA executable" in found.explain()
    assert np.allclose(hovis.grad(looped(hovis.checkpoint))(W, H, 0), hovis.grad(looped(SAME))(W, H, 0))


def test_nested() -> None:
    def f(x: Any) -> Any:
        return math.sin(x * x) * math.exp(x)

    kept = hovis.checkpoint(f)
    twice = hovis.checkpoint(lambda x: kept(kept(x)))
    assert hovis.grad(hovis.grad(kept))(0.7) == pytest.approx(hovis.grad(hovis.grad(f))(0.7), rel=1e-12)
    assert hovis.grad(twice)(0.7) == pytest.approx(hovis.grad(lambda x: f(f(x)))(0.7), rel=1e-12)
    assert hovis.jvp(kept, (0.7,), (1.0,)) == pytest.approx(hovis.jvp(f, (0.7,), (1.0,)))
    g = hovis.checkpoint(lambda x: np.sin(x * x))
    assert np.allclose(hovis.vmap(hovis.grad(g))(np.arange(3.0)), [2 * x * math.cos(x * x) for x in range(3)])


def test_what_is_closed_over() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(hovis.checkpoint(lambda y: np.tanh(w @ y) * w[0])(x))

    for argnum in (0, 1):
        expected = hovis.grad(lambda x, w: np.sum(np.tanh(w @ x) * w[0]), argnum)(H, W)
        assert np.allclose(hovis.grad(f, argnum)(H, W), expected, rtol=1e-12)


def test_deeds_are_done_once(capsys: pytest.CaptureFixture[str]) -> None:
    """What prints or stores into its arguments is computed once."""

    @hovis.checkpoint
    def loud(x: Any) -> Any:
        print("here")
        return x * x

    assert hovis.grad(lambda x: loud(x))(3.0) == 6.0
    assert capsys.readouterr().out == "here\n"

    @hovis.checkpoint
    def changing(a: Any) -> Any:
        a[0] = a[0] * a[1]
        return np.sum(a * a)

    def f(x: Any) -> Any:
        a = x.copy()
        return changing(a) + a[0]

    assert np.allclose(hovis.grad(f)(np.array([2.0, 3.0])), [2 * 2 * 9 + 3, 2 * 4 * 3 + 6 + 2])


def test_what_raises_raises() -> None:
    inverse = hovis.checkpoint(np.linalg.inv)

    def f(x: Any) -> Any:
        try:
            return np.sum(inverse(x))
        except np.linalg.LinAlgError:
            return np.sum(x)

    assert np.allclose(hovis.grad(f)(np.zeros((2, 2))), np.ones((2, 2)))
    assert np.allclose(hovis.grad(f)(2.0 * np.eye(2)), hovis.grad(lambda x: np.sum(np.linalg.inv(x)))(2.0 * np.eye(2)))
    with pytest.raises(hovis.SpecError, match="callable"):
        hovis.checkpoint(3)  # type: ignore[arg-type]
