"""Gradients: hovis_xla.jit(hovis.grad(f)) of plain NumPy compared with jax.jit(jax.grad(g)) of the same function written by hand in jax.

    python benchmarks/grad.py [NAME ...] [--rounds 7] [--seconds 0.1] [--json FILE]

Each contender has a process of its own and they take turns; NumPy arrays go in and come out.  ``of jax``: hovis's time divided by
jax's, the median over the rounds of ratios within a round; below 1 hovis is faster.  ``first``: the first call, tracing and compiling
included, without a cache on disk (hovis compiles a short function in full at its second call).  ``loops``: how many of the loops in the
optimised program are native code.  The numbers are reported and never gate.
"""
import contextlib
import copy
import dataclasses
import gc
import json
import os
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from gradients import PROGRAMS  # noqa: E402
from xla import Worker, leaves, mean, options, ratio, shown  # noqa: E402

#: Number of calls before the measurement: in the first few dozen calls hovis compares XLA with Python.
WARM_CALLS = 200
#: The goal for each group: hovis's time as a multiple of jax's.
AIMS = {"models": 1.0, "loops": 1.3, "numbers": 1.3}


# ------------------------------------------------------------------------------------------------- in the process of a contender


def hovis(program):
    import hovis
    import hovis_xla

    fn = hovis_xla.jit((hovis.value_and_grad if program.value else hovis.grad)(program.fn))

    def told(args):
        text = fn.explain()
        if "residual Python" in text:
            return {"how": "parts" if "numeric piece" in text else "Python"}
        return {"how": "XLA", "loops": dataclasses.astuple(fn.lower(*args).compile().loops)}

    return fn, told


def jax(program):
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit((jax.value_and_grad if program.value else jax.grad)(program.by_hand()), static_argnums=program.static)
    return lambda *args: jax.tree_util.tree_map(np.asarray, compiled(*args)), lambda args: {}


CONTENDERS = {"hovis": hovis, "jax": jax}


def arguments(name):
    return PROGRAMS[name].arguments(np.random.default_rng(0))


