"""Continuation of activations in their original code, from an instruction in the middle (on-stack replacement).

A continuation is a copy of the code object with a prologue, which fills the variables and the stack and then jumps to the instruction.  That of
a function whose call is in progress first calls the continuation of the called function, where the exception handlers of the call apply.
"""

import opcode
import os
from collections.abc import Callable, Sequence
from inspect import CO_GENERATOR
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hovis.base import own_code
from hovis.bytecode.decode import location_of
from hovis.bytecode.instructions import localsplus
from hovis.bytecode.normalize import INDEXED
from hovis.bytecode.resumption.points import ResumePoint
from hovis.bytecode.stack_layout import HANDLED, LASTI, NULL
from hovis.bytecode.versions import UNREADABLE
from hovis.bytecode.versions.opcode_rows import SUBSCRIPT

# Not where it is needed: a process that is forked while another thread imports the module could never import it.
if TYPE_CHECKING or UNREADABLE is None:
    from bytecode import ConcreteBytecode, ConcreteInstr
    from bytecode.concrete import ExceptionTableEntry
    from bytecode.instr import InstrLocation

#: The name of the free variable that holds the values of a continuation until it has begun.
_VALUES: Final = ".values"
#: A call pushes NULL before the callable (3.11, 3.12), or after it.
_NULL_FIRST: Final = "KW_NAMES" in opcode.opmap
#: The instruction of a subscript.
_SUBSCRIPT: Final = ("BINARY_SUBSCR",) if "BINARY_SUBSCR" in opcode.opmap else ("BINARY_OP", SUBSCRIPT)
#: co_flags: ``*args`` and ``**kwargs``.
_VARIADIC: Final = 0x04 | 0x08
#: Number of values on the stack that a prologue needs in addition to those of the code.
_MORE: Final = 8
#: The descriptors of what an AttributeError tells of the attribute; a subclass may hide them.
_NAME: Final[Any] = AttributeError.__dict__["name"]
_OBJECT: Final[Any] = AttributeError.__dict__["obj"]
#: The name of the file of models: the warnings and logging modules skip frames of such files when they count frames (see is_internal_frame in
#: Python/_warnings.c).
MODELS: Final = "<hovis: importlib._bootstrap>"
#: The folder of hovis.
_PACKAGE: Final = os.path.dirname(os.path.dirname(own_code.__file__)) + os.sep
#: An iterator that has ended.
_ENDED: Final = iter(())
next(_ENDED, None)
#: Number of times that a residual is left at one place, before that is reported.
OFTEN: Final = 16


