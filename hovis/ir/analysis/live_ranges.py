"""How long values live: what is needed behind each block and after each op of a Function and of those that it calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hovis.ir.analysis.control_flow import liveness, predecessors, terminator_operands
from hovis.ir.model import Block, Function, Invoke, Op, Param, Value, callees, edges
from hovis.ir.operations import slot_of
from hovis.lattice import AbstractValue, Array, Bottom, Const, Type, Union

#: Flags of classes that Python code has made, and of those whose instances hold others (Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_HAVE_GC).
_HOLDING = 1 << 9 | 1 << 14
#: Whose classes hold nothing if they say so: numbers, text, and scalars of arrays.
_HONEST = frozenset({"builtins", "numpy"})
#: Classes whose instances hold nothing, and are objects for all that, and no values: they can be told from others.
_OBJECTS = frozenset({object, range, bytearray, type(iter(range(0))), type(iter(range(1 << 99)))})


def may_end_visibly(type: AbstractValue) -> bool:
    """May a value of this type, or something that only it holds, have a finalizer?"""
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
    """May it show which object a value of this type is, or that it has ended?"""
    return may_end_visibly(type) or (isinstance(type, Type) and type.cls in _OBJECTS)


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """
    needed   for each block: the values from outside that it, or what comes behind it, still needs
    last     for each block and each of its ops: the values that the op uses last
    joins    for each block: do several edges lead to it?
    """

    needed: dict[Block, tuple[Value, ...]]
    last: dict[Block, tuple[tuple[Value, ...], ...]]
    joins: dict[Block, bool]


def lives(function: Function) -> Lives:
    """What is to be known of function, and of all residual functions that it reaches, before they run."""
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
    """What dies with each op of block."""
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
