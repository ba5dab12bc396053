"""Operators and the special methods behind builtins, beside CPython."""

import functools
import math
import operator

import pytest

from tests.differential.harness.splitting import Programs, check

program = Programs()


class V:

    def __init__(self, x):
        self.x = x

    def __add__(self, o):
        if isinstance(o, V):
            return V(self.x + o.x)
        if isinstance(o, int):
            return V(self.x + o)
        return NotImplemented

    def __radd__(self, o):
        return ('radd', o, self.x)

    def __iadd__(self, o):
        if o == 99:
            return NotImplemented
        self.x += 100
        return self

    def __sub__(self, o):
        return NotImplemented

    def __eq__(self, o):
        print('eq', self.x)
        return self.x == o.x if isinstance(o, V) else NotImplemented

    def __lt__(self, o):
        return self.x < o.x if isinstance(o, V) else NotImplemented

    def __mul__(self, k):
        return V(self.x * k)
    __rmul__ = __mul__

    def __neg__(self):
        return V(-self.x)

    def __abs__(self):
        return abs(self.x)

    def __bool__(self):
        return self.x > 0

    def __getitem__(self, k):
        return (self.x, k)

    def __pow__(self, e, m=None):
        return ('pow', e, m)

    def __divmod__(self, o):
        return ('divmod', o)

    def __matmul__(self, o):
        return ('mm', o)

    def __repr__(self):
        return f'V({self.x})'

    def __call__(self, *a, **k):
        return (self.x, a, k)

    def __contains__(self, v):
        return v == self.x

    def __format__(self, spec):
        return f'<{self.x}|{spec}>'

    def __invert__(self):
        return 'inv'

    def __pos__(self):
        return 'pos'

    def __floordiv__(self, o):
        return 'fd'

    def __rpow__(self, o):
        return ('rpow', o)


