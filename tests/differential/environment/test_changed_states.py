"""What was known of library functions while tracing, after the state that they read has changed: contexts, time zones, error handlers, patched modules."""
import os
import subprocess
import sys

import pytest

SHARE = 1 if "HOVIS_EXAMPLES" in os.environ else 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the states are those of processes")
def test_results_are_those_of_the_state_as_it_is():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    command = [sys.executable, "-m", "tests.differential.harness.changing_states", str(SHARE)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=900, check=False)
    assert done.stdout == "done\n", done.stdout + done.stderr
