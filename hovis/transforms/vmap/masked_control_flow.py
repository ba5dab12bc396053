"""Lanes that go different ways: the blocks behind the first branch where they part, each done by the lanes that are there.

Every such block has a mask of the lanes that wait for it, and every value that is used beyond its block is an array with what
it is in each lane.  The blocks are done in an order in which lanes meet again: those of a loop one behind the other, and again
while a lane waits for its head.  The lanes of a block that do not wait for it do what the first one of those that do does, so
no lane computes, raises or warns of anything that it would not by itself; what comes out is kept for those that waited.
Arrays that are stored into there are one object throughout: a store puts back what the others have at that place.
"""

from collections.abc import Iterable
from typing import Any

from hovis.errors import RunningAway
from hovis.ir.model import Block, Branch, Edge, Function, Jump, Op, Operand, Param, Raise, Return, Value, edges
from hovis.ir.operations import drop, keep, make_tuple
from hovis.lattice import Array, Const, Type
from hovis.library.numpy.batching.base import (
    CREDIT,
    OF_ARRAYS,
    OF_NUMBERS,
    ZEROS,
    added_to,
    chosen,
    either,
    everyone,
    is_spent,
    nobody,
    of_active,
    own,
    paid,
    some,
    together,
    truths,
    without,
)
from hovis.library.standard import STANDARD, make_array
from hovis.transforms import rule_tracing
from hovis.transforms.ssa_variables import Variable, Variables, absent, is_value
from hovis.transforms.vmap.batch import Batching
from hovis.transforms.vmap.divergence import Diverging, Spreading, any_of
from hovis.transforms.vmap.lane_types import array_of, form, is_none, parts_of, rank_of
from hovis.transforms.vmap.masked_stores import make_room, stored_arrays, with_memory
from hovis.transforms.vmap.parted_blocks import Order, graph_of, ordered, used_beyond


