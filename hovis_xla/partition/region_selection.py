"""Selects the blocks of a Function that form a piece for XLA: a region grown from one block over all numeric blocks that fit.

A block can be in a piece if all its ops can: each op has a lowering (or calls a residual function whose ops all have one), and works
only on numbers and arrays, or on values that the piece itself makes.  Blocks are split first, so that each is either completely numeric
or not at all.  From its first numeric block, a piece grows over every numeric block that is entered only from the piece, and over every
loop that is completely numeric.

The type of a value need not be known: ``a * b`` of unknown types may be numeric at run time, and the piece finds out.
"""

import operator
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.analysis.control_flow import predecessors, terminator_operands
from hovis.ir.model import Block, Branch, Effect, Function, Jump, Op, Operand, Param, callees, edges
from hovis.lattice import AbstractValue, Array, Const, Type, Union
from hovis.lattice import Any as AnyType
from hovis.library.tables.lowerings import LOWERINGS
from hovis_xla.abi.host_callbacks import is_hostable
from hovis_xla.analysis.loop_forest import Region, regions
from hovis_xla.analysis.primitive_effects import ACTS, ENVIRONMENT
from hovis_xla.analysis.reachability import grouped
from hovis_xla.analysis.side_effects import SEEN, acts, makes_text
from hovis_xla.emit.values import CARRIERS, num_of_value
from hovis_xla.lowering.op_lowering import BUILDERS
from hovis_xla.ops import FOLDABLE, ROWS
from hovis_xla.partition.outlining import split

#: The module of the ops for exception handlers: these are entered and left on every path, also on the one past a piece, so no piece contains
#: them.
_HANDLING: Final = operations.enter_handler.__module__
#: Constructors of containers of the result, to which nothing else refers yet.
_MADE: Final = BUILDERS - {operations.make_object}


@dataclass
class Limits:
    """What has turned out to be impossible in a piece, as ops and blocks of the original Function."""

    #: ops that cannot be in a piece
    bad: set[Op] = field(default_factory=set)
    #: ops that may only be the first of a piece, because a shape depends on an earlier value
    cuts: set[Op] = field(default_factory=set)
    #: headers of loops that cannot be in a piece as a whole
    loops: set[Block] = field(default_factory=set)
    #: first ops of pieces that can't be compiled
    dead: set[Op] = field(default_factory=set)


def numeric(kind: AbstractValue) -> bool:
    """May a value of this type be a number or an array?"""
    if isinstance(kind, AnyType):
        return True
    if isinstance(kind, Union):
        return all(map(numeric, kind.members))
    if isinstance(kind, Const):
        return num_of_value(kind.value) is not None
    if isinstance(kind, Array):
        return kind.cls is np.ndarray and np.dtype(kind.dtype).kind in "biufc"  # type: ignore[call-overload]
    return isinstance(kind, Type) and (kind.cls in CARRIERS or (issubclass(kind.cls, np.generic) and np.dtype(kind.cls).kind in "biufc"))


