"""Helpers for syntax trees: attributes, constants, conditions, names of known objects, and marks that tell which op an expression was."""

import ast
from collections.abc import Callable, Iterable
from typing import Any, Final

from hovis.ir.model import Operand
from hovis.ir.naming import is_name
from hovis.lattice import Const


def attribute(value: Operand) -> str | None:
    """Return value as an attribute name that can be written after a dot (and is not mangled by a surrounding class), else None."""
    name = value.value if isinstance(value, Const) else None
    return name if type(name) is str and is_attribute(name) else None


def is_attribute(name: str) -> bool:
    """Can name be written after a dot in any place, also inside a class?"""
    return is_name(name) and not (name.startswith("__") and not name.endswith("__"))


# ------------------------------------------------------------------------------------------------- constants


def literal(value: Any) -> ast.expr | None:
    """Return the syntax of a constant that can be written out, else None."""
    kind = type(value)
    if value is None or value is True or value is False or value is Ellipsis or kind in (str, bytes):
        return ast.Constant(value)
    if kind is int:
        # larger ints can't be read back from text
        return _signed(value) if value.bit_length() < 4000 else None
    if kind is float and value == value and value not in (float("inf"), float("-inf")):
        return _signed(value)
    if kind is complex and value.real == 0 and repr(value)[0] != "-" and repr(value.imag) not in ("nan", "inf", "-inf"):
        return ast.Constant(value)
    if kind is slice:
        bounds = [literal(part) for part in (value.start, value.stop, value.step)]
        if None in bounds:
            return None
        made = ast.Call(meaning(slice), bounds, [])  # type: ignore[arg-type]
        mark(made, "slice")
        return made
    if kind is tuple:
        parts = [literal(item) for item in value]
        return None if None in parts else ast.Tuple(parts, ast.Load())  # type: ignore[arg-type]
    return None


def _signed(value: Any) -> ast.expr:
    text = repr(value)
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if text.startswith("-") else ast.Constant(value)


# ------------------------------------------------------------------------------------------------- conditions


def tested(cond: ast.expr) -> ast.expr:
    """Remove ``bool`` calls from a condition that is only tested."""
    while marked(cond, "bool") and isinstance(cond, ast.Call):
        cond = cond.args[0]
    return cond


def meaning(value: Any, name: str = "") -> ast.Name:
    """Return a Name for a known object whose name in the text is not known yet (see ``put_names``)."""
    made = ast.Name(name or value.__name__, ast.Load())
    made.means = value  # type: ignore[attr-defined]
    return made


def put_names(body: Iterable[ast.AST], place: Callable[[object], str]) -> None:
    """Fill in the names of known objects that ``meaning`` has left open."""
    for part in body:
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and hasattr(node, "means"):
                node.id = place(node.means)


def mark(node: ast.AST, what: str) -> None:
    """Mark an expression with the op it was, for code that looks for it in the tree."""
    node.was = what  # type: ignore[attr-defined]


def marked(node: ast.AST | None, *what: str) -> bool:
    return getattr(node, "was", None) in what


def negated(cond: ast.expr) -> ast.expr:
    """Return ``not cond``, with the opposite operator where that always has the same meaning."""
    if isinstance(cond, ast.UnaryOp) and isinstance(cond.op, ast.Not):
        return cond.operand
    if marked(cond, "bool") and isinstance(cond, ast.Call):
        cond = tested(cond)
    if isinstance(cond, ast.Compare) and len(cond.ops) == 1 and type(cond.ops[0]) in _OPPOSITE:
        if isinstance(cond.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn) or marked(cond, "ordered"):
            made = ast.Compare(cond.left, [_OPPOSITE[type(cond.ops[0])]()], cond.comparators)
            mark(made, getattr(cond, "was", ""))
            return made
    return ast.UnaryOp(ast.Not(), cond)


_OPPOSITE: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip


def both(kind: ast.boolop, *parts: ast.expr) -> ast.expr:
    """Return ``a and b`` or ``a or b``, without redundant parentheses."""
    flat: list[ast.expr] = []
    for part in parts:
        flat += part.values if isinstance(part, ast.BoolOp) and type(part.op) is type(kind) else [part]
    return ast.BoolOp(kind, flat)
