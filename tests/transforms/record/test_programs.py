"""Programs that reverse mode is for: an iteration that stops by itself, a recurrent network, an adaptive solver, a tree, an autograd engine."""

import importlib
import math
import operator
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.ir.model import Effect

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
micrograd = importlib.import_module("micrograd")


def root(a: Any) -> Any:
    """Newton's square root: as many rounds as it takes."""
    x = a
    while abs(x * x - a) > 1e-14 * a:
        x = 0.5 * (x + a / x)
    return x


@pytest.mark.parametrize("compiled", [lambda f: f, lambda f: hovis_xla.jit(f, target="xla")], ids=["eager", "xla"])
def test_newton_and_its_second_derivative(compiled: Any) -> None:
    slope, bend = compiled(hovis.grad(root)), compiled(hovis.grad(hovis.grad(root)))
    for a in (0.3, 2.0, 7.0):
        assert slope(a) == pytest.approx(0.5 / math.sqrt(a), rel=1e-12)
        assert bend(a) == pytest.approx(-0.25 / a**1.5, rel=1e-9)


def recurrent(w: Any, u: Any, xs: Any) -> Any:
    """The states are stored into one array, and all of them count."""
    states = np.zeros((xs.shape[0] + 1, w.shape[0]))
    for t in range(xs.shape[0]):
        states[t + 1] = np.tanh(w @ states[t] + u * xs[t])
    return np.sum(states[1:] ** 2) / xs.shape[0]


def recurrent_by_hand(w: Any, u: Any, xs: Any) -> tuple[Any, Any]:
    n = len(xs)
    states = np.zeros((n + 1, len(w)))
    for t in range(n):
        states[t + 1] = np.tanh(w @ states[t] + u * xs[t])
    at_w, at_u, at_state = np.zeros_like(w), np.zeros_like(u), np.zeros(len(w))
    for t in reversed(range(n)):
        inner = (at_state + 2.0 * states[t + 1] / n) * (1.0 - states[t + 1] ** 2)
        at_w += np.outer(inner, states[t])
        at_u += inner * xs[t]
        at_state = w.T @ inner
    return at_w, at_u


def decay(rate: Any, end: float) -> Any:
    """u' = -rate * u * u by steps that are as long as the error allows."""
    u, t, h = 1.0, 0.0, 0.3
    while t < end:
        h = min(h, end - t)
        k1 = -rate * u * u
        k2 = -rate * (u + h * k1) * (u + h * k1)
        error = abs(0.5 * h * (k2 - k1))
        if error > 1e-7:
            h = 0.8 * h * math.sqrt(1e-7 / error)
            continue
        u, t = u + 0.5 * h * (k1 + k2), t + h
        h = 1.5 * h
    return u


@dataclass
class Node:
    op: str
    left: Any
    right: Any = None


def value_of(node: Any, x: float) -> Any:
    if isinstance(node, float):
        return node
    if node.op == "x":
        return x * node.left
    left, right = value_of(node.left, x), value_of(node.right, x)
    return left + right if node.op == "+" else left * right if node.op == "*" else math.sin(left) * right


TREE = Node("+", Node("*", Node("x", 2.0), Node("sin", Node("x", 0.5), 3.0)), Node("*", 1.5, 4.0))


def programs() -> Any:
    rng = np.random.default_rng(3)
    w, u, xs = 0.5 * rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=15)
    yield "recurrent", recurrent, (w, u, xs), (0, 1), recurrent_by_hand(w, u, xs), 1e-9
    # u = 1 / (1 + rate t)
    yield "adaptive", decay, (0.7, 2.0), (0,), (-2.0 / 2.4**2,), 1e-4


