"""What is differentiated, and how it is named: arguments by position and by name, trees that rules of the user's own are given, results that depend on nothing."""
from __future__ import annotations

import collections
import dataclasses
import os
from typing import Any

import numpy as np
import pytest

import hovis
from hovis.errors import HovisError

X = np.array([1.0, 3.0, 2.0])
#: All of what is systematic; else a part of it.
MANY = "HOVIS_EXAMPLES" in os.environ

# ------------------------------------------------------------------------------------------------- arguments


def scaled(x, y, *more, z=1.0, **rest):
    return x * y * y * z + sum(more) * x + rest.get("w", 0.0) * y


CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = [
    (0, (2.0, 3.0), {}, 9.0),
    (-1, (2.0, 3.0), {}, 12.0),
    ("y", (2.0, 3.0), {}, 12.0),
    ("y", (2.0,), {"y": 3.0}, 12.0),
    (1, (2.0,), {"y": 3.0}, 12.0),
    (0, (), {"x": 2.0, "y": 3.0}, 9.0),
    (("x", "y"), (2.0, 3.0), {}, (9.0, 12.0)),
    (("y", 0), (2.0, 3.0), {}, (12.0, 9.0)),
    ("z", (2.0, 3.0), {"z": 4.0}, 18.0),
    (("z", 1), (2.0, 3.0), {"z": 4.0}, (18.0, 48.0)),
    (2, (2.0, 3.0, 5.0), {}, 2.0),
    (-1, (2.0, 3.0, 5.0, 6.0), {}, 2.0),
    ("w", (2.0, 3.0), {"w": 5.0}, 3.0),
    (("w", "x"), (2.0, 3.0), {"w": {"v": 5.0}["v"]}, (3.0, 9.0)),
]


@pytest.mark.parametrize(("argnums", "args", "kwargs", "expected"), CALLS)
def test_arguments_by_position_and_by_name(argnums, args, kwargs, expected):
    assert hovis.grad(scaled, argnums)(*args, **kwargs) == expected
    assert hovis.value_and_grad(scaled, argnums)(*args, **kwargs) == (scaled(*args, **kwargs), expected)
    assert hovis.jacrev(scaled, argnums)(*args, **kwargs) == hovis.jacfwd(scaled, argnums)(*args, **kwargs) == expected
    assert hovis.jit(lambda: hovis.grad(scaled, argnums)(*args, **kwargs))() == expected


def test_arguments_by_name_of_other_callables():
    class Model:
        def __call__(self, x, y):
            return x * y * y

        def loss(self, x, y):
            return x * y * y
    assert hovis.grad(Model(), "y")(2.0, 3.0) == hovis.grad(Model().loss, "y")(2.0, 3.0) == 12.0
    assert hovis.hessian(scaled, "y")(2.0, 3.0) == hovis.grad(hovis.grad(scaled, "y"), "y")(2.0, 3.0) == 4.0
    tree = hovis.grad(lambda p, *, q: np.sum(p["w"] * q["w"]), "q")({"w": X}, q={"w": X * 2.0, "n": 1})
    assert tree["n"] is None and np.array_equal(tree["w"], X)


@pytest.mark.parametrize("argnums", ["q", 2, -3, ("x", "q")])
def test_an_argument_that_there_is_not(argnums):
    with pytest.raises(TypeError, match="is to be differentiated in its argument (q|2|-3), but (got only|no argument of that name)"):
        hovis.grad(scaled, argnums)(2.0, 3.0)


# ------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("f", [lambda x: 3, lambda x: len(np.shape(x)), lambda x: np.int64(4), lambda x: 3 if np.sum(x) > 0 else np.sum(x)])
def test_a_result_that_depends_on_nothing_has_a_gradient_of_zeros(f):
    for x in (2.0, X, np.float32(1.5)):
        value, gradient = hovis.value_and_grad(f)(x)
        assert type(value) is type(f(x))
        assert type(gradient) is type(x) and np.shape(gradient) == np.shape(x) and not np.any(gradient)


@pytest.mark.parametrize("f", [lambda x: None, lambda x: x > 0.0, lambda x: "x", lambda x: (x, x)])
def test_a_result_that_is_no_number(f):
    with pytest.raises(TypeError, match="has no gradient: its result is"):
        hovis.grad(f)(2.0)


