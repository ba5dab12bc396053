"""Where paths meet: how a state comes to its entry, and is joined with what has come there before (engine.md, "edge")."""

import abc
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from hovis.base import deadline, once
from hovis.engine.merge import the_trick
from hovis.engine.merge.entries import Entry
from hovis.engine.merge.first_arrival import Opening
from hovis.engine.merge.generalization import TEST_VARIANTS, join_counters, whistle
from hovis.engine.merge.join_states import Matching, agree, align, told_apart, unlike_generators
from hovis.engine.merge.keys import NOTHING, PATHS, SHIFT, Keys, place_of
from hovis.engine.merge.size_generalization import COUNTED, forget_growing, stop_counting
from hovis.engine.state import class_templates, finalizers, lifetimes
from hovis.engine.state.budget import OutOfFuel, allowance
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import VObj, holds
from hovis.engine.state.specialization_tables import Restart, Tables
from hovis.engine.state.standins import NotMaterializable
from hovis.engine.state.values import ENDS, NO_LABELS, STRONG, TEST, Dyn, Known, Ref, V, each, either
from hovis.ir.model import Edge, Function, Param
from hovis.ir.operations import END, UNBOUND
from hovis.lattice import ANY, AbstractValue, Type, join
from hovis.lattice.constants import PLAIN
from hovis.library.core import Library

#: What steps an iterator, and where on the stack that is.
_ITERATORS: Final = {"ForIter": -1, "Send": -2}

#: So many entries are looked at for one of which a loop comes back.
FIRST_ROUNDS: Final = 4

#: So many slots that a number was computed from are looked at for one like it.
LOOKED_BACK: Final = 64

#: Instructions (and slots) after which somebody looks at the clock: a millisecond or two.
SELDOM: Final = 128

#: Restarts to tell states apart by where the generators made at one place stand.
GENERATOR_SPLITS: Final = 5


