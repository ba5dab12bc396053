"""What compiled code does besides computing: printing in order, giving up, and knowing when it can't have to.

**Giving up.**  Whatever XLA can't do as Python does it (an exception, an integer past 64 bits, an index out of range)
sets one flag, the *bail*; loops stop on it, and the host answers by calling the residual Python from the start, which
raises the exception, with the user's line in its traceback, or computes the big integer.  That is sound as long as
nothing outside has been changed: after a print no bail is allowed, and a function that may need one stays Python.

**Printing.**  ``print`` of constants and numbers becomes a callback, ordered by a token that runs through the program.

**Proofs.**  ``i + 1`` can't overflow under ``i < n``: this alone lets most counting loops print.
"""

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Block, Branch, Edge, Function, Op, Param
from hovis.ir.model import Operand as IrOperand
from hovis.lattice import Const, Type
from hovis_xla.regions import reachable, successors
from hovis_xla.types import ARRAY, PYTHON_OF, Num

#: The widest integers that Python may have in compiled code.
LEAST: Final = -(2**63)
GREATEST: Final = 2**63 - 1

#: Is the smaller one on the left?
_LESS: Final = {operator.lt: True, operator.le: True, operator.gt: False, operator.ge: False}


def to_python(num: Num, value: np.ndarray[Any, Any]) -> object:
    """An array from XLA as what it is to Python."""
    if num.kind == ARRAY:
        return value
    scalar = value[()]
    return PYTHON_OF[num.dtype](scalar) if num.kind == "python" else scalar


class Printer:
    """A callback that prints: some arguments known, the others numbers that come from XLA.

    An exception is kept, to be raised by whoever ran the program, as the object that it is.
    """

    def __init__(self, parts: Sequence[object], nums: Sequence[Num | None], options: dict[str, object], failures: list[BaseException]) -> None:
        self.parts = tuple(parts)
        self.nums = tuple(nums)
        self.options = options
        self.failures = failures

    def __call__(self, token: object, *values: np.ndarray[Any, Any]) -> tuple[object]:
        given = iter(values)
        try:
            args = [part if num is None else to_python(num, np.array(next(given))) for part, num in zip(self.parts, self.nums, strict=True)]
            builtins.print(*args, **self.options)  # type: ignore[call-overload]
        except BaseException as error:
            self.failures.append(error)
            raise
        return (token,)


# ------------------------------------------------------------------------------------------------- proofs


class Facts:
    """Comparisons that are known to hold: at a block, because every path into it has passed them."""

    def __init__(self, function: Function) -> None:
        self.edges: dict[Block, list[tuple[Block, Edge]]] = {b: [] for b in reachable(function)}
        for block in self.edges:
            for edge in successors(block):
                self.edges[edge.block].append((block, edge))
        # a way in that is no edge: nothing is known of what the caller passes
        self.entry = function.blocks[0]
        self.home: dict[Op | Param, Block] = {}
        for block in self.edges:
            self.home.update(dict.fromkeys([*block.params, *block.all_ops()], block))

    def below_something(self, op: Op, value: IrOperand) -> bool:
        """Is value less than some 64-bit integer where op stands (so that one may be added)?"""
        return self._strict(self.home.get(op), value, True, set())

    def above_something(self, op: Op, value: IrOperand) -> bool:
        """Is value greater than some 64-bit integer where op stands?"""
        return self._strict(self.home.get(op), value, False, set())

    def _strict(self, block: Block | None, value: IrOperand, left: bool, seen: set[Param]) -> bool:
        if isinstance(value, Const):
            return type(value.value) is int and LEAST < value.value < GREATEST
        while block is not None and block is not self.entry and len(self.edges[block]) == 1:
            before, edge = self.edges[block][0]
            if _passed(before, edge, value, left):
                return True
            block = before
        return isinstance(value, Param) and self._arrives(value, left, seen)

    def _arrives(self, value: Param, left: bool, seen: set[Param]) -> bool:
        """Does it hold of what every edge passes for a parameter (by induction over the way there)?"""
        if value in seen:
            return True
        seen.add(value)
        home = self.home[value]
        if home is self.entry or value not in home.params or not _is_int(value):
            return False
        place = home.params.index(value)
        return all(_passed(block, edge, edge.args[place], left) or self._strict(block, edge.args[place], left, seen) for block, edge in self.edges[home])


def _passed(block: Block, edge: Edge, value: IrOperand, left: bool) -> bool:
    """Does taking this edge say that value is less (or, if not left, greater) than some 64-bit integer?"""
    end = block.terminator
    if not isinstance(end, Branch) or not isinstance(end.cond, Op) or end.true.block is end.false.block:
        return False
    fact, true = end.cond, edge is end.true
    less = _LESS.get(fact.callee) if callable(fact.callee) else None
    if less is None or len(fact.args) != 2 or not all(map(_is_int, fact.args)):
        return False
    a, b = fact.args if less else fact.args[::-1]
    strict = fact.callee in (operator.lt, operator.gt)
    if not true:
        a, b, strict = b, a, not strict
    # here a < b, or a <= b
    mine, other = (a, b) if left else (b, a)
    if mine is not value:
        return False
    return strict or (isinstance(other, Const) and isinstance(other.value, int) and LEAST < other.value < GREATEST)


def _is_int(value: IrOperand) -> bool:
    if isinstance(value, Const):
        return type(value.value) in (int, bool) and LEAST <= value.value <= GREATEST  # type: ignore[operator]
    return isinstance(value, Op | Param) and value.type in (Type(int), Type(bool))


def cannot_overflow(facts: Facts, op: Op, callee: Callable[..., Any]) -> bool:
    """Is the result of an addition or subtraction of one certainly within 64 bits?"""
    if len(op.args) != 2:
        return False
    x, y = op.args
    if callee is operator.add and isinstance(x, Const):
        x, y = y, x
    if not isinstance(y, Const) or type(y.value) is not int or y.value not in (1, -1, 0):
        return False
    step = y.value if callee is operator.add else -y.value
    if step == 0:
        return True
    return facts.below_something(op, x) if step > 0 else facts.above_something(op, x)
