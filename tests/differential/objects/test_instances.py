"""How instances are made: __new__, metaclasses, subclasses of builtins, ABCs, dataclasses, enums, named tuples; beside CPython."""

import abc
import collections
import dataclasses
import enum
import typing
from dataclasses import InitVar, dataclass, field

from tests.differential.harness.splitting import Programs, check

program = Programs()


class Single:
    _inst = None

    def __new__(cls, *a):
        if cls._inst is None:
            cls._inst = super().__new__(cls)
        return cls._inst

    def __init__(self, v):
        self.v = v


@program((3,))
def singleton(v):
    Single._inst = None
    a = Single(v)
    b = Single(v + 1)
    return (a is b, a.v)


class NewOnly:

    def __new__(cls, a, b=2):
        self = object.__new__(cls)
        self.t = (a, b)
        return self


class NewOther:

    def __new__(cls, a):
        return [a]

    def __init__(self, a):
        raise ValueError


class NewInit:

    def __new__(cls, *args, **kw):
        self = super().__new__(cls)
        self.log = ['new', args, kw]
        return self

    def __init__(self, x, y=1):
        self.log.append(('init', x, y))


@program((3,))
def news(v):
    return (NewOnly(v).t, NewOther(v), NewInit(v, y=2).log)


class SubNew(NewInit):

    def __init__(self, x):
        super().__init__(x, y=x)
        self.z = x


@program((3,))
def subnew(v):
    s = SubNew(v)
    return (s.log, s.z, type(s).__name__)


class MetaCall(type):
    cache = {}

    def __call__(cls, *a):
        if a not in cls.cache:
            cls.cache[a] = super().__call__(*a)
        return cls.cache[a]


class Cached(metaclass=MetaCall):

    def __init__(self, v):
        self.v = v


@program((3,))
def metacall(v):
    MetaCall.cache.clear()
    a = Cached(v)
    b = Cached(v)
    c = Cached(v + 1)
    return (a is b, c.v, len(MetaCall.cache))


class MetaCall2(type):

    def __call__(cls, *a, **k):
        obj = cls.__new__(cls)
        obj.__init__(*a, **k)
        obj.extra = 1
        return obj


class Mc2(metaclass=MetaCall2):

    def __init__(self, v):
        self.v = v


@program((3,))
def metacall2(v):
    a = Mc2(v)
    return (a.v, a.extra)


class MyInt(int):

    def __add__(self, o):
        return MyInt(int(self) + o)

    def __repr__(self):
        return f'MyInt({int(self)})'

    def half(self):
        return self // 2

    @property
    def sq(self):
        return self * self


class Meter(float):
    unit = 'm'

    def __new__(cls, v, tag=None):
        self = super().__new__(cls, v)
        self.tag = tag
        return self


class UStr(str):

    def __new__(cls, s):
        return super().__new__(cls, s.upper())

    def shout(self):
        return self + '!'


class Pair(tuple):

    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    @property
    def left(self):
        return self[0]

    def swap(self):
        return Pair(self[1], self[0])


class Stack(list):

    def push(self, x):
        self.append(x)
        return self

    def peek(self):
        return self[-1]


class DefD(dict):

    def __missing__(self, k):
        self[k] = k * 2
        return self[k]

    def __getattr__(self, n):
        try:
            return self[n]
        except KeyError:
            raise AttributeError(n)


class Init(dict):

    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.created = len(self)

    def __setitem__(self, k, v):
        super().__setitem__(k, v + 1)


@program((3,))
def my_int(v):
    a = MyInt(v)
    return (a + 1, a * 2, repr(a + 1), a.half(), a.sq, type(a - 1), a == v, hash(a) == hash(v), f'{a}', str(a), a > 2, 1 + a, bool(a), [1, 2, 3, 4, 5][a], -a)


@program((3.5,))
def my_float(v):
    m = Meter(v, tag='x')
    return (m + 1, m.tag, m.unit, type(m * 2), m == v, round(m), int(m), m.__dict__)


