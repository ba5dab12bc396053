"""Arrays during lowering: their places in memory, loads from them and stores into them."""

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.ir.model import Function, Op
from hovis.lattice.inspection import is_a
from hovis.library.numpy.rules.aliasing import is_in, is_sharing
from hovis.library.numpy.rules.ufuncs import OPERATORS
from hovis_xla.analysis.stored_arrays import may_share
from hovis_xla.emit import builder, custom_calls, slicing
from hovis_xla.emit.affine import difference
from hovis_xla.emit.block_slots import block_of, is_within, tensor
from hovis_xla.emit.builder import T, tensor_type
from hovis_xla.emit.fp_barriers import numbers
from hovis_xla.emit.inplace_stores import is_computed_in_place, unread
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, INT64, Known, NotLowerable, Num, Operand, Owned, Ragged, Stored, Struct, Val, is_numpy, view_roots
from hovis_xla.emit.view_steps import Box, Step
from hovis_xla.hlo.module import last_of
from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.lowering.module_state import ModuleState
from hovis_xla.ops.ragged import extents

#: A store at a known position is emitted as a concatenation if the array has at most this many times the elements of the stored part.
PIECES: Final = 64
#: Maximum number of loads of parts of one array that are remembered, to be reused by loads of the same part.
REMEMBERED: Final = 8


