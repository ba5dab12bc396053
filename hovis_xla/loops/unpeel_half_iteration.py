"""Loops whose first half round stands in front of them.

Tracing joins the ways of a round where they meet, and what counts is known in the first round: of ``for v in x: if v > 0: …``
it makes a loop that begins behind the ``if``, with the ``if`` of the first round in front. So the test whether there is another round
is in the middle, and nobody sees that the loop counts. Where the half in front does what the loop does behind that test, the
loop begins with the test: the half in front is left out, and what it was given goes into the first round.
"""

import operator
from collections.abc import Iterable
from typing import Final

from hovis.ir.analysis.control_flow import operands
from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Array, Const
from hovis.passes.rewriting import replace_in
from hovis_xla.analysis.loop_forest import Region, fits, successors
from hovis_xla.analysis.side_effects import acts
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

#: What may have been done while tracing, of the numbers of the first round.
_FOLDED: Final = frozenset({operator.add, operator.sub, operator.mul, operator.iadd, operator.isub, operator.imul})
_TESTS: Final = frozenset({operator.lt, operator.gt, operator.le, operator.ge, operator.ne, operator.eq})

#: What is done behind: each way brings the same counter.
_TIDY: Final = ("simplify_cfg", "trivial_phis", "dce")

#: The half is looked for in so many blocks in front, one before the other.
BACK: Final = 3

#: What happens in a half that is done again in the loop in place of in front of it.
_ALLOWED: Final = Effect.READS | Effect.RAISES


def unpeel_half_iterations(function: Function) -> Function:
    """Undo the peeling of half an iteration.

    The function, its loops beginning with their tests; the very same, if nothing changes.
    """
    return driver.rewrite(function, _found, BACK + 1, _TIDY)


def _found(sweep: Sweep, region: Region) -> Rewriting | None:
    if len(region.heads) > 1 or region.heads[0] is sweep.function.blocks[0]:
        return None
    half = _Half(sweep, region)
    return (half.write, half.reached) if half.is_there() else None