class Masked(Batching):
    """The Function that is being written, where lanes part."""

    def __init__(self, function: Function, spreading: Spreading, lanes: int, mapped: list[Param], apart: set[Block], watched: bool) -> None:
        if function.blocks[0] in apart:
            raise Diverging("lanes part in a loop that the function begins with")
        super().__init__(function, spreading, lanes, mapped)
        self.parted = apart
        #: the arrays that are stored into where lanes have parted, with what shows them, and those of them that are made there
        self.memory: set[Value] = set()
        self.made: dict[Value, Operand] = {}
        stored_arrays(self)
        self.variables = Variables()
        self.waiting = {block: Variable(make_array("bool", 1), _absent, dims=(Const(lanes),)) for block in apart}
        self.held: dict[Value, Variable] = {}
        #: in the block that is being written: the mask, whom each lane follows, and what has been asked for
        self.mask: Operand = Const(None)
        self.follows: Operand = Const(None)
        self.local: dict[Value, Operand] | None = None
        self.results, self.tree = self._results()
        self.credit = Variable(Type(int), absent)
        #: rounds may go by for nothing, for a while: what has been done can be done again
        self.watched = watched and not any(isinstance(value, Param) for value in self.memory)

    # --------------------------------------------------------------------------------------------- what there is

    def _results(self) -> tuple[list[Variable], Any]:
        """Variables for the leaves of the result, where some lanes return before others."""
        found: list[Variable] = []
        returned = [parts_of(block.terminator.value) for block in self.old.blocks if block in self.parted and isinstance(block.terminator, Return)]
        if not returned:
            raise Diverging("lanes part, and none of them returns")
        tree = form(returned[0][1])
        for leaves, other in returned:
            if form(other) != tree:
                raise Diverging("lanes return different structures")
            kinds = [self.kind_of(leaf) for leaf in parts_of(leaves)]
            if not found:
                found = [Variable(kind, _absent, dims=dims) for kind, dims in kinds]
            if [(one.type, one.dims) for one in found] != kinds:
                raise Diverging("lanes return different types")
        return found, returned[0][1]

    def kind_of(self, value: Operand) -> tuple[Array, tuple[Operand, ...]]:
        """The array of all lanes of a value, whose shape is known."""
        if isinstance(value, Const):
            known: Any = value.value
            value = Param(STANDARD.of_value(known), tuple(map(Const, getattr(known, "shape", ()))))
        assert isinstance(value, Param | Op)
        kind, dims = array_of(value, self.lanes)
        if not all(isinstance(d, Const) and isinstance(d.value, int) for d in dims):
            raise Diverging("lanes part, and the shape of a value is not known")
        return kind, dims

    def _variable(self, value: Value) -> Variable:
        """Where a value is held beyond its block."""
        found = self.held.get(value)
        if found is None:
            assert isinstance(value, Param | Op)
            if isinstance(self.of(value), tuple):
                raise Diverging("a container of what differs from lane to lane is used where lanes have parted")
            kind, dims = self.kind_of(value) if self.of(value) or (isinstance(value, Param) and value in self._params) else (value.type, value.dims)
            found = self.held[value] = Variable(kind, _absent, dims=dims)
        return found

    def run(self) -> Function:
        self._params = {param for block in self.parted for param in block.params}
        self.used = used_beyond(self.old)
        start = Block()
        leading = [block for block in self.old.blocks if block not in self.parted]
        for block in leading:
            for to in self._ways(block, start):
                self.variables.ways[to] = self.variables.ways.get(to, 0) + 1
        self.begin()
        for block in leading:
            self.leading(block, start)
        self.function.blocks.append(start)
        make_room(self, start)
        self.variables.write(self.credit, start, Const(CREDIT))
        order = ordered(graph_of(self.old, self.parted, leading))
        # all lanes come to the only block that returns, and nothing is left to be done then
        returning = [block for block in self.parted if isinstance(block.terminator, Return)]
        final = order.pop() if order[-1:] == returning else None
        end = self.sequence(order, start)
        if final is not None:
            end = self.last(final, end)
        writer = self.writer(end)
        found = [self.variables.value(one, end) for one in self.results]
        tree = self._again(writer, self.tree)
        end = writer.block
        end.terminator = Return(writer.op(make_tuple, writer.op(make_tuple, *found, type=Type(tuple)), tree, type=Type(tuple)))
        self.variables.settle()
        return self.function

    def _ways(self, block: Block, start: Block) -> list[Block]:
        """Where a block that all lanes come to leads, edge by edge."""
        if isinstance(block.terminator, Branch) and self.of(block.terminator.cond):
            return [start]
        return [start if edge.block in self.parted else self.blocks[edge.block] for edge in edges(block.terminator)]

    def writer(self, block: Block) -> "Writer":
        """What appends to a block, and knows where it goes on."""
        return Writer(self, block)

    def end(self, writer: Any, terminator: Any) -> None:
        """A block is filled, and left by the edges of this."""
        writer.block.terminator = terminator
        for edge in edges(terminator):
            self.variables.link(writer.block, edge)

    def go(self, writer: Any, block: Block) -> None:
        """The end of a block: on to another."""
        self.end(writer, Jump(Edge(block)))

    def _again(self, writer: Any, tree: Operand) -> Operand:
        return writer.op(tree.callee, *[self._again(writer, arg) for arg in tree.args], type=tree.type) if isinstance(tree, Op) else tree

    # --------------------------------------------------------------------------------------------- all lanes together

    def leading(self, block: Block, start: Block) -> None:
        """A block that all lanes come to, or none."""
        new = self.blocks[block]
        self.function.blocks.append(new)
        writer = self.writer(new)
        self.local = None
        for param in block.params:
            self._keep(writer, param)
        for op in block.ops:
            self.op(writer, op)
            self._keep(writer, op)
        leaving = [edge for edge in edges(block.terminator) if edge.block in self.parted]
        if not leaving:
            self.end(writer, self.terminator(writer, block.terminator))
            return
        old = block.terminator
        self.mask = Const(None)
        if isinstance(old, Branch) and not self.of(old.cond):
            ways = [Block(), Block()]
            self.end(writer, Branch(self.value(old.cond), Edge(ways[0]), Edge(ways[1]), old.location))
            for way, edge in zip(ways, (old.true, old.false), strict=True):
                self.function.blocks.append(way)
                self.variables.ways[way] = 1
                inner = self.writer(way)
                if edge.block in self.parted:
                    self.reach(inner, edge, inner.rule(everyone, Const(self.lanes)))
                    self.go(inner, start)
                else:
                    self.end(inner, Jump(self.edge(inner, edge)))
            return
        self.leave(writer, old)
        self.go(writer, start)

    def _keep(self, writer: Any, value: Value) -> None:
        if value in self.used and value in self.new and not isinstance(self.of(value), tuple):
            self.variables.write(self._variable(value), writer.block, self.new[value])

    # --------------------------------------------------------------------------------------------- some of them

    def sequence(self, order: Order, at: Block) -> Block:
        """Blocks one behind the other; the block behind them."""
        for item in order:
            if isinstance(item, Block):
                at = self.masked(item, at)
                continue
            head, inner = item
            test = Block()
            self.function.blocks.append(test)
            self.variables.ways[test] = 2
            self.go(self.writer(at), test)
            at = Block()
            self.variables.ways[at] = 1
            end = self.masked(head, test, at)
            self.go(self.writer(self.sequence(inner[1:], end)), test)
        return at

    def _choose(self, writer: Any, block: Block, there: Block, otherwise: Block) -> Block:
        """Go there if a lane waits for a block."""
        cond = writer.rule(some, self.variables.value(self.waiting[block], writer.block))
        self.function.blocks.append(otherwise)
        self.end(writer, Branch(cond, Edge(there), Edge(otherwise)))
        return otherwise

    def masked(self, block: Block, at: Block, out: Block | None = None) -> Block:
        """A block, if a lane waits for it; the block behind it.  If none does, out is where to go."""
        run, after = Block(), Block()
        self.function.blocks.append(run)
        self.variables.ways[run], self.variables.ways[after] = 1, 1 if out is not None else 2
        self._choose(self.writer(at), block, run, out or after)
        if out is not None:
            self.function.blocks.append(after)
        writer = self.writer(run)
        self.mask = self.variables.value(self.waiting[block], run)
        self.follows = writer.rule(chosen, Const(self.lanes), self.mask)
        self.variables.write(self.waiting[block], writer.block, writer.rule(nobody, Const(self.lanes)))
        if out is not None and self.watched:
            self.pay(writer)
        self.body(writer, block)
        old = block.terminator
        if isinstance(old, Raise):
            self.raised(writer, old)
            self.variables.ways[after] -= 1
            return after
        self.leave(writer, old)
        self.go(writer, after)
        return after

    def pay(self, writer: Any) -> None:
        """A round more; it ends if too many have been for too few lanes."""
        arrays = any(isinstance(op.type, Array) and op.type.rank for block in self.parted for op in block.all_ops())
        left = writer.rule(paid, self.variables.value(self.credit, writer.block), self.mask, Const(OF_ARRAYS if arrays else OF_NUMBERS))
        self.variables.write(self.credit, writer.block, left)
        cond, end, after = writer.rule(is_spent, left), Block(), Block()
        self.function.blocks += [end, after]
        self.variables.ways[end] = self.variables.ways[after] = 1
        self.end(writer, Branch(cond, Edge(end), Edge(after)))
        end.terminator = Raise(self.writer(end).op(RunningAway, type=Type(RunningAway)))
        writer.block = after

    def last(self, block: Block, at: Block) -> Block:
        """The block that no lane leaves but by returning: all wait for it that there are."""
        writer = self.writer(at)
        self.mask = self.follows = Const(None)
        self.body(writer, block)
        self.leave(writer, block.terminator)
        return writer.block

    def body(self, writer: Any, block: Block) -> None:
        """What is done in a block."""
        self.local = {}
        for op in block.ops:
            if op.callee is drop or op.callee is keep:
                continue
            self._ask(writer, [*op.operands(), *(op.dims or ())])
            with_memory(self, writer, op)
            if op in self.new:
                self.local[op] = self.new[op]
                self._hold(writer, op)

    def raised(self, writer: Any, old: Raise) -> None:
        """A lane raises."""
        if any_of(self.of(old.value)):
            raise Diverging("what is raised differs from lane to lane")
        self._ask(writer, [old.value])
        writer.block.terminator = Raise(self.value(old.value), old.again, old.location)

    def _ask(self, writer: Any, values: Iterable[Operand]) -> None:
        """Operands from beyond the block, as they are for the lanes that are here."""
        assert self.local is not None
        for value in values:
            if isinstance(value, Const) or value in self.local:
                continue
            assert isinstance(value, Param | Op)
            if value in self.made:
                self.local[value] = self.made[value]
                continue
            found = self.variables.value(self._variable(value), writer.block)
            follows = self.of(value) and value not in self.memory and not is_none(self.follows)
            self.local[value] = writer.rule(of_active, found, self.follows) if follows else found

    def _hold(self, writer: Any, op: Op) -> None:
        """What an op gives is kept for the lanes that are here."""
        if op not in self.used or op in self.memory:
            return
        variable, value = self._variable(op), self.new[op]
        if self.of(op):
            value = self.merged(writer, variable, value)
        self.variables.write(variable, writer.block, value)

    def merged(self, writer: Any, variable: Variable, value: Operand, mask: Operand | None = None) -> Operand:
        """A variable after some lanes were given a value."""
        old, mask = self.variables.read(variable, writer.block), self.mask if mask is None else mask
        if not is_value(old) or is_none(mask):
            # nobody looks at what the others have
            same = isinstance(value, Const) or rank_of(value) < rank_of(variable)
            if same:
                value = writer.rule(own, Const(self.lanes), value, Const(str(variable.type.dtype)))  # type: ignore[attr-defined]
            return value
        assert isinstance(old, Param | Op)
        merged: Operand = writer.rule(either, mask, value, old)
        return merged

    def leave(self, writer: Any, old: Any) -> None:
        """The end of a block: the lanes that are here wait for others."""
        if self.local is not None:
            values = [old.cond] if isinstance(old, Branch) else []
            self._ask(writer, [*values, *[arg for edge in edges(old) for arg in edge.args]])
        match old:
            case Jump():
                self.reach(writer, old.edge, writer.rule(everyone, Const(self.lanes)) if is_none(self.mask) else self.mask)
            case Branch():
                cond = self.value(old.cond)
                whole = is_none(self.mask)
                self.reach(writer, old.true, writer.rule(truths, cond) if whole else writer.rule(together, self.mask, cond))
                self.reach(writer, old.false, writer.rule(without, writer.rule(everyone, Const(self.lanes)) if whole else self.mask, cond))
            case Return():
                for variable, leaf in zip(self.results, parts_of(parts_of(old.value)[0]), strict=True):
                    if self.local is not None:
                        self._ask(writer, [leaf])
                    self.variables.write(variable, writer.block, self.merged(writer, variable, self.value(leaf)))
            case _:
                raise Diverging("lanes part where something may be caught")

    def reach(self, writer: Any, edge: Edge, mask: Operand) -> None:
        """The lanes of a mask wait for a block, and have values for its params."""
        new = []
        for param, arg in zip(edge.block.params, edge.args, strict=True):
            variable = self._variable(param)
            self._check_kind(arg, variable)
            new.append((variable, self.merged(writer, variable, self.value(arg), mask)))
        # all at once: they may be given each other
        for variable, value in new:
            self.variables.write(variable, writer.block, value)
        waiting = self.waiting[edge.block]
        old = self.variables.read(waiting, writer.block)
        self.variables.write(waiting, writer.block, writer.rule(added_to, mask, old) if is_value(old) else mask)

    def _check_kind(self, arg: Operand, variable: Variable) -> None:
        if isinstance(self.of(arg), tuple) or self.kind_of(arg)[0] != variable.type or self.kind_of(arg)[1] != variable.dims:
            raise Diverging("what a value is depends on the way")

    def value(self, operand: Operand) -> Operand:
        if self.local is not None and isinstance(operand, Op | Param):
            return self.local[operand]
        return super().value(operand)


class Writer(rule_tracing.Writer):
    """Appends to a block; what is assigned in front of a rule with ways of its own is so behind it."""

    def __init__(self, masked: Masked, block: Block) -> None:
        super().__init__(masked.function, block)
        self.variables = masked.variables

    def inline(self, function: Function, values: list[Operand]) -> Operand:
        before = self.block
        result = super().inline(function, values)
        if self.block is not before:
            self.variables.passing[self.block] = before
        return result


def _absent(variable: Variable, block: Block) -> Operand:
    """Where no lane has a value."""
    kind = variable.type
    sizes = tuple([d.value for d in variable.dims or () if isinstance(getattr(d, "value", None), int)])
    if not isinstance(kind, Array) or len(sizes) != kind.rank:
        return absent(variable, block)
    made = Op(ZEROS, (Const(sizes), Const(str(kind.dtype))), (), kind, variable.dims)
    block.ops.append(made)
    return made
