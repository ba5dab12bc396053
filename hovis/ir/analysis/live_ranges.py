"""Live ranges of values in a Function and in the Functions that it calls: the values live at each block, and the last uses by each op."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hovis.ir.analysis.control_flow import liveness, predecessors, terminator_operands
from hovis.ir.model import Block, Function, Invoke, Op, Param, Value, callees, edges
from hovis.ir.operations import slot_of
from hovis.lattice import AbstractValue, Array, Bottom, Const, Type, Union

#: Flags of classes that Python code defines, and of classes whose instances may refer to other objects (Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_HAVE_GC).
_HOLDING = 1 << 9 | 1 << 14
#: Modules whose classes have correct flags: instances of a class without these flags hold no other objects (numbers, text, and array scalars).
_HONEST = frozenset({"builtins", "numpy"})
#: Classes whose instances hold no other objects, but have an identity that a program can observe.
_OBJECTS = frozenset({object, range, bytearray, type(iter(range(0))), type(iter(range(1 << 99)))})


def may_end_visibly(type: AbstractValue) -> bool:
    """May a value of this type, or an object that only it holds, have a finalizer?"""
    if isinstance(type, Union):
        return any(map(may_end_visibly, type.members))
    if isinstance(type, Array):
        return bool(getattr(type.dtype, "hasobject", True))
    slot = slot_of(type)
    if slot is not None:
        return may_end_visibly(slot.type)
    if isinstance(type, Type):
        cls = type.cls
        return bool(cls.__flags__ & _HOLDING or cls.__weakrefoffset__) or cls.__module__ not in _HONEST
    return not isinstance(type, Bottom | Const)


def is_object(type: AbstractValue) -> bool:
    """Can a program observe the identity of a value of this type, or the end of its lifetime?"""
    return may_end_visibly(type) or (isinstance(type, Type) and type.cls in _OBJECTS)


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """Liveness facts of a Function and of the Functions that it calls.

    needed   for each block: its live-in values, which it or a later block still uses
    last     for each block and each of its ops: the values whose last use is the op
    joins    for each block: do several edges lead to it?
    """

    needed: dict[Block, tuple[Value, ...]]
    last: dict[Block, tuple[tuple[Value, ...], ...]]
    joins: dict[Block, bool]


def lives(function: Function) -> Lives:
    """Compute the liveness facts of function, and of all residual functions that it reaches."""
    needed: dict[Block, tuple[Value, ...]] = {}
    last: dict[Block, tuple[tuple[Value, ...], ...]] = {}
    joins: dict[Block, bool] = {}
    for one in callees(function):
        joins.update((block, len(found) > 1) for block, found in predecessors(one).items())
        needs = liveness(one)
        number = {value: k for k, value in enumerate(value for block in one.blocks for value in (*block.params, *block.all_ops()))}
        for block in one.blocks:
            needed[block] = tuple(sorted(needs[block], key=number.__getitem__))
            last[block] = tuple(last_uses(block, needs))
    return Lives(needed, last, joins)


def last_uses(block: Block, needs: Mapping[Block, set[Value]]) -> list[tuple[Value, ...]]:
    """Return for each op of block the values that are dead after it: those that it uses last, and its result if that is unused."""
    later: set[Any] = set(terminator_operands(block.terminator))
    if isinstance(block.terminator, Invoke):
        later |= set(block.terminator.op.operands())
    for edge in edges(block.terminator):
        later |= set(edge.args) | needs[edge.block]
    found: list[tuple[Value, ...]] = []
    for op in reversed(block.ops):
        dying: list[Value] = []
        for value in (op, *op.operands()):
            if isinstance(value, Param | Op) and value not in later:
                later.add(value)
                dying.append(value)
        found.append(tuple(dying))
    return found[::-1]
