"""What CPython's own regression tests have found (tests/cpython/run.py), each with its kin."""
import abc
import builtins
import collections
import copy
import functools
import gc
import io
import operator
import pickle
import sys
import traceback
import types
import weakref

import pytest

import hovis


def outcome(fn, *args):
    try:
        return fn(*args)
    except Exception as error:
        return type(error).__name__, str(error)


# ------------------------------------------------------------------------------------------------- the class that an object shows


class AsAttribute:
    __class__ = str


class AsProperty:
    __class__ = property(lambda self: int)


class ByGetattribute:
    def __getattribute__(self, name):
        return list if name == "__class__" else object.__getattribute__(self, name)


class NoClass:
    __class__ = 3


class Missing:
    @property
    def __class__(self):
        raise AttributeError("none")


class Honest(dict):
    pass


LIARS = (AsAttribute, AsProperty, ByGetattribute, NoClass, Missing, Honest)
TARGET = Honest()


def asked(x):
    found = []
    for cls in (str, int, list, dict, AsAttribute, Missing, (str, float), int | list, collections.abc.Sequence, object):
        try:
            found.append(isinstance(x, cls))
        except (AttributeError, TypeError) as error:
            found.append(str(error))
    return found


def matched(x):
    match x:
        case str():
            return "str"
        case int() | list():
            return "int or list"
        case dict():
            return "dict"
    return "other"


def made_here():
    class Shows:
        __class__ = str

    class Both(Shows, abc.ABC):
        __class__ = list
    return asked(Shows()), asked(Both()), matched(Both())


@pytest.mark.parametrize("fn", [asked, matched])
def test_isinstance_asks_the_object_for_its_class(fn):
    for value in (*(cls() for cls in LIARS), weakref.proxy(TARGET), 3, "a", [1], None):
        want = fn(value)
        assert hovis.jit(fn)(value) == want, value
        assert hovis.specialize(fn, hovis.const(value))() == want, value
        assert hovis.specialize(fn, type(value))(value) == want, value


def test_isinstance_of_classes_of_the_trace():
    assert hovis.jit(made_here)() == made_here()


# ------------------------------------------------------------------------------------------------- super()


def no_cell():
    def f():
        super()
    f()


def no_argument():
    class X:
        def f(x):
            del x
            super()
    X().f()


def empty_cell():
    class X:
        def f(x):
            nonlocal __class__
            del __class__
            super()
    X().f()


def other_cell():
    class X:
        def f(x):
            nonlocal __class__
            __class__ = 3
            super()
    X().f()


@pytest.mark.parametrize("fn", [no_cell, no_argument, empty_cell, other_cell])
def test_super_that_finds_nothing(fn):
    assert outcome(hovis.jit(fn)) == outcome(fn)


# ------------------------------------------------------------------------------------------------- imports


def imports():
    import changing
    from changing import X
    return changing.X, X


def imports_in_a_loop(n):
    found = []
    for _ in range(n):
        from changing import X
        found.append(X)
        sys.modules["changing"].X = X + 1
    return found


def imports_what_it_puts_there(a, b):
    sys.modules["changing"] = a
    import changing
    sys.modules["changing"] = b
    import changing as other
    del sys.modules["changing"]
    try:
        import changing as last
    except ImportError as error:
        last = str(error)
    return changing is a, other is b, last


def module(x):
    made = types.ModuleType("changing")
    made.X = x
    return made


def changes():
    """Each leaves another outcome of an import."""
    yield "another value", lambda: setattr(sys.modules["changing"], "X", 2)
    yield "another module", lambda: sys.modules.__setitem__("changing", module(3))
    yield "no module at all", lambda: sys.modules.__setitem__("changing", types.SimpleNamespace(X=4))
    yield "None", lambda: sys.modules.__setitem__("changing", None)
    yield "a module without X", lambda: sys.modules.__setitem__("changing", types.ModuleType("changing"))
    yield "a module that makes X", lambda: setattr(sys.modules["changing"], "__getattr__", lambda name: 5)
    yield "nothing", lambda: sys.modules.__delitem__("changing")
    plain = builtins.__import__
    yield "another import", lambda: setattr(builtins, "__import__", lambda name, *rest: module(6) if name == "changing" else plain(name, *rest))


