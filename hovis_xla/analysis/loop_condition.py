"""Find the test at the top of a loop, and its induction variables: the header parameters that each iteration increments or decrements."""

import operator
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from hovis.ir.model import Block, Branch, Edge, Effect, Op, Operand, Param
from hovis.lattice import Const
from hovis.library.numpy.rules.aliasing import is_in
from hovis_xla.analysis.growable_lists import changes_list
from hovis_xla.analysis.loop_forest import Region, is_test, successors
from hovis_xla.analysis.ranges.intervals import ADDS, NEGATED, SUBTRACTS, SWAPPED, before
from hovis_xla.analysis.side_effects import acts
from hovis_xla.analysis.speculative_loads import reads
from hovis_xla.analysis.stored_arrays import stored

#: A loop's test with at most this many operations is written into the condition (and once more into the body).
TEST_OPS: Final = 16


class Top(NamedTuple):
    """The edge that stays in the loop, the edge that leaves it, and whether the test reads array elements that may not exist."""

    stay: Edge
    leave: Edge
    reads: bool


#: The edge that stays in a loop, and the edge that leaves it.
Ways = tuple[Edge, Edge]


def ways(block: Block, region: Region) -> Ways | None:
    """Return the edge by which a block stays in a loop and the edge that leaves the loop, or None if the block does not end with a branch
    between the two.
    """
    end = block.terminator
    if not isinstance(end, Branch) or (end.true.block in region.blocks) is (end.false.block in region.blocks):
        return None
    return (end.true, end.false) if end.true.block in region.blocks else (end.false, end.true)


def top_test(region: Region, heads: Sequence[Block], needed: Container[Op], busy: bool) -> Top | None:
    """Return the test of a loop that has one header, if the header is nothing but a cheap test; otherwise None.

    The test is executed once more behind the loop, even after a break, where it must not cause a bailout.  If the test is the only exit of
    the loop, its array reads may fail: then no further iteration begins, and the read fails behind the loop.
    """
    head = heads[0]
    found = ways(head, region) if len(heads) == 1 else None
    if found is None:
        return None
    stay, leave = found
    ops = [op for op in head.ops if op in needed]
    failing = [op for op in ops if op.effect & Effect.RAISES]
    may_fail = not busy and is_test(region) and all(map(reads, failing))
    if len(ops) > TEST_OPS or stay.block is head or (failing and not may_fail):
        return None
    if any(acts(op) or stored(op) or changes_list(op) or getattr(op.type, "rank", 0) for op in ops):
        return None
    return Top(stay, leave, bool(failing))


# ------------------------------------------------------------------------------------------------- induction variables

_ORDERINGS: Final = frozenset({operator.lt, operator.le, operator.gt, operator.ge})


class Comparison(NamedTuple):
    """The comparison ``how(value, bound)``."""

    value: Operand
    how: Callable[..., Any]
    bound: Operand

    @property
    def is_upper(self) -> bool:
        """Is the bound an upper bound of the value?"""
        return self.how in (operator.lt, operator.le)


def comparisons(cond: Operand, truth: bool) -> Iterator[Comparison]:
    """Yield what the outcome ``truth`` of a test says of each of its sides."""
    if isinstance(cond, Op) and cond.callee in _ORDERINGS and len(cond.args) == 2:
        how = cast(Callable[..., Any], cond.callee if truth else NEGATED[cond.callee])
        yield Comparison(cond.args[0], how, cond.args[1])
        yield Comparison(cond.args[1], SWAPPED[how], cond.args[0])


def comparison(cond: Operand, truth: bool, params: Collection[Param]) -> Comparison | None:
    """Return what the outcome ``truth`` of a test says of one of ``params``, or None."""
    return next((found for found in comparisons(cond, truth) if found.value in params), None)


def staying(region: Region, block: Block) -> Iterator[Comparison]:
    """Yield the comparisons that hold where a block of a loop does not leave it."""
    end, found = block.terminator, ways(block, region)
    if isinstance(end, Branch) and found is not None:
        yield from comparisons(end.cond, found[0] is end.true)


def added(op: Op) -> tuple[Operand, int] | None:
    """Return the first operand of an op and the integer constant that the op adds to it, or None if the op does anything else."""
    sign = _SIGNS[op.callee] if is_in(op.callee, _SIGNS) and len(op.args) == 2 else None
    number = op.args[1] if sign else None
    return (op.args[0], sign * number.value) if sign and isinstance(number, Const) and type(number.value) is int else None


_SIGNS: Final[dict[object, int]] = {**dict.fromkeys(ADDS, 1), **dict.fromkeys(SUBTRACTS, -1), before: -1}

#: Finds the operand to which an op adds, and (the smallest of) what it adds, which is not zero.
Summand = Callable[[Op], tuple[Operand, int] | None]


def step_of(region: Region, counter: Param, summand: Summand = added) -> int | None:
    """Return the smallest step by which an iteration moves a header parameter; None if an iteration may leave it unchanged, or change it in
    another way.
    """
    head = region.heads[0]
    k = head.params.index(counter)
    steps = [moved(e.args[k], counter, region, summand) for b in region.blocks for e in successors(b) if e.block is head]
    known = [step for step in steps if step]
    if not known or len(known) < len(steps) or min(known) < 0 < max(known):
        return None
    return min(known, key=abs)


def moved(value: Operand, counter: Param, region: Region, summand: Summand = added) -> int | None:
    """Return the sum of what has been added to the counter, with all summands of one sign; None if ``value`` is anything else."""
    total = 0
    while value is not counter:
        if isinstance(value, Op):
            found = summand(value)
            if found is None or found[1] * total < 0:
                return None
            value, total = found[0], total + found[1]
        else:
            brought = region.brought.get(value, ()) if isinstance(value, Param) else ()
            if len(brought) != 1:
                return None
            (value,) = brought
    return total
