"""Constant folding and algebraic simplification of pure ops.

Only identities that hold for *every* value of the exact types are used: ``1 * x`` is x for an exact Int, but ``1 * True`` is 1, not True;
``x + 0.0`` is not x for -0.0; ``x * 0`` is not 0 for inf; ``x == x`` is not True for nan.
"""

import operator as o
from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.base import interrupts
from hovis.ir import operations
from hovis.ir.analysis.control_flow import reverse_postorder
from hovis.ir.matching import same
from hovis.ir.model import Branch, Edge, Effect, Function, Op, Operand, Param, Value, edges
from hovis.lattice import AbstractValue, Array, Const, Type
from hovis.lattice.constants import ATOMS, is_immutable
from hovis.passes.rewriting import Pass, replace_operands, replaced, resolve, substitute

#: The maximum size of the result of constant folding: bits of a number, or items of a sequence.
MAX_SIZE: Final = 1_000_000


def _instcombine(function: Function) -> bool:
    """Fold constants and apply algebraic identities.

    Pure ops on constants are computed; identities are applied where the exact types are known.
    """
    new: dict[Value, Operand] = {}
    for block in reverse_postorder(function.blocks[0]):
        kept = []
        for op in block.ops:
            replace_operands(op, new)
            found = _simpler(op)
            if found is None:
                kept.append(op)
            else:
                new[op] = resolve(found, new)
        block.ops = kept
        for edge in edges(block.terminator):
            edge.args = replaced(edge.args, new)
    substitute(function, new)
    turned = [_turn(block.terminator) for block in function.blocks if isinstance(block.terminator, Branch)]
    return bool(new) or any(turned)


instcombine = Pass(_instcombine)


def _simpler(op: Op) -> Operand | None:
    """Return a known operand that equals the result of op, or None."""
    if op.effect != Effect.PURE or op.kwargs or isinstance(op.callee, Param | Op | Function):
        return None
    if op.args and all(isinstance(arg, Const) for arg in op.args) and is_computed(op):
        return computed(op, op.args)
    try:
        rule = RULES.get(op.callee)
    except TypeError:
        return None
    return rule(*op.args) if rule is not None else None


def _turn(branch: Branch) -> bool:
    """Replace a branch on ``not_(b)`` by one on b with its edges exchanged; return whether the branch was one."""
    cond = branch.cond
    if not (isinstance(cond, Op) and cond.callee is o.not_ and is_exact(cond.args[0], bool)):
        return False
    branch.cond = cond.args[0]
    true: Edge = branch.true
    branch.true, branch.false = branch.false, true
    return True


# ------------------------------------------------------------------------------------------------- constant folding

_ARITHMETIC: Final = (o.add, o.sub, o.mul, o.truediv, o.floordiv, o.mod, o.pow, o.lshift, o.rshift, o.and_, o.or_, o.xor, o.neg, o.pos, o.invert)
_COMPARISONS: Final = (o.lt, o.le, o.eq, o.ne, o.gt, o.ge)
FOLDED: Final = frozenset({*_ARITHMETIC, *_COMPARISONS, o.not_, o.truth, o.is_, o.is_not, o.contains, o.getitem, abs, bool, getattr, len})


def is_computed(op: Op) -> bool:
    """Is op a pure call, without keyword arguments, of one of FOLDED?"""
    try:
        return op.effect == Effect.PURE and not op.kwargs and op.callee in FOLDED
    except TypeError:
        return False


def computed(op: Op, args: Sequence[Operand]) -> Const | None:
    """Return the result of op for these arguments if they are known, and it is safe to compute it now; else None."""
    if not all(isinstance(arg, Const) for arg in args) or not is_computed(op):
        return None
    return _folded(op.callee, [arg.value for arg in args])  # type: ignore[union-attr]


def _folded(callee: Any, values: list[Any]) -> Const | None:
    """Compute the result if that is safe now (builtin immutable values, a bounded size, no exception); else return None."""
    if callee in (o.is_, o.is_not):
        return _identity(callee, *values)
    if not all(map(is_immutable, values)) or not _is_cheap(callee, values):
        return None
    try:
        result = callee(*values)
    except Exception as error:
        interrupts.let_through(error)
        return None
    return Const(result) if is_immutable(result) else None


def _identity(callee: Any, a: object, b: object) -> Const | None:
    if a is not b and type(a) is type(b) and type(a) in ATOMS | {tuple} and type(a) is not bool:
        return None
    return Const(callee(a, b))


def _is_cheap(callee: Any, values: list[Any]) -> bool:
    if callee is o.mul:
        return _size(values[0]) * _size(values[1]) <= MAX_SIZE if all(type(v) in (int, bool) for v in values) else _length(values) <= MAX_SIZE
    if callee is o.pow:
        return _size(values[0]) * abs(values[1]) <= MAX_SIZE if type(values[1]) in (int, bool) and type(values[0]) in (int, bool) else True
    if callee is o.lshift:
        return type(values[1]) in (int, bool) and _size(values[0]) + values[1] <= MAX_SIZE
    if callee is o.mod:
        return type(values[0]) not in (str, bytes)
    # ~ on a bool emits a DeprecationWarning
    return not (callee is o.invert and type(values[0]) is bool)


def _size(value: Any) -> int:
    return max(int(value).bit_length(), 1)


def _length(values: list[Any]) -> int:
    length = 1
    for value in values:
        length *= len(value) if isinstance(value, str | bytes | tuple) else abs(value) if isinstance(value, int) else 1
    return length


# ------------------------------------------------------------------------------------------------- identities


