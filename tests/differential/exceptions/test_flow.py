"""Exceptions as control flow, and tracebacks that are looked at, beside CPython.

PYTEST_DONT_REWRITE: some of the programs assert, or look at their variables.
"""
# ruff: noqa: E731, F401  (programs as people write them)

import functools
import sys
import traceback

import pytest

from tests.differential.harness.splits import check


def tb_lines(e):
    return [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__)]


def inner(x):
    return 10 // x


def mid(x):
    y = inner(x)
    return y + 1


def tb1(x):
    try:
        return mid(x)
    except ZeroDivisionError as e:
        return [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__)]


def tb2(x):
    def catcher():
        try:
            return mid(x)
        except ZeroDivisionError as e:
            return tb_lines(e)

    return catcher()


def tb3(x):
    def raiser():
        raise KeyError(x)

    def catcher():
        try:
            raiser()
        except KeyError as e:
            t = e.__traceback__
            out = []
            while t:
                out.append((t.tb_lineno, t.tb_frame.f_code.co_name))
                t = t.tb_next
            return out

    return catcher()


def tb4(x):
    def raiser():
        raise KeyError(x)

    def wrap():
        try:
            raiser()
        except KeyError as e:
            raise ValueError("w") from e

    try:
        wrap()
    except ValueError as v:
        return tb_lines(v), tb_lines(v.__cause__)


def tb5(x):
    def raiser():
        raise KeyError(x)

    def rer():
        try:
            raiser()
        except KeyError:
            raise

    def rer2():
        try:
            rer()
        except KeyError as e:
            raise e

    try:
        rer2()
    except KeyError as e:
        return tb_lines(e)


def tb6(x):
    e = KeyError(x)
    for i in range(2):
        try:
            raise e
        except KeyError as f:
            pass
    return tb_lines(e)


def tb7(x):
    e = KeyError(x)
    try:
        raise e.with_traceback(None)
    except KeyError as f:
        return tb_lines(f)


def tb8(x):
    try:
        try:
            mid(x)
        finally:
            print("f")
    except ZeroDivisionError as e:
        return tb_lines(e)


def tb9(x):
    class M:
        def __enter__(self):
            return self

        def __exit__(self, t, v, tb):
            self.lines = tb and (tb.tb_lineno, tb.tb_next is None)
            return True

    with M() as m:
        mid(x)
    return m.lines


def join1(x, y):
    try:
        if x:
            raise ValueError("a")
        r = [y]
    except ValueError as e:
        r = [str(e), y]
    r.append(1)
    return r


def join2(x, xs):
    total = 0
    for v in xs:
        try:
            if v < 0:
                raise ValueError(v)
            if v == 0:
                continue
            if v > 100:
                break
            total += x // v
        except ValueError as e:
            total -= e.args[0]
        finally:
            total += 1
    else:
        total += 1000
    return total


def rec(n):
    def go(k):
        if k == 0:
            raise ValueError("bottom")
        try:
            go(k - 1)
        except ValueError as e:
            raise ValueError(f"{k}:{e}") from None

    try:
        go(n)
    except ValueError as e:
        return str(e)


def rec_dyn(n):
    if n <= 0:
        raise KeyError(n)
    try:
        return rec_dyn(n - 1)
    except KeyError as e:
        if n == 3:
            return e.args
        raise


def fin_order(x):
    log = []

    def f(n):
        try:
            log.append(("try", n))
            if n == x:
                raise RuntimeError(n)
            return n
        except RuntimeError as e:
            log.append(("exc", e.args[0]))
            return -n
        else:
            log.append("else")
        finally:
            log.append(("fin", n))

    r = [f(i) for i in range(3)]
    return r, log


def fin_return_override(x):
    def f():
        try:
            return 1 // x
        except ZeroDivisionError:
            return "zde"
        finally:
            if x == 2:
                return "over"

    return f()


def fin_mutable(x):
    r = [x]

    def f():
        try:
            return r
        finally:
            r.append(9)

    return f()


def gen_exc(x):
    def g():
        try:
            for i in range(3):
                if i == x:
                    raise ValueError(i)
                yield i
        except ValueError as e:
            yield ("caught", e.args)
        finally:
            print("closed")

    return list(g())


def gen_out(x):
    def g():
        yield 1
        raise KeyError(x)

    out = []
    try:
        for v in g():
            out.append(v)
    except KeyError as e:
        out.append(e.args)
    return out


