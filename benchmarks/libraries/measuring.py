"""What the benchmarks of libraries share: a process for each measurement, and the operations that traces consist of."""
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from hovis.ir.model import Effect

#: A measurement that is not done after this many seconds is given up.
PATIENCE = 300.0


def apart(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script in a process of its own; return what its last line says, which is JSON, or why there is none."""
    command = [sys.executable, "-W", "ignore", script, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return {"state": "late", "why": f"not done after {PATIENCE:g} s"}
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return {"state": "crashed", "why": last[0]}


def left(traces: Iterable[Any]) -> tuple[int, int]:
    """Return how many operations traces consist of, and how many of these are opaque."""
    ops = [op for trace in traces for function in trace.functions for op in function.ops()]
    return len(ops), sum(bool(op.effect & Effect.OPAQUE) for op in ops)
