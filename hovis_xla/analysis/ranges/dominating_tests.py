"""Tests that dominate a block, and what their outcomes say of the values that they compare."""

import bisect
import operator
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from hovis.ir import operations
from hovis.ir.analysis.control_flow import Dominators
from hovis.ir.model import Block, Op, Operand, Param
from hovis.lattice import Const
from hovis_xla.analysis.ranges.intervals import NEGATED, SWAPPED

#: At most this many tests of a value are used, the nearest ones that dominate the block.
LOOKED_BACK: Final = 64


class Fact(NamedTuple):
    """What the outcome of a test says of a value: the comparison ``how(value, bound)`` holds.

    square  the value times itself is compared, which is this op
    step    the test is ``range_goes_on``: by the sign of this step, the value is less or greater than the bound
    """

    value: Op | Param
    bound: Operand
    how: Any = None
    square: Op | None = None
    step: Operand | None = None


def facts(cond: Operand, truth: bool) -> Iterator[Fact]:
    """Yield what the outcome ``truth`` of a test says of values."""
    if not isinstance(cond, Op):
        return
    callee, args = cond.callee, cond.args
    if callee is operator.not_:
        yield from facts(args[0], not truth)
    elif callee in (operator.and_, operator.or_) and truth is (callee is operator.and_):
        for part in args:
            yield from facts(part, truth)
    elif callee in (bool, operator.truth) and isinstance(args[0], Op | Param):
        yield Fact(args[0], Const(0), operator.ne if truth else operator.eq)
        yield from facts(args[0], truth)
    elif callee is operations.range_goes_on and truth and isinstance(args[0], Op | Param):
        yield Fact(args[0], args[1], step=args[2])
    elif callee in NEGATED and len(args) == 2 and args[0] is not args[1]:
        holds = callee if truth else NEGATED[callee]
        for how, mine, other in ((holds, *args), (SWAPPED[holds], *args[::-1])):
            if isinstance(mine, Op | Param):
                yield Fact(mine, other, how)
            if isinstance(mine, Op) and mine.callee is operator.mul and mine.args[0] is mine.args[1] and isinstance(mine.args[0], Op | Param):
                yield Fact(mine.args[0], other, how, mine)


class Tests:
    """The blocks behind the tests of one value, in preorder of the dominator tree, and for each the nearest one that dominates it."""

    __slots__ = ("_above", "_blocks", "_dominators", "_entered")

    def __init__(self, blocks: list[Block], dominators: Dominators) -> None:
        self._dominators = dominators
        self._blocks = sorted(blocks, key=dominators.entered)
        self._entered = [dominators.entered(b) for b in self._blocks]
        self._above: list[int] = []
        for k, block in enumerate(self._blocks):
            self._above.append(self._next(k - 1, block))

    def _next(self, k: int, block: Block) -> int:
        """Return the index of the first block, from ``k`` up the dominator tree, that dominates ``block``; negative if there is none."""
        while k >= 0 and not self._dominators.dominates(self._blocks[k], block):
            k = self._above[k]
        return k

    def above(self, block: Block) -> Iterator[Block]:
        """Yield the blocks behind tests that dominate ``block``, the nearest first, at most LOOKED_BACK of them."""
        k = self._next(bisect.bisect_right(self._entered, self._dominators.entered(block)) - 1, block)
        for _ in range(LOOKED_BACK):
            if k < 0:
                break
            yield self._blocks[k]
            k = self._above[k]