class _Half:
    """A loop that is left in the middle, and the half round in front of it."""

    def __init__(self, sweep: Sweep, region: Region) -> None:
        self.sweep, self.region, self.before = sweep, region, sweep.before
        self.head = region.heads[0]
        self.bound: dict[Operand, Operand] = {}  # what stands in front for a value of the loop
        self.folded: dict[Op, None] = {}
        self.reached: set[Block] = set()

    def is_there(self) -> bool:
        """Does something in front do the half behind the only test that leaves the loop?"""
        tests = [b for b in self.region.blocks if any(e.block not in self.region.blocks for e in successors(b))]
        if len(tests) != 1 or not isinstance(tests[0].terminator, Branch):
            return False
        self.middle, branch = tests[0], tests[0].terminator
        stay = [e for e in (branch.true, branch.false) if e.block in self.region.blocks]
        test = branch.cond
        if len(stay) != 1 or not isinstance(test, Op) or test not in self.middle.ops or test.callee not in _TESTS or test.effect:
            return False
        self.stay, self.test = stay[0], test
        self.second = self._behind(self.stay.block)
        if self.middle in self.second or self.stay.block is self.head or len(self.before[self.stay.block]) != 1 or self.stay.args:
            return False
        if any(op.effect & ~_ALLOWED or acts(op) for b in self.second for op in b.all_ops()):
            return False
        first = self.region.blocks - self.second
        made = {v for b in first for v in (*b.params, *b.all_ops())} - {test}
        used: list[Operand] = [*test.operands(), *(v for b in self.sweep.users(made) if b not in first for v in operands(b))]
        used += [a for e in (branch.true, branch.false) for a in e.args]
        self.open = {v: None for v in used if v in made}
        carried = {a for b in self.second for e in successors(b) if e.block is self.head for a in e.args}
        if any(_is_array(v) and v not in carried for v in self.open):
            return False
        elsewhere = any(test in op.operands() for op in self.middle.ops) or any(test in operands(b) for b in self.region.blocks if b is not self.middle)
        return not elsewhere and self._is_in_front()

    def _behind(self, start: Block) -> set[Block]:
        found: set[Block] = set()
        todo = [start]
        while todo:
            block = todo.pop()
            if block is not self.head and block not in found:
                found.add(block)
                todo += [e.block for e in successors(block)]
        return found

    def _is_in_front(self) -> bool:
        ways = {b for b, _ in self.before[self.head] if b not in self.region.blocks}
        fronts = set(ways)
        for _ in range(BACK):  # the blocks of the half's own branches, and the one where they part
            fronts.update([b for block in fronts for b, _ in self.before[block]])
        for front in self.sweep.listed(fronts - self.region.blocks):
            if self._begins(front, ways):
                self.front = front
                return True
        return False

    def _begins(self, front: Block, ways: set[Block]) -> bool:
        """Is the end of a block in front, with what comes behind it, the half?"""
        self.bound, self.folded, self.reached = {}, {}, set()
        if not self._blocks(front, self.stay.block, False) or not ways <= self.reached or not all(v in self.bound for v in self.open):
            return False
        if not all(fits(self.bound[v], v) and (not _is_array(v) or getattr(self.bound[v], "dims", None) == v.dims) for v in self.open):  # type: ignore[union-attr]
            return False
        dropped = {v for b in self.reached - {front} for v in (*b.params, *b.all_ops())}
        if not dropped.isdisjoint(self.bound[v] for v in self.open):
            return False
        if any(v in dropped for b in self.sweep.users(dropped) if b not in self.reached for v in operands(b)):
            return False
        known = {v: value.value for v, value in self.bound.items() if isinstance(value, Const)}
        for op in (*self.folded, self.test):
            args = [a.value if isinstance(a, Const) else known.get(a) for a in op.args]
            if not all(type(a) is int for a in args):
                return False
            known[op] = op.callee(*args)  # type: ignore[operator]
            if op in self.bound and not same(self.bound[op], Const(known[op])):
                return False
        return known[self.test] is (self.stay is self.middle.terminator.true)  # type: ignore[union-attr]

    def _blocks(self, a: Block, b: Block, left_out: bool = True) -> bool:
        """Does a do what b does?  What it does besides comes first, or is not missed where it is left out."""
        self.reached.add(a)
        rest, begun = list(a.ops), left_out
        allowed = Effect.READS if left_out else _ALLOWED
        for op in b.ops:
            rest, ahead = _split(rest, op)
            if ahead is None:
                if op.callee not in _FOLDED or op.kwargs:
                    return False
                self.folded[op] = None
                continue
            passed, like = ahead
            if begun and any(x.effect & ~allowed for x in passed):
                return False
            begun = True
            if not self._operands(like.operands(), op.operands()):
                return False
            self.bound[op] = like
        if any(x.effect & ~allowed for x in rest) or type(a.terminator) is not type(b.terminator) or not isinstance(b.terminator, Branch | Jump):
            return False
        if isinstance(a.terminator, Branch) and isinstance(b.terminator, Branch) and not self._operands([a.terminator.cond], [b.terminator.cond]):
            return False
        return all(self._edges(x, y) for x, y in zip(edges(a.terminator), edges(b.terminator), strict=True))

    def _edges(self, a: Edge, b: Edge) -> bool:
        if len(a.args) != len(b.args) or (a.block is self.head) is not (b.block is self.head):
            return False
        if b.block is self.head:
            return self._operands(a.args, b.args)
        if len(self.before[a.block]) != 1 or len(self.before[b.block]) != 1 or a.block in self.region.blocks or not self._operands(a.args, b.args):
            return False
        self.bound.update(zip(b.block.params, a.block.params, strict=True))
        return self._blocks(a.block, b.block)

    def _operands(self, xs: Iterable[Operand], ys: Iterable[Operand]) -> bool:
        return all(map(self._operand, xs, ys))

    def _operand(self, x: Operand, y: Operand) -> bool:
        if y in self.bound:
            return same(x, self.bound[y])
        if y in self.open or y in self.folded:
            self.bound[y] = x
            return True
        return same(x, y)

    # --------------------------------------------------------------------------------------------- writing

    def write(self) -> None:
        """in front → the test: another round? → the second half → the first half → the test; else → on."""
        branch = self.middle.terminator
        assert isinstance(branch, Branch)
        new: dict[Value, Operand] = {v: Param(v.type, v.dims, v.name) for v in self.open}  # type: ignore[union-attr,misc]
        start = Block(tuple(new.values()))  # type: ignore[arg-type]
        first = self.region.blocks - self.second
        self.middle.ops.remove(self.test)
        start.ops.append(self.test)
        start.terminator = branch
        self.middle.terminator = Jump(Edge(start, tuple(self.open)), branch.location)
        self.front.terminator = Jump(Edge(start, tuple(self.bound[v] for v in self.open)), branch.location)
        self.sweep.learn(self.front)
        self.sweep.learn(self.middle)
        for block in (*(b for b in self.sweep.mentions(new) if b not in first), start):
            replace_in(block, new)
            self.sweep.learn(block)
        self.sweep.put_before(self.head, start)


def _is_array(value: Operand) -> bool:
    return isinstance(getattr(value, "type", None), Array)


def _split(rest: list[Op], wanted: Op) -> tuple[list[Op], tuple[list[Op], Op] | None]:
    """What is left behind the op that does what is wanted; the ops before it, and itself, if it is there."""
    for k, op in enumerate(rest):
        if op.callee is wanted.callee and _shape(op) == _shape(wanted):
            return rest[k + 1 :], (rest[:k], op)
    return rest, None


def _shape(op: Op) -> tuple[object, ...]:
    return op.location, op.effect, op.type, len(op.args), [name for name, _ in op.kwargs]
