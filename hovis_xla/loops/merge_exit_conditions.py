"""Merging of two exit tests of a loop into one exit.

``while i < n and x * x < y: …`` evaluates the second condition in a block of its own, and a loop with two exits
carries a number that says which exit was taken, and a flag.  If the second condition has no effect and can't fail, both become one test.
This is also done if it reads a number from an array, although the read could fail where the first condition does not hold
(``speculative_loads``).
"""

import operator
from functools import partial
from typing import Final

import numpy as np

from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Function, Op, Operand
from hovis.lattice import Array, Type
from hovis_xla.analysis.loop_condition import Ways, ways
from hovis_xla.analysis.loop_forest import Region
from hovis_xla.analysis.ranges.integer_ranges import grows
from hovis_xla.analysis.side_effects import acts
from hovis_xla.analysis.speculative_loads import is_read, read_if
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

#: A test of more operations than this would cost more than the flag, because it is emitted both in the loop and in its condition.
TEST_OPS: Final = 16

_TRUTHS: Final = (Type(bool), Type(np.bool_))


def merge_exit_conditions(function: Function) -> Function:
    """Merge the exit conditions of a loop into one.

    Return a new function, or the function itself if it has no such loop.
    """
    return driver.rewrite(function, _found, 0)


def _found(sweep: Sweep, region: Region) -> Rewriting | None:
    """Find a block of a loop that ends with an exit test, and the block behind it with a second exit test."""
    if len(region.heads) > 1:
        return None
    for block in sweep.ordered(region) if _is_scalar(region) else region.heads:  # with the test at the header, no iteration begins in vain
        second = _second(sweep, region, block)
        if second is not None:
            return partial(_write, block, *second), set()
    return None


def _second(sweep: Sweep, region: Region, block: Block) -> tuple[Ways, Block, Ways] | None:
    """Return the edges of the first test, the block with the second one and its edges, if both tests can be one; otherwise None."""
    first = leaving(block, region)
    second = first[0].block if first is not None else block
    last = leaving(second, region)
    if first is None or last is None or second in region.heads or len(sweep.before[second]) > 1 or second.params:
        return None
    alike = last[1].block is first[1].block and all(map(same, last[1].args, first[1].args))
    if not alike or sum(op in sweep.needed for op in second.ops) > TEST_OPS:
        return None
    left = [op for op in second.all_ops() if not is_harmless(op) and not is_read(op)]
    return (first, second, last) if all(map(grows, left)) and all(sweep.ranges.has_room(op, block) for op in left) else None


def _is_scalar(region: Region) -> bool:
    """Is the loop innermost, and does it compute only scalars? One flag more or less matters in such a loop."""
    return not region.loops and not any(isinstance(op.type, Array) for b in region.blocks for op in b.all_ops())


def leaving(block: Block, region: Region) -> Ways | None:
    """Return the edge that stays in a loop and the edge that leaves it, if the block ends with a test of a bool; otherwise None."""
    end = block.terminator
    return ways(block, region) if isinstance(end, Branch) and getattr(end.cond, "type", None) in _TRUTHS else None


def is_harmless(op: Op) -> bool:
    """Can the op be executed speculatively, without any effect?"""
    return not op.effect and not acts(op) and not grows(op) and not isinstance(op.callee, Function) and not isinstance(op.type, Array)


def _write(block: Block, edges: Ways, second: Block, last_edges: Ways) -> None:
    """Make the block branch on both tests: if both are passed, stay in the loop; otherwise leave it."""
    first, last = block.terminator, second.terminator
    assert isinstance(first, Branch)
    assert isinstance(last, Branch)
    goes_on = goes_on_if(block, first, edges[1])
    for op in second.ops:
        if is_read(op):
            op.callee, op.args = read_if, (goes_on, *op.args)
    block.ops += second.ops
    both = Op(operator.and_, (goes_on, goes_on_if(block, last, last_edges[1])), (), Type(bool), location=first.location)
    block.ops.append(both)
    block.terminator = Branch(both, last_edges[0], edges[1], first.location)


def goes_on_if(block: Block, end: Branch, out: Edge) -> Operand:
    """Return the condition under which the loop continues, evaluated in ``block``."""
    if out is end.false:
        return end.cond
    negated = Op(operator.not_, (end.cond,), (), Type(bool), location=end.location)
    block.ops.append(negated)
    return negated
