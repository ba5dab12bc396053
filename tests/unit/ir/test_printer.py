"""The text of a Function."""
from __future__ import annotations

import functools
import math
import operator as o

import numpy as np
import pytest

from hovis.ir import Builder, Effect, Given, Location, names_of, show
from hovis.ir import operations as ops
from hovis.ir.builder import BOOL, FLOAT, INT
from hovis.ir.printer import CONSTANT_WIDTH, Printer
from hovis.lattice import ANY, BOTTOM, Array, Const, Partial, Type, join


def f(x):
    return x


class Box:
    def get(self):
        return self


def op_text(callee, *args, full=False, **kwargs):
    b = Builder("shown", INT)
    b.ret(b.op(callee, *args, **kwargs))
    return show(b.function, full=full).splitlines()[2 if full else 1].strip()


@pytest.mark.parametrize(
    ("callee", "text"),
    [
        (o.add, "(+)"), (o.iadd, "(+=)"), (o.pow, "(**)"), (o.is_, "(is)"), (o.is_not, "(is not)"), (o.neg, "neg"), (o.not_, "not_"), (o.getitem, "getitem"),
        (getattr, "getattr"), (open, "open"), (len, "len"), (pow, "pow"), (np.sin, "numpy.sin"), (np.mean, "numpy.mean"), (np.linalg.norm, "numpy.linalg.norm"),
        (np.add.reduce, "numpy.add.reduce"), (np.random.normal, "numpy.random.normal"), (np.ndarray.sum, "numpy.ndarray.sum"), (math.sqrt, "math.sqrt"),
        (list.append, "list.append"), (dict.fromkeys, "dict.fromkeys"), (functools.reduce, "functools.reduce"), (f, "f"), (Box, "Box"), (Box.get, "Box.get"),
        (ops.make_list, "make_list"), (ops.drop, "drop"), (math.pow, "math.pow"),
    ],
)  # fmt: skip
def test_callees(callee, text):
    assert op_text(callee) == f"%2 = {text}() :: Any"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"), (1, "1"), (True, "True"), (-0.0, "-0.0"), (float("nan"), "nan"), (1 + 2j, "(1+2j)"), ("a\nb", r"'a\nb'"), (b"x", "b'x'"), (..., "Ellipsis"),
        ((), "()"), ((1,), "(1,)"), ((1, ("a", None)), "(1, ('a', None))"), (len, "const(len)"), (f, "const(f)"), (Box, "const(Box)"), (math, "const(math)"),
        (np.float64, "const(numpy.float64)"), (o.add, "const((+))"), ([1], "#0"), ((1, [2]), "#0"), (object(), "#0"), (range(3), "range(0, 3, 1)"),
        (slice(None, 2), "slice(None, 2, None)"), (ops.END, "END"), (np.float32(0.5), "np.float32(0.5)"),
        ("x" * 70, "'" + "x" * 58 + "…"),
    ],
)  # fmt: skip
def test_constants(value, text):
    assert op_text(f, value) == f"%2 = f({text}) :: Any"


def test_numbers_too_long_for_decimal():
    assert op_text(f, 10**5000) == f"%2 = f({hex(10**5000)[: CONSTANT_WIDTH - 1]}…) :: Any"


def test_full_constants_are_not_cut():
    assert op_text(f, "x" * 70, full=True) == f"%2 = f('{'x' * 70}') :: Any"


def test_objects_are_numbered_by_identity():
    one, two = [], []
    assert op_text(f, one, two, one) == "%2 = f(#0, #1, #0) :: Any"


ARRAY = Array(np.ndarray, np.dtype("float64"), 2)


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (INT, "Int"), (Type(type(None)), "None"), (ANY, "Any"), (BOTTOM, "Bottom"), (Type(Box), "Box"), (join(FLOAT, INT), "Int | Float"),
        (join(INT, Type(type(None))), "Int | None"), (ARRAY, "float64[:, :]"), (join(ARRAY, INT), "Int | float64[:, :]"), (Const(3), "const(3)"), (Const(f), "const(f)"),
        (Partial(tuple, [0], [INT]), "(Int,)"), (Partial(list, [0, 1], [INT, Const("a")]), "[Int, const('a')]"), (Partial(dict, ["a"], [INT]), "{'a': Int}"),
        (Partial(Box, ["a"], [Partial(dict, [], [])]), "Box(a={})"),
    ],
)  # fmt: skip
def test_types(type, text):
    assert op_text(f, type=type) == f"%2 = f() :: {text}"


def test_dimensions():
    b = Builder("f", INT)
    op = b.op(f, type=ARRAY)
    op.dims = (b.params[0], Const(4))
    b.ret(op)
    assert "float64[%1, 4]" in str(b.function)
    op.dims = (Const(None), Const(4))
    assert "float64[:, 4]" in str(b.function)


@pytest.mark.parametrize(
    ("effect", "mark"),
    [
        (Effect.PURE, ""), (Effect.READS, ""), (Effect.RAISES, ""), (Effect.READS | Effect.RAISES, ""),
        (Effect.WRITES, "!"), (Effect.IO, "!"), (Effect.RANDOM, "!"), (Effect.CLOCK, "!"), (Effect.OPAQUE, "!"),
    ],
)  # fmt: skip
def test_marks(effect, mark):
    assert op_text(f, effect=effect) == f"%2 = f{mark}() :: Any"


