"""Code that macros make may stand on line 0, or have lines without columns: its exceptions pass through residuals, and their positions are the same."""

import ast
import traceback

import pytest

import hovis

TREE = ast.parse("def divided(x): return 1 // x")
ast.increment_lineno(TREE, -1)
MADE = {}
exec(compile(TREE, "made.py", "exec"), MADE)
divided = MADE["divided"]


def refused(x):
    if x < 1:
        raise ValueError(x)
    return x


def spread(x):
    return refused(x + 1) + refused(x)


def without_columns(code, lines):
    """The table of positions in which all instructions are on so many lines, without columns (the long form in InternalDocs/code_objects.md)."""
    size = len(code.co_code) // 2
    return b"".join(bytes([0x80 | 14 << 3 | (min(8, size - k) - 1), 0, lines - 1, 0, 0]) for k in range(0, size, 8))


spread.__code__ = spread.__code__.replace(co_filename="made.py", co_linetable=without_columns(spread.__code__, 4))


def caught(x):
    try:
        return divided(x)
    except ZeroDivisionError:
        return "caught"


def passed_on(x):
    return divided(x)


def in_an_inner_call(x):
    return spread(x) + 1


def outcome(fn):
    try:
        return fn(0)
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)
        return type(error), [(entry.lineno, entry.colno, entry.end_colno) for entry in entries if entry.filename == "made.py"]


@pytest.mark.parametrize("fn", [divided, caught, passed_on, spread, in_an_inner_call])
def test_exceptions_pass_through(fn):
    for way in (hovis.jit, lambda fn: hovis.specialize(fn, hovis.Int), lambda fn: hovis.specialize(fn, hovis.Any)):
        assert outcome(way(fn)) == outcome(fn)
