"""Loops: one ``while`` for each strongly connected part of the control flow.

The body is walked from the heads to the heads and the exits.  What goes round are the parameters of the heads, then,
each only if there is need for it: the number of the head that comes next, the token, the flag that says go on, the bail,
the number of the exit, and the values that leave by the exits.

A loop whose head is nothing but a cheap test keeps it: it becomes the condition, is emitted once more at the top of the
body for the values it defines, and a last time behind the loop.  All others are ``while go:``, ``go`` made in the body.

What a parameter of a head is, is learned by trying: if the body brings another kind of thing than there was at first, what
was emitted is given up.  Then one iteration is done before the loop (``x = 0``, and an array from the second one on), or
the parameter is one of both from the start.
"""

import operator
from collections.abc import Collection, Sequence
from typing import Any, Final

from hovis.ir.model import Block, Branch, Op
from hovis_xla.analysis.loop_condition import Top, comparison, top_test
from hovis_xla.analysis.loop_forest import Region
from hovis_xla.analysis.ranges.intervals import before
from hovis_xla.analysis.trip_counts import rounds_of
from hovis_xla.emit import builder
from hovis_xla.emit.affine import difference
from hovis_xla.emit.block_slots import as_val, num_of, tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location
from hovis_xla.emit.memory_ssa import Loop
from hovis_xla.emit.values import (
    ARRAY,
    BOOL,
    INT,
    INT32,
    Carried,
    NotLowerable,
    Num,
    Raises,
    Slot,
    Val,
)
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.lowering.control.bounds_check_hoisting import INTEGERS, Copies, Counting, Rounds, is_light
from hovis_xla.lowering.control.branches import Arrival, Choice, as_tensor, is_one_of, renumber, truth
from hovis_xla.lowering.control.carried_values import CarriedValues, Changed, Kinds, Made
from hovis_xla.lowering.control.compile_budget import burned
from hovis_xla.lowering.control.control_flow import Walker, scratch

#: So often a loop is emitted, each time knowing more of what its variables become.
ATTEMPTS: Final = 24

#: A first iteration is done before the loop, if it is this short, this often in a row, and within this for all loops together.
PEELED_OPS: Final = 300
PEELINGS: Final = 3
PEELED_IN_ALL: Final = 3000


def lower_loop(walker: Walker, start: Arrival, region: Region, until: Collection[Block]) -> Arrival:
    """Emit a loop; the Arrival at its exits, or at its heads as well, if it was one iteration that was emitted."""
    kinds: Kinds = {}
    made: Made = {}
    for _ in range(ATTEMPTS):
        lowering = LoopLowering(walker, start, region, until, kinds, made)
        try:
            return lowering.run()
        except Raises as reason:
            if lowering.top is None or not lowering.top.reads:
                raise
            walker.reasons.append(reason)  # what the test reads is never there
            walker.give_up()
            return Arrival([])
        except Changed as change:
            if change.replaced and not kinds and _may_peel(walker, region, lowering.heads[0]):
                return walker.walk(start, lowering.region, lowering.until, first=True)
            kinds = {**kinds, **change.kinds}
    raise NotLowerable("a loop in which it does not become clear which array is which")


def _may_peel(walker: Walker, region: Region, head: Block) -> bool:
    size = sum(op in walker.scope.needed for block in region.blocks for op in block.all_ops())
    times, spent = walker.peeled.get(head, 0), walker.peeled.get(None, 0)
    if size > PEELED_OPS or times >= PEELINGS or spent + size > PEELED_IN_ALL:
        return False
    walker.peeled[head], walker.peeled[None] = times + 1, spent + size
    return True


