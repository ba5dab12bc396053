"""Joining two states at one site: the entry's and one that arrives.

Both are walked together from the roots.  Where two objects have the same shape and the alias pattern agrees they
are joined cell by cell (if one of them is real, the other has to be built); where not, both have to be materialized,
and all that they can reach with them.  What such an object reaches is real then, but functions, classes and the cells
of closures stay known ("built").
"""

from collections import deque
from collections.abc import Iterator

from hovis.engine import templates
from hovis.engine.escape import check_contents, check_materializable
from hovis.engine.heap import VObj, reachable, shape_in
from hovis.engine.state import Paths, State
from hovis.engine.values import UNBOUND_VALUE, Dyn, Known, Ref, V
from hovis.lattice.constants import same_constant

Pair = tuple[int, V, V, VObj | None]

#: Kinds that stay known where something makes them real.
_BUILT = frozenset({"class", "function", "cell", "property", "staticmethod", "classmethod"})

#: Kinds that stay known where one path has made them real and the other has not.
_MIXED = _BUILT | {"list", "dict", "set", "tuple", "instance"}


class Matching:
    """Which objects of state a stand for which of state b, and which of both must be real."""

    def __init__(self, a: State, b: State, paths: Paths) -> None:
        self.a = a
        self.b = b
        self.paths = paths
        self.real_a: set[int] = set()
        self.real_b: set[int] = set()
        self.built_a: set[int] = set()
        self.built_b: set[int] = set()
        self.partner: dict[int, int] = {}
        while not self._match():
            pass

    def demoted(self, a: V, b: V) -> bool:
        """Must the objects at this slot be real?"""
        return (isinstance(a, Ref) and a.aid in self.real_a) or (isinstance(b, Ref) and b.aid in self.real_b)

    def _demote(self, a: V, b: V) -> bool:
        """The objects at a slot, and what they reach, have to be real; were some of them not so before?"""
        grown = False
        for value, state, real, built in ((a, self.a, self.real_a, self.built_a), (b, self.b, self.real_b, self.built_b)):
            if isinstance(value, Ref):
                if value.aid in real:
                    continue
                start = value.aid
            elif templates.ALL and isinstance(value, Known) and (token := templates.of(value.value)) is not None:
                start = token.template.aid
                if start in built or start not in state.classes:
                    continue
            else:
                continue
            found = reachable(state.heap, [start])
            for aid in found:
                check_materializable(state.heap, aid)
            check_contents(state.heap, found | real)
            kept = {aid for aid in found if state.heap[aid].kind in _BUILT and (aid != start or aid < 0)}
            built |= kept
            real |= found - kept
            grown = True
        return grown

    def _match(self) -> bool:
        """One walk; False if more objects were found that must be real."""
        self.partner = {}
        back: dict[int, int] = {}
        queue = self._roots()
        stable = True
        while queue:
            _, a, b = queue.popleft()
            if isinstance(a, Ref) and isinstance(b, Ref) and not self.demoted(a, b):
                if a.aid in self.partner or b.aid in back:
                    same = self.partner.get(a.aid) == b.aid and back.get(b.aid) == a.aid
                    stable &= same or not self._demote(a, b)
                    continue
                one, other = self.a.heap[a.aid], self.b.heap[b.aid]
                alike = (one.node is None) == (other.node is None) or one.kind in _MIXED
                if one.kind == other.kind == "class" and _differ(one, other):
                    self._build(a.aid, b.aid)
                if alike and shape_in(self.a.heap, a.aid) == shape_in(self.b.heap, b.aid):
                    if (one.node is None) != (other.node is None):
                        self._build(a.aid, b.aid)
                    self.partner[a.aid] = b.aid
                    back[b.aid] = a.aid
                    if not (one.bulk and one.cells is other.cells):
                        queue.extend((0, x, y) for x, y in zip(one.cells, other.cells, strict=True))
                    continue
            if isinstance(a, Ref) or isinstance(b, Ref) or (templates.ALL and not agree(a, b)):
                stable &= not self._demote(a, b)
        return stable

    def _build(self, a: int, b: int) -> None:
        """Both will be real, with what they hold."""
        self.built_a.add(a)
        self.built_b.add(b)
        heap, start = (self.a.heap, a) if self.a.heap[a].node is None else (self.b.heap, b)
        for aid in reachable(heap, [start]):
            check_materializable(heap, aid)

    def built(self, a: V) -> bool:
        """Must an object of state a (or its partner) be real, its contents staying known?"""
        return isinstance(a, Ref) and (a.aid in self.built_a or self.partner.get(a.aid) in self.built_b)

    def _roots(self) -> "deque[tuple[int, V, V]]":
        queue: deque[tuple[int, V, V]] = deque()
        for (name, x), (other, y) in zip(self.a.roots(), self.b.roots(), strict=True):
            assert name == other
            queue.append((self.paths[name], x, y))
        return queue

    def pairs(self) -> Iterator[Pair]:
        """Every slot once, in canonical order: its path, both values, and the object of a if it is first met here."""
        queue = self._roots()
        seen: set[int] = set()
        while queue:
            path, a, b = queue.popleft()
            if isinstance(a, Ref) and isinstance(b, Ref) and not self.demoted(a, b) and a.aid not in seen:
                seen.add(a.aid)
                obj = self.a.heap[a.aid]
                yield path, a, b, obj
                other = self.b.heap[b.aid]
                if obj.bulk and obj.cells is other.cells:
                    continue
                queue.extend((self.paths[path, k], x, y) for k, (x, y) in enumerate(zip(obj.cells, other.cells, strict=True)))
            else:
                yield path, a, b, None


