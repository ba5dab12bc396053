"""try and except around numbers, compiled: what is raised and caught in one function."""
import contextlib
import math

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

V = np.array([0.5, -1.5, 2.0, 0.0, -0.25])
NAN, INF = math.nan, math.inf


def root(x):
    if x < 0:
        raise ValueError("negative")
    return math.sqrt(x)


def test_caught_where_it_is_raised():
    def divided(a, b):
        try:
            found = a / b
        except ZeroDivisionError:
            found = -1
        else:
            found = found + 1
        finally:
            a = a + b
        return found, a

    def whole(a, b):
        try:
            return a // b, a % b
        except ZeroDivisionError as error:
            return type(error).__name__, a

    def nested(a, b, v, k):
        try:
            try:
                found = v[k]
            except ZeroDivisionError:
                found = 100.0
            return a / b + found
        except (IndexError, KeyError):
            return "index"
        except ArithmeticError:
            return "arithmetic"

    def converted(x):
        try:
            return int(x)
        except ValueError:
            return "nan"
        except OverflowError:
            return "inf"

    def mathematics(x):
        found = []
        for f in (math.sqrt, math.exp, math.log, math.acos):
            try:
                found.append(f(x))
            except ValueError:
                found.append("domain")
            except OverflowError:
                found.append("range")
        return found

    check(divided, (1.0, 2.0), (1.0, 0.0), (-0.0, 0.0), bails=False)
    check(divided, (3, 2), (3, 0), bails=False)
    check(whole, (7, 2), (7, 0), (-7, 3), bails=False)
    check(nested, (1.0, 2.0, V, 1), (1.0, 0.0, V, 1), (1.0, 2.0, V, 9), (1.0, 0.0, V, -9), bails=False)
    check(converted, (2.5,), (NAN,), (-INF,), (INF,), bails=False)
    check(mathematics, (0.5,), (-1.0,), (1000.0,), (0.0,), (NAN,), bails=False)


def test_in_loops():
    def sums(n):
        total = 0.0
        for k in range(n):
            try:
                total += 1 / (k - 3)
            except ZeroDivisionError:
                total += 100.0
        return total

    def until_the_end(v):
        total, at = 0.0, 0
        while True:
            try:
                total += v[at]
            except IndexError:
                break
            at += 1
        return total, at

    def roots(v):
        total, bad = 0.0, 0
        for x in v:
            try:
                total += root(x)
            except ValueError:
                bad += 1
                continue
            finally:
                total = total + 0.5
        return total, bad

    def raised_here(n):
        seen = 0
        for k in range(n):
            try:
                if k % 3 == 0:
                    raise KeyError(k)
                if k % 5 == 0:
                    raise RuntimeError
                seen += 1
            except KeyError:
                seen += 100
            except RuntimeError:
                return "stopped", seen
        else:
            return "done", seen

    check(sums, (0,), (3,), (4,), (12,), bails=False)
    check(until_the_end, (V,), (np.zeros(0),), bails=False)
    check(roots, (V,), (np.abs(V),), bails=False)
    check(raised_here, (0,), (2,), (5,), (6,), (20,), bails=False)


def test_what_is_not_caught_is_raised():
    def reraised(a, b):
        try:
            return a / b
        except ZeroDivisionError:
            raise

    def other(a, b):
        try:
            return a // b
        except KeyError:
            return -1

    def told(a, b):
        try:
            return a / b
        except ZeroDivisionError as error:
            return str(error), error.args

    def instead(a, b):
        try:
            return a / b
        except ZeroDivisionError as error:
            raise ValueError("no") from error

    def kept(a, b):
        found = None
        try:
            found = a / b
        except ZeroDivisionError as error:
            found = error
        return found

    for fn in (reraised, other, told, instead):
        check(fn, (1.0, 2.0), (1.0, 0.0), (1.0, 3.0), (2.0, 0.0))
    got = hovis_xla.jit(kept)
    agree(kept, got, 1.0, 2.0)
    assert type(got(1.0, 0.0)) is ZeroDivisionError
    assert got(1.0, 0.0).args == kept(1.0, 0.0).args


def test_what_is_no_index():
    def by_float(v, x):
        return v[x]

    def by_scalar(v, k):
        found = v[k]
        return 1 if v[found] <= 0.5 else 2

    def stored(v, x):
        w = v.copy()
        w[x] = 1.0
        return w

    def unused(v):
        int((v[0], 1))
        return 1

    for fn, args in ((by_float, (V, 1.0)), (by_scalar, (V, 1)), (stored, (V, 1.0)), (unused, (V,))):
        agree(fn, hovis_xla.jit(fn, target="xla"), *args)


def test_a_view_of_the_path_that_was_not_taken():
    """A row is a view, which the host makes; where there is none, it is not asked for."""
    def row(table, k):
        table[0] = 3
        try:
            found = table[k]
        except (IndexError, ValueError):
            found = -1
        return found, table * 2

    jitted = hovis_xla.jit(row, target="xla")
    for k in (0, 2, -3, 3, 300, 2**31, -4):
        agree(row, jitted, np.ones((3, 4)), k)


@contextlib.contextmanager
def scaled(state, factor):
    old = state["scale"]
    state["scale"] = factor
    try:
        yield state
    finally:
        state["scale"] = old


class Clock:
    """A context manager of a class that asks whether it is left by an exception."""

    def __init__(self):
        self.sections, self.failed, self.depth = 0, 0, 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, kind, error, traceback):
        self.depth -= 1
        if kind is None and error is None and traceback is None:
            self.sections += 1
        else:
            self.failed += 1
        return False

    @contextlib.contextmanager
    def nested(self):
        self.depth += 1
        try:
            yield self
        except ValueError:
            self.failed += 1
            raise
        finally:
            self.depth -= 1


def test_contexts_that_are_cleaned_up():
    def in_a_loop(x):
        state, total = {"scale": 1.0}, 0.0
        for v in x:
            with scaled(state, 2.0) as now:
                total += math.sqrt(v) * now["scale"]
            total += v * state["scale"]
        return total, state

    def of_an_object(x):
        clock, total = Clock(), 0.0
        for v in x:
            with clock, clock.nested():
                total += math.log(v) * clock.depth
        return total, clock.sections, clock.failed, clock.depth

    def left_by_an_exception(x):
        clock = Clock()
        try:
            with clock, clock.nested():
                found = math.sqrt(x) * clock.depth
        except ValueError as error:
            return str(error), clock.failed, clock.depth
        return found, clock.failed, clock.depth

    for fn in (in_a_loop, of_an_object):
        check(fn, np.array([0.5, 2.0, 3.0]))
        agree(fn, hovis_xla.jit(fn, target="xla"), np.array([0.5, -2.0, 3.0]))
    check(left_by_an_exception, 2.0)
    got = hovis_xla.jit(left_by_an_exception, target="xla")
    for x in (4.0, -4.0, INF):
        agree(left_by_an_exception, got, x)
