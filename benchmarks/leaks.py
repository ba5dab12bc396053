"""Does a jitted function keep anything?  100,000 calls each: objects, and memory of the process.

    python benchmarks/leaks.py [calls]
"""

import gc
import os
import sys
from pathlib import Path

import numpy as np

import hovis_xla


def loop(x, n):
    for k in range(n):
        x = x * 0.5 + k
    return x, n


def resident() -> float:
    """Megabytes of the process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(calls: int) -> None:
    small, large, overflow = np.ones(4), np.ones(20_000), 2**62
    kinds = {
        "scalars": (hovis_xla.jit(lambda x, n: x * n, target="xla"), lambda k: (1.5, k)),
        "arrays": (hovis_xla.jit(loop, target="xla"), lambda k: (small, 3)),
        "large arrays": (hovis_xla.jit(lambda x: x + 1, target="xla"), lambda k: (large,)),
        "given up": (hovis_xla.jit(lambda a, b: a * b, target="xla"), lambda k: (overflow, 1 + 3 * (k % 7 == 0))),
        "python": (hovis_xla.jit(lambda x, n: x * n, target="python"), lambda k: (1.5, k)),
        "dicts": (hovis_xla.jit(lambda d: d["x"] * d["n"], target="xla"), lambda k: ({"x": small, "n": k, "name": "a"},)),
    }
    for name, (fn, arguments) in kinds.items():
        for k in range(1000):
            fn(*arguments(k))
        gc.collect()
        objects, memory = len(gc.get_objects()), resident()
        for k in range(calls):
            fn(*arguments(k))
        gc.collect()
        print(f"{name:14} {len(gc.get_objects()) - objects:+6} objects  {resident() - memory:+7.1f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
