"""Gradients under ``hovis_xla.jit``: they are executables, and these are what runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.functional.transformed import Eager
from hovis.ir.operations import make_tape


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def convolution(k: Any, image: Any) -> Any:
    height, width = image.shape[1] - 1, image.shape[2] - 1
    h = np.zeros((image.shape[0], height, width, k.shape[3]))
    for i in range(2):
        for j in range(2):
            h = h + image[:, i : i + height, j : j + width] @ k[i, j]
    return np.mean(np.maximum(h, 0.0))


def cross_entropy(w: Any, x: Any, labels: Any) -> Any:
    scores = x @ w
    scores = scores - np.max(scores, axis=1, keepdims=True)
    logs = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(labels.shape[0]), labels])


def gates(w: Any, xs: Any) -> Any:
    h = np.zeros(3)
    for x in xs:
        g = (h + x) @ w
        keep = 1.0 / (1.0 + np.exp(-g[:3]))
        h = keep * h + (1.0 - keep) * np.tanh(g[3:])
    return np.sum(h * h)


def heads(w: Any, x: Any, count: int) -> Any:
    length, width = x.shape
    split = (x @ w).reshape(length, count, width // count).transpose(1, 0, 2)
    scores = split @ split.swapaxes(1, 2) / np.sqrt(width // count)
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.mean((weights / np.sum(weights, axis=-1, keepdims=True) @ split) ** 2)


def products(x: Any) -> Any:
    product, total = 1.0, 0.0
    for k in range(x.shape[0]):
        product = product * x[k]
        total = total + product * product
    return total


def orbit(rate: Any, end: Any) -> Any:
    """An ODE solver that chooses its steps."""
    t, y, h = 0.0, 0.1, 0.1
    while t < end:
        h = min(h, end - t)
        k1 = rate * y * (1.0 - y)
        middle = y + 0.5 * h * k1
        k2 = rate * middle * (1.0 - middle)
        error = abs(h * (k2 - k1)) + 1e-16
        if error < 1e-3:
            t, y = t + h, y + h * k2
        h = h * min(max(0.9 * (1e-3 / error) ** 0.5, 0.2), 5.0)
    return y


PROGRAMS = [
    (convolution, (drawn(2, 2, 3, 4), drawn(2, 5, 6, 3, seed=1))),
    (cross_entropy, (drawn(4, 3), drawn(6, 4, seed=1), np.array([0, 2, 1, 1, 0, 2]))),
    (gates, (drawn(3, 6), drawn(5, 3, seed=1))),
    (heads, (drawn(6, 6), drawn(4, 6, seed=1), 2)),
    (products, (1.0 + 0.1 * drawn(9),)),
    (orbit, (1.5, 2.0)),
]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_models(f: Callable[..., Any], args: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hovis.grad(f)(*args)
    compiled = hovis_xla.jit(hovis.grad(f), target="xla")
    assert np.allclose(compiled(*args), expected, rtol=1e-10)
    assert "one XLA executable" in compiled.explain()
    monkeypatch.setattr(Eager, "__call__", None)
    assert np.allclose(compiled(*args), expected, rtol=1e-10)


def test_steps_that_are_chosen() -> None:
    difference = (orbit(1.5 + 1e-6, 2.0) - orbit(1.5 - 1e-6, 2.0)) / 2e-6
    assert hovis.grad(orbit)(1.5, 2.0) == pytest.approx(difference, rel=1e-6)


class Scaled:
    """Calls of an instance bind it; its arguments come after it."""

    def __init__(self) -> None:
        self.factor = 3.0

    def __call__(self, x: Any, times: int, offset: float = 0.0, *rest: Any, **named: Any) -> Any:
        total = offset + sum(rest) + sum(named.values())
        for _ in range(times):
            total = total + x * self.factor
        return total


@pytest.mark.parametrize("jit", [hovis.jit, hovis_xla.jit], ids=["hovis", "hovis_xla"])
@pytest.mark.parametrize("bound", [lambda s: s, lambda s: s.__call__], ids=["instance", "method"])
def test_what_is_bound_is_no_argument(jit: Any, bound: Any) -> None:
    plain = Scaled()
    jitted = jit(bound(plain))
    for args, named in [((2.0, 3), {}), ((2.0, 3, 1.5), {}), ((2.0, 2, 1.5, 4.0), {}), ((2.0,), {"times": 2}), ((2.0, 1), {"other": 5.0})]:
        assert jitted(*args, **named) == plain(*args, **named)
        assert all(variant.picks is not None for variant in jitted._variants.values())
    plain.factor = 5.0
    assert jitted(2.0, 3) == plain(2.0, 3)


def test_what_is_cheap_is_computed_again() -> None:
    """Of the values of a round arithmetic is done again from the few that are kept: what exp and tanh gave, and the state."""

    def gate(w: Any, h: Any, n: Any) -> Any:
        for _ in range(n):
            keep = 1.0 / (1.0 + np.exp(-(h * w)))
            h = keep * h + (1.0 - keep) * np.tanh(w - h)
        return np.sum(h)

    trace = hovis.trace(lambda w, h, n: hovis.grad(gate)(w, h, n), hovis.float64[3], hovis.float64[3], hovis.Int).passes()
    assert sum(op.callee is make_tape for op in trace.function.ops()) == 3
    w, h = drawn(3), drawn(3, seed=1)
    difference = [(gate(w + 1e-6 * e, h, 5) - gate(w - 1e-6 * e, h, 5)) / 2e-6 for e in np.eye(3)]
    assert np.allclose(trace.compile()(w, h, 5), difference, rtol=1e-6)


def halving(c: Any, rounds: int) -> Any:
    """A variable that no round may have given a value."""
    low, high = 0.0, c
    for _ in range(rounds):
        middle = (low + high) / 2
        if middle**3 < c:
            low = middle
        else:
            high = middle
    return middle * middle


def test_what_may_have_no_value() -> None:
    gradient = hovis.grad(halving)
    compiled = hovis_xla.jit(gradient, strict=True, target="xla")
    for rounds in (1, 9):
        h = 1e-6
        wanted = (halving(2.5 + h, rounds) - halving(2.5 - h, rounds)) / (2 * h)
        assert gradient(2.5, rounds) == pytest.approx(wanted, rel=1e-6)
        assert compiled(2.5, rounds) == pytest.approx(wanted, rel=1e-6)
        assert hovis.jvp(halving, (2.5, rounds), (1.0, 0))[1] == pytest.approx(wanted, rel=1e-6)
        assert hovis.vjp(halving, 2.5, rounds)[1](1.0)[0] == pytest.approx(wanted, rel=1e-6)
    for one in (gradient, compiled):
        with pytest.raises(UnboundLocalError, match="'middle'"):
            one(2.5, 0)


def stored_back(x: Any) -> Any:
    y = x * 1.0
    y[y > 0.3] *= 0.5
    y[y < -0.3] = np.sin(y[y < -0.3])
    return np.sum(y * y)


def chosen(x: Any) -> Any:
    kept = x[x > 0.3]
    return np.sum(kept) * len(kept) + np.mean(kept**2)


def counted(x: Any) -> Any:
    kept = x[x > 0.3]
    weights = np.ones(len(kept)) * 2.0
    more = np.zeros(kept.shape)
    more += kept
    return np.sum(weights * kept * more)


@pytest.mark.parametrize("fn", [stored_back, chosen, counted])
def test_masks(fn: Callable[..., Any]) -> None:
    """How many elements there are is known at run time only: one executable all the same."""
    compiled = hovis_xla.jit(hovis.grad(fn), strict=True, target="xla")
    for x in (drawn(9), drawn(9, seed=1), abs(drawn(9)) + 0.5):
        np.testing.assert_allclose(compiled(x), hovis.grad(fn)(x), rtol=1e-12)
        h = 1e-6
        wanted = [(fn(x + h * e) - fn(x - h * e)) / (2 * h) for e in np.eye(9)]
        np.testing.assert_allclose(compiled(x), wanted, rtol=1e-5, atol=1e-7)


def test_einsum_leaves_nothing_of_its_subscripts() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(np.einsum("i,j->ij", a, b) ** 2)

    compiled = hovis_xla.jit(hovis.grad(f), strict=True, target="xla")
    np.testing.assert_allclose(compiled(drawn(3), drawn(4)), hovis.grad(f)(drawn(3), drawn(4)), rtol=1e-12)
