"""The worklist loop: evaluate entries, chain by chain, until a fixpoint is reached."""

import abc
import heapq
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Final

from hovis.base import interrupts
from hovis.bytecode.instructions import effect
from hovis.engine.control import tested_items
from hovis.engine.entries.entry import Entry
from hovis.engine.environment.guards import Consulted, can_change
from hovis.engine.machine import branches, revalidation, unwinding
from hovis.engine.machine.machine import Landing, Machine
from hovis.engine.machine.materialize import Leak
from hovis.engine.merge import the_trick
from hovis.engine.merge.join_states import agree
from hovis.engine.merge.merging import Merger
from hovis.engine.merge.unroll_limits import Rounds
from hovis.engine.objects import class_revalidation
from hovis.engine.speculation import class_tests, side_exits
from hovis.engine.state import class_templates, lifetimes
from hovis.engine.state.budget import OutOfFuel
from hovis.engine.state.frames_and_heap import STOP, SWITCH, Frame, State
from hovis.engine.state.heap import VObj
from hovis.engine.state.specialization_tables import GiveUp, Joined, Restart, Tables
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.type_lookup import watched
from hovis.engine.state.values import Dyn, Known, Ref
from hovis.ir.model import Block, Edge, Effect, Function, Location, Op
from hovis.ir.operations import keeps
from hovis.lattice import ANY, AbstractValue, Bottom, Type, join, leq
from hovis.lattice.constants import is_immutable
from hovis.lattice.inspection import is_a
from hovis.library.core import Library

ROLLED = "this loop has too many iterations to be unrolled: variables that only count are not known in it"
UNROLL = "hovis.unroll(…) around its iterable would unroll it"
#: Modes of an instruction that relies on the environment: test the guards again after an opaque call; or never fold it.
LOOK = 1
PLAINLY = 2
#: The fixed cost of a chain, in instructions, in addition to those that it executes.
CHAIN: Final = 16
#: Classes of known values that no change of the environment affects; ``super`` is not affected either (its calls look at their own frame).
_FIXED: Final = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, CodeType)
#: Restarts after which the trace is given up. (The tables are finite, so restarts end, but that may take too long.)
MAX_RESTARTS = 2_000


