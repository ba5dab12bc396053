"""The outcome of a Function: the computed leaves, the known leaves, and the tree that holds them."""

from typing import Any, Final

from hovis.ir.model import Block, Function, Op, Operand, Param, Return
from hovis.ir.operations import make_tuple
from hovis.lattice import Const, Type
from hovis.lattice.inspection import is_a
from hovis.passes.rewriting import copy

_NUMBERS: Final = frozenset({bool, int, float, complex})


class _Computed:
    """Marker of a leaf that is not a constant."""

    def __repr__(self) -> str:
        return "COMPUTED"


COMPUTED: Final = _Computed()


class Outcome:
    """The outcome of a Function that returns ``(tuple of leaves, …, tree)``.

    function  a copy of the Function that returns only the computed leaves, as one tuple
    plans     for each tuple of leaves: COMPUTED for a computed leaf, or the known value of the leaf
    tree      the known last item of the result
    """

    def __init__(self, function: Function, end: Block, plans: list[tuple[Any, ...]], computed: list[tuple[Operand, ...]], tree: Any) -> None:
        self.function, self.end, self.plans, self.computed, self.tree = function, end, plans, computed, tree


def outcome(function: Function) -> Outcome | None:
    """Return the Outcome of a Function, or None if the structure of its result is not known."""
    made = copy(function)
    ends = [block for block in made.blocks if isinstance(block.terminator, Return)]
    end = ends[0].terminator if len(ends) == 1 else None
    if not isinstance(end, Return) or not isinstance(end.value, Op) or end.value.callee is not make_tuple:
        return None
    *groups, shape = end.value.args
    try:
        plans = [tuple(map(_constant, _parts(group))) for group in groups]
        tree = _constant(shape)
    except ValueError:
        return None
    if tree is COMPUTED:
        return None
    computed = [tuple(one for one, known in zip(_parts(group), plan, strict=True) if known is COMPUTED) for group, plan in zip(groups, plans, strict=True)]
    end.value = Op(make_tuple, tuple(one for group in computed for one in group), type=Type(tuple), location=end.location)
    ends[0].ops.append(end.value)
    return Outcome(made, ends[0], plans, computed, tree)


def filled(plan: tuple[Any, ...], computed: Any, first: int = 0) -> list[Any]:
    """Return all leaves of a plan, with the computed ones (from index ``first`` on) in their places."""
    found, at = [], first
    for known in plan:
        if known is COMPUTED:
            found.append(computed[at])
            at += 1
        else:
            found.append(known)
    return found


def _parts(results: Operand) -> tuple[Operand, ...]:
    if isinstance(results, Op) and results.callee is make_tuple:
        return results.args
    if isinstance(results, Const) and is_a(results.value, tuple):
        return tuple(map(Const, results.value))
    raise ValueError


def _constant(operand: Operand) -> Any:
    """Return the value of an operand that is made of constants alone, or COMPUTED for a computed number or array; else raise ValueError."""
    if isinstance(operand, Const):
        if type(operand.value).__hash__ is None:
            raise ValueError
        return operand.value
    if isinstance(operand, Op) and operand.callee in (make_tuple, tuple.__new__):
        parts = [_constant(arg) for arg in operand.args]
        if any(part is COMPUTED for part in parts):
            raise ValueError
        return tuple(parts) if operand.callee is make_tuple else operand.callee(*parts)
    if isinstance(operand, Op | Param) and is_number(operand):
        return COMPUTED
    raise ValueError


def is_number(value: Op | Param) -> bool:
    """Is value a number or an array, by its type?"""
    return value.dims is not None or (isinstance(value.type, Type) and (value.type.cls in _NUMBERS or value.type.cls.__module__ == "numpy"))
