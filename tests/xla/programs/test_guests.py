"""Interpreters with a known program, compiled: the guest's loops are loops of XLA."""
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import hovis
import hovis_xla

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
brainfuck = importlib.import_module("brainfuck")

#: The loops of each guest program, nested ones too.
LOOPS = {"ADDITION": 1, "SQUARES": 3, "FIBONACCI": 4}


def on_a_list(program):
    table = brainfuck.jump_table(program)

    def fn(n, m):
        tape = [n, m, 0, 0]
        brainfuck.run_flat(program, table, tape)
        return tape

    return fn


def on_an_array(program):
    table = brainfuck.jump_table(program)

    def fn(n, m):
        tape = np.zeros(4, np.int64)
        tape[0] = n
        tape[1] = m
        brainfuck.run_flat(program, table, tape)
        return tape

    return fn


@pytest.mark.parametrize("make", [on_a_list, on_an_array])
@pytest.mark.parametrize("name", LOOPS)
def test_guest_loops_are_compiled(name, make):
    fn = make(getattr(brainfuck, name).replace(".", ""))
    compiled = hovis_xla.jit(fn, strict=True)
    for n, m in ((0, 0), (1, 3), (12, 4)):
        assert list(compiled(n, m)) == list(fn(n, m))
        assert type(compiled(n, m)) is type(fn(n, m))
    assert compiled.lower(1, 2).as_text().count("stablehlo.while") == LOOPS[name]


def test_twelve_million_steps():
    compiled = hovis_xla.jit(on_a_list(brainfuck.ADDITION), strict=True)
    assert compiled(2_400_000, 5) == [0, 2_400_005, 0, 0]


def test_the_residual_itself_is_compiled():
    program = brainfuck.SQUARES.replace(".", "")
    residual = hovis.options(passes="default-loop_idioms-loop_versioning").specialize(on_a_list(program), hovis.Int, hovis.Int)
    compiled = hovis_xla.jit(residual, strict=True)
    for n, m in ((0, 0), (1, 3), (12, 4)):
        assert compiled(n, m) == on_a_list(program)(n, m)
    assert compiled.lower(1, 2).as_text().count("stablehlo.while") >= 3
