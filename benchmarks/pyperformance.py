"""The pure-Python programs of pyperformance under ``hovis.jit``: the function that each of them times, beside itself.

    pip install -e .[pyperformance]      # in an environment of its own
    python benchmarks/pyperformance.py [-k PATTERN] [--way jit|xla] [--json FILE]

Each program runs in a process of its own, in which ``pyperf.Runner`` is replaced by one that keeps the functions that it is given. They are called for
some seconds first, as a server would be warmed. ``first``: CPU seconds of the first call, less those of a plain one. ``x plain``: how many times faster
it is than the plain function (both in turn, the least of several rounds). Speeds never gate; the exit status is 1 if a program crashes or is
not done in time.
"""
import argparse
import importlib.metadata
import json
import re
import runpy
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from libraries.measuring import apart

import hovis

#: The programs: those whose work is done by Python code.
PROGRAMS = (
    "chaos", "comprehensions", "coroutines", "crypto_pyaes", "deepcopy", "deltablue", "fannkuch", "float", "generators", "go", "hexiom", "json_dumps",
    "json_loads", "logging", "mdp", "nbody", "nqueens", "pidigits", "pyflate", "raytrace", "richards", "scimark", "spectral_norm", "telco",
    "unpack_sequence",
)  # fmt: skip
#: Wall-clock seconds for which a function is called before it is timed, and for which it is timed; the least number of rounds.
WARMING = 8.0
TIMING = 4.0
ROUNDS = 5


class Runner:
    """Keeps what it is to time, as functions without arguments."""

    kept: ClassVar[dict[str, tuple]] = {}

    def __init__(self, add_cmdline_args=None, **_):
        self.metadata = {}
        self.argparser = argparse.ArgumentParser()

    def parse_args(self, args=None):
        return self.argparser.parse_args([])

    def bench_func(self, name, fn, *args, **_):
        self.kept[name] = fn, args

    def bench_time_func(self, name, fn, *args, **_):
        self.kept[name] = fn, (1, *args)  # the number of loops


def timed_by(program):
    """Run a program; return the functions that it times, with their arguments."""
    pyperf = ModuleType("pyperf")
    pyperf.Runner, pyperf.perf_counter, pyperf.python_implementation = Runner, time.perf_counter, lambda: "cpython"
    sys.modules["pyperf"] = pyperf
    folder = importlib.metadata.distribution("pyperformance").locate_file(f"pyperformance/data-files/benchmarks/bm_{program}")
    sys.argv[1:] = []
    sys.path[0] = str(folder)
    runpy.run_path(str(Path(folder) / "run_benchmark.py"), run_name="__main__")
    return Runner.kept


def seconds(fn, args, clock=time.perf_counter):
    """Return the seconds that a call takes."""
    start = clock()
    fn(*args)
    return clock() - start


def measure(program, way):
    """Return the numbers of a program, one row for each function that it times."""
    try:
        kept = timed_by(program)
    except importlib.metadata.PackageNotFoundError as missing:
        return {"state": "not installed", "why": f"no package {missing}"}
    if way == "xla":
        import hovis_xla

    rows = []
    for name, (fn, args) in kept.items():
        plain = min(seconds(fn, args, time.process_time) for _ in range(2))
        made = hovis.jit(fn) if way == "jit" else hovis_xla.jit(fn)
        first = seconds(made, args, time.process_time) - plain
        end = time.perf_counter() + WARMING
        while time.perf_counter() < end:
            made(*args)
        rounds, end = [], time.perf_counter() + TIMING
        while len(rounds) < ROUNDS or time.perf_counter() < end:
            rounds.append((seconds(fn, args), seconds(made, args)))
        before, after = (min(times) for times in zip(*rounds, strict=True))
        rows.append({"name": name, "first": max(first, 0.0), "plain": before, "here": after, "ratio": before / after})
    return {"state": "done", "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", metavar="PATTERN", help="a regular expression: the programs in whose names it is found")
    parser.add_argument("--way", choices=("jit", "xla"), default="jit")
    parser.add_argument("--json", metavar="FILE", help="write the numbers here as well")
    parser.add_argument("--one", choices=PROGRAMS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.way)))
        return
    rows, failed = [], []
    print(f"{'':26} {'first':>8} {'plain':>12} {'here':>12} {'x plain':>8}")
    for program in PROGRAMS:
        if not re.search(chosen.k, program):
            continue
        told = apart(__file__, "--one", program, "--way", chosen.way)
        if told["state"] != "done":
            print(f"{program:26} {told['state']}: {told['why']}", flush=True)
            failed += [program] if told["state"] != "not installed" else []
        for row in told.get("rows", ()):
            rows.append(row)
            print(f"{row['name']:26} {row['first']:6.2f} s {row['plain'] * 1e3:9.2f} ms {row['here'] * 1e3:9.2f} ms {row['ratio']:7.2f}x", flush=True)
    if rows:
        ratios = [row["ratio"] for row in rows]
        print(
            f"\n{chosen.way}: x plain: geometric mean {statistics.geometric_mean(ratios):.2f}, {sum(x >= 1.3 for x in ratios)} of {len(rows)} at 1.3 or more, "
            f"{sum(x < 0.95 for x in ratios)} below 0.95; first: at most {max(row['first'] for row in rows):.1f} s"
        )
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
