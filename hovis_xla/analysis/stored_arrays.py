"""Alias analysis of arrays: which arrays may be stored into.

Values that may be the same array, views of it, or containers of it form one *class*: they are connected by edges, by views, or by
containers.  If there is a store into one value of a class, all of them are read from memory (module
``memory``); the arrays of all other classes are plain values of XLA.
"""

from collections import defaultdict
from typing import Any, Final

import numpy as np

from hovis.front.kernels.primitives import Kept
from hovis.ir.model import Effect, Function, Op, Operand, Param, callees
from hovis.lattice import Const
from hovis.library.numpy.rules.aliasing import IN_PLACE, holds_nothing, is_array, is_in, is_sharing
from hovis_xla.analysis.loop_forest import body_ops, reachable, successors
from hovis_xla.analysis.primitive_effects import conduct_of, reaches, targets
from hovis_xla.analysis.reachability import reached

_WRITING: Final = Effect.WRITES | Effect.OPAQUE


def stored(op: Op) -> list[Operand]:
    """Return the arrays that a call writes to."""
    if isinstance(op.callee, Function):
        inner = stored_into(op.callee)
        return [a for p, a in zip(op.callee.params, op.args, strict=False) if p in inner]
    if isinstance(op.callee, Kept):
        found = conduct_of(op) if op.effect & _WRITING else None
        return [] if found is None else [op.args[k] for k in sorted(found.written)]
    return targets(op)


def may_share(op: Op) -> bool:
    """May the result be, hold, or be a view of one of the arguments? A primitive that the program calls returns only what it has made; otherwise
    Python does the call.
    """
    if isinstance(op.callee, Kept):
        found = conduct_of(op)
        return found is None or bool(found.given_back)
    return is_sharing(op)


def known_arrays(function: Function) -> list[np.ndarray[Any, Any]]:
    """Return the arrays that a function, or one of its callees, finds in its environment."""
    known = (v.value for one in callees(function) for op in one.ops() for v in op.operands() if isinstance(v, Const))
    return [value for value in known if isinstance(value, np.ndarray)]


def _key(value: object) -> object:
    """Return the key of a value in the alias classes: the value itself, or the identity of a constant array or container."""
    return ("constant", id(value.value)) if isinstance(value, Const) else value


_active: set[int] = set()


def stored_into(function: Function) -> set[object]:
    """Return the values (and ``("constant", id)`` of global arrays) of all alias classes that are stored into."""
    if id(function) in _active:
        return set(function.params)
    _active.add(id(function))
    try:
        return _stored_into(function)
    finally:
        _active.discard(id(function))


def _stored_into(function: Function) -> set[object]:
    near: dict[object, list[object]] = defaultdict(list)
    targets: list[object] = []
    called: set[Function] = set()

    def join(a: object, b: object) -> None:
        if not holds_nothing(b) and isinstance(b, Op | Param | Const):
            near[_key(a)].append(_key(b))
            near[_key(b)].append(_key(a))

    for block in reachable(function):
        for edge in successors(block):
            for param, arg in zip(edge.block.params, edge.args, strict=True):
                join(param, arg)
        for op in body_ops(block):
            if may_share(op):
                # the second operand of an in-place operator does not share memory with the result
                for operand in op.args[:1] if is_in(op.callee, IN_PLACE) and is_array(op.args[0]) else op.operands():
                    join(op, operand)
            targets += map(_key, stored(op))
            if isinstance(op.callee, Function) and op.callee not in called:
                called.add(op.callee)
                targets += [k for k in stored_into(op.callee) if isinstance(k, tuple)]
    if any(reaches(op) for one in callees(function) for op in one.ops()):
        targets += [_key(v) for v in (*function.params, *map(Const, known_arrays(function))) if not holds_nothing(v)]
    return set(reached(targets, near.__getitem__))


#: Calls whose result is a view or a copy, depending on the order of the elements in memory.
_BY_ORDER: Final = frozenset({
    np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel, np.ascontiguousarray, np.asfortranarray, np.require, np.ndarray.view,
})  # fmt: skip
#: Attributes that show this order.
_ORDER: Final = frozenset({"flags", "strides", "ctypes", "data", "__array_interface__"})


#: Calls that may take elements in their order in memory, and the index of the argument ``order``, or None.
_TAKEN_IN_ORDER: Final[dict[Any, int | None]] = {
    np.ravel: 1, np.ndarray.ravel: 1, np.ndarray.flatten: 1, np.reshape: 2, np.ndarray.reshape: None, np.ndarray.tobytes: 1,
}  # fmt: skip


def goes_by_memory(op: Op) -> bool:
    """Does the call take elements in their order in memory (``a.ravel(order="K")``)?"""
    if not is_in(op.callee, _TAKEN_IN_ORDER):
        return op.callee is np.nditer
    place = _TAKEN_IN_ORDER[op.callee]
    given = [value for name, value in op.kwargs if name == "order"] + ([] if place is None else list(op.args[place : place + 1]))
    return any(not isinstance(order, Const) or order.value not in ("C", "F", None) for order in given)


def looks_at_order(function: Function) -> bool:
    """May the behaviour of a Function depend on the order of an array's elements in memory?"""
    ops = list(function.ops())
    if any(op.callee is getattr and isinstance(op.args[1], Const) and op.args[1].value in _ORDER for op in ops if len(op.args) > 1):
        return True
    if any(map(goes_by_memory, ops)):
        return True
    by_order = [op for op in ops if op.callee in _BY_ORDER]
    stored = stored_into(function) if by_order else set()
    return any(value in stored for op in by_order for value in (op, *op.args))
