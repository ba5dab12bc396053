"""The profile that CPython keeps in code objects: which instructions have been executed, on what classes (PEP 659; Python/specialize.c).

CPython counts in the inline cache of an instruction how often it was executed, and replaces instructions by variants for the classes of their
operands.  The copy of a code object has none of this, so that a comparison shows what has been executed.  The variant tells the classes: by its name,
or by the version of a class in its cache.
"""

import dis
import functools
import sys
from types import CodeType
from typing import Final

from hovis.bytecode.instructions import RAISING, TERMINAL, Code
from hovis.lattice import class_versions

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
_BRANCHES: Final = frozenset({"Branch", "ForIter", "Send"})
#: The instructions of one call, of which only the first may be executed (3.11).
_PRECALL: Final = dis.opmap.get("PRECALL")

_SUBSCRIPTS: Final[dict[str, tuple[type | None, ...]]] = {
    "DICT": (dict, None),
    "LIST_INT": (list, int),
    "TUPLE_INT": (tuple, int),
    "STR_INT": (str, int),
}
#: The classes of the operands that variants of instructions are for, by the end of their names, the topmost operand last; None: any class.
_FOR: Final[dict[str, dict[str, tuple[type | None, ...]]]] = {
    "BINARY_OP": {"INT": (int, int), "FLOAT": (float, float), "UNICODE": (str, str)},
    "COMPARE_OP": {"INT": (int, int), "FLOAT": (float, float), "STR": (str, str)},
    "BINARY_SUBSCR": _SUBSCRIPTS,
    "BINARY_OP_SUBSCR": _SUBSCRIPTS,
    "STORE_SUBSCR": {"DICT": (dict, None), "LIST_INT": (list, int)},
    "UNPACK_SEQUENCE": {"LIST": (list,), "TUPLE": (tuple,)},
    "CONTAINS_OP": {"DICT": (None, dict)},
    "TO_BOOL": {"BOOL": (bool,), "INT": (int,), "LIST": (list,), "NONE": (type(None),), "STR": (str,)},
}
#: Instructions whose variants hold the version of the class of the topmost operand, and the ends of the names of variants that do not.
_VERSIONED: Final = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR")
_UNVERSIONED: Final = ("_ADAPTIVE", "_CLASS", "_MODULE")
#: Offset in bytes of this version from its instruction.
_VERSION: Final = 4


def _variants() -> dict[int, tuple[type | None, ...] | None]:
    """Return the classes of operands by the opcodes of variants; None: by the version in the cache."""
    found: dict[int, tuple[type | None, ...] | None] = {}
    for name, opcode in dis._all_opmap.items():  # type: ignore[attr-defined]
        if name in dis.opmap:
            continue
        for base, told in _FOR.items():
            for end, classes in told.items():
                if name.startswith(base) and name.removesuffix("_JUMP").endswith(f"_{end}"):
                    found[opcode] = classes
        if name.startswith(_VERSIONED) and not name.endswith(_UNVERSIONED):
            found[opcode] = None
    return found


_VARIANTS: Final = _variants()


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

    __slots__ = ("_codes", "_now", "_versions")

    def __init__(self) -> None:
        self._codes: dict[CodeType, tuple[dict[int, bool], dict[int, bool]]] = {}
        self._now: dict[CodeType, bytes] = {}
        #: the classes by their versions, once they are needed
        self._versions: dict[int, type] | None = None

    def classes(self, code: Code, pc: int) -> tuple[type | None, ...]:
        """Return the classes of the topmost operands on which the instruction pc was executed most recently; None: that of this one is not known."""
        now = self._now.get(code.code)
        if now is None:
            now = self._now[code.code] = code.code._co_code_adaptive  # type: ignore[attr-defined]
        at = code.instructions[pc].offset
        found = _VARIANTS.get(now[at], ())
        if found is None:
            if self._versions is None:
                self._versions = class_versions.classes()
            cls = self._versions.get(int.from_bytes(now[at + _VERSION : at + _VERSION + 4], sys.byteorder))
            return () if cls is None else (cls,)
        return found

    def is_cold(self, code: Code, pc: int) -> bool:
        """Does the instruction pc certainly lead to one that raises, or was it, or one that certainly follows it, never executed, while others of
        the code were?
        """
        known = self._codes.get(code.code)
        if known is None:
            known = self._codes[code.code] = executed(code.code), {}
        ran, cold = known
        found = cold.get(pc)
        if found is None:
            found = cold[pc] = _is_cold(code, pc, ran)
        return found


@functools.lru_cache(maxsize=4096)
def leads_to_exception(code: Code, pc: int) -> int | None:
    """Return the instruction to which pc certainly leads that raises, or where an exception is caught; None if there is none."""
    for _ in code.instructions:
        one = code.instructions[pc]
        if one.op in RAISING:
            return pc
        if one.op in _BRANCHES or (one.op in TERMINAL and one.op != "Jump"):
            return None
        pc = one.arg if one.op == "Jump" else pc + 1
    return None


def _is_cold(code: Code, pc: int, ran: dict[int, bool]) -> bool:
    reached = False
    for _ in code.instructions:
        one = code.instructions[pc]
        told = ran.get(one.offset)
        if (told is False and not reached) or one.op in RAISING:
            return True
        reached |= told is True
        if one.op in _BRANCHES or (one.op in TERMINAL and one.op != "Jump"):
            return False
        pc = one.arg if one.op == "Jump" else pc + 1
    return False
