"""Merges of control flow: how a state arrives at its entry, and is joined with the states that arrived before."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from hovis.engine.entries.entry import Entry
from hovis.engine.entries.keys import NOTHING, PATHS, SHIFT, place_of
from hovis.engine.machine.machine import Machine
from hovis.engine.merge import first_rounds, the_trick
from hovis.engine.merge.entry_update import EntryUpdate
from hovis.engine.merge.first_arrival import Opening
from hovis.engine.merge.generalization import TEST_VARIANTS, join_counters, whistle
from hovis.engine.merge.join_states import Matching, align, unlike_generators
from hovis.engine.merge.size_generalization import COUNTED, forget_growing, stop_counting
from hovis.engine.state import finalizers, lifetimes
from hovis.engine.state.budget import OutOfFuel
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import NO_LABELS, STRONG, TEST, Dyn, Known, Ref, each
from hovis.ir.model import Edge, Function, Param
from hovis.lattice import AbstractValue

#: The most slots from which a number was computed that are searched for its own slot.
LOOKED_BACK: Final = 64

#: The most restarts that put the positions of generators made at one place into the key.
GENERATOR_SPLITS: Final = 5


class Merger:
    """Joins the states of a machine into the entries at which they arrive.

    push_work: puts an entry on the worklist, to be evaluated (again)
    """

    def __init__(self, machine: Machine, push_work: Callable[[Entry], None]) -> None:
        self.machine, self.keys, self.tables, self.effort = machine, machine.keys, machine.tables, machine.effort
        self.push_work = push_work
        self.entry_count = 0

    # --------------------------------------------------------------------------------------------- edges

    def edge(self, edge: Edge, state: State) -> None:
        if lifetimes.drop_dead(self.machine, state):
            finalizers.run_in(self.machine, state)
        site = state.site()
        chosen = the_trick.choosing(self.keys, site, state)
        if chosen is not None:
            the_trick.dispatch(self, edge, state, chosen)
            return
        self.machine.entry.exits.append((edge, self.arrive(site, state), state))
        self.machine.entry.tails.append(self.machine.environment.reads)

    def arrive(self, site: Any, state: State, function: Function | None = None) -> Entry:
        """Join state into the entry for it at site, and return that entry."""
        table = self.keys.entries.setdefault(site, {})
        key = self.keys.key_of(site, state)
        entry = table.get(key)
        if entry is None:
            if table:
                whistle(self.tables, site, table, self.effort.places())
                if self.machine.known_sizes and (len(table) == COUNTED or len(table) % TEST_VARIANTS == 0):
                    forget_growing(self.tables, site, table, state, partial(self._counting, table))
                    stop_counting(self.tables, site, table, state, self.effort.places())
            crowd, peers = self._crowds(site, table, key)
            first_rounds.spare(self.keys, self.machine.entry, site, key, state, [table[other] for other in peers])
            if len(crowd) >= TEST_VARIANTS and len(crowd) % TEST_VARIANTS == 0:
                join_counters(self.tables, site, crowd, partial(self._counting, table))
            crowd.append(key)
            peers.append(key)
            entry = table[key] = Entry(site, key, function)
            self.entry_count = entry.number = self.entry_count + 1
            try:
                self.enter(entry, state)
            except Restart:
                if table.get(key) is entry:
                    del table[key]
                raise
            self.push_work(entry)
        else:
            self._join(entry, state)
        return entry

    def _crowds(self, site: Any, table: Mapping[Any, Entry], key: Any) -> tuple[list[Any], list[Any]]:
        """Return the keys of a site that differ from key only in slots that are merely tested, and those with the same constants that choose."""
        used = self.tables.used.get(site, NOTHING)
        crowds = self.keys.crowds.get(site)
        if crowds is None:
            crowds = self.keys.crowds[site] = {}, {}
            for other in table:
                crowds[0].setdefault(tuple([x for x in other if used[x[0]] > TEST]), []).append(other)
                crowds[1].setdefault(tuple([x for x in other if x[1][0] != "shape" and used[x[0]] > TEST]), []).append(other)
        return (
            crowds[0].setdefault(tuple([x for x in key if used[x[0]] > TEST]), []),
            crowds[1].setdefault(tuple([x for x in key if x[1][0] != "shape" and used[x[0]] > TEST]), []),
        )

    def _counting(self, table: Mapping[Any, Entry], path: int) -> Sequence[int]:
        """Return the slot, or all slots of its container, if entries have a number there that was computed from another in the same slot; else
        nothing.
        """
        for entry in table.values():
            value = self.keys.value_at(entry.state, path)
            if isinstance(value, Known) and type(value.value) in (int, float) and self._comes_back(entry, path, value.value):
                part = self.tables.paths.parts[path]
                container = self.keys.value_at(entry.state, part[0]) if len(part) == 2 else None
                obj = entry.state.heap[container.aid] if isinstance(container, Ref) else None
                return self.tables.paths.cells(part[0], obj) if obj is not None and obj.kind in ("list", "dict") else (path,)
        return ()

    def _comes_back(self, entry: Entry, path: int, now: object) -> bool:
        """Was the number in a slot computed, perhaps through other numbers, from a different one in the same slot?"""
        todo = list(each(entry.depends.get(path, NO_LABELS)))
        seen: set[int] = set()
        while todo and len(seen) < LOOKED_BACK:
            label = todo.pop()
            if label not in seen:
                seen.add(label)
                owner, at = self.keys.label_owner[(label >> SHIFT) - 1], label & PATHS
                before = self.keys.value_at(owner.state, at)
                if isinstance(before, Known) and type(before.value) in (int, float):
                    if at == path and before.value != now:
                        return True
                    todo += each(owner.depends.get(at, NO_LABELS))
        return False

    # --------------------------------------------------------------------------------------------- joining

    def enter(self, entry: Entry, state: State) -> None:
        """Initialize the entry from the first state that arrives: constants stay, everything else becomes a parameter."""
        forced = self.tables.forced.get(entry.site)
        matching = None
        if forced:
            matching = Matching(state, state, self.tables.paths, self.machine.number, self.tables.tuples_seen)
            for path, value, _, _ in matching.pairs:
                if path in forced:
                    matching.demote(value, value)
        entry.state = Opening(self, entry, state, forced or {}, matching).state()

    def _join(self, entry: Entry, state: State) -> None:
        """Join state into the entry; if that changes the entry, put it on the worklist."""
        dropped = align(entry.state, state)
        try:
            matching = Matching(entry.state, state, self.tables.paths, self.machine.number, self.tables.tuples_seen)
        except NotMaterializable as refused:
            self._split_by_generators(entry, state, refused.args[0])
            raise
        for frame, arriving in zip(entry.state.frames, state.frames, strict=True):
            frame.decided |= arriving.decided
        ends = state.endings and not entry.state.endings
        entry.state.endings |= ends
        if EntryUpdate(self, entry, matching).run(dropped) or dropped or ends:      # its exits may pass on constants that it no longer has
            self.push_work(entry)      # before ``depend`` below, which may restart: in the next join nothing would change any more
        if self.machine.assumptions is not None and self._vary(entry, matching):
            self.push_work(entry)
        depends = entry.depends
        for path, _, b, _ in matching.pairs:
            labels = b.lost if type(b) is Dyn else b.labels  # type: ignore[union-attr]
            if labels and depends.get(path) != labels:
                self.keys.depend(entry, path, labels)

    def _vary(self, entry: Entry, matching: Matching) -> bool:
        """Record the parameters to which another value is passed now; return whether there are any."""
        examples, found = self.machine.assumptions.examples, False
        for path, a, b, _ in matching.pairs:
            param = entry.params.get(path)
            if type(a) is Dyn and a.value is param and param is not None:
                found |= examples.joins(b, param)
        return found

    def _split_by_generators(self, entry: Entry, state: State, maker: Any) -> None:
        """Put into the key the slots of generators at different points, because of which two states cannot be joined (by a Restart).

        After GENERATOR_SPLITS restarts for one maker, do nothing: if generators made at one place pile up, their positions have no end.
        """
        count = self.tables.generator_splits[maker] = self.tables.generator_splits.get(maker, 0) + 1
        if count > GENERATOR_SPLITS:
            return
        forced = self.tables.forced.get(entry.site, {})
        used = self.tables.used.setdefault(entry.site, {})
        for path in unlike_generators(entry.state, state, self.tables.paths):
            if path not in forced and path not in used:
                used[path] = STRONG
                raise Restart("split", entry.site)

    def param(self, entry: Entry, path: int, type: AbstractValue, state: State) -> Param:
        """Return the parameter for a slot of the entry, named after the value of that slot in state."""
        found = entry.params.get(path)
        if found is None:
            found = entry.params[path] = Param(type, None, self._name(state, path))
            if self.machine.assumptions is not None:
                self.machine.assumptions.examples.pass_on(self._value_at(state, path), found)
        found.type = type
        return found

    def _value_at(self, state: State, path: int) -> object:
        """Return the value in a slot of state; for the slot of a real object, its SSA value."""
        part = self.tables.paths.parts[path]
        if not (isinstance(part, tuple) and part[1:] == ("node",)):
            return self.keys.value_at(state, path)
        held = self.keys.value_at(state, part[0])
        return state.heap[held.aid].node if isinstance(held, Ref) else None

    def _name(self, state: State, path: int) -> str | None:
        """Return the name of the user's variable in a slot, or the key or attribute that it is of an object; None if there is none."""
        part = self.tables.paths.parts[path]
        if not isinstance(part, tuple):
            return None
        key: object = None
        if len(part) == 3:
            depth, kind, index = part
            code = state.frames[depth].code if kind == "local" and depth < len(state.frames) else None
            if code is not None and index < len(code.names) and not code.filename.startswith(self.machine.package):
                key = code.names[index]
        elif part[1] == "node":
            return self._name(state, part[0])
        else:
            parent = self.keys.value_at(state, part[0])
            obj = state.heap.get(parent.aid) if isinstance(parent, Ref) else None
            place = place_of(part[1])
            if obj is not None and obj.kind != "model" and place < len(obj.keys):
                key = obj.keys[place]
        return key if type(key) is str and key.isidentifier() else None

    def work_on(self, state: State, slots: int) -> None:
        """Account for the work on this number of slots of state; raises OutOfFuel if that is too much."""
        self.effort.tick(slots)
        self.effort.spend(state.frames[-1].ctx, slots)
        self.effort.steps += slots
        if self.effort.steps > self.effort.limit():
            raise OutOfFuel