def gen_throw(x):
    def g():
        while True:
            try:
                got = yield x
            except ValueError as e:
                got = e.args
            print(got)

    it = g()
    next(it)
    it.send(1)
    it.throw(ValueError(x))
    it.close()
    return "ok"


def pep479(x):
    def g():
        yield 1
        raise StopIteration(x)

    try:
        return list(g())
    except RuntimeError as e:
        return str(e), type(e.__cause__), e.__cause__.value


def stop_in_for(xs):
    it = iter(xs)
    out = []
    try:
        while True:
            out.append(next(it) + next(it))
    except StopIteration:
        pass
    return out


def state_machine(ops):
    class Jump(Exception):
        def __init__(self, to):
            self.to = to

    class Halt(Exception):
        pass

    pc, acc, steps = 0, 0, 0

    def ex(op, arg):
        nonlocal acc
        if op == "add":
            acc += arg
        elif op == "jnz":
            if acc:
                raise Jump(arg)
        elif op == "halt":
            raise Halt(acc)

    try:
        while steps < 50:
            steps += 1
            try:
                ex(*ops[pc])
                pc += 1
            except Jump as j:
                pc = j.to
    except Halt as h:
        return h.args, steps
    return acc


def retry(f, n):
    errs = []
    for i in range(n):
        try:
            return f(i), errs
        except (ValueError, KeyError) as e:
            errs.append(type(e).__name__)
    return None, errs


def flaky(i):
    if i == 0:
        raise ValueError
    if i == 1:
        raise KeyError(i)
    return i


def opaque_types(f, x):
    try:
        return f(x)
    except (TypeError, ValueError) as e:
        return type(e).__name__
    except Exception as e:
        return "other", type(e).__name__
    finally:
        print("done")


def heap_partial(xs, x):
    d = {"n": 0}
    try:
        d["n"] += 1
        xs.append(d["n"])
        d["n"] = 10 // x
        xs.append(d["n"])
    except ZeroDivisionError:
        d["err"] = True
    return d


def obj_partial(x):
    class A:
        pass

    a = A()
    a.v = 1
    try:
        a.v = 2
        a.w = 10 // x
        a.v = 3
    except ZeroDivisionError:
        pass
    return sorted(a.__dict__.items())


def nested_handlers(x):
    out = []
    try:
        try:
            {}[x]
        except KeyError as a:
            try:
                [][0]
            except IndexError as b:
                out.append((type(b.__context__), b.__context__ is a))
                try:
                    int("q")
                except ValueError as c:
                    out.append((c.__context__ is b, c.__context__.__context__ is a))
            out.append(sys.exception() is a)
        out.append(sys.exception())
    finally:
        out.append("z")
    return out


def deco_catch(default):
    def d(fn):
        @functools.wraps(fn)
        def w(*a, **k):
            try:
                return fn(*a, **k)
            except Exception as e:
                return default, type(e).__name__, str(e)

        return w

    return d


@deco_catch("dflt")
def dangerous(x, y=1):
    return x / y


def use_deco(x):
    return dangerous(x), dangerous(x, 0), dangerous(x, y="q")


def validate(d):
    class VErr(ValueError):
        def __init__(self, field, why):
            super().__init__(f"{field}: {why}")
            self.field = field

    errs = []
    for k in ("name", "age"):
        try:
            if k not in d:
                raise VErr(k, "missing")
            if k == "age" and d[k] < 0:
                raise VErr(k, f"negative {d[k]}")
        except VErr as e:
            errs.append((e.field, str(e)))
    if errs:
        raise VErr("all", errs)
    return d


def assert_in(x):
    try:
        assert x > 0, ("neg", x)
    except AssertionError as e:
        return e.args
    return x


def exc_eq(x):
    a, b = ValueError(1), ValueError(1)
    return a == b, a == a, a is b, hash(a) == hash(a), {a: 1}[a], a in [b, a], a != b


def exc_compare(x):
    e = ValueError(x)
    try:
        return e < e
    except TypeError as t:
        return str(t)


def exc_iter(x):
    try:
        list(ValueError(1))
    except TypeError as t:
        return str(t)


def exc_state(x):
    import copy
    import pickle

    e = ValueError(x, 2)
    e.k = 1
    c = copy.copy(e)
    return c.args, c.k, type(c), e.__reduce__()


