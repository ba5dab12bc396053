"""Interpreters with a known program: the residual beside the interpreter, and beside what an expert would write.

    python benchmarks/futamura.py [--seconds 0.5]

Each row is an example: how often faster the residual is than the interpreter, its time as a multiple of the code written
by hand, how long it took to specialize, and after how many calls that has paid off. Where the ecosystem's own specializers
are installed (peers.py; `make bench` installs them), their times are multiples of the residual's. All runs of a row alternate.
Numbers, not a gate.
"""
import argparse
import importlib
import sys
import time
from functools import partial
from pathlib import Path

import peers

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

#: Of each example: the interpreter with its program, and what all are called with.
PROGRAMS = {
    "trees": lambda e: (partial(e.predict, e.MODEL), [(row,) for row in e.ROWS]),
    "packets": lambda e: (partial(e.parse, e.SENSOR), [(e.PACKET, 0)]),
    "vm": lambda e: (partial(e.main, e.PROGRAM), [(8,)]),
    "expressions": lambda e: (partial(e.at, e.EXPRESSION), [(0.5, -2.0), (3.25, 1.0)]),
    "template": lambda e: (partial(e.render, e.PARSED, "list"), [(e.VALUES,)]),
    "schema": lambda e: (partial(e.errors_of, e.SCHEMA), [(document,) for document in e.DOCUMENTS]),
    "plan": lambda e: (partial(e.query, e.PLAN), [(e.TABLES,)]),
}


def run(fn, calls):
    for args in calls:
        fn(*args)


def measured(fns, calls, seconds):
    """The least processor time of one round of calls for each of fns, in seconds; they take turns."""
    best = [float("inf")] * len(fns)
    until = time.perf_counter() + seconds * len(fns)
    times = 1
    while time.perf_counter() < until:
        for k, fn in enumerate(fns):
            start = time.process_time()
            for _ in range(times):
                run(fn, calls)
            taken = time.process_time() - start
            best[k] = min(best[k], taken / times)
            if taken < 0.005:
                times *= 2
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each of what is compared")
    chosen = parser.parse_args()
    print(f"{'':12} {'x interpreter':>14} {'of by hand':>11} {'specialize':>11} {'pays after':>11}   peers, of the residual's time")
    for name, program in PROGRAMS.items():
        example = importlib.import_module(name)
        interpret, calls = program(example)
        start = time.process_time()
        residual = example.specialized()
        specialize = time.process_time() - start
        others = list(peers.of(name, example))
        fns = [interpret, residual, example.by_hand, *(fn for _, fn in others)]
        times = measured(fns, calls, chosen.seconds)
        saved = (times[0] - times[1]) / len(calls)
        pays = f"{specialize / saved:.0f} calls" if saved > 0 else "never"
        row = f"{name:12} {times[0] / times[1]:13.1f}x {times[1] / times[2]:10.2f}x {specialize * 1e3:8.0f} ms {pays:>11}"
        told = (f"{label} {taken / times[1]:.1f}x" for (label, _), taken in zip(others, times[3:], strict=True))
        print(row, *told, sep="   ")


if __name__ == "__main__":
    main()
