"""Objects that the trace has made, and other code changes: their class, their dictionary, attributes and slots, and what their class has.

Under `hovis.specialize` what classes have is frozen (docs/semantics.md).
"""
from __future__ import annotations

import os
import re
import zlib

import pytest

import hovis

CLASSES = """
class Base: pass
class OtherBase:
    from_base = "other base"

class Old(Base):
    kind = "old"
    def __init__(self, n): self.n = n
    def who(self): return "old", self.n
    def __len__(self): return 1
    def __add__(self, x): return "old add", x
    @property
    def prop(self): return "old prop"
    def __eq__(self, other): return "old eq"
    __hash__ = object.__hash__
    def __call__(self): return "old call"
    def __iter__(self): return iter(["old"])
    def __enter__(self): return "old enter"
    def __exit__(self, *error): return None
    def __getitem__(self, key): return "old item"
    def __contains__(self, key): return False
    def __bool__(self): return False
    def __getattr__(self, name): return "old " + name

class New(Old):
    kind = "new"
    def who(self): return "new", self.n
    def __len__(self): return 2
    def __add__(self, x): return "new add", x
    @property
    def prop(self): return "new prop"
    def __eq__(self, other): return "new eq"
    __hash__ = object.__hash__
    def __call__(self): return "new call"
    def __iter__(self): return iter(["new"])
    def __enter__(self): return "new enter"
    def __getitem__(self, key): return "new item"
    def __contains__(self, key): return True
    def __bool__(self): return True
    def __getattr__(self, name): return "new " + name

class Slots:
    __slots__ = ("n", "x")
    def __init__(self, n): self.n = n
    def who(self): return "slots", self.n

class OtherSlots:
    __slots__ = ("n", "x")
    def who(self): return "other slots", self.n

def entered(o):
    with o as x:
        return x
"""

USES = [
    "o.who()", "o.kind", "len(o)", "o + 1", "o.prop", "o == 3", "o()", "list(o)", "o[1]", "1 in o", "bool(o)", "o.missing", "type(o).__name__", "isinstance(o, New)",
    "o.__class__.__name__", "o.n", "1 if o else 2", "[x for x in o]", "o.__dict__", "hasattr(o, 'added')", "getattr(o, 'added', 'none')", "vars(o)", "entered(o)",
    "(lambda other: other.who())(o)", "o.who.__func__ is New.who", "getattr(o, 'from_base', 'none')", "sorted(o.__dict__)", "{o: 1}[o]", "f'{o.n}'",
]

#: What other code does to an object.
CHANGES = {
    "another class": "o.__class__ = New",
    "another class, past __setattr__": "object.__setattr__(o, '__class__', New)",
    "another dictionary": "o.__dict__ = {'n': 77, 'added': 1, 'who': lambda: 'own who'}",
    "past __setattr__": "object.__setattr__(o, 'n', 66)",
    "shadowed": "o.__dict__.update(kind='shadow', who=lambda: 'shadow who')",
    "cleared": "o.__dict__.clear()",
    "deleted": "del o.n",
}

#: What it does to the class, and undoes.
OF_CLASSES = {
    "attribute": ("Old.kind = 'changed'", "Old.kind = 'old'"),
    "method": ("Old.was, Old.who = Old.who, lambda self: 'patched'", "Old.who = Old.was; del Old.was"),
    "special method": ("Old.was, Old.__len__ = Old.__len__, lambda self: 9", "Old.__len__ = Old.was; del Old.was"),
    "property": ("Old.was, Old.prop = Old.__dict__['prop'], 'no property'", "Old.prop = Old.was; del Old.was"),
    "added": ("Old.added = 'added'", "del Old.added"),
    "bases": ("Old.__bases__ = (OtherBase,)", "Old.__bases__ = (Base,)"),
}

