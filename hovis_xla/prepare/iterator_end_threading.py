"""Jump threading on ends of iterators that are known where they arise.

``for x, y in zip(a, b)`` asks each iterator for its next item, gets that or the end sentinel, and tests which it is.  Where one path brings
the sentinel and another an item, each jumps to its target directly; what remains behind the test is an item, of a known type.
"""

import operator
from typing import Final

from hovis.ir.analysis.control_flow import Dominators, operands, predecessors
from hovis.ir.model import Block, Branch, Edge, Function, Op, Param, Value, callees
from hovis.ir.operations import END
from hovis.lattice import Const, Union
from hovis.passes import pipeline
from hovis.passes.rewriting import replace_in
from hovis.passes.scalar.loop_gvn import congruent
from hovis_xla.loops import driver

#: Passes that split the paths, and then remove the tests whose result is known.
_PARTED: Final = ("jump_threading", "simplify_cfg", "trivial_phis", "instcombine", "simplify_cfg", "trivial_phis", "dce")

#: Passes that merge values that advance in step, and remove tests of them that repeat an earlier one.
_IN_STEP: Final = ("loop_gvn", "gvn", "correlated_branches", "simplify_cfg", "trivial_phis", "dce")

_ASKED: Final = (operator.is_, operator.is_not)


def thread_iterator_ends(function: Function) -> Function:
    """Thread jumps on the sentinel that ends an iterator.

    Returns a function whose paths are split where one brings the sentinel; the same object if nothing tests for it.
    """
    return driver.applied(_hand_over, function, _PARTED) if any(map(_asks, callees(function))) else function


def merge_lockstep_iterators(function: Function) -> Function:
    """Merge iterators and counters that advance in step.

    Returns a function whose loops carry only one of the iterators and counters that advance in step; the same object if there are none.
    """
    return pipeline.run(function, _IN_STEP) if any(map(congruent, callees(function))) else function


def _hand_over(function: Function) -> None:
    """Pass the values that a testing block defines as arguments to the block that it enters at the end: then another block that knows the answer
    can jump there.
    """
    incoming = predecessors(function)
    for block in function.blocks:
        edge = _at_the_end(block)
        if edge is None or len(incoming[edge.block]) != 1 or edge.block is function.blocks[0]:
            continue
        dominators = Dominators(function)
        behind = [b for b in dominators.order if dominators.dominates(edge.block, b)]
        used = {v for b in behind for v in operands(b)}
        made: list[Param | Op] = [*block.params, *block.ops]
        given = [v for v in made if v in used]
        if any(v.dims for v in given) or any(_sized_by(b, {*made}) for b in behind):
            continue
        new = {v: Param(v.type, None, v.name) for v in given}
        edge.args = (*edge.args, *given)
        edge.block.params = (*edge.block.params, *new.values())
        for one in behind:
            replace_in(one, new)


def _sized_by(block: Block, values: set[Value]) -> bool:
    """Does a dimension in a block depend on one of the values?"""
    made: list[Param | Op] = [*block.params, *block.all_ops()]
    return any(d in values for v in made for d in v.dims or () if isinstance(d, Param | Op))


def _at_the_end(block: Block) -> Edge | None:
    """Return the edge that is taken where a parameter of the block is the end sentinel; None if the block does not test for it."""
    end = block.terminator
    if not isinstance(end, Branch) or not isinstance(end.cond, Op) or end.cond.callee not in _ASKED or end.cond not in block.ops:
        return None
    value, mark = end.cond.args
    if value not in block.params or not isinstance(mark, Const) or mark.value is not END:
        return None
    return end.true if end.cond.callee is operator.is_ else end.false


def _asks(function: Function) -> bool:
    """Does the function compare a parameter of a Union type with a constant, or any parameter with the end sentinel?"""
    ops = (op for op in function.ops() if op.callee in _ASKED and isinstance(op.args[0], Param) and isinstance(op.args[1], Const))
    return any(isinstance(op.args[0].type, Union) or op.args[1].value is END for op in ops)  # type: ignore[union-attr]