@pytest.mark.parametrize(("name", "f", "args", "argnums", "expected", "rel"), list(programs()), ids=lambda x: x if isinstance(x, str) else "")
def test_gradients(name: str, f: Any, args: Any, argnums: Any, expected: Any, rel: float) -> None:
    gradient = hovis.grad(f, argnums=argnums)
    eager, compiled = gradient(*args), hovis_xla.jit(gradient, target="xla")(*args)
    for one, other, right in zip(eager, compiled, expected, strict=True):
        np.testing.assert_allclose(one, right, rtol=rel)
        np.testing.assert_allclose(other, one, rtol=1e-11)


def test_a_tree_of_dataclasses() -> None:
    for gradient in (hovis.grad(value_of), hovis_xla.jit(hovis.grad(value_of), target="xla")):
        found = gradient(TREE, 0.8)
        assert type(found) is Node
        # (2 x) (sin(x / 2) 3) + 1.5 * 4
        assert found.left.left.left == pytest.approx(0.8 * 3.0 * math.sin(0.4), rel=1e-13)
        assert found.left.right.left.left == pytest.approx(1.6 * 3.0 * math.cos(0.4) * 0.8, rel=1e-13)
        assert found.left.right.right == pytest.approx(1.6 * math.sin(0.4), rel=1e-13)
        assert (found.right.left, found.right.right) == (4.0, 1.5)
        assert found.op is None
    slope = 6.0 * math.sin(0.4) + 4.8 * math.cos(0.4) * 0.5
    assert hovis.grad(value_of, argnums=1)(TREE, 0.8) == pytest.approx(slope, rel=1e-13)


def test_an_autograd_engine_dissolves() -> None:
    compiled = hovis_xla.jit(micrograd.step, target="xla")
    args = micrograd.numbers_of(micrograd.SIZES), micrograd.XS, micrograd.YS, 0.1
    found, loss = compiled(*args)
    expected, right = micrograd.step(*args)
    assert loss == pytest.approx(right, rel=1e-12)
    assert found == pytest.approx(expected, rel=1e-12)
    assert compiled.explain() == "step runs as one XLA executable."
    trace = compiled.trace(*args)
    assert len(trace.blocks) == 1
    # arithmetic, and the result put together: no objects, closures, lists of what is ready
    *steps, numbers, result = trace.ops
    assert {op.callee for op in steps} <= {operator.add, operator.sub, operator.mul, operator.pow, operator.neg, math.tanh}
    assert all(op.effect & ~Effect.RAISES == Effect.PURE for op in steps)
    assert (len(numbers.args), len(result.args)) == (len(expected), 2)


def too_large(x: Any) -> Any:
    if x > 1.0:
        raise ValueError("too large")
    return x * x


def through_another(x: Any) -> Any:
    return too_large(2.0 * x) + 1.0


@pytest.mark.parametrize("call", [
    lambda: hovis.grad(through_another)(3.0),
    lambda: hovis.grad(hovis.grad(through_another))(3.0),
    lambda: hovis.jvp(through_another, (3.0,), (1.0,)),
    lambda: hovis.vjp(through_another, 3.0),
    lambda: hovis.vmap(through_another)(np.array([0.1, 3.0])),
    lambda: hovis.vmap(hovis.grad(through_another))(np.array([0.1, 3.0])),
    lambda: hovis.jit(hovis.grad(through_another))(3.0),
])  # fmt: skip
def test_what_is_raised_shows_where(call: Any) -> None:
    with pytest.raises(ValueError, match="too large") as raised:
        call()
    shown = [(frame.name, frame.line) for frame in traceback.extract_tb(raised.tb)]
    assert shown[-2:] == [("through_another", "return too_large(2.0 * x) + 1.0"), ("too_large", 'raise ValueError("too large")')]


def test_transformed_functions_are_told_by_name() -> None:
    gradient = hovis_xla.jit(hovis.vmap(hovis.grad(root)), target="xla")
    gradient(np.array([2.0, 3.0]))
    assert gradient.explain().startswith("vmap(grad(root)) runs as one XLA executable.")
    assert str(hovis.explain(hovis.trace(hovis.value_and_grad(root), hovis.Float))).startswith("value_and_grad(root)(args_0 :: Float)")
