"""The join of two states at one site: the entry's, and one that arrives.

Both are walked together from the roots.  If two objects have the same shape and the alias pattern agrees, they are joined
cell by cell (if one of them is real, the other has to be built); otherwise both have to be materialized, with everything
that can be reached from them.  The contents of functions, classes and closure cells that are reached stay known
although they are real then ("built").
"""

from collections import deque
from collections.abc import Callable, Container, Iterator
from types import CellType

from hovis.engine.machine.materialize import check_contents, check_idle, check_materializable
from hovis.engine.state import class_templates
from hovis.engine.state.frames_and_heap import Paths, State
from hovis.engine.state.heap import VObj, alike, reachable
from hovis.engine.state.values import UNBOUND_VALUE, Known, Ref, V
from hovis.lattice.constants import same_constant

Pair = tuple[int, V, V, VObj | None]

#: Kinds of objects whose contents stay known when an object that holds them has to be real.
_BUILT = frozenset({"class", "function", "cell", "property", "staticmethod", "classmethod"})

#: Classes whose instances' identity cannot be observed, except by ``is`` between tuples: one object may become two copies.
_UNSEEN = frozenset({tuple, CellType})

#: Kinds of objects whose contents stay known when they are real on one path and virtual on the other.
_MIXED = _BUILT | {"list", "dict", "set", "tuple", "instance"}


