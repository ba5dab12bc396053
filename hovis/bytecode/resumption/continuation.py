"""Continuation of activations in their original code, from an instruction in the middle (on-stack replacement).

A continuation is a copy of the code object with a prologue, which fills the variables and the stack and then jumps to the instruction.  That of
a function whose call is in progress first calls the continuation of the called function, where the exception handlers of the call apply.
"""

import opcode
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hovis.bytecode.instructions import localsplus
from hovis.bytecode.resumption.points import ResumePoint
from hovis.bytecode.stack_layout import HANDLED, LASTI, NULL

if TYPE_CHECKING:
    from bytecode import ConcreteBytecode, ConcreteInstr
    from bytecode.instr import InstrLocation

#: The name of the free variable that holds the values of a continuation until it has begun.
_VALUES: Final = ".values"
#: A call pushes NULL before the callable (3.11, 3.12), or after it.
_NULL_FIRST: Final = "KW_NAMES" in opcode.opmap
#: co_flags: ``*args`` and ``**kwargs``.
_VARIADIC: Final = 0x04 | 0x08
#: Number of values on the stack that a prologue needs in addition to those of the code.
_MORE: Final = 4
#: Number of times that a residual is left at one place, before that is reported.
OFTEN: Final = 16


class Activation(NamedTuple):
    """An activation to be resumed: its code, where, the globals, the slots of the variables that have a value, whether the result of the call in
    progress is dropped, and the offsets in bytes that its stack holds for exception handlers, from the bottom.

    Its values are those of the variables, then those of the stack from the bottom.  For an open handler, which has saved the exception handled
    before on the stack, the value is the exception that it handles.
    """

    code: CodeType
    at: ResumePoint
    namespace: dict[str, Any]
    slots: tuple[int, ...]
    discards: bool
    offsets: tuple[int, ...]

    def size(self) -> int:
        """Return the number of its values."""
        return len(self.slots) + sum(kind not in (NULL, LASTI) for kind in self.at.stack)


class _Prologue:
    """The instructions of a prologue, and the constants that they add to the code.

    offsets: maps the indexes of constants that are offsets of the original code, in code units, to these offsets.
    """

    def __init__(self, activation: Activation, code: "ConcreteBytecode", place: "InstrLocation") -> None:
        self.code, self.place = code, place
        self.made: list[ConcreteInstr] = []
        self.offsets: dict[int, int] = {}
        self._values = len(localsplus(activation.code))
        self._taken = 0

    def do(self, name: str, arg: int | None = None) -> None:
        """Append an instruction with its prefixes and caches."""
        from bytecode import ConcreteInstr  # noqa: PLC0415

        for shift in (24, 16, 8):
            if arg is not None and arg >> shift:
                self.made.append(ConcreteInstr("EXTENDED_ARG", arg >> shift & 0xFF, location=self.place))
        one = ConcreteInstr(name, location=self.place) if arg is None else ConcreteInstr(name, arg & 0xFF, location=self.place)
        self.made.append(one)
        self.made += [ConcreteInstr("CACHE", 0, location=self.place) for _ in range(one.use_cache_opcodes())]

    def constant(self, value: object) -> None:
        """Append an instruction that pushes a constant."""
        self.code.consts.append(value)
        self.do("LOAD_CONST", len(self.code.consts) - 1)

    def take(self) -> None:
        """Append instructions that push the next of the values."""
        self.do("LOAD_DEREF", self._values)
        self.constant(self._taken)
        self.do("BINARY_SUBSCR")
        self.skip()

    def skip(self) -> None:
        """Do not use the next of the values."""
        self._taken += 1

    def begin(self) -> None:
        """Append the instructions with which a function begins."""
        self.do("COPY_FREE_VARS", len(self.code.freevars))
        self.do("RESUME", 0)

    def fill_variables(self, activation: Activation, unbound: frozenset[int]) -> None:
        """Append instructions that fill the variables. unbound: slots without a value after all."""
        for slot in activation.slots:
            if slot in unbound:
                self.skip()
            else:
                self.take()
                self.do("STORE_FAST", slot)
        if activation.code.co_argcount and (0 not in activation.slots or 0 in unbound):
            self.do("DELETE_FAST", 0)

    def fill_stack(self, activation: Activation) -> None:
        """Append instructions that fill the stack, and open the handlers."""
        offsets = iter(activation.offsets)
        for kind in activation.at.stack:
            if kind == NULL:
                self.do("PUSH_NULL")
            elif kind == LASTI:
                self.offsets[len(self.code.consts)] = next(offsets) // 2
                self.constant(0)
            else:
                self.take()
            if kind == HANDLED:
                self.do("PUSH_EXC_INFO")
                self.do("POP_TOP")

    def release_values(self) -> None:
        """Append an instruction that empties the variable with the values: from then on the activation alone holds them."""
        self.do("DELETE_DEREF", self._values)

    def call(self, activation: Activation) -> tuple[int, int]:
        """Append the call of the continuation of the called function; return the first and the last code unit that its exception handler covers."""
        self.take()
        if _NULL_FIRST:
            self.do("PUSH_NULL")
            self.do("SWAP", 2)
        else:
            self.do("PUSH_NULL")
        self.release_values()
        first = len(self.made) - 1  # 3.13 looks up the handler by the code unit before the CALL
        if "PRECALL" in opcode.opmap:
            self.do("PRECALL", 0)
        self.do("CALL", 0)
        last = len(self.made) - 1
        if activation.discards:
            self.do("POP_TOP")
        for _ in range(activation.at.above):
            self.do("PUSH_NULL")
        return first, last


