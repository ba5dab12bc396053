"""Loops that go on only as long as there is room for what a round computes.

Each operation on Python's ints that may need more than 64 bits is checked, and the flags of several rounds cost more than
the rounds. Where it takes no more than that what goes round is not too large, that is asked with the test of the
loop, which then does several rounds at a time. A loop that would go round once more gives up behind it.
"""

import operator
from typing import Any, Final

from hovis.ir.model import Block, Branch, Edge, Function, Op, Raise
from hovis.lattice import Const, Type
from hovis_xla.analysis.loop_forest import Region, is_test
from hovis_xla.analysis.ranges.integer_ranges import INT64, grows
from hovis_xla.analysis.ranges.intervals import Interval, within
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Sweep
from hovis_xla.loops.unroll_counted import counts

#: What goes round may be as large as this. Less would give up where Python's numbers are in common use.
MOST: Final = (2**61, 2**53)

#: Where several rounds are done at a time it is asked once for all of them, if there is room for what grows from so much.
ONCE: Final = 2**53

#: Of so many that go round one alone may be what takes the room.
ALONE: Final = 3

#: What is asked of a parameter of the head, by its number: that it is no more, or no less, than so much.
Asked = tuple[int, Any, int]


def predicate_overflow(function: Function) -> Function:
    """Exit loops before an int overflows 64 bits (loop predication).

    The function, its loops left before they need more than 64 bits, where that is a test of what goes round; the very same, if nothing changes.
    """
    return driver.rewrite_planned(function, _asked, _write)


def _asked(sweep: Sweep, region: Region) -> list[Asked] | None:
    """What has to be asked; None, if it need not be, or would not help."""
    head, growing = region.heads[0], [op for b in region.blocks for op in b.all_ops() if grows(op)]
    if region.loops or len(region.heads) > 1 or head is sweep.function.blocks[0] or not growing or not is_test(region) or counts(region):
        return None
    ranges = sweep.ranges
    if all(map(ranges.has_room, growing)):
        return None
    wide = [k for k, p in enumerate(head.params) if p.type == Type(int) and not within(ranges.base.get(p, INT64), (-MOST[-1], MOST[-1]))]
    some = [[k] for k in wide] if len(wide) <= ALONE else []
    for places, most in ((places, most) for places in (*some, wide) for most in MOST):
        with ranges.supposing(region, {head.params[k]: (-most, most) for k in places}):
            fits = all(map(ranges.has_room, growing))
        if fits:
            return [(k, how, bound) for k in places for how, bound in _limits(ranges.base.get(head.params[k], INT64), most)]
    return None


def asked_once(region: Region) -> "tuple[Op, list[Op]] | None":
    """Of a loop that gives up behind its test: whether it would go on otherwise, and the questions whether there is room."""
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
    """What has to be asked of what goes round."""
    return [(operator.le, most)] * (known[1] > most) + [(operator.ge, -most)] * (known[0] < -most)


def _write(function: Function, region: Region, asked: list[Asked]) -> None:
    """test: small, and another round? → the loop; else → would there be another? → give up; else → on."""
    head = region.heads[0]
    branch = head.terminator
    assert isinstance(branch, Branch)
    stays = branch.true.block in region.blocks
    out = branch.false if stays else branch.true
    again, where = branch.cond, branch.location
    if not stays:
        again = Op(operator.not_, (again,), (), Type(bool), location=where)
        head.ops.append(again)
    small = again
    for place, how, bound in asked:
        fits = Op(how, (head.params[place], Const(bound)), (), Type(bool), location=where)
        small = Op(operator.and_, (small, fits), (), Type(bool), location=where)
        head.ops += [fits, small]
    failed = Block(terminator=Raise(Const(OverflowError()), location=where))
    left = Block(terminator=Branch(again, Edge(failed), Edge(out.block, out.args), where))
    head.terminator = Branch(small, branch.true if stays else branch.false, Edge(left), where)
    function.blocks += [left, failed]
