"""Derived functions with loops, as one executable each: tapes are arrays, and the loops stay loops."""

import math

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis_xla.jaxlib import compilation
from hovis_xla.ops.memory import tapes
from hovis_xla.runtime import capacity_retry


def newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def recurrent(steps, weight):
    h = np.zeros(3)
    total = 0.0
    for t in range(steps.shape[0]):
        h = np.tanh(weight @ h + steps[t])
        total = total + np.sum(h * h)
    return total


def searches(x, n):
    for _ in range(n):
        step = 1.0
        while (x - step) * (x - step) > x * x - 0.3 * step * x:
            step = step * 0.5
        x = x - step * 0.9 * x
    return x


def decays(x, rounds):
    done = 0.0
    while done < rounds:
        x = x * (1.0 - 1e-6 * x)
        done = done + 1.0
    return x


def is_one_executable(compiled):
    (variant,) = compiled._variants.values()
    return variant.xla is not None


@pytest.mark.parametrize(
    ("f", "args", "k"),
    [(newton, (2.0,), 0), (recurrent, (np.linspace(0, 1, 120).reshape(40, 3), np.eye(3) * 0.4), 1), (searches, (1.3, 4), 0)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_gradient_through_loops_is_one_executable(f, args, k):
    compiled = hovis_xla.jit(hovis.grad(f, argnums=k), target="xla")
    np.testing.assert_allclose(compiled(*args), hovis.grad(f, argnums=k)(*args), rtol=1e-12, atol=1e-15)
    assert is_one_executable(compiled)


def summed(x, rounds, shown=None):
    """Two loops of lengths that nobody knows, one in the other, and a third one."""
    total, done = 0.0, 0.0
    while done < rounds:
        y, inner = x, 0.0
        while inner < done:
            y = math.sin(y) + x
            inner = inner + 1.0
        total = total + y * x
        done = done + 1.0
        if shown is not None and done % shown == 0.0:
            print("at", done)
    while x > 1e-3:
        x = x * (1.0 - 0.5 * x * x)
    return total + x


@pytest.fixture
def tapes_are_short(monkeypatch):
    monkeypatch.setattr(tapes, "BYTES", 64)
    monkeypatch.setattr(tapes, "SLOTS", 8)


def test_the_tape_of_a_loop_grows_with_its_rounds():
    slope = hovis_xla.jit(hovis.grad(decays), target="xla")
    for rounds in (10.0, 1e6, 1e3, 1e6):
        # x' = x - x^2 / 10^6, nearly the solution of x' = -x^2 / 10^6
        assert slope(0.7, rounds) == pytest.approx(1.0 / (1.0 + 0.7e-6 * rounds) ** 2, rel=1e-5)
    assert slope(0.7, 1e3) == pytest.approx(hovis.grad(decays)(0.7, 1e3), rel=1e-12)
    (variant,) = slope._variants.values()
    assert is_one_executable(slope)
    assert variant.contest.given_up == 0
    assert "grown" in variant.explain()


def squares(x, rounds):
    """The inner loop has no round at first."""
    total, done = 0.0, 0.0
    while done < rounds:
        y, inner = x, 0.0
        while inner < done:
            y = y * y
            inner = inner + 1.0
        total = total + y
        done = done + 1.0
    return total


@pytest.mark.parametrize("derived", [hovis.grad(summed), hovis.grad(hovis.grad(squares))], ids=["first", "second"])
def test_each_tape_grows_by_itself_and_again(tapes_are_short, derived):
    compiled = hovis_xla.jit(derived, target="xla")
    for rounds in (3.0, 9.0, 40.0, 5.0):
        assert compiled(0.3, rounds) == pytest.approx(derived(0.3, rounds), rel=1e-10), rounds
    (variant,) = compiled._variants.values()
    assert variant.xla is not None
    assert variant.contest.given_up == 0


def test_what_can_be_seen_of_a_call_that_is_done_again_is_done_once(tapes_are_short, capsys):
    compiled = hovis_xla.jit(hovis.grad(summed), target="xla")
    for rounds in (4.0, 20.0, 20.0):
        found = compiled(0.3, rounds, 3.0)
        printed = capsys.readouterr().out
        assert found == pytest.approx(hovis.grad(summed)(0.3, rounds, 3.0), rel=1e-10)
        assert printed == capsys.readouterr().out


def halved(a, x):
    """It stores into what it is given."""
    while a[0] > 1e-6:
        a[0] = a[0] * x
    return a[0] * x


def test_arrays_of_the_caller_are_stored_into_once(tapes_are_short):
    compiled = hovis_xla.jit(hovis.grad(halved, argnums=1), target="xla")
    ours, theirs = np.array([1.0]), np.array([1.0])
    for x in (0.1, 0.9, 0.95):
        ours[0] = theirs[0] = 1.0
        assert compiled(ours, x) == pytest.approx(hovis.grad(halved, argnums=1)(theirs, x), rel=1e-10)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_tapes_that_would_take_too_much_memory_are_python(tapes_are_short, monkeypatch):
    monkeypatch.setattr(capacity_retry, "MOST", 1 << 10)
    compiled = hovis_xla.jit(hovis.grad(decays), target="xla")
    for rounds in (5.0, 100.0, 500.0, 6.0):
        assert compiled(0.7, rounds) == pytest.approx(hovis.grad(decays)(0.7, rounds), rel=1e-12)


def many_steps(rate, end):
    t, y = 0.0, 0.01
    while t < end:
        a = rate * y * (1.0 - y)
        b = np.sin(y + 0.5 * a) * a
        c = np.exp(-b) * b + a * b
        y = y + 0.01 * (a + 2.0 * b + 3.0 * c) / 6.0
        t = t + 0.1 / (1.0 + y * y)
    return y


def test_tapes_together_are_no_more_than_a_native_loop_carries():
    made = hovis_xla.jit(hovis.grad(many_steps), target="xla").lower(0.5, 3.0)
    tapes = made._executable.lowered.tapes
    assert len(tapes) > 3
    assert sum(tape.slots * tape.bytes for tape in tapes) < compilation.NATIVE_LOOP_BYTES
