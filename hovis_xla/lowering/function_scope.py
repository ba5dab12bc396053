"""State of the lowering of one function; each function that it calls has a state of its own."""

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
    """Facts about a function that is being lowered, and the operands for its ops and parameters lowered until now."""

    #: its parameters; empty for a function that is inlined
    arguments: Sequence[Param] = ()
    #: its blocks, in the order in which they are lowered
    order: list[Block] = field(default_factory=list)
    ranges: Ranges = None  # type: ignore[assignment]  # from the beginning of the first function
    #: the ops that are not dead; all operands; the ops that are used in other blocks; for each block, the values that loops carry out into it;
    #: and the values that are live at its start
    needed: set[Op] = field(default_factory=set)
    used: set[Any] = field(default_factory=set)
    abroad: set[Op] = field(default_factory=set)
    carried_out: dict[Block, tuple[Param | Op, ...]] = field(default_factory=dict)
    live: dict[Block, set[Value]] = field(default_factory=dict)
    #: the arrays that are stored into
    mutable: set[object] = field(default_factory=set)
    #: the blocks that are reached by exceptions only; and the conditions, with exception classes, under which the call that is being lowered raises,
    #: if it is under a handler
    handlers: frozenset[Block] = frozenset()
    catching: list[tuple[T, type[BaseException]]] | None = None
    #: the operands, by ops and parameters
    env: dict[object, Operand] = field(default_factory=dict)
    #: the locations that callers refer to
    pinned: set[Location] = field(default_factory=set)
    #: the exit blocks, by how the result is put together; and the template of each
    exits: dict[Any, Block] = field(default_factory=dict)
    templates: dict[Block, Template] = field(default_factory=dict)
