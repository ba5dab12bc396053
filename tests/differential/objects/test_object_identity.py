"""Objects that are told apart: two that live at the same time have two ids, two hashes by identity, two addresses in texts.

Every kind of thing that hovis keeps virtual, in every kind of place that may hold it, asked by everything that tells which object it is.
"""
from __future__ import annotations

import functools  # noqa: F401
import gc
import itertools  # noqa: F401
import operator  # noqa: F401
import os
import textwrap
import types
import weakref
import zlib

import pytest

import hovis

HEAD = """
import array, collections, contextlib, dataclasses, functools, io, itertools, operator, random, re, threading, types, typing, weakref

class C:
    def method(self): return 1
class D:
    def __init__(self, n): self.n = n
    def method(self): return self.n
class Slots:
    __slots__ = ("n",)
    def __init__(self, n): self.n = n
class AList(list): pass
class ADict(dict): pass
class ASet(set): pass
class AnInt(int): pass
class Error(Exception): pass
class Named(typing.NamedTuple):
    n: int
@dataclasses.dataclass
class Data:
    n: int
def gen(n):
    yield n
async def agen(n):
    yield n
def local(n):
    class K:
        a = n
    return K
def closure(n):
    def inner(): return n
    return inner
def ident(x): return id(x)
"""

#: What makes an object that no other one is.
MAKERS = """
[n] | [] | {1: n} | {} | {n} | set() | C() | D(n) | Slots(n) | (lambda: n) | (lambda: 1) | closure(n) | C().method | D(n).method | [n].append
list(range(3)) | [i for i in range(3)] | {i: n for i in range(3)} | {i for i in range(3)} | AList([n]) | ADict(a=n) | ASet([n]) | AnInt(n) | Named(n) | Data(n)
iter([n]) | iter((n, 2)) | iter({1: n}) | iter({n}) | iter(range(n)) | iter("ab") | zip([n], [n]) | map(abs, [n]) | filter(None, [n]) | enumerate([n]) | reversed([n])
itertools.count(n) | itertools.count() | itertools.chain([n], [1]) | itertools.cycle([n]) | itertools.repeat(n) | itertools.islice([n], 1) | itertools.accumulate([n])
itertools.groupby([n]) | itertools.product([n]) | itertools.tee([n])[0] | (x for x in [n]) | gen(n) | agen(n) | slice(n, 2) | range(n) | object() | bytearray(3)
types.CellType(n) | type("T", (), {}) | local(n) | types.ModuleType("m") | types.SimpleNamespace(a=n) | types.MethodType(gen, n) | types.MappingProxyType({1: n})
ValueError(n) | ValueError() | Error(n) | functools.partial(pow, n) | functools.lru_cache(gen) | functools.cmp_to_key(gen)(n) | property(lambda s: n)
staticmethod(gen) | classmethod(gen) | super(D, D(n)) | {1: n}.keys() | {1: n}.values() | {1: n}.items() | weakref.ref(C()) | memoryview(b"abc")
collections.deque([n]) | collections.OrderedDict(a=n) | collections.Counter([n]) | collections.defaultdict(int) | collections.ChainMap({1: n}) | collections.UserList([n])
operator.itemgetter(n) | operator.methodcaller("x") | re.match("a", "ab") | re.finditer("a", "ab") | io.StringIO() | contextlib.nullcontext(n) | random.Random(3) | threading.Lock()
array.array("i", [3])
"""

#: What tells which object X is.  (Of what tells of contents alone the text is the same.)
ASKED = [
    "id(X)", "object.__repr__(X)", "object.__hash__(X)", "ident(X)", "repr(X)", "f'{X!r}'", "'%r' % (X,)", "'{!r}'.format([X])", "repr({1: (X, n)})", "(X is a, id(X))",
]

