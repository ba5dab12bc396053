"""Objects stay as quick as they were: CPython 3.11 and 3.12 make an instance's dictionary when it is asked for, and hovis does not ask."""

import functools
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hovis
from hovis.front import jit
from hovis.ir.operations import make_function, make_object
from hovis.lattice import inline_attributes

put_off = pytest.mark.skipif(not inline_attributes.PUT_OFF, reason="on this Python a dictionary slows nothing down")


class Point:
    scale = 2

    def __init__(self, x, table=None):
        self.x = x
        self.table = {} if table is None else table

    def moved(self, by):
        return self.x + by * self.scale

    @classmethod
    def named(cls):
        return cls.__name__

    @staticmethod
    def twice(n):
        return n * 2


class Asking(Point):
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return name + "?"


class Child(Point):
    def moved(self, by):
        return super().moved(by) + 1


def reads(p, n):
    return p.x + n


def calls(p, n):
    return p.moved(n) + p.moved(2), p.named()


def calls_static(p, n):
    return p.twice(n)


def probes(p, n):
    return hasattr(p, "y"), getattr(p, "z", n), p.scale


def asks(p, n):
    return getattr(p, "nobody", n)


def loops(p, n):
    total = 0
    for k in range(n):
        total += p.moved(k)
    return total


def stores(p, n):
    p.x = n
    return p.x + p.moved(1)


def looks_up(p, n):
    return p.table.get(n, p.x)


def compares(p, n):
    match p:
        case Point(x=3):
            return n
    return p.x


PROGRAMS = [reads, calls, calls_static, probes, asks, loops, stores, looks_up, compares]
CLASSES = [Point, Asking, Child]


@put_off
@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("known", [True, False])
def test_no_dictionary_is_made(fn, cls, known):
    if fn is calls_static and not known:
        return  # docs/sharp-edges.md
    p, plain = cls(3), cls(3)

    def held(n):
        return fn(p, n)

    for compiled in (hovis.jit(held), hovis.specialize(held, int)) if known else (hovis.jit(fn), hovis.specialize(fn, cls, int)):
        for n in (4, 0, 2):
            assert (compiled(n) if known else compiled(p, n)) == fn(plain, n)
        assert inline_attributes.is_inline(p)


def changes():
    """What somebody does to an object between two calls, by name."""
    return {
        "another value": lambda p: setattr(p, "x", 10),
        "a value of another class": lambda p: setattr(p, "x", 1.5),
        "through the dictionary": lambda p: vars(p).update(x=7),
        "another dictionary": lambda p: setattr(p, "__dict__", {"x": 20, "table": {}}),
        "gone": lambda p: delattr(p, "x"),
        "a method hidden by a function": lambda p: setattr(p, "moved", lambda by: by),
        "a method hidden by that of another": lambda p: setattr(p, "moved", Point(100).moved),
        "a method hidden by itself": lambda p: setattr(p, "moved", p.moved),
        "a static method hidden": lambda p: setattr(p, "twice", lambda n: "hidden"),
        "a default hidden": lambda p: setattr(p, "scale", 5),
        "a default hidden by itself": lambda p: setattr(p, "scale", type(p).scale),
        "a new name": lambda p: setattr(p, "y", 1),
        "a new name with a default": lambda p: setattr(p, "z", 1),
        "what was missing": lambda p: setattr(p, "nobody", 1),
        "another class": lambda p: setattr(p, "__class__", Other),
        "a dictionary that is only looked at": vars,
    }


class Other(Point):
    def moved(self, by):
        return "other"


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("change", changes())
def test_changes_are_seen(change, known, cls):
    for fn in PROGRAMS:
        p, plain = cls(3), cls(3)
        compiled = hovis.jit(functools.wraps(fn)(lambda n, p=p, fn=fn: fn(p, n)) if known else fn)
        for _ in range(3):
            for n in (4, 1):
                assert outcome(lambda n=n: compiled(n) if known else compiled(p, n)) == outcome(lambda n=n: fn(plain, n))
            for one in (p, plain):
                outcome(lambda one=one: changes()[change](one))


def opens_midway(p, d, n):
    before = p.x
    held = vars(p)
    held["x"] = n
    d["x"] = n + 1
    return before, p.x, p.moved(1)


def opens_in_a_loop(p, d, n):
    seen = []
    for k in range(n):
        seen.append(p.x)
        (vars(p) if k % 2 else d)["x"] = k
    return seen


@pytest.mark.parametrize("fn", [opens_midway, opens_in_a_loop])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("way", ["jit", "specialize"])
def test_the_dictionary_is_the_object(fn, shared, way):
    """Also where it is made after tracing, and passed as an argument that the residual stores into."""
    for n in (0, 1, 4):
        p, plain = Point(3), Point(3)

        def held(d, n, p=p):
            return fn(p, d, n)

        compiled = hovis.jit(held) if way == "jit" else hovis.specialize(held, dict, int)
        assert compiled(vars(p) if shared else {}, n) == fn(plain, vars(plain) if shared else {}, n)


SHARED = ("shared", {})


