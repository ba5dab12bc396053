"""The reference semantics."""
from __future__ import annotations

import gc
import operator as o
import sys

import pytest

import hovis
from hovis.ir import Builder, Effect, verify
from hovis.ir import operations as ops
from hovis.ir.builder import BOOL, INT
from hovis.lattice import ANY, Type
from hovis.transforms import Interpreter, evaluate
from hovis.transforms.interpreter import reraise, within

IO = {"effect": Effect.IO}
OPAQUE = {"effect": Effect.OPAQUE}


def boom(x):
    raise ValueError(x)


def bare():
    raise


def other():
    raise KeyError("other")


def factorial():
    b = Builder("factorial", INT, result=INT)
    (n,) = b.params
    base, step = b.block(), b.block()
    b.branch(b.op(o.eq, n, 0, type=BOOL), (base,), (step,))
    b.at(base)
    b.ret(1)
    b.at(step)
    b.ret(b.op(o.mul, n, b.op(b.function, b.op(o.sub, n, 1, type=INT), type=INT, effect=Effect.RAISES), type=INT))
    verify(b.function)
    return b.function


def test_residual_functions_recurse_as_deep_as_python_does():
    expected = 1
    for k in range(1, sys.getrecursionlimit() - 100):
        expected *= k
    assert evaluate(factorial(), sys.getrecursionlimit() - 101) == expected


def test_endless_recursion_is_a_recursion_error():
    with pytest.raises(RecursionError):
        evaluate(factorial(), -1)


def test_an_exception_in_a_residual_function_is_caught_by_its_caller():
    inner = Builder("inner", ANY)
    inner.op(boom, inner.params[0], **OPAQUE)
    inner.ret(None)
    b = Builder("f", ANY)
    err = b.block(ANY)
    b.invoke(inner.function, b.params[0], error=(err,))
    b.ret("not raised")
    b.at(err)
    b.ret(err.params[0])
    verify(b.function)
    caught = evaluate(b.function, 7)
    assert (type(caught), caught.args) == (ValueError, (7,))


def test_the_result_of_an_invoked_residual_function():
    b = Builder("f", INT)
    err = b.block(ANY)
    result = b.invoke(factorial(), b.params[0], error=(err,), type=INT)
    b.ret(result)
    b.at(err)
    b.ret(None)
    assert evaluate(b.function, 5) == 120


def test_too_few_arguments():
    with pytest.raises(TypeError, match="factorial takes 1 arguments, not 0"):
        evaluate(factorial())


def test_unknown_callees():
    b = Builder("f", ANY)
    b.ret(b.op(b.params[0], 3, base=2))
    assert evaluate(b.function, lambda x, base: (x, base)) == (3, 2)


# ---------------------------------------------------------------------------------------------- handlers


def handling(*body):
    """try: boom(1) / except: body."""
    b = Builder("f")
    err = b.block(ANY)
    b.invoke(boom, 1, error=(err,))
    b.ret(None)
    b.at(err)
    b.op(ops.enter_handler, err.params[0], **IO)
    results = [b.op(callee, *args, **OPAQUE) for callee, *args in body]
    b.op(ops.leave_handler, **IO)
    results.append(b.op(sys.exc_info, **OPAQUE))
    b.ret(b.op(ops.make_tuple, *results, err.params[0], type=Type(tuple)))
    verify(b.function)
    return b.function


def test_what_is_being_handled_can_be_seen():
    seen, current, after, error = evaluate(handling((sys.exc_info,), (ops.current_exception,)))
    assert seen[1] is error
    assert current is error
    assert after == (None, None, None)
    assert error.__context__ is None


def test_an_exception_out_of_a_handler_has_its_context():
    with pytest.raises(KeyError) as caught:
        evaluate(handling((other,)))
    assert isinstance(caught.value.__context__, ValueError)
    assert caught.value.__context__.__context__ is None


def test_a_bare_raise_in_a_callee():
    with pytest.raises(ValueError, match="1") as caught:
        evaluate(handling((bare,)))
    assert caught.value.__context__ is None


def test_raised_has_its_context():
    one, after, error = evaluate(handling((ops.raised, KeyError("x"))))
    assert one.__context__ is error
    assert after == (None, None, None)


def test_handlers_within_handlers():
    b = Builder("f")
    err, err2 = b.block(ANY), b.block(ANY)
    b.invoke(boom, 1, error=(err,))
    b.ret(None)
    b.at(err)
    b.op(ops.enter_handler, err.params[0], **IO)
    b.invoke(other, error=(err2,))
    b.op(ops.leave_handler, **IO)
    b.ret(None)
    b.at(err2)
    b.op(ops.enter_handler, err2.params[0], **IO)
    inner = b.op(sys.exc_info, **OPAQUE)
    b.op(ops.leave_handler, **IO)
    outer = b.op(sys.exc_info, **OPAQUE)
    b.op(ops.leave_handler, **IO)
    b.ret(b.op(ops.make_tuple, inner, outer, type=Type(tuple)))
    verify(b.function)
    inner, outer = evaluate(b.function)
    assert (inner[0], outer[0]) == (KeyError, ValueError)
    assert inner[1].__context__ is outer[1]