#: Where the object is held, and for how long.
PLACES = {
    "in a variable": """
        a = MAKE
        one = ASK_a
        b = MAKE
        other = ASK_b
        return one == other
    """,
    "for longer": """
        a = MAKE
        one = ASK_a
        b = MAKE
        return one == ASK_b, one == ASK_a
    """,
    "in a list": """
        held = []
        a = MAKE
        held.append(a)
        one = ASK_a
        a = MAKE
        return one == ASK_a, len(held)
    """,
    "in a loop": """
        held, seen = [], []
        for i in range(n):
            a = MAKE
            held.append(a)
            seen.append(ASK_a)
        return len(set(seen))
    """,
    "in an attribute": """
        o = C()
        o.a = MAKE
        a = o.a
        one = ASK_a
        a = None
        b = MAKE
        return one == ASK_b
    """,
    "in a closure": """
        def make():
            a = MAKE
            def ask():
                return ASK_a
            return ask
        one, other = make(), make()
        return one() == other(), one() == one()
    """,
    "in a generator": """
        def steps():
            a = MAKE
            yield ASK_a
            yield a
        one, other = steps(), steps()
        return next(one) == next(other)
    """,
    "in a default": """
        def one(a=MAKE):
            return ASK_a
        def other(a=MAKE):
            return ASK_a
        return one() == other()
    """,
    "by a branch": """
        a = MAKE
        one = ASK_a
        if n > 2:
            b = MAKE
        else:
            b = None
        return one == ASK_b
    """,
}

ALL = "HOVIS_EXAMPLES" in os.environ


def make(text: str) -> types.FunctionType:
    space: dict[str, object] = {"__name__": __name__}
    exec(compile(HEAD + text, "told_apart.py", "exec"), space)
    return space["f"]  # type: ignore[return-value]


def drawn(values: list[str], *by: str) -> list[str]:
    """All of them, or one."""
    return values if ALL else [values[zlib.crc32(" ".join(by).encode()) % len(values)]]


