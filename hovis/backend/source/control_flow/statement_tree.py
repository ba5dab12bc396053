"""The tree of statements that the blocks of a Function become, before any syntax is generated."""

from dataclasses import dataclass

from hovis.ir.model import Block, Edge, Operand


@dataclass(slots=True, eq=False)
class Body:
    """The statements of a block, without its terminator."""

    block: Block


@dataclass(slots=True, eq=False)
class Moves:
    """The assignments to the params of the edge's target."""

    edge: Edge


@dataclass(slots=True, eq=False)
class Leave:
    """A jump to block: to the code behind a surrounding Labeled, or (again) to the head of a surrounding While."""

    block: Block
    again: bool = False


@dataclass(slots=True, eq=False)
class Labeled:
    """Statements that may be left by a jump to ``block``, which is right behind them."""

    block: Block
    body: "Tree"


@dataclass(slots=True, eq=False)
class While:
    """An endless loop, which ends only by jumps out of it."""

    block: Block
    body: "Tree"


@dataclass(slots=True, eq=False)
class If:
    block: Block
    then: "Tree"
    other: "Tree"


@dataclass(slots=True, eq=False)
class Try:
    """A try statement: ``handler`` is entered by any exception out of the calls in ``body``; landing is its first block.

    ``other`` is the else clause, if the end of body jumps to ``block``.
    """

    landing: Block
    body: "Tree"
    handler: "Tree"
    block: Block | None = None
    other: "Tree | None" = None


@dataclass(slots=True, eq=False)
class End:
    """The Return or Raise of a block."""

    block: Block
    handling: Operand | None = None


Statement = Body | Moves | Leave | Labeled | While | If | Try | End
Tree = list[Statement]
