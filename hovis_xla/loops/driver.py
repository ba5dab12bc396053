"""Rewriting many loops without looking at the whole function again for each.

What the rewritings of loops ask about a function (who leads where, who uses what) is found out once, at the beginning of a
*sweep* over its loops.  Where a loop has been rewritten that is out of date: other loops that it is close to, those around it
and in it among them, wait for the next sweep.  So the number of sweeps goes by how loops are nested, and not by how many there are.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

from hovis.base import deadline
from hovis.ir.analysis.control_flow import Dominators, Incoming, liveness, operands, predecessors
from hovis.ir.model import Block, Edge, Function, Op, Operand, Param, Value, callees
from hovis.passes import pipeline
from hovis.passes.rewriting import copy, copy_blocks, drop_unreached, keep_params, substitute
from hovis_xla.analysis.loop_forest import Region, all_loops, needed, reachable, regions, successors
from hovis_xla.analysis.ranges.integer_ranges import Ranges

P = TypeVar("P")


class Sweep:
    """A function as it was at the beginning, and what of it has been rewritten since."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.loops = all_loops(regions(function))
        #: what has been rewritten
        self.stale: set[Block] = set()
        #: parameters that go, and what is used in their place
        self.replaced: dict[Value, Operand] = {}
        self._new: dict[Block, list[Block]] = {}

    # --------------------------------------------------------------------------------------------- asking

    @cached_property
    def order(self) -> list[Block]:
        """The blocks that compiled code can reach."""
        return reachable(self.function)

    @cached_property
    def before(self) -> Incoming:
        """For each block the edges that lead to it."""
        return predecessors(self.function)

    @cached_property
    def needed(self) -> set[Op]:
        """The ops whose results are used, or that do more than give one."""
        return needed(self.order)

    @cached_property
    def liveness(self) -> dict[Block, set[Value]]:
        """What each block or a later one uses that it does not make."""
        return liveness(self.function)

    @cached_property
    def dominators(self) -> Dominators:
        """Which blocks have to be passed on the way to others."""
        return Dominators(self.function)

    @cached_property
    def ranges(self) -> Ranges:
        """What the integers can be."""
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
        found: dict[object, set[Block]] = {}
        for block in self.function.blocks:
            for dim in (dim for op in block.all_ops() for dim in op.dims or () if isinstance(dim, Op | Param)):
                found.setdefault(dim, set()).add(block)
        return found

    def around(self, blocks: set[Block]) -> list[Region]:
        """The loops that any of these are in, outer ones first."""
        found = {k for block in blocks for k in self._around.get(block, ())}
        return [self.loops[k] for k in sorted(found)]

    @cached_property
    def _around(self) -> dict[Block, list[int]]:
        found: dict[Block, list[int]] = {}
        for k, region in enumerate(self.loops):
            for block in region.blocks:
                found.setdefault(block, []).append(k)
        return found

    def ordered(self, region: Region) -> list[Block]:
        """The blocks of a loop, in the order of ``reachable``."""
        return sorted(region.blocks, key=self._number.__getitem__)

    def listed(self, blocks: Iterable[Block]) -> list[Block]:
        """Blocks, in the order in which the function has them."""
        return sorted(blocks, key=self._place.__getitem__)

    def users(self, values: Iterable[object]) -> list[Block]:
        """The blocks that use any of these, in the order of the function; of those that have been rewritten also some that used to."""
        return self.listed({block for value in values for block in self._users.get(value, ())})

    def mentions(self, values: Iterable[object]) -> list[Block]:
        """The same, and those of whose arrays they are sizes."""
        values = list(values)
        return self.listed({*self.users(values), *(block for value in values for block in self._sized.get(value, ()))})

    def near(self, region: Region, back: int) -> set[Block]:
        """A loop's blocks, and those from which it is come to in so many steps."""
        found, last = set(region.blocks), list(region.heads)
        for _ in range(back):
            last = [b for block in last for b, _ in self.before[block] if b not in found]
            found.update(last)
        return found

    # --------------------------------------------------------------------------------------------- writing

    def learn(self, block: Block) -> None:
        """A block is new, or uses something that it did not use before."""
        self._place.setdefault(block, len(self._place))
        _add_users(self._users, block)

    def put_before(self, block: Block, made: Block) -> None:
        """A new block, for the function to have in front of another one."""
        self._new.setdefault(block, []).append(made)
        self.learn(made)

    def finish(self) -> None:
        """Give the function the blocks that it has now."""
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


