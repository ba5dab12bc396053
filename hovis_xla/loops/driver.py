"""Rewriting of many loops without another analysis of the whole function for each.

The facts about a function that the rewritings need (edges, uses of values) are computed once, at the beginning of a
*sweep* over its loops.  Near a rewritten loop they are out of date: loops close to it, including those around it
and in it, wait for the next sweep.  The number of sweeps therefore depends on how deep loops are nested, and not on how many there are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

from hovis.base import deadline
from hovis.ir.analysis.control_flow import Dominators, Incoming, liveness, operands, predecessors
from hovis.ir.model import Block, Edge, Function, Op, Operand, Param, Value, callees
from hovis.passes import pipeline
from hovis.passes.rewriting import copy, copy_blocks, drop_unreached, keep_params, substitute
from hovis_xla.analysis.loop_forest import Region, all_loops, needed, reachable, regions, successors
from hovis_xla.analysis.ranges.integer_ranges import Ranges
from hovis_xla.analysis.reachability import grouped

P = TypeVar("P")


class Sweep:
    """A function as it was at the beginning of a sweep, with its analyses, and the blocks that have been rewritten since."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.loops = all_loops(regions(function))
        #: the blocks that have been rewritten
        self.stale: set[Block] = set()
        #: parameters that are removed, and the values that replace them
        self.replaced: dict[Value, Operand] = {}
        self._new: dict[Block, list[Block]] = {}

    # --------------------------------------------------------------------------------------------- queries

    @cached_property
    def order(self) -> list[Block]:
        """Blocks that compiled code can reach, in reverse postorder."""
        return reachable(self.function)

    @cached_property
    def before(self) -> Incoming:
        """For each block, the edges that lead to it."""
        return predecessors(self.function)

    @cached_property
    def needed(self) -> set[Op]:
        """Ops whose results are used, or that have a lasting side effect."""
        return needed(self.order)

    @cached_property
    def liveness(self) -> dict[Block, set[Value]]:
        """For each block, the values that it or a later block uses and that it does not define."""
        return liveness(self.function)

    @cached_property
    def dominators(self) -> Dominators:
        """Dominators of the blocks."""
        return Dominators(self.function)

    @cached_property
    def ranges(self) -> Ranges:
        """Intervals of the integers."""
        return Ranges(self.function)

    @cached_property
    def _number(self) -> dict[Block, int]:
        return {block: k for k, block in enumerate(self.order)}

    @cached_property
    def _place(self) -> dict[Block, int]:
        return {block: k for k, block in enumerate(self.function.blocks)}

    @cached_property
    def _users(self) -> dict[object, set[Block]]:
        found: dict[object, set[Block]] = {}
        for block in self.function.blocks:
            _add_users(found, block)
        return found

    @cached_property
    def _sized(self) -> dict[object, set[Block]]:
        dims = ((dim, block) for block in self.function.blocks for op in block.all_ops() for dim in op.dims or ())
        return grouped((dim, block) for dim, block in dims if isinstance(dim, Op | Param))

    def is_innermost(self, region: Region) -> bool:
        """Is the loop an innermost one with one header, which is not the entry of the function?"""
        return not region.loops and len(region.heads) == 1 and region.heads[0] is not self.function.blocks[0]

    def around(self, blocks: set[Block]) -> list[Region]:
        """Return the loops that contain any of these blocks, outer loops first."""
        found = {k for block in blocks for k in self._around.get(block, ())}
        return [self.loops[k] for k in sorted(found)]

    @cached_property
    def _around(self) -> dict[Block, set[int]]:
        return grouped((block, k) for k, region in enumerate(self.loops) for block in region.blocks)

    def ordered(self, region: Region) -> list[Block]:
        """Return the blocks of a loop, in the order of ``reachable``."""
        return sorted(region.blocks, key=self._number.__getitem__)

    def listed(self, blocks: Iterable[Block]) -> list[Block]:
        """Sort blocks into the order in which the function has them."""
        return sorted(blocks, key=self._place.__getitem__)

    def users(self, values: Iterable[object]) -> list[Block]:
        """Return the blocks that use any of these values, in the order of the function. A rewritten block may be included for a use that it no
        longer has.
        """
        return self.listed({block for value in values for block in self._users.get(value, ())})

    def mentions(self, values: Iterable[object]) -> list[Block]:
        """Return the blocks that use any of these values, or have an op with one of them as a dimension of its result."""
        values = list(values)
        return self.listed({*self.users(values), *(block for value in values for block in self._sized.get(value, ()))})

    def near(self, region: Region, back: int) -> set[Block]:
        """Return the blocks of a loop, and those from which it is reached in at most ``back`` steps."""
        found, last = set(region.blocks), list(region.heads)
        for _ in range(back):
            last = [b for block in last for b, _ in self.before[block] if b not in found]
            found.update(last)
        return found

    # --------------------------------------------------------------------------------------------- writing

    def learn(self, block: Block) -> None:
        """Register a block that is new, or that uses something that it did not use before."""
        self._place.setdefault(block, len(self._place))
        _add_users(self._users, block)

    def put_before(self, block: Block, made: Block) -> None:
        """Add a new block to the function, in front of ``block``."""
        self._new.setdefault(block, []).append(made)
        self.learn(made)

    def finish(self) -> None:
        """Update the function: insert new blocks, substitute replaced parameters, and drop unreachable blocks."""
        function = self.function
        function.blocks = [b for block in function.blocks for b in (*self._new.get(block, ()), block)]
        if self.replaced:
            keep_params(function, lambda param: param in self.replaced)
            substitute(function, self.replaced)
        drop_unreached(function)