# ------------------------------------------------------------------------------------------------- trees


Pair = collections.namedtuple("Pair", "w b")


@dataclasses.dataclass
class Data:
    w: Any
    b: Any


MAKES: dict[str, Any] = {
    "dict": (lambda w, b: {"w": w, "b": b}, lambda p: (p["w"], p["b"])),
    "tuple": (lambda w, b: (w, b), lambda p: (p[0], p[1])),
    "list": (lambda w, b: [w, b], lambda p: (p[0], p[1])),
    "named": (Pair, lambda p: (p.w, p.b)),
    "data": (Data, lambda p: (p.w, p.b)),
    "nested": (lambda w, b: {"in": [(w,), None], "b": b}, lambda p: (p["in"][0][0], p["b"])),
}


def kinds_of(make, take):
    """One function of a tree, which gives a tree, with three rules: its own are wrong by a factor, so that it is seen that they are asked."""
    def f(p, k):
        w, b = take(p)
        return make(w * k, w * w * b)
    vjp = hovis.custom_vjp(f)

    def bwd(kept, g):
        (p, k), (gw, gb) = kept, take(g)
        w, b = take(p)
        return make(3.0 * (gw * k + 2.0 * gb * w * b), None), np.sum(gw * w)
    vjp.defvjp(lambda p, k: (f(p, k), (p, k)), bwd)
    jvp = hovis.custom_jvp(f)

    def rule(args, tangents):
        (w, b), (tw, _) = take(args[0]), take(tangents[0])
        return f(*args), make(3.0 * (tw * args[1] + w * tangents[1]), 6.0 * w * b * tw)
    jvp.defjvp(rule)
    return (f, 1.0), (vjp, 3.0), (jvp, 3.0), (hovis.checkpoint(f), 1.0)


@pytest.mark.parametrize("name", MAKES if MANY else ["data", "nested"])
def test_trees_of_arguments_and_results(name):
    make, take = MAKES[name]
    for fn, factor in kinds_of(make, take):
        for part in (0, 1):
            gradient = hovis.grad(lambda w, fn=fn, part=part: np.sum(take(fn(make(w, 2.0), 5.0))[part]))(X)
            expected = np.full(3, 5.0) if part == 0 else 4.0 * X
            np.testing.assert_allclose(gradient, factor * expected)
        values = take(fn(make(1.5, 2.0), 5.0))
        assert values == (7.5, 4.5)


def test_what_of_a_result_is_not_used_has_a_cotangent_of_zeros():
    seen = []

    @hovis.custom_vjp
    def two(x):
        return x * 2.0, (x * 3.0, x * 4.0)

    def bwd(kept, g):
        seen.append(1)
        return (g[0] * 2.0 + g[1][0] * 3.0 + g[1][1] * 4.0,)
    two.defvjp(lambda x: ((x * 2.0, (x * 3.0, x * 4.0)), None), bwd)
    assert [hovis.grad(lambda x, k=k: (two(x)[0], two(x)[1][0], two(x)[1][1])[k])(1.5) for k in range(3)] == [2.0, 3.0, 4.0]
    np.testing.assert_array_equal(hovis.grad(lambda x: np.sum(two(x)[0]))(X), [2.0] * 3)


def test_a_rule_that_gives_another_tree_says_so():
    @hovis.custom_vjp
    def first(p):
        return p["w"] * 2.0
    first.defvjp(lambda p: (first(p), None), lambda kept, g: ((g,),))
    with pytest.raises((TypeError, HovisError), match="a rule must return a dict of length 1, or None"):
        hovis.grad(lambda w: first({"w": w}))(1.5)


# ------------------------------------------------------------------------------------------------- methods of arrays

