"""Exceptions, beside CPython: what is raised, what is known of it, where it came from.

PYTEST_DONT_REWRITE: some of the programs assert.
"""
# ruff: noqa: E731  (programs as people write them)

import sys
import traceback

import pytest

import hovis
from tests.differential.harness.splits import check


class E1(Exception):
    pass


class E2(E1):
    pass


class Coded(Exception):
    def __init__(self, code, msg="m"):
        super().__init__(msg)
        self.code = code

    def __str__(self):
        return f"<{self.code}>"


class Sig(Exception):
    def __init__(self, value):
        self.value = value


def fin_return(x):
    try:
        if x > 0:
            raise ValueError("pos")
        return 1
    finally:
        return 2


def fin_break(x):
    out = []
    for i in range(3):
        try:
            out.append(i)
            if i == x:
                raise KeyError(i)
        finally:
            if i == 1:
                break
    return out


def fin_continue(x):
    out = []
    for i in range(4):
        try:
            out.append(10 // (i - x))
        finally:
            out.append("f")
            continue
    return out


def nested(x):
    log = []
    try:
        try:
            log.append("a")
            y = 10 // x
            log.append(y)
        except ZeroDivisionError as e:
            log.append(str(e))
            raise ValueError("inner") from e
        else:
            log.append("else")
        finally:
            log.append("fin")
    except ValueError as v:
        log.append((type(v.__cause__).__name__, v.args, v.__suppress_context__))
        return log, v
    return log, None


def from_none(x):
    try:
        [1, 2][x]
    except IndexError:
        raise KeyError("k") from None
    return x


def bare(x):
    try:
        return {1: 2}[x]
    except KeyError:
        raise


def reraise_named(x):
    try:
        return {1: 2}[x]
    except KeyError as e:
        raise e


def ctx(x):
    try:
        int(x)
    except ValueError:
        return {}[x]
    return 5


def coded(x):
    try:
        if x > 3:
            raise Coded(x)
        if x < 0:
            raise Coded(x, "neg")
    except Coded as e:
        return e.code, str(e), e.args, repr(e)
    return None


def coded_out(x):
    if x > 3:
        raise Coded(x)
    return x


def sig(x):
    def inner(n):
        if n == 0:
            raise Sig(x * 2)
        inner(n - 1)

    try:
        inner(3)
    except Sig as s:
        return s.value


def tuple_types(x):
    try:
        if x == 0:
            raise E2("e2")
        if x == 1:
            raise KeyError("k")
        if x == 2:
            raise OSError(2, "no")
        return 1 // (x - 3)
    except (E1, KeyError) as e:
        return type(e).__name__, e.args
    except (OSError, ZeroDivisionError) as e:
        return type(e).__name__, e.args, getattr(e, "errno", None)


def bad_class(x):
    try:
        1 // x
    except (ValueError, 3):
        return "no"
    return "ok"


def bad_class2(x, c):
    try:
        1 // x
    except c:
        return "caught"
    return "ok"


def raise_notexc(x):
    try:
        raise x
    except TypeError as e:
        return str(e), type(e.__context__)


def raise_class_arg(x):
    class A(Exception):
        def __init__(self):
            raise KeyError("in init")

    try:
        raise A
    except KeyError as e:
        return e.args


def deleted(x):
    try:
        1 // x
    except ZeroDivisionError as e:
        pass
    return e


def closure_e(x):
    try:
        1 // x
    except ZeroDivisionError as e:
        f = lambda: e
        r = f()
        s = type(r).__name__
    else:
        return None
    try:
        return f(), s
    except NameError as n:
        return str(n), s


def assert_msg(x):
    assert x > 3, f"small {x}"
    return x


def assert_plain(x):
    try:
        assert x
    except AssertionError as e:
        return e.args
    return "t"


def fmt(x):
    try:
        try:
            1 // x
        except ZeroDivisionError:
            raise KeyError("a")
    except KeyError:
        return traceback.format_exc()
    return None


def exc_info(x):
    try:
        1 // x
    except ZeroDivisionError:
        t, v, b = sys.exc_info()
        return t.__name__, v.args, b is v.__traceback__, sys.exc_info()[0] is t
    return sys.exc_info()


def partial(xs, k):
    try:
        xs.append(1)
        xs.append(xs[k])
        xs.append(3)
    except IndexError:
        xs.append("err")
    return xs


def exc_in_finally(x):
    try:
        try:
            1 // x
        finally:
            [][x]
    except IndexError as e:
        return type(e.__context__).__name__, e


def exc_in_except(x):
    try:
        1 // x
    except ZeroDivisionError:
        [][0]


def notes(x):
    try:
        1 // x
    except ZeroDivisionError as e:
        e.add_note("n1")
        e.add_note(f"n{x}")
        raise


def sysexit(x):
    try:
        if x:
            raise SystemExit(3)
        raise KeyboardInterrupt
    except Exception:
        return "no"
    except BaseException as e:
        return type(e).__name__, e.args


def genexit(x):
    if x:
        raise GeneratorExit
    raise KeyboardInterrupt("a")


def whileloop(xs):
    it = iter(xs)
    out = []
    while True:
        try:
            v = next(it)
        except StopIteration:
            break
        out.append(v * 2)
    return out


def stopvalue(x):
    def g():
        yield 1
        return x

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as s:
        return s.value


def keyerr(d, k):
    try:
        return d[k]
    except KeyError as e:
        return e.args[0]


def attrerr(x):
    try:
        return x.foo
    except AttributeError as e:
        return e.name, str(e), e.obj is x


def nameerr(x):
    try:
        return undefined_thing
    except NameError as e:
        return e.name, str(e)


def unbound(x):
    if x:
        y = 1
    return y


def cause_explicit(x):
    e = ValueError("a")
    try:
        raise KeyError("b") from e
    except KeyError as k:
        return k.__cause__ is e, k.__context__, k.__suppress_context__


def loop_retry(x):
    tries = 0
    while True:
        try:
            tries += 1
            if tries < x:
                raise E1(tries)
            return tries
        except E1 as e:
            last = e.args
            continue


def eg1(x):
    try:
        if x == 0:
            raise ExceptionGroup("g", [ValueError(1), KeyError("k")])
        if x == 1:
            raise ValueError("naked")
        if x == 2:
            raise ExceptionGroup("g", [ExceptionGroup("h", [TypeError("t"), ValueError(2)]), OSError(5)])
        return "none"
    except* ValueError as e:
        return_ = ("V", [repr(a) for a in e.exceptions], e.message)
    except* (KeyError, OSError) as e:
        return_ = ("K", [repr(a) for a in e.exceptions])
    return return_


def eg2(x):
    log = []
    try:
        raise ExceptionGroup("g", [ValueError(x), KeyError("k"), TypeError("t")])
    except* ValueError as e:
        log.append(("v", e.exceptions[0].args))
    except* KeyError as e:
        log.append(("k", e.exceptions[0].args))
    except* TypeError:
        log.append("t")
    else:
        log.append("else")
    finally:
        log.append("fin")
    return log


def eg3(x):
    try:
        raise ExceptionGroup("g", [ValueError(x), KeyError("k")])
    except* ValueError as e:
        raise RuntimeError("r") from e


def eg4(x):
    try:
        1 // x
    except* ZeroDivisionError as e:
        return_ = type(e).__name__, len(e.exceptions), str(e)
    else:
        return_ = "ok"
    return return_


def eg5(x):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(x), KeyError("k")])
        except* ValueError:
            pass
    except ExceptionGroup as g:
        return g.message, g.exceptions


