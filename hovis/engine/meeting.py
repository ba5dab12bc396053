"""Where paths meet: the keys of entries, the slots that belong into them, and joining (engine.md, "edge").

A key holds the constants that the program was seen to need; everything else is joined.
"""

import abc
from collections.abc import Mapping
from typing import Any

from hovis.engine import lifetimes, templates
from hovis.engine.budget import OutOfFuel
from hovis.engine.entries import Entry
from hovis.engine.escape import NotMaterializable
from hovis.engine.heap import VObj, shape_in
from hovis.engine.joins import Matching, Pair, agree, align, unlike_generators
from hovis.engine.machine import Machine
from hovis.engine.state import State
from hovis.engine.tables import Promote, Restart, Tables
from hovis.engine.values import NO_LABELS, STRONG, Dyn, Known, Labels, Ref, V
from hovis.engine.whistle import whistle
from hovis.ir.model import Edge, Function, Param
from hovis.ir.operations import END, UNBOUND
from hovis.lattice import AbstractValue, join
from hovis.lattice.constants import constant_key
from hovis.library.core import Library

NOTHING: Mapping[int, int] = {}


class Meeting(Machine):
    """The entries, and how states arrive at them."""

    def __init__(self, library: Library, tables: Tables, package: str, fuel: int, frozen: bool) -> None:
        super().__init__(library, tables, package, frozen)
        self.fuel: float = fuel
        #: instructions by call string
        self.spent: dict[int, int] = {}
        self.entries: dict[Any, dict[Any, Entry]] = {}
        self.label_owner: list[tuple[Entry, int]] = []
        self.entry_count = 0
        self.start: Entry | None = None

    @abc.abstractmethod
    def push_work(self, entry: Entry) -> None:
        """An entry has to be evaluated (again)."""

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
