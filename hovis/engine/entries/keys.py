"""Specialization keys of entries, and the slots that belong to them.

A key holds the constants that the program was seen to need; everything else is joined (:mod:`hovis.engine.merge.merging`).
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from hovis.engine.entries.entry import Entry
from hovis.engine.entries.slot_paths import items_of, repeating_chain
from hovis.engine.state.budget import Effort
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import shape_in
from hovis.engine.state.specialization_tables import Promote, Restart, Tables
from hovis.engine.state.values import NO_LABELS, SIZE, STRONG, TEST, WEAK, Dyn, Known, Labels, Ref, V, each, together, within
from hovis.lattice.constants import LARGE, constant_key

NOTHING: Mapping[Any, Any] = {}

#: A label consists of the number of an entry and, in its lowest SHIFT bits, the path of a slot.
SHIFT: Final = 32
PATHS: Final = (1 << SHIFT) - 1


class Keys:
    """The entries by their keys, and the origin of the constants in a key."""

    def __init__(self, tables: Tables, effort: Effort) -> None:
        self.tables, self.effort = tables, effort
        self.entries: dict[Any, dict[Any, Entry]] = {}
        #: the entries by the number in their labels, counted from 1 (see ``label``)
        self.label_owner: list[Entry] = []
        #: cache: the slots that make up the keys of a site, until a table changes
        self.wanted: dict[Any, list[int]] = {}
        #: cache, by site: the keys, grouped by the slots in them that decide something, and grouped by the constants among these; until a table changes
        self.crowds: dict[Any, tuple[dict[Any, list[Any]], dict[Any, list[Any]]]] = {}
        #: cache: the slots that are forced to be unknown at some site although their values decide something
        self.final: set[int] | None = None
        self._large: dict[int, tuple[object, Any]] = {}
        self._numbers: dict[Any, int] = {}
        #: the entry where the trace begins
        self.start = Entry(("start", 0), ())

    def restart(self) -> None:
        """Clear what was computed from the tables, because a table has changed."""
        self.wanted.clear()
        self.crowds.clear()
        self.final = None

    def clear(self) -> None:
        """Drop all entries."""
        self.entries, self.label_owner = {}, []
        self.crowds.clear()

    def all(self) -> list[Entry]:
        """Return the entries of all sites."""
        return [entry for table in self.entries.values() for entry in table.values()]

    # --------------------------------------------------------------------------------------------- keys

    def key_of(self, site: Any, state: State) -> Any:
        """Compute the key of state at this site: the parts of state that the program was seen to need there."""
        wanted = self.wanted_at(site)
        # finding slots that are deeply nested costs time as well
        self.effort.steps += len(wanted) * 2
        return tuple([(path, part) for path in wanted if (part := self.key_part(state, self.value_at(state, path))) is not None])

    def wanted_at(self, site: Any) -> Sequence[int]:
        """Return the slots that make up the keys of a site."""
        wanted = self.wanted.get(site)
        if wanted is None:
            if self.tables.coarse:
                return ()
            used, forced, unkeyed = self.tables.used.get(site, NOTHING), self.tables.forced.get(site, NOTHING), self.tables.unkeyed
            wanted = self.wanted[site] = sorted(path for path, strength in used.items() if path not in forced and strength > unkeyed.get(path, 0))
        return wanted

    def key_part(self, state: State, value: V | None) -> Any:
        """Return the part of a key for a value: the constant, the shape of an object, None for an unknown value."""
        if isinstance(value, Known):
            return self._large_key(value.value) if type(value.value) is tuple and len(value.value) >= LARGE else constant_key(value.value)
        if isinstance(value, Ref):
            return "shape", shape_in(state.heap, value.aid)
        return None

    def _large_key(self, value: tuple[Any, ...]) -> Any:
        """Return a short key for a tuple that is too large to be compared again and again."""
        found = self._large.get(id(value))
        if found is None:
            found = self._large[id(value)] = value, ("tuple", self._numbers.setdefault(constant_key(value), len(self._numbers)))
        return found[1]

    def value_at(self, state: State, path: int) -> V | None:
        """Return the value of state at a path, or None if there is none."""
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
        obj, step = state.heap[parent.aid], part[1]
        if type(step) is tuple:
            place, key = step
            return obj.cells[place] if place < len(obj.keys) and obj.kind == "dict" and obj.keys[place] == key else None
        return obj.cells[step] if step < len(obj.cells) else None

    def rekey(self, site: Any, path: int) -> bool:
        """Give the entries of a site new keys, because a slot is used from now on. False if that is not possible: two would have the same key,
        or a function would change its key.
        """
        self.wanted.pop(site, None)
        self.crowds.pop(site, None)
        table = self.entries.get(site)
        if table:
            keyed = {}
            for entry in table.values():
                part = self.key_part(entry.state, self.value_at(entry.state, path))
                rest = [x for x in entry.key if x[0] != path]
                keyed[tuple(sorted([*rest, (path, part)], key=itemgetter(0)) if part is not None else rest)] = entry
            if len(keyed) < len(table) or any(entry.begins_function and entry.key != key for key, entry in keyed.items()):
                return False      # the table is left as it was: the caller has all its entries discarded
            table.clear()
            for key, entry in keyed.items():
                entry.key = key
                table[key] = entry
        return True

    def outdated(self, site: Any) -> list[Entry]:
        """Return the entries of a site that do not fit any more, because other slots make up its keys now. The rest get their new keys."""
        table = self.entries.get(site, {})
        forced = [path for path, strength in self.tables.forced.get(site, NOTHING).items() if strength == STRONG or (site, path) in self.tables.counted]
        groups: dict[Any, list[Entry]] = {}
        bad = []
        for entry in table.values():
            key = self.key_of(site, entry.state)
            moved = key != entry.key and entry.begins_function
            known = any(not isinstance(self.value_at(entry.state, path), Dyn) for path in forced)
            if moved or known or not entry.joined.isdisjoint(self.wanted.get(site, ())):
                bad.append(entry)
            else:
                groups.setdefault(key, []).append(entry)
        kept = {key: group[0] for key, group in groups.items() if len(group) == 1}
        bad += [entry for group in groups.values() if len(group) > 1 for entry in group]
        table.clear()
        for key, entry in kept.items():
            entry.key = key
            table[key] = entry
        return bad

    # --------------------------------------------------------------------------------------------- used slots

    def label(self, entry: Entry, path: int) -> int:
        """Return the label of a slot of an entry: the number of the entry, and the path."""
        if not entry.base:
            self.label_owner.append(entry)
            entry.base = len(self.label_owner) << SHIFT
        return entry.base + path

    def mark(self, labels: Labels | None, strength: int = STRONG) -> None:
        """Make the slots with these labels, and those that they were computed from, parts of keys. Raise Restart or Promote if something has to
        be traced again for that.
        """
        if not labels:
            return
        if type(labels) is int and self.label_owner[(labels >> SHIFT) - 1].marked.get(labels & PATHS, 0) >= strength:
            return    # the most frequent case: the slot has been marked before
        todo = list(each(labels))
        again: dict[Any, None] = {}
        promoted: list[tuple[int, ...]] = []
        while todo:
            label = todo.pop()
            entry, path = self.label_owner[(label >> SHIFT) - 1], label & PATHS
            if entry.marked.get(path, 0) >= strength:
                continue
            entry.marked[path] = strength
            if entry is self.start and isinstance(self.value_at(entry.state, path), Dyn):
                if strength >= SIZE:
                    promoted.append(self._place(path))
                continue
            used = self.tables.used.setdefault(entry.site, {})
            forced = self.tables.forced.setdefault(entry.site, {})
            kept_out = self.tables.unkeyed.get(path, 0)
            fresh = used.get(path, 0) <= kept_out
            if used.get(path, 0) < strength:
                used[path] = strength
                self.wanted.pop(entry.site, None)
                self.crowds.pop(entry.site, None)
            if path in forced and forced[path] < strength:
                del forced[path]
                for one in self.entries.get(entry.site, NOTHING).values():
                    if isinstance(held := self.value_at(one.state, path), Dyn) and held.lost is not None:
                        one.joined.add(path)
                again[entry.site] = None
            stacks = self.tables.stacks.get(entry.site)
            if stacks and strength == STRONG and path not in forced and not stacks.isdisjoint(items_of(self.tables.paths.parts, path)):
                forced[path] = STRONG
                again[entry.site] = None
            if path not in forced and used[path] > kept_out:
                if path in entry.joined and (root := repeating_chain(self.tables.paths.parts, path)) is not None:
                    # a structure that is built in a loop has as many parts as there are iterations
                    forced[root] = used[root] = STRONG
                    again[entry.site] = None
                elif path in entry.joined or (fresh and entry.site not in again and not self.rekey(entry.site, path)):
                    again[entry.site] = None
            todo += each(entry.depends.get(path, NO_LABELS))
        if promoted:
            raise Promote(*promoted)
        if again:
            raise Restart("split", *again)

    def counts(self, evaluated: Entry, value: Known) -> None:
        """Force the slot of the entry evaluated from which value was computed to be unknown (Restart), because it counts the iterations of a
        loop with an unknown trip count.

        It would have more values than are worth keeping apart: it stays known only if its value decides something.
        """
        for label in each(value.labels):
            entry, path = self.label_owner[(label >> SHIFT) - 1], label & PATHS
            forced = self.tables.forced.setdefault(entry.site, {})
            if entry is evaluated and path not in forced and self.tables.used.get(entry.site, NOTHING).get(path, 0) <= TEST:
                forced[path] = TEST
                self.tables.counted.add((entry.site, path))
                raise Restart("force", entry.site)

    def only_counts(self, value: V | None) -> bool:
        """Is value a constant computed from others, none of which has decided anything or been tested?"""
        if type(value) is not Known or not value.labels:
            return False
        return all(self.label_owner[(label >> SHIFT) - 1].marked.get(label & PATHS, 0) <= WEAK for label in each(value.labels))

    def _place(self, path: int) -> tuple[int, ...]:
        """Return the place of a slot of START in the arguments: the position of a parameter, and the indices below it."""
        part = self.tables.paths.parts[path]
        return (part[2],) if len(part) == 3 else (*self._place(part[0]), place_of(part[1]))

    def depend(self, entry: Entry, path: int, labels: Labels) -> None:
        """Record that the value that arrives in a slot was computed from these labels."""
        known = entry.depends.get(path, NO_LABELS)
        if not within(labels, known):
            entry.depends[path] = together(known, labels)
            strength = entry.marked.get(path)
            if strength:
                self.mark(labels, strength)


def place_of(step: Any) -> Any:
    """Return the index of the cell to which a step of a path leads."""
    return step[0] if type(step) is tuple else step
