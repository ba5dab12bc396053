"""The with statement and contextlib, beside CPython.

PYTEST_DONT_REWRITE: some of the programs assert, or look at their variables.
"""
# ruff: noqa: E731, B028, T100  (programs as people write them)

import contextlib
import io

import pytest

from tests.differential.harness.splits import check


class CM:
    def __init__(self, log, suppress=False, fail=None):
        self.log = log
        self.s = suppress
        self.fail = fail

    def __enter__(self):
        self.log.append("enter")
        if self.fail == "enter":
            raise ValueError("enter")
        return self

    def __exit__(self, t, v, tb):
        self.log.append(("exit", t and t.__name__, v and v.args, tb is None))
        if self.fail == "exit":
            raise KeyError("exit")
        return self.s


def w1(x):
    log = []
    with CM(log) as a, CM(log, True) as b:
        log.append(10 // x)
        a.log.append(a is b)
    return log


def w2(x):
    log = []
    try:
        with CM(log, fail="exit"):
            log.append(10 // x)
    except (KeyError, ZeroDivisionError) as e:
        log.append((type(e).__name__, type(e.__context__).__name__))
    return log


def w3(x):
    log = []
    try:
        with CM(log), CM(log, fail="enter"):
            log.append(x)
    except ValueError as e:
        log.append(e.args)
    return log


def w4(x):
    log = []
    for i in range(3):
        with CM(log):
            if i == x:
                break
            if i == 0:
                continue
            log.append(i)
    return log


def w5(x):
    log = []
    with CM(log):
        return log if x else 3


@contextlib.contextmanager
def gcm(log, sup=False):
    log.append("in")
    try:
        yield 42
    except ZeroDivisionError:
        log.append("zde")
        if not sup:
            raise
    finally:
        log.append("out")


def w6(x):
    log = []
    with gcm(log) as v:
        log.append(v + x)
    return log


def w7(x):
    log = []
    with gcm(log, True) as v:
        log.append(v // x)
    return log


def w8(x):
    log = []
    try:
        with gcm(log) as v:
            log.append(v // x)
    except ZeroDivisionError as e:
        log.append(str(e))
    return log


def w9(x):
    with contextlib.suppress(ZeroDivisionError, KeyError):
        return 1 // x
    return "suppressed"


def w10(x):
    with contextlib.nullcontext(x) as y:
        return y + 1


def w11(x):
    log = []
    with contextlib.ExitStack() as st:
        a = st.enter_context(CM(log))
        st.callback(log.append, "cb")
        st.push(lambda *e: log.append(e[0] is None))
        log.append(x)
    return log


def w12(x):
    log = []
    with contextlib.ExitStack() as st:
        st.enter_context(CM(log, True))
        st.enter_context(CM(log))
        log.append(1 // x)
    return log


class Cl:
    def __init__(self, log):
        self.log = log

    def close(self):
        self.log.append("closed")


def w13(x):
    log = []
    with contextlib.closing(Cl(log)) as c:
        c.log.append(x)
    return log


def w14(x):
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        print("hi", x)
    return b.getvalue()


class Deco(contextlib.ContextDecorator):
    def __enter__(self):
        print("e")
        return self

    def __exit__(self, *a):
        print("x", a[0] is None)
        return False


@Deco()
def deco_fn(x):
    return x + 1


def w15(x):
    return deco_fn(x)


@gcm([])
def gdeco(x):
    return x * 2


def w16(x):
    return gdeco(x)


class NoExit:
    def __enter__(self):
        return 1


class NoEnter:
    def __exit__(self, *a):
        return 1


def w17(x):
    out = []
    for c in (NoExit, NoEnter, int):
        try:
            with c():
                pass
        except TypeError as e:
            out.append(str(e))
    return out


class Inst:
    pass


def w18(x):
    i = Inst()
    i.__enter__ = lambda: 1
    i.__exit__ = lambda *a: 1
    try:
        with i:
            pass
    except TypeError as e:
        return str(e)


class Order:
    log = []

    def __getattribute__(self, n):
        Order.log.append(n)
        return object.__getattribute__(self, n)

    def __enter__(self):
        return 5

    def __exit__(self, *a):
        return False


def w19(x):
    Order.log.clear()
    with Order() as o:
        pass
    return o, list(Order.log)


def w20(x):
    def gen():
        try:
            yield x
        finally:
            print("closed")

    with contextlib.closing(gen()) as g:
        return next(g)


def w21(x):
    log = []
    try:
        with CM(log) as c:
            raise ValueError(x) from KeyError(2)
    except ValueError as e:
        return log, e.__cause__.args


class Prop:
    @property
    def __enter__(self):
        return lambda: "p"

    @staticmethod
    def __exit__(t, v, b):
        return True


def w22(x):
    with Prop() as p:
        1 // x
    return p


class TX:
    def __init__(self, store):
        self.store = store
        self.pend = {}

    def __enter__(self):
        return self

    def set(self, k, v):
        self.pend[k] = v

    def __exit__(self, t, v, b):
        if t is None:
            self.store.update(self.pend)
        return t is KeyError


def w23(x):
    st = {"a": 0}
    with TX(st) as t:
        t.set("a", x)
        if x > 5:
            raise KeyError("roll")
    with TX(st) as t:
        t.set("b", x)
    return st


def w24(x):
    with contextlib.ExitStack() as st:
        for i in range(3):
            st.callback(print, i, end=x)
        st.pop_all().close()
    return 1


@contextlib.contextmanager
def noyield():
    if False:
        yield


@contextlib.contextmanager
def twoyield():
    yield 1
    yield 2


def w25(x):
    out = []
    try:
        with noyield():
            pass
    except RuntimeError as e:
        out.append(str(e))
    try:
        with twoyield():
            pass
    except RuntimeError as e:
        out.append(str(e))
    try:
        with twoyield():
            raise KeyError(x)
    except (KeyError, RuntimeError) as e:
        out.append(repr(e))
    return out


def w26(x):
    @contextlib.contextmanager
    def tag(name):
        print("<" + name + ">")
        yield name
        print("</" + name + ">")

    with tag("a") as a, tag("b") as b:
        print(a + b + x)
    return a


def w27(x):
    try:
        with contextlib.suppress(ValueError):
            with gcm([]):
                raise StopIteration(x)
    except Exception as e:
        return repr(e), repr(e.__cause__)


CASES = [(f, [0, 3]) for f in (w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16, w17, w18, w19, w20, w21, w22)] + [
    (w23, [3, 9]),
    (w24, [";"]),
    (w25, [1]),
    (w26, ["z"]),
    (w27, [5]),
]


#: Stacks of managers, and generators that misbehave, are long.
LONG = {w11, w12, w24, w25}


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CASES)])
def test_programs(fn, calls):
    check(fn, calls, only=("t",) if fn in LONG else ())
