"""Tapes: the values that the iterations of a loop save for its reverse sweep are one array, with a slot per iteration.

If the ranges of integers bound the trip count before the loop begins, they give the number of slots.  Otherwise there are as many as fit
into some memory, and after a loop with more iterations, a program with longer tapes repeats the call (``capacity_retry``).
"""

import functools
import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hovis import lattice
from hovis.ir import operations
from hovis.ir.model import Function, Op, Param, callees, edges
from hovis.ir.operations import Slot
from hovis.lattice import AbstractValue, Const, Type, Union
from hovis.lattice.inspection import is_a
from hovis.library.numpy.adjoints.cotangents import alike, apart, scatter, updated, zero_tape
from hovis.library.numpy.adjoints.tangents import added, afresh
from hovis.passes.rewriting import ByIdentity
from hovis_xla.abi.signature import Tape
from hovis_xla.emit import builder, slicing
from hovis_xla.emit.block_slots import tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location
from hovis_xla.emit.values import ARRAY, BOOL, EITHER, INT64, SCALAR, Known, Num, Operand, Struct, Val, either_of, num_of_type
from hovis_xla.ops import standin
from hovis_xla.ops.indexing import stores, storing_functions
from hovis_xla.ops.models import calculus
from hovis_xla.ops.scalar.python_numbers import L, Row

#: The tapes of unknown length have this many bytes together, or each at least this many slots: not more, as they are allocated in
#: each call.  No tape whose length is known has more than MOST bytes.
BYTES: Final = 1 << 18
SLOTS: Final = 256
MOST: Final = 1 << 30


@dataclass(eq=False, slots=True)
class Reel:
    """A tape that may turn out to be too short: its number, the location that counts the slots needed, its number of slots, and the bytes of a
    slot.
    """

    number: int
    location: Location
    slots: int
    bytes: int = 0

    def tape(self, output: int) -> Tape:
        """Return the description of the tape for the host."""
        return Tape(self.number, self.slots, self.bytes, output)


def reels(function: Function, slots: Mapping[int, int]) -> dict[Op, Reel]:
    """Return a reel for each tape that is made; slots gives lengths by number."""
    tapes = [op for one in callees(function) for op in one.ops() if op.callee is operations.make_tape]
    return {op: reel_of(number, slots) for number, op in enumerate(tapes)}


def reel_of(number: int, slots: Mapping[int, int]) -> Reel:
    """Make the reel of the tape, or of the list, with this number."""
    location = Location(INT64, ())
    location.owner = made = Reel(number, location, slots.get(number, 0))
    return made


def _num(slot: Slot) -> Num | None:
    return _num_of(slot.type, None if slot.shape is None else tuple(Const(size) for size in slot.shape))


def _num_of(kind: AbstractValue, dims: Any) -> Num | None:
    """Return the `Num` of a type, without complex in a union: a power of a negative float is complex, but compiled code has bailed out there."""
    if isinstance(kind, Union) and Type(complex) in kind.members:
        kind = functools.reduce(lattice.join, (member for member in kind.members if member != Type(complex)))
    return num_of_type(kind, dims) or either_of(kind)


_ON_TAPES: Final = ByIdentity((operations.put, operations.revise, operations.filled))


def _family(low: L, made: Op) -> Iterator[Op]:
    """Yield the ops that put a value onto the tape made by ``made``, or give its number of filled slots."""
    known: set[Any] = {made}
    todo: list[Any] = [made]
    leads: dict[Any, list[Any]] = {}
    for block in low.scope.order:
        for op in block.all_ops():
            if op.callee in _ON_TAPES:
                leads.setdefault(op.args[0], []).append(op)
        for edge in edges(block.terminator):
            for param, arg in zip(edge.block.params, edge.args, strict=True):
                if isinstance(arg, Op | Param):
                    leads.setdefault(arg, []).append(param)
    while todo:
        for other in leads.get(todo.pop(), ()):
            if other not in known:
                known.add(other)
                todo.append(other)
                if isinstance(other, Op) and other.callee is not operations.revise:
                    yield other


