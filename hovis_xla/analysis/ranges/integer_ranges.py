"""Integer range analysis: a closed interval for each integer of a Function, at each place.

The intervals come from constants, from dtypes, from the comparisons that a path has passed, and from loops: a counter stays within
the bounds that its loop tests, and a value that a loop only adds to grows no faster than the loop can run.  Facts that are proven here need no
check at run time: that a sum fits in 64 bits, that an index is in range, that a remainder has the sign of its divisor.

If the result of an operation does not fit in 64 bits, the program gives up (``call_entry``); after the operation, the result *is* within 64 bits.
"""

import bisect
import contextlib
import functools
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hovis.base.once import once
from hovis.ir.analysis.control_flow import Dominators
from hovis.ir.model import Block, Branch, Edge, Function, Op, Operand, Param
from hovis.lattice import AbstractValue, Const, Type, Union
from hovis_xla.analysis.loop_forest import Region, all_loops, reachable, regions, successors
from hovis_xla.analysis.ranges import intervals
from hovis_xla.analysis.ranges.bounded_sums import bounded_sums
from hovis_xla.analysis.ranges.dominating_tests import Fact, Tests, facts
from hovis_xla.analysis.ranges.intervals import ADDS, RESULTS, SAYS, SUBTRACTS, Interval, join, meet, within

#: The interval of Python's integers in compiled code.
INT64: Final[Interval] = (-(2**63), 2**63 - 1)

#: The interval that int arguments are assumed to be in, where that helps; calls with larger ints use another program.
SMALL: Final[Interval] = (-(2**32), 2**32)

#: Iterations in which a parameter may change before its bounds are widened, and iterations of narrowing after the fixpoint.
PATIENCE: Final = 3
NARROWINGS: Final = 2

#: Number of iterations after PATIENCE that widen to the program's own constants, of which there may be many.
TRIED: Final = 8

#: Maximum number of iterations over one outermost loop; a function that takes more is left without ranges.
ROUNDS: Final = 60

#: Callees whose result may need more bits than their operands have.
GROWING: Final = frozenset({*ADDS, *SUBTRACTS, operator.mul, operator.imul, operator.lshift, operator.ilshift, operator.neg, operator.pow, operator.ipow})

#: Bounds that widening tries first: the limits of machine words of each size.
_STOPS: Final = sorted({s for k in (0, 1, 8, 16, 31, 32, 47, 53, 62, 63, 64) for s in (2**k - 1, -(2**k))})


def limits(kind: AbstractValue) -> Interval | None:
    """Return the interval of all integers of a type, or None if it is no integer type."""
    if isinstance(kind, Const):
        return limits_of(kind.value)
    if isinstance(kind, Union):
        found = [limits(t) for t in kind.members]
        return None if None in found else functools.reduce(join, found)  # type: ignore[arg-type]
    return _limits_of_class(kind.cls) if isinstance(kind, Type) else None


@once
def _limits_of_class(cls: type) -> Interval | None:
    if cls is bool or cls is np.bool_:
        return 0, 1
    if cls is int:
        return INT64
    if issubclass(cls, np.integer) and cls in np.sctypeDict.values():
        info = np.iinfo(cls)
        return int(info.min), int(info.max)
    return None


def limits_of(value: object) -> Interval | None:
    """Return the interval of a known integer, or None for any other value."""
    return (int(value), int(value)) if isinstance(value, int | np.integer | np.bool_) else None


def _wraps(kind: AbstractValue) -> bool:
    """May the value be a NumPy integer, whose arithmetic wraps around?"""
    return kind not in (Type(int), Type(bool))


def grows(op: Op) -> bool:
    """Is the result a Python int that may need more bits than its operands have?"""
    return op.type == Type(int) and op.callee in GROWING


def growing(blocks: Iterable[Block]) -> list[Op]:
    """Return the ops in blocks whose results may need more bits than their operands have."""
    return [op for block in blocks for op in block.all_ops() if grows(op)]


