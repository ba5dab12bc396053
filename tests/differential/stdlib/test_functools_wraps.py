"""``functools.wraps`` around jitted functions: what they say of themselves changes, what they do does not."""

import functools

import pytest

import hovis
import hovis_xla


def wrapping(jit, fn):
    """What many decorators are: a jitted function that bears the name of another."""

    @functools.wraps(fn)
    @jit
    def wrapper(*args):
        return fn(*args) + 1

    return wrapper


def tens(x):
    return x * 10


def wrapped_within(x, jit):
    def tens(x):
        return x * 10

    return wrapping(jit, tens)(x)


@pytest.mark.parametrize("jit", [hovis.jit, hovis_xla.jit])
def test_the_wrapper_is_called(jit):
    made = wrapping(jit, tens)
    assert (made.__name__, made.__wrapped__) == ("tens", tens)
    assert [made(2), made(2), made(2.5)] == [21, 21, 26.0]


@pytest.mark.parametrize("jit", [hovis.jit, hovis_xla.jit])
def test_what_is_wrapped_may_be_jitted_itself(jit):
    inner = jit(tens)
    inner.note = "kept"
    assert inner(2) == 20
    made = wrapping(jit, inner)
    assert [made(2), inner(2), made(2), made.note] == [21, 20, 21, "kept"]
    assert jit(functools.wraps(inner)(lambda x: inner(x) + 2))(2) == 22


@pytest.mark.parametrize("jit", [hovis.jit, hovis_xla.jit])
@pytest.mark.parametrize("outer", [hovis.jit, hovis_xla.jit])
def test_within_a_traced_function(jit, outer):
    made = wrapping(jit, tens)
    assert outer(lambda x: made(x))(2) == 21
    assert outer(wrapped_within)(2, jit) == 21


def test_what_is_transformed_is_the_wrapper():
    assert hovis.grad(wrapping(hovis.jit, lambda x: x * x))(3.0) == 6.0
    assert hovis.grad(wrapping(hovis.jit, hovis.jit(lambda x: x * x)))(3.0) == 6.0


def test_another_original_is_not_called():
    made = hovis.jit(tens)
    made.__wrapped__ = abs
    assert [made(-2), hovis.jit(lambda x: made(x))(-2), made(-2.5)] == [-20, -20, -25.0]
