"""Cross-jumping: blocks with equal ends share that end (Muchnick 18.8).

    4: …; append(out, 'new'); rest; br 2            4: …; append(out, 'new'); br 6
    5: …; append(out, 'old'); rest; br 2     →      5: …; append(out, 'old'); br 6
                                                    6: rest; br 2

An interpreter that continues behind a branch of the guest program does the same on both sides, from the same source lines, with
the same values.  Whole blocks that are equal are left to `tail_merging`.
"""

import itertools
from collections.abc import Container, Hashable
from typing import Final

from hovis.ir.analysis.control_flow import operands, reverse_postorder, terminator_operands
from hovis.ir.matching import Match, shape
from hovis.ir.model import Block, Edge, Function, Invoke, Jump, Op, Operand, Param, Raise, Value, edges
from hovis.lattice import Const
from hovis.passes.cfg.tail_merging import open_handlers
from hovis.passes.rewriting import Pass, shows_place

#: Common ends of fewer ops are not worth a jump.
MIN_OPS: Final = 3

#: The maximum number of following blocks in its group that each block is compared with.
COMPARED: Final = 16


def _cross_jumping(function: Function) -> bool:
    """Merge equal ends of blocks (cross-jumping).

    The ops that several blocks have in common at their ends are moved to one block.
    """
    changed = False
    while _sweep(function):
        changed = True
    return changed


cross_jumping = Pass(_cross_jumping, ways=True)


def _sweep(function: Function) -> bool:
    """Merge the ends of pairs of blocks, each block in one pair at most; return whether any were merged."""
    groups: dict[Hashable, list[Block]] = {}
    depth = open_handlers(function)
    place = {block: k for k, block in enumerate(reverse_postorder(function.blocks[0]))}
    for block in function.blocks[1:]:
        if len(block.ops) >= MIN_OPS and not isinstance(block.terminator, Invoke):
            back = tuple(place[edge.block] <= place[block] for edge in edges(block.terminator))
            last = block.ops[-1]
            targets = tuple(id(edge.block) for edge in edges(block.terminator))
            end = block.terminator
            raised = (end.again, end.location) if isinstance(end, Raise) else None
            key = (type(end), raised, targets, back, depth.get(block), last.location, *map(_outline, block.ops[-MIN_OPS:]))
            groups.setdefault(key, []).append(block)
    candidates = [group for group in groups.values() if len(group) > 1]
    if not candidates:
        return False
    outside = _used_outside(function)
    branched = {edge.block for block in function.blocks if not isinstance(block.terminator, Jump) for edge in edges(block.terminator)}
    shared: set[Block] = set()
    for group in candidates:
        for at, a in enumerate(group):
            for b in itertools.islice(group, at + 1, at + 1 + COMPARED):
                if a not in shared and b not in shared and (count := _alike(a, b, outside)) >= MIN_OPS:
                    shared |= {a, b}
                    _share(function, a, b, count, branched)
    return bool(shared)


def _outline(op: Op) -> Hashable:
    """Build a key that is equal for ops of the same shape with the same constant operands, wherever their other operands come from."""
    return shape(op), tuple(x if isinstance(x, Const) else None for x in op.operands())


def _used_outside(function: Function) -> set[Operand]:
    """Collect the values that are used in another block than their own."""
    found: set[Operand] = set()
    for block in function.blocks:
        own: set[Operand] = {*block.params, *block.all_ops()}
        found.update(v for v in operands(block) if isinstance(v, Param | Op) and v not in own)
        for one in own:
            found.update(dim for dim in getattr(one, "dims", None) or () if isinstance(dim, Param | Op) and dim not in own)
    return found


class _Ends(Match):
    """Matches the ends of two blocks, from the last op backwards: operands bound by a later op have to match as ops further up."""

    def agrees(self, a: Value, b: Value) -> bool:
        """Do a and b have the same type, and, if both are ops and a traceback may show the line of a, the same location?"""
        return a.type == b.type and (not isinstance(a, Op) or not isinstance(b, Op) or a.location == b.location or not shows_place(a))


def _alike(a: Block, b: Block, outside: set[Operand]) -> int:
    """Count the ops at the ends of two blocks that do the same to the same values and whose results are used only there."""
    match = _Ends({*b.params, *b.ops})
    if not match.operands(terminator_operands(a.terminator), terminator_operands(b.terminator)):
        return 0
    found = 0
    for count, (one, other) in enumerate(zip(reversed(a.ops), reversed(b.ops), strict=False), 1):
        if one in outside or other in outside or one.dims or other.dims or match.bound.pop(other, one) is not one:
            break
        if one in match.bound.values() or not match.op(one, other):
            break
        del match.bound[other]
        if not match.bound:
            found = count
    return found


def _share(function: Function, a: Block, b: Block, count: int, branched: Container[Block]) -> None:
    """Move the last count ops of a, and its terminator, to a block of their own, and let a and b jump to it. If one of the two consists of these
    ops alone, it is that block.

    branched: the blocks that are targets of terminators other than jumps
    """
    for one, other in ((a, b), (b, a)):
        if len(one.ops) == count and not one.params and one not in branched:
            other.ops, other.terminator = other.ops[:-count], Jump(Edge(one))
            return
    end = Block((), a.ops[-count:], a.terminator)
    for block in (a, b):
        block.ops, block.terminator = block.ops[:-count], Jump(Edge(end))
    function.blocks.append(end)
