"""What a finalizer changes in the midst of a call is seen: every kind of thing that is read, behind every kind of op that lets go of something.

The residual tests what it has read where it stands (``hovis.backend.assembler.selection.inline_guards``), and asks nothing where nothing would become known by it.
"""

import contextlib
import dis
from typing import Any

import pytest

import hovis
from hovis.engine.environment import guards
from hovis.engine.environment.guards import _KEEPS_BASES

HEAD = """
import sys, types
K, BIG, TEXT, NOTHING = 3, 10 ** 12, "a", None
TABLE, NAMES = [1, 2, 3], {"one": 1}
OTHER = types.ModuleType("other"); OTHER.K = 5
def g(v): return v * 2
def h(v, w=1): return v + w
def k(v, *, w=1): return v + w
def cell():
    inner = 4
    def change(v):
        nonlocal inner
        inner = v
    def read(): return inner
    return read, change
read, change = cell()
class Base:
    def m(self): return 1
    def n(self): return 1
class Left(Base): pass
class Right(Base):
    def n(self): return 2
class C(Left):
    data = 1
    def __init__(self): self.own = 1
    def o(self): return self.m() + self.n()
class D(C):
    def m(self): return 7
class S:
    __slots__ = ("s",)
    def __init__(self): self.s = 1
    def m(self): return self.s
THING, SLOTTED = C(), S()
class Fin:
    def __init__(self, act): self.act = act
    def __del__(self): self.act()
class P: pass
def attempt(f, *args):
    try: return f(*args)
    except Exception as e: return type(e).__name__
"""

#: What is read in each round, and what the finalizer does to that.
CHANGES = {
    "a global": ("K", "globals().__setitem__('K', 4)"),
    "a global that goes": ("K", "globals().pop('K')"),
    "a global, to another object of the same value": ("BIG", "globals().__setitem__('BIG', int('1' + '0' * 12))"),
    "a global, to an equal value of another type": ("K", "globals().__setitem__('K', 3.0)"),
    "a global that is None": ("NOTHING is None", "globals().__setitem__('NOTHING', 0)"),
    "a text": ("TEXT + 'b'", "globals().__setitem__('TEXT', 'c')"),
    "a builtin that is hidden": ("len('ab')", "globals().__setitem__('len', lambda x: 9)"),
    "a builtin that is hidden by itself": ("len('ab')", "globals().__setitem__('len', len)"),
    "a global of another module": ("OTHER.K", "setattr(OTHER, 'K', 6)"),
    "a global of another module that goes": ("OTHER.K", "delattr(OTHER, 'K')"),
    "another function": ("g(i)", "globals().__setitem__('g', lambda v: -v)"),
    "the code of a function": ("g(i)", "setattr(g, '__code__', (lambda v: -v).__code__)"),
    "the defaults of a function": ("h(i)", "setattr(h, '__defaults__', (9,))"),
    "defaults that go": ("h(i)", "setattr(h, '__defaults__', None)"),
    "defaults that are not used": ("h(i, 2)", "setattr(h, '__defaults__', None)"),
    "defaults that are missing": ("g()", "setattr(g, '__defaults__', (5,))"),
    "the defaults of keyword-only parameters": ("k(i)", "setattr(k, '__kwdefaults__', {'w': 9})"),
    "an item of those": ("k(i)", "k.__kwdefaults__.__setitem__('w', 9)"),
    "a closure's variable": ("read()", "change(8)"),
    "an item of a list": ("TABLE[1]", "TABLE.__setitem__(1, 8)"),
    "a list that gets shorter": ("TABLE[2]", "TABLE.pop()"),
    "an item of a dict": ("NAMES['one']", "NAMES.__setitem__('one', 8)"),
    "an item of a dict that goes": ("NAMES['one']", "NAMES.clear()"),
    "a method": ("THING.o()", "setattr(Base, 'm', lambda self: 9)"),
    "a method of a subclass": ("THING.o()", "setattr(C, 'm', lambda self: 9)"),
    "a method that goes": ("THING.o()", "delattr(Base, 'm')"),
    "the bases of a class": ("THING.o()", "setattr(C, '__bases__', (Right,))"),
    "the class of an object": ("THING.o()", "setattr(THING, '__class__', D)"),
    "a datum of a class": ("THING.data", "setattr(C, 'data', 9)"),
    "an attribute": ("THING.own", "setattr(THING, 'own', 9)"),
    "an attribute that a property hides": ("THING.own", "setattr(C, 'own', property(lambda self: 9))"),
    "an attribute that a hook answers": ("THING.own", "setattr(C, '__getattribute__', lambda self, name: 9)"),
    "an attribute that goes, to a hook": ("THING.own", "(delattr(THING, 'own'), setattr(C, '__getattr__', lambda self, name: 9))"),
    "a slot": ("SLOTTED.m()", "setattr(SLOTTED, 's', 9)"),
    "an attribute of an unknown object": ("o.u", "setattr(P, 'u', property(lambda self: 9))"),
    "the same, by a hook": ("o.u", "setattr(P, '__getattribute__', lambda self, name: 9)"),
    "how attributes are set": ("(setattr(o, 'u', i), o.u)[1]", "setattr(P, '__setattr__', lambda self, name, value: None)"),
}

