"""Models that are trained, in one compiled program: the examples, and what stood in their way."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
learning = importlib.import_module("learning")


@pytest.mark.parametrize("name", learning.MODELS)
def test_the_losses_are_those_of_gradients_by_hand(name: str) -> None:
    loss, by_hand, data, steps, rate = learning.MODELS[name]
    params, given = data()
    compiled = hovis_xla.jit(learning.descend)
    found, losses = compiled(hovis.value_and_grad(loss), params, given, steps, rate)
    expected, by_hand_losses = learning.descend(by_hand, params, given, steps, rate)
    np.testing.assert_allclose(losses, by_hand_losses, rtol=1e-9)
    assert losses[-1] < 0.6 * losses[0]
    for key in params:
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-7, atol=1e-9)
    assert "descend runs as one XLA executable" in compiled.explain()


def test_what_is_added_at_places_leaves_all_else_known() -> None:
    def spread(parts: Any, places: Any, amounts: Any) -> Any:
        held = np.zeros(3)
        np.add.at(held, places, amounts)
        return {key: value + held for key, value in parts.items()}

    trace = hovis.trace(spread, {"x": hovis.float64[3], "y": hovis.float64[3]}, hovis.int64[2], hovis.float64[2])
    assert len(trace.blocks) == 1


def test_what_is_not_known_is_no_leaf() -> None:
    """The class of a parameter is another in the second round: the gradient is taken where it is known."""

    def loss(p: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ p["w"] + p["b"]) ** 2)

    def train(slopes: Any, p: Any, x: Any, steps: int) -> Any:
        losses = np.zeros(steps)
        for k in range(steps):
            losses[k], g = slopes(p, x)
            p = {name: p[name] - 0.1 * g[name] for name in p}
        return p, losses

    p, x = {"w": np.ones(2), "b": np.zeros(())}, np.ones((3, 2))
    g = hovis.value_and_grad(loss)
    expected, losses = train(g, p, x, 4)
    for compiled in (hovis.jit(train), hovis_xla.jit(train)):
        found, others = compiled(g, p, x, 4)
        np.testing.assert_allclose(others, losses)
        assert [type(one) for one in found.values()] == [type(one) for one in expected.values()]
        np.testing.assert_allclose(found["b"], expected["b"])


def test_parameters_that_are_changed_in_place() -> None:
    def step(params: Any, speed: Any, x: Any, y: Any, rate: float) -> Any:
        loss, slope = hovis.value_and_grad(learning.logistic)(params, x, y)
        for name in params:
            speed[name] *= 0.9
            speed[name] -= rate * slope[name]
            params[name] = params[name] + speed[name]
        return loss

    params, (x, y) = learning.logistic_data(20, 3)
    others = {name: value.copy() for name, value in params.items()}
    speed, other_speed = ({name: np.zeros_like(value) for name, value in params.items()} for _ in range(2))
    compiled = hovis_xla.jit(step, target="xla")
    for _ in range(3):
        np.testing.assert_allclose(compiled(params, speed, x, y, 0.1), step(others, other_speed, x, y, 0.1))
    for name in params:
        np.testing.assert_allclose(params[name], others[name], rtol=1e-9)
        np.testing.assert_allclose(speed[name], other_speed[name], rtol=1e-9)
    assert compiled.explain() == "step runs as one XLA executable."
