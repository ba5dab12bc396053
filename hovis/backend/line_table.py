"""Line tables of code objects (PEP 626, PEP 657; CPython: Objects/locations.md)."""

#: (line, end_line, column, end_column), as in ``co_positions``.
Position = tuple[int | None, int | None, int | None, int | None]


def _little_endian(out: bytearray, value: int) -> None:
    while value >= 64:
        out.append(0x40 | value & 0x3F)
        value >>= 6
    out.append(value)


def _signed(out: bytearray, value: int) -> None:
    _little_endian(out, -value << 1 | 1 if value < 0 else value << 1)


def locate(out: bytearray, units: int, previous: int, position: Position) -> int:
    """Append the entries for this many code units at position to the line table out; return the line that the next entry is relative to."""
    line, end_line, column, end_column = position
    if units > 8:
        for _ in range((units - 1) // 8):
            previous = locate(out, 8, previous, position)
        units = (units - 1) % 8 + 1
    head = 0x80 | units - 1
    if line is None:
        out.append(head | 15 << 3)
        return previous
    delta = line - previous
    if column is None or end_column is None or end_line is None or end_line < line:
        out.append(head | 13 << 3)
        _signed(out, delta)
    elif end_line == line and delta == 0 and column < 80 and 0 <= end_column - column < 16:
        out += bytes((head | column >> 3 << 3, (column & 7) << 4 | end_column - column))
    elif end_line == line and 0 <= delta < 3 and column < 128 and end_column < 128:
        out += bytes((head | 10 + delta << 3, column, end_column))
    else:
        out.append(head | 14 << 3)
        _signed(out, delta)
        _little_endian(out, end_line - line)
        _little_endian(out, column + 1)
        _little_endian(out, end_column + 1)
    return line


def one_position(units: int, first_line: int, position: Position) -> bytes:
    """Return the line table of a code object whose instructions all have the same position."""
    out = bytearray()
    locate(out, units, first_line, position)
    return bytes(out)