class Meeting(Keys):
    """The entries, and how states arrive at them."""

    def __init__(self, library: Library, tables: Tables, package: str, fuel: int, frozen: bool) -> None:
        super().__init__(library, tables, package, frozen)
        #: so many instructions (and slots) may be looked at, and so many more for each place of the known data that was come to
        self.fuel: float = fuel
        self.share = 1.0
        #: by when (``deadline.clock``)
        self.until = math.inf
        #: instructions (and slots) since somebody looked at the clock
        self.unseen = 0
        #: instructions by call string
        self.spent: dict[int, int] = {}
        #: slots that are not known anywhere by the time their values choose; found afresh where a table has changed
        self.final: set[int] | None = None
        self.entry_count = 0

    @abc.abstractmethod
    def push_work(self, entry: Entry) -> None:
        """An entry has to be evaluated (again)."""

    # --------------------------------------------------------------------------------------------- edges

    def edge(self, edge: Edge, state: State) -> None:
        if state.drop_dead(self.tables.weakly):
            finalizers.run_in(self, state)
        site = state.site()
        chosen = the_trick.choosing(self, site, state)
        if chosen is not None:
            the_trick.dispatch(self, edge, state, chosen)
            return
        self.entry.exits.append((edge, self.arrive(site, state), state))
        self.entry.tails.append(self.reads)

    def arrive(self, site: Any, state: State, function: Function | None = None) -> Entry:
        """The entry for state at site, which state has been joined into."""
        table = self.entries.setdefault(site, {})
        key = self.key_of(site, state)
        entry = table.get(key)
        if entry is None:
            if table:
                whistle(self.tables, site, table, self.places())
                if self.known_sizes and (len(table) == COUNTED or len(table) % TEST_VARIANTS == 0):
                    forget_growing(self.tables, site, table, state, partial(self._counting, table))
                    stop_counting(self.tables, site, table, state, self.places())
            crowd, peers = self._crowds(site, table, key)
            self._spare_first_round(site, key, state, [table[other] for other in peers])
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

    def _spare_first_round(self, site: Any, key: Any, state: State, peers: Sequence[Entry]) -> None:
        """A container is known when a loop over unknown items begins, and lost by its first round: it is real from the beginning.

        Else that round would stand before the loop once more, and so would the first rounds of the loops around it.  Nor is it
        known what counts the rounds, or what a part of a loop's test goes by that is decided for the first round alone.
        peers: entries with the same constants that choose.
        """
        frame = state.frames[-1]
        loop = frame.code.natural_loops.get(frame.pc)
        inside = partial(_is_within, depth=len(state.frames) - 1, ctx=frame.ctx, loop=loop or ())
        tested = inside(self.entry)
        if not tested and not _goes_over_unknown(state):
            return
        parts = dict(key)
        for entry in peers[:FIRST_ROUNDS]:
            first = dict(entry.key)
            unlike = [path for path in first.keys() | parts.keys() if first.get(path) != parts.get(path)]
            half = tested and not any(frame.code.head_tests.get(at) == frame.pc for ctx, at, _ in entry.folded if ctx == frame.ctx)
            if all(self._is_lost(entry, state, path, half) for path in unlike) and self._leads(entry, self.entry, inside if half else None):
                used, forced = self.tables.used[site], self.tables.forced.setdefault(site, {})
                forced.update((path, STRONG if isinstance(self.value_at(entry.state, path), Ref) else used[path]) for path in unlike)
                raise Restart("force", site)

    def _is_lost(self, entry: Entry, new: State, path: int, half: bool) -> bool:
        """Is there a virtual container in a slot of the entry, and in new one of which nothing is known, or a longer list?  Or a number that counts?

        half: or what decides a part of the test at the head of the loop for the first round, and for no other
        """
        before, after = self.value_at(entry.state, path), self.value_at(new, path)
        if half and isinstance(before, Known) and isinstance(after, Dyn):
            return self.tables.used[entry.site][path] <= TEST
        if isinstance(before, Known) and isinstance(after, Known):
            return type(before.value) is int is type(after.value) and self.tables.used[entry.site][path] <= TEST and self._computed(after, entry, path)
        if not isinstance(before, Ref) or after is None or isinstance(after, Known):
            return False
        obj = entry.state.heap[before.aid]
        if obj.node is not None or obj.kind not in ("list", "dict", "set"):
            return False
        if isinstance(after, Dyn):
            return after.lost is None
        later = new.heap[after.aid]
        return bool(later.forgotten) or (obj.kind == later.kind == "list" and len(obj.cells) < len(later.cells))

    def _computed(self, value: Known, entry: Entry, path: int) -> bool:
        """Was value computed from what the slot of the entry holds?"""
        todo, seen = list(each(value.labels)), set()
        while todo:
            label = todo.pop()
            owner, at = self.label_owner[(label >> SHIFT) - 1], label & PATHS
            if owner is entry and at == path:
                return True
            if label not in seen:
                seen.add(label)
                todo += each(owner.depends.get(at, NO_LABELS))
        return False

    def _leads(self, entry: Entry, to: Entry, within: Callable[[Entry], bool] | None = None) -> bool:
        """Does a way lead from one entry to another, through such alone?"""
        todo, seen = [entry], {entry}
        while todo:
            at = todo.pop()
            if at is to:
                return True
            for _, target, _ in at.exits:
                if target not in seen and (within is None or within(target)):
                    seen.add(target)
                    todo.append(target)
        return False

    def _crowds(self, site: Any, table: Mapping[Any, Entry], key: Any) -> tuple[list[Any], list[Any]]:
        """The keys of a site that differ from this one only in what is tested, and those that have the same constants that choose."""
        used = self.tables.used.get(site, NOTHING)
        crowds = self.crowds.get(site)
        if crowds is None:
            crowds = self.crowds[site] = {}, {}
            for other in table:
                crowds[0].setdefault(tuple([x for x in other if used[x[0]] > TEST]), []).append(other)
                crowds[1].setdefault(tuple([x for x in other if x[1][0] != "shape" and used[x[0]] > TEST]), []).append(other)
        return (
            crowds[0].setdefault(tuple([x for x in key if used[x[0]] > TEST]), []),
            crowds[1].setdefault(tuple([x for x in key if x[1][0] != "shape" and used[x[0]] > TEST]), []),
        )

    def _counting(self, table: Mapping[Any, Entry], path: int) -> Sequence[int]:
        """If entries have in a slot a number that was computed from another in the same slot: the slot, and all of its container."""
        for entry in table.values():
            value = self.value_at(entry.state, path)
            if isinstance(value, Known) and type(value.value) in (int, float) and self._comes_back(entry, path, value.value):
                part = self.tables.paths.parts[path]
                container = self.value_at(entry.state, part[0]) if len(part) == 2 else None
                obj = entry.state.heap[container.aid] if isinstance(container, Ref) else None
                return self.tables.paths.cells(part[0], obj) if obj is not None and obj.kind in ("list", "dict") else (path,)
        return ()

    def _comes_back(self, entry: Entry, path: int, now: object) -> bool:
        """Was the number in a slot computed, by way of other numbers perhaps, from another in the same slot?"""
        todo = list(each(entry.depends.get(path, NO_LABELS)))
        seen: set[int] = set()
        while todo and len(seen) < LOOKED_BACK:
            label = todo.pop()
            if label not in seen:
                seen.add(label)
                owner, at = self.label_owner[(label >> SHIFT) - 1], label & PATHS
                before = self.value_at(owner.state, at)
                if isinstance(before, Known) and type(before.value) in (int, float):
                    if at == path and before.value != now:
                        return True
                    todo += each(owner.depends.get(at, NO_LABELS))
        return False

    # --------------------------------------------------------------------------------------------- joining

    def enter(self, entry: Entry, state: State) -> None:
        """The first state that arrives: constants stay, everything else becomes a parameter."""
        forced = self.tables.forced.get(entry.site)
        matching = None
        if forced:
            matching = Matching(state, state, self.tables.paths, self.number, self.tables.tuples_seen)
            for path, value, _, _ in matching.pairs:
                if path in forced:
                    matching.demote(value, value)
        entry.state = Opening(self, entry, state, forced or {}, matching).state()

    def _join(self, entry: Entry, state: State) -> None:
        """Join state into the entry; where that changes it, it is work to do."""
        dropped = align(entry.state, state)
        try:
            matching = Matching(entry.state, state, self.tables.paths, self.number, self.tables.tuples_seen)
        except NotMaterializable as refused:
            self._split_by_generators(entry, state, refused.args[0])
            raise
        for frame, arriving in zip(entry.state.frames, state.frames, strict=True):
            frame.decided |= arriving.decided
        if self._update(entry, matching, dropped) or dropped:      # its exits may hand on what it no longer has
            self.push_work(entry)      # before what may restart elsewhere: the next time nothing would change any more
        depends = entry.depends
        for path, _, b, _ in matching.pairs:
            labels = b.lost if type(b) is Dyn else b.labels  # type: ignore[union-attr]
            if labels and depends.get(path) != labels:
                self._depend(entry, path, labels)

    def _split_by_generators(self, entry: Entry, state: State, maker: Any) -> None:
        """Two states do not join, because of generators that stand in different places: the place belongs into the key.

        Where generators that were made at one place pile up, there is no end of places.
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

    _changed = False
    _classes: tuple[int, ...] = ()

    def in_time(self, work: int) -> None:
        """Raise OutOfFuel if the attempt has had its time.  work: what has been done since, about in instructions."""
        self.unseen += work
        if self.unseen >= SELDOM:
            self.unseen = 0
            once.step()
            if self.until < math.inf and deadline.clock() > self.until:
                raise OutOfFuel(late=True)

    def work_on(self, state: State, slots: int) -> None:
        """So many slots of state have been looked at."""
        self.in_time(slots)
        self.total_steps += slots
        ctx = state.frames[-1].ctx
        self.spent[ctx] = self.spent.get(ctx, 0) + slots
        if self.total_steps > self.fuel + self.share * allowance(self.places()):
            raise OutOfFuel

    def _update(self, entry: Entry, matching: Matching, dropped: bool) -> bool:
        """Bring the entry's state up to date; has it changed?  dropped: something in it has been dropped already."""
        old = entry.state
        self._changed, self._classes = False, old.classes
        self.work_on(old, len(matching.pairs))
        changed: dict[int, V] = {}
        firsts: dict[int, tuple[V, V]] = {}
        for path, a, b, _ in matching.pairs:
            if type(a) is Known and type(b) is Known and a.value is b.value:
                continue
            found = None
            if type(a) is Dyn and a.ends and type(a.value) is Param:
                first = firsts.get(id(a.value))
                if first is None:
                    found = self._both(entry, matching, path, a, b)
                    firsts[id(a.value)] = found, b
                else:
                    found = self._shared(entry, matching, path, a, b, *first)
            if found is None:
                found = self._both(entry, matching, path, a, b)
            if found is not a:
                changed[path] = found
        if matching.apart:
            self._changed = True
            changed.update((path, ref) for path, ref in matching.apart.items() if path not in changed)
        nodes = self._nodes(entry, matching)
        if changed or nodes or dropped:
            self._rebuild(old, matching, changed, nodes)
        return self._changed

    def _shared(self, entry: Entry, matching: Matching, path: int, a: Dyn, b: V, first: V, arriving: V) -> V | None:
        """What a slot holds that has the parameter of the first one, if what arrives in both is one value, too; None: it has its own from now on."""
        if type(b) is not Dyn or type(arriving) is not Dyn or b.value is not arriving.value or b.lost or type(first) is not Dyn or first.lost is not None:
            self.tables.unshared.setdefault(entry.site, set()).add(path)
            return None
        ends = max(matching.a.ends_visibly(a, set()), matching.b.ends_visibly(b, set()))
        same = a.value is first.value and a.type is first.type and a.dims is first.dims and a.among is first.among and ends == a.ends
        if same and (a.maybe_unbound, a.maybe_end) == (first.maybe_unbound, first.maybe_end):
            return a
        self._changed = True
        return Dyn(first.value, first.type, first.dims, None, first.maybe_unbound, ends, first.maybe_end, first.among)

    def _nodes(self, entry: Entry, matching: Matching) -> dict[int, Param]:
        """The objects that are real by another name than before, or were not so before."""
        found: dict[int, Param] = {}
        built = matching.built_a or matching.built_b
        for path, a, _, obj in matching.pairs:
            if obj is not None and isinstance(a, Ref) and (obj.node is not None or (built and matching.built(a))):
                node = self.param(entry, self.tables.paths[path, "node"], self.type_of_in(matching.a, a), entry.state)
                if node is not obj.node:
                    found[a.aid] = node
                    self._changed = True
        return found

    def _rebuild(self, old: State, matching: Matching, changed: dict[int, V], nodes: dict[int, Param]) -> None:
        """The state of an entry, which nobody else holds, with other values in some slots and without what is out of reach."""
        parts = self.tables.paths.parts
        touched: dict[int, dict[int, V]] = {}
        for path, value in changed.items():
            part = parts[path]
            if part == "handled":
                old.handled = value
            elif len(part) == 2:
                touched.setdefault(part[0], {})[place_of(part[1])] = value
            elif part[1] != "class" and part[1] != "owner":
                old.frames[part[0]].put(part[1], part[2], value)
        heap: dict[int, VObj] = {}
        for path, a, _, obj in matching.pairs:
            if obj is not None:
                aid = a.aid  # type: ignore[union-attr]
                cells, node = touched.get(path), nodes.get(aid, obj.node)
                whole = obj.cells if cells is None else tuple([cells.get(k, cell) for k, cell in enumerate(obj.cells)])
                heap[aid] = obj if cells is None and node is obj.node else obj.filled(whole, node)
        for aid, obj in old.heap.items():
            if obj.kind == "generator" and aid not in heap:
                lifetimes.abandon(old, obj)
        old.heap = heap

    def param(self, entry: Entry, path: int, type: AbstractValue, state: State) -> Param:
        """The parameter for a slot of the entry, where it is named after what is in state."""
        found = entry.params.get(path)
        if found is None:
            found = entry.params[path] = Param(type, None, self._name(state, path))
        found.type = type
        return found

    def _name(self, state: State, path: int) -> str | None:
        """The user's variable behind a slot, or the key or attribute that it is of an object."""
        part = self.tables.paths.parts[path]
        if not isinstance(part, tuple):
            return None
        key: object = None
        if len(part) == 3:
            depth, kind, index = part
            code = state.frames[depth].code if kind == "local" and depth < len(state.frames) else None
            if code is not None and index < len(code.names) and not code.filename.startswith(self.package):
                key = code.names[index]
        elif part[1] == "node":
            return self._name(state, part[0])
        else:
            parent = self.value_at(state, part[0])
            obj = state.heap.get(parent.aid) if isinstance(parent, Ref) else None
            place = place_of(part[1])
            if obj is not None and obj.kind != "model" and place < len(obj.keys):
                key = obj.keys[place]
        return key if type(key) is str and key.isidentifier() else None

    def type_of_in(self, state: State, value: V) -> AbstractValue:
        if isinstance(value, Dyn):
            return value.type
        if isinstance(value, Known):
            return self.abstract(value.value)
        from_heap = state.heap[value.aid]
        return self.kind_of(from_heap.extra[2] if from_heap.inner else from_heap.cls, from_heap.node)

    def abstract(self, value: object) -> AbstractValue:
        """The type of a known value."""
        return self.library.of_value(value)

    def _both(self, entry: Entry, matching: Matching, path: int, a: V, b: V) -> V:
        """The join of what a slot holds and what arrives."""
        if isinstance(a, Ref) and isinstance(b, Ref) and not matching.demoted(a, b):
            return a
        if type(a) is Dyn and not class_templates.ALL and self._covers(entry, path, a, b):
            return a
        if agree(a, b):
            return a
        if class_templates.ALL and (class_templates.is_mark(a) or class_templates.is_mark(b)):
            # a class may have an attribute, or not: the real one is asked
            self._changed |= not (isinstance(a, Known) and a.value is class_templates.CHANGED)
            return Known(class_templates.CHANGED)
        one, other = self.type_of_in(matching.a, a), self.type_of_in(matching.b, b)
        kind = class_templates.alive(join(one, other), self._classes)
        strength = STRONG if self.tables.coarse else self.tables.forced.get(entry.site, {}).get(path)
        can_split = not (isinstance(a, Dyn) and a.lost is None) and not (isinstance(b, Dyn) and b.lost is None)
        unbound = any((isinstance(x, Dyn) and x.maybe_unbound) or (isinstance(x, Known) and x.value is UNBOUND) for x in (a, b))
        lost = self.label(entry, path) if can_split and strength != STRONG else None
        dims = self._join_dims(a, b)
        given = holds(kind) and entry.begins_function
        met = holds(kind) and not (isinstance(a, Dyn) and isinstance(b, Dyn))
        ends: int | None = 0
        if isinstance(a, Dyn) and isinstance(b, Dyn) and a.ends is None and b.ends is None:
            ends = None
        elif self.endings and not given:
            ends = ENDS if met else max(matching.a.ends_visibly(a, set()), matching.b.ends_visibly(b, set()))
        end = any((isinstance(x, Dyn) and x.maybe_end) or (isinstance(x, Known) and x.value is END) for x in (a, b))
        new = kind, lost is None, unbound, dims is None, ends, end
        few = either(a, b) if lost is None and not end and not unbound else None
        # a slot has another name now if what it was named by is gone: then it has another parameter, too
        unmoved = isinstance(a, Dyn) and (a.value is entry.params.get(path) or not isinstance(a.value, Param))
        if unmoved and isinstance(a, Dyn) and (a.type, a.lost is None, a.maybe_unbound, a.dims is None, a.ends, a.maybe_end) == new and a.among is few:
            if a.dims == dims or a.dims is None or all(x is y for x, y in zip(a.dims, dims or (), strict=False)):
                return a
        self._changed = True
        if lost is not None:
            if not isinstance(a, Dyn):
                entry.joined.add(path)
                if strength is None and self.tables.used.get(entry.site, NOTHING).get(path, 0) > self.tables.unkeyed.get(path, 0):
                    if self._key_part(matching.a, a) == self._key_part(matching.b, b):
                        self._tell_apart(entry.site, matching, path, a, b)
                        # no key tells them apart (one is real, the other not): known on both sides it cannot stay
                        self.tables.forced.setdefault(entry.site, {})[path] = STRONG
                        raise Restart("force", entry.site)
                    raise Restart("split", entry.site)
        else:
            entry.joined.discard(path)
        return Dyn(self.param(entry, path, kind, entry.state), kind, dims, lost, unbound, ends, end, few)

    def _tell_apart(self, site: Any, matching: Matching, path: int, a: V, b: V) -> None:
        """Two objects meet that look alike from outside, one of which has to be known: what differs inside belongs into the key."""
        used = self.tables.used.setdefault(site, {})
        inside = told_apart(matching.a, matching.b, self.tables.paths, path, a, b, {*used, *self.tables.forced.get(site, NOTHING)})
        if inside is not None:
            used[inside] = STRONG
            raise Restart("split", site)

    def _covers(self, entry: Entry, path: int, a: Dyn, b: V) -> bool:
        """Is it easily seen that the join of both is a itself?"""
        if a.dims is not None or a.value is not entry.params.get(path) or (a.among is not None and either(a, b) is not a.among):
            return False
        if a.lost is not None and self.tables.forced.get(entry.site, NOTHING).get(path) == STRONG:
            return False
        kind = a.type
        if type(b) is Dyn:
            if (a.lost is not None and b.lost is None) or b.maybe_unbound > a.maybe_unbound or b.maybe_end > a.maybe_end:
                return False
            if a.ends is None is not b.ends or (b.ends or 0) > (a.ends or 0):
                return False
            return kind is ANY or kind is b.type or (type(kind) is Type and type(b.type) is Type and kind.cls is b.type.cls)
        if type(b) is Known and type(b.value) in PLAIN and type(b.value) not in self.library.abstractions:
            return kind is ANY or (type(kind) is Type and kind.cls is type(b.value))
        return False

    def _join_dims(self, a: V, b: V) -> tuple[V | None, ...] | None:
        x = a.dims if isinstance(a, Dyn) else None
        y = b.dims if isinstance(b, Dyn) else None
        if x is None or y is None or len(x) != len(y):
            return None
        return tuple(p if p is q or (p is not None and q is not None and agree(p, q)) else None for p, q in zip(x, y, strict=True))


def _is_within(entry: Entry, depth: int, ctx: int, loop: Collection[int]) -> bool:
    """Does an entry begin in a loop of the frame at depth?"""
    frames = entry.state.frames
    return depth < len(frames) and frames[depth].ctx == ctx and frames[depth].pc in loop


def _goes_over_unknown(state: State) -> bool:
    """Does a state stand before an instruction that takes the next item of something unknown?"""
    frame = state.frames[-1]
    place = _ITERATORS.get(frame.code.instructions[frame.pc].op)
    if place is None or len(frame.stack) < -place:
        return False
    iterator = frame.stack[place]
    return not (isinstance(iterator, Known) or (isinstance(iterator, Ref) and state.heap[iterator.aid].node is None))
