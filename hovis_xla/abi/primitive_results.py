"""The structure and the types of the result of a user-defined primitive, as far as they are known before it is called."""

import contextlib
from collections.abc import Sequence
from typing import Any, cast

from hovis.front.kernels.primitives import Kept
from hovis.ir import operations
from hovis.ir.model import Effect, Function, Op, Param, Return
from hovis.lattice import ANY, AbstractValue, Const, Partial, Type
from hovis.lattice.constants import is_immutable
from hovis.library.standard import STANDARD
from hovis.transforms.rule_tracing import watched
from hovis_xla.abi.callback import Tree
from hovis_xla.analysis.primitive_effects import as_is
from hovis_xla.emit.values import ARRAY, Known, Num, Operand, Val, abstract, num_of_type, num_of_value

#: Maximum number of parts of a result.
MOST_PARTS = 64


def promised(primitive: Kept, args: Sequence[Operand], op: Op) -> tuple[Tree, list[Num]] | None:
    """Find the structure and the types of the result of a user-defined primitive for these operands: as declared, or else by tracing it. Return
    None if they are unknown.
    """
    leaves: list[Num] = []
    tree = _of_type(op.type, op.dims, leaves)
    if tree is None and all(isinstance(a, Known | Val) for a in args):
        function = watched(primitive.fn, [_as_parameter(cast(Known | Val, a)) for a in args]).function
        guessed = _guessed(function)
        ends = [block.terminator.value for block in as_is(function) if isinstance(block.terminator, Return)]
        found: list[tuple[Tree | None, list[Num]]] = []
        for end in ends:
            leaves = []
            found.append((_of_value(end, leaves, guessed), leaves))
        tree = found[0][0] if found and all(one == found[0] for one in found) else None
    return None if tree is None or len(leaves) > MOST_PARTS else (tree, leaves)


def _as_parameter(operand: Known | Val) -> Const | Param:
    if isinstance(operand, Known):
        return Const(operand.value)
    return Param(cast(AbstractValue, abstract(operand)), tuple(map(Const, operand.num.shape)) if operand.num.kind == ARRAY else None)


def _guessed(function: Function) -> dict[Any, AbstractValue]:
    """Guess the types of numbers that only the environment determines, from what it holds now. (Results are checked at run time.)"""
    found: dict[Any, AbstractValue] = {}
    for block in as_is(function):
        for op in block.all_ops():
            if op.type is not ANY or op.kwargs or isinstance(op.callee, Op | Param | Function):
                continue
            callee: Any = op.callee
            known = [a.value for a in op.args if isinstance(a, Const)]
            with contextlib.suppress(Exception):
                if len(known) == len(op.args) and not op.effect & ~(Effect.READS | Effect.RAISES):
                    value = callee(*known)
                    found[op] = Type(type(value)) if num_of_value(value) is not None and not hasattr(value, "shape") else ANY
                elif (rule := STANDARD.rule(callee)) is not None:
                    found[op] = rule.result(*[STANDARD.of_value(a.value) if isinstance(a, Const) else found.get(a, cast(Any, a).type) for a in op.args]) or ANY
    return found


def _of_value(value: Any, leaves: list[Num], guessed: dict[Any, AbstractValue]) -> Tree | None:
    """Return how a value of a trace is built, and collect its leaves; None if its type does not tell."""
    if isinstance(value, Op) and value.callee is operations.make_tuple:
        parts = [_of_value(part, leaves, guessed) for part in value.args]
        return None if None in parts else ("build", tuple, tuple(parts))
    if value in guessed:
        return _of_type(guessed[value], None, leaves)
    return _of_type(value if isinstance(value, Const) else value.type, None if isinstance(value, Const) else value.dims, leaves)


def _of_type(kind: AbstractValue, dims: Any, leaves: list[Num]) -> Tree | None:
    """Return how a value of a type is built, and collect its leaves; None if the type does not tell."""
    if isinstance(kind, Partial) and kind.cls is tuple:
        parts = [_of_type(part, None, leaves) for part in kind.parts]
        return None if None in parts else ("build", tuple, tuple(parts))
    num = num_of_type(kind, dims)
    if num is None:
        return ("known", kind.value) if isinstance(kind, Const) and is_immutable(kind.value) else None
    leaves.append(num)
    return "leaf", len(leaves) - 1
