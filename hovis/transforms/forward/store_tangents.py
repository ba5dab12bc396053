"""Stores in forward mode: find the values that may share the memory stored into, whose tangents are stored into as well.

For an array these are its group (:mod:`hovis.transforms.aliasing`).  For a list, a dict or another object they are the operand of the
store, and the values from which it was passed there; an object that was taken out of a container, and is then stored into, is not supported.
"""

import operator
from collections.abc import Callable

from hovis.errors import DerivativeError
from hovis.ir import operations as ops
from hovis.ir.analysis.control_flow import uses
from hovis.ir.model import Function, Op, Operand, Param, Value, edges
from hovis.lattice import Array
from hovis.transforms.aliasing import Groups, is_view, may_copy
from hovis.transforms.source_places import told

#: Callees that write to their first operand: the same is done to the tangents.
STORES = frozenset(
    {
        operator.setitem, list.append, list.insert, list.extend, list.__setitem__, dict.__setitem__, dict.update, setattr, ops.list_extend, ops.dict_update,
        ops.cell_set, operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow, operator.iconcat,
    }
)  # fmt: skip

#: Callees that return their first operand, after storing into it.
_GIVE_BACK = frozenset({operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow, operator.iconcat})
#: Callees that return a part of their first operand.
_TAKE_OUT = frozenset({operator.getitem, getattr, ops.cell_get, list.__getitem__, dict.__getitem__, dict.get})


class Stored:
    """The values of one function that are stored into.

    values   all of them
    laid_out those whose tangents need the same memory layout, because ops on them return a view or a copy depending on it
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.groups = Groups(function)
        self.bound = {value: group for group in self.groups.members(function) for value in group}
        self.laid_out = {v for op in function.ops() if may_copy(op) for v in self.bound.get(op, ())}
        self._passed: dict[Param, list[Operand]] = {}
        for block in function.blocks:
            for edge in edges(block.terminator):
                for param, arg in zip(edge.block.params, edge.args, strict=False):
                    self._passed.setdefault(param, []).append(arg)
        self.values = set(self.bound)
        for op in function.ops():
            if op.callee in STORES and op.args and not isinstance(getattr(op.args[0], "type", None), Array):
                self.values |= self._shown(op.args[0])

    def by(self, op: Op) -> set[Value]:
        """Return the values that the store op changes; op stores a value that changes. Raise DerivativeError if the store can't be followed."""
        target = op.args[0]
        if isinstance(target, Op | Param) and target in self.bound:
            found = self.bound[target]
            if any(self._is_taken_out(value) for value in found):
                raise DerivativeError(f"an array in a container is stored into: {told(op)}")
            if any(value in self.laid_out for value in found) and any(param in found for param in self.function.params):
                raise DerivativeError(f"an array is stored into, and parts of it may be views or copies: {told(op)}")
            return found
        found = self._shown(target)
        if any(self._is_taken_out(value) for value in found):
            raise DerivativeError(f"an object in a container is stored into: {told(op)}")
        return found

    @staticmethod
    def _is_taken_out(value: Value) -> bool:
        return isinstance(value, Op) and value.callee in _TAKE_OUT and not is_view(value)

    def _shown(self, target: Operand) -> set[Value]:
        """Collect the values from which a container may have come."""
        found: set[Value] = set()
        todo = [target]
        while todo:
            value = todo.pop()
            if not isinstance(value, Op | Param) or value in found:
                continue
            found.add(value)
            if isinstance(value, Param):
                todo += self._passed.get(value, ())
            elif value.callee in _GIVE_BACK:
                todo.append(value.args[0])
        return found


def grown(function: Function, is_read: Callable[[Op], bool]) -> set[Value]:
    """Collect the lists that are made in function and may change later: they have other uses than reads and drops."""
    made = [op for op in function.ops() if op.callee is ops.make_list]
    if not made:
        return set()
    read: dict[Value, int] = {}
    for op in function.ops():
        if is_read(op):
            for value in op.operands():
                if isinstance(value, Op):
                    read[value] = read.get(value, 0) + 1
    count = uses(function)
    return {op for op in made if count.get(op, 0) > read.get(op, 0)}
