"""Rules of instruction selection, by callee: the instructions for callables that Python has instructions for; everything else is a call."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.backend.assembler.selection.stack_code import StackCode
from hovis.ir.model import Caught, Op, Operand
from hovis.lattice import Const, Type


class Rule:
    """How a known callee is translated: the order in which its operands are pushed, ``load`` (pushes them instead, if given), and ``emit`` (the
    instructions that follow). may_call: in rare cases these call the callee itself.
    """

    __slots__ = ("emit", "load", "may_call", "order", "result")

    def __init__(
        self,
        emit: Callable[[StackCode, Op], None],
        order: Sequence[int] | None = None,
        result: bool = True,
        load: Callable[[StackCode, Op], None] | None = None,
        may_call: bool = False,
    ) -> None:
        self.emit, self.order, self.result, self.load, self.may_call = emit, order, result, load, may_call


# All these callees live as long as their modules: their ids are good keys.

#: (id of the callee, number of arguments) -> rule
FIXED: Final[dict[tuple[int, int], Rule]] = {}
#: id of the callee -> the rule for this op, if there is one
CHOSEN: Final[dict[int, Callable[[StackCode, Op], Rule | None]]] = {}


def is_constant(value: Operand, wanted: object) -> bool:
    """Is value a Const of exactly the object wanted?"""
    return isinstance(value, Const) and value.value is wanted


def is_bool(value: Operand) -> bool:
    """Is value certainly True or False?"""
    if isinstance(value, Const):
        return type(value.value) is bool
    return not isinstance(value, Caught) and type(value.type) is Type and value.type.cls is bool


def known_value(value: Operand, kind: type) -> Any:
    """Return the constant of exactly this type that value is, else None."""
    return value.value if isinstance(value, Const) and type(value.value) is kind else None


def constant_of(value: Operand) -> Any:
    """Return the constant that value is; a rule has already checked that it is one."""
    assert isinstance(value, Const)
    return value.value


def name_of(value: Operand) -> str | None:
    """Return the identifier that value is, else None."""
    name = known_value(value, str)
    return name if name is not None and name.isidentifier() else None


def fixed(callee: object, count: int, *code: tuple[int, int, int], order: Sequence[int] | None = None, result: bool = True) -> Rule:
    """Register and return a rule: callee with count arguments becomes these instructions (opcode, argument, stack effect)."""

    def emit(linear: StackCode, op: Op) -> None:
        for one in code:
            linear.do(*one)

    rule = FIXED[id(callee), count] = Rule(emit, order, result)
    return rule


def chosen(*callees: object) -> Callable[[Callable[[StackCode, Op], Rule | None]], Callable[[StackCode, Op], Rule | None]]:
    """Decorator: the decorated function chooses the rule for an op with one of these callees."""

    def register(choose: Callable[[StackCode, Op], Rule | None]) -> Callable[[StackCode, Op], Rule | None]:
        for callee in callees:
            CHOSEN[id(callee)] = choose
        return choose

    return register
