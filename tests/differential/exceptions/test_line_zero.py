"""Code that macros make may stand on line 0: its exceptions pass through residuals, and their positions are the same."""
import ast
import traceback

import pytest

import hovis

TREE = ast.parse("def divided(x): return 1 // x")
ast.increment_lineno(TREE, -1)
MADE = {}
exec(compile(TREE, "made.py", "exec"), MADE)
divided = MADE["divided"]


def caught(x):
    try:
        return divided(x)
    except ZeroDivisionError:
        return "caught"


def passed_on(x):
    return divided(x)


def outcome(fn):
    try:
        return fn(0)
    except Exception as error:
        entries = traceback.extract_tb(error.__traceback__)
        return type(error), [(entry.lineno, entry.end_lineno, entry.colno, entry.end_colno) for entry in entries if entry.filename == "made.py"]


@pytest.mark.parametrize("fn", [divided, caught, passed_on])
def test_line_zero(fn):
    for way in (hovis.jit, lambda fn: hovis.specialize(fn, hovis.Int), lambda fn: hovis.specialize(fn, hovis.Any)):
        assert outcome(way(fn)) == outcome(fn)
