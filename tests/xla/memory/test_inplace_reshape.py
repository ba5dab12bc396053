"""``a.shape = …``: all names for the array have the new shape, views made before keep theirs."""

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.lattice import Array
from tests.xla.harness.checking import agree, check, compiled

pytestmark = [pytest.mark.xla, pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")]  # NumPy 2.5 and later


def test_all_names_see_it():
    def several(x, n):
        y = np.zeros((3, 4))
        z, row, held = y, y[1], [y]
        y += 1
        before = len(z)
        y.shape = n, -1
        z[0] = x
        return y[:1] + 1, z.sum(), row * 2, held[0].ndim, before, len(z), z.shape

    check(several, (2.0, 2), (3.5, 12), (1, 1))


def test_rows_that_are_unpacked():
    def grids(n):
        rows, columns = np.mgrid[0:n, 0:3]
        both = rows * 10.0 + columns
        rows.shape = columns.shape = both.shape = n * 3
        both[columns == 1] = -1
        return rows, columns, both

    check(grids, (4,), (1,))


@pytest.mark.parametrize("shape", [(5,), (2, 6), (-1, 5), 12, 7])
def test_what_does_not_fit_raises(shape):
    def changed(a, shape):
        b = a + 1
        b.shape = shape
        return b

    a = np.arange(12.0).reshape(3, 4)
    jitted = hovis_xla.jit(changed, target="xla")
    agree(changed, jitted, a, shape)
    agree(changed, jitted, a.T, shape)


def turned(a):
    b = (a * 2).T
    b.shape = 12
    return b


def second_name(a, n):
    b = c = a + 1
    if n > 1:
        b = a + 2
    b.shape = 12
    return b, c


def known_elsewhere(a, n):
    b = np.asarray(a)
    b.shape = 12
    return b, a.shape


def given_out(a, n):
    b = np.add(a, 1)
    c = np.multiply(b, b, b)
    b.shape = 2, 6
    return c.shape, c is b


def in_rounds(a, n):
    total = 0.0
    for k in range(n):
        b = a * k
        c = b[1:]
        b.shape = 12
        b[-1] = 5
        total += c.sum() + len(b)
    return total


def kept(a, n):
    b = a + 1
    objects = np.empty(1, object)
    objects[0] = b
    b.shape = 12
    return objects[0].shape


@pytest.mark.parametrize("fn", [second_name, known_elsewhere, given_out, in_rounds, kept], ids=lambda fn: fn.__name__)
def test_other_names_that_are_not_known(fn):
    jitted = hovis_xla.jit(fn, target="xla")
    for n in (0, 1, 2):
        agree(fn, jitted, np.arange(12.0).reshape(3, 4), n)


def test_rows_of_unknown_number_have_a_type():
    def pair(a):
        x, y = a
        return x * y

    assert "Any" not in str(hovis.trace(pair, Array(np.ndarray, np.dtype(float), 2)))
    jitted = compiled(pair)
    agree(pair, jitted, np.ones((2, 3)))
    agree(pair, hovis_xla.jit(pair), np.ones((3, 3)))
