"""Comprehensions, ``[e for x in xs if c]``, in place of loops that do nothing but append."""

import ast
from collections.abc import Iterator
from typing import Final

from hovis.backend.source.syntax import both, marked

#: Maximal number of subexpressions of a comprehension: about as many as fit on a line.
LONGEST: Final = 50


def comprehended(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a function, with comprehensions where a loop fills a new container."""
    return _Comprehended(_loop_variables(body)).statements(body, set())


def _loop_variables(body: list[ast.stmt]) -> set[str]:
    """Return the loop variables that are read only inside of their own loops."""
    inside: set[str] = set()
    outside: set[str] = set()

    def walk(node: ast.AST, around: frozenset[str]) -> None:
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            inside.add(node.target.id)
            walk(node.iter, around)
            for part in node.body:
                walk(part, around | {node.target.id})
            for part in node.orelse:
                walk(part, around)
            return
        if isinstance(node, ast.Name) and (node.id not in around or not isinstance(node.ctx, ast.Load)):
            outside.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            outside.add(node.name)
        for child in ast.iter_child_nodes(node):
            walk(child, around)

    for statement in body:
        walk(statement, frozenset())
    return inside - outside


class _Comprehended:
    def __init__(self, variables: set[str]) -> None:
        self.variables = variables

    def statements(self, body: list[ast.stmt], handled: set[str]) -> list[ast.stmt]:
        """Rewrite the statements of body; handled are the names that surrounding handlers read, which could see a container that is half full."""
        found: list[ast.stmt] = []
        for statement in body:
            self._inside(statement, handled)
            made = self._made(found[-1], statement, handled) if found else None
            if made is not None:
                found[-1] = made
            else:
                found.append(statement)
        return found

    def _inside(self, statement: ast.stmt, handled: set[str]) -> None:
        inner = handled
        if isinstance(statement, ast.Try):
            inner = handled | {name for handler in statement.handlers for name in _read(handler)}
            for handler in statement.handlers:
                handler.body = self.statements(handler.body, handled)
        if isinstance(statement, ast.If | ast.For | ast.While | ast.Try):
            statement.body = self.statements(statement.body, inner)
            statement.orelse = self.statements(statement.orelse, handled)

    def _made(self, start: ast.stmt, loop: ast.stmt, handled: set[str]) -> ast.stmt | None:
        if not (isinstance(loop, ast.For) and not loop.orelse and isinstance(loop.target, ast.Name) and loop.target.id in self.variables):
            return None
        if not (isinstance(start, ast.Assign) and len(start.targets) == 1 and isinstance(start.targets[0], ast.Name)) or len(loop.body) != 1:
            return None
        name, only, tests = start.targets[0].id, loop.body[0], []
        while isinstance(only, ast.If) and not only.orelse and len(only.body) == 1:
            tests.append(only.test)
            only = only.body[0]
        generators = [ast.comprehension(loop.target, loop.iter, [both(ast.And(), *tests)] if tests else [], 0)]
        made = _filled(start.value, only, name, generators)
        if made is None or name in handled or name in set(_read(made)) or any(isinstance(item, ast.Yield | ast.YieldFrom) for item in ast.walk(made)):
            return None
        if sum(isinstance(item, ast.expr) for item in ast.walk(made)) > LONGEST:
            return None
        return ast.Assign(start.targets, made)


def _read(tree: ast.AST) -> Iterator[str]:
    return (item.id for item in ast.walk(tree) if isinstance(item, ast.Name))


def _filled(empty: ast.expr, step: ast.stmt, name: str, generators: list[ast.comprehension]) -> ast.expr | None:
    """Return the comprehension that begins with empty and does step for each item, or None."""
    match empty, step:
        case ast.List(elts=[]), ast.Expr(ast.Call(ast.Attribute(ast.Name(id=target), "append"), [item], [])) if target == name:
            return None if isinstance(item, ast.Starred) else ast.ListComp(item, generators)
        case ast.Call(), ast.Expr(ast.Call(ast.Attribute(ast.Name(id=target), "add"), [item], [])) if target == name and marked(empty, "empty set"):
            return None if isinstance(item, ast.Starred) else ast.SetComp(item, generators)
        case ast.Dict(keys=[]), ast.Assign([ast.Subscript(ast.Name(id=target), key)], value) if target == name:
            # a dict comprehension evaluates the key before the value, an assignment after it
            plain = ast.Name | ast.Constant
            if isinstance(value, plain) or isinstance(key, plain):
                return None if isinstance(key, ast.Slice) else ast.DictComp(key, value, generators)
    return None