def test_an_import_is_looked_up_again(monkeypatch):
    monkeypatch.setitem(sys.modules, "changing", module(1))
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    jitted = hovis.jit(imports)
    assert jitted() == imports() == (1, 1)
    for what, change in changes():
        change()
        assert outcome(jitted) == outcome(imports), what


@pytest.mark.parametrize("make", [hovis.jit, lambda fn: hovis.specialize(fn, int)])
def test_an_import_in_a_loop_that_writes(monkeypatch, make):
    monkeypatch.setitem(sys.modules, "changing", module(1))
    assert make(imports_in_a_loop)(3) == [1, 2, 3]


def test_an_import_of_what_was_put_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "changing", None)
    args = module(1), module(2)
    assert hovis.jit(imports_what_it_puts_there)(*args) == imports_what_it_puts_there(*args) == (True, True, "No module named 'changing'")


def test_a_module_of_a_package_is_loaded(tmp_path, monkeypatch):
    package = tmp_path / "hovis_package_to_import"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("X = 7")
    monkeypatch.syspath_prepend(str(tmp_path))
    import hovis_package_to_import  # noqa: F401

    def load():
        from hovis_package_to_import import inner
        return inner.X

    assert hovis.jit(load)() == 7


# ------------------------------------------------------------------------------------------------- tracing functions


def lines_of(fn):
    """Which lines of fn a trace function sees."""
    seen = []

    def trace(frame, event, arg):
        if frame.f_code is fn.__code__ and event == "line":
            seen.append(frame.f_lineno - frame.f_code.co_firstlineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        fn(2)
    finally:
        sys.settrace(before)
    return seen


def test_a_trace_function_sees_the_lines():
    def two(x):
        x += 1
        return x

    assert hovis.jit(lambda: lines_of(two))() == [1, 2]


# ------------------------------------------------------------------------------------------------- tracebacks


def test_the_frames_of_inlined_calls_have_the_globals_of_their_modules():
    def inner():
        return 1 // len("")

    def outer():
        return inner() + 1

    try:
        hovis.jit(outer)()
    except ZeroDivisionError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-2:]
    assert [frame.f_code.co_name for frame in frames] == ["outer", "inner"]
    assert all(frame.f_globals is globals() for frame in frames)


# ------------------------------------------------------------------------------------------------- abstract classes


class Lazy:
    """A descriptor that says itself whether it is abstract."""

    def __init__(self, flag):
        self.flag = flag

    @property
    def __isabstractmethod__(self):
        return self.flag


OWN = Lazy(True)


def abstract_by_dispatch(x):
    class A(abc.ABC):
        @functools.singledispatchmethod
        @abc.abstractmethod
        def add(self, x): pass
    return sorted(A.__abstractmethods__), outcome(A)


def abstract_by_property(x):
    class A(abc.ABC):
        a = Lazy(x)
        b = OWN
        c = 3
        d = Lazy(not x)
    return sorted(A.__abstractmethods__)


def abstract_by_value(x):
    class A(metaclass=abc.ABCMeta):
        a = x
        def f(self): return self.a
    return sorted(A.__abstractmethods__), outcome(lambda: A().f())


@pytest.mark.parametrize("fn", [abstract_by_dispatch, abstract_by_property, abstract_by_value])
@pytest.mark.parametrize("x", [True, False, 3, OWN], ids=["True", "False", "3", "OWN"])
def test_what_is_abstract(fn, x):
    assert hovis.jit(fn)(x) == fn(x)
    assert hovis.specialize(fn, hovis.Any)(x) == fn(x)


def test_an_abstract_class_still_dissolves():
    def fn(v):
        class A(abc.ABC):
            y = v
            z = (1, 2)
            class Inside: pass
            p = property(lambda self: 3)
            def f(self): return 2 + self.y + self.p
        return A().f()

    assert len(hovis.trace(fn, int).ops) == 2


# ------------------------------------------------------------------------------------------------- arguments of subclasses


