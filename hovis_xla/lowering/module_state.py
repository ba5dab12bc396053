"""State of the lowering of a module, and of each function in it, which the parts of the lowering share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hovis.ir.model import Block, Function, Op, Param, Value
from hovis_xla.abi.run_record import Record
from hovis_xla.abi.signature import Template
from hovis_xla.analysis.growable_lists import Listing
from hovis_xla.analysis.ranges.integer_ranges import Ranges
from hovis_xla.analysis.trip_counts import Rounds
from hovis_xla.choice.cost_model import Work
from hovis_xla.emit.builder import T
from hovis_xla.emit.inplace_stores import Store
from hovis_xla.emit.locations import Location
from hovis_xla.emit.memory_ssa import Memory
from hovis_xla.emit.values import NotLowerable, Operand, Ragged, Struct, Val
from hovis_xla.ops.memory.tapes import Reel


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


@dataclass(eq=False, repr=False)
class ModuleState:
    """What is known of the module that is being lowered, at the point where ops are emitted."""

    module: Any
    #: may the lowering assume that ints that are passed are small (``integer_ranges.SMALL``)? is the function refused if its results might not be
    #: in C order?
    may_narrow: bool = False
    ordered: bool = False
    #: the location that holds the remaining fuel, if the run time is limited (``compile_budget``)
    fuel: Location | None = None
    #: the function that the program consists of; does it assume that ints that are passed are small?
    main: Any = None
    narrow: bool = False

    # where the walker is: the functions that are being inlined, the op, the number of loops around it and their trip counts
    scope: FunctionScope = field(default_factory=FunctionScope)
    active: list[Function] = field(default_factory=list)
    op: Op | None = None
    depth: int = 0
    rounds: tuple[Rounds, ...] = ()
    #: the condition on which the call bails out; the reasons why paths do
    bail: T | None = None
    reasons: list[NotLowerable] = field(default_factory=list)
    #: the number of iterations that were peeled off each loop, by its header; under None: the number of ops in all of them
    peeled: dict[Block | None, int] = field(default_factory=dict)
    #: operations that were emitted and then discarded
    given_up: list[Any] = field(default_factory=list)
    #: the estimated cost of all ops
    work: Work = field(default_factory=Work)

    # memory; the constant arrays that are inputs, and keys of those that are, or may be, stored into
    memory: Memory = field(default_factory=Memory)
    constants: dict[int, tuple[np.ndarray[Any, Any], Val]] = field(default_factory=dict)
    mutable_constants: set[object] = field(default_factory=set)
    #: the arrays that are stored into, even if no element is stored; pairs of arrays that are assumed to be different objects
    into: set[Location] = field(default_factory=set)
    apart: list[tuple[Any, Any]] = field(default_factory=list)
    #: the functions that implement barriers, by the types of their operands
    barriers: dict[str, str] = field(default_factory=dict)
    #: for the array after each store: the array before it, the update, the starts
    stored: dict[Any, Store] = field(default_factory=dict)
    #: the values that were loaded from arrays, by the content of the array; by the place in it as well
    loads: dict[Any, list[T]] = field(default_factory=dict)
    loaded: dict[Any, T] = field(default_factory=dict)
    #: the known single elements of a content: the indices and the value of each
    cells: dict[Any, list[tuple[list[Any], T]]] = field(default_factory=dict)
    #: the parts of immutable arrays that views show: the starts and the value of each
    parts_read: dict[Any, list[tuple[list[T], T]]] = field(default_factory=dict)
    #: parts of arrays by their bounds (``ops/ragged/ragged_arrays``); and bounds that have been clipped to a size, with the results
    parts: dict[Any, Ragged] = field(default_factory=dict)
    clipped: dict[Any, tuple[tuple[T, T], ...]] = field(default_factory=dict)
    #: for numbers of elements that are known at run time only: the padded size of the axis, and the extent of the elements that count
    measured: dict[Any, tuple[int, T]] = field(default_factory=dict)
    #: index arrays that have been found to be in range of a size, from the front
    in_range_already: dict[Any, T] = field(default_factory=dict)
    #: the reels of tapes, by the ops that make them; and for ops on tapes, the reel, or None if the length is known (``ops/memory/tapes``)
    reels: dict[Op, Reel] = field(default_factory=dict)
    taped: dict[Op, Reel | None] = field(default_factory=dict)
    #: the growable lists, by the ops that make them
    listings: dict[Op, Listing] = field(default_factory=dict)

    # calls of the host: the last token, and whether there was an act; the callbacks, and the exceptions that they raise
    token: Any = None
    acted: bool = False
    callbacks: list[Callable[..., Any]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    #: the ops that the host executes; and the number of those that the program executes itself
    hosted: list[Op | None] = field(default_factory=list)
    worked: int = 0
    #: the record of the observable effects of a run
    record: Record = field(default_factory=Record)
    #: the reads of the environment that are repeated at each call; may an act change what is read?
    environment: list[tuple[Callable[..., Any], tuple[Any, ...], object]] = field(default_factory=list)
    rereads: bool = False
    #: the locations of variables that outlive the call, by their keys
    outliving: dict[Any, Location] = field(default_factory=dict)

    #: for each array of unknown size in the result: the operand by which the host cuts it to its size; does the host make strings of the result?
    cuts: dict[Ragged, Struct] = field(default_factory=dict)
    texts: bool = False
