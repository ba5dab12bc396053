"""Functions mapped over many values: what they give for each, put together."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import hovis
from hovis import float64
from hovis.errors import TransformError
from hovis.transforms.vmap import divergence

RNG = np.random.default_rng(5)
X = RNG.uniform(0.2, 1.5, (4, 2, 3))
V = RNG.uniform(0.2, 1.5, (4, 3))
S = RNG.uniform(0.2, 1.5, 4)
K = np.array([1, 0, 1, 1])
SQUARE = RNG.uniform(-1.0, 1.0, (4, 3, 3)) + 4.0 * np.eye(3)


def stacked(fn, args, in_axes):
    """One call after the other."""
    lanes = next(a.shape[axis] for a, axis in zip(args, in_axes, strict=True) if axis is not None)
    found = [fn(*[a if axis is None else np.take(a, k, axis)[()] for a, axis in zip(args, in_axes, strict=True)]) for k in range(lanes)]
    return tuple(np.stack(parts) for parts in zip(*found, strict=True)) if isinstance(found[0], tuple) else np.stack(found)


def agree(fn, args, in_axes=None):
    in_axes = in_axes or (0,) * len(args)
    want, got = stacked(fn, args, in_axes), hovis.vmap(fn, in_axes)(*args)
    for a, b in zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]:
        np.testing.assert_allclose(b, a, rtol=1e-12)
        assert b.dtype == a.dtype


def table(v, rate):
    out = np.zeros((3, v.shape[0]))
    out[0] = v
    for k in range(2):
        out[k + 1] = out[k] * rate
        out[k + 1, 0] += 1.0
    return out


def normalized(x):
    x = x - x.mean(axis=0)
    x /= np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x


TOGETHER = [
    (lambda x: x.sum(), (X,)),
    (lambda x: (x.sum(axis=0), x.mean(-1), x.max(axis=(0, 1)), np.prod(x, 1), np.std(x), np.var(x, axis=1, keepdims=True)), (X,)),
    (lambda x, s: np.exp(-x * s) + np.sin(x) / (1.0 + s), (X, S)),
    (lambda x, v: x * v + v[1], (X, V)),
    (lambda x, v: x @ v, (X, V)),
    (lambda x, v: (v @ x.T, np.dot(x, v), np.inner(x, v), np.outer(v, v), np.vdot(v, v), v.dot(v)), (X, V)),
    (lambda x: (x @ x.T, np.einsum("ij,kj->ik", x, x), np.einsum("ij->j", x)), (X,)),
    (lambda x: (x.reshape(3, 2), x.reshape(-1), x.ravel(), x.T, np.transpose(x, (1, 0)), np.swapaxes(x, 0, -1), x[None], np.expand_dims(x, 1)), (X,)),
    (lambda x: (np.flip(x), np.flip(x, 1), np.roll(x, 1), np.roll(x, 1, axis=0), np.sort(x, axis=0), np.argsort(x), np.cumsum(x), np.cumsum(x, 1)), (X,)),
    (lambda x: (x[0], x[:, 1], x[1, 1:], x[..., ::-1], x[np.array([1, 0])], np.argmax(x), x.argmin(axis=1), np.diff(x)), (X,)),
    (lambda x, k: (x[k], x[k, 1], x[:, k], x[k, ::2]), (X, K)),
    (lambda x, v: (np.concatenate([x, x]), np.stack([x[0], v]), np.concatenate((x, x), axis=1), np.array([v[0], 2.0, v[1]])), (X, V)),
    (lambda x: np.where(x > 0.7, x, 0.0).clip(0.1, 0.9), (X,)),
    (lambda s: (float(s), int(s), -s, abs(s), max(float(s), 0.5), min(0.5, float(s)), round(float(s)), bool(s)), (S,)),
    (lambda s: math.sin(s) + math.exp(float(s)) * math.log(s) + math.hypot(s, 1.0), (S,)),
    (lambda a, v: (np.linalg.solve(a, v), np.linalg.inv(a), np.linalg.det(a), np.trace(a)), (SQUARE, V)),
    (table, (V, S)),
    (normalized, (X,)),
    (lambda v: np.interp(0.5, np.array([0.0, 1.0, 2.0]), v), (V,)),
]


@pytest.mark.parametrize("k", range(len(TOGETHER)))
def test_all_lanes_together(k, monkeypatch):
    fn, args = TOGETHER[k]
    monkeypatch.setattr(divergence.Diverging, "__init__", lambda self, why: pytest.fail(f"the lanes part: {why}"))
    agree(fn, args)


@pytest.mark.parametrize("in_axes", [(0, None), (2, None), (None, 0)])
def test_axes(in_axes):
    args = [np.moveaxis(X, 0, in_axes[0]) if in_axes[0] is not None else X[0], V if in_axes[1] is not None else V[0]]
    agree(lambda x, v: x @ v if x.shape[-1] == 3 else x.T @ v[:2], args, in_axes)


def test_where_the_new_axis_goes():
    got = hovis.vmap(lambda x: {"a": x, "b": (x[0], x.sum())}, out_axes={"a": 2, "b": 0})(X)
    assert got["a"].shape == (2, 3, 4)
    assert got["b"][0].shape == (4, 3)
    np.testing.assert_array_equal(got["a"], np.moveaxis(X, 0, 2))


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@pytest.mark.parametrize(("fn", "args"), [
    (collatz, (np.array([1, 6, 7, 27]),)),
    (newton, (S,)),
    (lambda v: v * 2.0 if v[0] > 0.7 else v - 1.0, (V,)),
    (lambda x, k: sum(x[0, i] for i in range(k)) + 0.0, (X, K)),
])  # fmt: skip
def test_lanes_that_part(fn, args):
    agree(fn, args)


def to_rest(v, t):
    s, n = v[0] * 0.0, 0
    while True:
        n += 1
        for k in range(3):
            if v[k] > t:
                continue
            s = s + abs(v[k])
            if s > 3.0 * t:
                break
        if n > 4 or s > 5.0 * t:
            break
    return s, n


def positive(x):
    if x < 0.0:
        raise ValueError("negative")
    return np.sqrt(x)


def settled(v):
    h = np.zeros(3)
    while np.sum(h) < 5.0:
        h = np.tanh(h) + v * v + 0.5
    return h


#: what lanes that are done would warn of, and lanes that have not come so far
GUARDED = [(lambda x: np.log(x) if x > 0.5 else x, (np.array([0.0, 1.0, -1.0, 2.0]),)), (lambda x: 1.0 / x if x != 0.0 else x, (np.array([0.0, 4.0]),))]


@pytest.mark.parametrize(("fn", "args"), [(collatz, (np.array([1, 6, 7, 27]),)), (newton, (S,)), (to_rest, (V, S)), (positive, (S,)), (settled, (V,)), *GUARDED])
def test_lanes_that_part_and_meet_again(fn, args, monkeypatch):
    monkeypatch.setattr(divergence.Diverging, "__init__", lambda self, why: pytest.fail(f"one after the other: {why}"))
    agree(fn, args)


def test_what_a_lane_raises_all_raise():
    with pytest.raises(ValueError, match="negative"):
        hovis.vmap(positive)(np.array([1.0, -1.0]))
    with pytest.raises(ZeroDivisionError):
        hovis.vmap(lambda x: 1.0 / float(x) if x < 1.0 else float(x))(np.array([0.0, 2.0]))


def test_gradients_of_lanes_that_part():
    half = 0.5 / np.sqrt(S)
    np.testing.assert_allclose(hovis.grad(lambda a: np.sum(hovis.vmap(newton)(a)))(S), half, rtol=1e-9)
    np.testing.assert_allclose(hovis.vmap(hovis.grad(newton))(S), half, rtol=1e-9)
    np.testing.assert_allclose(hovis.jvp(hovis.vmap(newton), (S,), (np.ones(4),))[1], half, rtol=1e-9)


@dataclass
class Layer:
    w: object
    b: object


def test_trees():
    def apply(layers, x):
        for layer in layers:
            x = np.tanh(layer.w @ x + layer.b)
        return x

    layers = [Layer(X[:, :, :2], X[:, :, 2]), Layer(X[:, :, 1:], V[:, 1:])]
    got = hovis.vmap(apply)(layers, V[:, :2])
    want = np.stack([apply([Layer(p.w[k], p.b[k]) for p in layers], V[k, :2]) for k in range(4)])
    np.testing.assert_allclose(got, want)
    got = hovis.vmap(apply, in_axes=(None, 0))([Layer(p.w[0], p.b[0]) for p in layers], V[:, :2])
    np.testing.assert_allclose(got[0], want[0])


def test_nested():
    pairs = hovis.vmap(hovis.vmap(lambda a, b: a @ b, in_axes=(None, 0)), in_axes=(0, None))(V, V)
    np.testing.assert_allclose(pairs, V @ V.T)


def test_with_gradients():
    def loss(w, x):
        return np.sum(np.tanh(x * w) ** 2)

    each = hovis.vmap(hovis.grad(loss), in_axes=(None, 0))(V[0], V)
    np.testing.assert_allclose(each, np.stack([hovis.grad(loss)(V[0], v) for v in V]))
    whole = hovis.grad(lambda w: np.sum(hovis.vmap(loss, in_axes=(None, 0))(w, V)))(V[0])
    np.testing.assert_allclose(whole, each.sum(0))


U = RNG.uniform(0.2, 1.5, (3, 5, 7))
P = RNG.integers(0, 3, (4, 2))
#: functions of an array and of places in it, and which of both differ
PLACES = [
    (lambda u, k: (u[:, k], u[k, :, k], u[k, :, 1], u[1, :, k], u[:, k, k], u[..., k], u[k, ..., k], u[k, None], u[None, k], u[0:2, k, 1:]), K),
    (lambda u, k: (u[:, k], u[k], u[k, k], u[:, :, k], u[k, :, k], u[1, :, k], u[:, k, 2], u[..., k, None], np.take(u, k), np.take(u, k, -1)), P),
    (lambda u, k: (np.take(u, k, axis=1), np.take(u, k + 9, mode="clip"), u[:, np.array([0, 2])], u[0, :, np.array([1, 1])], u[[0, 1]]), K),
    (lambda u, k: (u[np.array([1, 0]), :, np.array([1, 1])], u[np.array([True, False, True])], u[np.array([0, 1]), None, np.array([2, 1])]), K),
]


@pytest.mark.parametrize("k", range(len(PLACES)))
@pytest.mark.parametrize("both", [True, False])
def test_places(k, both):
    fn, places = PLACES[k]
    agree(fn, (np.stack([U, U + 1.0, U * 2.0, -U]) if both else U, places), (0 if both else None, 0))


def stored_at(v, k):
    out = np.zeros((4, 3, 5))
    out[k] = v[0]
    out[:, k] += v[1]
    out[1, :, k] = v[2]
    out[k, :, np.array([0, 2])] = v[:3]
    out[int(k)] += 1.0
    return out


def test_places_that_are_stored_into():
    agree(stored_at, (V, K))
    agree(stored_at, (V[0], K), (None, 0))


def below(v, b):
    w = v.copy()
    w[b] = 0.0
    return w


@pytest.mark.parametrize(("fn", "args"), [
    (lambda v, b: v[b].sum(), (V, V > 0.8)),
    (below, (V, V > 0.8)),
    (lambda v, k: v[:k].sum() + v[int(k) :].prod(), (V, K)),
    (lambda v, k: np.nonzero(v > 0.8)[0].sum() + k, (V, K)),
    (lambda v: v[v[:1] > 0.0] if v.size == 1 else v, (V,)),
    (lambda k: [10.0, 20.0][k], (K,)),
    (lambda k, x: [float(x), 20.0][k], (K, S)),
    (lambda k: {0: 1.0, 1: 2.5}[int(k)], (K,)),
    (lambda x: 0 if x < 0.7 else x, (S,)),
    (lambda x: len(str(float(x) > 0.7)), (S,)),
    (lambda v: (np.linalg.slogdet(np.outer(v, v) + np.eye(3))[1], np.linalg.svd(np.outer(v, v))[1]), (V,)),
    (lambda k: (int(k) + 3 >> 1, 2 ** int(k), int(k) ** 2, round(float(k) / 3, 1)), (K,)),
])  # fmt: skip
def test_what_depends_on_the_lane(fn, args):
    agree(fn, args)


def caught(x):
    try:
        if x > 0.7:
            raise ValueError("large")
        y = 1.0 / float(x - x)
    except ZeroDivisionError:
        y = x * 2.0
    except ValueError:
        return x
    return y


def one_of_two_kinds(x, n):
    k = 3 if x > 0.7 else n
    y = 1.5 if n > 0 else x
    return float(abs(k)) + max(y, 2.0), int(y)


def test_what_may_be_caught():
    agree(caught, (S,))


def test_numbers_of_two_kinds():
    agree(one_of_two_kinds, (S, K))


def test_ints_that_have_no_room():
    assert hovis.vmap(lambda x: round(float(x)))(np.array([1.0, 1e300])).tolist() == [1, int(1e300)]
    assert hovis.vmap(lambda k: int(k) ** 3 * 10**12 % 97)(np.array([2, 10**5])).tolist() == [8 * 10**12 % 97, 10**27 % 97]
    with pytest.raises(OverflowError, match="infinity"):
        hovis.vmap(lambda x: int(x))(np.array([1.0, np.inf]))


def test_nothing_is_left_of_the_lanes():
    trace = hovis.trace(hovis.vmap(lambda v, w: np.sin(v) * w), float64[4, 3], float64[4, 3])
    assert [op.callee for op in trace.ops if op.callee is not np.empty] == [np.sin, __import__("operator").mul]


def shows(x):
    print(x)
    return x


def stores(total, x):
    total[0] += x
    return x


def test_effects_are_refused_where_they_are():
    with pytest.raises(TransformError, match="print has side effects") as raised:
        hovis.vmap(shows)(S)
    assert "print(x)" in str(raised.value)


def test_division_of_pythons_numbers():
    with pytest.raises(ZeroDivisionError):
        hovis.vmap(lambda s: 1.0 / float(s))(np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="math domain error|expected a nonnegative input"):  # before 3.14, and since
        hovis.vmap(lambda s: math.sqrt(s))(np.array([1.0, -1.0]))
    assert hovis.vmap(lambda n: int(n) * 4)(np.array([1, 2**62])).tolist() == [4, 2**64]


def test_no_lanes():
    assert hovis.vmap(lambda v: np.sin(v).sum())(np.zeros((0, 3))).shape == (0,)
    steps, kept = hovis.vmap(lambda v: (collatz(int(v[0])), v[1:]))(np.zeros((0, 3)))
    assert (steps.shape, steps.dtype, kept.shape) == ((0,), np.int64, (0, 2))
    assert hovis.vmap(lambda x: 0 if x < 0.7 else x)(np.zeros(0)).dtype == np.float64


def test_results_of_several_shapes():
    with pytest.raises(ValueError, match="different shapes"):
        hovis.vmap(lambda x: np.zeros(1) if x > 0.7 else np.zeros(3))(S)
    with pytest.raises(ValueError, match="different structures"):
        hovis.vmap(lambda x: (x, x) if x > 0.7 else [x, x])(S)


@pytest.mark.parametrize(("call", "what"), [
    (lambda: hovis.vmap(lambda x, y: x + y)(V, S[:3]), r"axes of different sizes: 4 \(x\) and 3 \(y\)"),
    (lambda: hovis.vmap(lambda d, *more, k: d)({"w": [V, X], "b": 1.0}, S, k=S), r"axis 0 of d\['b'\], whose rank is 0: it is of the type float"),
    (lambda: hovis.vmap(lambda d, *more, k: d)({"w": [V, X]}, S, k=[S[:2]]), r"4 \(d\['w'\]\[0\]\) and 2 \(k\[0\]\)"),
    (lambda: hovis.vmap(lambda d, *more: d, in_axes=(0, 2))(Layer(V, V), (V, V)), r"axis 2 of args\[1\]\[0\], whose rank is 2: it is an array of float64"),
    (lambda: hovis.vmap(lambda layer: layer)([Layer(V, S[:2])]), r"4 \(layer\[0\].w\) and 2 \(layer\[0\].b\)"),
    (lambda: hovis.vmap(lambda x: x, in_axes=None)(V), "none of the arguments of .* is to be mapped over"),
])  # fmt: skip
def test_what_does_not_fit(call, what):
    with pytest.raises(ValueError, match=what):
        call()


def test_derivatives_of_what_calls_others() -> None:
    def inner(x: Any) -> Any:
        return np.tanh(x @ x)

    a = np.random.default_rng(0).normal(size=(3, 2, 2))
    expected = [hovis.grad(lambda x: np.sum(inner(x)))(one) for one in a]
    assert np.allclose(hovis.vmap(hovis.grad(lambda x: np.sum(inner(x))))(a), expected)


def by_view(x):
    y = np.zeros((2, 2))
    shown = y.reshape(4)
    shown[1] = x
    return np.sum(y) * y[0, 1]


def on_one_way(x):
    first = np.zeros(2)
    y = first
    for k in range(hovis.stop_gradient(3)):
        y[0] = k + 1.0
        y = y * x
    return y[0] + first[0]


def counts_up(x):
    total = x
    total += 1.0
    total *= x
    return x * total


def kept(x):
    y = np.array([1.0, 2.0]) * x
    old = y[0]
    y[0] = 5.0
    old += y[1]
    return old * y[0]


def stores_parts(x):
    y = np.zeros(3)
    for k in range(3):
        y[k] = x * y[k - 1] + k
    return np.sum(y * y)


@pytest.mark.parametrize("f", [by_view, on_one_way, counts_up, kept, stores_parts, hovis.grad(stores_parts), hovis.grad(kept)])
def test_numbers_of_lanes_are_no_views_and_views_of_lanes_are(f):
    x = np.array([0.5, 2.0, -1.5])
    given = x.copy()
    np.testing.assert_allclose(hovis.vmap(f)(given), [f(one) for one in x], rtol=1e-12)
    np.testing.assert_array_equal(given, x)


def test_each_lane_is_rolled_by_a_number_of_its_own():
    x, shifts = np.arange(12.0).reshape(4, 3), np.array([0, 1, -2, 7])
    m = np.arange(24.0).reshape(4, 2, 3)
    np.testing.assert_array_equal(hovis.vmap(np.roll)(x, shifts), [np.roll(v, int(n)) for v, n in zip(x, shifts, strict=True)])
    np.testing.assert_array_equal(hovis.vmap(np.roll, in_axes=(None, 0))(x, shifts), [np.roll(x, int(n)) for n in shifts])
    along = hovis.vmap(lambda v, n: np.roll(v, n, axis=-1))
    np.testing.assert_array_equal(along(m, shifts), [np.roll(v, int(n), axis=-1) for v, n in zip(m, shifts, strict=True)])
