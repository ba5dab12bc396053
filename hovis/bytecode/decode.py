"""Decoding of code objects as CPython's compiler made them: instructions, jump targets, the exception table.

Reads ``co_code``, where specialised and instrumented opcodes are already undone (``Objects/codeobject.c``), and the table
that ``Objects/exception_handling_notes.txt`` describes.  The meaning of the opcodes is defined in ``opcode_rows`` and ``instructions``.
"""

import dis
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import NamedTuple

from hovis.bytecode.instructions import Position

_CACHE = dis.opmap["CACHE"]
EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
#: (Since 3.14, END_ASYNC_FOR has the distance of the SEND of its loop, to which it does not jump.)
_JUMPS = frozenset(dis.hasjrel) - {dis.opmap["END_ASYNC_FOR"]}


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
    units = code.co_code
    positions = list(code.co_positions())
    positions += [(None, None, None, None)] * (len(units) // 2 - len(positions))  # the line table may be empty
    raws: list[Raw] = []
    index_at: dict[int, int] = {}  # also has the offset of the first prefix (EXTENDED_ARG), which is what jumps target
    jumps: list[tuple[Raw, int]] = []
    extended, offset = 0, 0
    while offset < len(units):
        opcode = units[offset]
        arg = units[offset + 1] | extended
        index_at[offset] = len(raws)
        at, offset = offset, offset + 2
        if opcode == EXTENDED_ARG:
            extended = arg << 8
            continue
        extended = 0
        while offset < len(units) and units[offset] == _CACHE:
            offset += 2
        raw = Raw(dis.opname[opcode], arg, at, positions[at // 2])
        if opcode in _JUMPS:
            jumps.append((raw, offset + 2 * (-arg if "BACKWARD" in raw.name else arg)))
        raws.append(raw)
    for raw, to in jumps:
        raw.target = index_at[to]
    for entry in exception_table(code):
        handler = index_at[entry.target]
        for index in range(index_at[entry.start], index_at.get(entry.end, len(raws))):
            raws[index].entry, raws[index].handler = entry, handler
    return raws


def exception_table(code: CodeType) -> Iterator[Entry]:
    """Yield the entries of ``co_exceptiontable``, which are sorted and do not overlap."""
    numbers = _varints(code.co_exceptiontable)
    for start in numbers:
        length, target, depth_lasti = next(numbers), next(numbers), next(numbers)
        yield Entry(2 * start, 2 * (start + length), 2 * target, depth_lasti >> 1, bool(depth_lasti & 1))


def _varints(table: bytes) -> Iterator[int]:
    """Yield the numbers of a table: big endian, six bits a byte; bit 6 says that more bytes follow."""
    value = 0
    for byte in table:
        value = value << 6 | byte & 0x3F
        if not byte & 0x40:
            yield value
            value = 0
