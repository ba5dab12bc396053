"""What a residual asks of its arguments before it begins, and how long it holds them."""

import gc
import weakref
from dataclasses import dataclass

import pytest

import hovis
from hovis import Any, const


def outcome(fn, *args):
    try:
        return fn(*args)
    except Exception as error:
        return type(error), error.args


# ------------------------------------------------------------------------------------------- other names of what was folded


class Box:
    def __init__(self, *items):
        self.items = list(items)


class Growing:
    """Whoever reads it writes to it."""

    def __init__(self):
        self.asked = 0

    def __getitem__(self, key):
        self.asked += 1
        return self.asked

    def __lt__(self, other):
        self.asked += 1
        return True


def appends(known, given):
    given.append(1)
    return len(known), sum(known)


def adds(known, given):
    given += [1]
    return len(known), sum(known)


def puts(known, given):
    given[0] = 7
    return len(known), sum(known)


def appends_to_one_of_two(known, given, which=True):
    other = given if which else []
    other.append(1)
    return len(known), sum(known)


def steps(known, given):
    step = iter(given)
    return [x + y for x, y in zip(known, step, strict=False)]


@pytest.mark.parametrize("fn", [appends, adds, puts, appends_to_one_of_two, steps])
@pytest.mark.parametrize("spec", [Any, list])
def test_a_folded_list_is_passed(fn, spec):
    mine, other = [1, 2], [1, 2]
    residual = hovis.specialize(fn, const(mine), spec)
    assert outcome(residual, mine) == outcome(fn, other, other)
    assert mine == other


def inner_list(known, given):
    given[0].append(1)
    return len(known[0])


def test_what_is_in_a_folded_list_is_written_to():
    mine, other = [[1, 2], 3], [[1, 2], 3]
    residual = hovis.specialize(inner_list, const(mine), Any)
    assert residual(mine) == inner_list(other, other)
    assert mine == other


def items_of(known, given):
    given.items.append(1)
    return len(known.items)


def test_an_attribute_of_a_folded_object_is_written_to():
    mine, other = Box(1), Box(1)
    residual = hovis.specialize(items_of, const(mine), Any)
    assert residual(mine) == items_of(other, other) == 2


def reads(known, given):
    before = known.asked
    given[0]
    return before, known.asked


def compares(known, given):
    before = known.asked
    given < 3  # noqa: B015
    return before, known.asked


@pytest.mark.parametrize("fn", [reads, compares])
def test_reading_that_writes(fn):
    mine, other = Growing(), Growing()
    assert hovis.specialize(fn, const(mine), Any)(mine) == fn(other, other)


def keyed(known, given):
    try:
        return known[given]
    except KeyError as error:
        error.args[0].items.append(1)
    return len(known["a"].items)


def test_a_key_comes_back_in_the_exception():
    box, twin = Box(), Box()
    residual = hovis.specialize(keyed, const({"a": box}), Any)
    assert outcome(residual, box) == outcome(keyed, {"a": twin}, twin)


def grown(given, n):
    if n == 0:
        return given
    given.append(n)
    return grown(given, n - 1)


def through_a_function(known, given, n):
    grown(given, n)
    return len(known)


def test_a_function_of_the_residual_writes():
    mine, other = [1], [1]
    residual = hovis.specialize(through_a_function, const(mine), Any, hovis.Int)
    assert residual(mine, 3) == through_a_function(other, other, 3)


def test_many_folded_objects():
    def fn(known, given):
        given.append(0)
        return [len(one) for one in known]

    for k in range(9):
        mine, other = [[i] for i in range(9)], [[i] for i in range(9)]
        assert hovis.specialize(fn, const(mine), Any)(mine[k]) == fn(other, other[k])


@dataclass(frozen=True)
class Node:
    at: int
    bound: float


def below(node, row):
    x = row[node.at]
    return x is not None and x < node.bound


def test_nothing_is_tested_where_nothing_could_be_written():
    """``row[0]`` of a Node raises, whichever Node it is."""
    node = Node(0, 1.5)
    residual = hovis.specialize(below, const(node), Any)
    assert not any(c is node for c in [cell.cell_contents for cell in residual.__closure__ or ()])
    assert residual.trace.source().count("original") == 0
    assert [residual([1]), residual([2]), residual([None])] == [True, False, False]
    assert outcome(residual, node) == outcome(below, node, node)


# ------------------------------------------------------------------------------------------- lifetimes


class Told:
    def __init__(self, log):
        self.log = log

    def use(self):
        self.log.append("use")

    def __del__(self):
        self.log.append("end")


def holds(log, x):
    x.use()
    log.append("after")
    return 1


def lets_go(log, x):
    x.use()
    x = None
    log.append("after")
    return x


def deletes(log, x):
    x.use()
    del x
    log.append("after")


@pytest.mark.parametrize("fn", [holds, lets_go, deletes])
def test_an_argument_ends_with_the_variable(fn):
    def run(one):
        log = []
        one(log, Told(log))
        return log

    assert run(hovis.specialize(fn, list, Any)) == run(fn)


def test_a_residual_goes_with_what_it_refers_to():
    """Nothing of the user's stands in a code object, into which the garbage collector does not look."""

    def make():
        class Own:
            pass

        own = Own()
        own.known = [1, 2, 3]

        def fn(x):
            return [Own, own, x, *own.known, len(own.known), list.append]

        own.fast = hovis.specialize(fn, hovis.Int)
        assert own.fast(1)[2:] == [1, 1, 2, 3, 3, list.append]
        return weakref.ref(own)

    there = make()
    gc.collect()
    assert there() is None
