"""The tree of statements that the blocks of a Function become, before anything is written."""

from dataclasses import dataclass

from hovis.ir.model import Block, Edge, Operand


@dataclass(slots=True, eq=False)
class Body:
    """The statements of a block, without its end."""

    block: Block


@dataclass(slots=True, eq=False)
class Moves:
    """What the parameters behind an edge become."""

    edge: Edge


@dataclass(slots=True, eq=False)
class Leave:
    """Go to where this block stands: behind a Labeled around this, or (again) at the head of a While around it."""

    block: Block
    again: bool = False


@dataclass(slots=True, eq=False)
class Labeled:
    """What may be left for ``block``, which stands right behind it."""

    block: Block
    body: "Tree"


@dataclass(slots=True, eq=False)
class While:
    """Without end, but for what leaves it."""

    block: Block
    body: "Tree"


@dataclass(slots=True, eq=False)
class If:
    block: Block
    then: "Tree"
    other: "Tree"


@dataclass(slots=True, eq=False)
class Try:
    """``handler`` is entered by any exception out of the calls that stand in ``body``; landing is its first block.

    ``other`` is what follows where there was none, if body is left for ``block``.
    """

    landing: Block
    body: "Tree"
    handler: "Tree"
    block: Block | None = None
    other: "Tree | None" = None


@dataclass(slots=True, eq=False)
class End:
    """The block's Return or Raise."""

    block: Block
    handling: Operand | None = None


Statement = Body | Moves | Leave | Labeled | While | If | Try | End
Tree = list[Statement]
