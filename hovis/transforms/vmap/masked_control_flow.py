"""Lanes that go different ways: the blocks behind the first branch where they part, each done by the lanes that are there.

Every such block has a mask of the lanes that wait for it, and every value that is used beyond its block is an array with what
it is in each lane.  The blocks are done in an order in which lanes meet again: those of a loop one behind the other, and again
while a lane waits for its head.  The lanes of a block that do not wait for it do what the first one of those that do does, so
no lane computes, raises or warns of anything that it would not by itself; what comes out is kept for those that waited.
Arrays that are stored into there are one object throughout: a store puts back what the others have at that place.
"""

import operator
from collections.abc import Iterable
from typing import Any

import networkx as nx

from hovis.errors import RunningAway
from hovis.ir.analysis.control_flow import successors
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param, Raise, Return, Value, edges
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
from hovis.library.numpy.batching.indexing import made_for, stored_for
from hovis.library.standard import STANDARD, make_array
from hovis.transforms import rule_tracing
from hovis.transforms.aliasing import in_place, is_array, is_view
from hovis.transforms.rule_tracing import declines, refusal, traced
from hovis.transforms.ssa_variables import Variable, Variables, absent, is_value
from hovis.transforms.vmap.batch import Batching, Diverging, Spreading, any_of, array_of, form, is_store, not_in_place, parts_of, rank_of, told

#: Blocks in order, and loops: the head, and what is in it.
Order = list[Any]


