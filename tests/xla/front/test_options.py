"""Options of jit that are about what may go wrong: ints of more than 64 bits, NaNs."""
import traceback

import numpy as np
import pytest

import hovis
import hovis_xla

pytestmark = pytest.mark.xla


def product(n):
    r = 1
    for k in range(1, n + 1):
        r = r * k  # too wide from 21 on
    return r


def divided(a, b):
    c = a / b  # the NaN's line
    return np.sqrt(c) + 1


def outer(a, b):
    return divided(a, b).sum()


def lines(info):
    return [frame.line for frame in traceback.extract_tb(info.value.__traceback__) if frame.filename == __file__]


def test_ints_past_64_bits_can_raise():
    f = hovis_xla.jit(product, int_overflow="raise", strict=True)
    assert f(20) == product(20)
    for _ in range(10):
        with pytest.raises(OverflowError, match="more than 64 bits") as info:
            f(25)
        assert lines(info)[-1].startswith("r = r * k")
    assert f(20) == product(20)
    assert hovis_xla.jit(product)(25) == product(25)


def test_other_exceptions_are_what_they_are():
    f = hovis_xla.jit(lambda a, b: a // b + 2**40, int_overflow="raise")
    assert f(7, 2) == 3 + 2**40
    with pytest.raises(ZeroDivisionError):
        f(1, 0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_first_nan_is_told_with_its_line():
    f = hovis_xla.jit(outer, debug_nans=True)
    good = np.array([1.0, 2.0]), np.array([4.0, 5.0])
    assert f(*good) == outer(*good)
    with pytest.raises(hovis_xla.NanError, match="a NaN comes out of") as info:
        f(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    assert [line.partition("  #")[0] for line in lines(info)[-2:]] == ["return divided(a, b).sum()", "c = a / b"]
    assert isinstance(info.value, FloatingPointError)
    # a NaN that was passed in is no news
    assert np.isnan(f(np.array([np.nan]), np.array([1.0])))
    assert np.isinf(f(np.ones(1), np.zeros(1)))
    with pytest.raises(hovis_xla.NanError, match="a NaN or an infinity"):
        hovis_xla.jit(outer, debug_nans="inf")(np.ones(1), np.zeros(1))


def test_effects_happen_once_under_debug_nans(capsys):
    def noisy(x):
        print("once")
        x[0] = 5.0
        return x.sum()

    x = np.ones(3)
    assert hovis_xla.jit(noisy, debug_nans=True)(x) == 7.0
    assert x[0] == 5.0
    assert capsys.readouterr().out == "once\n"


def test_values_of_options():
    with pytest.raises(hovis.SpecError, match="takes a callable, not a int"):
        hovis_xla.jit(3)
    with pytest.raises(hovis.SpecError, match="put @classmethod outside"):
        hovis_xla.jit(classmethod(len))
    with pytest.raises(ValueError, match="int_overflow is one of 'replay', 'raise', not 'wrap'"):
        hovis_xla.jit(product, int_overflow="wrap")
    with pytest.raises(ValueError, match="debug_nans is False, True or 'inf', not 'nan'"):
        hovis_xla.jit(product, debug_nans="nan")
