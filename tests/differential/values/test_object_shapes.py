"""Objects that contain themselves, nest deep, or are made by deep calls."""
from __future__ import annotations

import pytest

import hovis
from hovis.arguments.specs import Int


class Cons:
    def __init__(self, rest):
        self.rest = rest


def recursive_closure(x):
    def fact(k):
        return x if k <= 0 else k * fact(k - 1)
    return fact


def linked(k):
    found = None
    for _ in range(2000):
        found = Cons(found)
    return found, k


def ring(x):
    a = [x]
    b = (a, 1)
    a.append(b)
    d = {"k": a}
    a.append(d)
    return b


def nested(n):
    found = ()
    for _ in range(300):
        found = (found, n)
    return found


def countdown(n):
    return 0 if n == 0 else 1 + countdown(n - 1)


def test_a_function_in_its_own_cell_is_one_function():
    fact = hovis.specialize(recursive_closure, Int)(3)
    assert fact is fact.__closure__[0].cell_contents
    assert fact(4) == recursive_closure(3)(4)


def test_a_long_chain_of_objects():
    made, k = hovis.specialize(linked, Int)(7)
    length = 0
    while made is not None:
        made, length = made.rest, length + 1
    assert (length, k) == (2000, 7)


def test_a_ring_of_containers():
    b = hovis.specialize(ring, Int)(5)
    a = b[0]
    assert a[0] == 5
    assert a[1] is b
    assert a[2]["k"] is a


def test_deep_tuples():
    trace = hovis.trace(nested, Int)
    assert not trace.fallback
    found, depth = trace.compile()(4), 0
    while found:
        assert found[1] == 4
        found, depth = found[0], depth + 1
    assert depth == 300


def test_deep_known_recursion_is_folded():
    assert str(hovis.trace(countdown, 500)).splitlines()[-1] == "  return 500"


def test_deeper_than_python_goes():
    with pytest.raises(RecursionError):
        hovis.specialize(countdown, 3000)()
