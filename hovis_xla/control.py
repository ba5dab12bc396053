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
from dataclasses import dataclass
from typing import Any, Final, cast

from hovis.ir.model import CAUGHT, Block, Branch, Edge, Invoke, Jump, Op, Param, Raise, Return, Value
from hovis.ir.model import Operand as IrOperand
from hovis_xla import emit
from hovis_xla.adapter import context, ir
from hovis_xla.adapter import stablehlo as hlo
from hovis_xla.emit import T, tensor_type
from hovis_xla.kinds import Kind, join, kind_of, rebuild, split
from hovis_xla.memory import Memory, content, locations, meet, moved, rows_of
from hovis_xla.places import Location
from hovis_xla.regions import Catching, Region, carried_out, reach, with_heads
from hovis_xla.sinking import Store, SunkStores
from hovis_xla.slots import TAG, Pending, as_val, block_of, same_slot, tensor
from hovis_xla.types import (
    ARRAY,
    BOOL,
    EITHER,
    INT32,
    UNDEF,
    Known,
    NotLowerable,
    Num,
    OneOf,
    Operand,
    Raises,
    ShapeUnknown,
    Slot,
    Stored,
    Struct,
    Val,
    raised,
)

#: Sides of a branch with at most this many scalar operations are both done, and the results selected.
SELECT_OPS: Final = 24


# ------------------------------------------------------------------------------------------------- choices


@dataclass(frozen=True, slots=True)
class Two:
    """``yes`` where pred holds, else ``no``."""

    pred: T
    yes: int
    no: int


#: Which of several: a number, one of two by a truth, or an i32 at run time.
Choice = int | Two | T


def is_one_of(choice: Choice, wanted: Collection[int]) -> "T | bool":
    """Is the choice among wanted?"""
    if isinstance(choice, int):
        return choice in wanted
    if isinstance(choice, Two):
        yes, no = choice.yes in wanted, choice.no in wanted
        return yes if yes == no else choice.pred if yes else emit.not_(choice.pred)
    found: T | None = None
    for k in wanted:
        one = emit.compare("EQ", choice, emit.constant(k, INT32))
        found = one if found is None else emit.or_(found, one)
    return False if found is None else found


def renumber(choice: Choice, numbers: dict[int, int]) -> Choice:
    """The choice in other numbers; those that are not in numbers can't occur."""
    if isinstance(choice, int):
        return numbers.get(choice, 0)
    if len(set(numbers.values())) <= 1:
        return next(iter(numbers.values()), 0)
    if isinstance(choice, Two):
        return Two(choice.pred, numbers.get(choice.yes, 0), numbers.get(choice.no, 0))
    if all(k == v for k, v in numbers.items()):
        return choice
    found = emit.constant(0, INT32)
    for k, v in numbers.items():
        if v:
            found = emit.select(emit.compare("EQ", choice, emit.constant(k, INT32)), emit.constant(v, INT32), found)
    return found


def as_tensor(choice: Choice) -> T:
    """The choice as an i32."""
    if isinstance(choice, int):
        return emit.constant(choice, INT32)
    if isinstance(choice, Two):
        return emit.select(choice.pred, emit.constant(choice.yes, INT32), emit.constant(choice.no, INT32))
    return choice


def truth(value: "T | bool") -> T:
    return emit.constant(value) if isinstance(value, bool) else value


@dataclass(slots=True)
class Arrival:
    """Where a walk may have come to, with what, and which it is.  No entries: it never comes anywhere."""

    entries: list[tuple[Block, list[Slot]]]
    choice: Choice = 0


@dataclass(slots=True)
class Side:
    """One side of a branch, emitted into a block of its own."""

    block: Any
    arrival: Arrival
    bail: T | None
    token: Any
    acted: bool
    content: dict[Location, T]


@contextmanager
def scratch(walker: "Walker") -> Iterator[Any]:
    """A place to emit regions into before the operation that will own them can be made.

    That operation needs the types of its results, and these are known only when its regions are there.  What is given
    up by an exception is put aside, and is destroyed when nothing can refer to it any more.
    """
    holder = ir.Operation.create("stablehlo.case", results=[], operands=[emit.constant(0, INT32).ir], regions=1)
    try:
        yield holder
    except Exception:
        walker.given_up.append(holder.detach_from_parent())
        raise
    selector = holder.operands[0].owner.operation
    holder.erase()
    selector.erase()


