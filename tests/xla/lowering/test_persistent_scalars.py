"""Numbers that outlive a call: globals, attributes of classes and variables of enclosing functions that compiled code stores into."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import outcome, same

pytestmark = pytest.mark.xla

CALLS = 0
LARGEST = 0.5


class Model:
    runs, steps = 0, 0

    def run(self, x):
        Model.runs += 1
        total = 0.0
        for v in x:
            Model.steps += 2
            total += v * Model.steps
        return total * Model.runs


class Child(Model):
    pass


def counted(x):
    global CALLS, LARGEST
    CALLS += 1
    for v in x:
        if v > LARGEST:
            LARGEST = float(v)
            CALLS += 10
    return x * CALLS, LARGEST


def of_a_class(x):
    return Model().run(x) + Model().run(-x), Model.steps


def of_two_classes(x):
    Model.runs += 1
    Child.runs += 1
    return x.sum() * Child.runs


def said(x):
    global CALLS
    CALLS += 1
    print("call", CALLS)
    if x[0] < 0:
        raise ValueError(CALLS)
    CALLS = CALLS * 3
    return x + CALLS


def of_another_kind(x):
    global LARGEST
    LARGEST = LARGEST + x[0]
    return LARGEST * 2


def made():
    calls, seen = 0, 0.0

    def closure(x):
        nonlocal calls, seen
        calls += 1
        for v in x:
            seen += float(v)
        return x * calls, seen

    return closure


def begun():
    """Everything as it was."""
    global CALLS, LARGEST
    CALLS, LARGEST = 0, 0.5
    Model.runs = Model.steps = 0
    if "runs" in vars(Child):
        del Child.runs


def state():
    return CALLS, LARGEST, Model.runs, Model.steps, vars(Child).get("runs")


X = np.arange(5.0)
GIVEN = (X, X + 1, X - 2, X * 3, X - 1, X)


def histories(fn, ways, change=lambda k: None):
    """What comes of calls one after the other, and what the variables hold after each."""
    for way in ways:
        begun()
        run, history = way(fn), []
        for k, x in enumerate(GIVEN):
            change(k)
            history.append((outcome(run, (x,))[:2], state()))
        yield history


@pytest.mark.parametrize("fn", [counted, of_a_class, of_two_classes, said, of_another_kind], ids=lambda fn: fn.__name__)
def test_variables_that_outlive_the_call(fn):
    ways = (lambda f: f, lambda f: hovis_xla.jit(f, target="xla"), hovis_xla.jit)
    wanted, *seen = histories(fn, ways)
    for one in seen:
        for (found, now), (right, then) in zip(one, wanted, strict=True):
            assert found[1] == right[1]
            assert same(found[0], right[0])
            assert now == then
            assert list(map(type, now)) == list(map(type, then))


@pytest.mark.parametrize("fn", [counted, of_a_class, said], ids=lambda fn: fn.__name__)
def test_they_are_in_one_program(fn):
    begun()
    hovis_xla.jit(fn, strict=True, target="xla")(X)
    assert state() != (0, 0.5, 0, 0, None)


def test_others_change_them_between_calls():
    def change(k):
        global CALLS
        if k == 1:
            CALLS = 100
        elif k == 2:
            CALLS = 2**63 - 2  # there is no room for what it becomes
        elif k == 3:
            CALLS = 1.5
        elif k == 4:
            CALLS = True

    wanted, seen = histories(counted, (lambda f: f, lambda f: hovis_xla.jit(f, target="xla")), change)
    assert all(same(found, right) for (found, _), (right, _) in zip(seen, wanted, strict=True))
    assert [now for _, now in seen] == [then for _, then in wanted]


def test_variables_of_enclosing_functions():
    plain, jitted = made(), hovis_xla.jit(made(), strict=True, target="xla")
    for x in GIVEN:
        assert same(jitted(x), plain(x))
