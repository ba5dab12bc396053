"""Passes keep the meaning of a Function, and do what they are there for."""
from __future__ import annotations

import operator as o
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hovis
from hovis.ir import Branch, Builder, Effect, Function, Jump, Location, Return, callees, parse, show, verify
from hovis.ir import operations as ops
from hovis.ir.builder import BOOL, FLOAT, INT
from hovis.lattice import ANY, Const, Type
from hovis.passes import PASSES, clean, default, run
from hovis.passes.rewriting import copy
from hovis.transforms import evaluate
from tests.unit.ir.random_functions import outcome, random_function

NONE = Type(type(None))
INPUTS = [(0, 0), (1, -1), (3, 5), (-2, 10**20)]

seeds = st.integers(0, 2**32)


# ---------------------------------------------------------------------------------------------- any graph


@given(seeds)
def test_pipelines_keep_the_meaning(seed):
    function = random_function(random.Random(seed))
    verify(function)
    before = show(function, full=True)
    expected = [outcome(function, *args) for args in INPUTS]
    for pipeline in ("clean", "default"):
        made = run(function, pipeline, verify=True)
        assert [outcome(made, *args) for args in INPUTS] == expected
    assert show(function, full=True) == before


@given(seeds, st.sampled_from(sorted(PASSES)))
def test_each_pass_keeps_the_meaning(seed, name):
    function = random_function(random.Random(seed))
    expected = [outcome(function, *args) for args in INPUTS]
    made = copy(function)
    before = show(made, full=True)
    assert PASSES[name].rewrite_all(made) or show(made, full=True) == before
    verify(made)
    assert [outcome(made, *args) for args in INPUTS] == expected


@given(seeds)
def test_pipelines_end_where_they_stay(seed):
    function = clean(random_function(random.Random(seed)))
    again = clean(function)
    assert show(again, full=True) == show(function, full=True)
    assert again.params == function.params


# ---------------------------------------------------------------------------------------------- clean, one by one


def power(*, useless: bool = False):
    """pow of two Ints, with all that an engine leaves behind."""
    b = Builder("pow", INT, INT)
    x, n = b.params
    loop, done, end = b.block(INT, INT, INT), b.block(INT, INT), b.block(INT)
    first = 1 if not useless else x
    b.branch(b.op(o.gt, n, 0, type=BOOL), (loop, x, n, first), (done, x, first))
    b.at(loop)
    lx, ln, lr = loop.params
    ln2 = b.op(o.sub, ln, 1, type=INT)
    lr2 = b.op(o.mul, lr, lx, type=INT)
    b.branch(b.op(o.gt, ln2, 0, type=BOOL), (loop, lx, ln2, lr2), (done, lx, lr2))
    b.at(done)
    b.jump(end, done.params[1])
    b.at(end)
    b.ret(end.params[0])
    return b.function


def test_power_prints_as_it_should():
    assert str(clean(power())) == """\
1: (%1 :: Int, %2 :: Int)
  %3 = (>)(%2, 0) :: Bool
  br 3 (1) unless %3
  br 2 (%2, 1)
2: (%4 :: Int, %5 :: Int)
  %6 = (-)(%4, 1) :: Int
  %7 = (*)(%5, %1) :: Int
  %8 = (>)(%6, 0) :: Bool
  br 3 (%7) unless %8
  br 2 (%6, %7)
3: (%9 :: Int)
  return %9"""


def test_parameters_that_only_feed_each_other_are_one_value():
    b = Builder("f", INT, INT)
    x, n = b.params
    outer, inner, done = b.block(INT, INT), b.block(INT, INT), b.block(INT)
    b.jump(outer, x, n)
    b.at(outer)
    b.branch(b.op(o.gt, outer.params[1], 0, type=BOOL), (inner, *outer.params), (done, outer.params[0]))
    b.at(inner)
    less = b.op(o.sub, inner.params[1], 1, type=INT)
    b.branch(b.op(o.gt, less, 5, type=BOOL), (inner, inner.params[0], less), (outer, inner.params[0], less))
    b.at(done)
    b.ret(done.params[0])
    made = run(b.function, ["trivial_phis"], verify=True)
    assert [len(block.params) for block in made.blocks] == [2, 1, 1, 0]
    assert made.blocks[-1].terminator.value is made.params[0]


