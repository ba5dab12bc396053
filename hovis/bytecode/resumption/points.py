"""Points in bytecode at which a frame can be resumed: the CPython instruction and its stack, for a state between two normalised instructions."""

from types import CodeType
from typing import Final, NamedTuple

from hovis.base.once import COMPILER
from hovis.bytecode.decode import EXTENDED_ARG, exception_table
from hovis.bytecode.instructions import Code, effect
from hovis.bytecode.normalize import Expansion
from hovis.bytecode.stack_layout import NULL, Layout, Step


class Handler(NamedTuple):
    """The exception handler that covers a call: the offset in bytes where it begins, the stack depth there, whether it is passed the offset of the call."""

    target: int
    depth: int
    lasti: bool


class ResumePoint(NamedTuple):
    """Where a frame is resumed.

    offset    of the CPython instruction to continue with, in bytes
    stack     the contents of the stack there (kinds of stack_layout), below the result of the call in progress, if there is one
    above     number of NULLs on top of that result
    dropped   number of values that the engine's stack has in addition
    position  of the source code at that instruction, or of the call in progress
    handler   of exceptions out of the call in progress
    again     offset in bytes of the FOR_ITER that has made the call in progress: its result may be END; -1: another instruction has made it
    """

    offset: int
    stack: tuple[int, ...]
    above: int
    dropped: int
    position: tuple[int | None, int | None, int | None, int | None]
    handler: Handler | None
    again: int = -1


#: Instructions without a normalised form that belong to the call that follows.
_BEFORE_CALL: Final = frozenset({"PRECALL", "KW_NAMES"})
#: Ops that may execute a call whose caller can be resumed: they push its result, or nothing, and continue with the next instruction.
_CALLS: Final = frozenset(
    {"Call", "CallEx", "GetAttr", "GetMethod", "GetItem", "SetAttr", "SetItem", "DelItem", "Unary", "Binary", "Inplace", "Compare", "Contains", "GetIter",
     "Extend", "Format"}
)  # fmt: skip

#: Maximal number of code objects whose expansion is kept.
_LIMIT: Final = 512
_known: dict[int, tuple[CodeType, Expansion, list[Layout | None], dict[int, int]]] = {}


def _expanded(code: CodeType) -> tuple[CodeType, Expansion, list[Layout | None], dict[int, int]]:
    found = _known.get(id(code))
    if found is None:
        made = Expansion(code)
        found = code, made, made.layouts(), {raw.offset: k for k, raw in enumerate(made.raws)}
        with COMPILER:
            while len(_known) >= _LIMIT:
                _known.pop(next(iter(_known)))
            _known[id(code)] = found
    return found


def before(code: Code, pc: int) -> ResumePoint | None:
    """Return the point before the instruction pc; None if CPython has none, as in the middle of one of its instructions."""
    _, expansion, layouts, index = _expanded(code.code)
    instructions = code.instructions
    at = index[instructions[pc].offset]
    dropped = 0
    if pc and instructions[pc - 1].offset == instructions[pc].offset:
        while instructions[pc].offset == expansion.raws[at].offset:
            if instructions[pc].op != "Pop":
                return None
            dropped += 1
            pc += 1
        at += 1
    layout = layouts[expansion.starts[at]]
    first = at
    while expansion.raws[first - 1].name in _BEFORE_CALL:
        first -= 1
    if expansion.raws[first].name == "CALL_KW":
        first -= 1  # pushes the names of the keywords, which are no value of the engine's stack
    begun = any(raw.name == "RESUME" for raw in expansion.raws[:first])  # what comes before makes the cells
    if layout is None or not begun or _is_inserted(expansion, at):
        return None
    return ResumePoint(_start(code.code, expansion.raws[first].offset), layout.stack, 0, dropped, expansion.raws[at].position, None)


def behind(code: Code, pc: int, discards: bool, steps: bool = False) -> ResumePoint | None:
    """Return the point behind the instruction pc, which executes a call. discards: the result of the call is dropped. steps: the instruction begins an
    iteration with the result, or ends the loop if that is END.
    """
    _, expansion, layouts, index = _expanded(code.code)
    one = code.instructions[pc]
    at = index[one.offset]
    pushed = True if steps else effect(one.op, one.arg)[1]
    last = pc + 1 == len(code.instructions) or code.instructions[pc + 1].offset != one.offset
    calls = one.op == "ForIter" if steps else one.op in _CALLS
    if not calls or not last or pushed != (not discards) or _is_inserted(expansion, at) or at + 1 == len(expansion.raws):
        return None
    layout = layouts[expansion.starts[at + 1]]
    if layout is None:
        return None
    stack, above = layout.stack, 0
    if pushed:
        while stack[-1] == NULL:
            stack, above = stack[:-1], above + 1
        stack = stack[:-1]
    raw = expansion.raws[at + 1]
    # not that of the expansion, which leaves out the handler around a whole generator
    handler = next((Handler(e.target, e.depth, e.lasti) for e in exception_table(code.code) if e.start <= one.offset < e.end), None)
    again = _start(code.code, one.offset) if steps else -1
    return ResumePoint(_start(code.code, raw.offset), stack, above, 0, expansion.raws[at].position, handler, again)


def _is_inserted(expansion: Expansion, at: int) -> bool:
    """Does the instruction belong to a ``yield from`` or ``await``, for which steps were inserted?"""
    step: Step = expansion.steps[min(expansion.starts[at], len(expansion.steps) - 1)]
    return step.op in ("Send", "EndSend")


def _start(code: CodeType, offset: int) -> int:
    """Return the offset of the first prefix of an instruction."""
    while offset and code.co_code[offset - 2] == EXTENDED_ARG:
        offset -= 2
    return offset
