"""Shrink a failing program and keep it readable: `python -m tests.differential.harness.shrinking FILE...`.

It works on the syntax tree: nodes are removed, or replaced by a part of themselves, as long as the same failure remains.
"""
from __future__ import annotations

import ast
import copy
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.differential.harness.checking import Failure, Unfit, check
from tests.differential.harness.program import Program

SUITES = ("body", "orelse", "finalbody", "handlers", "cases")


def suites(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield every list of statements in a tree, outer ones first."""
    found = [(node, name) for node in ast.walk(tree) for name in SUITES if isinstance(getattr(node, name, None), list) and getattr(node, name)]
    return iter(found)


def smaller(tree: ast.Module) -> Iterator[Callable[[], Callable[[], None]]]:
    """Yield changes that make the tree smaller; each is a function that applies the change and returns a function that undoes it."""
    for node, name in suites(tree):
        items = getattr(node, name)
        for size in sorted({len(items), len(items) // 2, 4, 2, 1}, reverse=True):
            for start in range(len(items) - size, -1, -1) if 0 < size <= len(items) else ():
                yield _replacing(node, name, items, items[:start] + items[start + size:])
    for node, name in suites(tree):
        for at, item in enumerate(getattr(node, name)):
            for part in SUITES:
                inner = getattr(item, part, None)
                if isinstance(inner, list) and inner and name != "handlers" and not isinstance(item, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                    if isinstance(inner[0], (ast.ExceptHandler, ast.match_case)):
                        inner = inner[0].body
                    if isinstance(inner[0], ast.stmt):
                        items = getattr(node, name)
                        yield _replacing(node, name, items, items[:at] + inner + items[at + 1:])
            if isinstance(item, (ast.If, ast.While)):
                yield _replacing(item, "test", item.test, ast.Constant(True))
            if isinstance(item, ast.AugAssign):
                items = getattr(node, name)
                yield _replacing(node, name, items, [*items[:at], ast.Assign([item.target], item.value), *items[at + 1:]])
    for node in list(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and name not in ("target", "optional_vars", "annotation"):
                for part in _parts(value):
                    yield _replacing(node, name, value, part)
            elif isinstance(value, list) and value and name in ("args", "keywords", "elts", "decorator_list", "items", "values", "bases", "ifs", "generators", "defaults", "patterns"):
                if name == "defaults" or isinstance(node, (ast.Dict, ast.MatchMapping)) or (isinstance(node, ast.arguments)):
                    continue
                for at in range(len(value)):
                    if len(value) > 1 or name in ("args", "keywords", "elts", "decorator_list", "bases", "ifs"):
                        yield _replacing(node, name, value, value[:at] + value[at + 1:])
                    if isinstance(value[at], ast.expr):
                        for part in _parts(value[at]):
                            yield _replacing(node, name, value, [*value[:at], part, *value[at + 1:]])


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, (ast.Name, ast.Starred)):
        return
    if isinstance(value, ast.Constant):
        if value.value not in (0, 1, None, True, False, "", Ellipsis):
            yield ast.Constant(1 if isinstance(value.value, (int, float)) else "a")
        return
    yield from (part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr) and not isinstance(part, ast.Starred))
    yield ast.Constant(1)
    yield ast.Constant(None)


def _replacing(node: Any, name: str, old: Any, new: Any) -> Callable[[], Callable[[], None]]:
    def do() -> Callable[[], None]:
        setattr(node, name, new)
        return lambda: setattr(node, name, old)
    return do


def text(tree: ast.Module) -> str | None:
    """Return the source, with `pass` in empty suites, or None if it is not a valid program."""
    filled = copy.deepcopy(tree)
    for node in ast.walk(filled):
        if hasattr(node, "body") and isinstance(node.body, list) and not node.body and not isinstance(node, ast.Module):
            node.body = [ast.Pass()]
        if isinstance(node, ast.Try) and not node.handlers and not node.finalbody:
            return None
    try:
        source = ast.unparse(ast.fix_missing_locations(filled)) + "\n"
        compile(source, "<shrunk>", "exec")
    except Exception:
        return None
    return source


def _choices(program: Program) -> Iterator[Program]:
    for k in range(len(program.calls)):
        if len(program.calls) > 1 and not program.changes:
            yield dataclasses.replace(program, calls=program.calls[:k] + program.calls[k + 1:])
    if program.changes:
        yield dataclasses.replace(program, changes=[])
    if program.shared:
        yield dataclasses.replace(program, shared=None)
    for k, how in enumerate(program.given):
        for simple in ("type", "const") if how not in ("type", "const") else ():
            yield dataclasses.replace(program, given=[*program.given[:k], simple, *program.given[k + 1:]])
        used = program.source.partition("def f(")[2]
        if len(program.given) > 1 and not program.shared and used.count(program.parameters[k]) == 1:
            less = dataclasses.replace(program, parameters=_without(program.parameters, k), given=_without(program.given, k), calls=[_without(c, k) for c in program.calls])
            head = f"def f({', '.join(program.parameters)}):"
            yield dataclasses.replace(less, source=program.source.replace(head, f"def f({', '.join(less.parameters)}):"))


def _without(items: list[Any], k: int) -> list[Any]:
    return items[:k] + items[k + 1:]


def shrink(program: Program, way: str, seconds: float = 60) -> tuple[Program, Failure | None]:
    """Return the smallest program found that fails in the same way."""
    def fails(candidate: Program) -> Failure | None:
        try:
            found = check(candidate, way)
        except Unfit:
            return None
        return found if found and found.kind == wanted.kind else None

    until = time.time() + seconds
    first = check(program, way)
    if not first:
        return program, None
    wanted = failure = first
    tree = ast.parse(program.source)
    progress = True
    while progress and time.time() < until:
        progress = False
        for candidate in _choices(program):
            if found := fails(candidate):
                program, failure, progress = candidate, found, True
                tree = ast.parse(program.source)
                break
        again = True
        while again and time.time() < until:
            again = False
            for change in smaller(tree):
                if time.time() > until:
                    break
                undo = change()
                source = text(tree)
                if source is None or len(source) >= len(program.source):
                    undo()
                    continue
                candidate = dataclasses.replace(program, source=source)
                if found := fails(candidate):
                    program, failure, progress, again = candidate, found, True, True
                    tree = ast.parse(source)
                    break
                undo()
    return program, failure


def main() -> None:
    os.environ.setdefault("HOVIS_DEBUG", "1")      # internal errors of hovis are raised with their tracebacks
    for name in sys.argv[1:]:
        found = json.loads(Path(name).read_text())
        program, failure = shrink(Program.load(found["program"]), found["way"])
        print(f"== {name}: {found['theme']}, {found['way']}, seed {found['seed']}: {found['kind']}")
        print(program if failure else "does not fail any more")
        print(failure.told if failure else "")


if __name__ == "__main__":
    main()
