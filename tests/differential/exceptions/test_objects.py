"""What is known of an exception, beside CPython: out of operations, raised, changed, asked.

PYTEST_DONT_REWRITE: some of the programs assert, or look at their variables.
"""
# ruff: noqa: E731, F401  (programs as people write them)

import sys

import pytest

from tests.differential.harness.splits import check


def div(x, y):
    try:
        return x // y
    except ZeroDivisionError as e:
        return str(e), e.args, type(e).__name__, repr(e)


def mod(x, y):
    try:
        return x % y
    except (ValueError, ZeroDivisionError) as e:
        return str(e)


def tdiv(x, y):
    try:
        return x / y
    except ArithmeticError as e:
        return str(e), type(e).__name__


def idx(xs, i):
    try:
        return xs[i]
    except LookupError as e:
        return str(e), type(e).__name__
    finally:
        print("fin")


def key(d, k):
    try:
        return d[k]
    except KeyError as e:
        return e.args[0], str(e)


def delk(d, k):
    try:
        del d[k]
    except (KeyError, IndexError) as e:
        return f"{e}", len(d)
    return len(d)


def seti(xs, i):
    try:
        xs[i] = 5
    except IndexError as e:
        return f"{e!r}"
    return xs


def none_(x):
    try:
        return x.foo
    except AttributeError as e:
        return str(e), e.name, e.obj is x


def glob(x):
    try:
        return nope + x
    except NameError as e:
        return str(e), e.name


def unb(x):
    try:
        if x:
            y = 1
        return y
    except UnboundLocalError as e:
        return str(e)


def chain_(x, y):
    try:
        try:
            return x // y
        except ZeroDivisionError as e:
            raise ValueError("bad") from e
    except ValueError as v:
        return str(v), str(v.__cause__), v.__context__ is v.__cause__


