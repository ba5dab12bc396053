"""A process that has used XLA is forked, or starts others, and none of them hangs, dies or errs; see ``in_forks``."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TIMES = 20 if "HOVIS_EXAMPLES" in os.environ else 1
HANGS = 600

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(kind, seed=0):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOVIS_CACHE_DIR": "off", "HOVIS_TARGET": "auto"}
    program = [sys.executable, str(ROOT / "tests" / "xla" / "harness" / "in_forks.py"), kind, str(seed)]
    found = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=HANGS)
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["fork", "unused", "fork_pool", "forkserver_pool", "spawn_pool", "executor"])
def test_children(kind):
    run(kind)


@pytest.mark.parametrize("seed", range(TIMES))
def test_children_that_are_forked_at_any_moment(seed):
    run("random", seed)


def test_children_of_joblib():
    pytest.importorskip("joblib", reason="joblib is not installed")
    run("loky")
