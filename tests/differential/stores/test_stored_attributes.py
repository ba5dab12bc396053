"""Known objects of which the traced code stores some attributes: the others stay known, until something that may store any of them gets the object."""
from __future__ import annotations

import abc
import builtins
import copy
import functools
import operator
import os
import random
import types
import weakref

import pytest

import hovis
from hovis import Any, Int
from hovis.engine.environment import reads
from tests.differential.harness.compare import observe, same


class Machine:
    """State that programs store to, beside a table that they go by."""

    def __init__(self):
        self.table = {"inc": self.inc, "dec": self.dec}
        self.step, self.total, self.limit = 2, 0, 100
        self.log = []

    def inc(self):
        self.total += self.step

    def dec(self):
        self.total -= self.step

    @property
    def twice(self):
        return 2 * self.total

    @twice.setter
    def twice(self, value):
        self.total = value // 2

    def run(self, n):
        self.total = n
        for name in ("inc", "inc", "dec"):
            self.table[name]()
        return self.total

    def by_property(self, n):
        self.twice = n
        return self.total, self.step

    def deleted(self, n):
        self.total = n
        del self.total
        return self.step + getattr(self, "total", 7)

    def made(self, n):
        self.fresh = n
        return self.fresh + self.step, sorted(vars(self))


def changes(how):
    """Code of which hovis knows nothing, which changes ``step``, and gets the object in one way or the other."""
    @hovis.boundary
    def hidden(m, value):
        m.step = value
    return hidden


def by_call(m, n, hidden):
    m.total = n
    before = m.step
    hidden(m)
    return before, m.step, m.total


def by_dict(m, n, hidden):
    m.total = n
    before = m.step
    m.__dict__["step"] = n
    return before, m.step


def by_vars(m, n, hidden):
    m.total = n
    before = m.step
    vars(m).update(step=n)
    return before, m.step


def by_name(m, n, hidden):
    m.total = n
    before = m.step
    setattr(m, "st" + hidden, n)
    return before, m.step


def by_method(m, n, hidden):
    m.total = n
    before = m.step
    hidden.append(m)
    hidden[0].step = n
    return before, m.step


def by_other(m, n, hidden):
    m.total = n
    before = m.step
    hidden.held = m
    hidden.held.step = n
    return before, m.step


def by_tuple(m, n, hidden):
    m.total = n
    before = m.step
    for one in sorted([(n, m)], key=operator.itemgetter(0)):
        one[1].step = n
    return before, m.step


def by_deletion(m, n, hidden):
    m.total = n
    del m.step
    try:
        return m.step
    except AttributeError as error:
        return str(error)


def by_alias(m, n, hidden):
    m.total = n
    before = m.step
    hidden.step = n
    return before, m.step


class Holder:
    pass


def call_it(m):
    m.step = 41


@pytest.mark.parametrize("way", ["specialize", "jit"])
@pytest.mark.parametrize("method", ["run", "by_property", "deleted", "made"])
def test_methods_of_a_known_object(way, method):
    plain, known = Machine(), Machine()
    fn = getattr(known, method)
    residual = hovis.specialize(fn, Int) if way == "specialize" else hovis.jit(fn)
    for n in (3, 10, 3, -4):
        if method == "deleted":
            plain.total = known.total = 1
        same(observe(getattr(plain, method), (n,), {}), observe(residual, (n,), {}), f"{method}({n})")
        assert {k: v for k, v in vars(plain).items() if k != "table"} == {k: v for k, v in vars(known).items() if k != "table"}


def test_the_table_is_known():
    machine = Machine()
    trace = hovis.trace(machine.run, Int)
    assert not [op for op in trace.ops if op.callee is operator.getitem]


class Evaluator:
    """Its variables are stored into it, beside the table of what it does (simpleeval)."""

    def __init__(self):
        self.operators = {"+": operator.add, "*": operator.mul}
        self.names = {}

    def value(self, node):
        if type(node) is str:
            return self.names[node]
        operator_, left, right = node
        return self.operators[operator_](self.value(left), self.value(right))


@pytest.mark.parametrize("way", ["specialize", "jit"])
def test_an_evaluator_that_holds_its_variables(way):
    """Nothing is left of the tree; an operator that is replaced is seen by a jitted function."""
    evaluator = Evaluator()
    tree = "+", ("*", "x", "x"), ("*", "y", "x")

    def evaluate(x, y):
        evaluator.names = {"x": x, "y": y}
        return evaluator.value(tree)

    residual = hovis.specialize(evaluate, Int, Int) if way == "specialize" else hovis.jit(evaluate)
    assert [residual(3, 4), residual(5, -1), residual(3, 4)] == [21, 20, 21]
    assert evaluator.names == {"x": 3, "y": 4}
    if way == "specialize":
        assert not {"operators", "value"} & {op.args[1].value for op in residual.trace.ops if op.callee is getattr}
    else:
        evaluator.operators = evaluator.operators | {"+": operator.sub}
        assert residual(3, 4) == -3