def eg6(x):
    try:
        raise ExceptionGroup("g", [ValueError(x), KeyError("k")])
    except* ValueError:
        raise
    except* KeyError as k:
        raise TypeError("t") from k


def eg7(x):
    try:
        raise ExceptionGroup("g", [ValueError(x)])
    except* ExceptionGroup:
        pass


def eg8(x):
    eg = ExceptionGroup("g", [ValueError(x), TypeError(2)])
    a, b = eg.split(ValueError)
    return a.exceptions, b.exceptions, eg.subgroup(KeyError), eg.derive([KeyError()]).message


CASES = [
    (fin_return, [1, 0]),
    (fin_break, [0, 1, 2, 5]),
    (fin_continue, [1, 5]),
    (nested, [0, 5]),
    (from_none, [1, 7]),
    (bare, [1, 2]),
    (reraise_named, [1, 2]),
    (ctx, ["a", "3"]),
    (coded, [5, -1, 2]),
    (coded_out, [5, 1]),
    (sig, [3]),
    (tuple_types, [0, 1, 2, 3, 4]),
    (bad_class, [0, 1]),
    (
        bad_class2,
        [(0, ZeroDivisionError), (0, (KeyError, ValueError)), (0, 3), (0, "x"), (1, 3), (0, (3,)), (0, (ZeroDivisionError, 3)), (0, ((ZeroDivisionError,),))],
    ),
    (raise_notexc, [3, "a", TypeError("t"), int]),
    (raise_class_arg, [1]),
    (deleted, [0]),
    (closure_e, [0, 1]),
    (assert_msg, [1, 5]),
    (assert_plain, [0, 1]),
    (fmt, [0, 1]),
    (exc_info, [0, 1]),
    (partial, [([], 0), ([1], 5), ([1], 0)]),
    (exc_in_finally, [0]),
    (exc_in_except, [0, 1]),
    (notes, [0, 1]),
    (sysexit, [0, 1]),
    (genexit, [0, 1]),
    (whileloop, [([1, 2, 3],)]),
    (stopvalue, [4]),
    (keyerr, [({1: 2}, 1), ({1: 2}, 3)]),
    (attrerr, [3, "a"]),
    (nameerr, [1]),
    (unbound, [0, 1]),
    (cause_explicit, [1]),
    (loop_retry, [3, 1]),
    *((f, [0, 1, 2]) for f in (eg1, eg2, eg3, eg4, eg5, eg6, eg7, eg8)),
]


#: Those that look at frames as a whole are left as they are.
WHOLE = {exc_info}


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_exceptions(fn, calls):
    check(fn, calls, fn in WHOLE)


def test_an_exception_that_nobody_looks_at_is_not_made():
    trace = hovis.trace(sig, hovis.Int).passes()
    assert [op.callee for op in trace.ops] == [__import__("operator").mul]


def fails():
    raise ValueError("the first")


def looks_up(found, key):
    try:
        fails()
    except ValueError:
        return found[key]


def deletes(found, key):
    try:
        fails()
    except ValueError:
        del found[key]


def stores(found, key):
    try:
        fails()
    except ValueError:
        found[key] = key in found
        return found


@pytest.mark.parametrize("inner", [looks_up, deletes, stores])
@pytest.mark.parametrize("key", ["there", "missing", 3])
@pytest.mark.parametrize("way", ["specialize", "jit"])
def test_the_traceback_of_an_exception_that_is_the_context_of_another(inner, key, way):
    def fn(found, key):
        try:
            return inner(found, key)
        except KeyError as error:
            return [at.name for at in traceback.extract_tb(error.__context__.__traceback__)]

    residual = hovis.specialize(fn, dict, type(key)) if way == "specialize" else hovis.jit(fn)
    assert residual({"there": 1}, key) == fn({"there": 1}, key)
