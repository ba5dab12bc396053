"""Loops that Python tests at their end, tested at their head again.

CPython compiles ``while test: …`` as ``if test:`` around a loop that asks again behind each round. Then XLA has a flag to carry
that says what the next round is going to find, made in a kernel of its own, and a branch around the loop. With the test at
the head it is the loop's own condition, a loop that counts is seen to count, and several rounds can be done at a time.
"""

import operator
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir.analysis.control_flow import operands
from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Function, Jump, Op, Operand, Param, Value
from hovis.lattice import AbstractValue, Array, Const, Type, Union
from hovis.passes.rewriting import replace_operands
from hovis.passes.scalar.instcombine import computed
from hovis_xla.analysis.loop_forest import Region, fits, successors
from hovis_xla.analysis.side_effects import acts
from hovis_xla.analysis.speculative_loads import is_read, leaves_memory, read_if
from hovis_xla.loops import driver
from hovis_xla.loops.driver import Rewriting, Sweep

#: A test of more operations stays where it is.
TEST_OPS: Final = 12

#: The classes of numbers that Python's own loops count and compare.
_NUMBERS: Final = (int, float, complex, bool)

#: What has been asked before a loop is looked for so many blocks back.
BACK: Final = 3


def unrotate(function: Function) -> Function:
    """Test loops at their headers again (the inverse of loop rotation).

    The function, its loops tested at their heads where they are left by no other test; the very same, if nothing changes.
    """
    return driver.rewrite(function, _found, BACK + 1)


def _found(sweep: Sweep, region: Region) -> Rewriting | None:
    if len(region.heads) > 1 or region.heads[0] is sweep.function.blocks[0]:
        return None
    turning = _Turning(sweep, region)
    return (turning.write, set()) if turning.is_possible() and turning.is_alone() else None