def raise_group_like(x):
    errs = []
    for i in range(x):
        try:
            raise ValueError(i)
        except ValueError as e:
            errs.append(e)
    if errs:
        raise ExceptionGroup("many", errs)
    return 0


def unhash(x):
    try:
        return {[]: 1}
    except TypeError as e:
        return str(e)


def del_in_except(x):
    try:
        raise ValueError(x)
    except ValueError as e:
        del e
    try:
        e
    except NameError as n:
        return type(n).__name__


def loop_var_exc(xs):
    out = []
    for e in xs:
        try:
            1 // e
        except ZeroDivisionError as e:
            out.append(str(e))
        else:
            out.append(e)
    try:
        return out, e
    except UnboundLocalError as u:
        return out, str(u)


def try_in_comp(xs):
    def safe(x):
        try:
            return 1 / x
        except ZeroDivisionError:
            return None

    return [safe(x) for x in xs], {x: safe(x) for x in xs}, sum(safe(x) or 0 for x in xs)


def cond_reraise(x, flag):
    try:
        try:
            return 1 // x
        except ZeroDivisionError as e:
            if flag:
                raise
            return "swallowed"
    except ZeroDivisionError as e:
        return "outer", e.__context__


def raise_none(x):
    try:
        raise None
    except TypeError as e:
        return str(e)


def raise_inst_type(x):
    class M(type):
        pass

    try:
        raise (ValueError if x else KeyError)("q")
    except (ValueError, KeyError) as e:
        return type(e).__name__, e.args


def while_else(x):
    while x:
        try:
            x -= 1
            if x == 1:
                raise ValueError
        except ValueError:
            break
    else:
        return "else"
    return "broke"


def match_exc(x):
    try:
        if x == 0:
            raise KeyError("k")
        if x == 1:
            raise OSError(5, "m")
        raise ValueError(1, 2)
    except Exception as e:
        match e:
            case KeyError(args=(k,)):
                return "key", k
            case OSError(errno=n):
                return "os", n
            case ValueError():
                return "val", e.args


CASES = [
    (f, [0, 1, 2])
    for f in (
        tb1,
        tb2,
        tb3,
        tb4,
        tb5,
        tb6,
        tb7,
        tb8,
        tb9,
        fin_order,
        fin_return_override,
        fin_mutable,
        gen_exc,
        gen_out,
        gen_throw,
        pep479,
        nested_handlers,
        use_deco,
        assert_in,
        exc_eq,
        exc_compare,
        exc_iter,
        exc_state,
        raise_group_like,
        unhash,
        del_in_except,
        raise_none,
        raise_inst_type,
        while_else,
        match_exc,
        obj_partial,
    )
]
CASES += [
    (rec, [0, 3]),
    (rec_dyn, [2, 5]),
    (join1, [(0, 1), (1, 2)]),
    (join2, [(10, [1, -2, 0, 3]), (10, [1, 200, 5]), (1, [])]),
    (stop_in_for, [([1, 2, 3, 4, 5],)]),
    (state_machine, [([("add", 3), ("halt", 0)],), ([("add", -1), ("jnz", 0), ("halt", 1)],), ([("add", -1), ("add", 1), ("jnz", 0), ("halt", 1)],)]),
    (retry, [(flaky, 5), (flaky, 1), (flaky, 2)]),
    (opaque_types, [(int, "q"), (int, "3"), (len, 3), (iter([]).__next__, 1)][:3]),
    (heap_partial, [([], 0), ([], 5)]),
    (validate, [({"name": 1, "age": 2},), ({"age": -1},), ({},)]),
    (loop_var_exc, [([1, 0],), ([0, 1],), ([],)]),
    (try_in_comp, [([1, 0, 2],)]),
    (cond_reraise, [(0, True), (0, False), (1, True)]),
]


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CASES)])
def test_programs(fn, calls):
    check(fn, calls)


def chained_in_a_loop(n):
    last = None
    for i in range(n):
        try:
            raise ValueError(i) from last
        except ValueError as error:
            last = error
    depth = 0
    while last is not None:
        depth += 1
        last = last.__cause__
    return depth


def test_a_chain_that_a_loop_makes_is_not_known_to_its_end():
    check(chained_in_a_loop, [0, 1, 9])
