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

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hovis.ir import operations
from hovis.ir.analysis.control_flow import liveness, operands
from hovis.ir.builder import BOOL, INT, go_by_number
from hovis.ir.matching import same
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Jump, Op, Operand, Param, Return, Value, edges
from hovis.lattice import ANY, Const, Type
from hovis.passes.rewriting import copy_blocks, replace_in, replaced
from hovis_xla.abi.ordered_effects import log_op


@dataclass(eq=False)
class Outlined:
    """A piece: a Function that returns a tuple of the values used after the piece (preceded by the number of the exit, if there are several)."""

    function: Function
    params: list[Value]
    effect: Effect


@dataclass(eq=False)
class _Exit:
    """A block to which a piece exits: the values of the piece that it or later blocks use, and which of its parameters the piece computes."""

    block: Block
    live: list[Value]
    params: list[int] = field(default_factory=list)


def outline(function: Function, entry: Block, region: set[Block], make: Callable[[Outlined], Any], originals: dict[Function, Function]) -> None:
    """Replace a region of function with a call of the result of ``make`` for it.

    originals: maps each residual function that ops of the piece may call to its original, which the piece calls instead.
    """
    found = _Outline(function, entry, region)
    found.replace(make(found.outlined(originals)))


class _Outline:
    def __init__(self, function: Function, entry: Block, region: set[Block]) -> None:
        self.function = function
        self.entry = entry
        self.order = [b for b in function.blocks if b in region]
        self.region = region
        self.loops = any(e.block is entry for b in self.order for e in edges(b.terminator))
        assert not self.loops or entry is not function.blocks[0]
        #: the values that the piece makes; the parameters of its entry are made before it, unless the entry is the header of a loop
        params = [p for b in self.order if b is not entry or self.loops for p in b.params]
        self.made: dict[Value, None] = dict.fromkeys([*params, *(op for b in self.order for op in b.ops)])
        self.live = self._live()
        self.exits = self._exits()

    def _live(self) -> dict[Block, set[Value]]:
        """Find the values that are made in the region and live at the start of each other block."""
        return {block: {v for v in values if v in self.made} for block, values in liveness(self.function).items() if block not in self.region}

    def _exits(self) -> list[_Exit]:
        """Find the exits. The piece computes each of their parameters, unless its argument is made outside and the same on every edge."""
        place = {v: k for k, v in enumerate(self.made)}
        leaving = [e for b in self.order for e in edges(b.terminator) if e.block not in self.region]
        found: list[_Exit] = []
        for block in dict.fromkeys(e.block for e in leaving):
            arguments = zip(*[e.args for e in leaving if e.block is block], strict=True)
            computed = [k for k, (first, *others) in enumerate(arguments) if first in place or not all(same(a, first) for a in others)]
            found.append(_Exit(block, sorted(self.live[block], key=place.__getitem__), computed))
        return found

    # --------------------------------------------------------------------------------------------- the Function

    def outlined(self, originals: dict[Function, Function]) -> Outlined:
        """Copy the blocks of the region behind an entry block that takes the live-ins."""
        new: dict[Value, Operand] = {} if self.loops else {p: p for p in self.entry.params}
        copies = copy_blocks(self.order, new)
        first, inside = copies[self.entry], set(copies.values())
        if not self.loops:
            first.params = ()
        leaving = [self._leave(edge, new) for block in copies.values() for edge in edges(block.terminator) if edge.block not in inside]
        blocks = [*copies.values(), *leaving]
        made = {v for b in blocks for v in (*b.params, *b.all_ops())}
        outer = dict.fromkeys(v for b in blocks for v in operands(b) if isinstance(v, Op | Param) and v not in made)
        incoming = [*(self.entry.params if self.loops else ()), *outer]
        params = [Param(v.type, None, v.name) for v in incoming]
        begun = len(first.params)
        for block in blocks:
            replace_in(block, dict(zip(outer, params[begun:], strict=True)))
            for param in block.params:
                param.dims = None
            for op in block.ops:
                op.dims = None
                if isinstance(op.callee, Function):
                    op.callee = originals.get(op.callee, op.callee)
        start = Block(tuple(params), [], Jump(Edge(first, tuple(params[:begun]))))
        ops = [op for b in self.order for op in b.ops]
        effect = functools.reduce(operator.or_, [op.effect for op in ops], Effect.PURE) & ~Effect.RAISES
        where = next((op.location for op in ops if op.location is not None), self.function.location)
        return Outlined(Function(self.function.name, [start, *blocks], where), incoming, effect)

    def _leave(self, edge: Edge, new: dict[Value, Operand]) -> Block:
        """Lead an edge to an exit to a block that returns the values for this exit."""
        exit = next(x for x in self.exits if x.block is edge.block)
        parts = [*(edge.args[k] for k in exit.params), *(new[v] for v in exit.live)]
        if len(self.exits) > 1:
            parts.insert(0, Const(self.exits.index(exit)))
        given = Op(operations.make_tuple, tuple(parts), (), Type(tuple))
        edge.block, edge.args = Block((), [given], Return(given)), ()
        return edge.block

    # --------------------------------------------------------------------------------------------- replacement

    def replace(self, piece: Any) -> None:
        """Call the piece in front of the region, and continue behind it, or in the region if the piece returns None."""
        function, entry = self.function, self.entry
        gate = Block(tuple(Param(p.type, p.dims, p.name) for p in entry.params) if self.loops else entry.params)
        for block in function.blocks:
            for edge in edges(block.terminator):
                if edge.block is entry and block not in self.region:
                    edge.block = gate
        given: dict[Value, Operand] = dict(zip(entry.params, gate.params, strict=True))
        if not self.loops:
            entry.params = ()
        args = tuple(given.get(v, v) if isinstance(v, Param) else v for v in piece.outlined.params)
        call = Op(piece, args, (), ANY, None, piece.outlined.effect, piece.outlined.function.location)
        none = Op(operator.is_, (call, Const(None)), (), BOOL)
        gate.ops = [call, none]
        for block in self.order:
            for op in block.ops:
                log_op(op, piece.log)
        landings = dict([self._landing(exit, call, given) for exit in self.exits])
        first = next(iter(landings))
        if len(landings) > 1:
            which = Op(operator.getitem, (call, Const(0)), (), INT)
            first = Block((), [which])
            go_by_number(function, first, which, list(map(Edge, landings)))
        gate.terminator = Branch(none, Edge(entry, gate.params if self.loops else ()), Edge(first))
        at = function.blocks.index(entry)
        function.blocks[at : at + 1] = [gate, *landings, entry, *self._tell(piece.left)]
        self._carry(landings)

    def _landing(self, exit: _Exit, call: Op, given: dict[Value, Operand]) -> tuple[Block, dict[Value, Operand]]:
        """Make the block that continues at an exit, with values out of the result. Return it with those that are live."""
        outgoing = next(e for b in self.order for e in edges(b.terminator) if e.block is exit.block)
        kinds = [*(exit.block.params[k].type for k in exit.params), *(v.type for v in exit.live)]
        items = [Op(operator.getitem, (call, Const(n)), (), kind) for n, kind in enumerate(kinds, int(len(self.exits) > 1))]
        computed = dict(zip(exit.params, items, strict=False))
        args = tuple(computed.get(k, arg) for k, arg in enumerate(outgoing.args))
        return Block((), items, Jump(Edge(exit.block, replaced(args, given)))), dict(zip(exit.live, items[len(computed) :], strict=True))

    def _tell(self, left: Callable[[], None]) -> list[Block]:
        """Call ``left`` on each edge on which Python leaves the region: the piece may measure how long that took. Return the blocks that do."""
        told: list[Block] = []
        for block in self.order:
            for edge in edges(block.terminator):
                if edge.block not in self.region:
                    told.append(Block((), [Op(left, (), (), Type(type(None)), None, Effect.IO)], Jump(Edge(edge.block, edge.args))))
                    edge.block, edge.args = told[-1], ()
        return told

    def _carry(self, landings: dict[Block, dict[Value, Operand]]) -> None:
        """Add values that are made in the region and used after it to the parameters of each block in which they are live."""
        own: dict[Block, dict[Value, Operand]] = {b: {v: Param(v.type, None, v.name) for v in values} for b, values in self.live.items() if values}
        for block, new in own.items():
            values: list[Value] = [*block.params, *block.all_ops()]
            for value in values:
                if value.dims and any(d in self.made for d in value.dims):
                    value.dims = None
            replace_in(block, new)
            block.params = (*block.params, *new.values())  # type: ignore[arg-type]
        for block in self.function.blocks:
            names = landings.get(block) or own.get(block, {})
            for edge in edges(block.terminator):
                if edge.block in own:
                    edge.args = (*edge.args, *(names.get(v, v) for v in own[edge.block]))


def split(block: Block, at: int, function: Function) -> Block:
    """Split a block before its op number ``at``; return the second half."""
    rest = Block((), block.ops[at:])
    rest.terminator = block.terminator
    block.ops = block.ops[:at]
    block.terminator = Jump(Edge(rest))
    function.blocks.insert(function.blocks.index(block) + 1, rest)
    return rest
