"""Lists that grow in loops of unknown length: filled, looked at, emptied, made into arrays and given back."""

import math

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check, stays_python

pytestmark = pytest.mark.xla

X = np.linspace(-1.0, 2.0, 9)


def collatz(n):
    steps = [n]
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps.append(n)
    return steps, len(steps), np.array(steps)


def walk(x, t):
    times, states = [], []
    while t > 0.01:
        t = t * 0.9 - x[0] * 1e-3
        x = x * 0.99
        times.append(t)
        states.append(x)
    return np.array(times), np.stack(states), np.array(times).sum()


def stack_of_numbers(n):
    stack, seen, most = [n], 0, 0
    while stack:
        k = stack.pop()
        seen += k
        most = max(most, len(stack))
        if k > 1:
            stack.append(k - 1)
            stack.append(k // 2)
    return seen, most, stack


def fill(grid, i, j):
    todo, count = [(i, j)], 0
    while len(todo) > 0:
        i, j = todo.pop()
        if i < 0 or j < 0 or i >= grid.shape[0] or j >= grid.shape[1] or grid[i, j]:
            continue
        grid[i, j] = 2
        count += 1
        todo.append((i + 1, j))
        todo.append((i - 1, j))
        todo.append((i, j + 1))
        todo.append((i, j - 1))
    return count


def pairs(n, x):
    found = []
    for k in range(n):
        if x[k % 9] > 0:
            found.append((k, x[k % 9] * k, True))
    found.reverse()
    return found


def either(t, x, n):
    values = [t]
    for k in range(n):
        values.append(x[k % 9])
    return values, np.array(values)


def monotone(x):
    rising = []
    for k in range(len(x)):
        while rising and x[rising[-1]] >= x[k]:
            rising.pop()
        rising.append(k)
    return rising


def last_ones(n):
    a = [0, 1]
    while len(a) < n:
        a.append(a[-1] + a[-2])
    a[0] = 7
    return a, a[n // 2]


def in_rows(x, n):
    total = 0.0
    for k in range(n):
        row = []
        for j in range(k):
            if x[j % 9] < 1.0:
                row.append(x[j % 9] * k)
        total += np.sum(row) + len(row)
    return total


def rows_joined(x, n):
    parts = []
    for k in range(n):
        parts.append(np.cumsum(x * k))
    return np.concatenate(parts), np.vstack(parts)


def arrays_of_its_own(x, n):
    out = []
    for k in range(n):
        out.append(x + k)
    return out


def left_in_the_middle(x, n, t):
    """A loop that begins with stores, and is left behind them: they are done once a round."""
    a = [n]
    s = 0.0
    c = i = 0
    while i < n:
        i += 1
        if t > i:
            a.append(i)
        elif x[i % 5] > 0:
            a.append(len(a))
            if a:
                c += 1
                s = s + a[-1]
            a.append(i * 2 - n)
        a.append(c)
        a.append(i)
    return s, c, a


@pytest.mark.parametrize(("fn", "calls"), [
    (left_in_the_middle, [(X, 3, 1.5), (-X, 7, 1.5), (X, 0, 0.0)]),
    (collatz, [(6,), (27,), (1,)]),
    (walk, [(X, 1.0), (X, 3.0)]),
    (stack_of_numbers, [(7,), (1,), (12,)]),
    (fill, [(np.eye(6, dtype=int)[::-1].copy(), 0, 0), (np.zeros((3, 3), int), 1, 1)]),
    (pairs, [(20, X), (0, X)]),
    (either, [(0.5, X, 12), (0.5, X, 0)]),
    (monotone, [(X,), (-X,), (np.sin(9 * X),)]),
    (last_ones, [(10,), (2,)]),
    (in_rows, [(X, 7), (X, 0)]),
    (rows_joined, [(X, 4), (X, 1)]),
    (arrays_of_its_own, [(X, 4), (X, 0)]),
])  # fmt: skip
def test_lists_that_grow(fn, calls):
    check(fn, *calls, bails=False)


def test_there_is_room_for_any_number():
    def f(n):
        out = []
        k = 0
        while k < n:
            out.append(k * 3)
            k += 1
        return out, np.array(out).sum()

    g = hovis_xla.jit(f, strict=True, target="xla")
    for n in (10, 20000, 70000, 3):
        assert g(n) == f(n)
    assert "grown to" in g.explain()


def test_what_python_has_to_do():
    """No items where their kind matters, an index out of range, a pop of nothing: the call is done again, or the exception is caught."""
    def empty(n):
        out = []
        for k in range(n):
            out.append(k)
        return np.array(out)

    def caught(x, n):
        out = []
        for k in range(n):
            out.append(x[k % 9])
        try:
            return out[n - 3], out.pop()
        except IndexError:
            return -1.0, x[0]

    def raises(n):
        out = [1]
        while n > 0:
            out.pop()
            n -= 1
        return out

    check(empty, 3, 0)
    check(caught, (X, 5), (X, 0), (X, 1))
    check(raises, 0, 1, 2)


def test_whose_objects_items_are():
    """Arrays that somebody else has, or that are stored into later, are no items."""
    def same_one(x, n):
        out = []
        for _ in range(n):
            out.append(x)
        return out

    def stored_later(x, n):
        out, a = [], x * 1.0
        for k in range(n):
            out.append(a)
            a[k] = 0.0
        return np.array(out)

    def two_lists(n):
        a, b = [], []
        for k in range(n):
            a, b = b, a
            a.append(k)
        return a, b

    def known_twice(n):
        a = []
        b = a
        for k in range(n):
            a.append(k)
            if k % 3:
                b.append(-k)
        return a, b, (a,)

    x = X.copy()
    found = hovis_xla.jit(same_one, target="xla")(x, 3)
    assert all(item is x for item in found)
    stays_python(stored_later, X, 3)
    stays_python(two_lists, 5)
    first, second, (third,) = hovis_xla.jit(known_twice, target="xla", strict=True)(7)
    assert first is second is third and first == known_twice(7)[0]


LISTS = [
    (np.argmin, 1), (np.max, 1), (np.sort, 1), (np.cumsum, 1), (np.diff, 1), (np.linalg.norm, 1), (np.unique, 1), (np.dot, 2), (np.cross, 2), (np.outer, 2),
    (np.maximum, 2), (np.hypot, 2), (np.exp, 1), (np.isnan, 1), (np.diag, 1), (np.ravel, 1), (np.zeros_like, 1), (np.shape, 1), (np.flip, 1), (np.where, 3),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "count"), LISTS, ids=[fn.__name__ for fn, _ in LISTS])
def test_numpy_makes_arrays_of_lists(fn, count):
    def of_lists(a, b, c):
        items = [a, b, c * 2]
        return fn(*[items, (b, a, c), [c, c, a]][:count]), items, a + 1

    check(of_lists, (1.5, 2.0, np.float64(-0.5)), (0.0, 3.0, np.float64(2.5)))


def test_rows_are_no_list_of_one_shape():
    def f(a, b):
        return np.mean([a, b], axis=0), np.sum((a, b * 2)), np.concatenate([a, b])

    check(f, (X, X + 1))


def test_all_items_at_once():
    def seen(n, k):
        residues, pairs, late = [], [], 0
        for i in range(n):
            r = i * i % 37
            if r not in residues:
                residues.append(r)
            if (r, i % 3) in pairs:
                late += 1
            else:
                pairs.append((r, i % 3))
        return tuple(residues), tuple(pairs), late, k in residues, -1 in residues

    def alike(x, y, least):
        a, b = [], []
        for v in x:
            if v > least:
                a.append(v)
        for v in y:
            if v > least:
                b.append(v)
        was = tuple(a)
        a.append(least)
        return a == b, a != b, a == a, was, least in a, x[0] in b, tuple(b)

    check(seen, (60, 4), (1, 0), (0, 0), (200, 5))
    x = np.arange(6.0)
    check(alike, (x, x, 1.0), (x, np.append(x, 0.5), 0.5), (x, -x, 9.0), (np.tile(x, 40), np.tile(x, 40), 2.0))
    got = hovis_xla.jit(alike, target="xla")
    agree(alike, got, np.array([math.nan, 1.0]), x, math.nan)
    agree(alike, got, x, np.array([math.nan, 1.0, math.inf]), -1.0)
