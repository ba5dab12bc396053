"""What the values of a round of a loop are made of, where that is nothing of another round: of the round's place alone, for ``loop_distribution``.

Of a loop that counts from a known number to a known one, a value is told by how it is made of the round's place, and by how many places it
is ahead, so that ``b[j - 1] * 2`` is the same in all of several rounds that are done at a time, one place ahead each.  An element of an array
is read at a place that counts as the loop does, in range in all rounds; of an array that the loop stores into, an element that no round
stores before it is read: in another row, say.
"""

from typing import Any, Final, NamedTuple

from hovis_xla.emit.affine import form
from hovis_xla.emit.block_slots import block_of
from hovis_xla.emit.builder import shape_of
from hovis_xla.hlo.module import Module, is_pure, last_of, made_by, operations
from hovis_xla.jaxlib.adapter import attributes_of, ir

_NAMES: Final = (
    "abs add and ceil compare convert divide floor is_finite maximum minimum multiply negate not or select shift_left shift_right_arithmetic "
    "shift_right_logical sign sqrt subtract xor optimization_barrier"
)
#: Each element of the result is made of the same elements of the operands, and is the same to the bit whatever stands beside it.
ELEMENTWISE: Final = frozenset(f"stablehlo.{name}" for name in _NAMES.split(" "))

#: The same value in other dimensions of one element.
_SAME: Final = frozenset({"stablehlo.reshape", "stablehlo.broadcast_in_dim"})


class At(NamedTuple):
    """A value of a round: how it is made of the round's place, as a number, and how many places ahead it is (None: it is the same in all rounds)."""

    key: int
    ahead: int | None


class Counter(NamedTuple):
    """Where the counter is among what goes round, what it is in the first round and in the last one, and the step."""

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
    """A place: of each dimension what is added up (its key, and how often), and the number; ``along`` is the dimension that counts (None: no one does)."""

    parts: tuple[tuple[frozenset[tuple[int, int]], int], ...]
    along: int | None


def counter_of(loop: Any) -> Counter | None:
    """How a loop counts, if its test is nothing else."""
    test, body = loop.regions[0].blocks[0], loop.regions[1].blocks[0]
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
    """Where it begins to count, if it does; a loop that is not begun has counted to its bound already (``bounds_check_hoisting``)."""
    made = made_by(value)
    if made is not None and made.name == "stablehlo.select" and bound is not None and number_of(made.operands[1]) == bound:
        value = made.operands[2]
    return number_of(value)


def number_of(value: Any) -> int | None:
    atoms, number = form(value) if _is_int64(value) else ({value: 1}, 0)
    return None if atoms else number


def element_of(value: Any) -> Any:
    return ir.RankedTensorType(value.type).element_type


def is_single(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and all(d == 1 for d in shape_of(value))


def _is_int64(value: Any) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and str(element_of(value)) == "i64"


def _without_sign(value: Any) -> Any:
    """The integer that was made one without a sign."""
    made = made_by(value)
    return made.operands[0] if made is not None and made.name == "stablehlo.convert" else value


def _apart(a: Index, b: Index) -> bool:
    """Are they two places, in whatever rounds they are looked at?"""
    return any(x[0] == y[0] and x[1] != y[1] and k not in (a.along, b.along) for k, (x, y) in enumerate(zip(a.parts, b.parts, strict=True)))


class Round:
    """A loop: what its values are in a round, and what it stores."""

    def __init__(self, module: Module, loop: Any, count: Counter) -> None:
        self.module = module
        self.loop = loop
        self.body = loop.regions[1].blocks[0]
        self.count = count
        self.ends = list(last_of(self.body).operands)
        self.keys: dict[Any, int] = {}
        self.nodes: list[tuple[Any, ...]] = []
        self.found: dict[Any, At | None] = {}
        self.contents: dict[Any, tuple[int, int]] = {}  # of arrays that go round: which one it is, after how many stores
        self.updates: dict[int, list[Any] | None] = {}  # the stores of a round into them, in order; None: that is not known
        self.places: dict[int, list[Index | None]] = {}
        for number, argument in enumerate(self.body.arguments):
            if isinstance(argument.type, ir.RankedTensorType) and not is_single(argument):
                self.updates[number] = self._stores_into(number, argument)

    def is_plain(self) -> bool:
        """Is it about single elements, and the arrays that they are in?"""
        made = operations(self.body)[:-1]
        return all((is_pure(op) or self.module.is_barrier(op)) and all(is_single(r) or r in self.contents for r in op.results) for op in made)

    def _stores_into(self, number: int, argument: Any) -> "list[Any] | None":
        """The stores of a round into an array, in order."""
        steps: list[Any] = []  # the contents from the last one back
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
        """Where a round stores into an array."""
        stores = self.updates[number]
        if stores is None:
            return None
        if number not in self.places:
            self.places[number] = [None] * len(stores)  # what is asked for while it is found out
            self.places[number] = [self._index(list(made.operands)[2:]) if is_single(made.operands[1]) else None for made in stores]
        return self.places[number]

    def _index(self, starts: list[Any]) -> Index | None:
        """Where a single element is; None, if that is neither the same in all rounds nor counts as the loop does."""
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
        """Is what is read there, after so many stores of a round, what was there in front of the loop?"""
        stores = self.stored_at(number)
        return stores is not None and all(
            store is not None and (_apart(at, store) or self._is_read_first(at, store, k < done)) for k, store in enumerate(stores)
        )

    def _is_read_first(self, at: Index, store: Index, stored: bool) -> bool:
        """Is no element stored in an earlier round, or earlier in the round, even if both are in the same row?"""
        if at.along is None or at.along != store.along:
            return False
        ahead = (at.parts[at.along][1] - store.parts[at.along][1]) * (1 if self.count.step > 0 else -1)
        return ahead > 0 or ahead % abs(self.count.step) != 0 or (ahead == 0 and not stored)

    def at(self, value: Any) -> At | None:
        """What a value is in a round; None, if it needs other rounds, or is no single element."""
        if value not in self.found:
            self.found[value] = None  # of what hangs on itself
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
        return self._elementwise(made) if made.name in ELEMENTWISE else None

    def _elementwise(self, made: Any) -> At | None:
        parts: list[At] = []
        for x in made.operands:
            part = self.at(x)
            if part is None:
                return None
            parts.append(part)
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
        """Is the place in range in all rounds, as far as it counts?"""
        assert at.along is not None
        ahead = at.parts[at.along][1]
        return self.count.least + ahead >= 0 and self.count.most + ahead < shape_of(array)[at.along]

    def _key(self, *node: Any) -> int:
        if node not in self.keys:
            self.keys[node] = len(self.nodes)
            self.nodes.append(node)
        return self.keys[node]

    def reads(self, key: int) -> int:
        """How many elements that count it is made of."""
        node = self.nodes[key]
        return sum(self.reads(k) for k, ahead in node[4] if ahead is not None) if node[0] == "op" else int(node[0] == "row")
