"""What a Trace tells of a function: its parameters and results as specs, and where each op comes from."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hovis
from hovis import Float, Int, const, float64

WEIGHTS = np.ones((2, 3))


@dataclass
class Layer:
    w: object
    name: str


def apply(params, n):
    y = WEIGHTS @ params["x"]
    if n > 3:
        y = y * params["layer"].w
    return {"out": y, "k": (n, "abc"), "layer": params["layer"]}


def traced():
    return hovis.trace(apply, {"x": float64[3], "layer": Layer(Float, "first")}, Int)


def test_in_tree():
    params, n = traced().in_tree
    assert n == Int
    assert repr(params["x"]) == "float64[3]"
    assert params["layer"].cls is Layer
    assert params["layer"].fields == {"w": Float, "name": const("first")}


def test_in_tree_traces_the_same():
    again = traced()
    assert str(hovis.trace(apply, *again.in_tree)) == str(again)


def test_out_tree():
    found = traced().out_tree
    assert repr(found["out"]) == "float64[2]"
    assert found["k"] == (Int, const("abc"))


def test_what_several_returns_have_in_common():
    def pick(x, n):
        if n > 0:
            return [x, 1, np.zeros(3)]
        return [2.0, 1, np.zeros(4)]

    x, one, array = hovis.trace(pick, Float, Int).out_tree
    assert (x, one, repr(array)) == (Float, const(1), "float64[:]")


def test_array_constants_are_hoisted_once():
    def twice(x):
        return WEIGHTS @ x + WEIGHTS @ (x * 2.0)

    assert [value for value in hovis.trace(twice, float64[3]).consts if isinstance(value, np.ndarray)] == [WEIGHTS]


def test_source_map():
    found = traced().source_map
    first = apply.__code__.co_firstlineno
    by_line = {line - first: [op.callee.__name__ for op in ops] for (file, line), ops in found.items() if file == apply.__code__.co_filename}
    assert by_line[1] == ["matmul"]
    assert by_line[3] == ["mul"]
    assert Path(apply.__code__.co_filename).name == "test_introspection.py"