class Many:
    """Attributes that its code does not name are set from outside."""

    first, second = SHARED, None

    def fill(self, a, b):
        self.a, self.b = a, b
        self.first = a

    @property
    def told(self):
        return self.a

    @told.setter
    def told(self, value):
        self.second = value
        self.inner = [lambda: setattr(self, "deep", value)]


class Slotted(Many):
    __slots__ = ("slot",)


VALUES = st.sampled_from([0, 1, None, SHARED, SHARED[1], {}, {"a": 1}, [], "text", Many, int])


@given(st.sampled_from([Many, Slotted]), st.lists(st.tuples(st.sampled_from("a b first second inner told slot outside fill".split()), VALUES), max_size=6))
def test_all_attributes_by_name(cls, stores):
    """What is listed without the dictionary is what the dictionary holds, or nothing at all."""
    value = cls()
    for name, held in stores:
        setattr(value, name, held)
    listed = inline_attributes.listed(value) if inline_attributes.is_inline(value) else None
    names = [name for name in "a b first second inner outside nobody".split() if inline_attributes.can_read(cls, name)]
    read = {name: inline_attributes.read(value, name, "nothing") for name in names}
    told = {name for name in names if inline_attributes.is_own(value, name, read[name])}
    own = vars(value)
    assert listed is None or (listed.keys() == own.keys() and all(listed[name] is own[name] for name in own))
    for name, found in read.items():
        assert found is own.get(name, vars(Many).get(name, "nothing"))
        assert name in told or name not in own or own[name] is vars(Many)[name]
        assert name not in told or name in own or found == "nothing"


def test_what_can_be_read():
    assert inline_attributes.can_read(Point, "moved") and inline_attributes.can_read(Point, "nobody") and inline_attributes.can_read(Point, "scale")
    assert not inline_attributes.can_read(Many, "told")
    assert not inline_attributes.can_read(type("Cached", (), {"x": functools.cached_property(len)}), "x")
    assert inline_attributes.binds(Point.moved) and not inline_attributes.binds(vars(Point)["twice"])
    assert not inline_attributes.is_inline(types.SimpleNamespace(x=1)) and not inline_attributes.is_inline(3)


class Stored(Point):
    def __setattr__(self, name, value):
        super().__setattr__(name, value + 1 if name == "x" else value)


class Slots:
    __slots__ = ("b", "a")

    def __init__(self, a, b):
        self.a, self.b = a, b


def makes(a, b):
    first, second = Point(a, b), Stored(a, {})
    second.y = first
    return [first, second, Slots(b, a)]


def makes_functions(a, b):
    def inner(x, y=b):
        return x, y, a

    def annotated(x: int = 1, *, key=b) -> str:
        return x, key

    return [inner, annotated, lambda: inner(a), (n for n in (a, b))]


def shape_of(value):
    if type(value) is types.FunctionType:
        names = value.__name__, value.__qualname__, value.__module__, value.__doc__
        return *names, value.__defaults__, value.__kwdefaults__, value.__annotations__, [c.cell_contents.__class__ for c in value.__closure__ or ()]
    if type(value) is types.GeneratorType:
        return value.__name__, value.__qualname__, [*value]
    if type(value) is Slots:
        return value.a, value.b
    return (type(value), {name: shape_of(held) for name, held in vars(value).items()}) if isinstance(value, Point) else value


@pytest.mark.parametrize("fn", [makes, makes_functions])
def test_what_a_residual_makes(fn):
    """Objects and functions are made by CPython's own instructions, in the order of the original."""
    residual = hovis.specialize(fn, int, int)
    made = residual(3, 4)
    if inline_attributes.PUT_OFF:
        assert all(inline_attributes.is_inline(one) for one in made if type(one) is Point)
    assert repr(list(map(shape_of, made))) == repr(list(map(shape_of, fn(3, 4))))
    helpers = {make_object, make_function} & {held for held in residual.__code__.co_consts if type(held) is types.FunctionType}
    assert helpers == ({make_object} if fn is makes else {make_function})  # of Stored; of what is annotated


# ------------------------------------------------------------------------------------------- found by review


@pytest.mark.parametrize("default", [None, 7, (), "text"])
@pytest.mark.parametrize("way", ["jit", "specialize"])
def test_an_attribute_that_is_the_very_object_of_the_class(default, way, monkeypatch):
    """It stays, when the traced code gives the class another one."""
    monkeypatch.setattr(jit, "CONTESTED", False)

    class Has:
        held = default

    def store(n):
        Has.held = n
        return value.held

    value = Has()
    value.held = default
    residual = hovis.jit(store) if way == "jit" else hovis.specialize(store, int)
    assert [residual(n) for n in (1, 2, 3)] == [default] * 3
    Has.held = default
    value = Has()
    residual = hovis.jit(store)
    assert residual(100) == 100
    value.held = Has.held
    assert [residual(n) for n in (101, 102)] == [100, 100]


