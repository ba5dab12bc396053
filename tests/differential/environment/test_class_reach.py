"""Unknown code that gets to a class of the trace by way of something else, and changes it: what is read behind that is what is there now."""

import functools
import os
import sys

import pytest

import hovis
from hovis import Any

#: How unknown code is given the class, and how it gets to it from there.
WAYS = {
    "list": ("given = [C]", "given[0]"),
    "list that grows": ("given = []; given.append(C)", "given.pop()"),
    "list in a list": ("given = [[], [(C,)]]", "given[1][0][0]"),
    "long list": ("given = [C for _ in range(n)]", "given[1]"),
    "tuple": ("given = (1, C)", "given[1]"),
    "dict": ("given = {'a': C}", "given['a']"),
    "key of a dict": ("given = {C: 1}", "next(iter(given))"),
    "dict that grows": ("given = {}; given[n] = C", "given[3]"),
    "set": ("given = {C}", "next(iter(given))"),
    "attribute": ("given = Holder(); given.held = C", "given.held"),
    "closure": ("given = lambda: C", "given()"),
    "default": ("given = lambda c=C: c", "given()"),
    "partial": ("given = functools.partial(len, C)", "given.args[0]"),
    "instance": ("given = one", "type(given)"),
    "instance in a list": ("given = [one]", "type(given[0])"),
    "bound method": ("given = one.m", "type(given.__self__)"),
    "class method": ("given = C.k", "given.__self__"),
    "method with super": ("given = C.s", "given.__closure__[0].cell_contents"),
    "subclass": ("given = type('D', (C,), {})", "given.__base__"),
    "subclass of the trace": ("class D(C): pass\n    given = [D]", "given[0].__base__"),
    "generator": ("given = (c for c in (C,))", "next(given)"),
    "exception": ("given = ValueError(C)", "given.args[0]"),
    "super": ("given = super(C, one)", "given.__thisclass__"),
    "list of the caller's": ("shared.append(C); given = None", "shared[-1]"),
    "iterator": ("given = iter([C])", "next(given)"),
    "property": ("given = property(lambda self: C)", "given.fget(None)"),
}

#: What it does to the class.
CHANGES = {
    "sets": "cls.x = 7",
    "replaces data": "cls.d = 8",
    "replaces a method": "cls.m = lambda self: 'new'",
    "deletes a method": "del cls.m",
    "descriptor": "cls.v = property(lambda self: 'got', lambda self, v: None)",
    "special method": "cls.__add__ = lambda self, other: 'sum'",
    "attribute hook": "cls.__getattr__ = lambda self, name: 'hook of ' + name",
    "constructor": "cls.__init__ = lambda self: None",
    "bases": "cls.__bases__ = (Other,)",
    "name": "cls.__name__ = 'Z'; cls.__qualname__ = 'Q'",
    "a base's": "cls.__base__.b = lambda self: 'base'",
}

READS = (
    "C.x", "C.d", "one.x", "one.d", "one.v", "one.m()", "C.m(one)", "one.b()", "one + 1", "C().v", "C().m()", "isinstance(one, Base)", "isinstance(one, Other)",
    "issubclass(C, Base)", "C.__base__.__name__", "[c.__name__ for c in C.__mro__]", "C.__bases__[0].__name__", "C.__name__", "repr(C)", "type(one).__qualname__", "sorted(vars(C))",
    "hasattr(one, 'x')", "getattr(one, 'x', 'none')", "one.s()", "C.k()", "setattr(one, 'v', 5) or one.v", "vars(one)", "one.nothing", "bool(one)", "'x' in dir(C)", "caught(raise_it)", "matched(one)",
)

PROGRAM = """
def f(fn, n):
    class Base:
        def b(self): return 'old base'
        def s(self): return 's of Base'
    class C(Base):
        d = 2
        def __init__(self): self.v = 1
        def m(self): return 'old'
        def s(self): return super().s()
        @classmethod
        def k(cls): return cls.d
    def caught(raise_it):
        class E(Exception, C): pass
        try: raise E
        except C: return 'C'
        except Exception: return 'other'
    def matched(it):
        match it:
            case Base(v=1): return 'Base'
            case Other(): return 'Other'
        return None
    raise_it = None
    one = C()
    {way}
    fn(given)
    return {read}
def change(given):
    sys._getframe()
    cls = {get}
    {change}
"""


class Holder:
    """Has attributes."""


class Other:
    """Another base."""

    def b(self) -> str:
        return "b of Other"

    def s(self) -> str:
        return "s of Other"


def outcome(f, change):
    try:
        return repr(f(change, 3))
    except Exception as error:
        return type(error).__name__, str(error)


def program(way: str, change: str, read: str):
    setting, get = WAYS[way]
    names = {"Holder": Holder, "Other": Other, "sys": sys, "functools": functools, "shared": []}
    exec(PROGRAM.format(way=setting, read=read, get=get, change=CHANGES[change]), names)
    return names["f"], names["change"]


CASES = [(way, change, read) for way in WAYS for change in CHANGES for read in READS]
STEP = 1 if "HOVIS_EXAMPLES" in os.environ else 43


def check(cases):
    wrong = []
    for case in cases:
        f, change = program(*case)
        expected = outcome(f, change)
        for how in ("jit", "specialize"):
            f, change = program(*case)
            made = hovis.jit(f) if how == "jit" else hovis.trace(f, Any, hovis.Int)
            found = outcome(made, change)
            if found != expected:
                wrong.append((how, case, expected, found))
    return wrong


@pytest.mark.parametrize("first", range(4))
def test_what_is_read_behind_a_change_is_what_is_there(first):
    assert check(CASES[first :: 4 * STEP]) == []


@pytest.mark.parametrize("change", ["sets", "replaces a method", "bases", "special method"])
def test_a_list_that_grows(change):
    assert check([("list that grows", change, read) for read in ("C.x", "one.m()", "isinstance(one, Base)", "one + 1")]) == []


def test_a_class_that_is_not_used_behind_that_is_followed():
    def f(fn, n):
        class C:
            def __init__(self, v):
                self.v = v

            def double(self):
                return 2 * self.v

        doubled = C(n).double()
        fn([C(doubled)])
        return doubled

    text = str(hovis.trace(f, Any, hovis.Int))
    assert "make_class" in text
    assert "__build_class__" not in text
    assert text.count("(*)(2") == 1