VALUES = {
    list: [1, 2], set: [1, 2], dict: {1: 2}, tuple: [1, 2], frozenset: [1, 2], int: 3, float: 2.5, str: "ab", bytes: b"ab", bytearray: b"ab",
    complex: 2j, collections.deque: [1, 2], collections.OrderedDict: {1: 2},
}
FIXED = (tuple, frozenset, int, float, str, bytes, complex)


def programs(base):
    def own_new(x):
        class S(base):
            def __new__(cls, seq, more=None):
                self = super().__new__(cls, seq)
                self.more = more
                return self
        u = S(x, more=3)
        return base(u), type(u).__name__, u.more

    def own_init(x):
        class S(base):
            def __init__(self, seq, more=None):
                super().__init__(*(() if base in FIXED else (seq,)))
                self.more = more
        u = S(x, more=3)
        return base(u), type(u).__name__, u.more

    def complaints(x):
        class S(base): pass
        calls = lambda: S(sequence=x), lambda: S(x, x), lambda: S(x, x, x, x), lambda: S(x, sequence=x), lambda: S.__init__(S(), x, x, x, x), lambda: S().__init__(sequence=x)
        return [repr(outcome(call)) for call in calls]

    return own_new, own_init, complaints


@pytest.mark.parametrize("fn", [pytest.param(fn, id=f"{base.__name__}-{fn.__name__}") for base in VALUES for fn in programs(base)])
def test_subclasses_take_what_they_want(fn):
    base = fn.__closure__[0].cell_contents
    x = VALUES[base if isinstance(base, type) else next(c.cell_contents for c in fn.__closure__ if isinstance(c.cell_contents, type))]
    assert outcome(hovis.jit(fn), x) == outcome(fn, x)


# ------------------------------------------------------------------------------------------------- yield from a coroutine


async def ten():
    return 10


@types.coroutine
def stop():
    yield 1
    return 2


@types.coroutine
def awaits(coroutine):
    return (yield from coroutine)


async def stops():
    return await stop()


def steps(coroutine):
    found = []
    try:
        while True:
            found.append(coroutine.send(None))
    except StopIteration as end:
        return found, end.value


def yields_from(coroutine):
    def inner():
        yield from coroutine
    try:
        return list(inner())
    except TypeError as error:
        return str(error)
    finally:
        coroutine.close()


def yields_from_one_made_here(_):
    async def here():
        return 10
    coroutine = here()

    def inner():
        yield from coroutine
    try:
        return list(inner())
    except TypeError as error:
        return str(error)
    finally:
        coroutine.close()


def awaited(coroutine):
    return steps(awaits(coroutine))


@pytest.mark.parametrize("fn", [yields_from, yields_from_one_made_here, awaited])
@pytest.mark.parametrize("make", [ten, stops])
def test_yield_from_a_coroutine(fn, make):
    coroutines = make(), make()
    assert hovis.jit(fn)(coroutines[0]) == fn(coroutines[1])
    for coroutine in coroutines:
        coroutine.close()


# ------------------------------------------------------------------------------------------------- nothing is asked


SEEN: list[str] = []


class Asked:
    """Remembers what it is asked for."""

    def __getattribute__(self, name):
        SEEN.append(name)
        return object.__getattribute__(self, name)

    def __eq__(self, other):
        SEEN.append("==")
        return True

    def __hash__(self):
        SEEN.append("hash")
        return 3

    def __len__(self):
        SEEN.append("len")
        return 3

    def __iter__(self):
        SEEN.append("iter")
        return iter(())


class AskedTuple(tuple):
    __getattribute__ = Asked.__getattribute__


class AskedList(list):
    __getattribute__, __len__, __iter__, __eq__ = Asked.__getattribute__, Asked.__len__, Asked.__iter__, Asked.__eq__


class AskedDict(dict):
    __getattribute__, __len__, __iter__, __eq__ = Asked.__getattribute__, Asked.__len__, Asked.__iter__, Asked.__eq__


ASKED = Asked()
HOLDERS = [Asked(), (Asked(), AskedTuple())], {"a": Asked(), "l": AskedList(), "d": AskedDict(a=1)}


def handed(x, *args, **named):
    return x


