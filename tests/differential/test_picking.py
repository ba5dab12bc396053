"""Known tables of functions and objects looked up by an unknown key: compared with the keys that are there, found as by the table."""
from __future__ import annotations

import pytest

from tests.differential.splits import check


class S(str):
    pass


class P:
    def __init__(self, v):
        self.v = v

    def act(self, x):
        return self.v, x


def add(x):
    return x + 1


def neg(x):
    return -x


def boom(x):
    raise ValueError(x)
TABLE = {'add': add, 'neg': neg, 'boom': boom}
INTS = {0: add, 1: neg, 7: boom}
LIST = [add, neg, P(3).act]
OBJ = {'a': P(1), 'b': P(2)}


def called(op, x):
    return TABLE[op](x)


def called_or_default(op, x):
    return TABLE.get(op, add)(x)


def by_number(op, x):
    return INTS[op](x)


def by_position(op, x):
    return LIST[op](x)


def method_of_found(op, x):
    try:
        return OBJ[op].act(x)
    except KeyError as e:
        return e.args, type(e.args[0]).__name__


def told_by_identity(op, x):
    return OBJ.get(op) is OBJ['a'], OBJ.get(op, x)


def of_closures(op, x):
    h = {'+': lambda: x + 1, '-': lambda: x - 1, '*': lambda: x * x}
    return h[op]() if op in h else None


def of_a_tuple(op, x):
    tup = (P(x), None, P(5))
    p = tup[op]
    return p if p is None else p.v


def of_numbers_alike(op, x):
    d = dict([(1, P(1)), (True, P(2)), (2, P(3))])
    return d[op].v


def walked(op, x):
    n = [P(0)]
    n.append(P(1))
    n[0].next, n[1].next = n[1], n[0]
    st = n[0]
    for c in range(x):
        st = n[op] if c == 2 else st.next
    return st.v, st is n[0]


PROGRAMS = [
    (called, [('add',1),('neg',2),('boom',3),('zz',1),(S('add'),1),(5,1),(None,1),('add','q')]),
    (called_or_default, [('add',1),('neg',2),('boom',3),('zz',1),(S('neg'),1),([],1)]),
    (by_number, [(0,1),(1,1),(7,1),(True,2),(False,2),(3,3),(1.0,2),('a',1)]),
    (by_position, [(0,1),(1,1),(2,1),(-1,2),(-3,2),(3,3),(-4,1),(True,1),('a',1)]),
    (method_of_found, [('a',1),('b',1),('c',1),(S('a'),1),(S('c'),2)]),
    (told_by_identity, [('a',1),('b',1),('c',1)]),
    (of_closures, [('+',1),('-',1),('*',3),('/',3),(1,1)]),
    (of_a_tuple, [(0,1),(1,1),(2,3),(-1,3),(5,1)]),
    (of_numbers_alike, [(1,1),(2,1),(True,3),(3,3)]),
    (walked, [(0,1),(1,3),(-1,4),(1,9),(0,0)]),
]


@pytest.mark.parametrize(("fn", "calls"), PROGRAMS, ids=lambda part: getattr(part, "__name__", ""))
def test_what_is_found(fn, calls):
    check(fn, calls)
