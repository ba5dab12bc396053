"""Say whether one piece of a Function does what another does, where values stand for values.

What two ops that do the same have in common, wherever their operands come from, is their :func:`shape`.  :class:`Match` compares two pieces
op by op and notes what stands for what.  :class:`Key` gives blocks that do the same one key: of many, they are found without comparing
each with each.
"""

from collections.abc import Callable, Container, Hashable, Iterable

from hovis.ir.model import VALUES, Block, Branch, Caught, Invoke, Op, Operand, Raise, Return, Terminator, Value, edges
from hovis.lattice import Const


def same(a: Operand, b: Operand) -> bool:
    """Are both the same value, or the same constant?"""
    return a is b or (isinstance(a, Const) and a == b)


def shape(op: Op) -> Hashable:
    """What an op does, but for its operands, its result and its place."""
    known = "value" if isinstance(op.callee, VALUES) else id(op.callee)
    return known, op.effect._value_, len(op.args), tuple([name for name, _ in op.kwargs])


def own_operands(end: Terminator) -> tuple[Operand, ...]:
    """What a terminator uses itself; its edges and its op have operands of their own."""
    match end:
        case Branch():
            return (end.cond,)
        case Return() | Raise():
            return (end.value,)
    return ()


class Match:
    """Two pieces of code, a subject and a pattern, and what in the subject stands for the values of the pattern (``bound``).

    free: values of the pattern that may stand for anything: the first use of each says what
    """

    def __init__(self, free: Container[object] = frozenset()) -> None:
        self.free = free
        self.bound: dict[Value, Operand] = {}

    def operand(self, a: Operand, b: Operand) -> bool:
        """Is a what stands for b?"""
        if isinstance(b, VALUES):
            if b in self.bound:
                return same(a, self.bound[b])
            if b in self.free:
                self.bound[b] = a
                return True
        return same(a, b)

    def operands(self, a: Iterable[Operand], b: Iterable[Operand]) -> bool:
        """The same, one by one, and there are as many."""
        a, b = list(a), list(b)
        return len(a) == len(b) and all(map(self.operand, a, b))

    def agrees(self, a: Value, b: Value) -> bool:
        """May a stand for b, as far as the values themselves tell?"""
        return a.type == b.type

    def op(self, a: Op, b: Op) -> bool:
        """Does a do what b does?  Then it stands for that."""
        if shape(a) != shape(b) or not self.agrees(a, b) or not self.operands(a.operands(), b.operands()):
            return False
        self.bound[b] = a
        return True


class Key:
    """What a block does, with numbers for the values that are its own: equal for blocks that do the same.

    place: what else two ops, or two blocks that end by raising, have to have in common
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
        """Of an op of its."""
        return shape(op), self.operands(op.operands()), op.type, self.place(op)

    def operands(self, operands: Iterable[Operand]) -> Hashable:
        """Of what it uses: constants, its own values by number, those of others by identity."""
        return tuple([self._operand(one) for one in operands])

    def _operand(self, operand: Operand) -> Hashable:
        if isinstance(operand, Const):
            return operand
        number = None if isinstance(operand, Caught) else self.values.get(operand)
        return ("there", id(operand)) if number is None else number
