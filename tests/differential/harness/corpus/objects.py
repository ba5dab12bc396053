"""Small idiomatic functions that create and use objects."""
import collections
import contextlib
import dataclasses
import enum
import functools

from tests.differential.harness.drawing.corpus import calls


class Account:
    fee = 1

    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.log = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount", amount)
        self.balance += amount
        self.log.append(("in", amount))
        return self

    def withdraw(self, amount):
        if amount + self.fee > self.balance:
            raise Broke(self.owner, self.balance)
        self.balance -= amount + self.fee
        self.log.append(("out", amount))
        return self


class Broke(Exception):
    def __init__(self, owner, balance):
        super().__init__(f"{owner} has {balance}")
        self.owner = owner


class Node:
    __slots__ = ("value", "left", "right")

    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def insert(self, value):
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(value))
        else:
            child.insert(value)

    def __iter__(self):
        if self.left is not None:
            yield from self.left
        yield self.value
        if self.right is not None:
            yield from self.right


class Vector:
    def __init__(self, *parts):
        self.parts = parts

    def __add__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(*(a + b for a, b in zip(self.parts, other.parts)))

    def __mul__(self, k):
        return Vector(*(a * k for a in self.parts))

    __rmul__ = __mul__

    def __eq__(self, other):
        return isinstance(other, Vector) and self.parts == other.parts

    def __hash__(self):
        return hash(self.parts)

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, k):
        return self.parts[k]

    def __repr__(self):
        return f"Vector{self.parts}"


class Shape:
    def area(self):
        raise NotImplementedError

    def __lt__(self, other):
        return self.area() < other.area()


class Box(Shape):
    def __init__(self, w, h):
        self.w, self.h = w, h

    def area(self):
        return self.w * self.h


class Square(Box):
    def __init__(self, side):
        super().__init__(side, side)

    @property
    def side(self):
        return self.w

    @side.setter
    def side(self, value):
        self.w = self.h = value


class Stack(list):
    def push(self, item):
        self.append(item)
        return self

    def peek(self):
        return self[-1]


class Celsius:
    def __get__(self, thing, owner):
        return self if thing is None else thing.kelvin - 273

    def __set__(self, thing, value):
        thing.kelvin = value + 273


class Weather:
    celsius = Celsius()

    def __init__(self, kelvin):
        self.kelvin = kelvin


class Lookup:
    def __init__(self, **known):
        self.known = known

    def __getattr__(self, name):
        try:
            return self.__dict__["known"][name]
        except KeyError:
            raise AttributeError(name) from None


@dataclasses.dataclass
class Item:
    name: str
    price: float = 1.0
    tags: list = dataclasses.field(default_factory=list)

    def total(self, n=1):
        return self.price * n


@dataclasses.dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Timer:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("start")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(kind.__name__ if kind else "stop")
        return kind is KeyError


Size = collections.namedtuple("Size", "w h")


@contextlib.contextmanager
def labelled(log, name):
    log.append(f"<{name}>")
    try:
        yield len(log)
    finally:
        log.append(f"</{name}>")


@calls("10, 3", "5, 9", "0, 1")
def banking(start, amount):
    account = Account("ann", start)
    try:
        account.deposit(amount).withdraw(amount)
    except Broke as error:
        return error.owner, str(error)
    except ValueError as error:
        return error.args
    return account.balance, account.log


@calls("[5, 2, 8, 1]", "[3]", "[]")
def tree(xs):
    if not xs:
        return []
    top = Node(xs[0])
    for x in xs[1:]:
        top.insert(x)
    return [*top], top.left is None


@calls("1, 2", "0, 0", "1.5, -1")
def vectors(a, b):
    u, v = Vector(a, b), Vector(b, a)
    w = u + v * 2
    try:
        u + 1
    except TypeError as error:
        print(error)
    return w, u == v, 2 * u, len(w), [*w], {u: 1, v: 2}.get(Vector(a, b))


@calls("2, 3", "0, 1")
def shapes(a, b):
    all_ = sorted([Box(a, b), Square(a), Square(b)])
    first = all_[0]
    if isinstance(first, Square):
        first.side = 10
    return [s.area() for s in all_], type(first).__name__, min(all_).area()


@calls("[1, 2]", "[]")
def stacked(xs):
    stack = Stack(xs)
    stack.push(3).push(4)
    return stack, stack.peek(), stack.pop() + len(stack), stack == [*xs, 3]


