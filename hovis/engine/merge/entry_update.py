"""The join of an entry's state with a state that arrives there, slot by slot."""

from collections.abc import Hashable
from typing import TYPE_CHECKING

from hovis.engine.entries.entry import Entry
from hovis.engine.entries.keys import NOTHING, place_of
from hovis.engine.merge.join_states import Matching, agree, told_apart
from hovis.engine.state import class_templates, lifetimes
from hovis.engine.state.frames_and_heap import State
from hovis.engine.state.heap import VObj, holds
from hovis.engine.state.specialization_tables import Restart
from hovis.engine.state.values import ENDS, STRONG, Dyn, Known, Ref, V, either
from hovis.ir.model import Param
from hovis.ir.operations import END, UNBOUND
from hovis.lattice import ANY, Type, join
from hovis.lattice.constants import PLAIN

if TYPE_CHECKING:
    from hovis.engine.merge.merging import Merger


class EntryUpdate:
    """Joins a state into the state of an entry, once their objects have been matched."""

    def __init__(self, merger: "Merger", entry: Entry, matching: Matching) -> None:
        self.merger, self.entry, self.matching = merger, entry, matching
        self.changed = False

    def run(self, dropped: bool) -> bool:
        """Update the entry's state; return whether it has changed. dropped: something in it has been dropped already."""
        matching = self.matching
        self.merger.work_on(self.entry.state, len(matching.pairs))
        changed: dict[int, V] = {}
        firsts: dict[int, tuple[V, V]] = {}
        for path, a, b, _ in matching.pairs:
            if type(a) is Known and type(b) is Known and a.value is b.value:
                continue
            found = None
            if type(a) is Dyn and a.ends and type(a.value) is Param:
                first = firsts.get(id(a.value))
                if first is None:
                    found = self._both(path, a, b)
                    firsts[id(a.value)] = found, b
                else:
                    found = self._shared(path, a, b, *first)
            if found is None:
                found = self._both(path, a, b)
            if found is not a:
                changed[path] = found
        if matching.apart:
            self.changed = True
            changed.update((path, ref) for path, ref in matching.apart.items() if path not in changed)
        nodes = self._nodes()
        if changed or nodes or dropped:
            self._rebuild(changed, nodes)
        return self.changed

    def _shared(self, path: int, a: Dyn, b: V, first: V, arriving: V) -> V | None:
        """Return the value of a slot that shares the parameter of an earlier slot (first), if one value arrives in both; None: the slot has its
        own parameter from now on.
        """
        merger, entry, matching = self.merger, self.entry, self.matching
        if type(b) is not Dyn or type(arriving) is not Dyn or b.value is not arriving.value or b.lost or type(first) is not Dyn or first.lost is not None:
            merger.tables.unshared.setdefault(entry.site, set()).add(path)
            return None
        ends = max(matching.a.ends_visibly(a, set()), matching.b.ends_visibly(b, set()))
        same = a.value is first.value and a.type is first.type and a.dims is first.dims and a.among is first.among and ends == a.ends
        if same and (a.maybe_unbound, a.maybe_end) == (first.maybe_unbound, first.maybe_end):
            return a
        self.changed = True
        return Dyn(first.value, first.type, first.dims, None, first.maybe_unbound, ends, first.maybe_end, first.among)

    def _nodes(self) -> dict[int, Param]:
        """Return the parameters of objects that become real, or have another SSA value than before."""
        merger, entry, matching = self.merger, self.entry, self.matching
        found: dict[int, Param] = {}
        built = matching.built_a or matching.built_b
        for path, a, _, obj in matching.pairs:
            if obj is not None and isinstance(a, Ref) and (obj.node is not None or (built and matching.built(a))):
                node = merger.param(entry, merger.tables.paths[path, "node"], merger.machine.type_of_in(matching.a, a), entry.state)
                if node is not obj.node:
                    found[a.aid] = node
                    self.changed = True
        return found

    def _rebuild(self, changed: dict[int, V], nodes: dict[int, Param]) -> None:
        """Rebuild the state of the entry, which nobody else holds, with the changed values, and without unreachable objects."""
        matching, old = self.matching, self.entry.state
        parts = self.merger.tables.paths.parts
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

    def _both(self, path: int, a: V, b: V) -> V:
        """Return the join of the value of a slot (a) and the arriving value (b)."""
        merger, entry, matching = self.merger, self.entry, self.matching
        if isinstance(a, Ref) and isinstance(b, Ref) and not matching.demoted(a, b):
            return a
        if type(a) is Dyn and not class_templates.ALL and self._covers(path, a, b):
            return a
        if agree(a, b):
            return a
        if class_templates.ALL and (class_templates.is_mark(a) or class_templates.is_mark(b)):
            # only on some paths the class has the attribute: it is read from the real class at run time
            self.changed |= not (isinstance(a, Known) and a.value is class_templates.CHANGED)
            return Known(class_templates.CHANGED)
        one, other = merger.machine.type_of_in(matching.a, a), merger.machine.type_of_in(matching.b, b)
        kind = class_templates.alive(join(one, other), entry.state.classes)
        strength = STRONG if merger.tables.coarse else merger.tables.forced.get(entry.site, {}).get(path)
        can_split = not (isinstance(a, Dyn) and a.lost is None) and not (isinstance(b, Dyn) and b.lost is None)
        unbound = any((isinstance(x, Dyn) and x.maybe_unbound) or (isinstance(x, Known) and x.value is UNBOUND) for x in (a, b))
        lost = merger.keys.label(entry, path) if can_split and strength != STRONG else None
        dims = _join_dims(a, b)
        given = holds(kind) and entry.begins_function
        met = holds(kind) and not (isinstance(a, Dyn) and isinstance(b, Dyn))
        ends: int | None = 0
        if isinstance(a, Dyn) and isinstance(b, Dyn) and a.ends is None and b.ends is None:
            ends = None
        elif merger.machine.endings_anywhere and not given:
            ends = ENDS if met else max(matching.a.ends_visibly(a, set()), matching.b.ends_visibly(b, set()))
        end = any((isinstance(x, Dyn) and x.maybe_end) or (isinstance(x, Known) and x.value is END) for x in (a, b))
        new = kind, lost is None, unbound, dims is None, ends, end
        few = either(a, b) if lost is None and not end and not unbound else None
        # a slot has a new path if the shorter path that named it is gone: then it gets the parameter of the new path, too
        unmoved = isinstance(a, Dyn) and (a.value is entry.params.get(path) or not isinstance(a.value, Param))
        if unmoved and isinstance(a, Dyn) and (a.type, a.lost is None, a.maybe_unbound, a.dims is None, a.ends, a.maybe_end) == new and a.among is few:
            if a.dims == dims or a.dims is None or all(x is y for x, y in zip(a.dims, dims or (), strict=False)):
                return a
        self.changed = True
        if lost is not None:
            if not isinstance(a, Dyn):
                entry.joined.add(path)
                if strength is None and merger.tables.used.get(entry.site, NOTHING).get(path, 0) > merger.tables.unkeyed.get(path, 0):
                    if self._key_part(matching.a, a) == self._key_part(matching.b, b):
                        self._tell_apart(path, a, b)
                        # the key is the same for both (one is real or unbound, the other not), so the slot cannot stay known: force it to be unknown
                        merger.tables.forced.setdefault(entry.site, {})[path] = STRONG
                        raise Restart("force", entry.site)
                    raise Restart("split", entry.site)
        else:
            entry.joined.discard(path)
        return Dyn(merger.param(entry, path, kind, entry.state), kind, dims, lost, unbound, ends, end, few)

    def _key_part(self, state: State, value: V) -> Hashable:
        """Return the part of a key for a value; None for that of a variable that was dropped or is unbound, which no key has."""
        return None if isinstance(value, Known) and value.value is UNBOUND else self.merger.keys.key_part(state, value)

    def _tell_apart(self, path: int, a: V, b: V) -> None:
        """Put a difference inside two objects of the same shape into the key, as one of them has to stay known; raises Restart if there is a
        difference.
        """
        tables, matching, site = self.merger.tables, self.matching, self.entry.site
        used = tables.used.setdefault(site, {})
        inside = told_apart(matching.a, matching.b, tables.paths, path, a, b, {*used, *tables.forced.get(site, NOTHING)})
        if inside is not None:
            used[inside] = STRONG
            raise Restart("split", site)

    def _covers(self, path: int, a: Dyn, b: V) -> bool:
        """Does a quick check show that the join of both is a itself?"""
        merger, entry = self.merger, self.entry
        if a.dims is not None or a.value is not entry.params.get(path) or (a.among is not None and either(a, b) is not a.among):
            return False
        if a.lost is not None and merger.tables.forced.get(entry.site, NOTHING).get(path) == STRONG:
            return False
        kind = a.type
        if type(b) is Dyn:
            if (a.lost is not None and b.lost is None) or b.maybe_unbound > a.maybe_unbound or b.maybe_end > a.maybe_end:
                return False
            if a.ends is None is not b.ends or (b.ends or 0) > (a.ends or 0):
                return False
            return kind is ANY or kind is b.type or (type(kind) is Type and type(b.type) is Type and kind.cls is b.type.cls)
        if type(b) is Known and type(b.value) in PLAIN and type(b.value) not in merger.machine.library.abstractions:
            return kind is ANY or (type(kind) is Type and kind.cls is type(b.value))
        return False


def _join_dims(a: V, b: V) -> tuple[V | None, ...] | None:
    x = a.dims if isinstance(a, Dyn) else None
    y = b.dims if isinstance(b, Dyn) else None
    if x is None or y is None or len(x) != len(y):
        return None
    return tuple(p if p is q or (p is not None and q is not None and agree(p, q)) else None for p, q in zip(x, y, strict=True))
