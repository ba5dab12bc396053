"""What was read while tracing is replaced: between two calls of a jitted function, and by a callback in the middle of one.

Each case is a function of a callback, and what the callback does; the environment is put back after each run.
"""
from __future__ import annotations

import builtins
import functools
import math
import types

import pytest

import hovis

NOTHING = object()


class Base:
    kind = "base"

    def name(self):
        return "Base.name"

    def __add__(self, other):
        return "Base+"

    def __iter__(self):
        return iter((1, 2))

    def __len__(self):
        return 3

    def __call__(self, x):
        return "called", x

    @property
    def shown(self):
        return "shown"

    @staticmethod
    def plain(x):
        return "plain", x

    @classmethod
    def made(cls, x):
        return cls.__name__, x


class Derived(Base):
    pass


class Other:
    kind = "other"

    def name(self):
        return "Other.name"

    def __add__(self, other):
        return "Other+"

    def __iter__(self):
        return iter((7,))

    def __len__(self):
        return 0

    def __call__(self, x):
        return "other", x


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Missing:
    pass


def helper(x, y=1, *, z=2):
    return x, y, z


def other_helper(x, y=10, *, z=20):
    return "other", x, y, z


def counted():
    n = 1

    def get():
        return n

    def put(value):
        nonlocal n
        n = value

    return get, put


get_cell, put_cell = counted()
LEVEL = 1
KNOWN = Derived()
FIXED = Slotted(5)
CONFIG = {"mode": "fast", "n": 3}
PROGRAM = [("a", 1), ("b", 2)]
NAMES = {"x", "y"}
PARTIAL = functools.partial(helper, 5)


def patch(holder, name, value):
    """An action: set or delete (NOTHING) an attribute or a key; and what puts it back."""
    is_dict = isinstance(holder, dict)

    def write(to):
        if is_dict:
            holder.pop(name, None) if to is NOTHING else holder.__setitem__(name, to)
        elif to is NOTHING:
            delattr(holder, name)
        else:
            setattr(holder, name, to)

    before = vars(holder) if not is_dict and hasattr(holder, "__dict__") and not isinstance(holder, types.FunctionType) else holder
    old = before.get(name, NOTHING) if hasattr(before, "get") else getattr(holder, name, NOTHING)
    if name in ("__class__", "__bases__", "__code__", "__defaults__", "__kwdefaults__"):
        old = getattr(holder, name)
    return (lambda: write(value)), (lambda: write(old))


def items(container, *new):
    """An action: a container holds something else."""
    old = container.copy()

    def write(to):
        container.clear()
        (container.extend if isinstance(container, list) else container.update)(to)

    return (lambda: write(new if not isinstance(container, dict) else dict(new))), (lambda: write(old))


def reads_global(f):
    before = LEVEL
    f()
    return before, LEVEL, LEVEL + 1


def shadowed_builtin(f):
    before = len("abc"), oct(8)
    f()
    return before, len("abc"), [len(w) for w in ("a", "bb")], oct(8)


def module_attribute(f):
    before = math.sqrt(4.0)
    f()
    return before, math.sqrt(4.0)


def calls_helper(f):
    before = helper(1)
    f()
    return before, helper(1), helper(1, 2), helper(1, z=5)


def known_instance(f):
    before = KNOWN.name(), KNOWN.kind
    f()
    return before, KNOWN.name(), KNOWN.kind


def virtual_instance(f):
    x = Derived()
    before = x.name(), x.kind
    f()
    return before, x.name(), x.kind


def virtual_method(f):
    bound = Derived().name
    f()
    return bound()


def operators(f):
    x = Derived()
    before = x + 1, len(x), list(x), bool(x), x(2)
    f()
    total = 0
    for item in x:
        total += item
    return before, x + 1, len(x), list(x), bool(x), x(2), total


def descriptors(f):
    x = Derived()
    before = x.shown, x.plain(1), x.made(2), Derived.plain(1), Derived.made(2)
    f()
    return before, x.shown, x.plain(1), x.made(2), Derived.plain(1), Derived.made(2)


def absent_attribute(f):
    x = Missing()
    before = hasattr(x, "extra"), getattr(x, "extra", "none"), hasattr(KNOWN, "extra"), hasattr(math, "extra")
    f()
    return before, hasattr(x, "extra"), getattr(x, "extra", "none"), hasattr(KNOWN, "extra"), hasattr(math, "extra")


