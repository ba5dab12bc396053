"""Estimates of the maximum trip count of a loop: a number, the value of an argument, or unknown.

A loop whose counter changes in each iteration has at most as many iterations as the counter has values; if the counter is compared with an
argument, the argument is the bound.  The estimate need not be exact: it only decides whether a program is worth an optimizing compilation
before its first run (``executable``).
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from hovis.ir.model import Block, Branch, Op, Operand, Param
from hovis.lattice import Const
from hovis_xla.analysis.loop_condition import added, moved, staying, step_of
from hovis_xla.analysis.loop_forest import Region, successors
from hovis_xla.analysis.ranges.integer_ranges import SMALL, Ranges


class Argument(NamedTuple):
    """A trip count that depends on an argument: the value of the argument with this number, minus ``above``."""

    number: int
    above: int


class Early(NamedTuple):
    """At most this many iterations: something other than the counter may end the loop."""

    most: int | Argument


#: A trip count; None: unknown.
Rounds = int | Argument | Early | None
_Most = int | Argument | None


def rounds_of(region: Region, ranges: Ranges, arguments: Sequence[Param]) -> Rounds:
    """Estimate the trip count of a loop, each time that it is entered; None if it is unknown."""
    if len(region.heads) != 1:
        return None
    found = [_values(region, param, ranges, arguments) for param in region.heads[0].params]
    known = [f for f in found if isinstance(f, int)]
    most = min(known) if known else next((f for f in found if f is not None), None)
    return most if most is None or _is_left_by_count(region) else Early(most)


def _is_left_by_count(region: Region) -> bool:
    """Is a test of a counter the only exit of the loop?"""
    ends = [b for b in region.blocks for e in successors(b) if e.block not in region.blocks]
    told = [said.value for said in staying(region, ends[0])] if len(ends) == 1 else []
    return any(step_of(region, param) and any(moved(value, param, region) is not None for value in told) for param in region.heads[0].params)


def times(rounds: Sequence[Rounds], values: Sequence[object]) -> float:
    """Compute how often the body of nested loops is executed in all, with ``values`` as arguments; infinity if a trip count is unknown."""
    done = 1.0
    for most in rounds:
        one = most.most if isinstance(most, Early) else most
        value = values[one.number] if isinstance(one, Argument) else None
        if isinstance(one, Argument) and isinstance(value, int):
            done *= max(0, value - one.above)
        elif isinstance(one, int):
            done *= one
        else:
            return math.inf
    return done


def is_certain(rounds: Sequence[Rounds]) -> bool:
    """Is every trip count known, without another way to end the loop early?"""
    return not any(one is None or isinstance(one, Early) for one in rounds)


def _values(region: Region, param: Param, ranges: Ranges, arguments: Sequence[Param]) -> _Most:
    """Return how many values a header parameter has in completed iterations; None if it is no counter, or has no known bound."""
    end = region.heads[0].terminator
    body = end.true.block if isinstance(end, Branch) and end.false.block not in region.blocks else region.heads[0]
    interval = ranges.at(param, body)
    step = step_of(region, param)
    if interval is None or not step:
        return None
    low, high = interval
    if high - low < SMALL[1] // 2:
        return (high - low) // abs(step) + 1
    most = _Ceilings(ranges, arguments).of(param)
    return Argument(most.number, most.above + low) if isinstance(most, Argument) and low >= SMALL[0] else None


class _Ceilings:
    """Approximate upper bounds of numbers."""

    def __init__(self, ranges: Ranges, arguments: Sequence[Param]) -> None:
        self.ranges = ranges
        self.arguments = arguments
        self.seen: set[Operand] = set()

    def of(self, value: Operand) -> _Most:
        """Return an upper bound of a value: a number, an argument minus a number, or None if it is unknown."""
        if isinstance(value, Const):
            return value.value if type(value.value) is int else None
        if value in self.arguments:
            return Argument(self.arguments.index(value), 0)
        if not isinstance(value, Op | Param) or value in self.seen:
            return None
        self.seen.add(value)
        home = self.ranges.home.get(value)
        known = self.ranges.at(value, home) if home is not None else None
        if known is not None and known[1] < SMALL[1] // 2:
            return known[1]
        return self._of_op(value) if isinstance(value, Op) else self._of_param(value, home)

    def _of_op(self, op: Op) -> _Most:
        base, more = added(op) or (None, 0)
        found = self.of(base) if base is not None else None
        if found is None:
            return None
        return Argument(found.number, found.above - more) if isinstance(found, Argument) else found + more

    def _of_param(self, param: Param, home: Block | None) -> _Most:
        region = self.ranges.heads.get(home) if home is not None else None
        step = step_of(region, param) if region is not None else None
        if home is None or (region is not None and not step):
            return None
        if region is not None and step is not None and step > 0:
            told = (said for block in region.blocks for said in staying(region, block) if said.is_upper and moved(said.value, param, region) is not None)
            return next((found for said in told if (found := self.of(said.bound)) is not None), None)
        k = home.params.index(param)
        brought = [self.of(edge.args[k]) for block, edge in self.ranges.edges[home] if region is None or block not in region.blocks]
        return functools.reduce(_greater, brought) if brought else None


def _greater(one: _Most, other: _Most) -> _Most:
    if isinstance(one, Argument) and isinstance(other, Argument):
        return Argument(one.number, min(one.above, other.above)) if one.number == other.number else None
    if isinstance(one, Argument) or isinstance(other, Argument):
        argument, number = (one, other) if isinstance(one, Argument) else (other, one)
        return None if not isinstance(number, int) else Argument(argument.number, min(argument.above, -number))  # type: ignore[union-attr]
    return None if one is None or other is None else max(one, other)
