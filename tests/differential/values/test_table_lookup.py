"""Known tables of functions and objects looked up by an unknown key: compared with the keys that are there, found as by the table."""
from __future__ import annotations

import itertools

import pytest

import hovis
from tests.differential.harness.splits import check


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


NEXT = {'up': 'down', 'down': 'flat', 'flat': 'up'}
STEPS = {'start': {'d': 'int', '.': 'dot'}, 'int': {'d': 'int', '.': 'frac'}, 'dot': {'d': 'frac'}, 'frac': {'d': 'frac'}}
SOME = {'a': None, 'b': 0.0, 'c': (1, 'x'), 'd': -0.0}
ROWS = [(1, 2.0, 'a'), (2, 3.5, 'b'), (0, -0.0, None)]


FOUND = {'a': [('first', add), ('second', neg)], 'b': [('only', boom)], 'c': []}


def of_lists(op, x):
    told = []
    for name, act in itertools.chain(FOUND.get(op, []), [('last', add)]):
        try:
            told.append((name, act(x)))
        except ValueError as e:
            told.append(e.args)
    return told


def of_plain_data(op, x):
    return SOME[op], SOME.get(op, x), SOME.get(op)


def of_rows(op, x):
    number, size, name = ROWS[op]
    return number + 1, size * x, name


def of_numbers_or_truths(op, x):
    d = {True: 'one', 0: 'none', 2.0: 'two'}
    return d.get(op, x), d[op]


def given_back(op, x):
    mine = [x]
    found = SOME.get(op, mine)
    if found is mine:
        found.append(op)
    return mine, found


def changed_meanwhile(op, x):
    table = {'a': 1, 'b': 2}
    before = table.get(op)
    table[x] = 'new'
    return before, table.get(op), len(table)


def state_of_states(op, x):
    state = 'up'
    for step in range(x):
        if step % 2 or op == 'hop':
            state = NEXT[state]
        if state == 'flat' and op == 'stop':
            break
    return state


def automaton(op, x):
    state = 'start'
    for c in op:
        state = STEPS[state].get('d' if c.isdigit() else c)
        if state is None:
            return False
    return state in ('int', 'frac'), state


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
    (of_lists, [('a', 1), ('b', 2), ('c', 3), ('d', 4), (1, 5), (S('a'), 6), ('a', 'x'), ([], 7)]),
    (of_plain_data, [('a', 1), ('b', 2), ('c', 3), ('d', 4), ('e', 5), (S('a'), 6), ([], 7), (1, 8)]),
    (of_rows, [(0, 2), (1, 2), (2, 2), (-1, 1.5), (-3, 1), (3, 1), (-4, 1), (True, 2), ('a', 1)]),
    (of_numbers_or_truths, [(0, 1), (1, 1), (2, 1), (True, 1), (False, 'x'), (2.0, 1), (3, 1), ('a', 1)]),
    (given_back, [('a', 1), ('b', 1), ('z', 2), ('c', 3)]),
    (changed_meanwhile, [('a', 'a'), ('a', 'b'), ('c', 'c'), ('c', 'd')]),
    (state_of_states, [('walk', 0), ('hop', 4), ('stop', 9), ('walk', 7)]),
    (automaton, [('', 0), ('12', 0), ('1.5', 0), ('.5', 0), ('.', 0), ('1.2.3', 0), ('x', 0)]),
    (of_numbers_alike, [(1,1),(2,1),(True,3),(3,3)]),
    (walked, [(0,1),(1,3),(-1,4),(1,9),(0,0)]),
]


@pytest.mark.parametrize(("fn", "calls"), PROGRAMS, ids=lambda part: getattr(part, "__name__", ""))
def test_what_is_found(fn, calls):
    check(fn, calls)


def test_the_states_of_an_automaton_are_blocks():
    text = str(hovis.trace(automaton, hovis.Str, hovis.Int))
    assert "dict.get" in text
    assert "getitem(#" not in text
    assert text.count("next!") == len(STEPS)


def test_a_table_that_is_changed_is_read_as_it_is_then():
    table = {'a': 1.5, 'b': 2.5}

    def fn(key):
        return table.get(key, 0.0) + 1.0

    compiled = hovis.jit(fn)
    assert [compiled(key) for key in 'abc'] == [2.5, 3.5, 1.0]
    table.update(a='x', c=7)
    with pytest.raises(TypeError):
        compiled('a')
    assert [type(compiled(key)) for key in 'bc'] == [float, float]
    assert compiled('c') == 8.0
