"""Divergence: which values differ between lanes, and which blocks some lanes reach without the others."""

import operator
from collections.abc import Iterable
from typing import Any, Final

from hovis.errors import TransformError
from hovis.ir.analysis.control_flow import successors
from hovis.ir.model import Block, Branch, Function, Op, Param, Value, edges
from hovis.ir.quoting import place, quote
from hovis.lattice import Array
from hovis.transforms.aliasing import in_place, is_view
from hovis.transforms.rule_tracing import CONTAINERS


def behind(function: Function, spreading: "Spreading") -> set[Block]:
    """Return the blocks that some lanes may reach without the others; their parameters, and the arrays that they store into, are marked as
    differing between lanes.
    """
    found: set[Block] = set()
    while True:
        parting = [b for b in function.blocks if isinstance(b.terminator, Branch) and any_of(spreading.of(b.terminator.cond))]
        todo = [edge.block for block in parting for edge in edges(block.terminator)]
        before = len(found)
        while todo:
            block = todo.pop()
            if block not in found:
                found.add(block)
                todo += successors(block)
        if len(found) == before:
            return found
        spreading.differ(param for block in found for param in block.params)
        spreading.stored(op for block in found for op in block.all_ops() if writes_first_operand(op) or in_place(op))


class Diverging(TransformError):
    """Lanes take different paths, or do something that can be done only for one value at a time."""


#: A value is the same in all lanes (False), differs (True), or is a container of such values.
Which = bool | tuple[Any, ...]

#: Callees that return a part of their first operand, with shared memory.
_VIEWS: Final = frozenset({operator.getitem, getattr})
_STORES: Final = frozenset({operator.setitem})


class Spreading:
    """An analysis of which values differ between lanes."""

    def __init__(self, function: Function, params: Iterable[Param]) -> None:
        self.which: dict[Value, Which] = dict.fromkeys(params, True)
        #: ops that create arrays which are stored into lane by lane
        self.own: set[Value] = set()
        self._blocks = function.blocks
        self._settle()

    def differ(self, values: Iterable[Value]) -> None:
        """Mark these values as differing, and propagate that."""
        for value in values:
            self._set(value, True)
        self._settle()

    def stored(self, stores: Iterable[Op]) -> None:
        """Mark the arrays of these stores as differing, since only some lanes do the stores, and propagate that."""
        changed = [self._owned(op.args[0], op) for op in stores]
        if any(changed):
            self._settle()

    def _settle(self) -> None:
        changed = True
        while changed:
            changed = False
            for block in self._blocks:
                for op in block.all_ops():
                    changed |= self._op(op)
                for edge in edges(block.terminator):
                    for param, arg in zip(edge.block.params, edge.args, strict=True):
                        changed |= self._set(param, any_of(self.of(arg)))

    def of(self, operand: Any) -> Which:
        """Whether operand differs between lanes; for a container, a tuple of answers for its items."""
        return self.which.get(operand, False) if isinstance(operand, Op | Param) else False

    def _set(self, value: Value, which: Which) -> bool:
        old = self.which.get(value, False)
        if which == old or not any_of(which):
            return False
        self.which[value] = which if not old or isinstance(which, tuple) else True
        return True

    def _op(self, op: Op) -> bool:
        flags = [self.of(a) for a in op.operands()]
        if op.callee in CONTAINERS:
            return self._set(op, tuple(flags)) if any(map(any_of, flags)) else False
        changed = self._set(op, any(map(any_of, flags)) or op in self.own)
        if (writes_first_operand(op) or in_place(op)) and any(map(any_of, flags)):
            changed |= self._owned(op.args[0], op)
        return changed

    def _owned(self, array: Any, store: Op) -> bool:
        """Mark array, into which store stores lane by lane, as one array per lane; return whether that is new. Raise Diverging if all lanes
        share it.
        """
        while isinstance(array, Op) and (array.callee in _VIEWS or is_view(array)):
            array = array.args[0]
        if self.which.get(array):
            return False
        if not isinstance(array, Op):
            raise Diverging(told(store, "stores what differs from lane to lane into an array that all lanes share"))
        self.own.add(array)
        return self._set(array, True)


def any_of(which: Which) -> bool:
    """Does anything in it differ between lanes?"""
    return any(map(any_of, which)) if isinstance(which, tuple) else which


def writes_first_operand(op: Op) -> bool:
    """Does op write into its first operand?"""
    if op.callee in _STORES:
        return True
    name = getattr(op.callee, "__name__", "")
    return getattr(operator, name, None) is op.callee and name.startswith("i") and isinstance(op.args[0], Op | Param) and isinstance(op.args[0].type, Array)


def told(op: Op, what: str) -> str:
    """Return a message that says what prevents op, with its source location."""
    name = getattr(op.callee, "__name__", "a call of what is not known")
    lines = [] if op.location is None else [place(op.location), *quote(op.location)]
    return "\n".join([f"{name} {what}", *lines])
