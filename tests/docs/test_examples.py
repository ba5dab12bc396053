"""The examples' interpreters: their residuals do what they do, and nothing of the interpretation is left in them."""
from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

#: Of each example: what the residual is called with, and what of the interpreter must not be in its source.
PROGRAMS = {
    "trees": ([[row] for row in ([1.0, 0.0, 4.0], [5.0, 2.0, 11.0], [None, -3.0, None], [8.0, None, 12.5])], ["node", "feature", "isinstance", "Split"]),
    "packets": ([], ["fields", "uint", "repeat", "bits", "counter"]),
    "vm": ([[n] for n in (0, 1, 7)], ["pop", "append", "stack", "Op", "code"]),
    "expressions": ([[0.5, -2.0], [1e300, 2.0], [0.0, -0.0]], ["accept", "values", "Binary", "FUNCTIONS", "+"]),
    "template": ([], ["lookup", "blocks", "FILTERS", "show", "for", "if"]),
    "regex": ([], ["node", "nodes", "match", "match_all", "repeat", "repeat_single", "fits", "go_on", "greedy", "least", "any", "group", "either", "char"]),
    "schema": ([], ["rule", "schema", "KEYWORDS", "check", "properties", "$ref"]),
    "tower": ([[n] for n in (0, 1, 9)], ["evaluate", "expression", "names", "functions", "run", "code", "pc", "stack", "pair", "values", "let", "quote", "pick", "zero"]),
    "plan": ([], ["value_of", "expression", "FUNCTIONS", "source", "condition", "aggregates", "kind", "update", "Column", "Apply", "avg", "sum", "rows"]),
}


def outcome(fn, *args):
    try:
        return repr(fn(*args))
    except Exception as error:
        return type(error), error.args


@pytest.mark.parametrize("name", PROGRAMS)
def test_residual(name):
    example = importlib.import_module(name)
    calls, gone = PROGRAMS[name]
    if name == "packets":
        calls = [[example.PACKET[:size], 0] for size in range(len(example.PACKET) + 1)]
    elif name == "schema":
        calls = [[document] for document in example.DOCUMENTS]
    elif name == "plan":
        calls = [[example.TABLES], [example.tables_of(0)], [example.tables_of(3)], [{"customers": []}], [{"orders": [{}], "customers": []}]]
    elif name == "regex":
        calls = [[text] for text in example.TEXTS] + [[text[:size]] for text in example.TEXTS for size in range(0, len(text), 3)]
    elif name == "template":
        calls = [[example.VALUES], [{**example.VALUES, "items": []}]]
    residual = example.specialized()
    assert not residual.trace.fallback
    text = residual.trace.source()
    loaded = residual.trace.text().load()
    for args in calls:
        expected = outcome(example.by_hand, *args)
        assert outcome(residual, *args) == expected == outcome(loaded, *args)
    # but for the call of the original, where what is passed is not as specified
    tree = ast.parse(text.replace("return original_", "pass  # "))
    names = {getattr(node, field, None) for node in ast.walk(tree) for field in ("id", "attr", "name", "arg")}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert not set(gone) & (names | texts)


GUESTS = {
    "ADDITION": ([[5, 3], [0, 1], [True, 2], [2, 1.5], [1], []], ()),
    "HELLO": ([[0, 0, 0, 0], [0, 0, 0]], ()),
    "SQUARES": ([[7, 0, 0, 0], [0, 0, 0, 0], [True, 0, 0, 0], [3, 0, 0.0, 0], [3, 0]], ()),
    "FIBONACCI": ([[10, 0, 0, 0], [1, 5, 2, 0], [0, 0, 0, 0]], ()),
    "SHIFT": ([[0], [7], []], (72, 1, 2, 0, 5)),
}


@pytest.mark.parametrize("name", GUESTS)
def test_guest_programs(name):
    """On a plain list: what the interpreter does, and nothing of it is left but the calls of the original."""
    example = importlib.import_module("brainfuck")
    program, (tapes, data) = getattr(example, name), GUESTS[name]
    residual = example.compile_text(program)
    by_hand = getattr(example, f"{name.lower()}_by_hand", None)
    for tape in tapes:
        mine, other = list(tape), list(tape)
        found = outcome(residual, mine, iter(data))
        assert found == outcome(example.run_text, program, example.jump_table(program), other, iter(data))
        assert repr(mine) == repr(other)
        if by_hand is not None and len(tape) == 4 and all(type(x) is not float for x in tape):
            assert found == outcome(by_hand, list(tape), iter(data))
    texts = {node.id for node in ast.walk(ast.parse(residual.trace.source().replace("return original_", "pass  # "))) if isinstance(node, ast.Name)}
    assert not {"pc", "program", "table", "at", "c"} & texts


def test_an_addition_takes_no_time():
    example = importlib.import_module("brainfuck")
    assert example.compile_flat(example.ADDITION)([10**30, 12]) == [0, 10**30 + 12]
