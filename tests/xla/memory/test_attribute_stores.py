"""Stores into attributes of arrays, and into all of their elements in one line."""

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, check, stays_python

pytestmark = pytest.mark.xla

A = np.arange(12.0).reshape(3, 4)
Z = A + 1j


def parts(z, x):
    z.real = 1.5
    z.imag[...] = x
    z.imag[0] = 7.0
    z.real *= 3
    w = z[1:]
    w.imag = 2
    return z + 1, w


def flat(a, k):
    a.flat[2] = 9.0
    a.flat[3:5] = 1
    a.flat[k] = a.flat[k + 1]
    a[1:].flat[-1] = -5.0
    return a.flat[1] + a.sum(), a.flat[1:4], a.flat[[1, 2]], len(a.flat)


def own(a):
    b = a * 2
    b.flat = 3
    b.flat[5] = 4
    c = np.zeros(4)
    c.real = a[0]
    return b, c, a


def in_a_loop(a, n):
    total = 0.0
    for k in range(n):
        a.flat[k] = a.flat[k] * 2 - total
        total += a.flat[k]
    return total


@pytest.mark.parametrize(("fn", "calls"), [
    (parts, [(Z, A)]), (flat, [(A, 4), (A, 10), (A, -12)]), (own, [(A,)]), (in_a_loop, [(A, 12), (A, 0)]),
])  # fmt: skip
def test_what_is_stored(fn, calls):
    check(fn, *calls, bails=False)


def test_elements_in_another_order():
    """A part of which no view in one line can be made: Python does it."""
    def columns(a):
        b = a * 1.0
        b.T.flat[1] = 5.0
        b[:, 1:3].flat[0] = 7.0
        return b

    def given(a):
        a.flat[1] = 5.0
        return a

    agree(columns, hovis_xla.jit(columns, target="xla"), A)
    for order in (A, A.T, A[:, ::2]):
        agree(given, hovis_xla.jit(given, target="xla"), order)


def test_what_numpy_refuses_or_begins_again():
    def again(a):
        a.flat[0:6] = np.array([1.0, 2.0])
        return a

    def imaginary(a):
        a.imag = 1.0
        return a

    def lost(a):
        a.real = 1j
        return a

    def returned(a):
        return a.flat

    for fn in (again, imaginary, lost):
        stays_python(fn, A)
    x = A.copy()
    assert hovis_xla.jit(returned, target="xla")(x).base is x


def test_what_is_given_back_is_pythons():
    array = np.arange(6.0).reshape(2, 3)
    for fn in (lambda a: (a * 2).flat, lambda a: a.T.flat):
        found, wanted = hovis_xla.jit(fn, target="xla")(array), fn(array)
        assert type(found) is type(wanted) and list(found) == list(wanted)
    given, doubled = hovis_xla.jit(lambda a: (a.flat, a * 2), target="xla")(array)
    assert given.base is array and np.array_equal(doubled, array * 2)


def by_index(a):
    for place in np.ndindex(a.shape):
        a[place] += sum(place)
    return list(np.ndindex(*a.shape[:2]))


def by_element(a):
    best, where = -1, None
    for place, value in np.ndenumerate(a):
        if value > best:
            best, where = value, place
            if value > 3:
                break
        a[...] = a + 1
    return best, where


def begun(a):
    places, elements = np.ndindex(a.shape), np.ndenumerate(a)
    next(places, None), next(elements, None)
    held = [places, isinstance(elements, np.ndenumerate)]
    return type(elements).__name__, elements.iter.index, list(zip(held[0], elements)), held[1], next(places, "end")


@pytest.mark.parametrize("fn", [by_index, by_element, begun], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("a", [np.ones((3, 4)), np.arange(5.0), np.zeros((0, 3)), np.array(3.0), np.arange(24).reshape(2, 3, 4)[::-1, :, ::2],
                               np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3))], ids=lambda a: f"{a.dtype}{a.shape}")  # fmt: skip
def test_from_place_to_place(fn, a):
    agree(fn, hovis_xla.jit(fn, target="xla", strict=fn is not begun), a)


def test_places_of_no_array():
    def counted(n):
        total = 0
        for i, j in np.ndindex(3, n):
            total += i * j
        return total

    check(counted, (4,), (0,), (1,), (-1,))


def elements(a):
    total = 0.0
    for x in a.flat:
        total += x
        a += 1
    return total, [x for x in a.T.flat]


def twice(a):
    first, second = a.flat, a.flat
    total = 0.0
    for x in first:
        total += x
        for y in second:
            total += y
    return total, first is second, next(first, "end"), list(second)


def gone_on(a):
    places = a.flat
    next(places, None)
    total = 0.0
    for x in places:
        total += x
        if total > 3:
            break
    started = iter(a.flat)
    return total, next(places, "end"), places.index, type(started).__name__, next(started, None), started.index, list(started)


@pytest.mark.parametrize("fn", [elements, twice, gone_on], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("a", [np.ones((3, 4)), np.zeros((0, 3)), np.array(3.0), np.asfortranarray(np.arange(6.0).reshape(2, 3))], ids=lambda a: str(a.shape))
def test_from_element_to_element(fn, a):
    agree(fn, hovis_xla.jit(fn, target="xla", strict=fn is elements), a)