#: What rewrites a loop, and the blocks besides those near the loop that it has to do with.
Rewriting = tuple[Callable[[], None], set[Block]]

#: Looks whether a loop is to be rewritten.
Find = Callable[[Sweep, Region], Rewriting | None]


def rewrite(function: Function, find: Find, back: int, tidy: Sequence[str] = ()) -> Function:
    """The function, and those that it calls, with the loops rewritten that ``find`` finds; the function itself, if there are none.

    ``back``: see ``sweep``.  ``tidy``: passes that run behind it.
    """
    if not any(find(found, region) is not None for found in map(facts, callees(function)) for region in found.loops):
        return function
    return applied(lambda one: sweep(one, find, back), function, tidy)


def applied(act: Callable[[Function], object], function: Function, tidy: Sequence[str] = ()) -> Function:
    """A copy of the function, and of those that it calls, each of which ``act`` changes in place."""
    made = copy(function)
    for one in callees(made):
        deadline.check()
        act(one)
    return pipeline.run(made, tidy) if tidy else made


def rewrite_planned(function: Function, plan: Callable[[Sweep, Region], P | None], write: Callable[[Function, Region, P], object]) -> Function:
    """The function, and those that it calls, with the loops rewritten for which there is a plan; the function itself, if there are none.

    All plans are made before anything is written, of the function as it is: they name no values of its, and of loops within each other one has one at most.
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


class _Kept(threading.local):
    facts: dict[int, Sweep] | None = None


_kept: Final = _Kept()


@contextmanager
def keeping() -> Iterator[None]:
    """What is found out about a function that no pass changes is found out once for all passes within."""
    outer, _kept.facts = _kept.facts, {}
    try:
        yield
    finally:
        _kept.facts = outer


def facts(function: Function) -> Sweep:
    """What can be asked about a function that is left as it is."""
    if _kept.facts is None:
        return Sweep(function)
    found = _kept.facts.get(id(function))
    if found is None:
        found = _kept.facts[id(function)] = Sweep(function)  # which holds the function, and so its id
    return found


def sweep(function: Function, find: Find, back: int) -> bool:
    """Rewrite loops, outer ones first, until there are none to be rewritten any more; were there any?

    ``back``: ``find`` looks at blocks from which a loop is come to in so many steps.
    """
    changed = False
    while True:
        found = Sweep(function)
        _ = found.before  # as it is before anything is rewritten
        for region in found.loops:
            near = found.near(region, back)
            rewriting = find(found, region) if near.isdisjoint(found.stale) else None
            if rewriting is not None and rewriting[1].isdisjoint(found.stale):
                rewriting[0]()
                found.stale |= near | rewriting[1]
        if not found.stale:
            return changed
        found.finish()
        changed = True


class LoopCopy(NamedTuple):
    """A loop's blocks once more: the head and all, the edges that go round (to the new head), and what stands for each value."""

    head: Block
    blocks: list[Block]
    ends: list[Edge]
    new: dict[Value, Operand]


def copy_loop(body: Sequence[Block], head: Block) -> LoopCopy:
    """The blocks of a loop once more."""
    new: dict[Value, Operand] = {}
    made = copy_blocks(body, new)
    ends = [e for block in made.values() for e in successors(block) if e.block is made[head]]
    return LoopCopy(made[head], list(made.values()), ends, new)
