"""One broken Function a message."""
from __future__ import annotations

import operator as o

import numpy as np
import pytest

from hovis.errors import VerifierError
from hovis.ir import CAUGHT, Block, Branch, Builder, Edge, Effect, Invoke, Jump, Op, Param, Return, verify
from hovis.ir import operations as ops
from hovis.ir.builder import BOOL, INT
from hovis.lattice import ANY, Array, Const, Type, join


def boom():
    raise ValueError


def complaint(function, text, under=None):
    with pytest.raises(VerifierError) as caught:
        verify(function)
    lines = str(caught.value).splitlines()
    at = next((k for k, line in enumerate(lines) if text in line), None)
    assert at is not None, caught.value
    if under is not None:
        assert under in lines[at - 1], caught.value
    return str(caught.value)


def returning(*types):
    b = Builder("f", *types)
    b.ret(None)
    return b


def test_the_message_shows_the_function():
    b = Builder("f", INT)
    b.branch(b.params[0], (end := b.block(),), (end,))
    b.at(end)
    b.ret(1)
    assert complaint(b.function, "Bool") == """\
f is broken:
1: (%1 :: Int)
  br 2 unless %1
  br 2
  ^ the condition is a Int; it has to be a Bool
2:
  return 1"""


def test_no_terminator():
    b = Builder("f", INT)
    b.op(o.neg, b.params[0])
    complaint(b.function, "has to end with a terminator", "(no terminator)")


def test_no_blocks():
    b = returning()
    b.function.blocks = []
    complaint(b.function, "no blocks")


def test_edges_into_nothing():
    b = Builder("f")
    b.jump(Block())
    complaint(b.function, "not in the list")


def test_edges_to_the_entry():
    b = Builder("f")
    b.jump(b.current)
    complaint(b.function, "leads to the entry", "br 1")


def test_unreachable_blocks():
    b = returning()
    b.at(b.block())
    b.ret(1)
    complaint(b.function, "cannot be reached", "2:")


def test_a_block_listed_twice():
    b = returning()
    b.function.blocks *= 2
    complaint(b.function, "listed twice")


def test_two_definitions():
    b = Builder("f", INT)
    op = b.op(o.neg, b.params[0])
    b.current.ops.append(op)
    b.ret(op)
    complaint(b.function, "defined twice", "neg")


def test_use_before_definition():
    b = Builder("f", INT)
    late = Op(o.neg, (b.params[0],))
    b.op(o.neg, late)
    b.current.ops.append(late)
    b.ret(late)
    complaint(b.function, "before its definition", "neg(%3)")


def test_a_use_of_itself():
    b = Builder("f", INT)
    op = b.op(o.neg, 1)
    op.args = (op,)
    b.ret(op)
    complaint(b.function, "before its definition")


def test_values_of_no_block():
    b = Builder("f")
    b.ret(Param(INT))
    complaint(b.function, "a value that no block defines", "return %?")


def test_dominance():
    b = Builder("f", BOOL)
    one, two, end = b.block(), b.block(), b.block()
    b.branch(b.params[0], (one,), (two,))
    b.at(one)
    value = b.op(o.neg, 1)
    b.jump(end)
    b.at(two)
    b.jump(end)
    b.at(end)
    b.ret(value)
    complaint(b.function, "not defined on every path", "return %2")


def test_arity_of_edges():
    b = Builder("f", INT)
    end = b.block(INT, INT)
    b.jump(end, 1)
    b.at(end)
    b.ret(1)
    complaint(b.function, "block 2 takes 2 arguments, not 1", "br 2 (1)")


@pytest.mark.parametrize(("value", "type"), [(1.0, INT), (True, INT), ([], INT), (1, Type(type(None)))])
def test_types_of_arguments(value, type):
    b = Builder("f", ANY)
    end = b.block(type)
    b.jump(end, value)
    b.at(end)
    b.ret(1)
    complaint(b.function, "the parameter is", "br 2")
    end.params[0].type = ANY
    verify(b.function)


def test_a_test_on_the_way_may_narrow():
    b = Builder("f", join(INT, Type(type(None))), INT)
    x, y = b.params
    end, other = b.block(INT), b.block()
    b.branch(b.op(o.is_not, x, None, type=BOOL), (end, x), (other,))
    b.at(other)
    b.ret(None)
    b.at(end)
    b.ret(1)
    verify(b.function)
    next(b.function.ops()).args = (y, Const(None))
    complaint(b.function, "the parameter is Int", "br")
    next(b.function.ops()).args = (x, Const(None))
    end.params[0].type = Type(str)
    complaint(b.function, "the parameter is Str", "br")


def test_a_condition_that_a_test_has_narrowed():
    b = Builder("f", join(BOOL, Type(type(None))))
    x = b.params[0]
    some, end = b.block(), b.block()
    b.branch(b.op(o.is_not, x, None, type=BOOL), (some,), (end,))
    b.at(some)
    b.branch(x, (end,), (end,))
    b.at(end)
    b.ret(1)
    verify(b.function)
    next(b.function.ops()).args = (Const(1), Const(None))
    complaint(b.function, "the condition is a", "br")


def test_an_edge_that_is_never_taken():
    b = Builder("f", INT)
    end = b.block(INT)
    b.branch(b.op(o.is_not, None, None, type=BOOL), (end, None), (end, 1))
    b.at(end)
    b.ret(1)
    verify(b.function)
    next(b.function.ops()).args = (b.params[0], Const(None))
    complaint(b.function, "the parameter is Int", "br")


def test_a_known_array_fits_an_array():
    array = np.zeros((2, 3))
    b = Builder("f")
    end = b.block(Array(np.ndarray, array.dtype, 2))
    b.jump(end, array)
    b.at(end)
    b.ret(1)
    verify(b.function)
    end.params[0].type = Array(np.ndarray, array.dtype, 1)
    complaint(b.function, "the parameter is")