def test_constants_that_look_alike_are_not_merged():
    b = Builder("f", BOOL)
    one, two, end = b.block(), b.block(), b.block(ANY)
    b.branch(b.params[0], (one,), (two,))
    b.at(one)
    b.jump(end, 0.0)
    b.at(two)
    b.jump(end, -0.0)
    b.at(end)
    b.ret(end.params[0])
    made = clean(b.function)
    assert str(evaluate(made, True)) == "0.0"
    assert str(evaluate(made, False)) == "-0.0"


def test_branches_that_do_not_decide_go():
    b = Builder("f", INT)
    end = b.block(INT)
    b.branch(b.op(o.gt, b.params[0], 0, type=BOOL), (end, 1), (end, 1))
    b.at(end)
    b.ret(end.params[0])
    assert str(clean(b.function)) == "1: (%1 :: Int)\n  return 1"


def test_known_branches_are_followed():
    b = Builder("f")
    one, two = b.block(), b.block()
    b.branch(True, (one,), (two,))
    b.at(one)
    b.ret(1)
    b.at(two)
    b.ret(2)
    assert str(clean(b.function)) == "1:\n  return 1"


@pytest.mark.parametrize("effect", [Effect.PURE, Effect.READS])
def test_unused_ops_without_lasting_effect_go(effect):
    b = Builder("f", ANY)
    b.op(len, b.op(ops.make_list, b.params[0], type=Type(list)), type=INT, effect=effect)
    b.ret(None)
    assert len(list(clean(b.function).ops())) == 0


@pytest.mark.parametrize("effect", [Effect.WRITES, Effect.RAISES, Effect.IO, Effect.RANDOM, Effect.CLOCK, Effect.OPAQUE])
def test_lasting_effects_stay(effect):
    b = Builder("f", ANY)
    b.op(print, b.params[0], effect=effect)
    b.ret(None)
    assert len(list(default(b.function).ops())) == 1


def test_the_end_of_a_life_stays_where_somebody_may_notice():
    b = Builder("f", ANY, INT)
    opened = b.op(open, b.params[0], effect=Effect.OPAQUE)
    drop = {"type": NONE, "effect": Effect.WRITES}
    b.op(ops.drop, opened, **drop)
    b.op(ops.drop, b.params[0], **drop)
    b.op(ops.drop, b.params[1], **drop)
    b.op(ops.drop, b.op(ops.make_list, b.params[0], type=Type(list)), **drop)
    b.op(ops.drop, Const([]), **drop)
    b.ret(None)
    assert str(clean(b.function)) == """\
1: (%1 :: Any, %2 :: Int)
  %3 = open!(%1) :: Any
  %4 = drop!(%3) :: None
  %5 = drop!(%1) :: None
  return None"""


def test_the_life_of_what_a_parameter_may_hold_ends_too():
    b = Builder("f", ANY, BOOL)
    end = b.block(ANY)
    b.branch(b.params[1], (end, b.op(open, b.params[0], effect=Effect.OPAQUE)), (end, None))
    b.at(end)
    b.op(ops.drop, end.params[0], type=NONE, effect=Effect.WRITES)
    b.ret(None)
    assert "drop!(%4)" in str(clean(b.function))


def handling(in_handler, effect):
    b = Builder("f", INT)
    error = b.op(ValueError, b.params[0], type=Type(ValueError), effect=Effect.OPAQUE)
    raised = b.op(ops.raised, error, type=Type(ValueError), effect=Effect.READS)
    b.op(ops.enter_handler, raised, effect=Effect.IO)
    result = b.op(in_handler, b.params[0], type=INT, effect=effect)
    b.op(ops.leave_handler, effect=Effect.IO)
    b.ret(result)
    return b.function


def test_a_known_exception_that_nobody_looks_at_goes():
    assert str(clean(handling(o.neg, Effect.PURE))) == "1: (%1 :: Int)\n  %2 = neg(%1) :: Int\n  return %2"


@pytest.mark.parametrize("effect", [Effect.OPAQUE, Effect.RAISES, Effect.IO])
def test_a_known_exception_that_somebody_may_look_at_stays(effect):
    assert len(list(clean(handling(abs, effect)).ops())) == 5


