"""Rules of instruction selection, by callee: what the callables that Python has an instruction for become; everything else is a call."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from hovis.backend.assembler.selection.stack_code import StackCode
from hovis.ir.model import Caught, Op, Operand
from hovis.lattice import Const, Type


class Rule:
    """What a known callee becomes: its operands in the order they are pushed, what pushes them if that is not all, what follows."""

    __slots__ = ("emit", "load", "order", "result")

    def __init__(
        self,
        emit: Callable[[StackCode, Op], None],
        order: Sequence[int] | None = None,
        result: bool = True,
        load: Callable[[StackCode, Op], None] | None = None,
    ) -> None:
        self.emit, self.order, self.result, self.load = emit, order, result, load


# All these callees live as long as their modules: their ids are good keys.

#: (id of the callee, number of arguments) -> rule
FIXED: Final[dict[tuple[int, int], Rule]] = {}
#: id of the callee -> the rule for this op, if there is one
CHOSEN: Final[dict[int, Callable[[StackCode, Op], Rule | None]]] = {}


def is_constant(value: Operand, wanted: object) -> bool:
    """Is it this very object?"""
    return isinstance(value, Const) and value.value is wanted


def is_bool(value: Operand) -> bool:
    """Is it certainly True or False?"""
    if isinstance(value, Const):
        return type(value.value) is bool
    return not isinstance(value, Caught) and type(value.type) is Type and value.type.cls is bool


def known_value(value: Operand, kind: type) -> Any:
    """The constant of this exact type that value is, else None."""
    return value.value if isinstance(value, Const) and type(value.value) is kind else None


def constant_of(value: Operand) -> Any:
    """The constant that value is: a rule has looked."""
    assert isinstance(value, Const)
    return value.value


def name_of(value: Operand) -> str | None:
    """The identifier that value is, else None."""
    name = known_value(value, str)
    return name if name is not None and name.isidentifier() else None


def fixed(callee: object, count: int, *code: tuple[int, int, int], order: Sequence[int] | None = None, result: bool = True) -> Rule:
    """callee with count arguments is these instructions (opcode, argument, stack effect)."""

    def emit(linear: StackCode, op: Op) -> None:
        for one in code:
            linear.do(*one)

    rule = FIXED[id(callee), count] = Rule(emit, order, result)
    return rule


def chosen(*callees: object) -> Callable[[Callable[[StackCode, Op], Rule | None]], Callable[[StackCode, Op], Rule | None]]:
    """Decorator: the function below looks at an op of these callees and gives its rule."""

    def register(choose: Callable[[StackCode, Op], Rule | None]) -> Callable[[StackCode, Op], Rule | None]:
        for callee in callees:
            CHOSEN[id(callee)] = choose
        return choose

    return register
