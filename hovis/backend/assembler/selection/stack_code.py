"""Stack code that still names values, not locals: what it consists of, and the writing of it."""

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
#: (COVER,): from here to the end of the block an exception goes to the Invoke's error edge
COVER: Final = 7
#: (HANDLERS, change of the number of open handlers)
HANDLERS: Final = 8
#: (MACRO, function of the emitter)
MACRO: Final = 9
#: (KEEP, value): the local holds it until the function has been left
KEEP: Final = 10
#: (GUARD, op): from here on an exception goes to the error edge of this op, which is covered in the midst of a block
GUARD: Final = 11
#: (UNGUARD, op): up to here
UNGUARD: Final = 12

Item = tuple[Any, ...]


class Writer(Protocol):
    """What a macro may use of the emitter."""

    asm: Assembly

    def mend(self) -> None:
        """Repair the traceback of the exception on top of the stack."""

    def within(self, raised: Label | None) -> None:
        """From here on an exception goes to a label, with nothing beneath it (None: where it goes otherwise)."""


class StackCode(abc.ABC):
    """Writes the stack code of one block: what the rules of callees say it with."""

    def __init__(self, flow: Flow, pool: Pool, namespace: dict[str, Any], watched: Callable[[Op], bool]) -> None:
        self.flow = flow
        self.pool = pool
        self.namespace = namespace
        #: does somebody look at the traceback of what this op gives?
        self.watched = watched
        self.items: list[Item] = []
        #: ops whose result stays on the stack
        self.inline: set[Operand] = set()
        #: (id of a cell of the user's, name) -> cell of this code
        self.user_cells: dict[tuple[int, str | None], int] = {}
        self._at: Location | None = None

    @abc.abstractmethod
    def op(self, op: Op, cover: bool = False) -> None:
        """The instructions of an op; with cover, an exception out of its last ones goes to the error edge."""

    def do(self, opcode: int, arg: int, effect: int) -> None:
        """Append an instruction."""
        self.items.append((DO, opcode, arg, effect))

    def cell(self, opcode: int, cell: int, effect: int) -> None:
        """Append an instruction on a closure cell."""
        self.items.append((CELL, opcode, cell, effect))

    def macro(self, write: Callable[[Writer], None]) -> None:
        """Append what only the emitter can say."""
        self.items.append((MACRO, write))

    def handlers(self, change: int) -> None:
        """From here on so many more exceptions are being handled."""
        self.items.append((HANDLERS, change))

    def tell(self, listener: object) -> None:
        """Call listener with what is on top of the stack, which stays there."""
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
        """Make a closure cell of the user's one of this code, under its own name (None: any); False: the name is taken."""
        if (id(cell), name) not in self.user_cells:
            at = self.pool.user_cell(cell, name)
            if at is None:
                return False
            self.user_cells[id(cell), name] = at
        return True

    def at(self, location: Location | None) -> None:
        """What comes now stands here in the source."""
        if location is not None and location is not self._at:
            self._at = location
            self.items.append((AT, location))

    def push(self, value: Operand) -> None:
        """Load a value, or compute it here."""
        if isinstance(value, Const):
            self.constant(value.value)
        elif value in self.inline:
            assert isinstance(value, Op)
            self.op(value)
        else:
            self.items.append((LOAD, value))

    def constant(self, value: object) -> None:
        """Load a known value; what may end, or refer to something that may, lives in a closure cell."""
        if type(value) in PLAIN or is_permanent(value):
            self.items.append((DO, OP["LOAD_CONST"], self.pool.constant(value), 1))
        else:
            self.items.append((CELL, OP["LOAD_DEREF"], self.pool.cell(value), 1))

    @functools.cached_property
    def trims(self) -> bool:
        """Are there tracebacks that tell of less than all inlined calls?  Whoever lets them pass says so, seen or not."""
        return any(op.callee is ops.caught_at and self.watched(op) for block in self.flow.order for op in block.all_ops())

    def attribute(self, name: str) -> None:
        """Replace the value on top by its attribute."""
        at = self.pool.name(name)
        self.do(OP["LOAD_ATTR"], at if PRECALL is not None else at << 1, 0)

    def callee(self, callee: object) -> None:
        """Push what is called, and the NULL beside it."""
        if NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)
        if isinstance(callee, Param | Op | Const):
            self.push(callee)
        else:
            self.constant(callee)
        if not NULL_FIRST:
            self.do(OP["PUSH_NULL"], 0, 1)

    def call(self, count: int, names: tuple[str, ...] = ()) -> None:
        """Call what lies under count arguments, the last of which have these names."""
        if names and NULL_FIRST:
            self.do(OP["KW_NAMES"], self.pool.constant(names), 0)
        elif names:
            self.do(OP["LOAD_CONST"], self.pool.constant(names), 1)
            self.do(OP["CALL_KW"], count, -count - 2)
            return
        if PRECALL is not None:
            self.do(PRECALL, count, 0)
        self.do(OP["CALL"], count, -count - 1)
