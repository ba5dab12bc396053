"""The plans by which jit makes residuals: their order, and which one is kept; keys of arguments by their classes alone."""
from __future__ import annotations

import pytest

import hovis
import hovis.front.jit as jitting
from hovis.front.jit_cache.cache_keys import KNOWN, PLAIN, WIDE, by_types, data_paths, key_of
from hovis.front.jit_cache.plans import BRIEF, BY_CLASS, BY_VALUE, Plans

# gain, lookup, residuals, data, better
TRIED = {
    "the first is good": ([(2.5, 0.1, "a", True, True)], BRIEF, "a"),
    "nothing is opaque, and the lookup is quick": ([(1.1, 0.1, "a", True, False)], BRIEF, "a"),
    "nothing is opaque, and the lookup is slow": ([(1.1, 0.3, "a", True, False), (2.1, 0.1, "b", False, False)], BY_CLASS, "b"),
    "by class is good": ([(0.0, 0.0, "a", True, True), (2.1, 0.1, "b", False, True)], BY_CLASS, "b"),
    "by value is better": ([(0.0, 0.0, "a", True, True), (1.2, 0.1, "b", False, True), (5.0, 0.4, "c", True, True)], BY_VALUE, "c"),
    "by value is hardly better": ([(0.0, 0.0, "a", True, True), (1.2, 0.1, "b", False, True), (1.3, 0.4, "c", True, True)], BY_CLASS, "b"),
    "the brief one was best": ([(1.9, 0.3, "a", True, True), (1.1, 0.1, "b", False, True), (0.8, 0.4, "c", True, True)], BRIEF, "a"),
    "there is no data": ([(0.9, 0.1, "a", False, True), (1.4, 0.1, "b", False, True)], BY_VALUE, "b"),
}


@pytest.mark.parametrize("name", TRIED)
def test_the_plan_that_gains_most_is_kept(name):
    tried, wanted, residuals = TRIED[name]
    plans = Plans(True)
    for k, told in enumerate(tried):
        assert plans.next(*told) == (k + 1 < len(tried))
    plans.settle()
    assert (plans.current, plans.residuals(), plans.settled) == (wanted, residuals, True)


def test_functions_that_are_traced_at_once_have_one_plan():
    plans = Plans(False)
    assert plans.settled and not plans.is_first() and plans.residuals() is None


def test_keys_by_class():
    policy = {(0,): PLAIN, ("d",): PLAIN}
    assert key_of(({"a": 1}, 2.5), {"d": "x"}, policy) == (dict, float, "d", str)
    assert key_of((3, True), {}, policy) == (int, (True, bool)), "other classes are treated as ever"
    assert data_paths(({"a": 1}, 2.5, "x"), {"d": (1,), "e": None}, {(2,): WIDE}) == [(0,), ("d",)]


def test_what_is_found_by_types():
    assert by_types({(dict, float): 1}, {(0,): PLAIN}) == {(dict, float): 1}
    assert by_types({(str, list): 1}, {(0,): WIDE}) == {(str, list): 1}
    assert by_types({(dict, float): 1}, {}) == {} and by_types({(int,): 1}, {}) == {(int,): 1}
    assert by_types({(int, int): 1}, {(1,): KNOWN}) == {} and by_types({(list, int): 1}, {(0, 2): KNOWN}) == {}
    assert by_types({(dict, float): 1}, {(0,): PLAIN, (1, 0): KNOWN}) == {}


def scaled(config, values):
    found = []
    for value in values:
        for name in sorted(config):
            value = value * config[name] + len(name)
        found.append(value)
    return found


def test_calls_of_all_kinds_stay_right_while_plans_are_tried(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", True)
    monkeypatch.setattr(jitting, "BRIEFLY", 0.0)  # the first trace has no time, so the others are tried
    jitted = hovis.jit(scaled)
    kinds = [({"a": 2, "b": 3}, [1, 2.5]), ({"a": 2}, []), ({}, [1]), ({"long": 0.5, "b": "x"}, [3]), ({"c": 1}, ("t", 2)), ({1: 2}, [1])]
    for k in range(600):
        config, values = kinds[k % 7 % len(kinds)]
        try:
            wanted = scaled(config, values)
        except TypeError as error:
            wanted = str(error)
        try:
            found = jitted(dict(config), values)
        except TypeError as error:
            found = str(error)
        assert found == wanted and list(map(type, found)) == list(map(type, wanted))
