"""Random programs in which objects, generators, closures, dicts and exceptions hold arrays (``python -m tests.xla.random_mixed`` runs many)."""
import os

import pytest

from hovis import deadline
from tests.xla.random_mixed import differing, program

pytestmark = pytest.mark.xla

SEEDS = range(10_000, 10_000 + max(4, int(os.environ.get("HOVIS_EXAMPLES", "4"))))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_mixed(seed, monkeypatch):
    monkeypatch.setenv(deadline.VARIABLE, "60")
    assert differing(seed) is None, program(seed)