class Activation(NamedTuple):
    """An activation to be resumed.

    code        the original code
    at          where it is resumed
    namespace   the globals
    slots       the slots of the variables that have a value
    discards    is the result of the call in progress dropped?
    offsets     the offsets in bytes that its stack holds for exception handlers, from the bottom
    constructs  is the call in progress that of a class? Then the function called is ``__init__``, and the result is the instance
    calls       is what continues the call in progress a value (``__next__`` of a generator), not the next activation?
    is_model    is the code a model of C code, whose frames are hidden?
    end         the result of the call in progress that ends the loop at whose head it stands
    asks        the name of the attribute that the call in progress gets; "": it gets none

    Its values are those of the variables, then those of the stack from the bottom, then the instance, or the object whose attribute the call gets,
    then what continues the call.  For an open handler, which has saved the exception handled before on the stack, the value is the exception that it
    handles.
    """

    code: CodeType
    at: ResumePoint
    namespace: dict[str, Any]
    slots: tuple[int, ...]
    discards: bool
    offsets: tuple[int, ...]
    constructs: bool = False
    calls: bool = False
    is_model: bool = False
    end: object = None
    asks: str = ""

    def size(self) -> int:
        """Return the number of its values."""
        return len(self.slots) + sum(kind not in (NULL, LASTI) for kind in self.at.stack) + self.constructs + bool(self.asks) + self.calls


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
        self.do(*_SUBSCRIPT)
        self.skip()

    def skip(self) -> None:
        """Do not use the next of the values."""
        self._taken += 1

    def begin(self) -> None:
        """Append the instructions with which a function begins, or a generator."""
        place = self.place
        if self.code.flags & CO_GENERATOR:
            self.place = location_of((self.code.first_lineno, None, None, None))  # its line until it begins
        self.do("COPY_FREE_VARS", len(self.code.freevars))
        if self.code.flags & CO_GENERATOR:
            self.do("RETURN_GENERATOR")
            self.do("POP_TOP")
        self.place = place
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
        """Append the call of what continues the call in progress; return the first and the last code unit that its exception handler covers."""
        if activation.constructs or activation.asks:
            self.take()
        self.take()
        self._push_null()
        self.release_values()
        first = len(self.made) - 1  # 3.13 looks up the handler by the code unit before the CALL
        self._do_call(0)
        last = len(self.made) - 1
        if activation.asks:
            self.do("SWAP", 2)
            self.do("POP_TOP")
        if activation.discards or activation.constructs:
            self.do("POP_TOP")
        for _ in range(activation.at.above):
            self.do("PUSH_NULL")
        return first, last

    def _push_null(self) -> None:
        """Append instructions that push the NULL of a call, of which the callable is on the stack."""
        self.do("PUSH_NULL")
        if _NULL_FIRST:
            self.do("SWAP", 2)

    def _do_call(self, count: int) -> None:
        if "PRECALL" in opcode.opmap:
            self.do("PRECALL", count)
        self.do("CALL", count)

    def finish(self, at: ResumePoint, end: object, handler: list["ConcreteInstr"]) -> None:
        """Append the jump to where the activation is resumed, then the instructions of a handler. end: the result that ends a loop."""
        jump = self._apart(self.do, "JUMP_FORWARD", at.offset // 2 + len(handler))
        if at.again >= 0:
            self.do("COPY", 1)
            self.constant(end)
            self.do("IS_OP", 0)
            ending = self._apart(self._end_loop, len(jump) + len(handler) + at.again // 2)
            self.do("POP_JUMP_IF_FALSE" if "POP_JUMP_IF_FALSE" in opcode.opmap else "POP_JUMP_FORWARD_IF_FALSE", len(ending))
            self.made += ending
        self.made += jump + handler

    def _end_loop(self, forward: int) -> None:
        """Append instructions that drop END, and execute the FOR_ITER with an iterator that has ended."""
        self.do("POP_TOP")
        self.do("POP_TOP" if not INDEXED else "POP_ITER")
        self.constant(_ENDED)
        if INDEXED:
            self.do("PUSH_NULL")
        self.do("JUMP_FORWARD", forward)

    def handler(self, asks: str) -> list["ConcreteInstr"]:
        """Return the handler of exceptions out of the call in progress: it calls ``_pass_on``, and raises them again. asks: see Activation."""
        return self._apart(self._handle, asks)

    def _handle(self, asks: str) -> None:
        self.constant(_pass_on)
        self._push_null()
        self.do("COPY", 3)
        if asks:
            self.do("COPY", 5)
        else:
            self.constant(None)
        self.constant(asks)
        self._do_call(3)
        self.do("POP_TOP")
        if asks:
            self.do("SWAP", 2)
            self.do("POP_TOP")
        self.do("RERAISE", 0)

    def _apart(self, append: Callable[..., None], *args: Any) -> list["ConcreteInstr"]:
        """Return the instructions that ``append`` appends, instead of appending them."""
        before, self.made = self.made, []
        append(*args)
        found, self.made = self.made, before
        return found


def _pass_on(exception: BaseException, held: object, name: str) -> None:
    """Remove the entries of models, and of what they call in hovis, behind the first one from the traceback; tell an AttributeError of which
    attribute it is.

    held, name: the object whose attribute was asked for, and the name of that; "": none was (set_attribute_error_context in Objects/object.c).
    """
    if name and isinstance(exception, AttributeError) and _NAME.__get__(exception) is None and _OBJECT.__get__(exception) is None:
        _NAME.__set__(exception, name)
        _OBJECT.__set__(exception, held)
    trace = exception.__traceback__
    if trace is not None:
        rest = trace.tb_next
        while rest is not None and rest.tb_frame.f_code.co_filename.startswith((MODELS, _PACKAGE)):
            rest = rest.tb_next
        trace.tb_next = rest


def _copy(activation: Activation, unbound: frozenset[int], calls: bool, handles: bool) -> CodeType:
    """Make the code of the continuation. unbound: slots without a value after all; calls: the last value continues the call in progress; handles:
    exceptions out of that have to be changed.
    """
    original, at = activation.code, activation.at
    code = ConcreteBytecode.from_code(original, extended_arg=True)
    for one in code:
        place = one.location
        if place is not None and place.col_offset is None and place.end_lineno is not None and place.end_lineno != place.lineno:
            one.location = location_of((place.lineno, None, None, None))  # lines without columns, which the package reads but does not write
    code.freevars.append(_VALUES)
    code.flags &= ~_VARIADIC
    code.argcount, code.posonlyargcount, code.kwonlyargcount = min(original.co_argcount, 1), 0, 0
    if activation.is_model:
        code.filename = MODELS
    line, end_line, column, end_column = at.position
    prologue = _Prologue(activation, code, location_of((line, end_line, column, end_column)))
    prologue.begin()
    prologue.fill_variables(activation, unbound)
    prologue.fill_stack(activation)
    covered = prologue.call(activation) if calls else None
    if covered is None:
        prologue.release_values()
    handler = prologue.handler(activation.asks) if handles else []
    prologue.finish(at, activation.end, handler)
    size = len(prologue.made)
    for index, offset in prologue.offsets.items():
        code.consts[index] = offset + size
    for entry in code.exception_table:
        entry.start_offset += size
        entry.stop_offset += size
        entry.target += size
    if covered is not None:
        ranges = [covered, (size - len(handler), size - 1)] if handler else [covered]
        table = [ExceptionTableEntry(*units, at.handler.target // 2 + size, at.handler.depth, at.handler.lasti) for units in ranges] if at.handler else []
        if handler:
            table[:1] = [ExceptionTableEntry(*covered, size - len(handler), len(at.stack) + bool(activation.asks), False)]
        code.exception_table[:0] = table
    code[:0] = prologue.made
    return code.to_code(original.co_stacksize + _MORE, compute_exception_stack_depths=False)


class Continuation:
    """The activations that are resumed, the outermost first: each is in a call of the next one."""

    __slots__ = ("_codes", "activations")

    def __init__(self, activations: Sequence[Activation]) -> None:
        self.activations = tuple(activations)
        self._codes: dict[tuple[int, frozenset[int]], CodeType] = {}

    def begin(self, values: tuple[object, ...], missing: object) -> FunctionType:
        """Return the function that continues the outermost activation. values: those of all activations; missing: stands for no value."""
        end, inner = len(values), None
        for k in reversed(range(len(self.activations))):
            one = self.activations[k]
            start = end - one.size()
            mine, end = values[start:end], start
            unbound = frozenset([slot for slot, value in zip(one.slots, mine, strict=False) if value is missing])
            code = self._codes.get((k, unbound))
            if code is None:
                hides = not one.is_model and k + 1 < len(self.activations) and self.activations[k + 1].is_model
                code = self._codes[k, unbound] = _copy(one, unbound, inner is not None or one.calls, hides or bool(one.asks))
            inner = _function(one, code, mine if inner is None else (*mine, inner))
        assert inner is not None
        return inner

    def __repr__(self) -> str:
        last = self.activations[-1]
        return f"<line {last.at.position[0]} of {last.code.co_qualname}>"


class Exit(Continuation):
    """A place where the residual is left: the activations that are resumed, and the instruction, by code and offset."""

    __slots__ = ("count", "often", "site")

    def __init__(self, activations: Sequence[Activation], site: tuple[CodeType, int]) -> None:
        super().__init__(activations)
        self.site = site
        #: how often the residual was left here; what is called when that was OFTEN
        self.count = 0
        self.often: Callable[[Exit], None] | None = None

    def begin(self, values: tuple[object, ...], missing: object) -> FunctionType:
        """Return the function that continues the outermost activation (see Continuation); count how often the residual is left here."""
        self.count += 1
        if self.count == OFTEN and self.often is not None:
            self.often(self)
        return super().begin(values, missing)


def _function(activation: Activation, code: CodeType, values: tuple[object, ...]) -> FunctionType:
    """Make the function that continues an activation when it is called without arguments."""
    closure = (*(CellType() for _ in activation.code.co_freevars), CellType(values))
    made = FunctionType(code, activation.namespace, activation.code.co_name, (None,) * code.co_argcount, closure)
    made.__qualname__ = activation.code.co_qualname
    return made
