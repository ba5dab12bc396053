"""Emission of the stack code of all blocks in order, with the jumps between them, the moves on edges, and the handlers."""


from hovis.backend.assembler.encode import (
    DELETE_FAST,
    END_FOR_POPS_ONE,
    OP,
    OPPOSITE,
    POP_EXCEPT,
    POP_ITER,
    POP_TOP,
    RERAISE,
    STORE_FAST,
    SWAP,
    Assembly,
    Label,
    Region,
)
from hovis.backend.assembler.layout.edge_moves import Moves
from hovis.backend.assembler.layout.edge_stubs import Stub, Stubs
from hovis.backend.assembler.layout.polled_jumps import Polls
from hovis.backend.assembler.layout.unwinding import Unwinding
from hovis.backend.assembler.liveness import Flow
from hovis.backend.assembler.register_allocation import Slots
from hovis.backend.assembler.selection.inline_guards import Look
from hovis.backend.assembler.selection.instruction_selection import Linear
from hovis.backend.assembler.selection.stack_code import AT, CELL, COVER, DO, DROP, GUARD, HANDLERS, KEEP, LOAD, MOVE, STORE, UNGUARD, Item
from hovis.backend.assembler.traceback_marks import Marks
from hovis.backend.tracebacks import Tracebacks
from hovis.bytecode.normalize import INDEXED
from hovis.ir.model import CAUGHT, Block, Branch, Edge, Invoke, Jump, Op, Operand, Param, Raise, Return, Value
from hovis.ir.operations import poll
from hovis.lattice import Const


