"""A known object is reached by functions of several modules, each in several ways: whichever way is found first, it escapes."""
from __future__ import annotations

import itertools
import sys
import types

import pytest

import hovis
from hovis import Any, Int
from tests.differential.harness.compare import observe, same

OWNER = """
class Thing: pass
m = Thing()
m.x, m.y = 1, 0
def change(): m.x = 7
"""
OTHER = """
import functools
def names(): return change
class Holder: pass
def held():
    found = Holder()
    found.call = change
    return found
def by_class():
    class Keeps:
        call = staticmethod(change)
    return Keeps()
def listed(): return [[change]]
def bound(): return functools.partial(change)
def default():
    def fn(call=change): return call
    return fn
def closed():
    call = change
    def fn(): return call
    return fn
"""
MAIN = """
def fn(n, one, other):
    m.y = n
    one(first)
    before = m.x
    other(second)
    return before, m.x, m.y
"""
#: How unknown code comes to the function that stores, by what it is given; the last way names the function alone, in another module.
WAYS = {
    "itself": ("change", lambda given: given()),
    "held": ("held()", lambda given: given.call()),
    "by_class": ("by_class()", lambda given: given.call()),
    "listed": ("listed()", lambda given: given[0][0]()),
    "bound": ("bound()", lambda given: given()),
    "default": ("default()", lambda given: given()()),
    "closed": ("closed()", lambda given: given()()),
    "nothing": ("names", lambda given: None),
}


def module(name, text, **names):
    """A module that is not imported; its ``__package__`` is None."""
    made = types.ModuleType(name)
    vars(made).update(names)
    exec(text, vars(made))
    return made


def program(first, second):
    owner = module("owner", OWNER)
    other = module("other", OTHER, change=owner.change)
    given = [eval(WAYS[way][0], vars(other)) for way in (first, second)]
    return module("main", MAIN, m=owner.m, first=given[0], second=given[1]).fn


@pytest.mark.parametrize(("first", "second"), [*itertools.product(WAYS, repeat=2)])
@pytest.mark.parametrize("way", ["specialize", "jit"])
def test_functions_of_several_modules(first, second, way):
    args = 5, WAYS[first][1], WAYS[second][1]
    fn = program(first, second)
    residual = hovis.specialize(fn, Int, Any, Any) if way == "specialize" else hovis.jit(fn)
    if way == "specialize":
        assert not residual.trace.fallback
    same(observe(program(first, second), args), observe(residual, args), f"{first} {second} {way}")


def store_by_module(given):
    given.m.x = 7


def store_by_name(given):
    given["m"].x = 7


@pytest.mark.parametrize(("given", "stores"), [("owner", store_by_module), ("vars(owner)", store_by_name), ("{'__builtins__': {}, 'm': m}", store_by_name)])
def test_a_module_leads_to_everything_in_it(monkeypatch, given, stores):
    def made():
        owner = module("owner", OWNER)
        monkeypatch.setitem(sys.modules, "owner", owner)
        return module("main", MAIN, m=owner.m, first=eval(given, {"owner": owner, "m": owner.m}), second=None).fn

    args = 5, stores, lambda given: None
    expected = observe(made(), args)
    assert made()(*args)[0] == 7
    same(expected, observe(hovis.specialize(made(), Int, Any, Any), args), given)
