"""What is given where there is no derivative, as docs/transforms.md says."""

from typing import Any

import numpy as np
import pytest

import hovis

NAN, INF = np.nan, np.inf

#: function, arguments, gradients, and of each argument the push of ones, where it is not the sum of its gradient.
CORNERS: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "maximum": (lambda a, b: np.sum(np.maximum(a, b)), ([1.0, 2.0], [1.0, 3.0]), ([0.5, 0.0], [0.5, 1.0])),
    "max of Python": (lambda a: max(a[0], a[1]), ([1.0, 1.0],), ([0.5, 0.5],)),
    "max": (np.max, ([2.0, 2.0, 1.0],), ([0.5, 0.5, 0.0],)),
    "infinity norm": (lambda a: np.linalg.norm(a, np.inf), ([2.0, -2.0, 1.0],), ([0.5, -0.5, 0.0],)),
    "sort": (lambda a: np.sum(np.sort(a) * np.array([1.0, 10.0, 100.0])), ([2.0, 1.0, 2.0],), ([10.0, 1.0, 100.0],)),
    "median": (np.median, ([1.0, 1.0, 2.0, 3.0],), ([0.0, 0.5, 0.5, 0.0],)),
    "abs": (lambda a: np.sum(np.abs(a)), ([0.0, -1.0],), ([0.0, -1.0],)),
    "steps": (lambda a: np.sum(np.sign(a) + np.floor(a) + np.round(a)), ([0.0, 0.5],), ([0.0, 0.0],)),
    "norm": (np.linalg.norm, ([0.0, 0.0],), ([0.0, 0.0],)),
    "norm 3": (lambda a: np.linalg.norm(a, 3), ([0.0, 0.0],), ([NAN, NAN],)),
    "clip": (lambda a: np.sum(np.clip(a, 0.0, 1.0)), ([0.0, 1.0, 2.0],), ([1.0, 1.0, 0.0],)),
    "power": (lambda a, b: np.sum(np.power(a, b)), ([0.0, 0.0], [0.0, 2.0]), ([0.0, 0.0], [0.0, 0.0])),
    "sqrt": (lambda a: np.sum(np.sqrt(a)), ([0.0, 4.0],), ([INF, 0.25],)),
    "hypot": (lambda a, b: np.sum(np.hypot(a, b)), ([0.0], [0.0]), ([NAN], [NAN])),
    "arctan2": (lambda a, b: np.sum(np.arctan2(a, b)), ([0.0, 1.0], [0.0, 1.0]), ([NAN, 0.5], [NAN, -0.5])),
    "interp of one point": (lambda x, fp: np.sum(np.interp(x, np.array([1.0]), fp)), ([0.5, 1.0, 1.5], [2.0]), ([0.0, 0.0, 0.0], [3.0])),
    "interp with a step": (lambda x, fp: np.sum(np.interp(x, np.array([0.0, 1.0, 1.0]), fp)), ([0.5, 1.0, 1.5], [0.0, 1.0, 3.0]), ([1.0, 0.0, 0.0], [0.5, 0.5, 2.0])),
    "std": (np.std, ([1.0, 1.0],), ([NAN, NAN],)),
    "nan": (lambda a: np.sum(np.sin(a)), ([NAN, 0.0],), ([NAN, 1.0],)),
    "maximum of nan": (lambda a, b: np.sum(np.maximum(a, b)), ([NAN], [1.0]), ([0.0], [0.0])),
    "prod": (np.prod, ([0.0, 3.0, 2.0],), ([6.0, 0.0, 0.0],)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CORNERS)
def test_at_a_corner(name: str) -> None:
    f, given, expected = CORNERS[name]
    args = tuple(map(np.array, given))
    found = hovis.grad(f, argnums=tuple(range(len(args))))(*args)
    assert all(np.array_equal(g, e, equal_nan=True) for g, e in zip(found, expected, strict=True)), found
    push = hovis.jvp(f, args, tuple(map(np.ones_like, args)))[1]
    assert np.isclose(push, sum(np.sum(e) for e in expected), equal_nan=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_not_taken_must_be_finite() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.log(x), 0.0))

    def safe(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0))

    x = np.array([0.0, 2.0])
    assert np.array_equal(hovis.grad(f)(x), [NAN, 0.5], equal_nan=True)
    assert hovis.jvp(f, (x,), (np.ones(2),))[1] == 0.5
    assert np.array_equal(hovis.grad(safe)(x), [0.0, 0.5])
