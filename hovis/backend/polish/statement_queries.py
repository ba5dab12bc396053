"""Queries on statements: the names that they read, bind and delete, and whether control leaves them."""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final

JUMPS: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def nested(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield all syntax nodes in these statements."""
    for s in statements:
        yield from ast.walk(s)


def assigned(statements: list[ast.stmt]) -> set[str]:
    """Return the names that are bound or deleted."""
    return {item.id for item in nested(statements) if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load)}


def read(tree: ast.AST) -> set[str]:
    """Return the names that are read."""
    return {item.id for item in ast.walk(tree) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}


def leaves(statement: ast.stmt) -> bool:
    """Does control never reach the code behind statement?"""
    match statement:
        case ast.If():
            return bool(statement.orelse) and leaves(statement.body[-1]) and leaves(statement.orelse[-1])
        case ast.Try():
            body = leaves(statement.body[-1]) or (bool(statement.orelse) and leaves(statement.orelse[-1]))
            return body and all(leaves(handler.body[-1]) for handler in statement.handlers)
        case ast.While(test=ast.Constant(value=True)):
            return not of_loop(statement.body, ast.Break)
    return isinstance(statement, JUMPS)


def of_loop(statements: list[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Is there a break (or continue: kind) that belongs to the loop whose body this is?"""
    for s in statements:
        if isinstance(s, kind):
            return True
        if isinstance(s, ast.If) and (of_loop(s.body, kind) or of_loop(s.orelse, kind)):
            return True
        if isinstance(s, ast.Try) and (of_loop(s.body, kind) or any(of_loop(h.body, kind) for h in s.handlers) or of_loop(s.orelse, kind)):
            return True
        if isinstance(s, ast.For | ast.While) and of_loop(s.orelse, kind):
            return True
    return False


def deleted(body: list[ast.stmt]) -> Counter[str]:
    """Count how often each name is deleted in these statements."""
    return Counter(item.id for statement in body for item in ast.walk(statement) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Del))