def test_an_exception_that_somebody_holds_is_raised():
    b = Builder("f", ANY)
    b.op(ops.raised, b.params[0], effect=Effect.READS)
    error = b.op(ValueError, 1, type=Type(ValueError))
    b.op(ops.raised, error, effect=Effect.READS)
    b.ret(error)
    assert len(list(clean(b.function).ops())) == 3


def test_residual_functions_are_cleaned_with_their_caller():
    inner = power()
    b = Builder("g", INT)
    b.ret(b.op(inner, b.params[0], 3, type=INT, effect=Effect.RAISES))
    made = clean(b.function)
    assert [len(f.blocks) for f in callees(made)] == [1, 3]
    assert callees(made)[1] is not inner
    assert evaluate(made, 2) == 8


# ---------------------------------------------------------------------------------------------- default


def simplified(callee, *args, type=INT, params=(INT,)):
    b = Builder("f", *params)
    b.ret(b.op(callee, *(b.params[a[0]] if isinstance(a, list) else a for a in args), type=type))
    made = default(b.function)
    assert isinstance(made.blocks[0].terminator, Return)
    return made.blocks[0].terminator.value, made


X = [0]


@pytest.mark.parametrize(
    ("callee", "args"),
    [(o.mul, (1, X)), (o.mul, (X, 1)), (o.add, (X, 0)), (o.sub, (X, 0)), (o.pow, (X, 1)), (o.floordiv, (X, 1)), (o.and_, (X, X)), (int, (X,)), (o.pos, (X,))],
)
def test_identities_of_int(callee, args):
    value, made = simplified(callee, *args)
    assert value is made.params[0]


@pytest.mark.parametrize(("callee", "args", "result"), [(o.sub, (X, X), 0), (o.mul, (X, 0), 0), (o.eq, (X, X), True), (o.lt, (X, X), False), (o.add, (2, 3), 5)])
def test_known_results_of_int(callee, args, result):
    value, _ = simplified(callee, *args)
    assert value == Const(result)


@pytest.mark.parametrize(
    ("callee", "args", "param"),
    [
        (o.add, (X, 0), BOOL), (o.mul, (X, 1), BOOL), (o.add, (X, 0.0), FLOAT), (o.mul, (X, 0), FLOAT), (o.sub, (X, X), FLOAT), (o.eq, (X, X), FLOAT),
        (o.add, (X, False), INT), (o.mul, (X, 1.0), INT), (o.eq, (X, X), ANY), (o.add, (X, 0), ANY), (int, (X,), BOOL), (o.pow, (2, 10**9), INT),
    ],
)  # fmt: skip
def test_what_is_no_identity(callee, args, param):
    value, _ = simplified(callee, *args, type=ANY, params=(param,))
    assert value.callee is callee


def test_what_raises_is_not_folded():
    value, _ = simplified(o.floordiv, 1, 0)
    assert value.callee is o.floordiv


def test_what_is_computed_twice_is_computed_once():
    b = Builder("f", INT, INT)
    x, y = b.params
    then, other, end = b.block(), b.block(), b.block(INT)
    one = b.op(o.add, x, y, type=INT)
    b.branch(b.op(o.gt, one, 0, type=BOOL), (then,), (other,))
    b.at(then)
    b.jump(end, b.op(o.mul, b.op(o.add, y, x, type=INT), 3, type=INT))
    b.at(other)
    b.jump(end, b.op(o.mul, one, 3, type=INT))
    b.at(end)
    b.ret(b.op(o.mul, b.op(o.add, x, y, type=INT), end.params[0], type=INT))
    made = run(b.function, ["gvn"])
    assert [op.callee for op in made.ops()].count(o.add) == 1
    # neither arm's product dominates the other
    assert [op.callee for op in made.ops()].count(o.mul) == 3
    # but both arms do the same then
    assert [op.callee for op in default(b.function).ops()] == [o.add, o.mul, o.mul]


def test_two_lists_stay_two_lists():
    b = Builder("f", INT)
    one, two = (b.op(ops.make_list, b.params[0], type=Type(list)) for _ in range(2))
    b.ret(b.op(o.is_, one, two, type=BOOL))
    assert evaluate(default(b.function), 1) is False


