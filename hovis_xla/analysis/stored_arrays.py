"""Which arrays may be stored into.

Whatever may be one array, or views of one, or hold it, is one *class* of values: what edges connect, what a view is made
of, what is put into a container.  Where something is stored into one of them, all of them are read from memory (module
``memory``); the arrays of all other classes are plain values of XLA.
"""

from typing import Any, Final

import numpy as np

from hovis.front.kernels.primitives import Kept
from hovis.ir.model import Effect, Function, Op, Operand, Param, callees
from hovis.lattice import Const
from hovis.library.numpy.rules.aliasing import IN_PLACE, holds_nothing, is_array, is_in, is_sharing
from hovis_xla.analysis.loop_forest import body_ops, reachable, successors
from hovis_xla.analysis.primitive_effects import conduct_of, reaches, targets

_WRITING: Final = Effect.WRITES | Effect.OPAQUE


def stored(op: Op) -> list[Operand]:
    """The arrays that a call writes to."""
    if isinstance(op.callee, Function):
        inner = stored_into(op.callee)
        return [a for p, a in zip(op.callee.params, op.args, strict=False) if p in inner]
    if isinstance(op.callee, Kept):
        found = conduct_of(op) if op.effect & _WRITING else None
        return [] if found is None else [op.args[k] for k in sorted(found.written)]
    return targets(op)


def may_share(op: Op) -> bool:
    """May the result be, hold, or be a view of one of the arguments?  A primitive that the program calls gives what it has made, or the call is Python's."""
    if isinstance(op.callee, Kept):
        found = conduct_of(op)
        return found is None or bool(found.given_back)
    return is_sharing(op)


def known_arrays(function: Function) -> list[np.ndarray[Any, Any]]:
    """The arrays that a function, or one that it calls, finds in its environment."""
    known = (v.value for one in callees(function) for op in one.ops() for v in op.operands() if isinstance(v, Const))
    return [value for value in known if isinstance(value, np.ndarray)]


class _Classes:
    """Union and find."""

    def __init__(self) -> None:
        self.parent: dict[object, object] = {}

    def root(self, v: object) -> object:
        parent = self.parent
        while v in parent:
            above = parent[v]
            if above in parent:
                parent[v] = above = parent[above]  # half as long the next time
            v = above
        return v

    def join(self, a: object, b: object) -> None:
        a, b = self.root(a), self.root(b)
        if a is not b:
            self.parent[b] = a


def _key(value: object) -> object:
    """What stands for a value: itself, or the constant array or container that it is."""
    return ("constant", id(value.value)) if isinstance(value, Const) else value


_active: set[int] = set()


def stored_into(function: Function) -> set[object]:
    """The values (and ``("constant", id)`` of global arrays) of all classes that are stored into."""
    if id(function) in _active:
        return set(function.params)
    _active.add(id(function))
    try:
        return _stored_into(function)
    finally:
        _active.discard(id(function))


def _stored_into(function: Function) -> set[object]:
    order = reachable(function)
    classes = _Classes()
    targets: list[object] = []
    called: set[Function] = set()
    keys: set[object] = set(function.params)

    def join(a: object, b: object) -> None:
        if not holds_nothing(b) and isinstance(b, Op | Param | Const):
            keys.update((_key(a), _key(b)))
            classes.join(_key(a), _key(b))

    for block in order:
        for edge in successors(block):
            for param, arg in zip(edge.block.params, edge.args, strict=True):
                join(param, arg)
        for op in body_ops(block):
            keys.add(op)
            if may_share(op):
                # what an operator adds to an array is still an array of its own
                for operand in op.args[:1] if is_in(op.callee, IN_PLACE) and is_array(op.args[0]) else op.operands():
                    join(op, operand)
            targets += map(_key, stored(op))
            if isinstance(op.callee, Function) and op.callee not in called:
                called.add(op.callee)
                targets += [k for k in stored_into(op.callee) if isinstance(k, tuple)]
    if any(reaches(op) for one in callees(function) for op in one.ops()):
        targets += [_key(v) for v in (*function.params, *map(Const, known_arrays(function))) if not holds_nothing(v)]
    wanted = {classes.root(t) for t in targets}
    return {k for k in keys | set(targets) if classes.root(k) in wanted} if wanted else set()


#: What is a view of an array or a copy, as its elements are in memory.
_BY_ORDER: Final = frozenset({
    np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel, np.ascontiguousarray, np.asfortranarray, np.require, np.ndarray.view,
})  # fmt: skip
#: What shows it.
_ORDER: Final = frozenset({"flags", "strides", "ctypes", "data", "__array_interface__"})


#: Whose elements come in an order that may be that in memory, and which argument says so.
_TAKEN_IN_ORDER: Final[dict[Any, int | None]] = {
    np.ravel: 1, np.ndarray.ravel: 1, np.ndarray.flatten: 1, np.reshape: 2, np.ndarray.reshape: None, np.ndarray.tobytes: 1,
}  # fmt: skip


def goes_by_memory(op: Op) -> bool:
    """Does a call take elements as they are in memory (``a.ravel(order="K")``)?"""
    if not is_in(op.callee, _TAKEN_IN_ORDER):
        return op.callee is np.nditer
    place = _TAKEN_IN_ORDER[op.callee]
    given = [value for name, value in op.kwargs if name == "order"] + ([] if place is None else list(op.args[place : place + 1]))
    return any(not isinstance(order, Const) or order.value not in ("C", "F", None) for order in given)


def looks_at_order(function: Function) -> bool:
    """May what a Function does depend on the order in which the elements of an array are in memory?"""
    ops = list(function.ops())
    if any(op.callee is getattr and isinstance(op.args[1], Const) and op.args[1].value in _ORDER for op in ops if len(op.args) > 1):
        return True
    if any(map(goes_by_memory, ops)):
        return True
    by_order = [op for op in ops if op.callee in _BY_ORDER]
    stored = stored_into(function) if by_order else set()
    return any(value in stored for op in by_order for value in (op, *op.args))
