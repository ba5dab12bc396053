"""Undo the peeling of a first recursive call.

A recursive function is often traced twice: once inlined at the beginning, and once as the residual function that is called
there.  If these two are equal op by op, with their parameters in any order, the first one calls itself instead.
Their locations in the user's source have to be equal, too, to keep tracebacks the same.
"""

from hovis.ir.matching import Match, own_operands
from hovis.ir.model import Block, Function, Invoke, Op, Terminator, Value, edges
from hovis.lattice import Const
from hovis.passes.rewriting import Pass


def _unpeel_recursion(function: Function) -> bool:
    """Undo the peeling of a first recursive call.

    Calls of a residual function that is equal to this one become calls of this one.
    """
    for callee in dict.fromkeys(op.callee for op in function.ops() if isinstance(op.callee, Function)):
        if callee is function or callee.is_generator != function.is_generator or callee.type != function.type:
            continue
        places = _Functions(function, callee).places()
        if places is not None:
            for op in (op for op in function.ops() if op.callee is callee):
                op.callee, op.args = function, tuple(Const(None) if k is None else op.args[k] for k in places)
            return True
    return False


unpeel_recursion = Pass(_unpeel_recursion, whole=True)


class _Functions(Match):
    """Matches two functions block by block: the parameters of other correspond to those of one in any order."""

    def __init__(self, one: Function, other: Function) -> None:
        super().__init__(frozenset(other.params))
        self.one, self.other = one, other
        self.blocks: dict[Block, Block] = {other.blocks[0]: one.blocks[0]}
        self.todo = [(one.blocks[0], other.blocks[0])]

    def places(self) -> list[int | None] | None:
        """Return for each parameter of one the position of its counterpart in other, or None if it has none; return None if the functions are
        not the same.
        """
        if len(self.one.blocks) != len(self.other.blocks) or not self.walk():
            return None
        stands = {self.bound[param]: k for k, param in enumerate(self.other.params) if param in self.bound}
        if len(stands) != sum(param in self.bound for param in self.other.params):
            return None
        if not all(one in self.one.params and self.agrees(one, self.other.params[k]) for one, k in stands.items()):  # type: ignore[arg-type]
            return None
        return [stands.get(param) for param in self.one.params]

    def walk(self) -> bool:
        """Do the blocks of one do the same as those of other, from the entries on?"""
        while self.todo:
            a, b = self.todo.pop()
            if b is not self.other.blocks[0]:
                if len(a.params) != len(b.params) or not all(map(self.agrees, a.params, b.params)):
                    return False
                self.bound.update(zip(b.params, a.params, strict=True))
            if len(a.ops) != len(b.ops) or not all(map(self.op, a.ops, b.ops)) or not self.end(a.terminator, b.terminator):
                return False
        return True

    def agrees(self, a: Value, b: Value) -> bool:
        """Do a and b have the same type, no dims, and, if both are ops, the same location?"""
        placed = not isinstance(a, Op) or not isinstance(b, Op) or a.location == b.location
        return a.type == b.type and a.dims is None and b.dims is None and placed

    def end(self, a: Terminator, b: Terminator) -> bool:
        """Do two blocks with these terminators continue alike, and from the same location?"""
        alike = [(type(end), getattr(end, "again", None), getattr(end, "location", None)) for end in (a, b)]
        if alike[0] != alike[1] or not self.operands(own_operands(a), own_operands(b)):
            return False
        if isinstance(a, Invoke) and isinstance(b, Invoke) and not self.op(a.op, b.op):
            return False
        return all(self.operands(x.args, y.args) and self.meet(x.block, y.block) for x, y in zip(edges(a), edges(b), strict=True))

    def meet(self, a: Block, b: Block) -> bool:
        """Is block a the counterpart of block b? A block b that has none yet gets a. The entry has none here: an edge to it would carry its
        parameters in another order.
        """
        if b is self.other.blocks[0]:
            return False
        if b not in self.blocks:
            self.blocks[b] = a
            self.todo.append((a, b))
        return self.blocks[b] is a