def held(x=ASKED, *args):
    d = {1: x}
    return d[1], [ASKED], (HOLDERS[0][0], HOLDERS[0][1], HOLDERS[1]["a"], HOLDERS[1]["l"], HOLDERS[1]["d"])


@pytest.mark.parametrize("make", [
    Asked, AskedTuple, lambda: AskedTuple([1]), AskedList, lambda: AskedList([1]), AskedDict, lambda: AskedDict(a=1), lambda: [Asked()], lambda: (Asked(), 1),
    lambda: {"a": Asked()}])
def test_nothing_is_asked_of_objects_while_tracing(make):
    value = make()
    SEEN.clear()
    for fn in (handed, held):
        jitted = hovis.jit(fn)
        jitted(value), jitted(1, value), jitted(x=value)
        hovis.specialize(fn, hovis.const(value))()
        hovis.specialize(fn, type(value))(value)
    hovis.jit(held)()
    assert SEEN == []


def test_hooks_that_are_jitted():
    class C:
        @hovis.jit
        def __getattribute__(self, name):
            return 42 if name == "x" else object.__getattribute__(self, name)

        @hovis.jit
        def __getattr__(self, name):
            return name

    assert (C().x, C().__class__, C().y) == (42, C, "y")


# ------------------------------------------------------------------------------------------------- super is a name


class Base:
    said = "Base"

    def method(self):
        return "Base"


class Derived(Base):
    def attribute(self):
        return super().said

    def call(self):
        return super().method()

    def given(self):
        return super(Derived, self).said


class Other:
    said = "Other"

    def __init__(self, *args):
        self.args = args

    def method(self):
        return self.args


@pytest.mark.parametrize("name", ["attribute", "call", "given"])
def test_super_may_be_another_one(monkeypatch, name):
    fn = getattr(Derived, name)
    jitted, b = hovis.jit(fn), Derived()
    assert jitted(b) == fn(b)
    monkeypatch.setitem(globals(), "super", Other)
    assert jitted(b) == hovis.jit(fn)(b) == fn(b)


# ------------------------------------------------------------------------------------------------- weak references


class Box:
    pass


def weak_generator(x):
    it = (i for i in range(x))
    holder = [it]
    ref = weakref.ref(holder[0])
    first = ref() is None
    del it
    second = ref() is None
    holder.clear()
    return first, second, ref() is None


def weak_function(x):
    def g():
        return x
    ref = weakref.ref(g)
    holder = {"a": [g]}
    del g
    first = ref() is None
    holder.clear()
    return first, ref() is None


def weak_frozenset(x):
    s = frozenset([x])
    holder = (s,)
    ref = weakref.ref(s)
    del s
    first = ref() is None
    holder = 0
    return first, ref() is None


def weak_in_fields(x):
    b = Box()
    b.it, b.fn = (i for i in range(x)), lambda: x
    ref, proxy = weakref.ref(b.it), weakref.proxy(b.fn)
    first = ref() is None, proxy()
    del b
    return first, ref() is None


def weak_in_a_cell(x):
    def count():
        yield from range(x)
    it = count()

    class W:
        def __iter__(self):
            return weakref.proxy(it)
    return list(W())


@pytest.mark.parametrize("fn", [weak_generator, weak_function, weak_frozenset, weak_in_fields, weak_in_a_cell])
def test_weak_references_see_when_lives_end(fn):
    assert hovis.jit(fn)(3) == hovis.specialize(fn, int)(3) == fn(3)
    if fn is not weak_frozenset:     # a constant lives as long as the residual
        assert hovis.specialize(fn, hovis.const(3))() == fn(3)


# ------------------------------------------------------------------------------------------------- __missing__


class Descriptor:
    def __init__(self, function, log):
        self.function, self.log = function, log

    def __get__(self, instance, owner):
        self.log.append((type(instance).__name__, owner.__name__))
        return self.function.__get__(instance, owner)


class Refuses:
    def __get__(self, instance, owner):
        raise ZeroDivisionError


