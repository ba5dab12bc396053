"""``with np.errstate(…)``: compiled where it asks for calm, Python's where errors are to be heard."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.checking import agree, check, stays_python

A = np.array([1.0, 0.0, -1.0, np.inf])
B = np.array([0.0, 0.0, 2.0, np.inf])


def test_calm_blocks_are_compiled_and_nest():
    def fn(a, b):
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(b > 0, a / b, 0.0)
        for i in range(3):
            with np.errstate(all="ignore"):
                q += a / b
                with np.errstate(over="warn"):
                    q = np.exp(q) if i == 1 else q
        return q

    check(fn, (A, B), (B, A))


def test_a_block_is_left_by_return_break_and_exceptions():
    def fn(a, k):
        found = -1.0
        for i in range(4):
            try:
                with np.errstate(all="ignore"):
                    x = 1 / a[i + k]
                    if x > 0.9:
                        return x, i
                    if np.isnan(x):
                        break
                    found += x
            except IndexError:
                return found, "beyond"
        return found, "end"

    check(fn, (A, 0), (A, 1), (A, 3), (np.array([np.nan, 2.0]), 0))


def test_what_is_raised_within_is_raised():
    def fn(a, k):
        with np.errstate(all="ignore"):
            return (1 / a)[k]

    check(fn, (A, 1), (A, 4))


def test_the_state_is_what_it_was():
    def fn(a):
        with np.errstate(all="ignore"):
            return 1 / a

    jitted = hovis_xla.jit(fn)
    before = np.geterr()
    agree(fn, jitted, A)
    assert np.geterr() == before
    with np.errstate(all="raise"):
        # nothing is heard within, and everything after it
        agree(fn, jitted, A)
        with pytest.raises(FloatingPointError):
            np.ones(1) / 0


def test_errors_that_are_to_be_heard_are():
    def fn(a, b):
        with np.errstate(divide="raise"):
            with np.errstate(all="ignore"):
                x = a / b
            try:
                return b / a, x
            except FloatingPointError as error:
                return str(error), x

    stays_python(fn, A, B)
    stays_python(fn, B, A)


def test_a_mode_that_is_an_argument():
    def fn(a, mode):
        with np.errstate(divide=mode):
            return 1 / a

    jitted = hovis_xla.jit(fn)
    for mode in ("ignore", "warn", "raise", "loud", "ignore"):
        agree(fn, jitted, A, mode)
