"""Calls whose exceptions are caught, in the midst of a block.

A block of a Function ends with each call that has an error edge.  Where the way on is reached by nothing else, it is
one block for the assembler, as for CPython: the instructions of the call are covered by a handler, and what stays on the
stack across it is popped where it raises.

CPython looks for signals at the end of calls that do not raise themselves, too.  What makes an object for such a call (``range(n)``, a virtual
object that becomes real) is covered as the call is: a handler of signals raises in front of that.
"""

from typing import Final

from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Op, Operand, Raise, Return, Value, edges
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
        while isinstance(end, Invoke):
            covered.update((op, seen(end.error)) for op in _made_for(end, block))
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


def _made_for(end: Invoke, block: Block) -> list[Op]:
    """The calls of C code in front of one at the end of a block that were made for it: a handler of signals may raise there as well."""
    made = [op for op in end.op.args if isinstance(op, Op) and op.effect & Effect.INTERRUPTED and not op.effect & Effect.RAISES]
    if not made:
        return []
    since: list[Value] = []
    found = []
    for op in reversed(block.ops):
        if op.effect & ~(Effect.READS | Effect.INTERRUPTED):
            break
        since.append(op)
        if op in made:
            found.append((op, len(since)))
    needed = _used_from(end.error, block) if found else set()
    free = next((k for k, value in enumerate(since) if value in needed), len(since))
    return [op for op, count in found if count <= free]


def _used_from(edge: Edge, end: Block) -> set[Operand]:
    """The results of ops that are used where an edge leads, up to the end of a block."""
    used: list[Operand] = [*edge.args]
    seen, todo = {end, edge.block}, [edge.block]
    while todo:
        block = todo.pop()
        used += [value for op in block.all_ops() for value in op.operands()]
        for way in edges(block.terminator):
            used += way.args
            if way.block not in seen:
                seen.add(way.block)
                todo.append(way.block)
        match block.terminator:
            case Branch(cond=value) | Return(value=value) | Raise(value=value):
                used.append(value)
    return {value for value in used if isinstance(value, Op)}


def _may_stand_within(op: Op) -> bool:
    return not any(op.callee is one for one in _APART)
