"""Stores into what the caller passed: what is known of the rest stays known, whatever else may be the same object."""
from __future__ import annotations

import copy

import pytest

import hovis
from hovis import Any, Int, Str
from tests.differential.harness.compare import difference, observe


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


def two_lists(a, b):
    a[0] = b[0] + 1
    b[1] = a[0] * 2
    return a[0], a[1], b[0], b[1]


def list_in_list(rows):
    rows[0][0] = rows[1][0] + 1
    return rows[1][0], rows[0][0]


def counting(t):
    while t[0] != 0:
        t[0] -= 1
        t[2] += 1
    return t, t[1]


def two_points(p, q):
    p.x = q.x + 1
    q.y = p.x + p.y
    return p.x, p.y, q.x, q.y


def point_and_list(p, t):
    p.x = t[0]
    t[0] = p.y
    p.y = t[0] + p.x
    return p.x, p.y, t


def two_dicts(a, b):
    a["k"] = b["k"] + 1
    b["m"] = a["k"] + a["m"]
    return sorted(a.items()), sorted(b.items())


def made_and_passed(t):
    mine = [1, 2]
    t[0] = mine
    mine[0] = t[1]
    t[1] = 7
    return t[0][0], mine, t


def with_a_finalizer(t):
    class Ending:
        def __del__(self):
            t[1] = "seen"

    t[0] = Ending()
    t[0] = 5
    return t[1]


def called_between(t, fn):
    t[0] = 4
    fn(t)
    return t[0], t[1]


def negative(t):
    t[-1] = 3
    t[True] = 4
    return t[1], t[2], t[-1]


LISTS = [[1, 2], [3, 4]]
CASES = {
    two_lists: (([Int, Int], [Int, Int]), [([1, 2], [3, 4])]),
    list_in_list: (([[Int], [Int]],), [([[1], [2]],)]),
    counting: (([Int, Int, Int],), [([5, 1, 2],), ([0, 1, 2],)]),
    two_dicts: (({"k": Int, "m": Int}, {"k": Int, "m": Int}), [({"k": 1, "m": 2}, {"k": 3, "m": 4})]),
    made_and_passed: (([Int, Int],), [([1, 2],)]),
    with_a_finalizer: (([Any, Str],), [([1, "a"],)]),
    called_between: (([Int, Int], Any), [([1, 2], lambda t: t.append(3)), ([1, 2], lambda t: t.__setitem__(0, "x"))]),
    negative: (([Int, Int, Int],), [([0, 1, 2],)]),
}


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_stores(fn):
    specs, calls = CASES[fn]
    residual = hovis.specialize(fn, *specs)
    text = hovis.trace(fn, *specs).text().load()
    for call in calls:
        for made in (residual, text):
            expected = observe(fn, copy.deepcopy(call))
            got = observe(made, copy.deepcopy(call))
            assert not difference(expected, got) or (got.value, got.stdout) == (expected.value, expected.stdout)


@pytest.mark.parametrize("made", ["residual", "text"])
def test_one_object_under_two_names(made):
    def both(fn, *specs):
        trace = hovis.trace(fn, *specs)
        return trace.compile() if made == "residual" else trace.text().load()

    one, two = [1, 2], [1, 2]
    assert both(two_lists, [Int, Int], [Int, Int])(one, one) == two_lists(two, two)
    assert one == two
    inner, other = [1], [1]
    assert both(list_in_list, [[Int], [Int]])([inner, inner]) == list_in_list([other, other])
    p, q = Point(1, 2), Point(1, 2)
    spec = hovis.Instance(Point, x=Int, y=Int)
    assert both(two_points, spec, spec)(p, p) == two_points(q, q)
    assert vars(p) == vars(q)
    a, b = {"k": 1, "m": 2}, {"k": 1, "m": 2}
    assert both(two_dicts, {"k": Int, "m": Int}, {"k": Int, "m": Int})(a, a) == two_dicts(b, b)
    assert both(point_and_list, spec, [Int])(p, [5]) == point_and_list(q, [5])


def test_what_is_known_stays_known():
    shown = str(hovis.trace(counting, [Int, Int, Int]))
    assert "Any" not in shown
    assert "getitem" not in shown
