"""Loops that count in a list: a closed form where its items are ints and the count ends, else the loop as it is."""

import copy
import itertools
import random

import pytest

import hovis
from hovis import Any, Int
from hovis.transforms.interpreter import Interpreter


class Own(list):
    pass


class Number(int):
    pass


def moves(t):
    while t[0] != 0:
        t[0] -= 1
        t[2] += 1
    return t


def steps_by_two(t, k):
    while t[0] > 0:
        t[0] -= 2
        t[1] += k
        t[2] += t[0]
    return t[2]


def at_an_index(t, at):
    while t[at] > 0:
        t[at] -= 1
        t[at + 1] += 3
        t[at + 2] -= 1
    return at


def until_false(t):
    while t[0]:
        t[0] -= 1
        t[1] += 2


def also_counts(t):
    n = 0
    while t[0] != 0:
        t[0] -= 3
        n += 1
    return n


def stores_what_counts(t, n):
    i = 0
    while i < n:
        t[1] += i
        t[0] = i
        i += 1
    return i


def up_to_a_cell(t):
    while t[0] < t[1]:
        t[0] += 1
        t[2] = 5
    return t


def asks_behind(t):
    while True:
        t[1] += 1
        t[0] -= 1
        if t[0] <= 0:
            break
    return t[0], t[1]


def a_variable_counts(t, n):
    while n > 0:
        n -= 1
        t[0] += 1
    return n


def stores_in_front_of_its_test(t):
    while True:
        t[1], t[2] = 0, 7
        if t[0] > 0:
            t[2], t[1] = t[1] + t[2], 3
            t[0] -= 1
        else:
            return t


#: Of each, the spec of its second argument, and whether it gets a closed form.
CASES = [
    (moves, None), (steps_by_two, Any), (at_an_index, Int), (until_false, None), (also_counts, None), (stores_what_counts, Any),
    (up_to_a_cell, None), (asks_behind, None), (a_variable_counts, Any),
]  # fmt: skip
#: Where != is asked, or truth, these would go on without end.
ENDLESS = (moves, until_false, also_counts)
ITEMS = [0, 3, 6, 9, 12, True, False, 6.0, Number(3), None, "a", 2.5, -4]


def outcome(fn, args):
    try:
        found = fn(*args)
    except Exception as error:
        found = (type(error), error.args)
    held = args[0]
    return repr(found), type(found), type(held), [(type(x), repr(x)) for x in held], found is held


def drawn(fn, second):
    """Arguments with which fn ends."""
    rnd = random.Random(fn.__name__)
    for _ in range(250):
        items = [rnd.choice([0, 3, 6, 12]) if rnd.random() < 0.7 else rnd.choice(ITEMS) for _ in range(rnd.choice([0, 1, 2, 3, 3, 3, 4]))]
        if fn in ENDLESS and items and items[0] in (-4, 2.5):
            items[0] = 3
        if fn is also_counts and items and type(items[0]) is bool:
            items[0] = 0
        more = [] if second is None else [rnd.choice([0, 1, 2, -1, -2])] if second is Int else [rnd.choice([0, 1, 5, -2, True, 2.5, "x"])]
        yield (Own(items) if rnd.random() < 0.1 else items, *more)


@pytest.mark.parametrize("spec", [list, Any])
@pytest.mark.parametrize(("fn", "second"), [*CASES, (stores_in_front_of_its_test, None)])
def test_it_is_the_same(fn, second, spec):
    residual = hovis.specialize(fn, spec, *([] if second is None else [second]))
    for args in drawn(fn, second):
        assert outcome(residual, (copy.copy(args[0]), *args[1:])) == outcome(fn, (copy.copy(args[0]), *args[1:]))


@pytest.mark.parametrize(("fn", "second"), CASES)
def test_counts_that_nobody_would_wait_for(fn, second):
    traced = hovis.trace(fn, list, *([] if second is None else [second]))
    far = 3 * 10**30
    tape = [0 if fn is up_to_a_cell else far, far, 5]
    traced.compile()(tape, *([] if second is None else [0 if second is Int else far]))
    assert sum(map(abs, tape)) > 10**30


class Bounded(Interpreter):
    """Gives up after some calls."""

    def __init__(self):
        super().__init__()
        self.left = 300

    def call(self, *args, **kwargs):
        self.left -= 1
        if not self.left:
            raise TimeoutError
        return super().call(*args, **kwargs)


@pytest.mark.parametrize("tape", [[-1, 0, 0], [-(10**40), 0, 0]])
def test_what_has_no_end_goes_on(tape):
    function = hovis.trace(moves, list).passes("default").function
    with pytest.raises(TimeoutError):
        Bounded().evaluate(function, tape)


def test_one_item_of_another_list():
    """Which of two lists is the same is not asked: that loop stays."""

    def fn(t, u):
        while t[0] != 0:
            t[0] -= 1
            u[0] += 1
        return t, u

    residual = hovis.specialize(fn, list, list)
    for n in range(4):
        assert residual([n], [2]) == fn([n], [2])


def test_an_item_that_ends_visibly_is_overwritten():
    log = []

    class Told:
        def __del__(self):
            log.append("end")

    def fn(t, n):
        i = 0
        while i < n:
            t[0] = i
            log.append(i) if i > 100 else None
            i += 1
        return i

    def plain(t, n):
        i = 0
        while i < n:
            t[0] = i
            i += 1
        return i

    for one, n in itertools.product((fn, plain), (0, 1, 3)):
        residual = hovis.specialize(one, list, Int)
        assert residual([Told()], n) == one([Told()], n)
    assert log == ["end"] * 12


def test_without_closed_forms():
    """They can be left out by name."""
    with_them = hovis.trace(moves, list)
    without = hovis.options(passes="default-loop_idioms-loop_versioning").trace(moves, list)
    assert "is int" in with_them.source()
    assert "is int" not in without.source()
    tape = [3, 0, 4]
    assert without.compile()(tape) == [0, 0, 7]
    with pytest.raises(TypeError, match="no pass 'count'"):
        hovis.options(passes="default-count").trace(moves, list).compile()
    with pytest.raises(TypeError, match="no pipeline 'all'"):
        hovis.options(passes="all").trace(moves, list).compile()
