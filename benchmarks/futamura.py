"""Interpreters with a known program: the residual compared with the interpreter and with code that an expert would write.

    python benchmarks/futamura.py [--seconds 0.5]

Each row is an example: how many times faster the residual is than the interpreter, its time as a multiple of the code written
by hand, the time to specialize, and the number of calls after which that has paid off. Where the ecosystem's own specializers
are installed (peers.py; `make bench` installs them), their times are multiples of the residual's. All runs of a row alternate.
The numbers are reported and never gate.
"""
import argparse
import importlib
import sys
import time
from functools import partial
from pathlib import Path

import peers

import hovis

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

#: For each example: the interpreter with its program, the arguments of all contenders, and, where the module has several, the residual
#: and the code written by hand.
PROGRAMS = {
    "trees": lambda e: (partial(e.predict, e.MODEL), [(row,) for row in e.ROWS]),
    "packets": lambda e: (partial(e.parse, e.SENSOR), [(e.PACKET, 0)]),
    "vm": lambda e: (partial(e.main, e.PROGRAM), [(8,)]),
    "expressions": lambda e: (partial(e.at, e.EXPRESSION), [(0.5, -2.0), (3.25, 1.0)]),
    "template": lambda e: (partial(e.render, e.PARSED, "list"), [(e.VALUES,)]),
    "regex": lambda e: (partial(e.search, e.PARSED), [(text,) for text in e.TEXTS]),
    "schema": lambda e: (partial(e.errors_of, e.SCHEMA), [(document,) for document in e.DOCUMENTS]),
    "tower": lambda e: (partial(e.main, e.MACHINE, e.PROGRAM), [(20,)]),
    "plan": lambda e: (partial(e.query, e.PLAN), [(e.TABLES,)]),
    # twelve million steps of the guest program, without closed forms and with them; then ten steps
    "brainfuck: addition, looping": lambda e: on_a_tape(e, e.ADDITION, 2_400_000, e.add_by_hand, "default-loop_idioms-loop_versioning"),
    "brainfuck: addition": lambda e: on_a_tape(e, e.ADDITION, 2_400_000, e.add_by_hand),
    "brainfuck: addition to two": lambda e: on_a_tape(e, e.ADDITION, 2, e.add_by_hand),
    "brainfuck: squares": lambda e: on_a_tape(e, e.SQUARES, 40, e.squares_by_hand),
    "brainfuck: fibonacci": lambda e: on_a_tape(e, e.FIBONACCI, 15, e.fibonacci_by_hand),
}


def on_a_tape(example, program, first, by_hand, passes="default"):
    """Make the contenders for a guest program whose first cell is unknown while specializing."""
    writes = "." in program
    interpret = example.run_text if writes else example.run_flat
    table = example.jump_table(program)
    more = (iter(()),) if writes else ()

    def called(fn, *known):
        return lambda n: fn(*known, [n, 0, 0, 0], *more)

    return (
        called(interpret, program, table),
        [(first,)],
        lambda: called(hovis.options(passes=passes).specialize(interpret, program, table, list)),
        called(by_hand),
    )


def run(fn, calls):
    for args in calls:
        fn(*args)


def measured(fns, calls, seconds):
    """Return the minimum CPU time of one round of calls for each of fns, in seconds; the functions alternate."""
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
    width = max(map(len, PROGRAMS))
    print(f"{'':{width}} {'x interpreter':>14} {'of by hand':>11} {'specialize':>11} {'pays after':>11}   peers, of the residual's time")
    for name, program in PROGRAMS.items():
        example = importlib.import_module(name.partition(":")[0])
        interpret, calls, *several = program(example)
        make, by_hand = several or (example.specialized, example.by_hand)
        start = time.process_time()
        residual = make()
        specialize = time.process_time() - start
        others = list(peers.of(name, example))
        fns = [interpret, residual, by_hand, *(fn for _, fn in others)]
        times = measured(fns, calls, chosen.seconds)
        saved = (times[0] - times[1]) / len(calls)
        pays = f"{specialize / saved:.0f} calls" if saved > 0 else "never"
        row = f"{name:{width}} {times[0] / times[1]:13.1f}x {times[1] / times[2]:10.2f}x {specialize * 1e3:8.0f} ms {pays:>11}"
        told = (f"{label} {taken / times[1]:.1f}x" for (label, _), taken in zip(others, times[3:], strict=True))
        print(row, *told, sep="   ")


if __name__ == "__main__":
    main()