#: Where the finalizer is, and the statement that lets go of it in round i.
DROPS = {
    "an item of a list": ("xs", "xs[i] = 0"),
    "an item of a dict": ("d", "d[i] = 0"),
    "a removed item": ("d", "del d[i]"),
    "an attribute": ("qs", "o.x = qs.pop()"),
    "a variable": ("qs", "v = qs.pop(); v = None"),
    "the end of a call": ("qs", "drop(qs)"),
}

LOOP = """
def drop(qs):
    v = qs.pop()
    return None
def run(xs, d, o, qs, n):
    found = []
    for i in range(n):
        found.append({read})
        {drop}
        found.append({read})
    return found
"""
ROUNDS = 4


def _outcome(changed: str, drop: str, at: int, jit: bool) -> list[Any]:
    (read, change), (where, statement) = CHANGES[changed], DROPS[drop]
    scope: dict[str, Any] = {"__name__": "looked_at"}
    exec(HEAD + LOOP.format(read=read, drop=statement), scope)
    run = hovis.jit(scope["run"]) if jit else scope["run"]
    found = []
    for act in (lambda: None, eval(f"lambda: {change}", scope), lambda: None):
        held: dict[str, list[Any]] = {name: list(range(ROUNDS)) for name in ("xs", "d", "qs")}
        held[where][ROUNDS - 1 - at if where == "qs" else at] = scope["Fin"](act)
        xs, d, qs = held["xs"], dict(enumerate(held["d"])), held["qs"]
        held.clear()
        o = scope["P"]()
        object.__getattribute__(o, "__dict__")["u"] = 1
        try:
            found.append(repr(run(xs, d, o, qs, ROUNDS)))
        except Exception as error:
            found.append(f"{type(error)}: {error}")
    return found


@pytest.mark.parametrize("drop", DROPS)
@pytest.mark.parametrize("changed", CHANGES)
def test_what_a_finalizer_changes_is_seen(changed: str, drop: str) -> None:
    assert _outcome(changed, drop, 1, True) == _outcome(changed, drop, 1, False)


def test_each_look_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Residuals that test nothing where they look are told apart from what they should be: the test above can fail."""
    monkeypatch.setattr(guards.Look, "probes", lambda look: [])
    unseen = {changed for changed in CHANGES if _outcome(changed, "an item of a dict", 1, True) != _outcome(changed, "an item of a dict", 1, False)}
    assert len(unseen) > len(CHANGES) // 2, unseen


def test_a_class_derived_from_object_alone_keeps_its_bases() -> None:
    """Before 3.15, no residual looks whether it has: CPython refuses."""

    class Alone: ...

    class Slots:
        __slots__ = ()

    class Other: ...

    for cls in (Alone, Slots):
        for bases in ((Other,), (Slots, Other), (Other, object), (int,), (object, Other), (dict,), (object, object)):
            if _KEEPS_BASES:
                with pytest.raises(TypeError):
                    cls.__bases__ = bases
            else:
                with contextlib.suppress(TypeError):
                    cls.__bases__ = bases
        assert cls.__mro__ == (cls, object) or not _KEEPS_BASES


@pytest.mark.parametrize("way", [hovis.jit, lambda fn: hovis.Options(frozen=False).specialize(fn, hovis.Any)], ids=["jit", "specialize"])
def test_bases_that_are_assigned(way) -> None:
    class First:
        def name(self) -> str: return "first"

    class Second:
        def name(self) -> str: return "second"

    class Alone: ...

    class Held(First): ...

    def asked(value: Any) -> Any:
        return isinstance(value, Second), isinstance(value, First), getattr(value, "name", str)()

    compiled = way(asked)
    for cls in (Held, Alone):
        assert [compiled(cls()) for _ in range(3)] == [asked(cls())] * 3
        with contextlib.suppress(TypeError):
            cls.__bases__ = (Second,)
        assert [compiled(cls()) for _ in range(3)] == [asked(cls())] * 3


def test_a_global_is_loaded_where_it_is_looked_at() -> None:
    """No call in a loop: LOAD_GLOBAL and a comparison."""
    scope: dict[str, Any] = {"K": 3}
    exec("def run(d, n):\n for i in range(n):\n  d[i] = i + K\n return d", scope)
    run = hovis.jit(scope["run"])
    assert run({}, 100) == {i: i + 3 for i in range(100)}
    code = next(iter(run._variants.values())).call.__code__
    instructions = list(dis.get_instructions(code))
    assert any(i.opname == "LOAD_GLOBAL" and i.argval == "K" for i in instructions)