METHODS = [
    lambda h: h.max(), lambda h: h.min() * h.sum(), lambda h: h.mean(), lambda h: h.prod(), lambda h: h.std() + h.var(), lambda h: h.cumsum()[-1],
    lambda h: h.reshape(3, 1).sum(), lambda h: h.ravel()[0], lambda h: h.flatten()[1], lambda h: h.T[2], lambda h: h.transpose()[0], lambda h: h.copy()[1],
    lambda h: h.clip(1.5, 2.5).sum(), lambda h: h.dot(h), lambda h: h.take([0, 2]).sum(), lambda h: h.repeat(2).sum(), lambda h: h.squeeze()[0],
    lambda h: h.astype(np.float64)[0], lambda h: h.item(1), lambda h: h[h.argmax()], lambda h: h[h.argsort()[0]] * 2.0, lambda h: h.swapaxes(0, 0)[0],
    lambda h: h.cumprod()[2], lambda h: h.conj()[0], lambda h: h.real[0], lambda h: h.compress([True, False, True]).sum(), lambda h: h.trace() if h.ndim > 1 else h[0],
    lambda h: h.round(1).sum(), lambda h: h.any() * h[0], lambda h: h.tolist()[0], lambda h: sum(h.flat) if h.ndim > 5 else h[0],
]


@pytest.mark.parametrize("k", range(0, len(METHODS), 1 if MANY else 10))
def test_methods_in_bodies_that_are_computed_again_and_recorded(k):
    body = METHODS[k]

    def plain(x):
        return body(x[::-1] * 1.5)

    def recorded(x, fn):
        y = x * 1.5
        held = [y]
        held[0].sort()  # in place, of what a list holds: it is recorded
        return fn(held[0])
    expected = hovis.grad(plain)(X)
    np.testing.assert_allclose(hovis.grad(lambda x: hovis.checkpoint(body)(x[::-1] * 1.5))(X), expected)
    np.testing.assert_allclose(hovis.grad(lambda x: recorded(x, hovis.checkpoint(body)))(X), hovis.grad(lambda x: recorded(x, body))(X))


# ------------------------------------------------------------------------------------------------- decompositions

LINALG = {
    "svd": lambda a: np.linalg.svd(a, full_matrices=False), "values": lambda a: np.linalg.svd(a, compute_uv=False), "qr": np.linalg.qr,
    "eig": lambda a: (np.linalg.eig(a)[0], np.abs(np.linalg.eig(a)[1])), "eigvals": np.linalg.eigvals, "eigh": lambda a: np.linalg.eigh(a + np.swapaxes(a, -1, -2)), "inv": np.linalg.inv,
    "pinv": np.linalg.pinv, "slogdet": np.linalg.slogdet, "cholesky": lambda a: np.linalg.cholesky(a @ np.swapaxes(a, -1, -2) + np.eye(a.shape[-2])),
}
SHAPES = [(3, 3), (2, 4), (4, 2), (2, 2, 3), (2, 3, 3), (1, 1), (0, 0), (0, 3)]


def parts_of(y):
    return list(y) if isinstance(y, tuple) else [y]


@pytest.mark.parametrize("name", LINALG)
def test_decompositions_of_all_shapes(name):
    fn, rng = LINALG[name], np.random.default_rng(len(name))
    for shape in SHAPES if MANY else [SHAPES[k] for k in rng.choice(len(SHAPES), 2)]:
        a, t = rng.normal(size=shape), rng.normal(size=shape)
        try:
            values = parts_of(fn(a))
        except (np.linalg.LinAlgError, ValueError):
            continue
        seeds = [rng.normal(size=np.shape(v)) + (1j * rng.normal(size=np.shape(v)) if np.iscomplexobj(v) else 0.0) for v in values]
        y, pull = hovis.vjp(fn, a)
        pulled = np.sum(pull(tuple(seeds) if isinstance(y, tuple) else seeds[0])[0] * t)
        tangents = parts_of(hovis.jvp(fn, (a,), (t,))[1])
        pushed = sum(np.sum(np.real(np.conj(g) * d)) for g, d in zip(seeds, tangents, strict=True) if d is not None)
        ends = [parts_of(fn(a + step * t)) for step in (1e-6, -1e-6)]
        measured = sum(np.sum(np.real(np.conj(g) * (p - q))) / 2e-6 for g, p, q in zip(seeds, *ends, strict=True))
        np.testing.assert_allclose([pulled, pushed], measured, rtol=1e-4, atol=1e-5, err_msg=f"{name}{shape}")
