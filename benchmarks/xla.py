"""Kernels, scalar loops and models: plain NumPy, hovis_xla, jax written by hand, numba's njit.

    python benchmarks/xla.py [NAME ...] [--rounds 7] [--seconds 0.1] [--json FILE]

Each contender has a process of its own and they take turns, so that other load of the machine affects all of them; every call gets
fresh arguments (NumPy arrays in, NumPy arrays out), and a ratio is the median over the rounds of ratios within a round.
``x numpy``, ``x jax``, ``x numba``: how many times faster hovis is (for jax and numba "-": no version, or it is not accepted).
``first``: the first call, tracing and compiling included, without a cache on disk (hovis compiles a short function in full at its second call).
``compile``: from the trace, or from the program lowered by jax, to machine code.  ``loops``: how many of the loops in the optimised program are
native code; ``copies``: large arrays copied within loops.
The numbers are reported and never gate.
"""
import argparse
import contextlib
import copy
import gc
import json
import math
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from contenders import CONTENDERS, NotThere  # noqa: E402
from kernels import KERNELS  # noqa: E402

#: A contender that does not answer for this many seconds hangs.
PATIENCE = 120.0
#: Warm-up before the timed calls: at most this many calls, and at most about this many seconds.
WARM_CALLS = 20
WARM_SECONDS = 1.0


# ------------------------------------------------------------------------------------------------- in the process of a contender