def counting(test, step, *, bound=0, start=None, stays=True, bound_param=False):
    """A loop that only counts."""
    b = Builder("f", INT, INT)
    loop, end = b.block(INT), b.block()
    b.jump(loop, b.params[0] if start is None else start)
    b.at(loop)
    moved = b.op(o.add, loop.params[0], step, type=INT)
    cond = b.op(test, moved, b.params[1] if bound_param else bound, type=BOOL)
    ways = ((loop, moved), (end,))
    b.branch(cond, *(ways if stays else ways[::-1]))
    b.at(end)
    b.ret(1)
    return b.function


@pytest.mark.parametrize(
    "function",
    [
        counting(o.gt, -1), counting(o.lt, 2, bound=100), counting(o.le, 3, bound_param=True), counting(o.lt, -1, stays=False),
        counting(o.gt, 1, stays=False), counting(o.ge, -7, bound_param=True),
    ],
)  # fmt: skip
def test_loops_that_only_count_towards_a_bound_go(function):
    made = default(function)
    assert str(made) == "1: (%1 :: Int, %2 :: Int)\n  return 1"


@pytest.mark.parametrize(
    "function",
    [counting(o.gt, 1), counting(o.ne, -1), counting(o.lt, 0, bound=100), counting(o.eq, 1), counting(o.lt, -1), counting(o.gt, -1, stays=False)],
)
def test_loops_that_may_run_on_stay(function):
    assert len(default(function).blocks) > 1


def test_a_power_of_one_has_no_loop():
    b = Builder("pow", INT)
    (n,) = b.params
    loop, end = b.block(INT, INT), b.block(INT)
    b.branch(b.op(o.gt, n, 0, type=BOOL), (loop, n, 1), (end, 1))
    b.at(loop)
    left, r = loop.params
    left2, r2 = b.op(o.sub, left, 1, type=INT), b.op(o.mul, r, 1, type=INT)
    b.branch(b.op(o.gt, left2, 0, type=BOOL), (loop, left2, r2), (end, r2))
    b.at(end)
    b.ret(end.params[0])
    assert str(default(b.function)) == "1: (%1 :: Int)\n  return 1"


def test_nested_idle_loops_go_together():
    b = Builder("f", INT, INT)
    outer, inner, latch, end = b.block(INT), b.block(INT), b.block(), b.block()
    b.jump(outer, b.params[0])
    b.at(outer)
    b.jump(inner, b.params[1])
    b.at(inner)
    i = b.op(o.sub, inner.params[0], 1, type=INT)
    b.branch(b.op(o.gt, i, 0, type=BOOL), (inner, i), (latch,))
    b.at(latch)
    k = b.op(o.sub, outer.params[0], 1, type=INT)
    b.branch(b.op(o.gt, k, 0, type=BOOL), (outer, k), (end,))
    b.at(end)
    b.ret(None)
    assert len(default(b.function).blocks) == 1


def test_a_loop_whose_result_is_used_stays():
    assert len(default(power()).blocks) == 3


# ---------------------------------------------------------------------------------------------- cost


def long_function(diamonds):
    b = Builder("f", INT)
    (x,) = b.params
    for k in range(diamonds):
        then, other, end = b.block(INT), b.block(INT), b.block(INT, INT, INT)
        b.branch(b.op(o.gt, x, k, type=BOOL), (then, x), (other, x))
        for block in (then, other):
            b.at(block)
            value = block.params[0]
            for n in range(4):
                value = b.op(o.add, value, n + 1, type=INT)
            b.jump(end, value, block.params[0], 3)
        b.at(end)
        x = end.params[0]
        b.op(o.mul, end.params[1], end.params[2], type=INT)
    b.ret(x)
    return b.function


@pytest.mark.parametrize("pipeline", [clean, default])
def test_cost_is_linear(pipeline):
    """Five times as long takes about five times as many calls."""
    def calls(n):
        function = long_function(n)
        assert len(list(function.ops())) == 10 * n
        count = 0

        def called(frame, event, arg):
            nonlocal count
            count += event in ("call", "c_call")
        sys.setprofile(called)
        try:
            pipeline(function)
        finally:
            sys.setprofile(None)
        return count
    assert calls(500) < 6 * calls(100)