@program(('abc',))
def my_str(s):
    u = UStr(s)
    return (u, u.shout(), u.lower(), len(u), type(u), u == s.upper(), u[0], 'A' in u, u + 'x', f'{u:>5}', {u: 1}[s.upper()])


@program((3,))
def my_tuple(v):
    q = Pair(v, 2)
    a, b = q
    return (q.left, q.swap(), q[1], len(q), a + b, q == (v, 2), type(q.swap()), isinstance(q, tuple), q + (1,), list(q), hash(q) == hash((v, 2)))


@program((3,))
def my_list(v):
    s = Stack([1])
    s.push(v).push(4)
    s += [5]
    r = (s.peek(), len(s), s[1], [x * 2 for x in s], s == [1, v, 4, 5], type(s), type(s[:]), v in s)
    s.name = 'q'
    return (r, s, s.name)


@program((3,))
def my_dict(v):
    d = DefD(a=1)
    r = (d['a'], d[v], d.a, len(d), list(d), d.get('zz'), 'zz' in d, d == {'a': 1, v: v * 2})
    try:
        d.nope
    except AttributeError as e:
        r += (e.args, type(e.__context__).__name__)
    i = Init({'x': 1}, y=2)
    i['x'] = v
    return (r, i, i.created, d)


class AppError(Exception):
    code = 500

    def __init__(self, msg, code=None):
        super().__init__(msg)
        if code:
            self.code = code

    def describe(self):
        return f'{self.code}: {self.args[0]}'


class NotFound(AppError):
    code = 404

    def __init__(self, what):
        super().__init__(f'no {what}')
        self.what = what


class WithStr(ValueError):

    def __str__(self):
        return 'custom ' + str(self.args[0])


@program((3,), (0,), (-1,))
def exc_sub(v):
    try:
        if v > 0:
            raise NotFound(v)
        if v == 0:
            raise AppError('bad', 7)
        raise WithStr(v)
    except AppError as e:
        return (e.describe(), e.args, getattr(e, 'what', None), str(e), repr(e))
    except ValueError as e:
        return (str(e), e.args, repr(e))


class Shape(abc.ABC):

    @abc.abstractmethod
    def area(self):
        ...

    def twice(self):
        return 2 * self.area()

    @property
    @abc.abstractmethod
    def name(self):
        ...


class Sq(Shape):

    def __init__(self, s):
        self.s = s

    def area(self):
        return self.s ** 2
    name = 'sq'


class Half(Shape):

    def area(self):
        return 1


@program((3,))
def abcs(v):
    r = [Sq(v).twice(), Sq(v).name, isinstance(Sq(1), Shape)]
    for c in (Shape, Half):
        try:
            c()
        except TypeError as e:
            r.append(str(e))
    return r


class Sized(abc.ABC):

    @classmethod
    def __subclasshook__(cls, C):
        if cls is Sized:
            return any(('size' in B.__dict__ for B in C.__mro__))
        return NotImplemented


class HasSize:

    def size(self):
        return 1


class Reg:
    pass


class Virt(abc.ABC):
    pass
Virt.register(Reg)


@program((3,), ('s',))
def abc_hooks(v):
    return (isinstance(HasSize(), Sized), issubclass(Reg, Virt), isinstance(Reg(), Virt), isinstance(v, Sized), isinstance(v, collections.abc.Sequence), isinstance(v, collections.abc.Hashable))


class Plugin:
    reg = []

    def __init_subclass__(cls, tag=None, **k):
        super().__init_subclass__(**k)
        cls.tag = tag
        Plugin.reg.append(cls.__name__)


class P1(Plugin, tag='one'):
    pass


@program((3,))
def initsub(v):
    return (P1.tag, Plugin.reg, P1().tag)


class Box:

    def __class_getitem__(cls, item):
        return f'{cls.__name__}[{item}]'


