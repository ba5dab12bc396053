"""Tail merging: merge blocks that do the same (Muchnick 18.8, under cross-jumping).

Where an interpreter reaches the same place with different knowledge, the code that follows is often the same nevertheless.  And
each op that may raise has a landing pad of its own, and most of these do the same: generators that the exception leaves
end, a handler is left, the exception propagates.  Blocks are merged if they do the same to the same values, and their ops that may
raise stand on the same lines of the user's source.
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

    Blocks are equal if they do the same to the same values; see the module.
    """
    return _merge(function, set(function.blocks[1:]))


def _warm_tail_merging(function: Function) -> bool:
    """Merge equal blocks outside of exception handlers.

    Only blocks that are reachable without an exception are merged.
    """
    return _merge(function, _reached_without_errors(function) - {function.blocks[0]})


tail_merging = Pass(_tail_merging, ways=True)
warm_tail_merging = Pass(_warm_tail_merging, ways=True)


def merge_landings(function: Function) -> bool:
    """Merge equal landing pads: blocks that only exceptions lead to and that do the same, on whatever line."""
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
    """Let blocks share a following block of drops: where a block does the same as one that jumps to a block of drops, but ends with these drops
    itself, let it jump there, too. Return whether anything changed.
    """
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
    """Let block, which ends with the drops of shared, jump to shared instead, if it is equal then to a block in alike that already jumps there;
    return whether it does.
    """
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
    """Collect the blocks that are reached without an exception edge."""
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
    """Compute the number of open handlers at the start of each block."""
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
    """Build a key that is equal for two blocks that do the same."""
    return Key(block, _place if places else _nowhere).key


def _place(at: Op | Raise) -> Location | None:
    """Return the location that a traceback may show for an op or Raise, or None; a re-raise shows only the calls around it, on whatever line it
    stands.
    """
    if isinstance(at, Op):
        return at.location if shows_place(at) else None
    return at.location.caller if at.again and at.location is not None else at.location


def _nowhere(_: Op | Raise) -> None:
    return None
