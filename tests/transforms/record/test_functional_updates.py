"""Stores into arrays that have just been made, of which the reverse sweep makes values."""

from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla


def waves(speed: Any, start: Any, steps: int) -> Any:
    before, now = start, start
    for _ in range(steps):
        after = np.zeros_like(now)
        after[1:-1] = 2.0 * now[1:-1] - before[1:-1] + speed[1:-1] * (now[2:] + now[:-2] - 2.0 * now[1:-1])
        before, now = now, after
    return np.sum(now * now)


def several_parts(x: Any, start: Any, steps: int) -> Any:
    made = np.ones(4) * 0.5
    for k in range(steps):
        made = np.empty_like(start)
        made[...] = start * x[0]
        made[1:] = made[0] * x[1:]
        made[0] = x[0] * made[1] + k
    return np.sum(made * made * x)


def seen_in_between(x: Any, start: Any, steps: int) -> Any:
    total = 0.0
    for _ in range(steps):
        made = np.zeros(4)
        shown = made[1:3]
        made[:2] = x[:2] * start[0]
        kept = [made]
        made[2:] = x[2:] * x[1]
        total = total + np.sum(shown * x[1:3]) + kept[0][3] * x[0]
        made[1] = 0.5
        total = total + made[1] * x[3] + shown[0] * x[2]
    return total


def stored_later(x: Any, start: Any, steps: int) -> Any:
    last = start * 1.0
    for _ in range(steps):
        made = np.zeros(4)
        made[1:] = x[1:] * last[:-1]
        last[0] = made[1] * x[0]
        last = made
    last[2] *= x[2]
    return np.sum(last * x)


def differences(f: Any, x: Any, step: float = 1e-6) -> Any:
    """Central differences, along a new last axis."""
    units = np.eye(x.size).reshape(-1, *x.shape) * step
    return np.stack([(np.asarray(f(x + unit)) - f(x - unit)) / (2.0 * step) for unit in units], -1)


X, START = np.array([0.7, 1.2, -0.4, 0.9]), np.array([0.3, -0.8, 1.1, 0.6])


@pytest.mark.parametrize("f", [waves, several_parts, seen_in_between, stored_later], ids=lambda f: f.__name__)
def test_gradients(f: Any) -> None:
    for k, steps in ((0, 3), (1, 3), (0, 0)):
        derived = hovis.grad(f, argnums=k)
        expected = differences(lambda x: f(*(x, START) if k == 0 else (X, x), steps), (X, START)[k])
        np.testing.assert_allclose(derived(X, START, steps), expected, rtol=1e-6, atol=1e-7)


def test_the_gradient_of_arrays_that_are_made_anew_in_each_round_is_one_executable() -> None:
    compiled = hovis_xla.jit(hovis.grad(waves), target="xla")
    np.testing.assert_allclose(compiled(X, START, 9), hovis.grad(waves)(X, START, 9), rtol=1e-11)
    (variant,) = compiled._variants.values()
    assert variant.xla is not None


def test_in_derivatives_again_and_over_lanes() -> None:
    slope = hovis.grad(waves)
    bend = differences(lambda x: slope(x, START, 2), X)
    direction = np.array([1.0, -2.0, 0.5, 0.3])
    np.testing.assert_allclose(hovis.jvp(lambda x: slope(x, START, 2), (X,), (direction,))[1], bend @ direction, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(hovis.grad(lambda x: np.sum(slope(x, START, 2) * direction))(X), direction @ bend, rtol=1e-6, atol=1e-7)
    several = np.stack([X, 2.0 * X])
    found = hovis.vmap(slope, in_axes=(0, None, None))(several, START, 3)
    np.testing.assert_allclose(found, [slope(x, START, 3) for x in several], rtol=1e-12)


def given_another_shape(x: Any) -> Any:
    a = np.outer(x, x) * 2
    row = a[0]
    a.shape = (x.size * x.size,)
    a[1] += 3 * x[0]
    row[0] *= 2
    return np.sum(a * np.arange(1.0, a.size + 1))


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5 and later
def test_a_shape_that_changes_in_place() -> None:
    x, other = np.arange(1.0, 4.0), np.arange(3.0)
    want = 4 * (np.arange(1.0, 10.0).reshape(3, 3) + np.arange(1.0, 10.0).reshape(3, 3).T) / 2 @ x + [6 + 4 * x[0], 0, 0]
    assert np.allclose(hovis.grad(given_another_shape)(x), want)
    assert np.isclose(hovis.jvp(given_another_shape, (x,), (np.ones(3),))[1], want.sum())
    assert np.allclose(hovis.vmap(given_another_shape)(np.stack([x, other])), [given_another_shape(x), given_another_shape(other)])
