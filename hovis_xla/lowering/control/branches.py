"""Merging of the sides of a branch: the choice of the side, and the values that each side brings.

The sides are emitted into blocks of their own.  They become an ``if``, or, if they are a few operations on single elements, both
are executed and the results selected.  Arrays take no part in either: stores on a side are sunk below the branch
(``store_sinking``), and a loop on a side gets a condition, to iterate only if its side is taken.
"""

import functools
import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hovis.ir.model import Block
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import Pending, as_val, block_of, resolved, same_slot, tensor
from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.locations import Location
from hovis_xla.emit.values import ARRAY, BOOL, EITHER, INT32, UNDEF, Num, OneOf, Slot, Stored, Struct, Val
from hovis_xla.hlo.module import last_of, operations, operations_in
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.lowering.control.carried_kinds import Kind, join, kind_of, rebuild, split
from hovis_xla.lowering.control.store_sinking import MOST, SunkStores, make_conditional

if TYPE_CHECKING:
    from hovis_xla.lowering.control.control_flow import Walker

#: Sides of a branch with at most this many scalar operations are both executed, and the results selected.
SELECT_OPS: Final = 24

#: Values of at most this many elements count as small.
FEW: Final = 8

#: Maximum number of operations besides the loops on sides whose loops are guarded, so that arrays need not go through an ``if``.
MOST_OPS: Final = 256


# ------------------------------------------------------------------------------------------------- choices


@dataclass(frozen=True, slots=True)
class Two:
    """A choice of two numbers: ``yes`` where ``pred`` holds, else ``no``."""

    pred: T
    yes: int
    no: int


#: A choice among several: a known number, one of two numbers by a predicate, or an i32 at run time.
Choice = int | Two | T


def is_one_of(choice: Choice, wanted: Collection[int]) -> "T | bool":
    """Is the choice among ``wanted``? The answer is emitted as a tensor if it is not known."""
    if isinstance(choice, int):
        return choice in wanted
    if isinstance(choice, Two):
        yes, no = choice.yes in wanted, choice.no in wanted
        return yes if yes == no else choice.pred if yes else builder.not_(choice.pred)
    tests = (builder.compare("EQ", choice, builder.constant(k, INT32)) for k in wanted)
    return functools.reduce(builder.or_, tests) if wanted else False


def renumber(choice: Choice, numbers: dict[int, int]) -> Choice:
    """Return the choice with its numbers mapped by ``numbers``; those that are not in it can't occur."""
    if isinstance(choice, int):
        return numbers.get(choice, 0)
    if len(set(numbers.values())) <= 1:
        return next(iter(numbers.values()), 0)
    if isinstance(choice, Two):
        return Two(choice.pred, numbers.get(choice.yes, 0), numbers.get(choice.no, 0))
    if all(k == v for k, v in numbers.items()):
        return choice
    found = builder.constant(0, INT32)
    for k, v in numbers.items():
        if v:
            found = builder.select(builder.compare("EQ", choice, builder.constant(k, INT32)), builder.constant(v, INT32), found)
    return found


def as_tensor(choice: Choice) -> T:
    """Return the choice as an i32 tensor."""
    if isinstance(choice, int):
        return builder.constant(choice, INT32)
    if isinstance(choice, Two):
        return builder.select(choice.pred, builder.constant(choice.yes, INT32), builder.constant(choice.no, INT32))
    return choice


def truth(value: "T | bool") -> T:
    return builder.constant(value) if isinstance(value, bool) else value


@dataclass(slots=True)
class Arrival:
    """The blocks that a walk may have reached, with the slots for each, and the choice of which it is. No entries: the walk never reaches a
    block.
    """

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


# ------------------------------------------------------------------------------------------------- sides


