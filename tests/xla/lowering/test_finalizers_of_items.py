"""What containers hold ends where it does in CPython: nothing that takes an argument apart holds what is in it."""
import pytest

import hovis_xla

COUNT = 1


class Ends:
    """Counts how many have ended."""

    def __del__(self):
        global COUNT
        COUNT += 1


class Holder:
    """Holds one of these."""

    def __init__(self):
        self.x = Ends()


def stored(d):
    before = COUNT
    d["k"] = 3
    return before, COUNT


def popped(items):
    found = []
    while items:
        items.pop()
        found.append(COUNT)
    return found


def emptied(items):
    before = COUNT
    items[:] = []
    return before, COUNT


def updated(d):
    before = COUNT
    d |= {"k": 2}
    return before, COUNT


def deleted(o):
    before = COUNT
    del o.x
    return before, COUNT


def raised(items):
    try:
        raise ValueError(items.pop())
    except ValueError as error:
        found = COUNT, len(error.args)
    return found, COUNT


CASES = [(stored, lambda: {"k": Ends()}), (popped, lambda: [Ends(), Ends()]), (emptied, lambda: [Ends()]), (updated, lambda: {"k": Ends()}), (deleted, Holder), (raised, lambda: [Ends()])]


@pytest.mark.parametrize("target", ["auto", "xla"])
@pytest.mark.parametrize(("fn", "make"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_items_end_where_they_do(fn, make, target):
    global COUNT
    compiled = hovis_xla.jit(fn, target=target)
    for _ in range(3):
        found = []
        for one in (fn, compiled):
            COUNT = 1
            found.append((one(make()), COUNT))
        assert found[0] == found[1]


@pytest.mark.parametrize("target", ["auto", "xla"])
def test_numbers_beside_them_are_computed(target):
    global COUNT

    def fn(x, d):
        before = COUNT
        d["k"] = x * 2
        return before, COUNT, x + 1

    compiled = hovis_xla.jit(fn, target=target)
    for _ in range(3):
        COUNT = 1
        d = {"k": Ends()}
        assert compiled(2.0, d) == (1, 2, 3.0) and d == {"k": 4.0}
