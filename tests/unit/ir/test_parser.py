"""From text back to a Function."""
from __future__ import annotations

import operator as o
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hovis.errors import ParseError
from hovis.ir import Branch, Builder, Effect, Raise, names_of, parse, show, verify
from hovis.ir import operations as ops
from hovis.ir.builder import BOOL, FLOAT, INT
from hovis.lattice import ANY, Array, Const, Partial, Type, join
from hovis.lattice.constants import same_constant
from hovis.transforms import evaluate
from tests.unit.ir.random_functions import outcome, random_function

POW = """\
1: (%1 :: const(pow), %2 :: Int, %3 :: Int)
  %4 = (>)(%3, 0) :: Bool
  br 3 (1) unless %4
  br 2 (%3, 1)
2: (%5 :: Int, %6 :: Int)
  %7 = (-)(%5, 1) :: Int
  %8 = (*)(%6, %2) :: Int
  %9 = (>)(%7, 0) :: Bool
  br 3 (%8) unless %9
  br 2 (%7, %8)
3: (%10 :: Int)
  return %10"""


class Box:
    pass


def test_pow():
    function = parse(POW)
    verify(function)
    assert (function.name, function.type) == ("pow", INT)
    assert evaluate(function, 3, 4) == 81
    x, n = function.params
    assert show(function, params=[Const(pow), x, n]) == POW


@given(st.integers(0, 2**32))
def test_round_trip(seed):
    function = random_function(random.Random(seed))
    text = show(function, full=True)
    again = parse(text, names_of(function))
    verify(again)
    assert show(again, full=True) == text
    assert [(op.callee, op.type, op.effect) for op in again.ops() if not hasattr(op.callee, "blocks")] == [
        (op.callee, op.type, op.effect) for op in function.ops() if not hasattr(op.callee, "blocks")
    ]
    assert outcome(again, 3, 5) == outcome(function, 3, 5)


literals = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text() | st.binary() | st.sampled_from([..., ops.END, ops.UNBOUND]),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(st.lists(literals, max_size=4))
def test_constants_round_trip(values):
    b = Builder("f")
    b.ret(b.op(print, *values, effect=Effect.IO))
    again = parse(show(b.function, full=True), names_of(b.function))
    assert all(same_constant(arg.value, value) for arg, value in zip(next(again.ops()).args, values, strict=True))


@pytest.mark.parametrize("value", [10**5000, slice(None, 3), np.float32(0.1), np.int64(-3), np.True_, np.complex128(1 - 2j)], ids=lambda value: type(value).__name__)
def test_other_constants_round_trip(value):
    b = Builder("f")
    b.ret(value)
    found = parse(show(b.function, full=True)).blocks[0].terminator.value.value
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "type",
    [
        ANY, INT, join(INT, FLOAT), join(Type(type(None)), Type(Box)), Type(list), Type(type(iter([]))), Type(type(len)), Type(np.float64), Const(3), Const(Box), Const(o.add),
        Const("a (b"), Const(np.True_), Array(np.ndarray, np.dtype("float32"), 2, "C"), Array(np.ndarray, np.dtype("int64"), 0), Array(np.memmap, np.dtype([("a", "f8")]), 1, "", ("gpu", 0)),
        join(Array(np.ndarray, np.dtype("float32"), 2), INT), Partial(tuple, [0], [INT]), Partial(list, [0, 1], [INT, Const("a")]),
        Partial(dict, ["a", (1, 2)], [INT, Partial(Box, ["x", "y"], [Const(None), ANY])]), Partial(tuple, [], []), Partial(dict, [], []),
    ],
    ids=repr,
)  # fmt: skip
def test_types_round_trip(type):
    b = Builder("f", type, result=type)
    b.ret(b.op(print, b.params[0], type=type))
    again = parse(show(b.function, full=True), names_of(b.function))
    assert again.params[0].type == type
    assert next(again.ops()).type == type
    assert again.type == type


def test_dimensions_round_trip():
    b = Builder("f", Array(np.ndarray, np.dtype("float64"), 2), INT)
    b.params[0].dims = (b.params[1], Const(None))
    op = b.op(np.sin, b.params[0], type=b.params[0].type)
    op.dims = (b.params[1], Const(4))
    b.ret(op)
    text = show(b.function, full=True)
    again = parse(text)
    assert show(again, full=True) == text
    assert next(again.ops()).dims[0] is again.params[1]


def test_partial_arguments():
    b = Builder("f", INT, FLOAT, ANY)
    x, y, whole = b.params
    b.ret(b.op(print, x, y, effect=Effect.IO))
    again = parse(show(b.function, params=[Const(print), {"x": x, "k": [Const(1), y]}, whole], full=True))
    assert [p.type for p in again.params] == [INT, FLOAT, ANY]
    text = "1: (%1 :: const(f), %2 :: {'x': %3 :: Int})\n  return %2"
    assert [type(p.type) for p in parse(text).params] == [Partial, Type]


def test_effects_of_short_texts():
    function = parse("1: (%1 :: Any)\n  %2 = print!(%1) :: None\n  %3 = len(%1) :: Int\n  raise %1")
    assert [op.effect for op in function.ops()] == [Effect.OPAQUE, Effect.PURE]
    assert isinstance(function.blocks[0].terminator, Raise)


def test_locations_and_guards_are_passed_over():
    b = Builder("f", BOOL)
    end = b.block()
    b.branch(b.params[0], (end,), (end,))
    b.at(end)
    b.ret("# a.py:1")
    b.function.guards = ("g",)
    function = parse(show(b.function, guards=True).replace("unless %1", "unless %1  # a.py:3 ← b.py:4"))
    assert isinstance(function.blocks[0].terminator, Branch)
    assert evaluate(function, True) == "# a.py:1"


def test_names_are_looked_up_and_nothing_is_run():
    def pow(x, n):
        raise AssertionError

    text = "1: (%1 :: Int)\n  %2 = pow(%1, 2) :: Int\n  return %2"
    assert evaluate(parse(text), 3) == 9
    assert next(parse(text, {"pow": pow}).ops()).callee is pow
    text = "1:\n  %1 = Box.__init__(#0, const(Box)) :: Any\n  return %1"
    here = []
    op = next(parse(text, {"Box": Box, "#0": here}).ops())
    assert op.callee is Box.__init__
    assert op.args[0].value is here


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "at least one block"),
        ("hello", "not a line"),
        ("1:\n  return %1", "%1 is not defined"),
        ("1:\n  %1 = nowhere() :: Int\n  return %1", "the name 'nowhere' is unknown"),
        ("1:\n  br 2", "no block '2'"),
        ("1:\n  return 1 2", "unexpected"),
        ("1:\n  return 1\n  return 2", "ended before"),
        ("1:\n  %1 = len() :: Int", "does not end"),
        ("1: (%1 :: Int)\n  %1 = len() :: Int\n  return 1", "defined twice"),
        ("1:\n  br 1 unless True", "other edge"),
        ("1:\n  return $", "not understood"),
        ("1:\n  walk", "an op or a terminator"),
        ("1: (%1 :: len)\n  return 1", "not a class"),
        ("1:\n  return (1", "expected"),
        ("1:\n  return 1\n1:\n  return 2", "same number"),
        ("1:\n  return os.system('ls')", "not a constant"),
    ],
)
def test_errors(text, complaint):
    with pytest.raises(ParseError, match=complaint):
        parse(text)