def fin(x, y):
    r = []
    try:
        r.append(x // y)
    finally:
        r.append("f")
        print(r)
    return r


def rere(x, y):
    try:
        return x // y
    except ZeroDivisionError as e:
        print(e)
        raise


def ret_exc(x, y):
    try:
        return x // y
    except Exception as e:
        return e


def loop(xs, k):
    n = 0
    for x in xs:
        try:
            n += k // x
        except ZeroDivisionError:
            n -= 1
    return n


def look(d, ks):
    out = []
    for k in ks:
        try:
            out.append(d[k])
        except KeyError as e:
            out.append(e.args)
    return out


def unp(t):
    try:
        a, b = t
    except ValueError as e:
        return str(e)
    return a, b


def attr_hook(x):
    class A:
        def __getattr__(self, n):
            if n == "ok":
                return x
            raise AttributeError(f"no {n}")

    a = A()
    try:
        return a.ok, a.bad
    except AttributeError as e:
        return str(e), e.name, e.obj is a


def user_attr(x):
    class A:
        pass

    a = A()
    try:
        return a.zip
    except AttributeError as e:
        return str(e), e.name, e.obj is a, x


class ExcBool(Exception):
    def __bool__(self):
        return False


class ExcLen(Exception):
    def __len__(self):
        return 0


def exc_truth(x):
    out = []
    for e in (ValueError(1), ExcBool(), ExcLen(), KeyError()):
        try:
            raise e
        except Exception as f:
            out.append((bool(f), f and 1, not f))
    return out


def cyc(x):
    a, b = ValueError("a"), KeyError("b")
    try:
        raise a
    except ValueError:
        try:
            raise b
        except KeyError:
            try:
                raise a
            except ValueError as e:
                return e is a, e.__context__ is b, b.__context__, a.__context__, x


def ctx_chain(x, y):
    try:
        try:
            x // y
        except ZeroDivisionError:
            try:
                raise KeyError(x)
            except KeyError as k:
                return type(k.__context__).__name__, k.__cause__, k.__suppress_context__, str(k.__context__)
    finally:
        print("done")


def set_after(x):
    try:
        raise ValueError(x)
    except ValueError as e:
        e.code = x + 1
        e.args = (1, 2)
        return e.code, e.args, str(e), e.__dict__


def set_raise(x):
    try:
        try:
            raise ValueError(x)
        except ValueError as e:
            e.code = x + 1
            e.add_note("hey")
            raise
    except ValueError as f:
        return f.code, f.__notes__, f


def outer_ctx(x):
    try:
        raise ValueError(x)
    except ValueError as e:
        return e.__context__, e.__traceback__ is not None


def two_raises(x):
    try:
        if x > 2:
            raise ValueError("big", x)
        try:
            raise KeyError(1)
        except KeyError:
            raise ValueError("small", x)
    except ValueError as e:
        return e.args, e.__context__ and e.__context__.args


def diff_classes(x):
    try:
        if x > 2:
            raise ValueError("big", x)
        raise KeyError("small", x)
    except (ValueError, KeyError) as e:
        return e.args, str(e)


class Err(Exception):
    code = 0

    def __init__(self, msg, *, code=1, **kw):
        super().__init__(msg, code)
        self.code = code
        self.kw = kw

    def with_code(self, c):
        self.code = c
        return self

    @property
    def pretty(self):
        return f"[{self.code}] {self.args[0]}"

    def __str__(self):
        return self.pretty


class Sub(Err):
    def __init__(self, *a, **k):
        Err.__init__(self, *a, code=7, **k)


def custom(x):
    try:
        raise Sub("m", z=x).with_code(x)
    except Err as e:
        return e.pretty, str(e), repr(e), e.code, e.kw, f"{e}", "%s" % e, e.args, isinstance(e, Sub), type(e) is Sub


def custom2(x):
    e = Sub("q")
    return e, str(e), x


def custom3(x):
    class L(Exception):
        pass

    try:
        raise L(x)
    except L as e:
        return e.args


class Slot(Exception):
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


def slots(x):
    try:
        raise Slot(x)
    except Slot as s:
        return s.v, s.args


class New(Exception):
    def __new__(cls, *a):
        o = super().__new__(cls, *a)
        o.extra = 5
        return o


def new(x):
    try:
        raise New(x)
    except New as e:
        return e.extra, e.args


class Eq(Exception):
    def __init__(self, a):
        self.a = a

    def __eq__(self, o):
        return self.a == o.a

    def __hash__(self):
        return 1


def eq(x):
    try:
        raise Eq(x)
    except Eq as e:
        return e == Eq(3), e in [Eq(3)], {e: 1}.get(Eq(3))


def os_err(x):
    try:
        raise FileNotFoundError(x, "nope", "file")
    except OSError as e:
        return e.errno, e.strerror, e.filename, str(e)


def multi_arg(x):
    try:
        raise RuntimeError("a", x, [x])
    except RuntimeError as e:
        e.args[2].append(1)
        return str(e), e.args


def sysex(x):
    try:
        raise SystemExit(x)
    except SystemExit as e:
        return e.code, e.args


def stopit(x):
    try:
        raise StopIteration(x, 2)
    except StopIteration as e:
        return e.value, e.args


def stopit2(x):
    def g():
        r = yield 1
        return r

    it = g()
    next(it)
    try:
        it.send(x)
    except StopIteration as e:
        return e.value, e.args


def raise_in_loop(xs):
    out = []
    for x in xs:
        try:
            if x < 0:
                raise ValueError(f"neg {x}")
            if x == 0:
                raise KeyError(x)
            out.append(x)
        except ValueError as e:
            out.append(str(e))
        except KeyError as e:
            out.append(e.args[0])
    return out


def guest(prog):
    class Halt(Exception):
        def __init__(self, value):
            super().__init__(value)
            self.value = value

    def step(op, arg, st):
        if op == "push":
            st.append(arg)
        elif op == "add":
            st.append(st.pop() + st.pop())
        elif op == "halt":
            raise Halt(st[-1])
        else:
            raise KeyError(op)

    st = []
    try:
        for op, arg in prog:
            step(op, arg, st)
    except Halt as h:
        return h.value
    except KeyError as k:
        return "bad " + k.args[0]
    return None


def store_exc(x):
    errs = []
    for i in range(3):
        try:
            if i == x:
                raise ValueError(i)
        except ValueError as e:
            errs.append(e)
    return errs


def exc_as_value(x):
    e = ValueError(x) if x else KeyError(x)
    return e.args, str(e), isinstance(e, LookupError)


def reraise_later(x):
    saved = None
    try:
        raise ValueError(x)
    except ValueError as e:
        saved = e
    if x:
        raise saved
    return saved.args


def raise_same_twice(x):
    e = ValueError(x)
    for i in range(2):
        try:
            raise e
        except ValueError as f:
            pass
    return f"{e}", e.__traceback__.tb_lineno, e


def exc_cell(x):
    try:
        raise ValueError(x)
    except ValueError as e:
        g = lambda: e.args
        return g()


def opaque_between(x, f):
    try:
        raise Err("a", code=x)
    except Err as e:
        f(1)
        return e.code, e.args


def opaque_mutates(x):
    def evil(y):
        sys.exception().code = 99
        return eval("1")

    try:
        raise Err("a", code=x)
    except Err as e:
        evil(1)
        return e.code


def kw_exc(x):
    try:
        raise NameError("n", name="q")
    except NameError as e:
        return e.name, e.args


def bad_kw(x):
    try:
        raise ValueError("n", name="q")
    except TypeError as e:
        return str(e)


def imp(x):
    try:
        import not_there_mod
    except ImportError as e:
        return e.name, str(e), type(e).__name__


def raise_from_bad(x):
    try:
        raise ValueError("a") from x
    except TypeError as e:
        return str(e), e.__context__


def raise_from_cls(x):
    try:
        raise ValueError("a") from KeyError
    except ValueError as e:
        return repr(e.__cause__), e.__suppress_context__


def finally_override(x):
    try:
        try:
            raise ValueError(x)
        finally:
            raise KeyError(x)
    except KeyError as e:
        return type(e.__context__), e.__context__.args


def finally_swallow(x):
    for i in range(3):
        try:
            raise ValueError(i)
        finally:
            if i < x:
                continue
            break
    return i


def nested_finally(x):
    log = []
    try:
        try:
            try:
                raise ValueError(x)
            finally:
                log.append(1)
        finally:
            log.append(2)
    except ValueError as e:
        log.append(e.args)
    finally:
        log.append(3)
    return log


CASES = [(exc_truth, [1])]
CASES += [
    (div, [(7, 2), (7, 0)]),
    (div, [(7.5, 2.0), (7.0, 0.0)]),
    (mod, [(7, 2), (7, 0)]),
    (tdiv, [(7, 2), (7, 0), (10**400, 1)]),
    (tdiv, [(1.0, 0.0)]),
    (idx, [([1, 2], 1), ([1, 2], 5), ([1], 10**30)]),
    (idx, [("ab", 1), ("ab", 7)]),
    (idx, [((1, 2), 9)]),
    (key, [({"a": 1}, "a"), ({"a": 1}, "b")]),
    (key, [({1: 1}, 1), ({1: 2}, 3)]),
    (delk, [({"a": 1}, "a"), ({"a": 1}, "q")]),
    (delk, [([1], 0), ([1], 4)]),
    (seti, [([1], 0), ([1], 3)]),
    (none_, [3, "s", 2.5, None]),
    (glob, [1]),
    (unb, [0, 1]),
    (chain_, [(1, 1), (1, 0)]),
    (fin, [(1, 1), (1, 0)]),
    (rere, [(1, 1), (1, 0)]),
    (ret_exc, [(1, 1), (1, 0)]),
    (loop, [([1, 0, 2], 10)]),
    (look, [({1: 2}, [1, 3])]),
    (unp, [((1, 2),), ((1, 2, 3),), ([1],)]),
    (attr_hook, [1]),
    (user_attr, [1]),
]
CASES += [
    (f, [0, 1, 3])
    for f in (
        cyc,
        set_after,
        set_raise,
        outer_ctx,
        two_raises,
        diff_classes,
        custom,
        custom2,
        custom3,
        slots,
        new,
        eq,
        os_err,
        multi_arg,
        sysex,
        stopit,
        stopit2,
        store_exc,
        exc_as_value,
        reraise_later,
        raise_same_twice,
        exc_cell,
        opaque_mutates,
        kw_exc,
        bad_kw,
        imp,
        raise_from_bad,
        raise_from_cls,
        finally_override,
        finally_swallow,
        nested_finally,
    )
]
CASES += [
    (ctx_chain, [(1, 1), (1, 0)]),
    (raise_in_loop, [([1, -2, 0],)]),
    (guest, [([("push", 1), ("push", 2), ("add", 0), ("halt", 0)],), ([("x", 0)],), ([],)]),
    (opaque_between, [(3, print)]),
]


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CASES)])
def test_programs(fn, calls):
    check(fn, calls)
