"""Arrays on the device: given back, taken again, and never sharing memory with what can be stored into."""

import gc

import numpy as np
import pytest

import hovis_xla
from hovis_xla.jaxlib.adapter import DeviceArray
from tests.xla.harness.checking import same

pytestmark = pytest.mark.xla

TARGETS = pytest.mark.parametrize("target", ["xla", "python"])
N = 20000  # results of so many floats stay in XLA's memory


def placed(fn, target):
    return hovis_xla.jit(fn, target=target, device_results=True)


@TARGETS
@pytest.mark.parametrize("size", [3, N])
def test_results_go_into_the_next_call(target, size):
    f = placed(lambda x, more: (x * 2 + more["y"][0], {"total": x.sum(), "list": [x < 1]}), target)
    x, y = np.arange(float(size)), np.ones(size)
    first, rest = f(x, {"y": (y,)})
    assert type(first) is DeviceArray and type(rest["list"][0]) is DeviceArray and same(rest["total"], x.sum())
    again, _ = f(first, {"y": (y,)})
    assert same(np.asarray(again), (x * 2 + 1) * 2 + 1) and same(np.asarray(first), x * 2 + 1)


@TARGETS
def test_what_is_stored_into_is_the_callers(target):
    def f(a, b):
        a[0] = 7.0
        b += a
        return a, b[1:], b * 1.0

    g = placed(f, target)
    for _ in range(2):
        a, b = np.zeros(N), np.ones(N)
        found = g(a, b)
        assert a[0] == 7.0 and b[0] == 8.0
        a[:] = b[:] = 99.0
        assert [np.asarray(x).max() for x in found] == [7.0, 1.0, 8.0]
    with pytest.raises(ValueError, match="read-only"):
        g(found[0], b)


@TARGETS
def test_what_others_know_of_is_copied(target):
    kept = []

    def f(x):
        made = x + 1.0
        kept.append(made)
        return made, made

    first, second = hovis_xla.jit(f, device_results=True, target=None if target == "xla" else target)(np.zeros(N))
    assert first is second
    kept[0][:] = -1.0
    assert np.asarray(first).min() == 1.0
    view, whole = placed(lambda x: (x[1:], x), target)(np.zeros(N))
    assert np.asarray(view).shape == (N - 1,) and not np.shares_memory(np.asarray(view), np.asarray(whole))


@TARGETS
def test_what_comes_back_as_it_went_in(target):
    f = placed(lambda x: (x, x.T + 1.0, x.real.astype(np.float16), x > 0, x[:0].astype(int), np.float32(2)), target)
    (device,) = placed(lambda x: (x + 1,), target)(np.ones((150, 200)))
    same_one, *others, number = f(device)
    assert same_one is device and type(number) is np.float32
    assert [np.asarray(x).dtype.name for x in others] == ["float64", "float16", "bool", "int64"]
    assert all(np.asarray(x).flags.c_contiguous for x in others)


def test_memory_lives_as_long_as_its_arrays():
    f = placed(lambda x: x + 1.0, "python")
    arrays = [f(np.full(N, float(k))) for k in range(8)]
    gc.collect()
    assert [np.asarray(a)[-1] for a in arrays] == [k + 1.0 for k in range(8)]


def test_other_results_are_left_alone():
    shared = [1, 2]
    circle = []
    circle.append(circle)
    f = hovis_xla.jit(lambda x: ("text", x, shared, circle, np.array(["a"]), np.array([None])), device_results=True)
    text, array, again, round_, words, objects = f(np.ones(2))
    assert text == "text" and type(array) is DeviceArray and again is shared and round_ is circle
    assert type(words) is np.ndarray and type(objects) is np.ndarray
