"""Loops of which the beginning stands in front of them.

Tracing follows what is known. So the first rounds of a loop, or a half of the first one, may stand in front of it and lead into its middle:

- a round that begins in front and goes on in the loop makes it a loop that is entered at several places, which is slow, and moves its arrays;
- of ``for v in x: if v > 0: …`` ways meet behind the ``if``, where the loop then begins: its test is in the middle, and nobody sees that it counts.

Both are undone alike. Where a walk through both at once finds that a block in front, with all that comes behind it, does what the loop
does from one of its blocks on, it is a jump to that block, with what it is given in front. What is known of the numbers in front has been
computed while tracing; it is computed in the walk.
"""

import operator
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
from hovis_xla.analysis.loop_forest import Region, fits, successors
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

_TESTS: Final = frozenset({operator.lt, operator.gt, operator.le, operator.ge, operator.ne, operator.eq})

#: So many blocks are looked at for one pair of places.
MOST_BLOCKS: Final = 40
#: The half of a round is looked for in so many blocks in front, one before the other.
BACK: Final = 3

#: What may be done in front and once more in the loop.
_ALLOWED: Final = Effect.READS | Effect.RAISES

#: Tests of constants are decided; each way brings the same counter.
_TIDY: Final = ("instcombine", "simplify_cfg", "trivial_phis", "dce")

#: What stands for a value, on one way through both.
Bound = dict[Operand, Operand]


def unpeel(function: Function) -> Function:
    """Undo the peeling of first iterations.

    The function, without what stands in front of loops and is done by them as well; the very same, if nothing changes.
    """
    if any(len(r.heads) > 1 for f in callees(function) for r in driver.facts(f).loops):
        function = pipeline.run(function, _TIDY)  # ways that are never gone may be the reason
        function = driver.rewrite(function, partial(_found, _rounds), 1, _TIDY)
    return driver.rewrite(function, partial(_found, _loops), BACK + 1, _TIDY)


def _found(candidates: "Callable[[Sweep, Region], Iterator[_Peeled]]", sweep: Sweep, region: Region) -> Rewriting | None:
    for peeled in candidates(sweep, region):
        if peeled.is_there():
            return peeled.write, peeled.walked | peeled.region.blocks
    return None


def _rounds(sweep: Sweep, region: Region) -> "Iterator[_Peeled]":
    """What leads into a loop that is entered at several places, and each block of it."""
    if len(region.heads) > 1:
        starts = [b for way in _ways(sweep, region) for b in _leading_to(sweep, way)]
        for place in (_Place(sweep, region, target) for target in sweep.ordered(region)):
            yield from (_Peeled(sweep, place, start) for start in starts)


def _loops(sweep: Sweep, region: Region) -> "Iterator[_Peeled]":
    """What is in front of a loop, and its test."""
    if len(region.heads) > 1:
        return
    middle = _test_within(sweep, region)
    if middle is not None:
        fronts = set(_ways(sweep, region))
        for _ in range(BACK):  # the blocks of the half's own branches, and the one where they part
            fronts.update([b for block in fronts for b, _ in sweep.before[block]])
        place = _Place(sweep, region, middle, parted=True)
        yield from (_Peeled(sweep, place, start) for start in sweep.listed(fronts - region.blocks))


def _ways(sweep: Sweep, region: Region) -> list[Block]:
    """The blocks that lead into a loop."""
    return [b for b in sweep.listed({b for head in region.heads for b, _ in sweep.before[head]}) if b not in region.blocks]


def _leading_to(sweep: Sweep, block: Block) -> list[Block]:
    """The block, and those before it that have it to themselves, the farthest first."""
    found = [block]
    while len(sweep.before[found[0]]) == 1 and not found[0].params:
        earlier = sweep.before[found[0]][0][0]
        if earlier is sweep.function.blocks[0] or earlier in found:
            break
        found.insert(0, earlier)
    return found


