"""Calls on a tape: operations on values that change, and how the cotangent of the result is propagated to the operands."""

from typing import TYPE_CHECKING, Any

from hovis.errors import Declined, DerivativeError
from hovis.ir.model import Location, Op
from hovis.library.numpy.adjoints.cotangents import scatter
from hovis.library.tables.derivatives import Derivative
from hovis.transforms import derivative_rules
from hovis.transforms.record.boxes import Box, has_box

if TYPE_CHECKING:
    from hovis.transforms.record.tape import Tape


class Call:
    """A recorded call: its arguments with boxes (boxed) and without (args), its result (y), and the boxes of the result (made)."""

    __slots__ = ("args", "boxed", "callee", "kwargs", "location", "made", "row", "y")

    def __init__(self, callee: Any, row: Derivative, boxed: list[Any], args: list[Any], kwargs: dict[str, Any], y: Any, made: Any, at: Location | None) -> None:
        self.callee, self.row, self.boxed, self.args, self.kwargs, self.y, self.made = callee, row, boxed, args, kwargs, y, made
        self.location = at

    def reverse(self, tape: "Tape") -> None:
        """Add to the cotangent of each operand its share of the cotangent of the result."""
        g = tape.taken(self.made)
        if g is None or (isinstance(g, tuple) and all(part is None for part in g)):
            return
        tape.location = self.location
        op = Op(self.callee, (), location=self.location)
        for k, operand in enumerate(self.boxed):
            if has_box(operand, tape) and self.flows(k):
                try:
                    share = self._pulled(tape, op, k, g)
                except Declined as why:
                    raise DerivativeError(derivative_rules.not_for(str(why), op)) from None
                tape.share(operand, share)

    def flows(self, k: int) -> bool:
        """Is the result a differentiable function of the k-th operand?"""
        row = self.row
        return bool(row.every_pull or row.definition or row.transposed) or k >= len(row.pulls) or row.pulls[k] is not None

    def _pulled(self, tape: "Tape", op: Op, k: int, g: Any) -> Any:
        row, args = self.row, self.args
        if row.every_pull is not None:
            return tape.run(row.every_pull, k, g, self.y, *args, **self.kwargs)
        if row.transposed is not None:
            push = row.transposed
            within = tape.within(tuple(args))
            return tape.pulled(lambda t: push(k, t, *within, **self.kwargs), args[k], g)
        rule = row.pulls[k] if k < len(row.pulls) else None
        if rule is None and row.definition is not None:
            definition, within = row.definition, tape.within(tuple(args))
            return tape.pulled(lambda x: definition(*within[:k], x, *within[k + 1 :], **self.kwargs), args[k], g)
        if rule is None:
            raise DerivativeError(derivative_rules.unknown(op, k))
        return tape.run(rule, g, self.y, *args, **self.kwargs)


class Item:
    """A recorded read of a part of an array that is no view."""

    __slots__ = ("base", "index", "made")

    def __init__(self, base: Any, index: Any, made: Box) -> None:
        self.base, self.index, self.made = base, index, made

    def reverse(self, tape: "Tape") -> None:
        """Add the cotangent of the part to that of the array, at the index."""
        g = tape.taken(self.made)
        if g is not None:
            tape.outer(scatter, (tape.shadow_for(self.base), self.index, g), {})
