"""Writing ops as statements of Python, and which ops are no expressions."""

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

from hovis.backend.source.expressions import BINARY, Write, brackets, expression
from hovis.backend.source.syntax import attribute
from hovis.ir import operations as ops
from hovis.ir.model import Op, Operand
from hovis.lattice import Type

#: In-place operators, which are written as augmented assignments.
IN_PLACE: Final[dict[Any, type[ast.operator]]] = {
    getattr(operator, "i" + plain.__name__.strip("_")): symbol for plain, symbol in BINARY.items()
}
#: Types whose values an augmented assignment can't change in place.
_UNCHANGING: Final = (int, float, bool, complex, str, bytes, tuple, frozenset)
#: Ops that are written as statements, because no expression is equivalent.
_STATEMENTS: Final = frozenset(
    {operator.setitem, operator.delitem, ops.drop, ops.raise_now, ops.raise_from, ops.raise_current, ops.unpack, ops.unpack_star, *IN_PLACE}
)


def is_expression(op: Op) -> bool:
    """Can op be written as an expression?"""
    callee = op.callee
    if callee in (setattr, delattr) and len(op.args) > 1 and attribute(op.args[1]):
        return False
    try:
        return callee not in _STATEMENTS
    except TypeError:
        return True


def evaluation_order(op: Op) -> list[Operand]:
    """Return the operands in the order in which Python evaluates them where op is written as it is here."""
    callee, args = op.callee, op.args
    if callee is operator.setitem:
        return [args[2], args[0], args[1]]
    if callee is operator.contains:
        return [args[1], args[0]]
    if callee is setattr and not is_expression(op):
        return [args[2], args[0]]
    return list(op.operands())


def statement(op: Op, target: str | None, write: Write, named: Callable[[object], ast.expr], held: Callable[[Operand], bool]) -> list[ast.stmt]:
    """Return op as statements; target is the variable of its result (None if it is not used), held says whether a variable holds an operand."""
    callee = op.callee
    if callee is operator.setitem:
        return [ast.Assign([ast.Subscript(write(op.args[0]), brackets(op.args[1], write), ast.Store())], write(op.args[2]))]
    if callee is operator.delitem:
        return [ast.Delete([ast.Subscript(write(op.args[0]), brackets(op.args[1], write), ast.Del())])]
    if callee is setattr and not is_expression(op):
        return [ast.Assign([ast.Attribute(write(op.args[0]), attribute(op.args[1]) or "", ast.Store())], write(op.args[2]))]
    if callee is delattr and not is_expression(op):
        return [ast.Delete([ast.Attribute(write(op.args[0]), attribute(op.args[1]) or "", ast.Del())])]
    if callee is ops.drop:
        shown = write(op.args[0])
        return [ast.Delete([ast.Name(shown.id, ast.Del())])] if held(op.args[0]) and isinstance(shown, ast.Name) else []
    if callee is ops.list_extend and target is None and held(op.args[0]):
        name, more = write(op.args[0]), write(op.args[1])
        if isinstance(name, ast.Name) and isinstance(more, ast.Tuple):
            return [ast.AugAssign(ast.Name(name.id, ast.Store()), ast.Add(), more)]
    if callee is ops.raise_now:
        return [ast.Raise(write(op.args[0]), None)]
    if callee is ops.raise_from:
        return [ast.Raise(write(op.args[0]), write(op.args[1]))]
    if callee is ops.raise_current:
        return [ast.Raise(None, None)]
    if callee in IN_PLACE:
        return _in_place(op, target, write)
    shown = expression(op, write, named)
    if target is None:
        return [ast.Expr(shown)]
    return [assign(target, shown, op)]


def _in_place(op: Op, target: str | None, write: Write) -> list[ast.stmt]:
    first = write(op.args[0])
    target = target or "_"
    found: list[ast.stmt] = []
    if not (isinstance(first, ast.Name) and first.id == target):
        found.append(ast.Assign([ast.Name(target, ast.Store())], first))
    found.append(ast.AugAssign(ast.Name(target, ast.Store()), IN_PLACE[op.callee](), write(op.args[1])))
    return found


def assign(target: str, shown: ast.expr, value: Operand | None = None) -> ast.stmt:
    """Return ``target = shown``, or ``target += …`` where that has the same effect."""
    kind = getattr(value, "type", None)
    if isinstance(shown, ast.BinOp) and isinstance(shown.left, ast.Name) and shown.left.id == target:
        if isinstance(kind, Type) and kind.cls in _UNCHANGING:
            return ast.AugAssign(ast.Name(target, ast.Store()), shown.op, shown.right)
    return ast.Assign([ast.Name(target, ast.Store())], shown)
