"""Generators taken apart: yield from, StopIteration that leaves them, exceptions through them."""
from __future__ import annotations

import pytest

import hovis
from hovis.arguments.specs import Int


def inner(n):
    for i in range(n):
        yield i
    return "done"


def outer(n):
    try:
        result = yield from inner(n)
        yield result
    except ValueError:
        yield "v"


def stops():
    yield 1
    raise StopIteration


def runs_dry(iterator):
    while True:
        yield next(iterator)


def all_of(n):
    return list(outer(3)), sum(inner(4)), [x for x in outer(2)], n  # noqa: C416


def stop_inside(n):
    try:
        return list(stops())
    except RuntimeError as error:
        return str(error), type(error.__cause__).__name__, n


def next_inside(n):
    try:
        return list(runs_dry(iter(range(n))))
    except RuntimeError as error:
        return str(error), type(error.__cause__).__name__


@pytest.mark.parametrize("fn", [all_of, stop_inside, next_inside], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("spec", [Int, 2], ids=["unknown", "known"])
def test_as_python_does(fn, spec):
    trace = hovis.trace(fn, spec)
    assert not trace.fallback
    unknown = (2,) if spec is Int else ()
    assert trace.compile()(*unknown) == fn(2)
    assert hovis.evaluate(trace, *unknown) == fn(2)
