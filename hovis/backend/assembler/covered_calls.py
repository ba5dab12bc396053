"""Calls in the middle of a block whose exceptions are caught (covered calls).

In a Function, each call that has an error edge ends its block.  If the block on its ok edge has no other predecessor, the assembler joins both into
one block, as CPython does: a handler covers the instructions of the call, and the values that stay on the
stack across it are popped if it raises.

CPython checks for signals at the end of each call of C code.  Calls that create an argument of the covered call (``range(n)``) are covered as well: a
signal handler that raises there raises before the covered call.
"""

import functools
from collections.abc import Callable
from typing import Final

from hovis.ir.analysis.control_flow import liveness
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Value, edges
from hovis.ir.operations import poll, yield_, yield_from, yield_rest

#: Callees that always end a block: those that leave the frame and resume it elsewhere (yields), and ``poll``, which is emitted as a jump.
_APART: Final = (yield_, yield_from, yield_rest, poll)


def joined(function: Function) -> tuple[Block, dict[Op, Edge]]:
    """Build a view of function in which covered calls do not end a block; its own blocks stay unchanged. Return the first block of the view, and
    the error edge of each covered call.
    """
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
    """Return the calls of C code right before the Invoke at the end of block that create its arguments: a signal handler may raise there as
    well.

    A call is excluded if the handler needs its result, or that of an op between it and the Invoke: these would not have been computed yet.
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
