"""Outlining: pieces of a Function become Functions of their own.

    entered with:    E(params)                     E'(params)
                       …                              found = piece(live-ins)
                                         ⇒            br landing, or E where found is None
                                                    landing:  values out of found, on to where the piece is left to

A piece is a set of blocks with one entry block and any number of exits to other blocks.  Its blocks stay where they are, as the path
that is taken if the call of the piece returns None: it was not worth a call, has no executable for such arguments, or has given up.  So
an exception is raised by the original code, on its line, and does not have to be reconstructed.

Values that are made in a piece and used after it become parameters of every block on the paths to their uses.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hovis.ir import operations
from hovis.ir.analysis.control_flow import operands, predecessors
from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Invoke, Jump, Location, Op, Operand, Param, Raise, Return, Value, edges
from hovis.lattice import ANY, Const, Type
from hovis_xla.abi.ordered_effects import log_op


@dataclass(eq=False)
class Outlined:
    """A piece: a Function that returns a tuple of the values used after the piece (preceded by the number of the exit, if there are several)."""

    function: Function
    params: list[Value]
    effect: Effect
    location: Location | None


@dataclass(eq=False)
class _Exit:
    """A block to which a piece exits: the values of the piece that it or later blocks use, and which of its parameters the piece computes."""

    block: Block
    live: list[Value]
    params: list[int] = field(default_factory=list)


def _live_in(function: Function, wanted: set[Value], region: set[Block]) -> dict[Block, set[Value]]:
    """Compute, for each block outside of the region, which of the ``wanted`` values are live at its start."""
    outside = [b for b in function.blocks if b not in region]
    live = {b: {v for v in operands(b) if isinstance(v, Op | Param) and v in wanted} for b in outside}
    incoming = predecessors(function)
    todo = [b for b in outside if live[b]]
    while todo:
        block = todo.pop()
        for before, _ in incoming[block]:
            if before in live and not live[block] <= live[before]:
                live[before] |= live[block]
                todo.append(before)
    return live


def outline(function: Function, entry: Block, region: set[Block], make: Callable[[Outlined], Any], originals: dict[Function, Function]) -> bool:
    """Replace a region of function with a call of the result of ``make`` for it; change nothing and return False if that is None.

    originals: maps each residual function that ops of the piece may call to its original, which the piece calls instead.
    """
    return _Outline(function, entry, region, originals).run(make)


class _Outline:
    def __init__(self, function: Function, entry: Block, region: set[Block], originals: dict[Function, Function]) -> None:
        self.function = function
        self.entry = entry
        self.order = [b for b in function.blocks if b in region]
        self.region = region
        self.originals = originals
        self.loops = any(e.block is entry for b in self.order for e in edges(b.terminator))
        values: list[tuple[Value, Block]] = [(v, b) for b in self.order for v in b.params]
        values += [(op, b) for b in self.order for op in b.ops]
        self.made: dict[Value, Block] = dict(values)
        if not self.loops:
            for param in entry.params:  # they are defined before the piece
                del self.made[param]
        self.live = _live_in(function, set(self.made), region)
        self.exits = self._exits()

    def _exits(self) -> list[_Exit]:
        targets = dict.fromkeys(e.block for b in self.order for e in edges(b.terminator) if e.block not in self.region)
        place = {v: k for k, v in enumerate(self.made)}
        return [_Exit(t, sorted(self.live[t], key=place.__getitem__)) for t in targets]

    def run(self, make: Callable[[Outlined], Any]) -> bool:
        for exit in self.exits:
            self._choose(exit)
        piece = make(self._function())
        if piece is None:
            return False
        self._replace(piece)
        return True

    def _choose(self, exit: _Exit) -> None:
        """Find the parameters of the exit that the piece computes: all except those whose argument is defined outside and the same on every
        edge.
        """
        for k in range(len(exit.block.params)):
            args = [e.args[k] for b in self.order for e in edges(b.terminator) if e.block is exit.block]
            first = args[0]
            if not all(same(a, first) for a in args) or (isinstance(first, Op | Param) and first in self.made):
                exit.params.append(k)

    # --------------------------------------------------------------------------------------------- the Function

    def _function(self) -> Outlined:
        """Copy the blocks of the region behind an entry block that takes the live-ins."""
        new: dict[Operand, Operand] = {}
        blocks = {b: Block() for b in self.order}
        start = Block()
        incoming: list[Value] = []
        if self.loops:
            incoming += self.entry.params
        outer = dict.fromkeys(
            v for b in self.order for v in operands(b) if isinstance(v, Op | Param) and v not in self.made
        )  # values that are only passed on by edges out of the piece are not used in it
        used = self._used()
        incoming += [v for v in outer if v in used]
        params = [Param(v.type, None, v.name) for v in incoming]
        begin: tuple[Operand, ...] = ()
        if self.loops:
            begin = tuple(params[: len(self.entry.params)])
        for value, param in zip(incoming[len(begin) :], params[len(begin) :], strict=True):
            new[value] = param
        for old, block in blocks.items():
            if old is self.entry and not self.loops:
                continue
            block.params = tuple(Param(p.type, None, p.name) for p in old.params)
            new.update(zip(old.params, block.params, strict=True))
        for old in self.order:
            for op in old.ops:
                new[op] = Op(op.callee, op.args, op.kwargs, op.type, None, op.effect, op.location, op.name)
        for old, block in blocks.items():
            for op in old.ops:
                made = new[op]
                assert isinstance(made, Op)
                self._rename(made, new)
                block.ops.append(made)
        leaving: list[Block] = []
        for old, block in blocks.items():
            block.terminator = self._terminator(old, block, blocks, new, leaving)
        start.params = tuple(params)
        start.terminator = Jump(Edge(blocks[self.entry], begin))
        f = self.function
        where = next((op.location for b in self.order for op in b.ops if op.location is not None), f.location)
        found = Function(f.name, [start, *blocks.values(), *leaving], where)
        effect = Effect.PURE
        for b in self.order:
            for op in b.ops:
                effect |= op.effect
        return Outlined(found, incoming, effect & ~Effect.RAISES, where)

    def _used(self) -> set[Operand]:
        """Return the operands that the region uses; of the arguments on edges to exits, only those that the piece returns."""
        used: set[Operand] = set()
        by_block = {x.block: x for x in self.exits}
        for block in self.order:
            for op in block.ops:
                used |= set(op.operands())
            if isinstance(block.terminator, Branch):
                used.add(block.terminator.cond)
            for edge in edges(block.terminator):
                exit = by_block.get(edge.block)
                used |= {edge.args[k] for k in (exit.params if exit else range(len(edge.args)))}
        return used

    def _rename(self, op: Op, new: dict[Operand, Operand]) -> None:
        op.args = tuple(new.get(a, a) for a in op.args)
        op.kwargs = tuple((k, new.get(v, v)) for k, v in op.kwargs)
        if isinstance(op.callee, Op | Param):
            op.callee = new.get(op.callee, op.callee)
        elif isinstance(op.callee, Function):
            op.callee = self.originals.get(op.callee, op.callee)

    def _terminator(self, old: Block, block: Block, blocks: dict[Block, Block], new: dict[Operand, Operand], leaving: list[Block]) -> Any:
        def edge(found: Edge) -> Edge:
            inside = blocks.get(found.block)
            if inside is not None:
                return Edge(inside, () if inside is blocks[self.entry] and not self.loops else tuple(new.get(a, a) for a in found.args))
            leaving.append(self._leave(old, found, new))
            return Edge(leaving[-1])

        end = old.terminator
        if isinstance(end, Jump):
            return Jump(edge(end.edge), end.location)
        assert isinstance(end, Branch)
        return Branch(new.get(end.cond, end.cond), edge(end.true), edge(end.false), end.location)

    def _leave(self, old: Block, edge: Edge, new: dict[Operand, Operand]) -> Block:
        """Make a block that returns the values for the exit of an edge."""
        exit = next(x for x in self.exits if x.block is edge.block)
        parts: list[Operand] = [edge.args[k] for k in exit.params]
        parts += exit.live
        if len(self.exits) > 1:
            parts.insert(0, Const(self.exits.index(exit)))
        given = Op(operations.make_tuple, tuple(new.get(v, v) for v in parts), (), Type(tuple))
        block = Block((), [given])
        block.terminator = Return(given)
        return block

    # --------------------------------------------------------------------------------------------- replacement

    def _replace(self, piece: Any) -> None:
        function, entry = self.function, self.entry
        gate = Block(entry.params)
        if self.loops:
            gate.params = tuple(Param(p.type, p.dims, p.name) for p in entry.params)
            if function.blocks[0] is entry:  # its parameters are those of the Function
                raise AssertionError("the entry of a Function is no loop")
        else:
            entry.params = ()
        for block in function.blocks:
            if block not in self.region:
                for edge in edges(block.terminator):
                    if edge.block is entry:
                        edge.block = gate
        if not self.loops:
            for block in self.order:
                for edge in edges(block.terminator):
                    assert edge.block is not entry
        inside = dict(zip(entry.params, gate.params, strict=True)) if self.loops else {}
        args = tuple(inside.get(v, v) if isinstance(v, Param) else v for v in piece.outlined.params)
        call = Op(piece, args, (), ANY, None, piece.outlined.effect, piece.outlined.location)
        none = Op(operator.is_, (call, Const(None)), (), Type(bool))
        gate.ops = [call, none]
        for block in self.order:
            for op in block.ops:
                log_op(op, piece.log)
        self._tell(piece.left)
        self._carry()
        landing = self._landing(call, inside)
        gate.terminator = Branch(none, Edge(entry, gate.params if self.loops else ()), Edge(landing[0]))
        at = function.blocks.index(entry)
        function.blocks[at:at] = [gate, *landing]

    def _tell(self, left: Callable[[], None]) -> None:
        """Call ``left`` on each edge on which Python leaves the region: the piece may measure how long that took."""
        added: list[Block] = []
        for block in self.order:
            for edge in edges(block.terminator):
                if edge.block not in self.region:
                    told = Block((), [Op(left, (), (), Type(type(None)), None, Effect.IO)])
                    told.terminator = Jump(Edge(edge.block, edge.args))
                    edge.block, edge.args = told, ()
                    added.append(told)
        self.told = added
        self.region.update(added)
        self.order += added
        at = self.function.blocks.index(self.entry)
        self.function.blocks[at + 1 : at + 1] = added

    def _carry(self) -> None:
        """Add values that are made in the region and used after it to the parameters of each block in which they are live."""
        own: dict[Block, dict[Operand, Operand]] = {}
        for block, values in self.live.items():
            if values:
                own[block] = {v: Param(v.type, None, v.name) for v in values}
        for block in list(self.live):
            new = own.get(block, {})
            if new:
                self._renamed(block, new)
                block.params = (*block.params, *new.values())  # type: ignore[arg-type]
        for block in self.function.blocks:
            names = own.get(block, {})
            for edge in edges(block.terminator):
                if edge.block in own:
                    edge.args = (*edge.args, *(names.get(v, v) for v in own[edge.block]))
        self.own = own

    def _renamed(self, block: Block, new: dict[Operand, Operand]) -> None:
        for op in block.all_ops():
            op.args = tuple(new.get(a, a) for a in op.args)
            op.kwargs = tuple((k, new.get(v, v)) for k, v in op.kwargs)
            if isinstance(op.callee, Op | Param):
                op.callee = new.get(op.callee, op.callee)
            if op.dims and any(d in self.made for d in op.dims):
                op.dims = None
        for param in block.params:
            if param.dims and any(d in self.made for d in param.dims):
                param.dims = None
        end = block.terminator
        if isinstance(end, Branch):
            end.cond = new.get(end.cond, end.cond)
        elif isinstance(end, Return | Raise):
            end.value = new.get(end.value, end.value)
        for edge in edges(end):
            edge.args = tuple(new.get(a, a) for a in edge.args)

    def _landing(self, call: Op, inside: dict[Param, Param]) -> list[Block]:
        """Make the blocks that unpack the result tuple and continue at the exit that it names."""
        several = len(self.exits) > 1
        ends: list[Block] = []
        for exit in self.exits:
            block = Block()
            names = dict(zip(self.own.get(exit.block, {}), exit.block.params[len(exit.block.params) - len(self.own.get(exit.block, {})) :], strict=True))
            found: dict[object, Operand] = {}
            for n, key in enumerate([*exit.params, *exit.live]):
                kind = exit.block.params[key].type if isinstance(key, int) else key.type
                item = Op(operator.getitem, (call, Const(n + several)), (), kind)
                block.ops.append(item)
                found[key] = item
            outgoing = next(e for b in self.order for e in edges(b.terminator) if e.block is exit.block)
            count = len(exit.block.params) - len(names)
            args: list[Operand] = []
            for k in range(count):
                value = found[k] if k in exit.params else outgoing.args[k]
                args.append(inside.get(value, value) if isinstance(value, Param) else value)
            args += [found[v] for v in names]
            block.terminator = Jump(Edge(exit.block, tuple(args)))
            ends.append(block)
        if not several:
            return ends
        return self._switch(call, ends)

    def _switch(self, call: Op, ends: list[Block]) -> list[Block]:
        which = Op(operator.getitem, (call, Const(0)), (), Type(int))
        first = Block((), [which])
        blocks, at = [first], first
        for k, end in enumerate(ends[:-1]):
            test = Op(operator.eq, (which, Const(k)), (), Type(bool))
            at.ops.append(test)
            rest = ends[-1] if k == len(ends) - 2 else Block()
            at.terminator = Branch(test, Edge(end), Edge(rest))
            blocks.append(end)
            if rest is not ends[-1]:
                blocks.append(rest)
            at = rest
        return [*blocks, ends[-1]]


def split(block: Block, at: int, function: Function) -> Block:
    """Split a block before its op number ``at``; return the second half."""
    rest = Block((), block.ops[at:])
    rest.terminator = block.terminator
    block.ops = block.ops[:at]
    block.terminator = Jump(Edge(rest))
    function.blocks.insert(function.blocks.index(block) + 1, rest)
    return rest


__all__ = ["Invoke", "Outlined", "outline", "split"]
