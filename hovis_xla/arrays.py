"""Arrays of a program that is lowered: where each is, what is read of it and stored into it."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from hovis.ir.model import Function, Op
from hovis_xla import emit
from hovis_xla.adapter import context, ir
from hovis_xla.control import Walker
from hovis_xla.emit import T, tensor_type
from hovis_xla.places import Location, Place, Step, c_strides
from hovis_xla.slots import block_of, tensor
from hovis_xla.stores import is_sharing
from hovis_xla.types import ARRAY, Known, NotLowerable, Num, Operand, Owned, Stored, Struct, Val, is_numpy, view_roots


class Arrays(Walker):
    """The part of a lowering that knows of arrays."""

    main: Any
    module: Any
    constants: dict[int, tuple[np.ndarray[Any, Any], Val]]
    barriers: dict[str, str]
    #: what has been read of an array, by its content
    loads: dict[Any, list[T]]
    loaded: dict[Any, Any]
    #: the values that are, or may be, stored into
    mutable: set[object]
    mutable_constants: set[object]

    def constant_array(self, array: np.ndarray[Any, Any], num: Num) -> Val:
        found = self.constants.get(id(array))
        if found is None:
            argument = self.main.body.blocks[0].add_argument(tensor_type(num.dtype, num.shape), ir.Location.unknown(context()))
            found = self.constants[id(array)] = array, self.given(num, argument, array, ("constant", id(array)) in self.mutable_constants)
        return found[1]

    def given(self, num: Num, value: Any, owner: Any, mutable: bool) -> Val:
        """An array of the caller's: an argument, by its number, or a global."""
        place = Place(Location(num.dtype, num.shape, mutable, True, owner))
        self.pinned.add(place.location)
        if mutable:
            self.memory.bottom[place.location] = T(value, num.dtype, num.shape)
            return self.array_at(place)
        return Val(num, value, roots=frozenset({owned(place.location)}), place=place)

    def array_at(self, place: Place) -> Stored:
        return Stored(Num(ARRAY, place.dtype, place.shape), place, self._read)

    def _read(self, place: Place) -> Any:
        return self.load(place).ir

    def load(self, place: Place) -> T:
        """What is at a place now.  In a loop, small parts are kept in order with the stores around them."""
        t = self.memory.read(place.location)
        if not place.steps:
            return t
        key = t.ir, place.skeleton, tuple(s.ir for s in place.starts)
        here = ir.InsertionPoint.current.block
        block, found = self.loaded.get(key, (None, None))
        if found is None or block != here:
            found = place.load(t)
            if self.depth and found.size * 4 <= t.size:
                found = self.barrier(found)
                self.loads.setdefault(t.ir, []).append(found)
            self.loaded[key] = here, found
        return cast(T, found)

    def fresh(self, t: T, c_order: bool = False) -> Val:
        """An array of its own, out of a call whose results are views for other arguments."""
        return Val(Num(ARRAY, t.dtype, t.shape), t.ir, place=Place(Location(t.dtype, t.shape, c_order=c_order)))

    def write(self, place: Place, new: T) -> None:
        """Store into a place all that it shows."""
        location = place.location
        if not location.mutable:
            raise NotLowerable("a store into an array that was thought to be left alone")
        self.memory.write(location, place.store(self.memory.read(location), new, self.put))

    def viewed(self, a: Val, step: Step) -> Val:
        """A view of an array."""
        if isinstance(a, Stored):
            return self.array_at(a.place.then(step))
        t = step.load(tensor(a))
        return Val(Num(ARRAY, t.dtype, t.shape), t.ir, roots=view_roots([a]), place=None if a.place is None else a.place.then(step))

    def placed(self, op: Op, found: Operand, args: list[Operand]) -> Operand:
        """The result of an op, with the place where it is: one of its own, if it is no view."""
        if isinstance(found, Struct) and found.op is op:
            return Struct(found.callee, tuple(self.placed(op, p, args) for p in found.parts), op)
        if not isinstance(found, Val) or found.num.kind != ARRAY:
            return found
        mutable = op in self.mutable
        if isinstance(found, Stored) or (found.place is not None and not mutable):
            return found
        own = found.place is not None and found.place.own and found.place.location.owner is None
        if any(found is a for a in args) or (not own and (isinstance(op.callee, Function) or is_sharing(op) or _is_of(found, args))):
            if mutable:
                raise NotLowerable("a view (or what may be one) of an array that is stored into")
            near = [a for a in args if isinstance(a, Val) and a.num.kind == ARRAY]
            told = isinstance(op.callee, Function) or any(found is a for a in args) or _is_of(found, args)
            return found if told else Val(found.num, found.ir, roots=view_roots(near) or found.roots)
        t = tensor(found)
        sources = [a.place.location for a in args if isinstance(a, Val) and a.place is not None]
        relies = frozenset(r for loc in sources for r in (loc, *loc.relies) if r.owner is not None)
        place = Place(Location(t.dtype, t.shape, mutable, _in_order(op, args), relies=relies))
        if not mutable:
            return Val(found.num, found.ir, place=place)
        self.memory.content[place.location] = t
        return self.array_at(place)

    def barrier(self, *xs: T) -> T:
        """The first of xs, by a call that XLA does not look through and that waits for all of them.

        In a loop, loads and stores keep their order by it; without it XLA copies whole arrays to be safe.
        """
        return emit.opaque_identity(xs, self.module.body, self.barriers)[0] if self.depth else xs[0]

    def put(self, t: T, update: T, starts: tuple[T, ...]) -> T:
        """The array with the update in it, after what has been read of it here."""
        if update.shape == t.shape:
            return update
        here = ir.InsertionPoint.current.block
        reads = [x for x in self.loads.get(t.ir, ()) if block_of(x.ir) == here]
        result = self.barrier(emit.dynamic_update_slice(t, self.barrier(update, *reads), starts))
        self.stored[result.ir] = t, update, starts
        return result

    def contiguous(self) -> list[int]:
        """The arguments of which it was taken for granted that they are in C order."""
        return sorted({loc.owner for loc in self.pinned if isinstance(loc.owner, int) and loc.asked})


def _is_of(found: Val, args: Sequence[Operand]) -> bool:
    """Does a result say that it may share memory with an argument?"""
    return any(isinstance(r, Owned) for r in found.roots) or any(isinstance(a, Val) and found.roots & a.roots for a in args)


def owned(location: Location) -> Owned:
    """A location of the caller's, as what the host knows of it."""
    return Owned(location.owner) if isinstance(location.owner, int) else Owned(None, id(location.owner))


def _in_order(op: Op, args: Sequence[Operand]) -> bool:
    """Is the array that a call makes certainly in C order?  It is if those are that it is made of."""
    if str(getattr(op.callee, "__module__", "")).startswith(("numpy.linalg", "numpy.fft")) or any(k == "order" for k, _ in op.kwargs):
        return False
    arrays = [a for a in args if is_numpy(a)] + [p for a in args if isinstance(a, Struct) for p in a.parts if is_numpy(p)]
    for a in arrays:
        if isinstance(a, Known) and isinstance(a.value, np.ndarray) and not a.value.flags.c_contiguous:
            return False
        if isinstance(a, Val) and len(a.num.shape) > 1 and (a.place is None or a.place.layout() != c_strides(a.num.shape)):
            return False
    return True
