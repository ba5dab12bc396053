"""Writing into a reverse sweep: where a rule uses a value of the function, it gets that value as the sweep knows it at this place."""

from typing import TYPE_CHECKING, Any

from hovis.engine.state.budget import OutOfFuel
from hovis.engine.state.specialization_tables import GiveUp
from hovis.ir.analysis.control_flow import operands
from hovis.ir.model import Block, Edge, Effect, Function, Jump, Op, Operand, Param, Return, Value
from hovis.lattice import ANY, Array, Const
from hovis.lattice import Any as AnyType
from hovis.passes.rewriting import copy
from hovis.transforms import rule_tracing
from hovis.transforms.normal_form import joined, type_of

if TYPE_CHECKING:
    from hovis.transforms.reverse.sweep import Sweep


class Writer(rule_tracing.Writer):
    """Appends to a block of the sweep; operands that are values of the function are replaced by the values of their variables in this block."""

    def __init__(self, block: Block, sweep: "Sweep", asks: bool = True) -> None:
        super().__init__(sweep.function, block)
        self.sweep = sweep
        self.asks = asks

    def rule(self, rule: Any, /, *operands: Operand, **named: Operand) -> Operand:
        """Append a rule for these operands, inlined; or a call of it, where too little is known of them."""
        operands = tuple(map(self._leaf, operands))
        if any(_is_unknown(one) for one in (*operands, *named.values())):
            return self._called(rule, operands, named)
        try:
            function, values = rule_tracing.traced(rule, list(operands), named)
        except (GiveUp, OutOfFuel):
            return self._called(rule, operands, named)
        return self.inline(function, values)

    def _leaf(self, operand: Operand) -> Operand:
        """Replace a constant array by a parameter of its type, so that it is treated as unknown: its contents are not part of the traced rule."""
        if isinstance(operand, Const):
            held: Any = operand.value
            kind = type_of(operand)
            if isinstance(kind, Array):
                leaf = Param(kind, tuple(map(Const, held.shape)))
                self.sweep.known[leaf] = operand
                return leaf
        return operand

    def _called(self, rule: Any, operands: tuple[Operand, ...], named: dict[str, Operand]) -> Op:
        for one in operands:
            self._ask(one)
        args = tuple(self.sweep.available(one, self.block) for one in operands)
        kwargs = tuple((name, self.sweep.available(one, self.block)) for name, one in named.items())
        made = Op(rule, args, kwargs, ANY, None, Effect.OPAQUE, self.location)
        self.block.ops.append(made)
        return made

    def _ask(self, value: Operand) -> None:
        if self.asks:
            self.sweep.asks(value)

    def inline(self, function: Function, values: list[Operand]) -> Operand:
        """Append a copy of function, applied to these values as they are known here (as far as it uses them), and return its result."""
        body = copy(function)
        used = {v for block in body.blocks for v in operands(block)}
        new: dict[Value, Operand] = {}
        for param, value in zip(body.params, values, strict=True):
            if param in used:
                self._ask(value)
            new[param] = self.sweep.available(value, self.block) if param in used else Const(None)
        for op in body.ops():
            op.location = self.location
        rule_tracing.substitute_unnamed(body, new)
        start, *others = body.blocks
        self.block.ops += start.ops
        if not others and isinstance(start.terminator, Return):
            return start.terminator.value
        result = joined([block.terminator.value for block in body.blocks if isinstance(block.terminator, Return)])
        behind, before = Block((result,)), self.block
        before.terminator = start.terminator
        for block in (before, *others):
            if isinstance(block.terminator, Return):
                block.terminator = Jump(Edge(behind, (block.terminator.value,)), self.location)
        for block in (*others, behind):
            # no variable is assigned in these blocks
            self.sweep.variables.passing[block] = before
        self.function.blocks += [*others, behind]
        self.block = behind
        return result


def shape_of(value: Operand) -> tuple[Operand, ...] | None:
    """Return the shape of an array, with ``Const(None)`` for each unknown dimension; None if nothing is known of it."""
    dims = value.dims if isinstance(value, Param | Op) else None
    return None if dims is None else tuple(d if isinstance(d, Const) else Const(None) for d in dims)


def _is_unknown(operand: Operand) -> bool:
    return isinstance(type_of(operand), AnyType)
