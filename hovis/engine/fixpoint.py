"""Entries, keys, joins, restarts: where paths meet (engine.md, "The loop").

An *entry* is a specialised block under construction: a site, a key, and the join of all states that arrived there
with that key.  The key holds the constants that the program was seen to need; everything else is joined.
"""

import heapq
from collections.abc import Mapping
from types import BuiltinFunctionType, CodeType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

from hovis.bytecode.instructions import effect
from hovis.engine import lifetimes, templates
from hovis.engine.budget import OutOfFuel
from hovis.engine.environment import Consulted, can_change
from hovis.engine.escape import Leak, NotMaterializable
from hovis.engine.heap import VObj, shape_in
from hovis.engine.joins import Matching, Pair, agree, align, unlike_generators
from hovis.engine.lookups import watched
from hovis.engine.machine import STOP, SWITCH, GiveUp, Landing, Machine, Promote, Restart, Tables
from hovis.engine.state import Frame, State
from hovis.engine.values import NO_LABELS, STRONG, Dyn, Known, Labels, Ref, V
from hovis.engine.whistle import whistle
from hovis.ir.model import Block, Branch, Edge, Effect, Function, Location, Op, Param
from hovis.ir.operations import END, UNBOUND
from hovis.lattice import ANY, BOTTOM, AbstractValue, Bottom, Type, join, leq
from hovis.lattice.constants import constant_key, is_immutable, same_constant
from hovis.library.core import Library

NOTHING: Mapping[int, int] = {}

#: Ops in one chain, and instructions in one chain, before a loop in it is rolled.
UNROLL_OPS = 400
UNROLL_STEPS = 20_000
ROLLED = "a loop runs so long here that it stays a loop: what only counts in it is not known"
#: Before an instruction that relies on the environment: look again after an opaque call; or never fold anything of it.
LOOK = 1
PLAINLY = 2
#: Known values that are the same whatever happens to the environment.
_FIXED = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, CodeType)
#: Restarts before the whole is given up (the tables are finite, patience is shorter).
MAX_RESTARTS = 2_000


class Entry:
    """A specialised block under construction; for functions also what is known of its result."""

    __slots__ = (
        "block", "call_tails", "callers", "calls", "choices", "depends", "effect", "evaluated", "exits", "function", "joined", "key", "labels", "marked",
        "number", "params", "queued", "reads", "result", "site", "state", "tails",
    )  # fmt: skip

    def __init__(self, site: Any, key: Any, function: Function | None = None) -> None:
        self.site = site
        self.key = key
        self.state = State([], {})
        self.params: dict[int, Param] = {}
        self.labels: dict[int, Labels] = {}
        self.depends: dict[int, Labels] = {}
        self.marked: dict[int, int] = {}
        self.joined: set[int] = set()
        self.block = Block()
        self.exits: list[tuple[Edge, Entry, State]] = []
        self.calls: list[tuple[Op, Entry, State]] = []
        self.number = 0
        #: what is relied upon of the environment before the residual looks again, and what at each exit and call was last
        self.reads: set[Any] = set()
        self.tails: list[set[Any]] = []
        self.call_tails: list[set[Any]] = []
        self.queued = False
        self.evaluated = False
        self.function = function
        self.result: AbstractValue = BOTTOM
        self.effect = Effect.PURE
        self.callers: set[Entry] = set()
        #: START: parameters that are one of a few constants
        self.choices: tuple[tuple[int, tuple[object, ...]], ...] = ()