class Arrays(ModuleState):
    """The part of a lowering that handles arrays."""

    def constant_array(self, array: np.ndarray[Any, Any], num: Num) -> Val:
        found = self.constants.get(id(array))
        if found is None:
            argument = self.main.body.blocks[0].add_argument(tensor_type(num.dtype, num.shape), ir.Location.unknown(context()))
            found = self.constants[id(array)] = array, self.given(num, argument, array, ("constant", id(array)) in self.mutable_constants)
        return found[1]

    def given(self, num: Num, value: Any, owner: Any, mutable: bool) -> Val:
        """Return the operand of an array that belongs to the caller; ``owner`` is the number of an argument, or the array of a global."""
        place = Place(Location(num.dtype, num.shape, mutable, True, owner))
        self.scope.pinned.add(place.location)
        if mutable:
            self.memory.bottom[place.location] = T(value, num.dtype, num.shape)
            return self.array_at(place)
        return Val(num, value, roots=frozenset({Owned(owner) if isinstance(owner, int) else Owned(None, id(owner))}), place=place)

    def array_at(self, place: Place) -> Stored:
        return Stored(Num(ARRAY, place.dtype, place.shape), place, lambda place: self.load(place).ir)

    def load(self, place: Place) -> T:
        """Return the current content of a place. Inside a loop, barriers keep loads of small parts in order with the stores around them."""
        t = self.memory.read(place.location)
        if not place.steps:
            return t
        key = _seen(t, place)
        found = self.loaded.get(key)
        if found is None or not is_visible(found):
            found = self._known_cell(t, place)
        if found is None:
            found = place.load(t)
            if self.depth and found.size * 4 <= t.size:
                found = self.barrier(found)
                self.loads.setdefault(t.ir, []).append(found)
            self._know(t, place, found)
        return found

    def _known_cell(self, t: T, place: Place) -> T | None:
        """Return the value of a single element that was loaded or stored before, perhaps in another iteration (``i + 1 - 1``), and not
        overwritten since; None if it is not known.
        """
        starts = _cell(place)
        while self.depth and starts is not None:
            for before, found in self.cells.get(t.ir, ()):
                if all(difference(x, y) == 0 for x, y in zip(starts, before, strict=True)) and is_visible(found):
                    return builder.reshape(found, place.shape)
            stored = self.stored.get(t.ir)
            if stored is None or stored[1].size != 1 or not any(difference(x, y.ir) for x, y in zip(starts, stored[2], strict=True)):
                return None
            t = stored[0]
        return None

    def window(self, t: T, starts: tuple[T, ...], shape: tuple[int, ...]) -> T:
        """Load the part of the current content ``t`` that begins at ``starts``, as an array of this shape."""
        wanted, cells = [s.ir for s in starts], self.cells.get(t.ir, ()) if math.prod(shape) == 1 else ()
        found = next((value for at, value in reversed(cells) if at == wanted and is_visible(value)), None)
        if found is None:
            found = self.barrier(slicing.dynamic_slice(t, starts, shape))
            if self.depth:
                self.loads.setdefault(t.ir, []).append(found)
        return builder.reshape(found, shape)

    def _know(self, t: T, place: Place, found: T) -> None:
        """Record that a place of the content ``t`` holds the value ``found``."""
        self.loaded[_seen(t, place)] = found
        starts = _cell(place)
        if starts is not None:
            self.cells.setdefault(t.ir, []).append((starts, found))

    def forget(self, content: Any) -> None:
        """Drop the recorded values of a content: those that were taken from a store and not loaded no longer hold."""
        self.cells.pop(content, None)
        for key in [key for key in self.loaded if key[0] == content]:
            del self.loaded[key]

    def fresh(self, t: T, c_order: bool = False) -> Val:
        """Return an array in memory of its own, for a call whose results are views for other arguments."""
        return Val(Num(ARRAY, t.dtype, t.shape), t.ir, place=Place(Location(t.dtype, t.shape, c_order=c_order)))

    def write(self, place: Place, new: T) -> None:
        """Overwrite the whole of a place with ``new``."""
        self.stores_into(place)
        location = place.location
        after = place.store(self.memory.read(location), new, self.put)
        self.memory.content[location] = after
        if len(place.steps) == 1 and isinstance(place.steps[0], Box) and new.size == 1:
            self._know(after, place, new)  # a load from there gives the stored value

    def stores_into(self, place: Place) -> None:
        """Record that a place is stored into, even if no element is stored or no value changes: NumPy refuses that too if the array is
        read-only.
        """
        location = place.location
        if not location.mutable:
            raise NotLowerable("a store into an array that was assumed not to be stored into")
        if not place.writable:
            raise NotLowerable("a store into the result of np.broadcast_to: NumPy raises an exception")
        self.into.add(location)

    def viewed(self, a: Val, step: Step) -> Val:
        """Return the view of an array that ``step`` gives."""
        if isinstance(a, Stored):
            return self.array_at(a.place.then(step))
        t = self._part(tensor(a), step)
        return Val(Num(ARRAY, t.dtype, t.shape), t.ir, roots=view_roots([a]), place=None if a.place is None else a.place.then(step))

    def _part(self, t: T, step: Step) -> T:
        """Load the part of an immutable array that a view shows, and reuse an earlier load of the same part."""
        if not isinstance(step, Box) or not (starts := [s for s in step.starts if isinstance(s, T)]):
            return step.load(t)
        seen = self.parts_read.setdefault((t.ir, step.skeleton), [])
        for before, found in seen:
            if is_visible(found) and all(difference(x.ir, y.ir) == 0 for x, y in zip(before, starts, strict=True)):
                return found
        found = step.load(t)
        seen.insert(0, (starts, found))
        del seen[REMEMBERED:]
        return found

    def placed(self, op: Op, found: Operand, args: list[Operand]) -> Operand:
        """Return the result of an op with its place in memory: a location of its own, unless the result is or may be a view."""
        if isinstance(found, Struct) and (found.op is op or _is_made_by(found, op, args)):
            return Struct(found.callee, tuple(self.placed(op, p, args) for p in found.parts), op)
        if isinstance(found, Ragged):
            return self._placed(op, found, args)
        if not isinstance(found, Val) or found.num.kind != ARRAY:
            return found
        mutable = op in self.scope.mutable
        if isinstance(found, Stored) or (found.place is not None and not mutable and not (op.callee is operator.getitem and found.place.own)):
            return found
        own = found.place is not None and found.place.own and found.place.location.owner is None
        same = any(found is a for a in args)
        told = same or isinstance(op.callee, Function) or _is_of(found, args)
        if same or (not own and (told or (may_share(op) and not is_in(op.callee, _COMPUTING)))):
            if mutable:
                raise NotLowerable("a view, or a possible view, of an array that is stored into")
            near = [a for a in args if isinstance(a, Val) and a.num.kind == ARRAY]
            return found if told else Val(found.num, found.ir, roots=view_roots(near) or found.roots)
        t = tensor(found)
        sources = [a.place.location for a in _arrays_in(args) if isinstance(a, Val) and a.place is not None]
        relies = frozenset(r for loc in sources for r in (loc, *loc.relies) if r.owner is not None)
        place = Place(Location(t.dtype, t.shape, mutable, _in_order(op, args), relies=relies))
        if not mutable:
            return Val(found.num, found.ir, place=place)
        self.memory.content[place.location] = t
        return self.array_at(place)

    def _placed(self, op: Op, found: Ragged, args: list[Operand]) -> Operand:
        """Put an array of unknown size into a location of its own if it is stored into, and pack it if other blocks use it."""
        if not found.own or isinstance(found.base, Stored) or any(found is a for a in args):
            return found
        t, counts = tensor(found.read()), found.counts
        if op in self.scope.abroad:
            t, counts = extents.packed(t, counts)
        if op not in self.scope.mutable:
            return Ragged(found.full, Val(found.full, t.ir), counts)
        place = Place(Location(t.dtype, t.shape, True))
        self.memory.content[place.location] = t
        return Ragged(found.full, self.array_at(place), counts, write=lambda base, new: self.write(base.place, new))

    def barrier(self, *xs: T) -> T:
        """Return the first of ``xs``, passed through a call that XLA does not look into and that waits for all of them.

        Barriers keep loads and stores in a loop in order; without them, XLA copies whole arrays to be safe.
        """
        return xs[0]._replace(ir=custom_calls.opaque_identity([x.ir for x in xs], self.module.body, self.barriers)[0]) if self.depth else xs[0]

    def put(self, t: T, update: T, starts: tuple[T, ...]) -> T:
        """Return the array with the update stored at ``starts``, ordered after the loads from the array in this block."""
        if update.shape == t.shape:
            return update
        if not self.depth and update.size * PIECES >= t.size and (known := numbers([s.ir for s in starts])) is not None:
            return slicing.put_together(t, update, [max(0, min(int(k), d - n)) for k, d, n in zip(known, t.shape, update.shape, strict=True)])
        here = ir.InsertionPoint.current.block
        reads = [x for x in self.loads.get(t.ir, ()) if block_of(x.ir) == here]
        at_once = self.depth and is_computed_in_place(t, update, starts, reads, self.stored)
        kept = update if at_once else self.barrier(update, *(unread(update, reads) if update.size == 1 else reads))
        result = self.barrier(slicing.dynamic_update_slice(t, kept, starts))
        self.stored[result.ir] = t, update, starts
        if update.size == 1:
            self.cells[result.ir] = [([s.ir for s in starts], kept)]
        return result

    def read_within(self, blocks: Sequence[Any], results: Sequence[T]) -> None:
        """Record that an operation was made of these blocks: their loads from an array outside it are complete when its results are available."""
        result = next((r for r in results if not r.shape), None)
        if result is None:
            return
        for content, reads in self.loads.items():
            if any(block_of(x.ir) in blocks for x in reads) and block_of(content) not in blocks:
                reads.append(result)

    def wait_for_reads(self, loop: Any) -> None:
        """Make a ``while`` that stores into arrays start only after the loads from these arrays in the block around it."""
        block, body = loop.operation.block, loop.regions[1].blocks[0]
        reads: list[T] = []
        for value, argument, end in zip(loop.operands, body.arguments, last_of(body).operands, strict=True):
            if value in self.loads and end != argument:
                reads += [x for x in self.loads[value] if block_of(x.ir) == block]
        at = next((k for k, v in enumerate(loop.operands) if isinstance(v.type, ir.RankedTensorType) and not v.type.shape), None)
        if reads and at is not None:
            with ir.InsertionPoint(loop):  # a barrier accepts any dtype
                loop.operands[at] = self.barrier(T(loop.operands[at], INT64, ()), *dict.fromkeys(reads)).ir

    def contiguous(self) -> list[int]:
        """Return the numbers of the arguments that were assumed to be in C order."""
        return sorted({loc.owner for loc in self.scope.pinned if isinstance(loc.owner, int) and loc.asked})

    def writeable(self) -> list[Any]:
        """Return the arguments (by number) and constants that have to be writeable."""
        return [loc.owner for loc in self.memory.bottom if loc in self.into and isinstance(loc.owner, int | np.ndarray)]


