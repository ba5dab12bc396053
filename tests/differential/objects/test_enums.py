"""Enumerations, and what dataclasses do with their objects, beside CPython: one expression a case."""
from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import types

import pytest

import hovis
from hovis import Any, Int
from hovis.ir import Effect
from tests.differential.harness.compare import observe, same


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    ALIAS = 1

    @property
    def up(self):
        return self.name.upper() + str(self.value)

    @classmethod
    def _missing_(cls, value):
        if value == "boom":
            raise KeyError(value)
        return {"r": cls.RED, "odd": 5}.get(value)


class Plain(enum.Enum):
    A = "a"
    B = (1, 2)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    A = "a"
    B = enum.auto()


class Mixed(str, enum.Enum):
    A = "a"


class Own(enum.IntEnum):
    A = 1

    def __add__(self, other):
        return "own"

    def __str__(self):
        return f"<{self.name}>"


class Right(enum.Flag):
    R = 4
    W = 2
    X = 1


class Bits(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: int
    y: float = 2.0
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Labelled:
    point: Point
    name: str = "q"
    level: Level = Level.LOW


@dataclasses.dataclass
class Copied:
    x: object

    def __deepcopy__(self, memo):
        return Copied("copied")


TABLE = {Color.RED: "r", Color.GREEN: "g"}

#: Nothing of these is left as an opaque call.
FOLDED = """
list(Level)
tuple(Color)
[m for m in Color]
[*Level]
Level.HIGH in Level
list(Color.__members__.items())
list(reversed(Level))
max(Level), min(Level), sum(Level)
len(Color)
[i for i, m in enumerate(Color)]
TABLE[Color.RED]
TABLE.get(Color.GREEN, x)
{Color.RED: x, Color.GREEN: 2}[Color.RED]
Color.RED in TABLE
Color.RED in (Color.RED, Color.GREEN)
Color.RED.up
Color["RED"] is Color.ALIAS
Color(1), Color("r"), Color(Color.GREEN), Plain((1, 2))
sum(p.value for p in Level)
Level.LOW < Level.HIGH, Level.HIGH > x, Level.HIGH == 2, Level.HIGH == "2", Level.HIGH != 2.0
Level.HIGH + x, 3 - Level.HIGH, Level.HIGH * 1.5, Level.HIGH % 2
dict(zip(Color, (x, 2)))
{c: x for c in Color}
f"{Color.RED}", f"{Level.HIGH:>3}", f"{Color.RED!r}", "%s" % Color.RED, "{}|{!r}".format(Color.RED, Level.LOW), str(Word.A), repr(Mixed.A)
int(Level.HIGH), float(Level.HIGH)
range(Level.HIGH)
[x] * Level.HIGH
[10, 20, 30][Level.HIGH]
Color.RED == 1, Color.RED != Color.GREEN
Word.A == "a", Word.A + "b", Word.B.upper(), "A".lower() == Word.A, Mixed.A == "a", Mixed.A.startswith("a")
Right.R | Right.W, Right.R & Right.W, Right.R ^ Right.R, ~Right.R, bool(Right.R & Right.W), Right(6), Right.R in Right.R | Right.X
(Right.R | Right.X).value + x
Bits.A | Bits.B, Bits(3), Bits.A & Bits.B
dataclasses.asdict(Point(x)), dataclasses.asdict(Labelled(Point(x, tags=[1, [x]])))
dataclasses.astuple(Labelled(Point(x)))
dataclasses.replace(Labelled(Point(1)), name=str(x))
[f.name for f in dataclasses.fields(Point(x))], [f.default for f in dataclasses.fields(Labelled)]
copy.deepcopy([x, (1, [x]), {"a": Point(x)}])
types.MappingProxyType({"a": x})["a"], dict(types.MappingProxyType({"a": x}))
""".strip().splitlines()

OTHERS = """
sorted(Level)
set(Color) == {Color.RED, Color.GREEN}
{Color.RED, Color.GREEN} == set(Color), Color.RED in {Color.RED}
dict(Level.__members__)
Color(x), Level(x), Right(x), Bits(x)
Color("nothing")
Color("boom")
Color("odd")
Plain(3)
Right(8)
Bits(8), Bits.A | 8, Bits.A | x
Color.RED < Color.GREEN
Color["NONE"]
{}[Level.HIGH]
[1][Level.HIGH]
"a" + Level.HIGH
[] + Level.HIGH
f"{Own.A}", str(Own.A), "{}".format(Own.A), "%s" % Own.A
Own.A + 1, 1 + Own.A, Own.A == 1
"%d" % Level.HIGH, "%s" % Mixed.A, "%5.1f" % Level.LOW
bool(Level.HIGH), hash(Level.HIGH) == 2, abs(Level.HIGH), -Level.HIGH
collections.Counter([Color.RED, Color.RED])
next(iter(Color))
Color._missing_(3)
hasattr(Color, "RED"), getattr(Color, "NONE", x)
dataclasses.asdict(Point(x, tags=Copied(x)))
dataclasses.asdict(x)
dataclasses.replace(Point(1), z=x)
(lambda shared: copy.deepcopy([shared, shared]))([x])
(lambda own: own.append(own) or copy.deepcopy(own))([x])
copy.deepcopy(Copied(x)), copy.deepcopy([Level.LOW, Color.RED, int, len, frozenset([1])])
types.MappingProxyType({"a": x})["b"]
types.MappingProxyType([x])
type(types.MappingProxyType({1: x})), types.MappingProxyType({1: x})
""".strip().splitlines()


def function(text):
    scope = {**globals(), "collections": collections, "copy": copy, "types": types}
    exec(f"def case(x): return {text}", scope)
    return scope["case"]


@pytest.mark.parametrize("text", [*FOLDED, *OTHERS])
def test_beside_itself(text):
    fn = function(text)
    calls = hovis.specialize(fn, Int), hovis.specialize(fn, Any), hovis.jit(fn)
    for x in (1, 7):
        expected = observe(fn, (x,))
        for call in calls:
            same(expected, observe(call, (x,)), text)
            assert [f[1:] for f in observe(call, (x,)).frames] == [f[1:] for f in expected.frames]


@pytest.mark.parametrize("text", FOLDED)
def test_what_is_known_folds(text):
    trace = hovis.trace(function(text), Int)
    assert not [op for op in trace.ops if op.effect & Effect.OPAQUE], trace


def test_an_enumeration_that_was_changed_is_looked_at_again():
    class Open(enum.Enum):
        A = 1

    jitted = hovis.jit(lambda: [m.name for m in Open])
    assert jitted() == ["A"]
    Open._member_names_.append("B")
    Open._member_map_["B"] = Open.A
    assert jitted() == ["A", "A"]
