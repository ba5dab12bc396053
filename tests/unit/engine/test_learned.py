"""What a trace has learned is used by later traces of the function for the same arguments."""
import gc
import types
import weakref

import pytest

import hovis
from hovis import Int
from hovis.engine import learned
from tests.differential.harness.compare import observe, same


@pytest.fixture(autouse=True)
def remember_all(monkeypatch):
    """Remember short traces, too: the programs of these tests are small."""
    monkeypatch.setattr(learned, "BRIEF", 0)


class Machine:
    """An interpreter that keeps its state in attributes, for a program that is known. Each attribute is found to be stored by a restart."""

    def __init__(self, program):
        self.program, self.at, self.stack, self.seen = program, 0, [], {}

    def push(self, value):
        self.stack.append(value)

    def load(self, name):
        self.stack.append(self.seen[name])

    def store(self, name):
        self.seen[name] = self.stack.pop()

    def add(self, _):
        self.stack.append(self.stack.pop() + self.stack.pop())

    def jump(self, to):
        if self.stack.pop() > 0:
            self.at = to

    def run(self, x):
        self.at, self.stack, self.seen = 0, [x], {}
        while self.at < len(self.program):
            op, arg = self.program[self.at]
            self.at += 1
            getattr(self, op)(arg)
        return self.seen


SUMS = [("store", "x"), ("push", 0), ("store", "sum"), ("load", "sum"), ("load", "x"), ("add", 0), ("store", "sum"),
        ("load", "x"), ("push", -1), ("add", 0), ("store", "x"), ("load", "x"), ("jump", 3)]


def running(program):
    machine = Machine(program)

    def run(x):
        return machine.run(x)

    return run


def test_a_second_trace_is_short():
    run = running(list(SUMS))
    first = hovis.trace(run, Int)
    again = hovis.trace(run, Int)
    assert str(first) == str(again)
    assert str(hovis.explain(first)) == str(hovis.explain(again))
    assert again.stats["restarts"] == 0
    assert again.stats["instructions"] * 3 < first.stats["instructions"] * 2
    third = hovis.trace(run, Int)
    assert third.stats["instructions"] == again.stats["instructions"]
    same(observe(run, (5,)), observe(again.compile(), (5,)))


def test_reasons_are_told_again():
    def fn(x):
        return sum([int(str(k)) for k in range(x)]) + len({str(k) for k in range(1000)})

    first = hovis.trace(fn, Int)
    assert str(hovis.explain(hovis.trace(fn, Int))) == str(hovis.explain(first))


def test_nothing_is_learned_from_a_trace_that_is_gone():
    run = running(list(SUMS))
    steps = [hovis.trace(run, Int).stats["instructions"] for _ in range(2)]
    assert steps[0] == steps[1]


def test_nothing_is_learned_for_other_arguments_and_other_data():
    program = list(SUMS)
    run = running(program)
    first = hovis.trace(run, Int)
    other = hovis.trace(run, hovis.Float)
    program[1] = "push", 100
    changed = hovis.trace(run, Int)
    assert min(other.stats["restarts"], changed.stats["restarts"]) > 0
    same(observe(run, (5,)), observe(changed.compile(), (5,)))
    same(observe(run, (5.5,)), observe(other.compile(), (5.5,)))
    assert first.kept is not None


class Settings:
    scale = 2
    rounds = 0

    def step(self, x):
        Settings.rounds += 1
        return x * Settings.scale


SETTINGS = {"more": 1}


def counted(x):
    settings = Settings()
    for _ in range(3):
        x = settings.step(x) + SETTINGS["more"] + PLUS
    return x, Settings.rounds


PLUS = 1


@pytest.mark.parametrize("change", [
    (Settings, "scale", 3), (Settings, "rounds", 0.5), (Settings, "step", lambda self, x: x - 1), (SETTINGS, "more", 5), (globals(), "PLUS", 2.5),
], ids=["class attribute", "stored class attribute", "method", "dictionary", "global"])
def test_a_later_trace_sees_what_has_changed(monkeypatch, change):
    monkeypatch.setattr(Settings, "rounds", 0)
    first = hovis.trace(counted, Int)
    holder, name, value = change
    (monkeypatch.setattr if holder is Settings else monkeypatch.setitem)(holder, name, value)
    again = hovis.specialize(counted, Int)
    assert first.kept is not None
    before = Settings.rounds
    expected = counted(7)
    monkeypatch.setattr(Settings, "rounds", before)
    same((expected, Settings.rounds + (expected[1] - before)), (again(7), Settings.rounds))


def test_what_cost_too_much_is_not_tried_in_full_again():
    text = "def costly(x, y):\n" + "".join(f"    if x.left({k}):\n        y += x.leaf({k})\n" for k in range(400)) + "    return y\n"
    namespace = {}
    exec(f"{text}\ndef caller(x, y):\n    return costly(x, y) + y\n", namespace)
    little = hovis.options(fuel=20_000)
    first, again = (little.trace(namespace["caller"], hovis.Any, Int) for _ in range(2))
    assert "costly" in str(first) == str(again)
    assert again.stats["instructions"] * 2 < first.stats["instructions"]
    assert "costly" not in str(hovis.options(fuel=400_000).trace(namespace["caller"], hovis.Any, Int)), "where more is allowed for it is tried"


def by_mode(steps):
    """A function whose callee is as long as its first argument says."""
    text = "def costly(mode, x, y):\n" + "".join(f"    if mode > {k}:\n        if x.left({k}):\n            y += x.leaf({k})\n" for k in range(steps)) + "    return y\n"
    namespace = {}
    exec(f"{text}\ndef caller(mode, x, y):\n    return costly(mode, x, y) + y\n", namespace)
    return namespace["caller"]


def test_what_cost_too_much_for_other_arguments_is_tried():
    caller, little = by_mode(400), hovis.options(fuel=20_000)
    long, short, again = (str(little.trace(caller, mode, hovis.Any, Int)) for mode in (400, 40, 400))
    assert "costly" in long == again
    assert "costly" not in short


def test_what_cost_too_much_is_tried_where_there_is_more_time(monkeypatch):
    caller = by_mode(400)
    for seconds, left in (("0.02", True), ("1000", False)):
        monkeypatch.setenv("HOVIS_TRACE_SECONDS", seconds)
        trace = hovis.options(fuel=400_000).trace(caller, 400, hovis.Any, Int)
        assert left == ("costly" in str(trace) or trace.fallback)


def test_code_that_cannot_be_hashed():
    code = (lambda x: x + 1).__code__
    fn = types.FunctionType(code.replace(co_consts=(*code.co_consts, [])), globals())
    assert not hovis.trace(fn, Int).fallback


def test_known_arguments_are_not_kept_alive():
    class Held:
        mode = 30

    caller, held = by_mode(40), Held()

    def fn(held, x, y):
        return caller(held.mode, x, y)

    hovis.options(fuel=2_000).trace(fn, hovis.const(held), hovis.Any, Int)
    about = weakref.ref(held)
    del held
    gc.collect()
    assert about() is None


@pytest.mark.parametrize("kinds", [lambda cls: cls, lambda cls: [cls, Int], lambda cls: (cls, cls)], ids=["instance", "list", "tuple"])
def test_classes_of_arguments_end(kinds):
    class Held:
        def method(self, n):
            return n + 1

    hovis.trace(Held.method, kinds(Held), Int)
    about = weakref.ref(Held)
    del Held
    gc.collect()
    assert about() is None
