"""Reverse mode through branches, loops, mutation, calls and exceptions, against central differences."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.errors import DerivativeError
from hovis.ir.model import Raise, Return
from hovis.ir.verifier import verify
from hovis.passes import pipeline
from hovis.transforms.reverse.sweep import reverse

# ------------------------------------------------------------------------------------------------- programs


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def leaves_early(x):
    for _ in range(10):
        if x > 5.0:
            break
        x = x * 1.5
    else:
        return x * 3
    return x * x


def weighted(v, n):
    total = 1.0
    for k in range(n):
        total = total + v[k] * v[k] * (k + 1)
    return total


def nested(x, n):
    s = 0.0
    for i in range(n):
        y = x
        for _ in range(i):
            y = y * x + 1.0
        s = s + y * y
    return s


def skips(x, n):
    s = x
    for i in range(n):
        if i % 2 == 0:
            continue
        if s > 50.0:
            return s * 2.0
        s = s * x
    return s


def line_search(x, n):
    for _ in range(n):
        step = 1.0
        value = x * x * x * x + x
        slope = 4 * x**3 + 1.0
        while (x - step * slope) ** 4 + (x - step * slope) > value - 0.3 * step * slope * slope:
            step = step * 0.5
        x = x - step * slope * 0.9
    return x


def recurrent(steps, weight):
    table = np.zeros((steps.shape[0] + 1, weight.shape[1]))
    for t in range(steps.shape[0]):
        table[t + 1] = np.sin(steps[t] @ weight) - 0.5 * table[t]
    return np.sum(table * table)


def through_views(v, factor):
    whole = v + 1.0
    tail = whole[1:]
    tail *= factor
    whole[0] = tail[-1] - tail[0]
    return np.sum(whole * whole)


def changes_argument(x, y):
    x[1] = y[0] * x[2]
    x += y
    x[0] *= x[1]
    x *= x[2]
    return np.sum(x * y)


def table_of(a, n):
    x = np.zeros(n + 2)
    x[0] = a
    x[1] = a * a
    for i in range(n):
        x[i + 2] = x[i] * x[i + 1] + x[i]
    return x[n + 1] + x[0]


def local_arrays(v, n):
    s = 0.0
    for i in range(n):
        b = np.zeros(3)
        b[0] = v[i]
        b[1] = v[i] * v[0]
        for _ in range(i):
            b[2] += b[0] * b[1]
        s = s + np.sum(b * b)
    return s


def recursive(x, n):
    if n <= 0:
        return x
    return recursive(x * x, n - 1) + x


def even(x, n):
    if n == 0:
        return x
    return odd(x * 1.1, n - 1) * x


def odd(x, n):
    if n == 0:
        return x * 2.0
    return even(x + 0.1, n - 1)


def catches(x, n):
    try:
        y = 1 / x
        z = y * y * n
    except ZeroDivisionError:
        z = x * 3.0
    return z


def swaps(a, b, n):
    for _ in range(n):
        a, b = b, a * b
    return a + 2.0 * b


def walrus(x):
    a, b = x, 1.0
    while (y := a * b) < 100.0:
        a = y
        b = b + x
        if b > 7.0:
            break
    else:
        return y * b
    return a - b


def adaptive(y):
    """Steps of Euler's method, of which those that are too rough are tried again."""
    t, h = 0.0, 0.5
    while t < 1.0:
        once = y - h * y * y
        half = y - 0.5 * h * y * y
        twice = half - 0.5 * h * half * half
        if abs(once - twice) > 1e-3:
            h = h * 0.5
        else:
            t, y, h = t + h, twice, h * 1.3
    return y


