"""Does a jitted function leak?  1,000,000 calls of each kind: growth of the process's memory and of the number of objects.

    python benchmarks/leaks.py [calls [kind …]]

The garbage collector runs only after many containers have been allocated, and many loops allocate none: no memory may depend on it.
"""

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hovis
import hovis_xla

SMALL, LARGE, HUGE, OVERFLOW = np.ones(4), np.ones(20_000), np.ones(40_000), 2**62


def scaled(x, n):
    return x * n


def loop(x, n):
    for k in range(n):
        x = x * 0.5 + k
    return x, n


def several(x, n):
    return x * 3.0, n + 1, {"x": x, "more": [x + 1.0, n]}


def changed(x, n):
    x[0] = x[1] + n


def of_dict(d):
    return d["x"] * d["n"]


def printed(x, n):
    for k in range(n):
        if x > 1e9:
            print(k)
    return x * n


#: For each kind: the function, and its arguments in the k-th call.
KINDS: dict[str, tuple[Callable, Callable]] = {
    "int": (hovis_xla.jit(scaled, target="xla"), lambda k: (k, 3)),
    "float": (hovis_xla.jit(scaled, target="xla"), lambda k: (1.5, k)),
    "array": (hovis_xla.jit(loop, target="xla"), lambda k: (SMALL, 3)),
    "large array": (hovis_xla.jit(scaled, target="xla"), lambda k: (LARGE, k)),
    "huge array": (hovis_xla.jit(scaled, target="xla"), lambda k: (HUGE, k)),
    "several results": (hovis_xla.jit(several, target="xla"), lambda k: (SMALL, k)),
    "changed argument": (hovis_xla.jit(changed, target="xla"), lambda k: (SMALL, k)),
    "dict": (hovis_xla.jit(of_dict, target="xla"), lambda k: ({"x": SMALL, "n": k, "name": "a"},)),
    "given up": (hovis_xla.jit(scaled, target="xla"), lambda k: (OVERFLOW, 1 + 3 * (k % 7 == 0))),
    "with an act": (hovis_xla.jit(printed, target="xla"), lambda k: (1.5, 2)),
    "default": (hovis_xla.jit(loop), lambda k: (SMALL, 3)),
    "python": (hovis_xla.jit(scaled, target="python"), lambda k: (1.5, k)),
    "hovis.jit": (hovis.jit(scaled), lambda k: (1.5, k)),
    "specialize": (hovis.specialize(scaled, hovis.Int, hovis.Int), lambda k: (k, 3)),
    "compiled": (hovis_xla.compile(hovis.trace(scaled, hovis.Int, hovis.Int)), lambda k: (k, 3)),
}


def resident() -> int:
    """Return the resident memory of the process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def grown(name: str, calls: int) -> tuple[int, int]:
    """Return the growth of the process in bytes, and of the number of objects, over `calls` calls."""
    fn, arguments = KINDS[name]
    gc.collect()
    objects, memory = len(gc.get_objects()), resident()
    for k in range(calls):
        fn(*arguments(k))
    memory = resident() - memory
    gc.collect()
    return memory, len(gc.get_objects()) - objects


def main(calls: int, names: list[str]) -> None:
    for name in names or KINDS:
        grown(name, 3000)
        memory, objects = grown(name, calls)
        print(f"{name:16} {objects:+6} objects  {memory / 2**20:+7.1f} MiB  {memory / calls:+7.2f} bytes a call", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:])
