"""What is stored into an array in a loop: computed in place where it reads nothing that the store overwrites, and right in any case."""
import re

import numpy as np
import pytest

import hovis
import hovis_xla
from tests.xla.harness.checking import agree

pytestmark = pytest.mark.xla

R = np.random.default_rng(5)


def relax(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a[1:, :] -= 0.5 * (b[1:, :] - b[:-1, :])
        a[1:-1, 1:-1] = b[1:-1, 1:-1] * a[1:-1, 1:-1]


def shift(a, b, steps):
    """Values that read what they overwrite, elsewhere than where they are stored."""
    total = 0.0
    for k in range(steps):
        a[1:] = a[:-1] * 0.5
        a[:-1] += a[1:]
        b[2:-2] = b[2:-2][::-1] + a[2:-2]
        earlier = a[:-2] + a[2:]
        a[5:50] = k
        a[1:-1] = earlier
        old = b.copy()
        b[1:-1] = old[:-2] - old[2:]
        first = b[7]
        b[3:] = a[3:]
        total += first * b[3:].sum()
        b[: len(a)] = np.where(a > 0, b, a)
    return total


def turn(m, x, steps):
    """The same in two dimensions, where axes change places."""
    for k in range(steps):
        m[1:, 1:] = m.T[1:, 1:] + x[1:, 1:]
        m[k : k + 4, :] = m[k : k + 4, ::-1]
        m[:, k : k + 3] += m[:, k : k + 3] * x[:, 1:4]
        x[2:, :] = m[2:, :] @ m * 0.01
        x[:, 0] = m[0]
        m[1:3] = m[0]
    return m + x


def fused_stores(text):
    """How many stores are part of a kernel that computes what is stored."""
    found = re.findall(r"^%(\S+) .*?\n((?:  .*\n)+)", text, re.MULTILINE)
    return sum("fused" in name and "dynamic-update-slice(" in body for name, body in found)


def test_what_reads_other_cells_is_stored_as_it_is_computed():
    args = R.normal(size=(40, 41)), R.normal(size=(40, 41)), 7
    jitted = hovis_xla.jit(relax, strict=True)
    compiled = jitted.lower(*args).compile()
    assert fused_stores(compiled.as_text()) == 3
    assert compiled.loops.copies == 0
    agree(relax, jitted, *args)


@pytest.mark.parametrize(("fn", "shape"), [(shift, (80,)), (turn, (12, 12))])
def test_what_is_overwritten_is_read_before(fn, shape):
    args = R.normal(size=shape), R.normal(size=shape), 6
    agree(fn, hovis_xla.jit(fn, strict=True), *args)


class Layer:
    def __init__(self, w, b):
        self.w, self.b, self.calls = w, b, 0

    def update(self, x, rate):
        self.w -= rate * x
        self.b += self.w.sum()
        self.calls += 1


def train(params, rows, x, steps):
    """Arrays in containers are changed in place: the containers hold what they held."""
    seen = np.zeros(steps)
    for k in range(steps):
        params["w"] -= 0.1 * x * params["b"]
        params["inner"]["v"] *= 0.5
        rows[1] += params["w"][0] + rows[0]
        rows[0][k] = k
        seen[k] = params["w"].sum() + rows[1].sum()
    return seen, params["rate"] * seen[-1]


def network():
    return {"w": np.ones(5), "b": np.arange(5.0), "inner": {"v": np.ones((2, 2))}, "rate": 0.5}, [np.ones(5), np.zeros(5)], np.linspace(0, 1, 5)


def test_arrays_in_containers_change_in_place():
    jitted = hovis_xla.jit(train, strict=True)
    for steps in (3, 4):
        agree(train, jitted, *network(), steps)
    params, rows, x = network()
    w, row = params["w"], rows[1]
    jitted(params, rows, x, 3)
    assert params["w"] is w
    assert rows[1] is row


def test_what_is_no_array_is_put_anew():
    def mixed(params, x):
        params["n"] += 1
        params["w"] = params["w"] + x
        params["w"] += x
        return params["n"], params["w"].sum()

    for jit in (hovis_xla.jit, hovis.jit):
        agree(mixed, jit(mixed), {"n": 1, "w": np.ones(3)}, np.arange(3.0))


def test_attributes_hold_what_was_changed_in_place():
    def step(layer, x):
        for _ in range(3):
            layer.update(x, 0.5)
        return layer.w.sum(), layer.b

    for jit in (hovis_xla.jit, hovis.jit):
        layer, other = Layer(np.ones(4), np.zeros(4)), Layer(np.ones(4), np.zeros(4))
        w = layer.w
        (total, b), (wanted, c) = jit(step)(layer, np.arange(4.0)), step(other, np.arange(4.0))
        assert (total, layer.calls) == (wanted, other.calls)
        assert layer.w is w
        assert b is layer.b
        np.testing.assert_array_equal(layer.w, other.w)
        np.testing.assert_array_equal(b, c)
