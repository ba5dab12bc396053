"""Derived functions with loops, as one executable each: tapes are arrays, and the loops stay loops."""

import numpy as np
import pytest

import hovis
import hovis_xla


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


def test_a_loop_of_more_rounds_than_the_tape_has_slots_is_done_by_python():
    compiled = hovis_xla.jit(hovis.grad(decays), target="xla")
    for rounds in (150000.0, 100.0):
        np.testing.assert_allclose(compiled(0.7, rounds), hovis.grad(decays)(0.7, rounds), rtol=1e-9)
