"""Lowering of jumps to ``while``, ``if`` and ``case``.

A walk follows a path through the blocks, and emits them, until it reaches a block at which it was told to stop.  Its result
is an :class:`Arrival`: the blocks that it may have reached, which of them it is (a choice, known now or only at run time),
and the values of the parameters of each.

- A branch is walked on both sides, each up to where the sides can meet again; the two Arrivals are merged into one
  by an ``if`` (or by ``select``, if both sides are a few scalar operations).
- The body of a loop is walked once, from its headers to its headers and exits; the Arrival says whether the loop continues.

There is no other rule.  An Arrival at several blocks is again a branch, on the choice; and so is the entry into the body of a
loop with several headers.  Hence irreducible control flow and ``break`` out of nested loops need no special treatment.
"""

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from hovis.ir.model import CAUGHT, Block, Branch, Edge, Invoke, Jump, Op, Raise, Return
from hovis_xla.analysis.loop_forest import Catching, Region, carried_out, reach, with_heads
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import Pending, resolved, tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location
from hovis_xla.emit.memory_ssa import content, locations, meet, moved, rows_of
from hovis_xla.emit.values import BOOL, INT32, UNDEF, Known, NotLowerable, OneOf, Operand, Raises, ShapeUnknown, Slot, Val, raised
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.lowering.control.branches import Arrival, Choice, Joined, Side, Two, renumber
from hovis_xla.lowering.operands import Operands


@contextmanager
def scratch(walker: "Walker") -> Iterator[Any]:
    """Provide a place to emit regions into before the operation that will own them can be made.

    That operation needs the types of its results, and these are known only when its regions exist.  If an exception ends
    the emission, the operations are kept aside, and are destroyed when nothing can refer to them any more.
    """
    holder = ir.Operation.create("stablehlo.case", results=[], operands=[builder.constant(0, INT32).ir], regions=1)
    try:
        yield holder
    except Exception:
        walker.given_up.append(holder.detach_from_parent())
        raise
    selector = holder.operands[0].owner.operation
    holder.erase()
    selector.erase()


