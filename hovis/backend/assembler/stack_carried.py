"""Values that stay on the stack across a branch.

    x = row[0]                      row[0]
    if x is not None and x < 3:     COPY, test for None; x is still there: < 3

A value that is tested, and then used once more at the very start of a successor of the branch, needs no local.
"""

from typing import Final

from hovis.backend.assembler.encode import COPY
from hovis.backend.assembler.liveness import Flow
from hovis.backend.assembler.selection.instruction_selection import Linear
from hovis.backend.assembler.selection.stack_code import AT, COVER, DO, GUARD, HANDLERS, LOAD, MACRO, STORE, UNGUARD, Item
from hovis.ir.model import Block, Branch, Operand, edges

#: Items that may not come between, because they depend on the height of the stack.
_BARRIERS: Final = frozenset({COVER, GUARD, UNGUARD, HANDLERS, MACRO})
_GONE: Final[Item] = (AT, None)


def carry(flow: Flow, linear: Linear, code: dict[Block, list[Item]]) -> dict[Block, set[Block]]:
    """Keep tested values on the stack by changing the code on both sides of a branch. Return, for each block that leaves a value on the stack,
    the successors that take it.
    """
    found: dict[Block, set[Block]] = {}
    changed = set()
    for block in flow.order:
        terminator = block.terminator
        at = _tested(code[block]) if isinstance(terminator, Branch) and linear.tests[block] not in (None, "FOR_ITER") else None
        if at is None:
            continue
        stored, loaded = at
        value = code[block][stored][1]
        takers = {edge.block: k for edge in edges(terminator) if (k := _taken(flow, code, edge.block, value)) is not None}
        if not takers or flow.uses[value] != 1 + len(takers):
            continue
        code[block][stored], code[block][loaded] = (DO, COPY, 1, 1), _GONE
        for taker, k in takers.items():
            code[taker][k] = _GONE
            flow.live_in[flow.index[taker]].discard(value)
        found[block] = set(takers)
        changed |= {block, *takers}
    for block in changed:
        code[block] = [item for item in code[block] if item is not _GONE]
    return found


def _tested(items: list[Item]) -> tuple[int, int] | None:
    """Find where a value is stored and loaded again at once, for the test that ends the block; return the indices of both items, or None."""
    loaded = None
    for k in range(len(items) - 1, -1, -1):
        kind = items[k][0]
        if kind in _BARRIERS:
            return None
        if kind == LOAD:
            loaded = k
        elif kind == STORE:
            if loaded is not None and items[loaded][1] is items[k][1]:
                return k, loaded
            return None
        elif kind != AT:
            loaded = None
    return None


def _taken(flow: Flow, code: dict[Block, list[Item]], block: Block, value: Operand) -> int | None:
    """Return the index of the load of value that block begins with; None if there is none, or if block has more than one incoming edge."""
    if len(flow.incoming[block]) != 1:
        return None
    for k, item in enumerate(code[block]):
        if item[0] != AT:
            return k if item[0] == LOAD and item[1] is value else None
    return None
