"""hovis.specialize makes a residual with opaque calls again when it has been called: the results, errors and arguments stay those of the function."""
from __future__ import annotations

import copy
import inspect
import sys
import threading
import traceback

import pytest

import hovis
from hovis.engine.environment import fixed_facts
from hovis.front.autotuner import Contest
from hovis.front.jit_cache import adaptive
from tests.differential.harness.compare import difference
from tests.differential.harness.splits import observe

#: More calls than any contest takes.
CALLS = 400

RULES = (("name", str, 8), ("age", int, 150), ("tags", list, 3))


class Invalid(Exception):
    def __init__(self, key, why):
        super().__init__(key, why)
        self.key = key


class Rule:
    def __init__(self, key, cls, most):
        self.key, self.cls, self.most = key, cls, most

    def check(self, data):
        found = data.get(self.key)
        if found is None:
            return None
        if not isinstance(found, self.cls):
            raise Invalid(self.key, type(found).__name__)
        if (found if self.cls is int else len(found)) > self.most:
            raise Invalid(self.key, "too large")
        return found


def validate(rules, data, strict=False, *more, log=None):
    found = {}
    for key, cls, most in rules:
        value = Rule(key, cls, most).check(data)
        if value is not None:
            found[key] = sorted(value, key=str) if cls is list else value
        elif strict:
            raise Invalid(key, "missing")
    if log is not None:
        log.append((len(found), more))
    return found


DATA = [
    {"name": "Bob", "age": 20, "tags": ["b", "a"]}, {"name": "Bob"}, {}, {"age": "x"}, {"age": 1000}, {"name": "x" * 9}, {"tags": [1, 2.5, None]},
    {"tags": [1, 2, 3, 4]}, {"name": "Bob", "age": True, "other": 1},
]  # fmt: skip


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(adaptive, "ENOUGH", 0.0)
    monkeypatch.setattr(adaptive, "MANY", 40)


def settled(fn, *args):
    """Call the function until it has been traced again and the contest is over."""
    for _ in range(CALLS):
        try:
            fn(*copy.deepcopy(args))
        except Invalid:
            pass
    return fn


@pytest.mark.parametrize("warm", range(len(DATA)))
def test_results_are_those_of_the_function(warm):
    special = settled(hovis.specialize(validate, hovis.const(RULES)), DATA[warm])
    for data in DATA:
        for strict in (False, True):
            wanted, found = observe(lambda d, s: validate(RULES, d, s), (data, strict)), observe(lambda d, s: special(d, s), (data, strict))
            assert not difference(wanted[0], found[0])


def test_parameters_keep_their_kinds_and_defaults():
    special = hovis.specialize(validate, hovis.const(RULES))
    before = inspect.signature(special)
    log = []
    settled(special, DATA[0])
    assert inspect.signature(special) == before and list(before.parameters)[0] == "data"
    assert special(data=DATA[1], log=log) == {"name": "Bob"} and special(DATA[1], False, 1, 2, log=log) == {"name": "Bob"}
    assert log == [(1, ()), (1, (1, 2))]
    for wrong in (lambda: special(), lambda: special({}, unknown=1)):
        with pytest.raises(TypeError):
            wrong()


def test_what_leaves_nothing_opaque_is_the_residual_itself():
    def power(x, n):
        r = 1
        for _ in range(n):
            r *= x
        return r

    special = hovis.specialize(power, hovis.Int, 3)
    assert special.__code__ is special.trace.compile().__code__


def test_arguments_of_other_classes_after_the_second_trace():
    special = settled(hovis.specialize(validate, hovis.const(RULES)), DATA[0])

    class Text(str):
        pass

    class Table(dict):
        def get(self, key): return "mine" if key == "name" else None

    for _ in range(40):
        assert special({"name": Text("Al")}) == {"name": "Al"} and type(special({"name": Text("Al")})["name"]) is Text
        assert special(Table()) == {"name": "mine"}


def test_recursion_and_threads():
    calls = []

    class Tree:
        def __init__(self, value, *parts):
            self.value, self.parts = value, parts

        def total(self, visit):
            calls.append(self.value)
            return self.value + sum(visit(part) for part in self.parts)

    def total(scale, tree):
        return scale * tree.total(lambda part: special(part))

    special = hovis.specialize(total, 2)
    tree = Tree(1, Tree(2, Tree(3)), Tree(4))
    found, errors = [], []

    def run():
        try:
            for _ in range(60):
                found.append(special(tree))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and found == [2 * (1 + 2 * (2 + 2 * 3) + 2 * 4)] * 240 and len(calls) == 960


