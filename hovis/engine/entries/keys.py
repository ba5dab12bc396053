"""The keys of entries, and the slots that belong into them.

A key holds the constants that the program was seen to need; everything else is joined (:mod:`hovis.engine.merge.merging`).
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from hovis.engine.entries.entry import Entry
from hovis.engine.entries.slot_paths import items_of, wound
from hovis.engine.state.budget import Effort
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import shape_in
from hovis.engine.state.specialization_tables import Promote, Restart, Tables
from hovis.engine.state.values import NO_LABELS, SIZE, STRONG, TEST, WEAK, Dyn, Known, Labels, Ref, V, each, together, within
from hovis.lattice.constants import LARGE, constant_key

NOTHING: Mapping[Any, Any] = {}

#: A label is the number of an entry, and so many bits for the path of a slot.
SHIFT: Final = 32
PATHS: Final = (1 << SHIFT) - 1


class Keys:
    """The entries by their keys, and where what is in a key came from."""

    def __init__(self, tables: Tables, effort: Effort) -> None:
        self.tables, self.effort = tables, effort
        self.entries: dict[Any, dict[Any, Entry]] = {}
        #: by label, see ``label``
        self.label_owner: list[Entry] = []
        #: the slots that make up the keys of a site, as long as no table has changed
        self.wanted: dict[Any, list[int]] = {}
        #: by site: the keys that are equal in what chooses, and those that are equal in their constants; as long as that
        self.crowds: dict[Any, tuple[dict[Any, list[Any]], dict[Any, list[Any]]]] = {}
        #: slots that are not known anywhere by the time their values choose
        self.final: set[int] | None = None
        self._large: dict[int, tuple[object, Any]] = {}
        self._numbers: dict[Any, int] = {}
        #: where the trace begins
        self.start = Entry(("start", 0), ())

    def restart(self) -> None:
        """A table has changed: what was found in the tables is found afresh."""
        self.wanted.clear()
        self.crowds.clear()
        self.final = None

    def clear(self) -> None:
        """Begin afresh, without an entry."""
        self.entries, self.label_owner = {}, []
        self.crowds.clear()

    def all(self) -> list[Entry]:
        """The entries of all sites."""
        return [entry for table in self.entries.values() for entry in table.values()]

    # --------------------------------------------------------------------------------------------- keys

    def key_of(self, site: Any, state: State) -> Any:
        """What of state the program was seen to need at this site."""
        wanted = self.wanted_at(site)
        # walking to slots that lie deep is work, too
        self.effort.steps += len(wanted) * 2
        return tuple([(path, part) for path in wanted if (part := self.key_part(state, self.value_at(state, path))) is not None])

    def wanted_at(self, site: Any) -> Sequence[int]:
        """The slots that make up the keys of a site."""
        wanted = self.wanted.get(site)
        if wanted is None:
            if self.tables.coarse:
                return ()
            used, forced, unkeyed = self.tables.used.get(site, NOTHING), self.tables.forced.get(site, NOTHING), self.tables.unkeyed
            wanted = self.wanted[site] = sorted(path for path, strength in used.items() if path not in forced and strength > unkeyed.get(path, 0))
        return wanted

    def key_part(self, state: State, value: V | None) -> Any:
        """What a key holds of a value: the constant, the shape of an object, nothing of what is unknown."""
        if isinstance(value, Known):
            return self._large_key(value.value) if type(value.value) is tuple and len(value.value) >= LARGE else constant_key(value.value)
        if isinstance(value, Ref):
            return "shape", shape_in(state.heap, value.aid)
        return None

    def _large_key(self, value: tuple[Any, ...]) -> Any:
        """The key of a tuple that is so large that to look at it again and again would cost too much."""
        found = self._large.get(id(value))
        if found is None:
            found = self._large[id(value)] = value, ("tuple", self._numbers.setdefault(constant_key(value), len(self._numbers)))
        return found[1]

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
        obj, step = state.heap[parent.aid], part[1]
        if type(step) is tuple:
            place, key = step
            return obj.cells[place] if place < len(obj.keys) and obj.kind == "dict" and obj.keys[place] == key else None
        return obj.cells[step] if step < len(obj.cells) else None

    def rekey(self, site: Any, path: int) -> bool:
        """A slot of a site is used from now on: its entries get new keys.  False: two of them the same."""
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
                return False      # with the table as it was: all of them are discarded
            table.clear()
            for key, entry in keyed.items():
                entry.key = key
                table[key] = entry
        return True

    def outdated(self, site: Any) -> list[Entry]:
        """The slots that make up the keys of a site are others now: the entries that do not fit.  The rest gets its new keys."""
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
        """The label of a slot of an entry: which entry it is, and the path."""
        if not entry.base:
            self.label_owner.append(entry)
            entry.base = len(self.label_owner) << SHIFT
        return entry.base + path

    def mark(self, labels: Labels | None, strength: int = STRONG) -> None:
        """Slots with these labels, and those that they were computed from, belong into keys."""
        if not labels:
            return
        if type(labels) is int and self.label_owner[(labels >> SHIFT) - 1].marked.get(labels & PATHS, 0) >= strength:
            return    # most often it has been said before
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
                if path in entry.joined and (root := wound(self.tables.paths.parts, path)) is not None:
                    # what is built in a loop has as many parts as there are rounds
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
        """A slot of the entry that is being evaluated counts the rounds of a loop without a known end.

        It would have more values than are worth telling apart: it is only known where it chooses.
        """
        for label in each(value.labels):
            entry, path = self.label_owner[(label >> SHIFT) - 1], label & PATHS
            forced = self.tables.forced.setdefault(entry.site, {})
            if entry is evaluated and path not in forced and self.tables.used.get(entry.site, NOTHING).get(path, 0) <= TEST:
                forced[path] = TEST
                self.tables.counted.add((entry.site, path))
                raise Restart("force", entry.site)

    def only_counts(self, value: V | None) -> bool:
        """Is value a constant that was computed from others, none of which has chosen or been tested?"""
        if type(value) is not Known or not value.labels:
            return False
        return all(self.label_owner[(label >> SHIFT) - 1].marked.get(label & PATHS, 0) <= WEAK for label in each(value.labels))

    def _place(self, path: int) -> tuple[int, ...]:
        """Where in the arguments a slot of START is."""
        part = self.tables.paths.parts[path]
        return (part[2],) if len(part) == 3 else (*self._place(part[0]), place_of(part[1]))

    def depend(self, entry: Entry, path: int, labels: Labels) -> None:
        """What arrives in a slot was computed from these."""
        known = entry.depends.get(path, NO_LABELS)
        if not within(labels, known):
            entry.depends[path] = together(known, labels)
            strength = entry.marked.get(path)
            if strength:
                self.mark(labels, strength)


def place_of(step: Any) -> Any:
    """Which cell of an object a step of a path leads to."""
    return step[0] if type(step) is tuple else step
