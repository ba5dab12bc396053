"""Encoding of instructions as a code object: jumps, as CPython's Python/assemble.c makes them; the package ``bytecode`` writes the bytes and the tables.

Differences between Python versions are found by querying the running Python (``opcode.opmap``, and the code that its own compiler emits
for a sample), therefore no table of version numbers is needed.
"""

import dis
import itertools
import opcode
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Final

from hovis.bytecode.decode import location_of
from hovis.bytecode.instructions import Position
from hovis.bytecode.normalize import INDEXED
from hovis.bytecode.versions import UNREADABLE
from hovis.bytecode.versions.opcode_rows import SUBSCRIPT as SUBSCRIPT_OPERATOR

if TYPE_CHECKING or UNREADABLE is None:  # see hovis.bytecode.decode
    from bytecode import CompilerFlags, ConcreteBytecode, ConcreteInstr
    from bytecode.concrete import ExceptionTableEntry
    from bytecode.instr import UNSET, opcode_has_argument


class _Opcodes(dict[str, int]):
    """Opcodes by name. On a Python for which nothing is assembled, missing names are NOPs."""

    def __missing__(self, name: str) -> int:
        if UNREADABLE is None:
            raise KeyError(name)
        return self.get("NOP", 0)


OP: Final[dict[str, int]] = _Opcodes(opcode.opmap)

#: Do ``not`` and every conditional jump require an exact bool (3.13)?
STRICT_BOOL: Final = "TO_BOOL" in OP
#: 3.11 encodes the number of arguments of a call twice (PRECALL and CALL), and pushes NULL before the callable.
PRECALL: Final = OP.get("PRECALL")
NULL_FIRST: Final = "KW_NAMES" in OP
#: 3.11 has separate forward and backward conditional jumps.
DIRECTED: Final = "POP_JUMP_FORWARD_IF_TRUE" in OP

#: CALL_FUNCTION_EX always takes keyword arguments, or NULL (3.14).
KEYWORDS_OR_NULL: Final = "POP_ITER" in OP

#: END_FOR pops only one value; the iterator is popped by the POP_TOP or POP_ITER that follows it (3.13).
END_FOR_POPS_ONE: Final = "CALL_KW" in OP

_raw_caches = opcode._inline_cache_entries  # type: ignore[attr-defined]
#: The number of code units of each instruction including its caches.
_SIZES: Final[list[int]] = [
    1 + (_raw_caches.get(name, 0) if isinstance(_raw_caches, Mapping) else _raw_caches[k]) for k, name in enumerate(opcode.opname[:256])
]

LOAD_CONST: Final = OP["LOAD_CONST"]
LOAD_FAST: Final = OP["LOAD_FAST"]
STORE_FAST: Final = OP["STORE_FAST"]
DELETE_FAST: Final = OP["DELETE_FAST"]
LOAD_DEREF: Final = OP["LOAD_DEREF"]
POP_TOP: Final = OP["POP_TOP"]
#: Pops the iterator behind END_FOR (3.13: a POP_TOP).
POP_ITER: Final = OP.get("POP_ITER", POP_TOP)
COPY: Final = OP["COPY"]
SWAP: Final = OP["SWAP"]
POP_EXCEPT: Final = OP["POP_EXCEPT"]
RERAISE: Final = OP["RERAISE"]
#: Moves a local onto the stack (3.12).
TAKE_FAST: Final = OP.get("LOAD_FAST_AND_CLEAR")

#: The instruction that turns a StopIteration leaving a generator into a RuntimeError, where the generator's own code has to do that (3.12).
STOPITERATION_ERROR: Final = (OP["CALL_INTRINSIC_1"], 3) if "CALL_INTRINSIC_1" in OP else ()

#: (instruction, the next one) -> the superinstruction for both, whose argument holds each local in four bits (3.13).
_FUSED: Final = {
    (OP[first], OP[second]): OP[f"{first}_{second}"]
    for first in ("LOAD_FAST", "STORE_FAST")
    for second in ("LOAD_FAST", "STORE_FAST")
    if f"{first}_{second}" in OP
}

