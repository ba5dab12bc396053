"""Results of a function: templates by which the host builds them from leaves, the identity of leaves, and the source of each leaf."""

from collections.abc import Callable
from typing import Any

from hovis.ir.model import Block, Return
from hovis.ir.model import Location as Site
from hovis.lattice import Const
from hovis.lattice.inspection import is_a
from hovis_xla.abi.ordered_effects import safely
from hovis_xla.abi.signature import Template
from hovis_xla.analysis.growable_lists import AsTuple, Listing
from hovis_xla.emit.block_slots import TAG, as_val, num_of, tensor
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location, Place, is_contiguous
from hovis_xla.emit.values import (
    ARRAY,
    EITHER,
    INT,
    INT32,
    INT64,
    SCALAR,
    Handle,
    Known,
    NotLowerable,
    Num,
    OneOf,
    Operand,
    Owned,
    Ragged,
    Raised,
    ShapeUnknown,
    Slot,
    Stored,
    Struct,
    Val,
    holds_handle,
    num_of_value,
    view_roots,
)
from hovis_xla.lowering.control.carried_kinds import WHICH, picked
from hovis_xla.lowering.op_lowering import BUILDERS, Calls
from hovis_xla.ops.memory import list_memory
from hovis_xla.ops.ragged import extents
from hovis_xla.prepare.pad_function import clipped


class Results(Calls):
    """The part of a lowering that emits the exits of a function: one for each way in which a result is put together."""

    def leave(self, terminator: Return) -> tuple[Block, list[Slot]]:
        """Return the exit that a return goes to, with the leaves; there is one exit for each way in which the result is put together."""
        leaves: list[Val] = []
        self.cuts = {}
        tree = self._tree(self.operand(terminator.value), leaves, {}, terminator.location)
        template = Template(tree, tuple(leaf.num for leaf in leaves), terminator.location)
        key = tree, template.nums, tuple(owner_key(leaf) for leaf in leaves)
        block = self.scope.exits.get(key)
        if block is None:
            block = self.scope.exits[key] = Block()
            self.scope.templates[block] = template
        return block, list(leaves)

    def _tree(self, operand: Operand, leaves: list[Val], built: dict[object, int], location: Site | None) -> Any:
        if isinstance(operand, Val) and operand.num.kind == EITHER:
            leaves += [Val(Num(SCALAR, operand.num.dtype), operand.ir), Val(TAG, operand.tag)]
            return "either", len(leaves) - 2
        if isinstance(operand, OneOf):
            leaves.append(Val(WHICH, operand.which))
            return "oneof", len(leaves) - 1, tuple(self._tree(m, leaves, built, location) for m in operand.members)
        if isinstance(operand, Val):
            return self._leaf(operand, leaves, location)
        if isinstance(operand, Struct):
            if isinstance(operand.callee, Listing):
                list_memory.enough(self, operand)
            if operand.callee not in BUILDERS and holds_handle(operand):
                raise NotLowerable("a string made from an argument that the function changes", location)
            number = built.setdefault(operand.op or operand, len(built))
            parts = tuple(self._tree(p, leaves, built, location) for p in operand.parts)
            return "build", Const(self._builder(operand.callee, location)), parts, number
        if isinstance(operand, Known) and is_a(operand.value, Handle):
            return "argument", operand.value.argument
        if isinstance(operand, Known) and not is_a(operand.value, Raised):
            num = num_of_value(operand.value)
            if num is not None and num.kind != ARRAY:
                leaves.append(as_val(operand, num))
                return "leaf", len(leaves) - 1
            return "known", Const(operand.value)
        if isinstance(operand, Ragged):
            return self._cut(operand, leaves, built, location)
        raise NotLowerable("a method of an array, or an exception, is returned", location)

    def _cut(self, array: Ragged, leaves: list[Val], built: dict[object, int], location: Site | None) -> Any:
        """Describe a result that is an array of unknown size: the host cuts it to its size."""
        if not array.own and len(self.active) > 1:
            raise ShapeUnknown("the function returns a part of an array, and the size of the part is known only at run time", location)
        if array not in self.cuts:
            t, counts = extents.packed(tensor(array.read()), array.counts)
            whole = Val(array.full, t.ir, roots=array.base.roots if array.own else view_roots([array.base]))
            sizes = [Known(None) if c is None else Val(INT, c.ir) for c in counts]
            self.cuts[array] = Struct(clipped, (whole, *sizes), array)
        return self._tree(self.cuts[array], leaves, built, location)

    def _builder(self, callee: Callable[..., Any], location: Site | None) -> Callable[..., Any]:
        """Return the callable that builds a part of the result on the host."""
        if callee in BUILDERS or isinstance(callee, Listing | AsTuple) or (isinstance(callee, type) and callee is not str):
            return callee
        self.texts = True
        if not self.worked and self.token is None:
            raise NotLowerable("the function does nothing but make strings", location)
        return safely(callee)

    def _leaf(self, value: Val, leaves: list[Val], location: Site | None) -> Any:
        """Add a number or an array to the leaves of the result; leaves that are one object in the original stay one."""
        for k, leaf in enumerate(leaves):
            if leaf is value or same_object(leaf, value):
                return "leaf", k
        if self.ordered and len(self.active) == 1 and not _in_order(value):
            raise NotLowerable("the elements of an array of the result may not be in C order, and the function inspects their order", location)
        leaves.append(value)
        return "leaf", len(leaves) - 1

    def owners(self, slots: list[Slot], location: Site | None) -> tuple[tuple[Any, ...], ...]:
        """Return, for each leaf, the arguments (by number) and constants with which it may be identical. Raises NotLowerable for a result that may
        be a view of another array.

        Whether a leaf *is* an argument (as ``x`` may be after a loop that may run no iteration), the host finds out: if its bits
        are those of the argument, Python does the call.
        """
        found: list[tuple[Any, ...]] = []
        # views without a place may be views of arrays that have one
        seen: set[object] = {r for s in slots if isinstance(s, Val) and s.num.kind == ARRAY and s.place is not None for r in s.roots}
        for slot in slots:
            roots = slot.roots if isinstance(slot, Val) and slot.num.kind == ARRAY and slot.place is None else frozenset[object]()
            owners = frozenset(r for r in roots if isinstance(r, Owned))
            fresh = roots - owners
            if fresh & seen or any(r.view for r in owners):
                raise NotLowerable("an array of the result may share memory with an argument, a constant or another result", location)
            seen |= fresh
            found.append(tuple(self.constants[r.constant][0] if r.constant is not None else r.argument for r in owners))
        return tuple(found)