def test_the_exception_stands_first_on_error_edges():
    b = Builder("f", ANY)
    err = b.block(ANY, ANY)
    b.invoke(boom, error=(err, 1))
    b.ret(1)
    b.at(err)
    b.raise_(err.params[0], again=True)
    verify(b.function)
    invoke = b.function.blocks[0].terminator
    invoke.error.args = (Const(1), CAUGHT)
    complaint(b.function, "%err may only be the first argument", "boom")
    invoke.error.args = (CAUGHT, Const(1))
    b.function.blocks[1].terminator = Return(CAUGHT)
    complaint(b.function, "%err may only be the first argument", "return %err")


def test_the_exception_on_other_edges():
    b = Builder("f")
    end = b.block(ANY)
    b.jump(end, CAUGHT)
    b.at(end)
    b.ret(1)
    complaint(b.function, "%err may only be the first argument", "br 2 (%err)")


def invoking(use):
    b = Builder("f", ANY)
    err, end = b.block(ANY), b.block(ANY)
    result = b.invoke(boom, error=(err,))
    b.jump(end, result)
    b.at(err)
    b.jump(end, result if use == "err" else 1)
    b.at(end)
    b.ret(result if use == "end" else end.params[0])
    return b.function


@pytest.mark.parametrize("use", ["err", "end"])
def test_results_of_invokes(use):
    complaint(invoking(use), "where the call may have raised")
    verify(invoking("ok"))


def test_the_result_of_an_invoke_on_its_own_edges():
    b = Builder("f", ANY)
    end = b.block(ANY)
    op = Op(boom, (), effect=Effect.OPAQUE)
    b.current.terminator = Invoke(op, Edge(end, (op,)), Edge(end, (CAUGHT,)))
    b.at(end)
    b.ret(end.params[0])
    verify(b.function)
    b.function.blocks[0].terminator.error.args = (op,)
    complaint(b.function, "where the call may have raised")


def test_the_result_of_an_invoke_inside_a_loop_that_begins_behind_it():
    b = Builder("f", BOOL)
    loop, err, end = b.block(), b.block(ANY), b.block()
    op = Op(boom, (), effect=Effect.OPAQUE)
    b.current.terminator = Invoke(op, Edge(loop), Edge(err, (CAUGHT,)))
    b.at(loop)
    b.op(print, op)
    b.branch(b.params[0], (loop,), (end,))
    b.at(err)
    b.raise_(err.params[0])
    b.at(end)
    b.ret(op)
    verify(b.function)


def test_callees():
    b = Builder("f")
    b.ret(b.op(Const(len), 1))
    complaint(b.function, "must be the object itself")
    b = Builder("f")
    b.ret(b.op(3, 1))
    complaint(b.function, "not callable")


def test_keywords():
    b = Builder("f")
    op = b.op(boom)
    op.kwargs = (("a", Const(1)), ("a", Const(2)))
    b.ret(op)
    complaint(b.function, "keyword is given twice")


def test_dimensions():
    b = Builder("f", Array(np.ndarray, np.dtype("float64"), 2))
    b.params[0].dims = (Const(1),)
    b.ret(1)
    complaint(b.function, "1 dimensions, its type has 2", "1: (")
    b.params[0].dims = (Const(1), Param(INT))
    complaint(b.function, "a value that no block defines")


def test_types_are_lattice_elements():
    b = Builder("f")
    b.ret(b.op(boom, type=int))
    with pytest.raises((VerifierError, AttributeError)):
        verify(b.function)


def test_operands_are_operands():
    b = Builder("f")
    op = b.op(boom)
    op.args = (3,)
    b.ret(op)
    with pytest.raises((VerifierError, AttributeError)):
        verify(b.function)


def test_handlers_in_balance():
    b = Builder("f", ANY, BOOL)
    one, end = b.block(), b.block()
    b.op(ops.enter_handler, b.params[0], effect=Effect.IO)
    b.branch(b.params[1], (one,), (end,))
    b.at(one)
    leave = b.op(ops.leave_handler, effect=Effect.IO)
    b.jump(end)
    b.at(end)
    b.ret(1)
    complaint(b.function, "handlers are open here")
    one.ops.remove(leave)
    complaint(b.function, "still open", "return 1")
    end.ops += [leave, Op(ops.leave_handler, ())]
    complaint(b.function, "no handler is open", "leave_handler")
    end.ops.pop()
    verify(b.function)


def test_functions_that_are_called_are_verified():
    inner = Builder("inner", INT)
    b = Builder("f")
    b.ret(b.op(inner.function, 1))
    assert complaint(b.function, "terminator").startswith("inner is broken")


def test_arity_of_residual_functions():
    b = Builder("f", INT)
    b.ret(b.op(b.function, 1, 2))
    complaint(b.function, "f takes 1 arguments, not 2")


def test_effects_against_a_library():
    class Row:
        effect = Effect.IO

    class Library:
        primitives = {print: Row()}

    b = Builder("f")
    b.op(print)
    b.ret(None)
    verify(b.function)
    with pytest.raises(VerifierError, match="more effects"):
        verify(b.function, Library())
    b.current.ops[0].effect = Effect.OPAQUE
    verify(b.function, Library())


def test_known_conditions():
    b = Builder("f")
    end = b.block()
    b.branch(True, (end,), (end,))
    b.at(end)
    b.ret(1)
    verify(b.function)
    assert isinstance(b.function.blocks[0].terminator, Branch)
    b.function.blocks[0].terminator.cond = Const(1)
    complaint(b.function, "has to be a Bool")
    b.function.blocks[0].terminator = Jump(Edge(end))
    verify(b.function)