@pytest.fixture
def no_collection():
    """No garbage collection: it may take a class (see ``test_a_class_in_a_variable_is_not_collected``)."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.xfail(strict=True, reason="a class of the trace whose identity was observed ends with its last use, not with its variable")
def test_a_class_in_a_variable_is_not_collected():
    def f(n):
        class First: a = n
        one = id(First)
        gc.collect()
        class Second: a = n
        return one == id(Second), n

    jitted = hovis.jit(f)
    assert [jitted(3) for _ in range(4)] == [(False, 3)] * 4


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("maker", [one.strip() for line in MAKERS.strip().splitlines() for one in line.split(" | ")])
def test_two_objects_are_told_apart(maker):
    for place, body in PLACES.items():
        for asked in drawn(ASKED, maker, place):
            text = body.replace("ASK_a", asked.replace("X", "a")).replace("ASK_b", asked.replace("X", "b").replace("is a", "is b")).replace("MAKE", maker)
            f = make("def f(n):\n" + textwrap.indent(textwrap.dedent(text), "    "))
            expected = f(3)
            for way in drawn(["jit", "specialize"], place, maker):
                residual = hovis.jit(f) if way == "jit" else hovis.specialize(f, hovis.Int)
                assert [residual(3), residual(3)] == [expected, expected], (place, asked, way)


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("asked", ["repr({1: (X, n)})", "'{!r}'.format([X])", "'{a!r}'.format(a=X)", "'{a[0]!r}'.format(a=[(X, X)])"])
def test_texts_show_what_is_inside(asked):
    """Objects that C code makes, in containers of the trace whose text is asked for."""
    for maker in ("object()", "iter({n})"):
        f = make(f"def f(n):\n    a = {maker}\n    one = {asked.replace('X', 'a')}\n    b = {maker}\n    return one == {asked.replace('X', 'b')}\n")
        for residual in (hovis.jit(f), hovis.specialize(f, hovis.Int)):
            assert [residual(3), residual(3)] == [f(3)] * 2


def test_printed_addresses_differ(capsys):
    def f(n):
        def a():
            return n
        print([a], a, sep="\n")

        def b():
            return n
        print([b], b, sep="\n")

    for g in (f, hovis.jit(f), hovis.specialize(f, hovis.Int)):
        g(1)
        texts = capsys.readouterr().out.split("\n")
        assert texts[0] == f"[{texts[1]}]" != texts[2] == f"[{texts[3]}]"


def test_what_nobody_tells_apart_is_not_built():
    """A text of contents, or the order of a comparison, says nothing of identity."""
    def f(n):
        a, b = [n], {1: [n]}
        return a is b[1], a == b[1], a is a, len(repr([n])) > 1

    assert not [op for op in hovis.trace(f, hovis.Int).ops if op.callee.__name__ == "drop"]


def ident(x, k):
    return id(x) if k <= 0 else ident(x, k - 1)


def weak(x, k):
    return weakref.ref(x) if k <= 0 else weak(x, k - 1)


@pytest.mark.parametrize("maker", [
    "lambda: n", "slice(n, 2)", "functools.partial(pow, n)", "[].append", "Held().m", "range(n)", "[n]", "{1: n}", "Held()", "iter([n])", "itertools.count(n)",
    "(x for x in [n])", "property(ident)", "{n}", "{1: n}.keys()", "super(Held, Held())", "operator.itemgetter(n)", "ValueError(n)", "type('T', (), {})",
])  # fmt: skip
def test_an_object_is_one_here_and_in_a_function_that_stays_a_call(maker):
    space = {**globals(), "Held": Held}
    exec(f"def f(n, k):\n a = {maker}\n one = ident(a, k)\n b = {maker}\n return one == ident(b, k), ident(a, k) == one, id(a) == one", space)
    exec(f"def g(n, k):\n a = {maker}\n one = weak(a, k)\n return one() is a, weak(a, k) is one, one() is weak(a, k + 1)()", space)
    for f in (space["f"], space["g"]):
        try:
            expected = f(1, 2)
        except TypeError:       # no weak references to these
            continue
        assert hovis.specialize(f, hovis.Int, hovis.Int)(1, 2) == hovis.jit(f)(1, 2) == expected


class Held:
    def m(self):
        pass


# ------------------------------------------------------------------------------------------------- which tuple it is

def replaced_in_a_loop(items, *given):
    """As context managers go through the exceptions of one another (CPython's test_with)."""
    found = given
    for item in items:
        if item:
            found = (None, None, None)
    return found is not given


def replaced(items, *given):
    found = given
    if items:
        found = (None, None, None)
    return found is not given, found is given, found == given


def one_of_two(items, *given):
    a, b = (len(items), 1), (len(items), 1)
    c = a if items else b
    return c is a, c is b, a is b, a == b


def made_each_time(items, *given):
    before, same = None, []
    for item in items:
        now = (1, 2) if item else (1, item)
        same.append(now is before)
        before = now
    return same


def kept_while_it_goes_round(items, *given):
    first = now = (len(given), None)
    for item in items:
        if item:
            now = (3, None)
        if now is first:
            now = first
    return now is first, now


@pytest.mark.parametrize("how", [{}, {"fuel": 100}, {"fuel": 300}, {"fuel": 1_000}], ids=str)
@pytest.mark.parametrize("way", ["specialize", "jit"])
@pytest.mark.parametrize("fn", [replaced_in_a_loop, replaced, one_of_two, kept_while_it_goes_round, made_each_time], ids=lambda fn: fn.__name__)
def test_which_tuple_it_is(fn, way, how):
    def outer(items):
        return fn(items, None, None, None)

    residual = hovis.options(**how).specialize(outer, hovis.Any) if way == "specialize" else hovis.jit(outer, **how)
    for items in ([], [0], [1], [0, 1], [1, 0], [1, 1], [0, 0]):
        assert residual(items) == outer(items)
