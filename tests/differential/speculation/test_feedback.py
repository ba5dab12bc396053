"""Residuals that are made with type feedback: what was seen in two calls is assumed, and tested; other calls go on in the original code."""
from __future__ import annotations

import itertools
import sys
import traceback
import types

import pytest

import hovis
import hovis.front.jit as jitting
from hovis.front.jit_cache.plans import BY_CLASS, OBSERVED
from hovis.front.jit_cache.variants import LEAVING
from hovis.ir.model import Effect
from tests.differential.harness.compare import difference
from tests.differential.harness.forced_exits import forced
from tests.differential.harness.splits import observe


@pytest.fixture(autouse=True)
def uncontested(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)


def by_class(fn, *calls):
    """Return a jitted function that has observed calls of fn, and made a residual for another one."""
    jitted = hovis.jit(fn)
    jitted._plans.current = BY_CLASS
    for args in itertools.islice(itertools.cycle(calls), OBSERVED + 1):
        observe(jitted, args)
    return jitted


def opaque(jitted):
    [traced] = jitted.traces
    ops = [op for function in traced.functions for op in function.ops()]
    return [op.callee for op in ops if op.effect & Effect.OPAQUE and op.callee not in LEAVING]


class Item:
    def __init__(self, price, count, tags=()):
        self.price, self.count, self.tags = price, count, tags
        self.seen = 0

    def total(self):
        self.seen += 1
        return self.price * self.count


class Gift(Item):
    def total(self):
        return 0


class Noisy:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("gone")


def bill(items):
    total, names = 0, []
    for item in items:
        total += item.total()
        names.append(item.tags[0] if item.tags else None)
    return total, names


def lookup(data):
    found = []
    for key in ("a", "b", "c"):
        try:
            value = data[key]
        except KeyError:
            found.append((key, len(data)))
        else:
            found.append(value if value in (0, False) else value or "")
    return found


def handlers(table, x):
    f = table["f"]
    y = f(x)
    return y, table["g"](y)


def twice(x): return x * 2


def thrice(x): return x * 3


def replaced(item, log):
    item.seen = 3
    item.price = item.count
    return item.seen, item.price, list(log)


def kept(d):
    try:
        return d["x"]["y"]
    except KeyError as error:
        entries = [entry.name for entry in traceback.extract_tb(error.__traceback__)]
    try:
        inner(d)
    except KeyError:
        size = len(d) + 1
        return entries, size, [entry.name for entry in traceback.extract_tb(sys.exc_info()[2])]


def inner(d): return innermost(d)


def innermost(d): return d["x"]


def modes(key):
    return key in OPTIONS, "b" in OPTIONS


def priced(items):
    total, kinds = 0, PRICES
    for kind, count in items:
        total += kinds.get(kind, 1) * count
    return total


def chosen(items):
    told = []
    for key, value in items.items():
        try:
            for name, act in itertools.chain(ACTS.get(key, []), LAST):
                told.append((name, act(value)))
        except TypeError as error:
            told.append(error.args)
    return told


PRICES = {"a": 2, "b": 1.5}
ACTS = {"a": [("twice", twice)], "b": [("twice", twice), ("thrice", thrice)]}
LAST = [("text", str)]
OPTIONS = types.MappingProxyType({"a": 1, "b": None})