V, M = np.linspace(0.5, 1.4, 6), np.linspace(-0.3, 0.5, 9).reshape(3, 3)
ROWS = np.linspace(0.0, 1.1, 60).reshape(20, 3)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = [
    (newton, (2.0,), 0),
    (leaves_early, (2.0,), 0),
    (leaves_early, (0.01,), 0),
    (leaves_early, (7.0,), 0),
    (weighted, (V, 0), 0),
    (weighted, (V, 4), 0),
    (nested, (1.1, 0), 0),
    (nested, (1.1, 4), 0),
    (skips, (1.5, 5), 0),
    (skips, (4.5, 15), 0),
    (line_search, (1.3, 4), 0),
    (recurrent, (ROWS, M), 0),
    (recurrent, (ROWS, M), 1),
    (through_views, (V, 0.3), 0),
    (through_views, (V, 0.3), 1),
    (changes_argument, (V[:3] + 1, V[3:]), 0),
    (changes_argument, (V[:3] + 1, V[3:]), 1),
    (table_of, (0.7, 0), 0),
    (table_of, (0.7, 5), 0),
    (local_arrays, (V, 4), 0),
    (recursive, (0.9, 4), 0),
    (even, (0.9, 5), 0),
    (catches, (1.5, 3), 0),
    (swaps, (1.5, 1.2, 5), 0),
    (swaps, (1.5, 1.2, 5), 1),
    (walrus, (1.05,), 0),
    (walrus, (1000.0,), 0),
    (adaptive, (0.8,), 0),
]


def fresh(args):
    return [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]


def differences(f, args, k):
    """Central differences of f in its k-th argument."""
    step = 1e-6

    def at(*index):
        def moved(by):
            changed = fresh(args)
            if index:
                changed[k][index] += by
            else:
                changed[k] += by
            return f(*changed)

        return (moved(step) - moved(-step)) / (2 * step)

    if not isinstance(args[k], np.ndarray):
        return at()
    return np.array([at(*index) for index in np.ndindex(*args[k].shape)]).reshape(args[k].shape)


def spec(value):
    return hovis.Array(value.dtype, value.shape) if isinstance(value, np.ndarray) else hovis.Float if isinstance(value, float) else hovis.Int


def derived(f, args, k):
    """The derived Function, verified, before and after the passes."""
    traced = hovis.trace(f, *map(spec, args)).passes("default")
    made = reverse(traced.function, [k])
    verify(made)
    after = pipeline.run(made, "default")
    verify(after)
    return made, after


