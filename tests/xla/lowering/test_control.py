"""if, while, for and everything between them on unknown values, compiled; irreducible control flow by hand."""
import math
import operator
import re

import numpy as np
import pytest

import hovis
from hovis.ir.model import Block, Branch, Edge, Function, Jump, Op, Param, Return
from hovis.lattice import Const, Type
from hovis_xla.runtime.executable import Executable
from tests.xla.harness.checking import check, compiled, run_function, stays_python

pytestmark = pytest.mark.xla

INT, FLOAT, BOOL = Type(int), Type(float), Type(bool)


# ------------------------------------------------------------------------------------------------- branches


def test_if():
    def f(x):
        if x > 0:
            return x * 2
        return -x

    check(f, (3,), (-3,), (0,), (2.5,), (-2.5,))


def test_elif_chain_and_fallthrough():
    def f(x, y):
        r = 0.0
        if x < 0.0:
            r = 1.0
        elif x < 1.0:
            r = y
        elif x < 2.0:
            if y > 0.0:
                r = y * x
            else:
                r = -y
        return r + x

    check(f, *((x, y) for x in (-1.0, 0.5, 1.5, 3.0) for y in (-2.0, 2.0)))


def test_and_or_not():
    def f(a, b, c):
        if (a > 0 and b > 0) or not (c > 0 or a < b):
            return a + b
        return c

    check(f, *((a, b, c) for a in (-1, 2) for b in (-3, 1) for c in (-1, 1)))


def test_conditional_expression_and_arrays_in_branches():
    def f(a, x):
        b = a * 2 if x > 0 else a.sum(axis=0, keepdims=True) + a
        if x > 1:
            b = b @ b.T
            return b.sum()
        return b.sum() + x

    check(f, *((np.arange(6.0).reshape(2, 3), x) for x in (-1.0, 0.5, 2.0)))


def test_results_of_different_kinds():
    def f(x):
        if x > 2.0:
            return x, "big"
        if x > 1.0:
            return 7
        if x > 0.0:
            return None
        return [x, 1]

    check(f, (3.0,), (1.5,), (0.5,), (-1.0,))


def test_returned_arguments_of_two_paths():
    def f(a, b, x):
        return a if x > 0 else b

    a, b = np.ones(3), np.zeros(3)
    jitted = compiled(f)
    assert jitted(a, b, 1.0) is a
    assert jitted(a, b, -1.0) is b

    def g(a, n):
        for _ in range(n):
            a = a + 1
        return a

    jitted = compiled(g)
    assert jitted(a, 0) is a
    assert np.array_equal(jitted(a, 2), a + 2)
    check(lambda a, x: a[1:] if x > 0 else a[:-1], (a, 1.0), (a, -1.0))


# ------------------------------------------------------------------------------------------------- loops


