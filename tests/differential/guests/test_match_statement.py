"""match statements of all kinds of patterns, beside CPython."""

import collections
import enum
import typing
from dataclasses import dataclass

from tests.differential.harness.splitting import Programs, check

program = Programs()


@dataclass
class Pt:
    x: int
    y: int


class Old:
    __match_args__ = ('a', 'b')

    def __init__(self, a, b):
        self.a = a
        self.b = b


class NoArgs:

    def __init__(self, v):
        self.v = v


class BadArgs:
    __match_args__ = ['a']
    a = 1


class PropM:
    __match_args__ = ('p', 'q')

    @property
    def p(self):
        print('p read')
        return 1

    @property
    def q(self):
        raise AttributeError('q')


class Sub(Pt):
    pass


@program((Pt(0, 0),), (Pt(1, 0),), (Pt(0, 5),), (Pt(2, 2),), (Pt(2, 3),), (Sub(7, 0),), (3,), (None,))
def m1(q):
    match q:
        case Pt(0, 0):
            return 'origin'
        case Pt(x=0, y=y):
            return ('y', y)
        case Pt(x, 0):
            return ('x', x)
        case Pt(x, y) if x == y:
            return ('diag', x)
        case Pt() as z:
            return ('pt', z.x)
        case None:
            return 'none'
        case _:
            return 'other'


@program((0, 0), (1, 0), (0, 5), (4, 4), (5, 6))
def m1v(a, b):
    return (m1(Pt(a, b)), m1(Sub(a, b)))


@program((1,), (True,), (1.0,), ('a',), (b'a',), ([1, 2],), ((1, 2),), ({'k': 1},), ({1, 2},), (None,), (2.5,), (frozenset(),), (bytearray(b'x'),))
def m2(v):
    match v:
        case bool(b):
            return ('bool', b)
        case int(i) if i > 5:
            return ('big', i)
        case int(i):
            return ('int', i)
        case float(f):
            return ('float', f)
        case str(s):
            return ('str', s)
        case bytes() | bytearray():
            return 'bytes'
        case list(x):
            return ('list', x)
        case tuple([a, b]):
            return ('tuple', a, b)
        case dict(d):
            return ('dict', d)
        case set() | frozenset():
            return 'set'
        case None:
            return 'none'


@program(([],), ([1],), ([1, 2],), ([1, 2, 3, 4],), ((1, (2, 3)),), ('ab',), (range(3),), (collections.deque([9, 8, 7]),), (b'ab',), ({},), (5,))
def m3(v):
    match v:
        case []:
            return 'empty'
        case [x]:
            return ('one', x)
        case [1, [a, b]]:
            return ('nested', a, b)
        case [1, y]:
            return ('two', y)
        case [first, *rest, last] if first != 9:
            return (first, rest, last)
        case [*all_]:
            return all_
        case _:
            return 'no'


@program(({},), ({'a': 1},), ({'a': 1, 'b': 2},), ({'t': 'x', 'v': [1, 2]},), (collections.OrderedDict(a=5),), (collections.defaultdict(list, z=1),), ([],), ({'n': None},))
def m4(v):
    match v:
        case {'a': 1, **rest}:
            return ('a1', rest)
        case {'a': x}:
            return ('a', x)
        case {'t': 'x' | 'y' as t, 'v': [p1, *_]}:
            return (t, p1)
        case {'n': None}:
            return 'none'
        case {'q': _}:
            return 'defaulted'
        case {}:
            return 'mapping'
        case _:
            return 'no'


@program((1, 2), (3, 'a'), (0, None))
def m4v(a, b):
    return (m4({'a': a, 'b': b}), m4({'t': 'x', 'v': [a, b]}), m4({'n': b}), m3([a, b]), m3((a, (b, 1))), m3([a, b, a]), m2(a), m2(b))