#: Instructions that cannot raise.
_HARMLESS: Final = frozenset(OP[name] for name in ("LOAD_FAST", "LOAD_CONST", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_AND_CLEAR", "PUSH_NULL", "COPY") if name in OP)

#: The instruction of a subscript, and its argument. (3.14 has no BINARY_SUBSCR.)
SUBSCRIPT: Final = (OP["BINARY_SUBSCR"], 0) if "BINARY_SUBSCR" in OP else (OP["BINARY_OP"], SUBSCRIPT_OPERATOR)

NOWHERE: Final[Position] = (None, None, None, None)


def argument_of(expression: str, name: str) -> int:
    """Return the argument that the compiler of the running Python gives to the instruction called name in a sample expression."""
    return next(i.arg for i in dis.get_instructions(compile(expression, "", "eval")) if i.opname == name and i.arg is not None)


def _in_generator(statement: str, name: str) -> int:
    """Return the argument of the instruction called name in a sample statement of a generator function, or 0 if it has none."""
    code = compile(f"def f():\n try:\n  {statement}\n finally:\n  f", "", "exec").co_consts[0]
    return next(i.arg or 0 for i in dis.get_instructions(code) if i.opname == name)


#: The arguments of YIELD_VALUE in a ``yield`` and in a ``yield from``; what follows it is RESUME 1 or 2.
YIELD: Final = _in_generator("yield", "YIELD_VALUE")
YIELD_FROM: Final = _in_generator("yield from f", "YIELD_VALUE")


class Label:
    """A jump target: the index of an instruction, once it is known."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at = -1


class Region:
    """Where an exception goes: the stack is cut to depth, then execution continues at label (``lasti``: with the offset of the raising
    instruction beneath the exception).
    """

    __slots__ = ("depth", "label", "lasti")

    def __init__(self, label: Label, depth: int, lasti: bool = False) -> None:
        self.label, self.depth, self.lasti = label, depth, lasti


class Assembly:
    """Instructions in order. ``place`` and ``region`` apply to the instructions that follow; ``depth`` is the current height of the stack."""

    def __init__(self) -> None:
        self.ops: list[int] = []
        self.args: list[int] = []
        self.places: list[object] = []
        self.regions: list[Region | None] = []
        self.jumps: dict[int, Label] = {}
        self.derefs: list[int] = []
        self.place: object = None
        self.region: Region | None = None
        self.depth = 0
        self.high = 0
        self._barrier = 0

    def do(self, op: int, arg: int = 0, effect: int = 0) -> None:
        """Append an instruction that changes the stack's depth by effect."""
        depth = self.depth = self.depth + effect
        if depth > self.high:
            self.high = depth
        ops = self.ops
        if _FUSED and len(ops) > self._barrier and arg < 16:
            both = _FUSED.get((ops[-1], op))
            if both is not None and self.args[-1] < 16 and self.regions[-1] is self.region:
                ops[-1] = both
                self.args[-1] = self.args[-1] << 4 | arg
                return
        ops.append(op)
        self.args.append(arg)
        self.places.append(self.place)
        self.regions.append(self.region)

    def cover(self, region: Region) -> None:
        """Put the following instructions into region, and with them an instruction in front that cannot raise.

        When an inlined call raises, 3.13 looks up the handler by the code unit before the CALL (Python/ceval.c, resume_with_error).
        """
        self.region = region
        if END_FOR_POPS_ONE:
            if len(self.ops) > self._barrier and self.ops[-1] in _HARMLESS:
                self.regions[-1] = region
            else:
                self.do(OP["NOP"])

    def grow(self, count: int) -> None:
        """Add count to the stack depth, for values that no instruction before this point pushed."""
        self.depth += count
        self.high = max(self.high, self.depth)

    def deref(self, op: int, cell: int, effect: int) -> None:
        """Append an instruction on a closure cell; cells are numbered after the locals, whose number is not known yet."""
        self.derefs.append(len(self.ops))
        self.do(op, cell, effect)

    def bind(self, label: Label) -> None:
        """Let label point to the next instruction."""
        label.at = self._barrier = len(self.ops)

    def jump(self, label: Label, quiet: bool = False) -> None:
        """Append a jump to label; quiet: a backward jump that does not check for signals."""
        self._jump(OP["JUMP_FORWARD"] if label.at < 0 else OP["JUMP_BACKWARD_NO_INTERRUPT"] if quiet else OP["JUMP_BACKWARD"], label, 0)

    def _jump(self, op: int, label: Label, effect: int) -> None:
        self.jumps[len(self.ops)] = label
        self.do(op, 0, effect)
        self._barrier = len(self.ops)

    def jump_if(self, test: str, label: Label, quiet: bool = False) -> None:
        """Append a jump that pops a value and goes to label if it is ``test``: TRUE, FALSE, NONE or NOT_NONE (quiet: see jump)."""
        backward = label.at >= 0
        if DIRECTED and not (backward and quiet):
            self._jump(OP[f"POP_JUMP_{'BACKWARD' if backward else 'FORWARD'}_IF_{test}"], label, -1)
        elif not backward:
            self._jump(OP[f"POP_JUMP_IF_{test}"], label, -1)
        else:
            over = Label()
            self._jump(OP[f"POP_JUMP_{'FORWARD_' if DIRECTED else ''}IF_{OPPOSITE[test]}"], over, -1)
            self.jump(label, quiet)
            self.bind(over)

    def send(self, ended: Label) -> Label:
        """Append a SEND of the value on top to the receiver beneath it, which jumps to ended when the receiver has ended; return the label of
        the SEND.
        """
        again = Label()
        self.bind(again)
        self._jump(OP["SEND"], ended, 0)
        return again

    def send_again(self, again: Label) -> None:
        """Append a jump back to a SEND, without a check for signals."""
        self._jump(OP["JUMP_BACKWARD_NO_INTERRUPT"], again, 0)

    def for_iter(self, exhausted: Label) -> None:
        """Append a FOR_ITER: push the next item of the iterator on top, or jump to exhausted, without the iterator."""
        if INDEXED:
            self.do(OP["PUSH_NULL"], 0, 1)
        self._jump(OP["FOR_ITER"], exhausted, 1)

    # --------------------------------------------------------------------------------------------- to bytes

    def layout(self) -> list[int]:
        """Compute the offset of every instruction in code units, and that of the end; fill in the arguments of jumps."""
        ops, args = self.ops, self.args
        sizes = [_SIZES[op] if arg <= 0xFF else _SIZES[op] + 1 + (arg > 0xFFFF) + (arg > 0xFFFFFF) for op, arg in zip(ops, args, strict=True)]
        while True:
            starts = list(itertools.accumulate(sizes, initial=0))
            settled = True
            for k, label in self.jumps.items():
                arg = args[k] = abs(starts[label.at] - starts[k + 1])
                need = _SIZES[ops[k]] + (arg > 0xFF) + (arg > 0xFFFF)
                if need > sizes[k]:
                    sizes[k] = need
                    settled = False
            if settled:
                return starts

    def instructions(self, starts: list[int], position: Callable[[object], Position]) -> "Iterator[ConcreteInstr]":
        """Yield the instructions with their locations, and their caches."""
        names, known = opcode.opname, dict[tuple[object, ...], ConcreteInstr]()
        place: object = self
        for k, (op, arg) in enumerate(zip(self.ops, self.args, strict=True)):
            if self.places[k] is not place:
                place = self.places[k]
                location = location_of(position(place))
                known.clear()
                cache = ConcreteInstr("CACHE", 0, location=location)
            size = _SIZES[op]
            prefixes = starts[k + 1] - starts[k] - size
            made = known.get((op, arg, prefixes))
            if made is None:
                argument = arg if opcode_has_argument(op) else UNSET
                made = known[op, arg, prefixes] = ConcreteInstr(names[op], argument, location=location, extended_args=prefixes or None)
            yield made
            for _ in range(size - 1):
                yield cache

    def exception_table(self, starts: list[int]) -> "Iterator[ExceptionTableEntry]":
        """Yield the entries of the exception table (Objects/exception_handling_notes.txt)."""
        k = 0
        for region, covered in itertools.groupby(self.regions):
            first, k = k, k + len(list(covered))
            if region is not None:
                yield ExceptionTableEntry(starts[first], starts[k] - 1, starts[region.label.at], region.depth, region.lasti)


OPPOSITE: Final = {"TRUE": "FALSE", "FALSE": "TRUE", "NONE": "NOT_NONE", "NOT_NONE": "NONE"}


def unique(name: str, taken: set[str], given: bool = False) -> str:
    """Return name as an identifier that is not taken, and add it to taken. given: callers pass an argument by this name, therefore it may be any
    text.
    """
    if not given and not name.isidentifier():
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_")[:40] or "value"
        if not name.isidentifier():
            name = "v" + name
    found, count = name, 1
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


def make_code(
    assembly: Assembly,
    constants: Sequence[object],
    names: Sequence[str],
    variables: Sequence[str],
    cells: Sequence[str],
    arguments: tuple[int, int, int],
    flags: int,
    file: str,
    name: str,
    qualname: str,
    first_line: int,
    position: Callable[[object], Position],
) -> tuple[CodeType, list[int]]:
    """Build the code object; return it with the offset of every instruction in code units. arguments: the numbers of all but keyword-only, of
    positional-only, and of keyword-only parameters.
    """
    for k in assembly.derefs:
        assembly.args[k] += len(variables)
    starts = assembly.layout()
    code = ConcreteBytecode(
        assembly.instructions(starts, position),
        consts=tuple(constants),
        names=tuple(names),
        varnames=variables,
        exception_table=list(assembly.exception_table(starts)),
    )
    code.argcount, code.posonlyargcount, code.kwonlyargcount = arguments
    code.freevars = list(cells)
    code.filename, code.name, code.qualname, code.first_lineno = file, name, qualname, first_line
    code.flags = CompilerFlags(flags)
    return code.to_code(assembly.high, compute_exception_stack_depths=False), starts