def test_while():
    def collatz(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    check(collatz, (1,), (27,), (97,), bails=False)


def test_gcd_newton_fibonacci():
    def gcd(a, b):
        while b:
            a, b = b, a % b
        return a

    def newton(x):
        y = x
        while abs(y * y - x) > 1e-12 * x:
            y = 0.5 * (y + x / y)
        return y

    def fibonacci(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    check(gcd, (48, 36), (17, 5), (0, 3), (5, 0))
    check(newton, (2.0,), (1e10,), (0.25,))
    check(fibonacci, (0,), (1,), (50,), bails=False)
    check(fibonacci, (200,), bails=True)


def test_for_with_break_continue_else():
    def f(n, k):
        total = 0
        for i in range(n):
            if i == k:
                break
            if i % 3 == 0:
                continue
            total += i
        else:
            total = -total
        return total, n

    check(f, (10, 5), (10, 100), (0, 0), (3, 0))


def test_nested_loops():
    def f(n, m):
        total = 0
        i = 0
        while i < n:
            j = i
            while j < m:
                if (i + j) % 2:
                    total += i * j
                j += 1
            i += 1
        return total

    def g(n):
        count = 0
        for a in range(1, n):
            for b in range(a, n):
                c2 = a * a + b * b
                for c in range(b, n):
                    if c * c == c2:
                        count += 1
                    if c * c > c2:
                        break
        return count

    check(f, (5, 6), (0, 3), (3, 0), bails=False)
    check(g, (30,), (2,))


def test_return_out_of_nested_loops():
    def f(n, wanted):
        for i in range(n):
            for j in range(n):
                if i * j == wanted:
                    return i, j
        return -1, n

    check(f, (10, 42), (10, 43), (0, 0), (5, 16))


def test_array_carried_round():
    def power_iteration(a, n):
        v = np.ones(a.shape[0])
        for _ in range(n):
            v = a @ v
            v = v / np.sqrt((v * v).sum())
        return v, v @ (a @ v)

    def heat(u, steps):
        for _ in range(steps):
            u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return u

    a = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    jitted = compiled(heat)
    assert np.allclose(jitted(np.arange(8.0), 5), heat(np.arange(8.0), 5))
    check(heat, (np.arange(8.0), 3))
    try:
        check(power_iteration, (a, 20), (a, 1))
    except hovis.TraceError as refused:
        pytest.skip(str(refused))


def test_iterating_over_an_array():
    def f(v):
        total = 0.0
        for i in range(len(v)):
            total = total + v[i] * i
        return total

    check(f, (np.arange(5.0),))


def test_mandelbrot():
    def f(cr, ci, limit):
        x = y = 0.0
        n = 0
        while x * x + y * y <= 4.0 and n < limit:
            x, y = x * x - y * y + cr, 2.0 * x * y + ci
            n += 1
        return n

    check(f, (-0.5, 0.5, 100), (1.0, 1.0, 100), (-1.3, 0.05, 50))


def test_loop_in_one_arm_only():
    def f(x, n):
        r = x
        if n > 0:
            while n > 0:
                r = r * 1.5
                n -= 1
        else:
            r = r + 1.0
        return r

    check(f, (2.0, 3), (2.0, 0), (2.0, -5))


def test_a_value_made_in_a_loop_and_used_behind_it():
    def f(n):
        last = 0
        i = 0
        while True:
            square = i * i
            if square > n:
                break
            last = square
            i += 1
        return last, square, i

    check(f, (10,), (0,), (99,))


def test_helper_functions_and_recursion():
    def sigmoid(x):
        if x < 0.0:
            return math.exp(x) / (1.0 + math.exp(x))
        return 1.0 / (1.0 + math.exp(-x))

    def f(x, n):
        for _ in range(n):
            x = sigmoid(x) - 0.5
        return x

    def factorial(n):
        return 1 if n <= 1 else n * factorial(n - 1)

    check(f, (0.3, 4), (-3.0, 2), (1.0, 0))
    stays_python(factorial, 5)


def test_one_native_function_a_loop():
    def f(n):
        total = 0
        for i in range(n):
            for j in range(i):
                total += j
        return total

    c = compiled(f)
    assert c(10) == f(10)
    text = next(iter(c._variants.values())).xla.program.as_text()
    assert "xla_cpu_small_call" in text


# ------------------------------------------------------------------------------------------------- raising


def test_raising():
    def f(x):
        if x < 0:
            raise ValueError("negative", x)
        return x + 1

    check(f, (1,), bails=False)
    check(f, (-1,), bails=True)

    def g(v, limit):
        total = 0.0
        for i in range(len(v)):
            if v[i] > limit:
                raise OverflowError(f"too big at {i}")
            total = total + v[i]
        return total

    check(g, (np.arange(4.0), 10.0), bails=False)
    check(g, (np.arange(4.0), 2.0), bails=True)

    def h(x):
        if not x > 0.5:
            raise AssertionError("too small")
        return x

    check(h, (1.0,), (0.0,))


def test_an_exception_names_the_users_line():
    def f(x):
        y = x + 1
        return 10 // y

    c = compiled(f)
    assert c(1) == 5
    with pytest.raises(ZeroDivisionError) as caught:
        c(-1)
    assert "test_control.py" in str(caught.traceback[-1].path)


def test_try_except_around_a_division():
    def f(x, y):
        try:
            return x // y
        except ZeroDivisionError:
            return -1

    check(f, (7, 2), (7, 0), bails=False)


def test_patience():
    """A variant that gives up again and again is Python in the end."""
    f = compiled(lambda a: a * a)
    for _ in range(10):
        assert f(2**40) == 2**80
    assert "Python does its calls now" in f.explain()


# ------------------------------------------------------------------------------------------------- printing


def test_prints_in_order():
    def f(x, n):
        print("start", x)
        i = 0
        while i < n:
            print("i =", i, x > 0.5, sep=" ")
            if x > 0.5:
                print(" big", end="!\n")
            x = x * 0.5
            i += 1
        print("end", x)
        return x

    check(f, (4.0, 4), (0.1, 2), (1.0, 0), bails=False)


def test_prints_in_nested_loops():
    def f(n):
        for i in range(n):
            for j in range(i):
                print(i, j)
        print("done")

    check(f, (4,), (0,), bails=False)


def test_prints_of_arrays_and_numpy_scalars():
    def f(a):
        print(a, a.sum(), a.sum() > 1)
        return a + 1

    check(f, (np.arange(3.0),))


def test_an_exception_out_of_a_print(monkeypatch):
    def f(x, n):
        for _ in range(n):
            print(x)
        return x

    c = compiled(f)
    c(1.0, 1)

    class Broken:
        def write(self, text):
            raise OSError("full")

    import sys

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(OSError, match="full"):
        c(1.0, 3)


def test_print_and_then_something_that_may_fail():
    def f(x, y):
        print("dividing")
        return x // y

    check(f, (7, 2), (7, 0), (-7, 2))
    check_before = lambda v, i: print(v[i])  # noqa: E731
    check(check_before, (np.arange(3.0), 1), (np.arange(3.0), 5))


# ------------------------------------------------------------------------------------------------- by hand


def op(callee, *args, type=INT):
    return Op(callee, args, type=type)


def test_irreducible():
    """Two blocks that jump to each other, entered at either: a, b = b-1 … ; the loop has two heads."""
    x, n = Param(FLOAT, name="x"), Param(INT, name="n")
    entry, left, right, out = (Block() for _ in range(4))
    entry.params = (x, n)
    test = op(operator.gt, x, Const(0.0), type=BOOL)
    entry.ops = [test]
    lx, ln = Param(FLOAT, name="lx"), Param(INT, name="ln")
    rx, rn = Param(FLOAT, name="rx"), Param(INT, name="rn")
    left.params, right.params = (lx, ln), (rx, rn)
    entry.terminator = Branch(test, Edge(left, (x, n)), Edge(right, (x, n)))
    l1, l2 = op(operator.mul, lx, Const(2.0), type=FLOAT), op(operator.sub, ln, Const(1))
    l3 = op(operator.gt, l2, Const(0), type=BOOL)
    left.ops = [l1, l2, l3]
    result = Param(FLOAT)
    out.params = (result,)
    left.terminator = Branch(l3, Edge(right, (l1, l2)), Edge(out, (l1,)))
    r1, r2 = op(operator.add, rx, Const(1.0), type=FLOAT), op(operator.sub, rn, Const(1))
    r3 = op(operator.gt, r2, Const(0), type=BOOL)
    right.ops = [r1, r2, r3]
    right.terminator = Branch(r3, Edge(left, (r1, r2)), Edge(out, (r1,)))
    out.terminator = Return(result)
    function = Function("irreducible", [entry, left, right, out])

    def meaning(x, n):
        at = "left" if x > 0.0 else "right"
        while True:
            x = x * 2.0 if at == "left" else x + 1.0
            n -= 1
            if n <= 0:
                return x
            at = "right" if at == "left" else "left"

    compiled = Executable.of(function)
    for x in (1.5, -2.0, 0.0):
        for n in (1, 2, 3, 4, 7):
            assert compiled((x, n)) == meaning(x, n), (x, n)
            assert hovis.evaluate(function, x, n) == meaning(x, n)


def test_irreducible_inside_a_loop_with_a_third_exit():
    """The same pair inside an outer loop, with an exit from one of them to the outer head."""
    n = Param(INT, name="n")
    entry, head, a, b, out = (Block() for _ in range(5))
    entry.params = (n,)
    entry.terminator = Jump(Edge(head, (n, Const(0))))
    k, total = Param(INT, name="k"), Param(INT, name="total")
    head.params = (k, total)
    more = op(operator.gt, k, Const(0), type=BOOL)
    odd = op(operator.and_, k, Const(1))
    flag = op(operator.eq, odd, Const(1), type=BOOL)
    choose, stop = Block(), Block()
    head.ops = [more]
    head.terminator = Branch(more, Edge(choose), Edge(stop))
    choose.ops = [odd, flag]
    ak, bk = Param(INT, name="ak"), Param(INT, name="bk")
    at, bt = Param(INT, name="at"), Param(INT, name="bt")
    a.params, b.params = (ak, at), (bk, bt)
    choose.terminator = Branch(flag, Edge(a, (k, total)), Edge(b, (k, total)))
    a1, a2 = op(operator.sub, ak, Const(1)), op(operator.add, at, ak)
    a3 = op(operator.gt, a1, Const(3), type=BOOL)
    a.ops = [a1, a2, a3]
    a.terminator = Branch(a3, Edge(b, (a1, a2)), Edge(head, (a1, a2)))
    b1, b2 = op(operator.sub, bk, Const(2)), op(operator.add, bt, Const(100))
    b3 = op(operator.gt, b1, Const(5), type=BOOL)
    b.ops = [b1, b2, b3]
    b.terminator = Branch(b3, Edge(a, (b1, b2)), Edge(head, (b1, b2)))
    stop.terminator = Jump(Edge(out, (total,)))
    result = Param(INT)
    out.params = (result,)
    out.terminator = Return(result)
    function = Function("nested", [entry, head, choose, a, b, stop, out])
    compiled = Executable.of(function)
    for value in range(-1, 25):
        assert compiled((value,)) == hovis.evaluate(function, value), value


def test_many_way_meeting():
    """Blocks shared by several sides of several branches."""
    def f(x, y):
        r = 0
        if x > 0:
            if y > 0 or x > 10:
                r = 1
            elif y < -5 and x < 5:
                r = 2
        elif y > 0 and x < -10:
            r = 1
        elif y < -5 or x == 0:
            r = 2
        while r < 10:
            if r % 2 and y > 3:
                r += 3
            elif x < 0:
                r += 2
            else:
                r += 4
        return r

    check(f, *((x, y) for x in (-20, -1, 0, 3, 7, 20) for y in (-9, -1, 0, 2, 5)))


def test_no_whole_array_is_copied_in_a_loop():
    """An array that is only read in a loop is not copied an iteration."""
    def f(v, n):
        total = 0.0
        for i in range(n):
            total = total + v[i]
        return total

    c = compiled(f)
    v = np.arange(1000.0)
    assert c(v, 1000) == f(v, 1000)
    text = next(iter(c._variants.values())).xla.program.as_text()
    assert len(re.findall(r"= f64\[1000\]\S* copy\(", text)) <= 1


def test_locations_reach_the_program():
    text = hovis.trace(lambda x: x * 2.0, hovis.Float)
    from hovis_xla.front.jit import Lowered

    assert "test_control.py" in Lowered(text).as_text(locations=True)


def test_run_function_by_hand():
    x = Param(FLOAT, name="x")
    block = Block((x,))
    twice = op(operator.add, x, x, type=FLOAT)
    block.ops = [twice]
    block.terminator = Return(twice)
    assert run_function(Function("twice", [block]), 1.5) == 3.0


def test_a_number_that_is_pythons_or_numpys():
    """``total`` is 0.0 before the loop and a np.float64 after it has run: the result has the right type each time."""
    def total(v, n):
        found = 0.0
        for i in range(n):
            found = found + v[i]
        return found

    def biggest(v, n):
        best = -1.0
        at = 0
        for i in range(n):
            if v[i] > best:
                best = v[i]
                at = i
        return best, at, best * 2 > 1.0, -best, [best, math.sqrt(abs(best))]

    def mean(v, n, x):
        found = x
        i = 0
        while i < n:
            if found > 1e6:
                break
            found += v[i] / (i + 1)
            i += 1
        if found == 0:
            return found
        return 1.0 / found

    v = np.array([0.5, -1.0, 3.0, 2.0])
    check(total, (v, 0), (v, 1), (v, 4), bails=False)
    check(biggest, (v, 0), (v, 1), (v, 4))
    check(mean, (v, 0, 0.0), (v, 0, 2.0), (v, 4, 0.0), (v, 2, 0.5))
    check(lambda v, x: (v[0] if x > 0 else x) * np.float32(2), (v, 1.0), (v, -1.0), bails=False)