@calls("300", "0")
def weather(k):
    today = Weather(k)
    before = today.celsius
    today.celsius = 20
    return before, today.kelvin, Weather.celsius is Weather.__dict__["celsius"]


@calls("1", "'x'")
def looked_up(x):
    things = Lookup(a=x, b=[x])
    things.c = 5
    try:
        return things.a, things.b, things.c, things.d
    except AttributeError as error:
        return error.args, hasattr(things, "b"), getattr(things, "z", 0)


@calls("2, 'a'", "0, ''")
def items(n, name):
    one = Item(name)
    two = dataclasses.replace(one, price=2.5)
    one.tags.append(n)
    return one, two, one == two, two.total(n), one.tags is two.tags


@calls("1, 2", "3, 0")
def versions(a, b):
    first, second = Version(a), Version(b, 1)
    try:
        first.major = 5
    except dataclasses.FrozenInstanceError as error:
        print(type(error).__name__, error)
    return max(first, second), first < second, hash(first) == hash(Version(a)), {first: 1}


@calls("1", "2", "3")
def levels(n):
    try:
        level = Level(n)
    except ValueError as error:
        return error.args
    return level.name, level + 1, level is Level.LOW, level > 2, [x.value for x in Level]


@calls("[1, 2]", "{'a': 1}", "3")
def timed(thing):
    log = []
    with Timer(log) as timer:
        thing["missing"]
        log.append("not here")
    with Timer(log):
        log.append(timer is not None)
    return log


@calls("'x'", "''")
def tagged(name):
    log = []
    with labelled(log, name) as n, labelled(log, "inner"):
        log.append(n)
        if not name:
            return log
    return log[::-1]


@calls("3, 4", "0, 0")
def sizes(w, h):
    size = Size(w, h)
    w2, h2 = size._replace(w=1)
    return size, size.w * size.h, w2 + h2, size == (w, h), size._asdict()


@calls("2", "5")
def singletons(n):
    class Registry:
        made = []

        def __new__(cls, *args):
            if not cls.made:
                cls.made.append(super().__new__(cls))
            return cls.made[0]

        def __init__(self, n):
            self.n = n
    a, b = Registry(n), Registry(n + 1)
    return a is b, a.n, len(Registry.made)


@calls("3", "0")
def counted(n):
    class Counter:
        def __init__(self):
            self.calls = 0

        def __call__(self, x):
            self.calls += 1
            return x * self.calls

        def __bool__(self):
            return self.calls > 1
    counter = Counter()
    out = [counter(i) for i in range(n)]
    return out, bool(counter), "yes" if counter else "no"


@calls("[3, 1]", "[]")
def chained(xs):
    class Query:
        def __init__(self, rows):
            self.rows = rows

        def where(self, test):
            return Query([r for r in self.rows if test(r)])

        def map(self, fn):
            return Query([fn(r) for r in self.rows])

        def __iter__(self):
            return iter(self.rows)
    return list(Query(xs).where(lambda r: r > 1).map(lambda r: r * 10)), sum(Query(xs))


@calls("1", "-1")
def visited(n):
    class Visitor:
        def visit(self, node):
            return getattr(self, "visit_" + type(node).__name__, self.other)(node)

        def visit_int(self, node):
            return node + n

        def visit_list(self, node):
            return [self.visit(x) for x in node]

        def other(self, node):
            return repr(node)
    return Visitor().visit([1, [2, "x"], None])


@calls("5", "0")
def cached(n):
    class Slow:
        def __init__(self, n):
            self.n = n

        @functools.cached_property
        def square(self):
            print("once")
            return self.n ** 2
    slow = Slow(n)
    return slow.square + slow.square, vars(slow)


@calls("[1, 'a', None]", "[]")
def shown(xs):
    class Pretty:
        def __init__(self, x):
            self.x = x

        def __repr__(self):
            return f"<{self.x!r}>"

        def __format__(self, spec):
            return repr(self).center(int(spec or 0), "*")
    return [f"{Pretty(x)}{Pretty(x):9}{Pretty(x)!r}" for x in xs], str([Pretty(1)])


@calls("2", "0")
def inherited(n):
    class A:
        x = [1]

        def f(self):
            return ["A"]

    class B(A):
        def f(self):
            return ["B", *super().f()]

    class C(A):
        def f(self):
            return ["C", *super().f()]

    class D(B, C):
        def f(self):
            return ["D"] * n + super().f()
    D.x = D.x + [n]
    return D().f(), A.x, B.x, D.x, [c.__name__ for c in D.__mro__]