def _copy(activation: Activation, unbound: frozenset[int], calls: bool) -> CodeType:
    """Make the code of the continuation. unbound: slots without a value after all; calls: the last value continues the call in progress."""
    # imported where it is needed: that takes 30 ms, and most residuals are never left
    from bytecode import ConcreteBytecode  # noqa: PLC0415
    from bytecode.concrete import ExceptionTableEntry  # noqa: PLC0415
    from bytecode.instr import InstrLocation  # noqa: PLC0415

    original, at = activation.code, activation.at
    code = ConcreteBytecode.from_code(original, extended_arg=True)
    code.freevars.append(_VALUES)
    code.flags &= ~_VARIADIC
    code.argcount, code.posonlyargcount, code.kwonlyargcount = min(original.co_argcount, 1), 0, 0
    line, end_line, column, end_column = at.position
    prologue = _Prologue(activation, code, InstrLocation(line, end_line, column, end_column))
    prologue.begin()
    prologue.fill_variables(activation, unbound)
    prologue.fill_stack(activation)
    covered = None
    if calls:
        covered = prologue.call(activation)
    else:
        prologue.release_values()
    prologue.do("JUMP_FORWARD", at.offset // 2)
    size = len(prologue.made)
    for index, offset in prologue.offsets.items():
        code.consts[index] = offset + size
    for entry in code.exception_table:
        entry.start_offset += size
        entry.stop_offset += size
        entry.target += size
    if covered is not None and at.handler is not None:
        handler = at.handler
        code.exception_table.insert(0, ExceptionTableEntry(*covered, handler.target // 2 + size, handler.depth, handler.lasti))
    code[:0] = prologue.made
    return code.to_code(original.co_stacksize + _MORE, compute_exception_stack_depths=False)


class Exit:
    """A place where the residual is left: the activations that are resumed, the outermost first, and the instruction, by code and offset."""

    __slots__ = ("_codes", "activations", "count", "often", "site")

    def __init__(self, activations: Sequence[Activation], site: tuple[CodeType, int]) -> None:
        self.activations = tuple(activations)
        self.site = site
        self._codes: dict[tuple[int, frozenset[int]], CodeType] = {}
        #: how often the residual was left here; what is called when that was OFTEN
        self.count = 0
        self.often: Callable[[Exit], None] | None = None

    def begin(self, values: tuple[object, ...], missing: object) -> FunctionType:
        """Return the function that continues the outermost activation. values: those of all activations; missing: stands for no value."""
        self.count += 1
        if self.count == OFTEN and self.often is not None:
            self.often(self)
        end, inner = len(values), None
        for k in reversed(range(len(self.activations))):
            one = self.activations[k]
            start = end - one.size()
            mine, end = values[start:end], start
            unbound = frozenset([slot for slot, value in zip(one.slots, mine, strict=False) if value is missing])
            code = self._codes.get((k, unbound))
            if code is None:
                code = self._codes[k, unbound] = _copy(one, unbound, inner is not None)
            inner = _function(one, code, mine if inner is None else (*mine, inner))
        assert inner is not None
        return inner

    def __repr__(self) -> str:
        last = self.activations[-1]
        return f"<line {last.at.position[0]} of {last.code.co_qualname}>"


def _function(activation: Activation, code: CodeType, values: tuple[object, ...]) -> FunctionType:
    """Make the function that continues an activation when it is called without arguments."""
    closure = (*(CellType() for _ in activation.code.co_freevars), CellType(values))
    made = FunctionType(code, activation.namespace, activation.code.co_name, (None,) * code.co_argcount, closure)
    made.__qualname__ = activation.code.co_qualname
    return made
