"""Lanes that take different paths: each block behind the first divergent branch is executed under a mask of the lanes that reach it.

Every such block has a mask of the lanes that wait for it (its active lanes), and every value that is used outside its block is an array of
its values in all lanes.  The blocks are executed in an order in which lanes meet again: those of a loop one after another, and again
while a lane waits for its header.  In a block, inactive lanes compute with the operands of the first active lane, therefore
no lane computes, raises or warns of anything that does not happen in a lane alone; results are kept for the active lanes only.
Arrays that are stored into there are the same object throughout: a store writes back the old elements of the inactive lanes.
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
    """Writes the batched Function where lanes take different paths."""

    def __init__(self, function: Function, spreading: Spreading, lanes: int, mapped: list[Param], apart: set[Block], watched: bool) -> None:
        if function.blocks[0] in apart:
            raise Diverging("lanes part in a loop that the function begins with")
        super().__init__(function, spreading, lanes, mapped)
        self.parted = apart
        #: the arrays that are stored into where lanes have parted, and views of them; ``made``: those of them that are created there
        self.memory: set[Value] = set()
        self.made: dict[Value, Operand] = {}
        stored_arrays(self)
        self.variables = Variables()
        self.waiting = {block: Variable(make_array("bool", 1), _absent, dims=(Const(lanes),)) for block in apart}
        self.held: dict[Value, Variable] = {}
        #: in the block that is being written: the mask, the lane whose operands each lane uses, and the values known there
        self.mask: Operand = Const(None)
        self.follows: Operand = Const(None)
        self.local: dict[Value, Operand] | None = None
        self.results, self.tree = self._results()
        self.credit = Variable(Type(int), absent)
        #: raise RunningAway if much work is wasted? Only if no parameter is stored into: then all work can be done again in another way
        self.watched = watched and not any(isinstance(value, Param) for value in self.memory)

    # --------------------------------------------------------------------------------------------- values and results

    def _results(self) -> tuple[list[Variable], Any]:
        """Return variables for the leaves of the result, as some lanes return before others, and its tree."""
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
        """Return the type and the dims of the array that holds a value in all lanes; raise Diverging if its shape is unknown."""
        if isinstance(value, Const):
            known: Any = value.value
            value = Param(STANDARD.of_value(known), tuple(map(Const, getattr(known, "shape", ()))))
        assert isinstance(value, Param | Op)
        kind, dims = array_of(value, self.lanes)
        if not all(isinstance(d, Const) and isinstance(d.value, int) for d in dims):
            raise Diverging("lanes part, and the shape of a value is not known")
        return kind, dims

    def _variable(self, value: Value) -> Variable:
        """Return the variable that holds a value outside of its block."""
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
        # a single block that returns is reached by all lanes, and no work is left after it
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
        """Return the targets of a block that all lanes reach, one for each edge; ``start`` for a block where lanes part."""
        if isinstance(block.terminator, Branch) and self.of(block.terminator.cond):
            return [start]
        return [start if edge.block in self.parted else self.blocks[edge.block] for edge in edges(block.terminator)]

    def writer(self, block: Block) -> "Writer":
        """Return a writer that appends to a block, and follows it where inlined code continues in another block."""
        return Writer(self, block)

    def end(self, writer: Any, terminator: Any) -> None:
        """End the writer's block with this terminator, and link its edges."""
        writer.block.terminator = terminator
        for edge in edges(terminator):
            self.variables.link(writer.block, edge)

    def go(self, writer: Any, block: Block) -> None:
        """End the writer's block with a jump to another block."""
        self.end(writer, Jump(Edge(block)))

    def _again(self, writer: Any, tree: Operand) -> Operand:
        return writer.op(tree.callee, *[self._again(writer, arg) for arg in tree.args], type=tree.type) if isinstance(tree, Op) else tree

    # --------------------------------------------------------------------------------------------- all lanes together

    def leading(self, block: Block, start: Block) -> None:
        """Write a block that all lanes reach, or none."""
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

    # --------------------------------------------------------------------------------------------- under masks

    def sequence(self, order: Order, at: Block) -> Block:
        """Write these blocks and loops in order, from ``at`` on; return the block behind them."""
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
        """Branch to ``there`` if a lane waits for block, else to ``otherwise``, which is returned."""
        cond = writer.rule(some, self.variables.value(self.waiting[block], writer.block))
        self.function.blocks.append(otherwise)
        self.end(writer, Branch(cond, Edge(there), Edge(otherwise)))
        return otherwise

    def masked(self, block: Block, at: Block, out: Block | None = None) -> Block:
        """Write a block that is executed if a lane waits for it; return the block behind it. If no lane waits, execution continues at ``out``,
        if that is given.
        """
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
        """Emit the accounting for one more iteration: RunningAway is raised if too many iterations were done for too few lanes."""
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
        """Write the block that returns and that all lanes wait for, without a mask; return the block behind it."""
        writer = self.writer(at)
        self.mask = self.follows = Const(None)
        self.body(writer, block)
        self.leave(writer, block.terminator)
        return writer.block

    def body(self, writer: Any, block: Block) -> None:
        """Write the ops of a block."""
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
        """End the writer's block with the exception that a lane raises; raise Diverging if the exception differs between lanes."""
        if any_of(self.of(old.value)):
            raise Diverging("what is raised differs from lane to lane")
        self._ask(writer, [old.value])
        writer.block.terminator = Raise(self.value(old.value), old.again, old.location)

    def _ask(self, writer: Any, values: Iterable[Operand]) -> None:
        """Load the operands from other blocks, as they are for the active lanes: a lane that is not active gets the value of the lane that it
        follows.
        """
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
        """Write the result of op into its variable, for the active lanes."""
        if op not in self.used or op in self.memory:
            return
        variable, value = self._variable(op), self.new[op]
        if self.of(op):
            value = self.merged(writer, variable, value)
        self.variables.write(variable, writer.block, value)

    def merged(self, writer: Any, variable: Variable, value: Operand, mask: Operand | None = None) -> Operand:
        """Return the value of a variable after the lanes of mask (by default the active ones) were given value; the others keep what they had."""
        old, mask = self.variables.read(variable, writer.block), self.mask if mask is None else mask
        if not is_value(old) or is_none(mask):
            # the values of the other lanes are never read
            same = isinstance(value, Const) or rank_of(value) < rank_of(variable)
            if same:
                value = writer.rule(own, Const(self.lanes), value, Const(str(variable.type.dtype)))  # type: ignore[attr-defined]
            return value
        assert isinstance(old, Param | Op)
        merged: Operand = writer.rule(either, mask, value, old)
        return merged

    def leave(self, writer: Any, old: Any) -> None:
        """Write the end of a block: the active lanes wait for the target blocks, or return."""
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
        """Let the lanes of a mask wait for the target of edge, and set its parameters for them."""
        new = []
        for param, arg in zip(edge.block.params, edge.args, strict=True):
            variable = self._variable(param)
            self._check_kind(arg, variable)
            new.append((variable, self.merged(writer, variable, self.value(arg), mask)))
        # parallel assignment: the arguments may be other parameters of the block
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
    """Appends to a block; variables that are assigned before an inlined rule with blocks of its own are also assigned behind it."""

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
    """Emit the value of a variable where no lane has assigned one: zeros, if its shape is known."""
    kind = variable.type
    sizes = tuple([d.value for d in variable.dims or () if isinstance(getattr(d, "value", None), int)])
    if not isinstance(kind, Array) or len(sizes) != kind.rank:
        return absent(variable, block)
    made = Op(ZEROS, (Const(sizes), Const(str(kind.dtype))), (), kind, variable.dims)
    block.ops.append(made)
    return made
