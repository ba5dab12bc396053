"""Conditions as a person would write them: ``a < b < c``, ``a or b``, no ``bool`` around what is only tested."""

import ast
from typing import Final

from hovis.backend.source.syntax import both, marked, negated, tested

_MIRRORED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_UP: Final = (ast.Lt, ast.LtE)
_DOWN: Final = (ast.Gt, ast.GtE)


class Conditions(ast.NodeTransformer):
    """Rewrites the conditions in a tree, from the inside out."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.test = _only_tested(node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = _only_tested(node.test)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = _only_tested(node.operand)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        return chained(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = _only_tested(node.test)
        return _chosen(node)


def _only_tested(cond: ast.expr) -> ast.expr:
    if isinstance(cond, ast.BoolOp):
        cond.values = [_only_tested(one) for one in cond.values]
        return cond
    if _is_not(cond) and isinstance(cond.operand, ast.BoolOp):  # type: ignore[attr-defined]
        inner: ast.BoolOp = cond.operand  # type: ignore[attr-defined]
        parts = [negated(one) for one in inner.values]
        if sum(map(_is_not, parts)) <= sum(map(_is_not, inner.values)):
            return both(ast.And() if isinstance(inner.op, ast.Or) else ast.Or(), *map(_only_tested, parts))
    return tested(cond)


def _is_not(cond: ast.expr) -> bool:
    return isinstance(cond, ast.UnaryOp) and isinstance(cond.op, ast.Not)


def is_bool(cond: ast.expr) -> bool:
    """Is the value of cond certainly True or False?"""
    if isinstance(cond, ast.Compare):
        return marked(cond, "ordered", "compared", "ended") or all(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in cond.ops)
    if isinstance(cond, ast.BoolOp):
        return all(map(is_bool, cond.values))
    if isinstance(cond, ast.Constant):
        return type(cond.value) is bool
    return (isinstance(cond, ast.UnaryOp) and isinstance(cond.op, ast.Not)) or marked(cond, "matches", "bool")


def _chosen(node: ast.IfExp) -> ast.expr:
    """Rewrite ``a if a else b`` to ``a or b``, and similar forms to ``and`` and ``not``."""
    test, then, other = node.test, node.body, node.orelse
    if is_bool(test):
        if _is(then, True):
            return test if _is(other, False) else both(ast.Or(), test, other)
        if _is(other, False):
            return both(ast.And(), test, then)
        if _is(then, False):
            return negated(test) if _is(other, True) else both(ast.And(), negated(test), other)
    if isinstance(test, ast.Name) and isinstance(then, ast.Name) and test.id == then.id:
        return both(ast.Or(), test, other)
    if isinstance(test, ast.Name) and isinstance(other, ast.Name) and test.id == other.id:
        return both(ast.And(), test, then)
    return node


def _is(shown: ast.expr, value: bool) -> bool:
    return isinstance(shown, ast.Constant) and shown.value is value


def chained(node: ast.BoolOp) -> ast.expr:
    """Rewrite ``a < b and b < c`` to ``a < b < c`` if b is a variable."""
    if not isinstance(node.op, ast.And):
        return node
    found: list[ast.expr] = []
    for one in node.values:
        made = _chain(found[-1], one) if found else None
        if made is not None:
            found[-1] = made
        else:
            found.append(one)
    return found[0] if len(found) == 1 else ast.BoolOp(node.op, found)


def _chain(one: ast.expr, other: ast.expr) -> ast.expr | None:
    if not (isinstance(one, ast.Compare) and isinstance(other, ast.Compare) and len(other.ops) == 1 and isinstance(other.left, ast.Name)):
        return None
    if _between(one, other):
        first, kind = one.comparators[0], _MIRRORED[type(one.ops[0])]()
        return _all_marked(ast.Compare(first, [kind, other.ops[0]], [one.left, other.comparators[0]]), one, other)
    last, kinds = one.comparators[-1], {type(op) for op in [*one.ops, *other.ops]}
    if isinstance(last, ast.Name) and last.id == other.left.id and (kinds <= set(_UP) or kinds <= set(_DOWN)):
        return _all_marked(ast.Compare(one.left, [*one.ops, *other.ops], [*one.comparators, *other.comparators]), one, other)
    return None


def _between(one: ast.Compare, other: ast.Compare) -> bool:
    """Do one and other have the form ``x >= a and x < b``, with numbers? Then the first comparison may be mirrored."""
    if len(one.ops) != 1 or not isinstance(one.left, ast.Name) or not isinstance(other.left, ast.Name) or one.left.id != other.left.id:
        return False
    plain = all(isinstance(bound, ast.Constant | ast.Name) for bound in (one.comparators[0], other.comparators[0]))
    known = marked(one, "ordered", "compared") and marked(other, "ordered", "compared")
    return plain and known and isinstance(one.ops[0], _DOWN) and isinstance(other.ops[0], _UP)


def _all_marked(made: ast.Compare, *parts: ast.Compare) -> ast.Compare:
    # the negation of a chain of comparisons is not a chain of the opposite comparisons
    if all(marked(part, "ordered", "compared") for part in parts):
        made.was = "compared"  # type: ignore[attr-defined]
    return made
