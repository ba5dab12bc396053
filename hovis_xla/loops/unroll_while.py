"""Unrolling of loops without a known trip count.

A ``while`` with an unknown trip count is left as soon as its test fails.  Nevertheless, several of its iterations can be placed
one after the other, each under the test: values then need not go through memory from one iteration to the next, which takes
XLA most of the time of a short iteration.  (If an iteration may give up, because an int may need more than 64 bits, this
gains nothing: the flags of all iterations would have to be tested.)  If an iteration has only a few operations, those after the last one
are computed in vain, and their results are not selected.

If the header of a loop is only a test, all copies but the first jump back to the header when the test fails, where it
fails again: the loop still has one exit.  Other loops are left from each iteration.

The initial values of the next iteration are selected, and have to wait for the test. If a test of the loop, or one within it, reads from an
array, a CPU that predicts the outcome of a branch would not have to wait: such loops are not unrolled.
"""

import operator
from collections.abc import Sequence
from typing import Final

from hovis.ir.model import Block, Branch, Effect, Function, Jump, Op, Operand, edges
from hovis.lattice import Array, Const, Type
from hovis_xla.analysis.loop_forest import Region, is_test, reachable, successors
from hovis_xla.analysis.ranges.integer_ranges import Ranges, growing
from hovis_xla.analysis.speculative_loads import reads
from hovis_xla.loops import driver
from hovis_xla.loops.driver import LoopCopy, Sweep, copy_loop, lead
from hovis_xla.loops.overflow_predication import ONCE, asked_once
from hovis_xla.loops.unroll_counted import count_of, factor

#: Unroll factors: the maximum number of ops in an iteration, and the factor.
ROUNDS: Final = ((14, 4), (24, 2))

#: Unroll factor, in place of four, of loops of ints that may test for overflow only once for all unrolled iterations.
OF_INTS: Final = 6

#: Operations that take so long that an iteration in vain costs more than unrolling gains.
_SLOW: Final = frozenset({
    operator.mod, operator.floordiv, operator.truediv, operator.pow, operator.imod, operator.ifloordiv, operator.itruediv, operator.ipow, divmod,
})  # fmt: skip


def unroll_while(function: Function) -> Function:
    """Unroll innermost loops without a trip count.

    Return a new function, or the function itself if it has no such loop.
    """
    return driver.rewrite_planned(function, _times, _repeat)


def _times(sweep: Sweep, region: Region) -> int | None:
    """Return the unroll factor that pays; None if unrolling does not pay."""
    if not sweep.is_innermost(region) or count_of(region) or _waits(region):
        return None
    times = factor([op for b in region.blocks for op in b.all_ops() if op in sweep.needed], ROUNDS, _is_cheap)
    if times == 1 or not _fits(sweep, region) or not all(map(sweep.ranges.has_room, growing(region.blocks))):
        return None
    return OF_INTS if times == ROUNDS[0][1] and asked_once(region) else times


def _waits(region: Region) -> bool:
    """Would the iterations of the unrolled loop wait for each other needlessly? They would if a complex number is loop-carried, or if a test
    reads from an array.

    With several iterations, all other loop-carried values depend on a complex one, through the test. XLA then copies it first, in one piece,
    and no CPU forwards to this load what was stored in two pieces.
    """
    carried = any(p.type == Type(complex) for p in region.heads[0].params)
    return carried or any(isinstance(b.terminator, Branch) and any(map(reads, b.ops)) for b in region.blocks)


def _is_cheap(op: Op) -> bool:
    """Does the op store nothing, and take little time?"""
    return not op.effect & Effect.WRITES and (op.callee not in _SLOW or isinstance(op.args[-1], Const))


def _fits(sweep: Sweep, region: Region) -> bool:
    """Can the blocks of the loop be duplicated?"""
    if any(not isinstance(b.terminator, Branch | Jump) or any(isinstance(p.type, Array) for p in b.params) for b in region.blocks):
        return False
    return is_test(region) or region.blocks.issuperset(sweep.users(v for b in region.blocks for v in (*b.params, *b.all_ops())))


def _repeat(function: Function, region: Region, times: int) -> None:
    copies = _write(function, region, times)
    room = asked_once(region)
    if room is not None:
        _ask_once(function, [b for c in copies for b in c.blocks], [(c.head, c.new[room[0]]) for c in copies], room[1])


def _ask_once(function: Function, blocks: Sequence[Block], tests: Sequence[tuple[Block, Operand]], asked: Sequence[Op]) -> None:
    """Test for overflow only once for all unrolled iterations, with a tighter limit. Restore the tests if this limit is not proven to suffice."""
    before = [(op, op.args) for op in asked], [(block, block.terminator) for block, _ in tests]
    for op in asked:
        op.args = (op.args[0], Const(ONCE if op.callee is operator.le else -ONCE))
    for block, test in tests:
        end = block.terminator
        assert isinstance(end, Branch)
        block.terminator = Branch(test, end.true, end.false, end.location)
    if not all(map(Ranges(function).has_room, growing(blocks))):
        for op, args in before[0]:
            op.args = args
        for block, end in before[1]:
            block.terminator = end


def _write(function: Function, region: Region, times: int) -> list[LoopCopy]:
    """Put copies of the blocks of a loop between its back edges and its header. If the header is only a test, a copy whose test fails goes back
    to it.
    """
    head, tested = region.heads[0], is_test(region)
    body = [b for b in reachable(function) if b in region.blocks]
    backs = [e for b in body for e in successors(b) if e.block is head]
    copies = [copy_loop(body, head) for _ in range(times - 1)]
    for copy in copies:
        lead(backs, copy.head)
        backs = copy.ends
        for edge in edges(copy.head.terminator) if tested else ():
            if edge.block in region.exits:
                edge.block, edge.args = head, copy.head.params
    lead(backs, head)
    at = function.blocks.index(body[-1]) + 1
    function.blocks[at:at] = [b for copy in copies for b in copy.blocks]
    return copies
