"""Lowering of loops: one ``while`` for each strongly connected component of the control flow.

The body is walked from the headers to the headers and the exits.  The loop carries the parameters of the headers and then,
each only if it is needed: the number of the next header, the token, the flag that says to continue, the bailout flag, the
number of the exit, and the values that leave by the exits.

If the header is nothing but a cheap test, this becomes the condition of the ``while``; it is emitted once more at the top of
the body for the values that it defines, and a last time behind the loop.  All other loops are ``while go:``, with ``go``
computed in the body.

The kind of a header parameter is found by trial: if the body brings another kind than there was at first, the operations that
were emitted are discarded.  Then one iteration is peeled off (``x = 0``, and an array from the second one on), or the parameter
is taken to be of either kind from the start.
"""

import functools
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
from hovis_xla.emit.memory_ssa import Loop
from hovis_xla.emit.values import ARRAY, BOOL, INT, INT32, Carried, NotLowerable, Num, Raises, Val
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo
from hovis_xla.lowering.control.bounds_check_hoisting import INTEGERS, Copies, Counting, Rounds, is_light
from hovis_xla.lowering.control.branches import Arrival, Choice, as_tensor, is_one_of, renumber, truth
from hovis_xla.lowering.control.carried_values import CarriedValues, Changed, Kinds, Made
from hovis_xla.lowering.control.compile_budget import burned
from hovis_xla.lowering.control.control_flow import Walker, scratch

#: Maximum number of times that a loop is emitted; each time, more is known of the kinds of its variables.
ATTEMPTS: Final = 24

#: A first iteration may be peeled off: the maximum number of its ops, of such iterations of one loop, and of ops peeled off all loops.
PEELED_OPS: Final = 300
PEELINGS: Final = 3
PEELED_IN_ALL: Final = 3000


def lower_loop(walker: Walker, start: Arrival, region: Region, until: Collection[Block]) -> Arrival:
    """Emit a loop and return the Arrival at its exits, and at its headers as well if only one iteration was emitted (peeled)."""
    kinds: Kinds = {}
    made: Made = {}
    for _ in range(ATTEMPTS):
        lowering = LoopLowering(walker, start, region, until, kinds, made)
        try:
            return lowering.run()
        except Raises as reason:
            if lowering.top is None or not lowering.top.reads:
                raise
            walker.reasons.append(reason.bare())  # a read in the test always fails
            walker.give_up()
            return Arrival([])
        except Changed as change:
            if change.replaced and not kinds and _may_peel(walker, region, lowering.heads[0]):
                return walker.walk(start, lowering.region, lowering.until, first=True)
            kinds = {**kinds, **change.kinds}
    raise NotLowerable("a loop in which it can't be determined which array a variable refers to")


def _may_peel(walker: Walker, region: Region, head: Block) -> bool:
    size = sum(op in walker.scope.needed for block in region.blocks for op in block.all_ops())
    times, spent = walker.peeled.get(head, 0), walker.peeled.get(None, 0)
    if size > PEELED_OPS or times >= PEELINGS or spent + size > PEELED_IN_ALL:
        return False
    walker.peeled[head], walker.peeled[None] = times + 1, spent + size
    return True


