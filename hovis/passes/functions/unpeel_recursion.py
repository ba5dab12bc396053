"""A function that is the same as the one that calls it first is no other.

What recurses is often traced twice: once as it stands inlined at the beginning, and once as the residual function that it
calls.  Where these are the same op by op, with the parameters in whatever order, the first one calls itself.
The places in the user's source have to be the same, too, so that tracebacks are.
"""

from collections.abc import Sequence
from typing import Any

from hovis.ir.model import Block, Branch, Caught, Edge, Function, Invoke, Op, Operand, Param, Raise, Return, edges
from hovis.lattice import Const
from hovis.passes.rewriting import Pass


def _unpeel_recursion(function: Function) -> bool:
    """Undo the peeling of a first recursive call.

    Calls of a function that is the same as this one are calls of this one.
    """
    for callee in dict.fromkeys(op.callee for op in function.ops() if isinstance(op.callee, Function)):
        if callee is function or callee.is_generator != function.is_generator or callee.type != function.type:
            continue
        places = _Pairs(function, callee).places()
        if places is not None:
            for op in (op for op in function.ops() if op.callee is callee):
                op.callee, op.args = function, tuple(Const(None) if k is None else op.args[k] for k in places)
            return True
    return False


unpeel_recursion = Pass(_unpeel_recursion, whole=True)


class _Pairs:
    """What in one function stands for what in another."""

    def __init__(self, one: Function, other: Function) -> None:
        self.one, self.other = one, other
        self.values: dict[Any, Operand] = {}
        self.blocks: dict[Block, Block] = {}
        self.todo: list[tuple[Block, Block]] = []

    def places(self) -> list[int | None] | None:
        """For each parameter of one the place of its counterpart, None if it has none; None if they are not the same."""
        if len(self.one.blocks) != len(self.other.blocks):
            return None
        self._meet(self.one.blocks[0], self.other.blocks[0])
        while self.todo:
            if not self._blocks(*self.todo.pop()):
                return None
        stands = {self.values[param]: k for k, param in enumerate(self.other.params) if param in self.values}
        if len(stands) != sum(param in self.values for param in self.other.params):
            return None
        return [stands.get(param) for param in self.one.params]

    def _meet(self, a: Block, b: Block) -> bool:
        if b not in self.blocks:
            self.blocks[b] = a
            self.todo.append((a, b))
        return self.blocks[b] is a

    def _blocks(self, a: Block, b: Block) -> bool:
        if b is not self.other.blocks[0]:
            if len(a.params) != len(b.params) or not all(map(self._results, a.params, b.params)):
                return False
        if len(a.ops) != len(b.ops) or not all(map(self._ops, a.ops, b.ops)):
            return False
        return self._ends(a.terminator, b.terminator)

    def _results(self, a: Param | Op, b: Param | Op) -> bool:
        self.values[b] = a
        return a.type == b.type and a.dims is None and b.dims is None

    def _ops(self, a: Op, b: Op) -> bool:
        if a.effect != b.effect or a.location != b.location or [name for name, _ in a.kwargs] != [name for name, _ in b.kwargs]:
            return False
        # the one calls the other where that calls itself (or calls itself already)
        same = a.callee in (self.one, self.other) if b.callee is self.other else a.callee is b.callee
        if isinstance(b.callee, Param | Op):
            same = self._operands((a.callee,), (b.callee,))  # type: ignore[arg-type]
        if a.callee is self.one and b.callee is self.other:
            return False
        return same and self._operands(_all(a), _all(b)) and self._results(a, b)

    def _operands(self, a: Sequence[Operand], b: Sequence[Operand]) -> bool:
        return len(a) == len(b) and all(map(self._operand, a, b))

    def _operand(self, a: Operand, b: Operand) -> bool:
        if isinstance(b, Const | Caught):
            return (a == b if isinstance(a, Const) else False) if isinstance(b, Const) else isinstance(a, Caught)
        if b not in self.values:
            if b not in self.other.params or not isinstance(a, Param) or a not in self.one.params:
                return False
            if not self._results(a, b):
                return False
        return self.values[b] is a

    def _ends(self, a: Any, b: Any) -> bool:
        if type(a) is not type(b):
            return False
        match b:
            case Branch():
                same = self._operand(a.cond, b.cond)
            case Return() | Raise():
                same = self._operand(a.value, b.value) and getattr(a, "again", None) == getattr(b, "again", None)
            case Invoke():
                same = self._ops(a.op, b.op)
            case _:
                same = True
        if not isinstance(b, Invoke) and a.location != b.location:
            same = False
        return same and all(self._edges(x, y) for x, y in zip(edges(a), edges(b), strict=True))

    def _edges(self, a: Edge, b: Edge) -> bool:
        """An edge to the entry would carry its parameters in another order."""
        return b.block is not self.other.blocks[0] and self._operands(a.args, b.args) and self._meet(a.block, b.block)


def _all(op: Op) -> list[Operand]:
    return [*op.args, *(value for _, value in op.kwargs)]