def _seen(t: T, place: Place) -> Any:
    """Return the cache key of a load from a place of ``t``: loads with equal keys give equal values."""
    return t.ir, place.skeleton, tuple(s.ir for s in place.starts)


def _cell(place: Place) -> list[Any] | None:
    """Return the indices of a place that is a single element, as numbers and values of the module; None for any other place."""
    box = place.steps[0] if len(place.steps) == 1 else None
    return [s.ir if isinstance(s, T) else s for s in box.starts] if isinstance(box, Box) and set(box.counts) == {1} else None


def is_visible(t: T) -> bool:
    """Is the value defined in the current MLIR block or in one that encloses it?"""
    return is_within(ir.InsertionPoint.current.block, block_of(t.ir))


#: Operators whose results have memory of their own if the operands are the arrays and numbers of compiled code, whatever the engine knew of them.
_COMPUTING: Final = frozenset((*OPERATORS, operator.matmul))


def _is_of(found: Val, args: Sequence[Operand]) -> bool:
    """Do the roots of a result say that it may share memory with an argument?"""
    return any(isinstance(r, Owned) for r in found.roots) or any(isinstance(a, Val) and found.roots & a.roots for a in args)


def _is_made_by(found: Struct, op: Op, args: Sequence[Operand]) -> bool:
    """Is the operand a tuple of arrays that a NumPy call has made, each in memory of its own?"""
    if isinstance(op.callee, Function) or any(found is a for a in args) or found.callee is not operations.make_tuple:
        return False
    return str(getattr(op.callee, "__module__", "")).startswith("numpy") and not is_sharing(op)


