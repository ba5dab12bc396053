"""Dictionaries laid over each other: the scopes of an interpreter."""

import pytest

import hovis
from hovis import Any, Int


def read(path, scope):
    value = scope[path[0]]
    for name in path[1:]:
        value = value[name]
    return value


def over(scope, xs):
    out = []
    for x in xs:
        inner = {**scope, "x": x}
        out.append((read(("x", "a"), inner), read(("x", "b"), inner)))
    return out


def under(scope, xs):
    """What is unknown lies over what is known."""
    return [read(("x", "a"), {"x": x, **scope}) for x in xs]


def both(scope, xs):
    return [read(("x",), {**scope, "x": x}) + read(("k",), {**scope, "x": x}) for x in xs]


def changed_between(scope, xs):
    out = []
    for x in xs:
        inner = {**scope, "x": x}
        scope["x"] = 5
        out.append(inner["x"])
        inner["x"] = 7
        out.append(inner["x"])
    return out


def goes_out(scope, xs):
    kept = []
    for x in xs:
        inner = {**scope, "x": x}
        kept.append(inner["x"])
        kept.append(inner)
    return kept


def nested(scope, xs):
    out = []
    for x in xs:
        one = {**scope, "x": x}
        for y in xs:
            two = {**one, "y": y}
            out.append(two["y"])
        out.append(one["x"])
    return out


def in_a_handler(scope, xs):
    out = []
    for x in xs:
        try:
            inner = {**scope, "x": x}
            out.append(inner["x"])
            out.append(inner["nowhere"])
        except KeyError as error:
            out.append(error.args)
    return out


def outcome(fn, scope, xs):
    scope = dict(scope) if type(scope) is dict else scope
    try:
        return repr(fn(scope, xs)), scope
    except Exception as error:
        return type(error), error.args, scope


@pytest.mark.parametrize("spec", [dict, Any])
@pytest.mark.parametrize("fn", [over, under, both, changed_between, goes_out, nested, in_a_handler])
def test_scopes(fn, spec):
    residual = hovis.specialize(fn, spec, Any)
    for scope in ({}, {"k": 1}, {"x": {"a": 0, "b": 9}, "k": 2}, {3: 4}, [("x", 1)], 5):
        for xs in ([], [{"a": 1, "b": 2}, {"a": 3}], [{"a": 1, "b": 2}] * 2, [1, 2]):
            assert outcome(residual, scope, xs) == outcome(fn, scope, xs)


@pytest.mark.xfail(strict=True, reason="x['a'] may run anything, and empty scope: from then on the inner one is the last that holds what was in it")
def test_no_dictionary_is_left():
    made = hovis.specialize(over, dict, Any)
    assert "{" not in made.trace.source()
    assert made({"k": 1}, [{"a": 1, "b": 2}]) == [(1, 2)]


def test_no_more_than_what_is_read():
    def fn(scope, n):
        inner = {**scope, "n": n}
        return inner["n"] + inner["m"]

    assert hovis.specialize(fn, dict, Int)({"m": 2, "n": 7}, 3) == 5