def test_names_of_passes():
    assert all(PASSES[name].__name__ == name and PASSES[name].__doc__ for name in PASSES)
    assert isinstance(run(power(), ["dce"]).blocks[0].terminator, Branch | Jump)
    assert str(parse(str(clean(power())))) == str(clean(power()))

def test_what_blocks_do_before_the_same_drops_is_done_once():
    """One jumps to the drops, another ends with them: where they do the same before, they are one; where they do not, each stays."""
    text = """1: (%1 :: Bool, %2 :: Bool, %3 :: Any)
  br 5 unless %1
  br 2
2:
  br 4 unless %2
  br 3
3:
  %4 = print!('x') :: None
  br 4
4:
  %5 = drop!(%3) :: None {writes}
  br 6
5:
  %6 = print!('x') :: None
  %7 = drop!(%3) :: None {writes}
  br 6
6:
  return None"""
    made = PASSES["tail_merging"](parse(text))
    verify(made)
    assert [op.callee for op in made.ops() if op.callee in (print, ops.drop)] == [print, ops.drop]
    other = PASSES["tail_merging"](parse(text.replace("print!('x')", "print!('y')", 1)))
    assert str(other) == str(parse(text.replace("print!('x')", "print!('y')", 1)))


# ---------------------------------------------------------------------------------------------- loops that count


def counting_loop(compare, step, bound, *, stores=False):
    """A loop of one block: a moves by step, s grows by a and t by 7, as long as a compares with the bound."""
    b = Builder("count", INT, INT)
    a, n = b.params
    loop, done = b.block(INT, INT, INT), b.block(INT, INT, INT)
    b.jump(loop, a, 0, 100)
    b.at(loop)
    la, ls, lt = loop.params
    la2 = b.op(o.add, la, step, type=INT)
    ls2 = b.op(o.add, ls, la, type=INT)
    lt2 = b.op(o.sub, lt, 7, type=INT)
    b.branch(b.op(compare, la2, n if bound is None else bound, type=BOOL), (loop, la2, ls2, lt2), (done, la2, ls2, lt2))
    b.at(done)
    b.ret(b.op(ops.make_tuple, *done.params, type=Type(tuple)))
    return b.function


@pytest.mark.parametrize(("compare", "step"), [(o.lt, 1), (o.le, 1), (o.ne, 1), (o.gt, -1), (o.ge, -1), (o.ne, -1), (o.lt, 3), (o.le, 2), (o.gt, -4), (o.ge, -3), (o.ne, 2), (o.ne, -3)])
def test_loops_that_count_have_closed_forms(compare, step):
    function = counting_loop(compare, step, None)
    made = run(function, ["loop_idioms"], verify=True)
    assert len(made.blocks) > len(function.blocks)
    for start in range(-4, 5):
        for far in range(-4, 6):
            for odd in range(abs(step)):
                if compare is o.ne and (far < 1 or odd):
                    continue    # without end
                bound = start + far * step + odd
                assert evaluate(made, start, bound) == evaluate(function, start, bound)
    assert len(run(made, ["loop_idioms"], verify=True).blocks) == len(made.blocks)