class Walker(Operands, ABC):
    """Emits the control flow. The meaning of ops and the exits of a function are the business of ``module.Lowering``."""

    @abstractmethod
    def lower_op(self, op: Op) -> None:
        """Lower an op, and bind it to its result."""

    @abstractmethod
    def call(self, callee: Callable[..., Any], args: list[Operand], kwargs: dict[str, Operand], op: Op | None = None) -> Operand:
        """Return the result of a call."""

    @abstractmethod
    def loop(self, start: Arrival, region: Region, until: Collection[Block]) -> Arrival:
        """Emit a ``while`` and return the Arrival at the loop's exits (``while_loops``)."""

    @abstractmethod
    def leave(self, terminator: Return) -> tuple[Block, list[Slot]]:
        """Return the exit that a return goes to, with the leaves of the result."""

    def is_exit(self, block: Block) -> bool:
        return block in self.scope.templates

    def condition(self, value: Operand) -> "T | bool":
        if isinstance(value, OneOf):
            value = self.each_way(value, lambda member: self.call(operator.truth, [member], {}))
        if isinstance(value, Known):
            return bool(value.value)
        if isinstance(value, Val) and not value.num.shape:
            return builder.convert(tensor(value), BOOL)
        raise NotLowerable("a condition that is not a single truth value", self.op.location if self.op else None)

    # --------------------------------------------------------------------------------------------- one path

    def walk(self, start: Arrival, region: Region, until: Collection[Block], first: bool = False) -> Arrival:
        """Walk from ``start`` until every path has reached a block of ``until``, and return the Arrival. ``first``: the blocks of ``start`` do
        not stop the walk.
        """
        while True:
            if not start.entries:
                return start
            blocks = [block for block, _ in start.entries]
            alone = len(set(blocks)) == len(blocks)
            stops = [not first and (block in until or self.is_exit(block)) for block in blocks]
            if all(stops) and alone:
                return start
            loops = {id(region.loops.get(b)) for b in blocks}
            if blocks[0] in region.loops and len(loops) == 1 and alone and not any(stops):
                start = self.loop(start, region.loops[blocks[0]], until)
            elif len(blocks) == 1:
                start = self.block(*start.entries[0])
            else:
                start = self.switch(start, region, until, first)
            first = False

    def bind(self, block: Block, slots: Sequence[Slot]) -> None:
        """Bind the parameters of a block, and the values that loops carry out into it, to the slots."""
        for value, slot in zip((*block.params, *self.scope.carried_out.get(block, ())), slots, strict=True):
            if slot is UNDEF:
                slot = Known(None)  # defined on no path that leads here
            self.scope.env[value] = cast(Operand, slot)

    def along(self, edge: Any) -> tuple[Block, list[Slot]]:
        """Return the block that an edge leads to, and the slots that it brings there."""
        extra = self.scope.carried_out.get(edge.block, ())
        return edge.block, [*map(self.operand, edge.args), *(self.scope.env.get(v, UNDEF) for v in extra)]

    def ops(self, block: Block) -> None:
        for op in block.ops:
            if op in self.scope.needed:
                self.lower_op(op)

    def block(self, block: Block, slots: list[Slot]) -> Arrival:
        """Emit one block and return the Arrival at its successors. A handler that can't be lowered, or an op that always raises, bails out
        there.
        """
        try:
            return self._block(block, slots)
        except ShapeUnknown:
            raise
        except NotLowerable as reason:
            if block not in self.scope.handlers and not isinstance(reason, Raises):
                raise
            self.reasons.append(reason.bare())
            self.give_up()
            return Arrival([])

    def _block(self, block: Block, slots: list[Slot]) -> Arrival:
        self.bind(block, slots)
        self.ops(block)
        match terminator := block.terminator:
            case Raise():
                self.give_up()
                return Arrival([])
            case Jump(edge=edge):
                return Arrival([self.along(edge)])
            case Catching(op=op, ok=ok, error=error):
                caught: list[tuple[T, type[BaseException]]] = []
                self.scope.catching = caught
                try:
                    self.lower_op(op)
                except Raises as reason:
                    return self._landing(None, error, [(builder.constant(True), reason.cls)])
                finally:
                    self.scope.catching = None
                return self._landing(ok, error, caught)
            case Invoke(op=op, ok=ok):
                self.lower_op(op)
                return Arrival([self.along(ok)])
            case Return():
                return Arrival([self.leave(terminator)])
            case Branch(cond=cond, true=true, false=false):
                test = self.condition(self.operand(cond))
                if isinstance(test, bool):
                    return Arrival([self.along(true if test else false)])
                return Arrival([self.along(true), self.along(false)], Two(test, 0, 1))
        raise AssertionError(terminator)

    def _landing(self, ok: Edge | None, error: Edge, caught: list[tuple[T, type[BaseException]]]) -> Arrival:
        """Return the Arrival behind a call under a handler: at ``ok``, or at the handler with an exception of one of the caught classes; the
        first condition counts.
        """
        classes = list(dict.fromkeys(cls for _, cls in caught))
        entries = [] if ok is None else [self.along(ok)]
        for cls in classes:
            block, slots = self.along(Edge(error.block, tuple(a for a in error.args if a is not CAUGHT)))
            entries.append((block, [raised(cls), *slots] if CAUGHT in error.args else slots))
        if not classes or ok is None:
            return Arrival(entries)
        if len(classes) == 1:
            return Arrival(entries, Two(functools.reduce(builder.or_, [condition for condition, _ in caught]), 1, 0))
        number = builder.constant(0, INT32)
        for condition, cls in reversed(caught):
            number = builder.select(condition, builder.constant(1 + classes.index(cls), INT32), number)
        return Arrival(entries, number)

    # --------------------------------------------------------------------------------------------- branches

    def switch(self, start: Arrival, region: Region, until: Collection[Block], first: bool) -> Arrival:
        """Walk from each entry up to the blocks that other entries reach as well, then merge."""
        groups = self._groups(start, region, first, until)
        there = {b for b, _ in start.entries if b in until or self.is_exit(b)} if not first else set()
        reached = [reach([b for b, _ in entries if b not in there], region, until) for entries, _ in groups]
        counts: dict[Block, int] = {}
        for blocks in reached:
            for block in blocks:
                counts[block] = counts.get(block, 0) + 1
        shared = {block for block, count in counts.items() if count > 1}
        choice = renumber(start.choice, {k: g for g, (_, numbers) in enumerate(groups) for k in numbers})
        if isinstance(choice, int):
            return self.walk(Arrival(groups[choice][0], renumber(start.choice, groups[choice][1])), region, {*until, *shared}, first)
        starts = [Arrival(entries, renumber(start.choice, numbers)) for entries, numbers in groups]
        stop = {*until, *shared}
        return self.merged(choice, [functools.partial(self.walk, s, region, stop, first) for s in starts])

    def _groups(self, start: Arrival, region: Region, first: bool, until: Collection[Block]) -> list[tuple[list[tuple[Block, list[Slot]]], dict[int, int]]]:
        """Group the entries, those into different headers of one loop together: (entries, old number → number within the group)."""
        groups: list[tuple[list[tuple[Block, list[Slot]]], dict[int, int]]] = []
        by_loop: dict[int, int] = {}
        for k, (block, slots) in enumerate(start.entries):
            loop = region.loops.get(block)
            at = by_loop.get(id(loop)) if loop is not None and block not in until and not first else None
            if at is not None and block not in [b for b, _ in groups[at][0]]:
                groups[at][1][k] = len(groups[at][0])
                groups[at][0].append((block, slots))
            else:
                if loop is not None:
                    by_loop.setdefault(id(loop), len(groups))
                groups.append(([(block, slots)], {k: 0}))
        return groups

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Context in which a region is emitted: at its end, the state of the walker is what it was before."""
        scope, memory = self.scope, self.memory
        outer = scope.env, scope.catching, memory.content, memory.loops, self.bail, self.token, self.acted, self.depth, self.rounds
        scope.env, scope.catching, memory.content = dict(scope.env), None, dict(memory.content)
        try:
            yield
        finally:
            scope.env, scope.catching, memory.content, memory.loops, self.bail, self.token, self.acted, self.depth, self.rounds = outer

    def side(self, holder: Any, walk: Any) -> Side:
        """Emit a walk into a block of its own and return the Side."""
        block = holder.regions[0].blocks.append()
        with self.restoring(), ir.InsertionPoint(block), ir.Location.unknown(context()):
            arrival = walk()
            return Side(block, arrival, self.bail, self.token, self.acted, self.memory.content)

    def merged(self, choice: Choice, walks: "Sequence[Callable[[], Arrival]]") -> Arrival:
        """Emit several walks, of which ``choice`` picks one, and return the Arrival at the end of any of them."""
        with scratch(self) as holder:
            return self._merge(choice, [self.side(holder, walk) for walk in walks], holder)

    def _merge(self, choice: Choice, sides: list[Side], holder: Any) -> Arrival:
        """Merge the Arrivals of the sides, of which ``choice`` picks one, into one Arrival."""
        targets = list(dict.fromkeys(block for side in sides for block, _ in side.arrival.entries))
        table: list[tuple[Block, int, list[Slot]]] = []
        for target in targets:
            brought = [next((slots for block, slots in side.arrival.entries if block is target), None) for side in sides]
            width = next(len(r) for r in brought if r is not None)
            table += [(target, k, [UNDEF if r is None else r[k] for r in brought]) for k in range(width)]
        used = self._meet(targets, sides, table)
        contents = self._contents(sides, used)
        joined = Joined(self, choice, sides, holder, [row for _, row in contents])
        merged: dict[Block, list[Slot | Pending]] = {target: [] for target in targets}
        filled = [(location, joined.slot(row, "an array")) for location, row in contents]
        for target, k, row in table:
            merged[target].append(joined.slot(row, self.name_of(target, k)))
        picked = joined.choice([joined.renumbered(side, targets) for side in sides])
        joined.finish()
        for location, slot in filled:
            found = resolved(slot)
            # a location without content on any side belongs to a member of a OneOf that can't occur here
            self.memory.content[location] = tensor(found) if isinstance(found, Val) else builder.zeros(location.dtype, location.shape)
        self.acted = self.acted or any(s.acted for s in sides)
        taken = tensor(cast(Val, picked.value)) if isinstance(picked, Pending) else picked
        return Arrival([(target, list(map(resolved, merged[target]))) for target in targets], taken)

    def kept(self, block: Block) -> set[Location]:
        """Return the locations that are referred to from ``block`` on, except by its own slots; within an expression, all that are known."""
        if block not in self.scope.live and not self.is_exit(block):
            return self.memory.known()
        own = {*block.params, *self.scope.carried_out.get(block, ())}
        found = {loc for v in self.scope.live.get(block, ()) if v not in own for loc in locations(self.scope.env.get(v))}
        return found | self.scope.pinned

    def _meet(self, targets: list[Block], sides: list[Side], table: list[tuple[Block, int, list[Slot]]]) -> dict[Location, tuple[Location | None, ...]]:
        """Move the arrays of the slots to their locations at each target. Returns each location that is used there, with the location on each
        side.
        """
        used: dict[Location, tuple[Location | None, ...]] = {}
        made: dict[Any, Location] = {}
        for target in targets:
            mine = [slots for block, _, slots in table if block is target]
            rows = [row for slots in mine for row in rows_of(slots)]
            joins = meet(rows, self.kept(target) if any(len(set(r)) > 1 for r in rows) else (), made)
            where = [{row[k]: loc for row, loc in joins.items() if row[k] is not None} for k in range(len(sides))]
            for slots in mine:
                slots[:] = [moved(s, cast(Any, where[k])) for k, s in enumerate(slots)]
            used.update({loc: row for row, loc in joins.items()})
            used.update({loc: (loc,) * len(sides) for row in rows if row not in joins for loc in row if loc is not None})
        return used

    def _contents(self, sides: list[Side], used: dict[Location, tuple[Location | None, ...]]) -> list[tuple[Location, list[Slot]]]:
        """Collect the content on each side of every location whose content differs, or that is new."""
        here = self.memory.content
        changed = dict.fromkeys(loc for s in sides if s.arrival.entries for loc, t in s.content.items() if loc not in here or here[loc].ir != t.ir)
        sources: dict[Location, tuple[Location | None, ...]] = {loc: (loc,) * len(sides) for loc in changed if self.memory.knows(loc)}
        sources |= {loc: row for loc, row in used.items() if not self.memory.knows(loc)}
        return [(loc, [UNDEF if one is None else self._was(s, one) for s, one in zip(sides, row, strict=True)]) for loc, row in sources.items()]

    def _was(self, side: Side, location: Location) -> Slot:
        """Return the content of a location at the end of a side; UNDEF if it has none there."""
        if not side.arrival.entries or not (location in side.content or self.memory.knows(location)):
            return UNDEF
        return content(side.content.get(location) or self.memory.read(location))

    def name_of(self, block: Block, k: int) -> str:
        return (block.params[k].name if k < len(block.params) else None) or "a value"

    def each_way(self, value: OneOf, does: "Callable[[Operand], Operand]") -> Operand:
        """Apply ``does`` to each member of a OneOf, and merge the results by the member that it is at run time. A member for which that can't be
        lowered bails out.
        """
        there = Block()
        reasons: list[NotLowerable] = []

        def walk(member: Operand) -> Arrival:
            try:
                return Arrival([(there, [does(member)])])
            except ShapeUnknown:
                raise
            except NotLowerable as reason:
                reasons.append(reason.bare())
                self.give_up()
                return Arrival([])

        with scratch(self) as holder:
            sides = [self.side(holder, functools.partial(walk, m)) for m in value.members]
            if len(reasons) == len(sides):
                raise reasons.pop(0)
            found = self._merge(T(value.which, INT32, ()), sides, holder)
        return cast(Operand, found.entries[0][1][0])

    def choose(self, pred: T, yes: Operand, no: Operand) -> Operand:
        """Select one of two operands of any kinds: ``yes`` where ``pred`` holds, else ``no``."""
        there = Block()
        found = self.merged(Two(pred, 0, 1), [functools.partial(Arrival, [(there, [x])]) for x in (yes, no)])
        return cast(Operand, found.entries[0][1][0])

    # --------------------------------------------------------------------------------------------- loops

    def entered_at(self, region: Region, heads: Sequence[Block]) -> Region:
        """Return the loop as a region whose headers are exactly these."""
        found = with_heads(region, heads)
        for block, values in carried_out(self.scope.order, found, self.scope.needed).items():
            if block in region.blocks:
                self.scope.carried_out[block] = tuple(dict.fromkeys((*self.scope.carried_out.get(block, ()), *values)))
        return found
