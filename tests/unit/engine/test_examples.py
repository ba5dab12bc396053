"""Examples of unknown values: parts of arguments, contents of objects, results of operations on them."""
from __future__ import annotations

import operator

import pytest

from hovis.engine.speculation.examples import ITEMS, NOTHING, Examples
from hovis.ir import operations
from hovis.ir.model import Effect, Op, Param
from hovis.lattice import ANY, Const


class Plain:
    def __init__(self, held):
        self.held = held

    def method(self): ...


class Hooked:
    def __getattr__(self, name):
        raise AssertionError("hooks must not run")

    @property
    def told(self):
        raise AssertionError("properties must not run")


def example(callee, *held, effect=Effect.READS | Effect.RAISES):
    examples, params = Examples(), []
    for one in held:
        params.append(Param(ANY))
        examples.put(params[-1], one)
    return examples.of(Op(callee, tuple(params), (), ANY, None, effect, None))


@pytest.mark.parametrize(
    ("callee", "held", "wanted"),
    [
        (getattr, (Plain(7), "held"), 7),
        (operator.getitem, ({"a": 1.5}, "a"), 1.5),
        (operator.getitem, ([4, 5], 1), 5),
        (dict.get, ({"a": 1}, "b", None), NOTHING),
        (operator.add, (1.5, 2), 3.5),
        (operator.mul, (2**65, 2), NOTHING),
        (operator.mul, ("ab", 10**9), NOTHING),
        (operator.truediv, (1, 0), NOTHING),
        (str.upper, ("ab",), "AB"),
        (len, ([1, 2],), 2),
        (operations.unpack, ((1, 2), 2), (1, 2)),
        (getattr, (Plain(7), "method"), NOTHING),
        (getattr, (Hooked(), "told"), NOTHING),
        (getattr, (Hooked(), "other"), NOTHING),
        (operator.getitem, ({}, Plain(1)), NOTHING),
    ],
)
def test_results(callee, held, wanted):
    assert example(callee, *held) == wanted


def test_what_writes_is_not_executed():
    held = [1, 2]
    assert example(list.pop, held, effect=Effect.WRITES | Effect.RAISES) is NOTHING
    assert example(list.clear, held, effect=Effect.OPAQUE) is NOTHING
    assert held == [1, 2]


def items(*source):
    examples, param = Examples(), Param(ANY)
    examples.put(param, source[0])
    iterator = Op(iter, (param,), (), ANY, None, Effect.READS, None)
    return examples.of(Op(next, (iterator, Const(operations.END)), (), ANY, None, Effect.WRITES, None))


def test_items_are_examples_if_they_are_of_one_class():
    assert items([1, 2, 3]) == 1
    assert items((1, "a")) is NOTHING
    assert items([]) is operations.END
    assert items({"a": 1}) == "a"
    assert items([1] * ITEMS + ["later ones are not looked at"]) == 1
    assert items(iter([1, 2])) is NOTHING


def test_unpacked_pairs():
    examples, param = Examples(), Param(ANY)
    examples.put(param, [2.5, 3.5])
    pairs = Op(iter, (Op(enumerate, (param,), (), ANY, None, Effect.READS, None),), (), ANY, None, Effect.READS, None)
    pair = Op(next, (pairs, Const(operations.END)), (), ANY, None, Effect.WRITES, None)
    assert examples.of(pair) == (0, 2.5)


def test_examples_are_forgotten():
    examples, param = Examples(), Param(ANY)
    examples.put(param, Plain(1))
    examples.clear()
    assert examples.of(param) is NOTHING


def test_keys_of_the_user_are_not_compared():
    class Key:
        def __hash__(self): return hash("a")

        def __eq__(self, other): raise AssertionError("code of the user must not run")

    assert example(operator.getitem, {Key(): 1, "b": 2}, "a") is NOTHING
    assert example(operations.load_global, {Key(): 1}, "a") is NOTHING


def test_large_results_are_not_computed():
    for callee, held in ((pow, (3, 10**9)), (operator.pow, (3, 10**9)), (operator.lshift, (1, 10**15)), (str.ljust, ("a", 10**13)), (operator.mod, ("%1000000000d", 1))):
        assert example(callee, *held) is NOTHING
