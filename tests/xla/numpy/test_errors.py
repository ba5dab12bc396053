"""What NumPy refuses, or gives with a dtype or of a class that one does not think of."""
import operator

import numpy as np
import pytest

import hovis_xla
from hovis_xla.emit.values import Known
from hovis_xla.ops import ROWS
from tests.xla.harness.checking import agree

pytestmark = pytest.mark.xla

MASK = np.array([True, False, True])
FUNCTIONS = {
    "three bools in a row": lambda x: np.arange(3, dtype=bool),
    "two bools in a row": lambda x: np.arange(2, dtype=bool),
    "the angle of bools": lambda x: np.angle(x),
    "a gradient of bools": lambda x: np.gradient(x),
    "an int put into bools": lambda x: np.copyto(x, 1),
    "a float put into ints": lambda x: np.copyto(x.astype(np.int8), 2.5),
    "a negative int put into unsigned ones": lambda x: np.copyto(x.astype(np.uint8), -1),
    "an int put into unsigned ones": lambda x: np.copyto(x.astype(np.uint8), 7),
    "a product put into an array without dimensions": lambda x: np.dot(x, x, out=np.zeros((), bool)),
    "weights of nothing": lambda x: np.bincount(x[:0].astype(int), weights=x[:0], minlength=2),
    "a choice by unsigned ints": lambda x: np.choose(x[:0].astype(np.uint64), [1, 2]),
    "a sum of halves put into doubles": lambda x: np.sum(np.full(3, 0.1, np.float16) * x, out=np.zeros(())),
    "a sum of doubles put into singles": lambda x: np.add.reduce(np.full(3, 1e8) + x, out=np.zeros((), np.float32)),
    "a sum of unsigned ints put into complex numbers": lambda x: np.sum(np.full(3, 2**63, np.uint64), out=np.zeros((), complex)),
    "products that go on, put into doubles": lambda x: np.cumprod(np.full(3, 1.1, np.float32), out=np.zeros(3)),
    "a mean of singles put into doubles": lambda x: np.mean(np.full(3, 0.1, np.float32), out=np.zeros(())),
    "what is rounded as singles put into doubles": lambda x: np.round(np.full(3, 0.1, np.float32), 1, out=np.zeros(3)),
    "a sum put into an array of more dimensions": lambda x: np.sum(x.reshape(1, 3), axis=0, out=np.zeros((2, 3), int)),
    "the largest of each row put into all of a matrix": lambda x: np.max(x.reshape(1, 3), axis=0, out=np.zeros((1, 3), bool)),
    "a count put into an array": lambda x: np.count_nonzero(x.reshape(1, 3), axis=0, out=np.zeros(3, int)),
    "what is taken put into another dtype": lambda x: np.take(x, [0, 1], out=np.zeros(2)),
    "what adds up put where it comes from": lambda x: np.add.accumulate(y := np.arange(3.0) + x, out=y),
    "a matrix stored into a vector, as a list": lambda x: operator.setitem(x, slice(None), [[1, 2, 3]]),
    "a matrix stored into a vector, as an array": lambda x: operator.setitem(x, slice(None), np.ones((1, 3))),
    "a list stored as an element": lambda x: operator.setitem(x.astype(float), 0, [2]),
    "an array stored as an element": lambda x: operator.setitem(x.astype(float), 0, np.ones(1)),
    "an array stored as an element of bools": lambda x: operator.setitem(x, 0, x[1:2]),
    "an array without dimensions filled with an array": lambda x: operator.setitem(x.astype(float), (0, ...), np.ones(1)),
    "an array filled with an array": lambda x: x.astype(float).fill(np.ones(1)),
    "singles at equal distances": lambda x: np.linspace(0, np.float32(3) * x[0], 3),
    "halves at equal distances, and the distance": lambda x: np.linspace(np.float16(3) * x, 2, 3, retstep=True),
    "singles at equal ratios": lambda x: np.logspace(0.5, np.float32(3) * x[0], 3),
    "the next half, asked for as such": lambda x: np.nextafter(np.array([2**16 - 1, 1], np.uint16), np.uint8(0), dtype=np.float16, casting="same_kind"),
    "elements that are bounds of falling bins": lambda x: (np.digitize(x, [3, 1, 0]), np.digitize(x, [3.0, 1, 0], right=True)),
    "a clip that leaves all as it is": lambda x: np.clip(y := x.astype(int), None, None) is y,
    "a gradient of singles at places of doubles": lambda x: np.gradient(x.astype(np.float32), [0, 1, 3]),
    "a number that is clipped to arrays": lambda x: (np.clip(1, x.astype(np.int8), 3), np.clip(2.5, x.astype(np.float32), 3)),
    "a number and an array put together by a ufunc": lambda x: np.add.outer(1, np.arange(2, dtype=np.float32) + x[0]),
    "the ends of integers": lambda x: (np.quantile(x.astype(int), 1), np.quantile(x.astype(int), [0, 1]), np.quantile(x.astype(int), 0.5)),
    "a stack along an axis that there is not": lambda x: np.stack([x, x], axis=7),
    "joined along an axis that there is not": lambda x: np.concatenate([x, x], axis=-3),
    "taken along an axis that there is not": lambda x: np.take(x, [0], axis=5),
    "repeated along an axis that there is not": lambda x: np.repeat(x, 2, axis=5),
    "repeated by counts along an axis that there is not": lambda x: np.repeat(x, [1, 2, 3], axis=5),
    "picked along an axis that there is not": lambda x: np.compress(x, x, axis=5),
    "nothing padded with its mean": lambda x: np.pad(x[:0].astype(float), 1, mode="mean"),
    "padded with an option of another mode": lambda x: np.pad(x, 1, mode="edge", constant_values=1),
    "a store into a row of what is broadcast": lambda x: operator.setitem(np.broadcast_to(x, (2, 3))[1], 0, True),
    "a store into what is broadcast to its own shape": lambda x: operator.setitem(np.broadcast_to(x, (3,)), 0, False),
    "a store into a copy of what is broadcast": lambda x: operator.setitem(y := np.broadcast_to(x, (2, 3)).copy(), 0, False) or y,
    "a store into what has been broadcast": lambda x: (np.broadcast_to(x, (2, 3)), operator.setitem(x, 0, False)),
    "complex numbers where something holds": lambda x: np.multiply(y := x + 1j, y, where=x, out=np.ones(3, complex)),
    "singles added as complex numbers": lambda x: np.add(np.arange(3, dtype=np.float32), x, dtype=np.complex64),
    "a list of floats as an index": lambda x: x[[0.0]],
    "a store at a list of floats": lambda x: x.__setitem__([len(x) - 2.0], True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_refuses_it_or_gives_what_one_does_not_think_of(name):
    f = FUNCTIONS[name]
    agree(f, hovis_xla.jit(f, target="xla"), MASK)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_a_float_that_is_made_a_small_integer_has_to_fit(kind):
    def f(x):
        return kind(x)

    jitted = hovis_xla.jit(f, target="xla")
    for x in (5.5, -0.5, -2.5, 300.7, 1e30, float("nan"), float("-inf")):
        agree(f, jitted, x)


def test_what_is_padded_with_has_to_fit():
    def f(x):
        return np.pad(np.zeros(1, np.int8), 1, constant_values=x)

    jitted = hovis_xla.jit(f, target="xla")
    for x in (-2, np.int64(300), np.float64(300.5), np.int64(3)):
        agree(f, jitted, x)


def test_a_row_that_gives_another_dtype_than_numpy_is_not_followed(monkeypatch):
    monkeypatch.setitem(ROWS, np.cbrt, lambda low, x: low.call(np.ndarray.astype, [x, Known(np.float32)], {}))
    f = lambda x: np.cbrt(x)  # noqa: E731
    compiled = hovis_xla.jit(f, target="xla")
    agree(f, compiled, np.ones(3))
    assert "a value of the traced type float64[:] is lowered to one of type float32[:]" in compiled.explain()


def test_a_list_of_parts_of_an_array_is_stored_one_after_the_other():
    def f(m, a):
        m[:] = [m[1], m[0], a]
        return m * 2

    agree(f, hovis_xla.jit(f, target="xla"), np.arange(6.0).reshape(3, 2), np.ones(2))
