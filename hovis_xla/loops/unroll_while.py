"""Loops without a count that do several rounds at a time.

A ``while`` of which nobody knows how often it goes round is left as soon as its test says so.  Still its rounds can stand
one behind the other, each under the test: what a round brings to the next one need not go through memory then, which is
what a short round of XLA's takes most of its time for.  (Where a round may give up, as an int may need more than 64 bits, it
gains nothing: the flags of all rounds would have to be looked at.)  Where the rounds are a few operations, those behind the last one
are done in vain and not selected.

Of a loop whose head is nothing but a test, all rounds but the first go back to the head if the test fails, which then
fails again: it is still left at one place.  Others are left from each round.

What the next round begins with is selected, and waits for the test. Where a test of the loop, or one within it, reads of an array, a CPU
that predicts how it comes out need not wait for it: such loops do one round at a time.
"""

import operator
from collections.abc import Sequence
from typing import Final

from hovis.ir.model import Block, Branch, Effect, Function, Jump, Op, Operand, edges
from hovis.lattice import Array, Const, Type
from hovis_xla.analysis.loop_forest import Region, is_test, reachable, successors
from hovis_xla.analysis.ranges.integer_ranges import Ranges, grows
from hovis_xla.analysis.side_effects import acts
from hovis_xla.analysis.speculative_loads import reads
from hovis_xla.loops import driver
from hovis_xla.loops.driver import LoopCopy, Sweep, copy_loop
from hovis_xla.loops.overflow_predication import ONCE, asked_once
from hovis_xla.loops.unroll_counted import OUTSIDE, counts

#: How many rounds are done at a time, by how many ops there are in one.
ROUNDS: Final = ((14, 4), (24, 2))

#: So many where they are four else, and of ints: these are asked once for all rounds whether there is room.
OF_INTS: Final = 6

#: These take so long that a round done in vain costs more than what is gained.
_SLOW: Final = frozenset({
    operator.mod, operator.floordiv, operator.truediv, operator.pow, operator.imod, operator.ifloordiv, operator.itruediv, operator.ipow, divmod,
})  # fmt: skip


def unroll_while(function: Function) -> Function:
    """Unroll innermost loops without a trip count.

    The function, its innermost loops without a count doing several rounds at a time; the very same, if it has none.
    """
    return driver.rewrite_planned(function, _times, _repeat)


def _times(sweep: Sweep, region: Region) -> int | None:
    """As many rounds as are worth it; None where one is as good."""
    if region.loops or len(region.heads) > 1 or region.heads[0] is sweep.function.blocks[0] or counts(region) or _waits(region):
        return None
    times = _worth([op for b in region.blocks for op in b.all_ops() if op in sweep.needed])
    if times == 1 or not _fits(sweep, region) or not _never_gives_up(sweep.ranges, region):
        return None
    return OF_INTS if times == ROUNDS[0][1] and asked_once(region) else times


def _carries_complex(region: Region) -> bool:
    """Does a complex number go round?

    Several rounds bring it to all else that goes round, by the test. Then XLA copies it first, in one piece, and no CPU
    forwards what was stored in two.
    """
    return any(p.type == Type(complex) for p in region.heads[0].params)


def _waits(region: Region) -> bool:
    """Would the rounds wait for each other where they do not have to?  They do if a complex number goes round, and if a test reads of arrays."""
    return _carries_complex(region) or any(isinstance(b.terminator, Branch) and any(map(reads, b.ops)) for b in region.blocks)


def _never_gives_up(ranges: Ranges, region: Region) -> bool:
    """Is there room for all its integers?  Flags of several rounds cost more than is gained."""
    return all(ranges.has_room(op) for b in region.blocks for op in b.all_ops() if grows(op))


def _worth(ops: Sequence[Op]) -> int:
    """As many rounds as are worth it; 1 where one does something outside, stores, works on arrays, or takes long."""
    if any(acts(op) or isinstance(op.callee, Function) or isinstance(op.type, Array) or op.effect & (OUTSIDE | Effect.WRITES) or _is_slow(op) for op in ops):
        return 1
    return next((times for most, times in ROUNDS if len(ops) <= most), 1)


def _is_slow(op: Op) -> bool:
    return op.callee in _SLOW and not isinstance(op.args[-1], Const)


def _fits(sweep: Sweep, region: Region) -> bool:
    """Can its blocks stand there more than once?"""
    if any(not isinstance(b.terminator, Branch | Jump) or any(isinstance(p.type, Array) for p in b.params) for b in region.blocks):
        return False
    return is_test(region) or region.blocks.issuperset(sweep.users(v for b in region.blocks for v in (*b.params, *b.all_ops())))


def _repeat(function: Function, region: Region, times: int) -> None:
    copies = _write(function, region, times)
    room = asked_once(region)
    if room is not None:
        _ask_once(function, [b for c in copies for b in c.blocks], [(c.head, c.new[room[0]]) for c in copies], room[1])


def _ask_once(function: Function, blocks: Sequence[Block], tests: Sequence[tuple[Block, Operand]], asked: Sequence[Op]) -> None:
    """Is there room for all rounds, if there is some more of it for the first?  Then the others do not ask."""
    before = [(op, op.args) for op in asked], [(block, block.terminator) for block, _ in tests]
    for op in asked:
        op.args = (op.args[0], Const(ONCE if op.callee is operator.le else -ONCE))
    for block, test in tests:
        end = block.terminator
        assert isinstance(end, Branch)
        block.terminator = Branch(test, end.true, end.false, end.location)
    ranges = Ranges(function)
    if not all(ranges.has_room(op) for b in blocks for op in b.all_ops() if grows(op)):
        for op, args in before[0]:
            op.args = args
        for block, end in before[1]:
            block.terminator = end


def _write(function: Function, region: Region, times: int) -> list[LoopCopy]:
    """Put copies of the loop's blocks between its last edges and its head; where that is but a test, they go back there if it fails."""
    head, tested = region.heads[0], is_test(region)
    body = [b for b in reachable(function) if b in region.blocks]
    backs = [e for b in body for e in successors(b) if e.block is head]
    copies = [copy_loop(body, head) for _ in range(times - 1)]
    for copy in copies:
        for edge in backs:
            edge.block = copy.head
        backs = copy.ends
        for edge in edges(copy.head.terminator) if tested else ():
            if edge.block in region.exits:
                edge.block, edge.args = head, copy.head.params
    for edge in backs:
        edge.block = head
    at = function.blocks.index(body[-1]) + 1
    function.blocks[at:at] = [b for copy in copies for b in copy.blocks]
    return copies