def _unusual(rule: Any, right: Interval | None) -> bool:
    """May the right operand be one for which the result of NumPy is not the quotient, remainder or shift?"""
    assert right is not None
    if rule in (intervals.floordiv, intervals.mod):
        return right[0] <= 0 <= right[1]
    return rule in (intervals.lshift, intervals.rshift) and right[0] < 0


class Ranges:
    """The intervals of one Function. ``given``: known intervals of its parameters."""

    def __init__(self, function: Function, given: Sequence[Interval | None] = ()) -> None:
        self.order = reachable(function)
        self.edges: dict[Block, list[tuple[Block, Edge]]] = {b: [] for b in self.order}
        for block in self.order:
            for edge in successors(block):
                self.edges[edge.block].append((block, edge))
        self.home: dict[Op | Param, Block] = {}
        for block in self.order:
            self.home.update(dict.fromkeys([*block.params, *block.all_ops()], block))
        #: the interval of each integer by its type; below, the integers that each block computes
        self.whole = {value: found for value in self.home if (found := limits(value.type)) is not None}
        self.integers = {b: [(op, self.whole[op]) for op in b.all_ops() if op in self.whole] for b in self.order}
        self.dominators = Dominators(function)
        self.entry = function.blocks[0]
        self.top = regions(function)
        self.base: dict[Op | Param, Interval] = {}
        #: intervals that values are assumed to be in, or proven to be in by ``bounded_sums``
        self.caps: dict[Op | Param, Interval] = {p: found for p, found in zip(function.params, given, strict=False) if found is not None}
        #: upper bounds of the trip counts of loops
        self.rounds: dict[Region, int] = {}
        #: the blocks that the solver has reached
        self.reached: set[Block] = set()
        #: what is known of values on each edge of a branch, and the blocks that only such an edge enters
        self.told = self._told()
        self.asked = self._asked()
        self.stops = self._stops()
        self._solve()
        caps = bounded_sums(self, list(self.whole))
        if caps:
            self.caps.update(caps)
            self._solve()

    @functools.cached_property
    def heads(self) -> dict[Block, Region]:
        """Loops with a single header, by that header."""
        return {region.heads[0]: region for region in all_loops(self.top) if len(region.heads) == 1}

    # --------------------------------------------------------------------------------------------- queries

    def at(self, value: Operand, block: Block, asked: Operand | None = None) -> Interval | None:
        """Return the interval of an integer in a block, where the condition ``asked`` holds, if one is given; None if the value is no integer."""
        found = self._seen(value)
        if found is None or isinstance(value, Const):
            return found
        for behind in self.asked[value].above(block) if value in self.asked else ():
            ((_, edge),) = self.edges[behind]
            found = self._narrowed(found, self.told[edge][value])
        return found if asked is None else self._narrowed(found, [fact for fact in facts(asked, True) if fact.value is value])

    def of(self, op: Op, block: Block | None = None) -> Interval | None:
        """Return the interval of the result of an op (in a block) before it is restricted to 64 bits; None if it may be anything."""
        rule = RESULTS.get(op.callee) if isinstance(op.callee, type) or callable(op.callee) else None
        if rule is None or op.kwargs:
            return None
        args = [self.at(a, block or self.home[op]) for a in op.args]
        if any(a is None for a in args):
            return None
        if _unusual(rule, args[-1]) and _wraps(op.type):
            return None  # NumPy does not raise
        try:
            return rule(*args)
        except TypeError:
            return None

    def has_room(self, op: Op, block: Block | None = None) -> bool:
        """Does the exact result certainly fit in 64 bits (for NumPy's integers: in their own width), if the op is evaluated in ``block``?"""
        found = self.of(op, block)
        return found is not None and within(meet(found, self.caps.get(op, found)), self.whole.get(op, INT64))

    def unproven(self) -> int:
        """Count the operations on Python ints whose result may exceed 64 bits."""
        return sum(not self.has_room(op) for op in growing(self.order))

    # --------------------------------------------------------------------------------------------- facts

    def _told(self) -> dict[Edge, dict[Operand, list[Fact]]]:
        """Find what the tests of branches say of values, by the edge that is taken."""
        found: dict[Edge, dict[Operand, list[Fact]]] = {}
        for end in [b.terminator for b in self.order]:
            if isinstance(end, Branch) and end.true.block is not end.false.block:
                for edge in (end.true, end.false):
                    for fact in facts(end.cond, edge is end.true):
                        found.setdefault(edge, {}).setdefault(fact.value, []).append(fact)
        return found

    def _asked(self) -> dict[Operand, Tests]:
        """Find for each value the blocks that are entered only by an edge on which something is known of it."""
        found: dict[Operand, list[Block]] = {}
        for edge, told in self.told.items():
            if len(self.edges[edge.block]) == 1 and edge.block is not self.entry:
                for value in told:
                    found.setdefault(value, []).append(edge.block)
        return {value: Tests(blocks, self.dominators) for value, blocks in found.items()}

    def _narrowed(self, found: Interval, told: Iterable[Fact]) -> Interval:
        """Narrow the interval of a value by what is known of it."""
        for fact in told:
            bound = self._seen(fact.bound)
            step = None if fact.step is None else self._seen(fact.step)
            if bound is None or (fact.step is not None and (step is None or step[0] <= 0 <= step[1])):
                continue
            if step is not None:
                found = SAYS[operator.lt if step[0] > 0 else operator.gt](found, bound)
            elif fact.square is None:
                found = SAYS[fact.how](found, bound)
            elif not _wraps(fact.square.type):
                root = math.isqrt(max(0, SAYS[fact.how](self._seen(fact.square) or INT64, bound)[1]))
                found = meet(found, (-root, root))
        return found

    def _seen(self, value: Operand) -> Interval | None:
        """Return the interval of a constant, or what is known of a value everywhere."""
        if isinstance(value, Const):
            return limits_of(value.value)
        return self.base.get(value, self.whole.get(value)) if isinstance(value, Op | Param) else None

    # --------------------------------------------------------------------------------------------- solving

    def _stops(self) -> list[int]:
        found = set(_STOPS)
        for block in self.order:
            constants = [a for op in block.all_ops() for a in op.args] + [a for e in successors(block) for a in e.args]
            for constant in constants:
                if isinstance(constant, Const) and type(constant.value) is int and abs(constant.value) < 2**63:
                    found.update((constant.value - 1, constant.value, constant.value + 1))
        return sorted(found)

    def _solve(self) -> None:
        """Compute the fixpoint, one outermost loop (or other block) after the other. No edge leads back to blocks in front of a loop, which are
        therefore solved before it.
        """
        self.base, self.rounds = {}, {}
        self.reached = {self.entry}
        for blocks in self._units.values():
            if not self._settle(blocks):
                self.base, self.caps = {}, {}
                return
        self._narrow(self.order)

    @functools.cached_property
    def _units(self) -> dict[object, list[Block]]:
        """The blocks of each outermost loop, and each other block alone, in an order that puts predecessors first."""
        found: dict[object, list[Block]] = {}
        for block in self.order:
            found.setdefault(self.top.unit(block), []).append(block)
        return found

    @contextlib.contextmanager
    def supposing(self, region: Region, caps: Mapping[Op | Param, Interval]) -> Iterator[None]:
        """Context in which some integers of a loop are within ``caps``. Only the outermost loop around them is solved again; everything is
        restored at the end.
        """
        blocks = self._units[self.top.unit(region.heads[0])]
        values: list[Any] = [v for b in blocks for v in (*b.params, *b.all_ops())]
        before = [{v: held[v] for v in values if v in held} for held in (self.base, self.caps)]
        self.rounds, rounds = {}, self.rounds
        try:
            if self.base:  # otherwise, the analysis was abandoned
                self._solve_again(blocks, values, caps)
                self._solve_again(blocks, values, bounded_sums(self, values))
            yield
        finally:
            self.rounds = rounds
            for held, kept in zip((self.base, self.caps), before, strict=True):
                _forget(held, values)
                held.update(kept)

    def _solve_again(self, blocks: list[Block], values: list[Op | Param], caps: Mapping[Op | Param, Interval]) -> None:
        """Solve the blocks of an outermost loop again, with what is known in front of it."""
        if caps:
            self.caps.update(caps)
            _forget(self.base, values)
            self.reached.difference_update(blocks)
            inside = set(blocks)
            self.reached.update(b for b in blocks if b is self.entry or any(before not in inside for before, _ in self.edges[b]))
            if self._settle(blocks):
                self._narrow(blocks)
            else:
                _forget(self.base, values)
            self.rounds = {}

    def _narrow(self, blocks: list[Block]) -> None:
        for _ in range(NARROWINGS):
            for block in blocks:
                self._params(block, 0)
                self._ops(block)

    def _settle(self, blocks: list[Block]) -> bool:
        """Iterate over the blocks until nothing changes; return False if that takes too many iterations."""
        visits = dict.fromkeys(blocks, 0)
        #: number of changes, in total and when each block was last visited; if they are equal, the block need not be visited again
        changes, looked = 0, dict.fromkeys(blocks, -1)
        for _ in range(ROUNDS):
            begun = changes
            for block in blocks:
                if block in self.reached and looked[block] != changes:
                    visits[block] += 1
                    looked[block] = changes
                    changes += self._params(block, visits[block])
                    changes += self._ops(block)
                    fresh = {e.block for e in successors(block)} - self.reached
                    self.reached |= fresh
                    changes += bool(fresh)
            if changes == begun:
                return True
        return False

    def _params(self, block: Block, visit: int) -> bool:
        """Join what the edges bring to the parameters of a block, and return whether anything has changed. ``visit`` 0: narrow."""
        changed = False
        for k, param in enumerate(block.params):
            whole = self.whole.get(param)
            if whole is None:
                continue
            found = None if block is not self.entry else whole
            for before, edge in self.edges[block]:
                if before in self.reached:
                    brought = self._brought(before, edge, k)
                    # None is bottom: the argument has not been computed yet
                    found = brought if found is None else found if brought is None else join(found, brought)
            if found is None:
                continue
            found = meet(found, whole)
            old = self.base.get(param)
            if old is not None:
                found = meet(found, old) if not visit else join(found, old)
                if visit > PATIENCE and found != old:
                    found = _widened(old, found, self.stops if visit <= PATIENCE + TRIED else _STOPS)
            if param in self.caps:
                found = meet(found, self.caps[param])
            if found != old:
                self.base[param] = found
                changed = True
        return changed

    def _brought(self, block: Block, edge: Edge, k: int) -> Interval | None:
        value = edge.args[k]
        if isinstance(value, Op | Param):
            if value not in self.base:
                return None if value in self.whole else INT64
            return self._narrowed(self.at(value, block) or INT64, self.told.get(edge, {}).get(value, ()))
        return limits_of(value.value) if isinstance(value, Const) else None

    def _ops(self, block: Block) -> bool:
        changed = False
        for op, whole in self.integers[block]:
            found = self.of(op)
            if found is None or (not within(found, whole) and _wraps(op.type)):
                found = whole
            found = meet(found, whole)
            if op in self.caps:
                found = meet(found, self.caps[op])
            if self.base.get(op) != found:
                self.base[op] = found
                changed = True
        return changed


def _widened(old: Interval, new: Interval, stops: Sequence[int]) -> Interval:
    """Return the next wider bounds to try for an interval that has grown; a bound beyond all stops stays."""
    low, high = new
    if low < old[0] and low >= stops[0]:
        low = stops[bisect.bisect_right(stops, low) - 1]
    if high > old[1] and high <= stops[-1]:
        high = stops[bisect.bisect_left(stops, high)]
    return low, high


def _forget(held: dict[Op | Param, Interval], values: list[Op | Param]) -> None:
    for value in values:
        held.pop(value, None)
