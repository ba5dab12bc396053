"""What compiled code does besides computing: printing in order, giving up, and knowing when it can't have to.

**Giving up.**  Whatever XLA can't do as Python does it (an exception, an integer past 64 bits, an index out of range)
sets one flag, the *bail*; loops stop on it, and the host answers by calling the residual Python from the start, which
raises the exception, with the user's line in its traceback, or computes the big integer.  That is sound as long as
nothing outside has been changed: after a print no bail is allowed, and a function that may need one stays Python.

**Printing.**  ``print`` of constants and numbers becomes a callback, ordered by a token that runs through the program.

**Proofs.**  ``i + 1`` can't overflow under ``i < n``: this alone lets most counting loops print.
"""

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.model import Block, Branch, Function, Op, Param
from hovis.ir.model import Operand as IrOperand
from hovis.lattice import Const, Type
from hovis_xla.regions import reachable, successors
from hovis_xla.types import ARRAY, PYTHON_OF, Num

import operator  # isort: skip

#: The widest integers that Python may have in compiled code.
LEAST: Final = -(2**63)
GREATEST: Final = 2**63 - 1

_LESS: Final = {operator.lt: True, operator.le: True, operator.gt: False, operator.ge: False, operator.ne: None}


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
    """Comparisons that hold in each block, because every path into it has passed them."""

    def __init__(self, function: Function) -> None:
        blocks = reachable(function)
        edges: dict[Block, list[tuple[Block, Op, bool] | None]] = {b: [] for b in blocks}
        for block in blocks:
            for edge in successors(block):
                edges[edge.block].append(self._fact(block, edge))
        self.home: dict[Op, Block] = {op: b for b in blocks for op in b.all_ops()}
        self.before: dict[Block, tuple[Block, Op, bool] | None] = {}
        self.parent: dict[Block, Block | None] = {}
        preceding: dict[Block, list[Block]] = {b: [] for b in blocks}
        for block in blocks:
            for edge in successors(block):
                preceding[edge.block].append(block)
        for block in blocks:
            single = len(preceding[block]) == 1
            self.parent[block] = preceding[block][0] if single else None
            self.before[block] = edges[block][0] if single else None

    @staticmethod
    def _fact(block: Block, edge: Any) -> "tuple[Block, Op, bool] | None":
        end = block.terminator
        if isinstance(end, Branch) and isinstance(end.cond, Op) and end.true.block is not end.false.block:
            return block, end.cond, edge is end.true
        return None

    def holding(self, op: Op) -> list[tuple[Op, bool]]:
        """(comparison, whether it came out true) for all that hold where op stands."""
        found = []
        block = self.home.get(op)
        while block is not None:
            fact = self.before[block]
            if fact is not None:
                found.append((fact[1], fact[2]))
            block = self.parent[block]
        return found

    def below_something(self, op: Op, value: IrOperand) -> bool:
        """Is value less than some 64-bit integer here (so that one may be added)?"""
        return any(self._strict(fact, true, value, left=True) for fact, true in self.holding(op))

    def above_something(self, op: Op, value: IrOperand) -> bool:
        """Is value greater than some 64-bit integer here?"""
        return any(self._strict(fact, true, value, left=False) for fact, true in self.holding(op))

    @staticmethod
    def _strict(fact: Op, true: bool, value: IrOperand, left: bool) -> bool:
        less = _LESS.get(fact.callee) if callable(fact.callee) else None  # type: ignore[arg-type]
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
        if strict:
            return True
        return isinstance(other, Const) and isinstance(other.value, int) and LEAST < other.value < GREATEST


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
