"""How a result is put together: which leaves are one object, and where each comes from."""

from typing import Any

from hovis_xla.abi.signature import Template
from hovis_xla.emit.block_slots import TAG, as_val, num_of
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location, Place
from hovis_xla.emit.values import ARRAY, EITHER, INT32, INT64, Known, NotLowerable, Num, OneOf, Operand, Ragged, Slot, Stored, Struct, Val
from hovis_xla.lowering.carried_kinds import WHICH, picked
from hovis_xla.prepare.pad_function import clipped


def owner_key(value: Val) -> object:
    """Whose array a leaf is, where it is the caller's, and which part of it."""
    owner = value.place.location.owner if value.num.kind == ARRAY and value.place is not None else None
    return None if owner is None else (owner if isinstance(owner, int) else ("constant", id(owner)), value.place.skeleton)


def same_object(a: Val, b: Val) -> bool:
    """Are two leaves one object in the original?"""
    if a.num != b.num or a.num.kind == EITHER:
        return False
    if a.num.kind != ARRAY:
        return bool(a.ir == b.ir)
    if a.place is None or b.place is None or a.place.location is not b.place.location:
        return False
    # the steps of a view are made once for each object
    return (a.place.own and b.place.own) or (bool(a.place.steps) and a.place.steps is b.place.steps)


def rebuild(tree: Any, slots: list[Operand], built: dict[int, Operand]) -> Operand:
    """The operand that an inlined call gives."""
    if tree[0] == "leaf":
        leaf: int = tree[1]
        return slots[leaf]
    if tree[0] == "either":
        value, tag = (as_val(slots[tree[1] + k], num) for k, num in enumerate((num_of(slots[tree[1]]), TAG)) if num is not None)
        return Val(Num(EITHER, value.num.dtype), value.ir, tag.ir)
    if tree[0] == "known":
        return Known(tree[1].value)
    if tree[0] == "oneof":
        return OneOf(as_val(slots[tree[1]], WHICH).ir, tuple(rebuild(t, slots, built) for t in tree[2]))
    number: int = tree[3]
    if number not in built and tree[1].value is clipped:
        whole, *sizes = (rebuild(p, slots, built) for p in tree[2])
        assert isinstance(whole, Val)
        counts = tuple(T(n.ir, INT64, ()) if isinstance(n, Val) else None for n in sizes)
        built[number] = Ragged(whole.num, whole, counts)
    if number not in built:
        built[number] = Struct(tree[1].value, tuple(rebuild(p, slots, built) for p in tree[2]), object())
    return built[number]


def settled(slot: Slot) -> Slot:
    """A leaf for which several returns bring several arrays: the one that it is."""
    if not isinstance(slot, OneOf):
        return slot
    if any(isinstance(m, Val) and m.place is not None and m.place.location.owner is not None for m in slot.members):
        raise NotLowerable("the result is one of several arrays of the caller's")
    return picked(T(slot.which, INT32, ()), dict(enumerate(slot.members)))


def sources_of(slots: list[Slot], template: Template) -> tuple[tuple[Any, ...], list[tuple[Num, Any]]]:
    """Where each leaf of a result comes from, and the outputs that are needed for it.

    ("out", output), or ("view", owner or output of the array, place, outputs of its starts).
    """
    outputs: list[tuple[Num, Any]] = []
    bases: dict[Location, Any] = {}
    places = [s.place if isinstance(s, Val) and s.num.kind == ARRAY and s.place is not None else None for s in slots]
    used = [p.location for p in places if p is not None]

    def out(num: Num, value: Any) -> int:
        outputs.append((num, value))
        return len(outputs) - 1

    def base(location: Location) -> Any:
        whole = next((s for s in slots if isinstance(s, Val) and s.place is not None and s.place.location is location and s.place.own), None)
        if whole is None:
            part = next((s for s in slots if isinstance(s, Stored) and s.place.location is location), None)
            if part is not None:  # nobody has the array itself, but what is in it
                return "out", out(Num(ARRAY, location.dtype, location.shape), part.read(Place(location)))
            raise NotLowerable("several views of one array are returned, and not that array", template.location)
        return "out", out(whole.num, whole.ir)

    sources: list[Any] = []
    for slot, num, place in zip(slots, template.nums, places, strict=True):
        if place is None or (place.location.owner is None and used.count(place.location) == 1):
            sources.append(("out", out(num, as_val(slot, num).ir)))
            continue
        location = place.location
        if location not in bases:
            bases[location] = base(location) if location.owner is None else ("caller", location.owner)
        sources.append(("view", bases[location], place, [out(Num(ARRAY, INT64), s.ir) for s in place.starts]))
    return tuple(sources), outputs
