"""Counting loops that do several rounds at a time.

XLA keeps what goes round in a loop in memory, so a round takes ten cycles however little it does.  A loop that counts up
to a bound, leaves nowhere else and has no loop in it gets another in front of it, which does several rounds in each of
its own, as long as there are so many left; the loop itself does the rest.  Nothing is done in another order.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hovis.ir.analysis.control_flow import predecessors
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param, Value, callees
from hovis.lattice import Array, Const, Type
from hovis.passes.rewriting import replace_operands
from hovis_xla.analysis.intervals import before
from hovis_xla.analysis.loop_forest import Region, all_loops, needed, reachable, regions, successors
from hovis_xla.analysis.side_effects import acts
from hovis_xla.loops import driver

#: How many rounds are done at a time, by how many ops there are in one.
ROUNDS: Final = ((24, 8), (32, 4), (48, 2))

#: So many at most where the bound is read from an array, as those of a sparse matrix's rows are: few rounds may be all there are.
OF_DATA: Final = 4

#: What is not done twice.
OUTSIDE: Final = Effect.IO | Effect.RANDOM | Effect.CLOCK | Effect.OPAQUE

#: What a loop has to go round, if that is known; one that goes round so often at most does all its rounds at a time, if that is not more than so many ops.
WORTH: Final = 4
SHORT: Final = 16
SHORT_OPS: Final = 160

class Count(NamedTuple):
    """How a loop counts: the place of the counter among the head's parameters, the step, the bound, and the test: less, or greater."""

    place: int
    step: int
    bound: Operand
    test: Callable[..., Any]


def unroll_counted(function: Function) -> Function:
    """Unroll innermost counted loops.

    The function, its innermost counting loops doing several rounds at a time; the very same, if it has none.
    """
    return driver.applied(_unroll_all, function) if any(_counting(f) for f in callees(function)) else function


def _counting(function: Function) -> list[tuple[Region, Count, int]]:
    """The loops that will do, how they count, and how many rounds they are to do at a time."""
    used = needed(reachable(function))
    found = []
    for region in all_loops(regions(function)):
        if region.loops or len(region.heads) > 1 or region.heads[0] is function.blocks[0]:
            continue
        count = _count(region)
        ops = [op for b in region.blocks for op in b.all_ops() if op in used]
        times = _times(ops)
        if count is None or times == 1:
            continue
        known = _rounds(function, region, count)
        if known is not None and 1 < known <= SHORT and known * len(ops) <= SHORT_OPS:
            found.append((region, count, known))
        elif known is None or known >= WORTH * times:
            found.append((region, count, min(times, OF_DATA) if _is_read(function, count.bound) else times))
    return found


def _is_read(function: Function, bound: Operand) -> bool:
    """Does a number come out of an array, straight or by way of parameters?"""
    seen: set[Operand] = set()
    rest = [bound]
    while rest:
        value = rest.pop()
        if value in seen or not isinstance(value, Param | Op):
            continue
        seen.add(value)
        if isinstance(value, Op):
            if value.callee is operator.getitem:
                return True
            rest += value.args if value.callee in (operator.index, int) else ()
        else:
            home = next((b for b in function.blocks if value in b.params), None)
            rest += [e.args[home.params.index(value)] for _, e in predecessors(function)[home]] if home is not None else ()
    return False


def counts(region: Region) -> bool:
    """Is it a loop that can do several rounds at a time because it counts?"""
    return _count(region) is not None


def _times(ops: Sequence[Op]) -> int:
    """As many rounds as are worth it; 1 where one does something outside, or works on arrays."""
    if any(acts(op) or isinstance(op.callee, Function) or isinstance(op.type, Array) or not _is_plain(op) for op in ops):
        return 1
    return next((times for most, times in ROUNDS if len(ops) <= most), 1)


def _is_plain(op: Op) -> bool:
    """A read or a store of an array, or nothing but a result?"""
    return not op.effect & OUTSIDE and (op.callee is operator.setitem or not op.effect & Effect.WRITES)


def _count(region: Region) -> Count | None:
    head = region.heads[0]
    branch = head.terminator
    if not isinstance(branch, Branch) or branch.true.block not in region.blocks - {head} or branch.false.block in region.blocks:
        return None
    rest = region.blocks - {head}
    if any(not isinstance(b.terminator, Branch | Jump) or any(e.block not in region.blocks for e in successors(b)) for b in rest):
        return None
    if any(op.effect & (OUTSIDE | Effect.WRITES) for op in head.ops) or any(isinstance(p.type, Array) for b in region.blocks for p in b.params):
        return None
    test = branch.cond
    if not isinstance(test, Op) or test not in head.ops or test.callee not in (operator.lt, operator.gt) or test.args[0] not in head.params:
        return None
    place = head.params.index(test.args[0])
    inside = {v for b in region.blocks for v in (*b.params, *b.all_ops())}
    bound = test.args[1]
    steps = {_step(e.args[place], head.params[place]) for b in region.blocks for e in successors(b) if e.block is head}
    if bound in inside or len(steps) > 1 or head.params[place].type != Type(int) or _type(bound) is not int:
        return None
    step = steps.pop()
    if step is None or (step > 0) is not (test.callee is operator.lt):
        return None
    return Count(place, step, bound, test.callee)


def _type(operand: Operand) -> type | None:
    if isinstance(operand, Const):
        return type(operand.value)
    kind = getattr(operand, "type", None)
    return kind.cls if isinstance(kind, Type) else None