class _Turning:
    """One loop, and the block that asks behind each round whether there is another one."""

    def __init__(self, sweep: Sweep, region: Region) -> None:
        self.sweep, self.region, self.before = sweep, region, sweep.before
        self.head = region.heads[0]
        self.backs = [(b, e) for b, e in self.before[self.head] if b in region.blocks]
        self.entries = [(b, e) for b, e in self.before[self.head] if b not in region.blocks]
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
        self.asked: set[Block] = set()  # in front of the loop, those that ask for a part of the test
        self.in_front: set[Op] = set()  # what has been read for it there
        if self.leaves.block in self.region.blocks or not all(a in self.brought or a not in self.made for a in self.leaves.args):
            return False
        if any(_some(a.type) is None for a in self._apart()):
            return False
        return all(self._has_asked(b, e, e.args) for b, e in self.entries) and len(self.test) <= TEST_OPS and self._may_read()

    def _may_read(self) -> bool:
        """If the test reads of arrays: is it the only one that leaves the loop, and does nothing change between what it reads and itself?"""
        first = next((k for k, op in enumerate(self.last.ops) if op in self.test and op.effect), None)
        if first is None:
            return True
        out = [b for b in self.region.blocks for e in successors(b) if e.block not in self.region.blocks]
        return out == [self.last] and all(map(leaves_memory, self.last.ops[first:]))

    def _asks_more(self, block: Block, out: Edge) -> bool:
        """Is it left at the head for what its end leaves it for, as by the second part of a test?"""
        if block is not self.head or out.block is not self.leaves.block:
            return False
        brought: dict[Operand, Operand] = dict(zip(self.head.params, self.goes.args, strict=True))
        return all(same(brought.get(a, a), b) for a, b in zip(out.args, self.leaves.args, strict=True))

    def _apart(self) -> list[Value]:
        """What the loop is left with that begins as something of another kind, with which it is never left: ``UNBOUND``, say, or a float where NumPy's come."""
        places: dict[Operand, Param] = dict(zip(self.goes.args, self.head.params, strict=True))
        left = zip(self.leaves.args, self.leaves.block.params, strict=True)
        return list(dict.fromkeys(a for a, p in left if isinstance(a, Param | Op) and a in self.brought and not fits(places[a], p)))

    def is_alone(self) -> bool:
        """Is what it computes used nowhere else, but for what it is left with?"""
        return self.region.blocks.issuperset(self.sweep.users(self.made))

    def _has_asked(self, block: Block, edge: Edge, first: Sequence[Operand]) -> bool:
        """Has the test been made on every way to a block, of what goes into the first round, or is it known how it comes out?"""
        truth = self.goes is self.again.true
        starts = self._starts(first)
        parts = [part for part in self._parts(self.again.cond, truth) if not self._is_known(part, truth, starts)]
        return not parts or self._was_asked(block, edge, first, parts, truth)

    def _parts(self, cond: Operand, truth: bool) -> list[Operand]:
        """What has to come out so, all of it, for the whole to do."""
        if not truth or not isinstance(cond, Op) or cond.callee is not operator.and_ or cond not in self.last.ops or cond.type != Type(bool):
            return [cond]
        self.test[cond] = None
        return [part for a in cond.args for part in self._parts(a, truth)]

    def _was_asked(
        self, block: Block, edge: Edge, first: Sequence[Operand], parts: Sequence[Operand], truth: bool, back: int = BACK, unchanged: bool = True
    ) -> bool:
        """unchanged: is what is in memory behind the block what is there before the loop?"""
        end = block.terminator
        self.read = _read_last(block) if unchanged else set()
        if isinstance(end, Branch) and end.true.block is not end.false.block:
            starts = self._starts(first)
            left = [part for part in parts if not self._is_asked(part, end.cond, (edge is end.true) is truth, starts)]
            if len(left) < len(parts):
                self.asked.add(block)
            parts = left
            if not parts:
                return True
        if not isinstance(end, Branch | Jump) or not back or not self.before[block]:
            return False
        unchanged = unchanged and all(map(leaves_memory, block.ops))
        ways = [(b, e, [e.args[block.params.index(v)] if v in block.params else v for v in first]) for b, e in self.before[block]]
        return all(self._was_asked(b, e, values, parts, truth, back - 1, unchanged) for b, e, values in ways)

    def _is_asked(self, part: Operand, cond: Operand, truth: bool, starts: dict[Operand, Operand]) -> bool:
        """Does a condition in front of the loop, if it comes out so, say that a part of the test does?"""
        read: dict[Op, None] = {}
        if truth:
            found = self._alike(part, cond, starts, read)
        elif isinstance(part, Op) and part.callee is operator.not_ and part in self.last.ops:
            found = self._alike(part.args[0], cond, starts, read)
            self.test[part] = None
        else:
            return False
        if found:
            self.in_front.update(read)
        return found

    def _is_known(self, part: Operand, truth: bool, starts: dict[Operand, Operand]) -> bool:
        """Does a part of the test come out so before the first round, by what is known?"""
        found: dict[Operand, Const] = {}
        value = self._value(part, starts, found)
        if value is None or value.value is not truth:
            return False
        self.test.update({op: None for op in found if isinstance(op, Op) and op not in self.brought})
        return True

    def _value(self, value: Operand, starts: dict[Operand, Operand], found: dict[Operand, Const]) -> Const | None:
        """What it is before the first round, if that is known."""
        first = starts[value] if value in self.brought else value
        if isinstance(first, Const):
            return first
        if not isinstance(value, Op) or first is not value or value not in self.last.ops:
            return None
        args = [self._value(a, starts, found) for a in value.args]
        made = computed(value, [a for a in args if a is not None]) if None not in args else None
        if made is not None:
            found[value] = made
        return made

    def _is_one(self, value: Operand) -> bool:
        """Of parameters that go on with the same value: do they begin with the same, too?"""
        places = [k for k, v in enumerate(self.goes.args) if v is value]
        return all(same(e.args[k], e.args[places[0]]) for _, e in self.entries for k in places)

    def _starts(self, first: Sequence[Operand]) -> dict[Operand, Operand]:
        """What stands for each value that goes into the next round, before the first one."""
        return dict(zip(self.goes.args, first, strict=True))

    def _alike(self, value: Operand, first: Operand, starts: dict[Operand, Operand], read: dict[Op, None]) -> bool:
        """Is a value behind a round made of what goes into the next one, just as one in front of the loop is of what goes into the first?"""
        if value in self.brought:
            return same(starts[value], first)
        if value not in self.made:
            return same(value, first)
        if not isinstance(value, Op) or not isinstance(first, Op) or value not in self.last.ops:
            return False
        callee, args = (operator.getitem, value.args[1:]) if value.callee is read_if else (value.callee, value.args)
        if callee is not first.callee or len(args) != len(first.args) or value.kwargs or first.kwargs or value.type != first.type:
            return False
        if acts(value) or isinstance(value.type, Array) or (value.effect and first not in self.read):
            return False
        if not all(self._alike(a, b, starts, read) for a, b in zip(args, first.args, strict=True)):
            return False
        if value.effect:
            read[first] = None
        self.test[value] = None
        return True

    # --------------------------------------------------------------------------------------------- writing

    def write(self) -> None:
        """in front → the test: another round? → the loop → the test; else → on."""
        apart = {v: Param(v.type, None, v.name) for v in self._apart()}
        test = Block((*self.head.params, *apart.values()))
        self.head.params = ()
        new: dict[Value, Operand] = {v: p for v, p in zip(self.goes.args, test.params, strict=False) if v in self.brought}  # type: ignore[misc]
        for op in self.last.ops:
            if op in self.test:
                made = Op(op.callee, op.args, op.kwargs, op.type, op.dims, op.effect, op.location, op.name)
                replace_operands(made, new)
                new[op] = made
                test.ops.append(made)
        again, cond = self.again, self.again.cond
        into = Edge(self.head, ())
        out = Edge(self.leaves.block, tuple({**new, **apart}.get(a, a) if isinstance(a, Param | Op) else a for a in self.leaves.args))
        cond = new.get(cond, cond) if isinstance(cond, Param | Op) else cond
        test.terminator = Branch(cond, into, out, again.location) if self.goes is again.true else Branch(cond, out, into, again.location)
        self.last.terminator = Jump(Edge(test, (*self.goes.args, *apart)), again.location)
        for _, edge in self.entries:
            edge.block = test
        self.sweep.put_before(self.head, test)
        self._drop_reads(self.last, self.test)
        for block, edge in self.entries:
            self._lead_on(block, edge, edge.args)
            starts = self._starts(edge.args)
            edge.args = (*edge.args, *(starts[v] if fits(starts[v], p) else Const(_some(p.type)) for v, p in apart.items()))

    def _drop_reads(self, block: Block, asked: Collection[Op]) -> None:
        """Leave out of a block what the test reads now."""
        uses = Counter(v for b in {block, *self.sweep.users(block.ops)} for v in operands(b))
        for op in block.ops[::-1]:
            if not uses[op] and (op in asked or not op.effect):
                block.ops.remove(op)
                uses.subtract(op.operands())

    def _lead_on(self, block: Block, edge: Edge, first: Sequence[Operand]) -> None:
        """Leave out the tests in front of the loop that lead where the loop does, and what was read for them."""
        for _ in range(BACK):
            if block not in self.asked or not self._leads_on(block, edge, first):
                break
            block.terminator = Jump(edge, self.again.location)
            self._drop_reads(block, self.in_front)
            if block.params or any(op.effect for op in block.ops) or len(self.before[block]) != 1:
                break
            ((block, edge),) = self.before[block]

    def _leads_on(self, block: Block, edge: Edge, first: Sequence[Operand]) -> bool:
        """Does a test in front of the loop lead where the loop does if it goes round no more, with the same?"""
        end = block.terminator
        if not isinstance(end, Branch):
            return False
        other = end.false if edge is end.true else end.true
        starts = self._starts(first)
        return other.block is self.leaves.block and all(
            same(first, b) or _says_same(end, other, first, b)
            for first, b in zip([starts[a] if a in self.brought else a for a in self.leaves.args], other.args, strict=True)
        )


