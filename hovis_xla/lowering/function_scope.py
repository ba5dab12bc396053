"""What the lowering of one function keeps for itself, while those that it calls have theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hovis.ir.model import Block, Op, Param, Value
from hovis_xla.abi.signature import Template
from hovis_xla.analysis.ranges.integer_ranges import Ranges
from hovis_xla.emit.builder import T
from hovis_xla.emit.locations import Location
from hovis_xla.emit.values import Operand


@dataclass(slots=True)
class FunctionScope:
    """Facts about a function that is written out, and the values of what has been lowered of it."""

    #: its parameters; none of one that is called
    arguments: Sequence[Param] = ()
    #: its blocks, in the order in which they are lowered
    order: list[Block] = field(default_factory=list)
    ranges: Ranges = None  # type: ignore[assignment]  # from the beginning of the first function
    #: the ops whose results or effects anybody wants; all operands; those that are used in other blocks; by block those that leave a loop for it
    needed: set[Op] = field(default_factory=set)
    used: set[Any] = field(default_factory=set)
    abroad: set[Op] = field(default_factory=set)
    carried_out: dict[Block, tuple[Param | Op, ...]] = field(default_factory=dict)
    live: dict[Block, set[Value]] = field(default_factory=dict)
    #: the arrays that are stored into
    mutable: set[object] = field(default_factory=set)
    #: the blocks that only exceptions lead to, and what makes the call under a handler raise that is being lowered
    handlers: frozenset[Block] = frozenset()
    catching: list[tuple[T, type[BaseException]]] | None = None
    #: values by ops and parameters
    env: dict[object, Operand] = field(default_factory=dict)
    #: what callers refer to
    pinned: set[Location] = field(default_factory=set)
    #: the ways out: by how the result is put together, and how that is
    exits: dict[Any, Block] = field(default_factory=dict)
    templates: dict[Block, Template] = field(default_factory=dict)
