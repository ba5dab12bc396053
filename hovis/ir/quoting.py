"""Quotations of the user's source code in messages."""

import linecache

from hovis.ir.model import Location
from hovis.ir.naming import printable


def place(location: Location) -> str:
    """``file:line, in function``."""
    line = "" if location.line is None else f":{location.line}"
    return printable(f"{location.file}{line}, in {location.function}")


def source_line(location: Location) -> str:
    """Return the line of source without its line ending, or an empty string if there is none."""
    if location.line is None:
        return ""
    try:
        return linecache.getline(location.file, location.line).rstrip("\n")
    except ValueError:  # the name is not valid for a file
        return ""


def quote(location: Location) -> list[str]:
    """Return the source line, followed by a line that marks the columns if they are known."""
    raw = source_line(location)
    code = raw.lstrip()
    if not code:
        return []
    indent = len(raw) - len(code)
    lines = ["    " + code]
    if location.col is not None and location.end_col is not None:
        start = _characters(raw, location.col)
        end = _characters(raw, location.end_col) if location.end_line == location.line else len(raw)
        start = max(start, indent)
        if end > start and (start, end) != (indent, len(raw)):
            lines.append("    " + " " * (start - indent) + "^" * (end - start))
    return lines


def _characters(line: str, column: int) -> int:
    """Convert a column, which CPython counts in bytes of UTF-8, to a number of characters."""
    return len(line.encode()[:column].decode(errors="replace"))
