"""Draw terminating Python programs, calls of them, and a split of the arguments into known and unknown.

A program is source text: a prelude of classes and helpers, drawn helper functions, and `f`, whose arguments are drawn
from its parameters' kinds. It may raise; it terminates, since every loop has its own counter and helpers call only
helpers defined before them; its numbers and containers stay small, since values that could double in a loop are truncated.
"""
from __future__ import annotations

import itertools
import math
import re
from typing import Any

from hypothesis import strategies as st

from tests.differential.harness.choices import Choices, Drawn
from tests.differential.harness.drawing.pruning import pruned
from tests.differential.harness.program import Program

PRELUDE = '''\
class Point:
    scale = 2

    def __init__(self, x, y=1):
        self.x = x
        self.y = y

    def moved(self, dx=1):
        self.x += dx
        return self

    def size(self):
        return self.x * self.scale + self.y

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x

    __hash__ = None


class Tight:
    __slots__ = ("x", "y")

    def __init__(self, x):
        self.x = x


class Guard:
    def __init__(self, name, swallow):
        self.name = name
        self.swallow = swallow

    def __enter__(self):
        print("enter", self.name)
        return self

    def __exit__(self, kind, error, trace):
        print("exit", self.name, kind is not None)
        return self.swallow


class Oops(Exception):
    pass
'''

NAN = float("nan")
VALUES: dict[str, list[Any]] = {
    "int": [0, 1, 2, -1, 3, 5, -7, 10, 255, 2**31, -2**63, 2**64 + 1, 10**30],
    "float": [0.0, 1.0, -0.0, 0.5, -1.5, 2.0, 1e300, math.inf, -math.inf, NAN, 5e-324],
    "bool": [False, True],
    "str": ["", "a", "ab", "x", "hello", "é", "0"],
    "none": [None],
}
SCALARS = ("int", "float", "bool", "str")
GIVEN = ("type", "type", "type", "const", "const", "Any", "partial")
THEMES = ("numbers", "heap", "control", "calls")


