"""Building a Function by hand: for tests, the parser and transforms.

    >>> from operator import sub, mul, gt
    >>> b = Builder("pow", INT, INT)
    >>> x, n = b.params
    >>> loop, done = b.block(INT, INT), b.block(INT)
    >>> b.branch(b.op(gt, n, 0, type=BOOL), (loop, n, 1), (done, 1))
    >>> b.at(loop)
    >>> i, r = loop.params
    >>> i2, r2 = b.op(sub, i, 1, type=INT), b.op(mul, r, x, type=INT)
    >>> b.branch(b.op(gt, i2, 0, type=BOOL), (loop, i2, r2), (done, r2))
    >>> b.at(done)
    >>> b.ret(done.params[0])
    >>> print(b.function)
    1: (%1 :: Int, %2 :: Int)
      %3 = (>)(%2, 0) :: Bool
      br 3 (1) unless %3
      br 2 (%2, 1)
    2: (%4 :: Int, %5 :: Int)
      %6 = (-)(%4, 1) :: Int
      %7 = (*)(%5, %1) :: Int
      %8 = (>)(%6, 0) :: Bool
      br 3 (%7) unless %8
      br 2 (%6, %7)
    3: (%9 :: Int)
      return %9

Operands that are not IR values become constants: ``b.op(sub, i, 1)``.
"""

import operator
from typing import Any, Final

from hovis.ir.model import CAUGHT, Block, Branch, Caught, Edge, Effect, Function, Invoke, Jump, Location, Op, Operand, Param, Raise, Return
from hovis.lattice import ANY, AbstractValue, Const, Type

INT: Final = Type(int)
BOOL: Final = Type(bool)
FLOAT: Final = Type(float)


def as_operand(value: object) -> Operand:
    """Return an operand as it is, and any other object as a constant."""
    return value if isinstance(value, Param | Op | Const | Caught) else Const(value)


class Builder:
    """A Function under construction, and the block that is being filled."""

    def __init__(self, name: str, *types: AbstractValue, result: AbstractValue = ANY) -> None:
        self.current = Block(tuple(map(Param, types)))
        self.function = Function(name, [self.current], type=result)
        self.location: Location | None = None

    @property
    def params(self) -> tuple[Param, ...]:
        return self.function.params

    def block(self, *types: AbstractValue) -> Block:
        """Add a block; fill it after ``at(block)``."""
        made = Block(tuple(map(Param, types)))
        self.function.blocks.append(made)
        return made

    def at(self, block: Block) -> None:
        """Make this block the current one, which the following calls fill."""
        self.current = block

    def op(self, callee: object, *args: object, type: AbstractValue = ANY, effect: Effect = Effect.PURE, **kwargs: object) -> Op:
        """Append a call to the current block."""
        made = self._call(callee, args, kwargs, type, effect)
        self.current.ops.append(made)
        return made

    def _call(self, callee: object, args: tuple[object, ...], kwargs: dict[str, Any], type: AbstractValue, effect: Effect) -> Op:
        named = tuple((name, as_operand(value)) for name, value in kwargs.items())
        return Op(callee, tuple(map(as_operand, args)), named, type, None, effect, self.location)

    @staticmethod
    def edge(block: Block, *args: object) -> Edge:
        """Return an edge to block."""
        return Edge(block, tuple(map(as_operand, args)))

    def jump(self, block: Block, *args: object) -> None:
        """Close the current block with a jump to another one."""
        self.current.terminator = Jump(self.edge(block, *args), self.location)

    def branch(self, cond: object, true: tuple[Any, ...], false: tuple[Any, ...]) -> None:
        """Close the current block with a conditional branch; the edges are (block, argument, …)."""
        self.current.terminator = Branch(as_operand(cond), self.edge(*true), self.edge(*false), self.location)

    def invoke(
        self, callee: object, *args: object, error: tuple[Any, ...], type: AbstractValue = ANY, effect: Effect = Effect.OPAQUE, **kwargs: object
    ) -> Op:
        """Close the current block with a call that may raise, and continue in a new block for the case that it returns."""
        op = self._call(callee, args, kwargs, type, effect)
        ok = self.block()
        self.current.terminator = Invoke(op, Edge(ok), self.edge(error[0], CAUGHT, *error[1:]))
        self.at(ok)
        return op

    def ret(self, value: object) -> None:
        """Close the current block: the function returns value."""
        self.current.terminator = Return(as_operand(value), self.location)

    def raise_(self, value: object, again: bool = False) -> None:
        """Close the current block: the function raises value. again: it is a re-raise."""
        self.current.terminator = Raise(as_operand(value), again, self.location)


def go_by_number(function: Function, front: Block, which: Operand, ways: list[Edge]) -> None:
    """Append the block `front` to the function and end it with a chain of comparisons: the edge ``ways[k]`` is taken if ``which`` is k, and the
    last one otherwise.
    """
    function.blocks.append(front)
    for k, way in enumerate(ways[:-1]):
        chosen, rest = Op(operator.eq, (which, Const(k)), type=BOOL), Block()
        front.ops.append(chosen)
        front.terminator = Branch(chosen, way, Edge(rest))
        function.blocks.append(rest)
        front = rest
    front.terminator = Jump(ways[-1])
