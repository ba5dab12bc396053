"""Programs by mutation: functions of the corpus whose statements are wrapped, moved, duplicated and nested into each other."""
from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.harness.choices import Choices
from tests.differential.harness.drawing.corpus import Sample, samples
from tests.differential.harness.drawing.plain import GIVEN
from tests.differential.harness.drawing.pruning import pruned
from tests.differential.harness.program import Program

#: Wrappers of a statement S; `u` is an additional parameter, a small number.
WRAPPED = (
    "if u:\n    S", "if not u:\n    S", "if u:\n    S\nelse:\n    S", "for _ in range(u):\n    S", "for _ in range(2):\n    S", "for u in range(u):\n    S", "while True:\n    S\n    break", "while u > 0:\n    u -= 1\n    S",
    "try:\n    S\nexcept Exception as err:\n    print(type(err).__name__, err.args)", "try:\n    S\nfinally:\n    print('finally', u)", "try:\n    S\nexcept (TypeError, ValueError):\n    raise KeyError(u)",
    "with contextlib.suppress(Exception):\n    S", "try:\n    S\nexcept* ValueError as err:\n    print(err.exceptions)", "match u:\n    case 0:\n        S\n    case int(other):\n        print(other)\n        S",
    "for _ in (x for x in [u, 1]):\n    S", "try:\n    if u:\n        raise RuntimeError(u)\n    S\nexcept RuntimeError as err:\n    S\n    del err",
)
#: Wrappers of an expression E.
INSIDE = ("(lambda: E)()", "[E][0]", "(E if u else E)", "{'k': E}['k']", "next(iter([E]))", "(E, u)[0]", "max([E], key=str)", "(lambda v=E: v)()", "same(E)", "[v for v in [E]][-1]", "(w := E)", "(u and E)", "(E or u)", "Held(E).v", "Held(E).got()")
CONSTANTS = (0, 1, -1, 2, 3, 10, True, False, None, "", "a", 1.5, -0.0, 2**70, ())
HELPERS = '''\
import contextlib


def same(x):
    print("same", type(x).__name__)
    return x


class Held:
    def __init__(self, v):
        self.v = v

    def got(self):
        return self.v


'''


def suites(tree: ast.AST) -> list[list[ast.stmt]]:
    """Return every list of statements in a tree."""
    return [held for node in ast.walk(tree) for name in ("body", "orelse", "finalbody") if isinstance(held := getattr(node, name, None), list) and held and isinstance(held[0], ast.stmt)]


