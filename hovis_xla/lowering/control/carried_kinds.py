"""The kind of a slot, and how a slot that is one of several kinds passes through ``if`` and ``while``.

    Num       a number or an array: one XLA value, and for EITHER a boolean that says which
    Const     a known object: no XLA value at all
    Parts     a container: the values of its parts
    Seat      an array that may be stored into, or a view of it: the starts of the view
    Sum       one of several: the number of the actual one, then the values of each (zeros for the others)

:func:`join` gives the kind of a value that is of one kind or another.  :func:`split` gives the numbers that a slot consists of,
:func:`rebuild` makes a slot from them again; both in the same order, that of :func:`nums_of`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from hovis.ir import operations
from hovis.lattice import Const
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder
from hovis_xla.emit.block_slots import TAG, as_val, block_of, describe, is_within, join_nums, same_slot, tensor, unify
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location
from hovis_xla.emit.values import (
    ARRAY,
    BOOL,
    EITHER,
    INT32,
    INT64,
    PYTHON,
    SCALAR,
    UNDEF,
    Known,
    NotLowerable,
    Num,
    OneOf,
    Ragged,
    ShapeUnknown,
    Slot,
    Stored,
    Struct,
    Val,
    num_of_value,
)
from hovis_xla.jaxlib.adapter import ir

#: Maximum number of kinds of one value.
MOST: Final = 12

#: The number in a slot that selects one of several kinds.
WHICH: Final = Num(ARRAY, INT32)

#: A number in a slot that is a start of a view.
START: Final = Num(ARRAY, INT64)

#: Builders of containers whose identity is never observed.
_PLAIN: Final = frozenset({operations.make_tuple, slice})


@dataclass(frozen=True, slots=True)
class Parts:
    """A container and the kinds of its parts; ``identity``: which object it is, if that can be observed."""

    callee: Any
    parts: "tuple[Kind, ...]"
    identity: object = None


@dataclass(frozen=True, slots=True)
class Seat:
    """A view of an array in memory: its location and skeleton. ``view``: the identity of the view object, if it is known for certain."""

    location: Location
    skeleton: Any
    view: int | None
    sample: Stored = field(compare=False)


@dataclass(frozen=True, slots=True)
class Sum:
    """One of several kinds."""

    members: "tuple[Kind, ...]"


Kind = Num | Const | Parts | Seat | Sum


def kind_of(slot: Slot, what: str) -> Kind:
    """Return the kind of a slot; NotLowerable if the slot can't pass through control flow."""
    if isinstance(slot, Stored):
        return Seat(slot.place.location, slot.place.skeleton, id(slot.place.steps), slot)
    if isinstance(slot, Val):
        return slot.num
    if isinstance(slot, Known):
        num = None if is_a(slot.value, np.ndarray) else num_of_value(slot.value)
        return num or Const(slot.value)
    if isinstance(slot, Struct):
        is_plain = slot.callee in _PLAIN or hasattr(slot.callee, "named")
        return Parts(slot.callee, tuple(kind_of(p, what) for p in slot.parts), None if is_plain else slot.op or slot)
    if isinstance(slot, OneOf):
        return Sum(tuple(kind_of(m, what) for m in slot.members))
    if isinstance(slot, Ragged):
        raise ShapeUnknown(f"{what} is a part of an array, and the size of the part is known only at run time")
    raise NotLowerable(f"{what} is not a number here but {describe(slot)}")


def members_of(kind: Kind) -> tuple[Kind, ...]:
    if isinstance(kind, Sum):
        return kind.members
    if isinstance(kind, Num) and kind.kind == EITHER:
        return Num(PYTHON, kind.dtype), Num(SCALAR, kind.dtype)
    return (kind,)


def _fit(a: Kind, b: Kind) -> bool:
    """Do the two kinds share one member of a Sum?"""
    if isinstance(a, Parts) and isinstance(b, Parts):
        return a.callee is b.callee and len(a.parts) == len(b.parts) and a.identity is b.identity
    if isinstance(a, Seat) and isinstance(b, Seat):
        return a.location is b.location and a.skeleton == b.skeleton
    return a == b


def join(a: Kind, b: Kind, what: str) -> Kind:
    """Return the join of two kinds; it equals ``a`` if ``b`` adds nothing."""
    if a == b:
        return a
    if isinstance(a, Num) and isinstance(b, Num):
        both = join_nums(a, b)
        if both is not None:
            return both
    if isinstance(a, Parts) and isinstance(b, Parts) and _fit(a, b):
        return Parts(a.callee, tuple(join(x, y, what) for x, y in zip(a.parts, b.parts, strict=True)), a.identity)
    if isinstance(a, Seat) and _fit(a, b):
        return a if a.view is None else replace(a, view=None)
    members = list(members_of(a))
    for other in members_of(b):
        at = next((k for k, m in enumerate(members) if _fit(m, other)), None)
        if at is None:
            members.append(other)
        else:
            members[at] = join(members[at], other, what)
    if len(members) > MOST:
        raise NotLowerable(f"{what} has values of more than {MOST} kinds")
    return Sum(tuple(members))


