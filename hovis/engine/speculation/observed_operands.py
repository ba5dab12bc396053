"""Which operands of an instruction of CPython are where in its frame: what type feedback reads before the instruction is executed."""

import dis
import functools
from collections.abc import Sequence
from types import CodeType
from typing import Final, NamedTuple

from hovis.bytecode.decode import Raw, decode
from hovis.bytecode.instructions import localsplus
from hovis.bytecode.normalize import INDEXED

#: The number of operands of each instruction whose operands are observed.
_OPERANDS: Final[dict[str, int]] = {
    **dict.fromkeys(("BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "BINARY_SUBSCR", "DELETE_SUBSCR", "FORMAT_WITH_SPEC"), 2),
    **dict.fromkeys(
        ("UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "TO_BOOL", "GET_ITER", "FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LOAD_ATTR", "LOAD_METHOD",
         "STORE_ATTR", "DELETE_ATTR", "PUSH_EXC_INFO", "RERAISE", "FORMAT_SIMPLE", "CONVERT_VALUE", "BEFORE_WITH", "GET_LEN"), 1
    ),
    **{name: 1 for name in dis.opmap if name.startswith(("POP_JUMP", "JUMP_IF_")) and name.endswith(("_TRUE", "_FALSE", "_OR_POP"))},
    "STORE_SUBSCR": 3,
}  # fmt: skip
_PRECALL: Final = "PRECALL" in dis.opmap
#: Is the NULL that is pushed where the callee is no method above it, or below?
_NULL_ABOVE: Final = "CALL_KW" in dis.opmap
_ENDS: Final = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})


class Operands(NamedTuple):
    """Which operands of an instruction are observed: their number, and ``at``, the position of the topmost one in the frame. Below those of a call are
    ``callee`` and ``bound``, which is not NULL if the callee is a method. stored: the name of the attribute that is stored.
    """

    at: int
    number: int
    callee: int | None = None
    bound: int = 0
    stored: str | None = None


@functools.lru_cache(maxsize=4096)
def observed(code: CodeType) -> tuple[dict[int, Operands], list[int]]:
    """Return which operands are observed, by the offset of the instruction; and the offsets of all instructions."""
    raws, found = decode(code), {}
    bottom = len(localsplus(code)) - 1
    for raw, depth in zip(raws, depths(raws), strict=True):
        if depth is None:
            continue
        top = bottom + depth
        if raw.name in ("CALL", "CALL_KW"):
            top -= raw.name == "CALL_KW"  # the names of the arguments
            below = top - raw.arg
            found[raw.offset] = Operands(top, raw.arg, *((below - 1, below) if _NULL_ABOVE else (below, below - 1)))
        elif raw.name in _OPERANDS:
            top -= INDEXED and raw.name == "FOR_ITER"
            found[raw.offset] = Operands(top, _OPERANDS[raw.name], stored=code.co_names[raw.arg] if raw.name == "STORE_ATTR" else None)
        elif raw.name == "RAISE_VARARGS":
            found[raw.offset] = Operands(top, raw.arg)
        elif raw.name == "FORMAT_VALUE":
            found[raw.offset] = Operands(top, 1 + bool(raw.arg & 4))
    return found, [raw.offset for raw in raws]


def depths(raws: Sequence[Raw]) -> list[int | None]:
    """Return the depth of the stack before each instruction, NULLs included; None: it is not reached, or all if the code is none of CPython's."""
    found: list[int | None] = [None] * len(raws)
    todo = [(0, 0)]
    while todo:
        at, depth = todo.pop()
        if found[at] is not None:
            if found[at] != depth:
                return [None] * len(raws)
            continue
        found[at] = depth
        raw = raws[at]
        if raw.entry is not None:
            todo.append((raw.handler, raw.entry.depth + raw.entry.lasti + 1))
        if raw.target is not None:
            todo.append((raw.target, depth + _effect(raw, True)))
        if raw.name not in _ENDS:
            todo.append((at + 1, depth + _effect(raw, False)))
    return found


def _effect(raw: Raw, jump: bool) -> int:
    """Return by how much an instruction changes the depth of the stack."""
    if raw.name == "RETURN_GENERATOR":
        return 1  # what is sent to the generator first
    if _PRECALL and raw.name in ("PRECALL", "CALL"):  # ``dis`` says that the first one takes the arguments
        return -raw.arg - 1 if raw.name == "CALL" else 0
    opcode = dis.opmap[raw.name]
    return dis.stack_effect(opcode, raw.arg if opcode >= dis.HAVE_ARGUMENT else None, jump=jump)
