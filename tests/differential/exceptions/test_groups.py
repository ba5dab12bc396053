"""Exception groups and except*, beside CPython.

PYTEST_DONT_REWRITE: some of the programs assert, or look at their variables.
"""
# ruff: noqa: E731, B028, T100  (programs as people write them)

import sys

import pytest

import hovis
from tests.differential.harness.splits import check


def g_attr(x):
    g = ExceptionGroup("msg", [ValueError(x), KeyError("k")])
    return g.message, g.exceptions, str(g), repr(g), len(g.exceptions), type(g), g.args


def g_base(x):
    g = BaseExceptionGroup("b", [ValueError(x), KeyboardInterrupt()])
    h = BaseExceptionGroup("b", [ValueError(x)])
    return type(g).__name__, type(h).__name__, isinstance(h, Exception)


def g_bad(x):
    out = []
    for f in (
        lambda: ExceptionGroup("m", []),
        lambda: ExceptionGroup(1, [ValueError()]),
        lambda: ExceptionGroup("m", [3]),
        lambda: ExceptionGroup("m"),
        lambda: ExceptionGroup("m", [KeyboardInterrupt()]),
        lambda: ExceptionGroup("m", 3),
        lambda: ExceptionGroup("m", [ValueError], x),
    ):
        try:
            out.append(f())
        except (TypeError, ValueError) as e:
            out.append((type(e).__name__, str(e)))
    return out


def g_nested(x):
    try:
        raise ExceptionGroup("o", [ExceptionGroup("i", [ValueError(x), TypeError("t")]), KeyError("k")])
    except* ValueError as e:
        a = repr(e), [repr(q) for q in e.exceptions]
    except* (TypeError, KeyError) as e:
        b = repr(e)
    return a


def g_rest(x):
    out = []
    try:
        try:
            raise ExceptionGroup("o", [ValueError(x), KeyError("k"), OSError(1, "e")])
        except* ValueError as e:
            out.append(e.exceptions)
        except* KeyError as e:
            out.append(e.exceptions[0].args)
    except ExceptionGroup as r:
        out.append((r.message, r.exceptions, r.__context__ is None, r.__cause__))
    return out


def g_raise_in(x):
    try:
        try:
            raise ExceptionGroup("o", [ValueError(x), KeyError("k")])
        except* ValueError as e:
            raise RuntimeError("new")
        except* KeyError as e:
            raise TypeError("new2") from e
    except ExceptionGroup as r:
        return [(type(q).__name__, q.args, type(q.__context__), type(q.__cause__)) for q in r.exceptions], r.message


def g_finally(x):
    log = []
    try:
        try:
            raise ExceptionGroup("o", [ValueError(x)])
        except* TypeError:
            log.append("t")
        else:
            log.append("else")
        finally:
            log.append("fin")
    except ExceptionGroup as e:
        log.append(e.exceptions[0].args)
    return log


def g_naked(x):
    try:
        if x:
            raise ValueError(x)
        raise KeyboardInterrupt("kb")
    except* ValueError as e:
        r = "v", e.message, e.exceptions, e.exceptions[0].args, type(e)
    except* KeyboardInterrupt as e:
        r = "k", type(e), str(e)
    return r


def g_handled(x):
    try:
        raise ExceptionGroup("o", [ValueError(x), KeyError(1)])
    except* ValueError as e:
        r = sys.exception() is e
        try:
            raise TypeError(1)
        except TypeError as t:
            r = r, type(t.__context__), t.__context__ is e
    except* KeyError as e:
        q = sys.exception() is e
    return r, q, sys.exception()


def g_notes(x):
    g = ExceptionGroup("n", [ValueError(x)])
    g.add_note("note")
    g.extra = 5
    try:
        raise g
    except* ValueError as e:
        return_ = e.__notes__, e is g
    return return_


def g_sub(x):
    class MyGroup(ExceptionGroup):
        def derive(self, excs):
            return MyGroup(self.message + "!", excs)

    try:
        raise MyGroup("m", [ValueError(x), KeyError(2)])
    except* ValueError as e:
        a = type(e).__name__, e.message
    except* KeyError as e:
        b = type(e).__name__, e.message
    return a, b


def g_unknown(excs):
    try:
        raise ExceptionGroup("u", excs)
    except* ValueError as e:
        return_ = len(e.exceptions)
    except* Exception as e:
        return_ = "other", len(e.exceptions)
    return return_


def g_loop(xs):
    errs, out = [], []
    for x in xs:
        try:
            out.append(10 // x)
        except ZeroDivisionError as e:
            errs.append(e)
    try:
        if errs:
            raise ExceptionGroup("many", errs)
    except* ZeroDivisionError as g:
        out.append(len(g.exceptions))
    return out


def g_split(x):
    g = ExceptionGroup("s", [ValueError(x), KeyError(2)])
    m, r = g.split(ValueError)
    s = g.subgroup(lambda e: isinstance(e, KeyError))
    return m.exceptions, r.exceptions, s.exceptions, m.message


def g_escape(x):
    return ExceptionGroup("e", (ValueError(x),))


def g_out(x):
    raise ExceptionGroup("e", [ValueError(x), ExceptionGroup("f", [KeyError(1)])])


def g_reraise(x):
    try:
        raise ExceptionGroup("o", [ValueError(x), KeyError("k")])
    except* ValueError:
        raise


def g_all(x):
    try:
        raise ExceptionGroup("o", [ValueError(x), KeyError("k")])
    except* Exception as e:
        return_ = e.message, len(e.exceptions)
    return return_


CASES = [
    (f, [0, 3])
    for f in (g_attr, g_base, g_bad, g_nested, g_rest, g_raise_in, g_finally, g_naked, g_handled, g_notes, g_sub, g_split, g_escape, g_out, g_reraise, g_all)
]
CASES += [(g_unknown, [([ValueError(1), KeyError(2)],), ([ValueError(1)],), ([3],), ([],)]), (g_loop, [([1, 0, 0],), ([1],)])]


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CASES)])
def test_programs(fn, calls):
    check(fn, calls)


def test_a_group_whose_parts_alone_are_looked_at_is_not_made():
    assert not hovis.trace(g_all, hovis.Int).passes().ops
