"""Say whether one piece of a Function does what another does, where values stand for values.

What two ops that do the same have in common, wherever their operands come from, is their :func:`shape`.  :class:`Match` goes through two pieces
side by side and notes what stands for what.  :class:`Key` gives pieces that do the same one key: of many, they are found without comparing
each with each.
"""

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence

from hovis.ir.model import VALUES, Block, Branch, Caught, Edge, Function, Invoke, Op, Operand, Raise, Return, Terminator, Value, edges
from hovis.lattice import Const


def same(a: Operand, b: Operand) -> bool:
    """Are both the same value, or the same constant?"""
    return a is b or (isinstance(a, Const) and a == b)


def shape(op: Op, itself: Function | None = None) -> Hashable:
    """What an op does, but for its operands, its result and its place.  itself: the Function that it stands in, for calls of that."""
    callee = op.callee
    known = "value" if isinstance(callee, VALUES) else "itself" if callee is itself else id(callee)
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
        self.blocks: dict[Block, Block] = {}
        self._todo: list[tuple[Block, Block]] = []

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

    def walk(self, a: Block, b: Block) -> bool:
        """Is what is done from a on what is done from b on?  The parameters of these two are left to ``free``."""
        self.blocks[b] = a
        if not self.block(a, b):
            return False
        while self._todo:
            a, b = self._todo.pop()
            if len(a.params) != len(b.params) or not all(map(self.agrees, a.params, b.params)):
                return False
            self.bound.update(zip(b.params, a.params, strict=True))
            if not self.block(a, b):
                return False
        return True

    def block(self, a: Block, b: Block) -> bool:
        """Do the ops and the end of a do what those of b do?"""
        return len(a.ops) == len(b.ops) and all(map(self.op, a.ops, b.ops)) and self.end(a.terminator, b.terminator)

    def end(self, a: Terminator, b: Terminator) -> bool:
        """Does a block that ends with a go on as one that ends with b?"""
        if type(a) is not type(b) or getattr(a, "again", None) != getattr(b, "again", None) or not self.operands(own_operands(a), own_operands(b)):
            return False
        if isinstance(a, Invoke) and isinstance(b, Invoke) and not self.op(a.op, b.op):
            return False
        return all(map(self.edge, edges(a), edges(b)))

    def edge(self, a: Edge, b: Edge) -> bool:
        """Do both lead to the same, with the same?"""
        return self.operands(a.args, b.args) and self.meet(a.block, b.block)

    def meet(self, a: Block, b: Block) -> bool:
        """Are these two walked through side by side, now or later?"""
        if b not in self.blocks:
            self.blocks[b] = a
            self._todo.append((a, b))
        return self.blocks[b] is a


class Key:
    """What blocks do, with numbers for what is theirs: equal for blocks that do the same.

    place: what else two ops, or two blocks that end by raising, have to have in common
    blocks: numbers of blocks, where they are not meant themselves
    itself: the Function of the blocks, if another one that calls itself is to be the same
    """

    def __init__(
        self, own: Sequence[Block], place: Callable[[Op | Raise], Hashable], blocks: Mapping[Block, int] | None = None, itself: Function | None = None
    ) -> None:
        self.values = {value: k for k, value in enumerate([v for block in own for v in (*block.params, *block.all_ops())])}
        self.place, self.blocks, self.itself = place, blocks or {}, itself

    def block(self, block: Block) -> Hashable:
        """Of one of the blocks."""
        end = block.terminator
        op = self.op(end.op) if isinstance(end, Invoke) else None
        raised = (end.again, self.place(end)) if isinstance(end, Raise) else None
        ways = tuple([(self.blocks.get(edge.block, id(edge.block)), self.operands(edge.args)) for edge in edges(end)])
        params = tuple([(param.type, param.dims is None) for param in block.params])
        return params, tuple(map(self.op, block.ops)), type(end).__name__, op, self.operands(own_operands(end)), raised, ways

    def op(self, op: Op) -> Hashable:
        """Of an op of theirs."""
        return shape(op, self.itself), self.operands(op.operands()), op.type, self.place(op)

    def operands(self, operands: Iterable[Operand]) -> Hashable:
        """Of what they use: constants, values of theirs by number, those of others by identity."""
        return tuple([self._operand(one) for one in operands])

    def _operand(self, operand: Operand) -> Hashable:
        if isinstance(operand, Const):
            return operand
        number = None if isinstance(operand, Caught) else self.values.get(operand)
        return ("there", id(operand)) if number is None else number