def work(contender):
    """Make, check and time programs as requested on stdin: one line of JSON for each request, one for each answer."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of compilers is not an answer
    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):
        CONTENDERS[contender](PROGRAMS["option"])[0](*arguments("option"))  # includes the initialization at the first call of the process
    made = {}
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["name"]
        try:
            if asked["do"] == "make":
                fn, told = CONTENDERS[contender](PROGRAMS[name])
                args = arguments(name)
                start = time.perf_counter()
                result = fn(*args)
                found = {"first": time.perf_counter() - start, "marks": marks(result)}
                fn(*args)
                found["second"] = time.perf_counter() - start
                durations(fn, args, 1.0, WARM_CALLS)
                made[name] = fn
                found.update(told(args))
            else:
                found = {"times": durations(made[name], arguments(name), asked["seconds"])}
        except ImportError as error:
            found = {"missing": f"{error.name} is not installed"}
        except Exception as error:
            found = {"missing": f"{type(error).__name__}: {str(error).strip().splitlines()[-1:]}"}
            if os.environ.get("VERBOSE"):
                traceback.print_exc()
        answer.write(json.dumps(found) + "\n")
        answer.flush()


def durations(fn, args, seconds, most=2000):
    """Return the durations of calls for about `seconds`, each with fresh arguments; at least three calls."""
    gc.collect()  # of the garbage that compiling has left, which takes a tenth of a second
    gc.disable()
    times, until = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < until and len(times) < most):
        fresh = copy.deepcopy(args)
        start = time.perf_counter()
        fn(*fresh)
        times.append(time.perf_counter() - start)
    gc.enable()
    return times


def marks(result):
    """Return a fingerprint of two numbers for each array of the result; dicts are ordered by key, as in jax."""
    ordered = result[-1] if isinstance(result, tuple) and isinstance(result[-1], dict) else result
    if isinstance(ordered, dict):
        ordered = [ordered[key] for key in sorted(ordered)]
    flat = [np.ravel(np.asarray(leaf, np.float64)) for leaf in leaves(ordered)]
    return [[float(np.sum(np.abs(leaf))), float(leaf @ np.cos(np.arange(leaf.size)))] for leaf in flat]


# ------------------------------------------------------------------------------------------------- in the main process


def measure(name, workers, rounds, seconds):
    """Measure one row: the report of each contender about the program, and its times in each round."""
    row = {"name": name, "group": PROGRAMS[name].group}
    row["made"] = {who: worker.ask(do="make", name=name) for who, worker in workers.items()}
    there = [who for who, made in row["made"].items() if "missing" not in made]
    times = {who: [] for who in there}
    for _ in range(rounds):
        for who in there:
            times[who] += [statistics.median(workers[who].ask(do="time", name=name, seconds=seconds)["times"])]
    row["times"] = times
    return row


def alike(row):
    """Do both contenders have the same result?"""
    one, other = (row["made"][who].get("marks") for who in ("hovis", "jax"))
    return one is None or other is None or (len(one) == len(other) and np.allclose(one, other, rtol=1e-6, atol=1e-9))


def of_jax(row):
    return ratio(row, "hovis", "jax")


def firsts(row, what="first"):
    mine, other = (row["made"][who].get(what) for who in ("hovis", "jax"))
    return mine / other if mine and other else None


def line(row, width):
    mine = row["made"]["hovis"]
    native, walked, copies = mine.get("loops", (0, 0, 0))
    return " ".join([
        f"{row['name']:{width}} {row['group']:8}",
        *(f"{shown(statistics.median(row['times'][who]) * 1e3 if who in row['times'] else None, '{:.4f}'):>9}" for who in ("hovis", "jax")),
        f"{shown(of_jax(row)):>7}",
        *(f"{shown(row['made'][who].get('first') and row['made'][who]['first'] * 1e3, '{:.0f}'):>7}" for who in ("hovis", "jax")),
        f"{shown(firsts(row)):>7}",
        f"{native}/{native + walked}".rjust(6), f"{copies:>6}",
        f" {mine.get('how', mine.get('missing', '?'))}",
        "" if alike(row) else " WRONG",
    ])


def summary(rows):
    told = []
    for group, aim in AIMS.items():
        ratios = {row["name"]: r for row in rows if row["group"] == group and (r := of_jax(row)) is not None}
        if ratios:
            behind = ", ".join(f"{name} {r:.2f}" for name, r in ratios.items() if r > aim) or "none"
            told.append(f"{group}: {mean(ratios.values()):.2f} of jax's time (geometric mean of {len(ratios)}); above {aim}: {behind}")
    for what, said in (("first", "first call"), ("second", "first and second call together")):
        late = {row["name"]: r for row in rows if (r := firsts(row, what)) is not None}
        if late:
            behind = ", ".join(f"{name} {r:.2f}" for name, r in late.items() if r > 1.0) or "none"
            told.append(f"{said}: {mean(late.values()):.2f} of jax's; above 1.0: {behind}")
    return told


def main():
    chosen = options(__doc__, "programs", "the numbers in this file", CONTENDERS).parse_args()
    if chosen.worker:
        work(chosen.worker)
        return
    names = [name for name, p in PROGRAMS.items() if not chosen.names or {name, p.group} & set(chosen.names)]
    width = max(map(len, names))
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        workers = {who: Worker(who, directory, __file__) for who in CONTENDERS}
        print(f"{'':{width}} {'':8} {'hovis ms':>9} {'jax ms':>9} {'of jax':>7} {'first':>7} {'of jax':>7} {'ratio':>7} {'loops':>6} {'copies':>6}")
        for name in names:
            rows.append(measure(name, workers, chosen.rounds, chosen.seconds))
            print(line(rows[-1], width), flush=True)
        for worker in workers.values():
            worker.end()
    print(*summary(rows), sep="\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
