"""How values of a loop iteration are computed where they depend on no other iteration, but on the place of the iteration (its counter) alone;
for ``loop_distribution``.

In a loop that counts from a known number to a known one, a value is described by the expression that computes it from the place of the
iteration, and by how many places it is ahead.  So ``b[j - 1] * 2`` has the same expression in each of several iterations that are done at a
time, one place further ahead in each.  An element of an array may be read at an index that follows the counter and is in range in all
iterations; in an array that the loop stores into, it must be an element that no iteration stores before it is read: in another row, say.
"""

from typing import Any, Final, NamedTuple

from hovis_xla.emit.affine import form
from hovis_xla.emit.block_slots import block_of
from hovis_xla.emit.builder import shape_of
from hovis_xla.emit.inplace_stores import EXACT
from hovis_xla.hlo.module import Module, body_of, element_of, is_pure, is_tensor, last_of, made_by, operations, size_of
from hovis_xla.jaxlib.adapter import attributes_of, ir

#: Operations that, for one element, change only the number of dimensions.
_SAME: Final = frozenset({"stablehlo.reshape", "stablehlo.broadcast_in_dim"})


class At(NamedTuple):
    """A value in an iteration: the key of the expression that computes it from the iteration's place, and how many places ahead it is (None: it
    is the same in all iterations).
    """

    key: int
    ahead: int | None


class Counter(NamedTuple):
    """The induction variable of a loop: its position among the loop-carried values, its value in the first and in the last iteration, the step
    and the trip count.
    """

    place: int
    first: int
    last: int
    step: int
    rounds: int

    @property
    def least(self) -> int:
        return min(self.first, self.last)

    @property
    def most(self) -> int:
        return max(self.first, self.last)


class Index(NamedTuple):
    """The index of an element: for each dimension the terms of a sum (key and factor) and a constant; ``along`` is the dimension that follows
    the counter (None: none does).
    """

    parts: tuple[tuple[frozenset[tuple[int, int]], int], ...]
    along: int | None