@program((1, 2), (3, 3))
def m5(a, b):
    r = []
    for o in (Old(a, b), NoArgs(a), PropM(), BadArgs()):
        for f in (_old1, _old2, _noargs, _prop, _prop2, _bad, _toomany, _dup):
            try:
                r.append(f(o))
            except TypeError as e:
                r.append(str(e))
    return r


def _old1(o):
    match o:
        case Old(1, b=z):
            return ('o1', z)
        case Old(x):
            return ('o', x)


def _old2(o):
    match o:
        case Old(a=3, b=3):
            return '33'
        case Old(b=2 | 3 as w):
            return w


def _noargs(o):
    match o:
        case NoArgs(v=v):
            return ('na', v)
        case NoArgs(1):
            return 'never'


def _prop(o):
    match o:
        case PropM(p, q):
            return 'both'
        case PropM(p):
            return ('p', p)


def _prop2(o):
    match o:
        case PropM(q=1):
            return 1
        case _:
            return 'fell'


def _bad(o):
    match o:
        case BadArgs(1):
            return 1


def _toomany(o):
    match o:
        case Old(1, 2, 3):
            return 1


def _dup(o):
    match o:
        case Old(1, a=1):
            return 1


class K:
    A = 1
    B = 'b'
    N = None


@program((1,), ('b',), (True,), (1.0,), (2,), (-1,), (1 + 2j,), (None,), (False,), (0,))
def m6(v):
    match v:
        case True:
            return 'T'
        case None:
            return 'N'
        case K.A:
            return 'A'
        case K.B:
            return 'B'
        case -1:
            return 'neg'
        case 1 + 2j:
            return 'c'
        case 0 | False:
            return 'zero'
        case x:
            return x


class Ev(enum.Enum):
    A = 1
    B = 2


class EqAll:

    def __eq__(self, o):
        print('eq', o)
        return True


@program((3,))
def m7(v):
    match EqAll():
        case True:
            return 'T'
        case 5:
            return 'five'


@program((['go', 'north'],), (['drop', 'a', 'b'],), (['quit'],), (['x'],), ('go',))
def m8(cmd):
    match cmd:
        case ['go', 'north' | 'south' as d]:
            return d
        case ['drop', *objs]:
            return objs
        case ['quit']:
            return 'bye'
        case [x]:
            return ('?', x)
        case str() as s:
            return s


@program((1, 2), (2, 1))
def m9(a, b):
    match (a, b):
        case [1, y]:
            return y
        case [x, 1]:
            return ('x', x)


@program(({'type': 'add', 'args': [1, {'type': 'num', 'v': 4}]},), ({'type': 'num', 'v': 2},))
def m10(e):
    match e:
        case {'type': 'num', 'v': int(v)}:
            return v
        case {'type': 'add', 'args': [a, b]}:
            return (m10(a) if isinstance(a, dict) else a) + m10(b)


class NT(typing.NamedTuple):
    x: int
    y: int


@program((NT(1, 2),), ((1, 2),), (NT(5, 5),))
def m11(q):
    match q:
        case NT(1, y):
            return ('nt', y)
        case NT(x=x):
            return x
        case [a, b]:
            return (a, b)


@program((3,))
def m12(v):
    q = Pt(v, [v, {'k': v}])
    match q:
        case Pt(x=int() as a, y=[int(b), {'k': c}]) if a == b == c:
            return (a, b, c)


class Metac(type):

    def __instancecheck__(cls, o):
        return o == 3


class Odd(metaclass=Metac):
    __match_args__ = ('real',)


@program((3,), (4,))
def m13(v):
    match v:
        case Odd(r):
            return ('odd', r)
        case Odd(real=r):
            return r
        case _:
            return 'no'


@program((3,))
def m14(v):
    notclass = 5
    class_ = len
    try:
        match v:
            case class_():
                return 1
    except TypeError as e:
        return str(e)



@program.parametrize
def test_matching(fn, call, split, fallback):
    check(fn, call, split, fallback)