def _is_known_early(kind: AbstractValue) -> bool:
    """Is a value of this type (a shape, a dtype, a slice, None) known by the time the piece is lowered?"""
    return isinstance(kind, Const) or (isinstance(kind, Type) and (kind.cls in (tuple, slice, type(None)) or issubclass(kind.cls, np.dtype)))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A piece: its entry block, its blocks, and the headers of the outermost loops among them."""

    entry: Block
    blocks: set[Block]
    heads: set[Block]


class Choice:
    """Selects the pieces of one Function, which is a copy made for this."""

    def __init__(self, function: Function, origins: dict[Any, Any], limits: Limits) -> None:
        self.function = function
        self.origins = origins
        self.limits = limits
        self.whole: dict[Function, bool] = {}
        self.numeric: set[Block] = set()
        #: maps the first of the ops that are rematerialized for an op to that op
        self.first: dict[Op, Op] = {}
        #: the ops for which others are rematerialized
        self.led: set[Op] = set()
        self.uses = _uses(function)

    def pieces(self) -> list[Chosen]:
        """Return the pieces that may be worth compiling, in the order of the blocks."""
        for block in list(self.function.blocks):
            self._localize(block)
            self._cut(block)
        self.incoming = predecessors(self.function)
        return self._level(regions(self.function))

    def _level(self, region: Region) -> list[Chosen]:
        """Return the pieces among the blocks of a region; a loop in it is taken as a whole, or searched for pieces."""
        pieces: list[Chosen] = []
        taken: set[Block] = set()
        for block in [b for b in self.function.blocks if b in region.blocks]:
            if block in taken:
                continue
            loop = region.loops.get(block)
            start = block if loop is None else loop.heads[0]
            found = self._grow(start, region)
            if found and self.origins.get(first_op(self.function, found, self.origins)) not in self.limits.dead:
                taken |= found
                if self._promising(found, region):
                    pieces.append(Chosen(start, found, {region.loops[b].heads[0] for b in found if b in region.loops}))
            elif loop is not None:
                taken |= loop.blocks
                pieces += self._level(loop)
        return pieces

    # --------------------------------------------------------------------------------------------- blocks

    def _localize(self, block: Block) -> None:
        """Rematerialize tuples and slices where they are used, because a piece cannot take them as arguments."""
        ops: list[Op] = []
        for op in block.ops:
            at = len(ops)
            op.args = tuple(self._again(a, ops) for a in op.args)
            if len(ops) > at:
                self.first[ops[at]] = op
                self.led.add(op)
            ops.append(op)
        block.ops = ops

    def _again(self, value: Operand, ops: list[Op]) -> Operand:
        if not isinstance(value, Op) or value.effect or not isinstance(value.type, Type):
            return value
        if value.type.cls not in (tuple, slice) or isinstance(value.callee, Function) or not self.admissible(value):
            return value
        made = Op(value.callee, (), value.kwargs, value.type, None, value.effect, value.location, value.name)
        made.args = tuple(self._again(a, ops) for a in value.args)
        ops.append(made)
        return made

    def _cut(self, block: Block) -> None:
        """Split a block wherever numeric ops begin or end, and record the numeric blocks."""
        while block.ops:
            fits = self.admissible(block.ops[0])
            at = next((k for k, op in enumerate(block.ops) if k and (self.admissible(op) != fits or self._begins(op))), len(block.ops))
            rest = None
            if at < len(block.ops) or not isinstance(block.terminator, Jump | Branch):
                rest = split(block, at, self.function)
            if fits:
                self.numeric.add(block)
            if rest is None:
                return
            block = rest
        if isinstance(block.terminator, Jump | Branch):
            self.numeric.add(block)

    def _begins(self, op: Op) -> bool:
        if op in self.led:
            return False
        old = self.origins.get(self.first.get(op, op))
        return old in self.limits.cuts or old in self.limits.dead

    def admissible(self, op: Op) -> bool:
        """Can the op, considered alone, be in a piece?"""
        if self.origins.get(op) in self.limits.bad:
            return False
        callee: Any = op.callee
        if isinstance(callee, Op | Param):
            return False
        if isinstance(callee, Function):
            return self._whole(callee)
        if getattr(callee, "__module__", None) == _HANDLING:
            return False
        try:
            known = callee in ROWS or callee in LOWERINGS or callee in FOLDABLE or callee in _MADE or callee in ENVIRONMENT or is_hostable(callee, op)
        except TypeError:
            return False
        if acts(op) and callee not in ENVIRONMENT:
            return self._is_act(op)
        if makes_text(op):
            return self._for_acts(op)
        if not known or (callee in ENVIRONMENT and (op.effect & Effect.CLOCK or not all(isinstance(a, Const) for a in op.args))):
            return False
        if callee is operator.setitem and not isinstance(getattr(op.args[0], "type", None), Array):
            return False
        return callee in _MADE or numeric(op.type) or _is_known_early(op.type)

    def _is_act(self, op: Op) -> bool:
        """Can the host perform the side effect of the op while the piece runs?"""
        if not (op.callee in ACTS or (op.effect & SEEN and not op.effect & (Effect.OPAQUE | Effect.WRITES))):
            return False
        if op.callee not in ACTS and (isinstance(op.type, Array) or any(isinstance(a, Op | Param) and not numeric(a.type) for a in op.args)):
            return False  # it acts on a generator of random numbers, say, which cannot be passed to a piece
        return not self.uses.get(op) or op.type == Type(type(None)) or (numeric(op.type) and op.callee not in ACTS)

    def _for_acts(self, op: Op) -> bool:
        """Is the text that the op makes used only to be printed?"""
        users = self.uses.get(op, ())
        return bool(users) and all(u is not None and (acts(u) or ((makes_text(u) or u.callee in _MADE) and self._for_acts(u))) for u in users)

    def _whole(self, function: Function) -> bool:
        """Can all ops of a residual function be in a piece?"""
        if function not in self.whole:
            self.whole[function] = False  # for a recursive call, which cannot
            ops = (op for f in callees(function) for op in f.ops())
            self.whole[function] = not function.is_generator and all(
                (isinstance(op.callee, type) and issubclass(op.callee, BaseException)) or self.admissible(op) for op in ops
            )
        return self.whole[function]

    # --------------------------------------------------------------------------------------------- growing

    def _grow(self, start: Block, region: Region) -> set[Block]:
        """Collect all blocks that can be in one piece with the entry ``start``."""
        found = self._unit(start, region, set())
        todo = list(found)
        while todo:
            for edge in edges(todo.pop().terminator):
                more = edge.block
                if more not in found and more in region.blocks and more not in region.heads and not self._fresh(more):
                    unit = self._unit(more, region, found)
                    if any(e.block is start for b in unit for e in edges(b.terminator)):
                        continue  # it has the back edge of the enclosing loop
                    found |= unit
                    todo += unit
        return found

    def _fresh(self, block: Block) -> bool:
        """Does a piece have to begin at this block?"""
        return bool(block.ops) and self._begins(block.ops[0])

    def _unit(self, block: Block, region: Region, found: set[Block]) -> set[Block]:
        """Return the block, or the loop of which it is the header, if it can be added to the blocks in ``found``; else an empty set."""
        loop = region.loops.get(block)
        members = {block} if loop is None else loop.blocks
        if not members <= self.numeric or (found and not all(b in found or b in members for b, _ in self.incoming[block])):
            return set()
        if loop is None:
            if not found and any(e.block is block for e in edges(block.terminator)):
                return set()
        elif not self._is_numeric_loop(loop, block):
            return set()
        return set(members) if self._operands_fit(members, found) else set()

    def _is_numeric_loop(self, loop: Region, head: Block) -> bool:
        if loop.heads != [head] or self.origins.get(head) in self.limits.loops or not all(numeric(p.type) for b in loop.blocks for p in b.params):
            return False
        if any(b is not head and self._fresh(b) for b in loop.blocks):
            return False
        return all(b in loop.blocks for m in loop.blocks if m is not head for b, _ in self.incoming[m])

    def _operands_fit(self, members: set[Block], found: set[Block]) -> bool:
        """Are all operands in the blocks numbers or arrays, or made in the piece?"""
        made: set[Operand] = {op for b in (*found, *members) for op in b.ops}
        used = [a for b in members for op in b.ops for a in op.operands()] + [b.terminator.cond for b in members if isinstance(b.terminator, Branch)]
        return all(not isinstance(a, Op | Param) or a in made or numeric(a.type) for a in used)

    def _promising(self, blocks: set[Block], region: Region) -> bool:
        """Is the piece worth a try: does it contain a loop, arithmetic on arrays or a call of a residual function?"""
        if not any(e.block not in blocks for b in blocks for e in edges(b.terminator)):
            return False
        if any(b in region.loops for b in blocks):
            return True
        ops = [op for b in blocks for op in b.ops]
        count = sum(isinstance(op.type, Array) or any(isinstance(getattr(a, "type", None), Array) for a in op.args) for op in ops)
        return count >= 2 or any(isinstance(op.callee, Function) for op in ops)


def _uses(function: Function) -> dict[Op, set[Op | None]]:
    """Return the ops that use each op; None stands for an edge, a condition or a return."""
    uses: list[tuple[Any, Op | None]] = [(value, op) for block in function.blocks for op in block.all_ops() for value in op.operands()]
    uses += [(value, None) for block in function.blocks for value in terminator_operands(block.terminator)]
    return grouped((value, user) for value, user in uses if isinstance(value, Op))


def first_op(function: Function, blocks: set[Block], known: Collection[Any]) -> Op | None:
    """Return the first op of a piece that is in ``known``, or None. It identifies the piece when the function is cut up again."""
    return next((op for b in function.blocks if b in blocks for op in b.ops if op in known), None)


def origins_of(old: Function, new: Function) -> dict[Any, Any]:
    """Map the blocks and ops of a copy, and of all functions that it calls, to those that they were copied from."""
    found: dict[Any, Any] = {}
    for one, other in zip(callees(old), callees(new), strict=True):
        for a, b in zip(one.blocks, other.blocks, strict=True):
            found[b] = a
            found.update(zip(b.all_ops(), a.all_ops(), strict=True))
    return found