WAYS = [
    (by_call, lambda m: call_it), (by_dict, lambda m: None), (by_vars, lambda m: None), (by_name, lambda m: "ep"), (by_method, lambda m: []),
    (by_other, lambda m: Holder()), (by_tuple, lambda m: None), (by_deletion, lambda m: None), (by_alias, lambda m: m),
]


@pytest.mark.parametrize("way", ["specialize", "jit"])
@pytest.mark.parametrize(("fn", "hidden"), WAYS, ids=lambda x: getattr(x, "__name__", ""))
def test_other_code_gets_the_object(fn, hidden, way):
    def bound(m):
        return lambda n, hidden: fn(m, n, hidden)

    for n in (5, 9):
        plain, known = Machine(), Machine()
        call = bound(known)
        residual = hovis.specialize(call, Int, Any) if way == "specialize" else hovis.jit(call)
        want = observe(bound(plain), (n, hidden(plain)), {}).value
        assert observe(residual, (n, hidden(known)), {}).value == want
        assert vars(plain).get("step") == vars(known).get("step")


# ------------------------------------------------------------------------------------------------- who gets the object

@hovis.boundary
def call(fn, *args):
    return fn(*args)


@hovis.boundary
def change(path, holder, value):
    eval("lambda held: " + path)(holder).b = value


class Kept:
    """Whose end shows."""

    def __init__(self, end):
        self.end = end

    def __del__(self):
        self.end()


def generator(m):
    while True:
        m.b += 5
        yield m.b


#: what is known besides ``m``, and what the traced code does with it
HANDED = [
    ("(m, 5)", "change('held[0]', k, n)"), ("m.change_b", "call(k, n)"), ("m.change_b", "call(m.change_b, n)"), ("{'x': [m]}", "change('held[\"x\"][0]', k, n)"),
    ("functools.partial(State.change_b, m)", "call(k, n)"), ("None", "call(functools.partial(m.change_b, n))"), ("None", "call(lambda: setattr(m, 'b', n))"),
    ("None", "list(map(m.keyed, range(n)))"), ("None", "sorted([n, 1, 7], key=m.keyed)"), ("vars(m)", "k['b'] = n"), ("vars(m)", "k.update(b=n)"),
    ("vars(m)", "k |= {'b': n}"), ("None", "object.__setattr__(m, 'b', n)"), ("None", "object.__delattr__(m, 'b'); m.b = 4"), ("Other(x=m, y=other)", "getattr(k, name).b = n"),
    ("Other(x=m)", "change('held.x', k, n)"), ("Other()", "k.x = m; change('held.x', k, n)"), ("weakref.ref(m)", "k().b = n"), ("weakref.proxy(m)", "k.b = n"),
    ("generator(m)", "next(k)"), ("None", "call(list, (m.change_b(i) for i in range(n)))"), ("[]", "k.append(m); change('held[0]', k, n)"),
    ("functools.lru_cache(lambda n: m.change_b(n))", "k(n)"), ("lambda: m.change_b(9)", "x = Kept(k); del x"), ("Held(m)", "sum(k)"),
    ("[m, other] * 30", "for x in k: x.b += n"), ("None", "k = []\n    for i in range(n): k += [m, other]\n    for x in k: x.b += 1"), ("[m, other]", "for x, y in zip(given, k): y.b = x"),
    ("None", "x = empty or m; x.b = n"), ("None", "x = m if n > 1 else other; x.b = n"), ("None", "x = m if n > 1 else other; call(setattr, x, 'b', n)"),
    ("type('Q', (), {'k': m})", "change('held.k', k, n)"),
]
BEFORE = ["m.a = n\n    seen = [m.b, other.b]\n    {0}\n    ", "seen = [m.b]\n    {0}\n    m.a = n\n    ", "{0}\n    seen = []\n    m.a = n\n    "]


NAMES = ("a", "b", "c", "d")


class State:
    def __init__(self):
        self.a, self.b, self.c, self.d = 1, 2, 3, 4

    def keyed(self, x):
        self.b += x
        return -x


for _name in NAMES:
    exec(f"def change_one(self, n):\n    self.{_name} = n\nState.change_{_name} = change_one")


class Held:
    def __init__(self, m):
        self.m = m

    def __iter__(self):
        self.m.b += 1
        return iter([self.m.b, 2])


