"""Delete loops without effect that are proven to end.

A loop is deleted if all its ops are pure, no value that it computes is used behind it, all its exits lead to the same block
with the same arguments, and it ends: in every iteration an exact Int that changes by a constant step is compared with a
loop-invariant bound, towards which it moves.  A loop that may not end stays, as the user can observe that a program does not end.
"""

import operator as o
from typing import Any, Final

from hovis.ir.analysis.control_flow import Dominators, Loop, Loops, natural_loops, operands, predecessors
from hovis.ir.matching import same
from hovis.ir.model import LASTING, Block, Branch, Edge, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Const
from hovis.passes.cfg.signal_polls import is_poll
from hovis.passes.rewriting import SEES_HANDLED, Pass, drop_unreached, is_one_of
from hovis.passes.scalar.instcombine import is_exact

#: For each comparison (such as ``x < bound``), the sign of the step of x with which it becomes false in the end.
_ENDS: Final[dict[Any, int]] = {o.lt: 1, o.le: 1, o.gt: -1, o.ge: -1}
_MIRRORED: Final[dict[Any, Any]] = {o.lt: o.gt, o.le: o.ge, o.gt: o.lt, o.ge: o.le}


def _loop_deletion(function: Function) -> bool:
    """Delete loops without effect whose results are unused.

    Only loops of pure ops that are proven to end are deleted.
    """
    dom = Dominators(function)
    found = natural_loops(function, dom)
    if not found.loops or not found.reducible:
        return False
    judge = _Judge(function, dom, found)
    gone: set[Block] = set()
    for loop in reversed(found.loops):
        if loop.header in gone:
            continue
        way_out = judge.way_out(loop)
        if way_out is not None:
            for source, edge in judge.incoming[loop.header]:
                if source not in loop.blocks:
                    edge.block, edge.args = way_out.block, way_out.args
            gone |= loop.blocks
    if gone:
        drop_unreached(function)
    return bool(gone)


loop_deletion = Pass(_loop_deletion, ways=True)


def _values(block: Block) -> list[Value]:
    return [*block.params, *block.all_ops()]


class _Judge:
    """Decides for each loop whether it may be deleted."""

    def __init__(self, function: Function, dom: Dominators, loops: Loops) -> None:
        self.dom = dom
        self.loops = loops
        self.incoming = predecessors(function)
        self.home: dict[Operand, Block] = {}
        self.users: dict[Operand, set[Block]] = {}
        for block in function.blocks:
            for value in _values(block):
                self.home[value] = block
            for operand in operands(block):
                self.users.setdefault(operand, set()).add(block)

    def way_out(self, loop: Loop) -> Edge | None:
        """Return the edge to take in place of the loop, or None if it may not be deleted."""
        # exits from polls do not count: a deleted loop can't be interrupted, but neither can one that runs very fast
        exits = [edge for block in loop.blocks if not is_poll(block) for edge in edges(block.terminator) if edge.block not in loop.blocks]
        if not exits or not all(self._is_pure(block) for block in loop.blocks):
            return None
        first = exits[0]
        for edge in exits:
            if edge.block is not first.block or not all(map(same, edge.args, first.args)):
                return None
        if any(self.home.get(arg) in loop.blocks for arg in first.args):
            return None
        if any(not self.users.get(value, set()) <= loop.blocks for block in loop.blocks for value in _values(block)):
            return None
        return first if self._ends(loop) else None

    @staticmethod
    def _is_pure(block: Block) -> bool:
        return (isinstance(block.terminator, Jump | Branch) or is_poll(block)) and not any(
            op.effect & LASTING or isinstance(op.callee, Function | Param | Op) or is_one_of(op.callee, SEES_HANDLED) for op in block.ops
        )

    # --------------------------------------------------------------------------------------------- termination

    def _ends(self, loop: Loop) -> bool:
        return any(self._test_ends(loop, block) for block in loop.blocks) and all(map(self._ends, loop.children))

    def _test_ends(self, loop: Loop, block: Block) -> bool:
        """Does block make, in every iteration, a test that leaves the loop in the end?"""
        branch = block.terminator
        if self.loops.innermost.get(block) is not loop or not isinstance(branch, Branch):
            return False
        if not all(self.dom.dominates(block, latch) for latch in loop.latches):
            return False
        stays = [edge.block in loop.blocks for edge in (branch.true, branch.false)]
        if all(stays) or not isinstance(branch.cond, Op):
            return False
        test = branch.cond
        if len(test.args) != 2 or test.kwargs or test.callee not in _ENDS or not all(is_exact(arg, int) for arg in test.args):
            return False
        compared: Any = test.callee
        one, other = test.args
        for moving, bound, callee in ((one, other, compared), (other, one, _MIRRORED[compared])):
            if bound not in self.home or self.home[bound] not in loop.blocks:
                step = self._step(loop, moving)
                if step * _ENDS[callee] * (1 if stays[0] else -1) > 0:
                    return True
        return False

    def _step(self, loop: Loop, moving: Operand) -> int:
        """Return the least amount, with its sign, by which the value changes in each iteration; 0 if that is not known."""
        param, _ = _linear(moving)
        if not isinstance(param, Param) or param not in loop.header.params or not is_exact(param, int):
            return 0
        k = loop.header.params.index(param)
        steps = []
        for source, edge in self.incoming[loop.header]:
            if source in loop.blocks:
                start, step = _linear(edge.args[k])
                steps.append(step if start is param else 0)
        return min(steps) if min(steps) > 0 else max(steps) if max(steps) < 0 else 0


def _linear(operand: Operand) -> tuple[Operand, int]:
    """Split operand into a base and a constant: additions of constants to exact ints are removed and summed."""
    total = 0
    while isinstance(operand, Op) and len(operand.args) == 2 and all(is_exact(arg, int) for arg in operand.args):
        a, b = operand.args
        if operand.callee is o.add and isinstance(b, Const):
            operand, total = a, total + b.value  # type: ignore[operator]
        elif operand.callee is o.add and isinstance(a, Const):
            operand, total = b, total + a.value  # type: ignore[operator]
        elif operand.callee is o.sub and isinstance(b, Const):
            operand, total = a, total - b.value  # type: ignore[operator]
        else:
            break
    return operand, total
