"""Calls keep nothing, however many there are: the memory of the process stays what it is."""
import os
from pathlib import Path

import pytest

from benchmarks.leaks import KINDS, grown

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of the process is read from /proc")

LONG = "HOVIS_EXAMPLES" in os.environ
#: Calls in a stretch, and stretches; the least of them counts, for what is made on the way is made once.
CALLS, STRETCHES = (250_000, 4) if LONG else (20_000, 2)
#: Bytes a call, where 40 to 145 were kept.
MOST = 1.0 if LONG else 15.0


@pytest.mark.parametrize("kind", KINDS if LONG else ["int", "array", "several results", "changed argument"])
def test_memory_is_flat(kind):
    grown(kind, 3000)
    found = [grown(kind, CALLS) for _ in range(STRETCHES)]
    assert min(memory for memory, _ in found) < MOST * CALLS, found
    assert min(objects for _, objects in found) < 30, found