class Other:
    def __init__(self, **named):
        self.__dict__.update(named)


def handed(known, text, before):
    m, other = State(), State()
    scope = {"m": m, "other": other, **{f.__name__: f for f in (call, change, Kept, Held, Other, State, functools, weakref)}, "generator": generator}
    first = "global k\n    " if "k =" in text or "k |=" in text or "k +=" in text else ""
    exec(f"k = {known}\ndef fn(n, name, empty, given):\n    {first}{before.format(text)}return seen, m.a, m.b, m.c, other.b\n", scope)
    return scope["fn"], m


@pytest.mark.parametrize("before", range(len(BEFORE)))
@pytest.mark.parametrize(("known", "text"), HANDED, ids=map(str, range(len(HANDED))))
def test_something_gets_the_object(known, text, before):
    for way in ("specialize", "jit"):
        (plain, one), (fn, two) = handed(known, text, BEFORE[before]), handed(known, text, BEFORE[before])
        residual = hovis.specialize(fn, Int, Any, Any, Any) if way == "specialize" else hovis.jit(fn)
        for n in (3,) if way == "specialize" else (3, 0, 3):
            args = n, "x", None, [4, 5]
            same(observe(plain, args, {}), observe(residual, args, {}), f"{way} {n}: {text}")
            assert vars(one) == vars(two)


def test_hooks_that_store_other_attributes():
    class Hooked(State):
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            if name == "a":
                object.__setattr__(self, "b", value + 1)

    class Swapped(State):
        def __setattr__(self, name, value):
            super().__setattr__("b" if name == "fresh" else name, value)

    for cls in (Hooked, Swapped):
        plain, known = cls(), cls()

        def bound(m):
            def fn(n):
                before = m.a, m.b
                m.a = n
                m.fresh = n + 3
                return before, m.a, m.b, m.c
            return fn
        assert bound(plain)(7) == hovis.specialize(bound(known), Int)(7)


# ------------------------------------------------------------------------------------------------- random programs

GIVEN = (
    "call(pair[0].change_{0}, n)", "change('held[0]', pair, n)", "call(lambda: m.change_{0}(n))", "pair[n % 2].{0} = n",
    "for x in pair: x.{0} += 1", "list(map(m.change_{0}, range(n)))", "object.__setattr__(m, '{0}', n)", "held['{0}'] = n", "hidden(m)", "m.__dict__['{0}'] = n", "vars(m)['{0}'] = n", "setattr(m, '{0}' + empty, n)", "box.append(m); box[-1].{0} = n", "m.change_{0}(n)", "changers['{0}'](n)",
)


def program(dice):
    lines = []
    for _ in range(dice.randrange(3, 9)):
        name, other = dice.choice(NAMES), dice.choice(NAMES)
        kind = dice.random()
        if kind < 0.35:
            lines.append(f"m.{name} = m.{other} + n")
        elif kind < 0.6:
            lines.append(f"seen.append((m.{name}, m.{other}))")
        elif kind < 0.7:
            lines.append(f"if n > {dice.randrange(4)}:\n        m.{name} += 1")
        elif kind < 0.78:
            lines.append(f"for _ in range(n):\n        m.{name} += m.{other}")
        elif kind < 0.83:
            lines.append(f"del m.{name}\n    m.{name} = getattr(m, '{name}', 5)")
        else:
            lines.append(dice.choice(GIVEN).format(name))
    body = "\n    ".join(lines)
    return f"def fn(n, hidden, empty, box):\n    seen = []\n    {body}\n    return seen, [m.{', m.'.join(NAMES)}]\n"


def hidden_change(m):
    m.b = 50
    m.d += 1


def made(text):
    m = State()
    scope = {"m": m, "pair": (m, State()), "held": vars(m), "call": call, "change": change, "changers": {name: getattr(m, f"change_{name}") for name in NAMES}}
    exec(text, scope)
    return scope["fn"], m


@pytest.mark.parametrize("seed", range(max(40, int(os.environ.get("HOVIS_EXAMPLES", "0")))))
def test_random_programs(seed):
    dice = random.Random(seed)
    text = program(dice)
    for way in ("specialize", "jit"):
        for n in (0, 3):
            (plain, one), (fn, two) = made(text), made(text)
            residual = hovis.specialize(fn, Int, Any, Any, Any) if way == "specialize" else hovis.jit(fn)
            for _ in range(1 if way == "specialize" else 3):
                want, got = observe(plain, (n, hidden_change, "", []), {}), observe(residual, (n, hidden_change, "", []), {})
                assert copy.deepcopy(want.value) == got.value and vars(one) == vars(two), f"{way} {n}\n{text}"


