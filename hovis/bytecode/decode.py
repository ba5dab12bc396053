"""Decoding of code objects as CPython's compiler made them: instructions, jump targets, the exception table.

The package ``bytecode`` reads them, with specialised and instrumented opcodes undone (CPython: ``Objects/codeobject.c``).  The meaning of the opcodes is
defined in ``opcode_rows`` and ``instructions``.
"""

import dis
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Final, NamedTuple

from hovis.bytecode.instructions import Position
from hovis.bytecode.versions import UNREADABLE

# It does not import on every Python that hovis runs on. (Not where it is needed: a process that is forked while another thread imports the module could
# never import it.)
if TYPE_CHECKING or UNREADABLE is None:
    from bytecode import ConcreteBytecode
    from bytecode.instr import UNSET, InstrLocation

EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
#: (Since 3.14, END_ASYNC_FOR has the distance of the SEND of its loop, to which it does not jump.)
_NO_JUMP: Final = "END_ASYNC_FOR"
_NOWHERE: Final[Position] = (None, None, None, None)


class Entry(NamedTuple):
    """An entry of the exception table; offsets are in bytes."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


@dataclass(slots=True)
class Raw:
    """One CPython instruction, with its prefixes and caches; ``target`` and ``handler`` are indexes of other instructions."""

    name: str
    arg: int
    offset: int
    position: Position
    target: int | None = None
    entry: Entry | None = None
    handler: int = -1


def decode(code: CodeType) -> list[Raw]:
    """Return the instructions of ``code``, with jumps and handlers resolved to indexes."""
    concrete = ConcreteBytecode.from_code(code)
    raws: list[Raw] = []
    index_at: dict[int, int] = {}  # by code unit; jumps lead to the first prefix (EXTENDED_ARG) of an instruction
    jumps: list[tuple[Raw, int]] = []
    place: InstrLocation | None = None
    position = _NOWHERE
    unit = 0
    for one in concrete:
        name = one.name
        if name == "CACHE":
            unit += 1
            continue
        index_at[unit] = len(raws)
        if one.location is not place:
            place = one.location
            position = (place.lineno, place.end_lineno, place.col_offset, place.end_col_offset) if place is not None else _NOWHERE
        units = one.size >> 1
        arg = one.arg
        raw = Raw(name, 0 if arg is UNSET else arg, 2 * (unit + units - 1), position)
        if one.has_jump() and name != _NO_JUMP:
            jumps.append((raw, one.get_jump_target(unit)))
        raws.append(raw)
        unit += units
    for raw, to in jumps:
        raw.target = index_at[to]
    for entry in _entries(concrete):
        handler = index_at[entry.target >> 1]
        for index in range(index_at[entry.start >> 1], index_at.get(entry.end >> 1, len(raws))):
            raws[index].entry, raws[index].handler = entry, handler
    return raws


def exception_table(code: CodeType) -> list[Entry]:
    """Return the entries of ``co_exceptiontable``, which are sorted and do not overlap."""
    return _entries(ConcreteBytecode.from_code(code))


def _entries(concrete: "ConcreteBytecode") -> list[Entry]:
    return [Entry(2 * one.start_offset, 2 * (one.stop_offset + 1), 2 * one.target, one.stack_depth, one.push_lasti) for one in concrete.exception_table]


def location_of(position: Position) -> "InstrLocation":
    """Return a position as the package has it; columns that are not complete are left out. Never raises: an exception of the user may be on its way."""
    line, end_line, column, end_column = position
    if line is None or end_line is None or column is None or end_column is None or (line, column) > (end_line, end_column):
        end_line = column = end_column = None
    # not the constructor, which refuses positions that compile() takes, such as on line 0
    return InstrLocation._from_tuple(line, end_line, column, end_column)