def missing(k):
    log, found = [], []
    def number(self, key):
        return 4, key
    for m in (Descriptor(number, log), number, staticmethod(lambda k: (5, k)), classmethod(lambda cls, k: (cls.__name__, k)), Refuses(), None, 3):
        class D(dict):
            __missing__ = m
        d = D(a=1)
        found.append((outcome(lambda: d["a"]), outcome(lambda: d[k]), outcome(lambda: dict.__getitem__(d, k)), outcome(lambda: d.get(k))))

    class Plain(dict):
        pass
    return found, log, outcome(lambda: Plain()[k])


def test_missing_is_looked_up_once_and_bound():
    assert hovis.jit(missing)("x") == missing("x")
    assert hovis.specialize(missing, str)("x") == missing("x")


def test_missing_still_dissolves():
    def fn(k):
        class D(dict):
            def __missing__(self, key):
                self[key] = key + 1
                return self[key]
        d = D()
        return d[3] + k, len(d)

    assert len(hovis.trace(fn, int).ops) == 2


# ------------------------------------------------------------------------------------------------- names of parameters


def named(**names):
    return sorted(names.items())


def counted(x):
    counter, ordered = collections.Counter(self=x, iterable=x), collections.OrderedDict(self=x, other=x)
    counter.update(self=x)
    ordered.update(self=x + 1, key=x)
    defaults = collections.defaultdict(int, self=x)
    return counter, list(ordered.items()), dict(defaults)


def test_arguments_may_be_called_self():
    names = dict.fromkeys(("self", "fn", "args", "kwargs", "call", "instance", "specs"), 3)
    assert hovis.jit(named)(**names) == named(**names)
    assert hovis.jit(lambda self=1, *, fn=2, **rest: (self, fn, rest))(self=5, fn=6, args=7) == (5, 6, {"args": 7})
    assert hovis.jit(counted)(2) == counted(2)


# ------------------------------------------------------------------------------------------------- the dictionary of an exception


def dictionary_replaced(x):
    e = Exception(x)
    e.a = x
    found = [e.a, dict(e.__dict__)]
    e.__dict__ = {"a": 5}
    found += [e.a, dict(e.__dict__), e.args]
    e.__dict__["b"] = 6
    found.append(e.b)
    vars(e)["c"] = 7
    e.d = x
    return *found, e.c, sorted(vars(e)), hasattr(e, "a"), hasattr(e, "z")


def dictionary_shared(x):
    class Own(ValueError):
        pass
    e, d = Own(), {"a": 1}
    e.__dict__ = d
    first = e.a
    d["a"] = x
    second = e.a
    e.b = 3
    try:
        raise e
    except Own as caught:
        return first, second, d, caught.b, caught.__dict__ is d


def dictionary_refused(x):
    e = KeyError(x)
    e.a = x
    return outcome(lambda: setattr(e, "__dict__", x)), e.a, outcome(lambda: delattr(e, "__dict__"))


@pytest.mark.parametrize("fn", [dictionary_replaced, dictionary_shared, dictionary_refused])
def test_the_dictionary_of_an_exception_is_replaced(fn):
    assert hovis.jit(fn)(3) == hovis.specialize(fn, hovis.Any)(3) == fn(3)


# ------------------------------------------------------------------------------------------------- copies


def refused(self, name):
    if name.startswith("__reduce"):
        raise AttributeError(name)
    return object.__getattribute__(self, name)


def noted(self, name):
    SEEN.append(name)
    raise AttributeError(name)


#: What a class may have that says how its objects are copied.
COPIED = (
    {}, {"__getattribute__": refused}, {"__getattr__": noted}, {"__getattr__": lambda self, name: (lambda memo: name) if name == "__deepcopy__" else 3},
    {"__class__": property(lambda self: Box)}, {"__dict__": property(lambda self: {"a": 4})}, {"__reduce__": lambda self: (Box, ())},
    {"__deepcopy__": lambda self, memo: 7}, {"__getstate__": lambda self: {"a": 9}}, {"__setstate__": lambda self, state: None},
    {"__copy__": lambda self: 8}, {"__setattr__": lambda self, name, value: object.__setattr__(self, name, 5)},
)


def shallow_and_deep(x):
    found = []
    for written in COPIED:
        found.append(copies(type("C", (), dict(written)), x))
    return found