def ordered(graph: Any) -> Order:
    """Blocks in an order in which none is done before those that lead to it, but for heads of loops."""
    found: Order = []
    whole = nx.condensation(graph)
    for at in nx.lexicographical_topological_sort(whole, key=lambda n: min(graph.nodes[b]["at"] for b in whole.nodes[n]["members"])):
        members = whole.nodes[at]["members"]
        first = min(members, key=lambda block: graph.nodes[block]["at"])
        if len(members) == 1 and not graph.has_edge(first, first):
            found.append(first)
            continue
        heads = {b for b in members if graph.nodes[b]["entered"] or any(a not in members for a in graph.predecessors(b))}
        if len(heads) != 1:
            raise Diverging("lanes part in a loop that has several ways in")
        head = heads.pop()
        inner = graph.subgraph(members).copy()
        inner.remove_edges_from(list(inner.in_edges(head)))
        inner.add_nodes_from(inner.nodes, entered=False)
        inner.nodes[head]["at"] = -1
        found.append((head, ordered(inner)))
    return found


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
        self._stores()
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

    def _stores(self) -> None:
        """Which arrays are stored into; each has to be the only one that the places may mean which show it."""
        home: dict[Any, Block] = {value: block for block in self.old.blocks for value in (*block.params, *block.all_ops())}
        stores = [op for block in self.parted for op in block.all_ops() if op.effect & Effect.WRITES or is_store(op)]
        if any(not is_store(op) for op in stores):
            raise Diverging("lanes that have parted change an array by more than an index")
        groups = {self.groups.of(op.args[0]) for op in stores}  # type: ignore[arg-type]
        roots: dict[Value, Value] = {}
        for value, block in home.items():
            if not is_array(value) or self.groups.of(value) not in groups:
                continue
            self.memory.add(value)
            if isinstance(value, Op) and (is_view(value) or in_place(value)):
                if block in self.parted and is_view(value) and any(home.get(user) is not block for user in self.users.get(value, ())):
                    raise Diverging("a part of an array is stored into beyond the place that shows it")
                continue
            if self.groups.of(value) in roots or (isinstance(value, Param) and value not in self.old.params):
                raise Diverging("lanes that have parted store into one of several arrays")
            roots[self.groups.of(value)] = value
            if block in self.parted:
                self.made[value] = Const(None)

    def _room(self, start: Block) -> None:
        """Room for the arrays that are made where lanes have parted."""
        writer = self.writer(start)
        for value in self.made:
            assert isinstance(value, Op | Param)
            kind, dims = self._kind(value)
            self.made[value] = writer.op(ZEROS, Const(tuple([d.value for d in dims])), Const(str(kind.dtype)), type=kind, dims=dims)  # type: ignore[union-attr]

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
            kinds = [self._kind(leaf) for leaf in parts_of(leaves)]
            if not found:
                found = [Variable(kind, _absent, dims=dims) for kind, dims in kinds]
            if [(one.type, one.dims) for one in found] != kinds:
                raise Diverging("lanes return different types")
        return found, returned[0][1]

    def _kind(self, value: Operand) -> tuple[Array, tuple[Operand, ...]]:
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
            kind, dims = self._kind(value) if self.of(value) or (isinstance(value, Param) and value in self._params) else (value.type, value.dims)
            found = self.held[value] = Variable(kind, _absent, dims=dims)
        return found

    def run(self) -> Function:
        self._params = {param for block in self.parted for param in block.params}
        self.used = self._beyond()
        start = Block()
        leading = [block for block in self.old.blocks if block not in self.parted]
        for block in leading:
            for to in self._ways(block, start):
                self.variables.ways[to] = self.variables.ways.get(to, 0) + 1
        self.begin()
        for block in leading:
            self.leading(block, start)
        self.function.blocks.append(start)
        self._room(start)
        self.variables.write(self.credit, start, Const(CREDIT))
        order = ordered(self._graph(leading))
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

    def _beyond(self) -> set[Value]:
        """The values that are used in other blocks than their own."""
        home: dict[Any, Block] = {value: block for block in self.old.blocks for value in (*block.params, *block.all_ops())}
        found: set[Any] = set()
        for block in self.old.blocks:
            asked = [v for op in block.all_ops() for v in (*op.operands(), *(op.dims or ()))]
            asked += [v for edge in edges(block.terminator) for v in edge.args]
            if isinstance(block.terminator, Return):
                asked += parts_of(parts_of(block.terminator.value)[0])
            asked += [getattr(block.terminator, name) for name in ("cond", "value") if hasattr(block.terminator, name)]
            found |= {v for v in asked if v in home and home[v] is not block}
        return found

    def writer(self, block: Block) -> "Writer":
        """What appends to a block, and knows where it goes on."""
        return Writer(self, block)

    def to(self, source: Block, edge: Edge) -> None:
        """source is filled, and this edge leaves it."""
        self.variables.link(source, edge)

    def go(self, writer: Any, block: Block) -> None:
        """The end of a block: on to another."""
        writer.block.terminator = Jump(Edge(block))
        self.to(writer.block, writer.block.terminator.edge)

    def _again(self, writer: Any, tree: Operand) -> Operand:
        return writer.op(tree.callee, *[self._again(writer, arg) for arg in tree.args], type=tree.type) if isinstance(tree, Op) else tree

    def _graph(self, leading: Iterable[Block]) -> Any:
        graph: Any = nx.DiGraph()
        entered = {edge.block for block in leading for edge in edges(block.terminator)}
        for at, block in enumerate(self.old.blocks):
            if block in self.parted:
                graph.add_node(block, at=at, entered=block in entered)
        graph.add_edges_from((block, to) for block in graph for to in successors(block))
        return graph

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
            writer.block.terminator = self.terminator(writer, block.terminator)
            for edge in edges(writer.block.terminator):
                self.to(writer.block, edge)
            return
        old = block.terminator
        self.mask = Const(None)
        if isinstance(old, Branch) and not self.of(old.cond):
            ways = [Block(), Block()]
            writer.block.terminator = Branch(self.value(old.cond), Edge(ways[0]), Edge(ways[1]), old.location)
            for edge in edges(writer.block.terminator):
                self.to(writer.block, edge)
            for way, edge in zip(ways, (old.true, old.false), strict=True):
                self.function.blocks.append(way)
                self.variables.ways[way] = 1
                inner = self.writer(way)
                if edge.block in self.parted:
                    self.reach(inner, edge, inner.rule(everyone, Const(self.lanes)))
                    self.go(inner, start)
                else:
                    inner.block.terminator = Jump(self.edge(inner, edge))
                    self.to(inner.block, inner.block.terminator.edge)
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
        writer.block.terminator = Branch(cond, Edge(there), Edge(otherwise))
        for edge in edges(writer.block.terminator):
            self.to(writer.block, edge)
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
        writer.block.terminator = Branch(cond, Edge(end), Edge(after))
        for edge in edges(writer.block.terminator):
            self.to(writer.block, edge)
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
            self.with_memory(writer, op)
            if op in self.new:
                self.local[op] = self.new[op]
                self._hold(writer, op)

    def with_memory(self, writer: Any, op: Op) -> None:
        """An op, which may show or change arrays that are stored into, or look at them."""
        assert self.local is not None
        shown = [v for v in op.operands() if isinstance(v, Op | Param) and v in self.memory]
        if _is_none(self.follows) or not (shown or op in self.made):
            self.op(writer, op)
        elif shown and is_store(op):
            self.store(writer, op)
        elif shown and is_view(op):
            self.op(writer, op)
        elif shown == [op.args[0]] and op.callee is operator.getitem:
            self.op(writer, op)
            self.new[op] = writer.rule(of_active, self.new[op], self.follows)
        else:
            kept = {v: self.local[v] for v in shown}
            self.local |= {v: writer.rule(of_active, array, self.follows) for v, array in kept.items()}
            self.op(writer, op)
            self.local |= kept
            if op in self.made:
                self.new[op] = writer.rule(made_for, self.mask, self.made[op], self.new[op])

    def store(self, writer: Any, op: Op) -> None:
        """A store by the lanes that are here."""
        assert self.local is not None
        writer.location = op.location
        array = self.local[op.args[0]]  # type: ignore[index]
        index: Any = Const(Ellipsis)
        which: Any = (True, False, True)
        if op.callee is operator.setitem:
            given, differs = self.stored(writer, op, self.value(op.args[2]))
            which, index = (*map(self.of, op.args[:2]), differs), self.value(op.args[1])
        else:
            plain = not_in_place(op)
            found = {v: self.local[v] for v in op.operands() if isinstance(v, Op | Param) and v in self.memory}
            self.local |= {v: writer.rule(of_active, one, self.follows) for v, one in found.items()}
            given = self.lanewise(writer, plain, tuple(map(self.of, op.args)), tuple(map(self.value, op.args)), {})
            self.local |= found
            self.new[op] = array
        function, values = traced(stored_for, [Const(self.lanes), Const(which), self.mask, array, index, given], {})
        if refusal(function) is not None or declines(function):
            raise Diverging(told(op, "is a store of another kind, by lanes that have parted"))
        writer.inline(function, values)

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
            follows = self.of(value) and value not in self.memory and not _is_none(self.follows)
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
        if not is_value(old) or _is_none(mask):
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
                self.reach(writer, old.edge, writer.rule(everyone, Const(self.lanes)) if _is_none(self.mask) else self.mask)
            case Branch():
                cond = self.value(old.cond)
                whole = _is_none(self.mask)
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
            self._kind_of(arg, variable)
            new.append((variable, self.merged(writer, variable, self.value(arg), mask)))
        # all at once: they may be given each other
        for variable, value in new:
            self.variables.write(variable, writer.block, value)
        waiting = self.waiting[edge.block]
        old = self.variables.read(waiting, writer.block)
        self.variables.write(waiting, writer.block, writer.rule(added_to, mask, old) if is_value(old) else mask)

    def _kind_of(self, arg: Operand, variable: Variable) -> None:
        if isinstance(self.of(arg), tuple) or self._kind(arg)[0] != variable.type or self._kind(arg)[1] != variable.dims:
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


def _is_none(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value is None


def _absent(variable: Variable, block: Block) -> Operand:
    """Where no lane has a value."""
    kind = variable.type
    sizes = tuple([d.value for d in variable.dims or () if isinstance(getattr(d, "value", None), int)])
    if not isinstance(kind, Array) or len(sizes) != kind.rank:
        return absent(variable, block)
    made = Op(ZEROS, (Const(sizes), Const(str(kind.dtype))), (), kind, variable.dims)
    block.ops.append(made)
    return made