def lasting(kind: Kind) -> bool:
    """Is the kind free of containers with an identity, which would be new objects in each iteration?"""
    if isinstance(kind, Parts):
        return kind.identity is None and all(map(lasting, kind.parts))
    return not isinstance(kind, Sum) or all(map(lasting, kind.members))


def nums_of(kind: Kind) -> list[Num]:
    """Return the Num of each number that a slot of this kind consists of."""
    if isinstance(kind, Num):
        return [Num(SCALAR, kind.dtype), TAG] if kind.kind == EITHER else [kind]
    if isinstance(kind, Const):
        return []
    if isinstance(kind, Seat):
        return [START for _ in kind.sample.place.starts]
    if isinstance(kind, Parts):
        return [n for p in kind.parts for n in nums_of(p)]
    return [WHICH, *(n for m in kind.members for n in nums_of(m))]


def split(slot: Slot, kind: Kind) -> list[Slot]:
    """Return the numbers that a slot consists of, UNDEF where it has none."""
    if isinstance(kind, Num) and kind.kind != EITHER:
        return [slot]
    if slot is UNDEF:
        return [UNDEF for _ in nums_of(kind)]
    if isinstance(kind, Num):
        value = as_val(slot, kind)
        return [Val(Num(SCALAR, kind.dtype), value.ir), Val(TAG, value.tag)]
    if isinstance(kind, Parts):
        assert isinstance(slot, Struct)
        return [s for part, k in zip(slot.parts, kind.parts, strict=True) for s in split(part, k)]
    if isinstance(kind, Seat):
        assert isinstance(slot, Stored)
        return [Val(START, t.ir) for t in slot.place.starts]
    return [] if isinstance(kind, Const) else _split_sum(slot, kind)


def _split_sum(slot: Slot, kind: Sum) -> list[Slot]:
    given: tuple[Slot, ...] = (slot,)
    which: T | None = None
    if isinstance(slot, OneOf):
        given, which = slot.members, T(slot.which, INT32, ())
    elif isinstance(slot, Val) and slot.num.kind == EITHER:
        given = Val(Num(PYTHON, slot.num.dtype), slot.ir), Val(Num(SCALAR, slot.num.dtype), slot.ir)
        which = builder.convert(T(slot.tag, BOOL, ()), INT32)
    kinds = [kind_of(s, "") for s in given]
    places = [next(k for k, m in enumerate(kind.members) if _fit(m, found) or join(m, found, "") == m) for found in kinds]
    number = builder.constant(places[0], INT32)
    if which is not None and places == list(range(len(places))):
        number = which
    elif which is not None:
        for k, place in enumerate(places[1:], 1):
            number = builder.select(builder.compare("EQ", which, builder.constant(k, INT32)), builder.constant(place, INT32), number)
    rows = [{n: split(s, m) for n, s in enumerate(given) if places[n] == k} or {0: split(UNDEF, m)} for k, m in enumerate(kind.members)]
    return [Val(WHICH, number.ir), *(picked(which, dict(zip(row, column, strict=True))) for row in rows for column in zip(*row.values(), strict=True))]


def picked(which: T | None, slots: dict[int, Slot]) -> Slot:
    """Select among slots of one kind the one that ``which`` says; the result may share memory with whatever any of them shares memory with."""
    (_, found), *others = slots.items()
    for k, slot in others:
        if same_slot(found, slot):
            continue
        num = unify([found, slot], "one of several values")
        assert which is not None
        is_other = builder.compare("EQ", which, builder.constant(k, INT32))
        a, b = as_val(found, num), as_val(slot, num)
        found = Val(num, builder.select(is_other, tensor(b), tensor(a)).ir, roots=a.roots | b.roots)
    return found


def rebuild(kind: Kind, slots: Iterator[Slot]) -> Slot:
    """Rebuild a slot of this kind from its numbers, the inverse of :func:`split`."""
    if isinstance(kind, Num) and kind.kind == EITHER:
        value, tag = next(slots), next(slots)
        return Val(kind, value.ir, tag.ir) if isinstance(value, Val) and isinstance(tag, Val) else UNDEF
    if isinstance(kind, Num):
        return next(slots)
    if isinstance(kind, Const):
        return Known(kind.value)
    if isinstance(kind, Seat):
        sample = kind.sample
        starts = [next(slots) for _ in sample.place.starts]
        if any(s is UNDEF for s in starts):
            return UNDEF
        here = ir.InsertionPoint.current.block
        if kind.view is None or not all(is_within(here, block_of(t.ir)) for t in sample.place.starts):
            sample = Stored(sample.num, sample.place.with_starts([T(s.ir, INT64, ()) for s in starts if isinstance(s, Val)]), sample.read)
        return sample
    if isinstance(kind, Parts):
        return Struct(kind.callee, tuple(rebuild(p, slots) for p in kind.parts), kind.identity or object())  # type: ignore[misc]
    which = next(slots)
    if which is UNDEF:
        return UNDEF
    assert isinstance(which, Val)
    return OneOf(which.ir, tuple(rebuild(m, slots) for m in kind.members))  # type: ignore[misc]