class Walker(ABC):
    """Emits the control flow.  What an op means and how a function is left is the business of ``lower.Lowering``."""

    env: dict[object, Operand]
    bail: T | None
    token: Any
    acted: bool
    needed: set[Op]
    carried_out: dict[Block, tuple[Param | Op, ...]]
    order: list[Block]
    #: how many loops there are around what is emitted
    depth: int = 0

    #: how often an iteration was done before a loop, by its head; under None: how many ops were done so
    peeled: dict[Block | None, int]
    #: what makes the call under a handler raise that is being lowered
    catching: list[tuple[T, type[BaseException]]] | None = None
    #: the blocks that only exceptions lead to
    handlers: frozenset[Block] = frozenset()
    #: why paths were given up
    reasons: list[NotLowerable]
    #: what was emitted in vain
    given_up: list[Any]
    #: what each store was made of
    stored: "dict[Any, Store]"
    memory: Memory
    #: what callers refer to
    pinned: set[Location]
    live: dict[Block, set[Value]]

    @abstractmethod
    def lower_op(self, op: Op) -> None: ...

    @abstractmethod
    def put(self, t: T, update: T, starts: tuple[T, ...]) -> T: ...

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
        for value, slot in zip((*block.params, *self.carried_out.get(block, ())), slots, strict=True):
            if slot is UNDEF:
                slot = Known(None)  # on no path that comes here
            self.env[value] = cast(Operand, slot)

    def along(self, edge: Any) -> tuple[Block, list[Slot]]:
        """What an edge brings to its block."""
        extra = self.carried_out.get(edge.block, ())
        return edge.block, [*map(self.operand, edge.args), *(self.env.get(v, UNDEF) for v in extra)]

    def ops(self, block: Block) -> None:
        for op in block.ops:
            if op in self.needed:
                self.lower_op(op)

    def block(self, block: Block, slots: list[Slot]) -> Arrival:
        """Emit one block; the Arrival at its successors.  What a handler does that can't be lowered is given up there."""
        try:
            return self._block(block, slots)
        except ShapeUnknown:
            raise
        except NotLowerable as reason:
            if block not in self.handlers and not isinstance(reason, Raises):
                raise
            self.reasons.append(reason)
            self.give_up()
            return Arrival([])

    def _block(self, block: Block, slots: list[Slot]) -> Arrival:
        self.bind(block, slots)
        terminator = block.terminator
        if isinstance(terminator, Raise):
            self.ops(block)
            self.give_up()
            return Arrival([])
        self.ops(block)
        match terminator:
            case Jump(edge=edge):
                return Arrival([self.along(edge)])
            case Catching(op=op, ok=ok, error=error):
                caught: list[tuple[T, type[BaseException]]] = []
                self.catching = caught
                try:
                    self.lower_op(op)
                except Raises as reason:
                    return self._landing(None, error, [(emit.constant(True), reason.cls)])
                finally:
                    self.catching = None
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
                found = emit.or_(found, condition)
            return Arrival(entries, Two(found, 1, 0))
        number = emit.constant(0, INT32)
        for condition, cls in reversed(caught):
            number = emit.select(condition, emit.constant(1 + classes.index(cls), INT32), number)
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
        outer = self.env, self.bail, self.token, self.acted, self.memory.content
        self.env = dict(self.env)
        self.memory.content = dict(self.memory.content)
        catching, self.catching = self.catching, None
        try:
            with ir.InsertionPoint(block), ir.Location.unknown(context()):
                arrival = walk()
            return Side(block, arrival, self.bail, self.token, self.acted, self.memory.content)
        finally:
            self.catching = catching
            self.env, self.bail, self.token, self.acted, self.memory.content = outer

    def merge(self, choice: Choice, sides: list[Side], holder: Any) -> Arrival:
        """One Arrival out of those of the sides, of which choice picks one."""
        targets = list(dict.fromkeys(block for side in sides for block, _ in side.arrival.entries))
        table: list[tuple[Block, int, list[Slot]]] = []
        for target in targets:
            brought = [next((slots for block, slots in side.arrival.entries if block is target), None) for side in sides]
            width = next(len(r) for r in brought if r is not None)
            table += [(target, k, [UNDEF if r is None else r[k] for r in brought]) for k in range(width)]
        used = self._meet(targets, sides, table)
        joined = Joined(self, choice, sides, holder)
        merged: dict[Block, list[Slot | Pending]] = {target: [] for target in targets}
        filled = [(location, joined.slot(row, "an array")) for location, row in self._contents(sides, used)]
        for target, k, row in table:
            merged[target].append(joined.slot(row, self._name(target, k)))
        picked = joined.choice([joined.renumbered(side, targets) for side in sides])
        joined.finish()
        for location, slot in filled:
            found = slot.value if isinstance(slot, Pending) else slot
            # what no side knows of is one of several that a variable never is here
            self.memory.content[location] = tensor(found) if isinstance(found, Val) else emit.zeros(location.dtype, location.shape)
        self.acted = self.acted or any(s.acted for s in sides)
        return Arrival([(t, [s if not isinstance(s, Pending) else s.value for s in merged[t]]) for t in targets], picked())

    def kept(self, block: Block) -> set[Location]:
        """What is referred to from block on, but by its slots."""
        own = {*block.params, *self.carried_out.get(block, ())}
        found = {loc for v in self.live.get(block, ()) if v not in own for loc in locations(self.env.get(v))}
        return found | self.pinned

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

    def _name(self, block: Block, k: int) -> str:
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
        for block, values in carried_out(self.order, found, self.needed).items():
            if block in region.blocks:
                self.carried_out[block] = tuple(dict.fromkeys((*self.carried_out.get(block, ()), *values)))
        return found

    @abstractmethod
    def loop(self, start: Arrival, region: Region, until: Collection[Block]) -> Arrival:
        """Emit a ``while``; the Arrival at the loop's exits (module ``loops``)."""