def _some(kind: AbstractValue) -> Any:
    """A number of a kind, whichever; None, if it is not one of numbers."""
    if isinstance(kind, Const):
        return kind.value if type(kind.value) in _NUMBERS else None
    cls = next((m.cls for m in (kind.members if isinstance(kind, Union) else (kind,)) if isinstance(m, Type)), None)
    return cls() if cls is not None and (cls in _NUMBERS or issubclass(cls, np.number | np.bool_)) else None


def _read_last(block: Block) -> set[Op]:
    """What a block reads of arrays when it has stored all that it stores."""
    stored = next((k for k in reversed(range(len(block.ops))) if not leaves_memory(block.ops[k])), -1)
    return {op for op in block.ops[stored + 1 :] if is_read(op)}


def _says_same(end: Branch, edge: Edge, a: Operand, b: Operand) -> bool:
    """Does taking an edge say that an int is what another is?"""
    cond = end.cond
    if not isinstance(cond, Op) or cond.callee is not (operator.eq if edge is end.true else operator.ne) or len(cond.args) != 2:
        return False
    x, y = cond.args
    ints = all(type(v.value) is int if isinstance(v, Const) else isinstance(v, Param | Op) and v.type == Type(int) for v in (x, y))
    return ints and ((same(a, x) and same(b, y)) or (same(a, y) and same(b, x)))