def classes(f):
    before = isinstance(KNOWN, Base), issubclass(Derived, Base), type(KNOWN) is Derived
    f()
    return before, isinstance(KNOWN, Base), issubclass(Derived, Base), type(KNOWN) is Derived, isinstance(Derived(), Base)


def slot(f):
    before = FIXED.x
    f()
    return before, FIXED.x


def cell(f):
    before = get_cell()
    f()
    return before, get_cell()


def dictionary(f):
    before = CONFIG["mode"], CONFIG.get("n"), "n" in CONFIG, list(CONFIG), len(CONFIG)
    f()
    return before, CONFIG.get("mode"), CONFIG.get("n"), "n" in CONFIG, list(CONFIG), len(CONFIG)


def listed(f):
    before = [name for name, _ in PROGRAM], PROGRAM[0], PROGRAM[-1], len(PROGRAM)
    f()
    return before, [name for name, _ in PROGRAM], PROGRAM[0], PROGRAM[-1], len(PROGRAM)


def in_mid_loop(f):
    seen = []
    for name, _ in PROGRAM:
        seen.append(name)
        if len(seen) == 1:
            f()
    return seen


def sets(f):
    before = "x" in NAMES, sorted(NAMES)
    f()
    return before, "x" in NAMES, "q" in NAMES, sorted(NAMES)


def partial(f):
    before = PARTIAL(1)
    f()
    return before, PARTIAL(1)


def in_a_loop(f):
    out = []
    for k in range(3):
        if k == 1:
            f()
        out.append((LEVEL, helper(k), Derived().name()))
    return out


def in_a_generator(f):
    def steps():
        for k in range(3):
            yield k, LEVEL, Derived().name(), helper(k)

    out = []
    for step in steps():
        out.append(step)
        if step[0] == 0:
            f()
    return out


def in_a_handler(f):
    try:
        f()
        raise KeyError(LEVEL)
    except KeyError as error:
        return error.args, LEVEL, Derived().name()
    finally:
        CONFIG.get("n")


def sorted_by_key(f):
    called = []

    def key(x):
        if not called:
            called.append(f())
        return -x, LEVEL

    return sorted([3, 1, 2], key=key), LEVEL, helper(1)


def within_a_call(f):
    def inner(x):
        f()
        return helper(x), LEVEL, Derived().kind

    return inner(1), helper(2), LEVEL


def class_statements(f):
    class First(Base):
        level = LEVEL

    f()

    class Second(Missing):
        pass

    return [made if isinstance(made, tuple) else (made.__name__, made.__bases__, getattr(made, "level", 0)) for made in (First, Second)]


def new_name(self):
    return "new"


PATCHES = {
    "a global": lambda: patch(globals(), "LEVEL", 2),
    "a global removed": lambda: patch(globals(), "LEVEL", NOTHING),
    "a builtin shadowed": lambda: patch(globals(), "len", lambda x: 77),
    "a builtin replaced": lambda: patch(vars(builtins), "oct", lambda x: 78),
    "class statements": lambda: patch(vars(builtins), "__build_class__", lambda body, name, *bases, **named: (name, bases, sorted(named))),
    "no class statements": lambda: patch(vars(builtins), "__build_class__", NOTHING),
    "a module's function": lambda: patch(math, "sqrt", lambda x: "root"),
    "a module's attribute": lambda: patch(math, "extra", 1),
    "a function": lambda: patch(globals(), "helper", other_helper),
    "code": lambda: patch(helper, "__code__", other_helper.__code__),
    "defaults": lambda: patch(helper, "__defaults__", (5,)),
    "defaults by name": lambda: patch(helper, "__kwdefaults__", {"z": 6}),
    "a default by name in place": lambda: patch(helper.__kwdefaults__, "z", 7),
    "a method": lambda: patch(Base, "name", new_name),
    "a method of the subclass": lambda: patch(Derived, "name", new_name),
    "a method made static": lambda: patch(Base, "name", staticmethod(lambda: "static")),
    "a method removed": lambda: patch(Base, "name", NOTHING),
    "a class attribute": lambda: patch(Base, "kind", "new"),
    "a class attribute made a property": lambda: patch(Derived, "kind", property(lambda self: "computed")),
    "an operator": lambda: patch(Base, "__add__", lambda self, other: "new+"),
    "a reflected operator": lambda: patch(Derived, "__add__", lambda self, other: NotImplemented),
    "iteration": lambda: patch(Base, "__iter__", lambda self: iter((9,))),
    "length": lambda: patch(Base, "__len__", lambda self: 0),
    "truth": lambda: patch(Derived, "__bool__", lambda self: False),
    "call": lambda: patch(Base, "__call__", lambda self, x: "new"),
    "a property": lambda: patch(Base, "shown", 5),
    "a static method": lambda: patch(Base, "plain", lambda *a: len(a)),
    "a class method": lambda: patch(Base, "made", staticmethod(lambda x: x)),
    "__getattribute__": lambda: patch(Base, "__getattribute__", lambda self, name: "all"),
    "__getattr__": lambda: patch(Missing, "__getattr__", lambda self, name: "got"),
    "__init__": lambda: patch(Derived, "__init__", lambda self: setattr(self, "kind", "made")),
    "an instance's attribute": lambda: patch(KNOWN, "name", lambda: "own"),
    "an instance's new attribute": lambda: patch(KNOWN, "extra", 1),
    "a class's new attribute": lambda: patch(Missing, "extra", 1),
    "__class__": lambda: patch(KNOWN, "__class__", Other),
    "__bases__": lambda: patch(Derived, "__bases__", (Other,)),
    "a slot": lambda: patch(FIXED, "x", 6),
    "a cell": lambda: ((lambda: put_cell(2)), (lambda: put_cell(1))),
    "a dictionary's value": lambda: patch(CONFIG, "mode", "slow"),
    "a dictionary's key gone": lambda: patch(CONFIG, "n", NOTHING),
    "a dictionary": lambda: items(CONFIG, ("z", 1)),
    "a list": lambda: items(PROGRAM, ("q", 0)),
    "a longer list": lambda: items(PROGRAM, ("a", 1), ("b", 2), ("c", 3)),
    "a set": lambda: items(NAMES, "q"),
    "keywords of a partial": lambda: patch(PARTIAL.keywords, "z", 9),
}