def test_a_closed_form_takes_no_time():
    made = default(counting_loop(o.lt, 1, None))
    assert evaluate(made, 0, 10**12) == (10**12, 10**12 * (10**12 - 1) // 2, 100 - 7 * 10**12)


@pytest.mark.parametrize(("compare", "step"), [(o.lt, -1), (o.gt, 1), (o.ne, 0), (o.eq, 1)])
def test_loops_that_go_elsewhere_stay(compare, step):
    function = counting_loop(compare, step, None)
    assert len(run(function, ["loop_idioms"], verify=True).blocks) == len(function.blocks)


# ---------------------------------------------------------------------------------------------- strength


@pytest.mark.parametrize(("callee", "n", "cheaper"), [(o.pow, 2, [o.mul]), (o.pow, 3, [o.mul, o.mul]), (o.mod, 8, [o.and_]), (o.mod, 1, [o.and_])])
def test_powers_and_remainders_are_cheaper_for_ints(callee, n, cheaper):
    b = Builder("f", INT)
    b.ret(b.op(callee, b.params[0], n, type=INT))
    made = run(b.function, ["strength_reduction"], verify=True)
    assert [op.callee for op in made.ops()] == cheaper
    for x in (0, 1, -1, 7, -7, 8, -8, 2**70, -(2**70) - 3):
        assert evaluate(made, x) == callee(x, n)


@pytest.mark.parametrize(("callee", "n", "kind"), [(o.pow, 2, FLOAT), (o.pow, 2, ANY), (o.mod, 6, INT), (o.mod, -8, INT), (o.pow, True, INT), (o.mod, 8.0, INT)])
def test_what_is_not_the_same_is_left(callee, n, kind):
    b = Builder("f", kind)
    b.ret(b.op(callee, b.params[0], n, type=kind))
    assert [op.callee for op in run(b.function, ["strength_reduction"], verify=True).ops()] == [callee]


def test_ways_that_do_the_same_are_one_and_need_no_test():
    b = Builder("f", INT, INT)
    x, y = b.params
    then, other, end = b.block(), b.block(), b.block(INT)
    b.branch(b.op(o.gt, x, 0, type=BOOL), (then,), (other,))
    for arm in (then, other):
        b.at(arm)
        b.jump(end, b.op(o.mul, y, 3, type=INT))
    b.at(end)
    b.ret(end.params[0])
    assert [op.callee for op in default(b.function).ops()] == [o.mul]


def test_a_tuple_of_builtin_classes_is_a_constant():
    class Own:
        pass

    b = Builder("f", ANY)
    one = b.op(ops.make_tuple, Const(int), Const(float), type=Type(tuple))
    other = b.op(ops.make_tuple, Const(int), Const(Own), type=Type(tuple))
    b.ret(b.op(ops.make_tuple, one, other, type=Type(tuple)))
    made = run(b.function, ["instcombine"])
    assert [op.callee for op in made.ops()] == [ops.make_tuple, ops.make_tuple]
    assert evaluate(made, 1) == ((int, float), (int, Own))


# ---------------------------------------------------------------------------------------------- ends of blocks, lists that collect


def both_arms(first, second):
    b = Builder("f", BOOL, ANY)
    cond, x = b.params
    out = b.op(ops.make_list, type=Type(list))
    then, other, end = b.block(), b.block(), b.block()
    b.branch(cond, (then,), (other,))
    for arm, piece in ((then, first), (other, second)):
        b.at(arm)
        b.op(list.append, out, Const(piece), type=NONE, effect=Effect.WRITES)
        text = b.op(str, x, type=ANY, effect=Effect.OPAQUE | Effect.RAISES | Effect.READS | Effect.WRITES)
        b.op(list.append, out, text, type=NONE, effect=Effect.WRITES)
        b.op(list.append, out, Const(">"), type=NONE, effect=Effect.WRITES)
        b.op(list.append, out, Const("!"), type=NONE, effect=Effect.WRITES)
        b.jump(end)
    b.at(end)
    b.ret(b.op(str.join, Const(""), out, type=Type(str), effect=Effect.READS))
    return b.function


def test_blocks_that_end_alike_share_the_end():
    made = run(both_arms("yes", "no"), ["cross_jumping"], verify=True)
    assert [op.callee for op in made.ops()].count(str) == 1
    assert [evaluate(made, flag, 3) for flag in (True, False)] == ["yes3>!", "no3>!"]


def test_what_a_block_appends_is_appended_at_once():
    made = run(both_arms("yes", "no"), ["cross_jumping", "list_append_merging"], verify=True)
    callees_ = [op.callee for op in made.ops()]
    assert (callees_.count(list.append), callees_.count(ops.list_extend)) == (2, 1)
    assert next(op for op in made.ops() if op.callee is ops.make_tuple).args[1] == Const(">!")
    assert [evaluate(made, flag, 3) for flag in (True, False)] == ["yes3>!", "no3>!"]


def test_a_list_that_others_see_is_appended_to_where_it_was():
    b = Builder("f", ANY)
    out = b.op(ops.make_list, type=Type(list))
    b.op(list.append, out, Const("a"), type=NONE, effect=Effect.WRITES)
    b.op(print, b.params[0], out, type=NONE, effect=Effect.OPAQUE)
    b.op(list.append, out, Const("b"), type=NONE, effect=Effect.WRITES)
    b.ret(out)
    assert [op.callee for op in run(b.function, ["list_append_merging"], verify=True).ops()].count(list.append) == 2


def test_a_list_that_nobody_reads_is_not_made():
    b = Builder("f", INT)
    out = b.op(ops.make_list, b.params[0], type=Type(list))
    b.op(list.append, out, b.params[0], type=NONE, effect=Effect.WRITES)
    b.op(o.setitem, out, 0, 3, type=NONE, effect=Effect.WRITES)
    kept = b.op(ops.make_list, b.params[0], type=Type(list))
    b.op(list.append, kept, 2, type=NONE, effect=Effect.WRITES)
    b.ret(b.op(o.getitem, kept, 1, type=INT, effect=Effect.READS))
    made = run(b.function, ["load_store_forwarding"], verify=True)
    assert [op.callee for op in made.ops()] == [ops.make_list, list.append, o.getitem]
    assert evaluate(made, 5) == 2


# ---------------------------------------------------------------------------------------------- functions that recurse


def power_of(name, *, order=(0, 1), first=2, calls=None):
    """x ** n by recursion; order: which parameter is x; calls: what it calls (else itself)."""
    b = Builder(name, INT, INT, result=INT)
    x, n = (b.params[k] for k in order)
    base, step = b.block(), b.block()
    b.branch(b.op(o.lt, n, first, type=BOOL), (base,), (step,))
    b.at(base)
    b.ret(x)
    b.at(step)
    less = b.op(o.sub, n, 1, type=INT)
    callee, places = calls or (b.function, order)
    rest = b.op(callee, *(given for _, given in sorted(zip(places, (x, less), strict=True))), type=INT, effect=Effect.RAISES)
    b.ret(b.op(o.mul, x, rest, type=INT))
    verify(b.function)
    return b.function


def test_the_first_round_of_a_recursion_is_the_function_itself():
    inner = power_of("inner", order=(1, 0))
    outer = power_of("outer", calls=(inner, (1, 0)))
    made = default(outer)
    verify(made)
    assert [op.callee for op in made.ops() if isinstance(op.callee, Function)] == [made]
    assert evaluate(made, 3, 4) == evaluate(outer, 3, 4) == 81


@pytest.mark.parametrize("other", [{"first": 3}, {"first": 1}])
def test_a_recursion_that_begins_otherwise_stays(other):
    inner = power_of("inner")
    made = default(power_of("outer", calls=(inner, (0, 1)), **other))
    assert all(op.callee is not made for op in made.ops())


def test_a_call_may_do_no_more_than_what_is_called():
    inner = Builder("inner", INT, result=INT)
    inner.ret(inner.op(o.add, inner.params[0], 1, type=INT))
    b = Builder("f", INT, result=INT)
    b.ret(b.op(inner.function, b.params[0], type=INT, effect=Effect.OPAQUE))
    made = clean(b.function)
    assert [op.effect for op in made.ops()] == [Effect.RAISES]


def test_a_call_of_what_is_opaque_stays_opaque():
    inner = Builder("inner", ANY)
    inner.ret(inner.op(inner.params[0], effect=Effect.OPAQUE))
    middle = Builder("middle", ANY)
    middle.ret(middle.op(inner.function, middle.params[0], effect=Effect.OPAQUE))
    b = Builder("f", ANY)
    b.ret(b.op(middle.function, b.params[0], effect=Effect.OPAQUE))
    assert [op.effect for one in callees(clean(b.function)) for op in one.ops()] == [Effect.OPAQUE] * 3


def test_a_temporary_ends_where_it_is_used():
    b = Builder("f", ANY)
    drop = {"type": NONE, "effect": Effect.WRITES}
    made = b.op(b.params[0], effect=Effect.OPAQUE)
    b.op(print, made, effect=Effect.OPAQUE)
    b.op(ops.drop, made, **drop)
    kept = b.op(b.params[0], effect=Effect.OPAQUE)
    b.op(print, effect=Effect.OPAQUE)
    b.op(ops.drop, kept, **drop)
    b.ret(None)
    assert sum(op.callee is ops.drop for op in clean(b.function).ops()) == 1



# ---------------------------------------------------------------------------------------------- residual functions


def mutual(n):
    def even(i, unused, text, same):
        return True if i == 0 else odd(i - 1, text, unused, same)

    def odd(i, unused, text, same):
        return False if i == 0 else even(i - 1, text, same, text)

    return even(n, "a", "b", "b")


def test_functions_that_are_called_once_are_inlined_and_arguments_passed_once():
    made = hovis.trace(mutual, int).passes("default")
    assert len(callees(made.function)) <= 2
    assert all(len(function.params) == 1 for function in callees(made.function)[1:])
    assert [made.compile()(n) for n in range(4)] == [True, False, True, False]


def raises(n):
    def go(i):
        if i > 3:
            return 1 // (i - 4) if i % 2 else stop(i)
        return go(i + 1) + 1

    def stop(i):
        return go(i + 1) // (i - 4)

    return go(n)


def test_what_is_inlined_stays_in_tracebacks():
    found = []
    for fn in (raises, hovis.trace(raises, int).compile()):
        with pytest.raises(ZeroDivisionError) as caught:
            fn(2)
        found.append([(frame.name, frame.lineno) for frame in caught.traceback][1:])
    assert found[0] == found[1]


def test_a_test_whose_outcome_is_known_on_an_edge_is_gone_past():
    def fn(text, i):
        inside = i < len(text)
        if inside and text[i] == "a":
            return 1
        if inside and text[i] == "b":
            return 2
        return 3

    made = hovis.trace(fn, str, int).passes("default")
    assert [op.callee for op in made.ops].count(o.getitem) == 1
    assert [made.compile()(text, 0) for text in ("a", "b", "c", "")] == [1, 2, 3, 3]


def test_what_ends_before_the_last_append_is_appended_where_it_was():
    b = Builder("f", ANY)
    out = b.op(ops.make_list, type=Type(list))
    made = b.op(b.params[0], type=ANY, effect=Effect.OPAQUE)
    b.op(list.append, out, made, type=NONE, effect=Effect.WRITES)
    b.op(ops.drop, made, type=NONE, effect=Effect.IO)
    b.op(list.append, out, Const("b"), type=NONE, effect=Effect.WRITES)
    b.ret(b.op(str.join, Const(""), out, type=Type(str), effect=Effect.READS))
    assert [op.callee for op in run(b.function, ["list_append_merging"], verify=True).ops()].count(list.append) == 2


def test_exceptions_from_two_lines_are_raised_on_two_lines():
    b = Builder("f", BOOL, ANY)
    cond, x = b.params
    arms = b.block(), b.block()
    b.branch(cond, (arms[0],), (arms[1],))
    for line, arm in enumerate(arms, 1):
        b.at(arm)
        for _ in range(3):
            b.op(print, x, type=NONE, effect=Effect.IO)
        b.raise_(x)
        arm.terminator.location = Location("f.py", line, line, 0, 1, "f", 1)
    assert len(run(b.function, ["cross_jumping"], verify=True).blocks) == 3


def test_iterators_side_by_side_end_where_the_first_of_them_does():
    def pairs(n, m):
        total = 0
        for i, j in zip(range(n), range(m)):
            total = total * 3 + i - j
        return total, n

    made = default(hovis.trace(pairs, hovis.Int, hovis.Int).function)
    verify(made)
    for n, m in ((0, 0), (0, 3), (3, 0), (2, 5), (5, 2), (4, 4)):
        assert evaluate(made, n, m) == pairs(n, m)


def test_no_edge_goes_past_a_block_to_where_its_values_are_used():
    def last(n, x):
        for i in range(n):
            found = None if i == x else i
            if found is None:
                break
            x = x + found
        return x, n

    made = default(hovis.trace(last, hovis.Int, hovis.Int).function)
    verify(made)
    for args in ((0, 0), (4, 2), (5, -1), (3, 3), (6, 1)):
        assert evaluate(made, *args) == last(*args)
