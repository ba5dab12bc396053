"""Residual functions of recursion are given what others hold as well: looked at only, it stays virtual; else it is real."""
from __future__ import annotations

import pytest

from tests.differential.harness.splits import check


def collected(n, x):
    log = []
    def go(k):
        log.append(k)
        if k <= x: return 0
        return go(k - 1) + 1
    return go(n), log


def changed_between_calls(n, x):
    env = {'d': 0}
    def go(k, e):
        if k <= x: return e['d']
        return go(k - 1, e) + e['d']
    a = go(n, env); env['d'] = 5
    return a, go(n, env), env


def returned(n, x):
    env = {'d': x}
    def go(k, e):
        if k <= 0: return e
        return go(k - 1, e)
    r = go(n, env)
    return r is env, r


def environments(n, x):
    class E:
        def __init__(s, p): s.v = {}; s.p = p
    g = E(None); g.v['k'] = x
    def go(k, e):
        f = E(e)
        f.v['n'] = k
        if f.v['n'] <= 0: return e.v['k'] if 'k' in e.v else -1
        if k == 3: g.v['z'] = k
        return go(f.v['n'] - 1, g)
    return go(n, g), g.v


def raised(n, x):
    stack = [x]
    def go(k):
        if k <= 0: raise KeyError(stack)
        return go(k - 1)
    try: go(n)
    except KeyError as e: return e.args[0] is stack, e.args


def closed_over(n, x):
    box = [x]
    def go(k, b):
        if k <= 0: return lambda: b[0]
        return go(k - 1, b)
    f = go(n, box); box[0] = 'changed'
    return f()


def part_returned(n, x):
    box = [x, [x]]
    def go(k, b):
        if k <= 0: return b[1]
        return go(k - 1, b)
    r = go(n, box); r.append(1)
    return box, r


def counted_outside(n, x):
    total = 0
    def go(k):
        nonlocal total
        if k <= 0: return total
        total += k
        return go(k - 1)
    return go(n), total


def told_apart(n, x):
    a = {'v': x}; b = a
    def go(k, p, q):
        if k <= 0: return p is q, p['v'] == q['v']
        return go(k - 1, q, p)
    return go(n, a, b), go(n, a, {'v': x})


def known_tree(n, x):
    tree = {'l': {'l': None, 'v': x, 'r': None}, 'v': 1, 'r': None}
    def s(t, k):
        if t is None or k <= 0: return 0
        return t['v'] + s(t['l'], k - 1) + s(t['r'], k - 1)
    return s(tree, n)


def set_filled(n, x):
    seen = set()
    def go(k):
        if k in seen or k <= 0: return len(seen)
        seen.add(k)
        return go(k - x)
    return go(n), sorted(seen)


def iterator_stepped(n, x):
    q = [1, 2, 3]
    def go(k, it):
        if k <= 0: return list(it)
        return next(it, None), go(k - 1, it)
    return go(n, iter(q)), q


def given_away(n, x):
    cfg = {'f': print, 'k': [x]}
    def go(k, c):
        c['f'](c['k'])
        return 0 if k <= 0 else go(k - 1, c)
    return go(n, cfg)


def one_of_two_writes(n, x):
    st = [x]
    def a(k): return b(k - 1) + st[0] if k > 0 else 0
    def b(k):
        if k > 2: st.append(k)
        return a(k - 1) + len(st) if k > 0 else 1
    return a(n), st


def generators(n, x):
    def gen(e, k):
        yield e['x']
        if k > 0: yield from gen(e, k - 1)
    e = {'x': x}
    out = []
    for v in gen(e, n):
        out.append(v); e['x'] = v + 1
    return out


PROGRAMS = [collected, changed_between_calls, returned, environments, raised, closed_over, part_returned, counted_outside, told_apart, known_tree,
            iterator_stepped, given_away, one_of_two_writes, generators]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_what_is_shared(fn):
    check(fn, [(3, 1), (0, 2), (5, 0)])


def test_a_set_that_grows():
    check(set_filled, [(3, 1), (5, 2)])
