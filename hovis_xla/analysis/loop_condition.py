"""The test at the top of a loop, if that is the loop's own condition."""

from collections.abc import Container, Sequence
from typing import Final, NamedTuple

from hovis.ir.model import Block, Branch, Edge, Effect, Op
from hovis_xla.analysis.growable_lists import changes_list
from hovis_xla.analysis.loop_forest import Region, is_test
from hovis_xla.analysis.side_effects import acts
from hovis_xla.analysis.speculative_loads import reads
from hovis_xla.analysis.stored_arrays import stored

#: A loop's test with at most this many operations is written into the condition (and once more into the body).
TEST_OPS: Final = 16


class Top(NamedTuple):
    """The edge that stays in the loop, the one that leaves it, and whether what the test reads of arrays may not be there."""

    stay: Edge
    leave: Edge
    reads: bool


def top_test(region: Region, heads: Sequence[Block], needed: Container[Op], busy: bool) -> Top | None:
    """The test of a loop that has one head, if that is nothing but a cheap test.

    Behind the loop it is done once more, even after a break: then it must not find a reason to give up.  If the loop is left by its
    test alone, what that reads may fail: then another round is not begun, and it fails behind the loop.
    """
    head = heads[0]
    branch = head.terminator
    if len(heads) > 1 or not isinstance(branch, Branch):
        return None
    inside = [e.block in region.blocks for e in (branch.true, branch.false)]
    if inside[0] == inside[1]:
        return None
    stay, leave = (branch.true, branch.false) if inside[0] else (branch.false, branch.true)
    ops = [op for op in head.ops if op in needed]
    failing = [op for op in ops if op.effect & Effect.RAISES]
    may_fail = not busy and is_test(region) and all(map(reads, failing))
    if len(ops) > TEST_OPS or stay.block is head or (failing and not may_fail):
        return None
    if any(acts(op) or stored(op) or changes_list(op) or getattr(op.type, "rank", 0) for op in ops):
        return None
    return Top(stay, leave, bool(failing))
