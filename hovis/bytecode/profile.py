"""The profile that CPython keeps in code objects: which instructions have been executed (PEP 659; Python/specialize.c).

CPython counts in the inline cache of an instruction how often it was executed, and replaces instructions by variants for the classes of their
operands.  The copy of a code object has none of this, so that a comparison shows what has been executed.
"""

import dis
import sys
from types import CodeType
from typing import Final

from hovis.bytecode.instructions import TERMINAL, Code

_CACHE: Final = dis.opmap["CACHE"]
_RESUME: Final = dis.opmap["RESUME"]
#: 3.11 begins to count when a function has been called, or a loop has been executed, several times: then it replaces the instructions by those.
_ADAPTIVE: Final = {
    opcode: dis._all_opmap[f"{name}_ADAPTIVE"]  # type: ignore[attr-defined]
    for name, opcode in (dis.opmap.items() if sys.version_info < (3, 12) else ())
    if f"{name}_ADAPTIVE" in dis._all_opmap  # type: ignore[attr-defined]
}
#: Instructions whose cache does not tell whether they were executed.
_UNTOLD: Final = frozenset(opcode for name, opcode in dis.opmap.items() if "JUMP" in name)
#: The instructions of one call, of which only the first may be executed (3.11).
_PRECALL: Final = dis.opmap.get("PRECALL")


def executed(code: CodeType) -> dict[int, bool]:
    """Return whether each instruction with a cache has been executed, by its offset in bytes; empty if that is not known of any."""
    now, plain, fresh = code._co_code_adaptive, code.co_code, code.replace()._co_code_adaptive  # type: ignore[attr-defined]
    found: dict[int, bool] = {}
    at, before = 0, False
    while at < len(plain):
        opcode, end = plain[at], at + 2
        if opcode == _RESUME and _ADAPTIVE and now[at] == opcode:
            return {}
        while end < len(plain) and plain[end] == _CACHE:
            end += 2
        if end > at + 2 and opcode not in _UNTOLD:
            ran = now[at] != _ADAPTIVE.get(opcode, opcode) or now[at + 2 : at + 4] != fresh[at + 2 : at + 4]
            found[at] = ran or before
            before = ran and opcode == _PRECALL
        at = end
    return found if any(found.values()) else {}


class Profile:
    """What has been executed, at the time when it is asked for first."""

    __slots__ = ("_codes",)

    def __init__(self) -> None:
        self._codes: dict[CodeType, tuple[dict[int, bool], dict[int, bool]]] = {}

    def is_cold(self, code: Code, pc: int) -> bool:
        """Has the instruction pc, or one that certainly follows it, never been executed, while others of the code have?"""
        known = self._codes.get(code.code)
        if known is None:
            known = self._codes[code.code] = executed(code.code), {}
        ran, cold = known
        if not ran:
            return False
        found = cold.get(pc)
        if found is None:
            found = cold[pc] = _is_cold(code, pc, ran)
        return found


def _is_cold(code: Code, pc: int, ran: dict[int, bool]) -> bool:
    for _ in code.instructions:
        one = code.instructions[pc]
        told = ran.get(one.offset)
        if told is not None:
            return not told
        if one.op in ("Branch", "ForIter", "Send") or (one.op in TERMINAL and one.op != "Jump"):
            return False
        pc = one.arg if one.op == "Jump" else pc + 1
    return False
