"""While hovis works garbage is collected less often, and afterwards as before."""
from __future__ import annotations

import gc
import threading

import pytest

import hovis
from hovis.base import gc_pause


@pytest.fixture(params=[(700, 10, 10), (50_000, 5, 5), (0, 10, 10)])
def thresholds(request):
    before = gc.get_threshold()
    gc.set_threshold(*request.param)
    yield request.param
    gc.set_threshold(*before)


def test_the_collector_is_as_it_was(thresholds):
    hovis.specialize(lambda x: [x, x], hovis.Int)
    assert gc.get_threshold() == thresholds
    with pytest.raises(KeyError), gc_pause.seldom():
        assert gc.get_threshold()[0] == (max(thresholds[0], gc_pause.PATIENCE) if thresholds[0] else 0)
        with gc_pause.seldom():
            pass
        assert gc.get_threshold()[0] >= thresholds[0]
        raise KeyError
    assert gc.get_threshold() == thresholds


def test_who_sets_it_meanwhile_is_heard(thresholds):
    with gc_pause.seldom():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


def test_threads_that_overlap(thresholds):
    inside, done = threading.Event(), threading.Event()

    def work():
        with gc_pause.seldom():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=work)
    with gc_pause.seldom():
        thread.start()
        inside.wait(10)
    assert gc.get_threshold()[0] == (max(thresholds[0], gc_pause.PATIENCE) if thresholds[0] else 0)
    done.set()
    thread.join()
    assert gc.get_threshold() == thresholds
