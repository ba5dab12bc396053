"""Interpreters of users: applied to functions, and gone from what is traced."""

import operator

import numpy as np
import pytest

import hovis
from hovis import Float


class Doubling(hovis.Interpreter):
    """Every sum counts double."""

    def call(self, op, callee, args, kwargs):
        found = super().call(op, callee, args, kwargs)
        return 2 * found if callee is operator.add else found


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def guarded(x):
    try:
        return 1.0 / x
    except ZeroDivisionError as error:
        return str(error)


def total(parts, *, scale=1.0):
    return {"total": sum(part["x"] for part in parts) * scale}


@pytest.mark.parametrize(("fn", "args", "kwargs"), [
    (collatz, (27,), {}),
    (fib, (10,), {}),
    (guarded, (0.0,), {}),
    (guarded, (2.0,), {}),
    (total, ([{"x": 1.0}, {"x": 2.5}],), {"scale": 2.0}),
    (np.sin, (0.5,), {}),
])  # fmt: skip
def test_the_reference_gives_what_the_function_gives(fn, args, kwargs):
    assert hovis.Interpreter()(fn)(*args, **kwargs) == fn(*args, **kwargs)


def test_another_meaning():
    assert Doubling()(lambda a, b: (a + b) * b)(1.0, 2.0) == 12.0


def test_traced_through():
    trace = hovis.trace(Doubling()(lambda a, b: (a + b) * b), Float, Float)
    assert [op.callee for op in trace.ops] == [operator.add, operator.mul, operator.mul]
    assert trace(1.0, 2.0) == 12.0


def test_loops_stay_loops():
    trace = hovis.trace(Doubling()(collatz), hovis.Int)
    assert not trace.fallback
    assert {op.callee for op in trace.ops} <= {operator.add, operator.mul, operator.and_, operator.floordiv, operator.ne, bool}


def test_given_specs_it_takes_anything():
    assert Doubling()(lambda a, b: a + b, Float, Float)("x", "y") == "xyxy"


def test_what_a_function_reads_may_change():
    scope = {"rate": 2.0}
    exec("def f(x): return x * rate", scope)
    applied = hovis.Interpreter()(scope["f"])
    assert applied(3.0) == 6.0
    scope["rate"] = 5.0
    assert applied(3.0) == 15.0


def test_programs_of_many_places_leave_no_interpreter():
    def long(x):
        for k in range(60):
            x = np.sin(x) * 2.0 + x / (k + 1.0)
        return x

    function = hovis.trace(long, Float).passes().function
    through = hovis.trace(hovis.evaluate, hovis.const(function), Float)
    assert not through.fallback
    assert len(through.ops) == len(list(function.ops()))
