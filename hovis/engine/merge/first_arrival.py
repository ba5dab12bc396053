"""The initial state of an entry: the first state that arrives, with its slots named."""

from typing import TYPE_CHECKING, Any

from hovis.engine.entries.entry import Entry
from hovis.engine.merge.join_states import Matching
from hovis.engine.state import class_templates, lifetimes
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import VObj, holds
from hovis.engine.state.values import ENDS, STRONG, UNBOUND_VALUE, Dyn, Known, Ref, V, among
from hovis.ir.operations import END, UNBOUND

if TYPE_CHECKING:
    from hovis.engine.merge.merging import Merger


class Opening:
    """Makes the initial state of an entry: constants and objects stay, under the labels of their slots; everything else becomes a parameter.

    The slots are walked in canonical order, breadth first: the slots inside an object are named by the shortest path to it.
    matching: if slots are forced to be unknown, the objects that have to be real because of that; else None.
    """

    def __init__(self, merger: "Merger", entry: Entry, arriving: State, forced: dict[int, int], matching: Matching | None) -> None:
        self.merger = merger
        self.entry = entry
        self.arriving = arriving
        self.forced = forced
        self.matching = matching
        self.paths = merger.tables.paths
        self.base = merger.keys.label(entry, 0)
        self.found: list[tuple[int, int]] = []
        self.seen: set[int] = set(matching.real_a) if matching is not None else set()
        self.real: set[int] = matching.real_a if matching is not None else set()
        self.count = 0
        #: values whose ends may show: maps their identity to the value of the first slot that holds them
        self.shared: dict[int, Dyn] = {}

    def state(self) -> State:
        old, row, first = self.arriving, self.paths.row, self._first
        handled = first(self.paths["handled"], old.handled)
        frames = []
        for depth, frame in enumerate(old.frames):
            copy = frame.fork()
            copy.locals = self._all(row((depth, "local"), len(frame.locals)), frame.locals)
            copy.stack = self._all(row((depth, "stack"), len(frame.stack)), frame.stack)
            if frame.code.reads_locals:
                copy.scope = first(self.paths[depth, "scope", 0], frame.scope)
            if frame.asked is not None:
                copy.asked = first(self.paths[depth, "asked", 0], frame.asked)
            if frame.owner is not None:
                first(self.paths[depth, "owner", 0], Ref(frame.owner))
            frames.append(copy)
        for number in old.classes:
            first(self.paths[number, "class", 0], Ref(number))
        heap = self._heap(old.heap)
        self.merger.work_on(old, self.count)
        return State(frames, heap, handled, old.world, old.classes, old.untold, old.endings)

    def _heap(self, old: dict[int, VObj]) -> dict[int, VObj]:
        """Rebuild the objects that have been met, and those that they hold, one after the other."""
        heap: dict[int, VObj] = {}
        row, matching = self.paths.cells, self.matching
        for path, aid in self.found:  # it grows meanwhile
            obj = old[aid]
            cells = obj.cells
            if cells and not obj.bulk:
                cells = tuple(self._all(row(path, obj), cells))
            node = obj.node
            if node is not None or (matching is not None and matching.built(Ref(aid))):
                node = self.merger.param(self.entry, self.paths[path, "node"], self.merger.machine.type_of_in(self.arriving, Ref(aid)), self.arriving)
            heap[aid] = obj if cells is obj.cells and node is obj.node else obj.filled(cells, node)
        for aid, obj in old.items():
            if obj.kind == "generator" and aid not in heap:
                lifetimes.abandon(self.arriving, obj)
        return heap

    def _all(self, numbers: list[int], values: Any) -> Any:
        first = self._first
        return [first(path, value) if value is not None else value for path, value in zip(numbers, values, strict=False)]

    def _first(self, path: int, value: V) -> V:
        """Return the initial value of a slot, given the first value that arrives there."""
        self.count += 1
        kind = type(value)
        if kind is Dyn:
            return self._parameter(path, value)
        labels = value.labels  # type: ignore[union-attr]
        if labels:
            self.entry.depends[path] = labels
        if kind is Known:
            if value.value is UNBOUND:  # type: ignore[union-attr]
                return UNBOUND_VALUE
            strength = self.forced.get(path)
            if strength == STRONG or (strength is not None and (self.entry.site, path) in self.merger.tables.counted):
                return self._parameter(path, value)
            return Known(value.value, self.base + path)  # type: ignore[union-attr]
        aid = value.aid  # type: ignore[union-attr]
        if aid not in self.seen:
            self.seen.add(aid)
            self.found.append((path, aid))
        elif aid in self.real:
            return self._parameter(path, value)
        return Ref(aid, self.base + path)

    def _parameter(self, path: int, value: V) -> Dyn:
        merger = self.merger
        shared = self._shares(path, value)
        if shared is not None:
            return shared
        kind = class_templates.alive(merger.machine.type_of_in(self.arriving, value), self.arriving.classes)
        can_split = self.forced.get(path) != STRONG
        param = merger.param(self.entry, path, kind, self.arriving)
        # containers that are passed to a residual function are held by its caller, so their end does not show in it
        given = holds(kind) and self.entry.begins_function
        if type(value) is not Dyn:
            ends = 0 if given or not merger.machine.endings_anywhere else ENDS if holds(kind) else self.arriving.ends_visibly(value, set())
            at_end = isinstance(value, Known) and value.value is END
            few = None if can_split or at_end else among(value)
            return Dyn(param, kind, None, self.base + path if can_split else None, ends=ends, maybe_end=at_end, among=few)
        lost = value.lost
        if lost:
            self.entry.depends[path] = lost
        dims = tuple([d if isinstance(d, Known) else None for d in value.dims]) if value.dims else None
        own = self.base + path if can_split and lost is not None else None
        found = Dyn(param, kind, dims, own, value.maybe_unbound, 0 if given and value.ends else value.ends, value.maybe_end, value.among)
        if value.ends and own is None:
            self.shared[id(value.value)] = found
        return found

    def _shares(self, path: int, value: V) -> Dyn | None:
        """Return the parameter of another slot that holds the same value, which does not end before both slots release it; else None.

        If different values arrive in them later, each slot gets its own parameter (see EntryUpdate).
        """
        if type(value) is not Dyn or not value.ends or value.lost or self.entry.function is not None:
            return None
        first = self.shared.get(id(value.value))
        if first is None or path in self.merger.tables.unshared.get(self.entry.site, ()):
            return None
        return Dyn(first.value, first.type, first.dims, None, first.maybe_unbound, value.ends, first.maybe_end, first.among)
