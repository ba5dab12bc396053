"""Loops in front of a loop that do what it does, for as long as something is still what it was.

Of ``best = 1; for k in …: … if length > best: best = length`` tracing makes two loops: one as long as ``best`` is known to be 1, and one
behind it.  Where a walk through both at once, with what is known in the first, finds the same, the first is left out, and
what it began with goes into the second.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final

from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Function, Jump, Op, Operand, Param, Value
from hovis.lattice import Array, Const
from hovis.passes.rewriting import replace_in
from hovis_xla.analysis.loop_forest import Region, fits, successors
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

#: What may be done while compiling, of numbers that are known as long as the loop in front goes on.
_KNOWN: Final = frozenset({
    operator.add, operator.sub, operator.mul, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.not_, bool,
})  # fmt: skip
_NUMBERS: Final = (int, float, bool)

#: So many blocks are looked at for one pair of places.
MOST_BLOCKS: Final = 40

_TIDY: Final = ("simplify_cfg", "trivial_phis", "dce")

#: What stands for a value at a place.
Bound = dict[Any, Operand]


def unpeel_specialized(function: Function) -> Function:
    """Remove a specialized copy of a loop in front of the loop itself.

    The function, without loops that another one behind them does as well; the very same, if nothing changes.
    """
    return driver.rewrite(function, _found, 1, _TIDY)


def _found(sweep: Sweep, first: Region) -> Rewriting | None:
    """A block of a loop behind this one that does the same from there on."""
    exits = {e.block for b in first.blocks for e in successors(b)} - first.blocks if len(first.heads) == 1 else set()
    for later in sweep.around(exits):
        if not first.blocks.isdisjoint(later.blocks):
            continue
        blocks = sweep.ordered(later)
        made: list[Any] = [v for b in blocks for v in (*b.params, *b.all_ops())]
        for target in (b for b in blocks if isinstance(b.terminator, Branch)):
            beginning = _Beginning(sweep, later, first.heads[0], target, made)
            if beginning.is_there():
                return beginning.write, beginning.walked | later.blocks
    return None


class _Beginning:
    """A loop, a block of it, and one in front from which on the same is done."""

    def __init__(self, sweep: Sweep, region: Region, start: Block, target: Block, made: list[Value]) -> None:
        self.sweep, self.region, self.start, self.target, self.incoming = sweep, region, start, target, sweep.before
        #: what has to be brought to the block, and what the one in front brings
        live = sweep.live[target]
        self.open: dict[Value, None] = dict.fromkeys([*target.params, *(v for v in made if v in live)])
        self.bound: Bound = {}
        self.walked: set[Block] = set()
        self.again: list[tuple[Bound, Sequence[Operand]]] = []

    def is_there(self) -> bool:
        if any(isinstance(v.type, Array) for v in self.open) or not self._alike(self.start, self.target, {}, {}):
            return False
        made = {v for b in self.walked for v in (*(b.params if b is not self.start else ()), *b.all_ops())}
        if any(v not in self.bound or self.bound[v] in made or not fits(self.bound[v], v) for v in self.open):
            return False
        if not all(self._comes_back(*again) for again in self.again):
            return False
        inside = {v for b in self.walked for v in (*b.params, *b.all_ops())}
        return self.walked.issuperset(self.sweep.users(inside)) and self._can_be_brought()

    def _comes_back(self, values: Bound, args: Sequence[Operand]) -> bool:
        """Does a round bring to the block what the one in front brings to its own beginning?"""
        begins: Bound = dict(zip(self.start.params, args, strict=True))
        return all(same(self._of(values.get(v, v)), begins.get(self.bound[v], self.bound[v])) for v in self.open)

    def _of(self, value: Operand) -> Operand:
        return self.bound.get(value, value)

    def _can_be_brought(self) -> bool:
        """Is what is brought used where the block has been passed only, and where it is made?"""
        for v in self.open:
            for block in self.sweep.users([v]) if v not in self.target.params else ():
                here = v in block.params or v in block.ops
                if not here and not self.sweep.dominators.dominates(self.target, block):
                    return False
        return True

    # --------------------------------------------------------------------------------------------- both at once

    def _alike(self, a: Block, b: Block, front: Bound, loop: Bound) -> bool:
        """Is what stands in front, from a on, what the loop does from b on?"""
        rest: list[Op] = []
        self.walked.add(a)
        ahead = list(a.ops)
        for _ in range(MOST_BLOCKS):
            rest = list(b.ops)
            while rest:
                op = rest.pop(0)
                known = self._known(op, loop)
                if known is not None:
                    loop[op] = known
                elif not ahead or not self._match(ahead.pop(0), op, front, loop):
                    return False
            edge = self._only(b, loop)
            if edge is None:
                return not ahead and self._ends(a, b, front, loop)
            values = [self._seen(v, loop) for v in edge.args]
            if edge.block is self.target:
                return self._arrives(a, ahead, front, {**loop, **dict(zip(edge.block.params, values, strict=True))})
            if edge.block not in self.region.blocks:
                return False
            b = edge.block
            loop.update(zip(b.params, values, strict=True))
        return False

    def _only(self, b: Block, loop: Bound) -> Edge | None:
        """The edge that is taken, if that is known."""
        if isinstance(b.terminator, Jump):
            return b.terminator.edge
        if isinstance(b.terminator, Branch):
            cond = self._seen(b.terminator.cond, loop)
            if isinstance(cond, Const) and type(cond.value) is bool:
                return b.terminator.true if cond.value else b.terminator.false
        return None

    def _arrives(self, a: Block, ahead: list[Op], front: Bound, loop: Bound) -> bool:
        """The loop is where the walk began; is what stands in front there as well?"""
        if ahead or not isinstance(a.terminator, Jump) or a.terminator.edge.block is not self.start:
            return False
        self.again.append((loop, [front.get(v, v) for v in a.terminator.edge.args]))
        return True

    def _ends(self, a: Block, b: Block, front: Bound, loop: Bound) -> bool:
        x, y = a.terminator, b.terminator
        if not isinstance(x, Branch) or not isinstance(y, Branch) or not self._is(front.get(x.cond, x.cond), y.cond, loop):
            return False
        ways = [(x.true, y.true), (x.false, y.false)]
        ways.sort(key=lambda way: way[0].block is not way[1].block)  # what they bring to the same block says what is what
        return all(self._follow(p, q, dict(front), dict(loop)) for p, q in ways)

    def _follow(self, p: Edge, q: Edge, front: Bound, loop: Bound) -> bool:
        args = [front.get(v, v) for v in p.args]
        if p.block is q.block:
            return all(self._is(x, y, loop) for x, y in zip(args, q.args, strict=True))
        if q.block not in self.region.blocks:
            return False
        values = [self._seen(v, loop) for v in q.args]
        if q.block is self.target:
            self.again.append(({**loop, **dict(zip(q.block.params, values, strict=True))}, args))
            return p.block is self.start
        loop.update(zip(q.block.params, values, strict=True))
        if p.block is self.start:  # the loop has to come to the block by what is known alone
            landing = Block((), [], Jump(Edge(self.start, tuple(args))))
            found = self._alike(landing, q.block, front, loop)
            self.walked.discard(landing)
            return found
        if p.block in self.region.blocks or len(self.incoming[p.block]) != 1:
            return False
        front.update(zip(p.block.params, args, strict=True))
        return self._alike(p.block, q.block, front, loop)

    def _match(self, x: Op, y: Op, front: Bound, loop: Bound) -> bool:
        if x.callee is not y.callee or x.effect != y.effect or x.type != y.type or len(x.args) != len(y.args) or x.kwargs or y.kwargs:
            return False
        loop[y] = x
        return all(self._is(front.get(p, p), q, loop) for p, q in zip(x.args, y.args, strict=True))

    def _seen(self, y: Operand, loop: Bound) -> Operand:
        return loop.get(y, self.bound.get(y, y))

    def _is(self, x: Operand, y: Operand, loop: Bound) -> bool:
        """Is it what stands for a value of the loop?  Of what is brought to the block the first use says what it is."""
        seen = self._seen(y, loop)
        if seen in self.open and seen not in self.bound:
            self.bound[seen] = x
            return True
        return same(x, self._of(seen))

    def _known(self, op: Op, loop: Bound) -> Const | None:
        if op.callee not in _KNOWN or op.kwargs or op.effect:
            return None
        args = [self._of(self._seen(a, loop)) for a in op.args]
        values = [a.value for a in args if isinstance(a, Const) and type(a.value) in _NUMBERS]
        return Const(op.callee(*values)) if len(values) == len(op.args) else None  # type: ignore[operator]

    # --------------------------------------------------------------------------------------------- writing

    def write(self) -> None:
        """in front → the block of the loop, with what it is given in front."""
        dominators = self.sweep.dominators
        new: dict[Value, Param] = {v: Param(v.type, v.dims, v.name) for v in self.open if v not in self.target.params}
        for block, edge in self.incoming[self.target]:
            edge.args = (*edge.args, *new)
            self.sweep.learn(block)
        for block in self.sweep.mentions(new):
            if dominators.dominates(self.target, block):
                self._replace(block, new)
                self.sweep.learn(block)
        self.start.ops = []
        self.start.terminator = Jump(Edge(self.target, tuple(self.bound[v] for v in (*self.target.params, *new))))
        self.target.params = (*self.target.params, *new.values())
        self.sweep.learn(self.start)

    def _replace(self, block: Block, new: dict[Value, Param]) -> None:
        """What is made anew in a block is what it was."""
        replace_in(block, {v: p for v, p in new.items() if v not in block.params and v not in block.ops})
