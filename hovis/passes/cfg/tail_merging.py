"""Ways on that are the same are one (tail merging, cross-jumping; Muchnick 18.8).

Where an interpreter comes to the same place with different knowledge, what follows is often the same after all.  And
each op that may raise has a landing of its own, where mostly the same happens: the generators that the exception
leaves end, a handler is closed, the exception goes on.  Blocks are one where they do the same to the same values, from
the same lines of the user's source where an op of theirs may raise itself.
"""

from collections.abc import Hashable, Mapping
from typing import Final

from hovis.ir.matching import Key
from hovis.ir.model import Block, Edge, Function, Invoke, Jump, Location, Op, Operand, Raise, edges
from hovis.ir.operations import drop, enter_handler, leave_handler
from hovis.passes.rewriting import Pass, shows_place

_DEPTH: Final = {enter_handler: 1, leave_handler: -1}


def _tail_merging(function: Function) -> bool:
    """Merge equal blocks (tail merging).

    Blocks that do the same are one.
    """
    return _merge(function, set(function.blocks[1:]))


def _warm_tail_merging(function: Function) -> bool:
    """Merge equal blocks outside of exception handlers.

    Of the blocks that no exception is needed to come to those that do the same are one.
    """
    return _merge(function, _reached_without_errors(function) - {function.blocks[0]})


tail_merging = Pass(_tail_merging, ways=True)
warm_tail_merging = Pass(_warm_tail_merging, ways=True)


def merge_landings(function: Function) -> bool:
    """Blocks that only exceptions lead to and that do the same, on whatever line, are one."""
    return _merge(function, set(function.blocks) - _reached_without_errors(function), places=False)


def _merge(function: Function, among: set[Block], places: bool = True) -> bool:
    if len(among) < 2:
        return False
    depth = open_handlers(function)
    changed = _share_drops([block for block in function.blocks if block in among], depth, places)
    while True:
        first: dict[Hashable, Block] = {}
        instead: dict[Block, Block] = {}
        for block in function.blocks:
            if block in among:
                kept = first.setdefault((depth.get(block), _key(block, places)), block)
                if kept is not block:
                    instead[block] = kept
        if not instead:
            return changed
        changed = True
        among -= instead.keys()
        function.blocks = [block for block in function.blocks if block not in instead]
        for block in function.blocks:
            for edge in edges(block.terminator):
                edge.block = instead.get(edge.block, edge.block)


def _share_drops(blocks: list[Block], depth: Mapping[Block, int], places: bool) -> bool:
    """Where blocks do the same, and one jumps to a block of drops which the other ends with, the other jumps there, too; did any?"""
    into: dict[Block, list[Block]] = {}
    for block in blocks:
        if isinstance(block.terminator, Jump) and not block.terminator.edge.args:
            into.setdefault(block.terminator.edge.block, []).append(block)
    changed = False
    for target, sources in list(into.items()):
        for shared in sources if len(sources) > 1 else ():
            before, dropped = into.get(shared), [op.args for op in shared.ops if op.callee is drop]
            if before and dropped and len(dropped) == len(shared.ops) and not shared.params and _jumps_to(shared, target):
                for block in sources:
                    if len(block.ops) > len(dropped) and _jumps_to(block, target):
                        alike = [other for other in before if other is not block and depth.get(other) == depth.get(block)]
                        changed |= _cut(block, shared, dropped, alike, places)
    return changed


def _cut(block: Block, shared: Block, dropped: list[tuple[Operand, ...]], alike: list[Block], places: bool) -> bool:
    """Let block, which ends with the drops of shared, jump there, if it does then what one of these does that jump there already; does it?"""
    ops, end = block.ops, block.terminator
    rest = len(ops) - len(dropped)
    if [op.args for op in ops[rest:] if op.callee is drop] != dropped:
        return False
    block.ops, block.terminator = ops[:rest], Jump(Edge(shared))
    key = _key(block, places)
    if any(_jumps_to(other, shared) and _key(other, places) == key for other in alike):
        return True
    block.ops, block.terminator = ops, end
    return False


def _jumps_to(block: Block, target: Block) -> bool:
    return isinstance(block.terminator, Jump) and block.terminator.edge.block is target


def _reached_without_errors(function: Function) -> set[Block]:
    """The blocks on the ways on which nothing is raised."""
    todo = [function.blocks[0]]
    found = set(todo)
    while todo:
        end = todo.pop().terminator
        for edge in (end.ok,) if isinstance(end, Invoke) else edges(end):
            if edge.block not in found:
                found.add(edge.block)
                todo.append(edge.block)
    return found


def open_handlers(function: Function) -> dict[Block, int]:
    """How many handlers are open where each block begins."""
    todo = [function.blocks[0]]
    found = {todo[0]: 0}
    while todo:
        block = todo.pop()
        depth = found[block] + sum(_DEPTH.get(op.callee, 0) for op in block.all_ops() if callable(op.callee))  # type: ignore[call-overload]
        for edge in edges(block.terminator):
            if edge.block not in found:
                found[edge.block] = depth
                todo.append(edge.block)
    return found


def _key(block: Block, places: bool) -> Hashable:
    """Equal for two blocks that do the same."""
    return Key(block, _place if places else _nowhere).key


def _place(at: Op | Raise) -> Location | None:
    """What a traceback may tell; an exception that goes on passes the calls that stand around, on whatever line."""
    if isinstance(at, Op):
        return at.location if shows_place(at) else None
    return at.location.caller if at.again and at.location is not None else at.location


def _nowhere(_: Op | Raise) -> None:
    return None