def _in_order(value: Val) -> bool:
    """Are the elements of the array certainly in C order in memory, as XLA gives them?"""
    return len(value.num.shape) < 2 or (value.place is not None and bool(is_contiguous(value.place)))


def owner_key(value: Val) -> object:
    """Return which array of the caller a leaf belongs to and which part of it, or None if it belongs to none."""
    owner = value.place.location.owner if value.num.kind == ARRAY and value.place is not None else None
    return None if owner is None else (owner if isinstance(owner, int) else ("constant", id(owner)), value.place.skeleton)


def same_object(a: Val, b: Val) -> bool:
    """Are two leaves one object in the original program?"""
    if a.num != b.num or a.num.kind == EITHER:
        return False
    if a.num.kind != ARRAY:
        return bool(a.ir == b.ir)
    if a.place is None or b.place is None or a.place.location is not b.place.location:
        return False
    # each view object has steps of its own
    return (a.place.own and b.place.own) or (bool(a.place.steps) and a.place.steps is b.place.steps)


def rebuild(tree: Any, slots: list[Operand], built: dict[int, Operand]) -> Operand:
    """Rebuild the result of an inlined call as an operand, from its tree and the leaves in ``slots``."""
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
    """Return a leaf as one value: if several returns give different arrays for it, select among them."""
    if not isinstance(slot, OneOf):
        return slot
    if any(isinstance(m, Val) and m.place is not None and m.place.location.owner is not None for m in slot.members):
        raise NotLowerable("the result is one of several arrays that belong to the caller")
    return picked(T(slot.which, INT32, ()), dict(enumerate(slot.members)))


def sources_of(slots: list[Slot], template: Template) -> tuple[tuple[Any, ...], list[tuple[Num, Any]]]:
    """Return the source of each leaf of a result, and the outputs that the sources need.

    A source is ("out", output), or ("view", owner or output of the array, place, outputs of its starts).
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
            if part is not None:  # the array itself is no leaf, but a view of it can read its content
                return "out", out(Num(ARRAY, location.dtype, location.shape), part.read(Place(location)))
            raise NotLowerable("several views of one array are returned, but not that array itself", template.location)
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