def copies(cls, x):
    c = cls()
    c.a = [x]
    for copied in (copy.copy, copy.deepcopy):
        made = outcome(copied, c)
        yield type(made).__name__, outcome(lambda: made.a), outcome(lambda: made.a is c.a)


def one_by_one(x):
    class Plain:
        pass

    class Refuses:
        __getattribute__ = refused

    class Notes:
        __getattr__ = noted

    class Shows:
        __class__ = property(lambda self: Box)

    class Dictionary:
        __dict__ = property(lambda self: {"a": 4})
    found = []
    for cls in (Plain, Refuses, Notes, Shows, Dictionary):
        c = cls()
        c.a = [x]
        made = outcome(copy.deepcopy, c)
        found.append((type(made).__name__, outcome(lambda: made.a)))
    return found


@pytest.mark.parametrize("fn", [lambda x: [list(each) for each in shallow_and_deep(x)], one_by_one], ids=["written later", "written"])
def test_how_objects_are_copied(fn):
    SEEN.clear()
    want, asked_for = fn(3), SEEN[:]
    SEEN.clear()
    assert hovis.jit(fn)(3) == want
    assert SEEN == asked_for


# ------------------------------------------------------------------------------------------------- super() while it is another one, and what it takes


class Replaced:
    """A context manager: super is another one in it."""

    def __enter__(self):
        setattr(sys.modules[__name__], "super", Other)

    def __exit__(self, *_):
        delattr(sys.modules[__name__], "super")


def super_replaced(manager):
    class C(Base):
        def method(self):
            return super().method()

        def given(self):
            return super(1, 2).method()

    with manager:
        return C().method(), C().given()


def test_super_is_replaced_meanwhile():
    assert hovis.jit(super_replaced)(Replaced()) == super_replaced(Replaced()) == ((), (1, 2))


def not_an_instance():
    class A:
        pass
    super(A, 42)


def of_another_class():
    class A:
        pass

    class B(A):
        pass
    super(B, A())


def not_a_class():
    super(3, 4)


def of_a_class_above():
    class A:
        pass

    class B(A):
        pass
    super(B, A)


def by_keyword():
    super(Base, kw=1)


def too_many():
    super(Base, Base(), 3)


@pytest.mark.parametrize("fn", [not_an_instance, of_another_class, not_a_class, of_a_class_above, by_keyword, too_many])
def test_super_refuses_where_it_is_made(fn):
    assert outcome(fn)[0] == "TypeError"
    assert outcome(hovis.jit(fn)) == outcome(fn)


# ------------------------------------------------------------------------------------------------- properties whose docstring is changed


def docstrings(make, first, change):
    if first:
        def getter(x):
            """The text of a getter."""
    else:
        def getter(x):
            pass
    p = make(getter, None, None, "given") if "given" in change else make(getter)

    def second(x):
        """Another text."""

    def third(x):
        pass

    if "set" in change:
        p.__doc__ = "set"
    elif "deleted" in change:
        del p.__doc__
    elif "unknown" in change:
        vars(sys.modules[__name__])["set_doc"](p)
    copies = p.getter(second), p.setter(third), p.deleter(third), p.getter(third), p.setter(third).getter(second)
    return p.__doc__, [copy.__doc__ for copy in copies]


def set_doc(p):
    p.__doc__ = "by another"


class Property(property):
    pass


@pytest.mark.parametrize("change", ["given", "set", "deleted", "unknown", "", "given, set", "given, deleted", "given, unknown"])
@pytest.mark.parametrize("make", [property, Property])
def test_docstrings_of_properties(make, change):
    for first in (True, False):
        assert outcome(hovis.jit(docstrings), make, first, change) == outcome(docstrings, make, first, change)


# ------------------------------------------------------------------------------------------------- is it still the same tuple?


def tuple_replaced(xs, *args):
    now = args
    for x in xs:
        if x > 5:
            now = None, x, 0
    return now is args, now is not args, now


def tuple_of_before(xs, a, b):
    first = now = a, b
    for x in xs:
        now = (now[1], x) if x > 3 else now
        if now is first and x == 2:
            return "still the same", now
    return now is first, first is now, now