class LoopLowering(CarriedValues):
    """One loop: its body, and the ``while`` that is made of it."""

    def run(self) -> Arrival:
        w = self.walker
        if set(self.heads) != set(self.region.heads):
            # a test that was decided while lowering leaves a way in unused
            self.region = w.entered_at(self.region, self.heads)
        w.acted = w.acted or self.acts
        entry_bail = w.bail
        self.carry_heads()
        with scratch(w) as holder:
            self.holder = holder
            self.body = holder.regions[0].blocks.append()
            outer = w.scope.env, w.bail, w.token, w.memory.content, w.rounds
            w.scope.env = dict(w.scope.env)
            w.rounds = (*w.rounds, rounds_of(self.region, w.scope.ranges, w.scope.arguments))
            w.depth += 1
            self.loop = Loop(self.body, w.memory.content)
            w.memory.loops.append(self.loop)
            w.memory.content = {}
            try:
                with burned(w, self.body):
                    arrival = self._emit_body()
                bail, token, self.inside = w.bail, w.token, w.memory.content
            finally:
                w.depth -= 1
                w.memory.loops.pop()
                w.scope.env, w.bail, w.token, w.memory.content, w.rounds = outer
            return self._close(arrival, bail, token, entry_bail)

    # --------------------------------------------------------------------------------------------- the body

    def _emit_body(self) -> Arrival:
        w = self.walker
        self.roots = [frozenset({Carried(self, at)}) for at in range(len(self.inits))]
        values = [Val(v.num, self.argument(v.num), roots=roots) for v, roots in zip(self.inits, self.roots, strict=True)]
        entries = [(block, [self.slot(block, k, values) for k in range(len(slots))]) for block, slots in self.start.entries]
        self.arguments = values
        choice: Choice = 0
        if len(self.heads) > 1:
            choice = T(self.argument(Num(ARRAY, INT32)), INT32, ())
        if self.acts:
            w.token = self.body.add_argument(hlo.TokenType.get(), ir.Location.unknown(context()))
        w.bail = None
        for location, at in self.arrays.items():
            w.memory.content[location] = tensor(values[at])
        self.top = top_test(self.region, self.heads, w.scope.needed, self.acts)
        with ir.InsertionPoint(self.body), ir.Location.unknown(context()):
            if self.top is None:
                return w.walk(Arrival(entries, choice), self.region, self.until, first=True)
            stay = self.top.stay
            head = self.heads[0]
            w.bind(head, entries[0][1])
            w.ops(head)
            if self.top.reads:
                w.bail = None  # else there would be no such round
            return w.walk(Arrival([w.along(stay)]), self.region, self.until)

    # --------------------------------------------------------------------------------------------- closing

    def _close(self, arrival: Arrival, bail: T | None, token: Any, entry_bail: T | None) -> Arrival:
        """Make the ``while`` out of what the body arrived at."""
        w = self.walker
        with ir.InsertionPoint(self.body), ir.Location.unknown(context()):
            self.end_heads(arrival)
            leaving = [(k, b, slots) for k, (b, slots) in enumerate(arrival.entries) if b not in self.heads]
            going = {k: self.heads.index(b) for k, (b, _) in enumerate(arrival.entries) if b in self.heads}
            if len(self.heads) > 1:
                first = self.outside(lambda: as_tensor(self.start.choice))
                self.carry(first.ir, as_tensor(renumber(arrival.choice, going)).ir, argument=False)
            if self.acts:
                self.carry(w.token, token, argument=False)
            self.carried = self.carry_memory()
            go: T | bool = is_one_of(arrival.choice, going) if arrival.entries else False
            bail, entry_bail = self._foresee(go, bail, entry_bail)
            flag = self._carry_go(go, bail, entry_bail)
            failed = self._carry_bail(bail, entry_bail)
            which = self._carry_choice(arrival.choice, leaving)
            exits = [(b, [self.carry_exit(s, w.name_of(b, k)) for k, s in enumerate(slots)]) for _, b, slots in leaving]
            hlo.return_(self.ends)
        results = self._make(flag, failed)
        if self.acts:
            w.token = results[len(self.arguments) + (len(self.heads) > 1)]
        if failed is not None:
            w.bail = T(results[failed], BOOL, ())
        for location, at in self.carried.items():
            before, within = self.loop.carried[location]
            if self.ends[at] != within.ir:
                w.memory.content[location] = T(results[at], location.dtype, location.shape)
            else:  # it has been read when the loop is done
                w.loads.setdefault(before.ir, []).extend(T(results[k], v.num.dtype, ()) for k, v in enumerate(self.inits[:1]) if not v.num.shape)
        for location, at in self.arrays.items():
            w.memory.content[location] = T(results[at], location.dtype, location.shape)
        for location, value in self.after.values():
            w.memory.content[location] = T(results[value] if isinstance(value, int) else value, location.dtype, location.shape)
        return self._after(results, exits, which)

    def _foresee(self, go: "T | bool", bail: T | None, entry_bail: T | None) -> tuple[T | None, T | None]:
        """What is left of the bail, and of the one in front, if it is found out before a round that it would fail."""
        w = self.walker
        if go is not True or self.top is None or self.acts or w.fuel is not None:
            return bail, entry_bail
        counter = self._counter()
        if bail is not None and counter is not None:
            bail, early = Rounds(self.body, [v.ir for v in self.inits], self.ends).foresee(bail, counter[1], self.outside)
            if early is not None:
                before_it = entry_bail
                entry_bail = w.bail = early if before_it is None else self.outside(lambda: builder.or_(before_it, early))
        if bail is not None and is_light(bail, self.body):
            self.guard, bail = bail, None
        if counter is None or counter[1].included or bail is not None or entry_bail is None:
            return bail, entry_bail
        (at, counting), failed = counter, entry_bail
        over = self.outside(lambda: builder.select(failed, counting.bound, counting.start))
        self.inits[at] = Val(self.inits[at].num, over.ir)  # no flag goes round: it has counted already
        return None, None

    def _counter(self) -> tuple[int, Counting] | None:
        """The number of what is carried that counts, and how, if the test at the top is whether it has come to a bound."""
        w, head = self.walker, self.heads[0]
        if not isinstance(head.terminator, Branch) or self.top is None:
            return None
        found = comparison(head.terminator.cond, self.top.stay is head.terminator.true, head.params)
        if found is None:
            return None
        param, how, bound = found
        at, kind = self.index.get((head, head.params.index(param)), (0, None))
        step = difference(self.ends[at], self.body.arguments[at]) if kind in INTEGERS else None
        if not step or (step > 0) is not found.is_upper:
            return None
        inside = {v for b in self.region.blocks for v in (*b.params, *b.all_ops())}
        if isinstance(bound, Op) and bound.callee is before and not any(v in inside for v in bound.operands()):
            self.outside(lambda: w.lower_op(bound))  # that of a loop that does several rounds at a time
        elif bound in inside:
            return None
        limit = w.operand(bound)
        if num_of(limit) not in INTEGERS:
            return None
        return at, Counting(tensor(self.inits[at]), self.outside(lambda: tensor(as_val(limit, INT))), step, how in (operator.le, operator.ge))

    def _carry_go(self, go: "T | bool", bail: T | None, entry_bail: T | None) -> int | None:
        """The flag that says whether to go on; nothing, where the test at the top says it all, or with the bail, which is carried anyway."""
        if self.top is not None and go is True and (bail is not None or entry_bail is None):
            return None
        init = self.outside(lambda: builder.constant(True) if entry_bail is None else builder.not_(entry_bail))
        if self.top is not None and go is True:  # it is what it was in front of the loop
            return self.carry(init.ir, self.argument(Num(ARRAY, BOOL)), argument=False)
        end = truth(go)
        if bail is not None:
            end = builder.and_(end, builder.not_(bail))
        return self.carry(init.ir, end.ir)

    def _carry_bail(self, bail: T | None, entry_bail: T | None) -> int | None:
        if bail is None:
            return None
        init = entry_bail if entry_bail is not None else self.outside(lambda: builder.constant(False))
        return self.carry(init.ir, bail.ir)

    def _carry_choice(self, choice: Choice, leaving: list[Any]) -> Any:
        """Which exit was taken: an index, or the number of a carried value.  With a test at the top, 0 is that exit."""
        shift = 1 if self.top is not None else 0
        if len(leaving) + shift <= 1:
            return None
        numbers = {k: n + shift for n, (k, _, _) in enumerate(leaving)}
        init = self.outside(lambda: builder.constant(0, INT32))
        if self.top is not None:
            heads = {k: 0 for k in range(len(numbers) + 1) if k not in numbers}
            numbers = {**heads, **numbers}
        return self.carry(init.ir, as_tensor(renumber(choice, numbers)).ir)

    def _make(self, flag: int | None, failed: int | None) -> Any:
        """The condition, and the operation itself."""
        w = self.walker
        inits = [v.ir for v in self.inits] + self.more
        condition = self.holder.regions[0].blocks.append(*(v.type for v in inits))
        arguments = list(condition.arguments)
        with ir.InsertionPoint(condition), ir.Location.unknown(context()):
            go: T | None = None
            if flag is not None:
                go = T(arguments[flag], BOOL, ())
            elif failed is not None:
                go = builder.not_(T(arguments[failed], BOOL, ()))
            if self.top is not None:
                outer = w.scope.env, w.bail, w.token, w.acted, w.memory.content, w.depth
                w.scope.env, w.bail, w.acted, w.depth = dict(w.scope.env), None, False, 0  # nothing is stored that reads would have to wait for
                w.memory.content = {**w.memory.content, **{loc: T(arguments[at], loc.dtype, loc.shape) for at, loc in self._held()}}
                test = self._goes_on(arguments, self.top)
                go = test if go is None else builder.and_(test, go)
                w.scope.env, w.bail, w.token, w.acted, w.memory.content, w.depth = outer
            assert go is not None
            hlo.return_([go.ir])
        with ir.InsertionPoint(self.holder):
            made = hlo.WhileOp([v.type for v in inits], inits)
        condition.append_to(made.regions[0])
        self.body.append_to(made.regions[1])
        w.wait_for_reads(made.operation)
        return list(made.results)

    def _held(self) -> list[tuple[int, Location]]:
        """What is in memory while the loop goes, by the number under which it is carried."""
        return [(at, loc) for loc, at in (*self.arrays.items(), *self.carried.items())]

    def _test(self, values: Sequence[Any]) -> T:
        """The head's ops and its test on these values: True to stay."""
        w = self.walker
        head = self.heads[0]
        w.bind(head, [self.slot(head, k, values) for k in range(len(self.start.entries[0][1]))])
        w.ops(head)
        branch = head.terminator
        assert isinstance(branch, Branch)
        assert self.top is not None
        test = truth(w.condition(w.operand(branch.cond)))
        return test if self.top.stay is branch.true else builder.not_(test)

    def _goes_on(self, values: Sequence[Any], top: Top) -> T:
        """Is there to be a round that begins with these values, and would it not give up?"""
        test = self._test(values)
        if top.reads and self.walker.bail is not None:
            test = builder.and_(test, builder.not_(self.walker.bail))
        return test if self.guard is None else builder.and_(test, builder.not_(self._guard(values)))

    def _guard(self, values: Sequence[Any]) -> T:
        """Would a round give up that begins with these values?"""
        assert self.guard is not None
        return T(Copies(self.body, dict(zip(self.body.arguments, values, strict=False))).of(self.guard.ir), BOOL, ())

    def _after(self, results: Sequence[Any], exits: list[Any], which: Any) -> Arrival:
        w = self.walker
        with ir.InsertionPoint(self.holder):
            entries = [(b, [self.left(s, results) for s in slots]) for b, slots in exits]
            if self.top is not None:
                test = self._test(results)
                if self.guard is not None:
                    w.bail_if(builder.and_(test, self._guard(results)))
                entries.insert(0, w.along(self.top.leave))
            choice: Choice = 0 if which is None else T(results[which], INT32, ())
        blocks = [b for b, _ in entries]
        if len(set(blocks)) < len(blocks):
            return self._distinct(entries, choice)
        return Arrival(entries, choice)

    def _distinct(self, entries: list[tuple[Block, list[Slot]]], choice: Choice) -> Arrival:
        """The exit of the test and a break lead to the same block: one entry, with slots selected."""
        w = self.walker
        with ir.InsertionPoint(self.holder), scratch(w) as holder:
            sides = [w.side(holder, lambda e=e: Arrival([e])) for e in entries]
            return w.merge(choice, sides, holder)
