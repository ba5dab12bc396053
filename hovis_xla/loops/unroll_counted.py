"""Unrolling of counted loops.

XLA keeps loop-carried values in memory; therefore an iteration takes at least ten cycles, however little it does.  A loop that counts up
to a bound, has no other exit and contains no loop gets another loop in front of it. That loop does several iterations in each of
its own, as long as enough are left; the original loop does the rest.  The order of operations does not change.
"""

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hovis.ir.analysis.control_flow import predecessors
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param
from hovis.lattice import Array, Const, Type
from hovis.passes.scalar.instcombine import is_exact
from hovis_xla.analysis.loop_condition import added, comparison
from hovis_xla.analysis.loop_forest import Region, is_test, reachable, successors
from hovis_xla.analysis.ranges.intervals import ADDS, before
from hovis_xla.analysis.side_effects import acts
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Sweep, copy_loop, lead

#: Unroll factors: the maximum number of ops in an iteration, and the factor.
ROUNDS: Final = ((24, 8), (32, 4), (48, 2))

#: Effects of ops that are not duplicated.
OUTSIDE: Final = Effect.IO | Effect.RANDOM | Effect.CLOCK | Effect.OPAQUE

#: A trip count, if it is known, has to be at least WORTH times the unroll factor; loops with at most SHORT iterations, and at most SHORT_OPS ops in
#: all of them, are unrolled completely.
WORTH: Final = 4
SHORT: Final = 16
SHORT_OPS: Final = 160


class Count(NamedTuple):
    """How a loop counts: the index of the counter among the parameters of the header, the step, the bound, and the test (less, or greater)."""

    place: int
    step: int
    bound: Operand
    test: Callable[..., Any]


def unroll_counted(function: Function) -> Function:
    """Unroll innermost counted loops.

    Return a new function, or the function itself if it has no such loop.
    """
    return driver.rewrite_planned(function, _plan, _unroll)


def _plan(sweep: Sweep, region: Region) -> tuple[int, bool] | None:
    """Return the unroll factor, and whether these are all iterations; None if unrolling does not pay."""
    count = count_of(region) if sweep.is_innermost(region) else None
    ops = [op for b in region.blocks for op in b.all_ops() if op in sweep.needed]
    times = factor(ops, ROUNDS, lambda op: op.callee is operator.setitem or not op.effect & Effect.WRITES)
    if count is None or times == 1:
        return None
    known = _rounds(sweep, region, count)
    if known is not None and 1 < known <= SHORT and known * len(ops) <= SHORT_OPS:
        return known, True
    if known is None or known >= WORTH * times:
        return times, False
    return None


def factor(ops: Sequence[Op], factors: Sequence[tuple[int, int]], fits: Callable[[Op], bool]) -> int:
    """Return the unroll factor that pays; 1 if an op has a visible side effect, works on arrays, or does not fit."""
    if any(acts(op) or isinstance(op.callee, Function) or isinstance(op.type, Array) or op.effect & OUTSIDE or not fits(op) for op in ops):
        return 1
    return next((times for most, times in factors if len(ops) <= most), 1)


def count_of(region: Region) -> Count | None:
    """Return how a loop counts that can be unrolled; None for any other loop."""
    head = region.heads[0]
    branch = head.terminator
    if not isinstance(branch, Branch) or branch.true.block not in region.blocks - {head}:
        return None
    if not is_test(region) or not all(isinstance(b.terminator, Branch | Jump) for b in region.blocks):
        return None
    if any(op.effect & (OUTSIDE | Effect.WRITES) for op in head.ops) or any(isinstance(p.type, Array) for b in region.blocks for p in b.params):
        return None
    test = comparison(branch.cond, True, head.params) if branch.cond in head.ops else None
    if test is None or test.how not in (operator.lt, operator.gt):
        return None
    place = head.params.index(test.value)
    inside = {v for b in region.blocks for v in (*b.params, *b.all_ops())}
    steps = {_step(e.args[place], head.params[place]) for b in region.blocks for e in successors(b) if e.block is head}
    if test.bound in inside or len(steps) > 1 or head.params[place].type != Type(int) or not is_exact(test.bound, int):
        return None
    step = steps.pop()
    return None if step is None or (step > 0) is not test.is_upper else Count(place, step, test.bound, test.how)


def _step(value: Operand, counter: Param) -> int | None:
    """Return the constant that is added to the counter; None if it is unknown or too large."""
    made = added(value) if isinstance(value, Op) and value.callee in ADDS else None
    return made[1] if made is not None and made[0] is counter and 0 < abs(made[1]) < 2**31 else None


def _rounds(sweep: Sweep, region: Region, count: Count) -> int | None:
    """Return the trip count of a loop, or None if it is unknown."""
    starts = [e.args[count.place] for b, e in sweep.before[region.heads[0]] if b not in region.blocks]
    if not isinstance(count.bound, Const) or not all(isinstance(s, Const) for s in starts):
        return None
    found = {-((s.value - count.bound.value) // count.step) for s in starts}  # type: ignore[operator,union-attr]
    return found.pop() if len(found) == 1 else None


# ------------------------------------------------------------------------------------------------- writing


def _unroll(function: Function, region: Region, plan: tuple[int, bool]) -> None:
    """Put an unrolled loop in front of a counted loop, or replace the loop by all of its iterations."""
    (times, whole), head, count = plan, region.heads[0], count_of(region)
    entries = [e for b, e in predecessors(function)[head] if b not in region.blocks]
    body = [b for b in reachable(function) if b in region.blocks]
    copies = [copy_loop(body, head) for _ in range(times)]
    branch = head.terminator
    assert isinstance(branch, Branch)
    assert isinstance(branch.cond, Op)
    assert count is not None
    for copy in copies:
        copy.head.ops = [op for op in copy.head.ops if op is not copy.new[branch.cond]]
        copy.head.terminator = Jump(copy.head.terminator.true)  # type: ignore[union-attr]
    lead(entries, copies[0].head)
    for copy, then in itertools.pairwise(copies):
        lead(copy.ends, then.head)
    at = function.blocks.index(head)
    function.blocks[at:at] = [b for copy in copies for b in copy.blocks]
    if whole:  # all iterations, one after the other → the header, which only jumps on
        lead(copies[-1].ends, head)
        head.terminator = Jump(branch.false, branch.location)
        function.blocks = [b for b in function.blocks if b not in region.blocks or b is head]
    else:
        lead(copies[-1].ends, copies[0].head)
        _ask(copies[0].head, head, count, times)


def _ask(front: Block, head: Block, count: Count, times: int) -> None:
    """Begin the unrolled loop with a test whether enough iterations are left. If they are, do them and test again; otherwise continue with the
    original loop.
    """
    location = getattr(head.terminator, "location", None)
    less = (times - 1) * count.step
    if isinstance(count.bound, Const):
        bound: Operand = Const(before(count.bound.value, less))  # type: ignore[arg-type]
    else:
        bound = Op(before, (count.bound, Const(less)), (), Type(int), location=location)
    test = Op(count.test, (front.params[count.place], bound), (), Type(bool), location=location)
    front.ops[:0] = [bound, test] if isinstance(bound, Op) else [test]
    front.terminator = Branch(test, front.terminator.edge, Edge(head, front.params))  # type: ignore[union-attr]