class Joined:
    """Collects what an ``if`` has to give, then makes it."""

    def __init__(self, walker: Walker, choice: Choice, sides: list[Side], holder: Any) -> None:
        self.walker = walker
        self.by = choice
        self.sides = sides
        self.holder = holder
        self.blocks = [s.block for s in sides]
        self.inline = self._small()
        self.wanted: list[tuple[Pending, list[Slot], Num]] = []
        self.tags: list[tuple[Pending, Pending]] = []
        self.compound: list[tuple[Pending, Kind, list[Slot | Pending]]] = []
        self.sunk: list[SunkStores] = []

    def _small(self) -> bool:
        """Are the sides a few scalar operations, which are cheaper done than jumped over?"""
        count = 0
        for side in self.sides:
            for made in side.block.operations:
                count += 1
                scalar = all(len(getattr(r.type, "shape", ())) == 0 for r in made.operation.results)
                if len(made.operation.regions) or not scalar or made.operation.name in ("stablehlo.custom_call", "func.call"):
                    return False
            rows = [slot for _, slots in side.arrival.entries for slot in slots]
            if any(isinstance(s, Val) and s.num.shape for s in rows) and not self._arrays_agree():
                return False
        return count <= SELECT_OPS * len(self.sides) and len(self.sides) <= 4

    def _arrays_agree(self) -> bool:
        """Does no array have to be selected?"""
        seen: dict[tuple[Block, int], Slot] = {}
        for side in self.sides:
            for block, slots in side.arrival.entries:
                for k, slot in enumerate(slots):
                    if isinstance(slot, Val) and slot.num.shape and not same_slot(seen.setdefault((block, k), slot), slot):
                        return False
        return True

    def slot(self, slots: list[Slot], name: str) -> "Slot | Pending":
        """What a slot is after the branch, given what it is on each side."""
        known = next((s for s in self.sunk if s.slots == slots), None)
        if known is not None:
            return known.result
        defined = [s for s in slots if s is not UNDEF]
        if not defined:
            return UNDEF
        if all(same_slot(s, defined[0]) for s in defined[1:]) and (self.inline or not self._inside(defined[0])):
            return defined[0]
        num = kind_of(defined[0], name)
        for other in defined[1:]:
            num = join(num, kind_of(other, name), name)
        if not isinstance(num, Num):
            return self._parts(slots, num, name)
        if num.kind == ARRAY and num.shape and not self.inline:
            sunk = SunkStores.of(self, slots, num)
            if sunk is not None:
                self.sunk.append(sunk)
                return sunk.result
        pending = Pending()
        self.wanted.append((pending, slots, num))
        if num.kind == EITHER:
            tag = Pending()
            self.tags.append((pending, tag))
            self.wanted.append((tag, [s if s is UNDEF else self._tag(side, s, num) for side, s in zip(self.sides, slots, strict=True)], TAG))
        return pending

    def _parts(self, slots: list[Slot], kind: Kind, name: str) -> Pending:
        """A slot of several numbers."""
        rows: list[list[Slot]] = []
        for side, slot in zip(self.sides, slots, strict=True):
            with self._at_end(side):
                rows.append(split(slot, kind))
        pending = Pending()
        self.compound.append((pending, kind, [self.slot(list(column), name) for column in zip(*rows, strict=True)]))
        return pending

    def _tag(self, side: Side, slot: Slot, num: Num) -> Val:
        with self._at_end(side):
            return Val(TAG, as_val(slot, num).tag)

    def _inside(self, slot: Slot) -> bool:
        """Is it made on one of the sides, so that it can't be seen outside?"""
        if isinstance(slot, Struct):
            return any(self._inside(p) for p in slot.parts)
        if isinstance(slot, Stored):
            return any(block_of(t.ir) == b for t in slot.place.starts for b in self.blocks)
        if isinstance(slot, OneOf):
            return any(block_of(slot.which) == b for b in self.blocks) or any(self._inside(m) for m in slot.members)
        return isinstance(slot, Val) and any(block_of(slot.ir) == b for b in self.blocks)

    def renumbered(self, side: Side, targets: list[Block]) -> "Choice | None":
        """The choice of a side, by the targets of all; nothing, if it comes nowhere."""
        if not side.arrival.entries:
            return None
        with self._at_end(side):
            return renumber(side.arrival.choice, {k: targets.index(b) for k, (b, _) in enumerate(side.arrival.entries)})

    def choice(self, choices: "list[Choice | None]") -> Any:
        """The merged choice, as a function to be called after :meth:`finish`."""
        known = {c for c in choices if isinstance(c, int)}
        if all(c is None or isinstance(c, int) for c in choices):
            if len(known) <= 1:
                return lambda: next(iter(known), 0)
            if isinstance(self.by, Two):
                numbers = {k: c for k, c in enumerate(choices) if isinstance(c, int)}
                found = renumber(self.by, numbers)
                return lambda: found
        pending = Pending()
        slots: list[Slot] = []
        for side, c in zip(self.sides, choices, strict=True):
            with self._at_end(side):
                slots.append(UNDEF if c is None else Val(Num(ARRAY, INT32), as_tensor(c).ir))
        self.wanted.append((pending, slots, Num(ARRAY, INT32)))
        return lambda: tensor(pending.value)  # type: ignore[arg-type]

    @contextmanager
    def _at_end(self, side: Side) -> Iterator[None]:
        with ir.InsertionPoint(side.block), ir.Location.unknown(context()):
            yield

    def finish(self) -> None:
        """Make the ``if``, or move both sides here and select."""
        flags = [s.bail for s in self.sides]
        before = self.walker.bail
        bails = any(f is not before for f in flags)
        if bails:
            pending = Pending()
            num = Num(ARRAY, BOOL)
            self.wanted.append((pending, [UNDEF if f is None else Val(num, f.ir) for f in flags], num))
        if self.inline:
            self._select()
        else:
            self._branch()
        for value, tag in self.tags:
            found, which = value.value, tag.value
            assert isinstance(found, Val)
            assert isinstance(which, Val)
            value.value = Val(found.num, found.ir, which.ir)
        if bails:
            flag = pending.value
            assert isinstance(flag, Val)
            self.walker.bail = tensor(flag)
        for sunk in self.sunk:
            with ir.InsertionPoint(self.holder):
                sunk.store(self.walker)
        for pending, kind, parts in self.compound:
            pending.value = rebuild(kind, iter([p.value if isinstance(p, Pending) else p for p in parts]))

    def _select(self) -> None:
        """The sides' operations move here.  What is not defined on a side may be anything there."""
        zeros = {k for k, (p, s, n) in enumerate(self.wanted) if n.dtype == BOOL and n.kind == ARRAY}
        for side in self.sides:
            for made in list(side.block.operations):
                made.operation.move_before(self.holder)
        with ir.InsertionPoint(self.holder):
            for k, (pending, slots, num) in enumerate(self.wanted):
                chosen: Val | None = None
                for number, slot in enumerate(slots):
                    if slot is UNDEF and k not in zeros:
                        continue
                    value = as_val(slot, num)
                    if chosen is None:
                        chosen = value
                    else:
                        pick = truth(is_one_of(self.by, [number]))
                        chosen = Val(num, emit.select(pick, tensor(value), tensor(chosen)).ir, roots=value.roots | chosen.roots)
                assert chosen is not None
                pending.value = chosen

    def _branch(self) -> None:
        token = self.walker.token
        acts = any(s.token is not token for s in self.sides)
        types = [tensor_type(num.dtype, num.shape) for _, _, num in self.wanted] + ([hlo.TokenType.get()] if acts else [])
        for k, side in enumerate(self.sides):
            with self._at_end(side):
                values = [as_val(slots[k], num).ir for _, slots, num in self.wanted]
                hlo.return_(values + ([side.token] if acts else []))
        with ir.InsertionPoint(self.holder):
            if len(self.sides) == 2:
                made = hlo.IfOp(types, truth(is_one_of(self.by, [0])).ir)
            else:
                made = hlo.CaseOp(types, as_tensor(self.by).ir, len(self.sides))
        for k, side in enumerate(self.sides):
            side.block.append_to(made.regions[k])
        for (pending, slots, num), result in zip(self.wanted, made.results, strict=False):
            roots = frozenset[object]().union(*(s.roots for s in slots if isinstance(s, Val)))
            pending.value = Val(num, result, roots=roots) if num.kind == ARRAY and num.shape else Val(num, result)
        if acts:
            self.walker.token = list(made.results)[-1]
