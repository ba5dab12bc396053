"""Stack code, which still names values instead of locals: its items, and the class that writes them."""

import abc
import functools
from collections.abc import Callable
from types import CellType
from typing import Any, Final, Protocol

from hovis.backend.assembler.encode import COPY, NULL_FIRST, OP, POP_TOP, PRECALL, Assembly, Label
from hovis.backend.assembler.liveness import Flow
from hovis.backend.assembler.selection.constant_pool import PLAIN, Pool, is_permanent
from hovis.ir import operations as ops
from hovis.ir.model import Location, Op, Operand, Param
from hovis.lattice import Const

#: (DO, opcode, argument, stack effect)
DO: Final = 0
#: (LOAD, value)
LOAD: Final = 1
#: (STORE, op)
STORE: Final = 2
#: (MOVE, operand, param): a load for an edge, nothing if both are in the same local
MOVE: Final = 3
#: (DROP, value)
DROP: Final = 4
#: (CELL, opcode, cell, stack effect)
CELL: Final = 5
#: (AT, location)
AT: Final = 6
#: (COVER,): from here to the end of the block an exception takes the Invoke's error edge
COVER: Final = 7
#: (HANDLERS, change of the number of open handlers)
HANDLERS: Final = 8
#: (MACRO, function of the emitter)
MACRO: Final = 9
#: (KEEP, value): its local holds the value until the function has been left
KEEP: Final = 10
#: (GUARD, op): from here on an exception takes the error edge of this op, a covered call in the middle of a block
GUARD: Final = 11
#: (UNGUARD, op): end of the range that GUARD begins
UNGUARD: Final = 12

Item = tuple[Any, ...]


class Writer(Protocol):
    """The part of the emitter that a macro may use."""

    asm: Assembly

    def mend(self) -> None:
        """Emit the repair of the traceback of the exception on top of the stack."""

    def within(self, raised: Label | None) -> None:
        """From here on, send exceptions to the label raised, with no operand beneath them (None: to the usual place)."""


class StackCode(abc.ABC):
    """Writes the stack code of one block; the selection rules use its methods."""

    def __init__(
        self, flow: Flow, pool: Pool, namespace: dict[str, Any], watched: Callable[[Op], bool], trimmed: Callable[[Op, Operand], int | None]
    ) -> None:
        self.flow = flow
        self.pool = pool
        self.namespace = namespace
        #: may the traceback of the exception that this op returns be inspected?
        self.watched = watched
        #: returns how many entries of the traceback of an exception that a side exit takes are removed there (None: it is not repaired there)
        self.trimmed = trimmed
        self.items: list[Item] = []
        #: ops whose result stays on the stack
        self.inline: set[Operand] = set()
        #: (id of a closure cell of the user, name) -> index of the cell in this code
        self.user_cells: dict[tuple[int, str | None], int] = {}
        self._at: Location | None = None

    @abc.abstractmethod
    def op(self, op: Op, cover: bool = False) -> None:
        """Emit the instructions of an op; with cover, an exception out of its last ones goes to the error edge."""

    def do(self, opcode: int, arg: int, effect: int) -> None:
        """Append an instruction."""
        self.items.append((DO, opcode, arg, effect))

    def cell(self, opcode: int, cell: int, effect: int) -> None:
        """Append an instruction on a closure cell."""
        self.items.append((CELL, opcode, cell, effect))

    def macro(self, write: Callable[[Writer], None]) -> None:
        """Append a function that is called with the emitter, for code that only the emitter can write."""
        self.items.append((MACRO, write))

    def handlers(self, change: int) -> None:
        """Change the number of exceptions that are being handled from here on."""
        self.items.append((HANDLERS, change))

    def tell(self, listener: object) -> None:
        """Call listener with the value on top of the stack, which stays there."""
        if NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)
        self.constant(listener)
        if not NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)
        self.do(COPY, 3, 1)
        if PRECALL is not None:
            self.do(PRECALL, 1, 0)
        self.do(OP["CALL"], 1, -2)
        self.do(POP_TOP, 0, -1)

    def user_cell(self, cell: CellType, name: str | None) -> bool:
        """Make a closure cell of the user's a cell of this code, under its own name (None: any name); return False if the name is taken."""
        if (id(cell), name) not in self.user_cells:
            at = self.pool.user_cell(cell, name)
            if at is None:
                return False
            self.user_cells[id(cell), name] = at
        return True

    def at(self, location: Location | None) -> None:
        """Set the source location of the items that follow."""
        if location is not None and location is not self._at:
            self._at = location
            self.items.append((AT, location))

    def push(self, value: Operand) -> None:
        """Load a value, or compute it here if it stays on the stack."""
        if isinstance(value, Const):
            self.constant(value.value)
        elif value in self.inline:
            assert isinstance(value, Op)
            self.op(value)
        else:
            self.items.append((LOAD, value))

    def constant(self, value: object) -> None:
        """Load a known value; one that may die, or refer to an object that may, is kept in a closure cell."""
        if type(value) in PLAIN or is_permanent(value):
            self.items.append((DO, OP["LOAD_CONST"], self.pool.constant(value), 1))
        else:
            self.items.append((CELL, OP["LOAD_DEREF"], self.pool.cell(value), 1))

    @functools.cached_property
    def trims(self) -> bool:
        """Whether some traceback is trimmed of entries of inlined calls. Then each op that lets an exception pass adds them again, even if
        nobody inspects the traceback.
        """
        return any(op.callee is ops.caught_at and self.watched(op) for block in self.flow.order for op in block.all_ops())

    def attribute(self, name: str) -> None:
        """Replace the value on top by its attribute."""
        at = self.pool.name(name)
        self.do(OP["LOAD_ATTR"], at if PRECALL is not None else at << 1, 0)

    def callee(self, callee: object) -> None:
        """Push the callee, and the NULL beside it."""
        if NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)
        if isinstance(callee, Param | Op | Const):
            self.push(callee)
        else:
            self.constant(callee)
        if not NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)

    def call(self, count: int, names: tuple[str, ...] = ()) -> None:
        """Call the callee beneath count arguments, the last of which have these keyword names."""
        if names and NULL_FIRST:
            self.do(OP["KW_NAMES"], self.pool.constant(names), 0)
        elif names:
            self.do(OP["LOAD_CONST"], self.pool.constant(names), 1)
            self.do(OP["CALL_KW"], count, -count - 2)
            return
        if PRECALL is not None:
            self.do(PRECALL, count, 0)
        self.do(OP["CALL"], count, -count - 1)