@program((3,))
def ops1(v):
    a, b = (V(v), V(1))
    r = [a + b, a + 1, 1 + a, 1.5 + a, 's' + a, a * 2, 2 * a, -a, abs(a), bool(a), a[1], a[1:2], a[1, ...], a ** 2, pow(a, 2, 5), 2 ** a, divmod(a, 1), a @ b, a(1, k=2), 3 in a, f'{a:x} {a!r} {a}', ~a, +a, a // 2]
    for f in (lambda: a - b, lambda: a - 1, lambda: 1 - a, lambda: a > 1, lambda: a >= b, lambda: a % 1, lambda: a + 's', lambda: V(1) & V(2), lambda: a.nope + 1):
        try:
            r.append(f())
        except (TypeError, AttributeError) as e:
            r.append(str(e))
    return r


@program((3,), (99,))
def ops2(v):
    a = V(1)
    b = a
    a += v
    r = [a is b, a]
    a *= 2
    r.append(a)
    try:
        a -= 1
    except TypeError as e:
        r.append(str(e))
    try:
        a //= 1
        a %= 2
    except TypeError as e:
        r.append(str(e))
    try:
        a **= 2
        a @= 1
        a |= 3
    except TypeError as e:
        r.append(str(e))
    return r


@program((3,))
def ops3(v):
    a, b = (V(v), V(1))
    return (a == b, a != b, a < b, a > b, a == 3, 3 == a, a != 0, b < a < V(9), a in [b, a], [b, a].index(a), [a].count(V(v)), (a, 1) == (V(v), 1), sorted([a, b], key=lambda q: q.x))


@program((V(3), V(1)))
def ops_in(a, b):
    return (a + b, a == b, a < b, -a, bool(b), a[1], a(2), abs(a), a * 2, 2 * a, a != b)


@program((V(3), 4))
def ops_in2(a, b):
    return (a + b, b + a, a * b, b * a)


class Base:

    def __add__(self, o):
        return 'Base.add'

    def __radd__(self, o):
        return 'Base.radd'

    def __eq__(self, o):
        return 'Base.eq'

    def __lt__(self, o):
        return 'Base.lt'

    def __gt__(self, o):
        return 'Base.gt'
    __hash__ = None


class Der(Base):

    def __radd__(self, o):
        return 'Der.radd'

    def __gt__(self, o):
        return 'Der.gt'


class Der2(Base):
    pass


@program((3,))
def priority(v):
    b, d, e = (Base(), Der(), Der2())
    r = [b + d, d + b, b + e, d + e, b < d, b > d, d < b, b == d, d == 1, 1 == d, 1 < d, 1 + d, b != d, not b == d]
    try:
        hash(b)
    except TypeError as x:
        r.append(str(x))
    try:
        {b: 1}
    except TypeError as x:
        r.append(str(x))
    return r


class Arr:

    def __init__(self, xs):
        self.xs = xs

    def __eq__(self, o):
        return Arr([x == o for x in self.xs])

    def __lt__(self, o):
        return Arr([x < o for x in self.xs])

    def __bool__(self):
        raise ValueError('ambiguous')

    def __ne__(self, o):
        return 'ne'


@program((2,))
def nonbool(v):
    a = Arr([1, v, 3])
    r = [(a == v).xs, (a < v).xs, a != v]
    try:
        if a == v:
            r.append(1)
    except ValueError as e:
        r.append(str(e))
    try:
        r.append(0 < a < 3)
    except ValueError as e:
        r.append(str(e))
    try:
        r.append(a in [5, a])
    except ValueError as e:
        r.append(str(e))
    try:
        r.append(5 in [a])
    except ValueError as e:
        r.append(str(e))
    return r


class Len:

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


class Seq:

    def __init__(self, xs):
        self.xs = xs

    def __getitem__(self, i):
        if i >= len(self.xs):
            raise IndexError(i)
        return self.xs[i] * 10


class It:

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


class GenIt:

    def __init__(self, *xs):
        self.xs = xs

    def __iter__(self):
        for x in self.xs:
            yield x

    def __reversed__(self):
        return iter(('rev', *self.xs))

    def __length_hint__(self):
        return 3


class SeqLen(Seq):

    def __len__(self):
        return len(self.xs)


@program((3,), (0,), (-1,), ('x',))
def lens(n):
    try:
        return (len(Len(n)), bool(Len(n)), not Len(n), 'y' if Len(n) else 'n')
    except (ValueError, TypeError) as e:
        return (type(e).__name__, str(e))


class Idx:

    def __init__(self, i):
        self.i = i

    def __index__(self):
        return self.i


class Nums:

    def __int__(self):
        return 7

    def __float__(self):
        return 2.5

    def __complex__(self):
        return 1j

    def __round__(self, n=None):
        return ('round', n)

    def __floor__(self):
        return 'floor'

    def __ceil__(self):
        return 'ceil'

    def __trunc__(self):
        return 'trunc'

    def __str__(self):
        return 'str'

    def __hash__(self):
        return 42

    def __bytes__(self):
        return b'by'

    def __dir__(self):
        return ['b', 'a']

    def __sizeof__(self):
        return 1


@program((3,), (1,))
def nums(i):
    x = Idx(i)
    n = Nums()
    return ([1, 2, 3, 4, 5][x], 'abcdef'[x:], [1, 2, 3][:x], range(x)[-1], int(x), float(x), bin(x), int(n), float(n), complex(n), round(n), round(n, 2), math.floor(n), math.ceil(n), math.trunc(n), str(n), f'{n}', hash(n), bytes(n), dir(n), operator.index(x), chr(x), '%d' % x, [0] * x, math.sqrt(n), hex(x))


class BadBool:

    def __bool__(self):
        return 3


class BadLen:

    def __len__(self):
        return 'x'


class BadStr:

    def __str__(self):
        return 3

    def __repr__(self):
        return None

    def __hash__(self):
        return 'x'

    def __index__(self):
        return 1.5

    def __int__(self):
        return 'q'

    def __iter__(self):
        return 5

    def __format__(self, s):
        return 3

    def __contains__(self, x):
        return 'yes'


class NoneOps:
    __add__ = None
    __iter__ = None
    __contains__ = None
    __bool__ = None
    __call__ = None
    __getitem__ = None
    __eq__ = None
    __hash__ = None
    __len__ = None


class Item:

    def __init__(self):
        self.d = {}

    def __getitem__(self, k):
        print('get', k)
        return self.d[k]

    def __setitem__(self, k, v):
        print('set', k)
        self.d[k] = v

    def __delitem__(self, k):
        print('del', k)
        del self.d[k]


@program((3,), ('k',))
def items(k):
    i = Item()
    i[k] = [1]
    i[k] += [2]
    i['a', 1] = 5
    del i['a', 1]
    try:
        i['zz']
    except KeyError as e:
        return (i[k], e.args, i.d)


@functools.total_ordering
class TO:

    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


@program((3, 1), (1, 1))
def total(v, w):
    a, b = (TO(v), TO(w))
    return (a < b, a <= b, a > b, a >= b, a == b, a != b, min(a, b).v, max([a, b]).v, [q.v for q in sorted([a, b])])


class EqEff:

    def __init__(self, v, log):
        self.v = v
        self.log = log

    def __eq__(self, o):
        self.log.append((self.v, getattr(o, 'v', o)))
        return self.v == getattr(o, 'v', o)

    def __hash__(self):
        self.log.append('hash')
        return hash(self.v)


@program((3,))
def eq_effects(v):
    log = []
    a, b, c = (EqEff(1, log), EqEff(v, log), EqEff(v, log))
    r = (b in [a, b, c], [a, b, c].index(c), a == b == c, (a, b) == (a, c), {a: 1, b: 2}[c], c in {a, b}, [a, b] == [a, c], [a, b].count(c))
    return (r, log)


class Getitems:

    def __getitem__(self, k):
        if isinstance(k, slice):
            return (k.start, k.stop, k.step)
        if isinstance(k, tuple):
            return ('t', *k)
        return k


@program((3,))
def getitems(v):
    g = Getitems()
    return (g[v], g[v:], g[:v, ...], g[v, 1], g[::2], g[...], g[v:v + 1:v])


class CallMe:

    def __init__(self):
        self.n = 0

    def __call__(self, x, *, k=1):
        self.n += x * k
        return self.n


@program((3,))
def callme(v):
    c = CallMe()
    r = (c(v), c(1, k=2), list(map(c, [1, 2])), callable(c), callable(V(1)), callable(Len(1)))
    try:
        c()
    except TypeError as e:
        return (r, str(e))


@program((CallMe(), 4))
def callme_in(c, v):
    return (c(v), c(v, k=2), c.n)


class Cmp:

    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return NotImplemented

    def __lt__(self, o):
        return NotImplemented


@program((3,))
def cmp_default(v):
    a, b = (Cmp(v), Cmp(v))
    r = [a == b, a == a, a != b, a != a, a == 1, object() == a, a is b]
    for f in (lambda: a < b, lambda: a < 1, lambda: 1 < a, lambda: a <= b, lambda: a > b, lambda: sorted([a, b]), lambda: max(a, b)):
        try:
            r.append(f())
        except TypeError as e:
            r.append(str(e))
    return r


class OnlyEq:

    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v


@program((3,))
def only_eq(v):
    a, b = (OnlyEq(v), OnlyEq(v))
    r = [a == b, a != b]
    for f in (lambda: hash(a), lambda: {a}, lambda: {a: 1}, lambda: a == 1):
        try:
            r.append(f())
        except (TypeError, AttributeError) as e:
            r.append(str(e))
    return r


@program((V(1),), ([1],), (3,), ('ab',), (1.5,), (None,))
def unknown_ops(x):
    r = []
    for f in (lambda: x + 1, lambda: x < 2, lambda: x == 1, lambda: len(x), lambda: x[0], lambda: -x, lambda: x(), lambda: 1 + x, lambda: bool(x)):
        try:
            r.append(f())
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r


class Ctx:

    def __init__(self, l):
        self.l = l

    def __enter__(self):
        self.l.append('in')
        return self

    def __exit__(self, *a):
        self.l.append(a[0] and a[0].__name__)
        return a[0] is KeyError


@program((3,))
def ctx(v):
    l = []
    with Ctx(l) as c:
        l.append(c.l is l)
    with Ctx(l):
        raise KeyError(v)
    try:
        with Ctx(l):
            raise ValueError(v)
    except ValueError as e:
        l.append(e.args)
    try:
        with Len(1):
            pass
    except TypeError as e:
        l.append(str(e))
    return l


class InplaceList:

    def __init__(self):
        self.l = [1]

    @property
    def lp(self):
        return self.l


@program((3,))
def inplace_attr(v):
    i = InplaceList()
    try:
        i.lp += [v]
    except AttributeError as e:
        return (str(e), i.l)


EXPRESSIONS = """
list(Seq([1, v, 3])); [x for x in Seq([1, v, 3])]; 20 in Seq([1, v, 3]); v * 10 in Seq([1, v, 3]); tuple(It(v)); sum(It(v)); [*GenIt(1, v)]
max(GenIt(1, v)); list(reversed(GenIt(1, v))); list(reversed(SeqLen([1, 2]))); dict(enumerate(It(2))); sorted(GenIt(3, v, 1)); 7 in It(3)
list(zip(It(2), GenIt(1, 2))); v in GenIt(1, v); list(map(str, Seq([1, v]))); ''.join(str(x) for x in GenIt(1, 2)); list(iter(It(2)))
iter(Seq([1])) is not Seq([v]); next(iter(It(2))); next(iter(It(0)), 'end'); next(It(0)); iter(Len(2)); list(Len(2)); reversed(It(2)); 3 in Len(3)
Len(1)[0]; next(Len(1)); bool(BadBool()); len(BadLen()); bool(BadLen()); str(BadStr()); repr(BadStr()); hash(BadStr()); [1][BadStr()]
int(BadStr()); iter(BadStr()); f"{BadStr()}"; v in BadStr(); f"{BadStr()!s}"; NoneOps() + 1; 1 + NoneOps(); iter(NoneOps()); 1 in NoneOps()
bool(NoneOps()); NoneOps()(1); NoneOps()[1]; NoneOps() == 1; hash(NoneOps()); len(NoneOps()); NoneOps() == NoneOps(); NoneOps() != 1
not NoneOps(); operator.add(V(v), 1); operator.neg(V(v)); operator.eq(V(1), V(v)); operator.contains(V(v), 3); operator.getitem(V(v), 1)
operator.iadd(V(v), 1); operator.lt(V(v), V(9)); divmod(V(1), V(2)); divmod(1, Len(2)); Len(1) + 1; -Len(1); abs(Len(1)); ~Len(1); round(Len(1))
"""


@pytest.mark.parametrize("source", [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(";")])
def test_expressions(source):
    fn = eval(f"lambda v: {source}", globals())
    for split in ("any", "typed", "known"):
        check(fn, (3,), split)

@program.parametrize
def test_operators(fn, call, split, fallback):
    check(fn, call, split, fallback)
