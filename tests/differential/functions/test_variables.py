"""Variables, arguments and modules, beside CPython: closures, globals, del, defaults, calls that do not bind, imports.

PYTEST_DONT_REWRITE: some of the programs assert, or look at their variables.
"""
# ruff: noqa: E731, F401  (programs as people write them)

import builtins
import functools

import pytest

from tests.differential.harness.splits import check

G = 10

LST = []


def f(a, b=2, *args, c, d=4, **kw):
    return a, b, args, c, d, kw


def pos(a, b, /, c):
    return a, b, c


def kwonly(*, k):
    return k


def many(a, b, c):
    return a


def noargs():
    return 1


def calls(x):
    out = []
    for call in (
        lambda: f(x),
        lambda: f(c=x),
        lambda: f(1, 2, 3, c=x, z=9),
        lambda: f(1, a=x, c=1),
        lambda: pos(1, 2, 3, x),
        lambda: pos(a=x, b=2, c=3),
        lambda: kwonly(x),
        lambda: kwonly(),
        lambda: kwonly(k=x, j=2),
        lambda: many(x),
        lambda: many(),
        lambda: many(x, c=2),
        lambda: many(1, 2, 3, 4),
        lambda: many(1, b=2, d=x),
        lambda: noargs(x),
        lambda: noargs(q=x),
        lambda: many(*[x, 1], **{"c": 3}),
        lambda: many(*[1], **{"b": 2, "a": x}),
        lambda: f(**{"c": x, "a": 1}),
        lambda: many(**{"a": x, "bb": 3}),
        lambda: many(x, *5),
        lambda: many(x, **5),
        lambda: f(x, c=1, **{"c": 2}),
        lambda: many(*x),
    ):
        try:
            out.append(call())
        except TypeError as e:
            out.append(str(e))
    return out


def typo(x):
    try:
        return many(1, 2, cc=x)
    except TypeError as e:
        return str(e)


def method_args(x):
    class A:
        def m(self, a):
            return a

        @classmethod
        def c(cls, a):
            return a

        @staticmethod
        def s(a):
            return a

    out = []
    for call in (lambda: A().m(), lambda: A().m(1, x), lambda: A.m(), lambda: A.c(), lambda: A.s(1, x), lambda: A(x), lambda: A().m(x)):
        try:
            out.append(call())
        except TypeError as e:
            out.append(str(e))
    return out


def defaults(x):
    def g(a, acc=[]):
        acc.append(a)
        return acc

    g(x)
    g(2)
    return g(3), g.__defaults__


def late(x):
    fs = [lambda: i for i in range(3)]
    gs = [lambda i=i: i + x for i in range(3)]
    return [h() for h in fs], [h() for h in gs]


def counter(x):
    n = x

    def inc(by=1):
        nonlocal n
        n += by
        return n

    def get():
        return n

    inc()
    inc(5)
    return get(), n


def shared(x):
    def mk():
        v = x

        def s(q):
            nonlocal v
            v = q

        return s, lambda: v

    s, g = mk()
    s2, g2 = mk()
    s(100)
    return g(), g2()


def del_local(x):
    y = x
    del y
    try:
        return y
    except UnboundLocalError as e:
        return str(e)


def del_cell(x):
    y = x

    def h():
        return y

    del y
    try:
        h()
    except NameError as e:
        return str(e), e.name


def cell_before(x):
    def h():
        return later

    try:
        h()
    except NameError as e:
        r = str(e)
    later = x
    return r, h()


def global_rw(x):
    global G
    old = G
    G = x
    r = read_g()
    G = old
    return r, G


def read_g():
    return G * 2


def del_global(x):
    global TMP_
    TMP_ = x
    a = TMP_
    del TMP_
    try:
        TMP_
    except NameError as e:
        return a, str(e)


def del_global_twice(x):
    global NOPE_
    try:
        del NOPE_
    except NameError as e:
        return str(e), e.name


def shadow(x):
    len = lambda q: 42
    return len([x])


def monkey(x):
    class A:
        def m(self):
            return 1

    a = A()
    r1 = a.m()
    A.m = lambda self: x
    r2 = a.m()
    a.m = lambda: "inst"
    return r1, r2, a.m()


def patch_builtin(x):
    old = builtins.abs
    builtins.abs = lambda v: "patched"
    try:
        return abs(-x)
    finally:
        builtins.abs = old


def importing2(x):
    import math
    import os.path
    from os.path import basename
    from os.path import join as j

    return math.floor(x + 0.5), j("a", "b"), os.path.basename("x/y"), basename("q/r")


def importing3(x):
    try:
        from math import nope
    except ImportError as e:
        return str(e), e.name


def importing4(x):
    if x > 0:
        import json

        return json.dumps([x])
    return json


def star_forms(x):
    a, *b = [x, 2, 3]
    *c, d = (1, x)
    print(*b, sep="-")

    def g(*a, **k):
        return a, k

    return a, b, c, d, g(*b, *c, **{"p": 1}, **{"q": x}), [*b, *c], {*c}, {**{"a": x}}


def glob_fn(x):
    g = globals()
    return g["G"] + x, "G" in g, g is globals()


def vars_obj(x):
    class A:
        def __init__(self):
            self.q = x

    return vars(A()), sorted(k for k in vars(A) if not k.startswith("__"))


def fn_attrs(x):
    def g(a: int, b=x, *, c=3) -> str:
        "doc"

    g.extra = 5
    return g.__name__, g.__defaults__, g.__kwdefaults__, g.__annotations__, g.__doc__, g.extra, g.__qualname__


def nonlocal_except(x):
    r = None

    def h():
        nonlocal r
        try:
            1 // x
        except ZeroDivisionError as e:
            r = str(e)

    h()
    return r


def walrus(xs):
    return [y for v in xs if (y := v * 2) > 2], y


def gen_scope(x):
    y = 1
    g = (y + i for i in range(x))
    y = 10
    return list(g)


def class_scope(x):
    y = x

    class A:
        y = y if False else 3

        def m(self):
            return y

    return A.y, A().m()


def recursion(x):
    def fact(n):
        return 1 if n <= 1 else n * fact(n - 1)

    return fact(x)


def deco(x):
    def d(fn):
        @functools.wraps(fn)
        def w(*a, **k):
            return ("w", fn(*a, **k))

        return w

    @d
    def g(a, b=2):
        "gdoc"
        return a + b

    return g(x), g.__name__, g.__doc__


def comp_closure(x):
    fs = [(lambda: (i, j)) for i in range(2) for j in range(2)]
    return [f() for f in fs], [[i * j for j in range(x)] for i in range(2)]


def cell_swap(x):
    a, b = 1, x

    def sw():
        nonlocal a, b
        a, b = b, a

    sw()
    return a, b


def ret_closure(x):
    n = x

    def inc():
        nonlocal n
        n += 1
        return n

    inc()
    return [inc(), inc()], n


CASES = [
    (f_, [3])
    for f_ in (
        typo,
        method_args,
        defaults,
        late,
        counter,
        shared,
        del_local,
        del_cell,
        cell_before,
        global_rw,
        del_global,
        del_global_twice,
        shadow,
        monkey,
        patch_builtin,
        importing2,
        importing3,
        star_forms,
        glob_fn,
        vars_obj,
        fn_attrs,
        gen_scope,
        class_scope,
        recursion,
        deco,
        comp_closure,
        cell_swap,
        ret_closure,
    )
]
CASES += [(calls, [3]), (importing4, [0, 1]), (nonlocal_except, [0, 1]), (walrus, [([1, 2],)])]


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CASES)])
def test_programs(fn, calls):
    check(fn, calls)
