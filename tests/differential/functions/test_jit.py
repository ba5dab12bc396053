"""The jit's own manners: what it takes, what it keeps, how it is bound, copied and pickled."""
from __future__ import annotations

import copy
import functools
import pickle
import threading

import pytest

import hovis

LEVEL = 0


class Pair:
    def __init__(self, x):
        self.x = x

    @hovis.jit
    def times(self, y):
        return self.x * y

    @classmethod
    @hovis.jit
    def named(cls, y):
        return cls.__name__, y

    @staticmethod
    @hovis.jit
    def more(y):
        return y + 1

    def __call__(self, z):
        return self.x, z


@hovis.jit
def level(x):
    return x + LEVEL


def numbers(n):
    yield from range(n)


def test_what_can_be_jitted():
    assert (Pair(3).times(4), Pair.times(Pair(5), 4), Pair.named(4), Pair(3).named(4), Pair.more(4)) == (12, 20, ("Pair", 4), ("Pair", 4), 5)
    assert hovis.jit(Pair(4))(5) == (4, 5)
    assert hovis.jit(functools.partial(Pair(2), 3))() == (2, 3)
    assert list(hovis.jit(numbers)(3)) == [0, 1, 2]
    assert hovis.jit(len)([1]) == 1
    for wrong in (5, classmethod(numbers)):
        with pytest.raises(TypeError):
            hovis.jit(wrong)
    with pytest.raises(TypeError):
        hovis.jit(numbers, static="nope")


def test_by_reference():
    assert pickle.loads(pickle.dumps(level)) is copy.copy(level) is copy.deepcopy(level) is level


def test_keys_are_values():
    jitted = hovis.jit(lambda a, b: (a, b))
    jitted(1, {"x": (1.5, "s"), "y": [1]})
    for variant in jitted._variants.values():
        assert pickle.loads(pickle.dumps(variant.key)) == variant.key


def test_large_and_cyclic_arguments():
    size = hovis.jit(lambda x: len(x))
    cycle = {}
    cycle["a"] = cycle
    assert [size(x) for x in (tuple(range(10**5)), {str(k): k for k in range(10**4)}, cycle)] == [10**5, 10**4, 1]


def test_one_dict_as_two_arguments():
    jitted = hovis.jit(lambda a, b: (a.__setitem__("k", 1), b["k"], a is b)[1:])
    shared = {"k": 0}
    assert (jitted(shared, shared), jitted({"k": 0}, {"k": 0})) == ((1, True), (0, False))


TABLE = {k: k if k % 2 else str(k) for k in range(40)}


@pytest.mark.parametrize("values", [range(40), map(str, range(40)), [(0,) * k for k in range(40)]])
def test_many_values_are_no_keys(values):
    jitted = hovis.jit(lambda x: TABLE.get(x, x))
    for value in values:
        assert jitted(value) == TABLE.get(value, value)
    assert jitted.cache_info()["made"] <= 10


def test_what_changes_all_the_time_is_read():
    global LEVEL
    jitted = hovis.jit(lambda x: x + LEVEL)
    for LEVEL in range(40):  # noqa: B007
        assert jitted(1) == 1 + LEVEL
    assert jitted.cache_info()["made"] <= 6


def test_threads_and_a_global_that_changes():
    global LEVEL
    LEVEL = 0
    wrong = []

    def call():
        for _ in range(100):
            low = LEVEL
            found = level(0)
            if not low <= found <= LEVEL:
                wrong.append(found)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for LEVEL in range(1, 20):  # noqa: B007
        level(0)
    for thread in threads:
        thread.join()
    assert not wrong