class Engine(Machine):
    """The fixpoint computation over entries."""

    def __init__(self, library: Library, tables: Tables, package: str, frozen: bool) -> None:
        super().__init__(library, tables, package, frozen)
        self.merger = Merger(self, self.push_work)
        self.work: list[Entry] = []
        self.again: list[tuple[int, Entry]] = []
        self.restarts = 0
        #: the loops that the current chain unrolls
        self.rounds = Rounds(tables.unrolling, tables.collecting)
        self.initial: Callable[[], Entry]

    # --------------------------------------------------------------------------------------------- the loop

    def run(self, initial: Callable[[], Entry]) -> Entry:
        """Trace until nothing changes. ``initial()`` makes a new START entry for each full restart."""
        self.initial = initial
        with watched(self.environment.looked_up):
            return self._run()

    def _run(self) -> Entry:
        self._begin()
        while self.work or self.again:
            entry = self.work.pop() if self.work else heapq.heappop(self.again)[1]
            entry.queued = False
            if self.keys.entries.get(entry.site, {}).get(entry.key) is not entry:
                continue
            try:
                self.evaluate(entry)
            except Restart as restart:
                self.restarts += 1
                self.keys.restart()
                if self.restarts > MAX_RESTARTS:
                    raise GiveUp("tracing it was restarted too often") from None
                sites = restart.args[1:]
                if not sites or self.keys.start.site in sites:
                    self._begin()
                else:
                    self._discard([one for site in sites for one in self.keys.outdated(site)], entry)
            except NotMaterializable as refused:
                self.tables.not_virtual.add(refused.args[0])
                self._begin()
            except Leak as leak:
                self.leave_class(leak.args[0])
                self._begin()
        return self.keys.start

    def _begin(self) -> None:
        """Drop all entries, and queue START."""
        self.keys.clear()
        self.work, self.again = [], []
        self.environment.read_static = set()
        self.environment.assumed.clear()
        self.environment.static_objects, self.environment.static_parts = {}, {}
        self.watched, self.trusted, self.went_past = {}, set(), {}
        self.keys.start = self.initial()
        self.push_work(self.keys.start)

    def leave_class(self, template: class_templates.Template) -> None:
        """Record that the template of a class has leaked: from now on its class statement is left in the residual."""
        self.tables.real_classes.setdefault(template.body, "hovis could not trace all of its uses")

    def edge(self, edge: Edge, state: State) -> None:
        if self.assumptions is not None:
            frame = state.frames[-1]
            if (state.world == 2 or self.assumptions.is_cold(state.frames, frame.pc)) and side_exits.leave_on(self, edge, state):
                return
        self.merger.edge(edge, state)

    def assume_unreached(self, state: State) -> None:
        if side_exits.can_leave(self, state):
            state.world = 2

    def arrive(self, site: Any, state: State, function: Function) -> Entry:
        return self.merger.arrive(site, state, function)

    def push_work(self, entry: Entry) -> None:
        """Queue entry for evaluation. New entries come first, to find out early which slots they use: their siblings profit from it.

        Changed entries come last, in the order of their creation, which is about that of the program.
        """
        if not entry.queued:
            entry.queued = True
            if entry.evaluated:
                heapq.heappush(self.again, (entry.number, entry))
            else:
                self.work.append(entry)

    def _discard(self, todo: list[Entry], current: Entry) -> None:
        """Discard the entries todo and all that were reached from them, and queue the entries that lead to them again."""
        bad: set[Entry] = set()
        while todo:
            entry = todo.pop()
            if entry not in bad:
                bad.add(entry)
                todo += [target for _, target, _ in entry.exits] + [target for _, target, _ in entry.calls]
        if self.keys.start in bad:
            bad.discard(self.keys.start)
        for entry in bad:
            table = self.keys.entries.get(entry.site)
            if table is not None and table.get(entry.key) is entry:
                del table[entry.key]
        for entry in bad - {current}:
            # only labels may still refer to these entries: release their contents
            entry.state, entry.block, entry.exits, entry.calls = State([], {}), Block(), [], []
        kept = self.keys.all()
        for entry in kept:
            entry.callers -= bad
            if entry is current or any(t in bad for _, t, _ in entry.exits) or any(t in bad for _, t, _ in entry.calls):
                self.push_work(entry)
        self.work = [entry for entry in self.work if entry not in bad]
        self.again = [item for item in self.again if item[1] not in bad]
        heapq.heapify(self.again)

    def evaluate(self, entry: Entry) -> None:
        """Evaluate the chain of instructions from entry to where it ends or meets other paths."""
        while not self._chain(entry):
            pass

    def _chain(self, entry: Entry) -> bool:
        """Evaluate the chain once. Return False if it has to be evaluated again, as when a loop in it ran too long and is rolled now."""
        self.effort.tick(CHAIN)
        self._open(entry)
        if entry.choices:
            the_trick.choose(self)
            return True
        if self.assumptions is not None and self.state.world == 2 and side_exits.leave(self):
            return True
        done: bool | None = None
        try:
            while done is None:
                ctx, since = self.state.frames[-1].ctx, self.steps
                done = self._follow(not self.steps and self.entry.site == self.state.site())
                self.effort.spend(ctx, self.steps - since)
        except OutOfFuel:
            self.effort.spend(ctx, self.steps - since)
            self.effort.steps += self.steps
            raise
        self.effort.steps += self.steps
        return done

    def _follow(self, first: bool) -> bool | None:
        """Execute the instructions of the top frame. Return None if another frame is on top now, True if the chain has ended, False if it has to
        be evaluated again (see `_chain`).

        first: the chain begins at this instruction, so it does not end here even if this is a merge point.
        """
        frame = self.state.frames[-1]
        code, ctx = frame.code, frame.ctx
        program, heads = self.program(code), code.loop_heads
        merges = self.tables.merge.setdefault(ctx, set())
        watched, looks = self.tables.watched.get(ctx), self.tables.looks.setdefault(ctx, set())
        rounds, back = self.rounds, False
        came, self.came = self.came, None
        while True:
            pc = frame.pc
            if not first and (pc in merges or (pc in looks and self.state.world == 2)):
                if came is not None and unwinding.polls(self, self.state, came):
                    self.block = unwinding.poll(self, self.block, self.state, came)
                self.leave(self.block, self.state)
                return True
            first = False
            if pc in heads:
                self._pass_head(frame, came)
                if rounds.visit(frame, self.state, back, self.emitted, self.steps) and self._roll():
                    return False
            self.steps += 1
            if interrupts.waiting:
                interrupts.check()
            if not self.steps & 63:
                self.effort.tick(64)
                if not self.steps & 1023 and self.effort.steps + self.steps > self.effort.limit():
                    raise OutOfFuel
            handler, arg, popped = program[pc]
            if watched is not None and pc in watched:
                self._beware(frame, watched[pc])
            taken = lifetimes.taken(frame, popped) if popped and self.state.endings else None
            try:
                if popped and (self.doubted or self.untested or self.assumptions is not None):
                    self._test_operands(frame, popped)
                to = handler(self, arg)
            except (Consulted, Joined) as refused:
                self._learn(ctx, pc, refused)
                return False
            self.ends_nothing = False
            if to is None:
                frame.pc = pc + 1
                back, came = False, None
            elif to >= 0:
                frame.pc = to
                back = to <= pc
                came = pc if back else None
            if (taken or self.let_go) and to != STOP and lifetimes.settle(self, taken):
                return None
            if to == STOP:
                return True
            if self.watching and lifetimes.close_dying(self):
                return None
            if to == SWITCH:
                return None

    def _test_operands(self, frame: Frame, popped: int) -> None:
        """Before an instruction that takes this number of values: emit the tests of their classes that it depends on."""
        if self.doubted and self.state.world < 2:
            self._look_at_classes(frame, popped)
        if self.assumptions is not None and self.state.world < 2:
            class_tests.look(self, frame, popped)
        if self.untested and not self.state.untold:
            tested_items.look(self, frame, popped)

    def _pass_head(self, frame: Frame, came: int | None) -> None:
        """Record that the chain passes a loop header. If it has jumped back to this header and was not there before, since the iteration began in
        another entry: poll for signals, or record that this was not done.
        """
        site = frame.ctx, frame.pc
        self.entry.heads[site] = self.entry.heads.get(site, 0) + 1
        if frame.pc in frame.code.natural_loops:
            self.went_past.setdefault(site, set()).add(self.entry)
        if came is None or self.rounds.has(frame) or not unwinding.polls(self, self.state, came):
            return
        if site in self.tables.polled:
            self.block = unwinding.poll(self, self.block, self.state, came)
        else:
            self.entry.passed.add(site)

    def _learn(self, ctx: int, pc: int, refused: Consulted | Joined) -> None:
        """Record why an instruction refused, so that the chain can be evaluated again. Raise Restart if other entries have to be as well."""
        if isinstance(refused, Consulted):
            self._watch(ctx, pc, refused.always)
        elif refused.args[0]:
            self.tables.forget_uses()
            raise Restart("joined") from None

    def _open(self, entry: Entry) -> None:
        """Begin a chain: fork the entry's state, start an empty block, and reset what is recorded per chain."""
        self.entry = entry
        entry.evaluated, entry.sealed = True, False
        entry.exits, entry.calls, entry.tails, entry.call_tails = [], [], [], []
        entry.reads = self.environment.reads = set()
        entry.told, entry.folded, entry.heads, entry.passed = set(), {}, {}, set()
        entry.all_reads = self.environment.all_reads = set()
        self.environment.told = entry.told
        self.environment.recent.clear()
        self.state = entry.state.fork()
        self.suspended = {aid for aid, obj in self.state.heap.items() if obj.kind == "generator"}
        self.block = entry.block = Block()
        self.emitted = self.steps = 0
        self.rounds.clear()
        self.came, self.ends_nothing = None, False
        self.let_go.clear()
        self.lent, self.pinned = {}, None

    def _watch(self, ctx: int, pc: int, always: bool) -> None:
        """Record that the instruction at pc relies on the environment where that may have changed: from now on the residual tests its guards
        first, or the instruction is not folded. Raise GiveUp if it was not folded already.
        """
        watched = self.tables.watched.setdefault(ctx, {})
        before = watched.get(pc, 0)
        if before == PLAINLY:
            raise GiveUp("it relies on objects that change all the time")
        watched[pc] = PLAINLY if before or always else LOOK

    def _beware(self, frame: Frame, how: int) -> None:
        """Before an instruction that relies on the environment: test the guards again, or make its operands unknown. how: LOOK or PLAINLY."""
        if how == LOOK and self.state.world == 1:
            revalidation.look(self)
        if how == PLAINLY or self.state.world == 2:
            self._plainly(self.state.frames[-1])

    def _look_at_classes(self, frame: Frame, popped: int) -> None:
        """Before an instruction that depends on the classes of escaped objects: emit a test that each object still has its class."""
        for value in class_revalidation.before(self, frame, popped):
            same = self.emit(keeps, [value, Known(self.class_of(value))], type=Type(bool), effect=Effect.READS)
            changed = self.state.fork()
            class_revalidation.of_any_class(self, changed, value)
            if not self.environment.frozen:
                ctx, pc = self.here()
                self.tables.looks.setdefault(ctx, set()).add(pc)
                changed.world = 2
            branches.split(self, same, changed)

    def _plainly(self, frame: Frame) -> None:
        """Make the operands of the next instruction unknown, unless they cannot change, so that it is not folded."""
        instruction = frame.code.instructions[frame.pc]
        pops, _ = effect(instruction.op, instruction.arg)
        stack = frame.stack
        for k in range(len(stack) - pops, len(stack)):
            value = stack[k]
            if isinstance(value, Ref) or (isinstance(value, Known) and not (value.value is super or is_immutable(value.value) or is_a(value.value, _FIXED))):
                stack[k] = Dyn(self.operand(value), ANY)
            elif isinstance(value, Dyn) and not (isinstance(value.type, Type) and not can_change(value.type.cls)):
                stack[k] = Dyn(value.value, ANY, None, None, value.maybe_unbound, value.ends, value.maybe_end)

    def _roll(self) -> bool:
        """Make the header of the loop that runs too long a merge point. False if there is no such loop."""
        merge = self.tables.merge
        meeting = {(ctx, pc) for ctx, places in merge.items() for pc in places}
        head = self.rounds.longest(meeting | self.tables.unrolled)
        if head is None:
            return False
        merge.setdefault(head[0], set()).add(head[1])
        place = self.locations.found.get(head) or self.location()
        self.tables.reasons.setdefault((head, ROLLED), (ROLLED, place, UNROLL))
        return True

    @abc.abstractmethod
    def program(self, code: Any) -> Any:
        """Return the instructions of code as triples: handler, argument, number of values popped from the stack."""

    # --------------------------------------------------------------------------------------------- functions

    def home(self) -> Entry:
        """Return the entry of the function that the current chain belongs to."""
        found: Entry = self.homes[self.state.frames[0].ctx]
        return found

    def add(self, op: Op, land: Landing | None = None, within: "int | type | None" = None) -> None:
        self.acts(op.effect)
        super().add(op, land, within)

    def acts(self, effect: Effect) -> None:
        """Record that the current function may have this effect."""
        home = self.homes[self.state.frames[0].ctx]
        if effect._value_ & ~home.effect._value_:
            self._spread(home, home.result, effect)

    def returned(self, type: AbstractValue) -> None:
        """Record that the current function returns a value of this type."""
        home = self.home()
        joined = join(home.result, class_templates.alive(type, ()))
        if joined != home.result:
            self._spread(home, joined, Effect.PURE)

    def _spread(self, home: Entry, result: AbstractValue, effect: Effect) -> None:
        home.result, home.effect = result, home.effect | effect
        for caller in list(home.callers):
            # including the current entry: it may have made the call before it reached this place
            self.push_work(caller)

    def _fits_start(self, state: State) -> bool:
        """Can the call be a call of the traced function itself? All that START knows must be known in state, with no other assumptions."""
        start = self.keys.start
        if start.choices or start.state.frames[0].code is not state.frames[0].code or state.beliefs():
            return False
        for ours, theirs in zip(start.state.frames[0].locals, state.frames[0].locals, strict=True):
            if isinstance(ours, Dyn):
                if not isinstance(theirs, Dyn) or ours.dims is not None or not leq(theirs.type, ours.type):
                    return False
            elif (ours is not None or theirs is not None) and not (isinstance(ours, Known) and theirs is not None and agree(ours, theirs)):
                return False
        return True

    def call_function(self, frame: Frame, heap: dict[int, VObj], name: str) -> "Dyn | None":
        """Emit a call of the residual function that begins with frame. Return its result, or None if it is not yet known to return."""
        site = (self.tables.contexts["function", frame.code], -1, self.state.beliefs())
        told = tuple(aid for aid in self.state.classes if aid in heap)
        state = State([frame], heap, world=self.state.world, classes=told, untold=self.state.untold, endings=True)
        frame.ctx = -1
        if self._fits_start(state):
            entry = self.keys.start
        else:
            code = frame.code
            place = Location(code.filename, code.first_line, None, None, None, code.qualname, code.first_line)
            entry = self.arrive(site, state, Function(name, [], place))
            ctx = self.tables.contexts["body", frame.code, entry.key, state.beliefs()]
            entry.state.frames[0].ctx = ctx
            self.homes[ctx] = entry
        entry.callers.add(self.entry)
        effect = entry.effect | Effect.RAISES
        op = Op(entry.function, (), (), entry.result, None, effect, self.location())
        self.entry.calls.append((op, entry, state))
        self.entry.call_tails.append(self.environment.reads)
        self.add(op)
        if isinstance(entry.result, Bottom):
            return None
        return Dyn(op, entry.result)