class Matching:
    """Matches the objects of state a with those of state b, and finds which objects of both must be real."""

    def __init__(self, a: State, b: State, paths: Paths, number: Callable[[], int], tuples_seen: bool = False) -> None:
        """tuples_seen: does the code compare tuples by identity?"""
        self.unseen = _UNSEEN - {tuple} if tuples_seen else _UNSEEN
        self.a = a
        self.b = b
        self.paths = paths
        self.real_a: set[int] = set()
        self.real_b: set[int] = set()
        self.built_a: set[int] = set()
        self.built_b: set[int] = set()
        self.partner: dict[int, int] = {}
        self.back: dict[int, int] = {}
        #: returns the number for a new object
        self.number = number
        #: slots that get a copy of their immutable object: state a has one object in several slots, where b has different ones
        self.apart: dict[int, Ref] = {}
        self.copies: dict[tuple[int, int], Ref] = {}
        #: every slot once, in canonical order: its path, both values, and the object of a if it is first met here
        self.pairs: list[Pair] = []
        while not self.match():
            pass

    def demoted(self, a: V, b: V) -> bool:
        """Must the objects at this slot be real?"""
        return (isinstance(a, Ref) and a.aid in self.real_a) or (isinstance(b, Ref) and b.aid in self.real_b)

    def demote(self, a: V, b: V) -> bool:
        """Require the objects at a slot, and all that they reach, to be real; return whether one of them had been matched with a partner before."""
        unsettled = False
        sides = ((a, self.a, self.real_a, self.built_a, self.partner), (b, self.b, self.real_b, self.built_b, self.back))
        for value, state, real, built, walked in sides:
            if isinstance(value, Ref):
                if value.aid in real:
                    continue
                start = value.aid
            elif class_templates.ALL and isinstance(value, Known) and (token := class_templates.of(value.value)) is not None:
                start = token.template.aid
                if start in built or start not in state.classes:
                    continue
            else:
                continue
            found = reachable(state.heap, [start])
            for aid in found:
                check_materializable(state.heap, aid)
                check_idle(state, aid)
            check_contents(state.heap, found | real)
            kept = {aid for aid in found if state.heap[aid].kind in _BUILT and (aid != start or aid < 0)}
            built |= kept
            found -= kept
            unsettled = unsettled or not found.isdisjoint(walked)
            real |= found
        return unsettled

    def match(self) -> bool:
        """Walk both states once; False if objects that must be real had been matched as partners."""
        partner: dict[int, int] = {}
        back: dict[int, int] = {}
        heap, others, row = self.a.heap, self.b.heap, self.paths.cells
        self.partner, self.back, self.pairs, self.apart = partner, back, [], {}
        note = self.pairs.append
        queue = self._roots()
        stable = True
        for path, a, b in queue:  # it grows meanwhile
            if type(a) is Ref and type(b) is Ref and a.aid not in self.real_a and b.aid not in self.real_b:
                if (a.aid in partner or b.aid in back) and self._only_read(a.aid, b.aid):
                    one = heap[a.aid]
                    a, known = self._told_apart(path, a, b)
                    note((path, a, b, None if known else one))
                    if not known:
                        partner[a.aid] = b.aid
                        queue += zip(row(path, one), one.cells, others[b.aid].cells, strict=False)
                    continue
                if a.aid in partner or b.aid in back:
                    note((path, a, b, None))
                    same = partner.get(a.aid) == b.aid and back.get(b.aid) == a.aid
                    stable &= same or not self.demote(a, b)
                    continue
                one, other = heap[a.aid], others[b.aid]
                if one.kind == other.kind == "class" and _differ(one, other):
                    self._build(a.aid, b.aid)
                mixed = (one.node is None) != (other.node is None)
                if (not mixed or one.kind in _MIXED) and alike(heap, a.aid, others, b.aid):
                    if mixed:
                        self._build(a.aid, b.aid)
                    partner[a.aid] = b.aid
                    back[b.aid] = a.aid
                    note((path, a, b, one))
                    if one.cells and not (one.bulk and one.cells is other.cells):
                        queue += zip(row(path, one), one.cells, other.cells, strict=False)
                    continue
            note((path, a, b, None))
            if type(a) is Ref or type(b) is Ref or (class_templates.ALL and not agree(a, b)):
                stable &= not self.demote(a, b)
        return stable

    def _only_read(self, a: int, b: int) -> bool:
        """Are the objects alike, and of a kind that nobody changes or compares by identity (cells of closures, and tuples)?"""
        one, other = self.a.heap[a], self.b.heap[b]
        if one.kind not in ("cell", "tuple") or one.node is not None or other.node is not None or not one.immutable or not other.immutable:
            return False
        return one.cls is other.cls and one.cls in self.unseen and alike(self.a.heap, a, self.b.heap, b)

    def _told_apart(self, path: int, a: Ref, b: Ref) -> tuple[Ref, bool]:
        """Return the object for a pair of which one was matched with another object before: a copy, if necessary. Also return whether this very
        pair has been met before.
        """
        if self.partner.get(a.aid) == b.aid:
            return a, True
        if a.aid not in self.partner:
            return a, False
        made = self.copies.get((a.aid, b.aid))
        if made is None:
            made = self.copies[a.aid, b.aid] = Ref(self.number())
            self.a.heap[made.aid] = self.a.heap[a.aid]
        self.apart[path] = Ref(made.aid, a.labels)
        return self.apart[path], made.aid in self.partner

    def _build(self, a: int, b: int) -> None:
        """Require both objects to be real, with their contents still known; check that what they hold can be built."""
        self.built_a.add(a)
        self.built_b.add(b)
        heap, start = (self.a.heap, a) if self.a.heap[a].node is None else (self.b.heap, b)
        for aid in reachable(heap, [start]):
            check_materializable(heap, aid)

    def built(self, a: V) -> bool:
        """Must an object of state a (or its partner) be real, while its contents stay known?"""
        return isinstance(a, Ref) and (a.aid in self.built_a or self.partner.get(a.aid) in self.built_b)

    def _roots(self) -> list[tuple[int, V, V]]:
        """Return the slots outside the heaps, with the values of both states; both have the same slots (see State.roots)."""
        paths, row = self.paths, self.paths.row
        found = [(paths["handled"], self.a.handled, self.b.handled)]
        for depth, (mine, theirs) in enumerate(zip(self.a.frames, self.b.frames, strict=True)):
            numbers = row((depth, "local"), len(mine.locals))
            found += [(path, x, y) for path, x, y in zip(numbers, mine.locals, theirs.locals, strict=False) if x is not None]  # type: ignore[misc]
            assert len(mine.stack) == len(theirs.stack)
            if mine.stack:
                found += zip(row((depth, "stack"), len(mine.stack)), mine.stack, theirs.stack, strict=False)
            if mine.code.reads_locals:
                found.append((paths[depth, "scope", 0], mine.scope, theirs.scope))
            if mine.asked is not None:
                assert theirs.asked is not None
                found.append((paths[depth, "asked", 0], mine.asked, theirs.asked))
            if mine.owner is not None:
                assert theirs.owner is not None
                found.append((paths[depth, "owner", 0], Ref(mine.owner), Ref(theirs.owner)))
        found += [(paths[number, "class", 0], Ref(number), Ref(number)) for number in self.a.classes]
        return found