class LoopLowering(CarriedValues):
    """The lowering of one loop: its body, and the ``while`` that is made of it."""

    def run(self) -> Arrival:
        w = self.walker
        if set(self.heads) != set(self.region.heads):
            # a test that was decided during lowering leaves an entry of the loop unused
            self.region = w.entered_at(self.region, self.heads)
        w.acted = w.acted or self.acts
        entry_bail = w.bail
        self.carry_heads()
        with scratch(w) as holder:
            self.holder = holder
            self.body = holder.regions[0].blocks.append()
            with w.restoring():
                w.rounds = (*w.rounds, rounds_of(self.region, w.scope.ranges, w.scope.arguments))
                w.depth += 1
                self.loop = Loop(self.body, w.memory.content)
                w.memory.loops, w.memory.content = [*w.memory.loops, self.loop], {}
                with burned(w, self.body):
                    arrival = self._emit_body()
                bail, token, self.inside = w.bail, w.token, w.memory.content
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
                w.bail = None  # if it holds, the condition has ended the loop already
            return w.walk(Arrival([w.along(stay)]), self.region, self.until)

    # --------------------------------------------------------------------------------------------- building the ``while``

    def _close(self, arrival: Arrival, bail: T | None, token: Any, entry_bail: T | None) -> Arrival:
        """Make the ``while`` from the Arrival of the body, and return the Arrival behind it."""
        w = self.walker
        with ir.InsertionPoint(self.body), ir.Location.unknown(context()):
            self.end_heads(arrival)
            leaving = [(k, b, slots) for k, (b, slots) in enumerate(arrival.entries) if b not in self.heads]
            going = {k: self.heads.index(b) for k, (b, _) in enumerate(arrival.entries) if b in self.heads}
            if len(self.heads) > 1:
                first = self.outside(lambda: as_tensor(self.start.choice))
                self.carry(as_tensor(renumber(arrival.choice, going)), first, argument=False)
            if self.acts:
                self.more.append(w.token)
                self.ends.append(token)
            self.carried = self.carry_memory()
            go: T | bool = is_one_of(arrival.choice, going) if arrival.entries else False
            bail, entry_bail = self._foresee(go, bail, entry_bail)
            flag = self._carry_go(go, bail, entry_bail)
            failed = None if bail is None else self.carry(bail, entry_bail)
            which = self._carry_choice(arrival.choice, leaving)
            exits = [(b, list(map(self.carry_exit, slots))) for _, b, slots in leaving]
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
            else:  # only read in the loop: the loads are complete when the loop has its results
                w.loads.setdefault(before.ir, []).extend(T(results[k], v.num.dtype, ()) for k, v in enumerate(self.inits[:1]) if not v.num.shape)
        for location, at in self.arrays.items():
            w.memory.content[location] = T(results[at], location.dtype, location.shape)
        for location, after in self.after.items():
            w.memory.content[after] = T(self.behind(self.inside[location].ir, results), after.dtype, after.shape)
        return self._after(results, exits, which)

    def _foresee(self, go: "T | bool", bail: T | None, entry_bail: T | None) -> tuple[T | None, T | None]:
        """Detect failing iterations before they begin, where that is possible; return the bailout flags that remain: of the body, and in front
        of the loop.
        """
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
        self.inits[at] = Val(self.inits[at].num, over.ir)  # no flag is carried: on failure the counter starts at the bound, and no iteration runs
        return None, None

    def _counter(self) -> tuple[int, Counting] | None:
        """Return the index of the carried value that counts, and its Counting, if the test at the top compares it with a bound; else None."""
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
            self.outside(lambda: w.lower_op(bound))  # the bound of an unrolled loop
        elif bound in inside:
            return None
        limit = w.operand(bound)
        if num_of(limit) not in INTEGERS:
            return None
        return at, Counting(tensor(self.inits[at]), self.outside(lambda: tensor(as_val(limit, INT))), step, how in (operator.le, operator.ge))

    def _carry_go(self, go: "T | bool", bail: T | None, entry_bail: T | None) -> int | None:
        """Carry the flag that says whether to continue, and return its index; None if the test at the top decides alone, or with the bailout
        flag, which is carried anyway.
        """
        if self.top is not None and go is True and (bail is not None or entry_bail is None):
            return None
        init = self.outside(lambda: builder.constant(True) if entry_bail is None else builder.not_(entry_bail))
        if self.top is not None and go is True:  # the flag keeps its initial value
            return self.carry(T(self.argument(Num(ARRAY, BOOL)), BOOL, ()), init, argument=False)
        end = truth(go)
        if bail is not None:
            end = builder.and_(end, builder.not_(bail))
        return self.carry(end, init)

    def _carry_choice(self, choice: Choice, leaving: list[Any]) -> Any:
        """Carry the number of the exit that was taken, and return its index; None if there is only one. With a test at the top, 0 is the exit of
        the test.
        """
        shift = 1 if self.top is not None else 0
        if len(leaving) + shift <= 1:
            return None
        numbers = {k: n + shift for n, (k, _, _) in enumerate(leaving)}
        if self.top is not None:
            numbers = dict.fromkeys(range(len(numbers) + 1), 0) | numbers
        return self.carry(as_tensor(renumber(choice, numbers)))

    def _make(self, flag: int | None, failed: int | None) -> Any:
        """Emit the condition and the ``while`` operation, and return its results."""
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
                with w.restoring():
                    w.bail, w.acted, w.depth = None, False, 0  # depth 0: no store that loads have to be ordered with
                    w.memory.content |= {loc: T(arguments[at], loc.dtype, loc.shape) for loc, at in (self.arrays | self.carried).items()}
                    test = self._goes_on(arguments, self.top)
                go = test if go is None else builder.and_(test, go)
            assert go is not None
            hlo.return_([go.ir])
        with ir.InsertionPoint(self.holder):
            made = hlo.WhileOp([v.type for v in inits], inits)
        condition.append_to(made.regions[0])
        self.body.append_to(made.regions[1])
        w.wait_for_reads(made.operation)
        return list(made.results)

    def _test(self, values: Sequence[Any]) -> T:
        """Emit the header's ops and its test on these values: True to stay."""
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
        """Emit the test of whether an iteration is to begin with these values, and would not bail out."""
        test = self._test(values)
        if top.reads and self.walker.bail is not None:
            test = builder.and_(test, builder.not_(self.walker.bail))
        return test if self.guard is None else builder.and_(test, builder.not_(self._guard(values)))

    def _guard(self, values: Sequence[Any]) -> T:
        """Emit the test of whether an iteration that begins with these values would bail out."""
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
            if len({b for b, _ in entries}) < len(entries):  # the exit of the test and a break lead to the same block
                return w.merged(choice, [functools.partial(Arrival, [entry]) for entry in entries])
        return Arrival(entries, choice)
