"""Random programs in which objects, generators, closures, dicts and exceptions hold arrays (``python -m tests.xla.harness.random_mixed`` runs many)."""
import contextlib
import gc
import os
import types
import warnings

import pytest

import hovis
import hovis_xla
from hovis.base import deadline
from tests.xla.harness.random_mixed import WAYS, arguments, differing, loaded, program

pytestmark = pytest.mark.xla

SEEDS = range(10_000, 10_000 + max(4, int(os.environ.get("HOVIS_EXAMPLES", "4"))))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_mixed(seed, monkeypatch):
    monkeypatch.setenv(deadline.VARIABLE, "60")
    assert differing(seed) is None, program(seed)


@pytest.mark.parametrize("way", WAYS)
def test_no_frames_are_kept(way, monkeypatch):
    """What hovis keeps of its own exceptions would hold the user's frames, and with them generators that are to end there."""
    monkeypatch.setenv(deadline.VARIABLE, "60")
    own = tuple(os.path.dirname(package.__file__) + os.sep for package in (hovis, hovis_xla))
    gc.collect()
    gc.disable()
    others = [at for at in gc.get_objects() if type(at) is types.TracebackType]  # of other tests
    ids = set(map(id, others))
    try:
        for seed in (1, 2, 101194):
            fn = WAYS[way](loaded(seed, program(seed))["f"])
            for number in (0, 1, 2):
                with warnings.catch_warnings(), contextlib.suppress(Exception):
                    warnings.simplefilter("ignore")
                    fn(*arguments(seed, number))
                kept = {at.tb_frame.f_code.co_qualname for at in gc.get_objects() if type(at) is types.TracebackType and id(at) not in ids and at.tb_frame.f_code.co_filename.startswith(own)}
                assert not kept, (seed, number)
    finally:
        gc.enable()
