"""Ends of iterators that are known where they are found.

``for x, y in zip(a, b)`` asks each iterator for its next item, gets that or a mark for the end, and asks which.  Where one way brings the mark
and another an item, each goes on to where it leads, and what is left is an item, of a known type.
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

#: The ways part, then nothing is left to ask.
_PARTED: Final = ("jump_threading", "simplify_cfg", "trivial_phis", "instcombine", "simplify_cfg", "trivial_phis", "dce")

#: What goes in step has one place, and what has been asked of it is not asked again.
_IN_STEP: Final = ("loop_gvn", "gvn", "correlated_branches", "simplify_cfg", "trivial_phis", "dce")

_ASKED: Final = (operator.is_, operator.is_not)


def thread_iterator_ends(function: Function) -> Function:
    """Thread jumps on the sentinel that ends an iterator.

    The function, its ways parted where one brings a mark; the very same, if none asks for it.
    """
    return driver.applied(_hand_over, function, _PARTED) if any(map(_asks, callees(function))) else function


def merge_lockstep_iterators(function: Function) -> Function:
    """Merge iterators and counters that advance in step.

    The function, of iterators and counters that go in step only one going round; the very same, if there are none.
    """
    return pipeline.run(function, _IN_STEP) if any(map(congruent, callees(function))) else function


def _hand_over(function: Function) -> bool:
    """What a block that asks has made is given to where the mark leads: then another block that knows the answer can go there."""
    changed = False
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
        changed |= bool(given)
    return changed


def _sized_by(block: Block, values: set[Value]) -> bool:
    """Does a dimension in a block depend on one of the values?"""
    made: list[Param | Op] = [*block.params, *block.all_ops()]
    return any(d in values for v in made for d in v.dims or () if isinstance(d, Param | Op))


def _at_the_end(block: Block) -> Edge | None:
    """The edge that is taken where a parameter of the block is the mark."""
    end = block.terminator
    if not isinstance(end, Branch) or not isinstance(end.cond, Op) or end.cond.callee not in _ASKED or end.cond not in block.ops:
        return None
    value, mark = end.cond.args
    if value not in block.params or not isinstance(mark, Const) or mark.value is not END:
        return None
    return end.true if end.cond.callee is operator.is_ else end.false


def _asks(function: Function) -> bool:
    """Is a value that is one of several kinds compared with one that is known, or one of which nothing is known with the mark?"""
    ops = (op for op in function.ops() if op.callee in _ASKED and isinstance(op.args[0], Param) and isinstance(op.args[1], Const))
    return any(isinstance(op.args[0].type, Union) or op.args[1].value is END for op in ops)  # type: ignore[union-attr]