# ------------------------------------------------------------------------------------------------- by ways that nobody names

class Pair:
    def __init__(self):
        self.a, self.b = 1, 2


class Goes:
    @hovis.boundary
    def go(self, n):
        self.m.b += n


class Ends:
    def __del__(self):
        self.m.b += 10


class Iterates:
    def __iter__(self):
        self.m.b += 1
        return iter(())


@hovis.boundary
def change_first(held, n):
    held[0].b = n


def one_dictionary():
    m, h = Pair(), Pair()
    h.__dict__ = m.__dict__

    def fn(n):
        m.a = n
        return h.a, h.b
    return fn


def one_dictionary_stored_both_ways():
    m, h = Pair(), Pair()
    h.__dict__ = m.__dict__

    def fn(n):
        m.a = n
        h.b = n + 1
        return h.a, m.b
    return fn


def its_dictionary():
    m = Pair()
    k = vars(m)

    def fn(n):
        m.z = n
        m.a = n
        return k["a"], len(k), list(k), "z" in k, {**k}, m.b
    return fn


def its_dictionary_read_before():
    m = Pair()
    k = vars(m)

    def fn(n):
        before = len(k), k["b"]
        m.b = n
        return before, k["b"], m.b
    return fn


def what_an_attribute_holds():
    m = Pair()
    m.it = Goes()
    m.it.m = m

    def fn(n):
        before = m.b
        m.it.go(n)
        m.it = m.it
        return before, m.b
    return fn


def a_method_of_what_an_attribute_holds():
    m = Pair()
    m.it = Goes()
    m.it.m = m

    def fn(n):
        before, go = m.b, m.it.go
        m.it = None
        go(n)
        m.it = go.__self__
        return before, m.b
    return fn


def an_iterator_of_what_an_attribute_holds():
    m = Pair()
    m.it = Iterates()
    m.it.m = m

    def fn(n):
        before, items = m.b, list(m.it)
        m.it = m.it
        return before, items, m.b
    return fn


def where_ways_meet():
    m, other = Pair(), Pair()
    one, two = [m], [other]

    def fn(n):
        before, held = m.b, two
        m.a = n
        for _ in range(n):
            held = one
        change_first(held, n)
        return before, m.b
    return fn


def what_a_function_gives():
    m = Pair()
    one = [m]

    def pick(n):
        return one if n <= 0 else pick(n - 1)

    def fn(n):
        before = m.b
        m.a = n
        change_first(pick(n), n)
        return before, m.b
    return fn


def a_finalizer_of_what_is_replaced():
    m = Pair()
    m.x = Ends()
    m.x.m = m

    def fn(n):
        before = m.b
        m.x = n
        return before, m.b
    return fn


def a_finalizer_of_what_is_deleted():
    m = Pair()
    m.x = Ends()
    m.x.m = m

    def fn(n):
        before = m.b
        if hasattr(m, "x"):
            del m.x
        return before, m.b
    return fn


def a_finalizer_of_what_another_object_held():
    m, other = Pair(), Pair()
    other.x = Ends()
    other.x.m = m

    def fn(n):
        before = m.b
        m.a = n
        other.x = n
        return before, m.b
    return fn


def a_module():
    module = types.ModuleType("module")
    m = module.m = Pair()

    @hovis.boundary
    def touch(n):
        module.m.b = n

    def fn(n):
        before = m.b
        m.a = n
        touch(n)
        return before, m.b
    return fn


def a_context():
    namespace = {"m": Pair(), "hovis": hovis}
    exec("@hovis.boundary\ndef touch(n): globals()['m'].b = n\ndef fn(n):\n    before = m.b\n    m.a = n\n    touch(n)\n    return before, m.b", namespace)
    return namespace["fn"]


UNNAMED = [
    one_dictionary, one_dictionary_stored_both_ways, its_dictionary, its_dictionary_read_before, what_an_attribute_holds, a_method_of_what_an_attribute_holds,
    an_iterator_of_what_an_attribute_holds, where_ways_meet, what_a_function_gives, a_finalizer_of_what_is_replaced, a_finalizer_of_what_is_deleted,
    a_finalizer_of_what_another_object_held, a_module, a_context,
]  # fmt: skip


@pytest.mark.parametrize("way", ["specialize", "jit"])
@pytest.mark.parametrize("make", UNNAMED, ids=lambda make: make.__name__)
def test_who_comes_to_the_object_is_seen(make, way):
    plain, fn = make(), make()
    residual = hovis.specialize(fn, Int) if way == "specialize" else hovis.jit(fn)
    assert [residual(n) for n in (7, 8, 0)] == [plain(n) for n in (7, 8, 0)]


