"""Draw programs of a theme, one area of Python's features: each theme is a small file of snippets, which are mixed with plain statements."""
from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from tests.differential.harness.choices import Choices, Drawn
from tests.differential.harness.drawing import plain, templates, themes
from tests.differential.harness.drawing.mutation import mutated
from tests.differential.harness.drawing.pruning import pruned
from tests.differential.harness.program import Program

MODULES: dict[str, ModuleType] = {
    name: importlib.import_module(f"{themes.__name__}.{name}") for _, name, _ in pkgutil.iter_modules(themes.__path__)}
THEMES = (*plain.THEMES, *MODULES, "corpus")
GIVEN = plain.GIVEN
COMMON = '''\
import collections, contextlib, copy, dataclasses, enum, functools, itertools, math, operator, types

G = 3
TABLE = {"a": 1, "x": 2}
LOG = []


def bump(x):
    return x + 1


def loud(x):
    print("loud", type(x).__name__)
    return x


def boom(x):
    raise ValueError("boom", x)


def poke(x):
    if isinstance(x, list):
        x.append(0)
    elif isinstance(x, dict):
        x["a"] = 0
    return x


def falsy(x):
    return []


'''
VALUES: dict[str, list[str]] = {"fn": ["bump", "loud", "boom", "poke", "falsy", "abs", "str", "len", "lambda x: x"],
                                "bytes": ["b''", "b'ab'", "b'\\xff0'"]}


class Writer(plain.Writer):
    """Writes a program of one theme's snippets, with plain statements between them."""

    def __init__(self, choices: Choices, theme: str) -> None:
        super().__init__(choices, "control")
        self.module = MODULES[theme]
        self.snippets = templates.snippets(self.module.STATEMENTS)
        self.known_expressions: dict[str, tuple[str, ...]] = getattr(self.module, "EXPRESSIONS", {})

    def statement(self) -> None:
        if self.budget <= 0 or self.depth > 5:
            return self.assign() if self.chance(60) else self.print_()
        if self.chance(65):
            self.budget -= 2
            templates.write(self, self.pick(self.snippets))
        else:
            self.theme = self.pick(plain.THEMES[1:])
            super().statement()

    def made(self, kind: str) -> str:
        """Assign a new variable of this kind; return its name."""
        name = f"v{next(self.fresh)}"
        value = self.expression(kind, 0)
        self.put(f"{name} = {value}")
        self.bind(name, kind)
        return name

    def expression(self, kind: str, depth: int = 2) -> str:
        plainly = hasattr(plain.Writer, "_" + kind) or kind in VALUES
        if kind not in self.known_expressions or (plainly and (depth <= 0 or self.chance(55))):
            return super().expression(kind, depth)
        known = self.variable(kind)
        if known and self.chance(60):
            return known
        return self.own(kind, depth) if depth > -2 else super().expression(kind, 0) if plainly else "0"

    def condition(self, depth: int) -> str:
        return self.own("cond", depth) if "cond" in self.known_expressions and self.chance(50) else super().condition(depth)

    def own(self, kind: str, depth: int) -> str:
        """Draw one of the theme's expressions."""
        text = templates.fill(self, self.pick(self.known_expressions[kind]), depth - 1)
        return templates.rename(text, next(self.fresh))

    def _fn(self, depth: int) -> str:
        return self.pick(VALUES["fn"][:7] + ["(lambda q: q)", "(lambda *a: len(a))"])

    def _bytes(self, depth: int) -> str:
        return self.pick(VALUES["bytes"])

    def constant(self, kind: str) -> str:
        return self.pick(VALUES[kind]) if kind in VALUES else super().constant(kind)

    def argument(self, kind: str) -> str:
        own: dict[str, list[str]] = getattr(self.module, "VALUES", {})
        return self.pick(own.get(kind) or VALUES[kind]) if kind in own or kind in VALUES else super().argument(kind)


def draw(choices: Choices, theme: str) -> Program:
    if theme == "corpus":
        return mutated(choices)
    if theme in plain.THEMES:
        return plain.write(choices, theme)
    writer = Writer(choices, theme)
    module = writer.module
    kinds = [choices.pick(getattr(module, "KINDS", ("int", "int", "list", "str", "fn", "float"))) for _ in range(choices.number(1, 3))]
    parameters = ["p", "q", "r"][:len(kinds)]
    size = choices.pick((1, 1, 1, 2, 2, 3))
    writer.scope, writer.budget, writer.nesting = dict(zip(parameters, kinds)), 2 + 2 * size, 1
    writer.put(f"def f({', '.join(parameters)}):")
    writer.depth = 1
    writer.put("kept = []")
    if hasattr(module, "FIRST"):
        writer.put(module.FIRST)
    for _ in range(size):
        writer.statement()
    shown = [writer.variable() or "0" for _ in range(choices.number(1, 3))]
    if hasattr(module, "LAST"):
        writer.put(module.LAST)
    writer.put(f"return {', '.join(shown)}, kept")
    given = [choices.pick(getattr(module, "HOW", GIVEN)) for _ in kinds]
    calls = [[writer.argument(kind) for kind in kinds] for _ in range(2)]
    changes = [choices.pick(templates.snippets(module.CHANGES))] if hasattr(module, "CHANGES") and (hasattr(module, "MUTATED") or choices.chance(70)) else []
    shared = None
    alike = [(i, j) for i in range(len(kinds)) for j in range(i + 1, len(kinds))
             if kinds[i] == kinds[j] and kinds[i] in ("list", "dict", "point", "set") and given[i] == given[j] == "type"]
    if alike and choices.chance(30):
        shared = choices.pick(alike)
    body = "\n".join(writer.lines) + "\n"
    prelude = pruned(COMMON + getattr(module, "PRELUDE", "") + plain.PRELUDE, "\n".join([body, *changes, *(argument for call in calls for argument in call)]))
    return Program(prelude + body, parameters, given, calls, shared, changes)


@st.composite
def programs(draw_: Any, theme: str) -> Program:
    return draw(Drawn(draw_), theme)


__all__ = ["MODULES", "THEMES", "draw", "programs"]
