"""Code that writes to what tracing reads: classes, modules, globals, lists and caches that existed before."""
from __future__ import annotations

import abc
import copy
import sys

import pytest

import hovis
from hovis.arguments.specs import Int, const


class Counter:
    n = 0

    def name(self):
        return "old"


class Cached:
    cache: dict = {}

    def get(self, k):
        if k not in self.cache:
            self.cache[k] = k * 2
        return self.cache[k]


LEVEL = 1
items = [1, 2, 3]
_name = Counter.name


def class_attribute(k):
    Counter.n += k
    c = Counter()
    return c.n, Counter.n, c.name()


def patched_method(k):
    def new(self):
        return "new"
    before = Counter().name()
    Counter.name = new
    after = Counter().name()
    setattr(Counter, "n", 77)  # noqa: B010
    return before, after, Counter().n, k


def through_globals(k):
    globals()["LEVEL"] = k
    return LEVEL


def global_statement(k):
    global LEVEL
    LEVEL = k
    return LEVEL + 1


def through_the_module(k):
    sys.modules[__name__].LEVEL = k
    return LEVEL


def through_exec(k):
    exec("LEVEL = 5", globals())
    return LEVEL, k


def grown_while_iterated(k):
    total = k
    for item in items:
        total += item
        if total < 20:
            items.append(item * 2)
    return total, items


def sorted_in_place(k):
    first, before = items[0], list(items)
    items.sort(reverse=True)
    return first, items[0], before, k


def cache_on_the_class(k):
    return Cached().get(1), Cached().get(k), Cached.cache


def reset():
    global LEVEL
    LEVEL, Counter.n, Counter.name, items[:] = 1, 0, _name, [1, 2, 3]
    Cached.cache.clear()


CASES = [class_attribute, patched_method, through_globals, global_statement, through_the_module, through_exec, grown_while_iterated,
         sorted_in_place, cache_on_the_class]


@pytest.mark.parametrize("way", ["unknown", "known", "evaluate", "jit"])
@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_what_is_written_is_read(fn, way):
    reset()
    try:
        expected = copy.deepcopy(fn(5))
        reset()
        if way == "unknown":
            got = hovis.specialize(fn, Int)(5)
        elif way == "known":
            got = hovis.specialize(fn, const(5))()
        elif way == "evaluate":
            got = hovis.evaluate(hovis.trace(fn, Int), 5)
        else:
            got = hovis.jit(fn)(5)
        assert got == expected
    finally:
        reset()


def abstract_classes():
    class Abstract(abc.ABC):
        pass

    class Plain:
        pass

    def asks(x):
        match x:
            case Abstract():
                return isinstance(x, Abstract), issubclass(type(x), Abstract | None), isinstance(3, Abstract), "matched"
        return isinstance(x, Abstract), issubclass(type(x), Abstract), isinstance(3, Abstract)
    return Abstract, Plain, asks


@pytest.mark.parametrize("registered", [0, 1])
def test_what_an_abstract_class_says_is_guarded(registered):
    Abstract, Plain, asks = abstract_classes()
    jitted = hovis.jit(asks)
    assert jitted(Plain()) == asks(Plain())
    Abstract.register((Plain, int)[registered])
    assert jitted(Plain()) == asks(Plain())
    assert any("subclass of" in line for line in jitted.traces[-1].show(guards=True).splitlines())


def test_a_hook_of_the_users_runs_when_the_program_asks():
    asked = []

    class Abstract(abc.ABC):
        @classmethod
        def __subclasshook__(cls, other):
            asked.append(other)
            return True

    def asks(x, now):
        return isinstance(x, Abstract) if now else None

    jitted = hovis.jit(asks)
    assert jitted(asks, False) is None and not asked
    assert jitted(asks, True) is True and asked == [type(asks)]
