"""Slots of blocks during the lowering of control flow: comparing slots, joining their types and describing them."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hovis.lattice.constants import is_immutable, same_constant
from hovis.lattice.inspection import is_a
from hovis_xla.emit import builder
from hovis_xla.emit.builder import T
from hovis_xla.emit.memory_ssa import same_memory
from hovis_xla.emit.values import (
    ARRAY,
    BOOL,
    EITHER,
    PYTHON,
    PYTHON_OF,
    SCALAR,
    UNDEF,
    Known,
    NotLowerable,
    Num,
    OneOf,
    Slot,
    Stored,
    Struct,
    Val,
    num_of_value,
)
from hovis_xla.jaxlib.adapter import ir

#: The type of a boolean that has a slot of its own.
TAG: Final = Num(ARRAY, BOOL)


def tensor(value: Val) -> T:
    return T(value.ir, value.num.dtype, value.num.shape)


def num_of(slot: Slot) -> Num | None:
    """Return the Num of a slot, or None if an XLA value cannot represent it."""
    if isinstance(slot, Val):
        return slot.num
    return num_of_value(slot.value) if isinstance(slot, Known) and not is_a(slot.value, np.ndarray) else None


def same_slot(a: Slot, b: Slot) -> bool:
    """Whether both slots are known, without a test at run time, to denote the same object."""
    if a is b:
        return True
    if isinstance(a, Stored) or isinstance(b, Stored):
        return isinstance(a, Stored) and isinstance(b, Stored) and same_memory(a.place, b.place)
    if isinstance(a, Val) and isinstance(b, Val):
        equal = bool(a.ir == b.ir) and a.num == b.num and (a.num.kind != EITHER or bool(a.tag == b.tag))
        # a copy has the same elements, but is another array
        return equal and (a.num.kind != ARRAY or (a.roots == b.roots and a.place == b.place))
    if isinstance(a, Known) and isinstance(b, Known):
        return same_constant(a.value, b.value)
    if isinstance(a, OneOf) and isinstance(b, OneOf):
        return bool(a.which == b.which) and len(a.members) == len(b.members) and all(map(same_slot, a.members, b.members))
    return isinstance(a, Struct) and isinstance(b, Struct) and a.op is b.op and a.op is not None


def unify(slots: Sequence[Slot], what: str) -> Num:
    """Return the Num of a slot that receives one of these slots. Raise NotLowerable if one is no number or their Nums cannot be joined; ``what``
    names the slot in the message.
    """
    found: Num | None = None
    for slot in slots:
        if slot is UNDEF:
            continue
        num = num_of(slot)
        if num is None:
            raise NotLowerable(f"{what} is not a number here but {describe(slot)}")
        joined = num if found is None else join_nums(found, num)
        if joined is None:
            raise NotLowerable(f"{what} is {found} on one path and {num} on another")
        found = joined
    assert found is not None
    return found


def join_nums(a: Num, b: Num) -> Num | None:
    """Return the join of two Nums: their common Num, or EITHER for a Python number and a NumPy scalar of one dtype; None if they have no join."""
    if a == b:
        return a
    same = a.dtype == b.dtype and ARRAY not in (a.kind, b.kind) and a.dtype in PYTHON_OF
    return Num(EITHER, a.dtype) if same else None


def describe(slot: Slot) -> str:
    """Describe an operand or a slot in words for an error message."""
    if isinstance(slot, Val):
        return str(slot.num)
    if isinstance(slot, Known):
        text = repr(slot.value) if is_immutable(slot.value) else ""
        return text if 0 < len(text) <= 40 else f"a {type(slot.value).__name__}"
    if isinstance(slot, OneOf):
        return " or ".join(map(describe, slot.members))
    return "a container" if isinstance(slot, Struct) else "a method"


def as_val(slot: Slot, num: Num) -> Val:
    """Return the XLA value of a slot, as ``num``; zeros where the slot is undefined."""
    if num.kind == EITHER and not (isinstance(slot, Val) and slot.num.kind == EITHER):
        kind = num_of(slot)
        plain = as_val(slot, kind or Num(PYTHON, num.dtype))
        return Val(num, plain.ir, builder.constant(kind is not None and kind.kind == SCALAR).ir)
    if isinstance(slot, Val):
        return slot
    if slot is UNDEF:
        return Val(num, builder.zeros(num.dtype, num.shape).ir)
    if not isinstance(slot, Known):
        raise NotLowerable(f"a number or an array is expected here, not {describe(slot)}")
    try:
        return Val(num, builder.constant(slot.value, num.dtype).ir)
    except OverflowError:
        raise NotLowerable("an integer of more than 64 bits") from None


def block_of(value: Any) -> Any:
    """Return the MLIR block in which a value is defined."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def is_within(block: Any, outer: Any) -> bool:
    """Is ``block`` equal to ``outer``, or nested in a region of an operation of ``outer``?"""
    while block != outer:
        operation = block.owner.operation
        if isinstance(operation.parent, ir.Module) or operation.parent is None or operation.name == "func.func":
            return False
        block = operation.block
    return True


class Pending:
    """A slot whose value will be a result of an ``if`` that has not been built yet."""

    __slots__ = ("value",)
    value: Slot


def resolved(slot: Slot | Pending) -> Slot:
    """Return a slot whose ``if`` has been built."""
    return slot.value if isinstance(slot, Pending) else slot