def _step(value: Operand, counter: Param) -> int | None:
    """What is added to the counter."""
    if isinstance(value, Op) and value.callee in (operator.add, operator.iadd) and len(value.args) == 2 and value.args[0] is counter:
        step = value.args[1]
        return step.value if isinstance(step, Const) and type(step.value) is int and 0 < abs(step.value) < 2**31 else None
    return None


def _rounds(function: Function, region: Region, count: Count) -> int | None:
    """How often it goes round, if that is known."""
    starts = [e.args[count.place] for b, e in predecessors(function)[region.heads[0]] if b not in region.blocks]
    if not isinstance(count.bound, Const) or not all(isinstance(s, Const) for s in starts):
        return None
    found = {-((s.value - count.bound.value) // count.step) for s in starts}  # type: ignore[operator,union-attr]
    return found.pop() if len(found) == 1 else None


# ------------------------------------------------------------------------------------------------- writing


def _unroll_all(function: Function) -> bool:
    """Put loops of several rounds in front of those that count."""
    found = _counting(function)
    for region, count, times in found:
        copies = _Copies(function, region, count, times)
        if times == _rounds(function, region, count):
            copies.write_out()
        else:
            copies.write()
    return bool(found)


class _Copies:
    def __init__(self, function: Function, region: Region, count: Count, times: int) -> None:
        self.function = function
        self.region = region
        self.head = region.heads[0]
        self.count = count
        self.times = times
        self.body = [b for b in reachable(function) if b in region.blocks and b is not self.head]
        self.made: list[Block] = []

    def write(self) -> None:
        """front: is there room for all rounds? → the rounds, one after the other → front; else → the loop as it was."""
        function, head = self.function, self.head
        entries = [e for b, e in predecessors(function)[head] if b not in self.region.blocks]
        front = self._like(head)
        limit = Op(before, (self.count.bound, Const((self.times - 1) * self.count.step)), (), Type(int), location=head.terminator.location)  # type: ignore[union-attr]
        if isinstance(self.count.bound, Const):
            bound: Operand = Const(before(self.count.bound.value, limit.args[1].value))  # type: ignore[arg-type,union-attr]
        else:
            front.ops.append(limit)
            bound = limit
        test = Op(self.count.test, (front.params[self.count.place], bound), (), Type(bool), location=head.terminator.location)  # type: ignore[union-attr]
        front.ops.append(test)
        first, args = self._round(front.params, front)
        for _ in range(self.times - 1):
            first_of_next = self._like(head)
            self._lead(args, first_of_next)
            _, args = self._round(first_of_next.params, first_of_next)
        self._lead(args, front)
        front.terminator = Branch(test, first, Edge(head, front.params))
        for edge in entries:
            edge.block = front
        function.blocks[function.blocks.index(head) : function.blocks.index(head)] = [front, *(b for b in self.made if b is not front)]

    def write_out(self) -> None:
        """All rounds, one after the other → the head, which only leads on."""
        function, head = self.function, self.head
        entries = [e for b, e in predecessors(function)[head] if b not in self.region.blocks]
        ends = entries
        for _ in range(self.times):
            start = self._like(head)
            self._lead(ends, start)
            _, ends = self._round(start.params, start)
        self._lead(ends, head)
        branch = head.terminator
        assert isinstance(branch, Branch)
        head.terminator = Jump(branch.false, branch.location)
        function.blocks[function.blocks.index(head) : function.blocks.index(head)] = self.made
        function.blocks = [b for b in function.blocks if b not in self.body]

    def _like(self, head: Block) -> Block:
        """A block with parameters like those of the head."""
        made = Block(tuple(Param(p.type, p.dims, p.name) for p in head.params))
        self.made.append(made)
        return made

    def _round(self, values: Sequence[Operand], start: Block) -> tuple[Edge, list[Edge]]:
        """A copy of one round with these values: the edge into it, and those that end it, which lead nowhere yet."""
        new: dict[Value, Operand] = dict(zip(self.head.params, values, strict=True))
        blocks = {b: Block() for b in self.body}
        self.made += blocks.values()
        start.ops += [self._op(op, new) for op in self.head.ops if op is not self.head.terminator.cond]  # type: ignore[union-attr]
        for old, block in blocks.items():
            block.params = tuple(Param(p.type, p.dims, p.name) for p in old.params)
            new.update(zip(old.params, block.params, strict=True))
        ends: list[Edge] = []

        def edge(old: Edge) -> Edge:
            made = Edge(blocks.get(old.block, self.head), tuple(new.get(a, a) if isinstance(a, Param | Op) else a for a in old.args))
            if old.block is self.head:
                ends.append(made)
            return made

        for old, block in blocks.items():
            block.ops = [self._op(op, new) for op in old.ops]
            match old.terminator:
                case Branch(cond=cond, true=true, false=false, location=location):
                    block.terminator = Branch(new.get(cond, cond) if isinstance(cond, Param | Op) else cond, edge(true), edge(false), location)
                case Jump(edge=only, location=location):
                    block.terminator = Jump(edge(only), location)
        into = edge(self.head.terminator.true)  # type: ignore[union-attr]
        if into in ends:
            ends.remove(into)
        start.terminator = Jump(into)
        return into, ends

    def _op(self, op: Op, new: dict[Value, Operand]) -> Op:
        made = Op(op.callee, op.args, op.kwargs, op.type, op.dims, op.effect, op.location, op.name)
        replace_operands(made, new)
        new[op] = made
        return made

    def _lead(self, edges: Sequence[Edge], block: Block) -> None:
        for edge in edges:
            edge.block = block
