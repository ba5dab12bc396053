"""Transforms in one another, around functions with rules of their own, of trees and of arguments of all kinds; beside differences of the plain function."""
from __future__ import annotations

import itertools
import os
import zlib

import numpy as np
import pytest

import hovis

X = np.array([1.5, 0.5, -1.0])
V = np.array([0.5, -1.0, 2.0])
STEP = 1e-3

# ------------------------------------------------------------------------------------------------- what is called


def of_array(x):
    return np.sum(x * x * x)


def of_tuple(p):
    return np.sum(p[0] * p[0] * p[1])


def of_dict(p):
    return np.sum(p["w"] * p["w"]) * p["b"]


def of_keyword(x, *, scale):
    return np.sum(x * x) * scale


def of_int(x, n):
    return np.sum(x**n)


def of_none(x, nothing):
    return np.sum(x * x * x) if nothing is None else 0.0


def of_parts(x):
    return np.sum(x * x * x), x * 5.0


#: Each is called so; this is its pull (what goes to each argument), and how it is pushed.
KINDS = {
    "array": (of_array, lambda fn, x: fn(x), lambda g, x: (3.0 * x * x * g,)),
    "tuple": (of_tuple, lambda fn, x: fn((x, x * 2.0)), lambda g, p: ((2.0 * p[0] * p[1] * g, p[0] * p[0] * g),)),
    "dict": (of_dict, lambda fn, x: fn({"w": x, "b": x[0]}), lambda g, p: ({"w": 2.0 * p["w"] * p["b"] * g, "b": np.sum(p["w"] * p["w"]) * g},)),
    "keyword": (of_keyword, lambda fn, x: fn(x, scale=x[0]), lambda g, x, scale: (2.0 * x * scale * g, np.sum(x * x) * g)),
    "int": (of_int, lambda fn, x: fn(x, 3), lambda g, x, n: (n * x ** (n - 1) * g, None)),
    "none": (of_none, lambda fn, x: fn(x, None), lambda g, x, nothing: (3.0 * x * x * g, None)),
    "unused": (of_parts, lambda fn, x: fn(x)[0], lambda g, x: (3.0 * x * x * g[0] + 5.0 * g[1],)),
}
PUSHES = {
    "array": lambda x, t: 3.0 * np.sum(x[0] * x[0] * t[0]),
    "tuple": lambda x, t: np.sum(2.0 * x[0][0] * x[0][1] * t[0][0] + x[0][0] * x[0][0] * t[0][1]),
    "dict": lambda x, t: 2.0 * np.sum(x[0]["w"] * t[0]["w"]) * x[0]["b"] + np.sum(x[0]["w"] * x[0]["w"]) * t[0]["b"],
    "keyword": lambda x, t: 2.0 * np.sum(x[0] * t[0]) * x[1] + np.sum(x[0] * x[0]) * t[1],
    "int": lambda x, t: np.sum(x[1] * x[0] ** (x[1] - 1) * t[0]),
    "none": lambda x, t: 3.0 * np.sum(x[0] * x[0] * t[0]),
    "unused": lambda x, t: (3.0 * np.sum(x[0] * x[0] * t[0]), 5.0 * t[0]),
}


def with_vjp(kind):
    fn, _, pull = KINDS[kind]
    made = hovis.custom_vjp(fn)
    if kind == "keyword":
        made.defvjp(lambda x, *, scale: (fn(x, scale=scale), (x, scale)), lambda kept, g: pull(g, *kept))
    else:
        made.defvjp(lambda *args: (fn(*args), args), lambda kept, g: pull(g, *kept))
    return made


def with_jvp(kind):
    fn, push = KINDS[kind][0], PUSHES[kind]
    made = hovis.custom_jvp(fn)
    made.defjvp(lambda args, tangents: (fn(*args[:-1], scale=args[-1]) if kind == "keyword" else fn(*args), push(args, tangents)))
    return made


WRAPPED = {"custom_vjp": with_vjp, "custom_jvp": with_jvp, "checkpoint": lambda kind: hovis.checkpoint(KINDS[kind][0])}


# ------------------------------------------------------------------------------------------------- programs


def traced(kind, fn):
    call = KINDS[kind][1]
    return lambda x: call(fn, x) * 2.0 + np.sum(x * x)


def recorded(kind, fn):
    """A program for which no reverse can be written: with a list that stays real, and memory that is written by out= and sorted."""
    call = KINDS[kind][1]

    def program(x):
        found = [0.0]
        for value in (call(fn, x), call(fn, x)):
            found[0] += value
        squares = np.zeros(3)
        np.multiply(x, x, out=squares)
        squares.sort()
        return found[0] + np.sum(squares)
    return program


# ------------------------------------------------------------------------------------------------- transforms


def by_vjp(f):
    return lambda x: hovis.vjp(f, x)[1](1.0)[0]


#: From a function of an array that gives a number to one that gives an array, and what that is by differences.
ONCE = {
    "grad": hovis.grad,
    "vjp": by_vjp,
    "jvp": lambda f: lambda x: hovis.jvp(f, (x,), (V,))[1] * x,
    "vmap": lambda f: lambda x: hovis.vmap(lambda s: f(x * s))(np.array([1.0, 2.0, 0.5])),
}


def difference(f, x):
    return np.array([(f(x + STEP * e) - f(x - STEP * e)) / (2.0 * STEP) for e in np.eye(3)])


EXPECTED = {
    "grad": lambda f: lambda x: difference(f, x),
    "vjp": lambda f: lambda x: difference(f, x),
    "jvp": lambda f: lambda x: difference(f, x) @ V * x,
    "vmap": lambda f: lambda x: np.array([f(x * s) for s in (1.0, 2.0, 0.5)]),
}
FORWARD = ("jvp",)
CASES = [
    (program.__name__, kind, wrapper, outer, inner)
    for program, kind, wrapper, outer, inner in itertools.product((traced, recorded), KINDS, WRAPPED, (None, *ONCE), ONCE)
]
#: Such that have failed.
KNOWN = [
    ("recorded", "array", "custom_jvp", "grad", "grad"), ("recorded", "tuple", "custom_jvp", "vjp", "grad"), ("recorded", "dict", "custom_vjp", "grad", "grad"),
    ("recorded", "keyword", "custom_vjp", "vjp", "vjp"), ("recorded", "unused", "custom_vjp", "grad", "grad"),
    ("traced", "unused", "custom_vjp", "grad", "vmap"), ("traced", "unused", "checkpoint", "vjp", "vmap"),
]  # fmt: skip
if "HOVIS_EXAMPLES" not in os.environ:  # a fortieth of all
    CASES = [*KNOWN, *(case for case in CASES if zlib.crc32(repr(case).encode()) % 40 == 0)]


@pytest.mark.parametrize(("program", "kind", "wrapper", "outer", "inner"), CASES)
def test_composed(program, kind, wrapper, outer, inner):
    made = {"traced": traced, "recorded": recorded}[program]
    f, plain = made(kind, WRAPPED[wrapper](kind)), made(kind, KINDS[kind][0])

    def twice(ways, g):
        once = ways[inner](g)
        return once if outer is None else ways[outer](lambda x: np.sum(once(x) * V))
    if wrapper == "custom_vjp" and {outer, inner} & {*FORWARD}:
        with pytest.raises(hovis.DerivativeError, match="only has a rule for cotangents, and this is forward mode"):
            twice(ONCE, f)(X)
        return
    np.testing.assert_allclose(twice(ONCE, f)(X), twice(EXPECTED, plain)(X), rtol=1e-3, atol=1e-3)