def tuples_swapped(xs, a, b):
    one, other = (a, b), (b, a)
    p, q = one, other
    for x in xs:
        if x > 5:
            p, q = q, p
    return p is one, q is one, p is other, q is other


def tuple_in_a_cell(xs, a, b):
    first = now = a, b

    def change(x):
        nonlocal now
        if x > 5:
            now = x, x
    for x in xs:
        change(x)
    return now is first


@pytest.mark.parametrize("xs", [[], [1, 2], [1, 9], [9, 1, 9], [4, 2]], ids=str)
@pytest.mark.parametrize("fn", [tuple_replaced, tuple_of_before, tuples_swapped, tuple_in_a_cell])
def test_which_tuple_it_is(fn, xs):
    want = fn(xs, 1, 2)
    assert hovis.jit(fn)(xs, 1, 2) == hovis.specialize(fn, list, int, int)(xs, 1, 2) == want
    assert hovis.specialize(fn)(xs, 1, 2) == want


# ------------------------------------------------------------------------------------------------- who looks at the frames above it


def place(depth=1):
    return sys._getframe(depth).f_code.co_name


def first_caller():
    return place(2)


def second_caller():
    return place(2)


def third_caller():
    return second_caller(), first_caller()


class Placed:
    def __init__(self):
        self.place = place(2)

    def another(self):
        return Placed().place


def callers(_):
    def inner():
        return place(2), second_caller()

    def generated():
        yield place(2)
        yield second_caller()
    return [first_caller(), second_caller(), third_caller(), place(), inner(), list(generated()), Placed().place, Placed().another(), first_caller()]


def test_several_callers_of_what_looks_at_frames():
    assert hovis.jit(callers)(1) == hovis.specialize(callers)(1) == callers(1)


# ------------------------------------------------------------------------------------------------- class methods of C code, of classes of the trace


def fails_in_init():
    class Refused(Exception):
        pass

    class D(dict):
        def __init__(self):
            raise Refused
    try:
        return D.fromkeys([1])
    except Refused:
        return "refused"


def notes_in_setitem():
    class E:
        pass

    class D(collections.OrderedDict):
        def __setitem__(self, key, value):
            E.key = key
    make = D.fromkeys
    return make([1]), E.key, make.__self__ is D, D().fromkeys.__self__ is D


def notes_in_new():
    class E:
        pass

    class B(bytes):
        def __new__(cls, *args):
            E.args = args
            return E.args
    return B.fromhex("00"), E.args


def made_from_bytes():
    class N(int):
        pass
    one = N.from_bytes(b"1", "big")
    return one, type(one) is N, N.from_bytes == N.from_bytes, N.from_bytes is N.from_bytes, N.from_bytes.__qualname__, callable(N.from_bytes)


def applied_later():
    class B(bytes):
        pass
    one, other = B.fromhex, B(b"a").fromhex
    made = functools.partial(one, "00")
    return [type(x) is B for x in (one("00"), other("01"), made(), *map(one, ["02"]))], one == other


def through_super():
    class D(dict):
        @classmethod
        def fromkeys(cls, keys, value=None):
            return super().fromkeys(keys, value), cls
    a, b = D.fromkeys([1])
    return a, type(a) is D, b is D, D().fromkeys([2])[1] is D


def generic_aliases():
    class E:
        pass

    class L(list):
        def __init__(self, *args):
            E.args = args
    alias = L[int]
    return type(alias([1, 2])) is L, E.args, alias.__origin__ is L, L.__class_getitem__(int).__origin__ is L


def hooks_of_object():
    class A:
        def __init_subclass__(cls, **named):
            super().__init_subclass__(**named)
            cls.seen = True

    class B(A):
        pass

    def refused():
        class C(A, k=3):
            pass
    found = [outcome(refused), outcome(lambda: B.__subclasshook__()), outcome(lambda: object.__init_subclass__(3))]
    return found, B.seen, B.__subclasshook__(3), B.__init_subclass__(), B.__init_subclass__.__self__ is B


def got_out(x):
    class E:
        x = 1

    class D(dict):
        def __init__(self):
            E.x += x
    return D.fromkeys, [D().fromkeys], D, E