def work(contender):
    """Make, check and time kernels as requested on stdin: one line of JSON for each request, one for each answer."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the kernels or their compilers is not an answer
    warnings.simplefilter("ignore")
    with contextlib.suppress(NotThere, ImportError):
        first_call(contender, "go_fast", 5)  # includes the initialization at the first call of the process
    made = {}
    for line in sys.stdin:
        asked = json.loads(line)
        name, size = asked["name"], asked["size"]
        try:
            if asked["do"] == "make":
                made[name], found = first_call(contender, name, size)
                warm(made[name], name, size)
            else:
                found = {"times": durations(made[name], name, size, asked["seconds"])}
        except NotThere:
            found = {"missing": "no version"}
        except ImportError as error:
            found = {"missing": f"{error.name} is not installed"}
        except Exception as error:  # numba rejects functions with various exceptions
            found = {"missing": f"{type(error).__name__}: {str(error).strip().splitlines()[-1:]}"}
            if os.environ.get("VERBOSE"):
                traceback.print_exc()
        answer.write(json.dumps(found) + "\n")
        answer.flush()


def arguments(name, size):
    return KERNELS[name].initialize(np.random.default_rng(0), size)


def first_call(contender, name, size):
    """Return the callable of the kernel, and the times of the first and of the first two calls, with whether they agree with the plain function."""
    fn, more = CONTENDERS[contender](name)
    expected = arguments(name, size)
    wanted = leaves(KERNELS[name].fn(*expected))
    took, right = [], []
    for _ in range(2):
        args = arguments(name, size)
        start = time.perf_counter()
        result = leaves(fn(*args))
        took.append(time.perf_counter() - start)
        if more.get("functional"):  # its arguments are unchanged: the arguments that the plain function changes are in the result
            before = arguments(name, size)
            changed = [new for old, new in zip(leaves(before), leaves(expected), strict=True) if not same(old, new)]
            right.append(alike(result, [*wanted, *changed]))
        else:
            right.append(alike([*result, *leaves(args)], [*wanted, *leaves(expected)]))
    found = {"first": took[0], "second": sum(took), "right": all(right)}
    if "told" in more:
        found.update(more["told"](arguments(name, size)))
    return fn, found


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [] if value is None else [value]


def same(a, b):
    return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc")


def alike(found, wanted):
    """Are the results equal up to rounding?  Counts that depend on rounding may differ in some elements."""
    if len(found) != len(wanted):
        return False
    for a, b in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        loose = 1e-3 if b.dtype in (np.float32, np.complex64) else 1e-6
        scale = float(np.max(np.abs(b), initial=1e-300, where=np.isfinite(b))) if b.dtype.kind in "fc" else 0.0
        if a.shape != b.shape or np.mean(np.isclose(a, b, rtol=loose, atol=loose * scale, equal_nan=True)) < 0.99:
            return False
    return True


def warm(fn, name, size):
    """Call the kernel until it is in its steady state, in which caches are filled and adaptive decisions are made."""
    args, until = arguments(name, size), time.perf_counter() + WARM_SECONDS
    for _ in range(WARM_CALLS):
        fn(*copy.deepcopy(args))
        if time.perf_counter() > until:
            break


def durations(fn, name, size, seconds):
    """Return the durations of calls for about `seconds`, each with fresh arguments; at least three calls."""
    args = arguments(name, size)
    gc.collect()  # which takes longer, the more objects a contender has allocated
    gc.disable()
    times, until = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < until:
        fresh = copy.deepcopy(args)
        start = time.perf_counter()
        fn(*fresh)
        times.append(time.perf_counter() - start)
        if len(times) >= 2000:
            break
    gc.enable()
    return times


# ------------------------------------------------------------------------------------------------- in the main process


class Worker:
    """A contender in its own process, which is restarted when it crashes or hangs."""

    def __init__(self, contender, directory, script=__file__):
        self.contender, self.directory, self.script = contender, directory, script
        self.process = None

    def ask(self, **what):
        if self.process is None or self.process.poll() is not None:
            env = {**os.environ, "HOVIS_CACHE_DIR": self.directory, "NUMBA_CACHE_DIR": self.directory, "TF_CPP_MIN_LOG_LEVEL": "2"}
            noise = None if os.environ.get("VERBOSE") else subprocess.DEVNULL
            self.process = subprocess.Popen(
                [sys.executable, self.script, "--worker", self.contender], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=noise, text=True, env=env
            )
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"missing": "crashed"}
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.end()
            return {"missing": f"nothing after {PATIENCE:.0f} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"missing": "crashed"}

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def measure(name, workers, rounds, seconds):
    """Measure one row: the report of each contender about the kernel, and its times in each round."""
    size = KERNELS[name].big
    row = {"name": name, "group": KERNELS[name].fn.__module__.rpartition(".")[2], "size": size}
    row["made"] = {who: worker.ask(do="make", name=name, size=size) for who, worker in workers.items()}
    there = [who for who, made in row["made"].items() if "missing" not in made]
    times = {who: [] for who in there}
    for _ in range(rounds):
        for who in there:
            found = workers[who].ask(do="time", name=name, size=size, seconds=seconds)
            if "times" in found:
                times[who].append(statistics.median(found["times"]))
            else:
                row["made"][who] = found
    row["times"] = {who: of for who, of in times.items() if len(of) == rounds}
    return row


def ratio(row, other, of="hovis"):
    """Return how many times faster ``of`` is than ``other``, or None if one of them has no times."""
    if other not in row["times"] or of not in row["times"]:
        return None
    return statistics.median(a / b for a, b in zip(row["times"][other], row["times"][of], strict=True))


def kept(row):
    """Return the part of a row that is written to a file."""
    ratios = {who: round(r, 3) for who in ("numpy", "jax", "numba") if (r := ratio(row, who)) is not None}
    return {"name": row["name"], "group": row["group"], **ratios}


def mean(values):
    """Return the geometric mean of the values that are not None; NaN if there are none."""
    values = [v for v in values if v is not None]
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def shown(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def line(row, width):
    made = row["made"]
    hovis, jax = made["hovis"], made.get("jax", {})
    native, walked, copies = hovis.get("loops", ("", "", "-"))
    loops = f"{native}/{native + walked}" if "loops" in hovis else "-"
    wrong = [who for who, m in made.items() if m.get("right") is False]
    return " ".join([
        f"{row['name']:{width}}",
        f"{shown(statistics.median(row['times']['numpy']) * 1e3, '{:.3f}') if 'numpy' in row['times'] else '-':>9}",
        *(f"{shown(ratio(row, who)):>8}" for who in ("numpy", "jax", "numba")),
        *(f"{shown(m.get(what) and m[what] * 1e3, '{:.0f}'):>8}" for what in ("first", "compile") for m in (hovis, jax)),
        f"{loops:>6} {copies:>6}",
        f" {hovis.get('how', hovis.get('missing', '?'))}",
        f" WRONG: {', '.join(wrong)}" if wrong else "",
    ])


def summary(rows):
    told = []
    for who, label in (("numpy", "NumPy"), ("jax", "jax by hand"), ("numba", "numba")):
        ratios = {row["name"]: r for row in rows if (r := ratio(row, who)) is not None}
        if ratios:
            told.append(f"geometric mean against {label}: {mean(ratios.values()):.2f}x over {len(ratios)} programs")
            groups = sorted({row["group"] for row in rows})
            parts = {g: mean(ratios.get(row["name"]) for row in rows if row["group"] == g) for g in groups}
            told.append("    " + ", ".join(f"{g} {r:.2f}x" for g, r in parts.items() if r == r))
        behind = sorted((r, n) for n, r in ratios.items() if r < (0.9 if who == "numpy" else 1.0))
        if behind:
            told.append(f"    behind {label}: " + ", ".join(f"{n} {r:.2f}x" for r, n in behind))
    for what, said in (("first", "first call"), ("second", "first and second call together")):
        late = [
            (row["made"]["hovis"][what] / row["made"]["jax"][what], row["name"])
            for row in rows if what in row["made"].get("hovis", {}) and what in row["made"].get("jax", {})
        ]
        if late:
            told.append(f"{said}, of jax's: {mean(r for r, _ in late):.2f} (geometric mean)")
            told.append("    behind: " + ", ".join(f"{n} {r:.1f}" for r, n in sorted(late)[::-1] if r > 1.0))
    loops = {row["name"]: row["made"]["hovis"].get("loops", (0, 0, 0)) for row in rows}
    thunks = [name for name, (_, walked, _) in loops.items() if walked]
    told.append(f"loops that are not native: {', '.join(thunks) or 'none'}")
    copying = [name for name, (_, _, copies) in loops.items() if copies]
    told.append(f"big arrays copied in loops: {', '.join(copying) or 'none'}")
    return told


def options(description, what, kept, contenders):
    """Make the parser of the command line.  what: the things compared; kept: the part of the results that is written to a file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"{what} or their groups; all, if none is given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05, help="of each contender in a round")
    parser.add_argument("--json", type=Path, help=f"keep {kept}")
    parser.add_argument("--worker", choices=contenders, help=argparse.SUPPRESS)
    return parser