def test_tracebacks_name_the_functions_of_the_user():
    special = settled(hovis.specialize(validate, hovis.const(RULES)), DATA[0])
    with pytest.raises(Invalid) as caught:
        special({"age": 1000})
    entries = traceback.extract_tb(caught.tb)[1:]
    assert [entry.name for entry in entries] == ["validate", "check"] and {entry.filename for entry in entries} == {__file__}


def test_what_an_opaque_call_changes_in_a_known_argument_is_seen():
    state = {"n": 0}

    def change(held):
        held.update(n=held["n"] + 1)

    hidden = eval("lambda held: change(held)", {"change": change, "__name__": "elsewhere"})

    def count(held, f, x):
        before = held["n"]
        f(held)
        return before, held["n"], x

    special = hovis.specialize(count, state, hovis.Any)
    for k in range(CALLS):
        assert special(hidden, k) == (k, k + 1, k)


def test_what_counts_frames_is_not_adapted():
    def caller(x):
        return sys._getframe(2).f_code.co_name, x

    def tells(x):
        return caller(x)

    def outer():
        return special("x")

    special = hovis.specialize(tells)
    assert adaptive.is_opaque(special.trace)
    for _ in range(CALLS):
        assert outer() == ("outer", "x")


G = 1


def test_the_environment_stays_frozen():
    global G

    class Value:
        def get(self): return 1

    def inner(x): return x.get() + G

    def outer(x): return inner(x)

    for warm in (0, 10, 100, CALLS):
        G = 1
        special = hovis.specialize(outer)
        for _ in range(warm):
            assert special(Value()) == 2
        G = 100
        assert {special(Value()) for _ in range(CALLS)} == {2}
    G = 1


@pytest.fixture
def second_wins(monkeypatch):
    """The second residual does the calls, however long it takes."""
    monkeypatch.setattr(adaptive, "contest_between", lambda ways: Contest(ways, decided=True))


class Config:
    scale = 1

    def factor(self): return self.scale

    def pick(self): return "as defined"


CONFIG, TABLE = Config(), {"rate": 1}
COUNT = 0
HANDLER = str


def other(value): return f"other {value}"


def _count(): global COUNT; COUNT += 1  # noqa: E702


def _handle(): global HANDLER; HANDLER = other  # noqa: E702


@pytest.mark.usefixtures("second_wins")
@pytest.mark.parametrize("what", ["a global by its name", "a function by its name", "a class attribute", "an attribute", "an item"])
def test_what_a_rare_path_stores_is_seen(what, monkeypatch):
    monkeypatch.setattr(Config, "scale", 1)
    monkeypatch.setitem(globals(), "COUNT", 0)
    monkeypatch.setitem(globals(), "HANDLER", str)
    monkeypatch.setitem(globals(), "TABLE", {"rate": 1})
    monkeypatch.setitem(globals(), "CONFIG", Config())

    def run(value):
        if value is None:
            if what == "a global by its name":
                _count()
            elif what == "a function by its name":
                _handle()
            elif what == "a class attribute":
                Config.scale = 7
            elif what == "an attribute":
                CONFIG.scale = 9
            else:
                TABLE["rate"] = 5
        return value.key if value is not None else 0, COUNT, HANDLER(1), CONFIG.factor(), TABLE["rate"], CONFIG.pick()

    class Key:
        key = 3

    before = run(Key())
    special = hovis.specialize(run)
    for _ in range(CALLS):
        assert special(Key()) == before
    rare = special(None)
    assert rare[1:] == run(Key())[1:] or what == "a global by its name"  # (that counts once more)
    assert rare != before and special(Key())[1:] == run(Key())[1:]


def helper(x): return x + 1


def other_helper(x): return x + 100


class Order:
    def __init__(self, amount): self.amount = amount

    def total(self): return self.amount