def _differ(one: VObj, other: VObj) -> bool:
    """Has one class an attribute that the other lacks?"""
    return any(_missing(x) != _missing(y) for x, y in zip(one.cells, other.cells, strict=False))


def _missing(cell: V) -> bool:
    return isinstance(cell, Known) and cell.value is class_templates.MISSING


def align(old: State, new: State) -> bool:
    """Drop from both states the locals that only one of them still holds, as they are dead, unless that would end something visibly.

    Drop classes that only one of them has defined as well.  Return whether anything has changed in old.
    """
    changed = False
    for depth, (one, other) in enumerate(zip(old.frames, new.frames, strict=True)):
        for k, (x, y) in enumerate(zip(one.locals, other.locals, strict=True)):
            if (x is None) != (y is None):
                held = y if x is None else x
                state = new if x is None else old
                gone = UNBOUND_VALUE if state.ends_visibly(held, set()) and not state.outlives(held, depth) else None
                one.locals[k] = (gone if x is None else x) if gone else None
                other.locals[k] = (gone if y is None else y) if gone else None
                changed |= one.locals[k] is not x
    common = tuple(number for number in old.classes if number in new.classes) if old.classes != new.classes else old.classes
    changed |= common != old.classes
    old.classes = new.classes = common
    return changed


def agree(a: V, b: V) -> bool:
    """Are both values the same constant?"""
    return isinstance(a, Known) and isinstance(b, Known) and same_constant(a.value, b.value)


def told_apart(a: State, b: State, paths: Paths, path: int, x: V, y: V, kept_out: Container[int]) -> int | None:
    """Return the first slot inside two objects of the same shape (at path) where they differ in a constant or in a shape; None if there is none."""
    todo, seen = [(path, x, y)], set()
    for at, one, other in todo:  # it grows meanwhile
        if isinstance(one, Ref) and isinstance(other, Ref):
            if (one.aid, other.aid) in seen:
                continue
            seen.add((one.aid, other.aid))
            mine, theirs = a.heap[one.aid], b.heap[other.aid]
            if at != path and at not in kept_out and mine.shape() != theirs.shape():
                return at
            if len(todo) < LOOKED_AT:
                todo += ((paths[at, k], p, q) for k, (p, q) in enumerate(zip(mine.cells, theirs.cells, strict=False)))
        elif isinstance(one, Known | Ref) and isinstance(other, Known | Ref) and not agree(one, other) and at not in kept_out:
            return at
    return None


#: Number of places inside two objects that are compared.
LOOKED_AT = 128


def unlike_generators(a: State, b: State, paths: Paths) -> Iterator[int]:
    """Yield the slots where one state holds a virtual generator, or something that reaches one, and the other a different value."""
    theirs = dict(b.roots())
    queue: deque[tuple[int, V, V | None]] = deque((paths[name], x, theirs.get(name)) for name, x in a.roots())
    seen: set[int] = set()
    while queue:
        path, x, y = queue.popleft()
        if isinstance(x, Ref) and isinstance(y, Ref):
            one, other = a.heap[x.aid], b.heap[y.aid]
            if (one.node is None) == (other.node is None) and alike(a.heap, x.aid, b.heap, y.aid):
                if x.aid not in seen:
                    seen.add(x.aid)
                    queue.extend(zip(paths.cells(path, one), one.cells, other.cells, strict=False))
                continue
        if _holds_generator(a, x) or _holds_generator(b, y):
            yield path


def _holds_generator(state: State, value: V | None) -> bool:
    return isinstance(value, Ref) and any(state.heap[aid].kind == "generator" and state.heap[aid].node is None for aid in reachable(state.heap, [value.aid]))