def test_a_dictionary_that_is_made_while_tracing(monkeypatch):
    """What the attributes are kept in is another thing from then on (on 3.11 and 3.12)."""
    m = Pair()
    stored = reads.Environment.thaw_attribute

    def thaw_attribute(environment, holder, name):
        stored(environment, holder, name)
        vars(m)

    def fn(n):
        m.a = n
        return m.a, m.b

    monkeypatch.setattr(reads.Environment, "thaw_attribute", thaw_attribute)
    residual = hovis.specialize(fn, Int)
    assert [residual(n) for n in (7, 8)] == [(7, 2), (8, 2)]


class Told:
    def __init__(self):
        self.v = self.w = 0


class Slotted:
    __slots__ = ("slot",)
    hold = Told()


class Hooked(abc.ABC):
    hold = Told()

    @classmethod
    def __subclasshook__(cls, other):
        cls.hold.v += 1
        return NotImplemented


class Registering(abc.ABC):
    pass


Registering.register(Hooked)


def names_a_builtin():
    told_by_name.v = 10  # noqa: F821


def of_slot(descriptor):
    descriptor.__objclass__.hold.v = 10


def asked(cls):
    isinstance(type("New", (), {})(), cls)


def called(fn):
    fn()


SLOTTED, HOOKED, SLOT = Slotted.hold, Hooked.hold, Slotted.slot


def through_a_descriptor(x, fn):
    SLOTTED.w = x
    fn(SLOT)
    return SLOTTED.v + SLOTTED.w


def through_a_registry(x, fn):
    HOOKED.w = x
    fn(Registering)
    return HOOKED.v + HOOKED.w


def through_a_builtin(x, fn):
    SLOTTED.w = x
    fn(names_a_builtin)
    return SLOTTED.v + SLOTTED.w


@pytest.mark.parametrize(("fn", "unknown"), [(through_a_descriptor, of_slot), (through_a_registry, asked), (through_a_builtin, called)])
def test_objects_that_unknown_code_reaches_in_roundabout_ways(fn, unknown, monkeypatch):
    monkeypatch.setattr(builtins, "told_by_name", SLOTTED, raising=False)
    outcomes = []
    for way in (fn, hovis.specialize(fn, Int, Any)):
        SLOTTED.v = SLOTTED.w = HOOKED.v = HOOKED.w = 0
        outcomes.append(way(1, unknown))
    assert outcomes[0] > 1
    assert outcomes[0] == outcomes[1]


class Least:
    def __init__(self, name, least):
        self.name, self.least = name, least

    def check(self, n):
        return self.least < n, self.name


LEAST = Least("least", 3)


def of_a_class_that_is_given(n, told):
    told(Least)
    return LEAST.check(n), getattr(LEAST, "more", None)


def test_unknown_code_puts_no_descriptor_in_the_place_of_an_attribute(monkeypatch):
    """Under ``specialize`` this is assumed, but not that it adds no other attributes. ``jit`` assumes nothing."""
    trace = hovis.trace(of_a_class_that_is_given, Int, Any)
    assert [op.args[1].value for op in trace.ops if op.callee is getattr] == ["more"]

    def adds(cls):
        monkeypatch.setattr(cls, "more", 7, raising=False)

    def hides(cls):
        adds(cls)
        monkeypatch.setattr(cls, "least", property(lambda self: 99), raising=False)

    def outcomes(fn, told):
        monkeypatch.undo()
        return fn(5, print), fn(5, told), fn(5, print)

    assert outcomes(hovis.specialize(of_a_class_that_is_given, Int, Any), adds) == outcomes(of_a_class_that_is_given, adds)
    for told in (adds, hides):
        assert outcomes(hovis.jit(of_a_class_that_is_given), told) == outcomes(of_a_class_that_is_given, told)
    monkeypatch.undo()


class Asked:
    """What it does not have, it is asked for."""

    def __getattr__(self, name):
        return f"no {name}"


def of_an_unknown_instance(asked, told):
    told(Asked)
    return asked.more


def test_unknown_code_may_add_an_attribute_in_place_of_the_hook(monkeypatch):
    def adds(cls):
        monkeypatch.setattr(cls, "more", 7, raising=False)

    def outcomes(fn):
        found = fn(Asked(), print), fn(Asked(), adds)
        monkeypatch.undo()
        return found

    for residual in (hovis.specialize(of_an_unknown_instance, Asked, Any), hovis.jit(of_an_unknown_instance)):
        assert outcomes(residual) == outcomes(of_an_unknown_instance) == ("no more", 7)