def test_unknown_callees_and_keywords():
    b = Builder("f", ANY, INT)
    b.ret(b.op(b.params[0], 1, k=b.params[1]))
    assert "%3 = %1(1, k=%2) :: Any" in str(b.function)


def test_terminators():
    b = Builder("f", ANY, BOOL)
    end, err = b.block(INT), b.block(ANY, ANY)
    b.branch(b.params[1], (end, 1), (end, 2))
    b.at(end)
    b.invoke(f, error=(err, b.params[0]))
    b.jump(end, 3)
    b.at(err)
    b.raise_(err.params[0], again=True)
    assert str(b.function) == """\
1: (%1 :: Any, %2 :: Bool)
  br 2 (2) unless %2
  br 2 (1)
2: (%3 :: Int)
  %4 = f!() :: Any, br 4, or 3 (%err, %1)
3: (%5 :: Any, %6 :: Any)
  reraise %5
4:
  br 2 (3)"""


def test_further_functions():
    inner = Builder("inner", INT, result=INT)
    inner.ret(inner.params[0])
    b = Builder("f", INT)
    b.op(b.function, 1)
    b.raise_(b.op(inner.function, b.params[0], inner.function))
    assert str(b.function) == """\
1: (%1 :: Int)
  %2 = f(1) :: Any
  %3 = inner(%1, const(inner)) :: Any
  raise %3

fn inner(%1 :: Int)
1:
  return %1"""


def test_functions_of_one_name_are_told_apart():
    made = []
    for _ in range(2):
        inner = Builder("f", INT)
        inner.ret(inner.params[0])
        made.append(inner.function)
    b = Builder("f", INT)
    b.ret(b.op(made[0], b.op(made[1], 1)))
    text = str(b.function)
    assert "f.2(1)" in text
    assert "fn f.3(%1 :: Int)" in text


def test_the_header_of_a_trace():
    b = Builder("f", ARRAY, INT, ANY)
    x, n, whole = b.params
    b.ret(b.op(f, x, n))
    assert show(b.function, params=[Const(f), Const(3), x, n, whole]).splitlines() == [
        "1: (%1 :: const(f), %2 :: const(3), %3 :: float64[:, :], %4 :: Int, %5 :: Any)",
        "  %6 = f(%3, %4) :: Any",
        "  return %6",
    ]
    header = show(b.function, params=[Const(f), {"x": x, "mode": Const("clip"), "in": [n, (whole,)]}]).splitlines()[0]
    assert header == "1: (%1 :: const(f), %2 :: {'x': %3 :: float64[:, :], 'mode': const('clip'), 'in': [%4 :: Int, (%5 :: Any,)]})"
    header = show(b.function, params=[Const(f), Given({"x": x, "n": n}, whole), Partial(Box, ["a"], [INT])]).splitlines()[0]
    assert header == "1: (%1 :: const(f), %2 :: {'x': %3 :: float64[:, :], 'n': %4 :: Int}, %5 :: Box(a=Int))"


def test_the_same_constant_twice_in_a_header():
    same = Const(3)
    b = Builder("f")
    b.ret(1)
    assert show(b.function, params=[Const(f), same, same]).startswith("1: (%1 :: const(f), %2 :: const(3), %3 :: const(3))")


def test_locations():
    inner = Location("/src/model.py", 12, 12, 0, 1, "layer", 10)
    outer = Location("/src/train.py", 40, 40, 0, 1, "step", 38)
    b = Builder("f", INT)
    b.location = Location("/src/model.py", 12, 12, 0, 1, "layer", 10, outer)
    b.op(f)
    b.location = inner
    b.ret(1)
    assert show(b.function, locations=True).splitlines()[1:] == ["  %2 = f() :: Any  # model.py:12 ← train.py:40", "  return 1  # model.py:12"]
    assert show(b.function, locations="relative").splitlines()[2] == "  return 1  # layer:+2"


def test_guards():
    b = Builder("f")
    b.ret(1)
    b.function.guards = ("x is 1",)
    assert show(b.function) == "1:\n  return 1"
    assert show(b.function, guards=True) == "guard x is 1\n1:\n  return 1"


def test_full_names_stand_for_one_object_each():
    def other():
        pass

    other.__qualname__ = "f"
    b = Builder("g", INT)
    b.ret(b.op(f, other, type=Type(Box)))
    assert show(b.function, full=True) == "fn g(%1 :: Int) :: Any\n1:\n  %2 = f(#0) :: Box\n  return %2"
    assert names_of(b.function) == {"f": f, "#0": other, "Box": Box}


def test_broken_functions_print_too():
    b, other = Builder("f", INT), Builder("g", INT)
    b.op(f, other.params[0])
    assert "f(%?)" in str(b.function)
    assert "(no terminator)" in str(b.function)
    assert len(list(Printer(b.function).lines())) == 3