def test_guards_do_not_run_what_a_class_has_by_now():
    class Thing:
        def method(self):
            return 1

    asked = []

    def getter(self):
        asked.append(1)
        return 1 / 0

    def read():
        try:
            return thing.method()
        except ZeroDivisionError:
            return "caught"

    thing = Thing()
    residual = hovis.jit(read)
    assert residual() == 1
    Thing.method = property(getter)
    assert [residual(), residual()] == ["caught", "caught"] and len(asked) == 2


class Asks:
    def __getattr__(self, name):
        raise AttributeError(name)

    @staticmethod
    def static(n):
        return n * 2


def of_what_asks(p, n):
    return p.static(n), getattr(p, "x", n)


def test_what_looks_for_attributes_is_written_into_modules(tmp_path):
    written = tmp_path / "written.py"
    hovis.trace(of_what_asks, Asks, int).save(written)
    assert hovis.load(written)(Asks(), 3) == (6, 3)


class DictOfItsOwn(dict):
    pass


def test_a_dictionary_of_another_class():
    value = Asks()
    value.__dict__ = DictOfItsOwn(y=2)
    assert hovis.specialize(lambda n: value.y + n, int)(1) == hovis.jit(lambda n: value.y + n)(1) == 3


def test_arguments_are_told_from_dictionaries_that_were_made_later():
    """Also of an object that has lost an attribute since, and where one slot has two names."""

    class Aliased:
        __slots__ = ("__dict__", "own")

    Aliased.other, Aliased.another = vars(Aliased)["own"], vars(Slots)["a"]
    for value in (Point(1), Aliased()):
        value.x = value.tmp = 1
        if type(value) is Aliased:
            value.own = vars(value)

        def store(held, n, value=value):
            before = value.x
            held["x"] = n
            return before, value.x

        residual = hovis.specialize(store, dict, int)
        del value.tmp
        assert residual({}, 4) == (1, 1)
        assert residual(vars(value), 5) == (1, 5)


@pytest.mark.parametrize("change", [
    lambda value: (delattr(value, "y"), delattr(value, "x"), setattr(value, "n", 0), setattr(value, "x", 5)),
    pytest.param(lambda value: setattr(value, "__dict__", {"n": 1, "x": 5}), marks=put_off),
    lambda value: vars(value).clear(),
    lambda value: None,
], ids=["other order", "another dictionary", "empty", "unchanged"])
def test_a_dictionary_that_was_made_later_is_known_by_any_attribute(change):
    class Pair:
        def __init__(self):
            self.y = 1
            self.x = 5

    value = Pair()

    def store(held):
        held["x"] = 7
        return value.x

    residual = hovis.specialize(store, dict)
    assert residual({}) == residual({"other": 1}) == 5
    change(value)
    assert residual(vars(value)) == 7


def test_the_dictionary_of_an_instance_whose_class_names_no_module():
    namespace = {}
    exec("class Made:\n    def __init__(self):\n        self.x = 5", namespace)
    value = namespace["Made"]()
    assert type(value).__module__ == "builtins"

    def store(held):
        held["x"] = 7
        return value.x

    residual = hovis.specialize(store, dict)
    assert (residual({}), residual(vars(value))) == (5, 7)


class Large(dict):
    def read(self, n):
        return self.extra + n


def test_large_containers_are_not_gone_through():
    held = Large({k: {} for k in range(100_000)})
    held.extra = 1
    assert not inline_attributes.is_inline(held)
    assert hovis.jit(lambda n: held.read(n))(2) == 3


HOOKS = {
    "__getattr__": lambda self, name: ASKED.append(name) or 7,
    "__getattribute__": lambda self, name: object.__getattribute__(self, name),
}
ASKED = []


def _set_rate(thing): thing.rate = 4
def _set_method(thing): thing.method = lambda: 5
def _lose_rate(thing): del thing.rate
def _property(thing): type(thing).rate = property(lambda self: 8)
def _class_attribute(thing): type(thing).other = 9
def _hook(thing): type(thing).__getattr__ = lambda self, name: 10
def _another_class(thing): thing.__class__ = type("Another", (type(thing),), {"rate": property(lambda self: 11)})


@pytest.mark.parametrize("change", [None, _set_rate, _set_method, _lose_rate, _property, _class_attribute, _hook, _another_class])
@pytest.mark.parametrize("hook", HOOKS)
def test_what_changes_while_attributes_past_hooks_are_relied_upon(hook, change):
    """Guards of attributes read past the hooks of a class: in residuals, behind calls of unknown code, and at the next call."""
    def outcome(wrap):
        thing = type("Thing", (), {"method": lambda self: 1, hook: HOOKS[hook]})()
        thing.rate = 3

        def read(act):
            before = thing.rate, thing.method()
            act()
            return before, thing.rate, thing.method(), getattr(thing, "other", None)

        fn = wrap(read)

        def called(act):
            try:
                return fn(act)
            except AttributeError as error:
                return str(error)

        ASKED.clear()
        return [called(lambda: None), called(lambda: None), called((lambda: change(thing)) if change else (lambda: None)), called(lambda: None), list(ASKED)]

    assert outcome(hovis.jit) == outcome(lambda fn: fn)