def _capacity(low: L, num: Num) -> int:
    """Return the number of slots of the tape that the current op makes."""
    assert low.op is not None
    size = max(1, int(np.prod(num.shape)) * num.dtype.itemsize)
    family = list(_family(low, low.op))
    last = max([_last_slot(low, op) for op in family if op.callee is operations.put], default=-1)
    if (last + 1) * size <= MOST:
        low.taped |= dict.fromkeys(family)
        return int(last) + 1
    reel = low.reels.get(low.op)
    slots = max(SLOTS, BYTES // (size * max(1, len(low.reels))))
    if reel is None or not any(op.callee is operations.filled for op in family):
        return slots
    reel.slots, reel.bytes = max(slots, reel.slots), size
    low.taped |= dict.fromkeys(family, reel)
    return int(reel.slots)


def _last_slot(low: L, op: Op) -> float:
    """Return the last slot that op may put a value into, or infinity if it is not known."""
    slot = op.args[1]
    if isinstance(slot, Const):
        return int(slot.value)  # type: ignore[call-overload, no-any-return]
    found: Any = low.scope.ranges.at(slot, low.scope.ranges.home[op])
    return math.inf if found is None else found[1]


def _make_tape(low: L, slot: Operand) -> Operand | None:
    """Make a tape: one array; for numbers that are either Python's or NumPy's two arrays, of which the second says which."""
    num = _num(slot.value) if isinstance(slot, Known) else None
    if num is None:
        return None
    count = max(1, _capacity(low, num))
    found = _blank(num.dtype, (count, *num.shape))
    return found if num.kind != EITHER else Struct(operations.make_tuple, (found, _blank(BOOL, (count,))), object())


def _blank(dtype: Any, shape: tuple[int, ...]) -> Val:
    return Val(Num(ARRAY, np.dtype(dtype), shape), builder.zeros(dtype, shape).ir)


def _arrays(tape: Operand) -> list[Val]:
    """Return the arrays that a tape consists of."""
    parts = tape.parts if isinstance(tape, Struct) else (tape,)
    return [part for part in parts if isinstance(part, Val)]


def _starts(low: L, tape: Val, slot: Operand) -> list[T]:
    """Return the start indices of a slot. A slot past the end is clamped to the last one; ``filled`` finds out that there was no room."""
    at = builder.convert(tensor(low.val(slot)), INT64)
    return [at, *(builder.constant(0, INT64) for _ in tape.num.shape[1:])]


def _filled(low: L, tape: Operand, slots: Operand) -> Operand | None:
    """Bail out if there was no room for all slots, and record for the host how many are needed (``capacity_retry``)."""
    arrays = _arrays(tape)
    if not arrays:
        return None
    reel = low.taped.get(low.op)
    if reel is not None:
        count, before = builder.convert(tensor(low.val(slots)), INT64), low.memory.read(reel.location)
        low.bail_if(builder.compare("GT", count, builder.like(reel.slots, count)))
        low.memory.content[reel.location] = builder.select(builder.compare("GT", count, before), count, before)
    return stores.NOTHING


def _put(low: L, tape: Operand, slot: Operand, value: Operand) -> Operand | None:
    """Put a value into a slot of a tape; None for an array that is stored into later, whose memory is no value."""
    assert low.op is not None
    arrays = _arrays(tape)
    if not arrays or low.op.args[2] in low.scope.mutable:
        return None
    found = low.val(value)
    if found.num.shape != arrays[0].num.shape[1:] or found.num.dtype != arrays[0].num.dtype or (found.num.kind == EITHER and len(arrays) == 1):
        return None
    given = [tensor(found)]
    if len(arrays) == 2:
        given.append(T(found.tag, BOOL, ()) if found.num.kind == EITHER else builder.constant(found.num.kind == SCALAR, BOOL))
    starts = _starts(low, arrays[0], slot)
    if low.op.callee is operations.put and low.op not in low.taped:
        low.bail_if(builder.compare("GE", starts[0], builder.like(arrays[0].num.shape[0], starts[0])))
    after = [_with(array, x, starts[: len(array.num.shape)]) for array, x in zip(arrays, given, strict=True)]
    return after[0] if len(after) == 1 else Struct(operations.make_tuple, tuple(after), object())


def _with(array: Val, x: T, starts: list[T]) -> Val:
    part = builder.reshape(builder.convert(x, array.num.dtype), (1, *array.num.shape[1:]))
    return Val(array.num, slicing.dynamic_update_slice(tensor(array), part, starts).ir)


def _get(low: L, tape: Operand, slot: Operand) -> Operand | None:
    assert low.op is not None
    num = _num_of(low.op.type, low.op.dims)
    arrays = _arrays(tape)
    if not arrays or num is None or num.shape != arrays[0].num.shape[1:] or (num.kind == EITHER) != (len(arrays) == 2):
        return None
    starts = _starts(low, arrays[0], slot)
    parts = [builder.reshape(slicing.dynamic_slice(tensor(one), starts[: len(one.num.shape)], (1, *one.num.shape[1:])), one.num.shape[1:]) for one in arrays]
    return Val(num, parts[0].ir, *(part.ir for part in parts[1:]))


def _missing(low: L, slot: Operand) -> Operand | None:
    num = _num(slot.value) if isinstance(slot, Known) else None
    if num is None:
        return None
    value = builder.zeros(num.dtype, num.shape).ir
    return Val(num, value, builder.constant(False, BOOL).ir) if num.kind == EITHER else Val(num, value)


def _zero_tape(low: L, tape: Operand, slot: Operand) -> Operand | None:
    """Make a tape of the same length and kinds, filled with zeros."""
    arrays = _arrays(tape)
    if not arrays:
        return None
    zeros = _blank(arrays[0].num.dtype, arrays[0].num.shape)
    return zeros if len(arrays) == 1 else Struct(operations.make_tuple, (zeros, arrays[1]), object())


def _afresh(low: L, x: Operand, after: Operand) -> Operand | None:
    """Return x behind a barrier that waits for ``after``: a value computed from it is not shared with one computed before."""
    if not isinstance(x, Val) or x.num.kind == EITHER:
        return x
    waits = [tensor(after)] if isinstance(after, Val) else []
    made = low.barrier(tensor(x), *waits)
    return Val(x.num, made.ir, roots=x.roots)


def _alike(low: L, g: Operand, x: Operand) -> Operand | None:
    """Convert a cotangent to the kind and dtype of x, and for an array also to its shape; None if this is not supported."""
    if not isinstance(x, Val) or x.num.kind == EITHER:
        return None
    if isinstance(g, Known) and g.value is None:
        return Val(x.num, builder.zeros(x.num.dtype, x.num.shape).ir)
    if x.num.kind == ARRAY:
        return _FITTED(low, g, x)
    found = low.val(g)
    if found.num.shape or (found.num.dtype.kind == "c" and x.num.dtype.kind != "c"):
        return None
    return Val(x.num, builder.convert(tensor(found), x.num.dtype).ir)


def _apart(low: L, a: Operand, b: Operand) -> Operand | None:
    """Check that a and b do not share memory. Arguments that are two objects are taken to be two memories; the host reports where they are one."""
    if not isinstance(a, Val) or not isinstance(b, Val) or a.roots & b.roots:
        return None
    return stores.NOTHING


def _added(low: L, a: Operand, b: Operand) -> Operand | None:
    """Add two cotangents, either of which may be None."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Known) and one.value is None:
            return other
    if all(isinstance(x, Val) or (isinstance(x, Known) and is_a(x.value, float | complex)) for x in (a, b)):
        found: Operand = low.call(operator.add, [a, b], {})
        return found
    return None


_FITTED: Final = standin.row_of(calculus.fitted_to)

ROWS: Final[dict[Any, Row]] = {
    operations.make_tape: _make_tape, operations.put: _put, operations.revise: _put, operations.get: _get,
    operations.filled: _filled, operations.missing: _missing, zero_tape: _zero_tape, apart: _apart, afresh: _afresh, added: _added, alike: _alike,
    updated: stores.updated, scatter: lambda low, a, indices, b: storing_functions.ROWS[np.ufunc.at](low, Known(np.add), a, indices, b),
}  # fmt: skip