def is_exact(operand: Operand, *classes: type) -> bool:
    """Is operand of exactly one of these classes?"""
    if isinstance(operand, Const):
        return type(operand.value) in classes
    known: AbstractValue | None = operand.type if isinstance(operand, Param | Op) else None
    return isinstance(known, Type) and not isinstance(known, Array) and known.cls in classes


def _int(operand: Operand, value: int) -> bool:
    """Is operand the constant value, exactly an int?"""
    return isinstance(operand, Const) and type(operand.value) is int and operand.value == value


def _empty(operand: Operand, cls: type) -> bool:
    return isinstance(operand, Const) and type(operand.value) is cls and not operand.value


def _neutral(which: int, zero: int | None = None, both_sides: bool = True) -> "Rule":
    """Build the rules ``x op which`` is x and ``x op zero`` is zero, for an exact int."""

    def rule(*args: Operand) -> Operand | None:
        if len(args) != 2:
            return None
        for x, c in (args, args[::-1]) if both_sides else (args,):
            if is_exact(x, int):
                if _int(c, which):
                    return x
                if zero is not None and _int(c, zero):
                    return c
        return None

    return rule


def _when_same(classes: tuple[type, ...], result: object, otherwise: "Rule | None" = None) -> "Rule":
    """Build the rule that ``x op x`` is result, for these exact classes."""

    def rule(*args: Operand) -> Operand | None:
        if len(args) == 2 and same(*args) and is_exact(args[0], *classes):
            return Const(result)
        return otherwise(*args) if otherwise is not None else None

    return rule


def _idempotent(otherwise: "Rule") -> "Rule":
    def rule(*args: Operand) -> Operand | None:
        if len(args) == 2 and same(*args) and is_exact(args[0], int, bool):
            return args[0]
        return otherwise(*args)

    return rule


def _already(*classes: type) -> "Rule":
    """Build the rule that a conversion returns its argument if that is of this exact class already."""

    def rule(*args: Operand) -> Operand | None:
        return args[0] if len(args) == 1 and is_exact(args[0], *classes) else None

    return rule


def _joined(otherwise: "Rule") -> "Rule":
    """Build the rules that x + "" and x + () are x."""

    def rule(*args: Operand) -> Operand | None:
        if len(args) == 2:
            for x, empty in (args, args[::-1]):
                for cls in (str, bytes, tuple):
                    if is_exact(x, cls) and _empty(empty, cls):
                        return x
        return otherwise(*args)

    return rule


def _undone(callee: Any, *classes: type) -> "Rule":
    """Build the rule that callee(callee(x)) is x, for these exact classes."""

    def rule(*args: Operand) -> Operand | None:
        (x,) = args
        if isinstance(x, Op) and x.callee is callee and is_exact(x.args[0], *classes):
            return x.args[0]
        return None

    return rule


def _is_itself(result: bool) -> "Rule":
    def rule(*args: Operand) -> Operand | None:
        if len(args) != 2:
            return None
        return Const(result) if args[0] is args[1] else Const(not result) if _are_of_other_classes(*args) else None

    return rule


def _are_of_other_classes(a: Operand, b: Operand) -> bool:
    """Is one operand a constant, and the other known to be of another class?"""
    if isinstance(a, Const):
        a, b = b, a
    kind = getattr(a, "type", None)
    return isinstance(b, Const) and type(kind) is Type and kind.cls is not type(b.value)


def _known_tuple(*parts: Operand) -> Operand | None:
    """Fold a tuple of builtin classes and immutable values, whose identity does not matter."""
    values = [part.value for part in parts if isinstance(part, Const)]
    plain = all(is_immutable(value) or (type(value) is type and value.__module__ == "builtins") for value in values)
    return Const(tuple(values)) if plain and len(values) == len(parts) else None


def _part(*args: Operand) -> Operand | None:
    """Return the item that a getitem takes from a tuple made in this function, or None."""
    whole, index = args if len(args) == 2 else (None, None)
    if not (isinstance(whole, Op) and whole.callee is operations.make_tuple and isinstance(index, Const) and type(index.value) is int):
        return None
    return whole.args[index.value] if -len(whole.args) <= index.value < len(whole.args) else None


Rule = Callable[..., Operand | None]
_ORDERED: Final = (int, bool, str, bytes, type(None))
_SORTED: Final = (int, bool, str, bytes)

RULES: Final[dict[Any, Rule]] = {
    o.add: _joined(_neutral(0)),
    o.sub: _when_same((int,), 0, _neutral(0, both_sides=False)),
    o.mul: _neutral(1, zero=0),
    o.floordiv: _neutral(1, both_sides=False),
    o.pow: _neutral(1, both_sides=False),
    o.lshift: _neutral(0, both_sides=False),
    o.rshift: _neutral(0, both_sides=False),
    o.and_: _idempotent(_neutral(-1, zero=0)),
    o.or_: _idempotent(_neutral(0, zero=-1)),
    o.xor: _when_same((int,), 0, _neutral(0)),
    o.pos: _already(int),
    o.neg: _undone(o.neg, int),
    o.invert: _undone(o.invert, int),
    o.not_: _undone(o.not_, bool),
    o.eq: _when_same(_ORDERED, True),
    o.ne: _when_same(_ORDERED, False),
    o.le: _when_same(_SORTED, True),
    o.ge: _when_same(_SORTED, True),
    o.lt: _when_same(_SORTED, False),
    o.gt: _when_same(_SORTED, False),
    o.is_: _is_itself(True),
    o.is_not: _is_itself(False),
    o.index: _already(int),
    o.truth: _already(bool),
    bool: _already(bool),
    int: _already(int),
    float: _already(float),
    str: _already(str),
    tuple: _already(tuple),
    operations.format_value: _already(str),
    operations.join_strings: _already(str),
    operations.make_tuple: _known_tuple,
    o.getitem: _part,
}
