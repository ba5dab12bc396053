"""Eliminate exception handlers that nothing can observe.

A handler that only raises again what it caught is removed.
``enter_handler`` … ``leave_handler`` state which exception is being handled.  If nothing between them can observe that
(no call that is opaque, raises or does I/O, no other op that raises), both may be removed.  Handlers that share a
``leave_handler`` are kept or removed together.
"""

from hovis.ir.analysis.control_flow import reverse_postorder, successors
from hovis.ir.model import CAUGHT, Block, Branch, Function, Invoke, Jump, Op, Raise
from hovis.ir.operations import enter_handler, leave_handler
from hovis.passes.rewriting import Pass, drop_error_edge, drop_unreached, sees_handled

#: The open handlers, the innermost last; for each nesting depth the set of enter_handler ops that may have opened it.
_Open = tuple[frozenset[Op], ...]


def _handler_elimination(function: Function) -> bool:
    """Eliminate exception handlers that nothing can observe.

    A pair of enter_handler and leave_handler is removed if no op between them can observe which exception is being handled.
    """
    if not any(op.callee is enter_handler for block in function.blocks for op in block.ops):
        return False
    found = _Groups()
    at_entry: dict[Block, _Open] = {function.blocks[0]: ()}
    todo = reverse_postorder(function.blocks[0])[::-1]
    while todo:
        block = todo.pop()
        if block not in at_entry:
            continue
        after = found.walk(block, at_entry[block])
        for to in successors(block):
            before = at_entry.get(to)
            joined = after if before is None else tuple(a | b for a, b in zip(before, after, strict=True))
            if joined != before:
                at_entry[to] = joined
                todo.append(to)
    removable = found.removable()
    for block in function.blocks:
        block.ops = [op for op in block.ops if op not in removable]
    return bool(removable)


handler_elimination = Pass(_handler_elimination)


def _reraise_elimination(function: Function) -> bool:
    """Eliminate handlers that only raise again what they caught.

    An Invoke whose error edge leads to one of these becomes a plain op and a jump.
    """
    idle = {block for block in function.blocks if _only_passes_on(block)}
    changed = False
    for block in function.blocks if idle else ():
        end = block.terminator
        if isinstance(end, Invoke) and end.error.block in idle and end.error.args == (CAUGHT,):
            drop_error_edge(block)
            changed = True
    if changed:
        drop_unreached(function)
    return changed


reraise_elimination = Pass(_reraise_elimination)


def _only_passes_on(block: Block) -> bool:
    end = block.terminator
    return not block.ops and len(block.params) == 1 and isinstance(end, Raise) and end.again and end.value is block.params[0]


class _Groups:
    """Groups of enter_handler ops that share an end (union-find), and the enter_handler ops that something can observe."""

    def __init__(self) -> None:
        self.leader: dict[Op, Op] = {}
        self.ends: dict[Op, Op] = {}
        self.seen: set[Op] = set()

    def walk(self, block: Block, open_: _Open) -> _Open:
        """Record the handlers that block enters and leaves, and return those that are open at its end."""
        for op in block.ops:
            if op.callee is enter_handler:
                self.leader.setdefault(op, op)
                open_ = (*open_, frozenset((op,)))
            elif op.callee is leave_handler:
                self._together(op, open_[-1])
                open_ = open_[:-1]
            elif open_ and sees_handled(op):
                self.seen |= open_[-1]
        if not isinstance(block.terminator, Jump | Branch):
            # an Invoke may raise, and a Return or Raise leaves all open handlers without a leave_handler
            for enters in open_:
                self.seen |= enters
        return open_

    def find(self, op: Op) -> Op:
        while self.leader[op] is not op:
            self.leader[op] = op = self.leader[self.leader[op]]
        return op

    def _together(self, leave: Op, enters: frozenset[Op]) -> None:
        for enter in enters:
            one = self.find(enter)
            self.leader[one] = self.leader[self.ends[leave]] if leave in self.ends else one
            self.ends[leave] = self.find(enter)

    def removable(self) -> set[Op]:
        seen = {self.find(op) for op in self.seen}
        enters = {op for op in self.leader if self.find(op) not in seen}
        return enters | {leave for leave, enter in self.ends.items() if self.find(enter) not in seen}