class Joined:
    """Collects the results that an ``if`` has to give, then makes it."""

    def __init__(self, walker: "Walker", choice: Choice, sides: list[Side], holder: Any, contents: list[list[Slot]]) -> None:
        self.walker = walker
        self.by = choice
        self.sides = sides
        self.holder = holder
        self.blocks = [s.block for s in sides]
        self.loops: list[tuple[int, Any]] = []  # loops on the sides, with the number of the side
        self.inline = self._small() and self._fits(contents)
        self.wanted: list[tuple[Pending, list[Slot], Num]] = []
        self.compound: list[tuple[Pending, Kind, list[Slot | Pending]]] = []
        self.sunk: list[SunkStores] = []
        self.conditional: dict[Any, None] = {}  # arrays after the stores on the side with loops; these stores stay in place

    def _small(self) -> bool:
        """Are the sides a few operations on a few elements, which are cheaper to execute than to jump over? Stores do not count, as they can be
        sunk.
        """
        count = branches = 0
        for side in self.sides:
            stores = self._stores(side)
            for op in operations(side.block):
                if op in stores:
                    continue
                if op.name == "stablehlo.while" and not any(isinstance(r.type, hlo.TokenType) for r in op.results):
                    self.loops.append((self.sides.index(side), op))
                    continue
                count += op.name != "stablehlo.constant"
                branches += op.name == "stablehlo.if"
                few = all(math.prod(getattr(r.type, "shape", (FEW + 1,))) <= FEW for r in op.results)
                if (len(op.regions) and op.name != "stablehlo.if") or not few or operations_in(op, "stablehlo.custom_call"):
                    return False
        most = MOST_OPS if self.loops else 0 if branches else SELECT_OPS * len(self.sides)
        return count <= most and len(self.sides) <= 4 and self._arrays_agree()

    def _fits(self, contents: list[list[Slot]]) -> bool:
        """Is no select of an array needed, because its stores can be sunk, or because loops on one side make them and the other sides leave it
        as it is?

        An array that goes through an ``if`` is copied; a loop that runs no iteration leaves it in place.
        """
        passed = [self._passed(row) for row in contents]
        if self.loops and not any(passed):
            return False
        return all(p is not None or SunkStores.chains(self, row) is not None for p, row in zip(passed, contents, strict=True))

    def _passed(self, slots: list[Slot]) -> tuple[Val, list[Any]] | None:
        """Match an array that loops on one side change and the other sides leave as it is: return its value after them, and the contents after
        stores, which the loops read; else None.
        """
        made = [s for s in slots if isinstance(s, Val) and block_of(s.ir) in self.blocks]
        if len(made) != 1 or len({k for k, _ in self.loops}) != 1 or not any(made[0] is s for s in (slots[k] for k, _ in self.loops)):
            return None
        t, stores, looks = made[0].ir, [], False
        while block_of(t) in self.blocks:
            if t in self.walker.stored:
                looks = looks or any(use.owner.operation.name == "stablehlo.while" for use in t.uses)
                stores.append(t)
                t = self.walker.stored[t][0].ir
            elif t.owner.name == "stablehlo.while":
                t, looks = t.owner.operands[list(t.owner.results).index(t)], True
            else:
                return None
        alone = all(s is made[0] or (isinstance(s, Val) and s.ir == t) for s in slots if s is not UNDEF)
        return (made[0], stores) if alone and looks and len(stores) <= MOST else None

    def _stores(self, side: Side) -> set[Any]:
        """Collect the operations of a side that give arrays after stores: the store, and the barrier behind it."""
        found: set[Any] = set()
        for op in operations(side.block):
            if any(r in self.walker.stored for r in op.results):
                found.add(op)
                if op.name == "func.call":
                    found.add(op.operands[0].owner)
        return found

    def _arrays_agree(self) -> bool:
        """Do all sides bring the same arrays, with no need to select one?"""
        seen: dict[tuple[Block, int], Slot] = {}
        for side in self.sides:
            for block, slots in side.arrival.entries:
                for k, slot in enumerate(slots):
                    if isinstance(slot, Val) and slot.num.shape and not same_slot(seen.setdefault((block, k), slot), slot):
                        return False
        return True

    def slot(self, slots: list[Slot], name: str) -> "Slot | Pending":
        """Return the slot after the branch, given its value on each side."""
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
        if not isinstance(num, Num) or num.kind == EITHER:
            return self._parts(slots, num, name)
        if num.kind == ARRAY and num.shape and self.inline:
            passed = self._passed(slots)
            if passed is not None:
                self.conditional.update(dict.fromkeys(passed[1]))
                return passed[0]
        if num.kind == ARRAY and num.shape:
            sunk = SunkStores.of(self, slots, num)
            if sunk is not None:
                self.sunk.append(sunk)
                return sunk.result
        pending = Pending()
        self.wanted.append((pending, slots, num))
        return pending

    def _parts(self, slots: list[Slot], kind: Kind, name: str) -> Pending:
        """Merge a slot that consists of several numbers."""
        rows: list[list[Slot]] = []
        for side, slot in zip(self.sides, slots, strict=True):
            with self._at_end(side):
                rows.append(split(slot, kind))
        pending = Pending()
        self.compound.append((pending, kind, [self.slot(list(column), name) for column in zip(*rows, strict=True)]))
        return pending

    def _inside(self, slot: Slot) -> bool:
        """Is the slot defined on one of the sides, and therefore not visible outside?"""
        if isinstance(slot, Struct):
            return any(map(self._inside, slot.parts))
        if isinstance(slot, Stored):
            return any(block_of(t.ir) in self.blocks for t in slot.place.starts)
        if isinstance(slot, OneOf):
            return block_of(slot.which) in self.blocks or any(map(self._inside, slot.members))
        return isinstance(slot, Val) and block_of(slot.ir) in self.blocks

    def renumbered(self, side: Side, targets: list[Block]) -> "Choice | None":
        """Return the choice at the end of a side, in the numbering of ``targets``; None if the side reaches no block."""
        if not side.arrival.entries:
            return None
        with self._at_end(side):
            return renumber(side.arrival.choice, {k: targets.index(b) for k, (b, _) in enumerate(side.arrival.entries)})

    def choice(self, choices: "list[Choice | None]") -> "Choice | Pending":
        """Return the merged choice."""
        known = {c for c in choices if isinstance(c, int)}
        if all(c is None or isinstance(c, int) for c in choices):
            if len(known) <= 1:
                return next(iter(known), 0)
            if isinstance(self.by, Two):
                return renumber(self.by, {k: c for k, c in enumerate(choices) if isinstance(c, int)})
        pending = Pending()
        slots: list[Slot] = []
        for side, c in zip(self.sides, choices, strict=True):
            with self._at_end(side):
                slots.append(UNDEF if c is None else Val(Num(ARRAY, INT32), as_tensor(c).ir))
        self.wanted.append((pending, slots, Num(ARRAY, INT32)))
        return pending

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
        if bails:
            flag = pending.value
            assert isinstance(flag, Val)
            self.walker.bail = tensor(flag)
        for sunk in self.sunk:
            with ir.InsertionPoint(self.holder):
                sunk.store(self.walker)
        for pending, kind, parts in self.compound:
            pending.value = rebuild(kind, map(resolved, parts))

    def _select(self) -> None:
        """Move the operations of the sides here, and select the results. A value that is not defined on a side may be anything there."""
        for number, loop in self.loops:
            self._guard(number, loop)
        for after in reversed(self.conditional):
            make_conditional(self.walker, after, self._here(self.loops[0][0]))
        looping = {number for number, _ in self.loops}
        for _, side in sorted(enumerate(self.sides), key=lambda s: s[0] in looping):
            for op in operations(side.block):
                op.move_before(self.holder)
        for _, loop in self.loops:
            self.walker.wait_for_reads(loop)
        with ir.InsertionPoint(self.holder):
            for pending, slots, num in self.wanted:
                chosen: Val | None = None
                for number, slot in enumerate(slots):
                    if slot is UNDEF and not (num.kind == ARRAY and num.dtype == BOOL):
                        continue
                    value = as_val(slot, num)
                    if chosen is None:
                        chosen = value
                    else:
                        pick = truth(is_one_of(self.by, [number]))
                        chosen = Val(num, builder.select(pick, tensor(value), tensor(chosen)).ir, roots=value.roots | chosen.roots)
                assert chosen is not None
                pending.value = chosen

    def _guard(self, number: int, loop: Any) -> None:
        """Make a loop iterate only where its side is the one that is taken."""
        here = self._here(number)
        end = last_of(loop.regions[0].blocks[0])
        with ir.InsertionPoint(end), ir.Location.unknown(context()):
            end.operands[0] = builder.and_(T(end.operands[0], BOOL, ()), here).ir

    def _here(self, number: int) -> T:
        """Emit the test of whether this side is the one that is taken."""
        with ir.InsertionPoint(self.holder):
            return truth(is_one_of(self.by, [number]))

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
        results = [T(r, num.dtype, num.shape) for (_, _, num), r in zip(self.wanted, made.results, strict=False)]
        self.walker.read_within([side.block for side in self.sides], results)
        for (pending, slots, num), result in zip(self.wanted, made.results, strict=False):
            roots = frozenset[object]().union(*(s.roots for s in slots if isinstance(s, Val)))
            pending.value = Val(num, result, roots=roots) if num.kind == ARRAY else Val(num, result)
        if acts:
            self.walker.token = list(made.results)[-1]
