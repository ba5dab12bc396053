"""Libraries that interpret something known, specialized with it: are the results right, what does it cost, what does it gain?

    pip install -e .[libraries]          # in an environment of its own
    python benchmarks/libraries/run.py [-k PATTERN] [--way specialize|jit|xla] [--json FILE]

Each case (cases.py) has a process of its own, so that none warms another. It is right if results and their types, exceptions and
their messages, output, and arguments afterwards are those of the plain function, for each input, in the first call and in later ones,
also after thousands of calls.
``first``: CPU seconds from the specialization to the results for all inputs. ``ops``, ``opaque``: operations that are left, and how many
of them are opaque calls. ``x plain``: how many times faster it is than the plain function, on the first input (both in turn, the least
of nine rounds each). A library that is not installed is left out.
Speeds never gate; the exit status is 1 if a case is wrong, crashes or is not done in time.
"""
import argparse
import contextlib
import copy
import io
import json
import re
import statistics
import sys
import time
from pathlib import Path

from cases import CASES
from measuring import apart, left

import hovis

#: Rounds of timing, and the least CPU seconds that a round takes for each of the functions.
ROUNDS = 9
LEAST = 0.02


# ------------------------------------------------------------------------------------------------- in the process of a case


def specialized(fn, specs):
    residual = hovis.specialize(fn, *specs)
    return residual, lambda: [residual.trace]


def jitted(fn, specs):
    made = hovis.jit(fn)
    return made, lambda: made.traces


def compiled(fn, specs):
    import hovis_xla

    made = hovis_xla.jit(fn)
    return made, lambda: made.traces


#: For each way: what makes the function that is compared, and a function that returns its traces.
WAYS = {"specialize": specialized, "jit": jitted, "xla": compiled}


def shown(value):
    """Write a value so that values of other types, or in another order, have other texts; addresses are left out."""
    if type(value) is dict:
        return "{" + ", ".join(f"{shown(key)}: {shown(item)}" for key, item in value.items()) + "}"
    if type(value) in (list, tuple):
        return f"{type(value).__name__}({', '.join(map(shown, value))})"
    return f"{type(value).__name__} {without_addresses(repr(value))}"


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def outcome(fn, args):
    """Return what can be observed of a call: result or exception, output, and arguments afterwards."""
    args, out = copy.deepcopy(args), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            result = "returns", shown(fn(*args))
        except Exception as error:
            result = "raises", f"{type(error).__name__}: {without_addresses(str(error))}"
    return [*result, out.getvalue(), shown(args)]


def repeat(fn, args, times):
    """Return the CPU seconds that so many calls take."""
    start = time.process_time()
    for _ in range(times):
        fn(*args)
    return time.process_time() - start


def durations(fns, args):
    """Return for each of the functions the CPU seconds of a call, the least of several rounds in which they take turns."""
    counts = []
    for fn in fns:
        times = 1
        while (taken := repeat(fn, args, times)) < LEAST:
            times = max(2 * times, int(times * LEAST / max(taken, 1e-6)))
        counts.append(times)
    rounds = [[repeat(fn, args, times) / times for fn, times in zip(fns, counts, strict=True)] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def measure(name, way):
    """Return the numbers of a case, or why there are none."""
    try:
        plain, inputs = CASES[name].make()
    except ImportError as missing:
        return {"state": "not installed", "why": str(missing)}
    wanted = [outcome(plain, args) for args in inputs]
    fresh, _ = CASES[name].make()
    if way == "xla":
        import hovis_xla  # noqa: F401    # its import is not the case's time

    start = time.process_time()
    made, traces = WAYS[way](fresh, CASES[name].specs)
    found = [[outcome(made, args) for args in inputs]]
    first = time.process_time() - start
    found += [[outcome(made, args) for args in inputs] for _ in range(2)]
    ops, opaque = left(traces())
    row = {"state": "right", "first": first, "ops": ops, "opaque": opaque}
    before, after = durations([plain, made], inputs[0])
    found += [[outcome(made, args) for args in inputs] for _ in range(2)]  # by now, residuals have been compared and made again
    wrong = [(args, one, want) for call in found for args, want, one in zip(inputs, wanted, call, strict=True) if one != want]
    if wrong:
        row |= {"state": "wrong", "why": "of {!r}: {!r}, not {!r}".format(*wrong[0])}
    return row | {"plain_us": before * 1e6, "us": after * 1e6, "ratio": before / after}


# ------------------------------------------------------------------------------------------------- all cases


def told(row):
    """Format the numbers of a case."""
    if "ratio" not in row:
        return row["why"]
    numbers = f"{row['first']:6.2f} s {row['ops']:6} {row['opaque']:6} {row['plain_us']:9.1f} µs {row['us']:9.1f} µs {row['ratio']:7.2f}x"
    return f"{numbers}   {row['why']}" if "why" in row else numbers


def summary(way, rows):
    """Write the last line, on all cases whose libraries are installed."""
    there = [row for row in rows if row["state"] != "not installed"]
    right = sum(row["state"] == "right" for row in there)
    timed = [row for row in there if "ratio" in row]
    if not timed:
        return f"{way}: {right} of {len(there)} right"
    ratios, firsts = [row["ratio"] for row in timed], [row["first"] for row in timed]
    return (
        f"{way}: {right} of {len(there)} right; x plain: geometric mean {statistics.geometric_mean(ratios):.2f}, {sum(x >= 2 for x in ratios)} at 2 or more, "
        f"{sum(x < 0.95 for x in ratios)} below 0.95; first: {sum(firsts):.1f} s in all, at most {max(firsts):.1f} s"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", metavar="PATTERN", help="a regular expression: the cases in whose names it is found")
    parser.add_argument("--way", choices=WAYS, default="specialize")
    parser.add_argument("--json", metavar="FILE", help="write the numbers here as well")
    parser.add_argument("--one", choices=CASES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.way)))
        return
    rows = []
    print(f"{'':20} {'':13} {'first':>8} {'ops':>6} {'opaque':>6} {'plain':>12} {'here':>12} {'x plain':>8}")
    for name in CASES:
        if re.search(chosen.k, name):
            row = {"name": name, **apart(__file__, "--one", name, "--way", chosen.way)}
            rows.append(row)
            print(f"{name:20} {row['state']:13} {told(row)}", flush=True)
    print(f"\n{summary(chosen.way, rows)}")
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(any(row["state"] not in ("right", "not installed") for row in rows))


if __name__ == "__main__":
    main()