class MetaIC(type):

    def __instancecheck__(cls, o):
        return hasattr(o, 'quack') or o == 3

    def __subclasscheck__(cls, c):
        return c.__name__ == 'Reg'

    def __getitem__(cls, k):
        return (cls.__name__, k)

    def __len__(cls):
        return 7

    def __iter__(cls):
        return iter([1, 2, 3])

    def __contains__(cls, x):
        return x == 1

    def __call__(cls, *a):
        return ('called', a)


class Duck(metaclass=MetaIC):
    pass


@program((3,), (4,))
def metaops(v):
    return (Box[v], isinstance(v, Duck), issubclass(Reg, Duck), Duck[v], len(Duck), list(Duck), 1 in Duck, v in Duck, Duck(v), bool(Duck))


@dataclass
class DC:
    a: int
    b: list = field(default_factory=list)
    c: str = 'c'

    def sum(self):
        return self.a + len(self.b)


@dataclass(frozen=True, order=True)
class FO:
    x: int
    y: int = 0

    def up(self):
        return dataclasses.replace(self, x=self.x + 1)


@dataclass(slots=True)
class SLD:
    x: int
    y: int = 5


@dataclass(kw_only=True)
class KW:
    x: int
    y: int = 1


@dataclass
class PI:
    w: int
    scale: InitVar[int] = 2
    area: int = field(init=False)
    hidden: int = field(default=0, repr=False, compare=False)

    def __post_init__(self, scale):
        self.area = self.w * scale


@dataclass(unsafe_hash=True)
class HD:
    a: int
    b: str = field(default='q', hash=False)


@dataclass
class Sub(DC):
    d: int = 4


@program((3,))
def dc1(v):
    a, b = (DC(v), DC(v, [1]))
    a.b.append(2)
    return (a, b, a == b, a != b, a.sum(), b.sum(), repr(a), DC(v) == DC(v), a == 3, Sub(v, d=2))


@program((3, 1), (1, 3))
def dc2(v, w):
    a, b = (FO(v), FO(w, 2))
    r = [a < b, a <= b, a > b, a == b, sorted([a, b]), max(a, b), hash(a) == hash((v, 0)), a.up(), {a: 1}[FO(v)]]
    try:
        a.x = 1
    except dataclasses.FrozenInstanceError as e:
        r.append(str(e))
    try:
        del a.x
    except AttributeError as e:
        r.append(str(e))
    try:
        a < 3
    except TypeError as e:
        r.append(str(e))
    return r


@program((3,))
def dc3(v):
    s = SLD(v)
    r = [s, s.x, s.y, KW(x=v), PI(v), PI(v, 3).area, PI(v) == PI(v, hidden=4), HD(v) == HD(v), hash(HD(v)) == hash((v,)), Sub(v)]
    for f in (lambda: KW(v), lambda: DC(), lambda: PI(), lambda: setattr(s, 'z', 1), lambda: hash(DC(1))):
        try:
            f()
        except (TypeError, AttributeError) as e:
            r.append(str(e))
    return r


@program((3,))
def dc4(v):
    a = DC(v, [FO(1)])
    return ([f.name for f in dataclasses.fields(a)], dataclasses.replace(a, c='z'), dataclasses.is_dataclass(a))


@program((DC(3, [1]), FO(1, 2)))
def dc5(a, f):
    return (a.sum(), a, f.up(), f == FO(1, 2), f < FO(2), hash(f), repr(f))


class Color(enum.Enum):
    RED = 1
    GREEN = 'g'
    BLUE = 3
    CRIMSON = 1

    @property
    def nice(self):
        return self.name.lower()

    def mix(self, o):
        return self.name + o.name

    @classmethod
    def default(cls):
        return cls.RED


class Num(enum.IntEnum):
    ONE = 1
    TWO = 2


class Perm(enum.Flag):
    R = enum.auto()
    W = enum.auto()
    X = enum.auto()
    RW = R | W


class IP(enum.IntFlag):
    A = 1
    B = 2


class Planet(enum.Enum):
    EARTH = (5.97, 6.37)
    MARS = (0.64, 3.39)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @property
    def g(self):
        return self.mass / self.radius ** 2


