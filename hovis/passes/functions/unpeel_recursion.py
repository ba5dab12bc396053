"""A function that is the same as the one that calls it first is no other.

What recurses is often traced twice: once as it stands inlined at the beginning, and once as the residual function that it
calls.  Where these are the same op by op, with the parameters in whatever order, the first one calls itself.
The places in the user's source have to be the same, too, so that tracebacks are.
"""

from hovis.ir.matching import Match
from hovis.ir.model import Block, Function, Op, Terminator, Value
from hovis.lattice import Const
from hovis.passes.rewriting import Pass


def _unpeel_recursion(function: Function) -> bool:
    """Undo the peeling of a first recursive call.

    Calls of a function that is the same as this one are calls of this one.
    """
    for callee in dict.fromkeys(op.callee for op in function.ops() if isinstance(op.callee, Function)):
        if callee is function or callee.is_generator != function.is_generator or callee.type != function.type:
            continue
        places = _Twins(function, callee).places()
        if places is not None:
            for op in (op for op in function.ops() if op.callee is callee):
                op.callee, op.args = function, tuple(Const(None) if k is None else op.args[k] for k in places)
            return True
    return False


unpeel_recursion = Pass(_unpeel_recursion, whole=True)


class _Twins(Match):
    """Two functions: the parameters of the other stand for those of the one in whatever order."""

    def __init__(self, one: Function, other: Function) -> None:
        super().__init__(frozenset(other.params))
        self.one, self.other = one, other

    def places(self) -> list[int | None] | None:
        """For each parameter of one the place of its counterpart, None if it has none; None if they are not the same."""
        if len(self.one.blocks) != len(self.other.blocks) or not self.walk(self.one.blocks[0], self.other.blocks[0]):
            return None
        stands = {self.bound[param]: k for k, param in enumerate(self.other.params) if param in self.bound}
        if len(stands) != sum(param in self.bound for param in self.other.params):
            return None
        if not all(one in self.one.params and self.agrees(one, self.other.params[k]) for one, k in stands.items()):  # type: ignore[arg-type]
            return None
        return [stands.get(param) for param in self.one.params]

    def agrees(self, a: Value, b: Value) -> bool:
        """Are they of one type, and from the same place?"""
        placed = not isinstance(a, Op) or not isinstance(b, Op) or a.location == b.location
        return a.type == b.type and a.dims is None and b.dims is None and placed

    def end(self, a: Terminator, b: Terminator) -> bool:
        """Do they go on alike, and from the same place?"""
        return getattr(a, "location", None) == getattr(b, "location", None) and super().end(a, b)

    def meet(self, a: Block, b: Block) -> bool:
        """An edge to the entry would carry its parameters in another order."""
        return b is not self.other.blocks[0] and super().meet(a, b)