PROGRAMS = {
    "methods": (bill, lambda: ([Item(2, 3), Item(1.5, 2, ("x",))],), [
        lambda: ([],), lambda: ([Gift(1, 1)],), lambda: ([Item("a", 2), Item(1, 1)],), lambda: ([Item(1, None)],), lambda: ([3],), lambda: (None,),
        lambda: ([Item(True, 2), Gift(5, 5), Item(2**70, 2, ["t"])],),
    ]),
    "keys": (lookup, lambda: ({"a": 1, "b": "x"},), [
        lambda: ({"a": 0, "b": "", "c": False},), lambda: ({},), lambda: ({"a": [], "b": 0.0, "c": -0.0},), lambda: ([1],), lambda: ({"a": None, "c": float("nan")},),
    ]),
    "callees": (handlers, lambda: ({"f": twice, "g": str}, 3), [
        lambda: ({"f": thrice, "g": str}, 3), lambda: ({"f": twice, "g": repr}, "a"), lambda: ({"f": None, "g": str}, 1), lambda: ({"g": str}, 1),
        lambda: ({"f": Item(1, 1).total, "g": len}, 2),
    ]),
    "old values": (replaced, lambda: (Item(1, 2), []), [
        lambda: (lambda log: (Item(Noisy(log), 2), log))([]), lambda: (Gift(1.5, "a"), []), lambda: (types.SimpleNamespace(count=3), []),
    ]),
    "tracebacks": (kept, lambda: ({},), [lambda: ({"x": {}},), lambda: ({"x": {"y": 3}},), lambda: ([],), lambda: ({"z": 1},)]),
    "keys of a known table": (priced, lambda: ([("a", 1), ("c", 2)],), [
        lambda: ([],), lambda: ([(1, 2)],), lambda: ([("b", 1.5), ([], 1)],), lambda: ([("a", "x"), ("b", 1)],), lambda: ([["a", 2**70]],),
    ]),
    "known table of lists": (chosen, lambda: ({"a": 1, "b": 2},), [
        lambda: ({},), lambda: ({"c": 1, "b": "x"},), lambda: ({1: None, "a": None},), lambda: ({"b": [1], "a": (2,)},), lambda: ([],),
    ]),
    "views": (modes, lambda: ("a",), [lambda: ("c",), lambda: ([],), lambda: (None,)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_other_calls(name):
    fn, usual, others = PROGRAMS[name]
    jitted = by_class(fn, usual())
    for make in (usual, *others, usual):
        assert difference(observe(fn, make()), observe(jitted, make())) is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_forced_exits(name):
    fn, usual, others = PROGRAMS[name]
    for seed in range(12):
        with forced(seed, 30):
            jitted = by_class(fn, usual())
            for make in (usual, *others):
                assert difference(observe(fn, make()), observe(jitted, make())) is None


@pytest.mark.parametrize("name", ["methods", "keys", "callees", "views", "keys of a known table"])
def test_nothing_stays_opaque(name):
    fn, usual, _ = PROGRAMS[name]
    assert opaque(by_class(fn, usual())) == []


def test_what_was_not_alike_is_not_assumed():
    def double(x): return [one + one for one in x]

    jitted = by_class(double, ([1, 2.5, "a", None and 1],), ([1, (2,), 1j, b"c"],))
    for given in ([1], [2.5, "b"], [[3], b"d"], [None]):
        assert difference(observe(double, (given,)), observe(jitted, (given,))) is None
    assert len(exits(jitted)) <= 2


@pytest.mark.parametrize("item", [[1], {1: 2}, {1}, frozenset({1}), (1,), 1, True, 2.0, None, "a"], ids=repr)
def test_what_is_equal_to_an_item_of_a_tuple(item):
    def among(x): return x in (frozenset({1}), (1,), 2, None), x in (0, False), x in ((), "a")

    assert hovis.specialize(among, type(item))(item) == hovis.jit(among)(item) == among(item)


def exits(jitted):
    return [op for traced in jitted.traces for function in traced.functions for op in function.ops() if op.callee in LEAVING]


def test_a_counter_beside_a_list_that_grows():
    class Loop:
        def __init__(self, items):
            self.items, self.index = iter(items), 0

        def __iter__(self): return self

        def __next__(self):
            item = next(self.items)
            self.index += 1
            return item

    def render(items):
        out = []
        loop = Loop(items)
        for item in loop:
            out.append("first" if loop.index == 1 else ", ")
            out.append(str(item))
            out.append(str(loop.index))
        return "".join(out)

    jitted = by_class(render, ([1, 2],))
    assert jitted.traces[0].stats["instructions"] < 3000  # 12,000 if each length of the list is followed
    for given in ([], [1], [3, 4, 5], list(range(30)), ["a"]):
        assert jitted(given) == render(given)