@pytest.mark.parametrize("fn", [fails_in_init, notes_in_setitem, notes_in_new, made_from_bytes, applied_later, through_super, generic_aliases, hooks_of_object])
def test_class_methods_of_c_code(fn):
    assert str(hovis.jit(fn)()) == str(fn())


def test_class_methods_that_get_out():
    for fn in (got_out, hovis.jit(got_out)):
        one, (other,), D, E = fn(3)
        assert one.__self__ is other.__self__ is D
        assert type(one([1])) is type(other([2])) is D
        assert E.x == 10
    assert not list(hovis.trace(made_subclass, hovis.Int).ops)


def made_subclass(x):
    class A:
        def __init_subclass__(cls):
            super().__init_subclass__()

    class B(A):
        pass
    return x


# ------------------------------------------------------------------------------------------------- what ends with a jitted function


def jitted_inside(kind):
    class D:
        pass

    class P(kind):
        @hovis.jit
        def __init__(self, *args):
            self.table = table
            super().__init__(*args)

        @hovis.jit
        def method(self):
            unknown(self)
            return self.table

    def unknown(p):
        p.table = p.table

    table = D()
    p = P()
    assert p.method() is table
    return weakref.ref(P), weakref.ref(table)


class Keeps:
    def __init__(self, *args):
        print(end="")
        self.kept = args


@pytest.mark.parametrize("kind", [Keeps, dict, io.StringIO, pickle._Pickler])
def test_classes_end_whose_methods_are_jitted(kind):
    class Kind(kind):
        def __init__(self, *args):
            if kind is pickle._Pickler:
                super().__init__(io.BytesIO())
            else:
                super().__init__()
    for _ in range(3):
        ends = jitted_inside(Kind)
        gc.collect()
        assert [ref() for ref in ends] == [None, None]


# ------------------------------------------------------------------------------------------------- comparisons that change what is compared


def compared_lists(operation, length, deed, which, answer):
    class Item:
        def __eq__(self, other):
            changed = first if which == "first" else second
            if deed == "clear":
                changed.clear()
            elif deed == "pop":
                changed.pop()
            elif deed == "append":
                changed.append(1)
            elif deed == "replace":
                changed[0] = 1
            return answer

        def __lt__(self, other):
            return "less"

        __gt__ = __le__ = __lt__

    first, second = [Item() for _ in range(length)], [Item(), Item()]
    return outcome(lambda: operation(first, second)), len(first), len(second)


@pytest.mark.parametrize("operation", [operator.eq, operator.lt])
@pytest.mark.parametrize("answer", [True, False])
def test_lists_that_are_changed_by_their_comparison(operation, answer):
    fn = hovis.jit(compared_lists)
    for deed in ("clear", "replace"):
        for which in ("first", "second"):
            for length in (1, 2):
                assert fn(operation, length, deed, which, answer) == compared_lists(operation, length, deed, which, answer)


def compared_dicts(deed, which, answer):
    class Item:
        def __eq__(self, other):
            changed = first if which == "first" else second
            if deed == "clear":
                changed.clear()
            elif deed == "pop":
                changed.pop(2, None)
            elif deed == "add":
                changed[9] = 1
            elif deed == "replace":
                changed[2] = 1
            return answer

    first, second = {1: Item(), 2: 3}, {1: Item(), 2: 3}
    return first == second, len(first), len(second)


@pytest.mark.parametrize("deed", ["clear", "pop", "add", "replace"])
def test_dicts_that_are_changed_by_their_comparison(deed):
    for which in ("first", "second"):
        for answer in (True, False):
            assert hovis.jit(compared_dicts)(deed, which, answer) == compared_dicts(deed, which, answer)


def takes_all_itself(take):
    def more():
        if more.deep:
            return 2
        more.deep = True
        taken.extend(take(more.iterator))
        return 1

    taken = []
    more.deep = False
    more.iterator = iter(more, 2)
    return next(more.iterator, "the end"), next(more.iterator, "the end"), taken


@pytest.mark.parametrize("take", [list, tuple, lambda it: [next(it, "nothing")], lambda it: []])
def test_an_iterator_that_its_function_exhausts(take):
    assert hovis.jit(takes_all_itself)(take) == takes_all_itself(take)