def _test_within(sweep: Sweep, region: Region) -> Block | None:
    """The block that ends with the only test that leaves a loop, if that is not asked for anything else and the loop goes on behind it."""
    tests = [b for b in region.blocks if any(e.block not in region.blocks for e in successors(b))]
    branch = tests[0].terminator if len(tests) == 1 else None
    if not isinstance(branch, Branch) or not isinstance(branch.cond, Op):
        return None
    test, stay = branch.cond, [e for e in (branch.true, branch.false) if e.block in region.blocks]
    if len(stay) != 1 or tests[0] in region.loops or stay[0].block in region.heads or len(sweep.before[stay[0].block]) != 1 or stay[0].args:
        return None
    if test not in tests[0].ops or test.callee not in _TESTS or test.effect:
        return None
    elsewhere = [b for b in sweep.users([test]) if b is not tests[0] and any(test is v for v in operands(b))]
    return None if elsewhere or any(test in op.operands() for op in tests[0].ops) else tests[0]


class _Place:
    """A block of a loop; parted: only its end, from its test on.  ``open``: what has to be brought there."""

    def __init__(self, sweep: Sweep, region: Region, target: Block, parted: bool = False) -> None:
        self.region, self.target, self.middle = region, target, target if parted else None
        live: set[Operand] = {*sweep.liveness[target], *target.params}
        if parted:
            branch: Any = target.terminator
            self.target = Block((), [branch.cond], branch)
            live = {v for e in edges(branch) for v in (*e.args, *sweep.liveness[e.block])} | set(branch.cond.operands())
        self.open: list[Any] = [v for b in sweep.ordered(region) for v in (*b.params, *b.all_ops()) if v in live]


