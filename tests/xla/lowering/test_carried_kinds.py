"""Values of several kinds: strings, None, tuples and numbers of other types, chosen by data, in branches and loops."""
import enum
import math

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

V = np.array([0.5, -1.5, 2.0, 0.0, -0.25])


def word(x):
    kind = "neg" if x < 0 else "zero" if x == 0 else "pos"
    return {"kind": kind, "x": x * 2}, kind


def by_return(x):
    if x > 10:
        return x, "big"
    if x > 0:
        return int(x)
    if x == 0:
        return None
    return [x, [x]]


def operands(a, b):
    return a and b, a or b, a and "x", a or None, (not a) or (b, a)


def state_machine(n):
    state, count = "start", 0
    for k in range(n):
        if state == "start":
            state = "middle"
        elif state == "middle":
            count += 1
            if count % 2:
                state = "end"
        else:
            state = "start"
    return state, count


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def lasting(n):
    color, best, last = Color.RED, None, "none"
    for k in range(n):
        m = k * 7 % 5
        color = Color.BLUE if m > 2 else color
        if best is None or m > best[0]:
            best = m, k
            last = None if m == 4 else last
    return color, best, last


def types_swap(n):
    a, b = 0, 1.0
    for _ in range(n):
        a, b = b, a
    return a, b, a + b, a * 2


def int_then_float(n):
    total = 0
    for k in range(n):
        total += k / 2
    return total


def some_of_them(v):
    total = 0
    for k in range(len(v)):
        if v[k] > 0:
            total = total + v[k]
        elif v[k] == 0:
            total = total * 2.5
    return total, total + 1


def becomes_an_array(m, n):
    total, turns = 0, None
    for k in range(n):
        total = total + m[k % 3]
        turns = k
    return total, turns


def grows_twice(n):
    x = 1
    for k in range(n):
        x = x * np.ones(3) if k == 1 else x + 0.5
    return x


def function_of_state(x, n):
    f = math.sin
    for _ in range(n):
        x = f(x)
        f = math.cos if x > 0.5 else math.sqrt if x > 0.1 else abs
    return x, f


def nested(n, m):
    best, tag = None, "none"
    for i in range(n):
        row = None
        for j in range(m):
            d = (i * 3 + j * 5) % 7
            if row is None or d < row:
                row = d
            if d == 6:
                tag = "six"
                break
        else:
            tag = i
        if best is None or (row is not None and row > best):
            best = row
    return best, tag


def two_ways_out(x, n):
    i = 0
    while True:
        x = x * 1.5
        i += 1
        if x > 5:
            res = "big"
            break
        if i >= n:
            res = i
            break
    return res, x


def test_chosen_by_data():
    check(word, (1.5,), (-2.0,), (0.0,), bails=False)
    check(by_return, (11.5,), (2.5,), (0.0,), (-1.0,), bails=False)
    check(operands, (1.5, 2.0), (0.0, 2.0), (0.0, 0.0), bails=False)
    check(operands, (3, 2.5), (0, 2.5), bails=False)
    check(two_ways_out, (1.0, 10), (1.0, 2), bails=False)


def test_carried():
    check(state_machine, (0,), (1,), (5,), (12,), bails=False)
    check(lasting, (0,), (1,), (3,), (5,), (9,), bails=False)
    check(types_swap, (0,), (1,), (4,), bails=False)
    check(function_of_state, (0.3, 0), (0.3, 1), (0.3, 5), bails=False)
    check(nested, (0, 3), (3, 0), (3, 3), (5, 4), (1, 1), bails=False)


def test_other_kinds_later():
    check(int_then_float, (0,), (1,), (5,), bails=False)
    check(some_of_them, (V,), (-np.abs(V),), (np.zeros(5),), bails=False)
    check(becomes_an_array, (np.arange(12.0).reshape(3, 4), 0), (np.ones((3, 4)), 1), (np.ones((3, 4)), 7), bails=False)
    check(grows_twice, (0,), (1,), (2,), (5,))


def same_list_twice(x):
    a, b = [x], [x + 1]
    c = a if x > 0 else b
    return c, a, b


def test_which_object_it_is():
    f = check(same_list_twice, (1.0,), (-1.0,), bails=False)
    c, a, b = f(1.0)
    assert c is a
    assert c is not b
    c, a, b = f(-1.0)
    assert c is b
    assert c is not a


def left_twice(v, n):
    found, at = 0.0, 0
    while at < n:
        found = found * 0.5 + v[at]
        if found > 3:
            why = "big"
            break
        if found < -3:
            why = -1
            break
        at += 1
    else:
        why = None
    return found, at, why


def test_ways_out_of_a_loop_that_meet():
    check(left_twice, (V * 4, 0), (V * 4, 5), (V, 5), (-V * 4, 5), bails=False)


def test_there_is_one_true_of_each_class():
    class E(enum.Enum):
        A = 1
        B = 2

    def python(a): return np.allclose(a, a.T) is False, np.array_equal(a, a.T) is True, np.isscalar(a) is False, bool(a.sum() > 1) is bool(a.max() > 0), a * 2
    def numpy(a): return (a.sum() > 1) is np.True_, np.all(a > 0) is not np.False_, (a.sum() > 1) is (a.max() > 0), a * 2
    def both(a): return (a.sum() > 1) is True, bool(a.sum() > 1) is np.True_, (a.sum() > 1) is None, (a.sum() > 1) is np.False_, a * 2
    def compared(a, n): return (n > 3) is True, (n == 2) is not False, a * 2
    def others(a):
        x, y = (E.A, NotImplemented) if a.sum() > 1 else (E.B, ...)
        return x is E.A, y is ..., y is not NotImplemented, a * 2

    for fn in (python, numpy, both, compared, others):
        jitted = hovis_xla.jit(fn, target="xla")
        for a in (np.ones((3, 3)), np.arange(9.0).reshape(3, 3), -np.ones((3, 3))):
            agree(fn, jitted, *((a, 4) if fn is compared else (a,)))
        assert "runs as one XLA executable" in str(jitted.explain())
