"""Bounds of counters and sums (values that loops only add to), from the number of iterations that are possible.

Unlike the estimates of ``trip_counts``, these bounds are proven. A step may be any interval on one side of zero, if the sum fits in 64 bits.
"""

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from hovis.ir.analysis.strongly_connected import components
from hovis.ir.model import Block, Op, Operand, Param
from hovis.lattice import Const
from hovis_xla.analysis.loop_condition import step_of
from hovis_xla.analysis.loop_forest import Region
from hovis_xla.analysis.ranges import intervals
from hovis_xla.analysis.ranges.intervals import ADDS, SUBTRACTS, Interval, within

if TYPE_CHECKING:
    from hovis_xla.analysis.ranges.integer_ranges import Ranges

#: No call executes one operation more often than this: at ten per nanosecond it would run for weeks.
MOST_STEPS: Final = 2**54


def bounded_sums(r: "Ranges", values: Iterable[Op | Param]) -> dict[Op | Param, Interval]:
    """Compute the bounds of values that are only added to, from the size of the steps and from how often their loops can execute them."""
    values = [v for v in values if v in r.whole]
    found: dict[Op | Param, Interval] = {}
    for members in map(set, components(values, lambda v: _sources(r, v))):
        if any(isinstance(v, Param) for v in members) and any(isinstance(v, Op) for v in members):
            bounds = _bounds(r, members)
            if bounds is not None and all(within(bounds, r.whole[v]) for v in members):
                found.update(dict.fromkeys(members, bounds))
    return found


def _sources(r: "Ranges", value: Op | Param) -> list[Any]:
    """Return the values that ``value`` is computed from."""
    if isinstance(value, Op):
        return [a for a in value.args if a in r.home] if all(isinstance(a, Op | Param | Const) for a in value.args) else []
    k = r.home[value].params.index(value)
    return [e.args[k] for _, e in r.edges[r.home[value]] if e.args[k] in r.home]


def _bounds(r: "Ranges", members: set[Op | Param]) -> Interval | None:
    starts: list[Interval | None] = []
    least = greatest = steps = low = high = 0
    for value in members:
        if isinstance(value, Param):
            block = r.home[value]
            k = block.params.index(value)
            if block is r.entry:
                return None
            starts += [r.at(e.args[k], b) for b, e in r.edges[block] if e.args[k] not in members]
            continue
        change = _change(r, value, members)
        if change is None:
            return None
        count = _executions(r, r.home[value])
        low, high, steps = low + count * min(0, change[0]), high + count * max(0, change[1]), steps + count
        least, greatest = min(least, change[0]), max(greatest, change[1])
    if not starts or any(s is None for s in starts):
        return None
    if steps > MOST_STEPS:
        low, high = max(low, MOST_STEPS * least), min(high, MOST_STEPS * greatest)
    return min(s[0] for s in starts) + low, max(s[1] for s in starts) + high  # type: ignore[index]


def _change(r: "Ranges", op: Op, members: set[Op | Param]) -> Interval | None:
    """Return the interval that an operation adds to the member that it is given; None if it does anything else."""
    if len(op.args) != 2 or op.callee not in ADDS | SUBTRACTS:
        return None
    x, y = op.args
    if op.callee in ADDS and x not in members:
        x, y = y, x
    if x not in members or y in members:
        return None
    found = r.at(y, r.home[op])
    return found if found is None or op.callee in ADDS else intervals.neg(found)


def _executions(r: "Ranges", block: Block) -> int:
    """Return an upper bound of how often a block is executed in one call of the function."""
    region, found = r.top, 1
    while block in region.loops:
        region = region.loops[block]
        found = min(MOST_STEPS, found * _rounds(r, region))
    return found


def _rounds(r: "Ranges", region: Region) -> int:
    """Return an upper bound of the trip count of a loop, each time that it is entered."""
    if region not in r.rounds:
        r.rounds[region] = MOST_STEPS
        for param in region.heads[0].params if len(region.heads) == 1 else ():
            bounds = r.base.get(param)
            if bounds is not None and step_of(region, param, functools.partial(_added, r, region)):
                r.rounds[region] = min(r.rounds[region], bounds[1] - bounds[0] + 1)
    return r.rounds[region]


def _added(r: "Ranges", region: Region, op: Op) -> tuple[Operand, int] | None:
    """Return the operand from within a loop to which an op certainly adds, or from which it subtracts, and the smallest of what it adds."""
    for before in op.args if r.has_room(op) else ():
        change = _change(r, op, {before}) if isinstance(before, Op | Param) and r.home.get(before) in region.blocks else None
        if change is not None and not change[0] <= 0 <= change[1]:
            return before, min(change, key=abs)
    return None
