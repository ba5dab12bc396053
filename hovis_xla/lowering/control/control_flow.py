"""From jumps to ``while``, ``if`` and ``case``.

A walk follows a path through the blocks, emitting as it goes, until it comes to a place where it was told to stop.  What
it brings there is an :class:`Arrival`: the blocks it may have come to, which of them it is (a choice, known or not until
run time), and what the parameters of each become.

- A branch is walked on both sides, each up to where the sides can meet again; the two Arrivals are merged into one
  by an ``if`` (or by ``select``, if both sides are a few scalar operations).
- A loop is walked once from its heads to its heads and exits; the Arrival says whether it goes on.

There is no other rule.  An Arrival at several blocks is a branch again, on the choice; a loop with several heads, on
entering its body, too.  So irreducible control flow and ``break`` out of nested loops need nothing of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from hovis.ir.model import CAUGHT, Block, Branch, Edge, Invoke, Jump, Op, Raise, Return
from hovis.ir.model import Operand as IrOperand
from hovis_xla.analysis.loop_forest import Catching, Region, carried_out, reach, with_heads
from hovis_xla.analysis.trip_counts import Rounds
from hovis_xla.choice.cost_model import Work
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import Pending, tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location
from hovis_xla.emit.memory_ssa import Memory, content, locations, meet, moved, rows_of
from hovis_xla.emit.values import INT32, UNDEF, Known, NotLowerable, OneOf, Operand, Raises, ShapeUnknown, Slot, Val, raised
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.lowering.control.branches import Arrival, Choice, Joined, Side, Two, renumber
from hovis_xla.lowering.control.store_sinking import Store
from hovis_xla.lowering.function_scope import FunctionScope


@contextmanager
def scratch(walker: "Walker") -> Iterator[Any]:
    """A place to emit regions into before the operation that will own them can be made.

    That operation needs the types of its results, and these are known only when its regions are there.  What is given
    up by an exception is put aside, and is destroyed when nothing can refer to it any more.
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