@pytest.mark.usefixtures("second_wins")
@pytest.mark.parametrize("what", ["global", "code", "defaults", "method", "bases", "class"])
def test_what_only_arguments_lead_to_is_tested(what, monkeypatch):
    """The second trace enters the callback, which the first one has left as a call, and the methods of the orders."""
    space = {"__name__": "elsewhere", "state": 1}
    exec("class Base:\n def of(self): return 1\nclass Other:\n def of(self): return 100\n"
         "class Order(Base):\n def __init__(self, amount): self.amount = amount\n def total(self): return self.amount + self.of()\n"
         "class Late(Order):\n def total(self): return 0\n"
         "held = Order(7)\ndef helper(x, y=1): return x + y\ndef callback(order): return helper(order.total()) + held.total()\n", space)  # fmt: skip

    def work(orders, call):
        t = 0
        for order in orders:
            t = t + call(order)
        return t

    special, orders = hovis.specialize(work), [space["Order"](k) for k in range(5)]
    before = work(orders, space["callback"])
    for _ in range(CALLS):
        assert special(orders, space["callback"]) == before
    if what == "global":
        space["helper"] = other_helper
    elif what == "code":
        space["helper"].__code__ = (lambda x, y=1: x * 2).__code__
    elif what == "defaults":
        space["helper"].__defaults__ = (50,)
    elif what == "method":
        space["Order"].total = lambda self: 0
    elif what == "bases":
        space["Order"].__bases__ = (space["Other"],)
    else:
        space["held"].__class__ = space["Late"]
    assert special(orders, space["callback"]) == work(orders, space["callback"]) != before


def by_key(): globals()["helper"] = other_helper


def by_module(): setattr(sys.modules[__name__], "helper", other_helper)  # noqa: B010


def by_class_body():
    class _:
        global helper
        helper = other_helper


def by_code(): helper.__code__ = other_helper.__code__


def by_method(): Order.total = lambda self: self.amount * 2


@pytest.mark.usefixtures("second_wins")
@pytest.mark.parametrize("store", [by_key, by_module, by_class_body, by_code, by_method], ids=lambda store: store.__name__)
def test_functions_that_a_rare_path_replaces(store, monkeypatch):
    monkeypatch.setitem(globals(), "helper", lambda x: x + 1)
    monkeypatch.setattr(Order, "total", lambda self: self.amount)
    order = Order(3)

    def run(value, hidden):
        if value < 0:
            store()
        hidden(value)
        return helper(value) + order.total()

    special = hovis.specialize(run, hovis.Int, hovis.Any)
    for _ in range(CALLS):
        assert special(1, id) == 5
    assert special(-1, id) == run(-1, id) and special(1, id) == run(1, id) != 5


@pytest.mark.usefixtures("second_wins")
def test_a_namespace_that_is_read_as_a_dictionary(monkeypatch):
    monkeypatch.setitem(globals(), "COUNT", 1)

    def run(x, hidden):
        global COUNT
        if x < 0:
            COUNT = COUNT + 10
        hidden(x)
        return COUNT + len(globals()["__name__"]) * 0

    special = hovis.specialize(run)
    for _ in range(CALLS):
        assert special(1, id) == 1
    assert [special(x, id) for x in (1, -1, 1, -1, 1)] == [1, 11, 11, 21, 21]


def test_what_code_may_store():
    class Example:
        def in_self(self, x): self.a = x; x.b = 1; setattr(self, "c", x)

        def in_other(this, self): this.d = self; self.e = 1

        def in_scopes(self, k):
            global WRITTEN
            WRITTEN = k

            def inner():
                nonlocal k
                k = self.f
                del self.g
            return inner

        def by_text(self): globals()["h"] = 1

        def of_a_method(self): self.eval("i"); self["j"] = 2

    found = {name: fixed_facts._names_in(held.__code__) for name, held in vars(Example).items() if inspect.isfunction(held)}
    assert (found["in_self"].attributes, found["in_self"].in_self) == ({"b", "c"}, {"a"})
    assert (found["in_other"].attributes, found["in_other"].in_self) == ({"d", "e"}, set())
    assert (found["in_scopes"].globals, found["in_scopes"].cells, found["in_scopes"].attributes) == ({"WRITTEN"}, {"k"}, {"g"})
    assert found["by_text"].scopes and found["by_text"].attributes == {"h"}
    assert not found["of_a_method"].scopes and not found["of_a_method"].attributes
