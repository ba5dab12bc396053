"""Loops that Python tests at their end, tested at their head again.

CPython compiles ``while test: …`` as ``if test:`` around a loop that asks again behind each round. Then XLA has a flag to carry
that says what the next round is going to find, made in a kernel of its own, and a branch around the loop. With the test at
the head it is the loop's own condition, a loop that counts is seen to count, and several rounds can be done at a time.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final

from hovis.ir.analysis import predecessors
from hovis.ir.model import Block, Branch, Edge, Function, Jump, Op, Operand, Param, Value, callees
from hovis.lattice import Array, Const, Type
from hovis.passes.rewriting import Pass, replace_operands
from hovis_xla.deeds import acts
from hovis_xla.regions import Region, all_loops, operands_of, regions, successors

#: A test of more operations stays where it is.
TEST_OPS: Final = 12

#: What may be done while compiling, of the numbers that the first round begins with.
_KNOWN: Final = frozenset({
    operator.add, operator.sub, operator.mul, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    operator.and_, operator.not_, getattr,
})  # fmt: skip
_NUMBERS: Final = (int, float, complex, bool)

#: What has been asked before a loop is looked for so many blocks back.
BACK: Final = 3

Predecessors = dict[Block, list[tuple[Block, Edge]]]


def turned(function: Function) -> Function:
    """The function, its loops tested at their heads where they are left by no other test; the very same, if nothing changes."""
    return _turn(function) if any(_found(f) for f in callees(function)) else function


def _turn_all(function: Function) -> bool:
    changed = False
    while (turning := _found(function)) is not None:
        turning.write(function)
        changed = True
    return changed


_turn = Pass(_turn_all)


def _found(function: Function) -> "_Turning | None":
    before = predecessors(function)
    loops = [region for region in all_loops(regions(function)) if len(region.heads) == 1 and region.heads[0] is not function.blocks[0]]
    found = (_Turning(region, before) for region in loops)
    return next((turning for turning in found if turning.is_possible() and turning.is_alone(function)), None)


class _Turning:
    """One loop, and the block that asks behind each round whether there is another one."""

    def __init__(self, region: Region, before: Predecessors) -> None:
        self.region, self.before = region, before
        self.head = region.heads[0]
        self.backs = [(b, e) for b, e in before[self.head] if b in region.blocks]
        self.entries = [(b, e) for b, e in before[self.head] if b not in region.blocks]
        self.made = {v for b in region.blocks for v in (*b.params, *b.all_ops())}

    def is_possible(self) -> bool:
        """Is it left at its end alone, by a test of what goes into the next round, that has come out the same before the first?"""
        if len(self.backs) != 1 or any(isinstance(p.type, Array) for p in self.head.params):
            return False
        self.last, self.goes = self.backs[0]
        again = self.last.terminator
        if not isinstance(again, Branch) or again.true.block is again.false.block:
            return False
        self.again = again
        self.leaves = again.false if self.goes is again.true else again.true
        if not all(self._asks_more(b, e) for b in self.region.blocks if b is not self.last for e in successors(b) if e.block not in self.region.blocks):
            return False
        self.brought: set[Operand] = {value for value in self.goes.args if value in self.made and self._is_one(value)}
        self.test: dict[Op, None] = {}
        if self.leaves.block in self.region.blocks or not all(a in self.brought or a not in self.made for a in self.leaves.args):
            return False
        return all(self._has_asked(b, e, e.args) for b, e in self.entries) and len(self.test) <= TEST_OPS

    def _asks_more(self, block: Block, out: Edge) -> bool:
        """Is it left at the head for what its end leaves it for, as by the second part of a test?"""
        if block is not self.head or out.block is not self.leaves.block:
            return False
        brought: dict[Operand, Operand] = dict(zip(self.head.params, self.goes.args, strict=True))
        return all(_same(brought.get(a, a), b) for a, b in zip(out.args, self.leaves.args, strict=True))

    def is_alone(self, function: Function) -> bool:
        """Is what it computes used nowhere else, but for what it is left with?"""
        return not any(v in self.made for b in function.blocks if b not in self.region.blocks for v in operands_of(b))

    def _has_asked(self, block: Block, edge: Edge, first: Sequence[Operand]) -> bool:
        """Has the test been made on every way to a block, of what goes into the first round, or is it known how it comes out?"""
        truth = self.goes is self.again.true
        starts = self._starts(first)
        parts = [part for part in self._parts(self.again.cond, truth) if not self._is_known(part, truth, starts)]
        return not parts or self._was_asked(block, edge, first, parts, truth, BACK)

    def _parts(self, cond: Operand, truth: bool) -> list[Operand]:
        """What has to come out so, all of it, for the whole to do."""
        if not truth or not isinstance(cond, Op) or cond.callee is not operator.and_ or cond not in self.last.ops or cond.type != Type(bool):
            return [cond]
        self.test[cond] = None
        return [part for a in cond.args for part in self._parts(a, truth)]

    def _was_asked(self, block: Block, edge: Edge, first: Sequence[Operand], parts: Sequence[Operand], truth: bool, back: int) -> bool:
        end = block.terminator
        if isinstance(end, Branch):
            if end.true.block is not end.false.block and (edge is end.true) is truth:
                starts = self._starts(first)
                parts = [part for part in parts if not self._alike(part, end.cond, starts)]
            return not parts
        if not isinstance(end, Jump) or not back or not self.before[block]:
            return False
        ways = [(b, e, [e.args[block.params.index(v)] if v in block.params else v for v in first]) for b, e in self.before[block]]
        return all(self._was_asked(b, e, values, parts, truth, back - 1) for b, e, values in ways)

    def _is_known(self, part: Operand, truth: bool, starts: dict[Operand, Operand]) -> bool:
        """Does a part of the test come out so before the first round, by what is known?"""
        found: dict[Operand, Any] = {}
        if self._value(part, starts, found) is not truth:
            return False
        self.test.update({op: None for op in found if isinstance(op, Op) and op not in self.brought})
        return True

    def _value(self, value: Operand, starts: dict[Operand, Operand], found: dict[Operand, Any]) -> Any:
        """What it is before the first round; None, if that is not known."""
        first = starts[value] if value in self.brought else value
        if isinstance(first, Const):
            return first.value
        if not isinstance(value, Op) or first is not value or value not in self.last.ops or value.callee not in _KNOWN or value.kwargs:
            return None
        args = [self._value(a, starts, found) for a in value.args]
        if not args or type(args[0]) not in _NUMBERS or any(a is None for a in args):
            return None
        found[value] = value.callee(*args)  # type: ignore[operator]
        return found[value]

    def _is_one(self, value: Operand) -> bool:
        """Of parameters that go on with the same value: do they begin with the same, too?"""
        places = [k for k, v in enumerate(self.goes.args) if v is value]
        return all(_same(e.args[k], e.args[places[0]]) for _, e in self.entries for k in places)

    def _starts(self, first: Sequence[Operand]) -> dict[Operand, Operand]:
        """What stands for each value that goes into the next round, before the first one."""
        return dict(zip(self.goes.args, first, strict=True))

    def _alike(self, value: Operand, first: Operand, starts: dict[Operand, Operand]) -> bool:
        """Is a value behind a round made of what goes into the next one, just as one in front of the loop is of what goes into the first?"""
        if value in self.brought:
            return _same(starts[value], first)
        if value not in self.made:
            return _same(value, first)
        if not isinstance(value, Op) or not isinstance(first, Op) or value not in self.last.ops:
            return False
        if value.callee is not first.callee or len(value.args) != len(first.args) or value.kwargs or first.kwargs or value.type != first.type:
            return False
        if acts(value) or value.effect or isinstance(value.type, Array):
            return False
        if not all(self._alike(a, b, starts) for a, b in zip(value.args, first.args, strict=True)):
            return False
        self.test[value] = None
        return True

    # --------------------------------------------------------------------------------------------- writing

    def write(self, function: Function) -> None:
        """in front → the test: another round? → the loop → the test; else → on."""
        test = Block(self.head.params)
        self.head.params = ()
        new: dict[Value, Operand] = {v: p for v, p in zip(self.goes.args, test.params, strict=True) if v in self.brought}  # type: ignore[misc]
        for op in self.last.ops:
            if op in self.test:
                made = Op(op.callee, op.args, op.kwargs, op.type, op.dims, op.effect, op.location, op.name)
                replace_operands(made, new)
                new[op] = made
                test.ops.append(made)
        again, cond = self.again, self.again.cond
        into = Edge(self.head, ())
        out = Edge(self.leaves.block, tuple(new.get(a, a) if isinstance(a, Param | Op) else a for a in self.leaves.args))
        cond = new.get(cond, cond) if isinstance(cond, Param | Op) else cond
        test.terminator = Branch(cond, into, out, again.location) if self.goes is again.true else Branch(cond, out, into, again.location)
        self.last.terminator = Jump(Edge(test, self.goes.args), again.location)
        for block, edge in self.entries:
            edge.block = test
            if self._leads_on(block, edge):
                block.terminator = Jump(edge, again.location)
        function.blocks.insert(function.blocks.index(self.head), test)

    def _leads_on(self, block: Block, edge: Edge) -> bool:
        """Does the test in front of the loop lead where the loop does if it goes round no more, with the same?"""
        end = block.terminator
        if not isinstance(end, Branch):
            return False
        other = end.false if edge is end.true else end.true
        starts = self._starts(edge.args)
        return other.block is self.leaves.block and all(
            _same(first, b) or _says_same(end, other, first, b)
            for first, b in zip([starts[a] if a in self.brought else a for a in self.leaves.args], other.args, strict=True)
        )


def _says_same(end: Branch, edge: Edge, a: Operand, b: Operand) -> bool:
    """Does taking an edge say that an int is what another is?"""
    cond = end.cond
    if not isinstance(cond, Op) or cond.callee is not (operator.eq if edge is end.true else operator.ne) or len(cond.args) != 2:
        return False
    x, y = cond.args
    ints = all(type(v.value) is int if isinstance(v, Const) else isinstance(v, Param | Op) and v.type == Type(int) for v in (x, y))
    return ints and ((_same(a, x) and _same(b, y)) or (_same(a, y) and _same(b, x)))


def _same(a: Operand, b: Operand) -> bool:
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a == b)
