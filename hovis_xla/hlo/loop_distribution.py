"""Loop distribution: what depends on no other iteration of a loop is computed for all iterations at once.

For example, a cell of an edit distance is the minimum of three sums, one of which has to wait for the cell to its left.  The other two,
and their operands, become vectors: XLA computes them in front of the loop, several elements in an instruction and without bounds checks of
each index, and only the recurrence is left in the loop.  If nothing but stores is left, they become one store of a row.

This pass runs on the finished module, on loops that count from a known number to a known one (``iteration_dependence``).
"""

from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import block_of
from hovis_xla.emit.builder import T, shape_of, tensor_of
from hovis_xla.emit.values import INT64
from hovis_xla.hlo.iteration_dependence import At, Index, Round, counter_of, is_single, number_of
from hovis_xla.hlo.module import Module, element_of, last_of, made_by
from hovis_xla.jaxlib.adapter import ir
from hovis_xla.jaxlib.adapter import stablehlo as hlo

#: Loops of fewer iterations than this are left as they are, and vectors longer than this are not made.
FEW: Final = 8
LONGEST: Final = 4096


def distribute_loops(module: Module) -> None:
    """Distribute loops: compute in front of them, as vectors, the values of an iteration that depend on no other iteration."""
    for loop in module.loops:
        count = counter_of(loop)
        if count is None:
            continue
        if not count.rounds:
            _replace(loop, loop.operands)
        elif count.most - count.least + abs(count.step) >= FEW:
            found = Round(module, loop, count)
            if found.is_plain():
                _Distribution(found).write()


def _replace(loop: Any, values: Iterable[Any]) -> None:
    """Replace the results of a loop by these values, and remove the loop."""
    for result, value in zip(loop.results, list(values), strict=True):
        result.replace_all_uses_with(value)
    loop.erase()


class Window(NamedTuple):
    """The elements of a row that an iteration uses: the offset of the first one from the iteration's place, their number, and the offset of each
    value.
    """

    least: int
    wide: int
    values: dict[Any, int]


class Store(NamedTuple):
    """A row that a loop stores: the number of the array, the index, the offset of its first element, and its value."""

    number: int
    place: Index
    least: int
    value: At


