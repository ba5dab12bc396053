"""Calls whose exceptions are caught, in the midst of a block.

A block of a Function ends with each call that has an error edge.  Where the way on is reached by nothing else, it is
one block for the assembler, as for CPython: the instructions of the call are covered by a handler, and what stays on the
stack across it is popped where it raises.

CPython looks for signals at the end of each call of C code.  What makes an object for a call (``range(n)``) is covered as the call is: if a handler
of signals raises there, that is in front of the call.
"""

import functools
from collections.abc import Callable
from typing import Final

from hovis.ir.analysis.control_flow import liveness
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Value, edges
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
    needs = functools.cache(lambda: liveness(function))

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
        while isinstance(end, Invoke):
            covered.update((op, seen(end.error)) for op in _made_for(end, block, needs))
            if not _may_stand_within(end.op):
                break
            covered[end.op] = seen(end.error)
            made.ops.append(end.op)
            if end.ok.block.params or entered[end.ok.block] > 1:
                end = Jump(end.ok)
            else:
                block = end.ok.block
                made.ops += block.ops
                end = block.terminator
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


def _made_for(end: Invoke, block: Block, needs: Callable[[], dict[Block, set[Value]]]) -> list[Op]:
    """The calls of C code in front of one at the end of a block that were made for it: a handler of signals may raise there as well.

    The handler may need nothing that is computed from there on: it would not be there yet.
    """
    made = [op for op in end.op.args if isinstance(op, Op) and op.effect & Effect.INTERRUPTED and not op.effect & Effect.RAISES]
    if not made:
        return []
    needed = needs()[end.error.block].union(arg for arg in end.error.args if isinstance(arg, Op))
    found = []
    for op in reversed(block.ops):
        if op in needed or op.effect & ~(Effect.READS | Effect.INTERRUPTED):
            break
        if op in made:
            found.append(op)
    return found


def _may_stand_within(op: Op) -> bool:
    return not any(op.callee is one for one in _APART)
