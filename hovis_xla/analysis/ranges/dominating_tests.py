"""Tests that are passed on every way to a block, and the values that they say something of."""

import bisect
import operator
from collections.abc import Iterator
from typing import Any, Final

from hovis.ir import operations
from hovis.ir.analysis.control_flow import Dominators
from hovis.ir.model import Block, Op, Operand, Param
from hovis_xla.analysis.ranges.intervals import COMPARISONS

#: So many tests of a value are looked at, the nearest to the place that is asked about.
LOOKED_BACK: Final = 64

#: What passes a truth on, and what joins two.
_OF_TRUTHS: Final[frozenset[Any]] = frozenset({bool, operator.truth, operator.not_, operator.and_, operator.or_})


def compared(cond: Operand) -> set[Op | Param]:
    """The values of which the outcome of a test may say something (see ``Ranges._holds``)."""
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
    """The blocks behind the tests of one value, in the order of the tree of dominators, and for each the next one above it."""

    __slots__ = ("_above", "_blocks", "_dominators", "_entered")

    def __init__(self, blocks: list[Block], dominators: Dominators) -> None:
        self._dominators = dominators
        self._blocks = sorted(blocks, key=dominators.entered)
        self._entered = [dominators.entered(b) for b in self._blocks]
        self._above: list[int] = []
        for k, block in enumerate(self._blocks):
            self._above.append(self._next(k - 1, block))

    def _next(self, k: int, block: Block) -> int:
        """Of one of them, and those above it, the first that dominates a block."""
        while k >= 0 and not self._dominators.dominates(self._blocks[k], block):
            k = self._above[k]
        return k

    def above(self, block: Block) -> Iterator[Block]:
        """Those that are passed on every way to a block, the nearest first; no more than are worth it."""
        k = self._next(bisect.bisect_right(self._entered, self._dominators.entered(block)) - 1, block)
        for _ in range(LOOKED_BACK):
            if k < 0:
                break
            yield self._blocks[k]
            k = self._above[k]
