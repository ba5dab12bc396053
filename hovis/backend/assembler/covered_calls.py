"""Calls whose exceptions are caught, in the midst of a block.

A block of a Function ends with each call that has an error edge.  Where the way on is reached by nothing else, it is
one block for the assembler, as for CPython: the instructions of the call are covered by a handler, and what stays on the
stack across it is popped where it raises.
"""

from typing import Final

from hovis.ir.model import Block, Branch, Edge, Function, Invoke, Jump, Op, edges
from hovis.ir.operations import poll, yield_, yield_from, yield_rest

#: What leaves the frame, and comes back by another way; and what is a jump.
_APART: Final = (yield_, yield_from, yield_rest, poll)


def joined(function: Function) -> tuple[Block, dict[Op, Edge]]:
    """The first block of a view of function, whose own blocks stay as they are, and the error edge of each call that is covered."""
    if not any(isinstance(block.terminator, Invoke) for block in function.blocks):
        return function.blocks[0], {}
    entered: dict[Block, int] = {function.blocks[0]: 1}
    for block in function.blocks:
        for edge in edges(block.terminator):
            entered[edge.block] = entered.get(edge.block, 0) + 1
    view: dict[Block, Block] = {}
    covered: dict[Op, Edge] = {}

    def seen(edge: Edge) -> Edge:
        made = view.get(edge.block)
        if made is None:
            made = view[edge.block] = Block(edge.block.params)
            todo.append(edge.block)
        return Edge(made, edge.args)

    first = view[function.blocks[0]] = Block(function.blocks[0].params)
    todo = [function.blocks[0]]
    while todo:
        block = todo.pop()
        made = view[block]
        made.ops += block.ops
        end = block.terminator
        while isinstance(end, Invoke) and _may_stand_within(end.op):
            covered[end.op] = seen(end.error)
            made.ops.append(end.op)
            if end.ok.block.params or entered[end.ok.block] > 1:
                end = Jump(end.ok)
            else:
                made.ops += end.ok.block.ops
                end = end.ok.block.terminator
        match end:
            case Jump():
                made.terminator = Jump(seen(end.edge), end.location)
            case Branch():
                made.terminator = Branch(end.cond, seen(end.true), seen(end.false), end.location)
            case Invoke():
                made.terminator = Invoke(end.op, seen(end.ok), seen(end.error))
            case _:
                made.terminator = end
    return first, covered


def _may_stand_within(op: Op) -> bool:
    return not any(op.callee is one for one in _APART)