class Walker(ABC):
    """Emits the control flow.  What an op means and how a function is left is the business of ``module.Lowering``."""

    scope: FunctionScope
    bail: T | None
    token: Any
    acted: bool
    #: how many loops there are around what is emitted
    depth: int = 0
    #: how often each of them goes round
    rounds: tuple[Rounds, ...] = ()
    #: what all ops take, and where is counted how much of it is left (``compile_budget``)
    work: Work
    fuel: Location | None = None

    #: how often an iteration was done before a loop, by its head; under None: how many ops were done so
    peeled: dict[Block | None, int]
    #: why paths were given up
    reasons: list[NotLowerable]
    #: what was emitted in vain
    given_up: list[Any]
    #: what each store was made of
    stored: "dict[Any, Store]"
    #: what has been read of an array, by its content
    loads: dict[Any, list[T]]
    memory: Memory

    @abstractmethod
    def lower_op(self, op: Op) -> None: ...

    @abstractmethod
    def bail_if(self, condition: T) -> None: ...

    @abstractmethod
    def put(self, t: T, update: T, starts: tuple[T, ...]) -> T: ...

    @abstractmethod
    def window(self, t: T, starts: tuple[T, ...], shape: tuple[int, ...]) -> T: ...

    @abstractmethod
    def barrier(self, *xs: T) -> T: ...

    @abstractmethod
    def forget(self, after: Any) -> None: ...

    @abstractmethod
    def wait_for_reads(self, loop: Any) -> None: ...

    @abstractmethod
    def read_within(self, blocks: Sequence[Any], results: Sequence[T]) -> None: ...

    @abstractmethod
    def operand(self, value: IrOperand) -> Operand: ...

    @abstractmethod
    def leave(self, terminator: Return) -> tuple[Block, list[Slot]]: ...

    @abstractmethod
    def is_exit(self, block: Block) -> bool: ...

    @abstractmethod
    def condition(self, value: Operand) -> "T | bool": ...

    @abstractmethod
    def give_up(self) -> None: ...

    # --------------------------------------------------------------------------------------------- one path

    def walk(self, start: Arrival, region: Region, until: Collection[Block], first: bool = False) -> Arrival:
        """Go on from start until every path has come to a block of until (the first one excepted, if first)."""
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
        """The parameters of a block, and what comes out of loops into it."""
        for value, slot in zip((*block.params, *self.scope.carried_out.get(block, ())), slots, strict=True):
            if slot is UNDEF:
                slot = Known(None)  # on no path that comes here
            self.scope.env[value] = cast(Operand, slot)

    def along(self, edge: Any) -> tuple[Block, list[Slot]]:
        """What an edge brings to its block."""
        extra = self.scope.carried_out.get(edge.block, ())
        return edge.block, [*map(self.operand, edge.args), *(self.scope.env.get(v, UNDEF) for v in extra)]

    def ops(self, block: Block) -> None:
        for op in block.ops:
            if op in self.scope.needed:
                self.lower_op(op)

    def block(self, block: Block, slots: list[Slot]) -> Arrival:
        """Emit one block; the Arrival at its successors.  What a handler does that can't be lowered is given up there."""
        try:
            return self._block(block, slots)
        except ShapeUnknown:
            raise
        except NotLowerable as reason:
            if block not in self.scope.handlers and not isinstance(reason, Raises):
                raise
            self.reasons.append(reason)
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
        """Behind a call under a handler: on, or to the handler with an exception of one of these classes; the first one counts."""
        classes = list(dict.fromkeys(cls for _, cls in caught))
        entries = [] if ok is None else [self.along(ok)]
        for cls in classes:
            block, slots = self.along(Edge(error.block, tuple(a for a in error.args if a is not CAUGHT)))
            entries.append((block, [raised(cls), *slots] if CAUGHT in error.args else slots))
        if not classes or ok is None:
            return Arrival(entries)
        if len(classes) == 1:
            found = caught[0][0]
            for condition, _ in caught[1:]:
                found = builder.or_(found, condition)
            return Arrival(entries, Two(found, 1, 0))
        number = builder.constant(0, INT32)
        for condition, cls in reversed(caught):
            number = builder.select(condition, builder.constant(1 + classes.index(cls), INT32), number)
        return Arrival(entries, number)

    # --------------------------------------------------------------------------------------------- branches

    def switch(self, start: Arrival, region: Region, until: Collection[Block], first: bool) -> Arrival:
        """Walk from each entry as far as only it can come, then merge."""
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
        with scratch(self) as holder:
            sides = [self.side(holder, lambda s=s: self.walk(s, region, stop, first)) for s in starts]
            return self.merge(choice, sides, holder)

    def _groups(self, start: Arrival, region: Region, first: bool, until: Collection[Block]) -> list[tuple[list[tuple[Block, list[Slot]]], dict[int, int]]]:
        """The entries, those into different heads of one loop together: (entries, old number → number within)."""
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

    def side(self, holder: Any, walk: Any) -> Side:
        """Emit a walk into a block of its own."""
        block = holder.regions[0].blocks.append()
        outer = self.scope.env, self.bail, self.token, self.acted, self.memory.content
        self.scope.env = dict(self.scope.env)
        self.memory.content = dict(self.memory.content)
        catching, self.scope.catching = self.scope.catching, None
        try:
            with ir.InsertionPoint(block), ir.Location.unknown(context()):
                arrival = walk()
            return Side(block, arrival, self.bail, self.token, self.acted, self.memory.content)
        finally:
            self.scope.catching = catching
            self.scope.env, self.bail, self.token, self.acted, self.memory.content = outer

    def merge(self, choice: Choice, sides: list[Side], holder: Any) -> Arrival:
        """One Arrival out of those of the sides, of which choice picks one."""
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
            found = slot.value if isinstance(slot, Pending) else slot
            # what no side knows of is one of several that a variable never is here
            self.memory.content[location] = tensor(found) if isinstance(found, Val) else builder.zeros(location.dtype, location.shape)
        self.acted = self.acted or any(s.acted for s in sides)
        return Arrival([(t, [s if not isinstance(s, Pending) else s.value for s in merged[t]]) for t in targets], picked())

    def kept(self, block: Block) -> set[Location]:
        """What is referred to from block on, but by its slots; within an expression, all that there is."""
        if block not in self.scope.live and not self.is_exit(block):
            return self.memory.known()
        own = {*block.params, *self.scope.carried_out.get(block, ())}
        found = {loc for v in self.scope.live.get(block, ()) if v not in own for loc in locations(self.scope.env.get(v))}
        return found | self.scope.pinned

    def _meet(self, targets: list[Block], sides: list[Side], table: list[tuple[Block, int, list[Slot]]]) -> dict[Location, tuple[Location | None, ...]]:
        """Move the arrays of the slots to where they are at each target; what is there now, and where it was on each side."""
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
        """What is in memory on each side, for all of it that differs, or that is new."""
        rows: dict[Location, list[Slot]] = {}
        here = self.memory.content
        for location in dict.fromkeys(loc for s in sides if s.arrival.entries for loc, t in s.content.items() if loc not in here or here[loc].ir != t.ir):
            if self.memory.knows(location):
                rows[location] = [self._was(s, location) for s in sides]
        for location, sources in used.items():
            if location in rows or self.memory.knows(location):
                continue
            rows[location] = [UNDEF if one is None else self._was(s, one) for s, one in zip(sides, sources, strict=True)]
        return list(rows.items())

    def _was(self, side: Side, location: Location) -> Slot:
        """What is in a location at the end of a side."""
        if not side.arrival.entries or not (location in side.content or self.memory.knows(location)):
            return UNDEF
        return content(side.content.get(location) or self.memory.read(location))

    def name_of(self, block: Block, k: int) -> str:
        names = [p.name for p in block.params]
        return names[k] or "a value" if k < len(names) else "a value"

    def each_way(self, value: OneOf, does: "Callable[[Operand], Operand]") -> Operand:
        """What comes of one of several: that of each, and the one it is at run time.  What can't be done is given up there."""
        there = Block()
        reasons: list[NotLowerable] = []

        def walk(member: Operand) -> Arrival:
            try:
                return Arrival([(there, [does(member)])])
            except ShapeUnknown:
                raise
            except NotLowerable as reason:
                reasons.append(reason)
                self.give_up()
                return Arrival([])

        with scratch(self) as holder:
            sides = [self.side(holder, lambda m=m: walk(m)) for m in value.members]
            if len(reasons) == len(sides):
                raise reasons[0]
            found = self.merge(T(value.which, INT32, ()), sides, holder)
        return cast(Operand, found.entries[0][1][0])

    def choose(self, pred: T, yes: Operand, no: Operand) -> Operand:
        """One of two, of whatever kinds."""
        there = Block()
        with scratch(self) as holder:
            sides = [self.side(holder, lambda x=x: Arrival([(there, [x])])) for x in (yes, no)]
            found = self.merge(Two(pred, 0, 1), sides, holder)
        return cast(Operand, found.entries[0][1][0])

    # --------------------------------------------------------------------------------------------- loops

    def entered_at(self, region: Region, heads: Sequence[Block]) -> Region:
        """A loop as it is when these are all its heads."""
        found = with_heads(region, heads)
        for block, values in carried_out(self.scope.order, found, self.scope.needed).items():
            if block in region.blocks:
                self.scope.carried_out[block] = tuple(dict.fromkeys((*self.scope.carried_out.get(block, ()), *values)))
        return found

    @abstractmethod
    def loop(self, start: Arrival, region: Region, until: Collection[Block]) -> Arrival:
        """Emit a ``while``; the Arrival at the loop's exits (``while_loops``)."""
