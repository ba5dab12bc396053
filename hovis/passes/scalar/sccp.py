"""What is constant on the ways that can be gone (sparse conditional constant propagation).

A value is taken for a constant, and an edge for never gone, until the code says otherwise.  So a loop that keeps a
constant because a branch on that very constant is never taken is seen through, where a look at one op after the other
sees two values meet.  Wegman and Zadeck: Constant Propagation with Conditional Branches (1991).
"""

from typing import Final

from hovis.ir.analysis.control_flow import operands
from hovis.ir.model import Block, Branch, Caught, Edge, Effect, Function, Jump, Op, Operand, Param, Value, edges
from hovis.lattice import Const
from hovis.passes.rewriting import Pass, drop_unreached, substitute
from hovis.passes.scalar.instcombine import computed

#: Not the same on every way, or not known.
_VARIES: Final = object()


def _sccp(function: Function) -> bool:
    """Propagate constants along the branches that can be taken (sparse conditional constant propagation).

    Values that are the same constant whichever way is gone are constants; ways that are never gone are not there.
    """
    if not any(isinstance(block.terminator, Branch) for block in function.blocks):
        return False
    known = _Propagation(function).run()
    new: dict[Value, Operand] = {value: found for value, found in known.items() if isinstance(found, Const)}
    if not new:
        return False
    for block in function.blocks:
        branch = block.terminator
        if isinstance(branch, Branch) and isinstance(found := known.get(branch.cond), Const):  # type: ignore[arg-type]
            block.terminator = Jump(branch.true if found.value else branch.false, branch.location)
    drop_unreached(function)
    for block in function.blocks:
        block.ops = [op for op in block.ops if op not in new]
    substitute(function, new)
    return True


sccp = Pass(_sccp)


class _Propagation:
    """Walks the blocks that can be reached until nothing more is learned.

    What is not in ``known`` has no value yet; it gets a constant at most once, and varies at most once.
    """

    def __init__(self, function: Function) -> None:
        self.known: dict[Value, object] = dict.fromkeys(function.params, _VARIES)
        self.users: dict[Value, list[Block]] = {}
        for block in function.blocks:
            for operand in operands(block):
                if isinstance(operand, Param | Op):
                    self.users.setdefault(operand, []).append(block)
        self.reached = {function.blocks[0]}
        self.todo = [function.blocks[0]]

    def run(self) -> dict[Value, object]:
        while self.todo:
            block = self.todo.pop()
            for op in block.ops:
                self.learn(op, self.result(op))
            if not isinstance(block.terminator, Jump | Branch):
                for op in block.all_ops():
                    self.learn(op, _VARIES)
            for edge in self.gone(block):
                self.go(edge)
        return self.known

    def of(self, operand: Operand) -> object:
        """A Const, _VARIES, or None: no way has come to where it is made."""
        if isinstance(operand, Param | Op):
            return self.known.get(operand)
        return operand if isinstance(operand, Const) else _VARIES

    def result(self, op: Op) -> object:
        if op.effect != Effect.PURE or op.kwargs or not op.args:
            return _VARIES
        args = tuple(map(self.of, op.args))
        if _VARIES in args:
            return _VARIES
        return None if None in args else computed(op.callee, args) or _VARIES  # type: ignore[arg-type]

    def gone(self, block: Block) -> "list[Edge]":
        """The edges out of block that can be gone, as far as is known."""
        branch = block.terminator
        if isinstance(branch, Branch):
            cond = self.of(branch.cond)
            if cond is None:
                return []
            if isinstance(cond, Const):
                return [branch.true if cond.value else branch.false]
        return list(edges(branch))

    def go(self, edge: Edge) -> None:
        if edge.block not in self.reached:
            self.reached.add(edge.block)
            self.todo.append(edge.block)
        for param, arg in zip(edge.block.params, edge.args, strict=True):
            self.learn(param, _VARIES if isinstance(arg, Caught) else self.of(arg))

    def learn(self, value: Value, found: object) -> None:
        """Value may be found as well; who uses it is looked at again when that is news."""
        if found is None or (before := self.known.get(value)) is _VARIES:
            return
        if before is None or before != found:
            self.known[value] = found if before is None else _VARIES
            self.todo += [block for block in self.users.get(value, ()) if block in self.reached and block not in self.todo]
