"""The program that `make demo` runs: traces, a model compiled by XLA, an interpreter that is specialized away, and a plot of the times."""
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import hovis
from hovis import Float, Int, const

sys.path.insert(0, str(Path(__file__).parent))      # needed when another script runs this file
import brainfuck
import transformer

PICTURE = Path("demo.png")


def pow(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def heading(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n== {text}")


def best(call, repeats=7, seconds=1.0):
    """Return the best time of several runs; slow calls are repeated less often."""
    times = []
    until = time.perf_counter() + seconds
    while len(times) < 2 or (len(times) < repeats * 50 and time.perf_counter() < until):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def shown(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"


def traces():
    heading("1. One function, traced from its bytecode with what is known of its arguments")
    for text, specs in (("Int, const(3)", (Int, const(3))), ("Int, Int", (Int, Int)), ("2, 3", (2, 3))):
        print(f"\n>>> hovis.trace(pow, {text})")
        print(hovis.trace(pow, *specs))
    print("\n>>> hovis.return_type(pow, Float, Int)")
    print(hovis.return_type(pow, Float, Int))


def model():
    heading("2. A transformer block: NumPy source, layers and activations from a configuration dict")
    try:
        import hovis_xla
    except ImportError:
        print("hovis_xla is not installed: this part is left out")
        return []
    config = transformer.CONFIG
    params = transformer.parameters(config, width=256)
    x = np.random.default_rng(1).normal(size=(128, 256))
    compiled = hovis_xla.jit(transformer.block, target="xla")  # also on machines where NumPy is equally fast
    start = time.perf_counter()
    got = compiled(x, params, config)
    first = time.perf_counter() - start
    expected = transformer.block(x, params, config)
    error = float(np.max(np.abs(expected - got)) / np.max(np.abs(expected)))
    numpy_time, xla_time = best(lambda: transformer.block(x, params, config)), best(lambda: compiled(x, params, config))
    trace = compiled.trace(x, params, config)
    left = sorted({op.callee.__name__ for op in trace.ops})
    print(f"{len(trace.ops)} operations in {len(trace.blocks)} block{'s' * (len(trace.blocks) > 1)}, nothing of the configuration among them:")
    print(", ".join(left))
    print(compiled.explain())
    print(f"trace and compile: {shown(first)}; largest relative difference from NumPy: {error:.1e}")
    print(f"NumPy {shown(numpy_time)}, XLA {shown(xla_time)}: {numpy_time / xla_time:.1f} times as fast")
    if error > 1e-9:
        raise SystemExit("the compiled block and NumPy disagree")
    if "XLA executable" not in compiled.explain():
        raise SystemExit("the block was not compiled")
    return [("transformer block", "NumPy", numpy_time, "XLA", xla_time)]


def on_a_tape(run):
    return run([5000, 5000, 0])


def interpreter():
    heading("3. An interpreter whose program is known: only the program is left")
    program = brainfuck.PROGRAM
    table = brainfuck.jump_table(program)
    print(f"the program {program!r}\n")
    print(hovis.trace(brainfuck.run_flat, program, table, list).passes("default"))
    rows = []
    for name, plain, residual in (
        ("flat interpreter", lambda tape: brainfuck.run_flat(program, table, tape), brainfuck.compile_flat(program)),
        ("tree interpreter", lambda tape: brainfuck.run_tree(brainfuck.parse(program), 0, tape), brainfuck.compile_tree(program)),
    ):
        tapes = [5000, 0, 0], [5000, 0, 0]
        plain(tapes[0])
        residual(tapes[1])
        if tapes[0] != tapes[1]:
            raise SystemExit(f"{name}: the residual disagrees")
        before, after = best(partial(on_a_tape, plain)), best(partial(on_a_tape, residual))
        print(f"{name}: interpreted {shown(before)}, specialized {shown(after)}: {before / after:.1f} times as fast")
        rows.append((name, "interpreted", before, "specialized", after))
    return rows


def picture(rows):
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(rows), figsize=(3 * len(rows), 3.2))
    for axis, (title, before, slow, after, fast) in zip(np.atleast_1d(axes), rows):
        bars = axis.bar([before, after], [slow * 1e3, fast * 1e3], color=["#b8b8b8", "#c8743c"])
        axis.bar_label(bars, [f"{t * 1e3:.3g}" for t in (slow, fast)])
        axis.set_title(f"{title}: ×{slow / fast:.1f}", fontsize=10)
        axis.set_ylabel("ms")
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=120)
    print(f"\nthe times as a picture: {PICTURE}")


def main():
    start = time.perf_counter()
    traces()
    rows = model() + interpreter()
    picture(rows)
    print(f"done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