#: Where the object is.
PLACES = {
    "a variable": "def f(n, change):\n o = MADE(n)\n change(o)\n return USE",
    "itself": "def f(n, change):\n o = MADE(n)\n o.x = [o]\n change(o.x[0])\n return USE",
    "before and after": "def f(n, change):\n o = MADE(n)\n a = USE\n change(o)\n return a, USE",
    "a branch": "def f(n, change):\n o = MADE(n)\n if n > 2:\n  change(o)\n return USE",
    "a loop": "def f(n, change):\n o = MADE(n)\n out = []\n for i in range(n):\n  if i == 1: change(o)\n  out.append(USE)\n return out",
    "a closure": "def f(n, change):\n def get(): return o\n o = MADE(n)\n change(get())\n return USE",
    "self": "class Sub(MADE):\n __slots__ = ()\n def go(self, change):\n  o = self\n  change(self)\n  return USE\ndef f(n, change):\n return Sub(n).go(change)",
}


def tried(f, *args):
    try:
        shown = repr(f(*args))
    except Exception as e:
        shown = repr(e)
    return re.sub("0x[0-9a-f]+", "", shown)


def program(place, use, made="Old"):
    space = {"__name__": __name__}
    exec(CLASSES + place.replace("MADE", made).replace("USE", use), space)
    return space


def drawn(*name):
    return "HOVIS_EXAMPLES" in os.environ or zlib.crc32(" ".join(name).encode()) % 10 == 0


@pytest.mark.parametrize("use", USES)
def test_an_object_is_changed(use):
    for name, change in CHANGES.items():
        for place, text in PLACES.items():
            if drawn(use, name, place):
                space = program(text, use)
                exec(f"def change(o): {change}", space)
                f, by = space["f"], hovis.boundary(space["change"])
                expected, jitted = tried(f, 3, by), hovis.jit(f)
                assert [tried(jitted, 3, by) for _ in range(2)] == [expected] * 2, (name, place)
                residual = hovis.specialize(f, hovis.Int, hovis.Any)
                assert [tried(residual, 3, by) for _ in range(2)] == [expected] * 2, (name, place)


@pytest.mark.parametrize("use", USES)
def test_a_class_is_changed(use):
    for name, (change, back) in OF_CLASSES.items():
        for place, text in PLACES.items():
            if drawn(use, name, place):
                space = program(text, use)
                exec(f"def change(o):\n {change}\ndef back():\n {back}", space)
                f, by = space["f"], hovis.boundary(space["change"])
                expected, jitted = tried(f, 3, by), hovis.jit(f)
                space["back"]()
                for _ in range(2):
                    assert tried(jitted, 3, by) == expected, (name, place)
                    space["back"]()


@pytest.mark.parametrize("use", ["o.who()", "o.n", "type(o).__name__", "hasattr(o, 'x')", "o.__class__"])
@pytest.mark.parametrize("change", ["o.__class__ = OtherSlots", "o.x = 4", "del o.n", "object.__setattr__(o, 'n', 66)", "type(o).n.__set__(o, 55)"])
def test_slots_are_changed(use, change):
    for text in PLACES.values():
        space = program(text, use, "Slots")
        exec(f"def change(o): {change}", space)
        f, by = space["f"], hovis.boundary(space["change"])
        assert tried(hovis.jit(f), 3, by) == tried(hovis.specialize(f, hovis.Int, hovis.Any), 3, by) == tried(f, 3, by)


@pytest.mark.parametrize("use", USES)
def test_traced_code_gives_an_object_another_class(use):
    for place, text in PLACES.items():
        for old, new in (("f(n, change)", "f(n)"), ("go(change)", "go()"), ("(self, change)", "(self)")):
            text = text.replace(old, new)
        f = program(re.sub(r"change\((.*)\)$", r"\1.__class__ = New", text, flags=re.M), use)["f"]
        assert tried(hovis.specialize(f, hovis.Int), 3) == tried(hovis.jit(f), 3) == tried(f, 3), place
