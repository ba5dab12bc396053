"""Known named tuples, unions of classes, pairs put into dicts, names given to generators, beside CPython."""

import collections
import enum
import operator
import typing

from tests.differential.harness.splitting import Programs, check

program = Programs()

Pair = collections.namedtuple("Pair", "a b")


class Config(typing.NamedTuple):
    size: int
    names: tuple = ("x", "y")
    extra: object = None

    def area(self):
        return self.size * self.size


class Loud(tuple):
    def __getitem__(self, key):
        print("get", key)
        return tuple.__getitem__(self, key)

    def __iter__(self):
        print("iter")
        return tuple.__iter__(self)


class Wide(tuple):
    """With attributes of its own."""


class Color(enum.Enum):
    RED = Pair(1, 2)
    BLUE = Pair(3, 4)


@program((Config(3), 2))
def config(c, n):
    size, names, extra = c
    return c.size + n, c[0] * n, len(c), c.area(), names[0], extra, c[-1], c[:1], [x for x in c], c == (3, ("x", "y"), None), n in c, c + (n,)


@program((Pair(3, "b"), 2))
def replaced(p, n):
    q = p._replace(a=n)
    return q, p._asdict(), p._fields, q < p, sorted([p, q]), {p: n}[Pair(3, "b")], isinstance(p, tuple), type(p), str(p), bool(p), hash(p) == hash((3, "b"))


@program((Loud((1, 2)), 0))
def overridden(t, n):
    a, b = t
    return t[n], a, b, len(t), list(t), t.index(2), t.count(1), n in t


def wide():
    made = Wide((1, 2))
    made.note = "here"
    return made


@program((wide(), 1))
def with_attributes(t, n):
    before = t.note
    t.note = n
    return before, t.note, t[n], sum(t), max(t), tuple(t)


@program((Color.RED, 2))
def in_enum(c, n):
    return c.value.a + n, c.value[1], Color((3, 4)), c is Color.RED


@program((Pair(1, [2]), 5))
def mutable_inside(p, n):
    p.b.append(n)
    return p.b, p[1][-1], p == (1, [2, n])


@program((3, "x"))
def unions(x, y):
    union = int | str
    return [isinstance(v, int | str | None) for v in (x, y, None, 2.5)], isinstance(x, union), issubclass(bool, union), union == (str | int), isinstance(y, None | float)


class Meta(type):
    def __or__(cls, other):
        return "or"

    def __ror__(cls, other):
        return "ror"


class Odd(metaclass=Meta):
    pass


@program((3,))
def unions_of_odd(x):
    return Odd | int, int | Odd, x | 4, True | False, {1} | {x}


@program((3, 4))
def updates(x, y):
    d = {"a": x}
    d.update(zip(("p", "q"), (x, y)))
    d.update([("r", x), ["a", y]], s=y)
    d.update((k, v) for k, v in ((1, x), (True, y)))
    d.update(enumerate("uv"), p=0)
    return d, list(d)


@program((3,))
def updates_that_fail(x):
    d = {"a": x}
    found = []
    for source in ([("b", x), ("c",)], [("d", 1), 7], 3, [([], 1)], iter([("e", x), "fgh"])):
        try:
            d.update(source, z=x)
        except Exception as error:
            found.append((type(error), error.args))
    return found, d


@program((3,))
def renamed_generators(n):
    def numbers():
        yield n
        yield n + 1

    a, b, c = numbers(), numbers(), numbers()
    a.__name__ = "first"
    a.__qualname__ = "all.first"
    next(b)
    b.__name__ = "second"
    try:
        c.__name__ = n
    except TypeError as error:
        complaint = error.args
    return (a.__name__, a.__qualname__, repr(a)[:27]), (b.__name__, next(b)), complaint, list(a), a.__name__


@program((3,))
def left_generator(n):
    def numbers():
        yield n
        raise ValueError(n)

    made = numbers()
    made.__name__ = "left"
    return made.__name__, [made][0].__name__, operator.attrgetter("__qualname__")(made)


@program.parametrize
def test_as_cpython(fn, call, split, fallback):
    check(fn, call, split, fallback)
