"""Random functions on instances that have slots, a dictionary, or both, as arguments of both jits and of specs, against CPython."""

import importlib
import os
import random
import textwrap
from typing import Any

import pytest

import hovis
import hovis_xla

pytestmark = pytest.mark.xla

PROGRAMS = int(os.environ.get("HOVIS_EXAMPLES", "9"))
NAMES = ("a", "b", "c", "d")


class Plain:
    pass


class Slots:
    __slots__ = ("a", "b", "c", "d")


class Both:
    __slots__ = ("__dict__", "a", "b")


class Derived(Slots):
    """It has a dictionary, which no name of these ever comes into."""


class Half:
    __slots__ = ("b",)


class Open(Half):
    """A slot of the base, and the rest in the dictionary."""


class More(Plain):
    """A dictionary of the base, and slots besides."""

    __slots__ = ("a", "d")


class Again(Half):
    """One name, two slots."""

    __slots__ = ("__dict__", "b")


class Shadowed(Both):
    """A property stands before a slot and before what is in the dictionary."""

    @property
    def a(self) -> float:
        return 100.0

    @property
    def c(self) -> float:
        return 200.0


class Mangled:
    __slots__ = ("__a", "__dict__", "__weakref__")

    @property
    def a(self) -> Any:
        return self.__a

    @a.setter
    def a(self, new: Any) -> None:
        self.__a = new

    @a.deleter
    def a(self) -> None:
        del self.__a


KINDS = (Plain, Slots, Both, Derived, Open, More, Again, Shadowed, Mangled)


def content(o: Any) -> Any:
    """All that is in an instance, in slots and in its dictionary in order, found without asking the class."""
    slots = [(base.__name__, name) for base in type(o).__mro__ for name, held in vars(base).items() if type(held).__name__ == "member_descriptor"]
    found = []
    for cls, name in slots:
        base = next(base for base in type(o).__mro__ if base.__name__ == cls)
        try:
            found.append((cls, name, vars(base)[name].__get__(o)))
        except AttributeError:
            pass
    return found, list(getattr(o, "__dict__", {}).items())


class Writer:
    """Writes a function of two instances and a number."""

    def __init__(self, random: random.Random) -> None:
        self.random = random

    def statement(self, depth: int) -> list[str]:
        pick = self.random.choice
        o, name, other = pick("op"), pick(NAMES), pick(NAMES)
        value = pick(["s", "s + 1.0", "x * 2.0", f"getattr(o, {other!r}, 3.0)", "float(o is p)"])
        ways = [
            [f"s += getattr({o}, {name!r}, 0.5)"],
            [f"{o}.{name} = {value}"],
            [f"s += float(hasattr({o}, {name!r}))"],
            ["try:", f"    s += {o}.{name}", f"except AttributeError{pick(['', ' as e'])}:", "    s -= 7.0"],
            ["try:", f"    del {o}.{name}", "except AttributeError:", "    s *= 0.5"],
            ["try:", f"    {o}.{name} = {value}", "except AttributeError:", "    s *= 1.5"],
            [f"if hasattr({o}, '__dict__'):", f"    seen.append(list({o}.__dict__))"],
            [f"if hasattr({o}, '__dict__'):", f"    vars({o})[{name!r}] = {value}"],
            [f"s += {o}.{name}"],
            [f"setattr({o}, {name!r}, {value})"],
        ]
        if depth < 2:
            inner = [line for _ in range(self.random.randint(1, 2)) for line in self.statement(depth + 1)]
            ways += [[f"if {pick(['x > 0.0', 's > 2.0', f'hasattr(o, {name!r})'])}:", *(f"    {line}" for line in inner)]] * 2
        return pick(ways)

    def function(self) -> str:
        lines = [line for _ in range(self.random.randint(2, 6)) for line in self.statement(0)]
        return "def program(o, p, x):\n    s, seen = x, []\n" + textwrap.indent("\n".join(lines), "    ") + "\n    return s, seen, o is p\n"


def instance(kind: Any, filled: list[tuple[str, float]]) -> Any:
    o = kind()
    for name, value in filled:
        try:
            setattr(o, name, value)
        except AttributeError:
            # what stands behind a property
            o.__dict__[name] = value
    return o


def outcome(fn: Any, makes: Any) -> Any:
    """What a call gives, and what is left of its arguments."""
    o, p, x = makes()
    try:
        found = fn(o, p, x)
    except AttributeError as error:
        found = str(error)
    return repr((found, content(o), content(p)))


def arguments(random: random.Random, kinds: Any) -> Any:
    filled = [[(name, random.randint(1, 9) / 2) for name in random.sample(NAMES, random.randint(0, 4))] for _ in kinds]
    same, x = random.random() < 0.25, random.choice([1.5, -2.0])

    def makes() -> Any:
        o = instance(kinds[0], filled[0])
        return o, o if same else instance(kinds[1], filled[1]), x

    return makes


def spec(o: Any) -> Any:
    """The spec of an instance, whose attributes are floats; None if there is none."""
    slots, named = content(o)
    names = [*(name for _, name, _ in slots), *(name for name, _ in named)]
    return hovis.Instance(type(o), **dict.fromkeys(names, hovis.Float)) if len(set(names)) == len(names) else None


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_functions_of_instances(seed: int, tmp_path: Any, monkeypatch: Any) -> None:
    """Each is called with several fillings; one is known of the specs, and the others must not be taken for it."""
    drawing = random.Random(seed)
    kinds = drawing.choice(KINDS), drawing.choice(KINDS)
    text, calls = Writer(drawing).function(), [arguments(drawing, kinds) for _ in range(4)]
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"instances_{seed}.py").write_text(text)
    program = importlib.import_module(f"instances_{seed}").program
    ways = {"jit": hovis.jit(program), "xla": hovis_xla.jit(program, target="xla"), "python": hovis_xla.jit(program, target="python")}
    first, second, _ = calls[0]()
    specs = spec(first), spec(second)
    if None not in specs:
        traced = hovis.trace(program, *specs, hovis.Float)
        traced.save(tmp_path / "residual.py")
        ways |= {"residual": traced.compile(), "text": hovis.load(tmp_path / "residual.py")}
    for makes in [*calls, *calls]:
        wanted = outcome(program, makes)
        for name, way in ways.items():
            if first is not second or name in ("jit", "xla", "python"):
                assert outcome(way, makes) == wanted, (name, kinds, text)