class SE(enum.StrEnum):
    FOO = enum.auto()
    BAR = 'b'


class Miss(enum.Enum):
    A = 1

    @classmethod
    def _missing_(cls, v):
        return cls.A


@program((1,), ('g',), (3,), (9,))
def enum1(v):
    try:
        c = Color(v)
    except ValueError as e:
        return str(e)
    return (c, c.name, c.value, c is Color.RED, c == Color.RED, c.nice, c.mix(Color.BLUE), c in Color, repr(c), str(c), Color.CRIMSON is Color.RED, hash(c) == hash(c.name))


@program(('RED',), ('NOPE',))
def enum2(n):
    try:
        return (Color[n], getattr(Color, n), [m.name for m in Color], len(Color), list(Color.__members__), Color.default())
    except KeyError as e:
        return e.args


@program((1,), (2,))
def enum3(v):
    n = Num(v)
    return (n + 1, n < 2, n == v, isinstance(n, int), [Num.ONE, Num.TWO][n - 1], max(Num), sorted(Num, reverse=True), f'{n}', {Num.ONE: 'a', Num.TWO: 'b'}[v])


@program((1,), (3,), (0,))
def enum4(v):
    q = Perm(v)
    return (q | Perm.X, q & Perm.W, bool(q), Perm.R in q, q == Perm.RW, ~q, q ^ Perm.R, q.value, IP(v) | 4, [x.name for x in Perm])


@program((1,))
def enum5(v):
    return (Planet.EARTH.g, Planet.MARS.mass, [q.name for q in Planet if q.g > 0], SE.FOO, SE.BAR == 'b', SE.FOO + 'x', Miss(v), Miss(99), Color.RED != Color.BLUE)


@program((Color.RED,), (Color.BLUE,))
def enum6(c):
    match c:
        case Color.RED:
            return 'r'
        case Color.GREEN:
            return 'g'
    if c is Color.BLUE:
        return (c.name, c.value)


@program((Color.RED, Num.ONE))
def enum7(c, n):
    try:
        Color.RED = 5
    except AttributeError as e:
        r = str(e)
    try:
        c < Color.BLUE
    except TypeError as e:
        r += str(e)
    return (r, n + 1, {Color.RED: 1}.get(c))


class NT(typing.NamedTuple):
    x: int
    y: int = 2

    def norm(self):
        return self.x + self.y

    @property
    def z(self):
        return self.x
CN = collections.namedtuple('CN', 'a b c', defaults=(3,))


class SubNT(CN):
    __slots__ = ()

    def tot(self):
        return self.a + self.b + self.c

    def __new__(cls, a, b):
        return super().__new__(cls, a, b, a + b)


@program((3,))
def nt1(v):
    q = NT(v)
    a, b = q
    return (q, q.x, q[0], q.norm(), q.z, q._replace(x=9), q._asdict(), NT._fields, NT._make([1, 2]), a + b, q == (v, 2), len(q), NT(*[1, 2]), CN(1, 2), CN(b=1, a=2), SubNT(v, 1).tot(), repr(q), NT._field_defaults, isinstance(q, tuple), q < (9, 9), hash(q) == hash((v, 2)), q.index(2), q + (1,))


@program((3,))
def nt2(v):
    q = NT(v)
    r = []
    for f in (lambda: setattr(q, 'x', 1), lambda: NT(), lambda: NT(1, 2, 3), lambda: q._replace(zz=1), lambda: NT._make([1]), lambda: setattr(q, 'new', 1), lambda: q.nope):
        try:
            r.append(f())
        except (TypeError, AttributeError, ValueError) as e:
            r.append((type(e).__name__, str(e)))
    return r


@program((NT(3),))
def nt3(q):
    return (q.x, q.norm(), q._replace(y=1), q[1], [*q])



@program.parametrize
def test_instances(fn, call, split, fallback):
    check(fn, call, split, fallback)