READERS = [reads_global, shadowed_builtin, module_attribute, calls_helper, known_instance, virtual_instance, virtual_method, operators, descriptors,
           absent_attribute, classes, slot, cell, dictionary, listed, in_mid_loop, sets, partial, in_a_loop, in_a_generator, in_a_handler, sorted_by_key,
           within_a_call, class_statements]


def outcome(call):
    try:
        return "returned", call()
    except Exception as error:
        return type(error), error.args


def nothing():
    pass


@pytest.mark.parametrize("reader", READERS, ids=lambda fn: fn.__name__)
def test_in_mid_call(reader):
    """A callback replaces something; then once more, with what was compiled before."""
    jitted = hovis.jit(reader)
    for told, make in PATCHES.items():
        seen = []
        for run in (reader, jitted, jitted):
            do, undo = make()
            try:
                seen.append(outcome(lambda run=run, do=do: run(do)))
            finally:
                undo()
        assert seen[0] == seen[1] == seen[2], told
    assert outcome(lambda: jitted(nothing)) == outcome(lambda: reader(nothing))


@pytest.mark.parametrize("reader", READERS, ids=lambda fn: fn.__name__)
def test_between_calls(reader):
    jitted = hovis.jit(reader)
    plain = outcome(lambda: reader(nothing))
    assert outcome(lambda: jitted(nothing)) == plain
    for told, make in PATCHES.items():
        do, undo = make()
        do()
        try:
            expected, got = outcome(lambda: reader(nothing)), outcome(lambda: jitted(nothing))
        finally:
            undo()
        assert expected == got, told
        assert outcome(lambda: jitted(nothing)) == plain, told


class Parent:
    def go(self, n):
        return "before", n


class Heir(Parent):
    count = 0

    def at_once(self, n):
        self.count += 1
        return super().go(n)

    def by_a_name(self, n):
        self.count += 1
        found = super()
        return found.go(n)

    def with_arguments(self, n):
        self.count += 1
        return super(Heir, self).go(n)


@pytest.mark.parametrize("name", ["at_once", "by_a_name", "with_arguments"])
def test_super_behind_a_look_that_has_failed(name, monkeypatch):
    """It looks for its class and instance in the frame of the method, which is inlined."""
    one = Heir()

    def fn(n):
        one.mark = n
        return getattr(one, name)(n)

    residual = hovis.jit(fn)
    assert [residual(n) for n in (1, 2)] == [("before", 1), ("before", 2)]
    monkeypatch.setattr(Parent, "go", lambda self, n: ("after", n))
    assert [residual(n) for n in (1, 2)] == [("after", 1), ("after", 2)]