def _arrays_in(operands: Iterable[Operand]) -> Iterator[Operand]:
    """Yield the arrays and NumPy scalars among the operands and inside their containers."""
    for operand in operands:
        if isinstance(operand, Struct):
            yield from _arrays_in(operand.parts)
        elif is_numpy(operand):
            yield operand


def _picks_first(index: Operand) -> bool:
    """Do the arrays of an index precede all its other items? If not, the memory layout of NumPy's result follows the dimensions that were
    picked.
    """
    if isinstance(index, Known):
        items: Sequence[Any] = index.value if is_a(index.value, tuple) else (index.value,)
    else:
        items = index.parts if isinstance(index, Struct) and index.callee is operations.make_tuple else (index,)
    arrays = [_is_array(item) for item in items]
    return arrays == sorted(arrays, reverse=True)


def _is_array(item: Any) -> bool:
    if isinstance(item, Known):
        return is_a(item.value, np.ndarray | list)
    if isinstance(item, Val):
        return item.num.kind == ARRAY
    return isinstance(item, Ragged) or (isinstance(item, Struct) and item.callee is not slice)


#: Functions that may return new arrays in another memory order than that of their arguments.
_OTHER_ORDERS: Final = frozenset({
    np.delete, np.unique, np.apply_along_axis, np.einsum, np.cross, np.histogram2d, np.histogramdd, np.linspace, np.logspace, np.geomspace, np.argwhere,
    np.unravel_index, np.nanpercentile, np.nanquantile,
})  # fmt: skip


def _in_order(op: Op, args: Sequence[Operand]) -> bool:
    """Is the array that a call makes certainly in C order? It is if the arrays that it is made from are, unless the callee may change the order."""
    if str(getattr(op.callee, "__module__", "")).startswith(("numpy.linalg", "numpy.fft")) or any(k == "order" for k, _ in op.kwargs):
        return False
    if is_in(op.callee, _OTHER_ORDERS) or (op.callee is operator.getitem and len(args) == 2 and not _picks_first(args[1])):
        return False
    for a in _arrays_in(args):
        if isinstance(a, Known) and is_a(a.value, np.ndarray) and not a.value.flags.c_contiguous:
            return False
        if isinstance(a, Val) and len(a.num.shape) > 1 and (a.place is None or not a.place.is_in_order()):
            return False
    return True
