"""Unpeeling of loops: removal of iterations, or parts of one, that stand in front of a loop after tracing.

Tracing follows known values. Therefore the first iterations of a loop, or a half of the first one, may stand in front of it and lead into its
middle:

- an iteration that begins in front and continues in the loop gives the loop several headers, which is slow, and moves its arrays;
- in ``for v in x: if v > 0: …`` paths meet behind the ``if``, where the loop then begins: its test is in the middle, and it is not recognized as
  a counted loop.

Both are undone in the same way. Both pieces of code are walked at once; if a block in front, with everything that follows it, does what the
loop does from one of its blocks on, it is replaced by a jump to that block, with the values that it has in front. Operations on known
numbers in front have been folded while tracing; the walk folds them as well.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from hovis.ir.analysis.control_flow import operands
from hovis.ir.matching import Match, shape
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param, Terminator, Value, callees, edges
from hovis.lattice import Array, Const, Type, Union
from hovis.passes import pipeline
from hovis.passes.rewriting import replace_in, replaced
from hovis.passes.scalar.instcombine import computed, is_computed
from hovis_xla.analysis.loop_condition import ways
from hovis_xla.analysis.loop_forest import Region, fits, successors
from hovis_xla.analysis.ranges.intervals import NEGATED
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

#: Maximum number of blocks that are compared for one pair of places.
MOST_BLOCKS: Final = 40
#: A half iteration is searched for in the blocks in front of the loop, this many steps back.
BACK: Final = 3

#: Effects of ops that may be executed in front and again in the loop.
_ALLOWED: Final = Effect.READS | Effect.RAISES

#: Passes after which branches on constants are resolved, and all paths pass the same counter.
_TIDY: Final = ("instcombine", "simplify_cfg", "trivial_phis", "dce")

#: The values that stand for others, on one path through both pieces of code.
Bound = dict[Value, Operand]


def unpeel(function: Function) -> Function:
    """Undo the peeling of first iterations.

    Return a new function, without the code in front of loops that the loops do as well, or the function itself if nothing changes.
    """
    if any(len(r.heads) > 1 for f in callees(function) for r in driver.facts(f).loops):
        function = pipeline.run(function, _TIDY)  # paths that are never taken may be the reason
        function = driver.rewrite(function, partial(_found, _rounds), 1, _TIDY)
    return driver.rewrite(function, partial(_found, _loops), BACK + 1, _TIDY)


def _found(candidates: "Callable[[Sweep, Region], Iterator[_Peeled]]", sweep: Sweep, region: Region) -> Rewriting | None:
    for peeled in candidates(sweep, region):
        if peeled.is_there():
            return peeled.write, peeled.walked | peeled.region.blocks
    return None


def _rounds(sweep: Sweep, region: Region) -> "Iterator[_Peeled]":
    """Yield the candidates for a loop with several headers: the blocks that lead into it, with each block of the loop."""
    if len(region.heads) > 1:
        outside = sweep.listed({b for head in region.heads for b, _ in sweep.before[head]} - region.blocks)
        starts = [b for block in outside for b in _leading_to(sweep, block)]
        for place in (_Place(sweep, region, target) for target in sweep.ordered(region)):
            yield from (_Peeled(sweep, place, start) for start in starts)


def _loops(sweep: Sweep, region: Region) -> "Iterator[_Peeled]":
    """Yield the candidates for a loop with one header: the blocks in front of it, with the test of the loop."""
    if len(region.heads) > 1:
        return
    middle = _test_within(sweep, region)
    if middle is not None:
        fronts = sweep.near(region, BACK + 1) - region.blocks  # the branches in the half iteration, and the block where they diverge
        place = _Place(sweep, region, middle, parted=True)
        yield from (_Peeled(sweep, place, start) for start in sweep.listed(fronts))


def _leading_to(sweep: Sweep, block: Block) -> list[Block]:
    """Return the block and the chain of sole predecessors in front of it, the farthest first."""
    found = [block]
    while len(sweep.before[found[0]]) == 1 and not found[0].params:
        earlier = sweep.before[found[0]][0][0]
        if earlier is sweep.function.blocks[0] or earlier in found:
            break
        found.insert(0, earlier)
    return found


def _test_within(sweep: Sweep, region: Region) -> Block | None:
    """Return the block that ends with the only test that leaves a loop, if the test has no other use and the loop continues behind it; otherwise
    None.
    """
    tests = [b for b in region.blocks if any(e.block not in region.blocks for e in successors(b))]
    found = ways(tests[0], region) if len(tests) == 1 else None
    if found is None:
        return None
    block, (stay, _) = tests[0], found
    if block in region.loops or stay.block in region.heads or len(sweep.before[stay.block]) != 1 or stay.args:
        return None
    test = block.terminator.cond  # type: ignore[union-attr]
    if not isinstance(test, Op) or test not in block.ops or test.callee not in NEGATED or test.effect:
        return None
    elsewhere = [b for b in sweep.users([test]) if b is not block and any(test is v for v in operands(b))]
    return None if elsewhere or any(test in op.operands() for op in block.ops) else block


class _Place:
    """A block of a loop, or, if ``parted``, only its end, from its test on. ``open``: the values that have to be passed to it."""

    def __init__(self, sweep: Sweep, region: Region, target: Block, parted: bool = False) -> None:
        self.region, self.target, self.middle = region, target, target if parted else None
        live: set[Operand] = {*sweep.liveness[target], *target.params}
        if parted:
            branch: Any = target.terminator
            self.target = Block((), [branch.cond], branch)
            live = {v for e in edges(branch) for v in (*e.args, *sweep.liveness[e.block])} | set(branch.cond.operands())
        self.open: list[Any] = [v for b in sweep.ordered(region) for v in (*b.params, *b.all_ops()) if v in live]


class _Peeled(Match):
    """A block in front of a loop, and a place in the loop from which the loop may do the same.

    The values that have to be passed to that place are unbound at first: the first corresponding use in front binds them.
    """

    def __init__(self, sweep: Sweep, place: _Place, start: Block) -> None:
        self.open = place.open
        self.unbound: set[object] = {*place.open}
        super().__init__(self.unbound)
        self.sweep, self.region, self.target, self.middle, self.start = sweep, place.region, place.target, place.middle, start
        self.matched: set[Op] = set()  # ops of the block in front
        self.walked: set[Block] = set()
        #: ops that are folded in the walk, once their operands, given here, are known
        self.folded: dict[Op, tuple[Operand, ...]] = {}

    def is_there(self) -> bool:
        """Does the block in front do the same as the loop, and can the loop do it instead?"""
        if not self._alike(self.start, self.target, {}, {}) or (not self.middle and self.walked == {self.start} and not self.start.ops):
            return False
        if not all(v in self.bound and fits(self.bound[v], v) and self._may_go_round(v) for v in self.open) or not self._computes():
            return False
        brought: set[Operand] = {self.bound[v] for v in self.open}
        left_out = {v for b in self.walked if b is not self.start for v in (*b.params, *b.all_ops())}
        if not left_out.isdisjoint(brought) or not self.walked.issuperset(self.sweep.users(left_out)) or not self._leaves_out(brought):
            return False
        if self.middle is not None and not all(b in self.walked or b in self.region.blocks for b, _ in self.sweep.before[self.region.heads[0]]):
            return False
        used = ((v, b) for v in self.open if v not in self.target.params for b in self.sweep.users([v]))
        return all(self._passes(b) or v in b.params or v in b.ops or (self.middle and b in self.region.blocks) for v, b in used)

    def _may_go_round(self, v: Value) -> bool:
        """Is the value no array, or a loop-carried array whose shape does not change?"""
        if not isinstance(v.type, Array):
            return True
        heads = self.region.heads
        carried: Sequence[Operand] = self.target.params
        if self.middle is not None:
            carried = [a for b in self.region.blocks for e in successors(b) if e.block in heads for a in e.args]
        return v in carried and getattr(self.bound[v], "dims", None) == v.dims

    def _leaves_out(self, brought: set[Operand]) -> bool:
        """Find the ops that stay in front (``kept``): those that the loop does not do, and those whose results are used elsewhere. May the
        others be done later, in the loop?
        """
        self.kept: list[Op] = []
        used = brought | {v for b in self.sweep.users(self.start.ops) if b not in self.walked for v in operands(b)}
        for op in reversed(self.start.ops):
            if op in used or op not in self.matched:
                if op in self.matched and (op.effect & ~_ALLOWED or not _is_number(op)):
                    return False
                self.kept.insert(0, op)
                used.update(op.operands())
            elif op.effect & ~_ALLOWED and any(x.effect for x in self.kept):
                return False
        return True

    def _computes(self) -> bool:
        """Are the values that were assumed to be known really known, and equal to what was expected?"""
        known: dict[Value, Operand] = {}
        for op, args in self.folded.items():
            found = computed(op, replaced(replaced(args, known), self.bound))
            if found is None or (op in self.bound and self.bound[op] != found):
                return False
            known[op] = found
        return True

    def _passes(self, block: Block) -> bool:
        """Is the block reached only by way of the place in the loop?"""
        return block is not self.middle and self.sweep.dominators.dominates(self.middle or self.target, block)

    # --------------------------------------------------------------------------------------------- comparison

    def _alike(self, a: Block, b: Block, front: Bound, loop: Bound) -> bool:
        """Does the code in front, from ``a`` on, do what the loop does from ``b`` on? Additional ops in front come first, or can be left out."""
        self.walked.add(a)
        stays = a is self.start
        rest, begun, end = list(a.ops), not stays, a.terminator
        for _ in range(MOST_BLOCKS):
            for op in b.ops:
                known = computed(op, replaced(replaced(op.args, loop), self.bound))
                if known is not None:
                    loop[op] = known
                    continue
                k = next((k for k, x in enumerate(rest) if self._op(x, op, front, loop)), None)
                if k is None:
                    if not self._fold(op, loop):
                        return False
                    continue
                if begun and not _may_wait(rest[:k], stays):
                    return False
                begun = True
                self.matched.add(rest[k])
                del rest[: k + 1]
            edge = self._only(b, loop)
            if edge is None:
                return _may_wait(rest, stays) and self._ends(end, b.terminator, front, loop)
            if isinstance(end, Jump) and (end.edge.block is edge.block or edge.block is self.target):
                return _may_wait(rest, stays) and self._follow(end.edge, edge, front, loop)
            if edge.block not in self.region.blocks:
                return False
            loop.update(zip(edge.block.params, replaced(edge.args, loop), strict=True))
            b = edge.block
        return False

    def _only(self, b: Block, loop: Bound) -> Edge | None:
        """Return the only edge that is taken, or None if it is unknown. A condition that will turn out to be known is assumed to stay in the
        loop.
        """
        end = b.terminator
        if not isinstance(end, Branch):
            return end.edge if isinstance(end, Jump) else None
        (cond,) = replaced(replaced((end.cond,), loop), self.bound)
        if isinstance(cond, Op) and cond in self.folded:
            stay = [e for e in (end.true, end.false) if e.block in self.region.blocks]
            if len(stay) == 1:
                self.bound[cond] = Const(stay[0] is end.true)
                return stay[0]
        if isinstance(cond, Const) and type(cond.value) is bool:
            return end.true if cond.value else end.false
        return None

    def _ends(self, x: Terminator, y: Terminator, front: Bound, loop: Bound) -> bool:
        if not isinstance(x, Branch) or not isinstance(y, Branch) or not self.operands(replaced((x.cond,), front), replaced((y.cond,), loop)):
            return False
        ways = [(x.true, y.true), (x.false, y.false)]
        ways.sort(key=lambda way: way[0].block is not way[1].block)  # arguments for the same block bind values; compare them first
        return all(self._follow(p, q, dict(front), dict(loop)) for p, q in ways)

    def _follow(self, p: Edge, q: Edge, front: Bound, loop: Bound) -> bool:
        args, others = replaced(p.args, front), replaced(q.args, loop)
        if p.block is q.block:
            return self.operands(args, others)
        if q.block not in self.region.blocks or q.block is self.target:
            return False
        loop.update(zip(q.block.params, others, strict=True))
        if p.block in self.region.blocks or p.block in self.walked or len(self.sweep.before[p.block]) != 1:
            return False
        front.update(zip(p.block.params, args, strict=True))
        return self._alike(p.block, q.block, front, loop)

    def _op(self, x: Op, y: Op, front: Bound, loop: Bound) -> bool:
        """Does the op ``x`` in front do what the op ``y`` of the loop does?"""
        if x.location != y.location or shape(x) != shape(y):
            return False
        bound = dict(self.bound)
        if self.operands(replaced(tuple(x.operands()), front), replaced(tuple(y.operands()), loop)):
            loop[y] = x
            return True
        self.bound = bound
        return False

    def _fold(self, op: Op, loop: Bound) -> bool:
        """Assume that an op of the loop, which is missing in front, computes with numbers that are known there; return whether this is possible."""
        args = replaced(op.args, loop)
        if not is_computed(op) or not all(isinstance(a, Const) or a in self.unbound for a in args) or self.folded.setdefault(op, args) != args:
            return False
        loop.pop(op, None)
        self.unbound.add(op)
        return True

    # --------------------------------------------------------------------------------------------- writing

    def write(self) -> None:
        """Let the block in front jump to the place in the loop, with the values that it has in front."""
        target, sweep = self.target, self.sweep
        new = {v: Param(v.type, v.dims, v.name) for v in self.open if v not in target.params}
        for param in new.values():
            param.dims = param.dims and replaced(param.dims, new)
        into = sweep.before[target] if self.middle is None else [self._part()]
        for block, edge in into:
            edge.args = (*edge.args, *new)
            sweep.learn(block)
        for block in sweep.mentions(new):
            if block is target or self._passes(block):
                replace_in(block, {v: p for v, p in new.items() if v not in block.params and v not in block.ops})
                sweep.learn(block)
        self.start.ops = self.kept
        self.start.terminator = Jump(Edge(target, tuple([self.bound[v] for v in (*target.params, *new)])))
        target.params = (*target.params, *new.values())
        sweep.learn(self.start)

    def _part(self) -> tuple[Block, Edge]:
        """Move the test of a loop into a block of its own, which becomes the header. Return the block and the edge that lead to it."""
        middle, edge = self.middle, Edge(self.target, ())
        assert middle is not None
        middle.ops = [op for op in middle.ops if op not in self.target.ops]
        middle.terminator = Jump(edge, getattr(middle.terminator, "location", None))
        self.sweep.put_before(self.region.heads[0], self.target)
        return middle, edge


def _may_wait(ops: Sequence[Op], stays: bool) -> bool:
    """May the code behind these ops be left to the loop, if they stay in front, or may they be left out, if they do not?"""
    return not any(op.effect & ~(_ALLOWED if stays else Effect.READS) for op in ops)


def _is_number(op: Op) -> bool:
    members = op.type.members if isinstance(op.type, Union) else (op.type,)
    return all(isinstance(m, Const) or (isinstance(m, Type) and issubclass(m.cls, int | float | complex | np.generic)) for m in members)
