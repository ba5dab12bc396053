"""Loop predication: loops that continue only as long as the ints of the next iteration fit in 64 bits.

Each operation on Python's ints that may need more than 64 bits is checked, and the flags of several iterations cost more than
the iterations. If it suffices that the loop-carried ints are not too large, this is tested together with the condition of the
loop, which can then be unrolled. If the loop ends although its own condition holds, the program gives up behind it.
"""

import operator
from typing import Any, Final

from hovis.ir.model import Block, Branch, Edge, Function, Op, Raise
from hovis.lattice import Const, Type
from hovis_xla.analysis.loop_forest import Region, is_test
from hovis_xla.analysis.ranges.integer_ranges import INT64, growing
from hovis_xla.analysis.ranges.intervals import Interval, within
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Sweep
from hovis_xla.loops.merge_exit_conditions import goes_on_if
from hovis_xla.loops.unroll_counted import count_of

#: Limits for loop-carried ints that are tried in turn. Smaller ones would make programs give up for ints that are common in Python code.
MOST: Final = (2**61, 2**53)

#: The limit with which an unrolled loop tests once for several iterations, if everything that grows from it fits in 64 bits.
ONCE: Final = 2**53

#: With at most this many wide loop-carried ints, limiting only one of them is tried first.
ALONE: Final = 3

#: A test of a header parameter: its index, the comparison (at most, or at least), and the bound.
Asked = tuple[int, Any, int]


def predicate_overflow(function: Function) -> Function:
    """Exit loops before an int overflows 64 bits (loop predication).

    Only loops for which a test of the loop-carried ints suffices are changed. Return a new function, or the function itself if nothing changes.
    """
    return driver.rewrite_planned(function, _asked, _write)


def _asked(sweep: Sweep, region: Region) -> list[Asked] | None:
    """Return the conditions that have to be tested; None if no test is needed, or if none would suffice."""
    head, ops = region.heads[0], growing(region.blocks)
    if not ops or not sweep.is_innermost(region) or not is_test(region) or count_of(region):
        return None
    ranges = sweep.ranges
    if all(map(ranges.has_room, ops)):
        return None
    wide = [k for k, p in enumerate(head.params) if p.type == Type(int) and not within(ranges.base.get(p, INT64), (-MOST[-1], MOST[-1]))]
    some = [[k] for k in wide] if len(wide) <= ALONE else []
    for places, most in ((places, most) for places in (*some, wide) for most in MOST):
        with ranges.supposing(region, {head.params[k]: (-most, most) for k in places}):
            fits = all(map(ranges.has_room, ops))
        if fits:
            return [(k, how, bound) for k in places for how, bound in _limits(ranges.base.get(head.params[k], INT64), most)]
    return None


def asked_once(region: Region) -> "tuple[Op, list[Op]] | None":
    """Return the original condition and the overflow tests of a loop that gives up behind its test; None for any other loop."""
    end = region.heads[0].terminator
    if not isinstance(end, Branch) or end.true.block not in region.blocks:
        return None
    behind = end.false.block.terminator
    again = behind.cond if isinstance(behind, Branch) and isinstance(behind.true.block.terminator, Raise) and not end.false.block.ops else None
    rest, asked = end.cond, list[Op]()
    while isinstance(again, Op) and rest is not again:
        question = rest.args[1] if isinstance(rest, Op) and rest.callee is operator.and_ else None
        if not isinstance(rest, Op) or not isinstance(question, Op) or question.callee not in (operator.le, operator.ge):
            return None
        asked.append(question)
        rest = rest.args[0]
    return (again, asked) if isinstance(again, Op) and asked else None


def _limits(known: Interval, most: int) -> list[tuple[Any, int]]:
    """Return the tests that limit a loop-carried int to ``most``, without those that are known to hold."""
    return [(operator.le, most)] * (known[1] > most) + [(operator.ge, -most)] * (known[0] < -most)


def _write(function: Function, region: Region, asked: list[Asked]) -> None:
    """Branch at the header: if the ints are small and the loop continues, stay in it; otherwise, give up if it would have continued, else leave
    it.
    """
    head = region.heads[0]
    branch = head.terminator
    assert isinstance(branch, Branch)
    stay, out = (branch.true, branch.false) if branch.true.block in region.blocks else (branch.false, branch.true)
    again, where = goes_on_if(head, branch, out), branch.location
    small = again
    for place, how, bound in asked:
        fits = Op(how, (head.params[place], Const(bound)), (), Type(bool), location=where)
        small = Op(operator.and_, (small, fits), (), Type(bool), location=where)
        head.ops += [fits, small]
    failed = Block(terminator=Raise(Const(OverflowError()), location=where))
    left = Block(terminator=Branch(again, Edge(failed), Edge(out.block, out.args), where))
    head.terminator = Branch(small, stay, Edge(left), where)
    function.blocks += [left, failed]