def _add_users(users: dict[object, set[Block]], block: Block) -> None:
    for value in operands(block):
        if isinstance(value, Op | Param):
            users.setdefault(value, set()).add(block)


#: A function that rewrites a loop, and the blocks that it depends on besides those near the loop.
Rewriting = tuple[Callable[[], None], set[Block]]

#: Finds how a loop is to be rewritten; None if it is not.
Find = Callable[[Sweep, Region], Rewriting | None]


def rewrite(function: Function, find: Find, back: int, tidy: Sequence[str] = ()) -> Function:
    """Return the function, and its callees, with the loops rewritten that ``find`` finds; the function itself, if there are none.

    ``back``: see ``sweep``.  ``tidy``: passes that run afterwards.
    """
    if not any(find(found, region) is not None for found in map(facts, callees(function)) for region in found.loops):
        return function
    return applied(lambda one: sweep(one, find, back), function, tidy)


def applied(act: Callable[[Function], object], function: Function, tidy: Sequence[str] = ()) -> Function:
    """Return a copy of the function, and of its callees, each of which ``act`` changes in place; the passes ``tidy`` run afterwards."""
    made = copy(function)
    for one in callees(made):
        deadline.check()
        act(one)
    return pipeline.run(made, tidy) if tidy else made


def rewrite_planned(function: Function, plan: Callable[[Sweep, Region], P | None], write: Callable[[Function, Region, P], object]) -> Function:
    """Return the function, and its callees, with the loops rewritten for which there is a plan; the function itself, if there are none.

    All plans are made for the unchanged function, before anything is written. Therefore they must not contain its values, and of nested loops at
    most one may have a plan.
    """
    plans = [[plan(found, region) for region in found.loops] for found in map(facts, callees(function))]
    if all(one is None for found in plans for one in found):
        return function
    made = copy(function)
    for one, found in zip(callees(made), plans, strict=True):
        deadline.check()
        for region, planned in zip(all_loops(regions(one)), found, strict=True):
            if planned is not None:
                write(one, region, planned)
    return made


_kept: Final[ContextVar[dict[Function, Sweep] | None]] = ContextVar("kept", default=None)


@contextmanager
def keeping() -> Iterator[None]:
    """Context in which all passes share the analyses of functions that no pass changes."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def facts(function: Function) -> Sweep:
    """Return the analyses of a function that is left as it is."""
    kept = _kept.get()
    if kept is None:
        return Sweep(function)
    if function not in kept:
        kept[function] = Sweep(function)
    return kept[function]


def sweep(function: Function, find: Find, back: int) -> None:
    """Rewrite loops, outer ones first, until there is nothing left to rewrite.

    ``back``: ``find`` uses blocks from which a loop is reached in at most this many steps.
    """
    while True:
        found = Sweep(function)
        _ = found.before  # computed now, before anything is rewritten
        for region in found.loops:
            near = found.near(region, back)
            rewriting = find(found, region) if near.isdisjoint(found.stale) else None
            if rewriting is not None and rewriting[1].isdisjoint(found.stale):
                rewriting[0]()
                found.stale |= near | rewriting[1]
        if not found.stale:
            return
        found.finish()


class LoopCopy(NamedTuple):
    """A copy of a loop: its header, all of its blocks, its back edges (to the new header), and what replaces each value."""

    head: Block
    blocks: list[Block]
    ends: list[Edge]
    new: dict[Value, Operand]


def copy_loop(body: Sequence[Block], head: Block) -> LoopCopy:
    """Copy the blocks of a loop."""
    new: dict[Value, Operand] = {}
    made = copy_blocks(body, new)
    ends = [e for block in made.values() for e in successors(block) if e.block is made[head]]
    return LoopCopy(made[head], list(made.values()), ends, new)


def lead(edges: Iterable[Edge], block: Block) -> None:
    """Let edges lead to a block."""
    for edge in edges:
        edge.block = block