class Engine(Machine):
    """The fixpoint over entries."""

    def __init__(self, library: Library, tables: Tables, package: str, fuel: int, frozen: bool) -> None:
        super().__init__(library, tables, package, frozen)
        self.fuel: float = fuel
        #: instructions by call string
        self.spent: dict[int, int] = {}
        self.entries: dict[Any, dict[Any, Entry]] = {}
        self.label_owner: list[tuple[Entry, int]] = []
        self.work: list[Entry] = []
        self.again: list[tuple[int, Entry]] = []
        self.entry_count = 0
        self.restarts = 0
        self.start: Entry | None = None
        self.initial: Any = None

    # --------------------------------------------------------------------------------------------- the loop

    def run(self, initial: Any) -> Entry:
        """Trace until nothing changes.  ``initial()`` gives the START entry, afresh for each full restart."""
        self.initial = initial
        with watched(None if self.frozen else self.looked_up):
            return self._run(initial)

    def _run(self, initial: Any) -> Entry:
        self.start = self._begin(initial)
        while self.work or self.again:
            entry = self.work.pop() if self.work else heapq.heappop(self.again)[1]
            entry.queued = False
            if self.entries.get(entry.site, {}).get(entry.key) is not entry:
                continue
            try:
                self.evaluate(entry)
            except Restart as restart:
                self.restarts += 1
                if self.restarts > MAX_RESTARTS:
                    raise GiveUp("it was restarted too often") from None
                site = restart.args[1] if len(restart.args) > 1 else None
                if site is None or site == self.start.site:
                    self.start = self._begin(initial)
                else:
                    self._discard(site, entry)
            except NotMaterializable as refused:
                self.tables.not_virtual.add(refused.args[0])
                self.start = self._begin(initial)
            except Leak as leak:
                self.leave_class(leak.args[0])
                self.start = self._begin(initial)
        return self.start

    def _begin(self, initial: Any) -> Entry:
        self.entries, self.label_owner, self.work, self.again = {}, [], [], []
        self.read_static = set()
        self.static_objects = {}
        start: Entry = initial()
        self.push_work(start)
        return start

    def leave_class(self, template: templates.Template) -> None:
        """A class whose template got out: from now on its statement is left as it is."""
        self.tables.real_classes.setdefault(template.body, "the class could not be followed")

    def push_work(self, entry: Entry) -> None:
        """A new entry is followed first (so that what it needs is known for its siblings).

        Changed ones come last, in the order of their creation: about that of the program.
        """
        if not entry.queued:
            entry.queued = True
            if entry.evaluated:
                heapq.heappush(self.again, (entry.number, entry))
            else:
                self.work.append(entry)

    def _discard(self, site: Any, current: Entry) -> None:
        """Drop what was reached from the changed site; what leads there is evaluated again."""
        bad: set[Entry] = set()
        todo = list(self.entries.get(site, {}).values())
        while todo:
            entry = todo.pop()
            if entry not in bad:
                bad.add(entry)
                todo += [target for _, target, _ in entry.exits] + [target for _, target, _ in entry.calls]
        if self.start in bad:
            bad.discard(self.start)
        for entry in bad:
            table = self.entries.get(entry.site)
            if table is not None and table.get(entry.key) is entry:
                del table[entry.key]
        kept = [entry for table in self.entries.values() for entry in table.values()]
        for entry in kept:
            entry.callers -= bad
            if entry is current or any(t in bad for _, t, _ in entry.exits) or any(t in bad for _, t, _ in entry.calls):
                self.push_work(entry)
        self.work = [entry for entry in self.work if entry not in bad]
        self.again = [item for item in self.again if item[1] not in bad]
        heapq.heapify(self.again)

    def evaluate(self, entry: Entry) -> None:
        """Follow one chain of instructions from entry to where it ends or meets others."""
        while not self._chain(entry):
            pass

    def _chain(self, entry: Entry) -> bool:
        """False: a loop in the chain ran too long and is rolled now; do the chain again."""
        self.entry = entry
        entry.evaluated = True
        entry.exits, entry.calls, entry.tails, entry.call_tails = [], [], [], []
        entry.reads = self.reads = set()
        self.state = entry.state.fork()
        self.block = entry.block = Block()
        self.emitted = 0
        self.lent = {}
        if entry.choices:
            self._choose(0)
            return True
        visits: dict[tuple[int, int], int] = {}
        steps, first = 0, True
        while True:
            frame = self.state.frames[-1]
            code, ctx = frame.code, frame.ctx
            program = self.program(code)
            merges = self.tables.merge.setdefault(ctx, set())
            heads = code.loop_heads
            watched = self.tables.watched.get(ctx)
            since = steps
            while True:
                pc = frame.pc
                if pc in merges and not first:
                    self.leave(self.block, self.state)
                    self._count(ctx, steps, since)
                    return True
                first = False
                if pc in heads:
                    visits[ctx, pc] = visits.get((ctx, pc), 0) + 1
                    if (self.emitted > UNROLL_OPS or steps > UNROLL_STEPS) and self._roll(visits):
                        self._count(ctx, steps, since)
                        return False
                steps += 1
                if not steps & 1023 and self.total_steps + steps > self.fuel:
                    self._count(ctx, steps, since)
                    raise OutOfFuel
                handler, arg = program[pc]
                if watched is not None and pc in watched:
                    self._beware(frame, watched[pc])
                try:
                    to = handler(self, arg)
                except Consulted as refused:
                    self._watch(ctx, pc, refused.always)
                    self._count(ctx, steps, since)
                    return False
                if to is None:
                    frame.pc = pc + 1
                elif to >= 0:
                    frame.pc = to
                elif to == SWITCH:
                    self.spent[ctx] = self.spent.get(ctx, 0) + steps - since
                    if self.watching:
                        lifetimes.close_dying(self)
                    break
                else:
                    assert to == STOP
                    self._count(ctx, steps, since)
                    return True
                if self.watching and lifetimes.close_dying(self):
                    break

    def _count(self, ctx: int, steps: int, since: int) -> None:
        """So many instructions have been interpreted in a chain, those from since on in the innermost call."""
        self.total_steps += steps
        self.spent[ctx] = self.spent.get(ctx, 0) + steps - since

    def _watch(self, ctx: int, pc: int, always: bool) -> None:
        """An instruction relies on the environment where that may have changed: from now on the residual looks first."""
        watched = self.tables.watched.setdefault(ctx, {})
        before = watched.get(pc, 0)
        if before == PLAINLY:
            raise GiveUp("it relies on what changes all the time")
        watched[pc] = PLAINLY if before or always else LOOK

    def _beware(self, frame: Frame, how: int) -> None:
        """Before an instruction that relies on the environment: look again, or do it as it stands."""
        if how == LOOK and self.state.world == 1:
            self.look()
        if how == PLAINLY or self.state.world == 2:
            self._plainly(self.state.frames[-1])

    def _plainly(self, frame: Frame) -> None:
        """What the next instruction acts on is taken for unknown: nothing of it can be folded."""
        instruction = frame.code.instructions[frame.pc]
        pops, _ = effect(instruction.op, instruction.arg)
        stack = frame.stack
        for k in range(len(stack) - pops, len(stack)):
            value = stack[k]
            if isinstance(value, Ref) or (isinstance(value, Known) and not is_immutable(value.value) and not isinstance(value.value, _FIXED)):
                stack[k] = Dyn(self.operand(value), ANY)
            elif isinstance(value, Dyn) and not (isinstance(value.type, Type) and not can_change(value.type.cls)):
                stack[k] = Dyn(value.value, ANY, None, None, value.maybe_unbound, value.ends, value.maybe_end)

    def _choose(self, at: int) -> None:
        """START: a parameter that is one of a few constants becomes each of them in turn ("The Trick")."""
        if at == len(self.entry.choices):
            self.leave(self.block, self.state)
            return
        slot, choices = self.entry.choices[at]
        unknown = self.state.frames[0].locals[slot]
        assert unknown is not None
        for choice in choices[:-1]:
            equal = self.emit(same_constant, [unknown, Known(choice)], type=Type(bool), effect=Effect.PURE)
            block, state = self.block, self.state
            yes, no = Block(), Block()
            block.terminator = Branch(equal.value, Edge(yes), Edge(no), self.location())
            self.block, self.state = yes, state.fork()
            self.state.frames[0].locals[slot] = Known(choice)
            self._choose(at + 1)
            self.block, self.state = no, state
        self.state.frames[0].locals[slot] = Known(choices[-1])
        self._choose(at + 1)

    def _roll(self, visits: dict[tuple[int, int], int]) -> bool:
        """Make the loop head that was visited most a place where paths meet."""
        merge = self.tables.merge
        heads = [(count, head) for head, count in visits.items() if count > 1 and head[1] not in merge.get(head[0], ())]
        if not heads:
            return False
        ctx, pc = max(heads)[1]
        merge.setdefault(ctx, set()).add(pc)
        place = self.location()
        self.tables.reasons.setdefault(((ctx, pc), ROLLED), (ROLLED, place))
        return True

    def program(self, code: Any) -> Any:
        """The instructions of code as pairs of handler and argument."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------- edges and keys

    def edge(self, edge: Edge, state: State) -> None:
        state.drop_dead()
        self.entry.exits.append((edge, self.arrive(state.site(), state), state))
        self.entry.tails.append(self.reads)

    def key_of(self, site: Any, state: State) -> Any:
        """What of state the program was seen to need at this site."""
        used = self.tables.used.get(site)
        if not used:
            return ()
        forced = self.tables.forced.get(site, {})
        unkeyed = self.tables.unkeyed
        wanted = sorted(path for path, strength in used.items() if path not in forced and strength > unkeyed.get(path, 0))
        # walking to slots that lie deep is work, too
        self.total_steps += len(wanted) * 2
        return tuple((path, part) for path in wanted if (part := self._key_part(state, self.value_at(state, path))) is not None)

    def _key_part(self, state: State, value: V | None) -> Any:
        if isinstance(value, Known):
            return constant_key(value.value)
        if isinstance(value, Ref):
            return "shape", shape_in(state.heap, value.aid)
        return None

    def value_at(self, state: State, path: int) -> V | None:
        """The value of state at a path, None if it leads nowhere."""
        part = self.tables.paths.parts[path]
        if part == "handled":
            return state.handled
        if len(part) == 3:
            depth, kind, index = part
            if kind == "class":
                return Ref(depth) if depth in state.classes else None
            if depth >= len(state.frames):
                return None
            frame = state.frames[depth]
            if kind == "owner":
                return Ref(frame.owner) if frame.owner is not None else None
            held: Any = frame.locals if kind == "local" else frame.stack if kind == "stack" else [frame.scope] if kind == "scope" else [frame.asked]
            return held[index] if index < len(held) else None
        parent = self.value_at(state, part[0])
        if not isinstance(parent, Ref) or part[1] == "node":
            return None
        cells = state.heap[parent.aid].cells
        return cells[part[1]] if part[1] < len(cells) else None

    def arrive(self, site: Any, state: State, function: Function | None = None) -> Entry:
        """The entry for state at site, which state has been joined into."""
        table = self.entries.setdefault(site, {})
        key = self.key_of(site, state)
        entry = table.get(key)
        if entry is None:
            whistle(self.tables, site, table)
            entry = table[key] = Entry(site, key, function)
            self.entry_count = entry.number = self.entry_count + 1
            try:
                self._enter(entry, state)
            except Restart:
                if table.get(key) is entry:
                    del table[key]
                raise
            self.push_work(entry)
        else:
            self._join(entry, state)
        return entry

    def rekey(self, site: Any) -> None:
        """The used slots of a site have changed: its entries get new keys."""
        table = self.entries.get(site)
        if table:
            keyed = {self.key_of(site, entry.state): entry for entry in table.values()}
            if len(keyed) < len(table):
                raise Restart("rekey", site)      # with the table as it was: all of them are discarded
            table.clear()
            for key, entry in keyed.items():
                entry.key = key
                table[key] = entry

    # --------------------------------------------------------------------------------------------- used slots

    def label(self, entry: Entry, path: int) -> Labels:
        found = entry.labels.get(path)
        if found is None:
            found = entry.labels[path] = frozenset((len(self.label_owner),))
            self.label_owner.append((entry, path))
        return found

    def mark(self, labels: Labels | None, strength: int = STRONG) -> None:
        """Slots with these labels, and those that they were computed from, belong into keys."""
        todo = list(labels or ())
        while todo:
            entry, path = self.label_owner[todo.pop()]
            if entry.marked.get(path, 0) >= strength:
                continue
            entry.marked[path] = strength
            if entry is self.start and isinstance(self.value_at(entry.state, path), Dyn):
                if strength == STRONG:
                    raise Promote(self._place(path))
                continue
            used = self.tables.used.setdefault(entry.site, {})
            forced = self.tables.forced.setdefault(entry.site, {})
            fresh = used.get(path, 0) < strength
            used[path] = max(used.get(path, 0), strength)
            if path in forced and forced[path] < strength:
                del forced[path]
                raise Restart("free", entry.site)
            if path not in forced and used[path] > self.tables.unkeyed.get(path, 0):
                if path in entry.joined:
                    raise Restart("split", entry.site)
                if fresh:
                    self.rekey(entry.site)
            todo += entry.depends.get(path, ())

    def _place(self, path: int) -> tuple[int, ...]:
        """Where in the arguments a slot of START is."""
        part = self.tables.paths.parts[path]
        return (part[2],) if len(part) == 3 else (*self._place(part[0]), part[1])

    def _depend(self, entry: Entry, path: int, value: V) -> None:
        labels = value.lost if isinstance(value, Dyn) else value.labels
        if labels:
            known = entry.depends.get(path, NO_LABELS)
            if not labels <= known:
                entry.depends[path] = known | labels
                strength = entry.marked.get(path)
                if strength:
                    self.mark(labels, strength)

    # --------------------------------------------------------------------------------------------- joining

    def _enter(self, entry: Entry, state: State) -> None:
        """The first state that arrives: constants stay, everything else becomes a parameter."""
        matching = Matching(state, state, self.tables.paths)
        forced = self.tables.forced.get(entry.site, {})
        if forced:
            for path, value, _, _ in list(matching.pairs()):
                if path in forced:
                    matching._demote(value, value)
        entry.state = self._rebuild(entry, matching, list(matching.pairs()), fresh=True)

    def _join(self, entry: Entry, state: State) -> None:
        """Join state into the entry; where that changes it, it is work to do."""
        lost = align(entry.state, state)
        try:
            matching = Matching(entry.state, state, self.tables.paths)
        except NotMaterializable:
            self._split_by_generators(entry, state)
            raise
        pairs = list(matching.pairs())
        before = entry.state
        for frame, other in zip(before.frames, state.frames, strict=True):
            frame.decided |= other.decided
        entry.state = self._rebuild(entry, matching, pairs, fresh=False)
        if self._changed or lost:
            self.push_work(entry)      # before what may restart elsewhere: the next time nothing would change any more
        for path, _, b, _ in pairs:
            self._depend(entry, path, b)

    def _split_by_generators(self, entry: Entry, state: State) -> None:
        """Two states do not join, because of generators that stand in different places: the place belongs into the key."""
        forced = self.tables.forced.get(entry.site, {})
        used = self.tables.used.setdefault(entry.site, {})
        for path in unlike_generators(entry.state, state, self.tables.paths):
            if path not in forced and path not in used:
                used[path] = STRONG
                raise Restart("split", entry.site)

    _changed = False
    _classes: tuple[int, ...] = ()

    def _rebuild(self, entry: Entry, matching: Matching, pairs: list[Pair], fresh: bool) -> State:
        paths, old = self.tables.paths, matching.a
        new: dict[int, V] = {}
        objects: list[tuple[int, int, VObj]] = []
        self._changed = False
        self._classes = old.classes
        self.total_steps += len(pairs)
        ctx = old.frames[-1].ctx
        self.spent[ctx] = self.spent.get(ctx, 0) + len(pairs)
        if self.total_steps > self.fuel:
            raise OutOfFuel
        for path, a, b, obj in pairs:
            if fresh:
                new[path] = self._first(entry, matching, path, a)
            else:
                new[path] = self._both(entry, matching, path, a, b)
            if obj is not None and isinstance(a, Ref):
                objects.append((path, a.aid, obj))
        heap: dict[int, VObj] = {}
        for path, aid, obj in objects:
            first = paths[path, 0] if obj.cells else None
            cells = tuple(new[paths[path, k]] for k in range(len(obj.cells))) if first in new else obj.cells
            node = obj.node
            if node is not None or matching.built(Ref(aid)):
                self._changed |= node is None
                node = self._param(entry, paths[path, "node"], self.type_of_in(old, Ref(aid)))
                self._changed |= not fresh and node is not obj.node
            heap[aid] = obj if cells is obj.cells and node is obj.node else obj.replace(cells=cells, node=node)
        frames = []
        for depth, frame in enumerate(old.frames):
            copy = frame.fork()
            copy.locals = [None if v is None else new[paths[depth, "local", k]] for k, v in enumerate(frame.locals)]
            copy.stack = [new[paths[depth, "stack", k]] for k in range(len(frame.stack))]
            if frame.code.reads_locals:
                copy.scope = new[paths[depth, "scope", 0]]
            if frame.asked is not None:
                copy.asked = new[paths[depth, "asked", 0]]
            frames.append(copy)
        for aid, obj in old.heap.items():
            if obj.kind == "generator" and aid not in heap:
                lifetimes.abandon(obj)
        return State(frames, heap, new[paths["handled"]], old.world, old.classes)

    def _param(self, entry: Entry, path: int, type: AbstractValue) -> Param:
        found = entry.params.get(path)
        if found is None:
            found = entry.params[path] = Param(type, None, self._name(entry, path))
        found.type = type
        return found

    def _name(self, entry: Entry, path: int) -> str | None:
        """The user's variable behind a slot, or the key or attribute that it is of an object."""
        part = self.tables.paths.parts[path]
        if not isinstance(part, tuple) or not entry.state.frames:
            return None
        if len(part) == 3:
            depth, kind, index = part
            frames = entry.state.frames
            return frames[depth].code.names[index] if kind == "local" and depth < len(frames) else None
        parent = self.value_at(entry.state, part[0])
        obj = entry.state.heap.get(parent.aid) if isinstance(parent, Ref) else None
        key = obj.keys[part[1]] if obj is not None and type(part[1]) is int and part[1] < len(obj.keys) else None
        return key if type(key) is str else None

    def type_of_in(self, state: State, value: V) -> AbstractValue:
        if isinstance(value, Dyn):
            return value.type
        if isinstance(value, Known):
            return self.abstract(value.value)
        from_heap = state.heap[value.aid]
        return self.abstract_class(from_heap.extra[2] if from_heap.inner else from_heap.cls)

    def abstract(self, value: object) -> AbstractValue:
        """The type of a known value."""
        return self.library.of_value(value)

    def abstract_class(self, cls: type) -> AbstractValue:
        return self.library.of_class(cls)

    def _first(self, entry: Entry, matching: Matching, path: int, a: V) -> V:
        """What the first value that arrives in a slot becomes."""
        self._depend(entry, path, a)
        strength = self.tables.forced.get(entry.site, {}).get(path)
        if isinstance(a, Known):
            if a.value is UNBOUND:
                return Known(UNBOUND)
            if strength is None:
                return Known(a.value, self.label(entry, path))
        elif isinstance(a, Ref) and not matching.demoted(a, a):
            return Ref(a.aid, self.label(entry, path))
        type = templates.alive(self.type_of_in(matching.a, a), self._classes)
        lost = self.label(entry, path) if strength != STRONG and (not isinstance(a, Dyn) or a.lost is not None) else None
        dims = a.dims if isinstance(a, Dyn) else None
        dims = tuple(d if isinstance(d, Known) else None for d in dims) if dims else None
        unbound, ends, end = (a.maybe_unbound, a.ends, a.maybe_end) if isinstance(a, Dyn) else (False, False, False)
        return Dyn(self._param(entry, path, type), type, dims, lost, unbound, ends, end)

    def _both(self, entry: Entry, matching: Matching, path: int, a: V, b: V) -> V:
        """The join of what a slot holds and what arrives."""
        if isinstance(a, Ref) and isinstance(b, Ref) and not matching.demoted(a, b):
            return a
        if agree(a, b):
            return a
        if templates.ALL and (templates.is_mark(a) or templates.is_mark(b)):
            # a class may have an attribute, or not: the real one is asked
            self._changed |= not (isinstance(a, Known) and a.value is templates.CHANGED)
            return Known(templates.CHANGED)
        one, other = self.type_of_in(matching.a, a), self.type_of_in(matching.b, b)
        type = templates.alive(join(one, other), self._classes)
        strength = self.tables.forced.get(entry.site, {}).get(path)
        can_split = not (isinstance(a, Dyn) and a.lost is None) and not (isinstance(b, Dyn) and b.lost is None)
        unbound = any((isinstance(x, Dyn) and x.maybe_unbound) or (isinstance(x, Known) and x.value is UNBOUND) for x in (a, b))
        lost = self.label(entry, path) if can_split and strength != STRONG else None
        dims = self._join_dims(a, b)
        ends = (isinstance(a, Dyn) and a.ends) or (isinstance(b, Dyn) and b.ends)
        end = any((isinstance(x, Dyn) and x.maybe_end) or (isinstance(x, Known) and x.value is END) for x in (a, b))
        new = type, lost is None, unbound, dims is None, ends, end
        # a slot has another name now if what it was named by is gone: then it has another parameter, too
        unmoved = isinstance(a, Dyn) and (a.value is entry.params.get(path) or not isinstance(a.value, Param))
        if unmoved and isinstance(a, Dyn) and (a.type, a.lost is None, a.maybe_unbound, a.dims is None, a.ends, a.maybe_end) == new:
            if a.dims == dims or a.dims is None or all(x is y for x, y in zip(a.dims, dims or (), strict=False)):
                return a
        self._changed = True
        if lost is not None:
            if not isinstance(a, Dyn):
                entry.joined.add(path)
                if strength is None and self.tables.used.get(entry.site, NOTHING).get(path, 0) > self.tables.unkeyed.get(path, 0):
                    if self._key_part(matching.a, a) == self._key_part(matching.b, b):
                        # no key tells them apart (one is real, the other not): known on both sides it cannot stay
                        self.tables.forced.setdefault(entry.site, {})[path] = STRONG
                        raise Restart("force", entry.site)
                    raise Restart("split", entry.site)
        else:
            entry.joined.discard(path)
        return Dyn(self._param(entry, path, type), type, dims, lost, unbound, ends, end)

    def _join_dims(self, a: V, b: V) -> tuple[V | None, ...] | None:
        x = a.dims if isinstance(a, Dyn) else None
        y = b.dims if isinstance(b, Dyn) else None
        if x is None or y is None or len(x) != len(y):
            return None
        return tuple(p if p is q or (p is not None and q is not None and agree(p, q)) else None for p, q in zip(x, y, strict=True))

    # --------------------------------------------------------------------------------------------- functions

    def home(self) -> Entry:
        """The function that the current chain belongs to."""
        found: Entry = self.homes[self.state.frames[0].ctx]
        return found

    def add(self, op: Op, land: Landing | None = None) -> None:
        home = self.homes[self.state.frames[0].ctx]
        if op.effect._value_ & ~home.effect._value_:
            self._spread(home, home.result, op.effect)
        super().add(op, land)

    def returned(self, type: AbstractValue) -> None:
        """The current function returns a value of this type."""
        home = self.home()
        joined = join(home.result, templates.alive(type, ()))
        if joined != home.result:
            self._spread(home, joined, Effect.PURE)

    def _spread(self, home: Entry, result: AbstractValue, effect: Effect) -> None:
        home.result, home.effect = result, home.effect | effect
        for caller in list(home.callers):
            if caller is not self.entry or effect:
                self.push_work(caller)

    def _fits_start(self, state: State) -> bool:
        """Does the traced function itself do for this call?  (All it knows is known here, and nothing else is asked.)"""
        start = self.start
        if start is None or start.choices or start.state.frames[0].code is not state.frames[0].code or state.world:
            return False
        for ours, theirs in zip(start.state.frames[0].locals, state.frames[0].locals, strict=True):
            if isinstance(ours, Dyn):
                if not isinstance(theirs, Dyn) or ours.dims is not None or not leq(theirs.type, ours.type):
                    return False
            elif not (isinstance(ours, Known) and theirs is not None and agree(ours, theirs)):
                return False
        return True

    def call_function(self, frame: Frame, heap: dict[int, VObj], name: str) -> "Dyn | None":
        """Call the residual function that begins with frame; None if it is not yet known to return."""
        site = (self.tables.contexts["function", frame.code], -1, self.state.world)
        state = State([frame], heap, world=self.state.world, classes=tuple(aid for aid in self.state.classes if aid in heap))
        frame.ctx = -1
        if self._fits_start(state):
            assert self.start is not None
            entry = self.start
        else:
            code = frame.code
            place = Location(code.filename, code.first_line, None, None, None, code.qualname, code.first_line)
            entry = self.arrive(site, state, Function(name, [], place))
            ctx = self.tables.contexts["body", frame.code, entry.key]
            entry.state.frames[0].ctx = ctx
            self.homes[ctx] = entry
        entry.callers.add(self.entry)
        effect = entry.effect | Effect.RAISES
        op = Op(entry.function, (), (), entry.result, None, effect, self.location())
        self.entry.calls.append((op, entry, state))
        self.entry.call_tails.append(self.reads)
        self.add(op)
        if isinstance(entry.result, Bottom):
            return None
        return Dyn(op, entry.result)