class _Distribution:
    """Writes the computation in front of a loop, and removes it from the loop."""

    def __init__(self, of: Round) -> None:
        self.of = of
        self.count = of.count
        self.made: dict[Any, T] = {}

    def write(self) -> None:
        _gather_extremes(self.of)
        asked = {key: window for key, window in self._asked(()).items() if self._is_worth_it(key, window)}
        stores = self._whole_rows({value for window in asked.values() for value in window.values})
        windows = {key: window for key, window in self._asked({store.number for store in stores}).items() if key in asked}
        if not windows and not stores:
            return
        made = {key: window for key, window in windows.items() if not self._is_there(key)}
        with ir.InsertionPoint(self.of.loop):
            rows = [self._row(key, self.count.least + window.least, self._length(window.wide)) for key, window in made.items()]
            rows += [self._stored_row(store) for store in stores]
            rows = self.of.module.held(*rows) if stores else [self.of.module.held(row)[0] for row in rows]
        for key, window in windows.items():
            self._window(window, self._part(key, window) if key not in made else self._part_of_row(rows.pop(0), window))
        for row, store in zip(rows, stores, strict=True):
            self._store(row, store)
        self._take_out()
        self.of.module.erase_unused(self.of.body)
        if stores:
            self._drop()

    def _asked(self, stored: Container[int]) -> dict[int, Window]:
        """Collect the values that the rest of an iteration uses, grouped by expression; stores into the arrays in ``stored``, which get whole
        rows, are not counted.
        """
        found: dict[int, dict[Any, int]] = {}
        for op in self.of.body.operations:
            if not self._is_left(op.operation) or any(r in self.of.contents and self.of.contents[r][0] in stored for r in op.operation.results):
                continue
            for value in op.operation.operands:
                at = self.of.at(value)
                if at is not None and at.ahead is not None and self.of.reads(at.key):
                    found.setdefault(at.key, {})[value] = at.ahead
        return {key: Window(min(of.values()), max(of.values()) - min(of.values()) + 1, of) for key, of in found.items()}

    def _is_left(self, made: Any) -> bool:
        """Does an operation stay in the loop?"""
        return not len(made.results) or any(self.of.at(r) is None for r in made.results)

    def _is_worth_it(self, key: int, window: Window) -> bool:
        fits = window.wide <= 2 * len(set(window.values.values())) and (self._is_there(key) or self._length(window.wide) <= LONGEST)
        return fits and (window.wide > 1 or self.of.nodes[key][0] == "op")

    def _length(self, wide: int) -> int:
        return self.count.most - self.count.least + wide

    def _is_there(self, key: int) -> bool:
        """Is an expression a row of an array that the loop does not change, so that it needs no computation?"""
        kind, *rest = self.of.nodes[key]
        stored = [k for k, updates in self.of.updates.items() if updates != []]
        return kind == "row" and all(self.of.loop.operands[k] != rest[0] for k in stored)

    def _part(self, key: int, window: Window) -> T:
        """Emit the read of a window from an array that the loop does not change."""
        _, array, along, others = self.of.nodes[key]
        with ir.InsertionPoint(self.of.loop):
            starts = [self._sum(p) for p in others]
        with ir.InsertionPoint.at_block_begin(self.of.body):
            at = builder.add(tensor_of(self.of.body.arguments[self.count.place]), _int64(window.least))
            return _part_of(array, starts, along, builder.unsigned(at), window.wide)

    def _part_of_row(self, row: T, window: Window) -> T:
        with ir.InsertionPoint.at_block_begin(self.of.body):
            at = builder.sub(tensor_of(self.of.body.arguments[self.count.place]), _int64(self.count.least))
            return slicing.dynamic_slice(row, [at], [window.wide])

    def _window(self, window: Window, part: T) -> None:
        """Have the rest of an iteration read the values of a window from ``part``, which holds all of them."""
        with ir.InsertionPoint.after(part.ir.owner.operation):
            for value, ahead in window.values.items():
                one = slicing.along(part, 0, ahead - window.least, ahead - window.least + 1)
                self._use(value, builder.reshape(one, shape_of(value)).ir)

    def _use(self, value: Any, new: Any) -> None:
        """Replace a value by new, in the operations that stay in the loop."""
        for use in list(value.uses):
            if self._is_left(use.owner.operation):
                use.owner.operation.operands[use.operand_number] = new

    def _whole_rows(self, replaced: set[Any]) -> list[Store]:
        """Find the arrays into which an iteration stores only values that depend on no other iteration, each element once, and from which
        nothing reads the stored elements.
        """
        found = {number: store for number, updates in self.of.updates.items() if updates and (store := self._whole_row(number, updates)) is not None}
        while found:
            read = self._read_again(set(found), replaced)
            if not read:
                break
            found = {number: store for number, store in found.items() if number not in read}
        return list(found.values())

    def _whole_row(self, number: int, updates: list[Any]) -> Store | None:
        places = self.of.stored_at(number) or []
        values = [self.of.at(made.operands[1]) for made in updates]
        place, value = places[0], values[0]
        if place is None or place.along is None or value is None:
            return None
        along = place.along
        aheads = []
        for other, what in zip(places, values, strict=True):
            if other is None or other.along != along or what is None or what.key != value.key:
                return None
            if any(x != y for k, (x, y) in enumerate(zip(place.parts, other.parts, strict=True)) if k != along):
                return None
            if not self.of.is_in_range(self.of.loop.operands[number], other):
                return None
            aheads.append(other.parts[along][1])
            if what.ahead is not None and value.ahead is not None and what.ahead - value.ahead != aheads[-1] - aheads[0]:
                return None
        whole = sorted(aheads) == list(range(min(aheads), min(aheads) + abs(self.count.step)))
        if not whole or self._length(len(aheads)) > LONGEST:
            return None
        return Store(number, place, min(aheads), At(value.key, None if value.ahead is None else value.ahead - aheads[0] + min(aheads)))

    def _read_again(self, numbers: set[int], replaced: set[Any]) -> set[int]:
        """Return which of these arrays the rest of an iteration would still read, without the stores into them."""
        todo = [end for k, end in enumerate(self.of.ends) if k not in numbers]
        seen: set[Any] = set()
        found: set[int] = set()
        while todo:
            value = todo.pop()
            if value in seen or block_of(value) != self.of.body:
                continue
            seen.add(value)
            if value in self.of.contents and self.of.contents[value][0] in numbers:
                found.add(self.of.contents[value][0])
            made = made_by(value)
            if made is not None:
                todo += [x for x in made.operands if not (x in replaced and self._is_left(made))]
        return found

    def _stored_row(self, store: Store) -> T:
        length = self._length(abs(self.count.step))
        if store.value.ahead is None:
            return builder.broadcast(self._one(store.value.key), (length,))
        return self._row(store.value.key, self.count.least + store.value.ahead, length)

    def _store(self, row: T, store: Store) -> None:
        """Store a row in front of the loop, if the loop is entered, and remove the stores from the loop."""
        loop, along = self.of.loop, store.place.along
        array = tensor_of(loop.operands[store.number])
        shape = tuple(row.size if k == along else 1 for k in range(len(store.place.parts)))
        with ir.InsertionPoint(loop):
            first = builder.unsigned(_int64(self.count.least + store.least))
            starts = [first if k == along else self._sum(part) for k, part in enumerate(store.place.parts)]
            row = builder.reshape(row, shape)
            begun = self._is_begun()
            if begun is not None:
                row = builder.select(begun, row, self.of.module.held(slicing.dynamic_slice(array, starts, shape))[0])
            loop.operands[store.number] = self.of.module.held(slicing.dynamic_update_slice(array, row, starts))[0].ir
        last_of(self.of.body).operands[store.number] = self.of.body.arguments[store.number]

    def _is_begun(self) -> T | None:
        """Emit the test whether there is a first iteration; None if there is one for certain."""
        first = self.of.loop.operands[self.count.place]
        return None if number_of(first) is not None else builder.compare("EQ", tensor_of(first), _int64(self.count.first))

    def _drop(self) -> None:
        """Remove the loop if it does nothing but count."""
        loop, place = self.of.loop, self.count.place
        same = all(end == argument for k, (end, argument) in enumerate(zip(last_of(self.of.body).operands, self.of.body.arguments, strict=True)) if k != place)
        if not same:
            return
        with ir.InsertionPoint(loop):
            begun, end = self._is_begun(), _int64(self.count.last + self.count.step)
            end = end if begun is None else builder.select(begun, end, tensor_of(loop.operands[place]))
        _replace(loop, [end.ir if k == place else operand for k, operand in enumerate(loop.operands)])

    # --------------------------------------------------------------------------------------------- rows

    def _row(self, key: int, first: int, length: int | None) -> T:
        """Return the vector of the values of a node at the places first, first + 1 and so on; without a length, the number that it is at any."""
        if (key, first, length) not in self.made:
            self.made[key, first, length] = self._make_row(self.of.nodes[key], first, length)
        return self.made[key, first, length]

    def _one(self, key: int) -> T:
        """Return the value of a node that is the same in all iterations."""
        return self._row(key, 0, None)

    def _make_row(self, node: tuple[Any, ...], first: int, length: int | None) -> T:
        shape = () if length is None else (length,)
        match node:
            case ("outside", value):
                return builder.reshape(tensor_of(value), ())
            case ("constant", value):
                return builder.reshape(tensor_of(hlo.constant(value)), ())
            case ("element", array, parts):
                return builder.reshape(slicing.dynamic_slice(tensor_of(array), [self._sum(p) for p in parts], [1] * len(parts)), ())
            case ("place",):
                return builder.add(builder.iota(INT64, shape, 0), builder.full(first, INT64, shape))
            case ("row", array, along, others):
                return _part_of(array, [self._sum(p) for p in others], along, builder.unsigned(_int64(first)), *shape)
            case ("op", name, attributes, element, of):
                operands = [builder.broadcast(self._one(k), shape) if ahead is None else self._row(k, first + ahead, length) for k, ahead in of]
                made = ir.Operation.create(name, [ir.RankedTensorType.get(shape, element)], [x.ir for x in operands], dict(attributes))
                return tensor_of(made.results[0])
        raise AssertionError(node)

    def _sum(self, part: tuple[frozenset[tuple[int, int]], int]) -> T:
        """Emit the index in one dimension, as an unsigned integer."""
        keys, number = part
        found = _int64(number)
        for key, times in sorted(keys):
            atom = self._one(key)
            found = builder.add(found, atom if times == 1 else builder.mul(atom, _int64(times)))
        return builder.unsigned(found)

    def _take_out(self) -> None:
        """Compute loop-invariant operands in front of the loop, each only once."""
        for op in list(self.of.body.operations):
            if not self._is_left(op.operation):
                continue
            for number, value in enumerate(op.operation.operands):
                at = self.of.at(value) if block_of(value) == self.of.body else None
                if at is not None and at.ahead is None and self.of.nodes[at.key][0] in ("op", "element"):
                    with ir.InsertionPoint(self.of.loop):
                        op.operation.operands[number] = builder.reshape(self._one(at.key), shape_of(value)).ir