def places(tree: ast.AST, want: Callable[[ast.AST], bool]) -> Iterator[tuple[Any, str, int | None, ast.AST]]:
    """Yield the places of all expressions that satisfy `want`: the parent, the field, the index in it or None, and the expression."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.JoinedStr, ast.FormattedValue, ast.MatchValue, ast.MatchClass, ast.arguments, ast.match_case)):
            continue
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and want(value):
                yield node, name, None, value
            elif isinstance(value, list):
                for k, item in enumerate(value):
                    if isinstance(item, ast.expr) and want(item):
                        yield node, name, k, item


def put(parent: Any, name: str, index: int | None, new: ast.expr) -> None:
    if index is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[index] = new


class _Fill(ast.NodeTransformer):
    def __init__(self, statement: ast.stmt | None, expression: ast.expr | None) -> None:
        self.statement, self.expression = statement, expression

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "S" and self.statement:
            return copy.deepcopy(self.statement)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.expression) if node.id == "E" and self.expression else node


class Mutator:
    def __init__(self, choices: Choices, sample: Sample) -> None:
        self.choices = choices
        self.around = [sample.around]
        self.tree = copy.deepcopy(sample.function)
        self.tree.name = "f"
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and node.id == sample.function.name:
                node.id = "f"
        self.tree.args.args.append(ast.arg("u"))
        if self.tree.args.defaults:
            self.tree.args.defaults.append(ast.Constant(0))

    def somewhere(self) -> tuple[list[ast.stmt], int]:
        suite = self.choices.pick(suites(self.tree))
        return suite, self.choices.number(0, len(suite) - 1)

    def wrap(self) -> None:
        suite, at = self.somewhere()
        if not isinstance(suite[at], (ast.Nonlocal, ast.Global)):
            suite[at:at + 1] = _Fill(suite[at], None).visit(ast.parse(self.choices.pick(WRAPPED))).body

    def wrap_more(self) -> None:
        """Wrap all statements from a random one to the end of its suite."""
        suite, at = self.somewhere()
        made = ast.parse(self.choices.pick(WRAPPED)).body
        for inner in suites(ast.Module(made, [])):
            for k, item in enumerate(inner):
                if isinstance(item, ast.Expr) and isinstance(item.value, ast.Name) and item.value.id == "S":
                    inner[k:k + 1] = copy.deepcopy(suite[at:])
                    break
        suite[at:] = made

    def swap(self) -> None:
        suite, at = self.somewhere()
        if at + 1 < len(suite):
            suite[at], suite[at + 1] = suite[at + 1], suite[at]

    def double(self) -> None:
        suite, at = self.somewhere()
        suite.insert(at, copy.deepcopy(suite[at]))

    def drop(self) -> None:
        suite, at = self.somewhere()
        if len(suite) > 1:
            del suite[at]

    def move(self) -> None:
        suite, at = self.somewhere()
        other, to = self.somewhere()
        if len(suite) > 1 and suite is not other:
            other.insert(to, copy.deepcopy(suite[at]))

    def say(self) -> None:
        suite, at = self.somewhere()
        names = sorted({n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} - {"f"})
        if names:
            suite.insert(at, ast.parse(f"print({self.choices.pick(names)!r}, {self.choices.pick(names)})").body[0])

    def inside(self) -> None:
        found = list(places(self.tree, lambda e: isinstance(getattr(e, "ctx", ast.Load()), ast.Load) and not isinstance(e, (ast.Starred, ast.Slice, ast.Tuple))))
        if found:
            parent, name, index, old = self.choices.pick(found)
            put(parent, name, index, _Fill(None, old).visit(ast.parse(self.choices.pick(INSIDE), mode="eval")).body)     # type: ignore[arg-type]

    def constant(self) -> None:
        found = list(places(self.tree, lambda e: isinstance(e, ast.Constant)))
        if found:
            parent, name, index, _ = self.choices.pick(found)
            put(parent, name, index, ast.Name("u", ast.Load()) if self.choices.chance(40) else ast.Constant(self.choices.pick(CONSTANTS)))

    def name(self) -> None:
        found = list(places(self.tree, lambda e: isinstance(e, ast.Name) and isinstance(e.ctx, ast.Load)))
        names = sorted({n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | {a.arg for a in self.tree.args.args})
        if found:
            parent, name, index, _ = self.choices.pick(found)
            put(parent, name, index, ast.Name(self.choices.pick(names), ast.Load()))

    def leave(self) -> None:
        suite, at = self.somewhere()
        suite.insert(at, ast.parse(self.choices.pick(("if u:\n    raise ValueError(u)", "if u > 1:\n    return u", "assert u, 'u'", "del u", "u += 1", "nonsense(u)"))).body[0])

    def nest(self) -> None:
        """Insert another function of the corpus into this one, with a call."""
        other = self.choices.pick(samples())
        inner = copy.deepcopy(other.function)
        self.around.append(other.around)
        suite, at = self.somewhere()
        arguments = ", ".join(self.choices.pick(other.calls))
        call = self.choices.pick((f"print({inner.name}({arguments}))", f"inner = {inner.name}({arguments})", f"for item in [{inner.name}({arguments})]:\n    print(item)",
                                  f"try:\n    print({inner.name}({', '.join('u' for _ in other.parameters)}))\nexcept Exception as err:\n    print(repr(err))"))
        suite[at:at] = [inner, *ast.parse(call).body]

    MUTATIONS = ("wrap", "wrap", "wrap", "wrap_more", "swap", "double", "drop", "move", "say", "inside", "inside", "constant", "name", "leave", "nest")

    def mutate(self) -> None:
        getattr(self, self.choices.pick(self.MUTATIONS))()


def mutated(choices: Choices) -> Program:
    sample = choices.pick(samples())
    mutator = Mutator(choices, sample)
    for _ in range(choices.pick((0, 1, 1, 2, 2, 3, 4))):
        mutator.mutate()
    parameters = [*sample.parameters, "u"]
    body = ast.unparse(ast.fix_missing_locations(mutator.tree)) + "\n"
    flags = [choices.pick(("0", "1", "2")) for _ in range(2)]
    calls = [[*choices.pick(sample.calls), flag] for flag in flags]
    calls = [call if len(call) == len(parameters) else [*call[:-1], "[]", call[-1]] for call in calls]
    given = [choices.pick(GIVEN) for _ in parameters]
    prelude = pruned("\n".join([HELPERS, *dict.fromkeys(mutator.around)]), body + repr(calls))
    return Program(prelude + body, parameters, given, calls)
