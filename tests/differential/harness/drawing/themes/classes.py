"""Classes: attribute lookup, operators with their reflected forms, special methods with side effects, classes made inside functions."""

PRELUDE = '''\
class Vec:
    def __init__(self, x, y=0):
        self.x, self.y = x, y

    def __add__(self, other):
        if isinstance(other, Vec):
            return Vec(self.x + other.x, self.y + other.y)
        if isinstance(other, int):
            return Vec(self.x + other, self.y)
        return NotImplemented

    def __radd__(self, other):
        print("radd")
        return Vec(other, self.x)

    def __iadd__(self, other):
        self.x += 1
        return self

    def __mul__(self, k):
        return NotImplemented if isinstance(k, str) else Vec(self.x * 2, k)

    __rmul__ = __mul__

    def __eq__(self, other):
        print("eq", type(other).__name__)
        return NotImplemented if not isinstance(other, Vec) else (self.x, self.y) == (other.x, other.y)

    def __lt__(self, other):
        return self.x < other.x

    def __hash__(self):
        print("hash")
        return hash(self.x)

    def __bool__(self):
        print("bool")
        return self.x != 0

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __repr__(self):
        return f"Vec({self.x!r}, {self.y!r})"

    def __getitem__(self, k):
        return (self.x, self.y)[k]

    def __len__(self):
        return 2

    def __contains__(self, item):
        print("in")
        return item == self.x

    def __call__(self, *args, **kwargs):
        return self.x, args, kwargs

    def __format__(self, spec):
        return f"<{spec}>"


class SubVec(Vec):
    def __radd__(self, other):
        return "sub radd"

    def __eq__(self, other):
        return "equal"

    __hash__ = None


class Base:
    count = 0
    shared = []

    def __init__(self, v=0):
        Base.count += 1
        self.v = v
        self.setup()

    def setup(self):
        self.log = ["base"]

    def who(self):
        return "base", self.v

    @property
    def twice(self):
        return self.v * 2

    @twice.setter
    def twice(self, value):
        print("set twice")
        self.v = value

    @classmethod
    def make(cls, *args):
        return cls(*args)

    @staticmethod
    def plain(a, b=2):
        return a, b


class Left(Base):
    def setup(self):
        super().setup()
        self.log.append("left")

    def who(self):
        return "left", *super().who()


class Right(Base):
    def who(self):
        return "right", *super().who()

    @functools.cached_property
    def lazy(self):
        print("computed")
        return self.v + 1


class Both(Left, Right):
    def __init__(self, v=0, *, tag="t"):
        super().__init__(v)
        self.tag = tag

    def who(self):
        return "both", *super().who()


class Dynamic:
    def __init__(self, **kw):
        self.__dict__.update(kw)

    def __getattr__(self, name):
        if name.startswith("x"):
            return name * 2
        raise AttributeError(name)

    def __setattr__(self, name, value):
        print("set", name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        print("del", name)
        object.__delattr__(self, name)


class Typed:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name, None)

    def __set__(self, obj, value):
        if not isinstance(value, (int, float)):
            raise TypeError(self.name, value)
        setattr(obj, self.name, value)


class Record:
    a = Typed()
    b = Typed()

    def __init__(self, a, b):
        self.a = a
        self.b = b


class Slim:
    __slots__ = ("a", "b", "__dict__")[:2]

    def __init__(self, a):
        self.a = a


@dataclasses.dataclass(order=True)
class Data:
    n: int
    name: str = "d"
    items: list = dataclasses.field(default_factory=list, compare=False)

    def __post_init__(self):
        self.items.append(self.n)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: float = 0.5


class Shade(enum.Enum):
    DARK = 1
    LIGHT = 2

    @property
    def other(self):
        return Shade.LIGHT if self is Shade.DARK else Shade.DARK


class Flags(enum.IntFlag):
    R = 4
    W = 2


Pair = collections.namedtuple("Pair", "left right", defaults=[None])


class Meta(type):
    def __call__(cls, *args):
        print("meta", cls.__name__)
        return super().__call__(*args)

    def __len__(cls):
        return 7


class Made(metaclass=Meta):
    def __new__(cls, *args):
        self = super().__new__(cls)
        self.args = args
        return self


@functools.singledispatch
def show(x):
    return "any"


@show.register
def _(x: int):
    return "int"


@show.register(list)
def _(x):
    return "list"


@functools.total_ordering
class Ord:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return self.k == other.k

    def __lt__(self, other):
        return self.k < other.k


class MyList(list):
    def append(self, item):
        super().append((item, len(self)))


class MyDict(dict):
    def __missing__(self, key):
        self[key] = key * 2
        return self[key]


class MyInt(int):
    def __add__(self, other):
        return MyInt(int(self) + int(other) + 1)


'''
EXPRESSIONS = {
    "obj": ("Vec($int, $int)", "SubVec($int)", "Base($int)", "Both($int, tag=$str)", "Left.make($int)", "Dynamic(v=$int)", "Record($int, $int)", "Slim($int)", "Data($int, $str)",
            "Frozen($int)", "Shade.DARK", "Pair($int, $str)", "Made($int)", "MyList($list)", "MyDict(a=$int)", "MyInt($n)", "Data($n)", "Pair($int)", "Flags.R | Flags.W"),
    "int": ("Vec($int).x", "Base($int).twice", "Both($int).v", "Shade(1).value", "Frozen($int).a", "len(Vec(1))", "Pair($int, 2).left", "len(Made)", "MyDict()[$int]"),
    "list": ("Both($int).log", "Data($int).items", "[*Pair($int, 2)]", "sorted([Vec($int).x, 3])", "[x_.who() for x_ in (Left(1), Right($int))]"),
    "cond": ("Vec($int)", "Vec($int) == Vec($int)", "Vec(1) != $int", "Vec($int) < Vec($int)", "$int in Vec($int)", "isinstance($:obj, Base)", "hasattr($:obj, 'v')", "Data(1) < Data($int)",
             "$:obj == $:obj", "not $:obj", "Frozen($int) == Frozen(1)", "Shade.DARK is Shade($n)", "issubclass(type($:obj), (Base, list))", "callable($:obj)"),
    "str": ("str($:obj)[:20]", "f'{$:obj!r:.20}'", "type($:obj).__name__", "f'{Vec(1):abc}'", "Shade.LIGHT.name", "Dynamic().xy"),
    "tuple": ("Both($int).who()", "Pair($int, 2)", "Vec($int)($int, k=1)", "Base.plain($int)", "tuple(vars($:obj)) if hasattr($:obj, '__dict__') else ()", "dataclasses.astuple(Frozen($int))"),
}
KINDS = ("int", "int", "str", "list", "obj", "obj")
VALUES = {"obj": ["Vec(1, 2)", "Vec(0)", "SubVec(3)", "Base(4)", "Both(5)", "Dynamic(v=1)", "Record(1, 2.0)", "Slim(1)", "Data(2, 'x')", "Frozen(1)", "Shade.DARK", "Pair(1, 2)", "MyInt(3)", "MyList([1])"]}
CHANGES = '''
Vec.__add__ = lambda self, other: 'patched'

Base.count = 10

Base.who = lambda self: ('new who', self.v)

Left.setup = lambda self: setattr(self, 'log', ['other'])

Vec = SubVec

Base.twice = 5

Both.v = property(lambda self: 9, lambda self, value: None)

Frozen.b = 7

del Left.who

Record.a = 3

Dynamic.__getattr__ = lambda self, name: 0

class Vec:
    def __init__(self, *a): self.x = a; self.y = 1

Base.extra = 1; Slim.c = 2
'''
STATEMENTS = '''
o_ = $obj
$block
kept.append(o_)

o_ = $obj
try:
    o_.$[x | v | a | b | new | log | twice] $[= $int | += $int | = $str]
    print(o_.$[x | v | a | twice | log])
except (AttributeError, TypeError) as e_:
    print(type(e_).__name__, e_.args)
kept.append(o_)

try:
    kept.append($:obj $[+ | * | - | == | < | & | @] $[$:obj | $int | $str | 1.5])
except TypeError as e_:
    print(e_.args)

try:
    kept.append($[$int | $str | [] | 1.5] $[+ | * | == | >] $:obj)
except TypeError as e_:
    print(e_.args)

v_ = $:obj
v_ += $[1 | $:obj | 'x']
kept.append((v_, v_ is $:obj))

if $:obj:
    $block
else:
    $block

class Local_:
    made = []
    limit = $int
    def __init__(self, x):
        self.x = x
        $body
        Local_.made.append(self)
    def get(self, k=$int):
        return self.x, k, self.limit
    $[@property | @staticmethod | @classmethod]
    def odd(self=None):
        return type(self).__name__
    def __$[eq | lt | getattr | contains | len | getitem]__(self, *other):
        print('special', len(other))
        return $[True | NotImplemented | 3 | 'no']
c_ = Local_($int)
try:
    kept.append((c_.get(), $[c_ == 1 | c_ < c_ | c_.nope | 1 in c_ | len(c_) | c_[0] | c_.odd | bool(c_) | c_ != c_ | Local_.limit]))
except Exception as e_:
    print(type(e_).__name__, e_.args)

class Sub_($[Base | Vec | Both | Dynamic | Data | MyList | MyInt | dict | Exception | Pair | tuple]):
    tag = $str
    def who(self):
        return 'sub', self.tag
    def __$[repr | str | bool | hash]__(self):
        return $['sub' | True | 3 | super().__repr__()]
try:
    s_ = Sub_($[ | $int | $int])
    print(s_.who(), isinstance(s_, Base))
    $[print(repr(s_)) | print(bool(s_)) | kept.append(hash(s_) == 3) | print(str(s_))]
except Exception as e_:
    print(type(e_).__name__, e_.args)

try:
    $[Frozen(1).a = 2 | Shade.DARK.value = 3 | Slim(1).zz = 4 | Pair(1, 2).left = 3 | del Base(1).v | del Slim(1).b | Record($str, 1) | Shade($int) | Frozen() | Data(1, 2, 3, 4) | Base.plain() | setattr($:obj, $str, 1)]
except Exception as e_:
    print(type(e_).__name__, e_.args)

kept.append(getattr($:obj, $['x' | 'v' | $str | '__class__' | 'nope'], $int))

for c_ in (Left, Right, Both):
    print(c_($int).who(), c_.__mro__[1].__name__)

o_ = Right($int)
print(o_.lazy, $[o_.lazy | vars(o_) | setattr(o_, 'v', 5) or o_.lazy | delattr(o_, 'lazy')], o_.v)

d_ = dataclasses.replace(Data($int, $str), n=$int)
kept.append((d_, dataclasses.asdict(d_), d_ == Data(1), d_.items))

print(Shade.DARK.other.name, [s.value for s in Shade], Shade['LIGHT'], Flags.R | Flags.W, Flags($n))

match $:obj:
    case Vec(x=0) | Vec(x=1):
        print('vec')
    case Pair(a, b):
        kept.append(a)
    case Data(n=n, items=[*rest]):
        print(n, rest)
    case Base(v=int() as v):
        print('base', v)
    case object(x=x):
        kept.append(x)
    case _:
        $block

m_ = $:obj.$[who | __repr__ | __init__ | get | make] if hasattr($:obj, 'who') else print
try:
    print(m_($[ | $int]))
except TypeError as e_:
    print(type(e_).__name__)

Base.count += $int
kept.append((Base.count, Left.count, Base.shared is Right.shared))

Base.shared.append($int)
Left.shared = $list
print(Base.shared, Left.shared, Both.shared)

x_ = {Vec($int): 1, Vec(1): 2}
kept.append(len(x_))
print(x_.get(Vec($int)), Vec(1) in x_, Vec(2) in [Vec(2)])

l_ = MyList($list)
l_.append($int)
l_ += [1]
print(l_, len(l_), type(l_[:1]).__name__, type(l_ + []).__name__)

d_ = MyDict()
print(d_[$int], d_.get(5), $[d_['a'] | d_ | len(d_)])

i_ = MyInt($n) + $int
print(type(i_).__name__, i_, type(i_ + 1).__name__, type(1 + i_).__name__, i_ * 2)

def mutate_(o):
    o.$[x | v | n] = $int
    return o
o_ = Base($int)
print(mutate_(o_).v, $[mutate_(o_) is o_ | vars(o_)])

print(show($:name), show($int), show($:obj))

kept.append((Ord($int) <= Ord($int), Ord(1) > Ord($int), max([Ord(1), Ord($int)]).k))
'''
