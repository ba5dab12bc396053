"""Structural comparison of pieces of Functions, up to a mapping between their values.

Ops that do the same, apart from their operands, have the same :func:`shape`.  :class:`Match` compares two pieces op by op and records which
value of one corresponds to which value of the other.  :class:`Key` gives equal blocks equal keys, so that equal blocks are found among many
without comparing all pairs.
"""

from collections.abc import Callable, Container, Hashable, Iterable

from hovis.ir.model import VALUES, Block, Branch, Caught, Invoke, Op, Operand, Raise, Return, Terminator, Value, edges
from hovis.lattice import Const


def same(a: Operand, b: Operand) -> bool:
    """Are both operands the same value, or the same constant?"""
    return a is b or (isinstance(a, Const) and a == b)


def shape(op: Op) -> Hashable:
    """Return a description of an op without its operands, its result and its location."""
    known = "value" if isinstance(op.callee, VALUES) else id(op.callee)
    return known, op.effect._value_, len(op.args), tuple([name for name, _ in op.kwargs])


def own_operands(end: Terminator) -> tuple[Operand, ...]:
    """Return the operands that a terminator uses itself; its edges and its op have operands of their own."""
    match end:
        case Branch():
            return (end.cond,)
        case Return() | Raise():
            return (end.value,)
    return ()


class Match:
    """A comparison of two pieces of code, a subject and a pattern. ``bound`` maps the values of the pattern to operands of the subject.

    free: values of the pattern that may match any operand: the first use of each binds it
    """

    def __init__(self, free: Container[object] = frozenset()) -> None:
        self.free = free
        self.bound: dict[Value, Operand] = {}

    def operand(self, a: Operand, b: Operand) -> bool:
        """Does operand a of the subject match operand b of the pattern?"""
        if isinstance(b, VALUES):
            if b in self.bound:
                return same(a, self.bound[b])
            if b in self.free:
                self.bound[b] = a
                return True
        return same(a, b)

    def operands(self, a: Iterable[Operand], b: Iterable[Operand]) -> bool:
        """Do the operands match one by one, and are there equally many?"""
        a, b = list(a), list(b)
        return len(a) == len(b) and all(map(self.operand, a, b))

    def agrees(self, a: Value, b: Value) -> bool:
        """May value a match value b, considering only the values themselves?"""
        return a.type == b.type

    def op(self, a: Op, b: Op) -> bool:
        """Does op a do the same as op b? If it does, bind b to a."""
        if shape(a) != shape(b) or not self.agrees(a, b) or not self.operands(a.operands(), b.operands()):
            return False
        self.bound[b] = a
        return True


class Key:
    """A key of the code of a block, in which its own values are numbers: equal for blocks that do the same.

    place: returns a further part of the key of an op, or of the Raise that ends a block
    """

    def __init__(self, block: Block, place: Callable[[Op | Raise], Hashable]) -> None:
        self.values = {value: k for k, value in enumerate([*block.params, *block.all_ops()])}
        self.place = place
        end = block.terminator
        op = self.op(end.op) if isinstance(end, Invoke) else None
        raised = (end.again, place(end)) if isinstance(end, Raise) else None
        ways = tuple([(id(edge.block), self.operands(edge.args)) for edge in edges(end)])
        params = tuple([(param.type, param.dims is None) for param in block.params])
        self.key: Hashable = params, tuple(map(self.op, block.ops)), type(end).__name__, op, self.operands(own_operands(end)), raised, ways

    def op(self, op: Op) -> Hashable:
        """Return the key of an op of the block."""
        return shape(op), self.operands(op.operands()), op.type, self.place(op)

    def operands(self, operands: Iterable[Operand]) -> Hashable:
        """Return the key of operands: constants, the block's own values by number, other values by identity."""
        return tuple([self._operand(one) for one in operands])

    def _operand(self, operand: Operand) -> Hashable:
        if isinstance(operand, Const):
            return operand
        number = None if isinstance(operand, Caught) else self.values.get(operand)
        return ("there", id(operand)) if number is None else number
