"""Tests that dominate a block, and the values that they constrain."""

import bisect
import operator
from collections.abc import Iterator
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.analysis.control_flow import Dominators
from hovis.ir.model import Block, Op, Operand, Param
from hovis_xla.analysis.ranges.intervals import COMPARISONS

#: At most this many tests of a value are used, the nearest ones that dominate the block.
LOOKED_BACK: Final = 64

#: Calls that convert, negate or combine truth values.
_OF_TRUTHS: Final[frozenset[Any]] = frozenset({bool, operator.truth, operator.not_, operator.and_, operator.or_})


def compared(cond: Operand) -> set[Op | Param]:
    """Return the values that the outcome of a test may constrain (see ``Ranges._holds``)."""
    found: set[Operand] = set()
    todo = [cond]
    while todo:
        test = todo.pop()
        if not isinstance(test, Op):
            continue
        if test.callee in _OF_TRUTHS:
            todo += test.args
            found.update(test.args)
        elif test.callee is operations.range_goes_on:
            found.add(test.args[0])
        elif test.callee in COMPARISONS:
            found.update(test.args)
            found.update(a.args[0] for a in test.args if isinstance(a, Op) and a.callee is operator.mul)
    return {value for value in found if isinstance(value, Op | Param)}


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