class _Peeled(Match):
    """A block in front of a loop, and a place in the loop from which on the same may be done.

    What has to be brought to that place is free: what is used of it in front for the first time says what it is.
    """

    def __init__(self, sweep: Sweep, place: _Place, start: Block) -> None:
        self.open = place.open
        self.unbound: set[object] = {*place.open}
        super().__init__(self.unbound)
        self.sweep, self.region, self.target, self.middle, self.start = sweep, place.region, place.target, place.middle, start
        self.matched: set[Op] = set()  # of the block in front
        self.walked: set[Block] = set()
        #: what is computed in the walk, once it is known of what
        self.folded: dict[Op, tuple[Operand, ...]] = {}

    def is_there(self) -> bool:
        """Does the block in front do the same, and can the loop do it in its place?"""
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
        """Is it no array, or one that goes round as it is?"""
        if not isinstance(v.type, Array):
            return True
        heads = self.region.heads
        carried: Sequence[Operand] = self.target.params
        if self.middle is not None:
            carried = [a for b in self.region.blocks for e in successors(b) if e.block in heads for a in e.args]
        return v in carried and getattr(self.bound[v], "dims", None) == v.dims

    def _leaves_out(self, brought: set[Operand]) -> bool:
        """Find what the block in front still does: what the loop does not, and what is used elsewhere.  May the rest be done later?"""
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
        """Is what was taken to be known that, and what was expected of it?"""
        known: dict[Operand, Operand] = {}
        for op, args in self.folded.items():
            found = computed(op, [known.get(a, self._of(a)) for a in args])
            if found is None or (op in self.bound and self.bound[op] != found):
                return False
            known[op] = found
        return True

    def _passes(self, block: Block) -> bool:
        """Is it come to by way of the place alone?"""
        return block is not self.middle and self.sweep.dominators.dominates(self.middle or self.target, block)

    # --------------------------------------------------------------------------------------------- both at once

    def _alike(self, a: Block, b: Block, front: Bound, loop: Bound) -> bool:
        """Is what stands in front, from a on, what the loop does from b on?  What it does besides comes first, or is not missed where it is left out."""
        self.walked.add(a)
        stays = a is self.start
        rest, begun, end = list(a.ops), not stays, a.terminator
        for _ in range(MOST_BLOCKS):
            for op in b.ops:
                known = computed(op, [self._of(self._seen(x, loop)) for x in op.args])
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
            loop.update(zip(edge.block.params, [self._seen(v, loop) for v in edge.args], strict=True))
            b = edge.block
        return False

    def _only(self, b: Block, loop: Bound) -> Edge | None:
        """The edge that is taken, if that is known; what will turn out to be known is taken to stay in the loop."""
        end = b.terminator
        if not isinstance(end, Branch):
            return end.edge if isinstance(end, Jump) else None
        cond = self._of(self._seen(end.cond, loop))
        if isinstance(cond, Op) and cond in self.folded:
            stay = [e for e in (end.true, end.false) if e.block in self.region.blocks]
            if len(stay) == 1:
                self.bound[cond] = Const(stay[0] is end.true)
                return stay[0]
        if isinstance(cond, Const) and type(cond.value) is bool:
            return end.true if cond.value else end.false
        return None

    def _ends(self, x: Terminator, y: Terminator, front: Bound, loop: Bound) -> bool:
        if not isinstance(x, Branch) or not isinstance(y, Branch) or not self._is(front.get(x.cond, x.cond), y.cond, loop):
            return False
        ways = [(x.true, y.true), (x.false, y.false)]
        ways.sort(key=lambda way: way[0].block is not way[1].block)  # what they bring to the same block says what is what
        return all(self._follow(p, q, dict(front), dict(loop)) for p, q in ways)

    def _follow(self, p: Edge, q: Edge, front: Bound, loop: Bound) -> bool:
        args = [front.get(v, v) for v in p.args]
        if p.block is q.block:
            return all(self._is(x, y, loop) for x, y in zip(args, q.args, strict=True))
        if q.block not in self.region.blocks or q.block is self.target:
            return False
        loop.update(zip(q.block.params, [self._seen(v, loop) for v in q.args], strict=True))
        if p.block in self.region.blocks or p.block in self.walked or len(self.sweep.before[p.block]) != 1:
            return False
        front.update(zip(p.block.params, args, strict=True))
        return self._alike(p.block, q.block, front, loop)

    def _op(self, x: Op, y: Op, front: Bound, loop: Bound) -> bool:
        """Does an op in front do what one of the loop does?"""
        if x.location != y.location or shape(x) != shape(y):
            return False
        bound = dict(self.bound)
        if all(self._is(front.get(p, p), q, loop) for p, q in zip(x.operands(), y.operands(), strict=True)):
            loop[y] = x
            return True
        self.bound = bound
        return False

    def _fold(self, op: Op, loop: Bound) -> bool:
        """Take an op of the loop, which is not in front, for one of numbers that are known there; may it be?"""
        args = tuple([self._seen(a, loop) for a in op.args])
        if not is_computed(op) or not all(isinstance(a, Const) or a in self.unbound for a in args) or self.folded.setdefault(op, args) != args:
            return False
        loop.pop(op, None)
        self.unbound.add(op)
        return True

    def _seen(self, y: Operand, loop: Bound) -> Operand:
        return y if isinstance(y, Const) else loop.get(y, y)

    def _of(self, value: Operand) -> Operand:
        return value if isinstance(value, Const) else self.bound.get(value, value)  # type: ignore[arg-type]

    def _is(self, x: Operand, y: Operand, loop: Bound) -> bool:
        return self.operand(x, self._seen(y, loop))

    # --------------------------------------------------------------------------------------------- writing

    def write(self) -> None:
        """in front → the place in the loop, with what it is given in front."""
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
        """Give the test of a loop a block of its own, which is its head then; what leads there."""
        middle, edge = self.middle, Edge(self.target, ())
        assert middle is not None
        middle.ops = [op for op in middle.ops if op not in self.target.ops]
        middle.terminator = Jump(edge, getattr(middle.terminator, "location", None))
        self.sweep.put_before(self.region.heads[0], self.target)
        return middle, edge


def _may_wait(ops: Sequence[Op], stays: bool) -> bool:
    """May what comes behind these in front be done by the loop, where they stay, or may they be left out?"""
    return not any(op.effect & ~(_ALLOWED if stays else Effect.READS) for op in ops)


def _is_number(op: Op) -> bool:
    members = op.type.members if isinstance(op.type, Union) else (op.type,)
    return all(isinstance(m, Const) or (isinstance(m, Type) and issubclass(m.cls, int | float | complex | np.generic)) for m in members)
