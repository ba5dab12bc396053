"""CPython's own JIT compiler (``PYTHON_JIT=1``) makes no difference: hovis, which then runs under it as well, gives the same results."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = getattr(sys, "_jit", None)
ROOT = Path(__file__).parents[3]
#: Tests that work the loops and generators of hovis hard enough for the compiler to compile them.
HARD = ["tests/differential/exceptions/test_with.py", "tests/differential/functions/test_function_attributes.py", "tests/differential/stdlib/test_newer_pythons.py"]


@pytest.mark.skipif(COMPILER is None or not COMPILER.is_available(), reason="this Python has no JIT compiler")
@pytest.mark.parametrize("tests", HARD)
def test_what_passes_without_it_passes_with_it(tests):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {"PYTHON_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", "import sys; print(sys._jit.is_enabled())"], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