def _differ(one: VObj, other: VObj) -> bool:
    """Has one class an attribute that the other lacks?"""
    return any(_missing(x) != _missing(y) for x, y in zip(one.cells, other.cells, strict=False))


def _missing(cell: V) -> bool:
    return isinstance(cell, Known) and cell.value is templates.MISSING


def align(old: State, new: State) -> bool:
    """Locals that only one of the states still holds are dead: drop them from both, unless their end would show.

    Classes that only one of them has defined are none of both.  True: old has lost one.
    """
    for one, other in zip(old.frames, new.frames, strict=True):
        for k, (x, y) in enumerate(zip(one.locals, other.locals, strict=True)):
            if (x is None) != (y is None):
                held = y if x is None else x
                gone = UNBOUND_VALUE if isinstance(held, Dyn) and held.ends else None
                one.locals[k] = (gone if x is None else x) if gone else None
                other.locals[k] = (gone if y is None else y) if gone else None
    common = tuple(number for number in old.classes if number in new.classes)
    lost = common != old.classes
    old.classes = new.classes = common
    return lost


def agree(a: V, b: V) -> bool:
    """Are both the same constant?"""
    return isinstance(a, Known) and isinstance(b, Known) and same_constant(a.value, b.value)


def unlike_generators(a: State, b: State, paths: Paths) -> Iterator[int]:
    """The slots where one state holds a virtual generator, or something that reaches one, and the other something else."""
    theirs = dict(b.roots())
    queue: deque[tuple[int, V, V | None]] = deque((paths[name], x, theirs.get(name)) for name, x in a.roots())
    seen: set[int] = set()
    while queue:
        path, x, y = queue.popleft()
        if isinstance(x, Ref) and isinstance(y, Ref):
            one, other = a.heap[x.aid], b.heap[y.aid]
            if (one.node is None) == (other.node is None) and shape_in(a.heap, x.aid) == shape_in(b.heap, y.aid):
                if x.aid not in seen:
                    seen.add(x.aid)
                    queue.extend((paths[path, k], c, d) for k, (c, d) in enumerate(zip(one.cells, other.cells, strict=True)))
                continue
        if _holds_generator(a, x) or _holds_generator(b, y):
            yield path


def _holds_generator(state: State, value: V | None) -> bool:
    return isinstance(value, Ref) and any(state.heap[aid].kind == "generator" and state.heap[aid].node is None for aid in reachable(state.heap, [value.aid]))
