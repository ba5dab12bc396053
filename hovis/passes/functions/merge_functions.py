"""Residual functions that are the same but for their names are one.

The same ops on the same constants, from the same lines of the user's source: nobody could tell which was called.
"""

from collections.abc import Hashable
from typing import Any

from hovis.ir.model import Block, Branch, Edge, Function, Invoke, Jump, Op, Operand, Param, Raise, Return, Terminator, callees
from hovis.lattice import Const
from hovis.passes.rewriting import Pass


def _merge_functions(function: Function) -> bool:
    """Merge residual functions that are equal.

    Calls of functions that are the same become calls of one of them.
    """
    found = callees(function)
    if len(found) < 3:
        return False
    changed = False
    while True:
        first: dict[Hashable, Function] = {}
        instead: dict[int, Function] = {}
        for one in callees(function)[1:]:
            kept = first.setdefault(_Key(one).key(), one)
            if kept is not one:
                instead[id(one)] = kept
        if not instead:
            return changed
        changed = True
        for one in callees(function):
            for op in one.ops():
                if isinstance(op.callee, Function) and id(op.callee) in instead:
                    op.callee = instead[id(op.callee)]


merge_functions = Pass(_merge_functions, whole=True)


class _Key:
    """What a function is, without names."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.blocks = {id(block): k for k, block in enumerate(function.blocks)}
        self.values: dict[int, int] = {}
        for block in function.blocks:
            for value in (*block.params, *block.all_ops()):
                self.values[id(value)] = len(self.values)

    def key(self) -> Hashable:
        function = self.function
        return function.name, function.is_generator, function.type, tuple(map(self._block, function.blocks))

    def _block(self, block: Block) -> Hashable:
        params = tuple((p.type, p.name, self._dims(p)) for p in block.params)
        return params, tuple(map(self._op, block.ops)), self._end(block.terminator)

    def _op(self, op: Op) -> Hashable:
        kwargs = tuple((name, self._operand(v)) for name, v in op.kwargs)
        return self._callee(op.callee), tuple(map(self._operand, op.args)), kwargs, op.type, int(op.effect), op.location, self._dims(op)

    def _callee(self, callee: object) -> Hashable:
        if callee is self.function:
            return "itself"
        return ("value", self.values.get(id(callee))) if isinstance(callee, Param | Op) else ("known", id(callee))

    def _dims(self, value: Param | Op) -> Hashable:
        return None if value.dims is None else tuple(map(self._operand, value.dims))

    def _operand(self, operand: Operand) -> Hashable:
        if isinstance(operand, Const):
            return operand
        return self.values.get(id(operand), -1)

    def _edge(self, edge: Edge) -> Hashable:
        return self.blocks[id(edge.block)], tuple(map(self._operand, edge.args))

    def _end(self, end: Terminator) -> Hashable:
        told: Any = type(end).__name__
        match end:
            case Jump():
                return told, self._edge(end.edge)
            case Branch():
                return told, self._operand(end.cond), self._edge(end.true), self._edge(end.false)
            case Invoke():
                return told, self._op(end.op), self._edge(end.ok), self._edge(end.error)
            case Return():
                return told, self._operand(end.value)
            case Raise():
                return told, self._operand(end.value), end.again, end.location