def main():
    parser = options(__doc__, "kernels", "the ratios in this file, as notebooks/xla.ipynb reads them", CONTENDERS)
    parser.add_argument("--without", nargs="*", default=[], choices=["jax", "numba"])
    chosen = parser.parse_args()
    if chosen.worker:
        work(chosen.worker)
        return
    asked = {name for name, k in KERNELS.items() if not chosen.names or {name, k.fn.__module__.rpartition(".")[2]} & set(chosen.names)}
    names = [name for name in KERNELS if name in asked]
    width = max(map(len, names))
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        workers = {who: Worker(who, directory) for who in CONTENDERS if who not in chosen.without}
        head = ("numpy ms", "x numpy", "x jax", "x numba", "first", "of jax", "compile", "of jax", "loops", "copies")
        print(" ".join([f"{'':{width}}", f"{head[0]:>9}", *(f"{h:>8}" for h in head[1:8]), *(f"{h:>6}" for h in head[8:])]))
        for name in names:
            rows.append(measure(name, workers, chosen.rounds, chosen.seconds))
            print(line(rows[-1], width), flush=True)
        for worker in workers.values():
            worker.end()
    print(*summary(rows), sep="\n")
    if chosen.json:
        chosen.json.write_text("[\n" + ",\n".join(json.dumps(kept(row)) for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