def counter_of(loop: Any) -> Counter | None:
    """Return the Counter of a loop; None if its condition is anything but a test of a counter."""
    test, body = loop.regions[0].blocks[0], body_of(loop)
    made = made_by(last_of(test).operands[0])
    if made is None or made.name != "stablehlo.compare" or made.operands[0] not in list(test.arguments):
        return None
    how, bound, argument = str(made.attributes["comparison_direction"]), number_of(made.operands[1]), made.operands[0]
    place = list(test.arguments).index(argument)
    atoms, step = form(last_of(body).operands[place])
    first = _first(loop.operands[place], bound)
    if bound is None or first is None or atoms != {body.arguments[place]: 1} or not step or not _is_int64(argument):
        return None
    if ("LT" not in how and "GT" not in how) or (step > 0) is not ("LT" in how):
        return None
    rounds = max(0, -((first - bound) // step))
    return Counter(place, first, first + (rounds - 1) * step, step, rounds)


def _first(value: Any, bound: int | None) -> int | None:
    """Return the value with which the counter begins, None if it is unknown; in a loop that is not entered, the counter is at its bound already
    (``bounds_check_hoisting``).
    """
    made = made_by(value)
    if made is not None and made.name == "stablehlo.select" and bound is not None and number_of(made.operands[1]) == bound:
        value = made.operands[2]
    return number_of(value)


def number_of(value: Any) -> int | None:
    atoms, number = form(value) if _is_int64(value) else ({value: 1}, 0)
    return None if atoms else number


def is_single(value: Any) -> bool:
    return size_of(value) == 1


def _is_int64(value: Any) -> bool:
    return is_tensor(value) and str(element_of(value)) == "i64"


def _without_sign(value: Any) -> Any:
    """Return the integer that was converted to an unsigned one; value itself if there is no conversion."""
    made = made_by(value)
    return made.operands[0] if made is not None and made.name == "stablehlo.convert" else value


def _apart(a: Index, b: Index) -> bool:
    """Are a and b different indices, in whatever iterations they are used?"""
    return any(x[0] == y[0] and x[1] != y[1] and k not in (a.along, b.along) for k, (x, y) in enumerate(zip(a.parts, b.parts, strict=True)))


class Round:
    """An iteration of a loop: how its values are computed, and what it stores."""

    def __init__(self, module: Module, loop: Any, count: Counter) -> None:
        self.module = module
        self.loop = loop
        self.body = body_of(loop)
        self.count = count
        self.ends = list(last_of(self.body).operands)
        self.keys: dict[Any, int] = {}
        self.nodes: list[tuple[Any, ...]] = []
        self.found: dict[Any, At | None] = {}
        self.contents: dict[Any, tuple[int, int]] = {}  # for each content of a loop-carried array: its number, and the number of stores before
        self.updates: dict[int, list[Any] | None] = {}  # the stores of an iteration into each of them, in order; None: unknown
        self.places: dict[int, list[Index | None]] = {}
        for number, argument in enumerate(self.body.arguments):
            if is_tensor(argument) and not is_single(argument):
                self.updates[number] = self._stores_into(number, argument)

    def is_plain(self) -> bool:
        """Does the loop body work on nothing but single elements, and the arrays that hold them?"""
        made = operations(self.body)[:-1]
        return all((is_pure(op) or self.module.is_barrier(op)) and all(is_single(r) or r in self.contents for r in op.results) for op in made)

    def _stores_into(self, number: int, argument: Any) -> "list[Any] | None":
        """Return the stores of an iteration into a loop-carried array, in order; None if they are unknown."""
        steps: list[Any] = []  # the contents of the array, from the last one backwards
        stores: list[Any] = []
        value = self.ends[number]
        while value != argument:
            made = made_by(value)
            if made is None or block_of(value) != self.body or not (made.name == "stablehlo.dynamic_update_slice" or self.module.is_barrier(made)):
                return None
            steps.append((value, len(stores)))
            if self.module.is_barrier(made):
                value = made.operands[list(made.results).index(value)]
            else:
                stores.append(made)
                value = made.operands[0]
        self.contents[argument] = number, 0
        for value, later in steps:
            self.contents[value] = number, len(stores) - later
        return stores[::-1]

    def stored_at(self, number: int) -> "list[Index | None] | None":
        """Return the indices at which an iteration stores into an array; None if its stores are unknown."""
        stores = self.updates[number]
        if stores is None:
            return None
        if number not in self.places:
            self.places[number] = [None] * len(stores)  # the answer to recursive queries
            self.places[number] = [self._index(list(made.operands)[2:]) if is_single(made.operands[1]) else None for made in stores]
        return self.places[number]

    def _index(self, starts: list[Any]) -> Index | None:
        """Return the Index of a single element; None if it is neither the same in all iterations nor follows the counter."""
        counter, along, parts = self.body.arguments[self.count.place], None, []
        for k, start in enumerate(starts):
            atoms, number = form(_without_sign(start))
            times = atoms.pop(counter, 0)
            if times not in (0, 1) or (times and (atoms or along is not None)):
                return None
            same: dict[int, int] = {}
            for atom, n in atoms.items():
                at = self.at(atom) if _is_int64(atom) else None
                if at is None or at.ahead is not None:
                    return None
                same[at.key] = same.get(at.key, 0) + n
            along = k if times else along
            parts.append((frozenset(same.items()), number))
        return Index(tuple(parts), along)

    def _is_as_before(self, at: Index, number: int, done: int) -> bool:
        """Is the element that is read at this index, after the first ``done`` stores of an iteration, the one from before the loop?"""
        stores = self.stored_at(number)
        return stores is not None and all(
            store is not None and (_apart(at, store) or self._is_read_first(at, store, k < done)) for k, store in enumerate(stores)
        )

    def _is_read_first(self, at: Index, store: Index, stored: bool) -> bool:
        """Is the element at this index stored neither in an earlier iteration nor earlier in the same one, even if at and store are in the same
        row? stored: store is done before the read.
        """
        if at.along is None or at.along != store.along:
            return False
        ahead = (at.parts[at.along][1] - store.parts[at.along][1]) * (1 if self.count.step > 0 else -1)
        return ahead > 0 or ahead % abs(self.count.step) != 0 or (ahead == 0 and not stored)

    def at(self, value: Any) -> At | None:
        """Return how a value is computed in an iteration; None if it depends on other iterations, or is no single element."""
        if value not in self.found:
            self.found[value] = None  # for a value that depends on itself
            self.found[value] = self._at(value)
        return self.found[value]

    def _at(self, value: Any) -> At | None:
        if not is_single(value) or isinstance(element_of(value), ir.ComplexType):
            return None
        if block_of(value) != self.body:
            return At(self._key("outside", value), None)
        made = made_by(value)
        if _is_int64(value) and form(value)[0] == {self.body.arguments[self.count.place]: 1}:
            return At(self._key("place"), form(value)[1])
        if made is None:
            number = list(self.body.arguments).index(value)
            return At(self._key("outside", self.loop.operands[number]), None) if self.ends[number] == value else None
        if made.name == "stablehlo.constant":
            return At(self._key("constant", made.attributes["value"]), None)
        if made.name in _SAME or self.module.is_barrier(made):
            return self.at(made.operands[list(made.results).index(value)])
        if made.name == "stablehlo.dynamic_slice":
            return self._read(made.operands[0], self._index(list(made.operands)[1:]))
        if made.name == "stablehlo.slice":
            return self._read(made.operands[0], Index(tuple((frozenset(), n) for n in made.attributes["start_indices"]), None))
        return self._elementwise(made) if made.name in EXACT or made.name == "stablehlo.optimization_barrier" else None

    def _elementwise(self, made: Any) -> At | None:
        parts = [part for part in map(self.at, made.operands) if part is not None]
        if len(parts) < len(made.operands):
            return None
        if made.name == "stablehlo.select" and parts[1] == parts[2]:
            return parts[1]
        least = min((p.ahead for p in parts if p.ahead is not None), default=None)
        of = tuple((p.key, None if p.ahead is None or least is None else p.ahead - least) for p in parts)
        attributes = tuple(attributes_of(made).items())
        return At(self._key("op", made.name, attributes, element_of(made.results[0]), of), least)

    def _read(self, array: Any, at: Index | None) -> At | None:
        if at is None:
            return None
        if array in self.contents:
            number, done = self.contents[array]
            if not self._is_as_before(at, number, done):
                return None
            array = self.loop.operands[number]
        elif block_of(array) == self.body:
            return None
        if at.along is None:
            return At(self._key("element", array, at.parts), None)
        ahead = at.parts[at.along][1]
        if not self.is_in_range(array, at):
            return None
        return At(self._key("row", array, at.along, (*at.parts[: at.along], *at.parts[at.along + 1 :])), ahead)

    def is_in_range(self, array: Any, at: Index) -> bool:
        """Is the index in range in all iterations, in the dimension that follows the counter?"""
        assert at.along is not None
        ahead = at.parts[at.along][1]
        return self.count.least + ahead >= 0 and self.count.most + ahead < shape_of(array)[at.along]

    def _key(self, *node: Any) -> int:
        if node not in self.keys:
            self.keys[node] = len(self.nodes)
            self.nodes.append(node)
        return self.keys[node]

    def reads(self, key: int) -> int:
        """Return the number of elements that an expression reads at indices which follow the counter."""
        node = self.nodes[key]
        return sum(self.reads(k) for k, ahead in node[4] if ahead is not None) if node[0] == "op" else int(node[0] == "row")
