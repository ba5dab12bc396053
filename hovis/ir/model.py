"""The IR: SSA with block arguments.  The only operation is a call of a Python callable.

Values are identified by object identity: an :class:`Op` *is* its result, a :class:`Param` is the value with which a block was entered;
numbers such as ``%3`` exist only in the printed text.  Objects are made by the engine's ``Builder`` or by a pass and treated as immutable.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hovis.lattice import ANY, AbstractValue, Const


class Effect(enum.IntFlag):
    """Effects that a call may have besides its result; 0 is a pure call.

    READS: its result depends on mutable memory.  WRITES: it changes memory that other code can see.
    RAISES: it may raise.  OPAQUE: it may do anything; never removed, never moved.
    INTERRUPTED (with RAISES): only a signal handler may raise; CPython calls pending signal handlers at the end of the call.
    """

    PURE = 0
    READS = 1
    WRITES = 2
    RAISES = 4
    IO = 8
    RANDOM = 16
    CLOCK = 32
    OPAQUE = 64
    INTERRUPTED = 128


#: Effects for which a call is kept even if its result is not used.
LASTING = Effect.WRITES | Effect.RAISES | Effect.IO | Effect.RANDOM | Effect.CLOCK | Effect.OPAQUE

#: Effects that are printed as ``!`` after the callee.
MARKED = Effect.WRITES | Effect.IO | Effect.RANDOM | Effect.CLOCK | Effect.OPAQUE


class Location(NamedTuple):
    """A location in the user's source; ``caller`` is the location of the call through which it was inlined."""

    file: str
    line: int | None
    end_line: int | None
    col: int | None
    end_col: int | None
    function: str
    first_line: int
    caller: "Location | None" = None

    def chain(self) -> Iterator["Location"]:
        """Yield this location, then its callers, innermost first."""
        at: Location | None = self
        while at is not None:
            yield at
            at = at.caller


@dataclass(slots=True, eq=False)
class Param:
    """A parameter of a block.  ``name`` is the user's variable, if there is one."""

    type: AbstractValue
    dims: "tuple[Operand, ...] | None" = None
    name: str | None = None


class Caught:
    """The exception on the error edge of an Invoke; the first of that edge's arguments."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "%err"


CAUGHT = Caught()


@dataclass(slots=True, eq=False)
class Op:
    """One call.  ``callee`` is a Python callable, a residual Function, or a Value (an unknown callee).

    ``name`` is the user's variable for the result, if there is one.
    """

    callee: object
    args: "tuple[Operand, ...]"
    kwargs: "tuple[tuple[str, Operand], ...]" = ()
    type: AbstractValue = ANY
    dims: "tuple[Operand, ...] | None" = None
    effect: Effect = Effect.PURE
    location: Location | None = None
    name: str | None = None

    def operands(self) -> "Iterator[Operand]":
        """Yield the callee, if it is an unknown value, the arguments, and the keyword arguments."""
        if isinstance(self.callee, VALUES):
            yield self.callee
        yield from iter(self.args)
        for _, value in self.kwargs:
            yield value


Value = Param | Op
#: For isinstance in hot code (a tuple is faster than a union).
VALUES = (Param, Op)
Operand = Param | Op | Const | Caught


@dataclass(slots=True, eq=False)
class Edge:
    """The target block of a jump, and the arguments for its parameters."""

    block: "Block"
    args: tuple[Operand, ...] = ()


@dataclass(slots=True, eq=False)
class Jump:
    edge: Edge
    location: Location | None = None


@dataclass(slots=True, eq=False)
class Branch:
    """A conditional branch; ``cond`` is an exact bool."""

    cond: Operand
    true: Edge
    false: Edge
    location: Location | None = None


@dataclass(slots=True, eq=False)
class Invoke:
    """Call ``op``; continue at ``ok``, or, if it raised, at ``error``. The op's result exists only under ``ok``."""

    op: Op
    ok: Edge
    error: Edge


@dataclass(slots=True, eq=False)
class Return:
    value: Operand
    location: Location | None = None


@dataclass(slots=True, eq=False)
class Raise:
    """``raise value``; with ``again``, a re-raise that leaves context and traceback as they are."""

    value: Operand
    again: bool = False
    location: Location | None = None


Terminator = Jump | Branch | Invoke | Return | Raise


def edges(terminator: Terminator) -> tuple[Edge, ...]:
    """Return the edges that leave a block, the likely one first."""
    match terminator:
        case Jump():
            return (terminator.edge,)
        case Branch():
            return terminator.true, terminator.false
        case Invoke():
            return terminator.ok, terminator.error
    return ()


@dataclass(slots=True, eq=False)
class Block:
    params: tuple[Param, ...] = ()
    ops: list[Op] = field(default_factory=list)
    terminator: Terminator = None  # type: ignore[assignment]  # set once, when the block is closed

    def all_ops(self) -> Iterator[Op]:
        """Yield the ops, including the op of a closing Invoke."""
        yield from iter(self.ops)
        if isinstance(self.terminator, Invoke):
            yield self.terminator.op


@dataclass(slots=True, eq=False)
class Function:
    """An SSA graph.  ``blocks[0]`` is the entry; its params are the function's."""

    name: str
    blocks: list[Block]
    location: Location | None = None
    type: AbstractValue = ANY
    is_generator: bool = False
    guards: tuple[object, ...] = ()

    @property
    def params(self) -> tuple[Param, ...]:
        return self.blocks[0].params

    def ops(self) -> Iterator[Op]:
        """Yield all ops in block order, including those of Invokes."""
        for block in self.blocks:
            yield from block.all_ops()


def callees(function: Function) -> list[Function]:
    """Return the residual functions that ``function`` reaches by calls, itself first, in order of first call."""
    found, seen = [function], {id(function)}
    for at in found:  # the list grows during the loop
        for block in at.blocks:
            for op in block.ops:
                if isinstance(op.callee, Function) and id(op.callee) not in seen:
                    seen.add(id(op.callee))
                    found.append(op.callee)
            end = block.terminator
            if isinstance(end, Invoke) and isinstance(end.op.callee, Function) and id(end.op.callee) not in seen:
                seen.add(id(end.op.callee))
                found.append(end.op.callee)
    return found