@pytest.mark.parametrize(("f", "args", "k"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_agrees_with_central_differences(f, args, k):
    expected, value = differences(f, args, k), f(*fresh(args))
    for made in derived(f, args, k):
        got = hovis.evaluate(made, *fresh(args))
        assert type(got[1]) is type(args[k])
        np.testing.assert_allclose(got[0], value, rtol=1e-14)
        np.testing.assert_allclose(got[1], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("f", "args"),
    [(newton, (2.0,)), (nested, (1.1, 3)), (line_search, (1.3, 2)), (swaps, (1.5, 1.2, 4)), (recursive, (0.9, 3))],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_derived_function_is_a_function_to_be_derived(f, args):
    _, first = derived(f, args, 0)
    for block in first.blocks:
        if isinstance(block.terminator, Return):
            block.terminator.value = block.terminator.value.args[1]
    second = pipeline.run(reverse(first, [0]), "default")
    verify(second)
    expected = differences(lambda *a: hovis.evaluate(first, *a), args, 0)
    np.testing.assert_allclose(hovis.evaluate(second, *args)[1], expected, rtol=1e-4)


def test_newton_to_twelve_digits():
    for a in (2.0, 0.25, 3.7):
        assert hovis.grad(newton)(a) == pytest.approx(0.5 / np.sqrt(a), rel=1e-12)


def test_the_caller_sees_what_the_function_stores():
    x, y = V[:3] + 1, V[3:]
    mine, other = x.copy(), x.copy()
    changes_argument(mine, y)
    hovis.grad(changes_argument)(other, y.copy())
    np.testing.assert_array_equal(mine, other)


def test_it_prints_once_and_in_order():
    def prints(x):
        for k in range(2):
            print("at", k)
            x = x * x
        return x

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert hovis.grad(prints)(2.0) == 32.0
    assert out.getvalue() == "at 0\nat 1\n"


def test_it_raises_where_the_function_raises():
    def checked(x, n):
        for k in range(n):
            if k == 3:
                raise ValueError("three")
            x = x * x
        return x

    assert hovis.grad(checked)(1.1, 2) == pytest.approx(4 * 1.1**3)
    for f in (checked, hovis.grad(checked)):
        with pytest.raises(ValueError, match="three"):
            f(1.1, 5)
    places = [[block.terminator.location for block in one.blocks if isinstance(block.terminator, Raise)] for one in (*derived(checked, (1.1, 5), 0),)]
    assert [place.line - checked.__code__.co_firstlineno for (place,) in places] == [3, 3]


def test_one_array_in_two_places():
    def product(a, b):
        return np.sum(a * b * b)

    x = V[:3].copy()
    first, second = hovis.grad(product, argnums=(0, 1))(x, x)
    np.testing.assert_allclose(first, x * x)
    np.testing.assert_allclose(second, 2 * x * x)


def test_two_arguments_that_share_what_is_stored_into_are_an_error():
    def stores(a, b):
        a[0] = b[1] * 2.0
        return np.sum(a * b)

    x = V[:3].copy()
    for compiled in (hovis.grad(stores), hovis_xla.jit(hovis.grad(stores), target="xla")):
        np.testing.assert_allclose(compiled(x.copy(), x.copy()), differences(stores, (x, x), 0))
        with pytest.raises(DerivativeError, match="share memory"):
            compiled(x, x)
        with pytest.raises(DerivativeError, match="share memory"):
            compiled(x[:2], x[1:])


def test_what_stores_in_ways_that_are_not_known_is_an_error():
    def sorts(x):
        y = x * 2.0
        y.sort()
        return np.sum(y * x)

    def collects(x, n):
        kept = []
        for _ in range(n):
            x = np.sin(x)
            kept.append(x)
        return sum(kept)

    with pytest.raises(DerivativeError, match="no derivative of"):
        derived(sorts, (V,), 0)
    with pytest.raises(DerivativeError, match="no derivative of"):
        derived(collects, (0.5, 3), 0)


def test_loops_that_are_entered_in_several_places():
    def keeps(x, n):
        total, last = 0.0, None
        for k in range(n):
            if last is not None and x > 0.5:
                x = x * 0.9
                if x < 0.6:
                    last = None
                    continue
            else:
                last = k
            total = total + x * x
        return total

    for args in ((0.8, 5), (0.4, 3), (0.8, 0)):
        for made in derived(keeps, args, 0):
            np.testing.assert_allclose(hovis.evaluate(made, *args)[1], differences(keeps, args, 0), rtol=1e-6, atol=1e-6)


def test_the_second_derivative_of_a_loop_that_may_have_no_rounds():
    def powers(x, n):
        total, done = 0.0, 0.0
        while done < n:
            y, inner = x * np.ones(2), 0.0
            while inner < done:
                y, inner = y * y, inner + 1.0
            total, done = total + np.sum(y), done + 1.0
        return total

    # 2 (x + x^2 + x^4)
    assert hovis.grad(hovis.grad(powers))(0.3, 3.0) == pytest.approx(2 * (2 + 12 * 0.3**2), rel=1e-12)


def test_a_derivative_with_loops_is_taken_twice() -> None:
    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-13 * a:
            x = 0.5 * (x + a / x)
        return x

    second = hovis.grad(hovis.grad(root))
    trace = hovis.trace(lambda a: (second(a[0]), second(a[1])), hovis.float64[2])
    verify(trace.function)
    np.testing.assert_allclose(trace(np.array([2.0, 3.0])), [-0.25 / 2.0**1.5, -0.25 / 3.0**1.5], rtol=1e-9)