class Emitter:
    """Emits the stack code of the blocks, one after another."""

    def __init__(self, flow: Flow, linear: Linear, code: dict[Block, list[Item]], slots: Slots, marks: Marks, carried: dict[Block, set[Block]]) -> None:
        self.flow, self.linear, self.code, self.slots, self.marks = flow, linear, code, slots, marks
        self.is_generator = flow.is_generator
        self.pool = linear.pool
        self.asm = Assembly()
        self.of = slots.of
        #: by each block that leaves a value on the stack, the successors that take it from there
        self.carried = carried
        self.takers = {taker for takers in carried.values() for taker in takers}
        self.labels = {block: Label() for block in flow.order}
        self.mending = Tracebacks() if marks.any() else None
        self.moves = Moves(self.asm, flow, linear, slots)
        self.unwinding = Unwinding(self.asm, self.moves, flow.is_generator, self.mending)
        self.stubs = Stubs(self.asm, self.moves, self.unwinding, self.labels, self.takers)
        self.handlers = 0
        self._pads: dict[object, Region] = {}
        polls = Polls(flow)
        #: the back edges on which exceptions of signal handlers are caught: latches by loop header; ``landings``: entry point and region by latch
        self.returning = polls.returning
        self.landings: dict[Block, tuple[Label, Region]] = {}
        #: other back edges (source, target), of loops that check for signals elsewhere in each iteration; ``current``: the block being emitted
        self.quiet = polls.quiet
        self.current: Block | None = None
        #: looks emitted so far whose full tests are not: look, label to continue at if something has changed, is that jump quiet, open handlers
        self.asked: list[tuple[Look, Label, bool, int]] = []

    def run(self) -> None:
        """Emit the whole function."""
        asm, order = self.asm, self.flow.order
        self.linear.items = []
        for block in order:
            # constants that edges load need their cells now, because COPY_FREE_VARS, which takes the number of cells, comes first in the code
            for edge in self.flow.leaving(block):
                for _, value in self.flow.moves(edge):
                    if isinstance(value, Const):
                        self.linear.constant(value.value)
        count = len(self.pool.cells)
        if count:
            asm.do(OP["COPY_FREE_VARS"], count)
        if self.is_generator:
            asm.do(OP["RETURN_GENERATOR"], 0, 1)
            asm.do(POP_TOP, 0, -1)
        asm.do(OP["RESUME"])
        falling = True
        for k, block in enumerate(order):
            if not falling:
                self._write_asked()
            if block in self.returning:
                self._write_ways_back(block, falling)
            elif not falling:
                self.stubs.write_detours(block)
                self.stubs.write(block, falls=True)
            following = order[k + 1] if k + 1 < len(order) else None
            falling = self.block(block, following)
        self._write_asked()
        for block in order:
            self.stubs.write(block, falls=False)
        self.unwinding.write()
        assert len(self.pool.cells) == count

    # --------------------------------------------------------------------------------------------- blocks

    def block(self, block: Block, following: Block | None) -> bool:
        """Emit one block; return whether it falls through into following."""
        asm = self.asm
        self.current = block
        asm.bind(self.labels[block])
        self.handlers = self.flow.handlers[block]
        asm.depth = self.handlers + (block in self.takers)
        asm.region = self.unwinding.region(self.handlers)
        # loads at the start of the block get the location of its first op
        asm.place = next((item[1] for item in self.code[block] if item[0] == AT), None)
        pad = Label()
        last, tail = self.slots.last[block], self.linear.tails.get(block, 1 << 60)
        stored, arguments = self._overwritten(block), self.linear.arguments.get(block, 1 << 60)
        do, deref, load = asm.do, asm.deref, self.moves.load
        for k, item in enumerate(self.code[block]):
            kind = item[0]
            if kind == DO:
                do(item[1], item[2], item[3])
            elif kind == LOAD:
                # a local that a param of the Jump's target overwrites needs no clearing after the last load among the Jump's arguments
                load(item[1], k in last and k < tail and (k < arguments or self.of[item[1]] not in stored))
            elif kind == CELL:
                deref(item[1], item[2], item[3])
            elif kind == STORE:
                do(STORE_FAST, self.of[item[1]], -1)
            elif kind == AT:
                asm.place = item[1]
            elif kind == MOVE:
                self._move(item[1], item[2], k in last, stored)
            elif kind == DROP:
                if k in last and k < tail and self.moves.matters(item[1]):
                    do(DELETE_FAST, self.of[item[1]])
            elif kind == COVER:
                asm.cover(Region(pad, self.handlers))
            elif kind == GUARD:
                asm.cover(self._covering(item[1]))
            elif kind == UNGUARD:
                asm.region = self.unwinding.region(self.handlers)
                if k < tail:
                    self.moves.clear(self.slots.spared[item[1]])
            elif kind == HANDLERS:
                self.handlers += item[1]
                asm.region = self.unwinding.region(self.handlers)
            elif kind != KEEP:
                item[1](self)
        return self._terminator(block, following, pad)

    def _overwritten(self, block: Block) -> set[int]:
        """Return the locals that a closing Jump overwrites: those of its target's params."""
        if not isinstance(block.terminator, Jump):
            return set()
        return {self.of[param] for param, _ in self.flow.moves(block.terminator.edge)}

    def _move(self, value: Operand, param: Param, last: bool, stored: set[int]) -> None:
        """Emit the load of one move on a Jump's edge."""
        if isinstance(value, Const):
            self.moves.constant(value.value)
        elif self.of[value] != self.of[param]:
            self.moves.load(value, last and self.of[value] not in stored)

    # --------------------------------------------------------------------------------------------- terminators

    def _terminator(self, block: Block, following: Block | None, pad: Label) -> bool:
        asm, terminator = self.asm, block.terminator
        if isinstance(terminator, Return):
            asm.region = None
            for _ in range(self.handlers):
                asm.do(SWAP, 2)
                asm.do(POP_EXCEPT, 0, -1)
            asm.do(OP["RETURN_VALUE"], 0, -1)
            return False
        if isinstance(terminator, Raise):
            if terminator.again:
                asm.do(RERAISE, 0, -1)
            else:
                asm.do(OP["RAISE_VARARGS"], 1, -1)
            return False
        if isinstance(terminator, Jump):
            for param, value in reversed(self.flow.moves(terminator.edge)):
                if value in self.linear.inline or self.of.get(value) != self.of[param]:
                    asm.do(STORE_FAST, self.of[param], -1)
            return self._go(terminator.edge.block, following)
        if isinstance(terminator, Invoke) and terminator.op.callee is poll:
            return self._poll(block, terminator, following)
        if isinstance(terminator, Invoke):
            return self._invoke(block, terminator, following, pad)
        return self._branch(block, terminator, following)

    def _go(self, target: Block, following: Block | None) -> bool:
        """Continue at target; return True if it follows, and no jump is needed."""
        if target is following:
            return True
        self.asm.jump(self.labels[target], (self.current, target) in self.quiet)
        return False

    def _invoke(self, block: Block, invoke: Invoke, following: Block | None, pad: Label) -> bool:
        asm, op = self.asm, invoke.op
        asm.region = self.unwinding.region(self.handlers)
        live = self.slots.live_out[block] - {op}
        caught = [param for param, value in zip(invoke.error.block.params, invoke.error.args, strict=True) if value is CAUGHT]
        mend = bool(caught) and self.marks.watched(op, caught[0])
        self._later(Stub(pad, invoke.error, live, self.handlers, CAUGHT, mend))
        top: Operand | None = op
        if op in self.flow.live_in[self.flow.index[invoke.ok.block]]:
            asm.do(STORE_FAST, self.of[op], -1)
            live = {value for value in live if self.of[value] != self.of[op]} | {op}
            top = None
        self.moves.write(self.moves.plan(invoke.ok, live, top), top)
        return self._go(invoke.ok.block, following)

    def _write_ways_back(self, head: Block, falling: bool) -> None:
        """Emit the entry points for back edges of a loop that are covered by handlers; their moves are emitted here, after the jump.

        CPython before 3.13 checks for signals after the jump, and looks up the handler by the code unit before the jump's target: the NOP there
        is covered and has no other purpose.
        """
        asm, latches = self.asm, self.returning[head]
        handlers = self.flow.handlers[head]
        plans = [self.moves.plan(self._ok(latch), self._live_behind(latch), None) for latch in latches]
        if not falling:
            self.stubs.write_detours(head)
            self.stubs.write(head, falls=True)
        if len(latches) > 1 or any(plans):
            asm.jump(self.labels[head])
        for latch, plan in zip(latches, plans, strict=True):
            label, region = self.landings[latch] = Label(), Region(Label(), handlers)
            asm.depth = handlers
            asm.region = region
            if not END_FOR_POPS_ONE:
                asm.do(OP["NOP"])
            asm.bind(label)
            asm.region = self.unwinding.region(handlers)
            self.moves.write(plan, None)
            if latch is not latches[-1]:
                asm.jump(self.labels[head])

    def _ok(self, latch: Block) -> Edge:
        assert isinstance(latch.terminator, Invoke)
        return latch.terminator.ok

    def _live_behind(self, latch: Block) -> set[Value]:
        """Return the values that are in locals after latch has jumped back."""
        assert isinstance(latch.terminator, Invoke)
        return self.slots.live_out[latch] - {latch.terminator.op}

    def _poll(self, block: Block, invoke: Invoke, following: Block | None) -> bool:
        """Emit the back edge of a loop on which exceptions of signal handlers are caught; for a poll on a forward path, emit a backward jump for
        this purpose alone.
        """
        asm, over = self.asm, Label()
        found = self.landings.get(block)
        if found is None:
            asm.jump(over)
            label, region = Label(), Region(Label(), self.handlers)
            asm.region = region
            if not END_FOR_POPS_ONE:
                asm.do(OP["NOP"])
            asm.bind(label)
            asm.region = self.unwinding.region(self.handlers)
            self.moves.write(self.moves.plan(invoke.ok, self._live_behind(block), None), None)
            asm.jump(self.labels[invoke.ok.block])
            asm.bind(over)
        else:
            label, region = found
        caught = [param for param, value in zip(invoke.error.block.params, invoke.error.args, strict=True) if value is CAUGHT]
        mend = bool(caught) and self.marks.watched(invoke.op, caught[0])
        self._later(Stub(region.label, invoke.error, self._live_behind(block), self.handlers, CAUGHT, mend))
        asm.region = region
        asm.jump(label)
        return False

    def _branch(self, block: Block, branch: Branch, following: Block | None) -> bool:
        test, live = self.linear.tests[block], self.slots.live_out[block]
        if test == "FOR_ITER":
            return self._step(block, branch, following)
        if test == "LOOK":
            return self._look(block, branch, following)
        if test is None:
            assert isinstance(branch.cond, Const)
            taken = branch.true if branch.cond.value else branch.false
            self.moves.write(self.moves.plan(taken, live, None), None)
            return self._go(taken.block, following)
        jumped, fallen = branch.true, branch.false
        carried = self.carried.get(block)
        if jumped.block is following and fallen.block is not following:
            jumped, fallen, test = fallen, jumped, OPPOSITE[test]
        label = self.labels[jumped.block]
        apart = bool(self.moves.plan(jumped, live, None)) or (carried is not None and jumped.block not in carried)
        if apart:
            label = Label()
            self._later(Stub(label, jumped, live, self.handlers, carries=carried is not None))
        self.asm.jump_if(test, label, (block, jumped.block) in self.quiet)
        self.asm.region = self.unwinding.region(self.handlers)
        if carried is not None and fallen.block not in carried:
            self.asm.do(POP_TOP, 0, -1)
        self.moves.write(self.moves.plan(fallen, live, None), None)
        # a stub for the next block is emitted right before that block: jump over it
        return self._go(fallen.block, None if apart and jumped.block is following else following)

    def _look(self, block: Block, branch: Branch, following: Block | None) -> bool:
        """Emit the branch on a look at the environment; its tests are emitted already, and control arrives here if they hold."""
        look, live = self.linear.looks[block], self.slots.live_out[block]
        changed, quiet = self.labels[branch.false.block], (block, branch.false.block) in self.quiet
        apart = bool(self.moves.plan(branch.false, live, None))
        if apart:
            changed = Label()
            self._later(Stub(changed, branch.false, live, self.handlers))
        self.asked.append((look, changed, quiet, self.handlers))
        self.asm.bind(look.held)
        self.moves.write(self.moves.plan(branch.true, live, None), None)
        return self._go(branch.true.block, None if apart and branch.false.block is following else following)

    def _write_asked(self) -> None:
        """Emit the full tests for looks whose quick tests found a change: control returns to ``held`` if nothing has changed after all."""
        asm, place = self.asm, self.asm.place
        for look, changed, quiet, handlers in self.asked:
            asm.region, asm.place, asm.depth = self.unwinding.region(handlers), look.place, handlers
            asm.bind(look.raised)
            asm.grow(1)
            asm.do(POP_TOP, 0, -1)
            asm.bind(look.failed)
            for kind, opcode, arg, effect in look.whole:
                if kind == DO:
                    asm.do(opcode, arg, effect)
                else:
                    asm.deref(opcode, arg, effect)
            asm.jump_if("FALSE", changed, quiet)
            asm.jump(look.held, True)
        self.asked.clear()
        asm.place = place

    def within(self, raised: Label | None) -> None:
        """From here on, send exceptions to the label raised, with no operand beneath them (None: to the usual place)."""
        self.asm.region = self.unwinding.region(self.handlers) if raised is None else Region(raised, self.handlers)

    def _step(self, block: Block, branch: Branch, following: Block | None) -> bool:
        """Emit a FOR_ITER on the iterator on top of the stack: the item is kept, the iterator is popped."""
        asm, item = self.asm, block.ops[-2]
        more, done = (branch.true, branch.false) if self.linear.more_edge(branch) else (branch.false, branch.true)
        exhausted = Label()
        live = self.slots.live_out[block] - {item}
        asm.for_iter(exhausted)
        asm.region = self.unwinding.region(self.handlers)
        self._later(Stub(exhausted, done, live, self.handlers, prefix="END_FOR"))
        if item in self.of:
            asm.do(STORE_FAST, self.of[item], -1)
            live = {value for value in live if self.of[value] != self.of[item]} | {item}
        else:
            asm.do(POP_TOP, 0, -1)
        asm.do(POP_ITER, 0, -2 if INDEXED else -1)
        self.moves.write(self.moves.plan(more, live, None), None)
        return self._go(more.block, following)

    def _later(self, stub: Stub) -> None:
        stub.quiet = (self.current, stub.edge.block) in self.quiet
        self.stubs.add(stub)

    # --------------------------------------------------------------------------------------------- exceptions

    def _covering(self, op: Op) -> Region:
        """Return the region for exceptions of op, a covered call in the middle of its block; ops with the same edge and the same live locals
        share one.

        But a region whose handler is a loop header that was emitted before is kept apart, with a backward jump of its own: a loop that
        continues by exceptions alone would otherwise never check for signals, nor let other threads run.
        """
        edge, live = self.flow.covered[op], frozenset(self.slots.raising[op])
        caught = [param for param, value in zip(edge.block.params, edge.args, strict=True) if value is CAUGHT]
        mend = bool(caught) and self.marks.watched(op, caught[0])
        looks = self.labels[edge.block].at >= 0 and (self.current, edge.block) not in self.quiet
        key = edge.block, tuple(map(id, edge.args)), live, self.handlers, mend, looks
        found = self._pads.get(key)
        if found is None:
            found = self._pads[key] = Region(Label(), self.handlers)
            self._later(Stub(found.label, edge, set(live), self.handlers, CAUGHT, mend))
        return found

    def mend(self) -> None:
        """Emit the repair of the traceback of the exception on top of the stack."""
        self.unwinding.mend()