class Writer:
    """Writes one program; the simplest alternative comes first, so that hypothesis can shrink."""

    def __init__(self, choices: Choices, theme: str) -> None:
        self.pick, self.chance, self.number = choices.pick, choices.chance, choices.number
        self.theme = theme
        self.lines: list[str] = []
        self.depth = 0                      # indentation depth
        self.loops = 0                      # number of loops around this statement
        self.nesting = 2                    # the maximum
        self.budget = 0
        self.scope: dict[str, str] = {}     # variables that are certainly bound, and the kind that they probably have
        self.counters: set[str] = set()     # variables that keep a loop finite
        self.functions: list[tuple[str, str]] = []      # helpers with the form of a call
        self.fresh = itertools.count()
        self.in_generator = False

    def put(self, line: str) -> None:
        line = re.sub(r"(?<![\w.])(\d+)(?=\.[a-z_])", r"(\1)", line)       # 3.real is a syntax error
        self.lines.append("    " * self.depth + line)

    def variable(self, *kinds: str) -> str | None:
        names = [name for name, kind in self.scope.items() if kind in kinds or not kinds]
        return self.pick(names) if names else None

    def new(self, kind: str) -> str:
        """Return a name to assign: often an existing one, so that different kinds meet at merge points."""
        names = [n for n in self.scope if n not in self.counters]
        if names and self.chance(45):
            name = self.pick(names)
        else:
            name = f"v{next(self.fresh)}"
        return name

    def bind(self, name: str, kind: str) -> None:
        self.scope[name] = kind

    # -- expressions

    def constant(self, kind: str) -> str:
        if kind == "float":
            return self.pick(["0.0", "1.0", "0.5", "-0.0", "2.5", "1e300", "float('inf')", "float('nan')"])
        return repr(self.pick(VALUES[kind]))

    def expression(self, kind: str, depth: int = 2) -> str:
        """Draw an expression whose value is probably of this kind."""
        if self.number(0, 59) == 31:
            kind = self.pick(["int", "str", "none", "list", "float"])      # a wrong type: raises, or not
        if self.number(0, 299) == 77:
            return "unbound_name"
        known = self.variable(kind)
        if known and (depth <= 0 or self.chance(35)):
            return known
        if depth <= 0:
            return {"list": "[]", "dict": "{}", "set": "set()", "tuple": "()", "point": "Point(1)", "tight": "Tight(2)"}.get(kind) or self.constant(kind)
        return getattr(self, "_" + kind)(depth - 1)

    def _none(self, depth: int) -> str:
        return "None"

    def _int(self, depth: int) -> str:
        e = self.expression
        form = self.number(0, 17)
        if form <= 1:
            return self.constant("int")
        if form <= 5:
            return f"({e('int', depth)} {self.pick(['+', '-', '&', '|', '^'])} {e('int', depth)})"
        if form == 6:
            return f"({e('int', depth)} * {e('int', depth)} % 1000003)"
        if form == 7:
            return f"({e('int', depth)} {self.pick(['//', '%'])} {e('int', depth)})"
        if form == 8:
            return f"({self.pick(['-', '~', '+'])}{e('int', depth)})"
        if form == 9:
            return f"({e('int', depth)} {self.pick(['<<', '>>', '**'])} {self.number(0, 4)} & 65535)"
        if form == 10:
            return f"len({e(self.pick(['list', 'str', 'tuple', 'dict', 'set']), depth)})"
        if form == 11:
            return f"{e(self.pick(['list', 'tuple']), depth)}[{self.pick(['0', '-1', '1', e('int', 0)])}]"
        if form == 12:
            return f"{e('dict', depth)}.get({e('str', depth)}, {e('int', depth)})"
        if form == 13:
            return self.pick([f"{e('point', depth)}.x", f"{e('point', depth)}.size()", f"{e('tight', depth)}.x"])
        if form == 14:
            return f"({e('int', depth)} if {self.condition(depth)} else {e('int', depth)})"
        if form == 15:
            return f"{self.pick(['abs', 'int', 'bool', 'hash'])}({e('int', depth)})"
        if form == 16:
            return f"{self.pick(['min', 'max'])}({e('int', depth)}, {e('int', depth)})"
        return self.pick([f"sum({e('list', depth)})", f"({e('int', depth)} or {e('int', depth)})", f"({e('int', depth)} and {e('int', depth)})",
                          f"int({e('str', depth)} or 0)", self.call(depth)])

    def _float(self, depth: int) -> str:
        e = self.expression
        form = self.number(0, 6)
        if form == 0:
            return self.constant("float")
        if form <= 3:
            return f"({e('float', depth)} {self.pick(['+', '-', '*', '/'])} {e(self.pick(['float', 'int']), depth)})"
        if form == 4:
            return f"(-{e('float', depth)})"
        if form == 5:
            return f"({e('float', depth)} if {self.condition(depth)} else {e('int', depth)})"
        return self.pick([f"float({e('int', depth)})", f"abs({e('float', depth)})", f"({e('int', depth)} / {e('int', depth)})", f"{e('float', depth)} // 1"])

    def _bool(self, depth: int) -> str:
        return self.condition(depth)

    def condition(self, depth: int) -> str:
        e = self.expression
        form = self.number(0, 9)
        if form <= 3:
            kind = self.pick(["int", "int", "float", "str"])
            return f"({e(kind, depth)} {self.pick(['<', '>', '==', '!=', '<=', '>='])} {e(kind, depth)})"
        if form == 4:
            return f"({e(self.pick(['int', 'str', 'list', 'tuple']), depth)} {self.pick(['is', 'is not'])} None)"
        if form == 5:
            return f"({e('str', depth)} {self.pick(['in', 'not in'])} {e(self.pick(['dict', 'str', 'set']), depth)})"
        if form == 6:
            return f"isinstance({self.variable() or '0'}, {self.pick(['int', 'str', '(int, float)', 'list', 'Point'])})"
        if form == 7:
            return f"(not {e(self.pick(['int', 'list', 'str', 'float']), depth)})"
        if form == 8:
            return f"({e('int', depth)} < {e('int', depth)} <= {e('int', depth)})"
        return f"bool({e(self.pick(['list', 'int', 'dict', 'float']), depth)})"

    def _str(self, depth: int) -> str:
        e = self.expression
        return self.pick([
            lambda: self.constant("str"),
            lambda: f"({e('str', depth)} + {e('str', depth)})[:12]",
            lambda: f"str({e(self.pick(['int', 'float', 'bool']), depth)})[:12]",
            lambda: f"f\"{{{self.variable() or '1'}!s:.8}}-{{{self.variable('int', 'float') or '2'}}}\"[:20]",
            lambda: f"({e('str', depth)} * {self.number(0, 3)})[:12]",
            lambda: f"{e('str', depth)}.{self.pick(['upper', 'lower', 'strip', 'title'])}()",
            lambda: f"{e('str', depth)}[{self.pick(['0', '-1', '1:', ':1', '::-1'])}]",
            lambda: f"','.join([str(q) for q in {e('list', depth)}])[:20]",
            lambda: f"repr({e(self.pick(['float', 'int', 'str']), depth)})[:12]",
        ])()

    def _list(self, depth: int) -> str:
        e = self.expression
        return self.pick([
            lambda: f"[{', '.join(e('int', depth) for _ in range(self.number(0, 3)))}]",
            lambda: f"[{self.comprehension(depth)}]",
            lambda: f"({e('list', depth)} + {e('list', depth)})[:8]",
            lambda: f"list({e(self.pick(['tuple', 'list']), depth)})",
            lambda: f"{e('list', depth)}[{self.pick([':2', '1:', '::-1', '-2:'])}]",
            lambda: f"sorted({e('list', depth)})",
            lambda: f"[*{e('list', depth)}, {e('int', depth)}][:8]",
            lambda: f"list(range({e('int', depth)} % 5))",
            lambda: f"[a * b % 97 for a, b in zip({e('list', depth)}, {e('tuple', depth)})]",
            lambda: f"list({e('dict', depth)}.values())",
        ])()

    def comprehension(self, depth: int) -> str:
        inner = f"q{next(self.fresh)}"
        source = self.pick([f"range({self.number(0, 4)})", self.expression("list", depth) + "[:5]", self.expression("tuple", depth) + "[:5]"])
        saved = dict(self.scope)
        self.bind(inner, "int")
        body, test = self.expression("int", depth), self.condition(depth) if self.chance(40) else ""
        self.scope = saved
        return f"{body} for {inner} in {source}" + (f" if {test}" if test else "")

    def _tuple(self, depth: int) -> str:
        e = self.expression
        return self.pick([
            lambda: f"({e('int', depth)}, {e('int', depth)})",
            lambda: "()",
            lambda: f"tuple({self.comprehension(depth)})",
            lambda: f"({e('int', depth)}, *{e('list', depth)})[:6]",
            lambda: f"tuple({e('list', depth)})",
            lambda: f"divmod({e('int', depth)}, {e('int', depth)})",
        ])()

    def _dict(self, depth: int) -> str:
        e = self.expression
        return self.pick([
            lambda: self.display(depth),
            lambda: f"dict(a={e('int', depth)}, x={e('int', depth)})",
            lambda: f"{{**{e('dict', depth)}, 'a': {e('int', depth)}}}",
            lambda: f"dict({e('dict', depth)})",
            lambda: "{str(q): q for q in " + e("list", depth) + "[:5]}",
        ])()

    def display(self, depth: int) -> str:
        items = [f"{self.constant('str')}: {self.expression('int', depth)}" for _ in range(self.number(0, 3))]
        return "{" + ", ".join(items) + "}"

    def _set(self, depth: int) -> str:
        return self.pick([f"{{{self.constant('str')}, {self.expression('str', depth)}}}", f"set({self.expression('str', depth)})", "set()"])

    def _point(self, depth: int) -> str:
        e = self.expression
        return self.pick([f"Point({e('int', depth)})", f"Point({e('int', depth)}, y={e('int', depth)})", f"{e('point', depth)}.moved({e('int', depth)})"])

    def _tight(self, depth: int) -> str:
        return f"Tight({self.expression('int', depth)})"

    def call(self, depth: int) -> str:
        """Draw a call of a helper, in one of the ways that its parameters allow."""
        if not self.functions:
            return self.constant("int")
        name, form = self.pick(self.functions)
        e = lambda: self.expression("int", depth)      # noqa: E731
        if form == "plain":
            return f"{name}({e()}, {e()})"
        if form == "defaults":
            return self.pick([f"{name}({e()})", f"{name}({e()}, {e()})", f"{name}({e()}, b={e()})", f"{name}(b={e()}, a={e()})", f"{name}({e()}, c={e()})"])
        if form == "star":
            return self.pick([f"{name}({e()}, {e()}, {e()})", f"{name}({e()}, *{self.expression('list', depth)}[:4], k={e()})",
                              f"{name}({e()}, **{self.expression('dict', depth)})", f"{name}()"])
        if form == "mutates":
            return f"{name}({self.expression('list', depth)}, {e()})"
        if form == "recursive":
            return f"{name}({e()} % 6, {e()})"
        if form == "generator":
            return f"sum({name}({e()} % 5, {e()}))"
        return f"{name}({e()})"

    # -- statements

    KINDS = {
        "numbers": ("int", "int", "float", "bool"),
        "heap": ("list", "dict", "point", "tuple", "int", "set", "tight", "str"),
        "control": ("int", "int", "float", "list", "str"),
        "calls": ("int", "list", "dict", "tuple", "str", "point"),
    }
    STATEMENTS = {
        "numbers": ("assign", "assign", "update", "if_", "while_", "for_", "print_", "try_"),
        "heap": ("mutate", "mutate", "assign", "attribute", "alias", "if_", "for_", "try_", "print_", "nest", "delete", "unpack"),
        "control": ("if_", "while_", "for_", "try_", "raise_", "update", "assign", "leave", "with_", "print_", "match_"),
        "calls": ("closure", "lambda_", "generate", "assign", "discard", "mutate", "if_", "for_", "with_", "unpack", "print_", "try_"),
    }

    def block(self, size: int, must: str | None = None) -> None:
        """Draw an indented suite; the variables that it binds may be unbound afterwards."""
        saved = dict(self.scope)
        self.depth += 1
        start = len(self.lines)
        if must:
            self.put(must)
        for _ in range(self.number(0 if must else 1, size)):
            self.statement()
        if len(self.lines) == start:
            self.put("pass")
        self.depth -= 1
        self.scope = {n: k for n, k in saved.items() if n in self.scope}     # `del` in the block counts

    def statement(self) -> None:
        if self.budget <= 0 or self.depth > 5:
            self.assign()
            return
        self.budget -= 1
        getattr(self, self.pick(self.STATEMENTS[self.theme]))()

    def assign(self) -> None:
        kind = self.pick(self.KINDS[self.theme])
        name, value = self.new(kind), self.expression(kind)
        if self.chance(6):
            self.put(f"print(({name} := {value}) is None)")
        else:
            self.put(f"{name} = {value}")
        self.bind(name, kind)

    def update(self) -> None:
        names = [n for n, k in self.scope.items() if k in ("int", "float", "list", "str") and n not in self.counters]
        if not names:
            return self.assign()
        name = self.pick(names)
        kind = self.scope[name]
        if kind in ("int", "float"):
            operator = self.pick(["+=", "-=", "+=", "|=" if kind == "int" else "/="])
            self.put(f"{name} {operator} {self.expression(kind)}")
            if self.chance(15):
                self.put(f"{name} *= {self.number(0, 3)}")
        elif kind == "list":
            self.put(f"{name} += {self.expression('list')}[:3]")
        else:
            self.put(f"{name} = ({name} + {self.expression('str')})[:10]")

    def print_(self) -> None:
        shown = self.variable() or "0"
        self.put(self.pick([f"print({shown!r}, {shown} if not isinstance({shown}, (Point, Tight)) else {shown}.x)", f"print({self.expression('int')}, {self.expression('str')})",
                            f"print({self.expression('int')}, end=';')"]))

    def mutate(self) -> None:
        e = self.expression
        if self.chance(35) and (name := self.variable("dict")):
            self.put(self.pick([
                lambda: f"{name}[{e('str')}] = {e('int')}",
                lambda: f"{name}['a'] = {name}.get('a', 0) + {e('int')}",
                lambda: f"{name}.update({self.pick(['x', 'b', 'a'])}={e('int')})",
                lambda: f"{name}.pop({e('str')}, None)",
                lambda: f"{name}.setdefault({e('str')}, {e('int')})",
                lambda: f"del {name}[{e('str')}]",
                lambda: f"{name}['a'] += {e('int')}",
                lambda: f"{name}.clear()",
            ])())
        elif self.chance(20) and (name := self.variable("set")):
            self.put(self.pick([f"{name}.add({e('str')})", f"{name}.discard({e('str')})", f"{name}.remove({e('str')})", f"{name} |= {e('set')}"]))
        elif name := self.variable("list"):
            self.put(self.pick([
                lambda: f"{name}.append({e('int')})",
                lambda: f"{name}.pop()",
                lambda: f"{name}[{self.pick(['0', '-1', e('int', 0)])}] = {e('int')}",
                lambda: f"{name}.extend({e('list')}[:3])",
                lambda: f"{name}.insert({self.number(-1, 2)}, {e('int')})",
                lambda: f"{name}.sort()",
                lambda: f"{name}.reverse()",
                lambda: f"del {name}[{self.pick(['0', '-1', ':1'])}]",
                lambda: f"{name}[1:] = {e('list')}[:3]",
                lambda: f"{name}[0] += {e('int')}",
                lambda: f"{name}.remove({e('int')})",
            ])())
        else:
            self.assign()

    def attribute(self) -> None:
        name = self.variable("point", "tight")
        if not name:
            name = f"v{next(self.fresh)}"
            self.put(f"{name} = {self.expression('point')}")
            self.bind(name, "point")
        e = self.expression
        self.put(self.pick([f"{name}.x = {e('int')}", f"{name}.x += {e('int')}", f"{name}.y = {e('int')}", f"{name}.other = {e('int')}",
                            f"{name}.scale = {e('int')}", f"setattr({name}, {self.pick(['x', 'y', 'z'])!r}, {e('int')})", f"del {name}.y", f"{name}.moved(dx={e('int')})"]))

    def alias(self) -> None:
        old = self.variable("list", "dict", "point", "set")
        if not old:
            return self.assign()
        name = f"v{next(self.fresh)}"
        self.put(f"{name} = {old}")
        self.bind(name, self.scope[old])

    def nest(self) -> None:
        """Draw nested objects: aliases that escape, sometimes cycles."""
        inner = self.variable("list", "point", "dict") or "[1]"
        name = f"v{next(self.fresh)}"
        self.put(f"{name} = {self.pick([f'[{inner}, {inner}]', f'{{1: {inner}, 2: 0}}', f'({inner}, {inner})', f'[[{inner}]]'])}")
        if self.chance(50):
            self.put(f"kept.append({name})")
        if self.chance(10) and self.scope.get(inner) == "list":
            self.put(f"{inner}.append({inner})")

    def delete(self) -> None:
        names = [n for n in self.scope if n.startswith("v") and n not in self.counters]
        if not names:
            return self.assign()
        name = self.pick(names)
        self.put(f"del {name}")
        del self.scope[name]

    def unpack(self) -> None:
        a, b = f"v{next(self.fresh)}", f"v{next(self.fresh)}"
        form = self.number(0, 3)
        if form == 0:
            self.put(f"{a}, {b} = {self.expression('tuple')}")
        elif form == 1:
            self.put(f"{a}, *{b} = {self.expression('list')}")
        elif form == 2:
            self.put(f"{a}, {b} = {self.expression('int')}, {self.expression('list')}")
        else:
            self.put(f"{a}, {b} = {self.expression('int')}, {self.expression('list')}")
            self.put(f"{a}, {b} = {a}, [{a}, *{b}][:6]")
        self.bind(a, "int")
        self.bind(b, "int" if form == 0 else "list")

    def if_(self) -> None:
        self.put(f"if {self.condition(2)}:")
        self.block(3)
        if self.chance(30):
            self.put(f"elif {self.condition(1)}:")
            self.block(2)
        if self.chance(60):
            self.put("else:")
            self.block(3)

    def while_(self) -> None:
        if self.loops >= self.nesting:
            return self.update()
        fuel = f"w{next(self.fresh)}"
        self.put(f"{fuel} = {self.fuel()}")
        self.bind(fuel, "int")
        self.counters.add(fuel)
        self.put(f"while {fuel} > 0{f' and {self.condition(1)}' if self.chance(40) else ''}:")
        self.loops += 1
        self.block(3, f"{fuel} -= 1")
        self.loops -= 1
        self.otherwise()

    def fuel(self) -> str:
        return str(self.number(1, 4)) if self.chance(40) else f"int({self.expression('int', 1)}) % 5"

    def otherwise(self) -> None:
        if self.chance(15):
            self.put("else:")
            self.block(2)

    def for_(self) -> None:
        if self.loops >= self.nesting:
            return self.update()
        i = f"i{next(self.fresh)}"
        e = self.expression
        target, source = self.pick([
            lambda: (i, f"range({self.number(0, 4)})"),
            lambda: (i, f"range({e('int', 1)} % 5)"),
            lambda: (i, f"list({e('list', 1)})[:5]"),
            lambda: (i, f"{e('tuple', 1)}[:5]"),
            lambda: (f"{i}, {i}b", f"enumerate({e('list', 1)}[:4])"),
            lambda: (f"{i}, {i}b", f"zip({e('list', 1)}[:4], {e('tuple', 1)})"),
            lambda: (f"{i}b, {i}", f"list({e('dict', 1)}.items())[:4]"),
            lambda: (i, f"range({self.number(3, 5)}, {e('int', 1)} % 3, {self.pick(['-1', '-2'])})"),
            lambda: (i, f"reversed({e('list', 1)}[:4])"),
            lambda: (i, f"map(abs, {e('list', 1)}[:4])"),
        ])()
        self.put(f"for {target} in {source}:")
        saved = dict(self.scope)
        self.bind(i, "int")
        self.loops += 1
        self.block(3)
        self.loops -= 1
        self.scope = {n: k for n, k in self.scope.items() if n in saved}
        self.otherwise()

    def leave(self) -> None:
        """Draw break, continue or return behind a test, so that the following statements are reachable."""
        options = ["return " + self.expression(self.pick(self.KINDS[self.theme]))] if not self.in_generator else ["return"]
        if self.loops:
            options += ["break", "continue"]
        self.put(f"if {self.condition(1)}:")
        self.depth += 1
        self.put(self.pick(options))
        self.depth -= 1

    def raise_(self) -> None:
        self.put(f"if {self.condition(1)}:")
        self.depth += 1
        self.put(self.pick([f"raise ValueError({self.expression('int')})", f"raise Oops({self.expression('str')}, {self.expression('int')})", "raise KeyError",
                            f"assert {self.condition(1)}, {self.expression('str')}"]))
        self.depth -= 1

    def try_(self) -> None:
        self.put("try:")
        self.block(3)
        finally_only = self.chance(15)
        if not finally_only:
            caught = self.pick(["Exception", "ValueError", "(TypeError, ZeroDivisionError)", "(IndexError, KeyError)", "Oops", "ArithmeticError", "LookupError"])
            name = f"e{next(self.fresh)}"
            self.put(f"except {caught} as {name}:")
            self.block(2, self.pick([f"print(type({name}).__name__)", f"print(type({name}).__name__, {name}.args)", "pass"]))
            if self.chance(15):
                self.depth += 1
                self.put(self.pick(["raise", f"raise Oops(1) from {name}", "raise ValueError(2)"]))
                self.depth -= 1
            if self.chance(20):
                self.put("else:")
                self.block(2)
        if finally_only or self.chance(20):
            self.put("finally:")
            self.block(2)

    def with_(self) -> None:
        self.put(f"with Guard({self.constant('str')}, {self.pick(['False', 'True', self.condition(1)])}):")
        self.block(3)

    def match_(self) -> None:
        self.put(f"match {self.variable('int', 'list', 'str', 'tuple') or '3'}:")
        self.depth += 1
        for pattern in (self.pick(["0", "1 | 2", "None", "'a'"]), self.pick(["[m]", "[m, *_]", "int()", "str(m)", "(1, m)"]), "_"):
            self.put(f"case {pattern}:")
            self.block(1)
        self.depth -= 1

    def discard(self) -> None:
        self.put(self.call(2))

    def closure(self) -> None:
        """Draw an inner function that reads and possibly writes a variable of this function."""
        captured = self.variable("int", "list")
        if not captured or captured in self.counters or not captured.startswith("v"):
            captured = f"v{next(self.fresh)}"
            self.put(f"{captured} = {self.expression('int')}")
            self.bind(captured, "int")
        name = f"inner{next(self.fresh)}"
        self.put(f"def {name}(a, b={self.expression('int', 1)}):")
        self.depth += 1
        if self.scope[captured] == "int" and self.chance(60):
            self.put(f"nonlocal {captured}")
            self.put(f"{captured} += a")
        self.put(f"return (a, b, {captured})[{self.pick(['0', '1', '2'])}]")
        self.depth -= 1
        for _ in range(self.number(1, 2)):
            result = f"v{next(self.fresh)}"
            self.put(f"{result} = {name}({self.expression('int', 1)}{self.pick(['', ', 7', ', b=2'])})")
            self.bind(result, "int")

    def lambda_(self) -> None:
        result = f"v{next(self.fresh)}"
        self.put(f"{result} = " + self.pick([
            f"sorted({self.expression('list', 1)}, key=lambda q: -q)",
            f"list(map(lambda q: q + {self.variable('int') or '1'}, {self.expression('list', 1)}[:4]))",
            f"[(lambda a, b={self.expression('int', 1)}: a - b)(q) for q in {self.expression('list', 1)}[:4]]",
            f"list(filter(lambda q: q > {self.variable('int') or '0'}, {self.expression('list', 1)}))",
        ]))
        self.bind(result, "list")

    def generate(self) -> None:
        """Draw a generator function inside this function, consumed in one of several ways."""
        name, captured = f"gen{next(self.fresh)}", self.variable("int") or "1"
        self.put(f"def {name}(k):")
        self.depth += 1
        self.put("try:")
        self.put("    for g in range(k):")
        self.put(f"        yield g + {captured}")
        self.put(self.pick(["finally:", "except ValueError:"]))
        self.put("    print('closed')")
        self.depth -= 1
        result = f"v{next(self.fresh)}"
        count = f"{self.expression('int', 1)} % 4"
        self.put(f"{result} = " + self.pick([f"list({name}({count}))", f"[next({name}({count}), 0)]", f"[sum({name}({count}))]", f"[q for q in {name}({count}) if q]",
                                            f"[*{name}({count}), *{name}(2)]"]))
        self.bind(result, "list")

    # -- functions

    def helper(self) -> None:
        form = self.pick(["plain", "defaults", "star", "mutates", "recursive", "generator"])
        name = f"h{len(self.functions)}"
        head, scope = {
            "plain": ("a, b", {"a": "int", "b": "int"}),
            "defaults": ("a, b=3, *, c=5", {"a": "int", "b": "int", "c": "int"}),
            "star": ("a, *rest, k=1, **more", {"a": "int", "rest": "tuple", "k": "int", "more": "dict"}),
            "mutates": ("xs, b", {"xs": "list", "b": "int"}),
            "recursive": ("n, acc", {"n": "int", "acc": "int"}),
            "generator": ("n, b", {"n": "int", "b": "int"}),
        }[form]
        self.scope, self.counters, self.depth, self.loops, self.budget = dict(scope), {"n"}, 0, 0, 4
        self.in_generator, self.nesting = form == "generator", 1
        self.put(f"def {name}({head}):")
        self.depth = 1
        if form == "recursive":
            self.put("if n <= 0:")
            self.put("    return acc")
        if form == "generator":
            self.put("for j in range(n):")
            self.put(f"    yield {self.expression('int', 1)}" if self.chance(50) else "    yield j + b")
        kept, self.theme = self.theme, self.theme if self.theme != "calls" else "heap"
        for _ in range(self.number(0, 2)):
            self.statement()
        self.theme = kept
        if form == "recursive":
            self.put(f"return {name}(n - 1, {self.expression('int', 1)})")
        elif form == "mutates":
            self.put("xs.append(b)")
            self.put("return b")
        elif form != "generator":
            self.put(f"return {self.expression('int')}")
        self.lines += ["", ""]
        self.functions.append((name, form))
        self.in_generator = False

    def function(self, parameters: dict[str, str]) -> None:
        self.scope, self.counters, self.depth, self.loops, self.budget = dict(parameters), set(), 0, 0, 14
        self.nesting = 2
        self.put(f"def f({', '.join(parameters)}):")
        self.depth = 1
        self.put("kept = []")
        for _ in range(self.number(1, 6)):
            self.statement()
        results = [self.variable() or "0" for _ in range(self.number(1, 3))]
        self.put(f"return {', '.join(results)}, kept")

    def argument(self, kind: str) -> str:
        if kind in VALUES:
            return repr(self.pick(VALUES[kind]))
        items = [repr(self.pick(VALUES["int"][:9])) for _ in range(self.number(0, 3))]
        if kind == "list":
            return f"[{', '.join(items)}]"
        if kind == "tuple":
            return f"({''.join(item + ', ' for item in items)})"
        if kind == "set":
            return f"set({self.pick(['', 'a', 'ab'])!r})"
        if kind == "dict":
            return "{" + ", ".join(f"{key!r}: {item}" for key, item in zip("axb", items)) + "}"
        return f"{'Point' if kind == 'point' else 'Tight'}({items[0] if items else 0})"


@st.composite
def programs(draw: Any, theme: str) -> Program:
    return write(Drawn(draw), theme)


def write(choices: Choices, theme: str) -> Program:
    writer = Writer(choices, theme)
    for _ in range(writer.number(0, 2)):
        writer.helper()
    kinds = [writer.pick(Writer.KINDS[theme] + SCALARS[:2]) for _ in range(writer.number(1, 3))]
    parameters = ["p", "q", "r"][:len(kinds)]
    writer.function(dict(zip(parameters, kinds)))
    given = [writer.pick(GIVEN) for _ in kinds]
    calls = [[writer.argument(kind) for kind in kinds] for _ in range(2)]
    shared = None
    alike = [(i, j) for i in range(len(kinds)) for j in range(i + 1, len(kinds)) if kinds[i] == kinds[j] and kinds[i] not in VALUES and given[i] == given[j] == "type"]
    if alike and writer.chance(40):
        shared = writer.pick(alike)
    body = "\n".join(writer.lines) + "\n"
    return Program(pruned(PRELUDE, body + repr(calls)) + body, parameters, given, calls, shared)