def test_a_residual_function_called_in_a_handler_sees_it():
    inner = Builder("inner")
    inner.ret(inner.op(ops.current_exception, effect=Effect.READS))
    seen, _, error = evaluate(handling((inner.function,)))
    assert seen is error


def test_a_function_that_is_evaluated_in_a_handler_of_its_caller():
    b = Builder("f")
    b.ret(b.op(sys.exc_info, **OPAQUE))
    try:
        raise KeyError
    except KeyError as error:
        assert evaluate(b.function)[1] is error


def test_a_loop_with_a_handler():
    """Many times in and out."""
    b = Builder("f", INT)
    loop, err, latch, end = b.block(INT), b.block(ANY), b.block(), b.block()
    b.jump(loop, b.params[0])
    b.at(loop)
    b.invoke(boom, loop.params[0], error=(err,))
    b.ret(None)
    b.at(err)
    b.op(ops.enter_handler, err.params[0], **IO)
    b.op(ops.leave_handler, **IO)
    b.jump(latch)
    b.at(latch)
    less = b.op(o.sub, loop.params[0], 1, type=INT)
    b.branch(b.op(o.gt, less, 0, type=BOOL), (loop, less), (end,))
    b.at(end)
    b.ret("done")
    verify(b.function)
    assert evaluate(b.function, 5000) == "done"


def test_reraise_keeps_context_and_chain():
    one, two = ValueError("one"), KeyError("two")
    one.__context__ = two
    with pytest.raises(ValueError, match="one") as caught:
        within(two, lambda: reraise(one))
    assert caught.value.__context__ is two
    # raising what stands in the context of what is being handled cuts the chain in Python; entering a handler must not
    two.__context__ = one
    one.__context__ = None

    def look():
        return within(one, sys.exc_info)

    assert within(two, look)[1] is one
    assert two.__context__ is one
    assert one.__context__ is None


def test_raise_terminators():
    b = Builder("f", ANY)
    b.raise_(b.params[0])
    with pytest.raises(TypeError, match="exceptions must derive"):
        evaluate(b.function, 3)
    with pytest.raises(KeyError):
        evaluate(b.function, KeyError)


# ---------------------------------------------------------------------------------------------- lifetimes


def test_drop_ends_a_life():
    log = []

    class Noisy:
        def __del__(self):
            log.append("gone")

    def make():
        return Noisy()

    b = Builder("f", BOOL)
    end = b.block(ANY)
    b.jump(end, b.op(make, **OPAQUE))
    b.at(end)
    b.op(log.append, "before", **OPAQUE)
    b.op(ops.drop, end.params[0], type=Type(type(None)), effect=Effect.WRITES)
    b.op(log.append, "after", **OPAQUE)
    b.ret(None)
    verify(b.function)
    gc.disable()
    try:
        evaluate(b.function, True)
    finally:
        gc.enable()
    assert log == ["before", "gone", "after"]


# ---------------------------------------------------------------------------------------------- overriding


def test_an_interpreter_of_ones_own():
    class Counting(Interpreter):
        def __init__(self):
            super().__init__()
            self.calls = []

        def call(self, op, callee, args, kwargs):
            self.calls.append(callee)
            return super().call(op, callee, args, kwargs)

        def constant(self, value):
            return value

    counting = Counting()
    assert counting.evaluate(factorial(), 3) == 6
    assert counting.calls.count(o.mul) == 3
    assert counting.calls.count(o.eq) == 4


def test_an_interpreter_over_other_values():
    class Signs(Interpreter):
        """Computes with +1, 0, -1."""

        def constant(self, value):
            return (value > 0) - (value < 0)

        def call(self, op, callee, args, kwargs):
            return {o.mul: lambda a, b: a * b, o.neg: lambda a: -a}[callee](*args)

    b = Builder("f", INT)
    b.ret(b.op(o.mul, b.op(o.neg, b.params[0]), 100))
    assert Signs().evaluate(b.function, -1) == 1


def test_a_generator_that_is_closed_holds_nothing_any_more(capsys):
    class Dies:
        def __del__(self):
            print("del")

    def steps():
        held = Dies()
        try:
            yield held is None
        finally:
            print("end")

    def closed(p):
        g = steps()
        next(g)
        del g
        print("gone")
        return p

    hovis.evaluate(hovis.trace(closed, list), [1])
    assert capsys.readouterr().out.split() == ["end", "del", "gone"]