# ------------------------------------------------------------------------------------------------- minima and maxima


def _gather_extremes(of: Round) -> None:
    """Rewrite ``min(min(a, b), c)`` of integers, of which only a depends on other iterations, to ``min(a, min(b, c))``; likewise with max."""
    for op in list(of.body.operations):
        outer = _extreme(op.operation)
        if outer is None or of.at(op.operation.results[0]) is not None:
            continue
        waiting, free = _parted(of, outer)
        inner = _extreme(made_by(waiting)) if waiting is not None and block_of(waiting) == of.body else None
        if inner is None or inner.how != outer.how or len(list(waiting.uses)) > 2:
            continue
        first, other = _parted(of, inner)
        if first is None:
            continue
        with ir.InsertionPoint(op):
            found = _extreme_of(outer, first, _extreme_of(outer, free, other))
        of.found[found] = None
        op.operation.results[0].replace_all_uses_with(found)


class Extreme(NamedTuple):
    """The minimum ("LT") or the maximum ("GT") of two integers, and how they are compared."""

    how: str
    operands: tuple[Any, Any]
    kind: Any


def _extreme(made: Any) -> Extreme | None:
    test = made_by(made.operands[0]) if made is not None and made.name == "stablehlo.select" and is_single(made.results[0]) else None
    if test is None or test.name != "stablehlo.compare" or not isinstance(element_of(made.results[0]), ir.IntegerType):
        return None
    how, pair, chosen = str(test.attributes["comparison_direction"]), list(test.operands), list(made.operands)[1:]
    less = "LT" in how or "LE" in how
    if not (less or "GT" in how or "GE" in how) or (chosen != pair and chosen != pair[::-1]):
        return None
    return Extreme("LT" if less is (chosen == pair) else "GT", (pair[0], pair[1]), test.attributes["compare_type"])


def _parted(of: Round, extreme: Extreme) -> tuple[Any, Any]:
    """Return the operand that depends on other iterations, and the one that does not and follows the counter; (None, None) if there is not one
    of each.
    """
    a, b = extreme.operands
    for waiting, free in ((a, b), (b, a)):
        at = of.at(free)
        if of.at(waiting) is None and at is not None and at.ahead is not None and of.reads(at.key):
            return waiting, free
    return None, None


def _extreme_of(like: Extreme, a: Any, b: Any) -> Any:
    return hlo.select(hlo.compare(a, b, hlo.ComparisonDirectionAttr.get(like.how), compare_type=like.kind), a, b)


def _part_of(array: Any, starts: list[T], along: int, first: T, length: int) -> T:
    """Emit the read of a vector along one dimension of an array; ``starts`` are the indices in the other dimensions."""
    starts, sizes = [*starts[:along], first, *starts[along:]], [length if k == along else 1 for k in range(len(starts) + 1)]
    return builder.reshape(slicing.dynamic_slice(tensor_of(array), starts, sizes), (length,))


def _int64(number: int) -> T:
    return builder.constant(number, INT64)
