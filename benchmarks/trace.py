"""The time of tracing: µs per interpreted instruction and per emitted op, compared with jax.make_jaxpr per equation.

    python benchmarks/trace.py [--ops 1000] [--profile 15]

Both trace the same straight-line function in one run; jax is left out where it isn't installed. The numbers are reported and never gate.
"""
import argparse
import cProfile
import dis
import io
import json
import pstats
import time

import numpy as np

import hovis
from hovis.bytecode import normalize
from hovis.passes import pipeline


def straight_line(module, ops):
    """Make a function of `ops` elementwise operations on two arrays, one a line, from a text, so that it contains no loop."""
    forms = ["v = {m}.sin(v)", "v = v * w", "v = v + w", "w = {m}.maximum(v, w)", "v = v - w"]
    lines = ["def straight(v, w):"] + ["    " + forms[i % len(forms)].format(m="np") for i in range(ops)] + ["    return v"]
    namespace = {"np": module}
    exec(compile("\n".join(lines), "<straight>", "exec"), namespace)
    return namespace["straight"]


def pow(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def repeated(x):
    for _ in range(1000):
        x = np.sin(x) * 0.5 + x
    return x


def seconds(call, repeats=9):
    """Return the CPU time of one call, the minimum of several: nothing here waits, and the machine may be busy."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def fresh(fn):
    """Copy the function with a new code object, for which nothing is cached."""
    return type(fn)(fn.__code__.replace(co_name=fn.__name__), fn.__globals__, fn.__name__)


def measure_hovis(ops):
    spec = hovis.Array(np.dtype("float64"), (8,))
    fn = straight_line(np, ops)
    trace = hovis.trace(fn, spec, spec)
    stats = getattr(trace, "stats", None) or {}
    instructions = stats.get("instructions") or sum(1 for _ in dis.get_instructions(fn))
    emitted = stats.get("ops") or len(trace.ops)
    took = seconds(lambda: hovis.trace(fresh(fn), spec, spec))
    read = seconds(lambda: normalize(fresh(fn).__code__))
    clean = seconds(lambda: pipeline.run(trace.function, "clean"))
    return {
        "seconds": took, "read": read, "clean": clean, "instructions": instructions, "ops": emitted, "restarts": stats.get("restarts"),
        "us_per_instruction": took / instructions * 1e6, "us_per_op": took / emitted * 1e6,
    }


def measure_jax(ops):
    try:
        import jax
        import jax.numpy
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    fn, x = straight_line(jax.numpy, ops), np.ones(8)
    jaxpr = jax.make_jaxpr(fn)(x, x)
    equations = len(jaxpr.jaxpr.eqns)
    took = seconds(lambda: jax.make_jaxpr(fresh(fn))(x, x))
    return {"seconds": took, "equations": equations, "us_per_equation": took / equations * 1e6}


def profile(ops, lines):
    spec = hovis.Array(np.dtype("float64"), (8,))
    fn = straight_line(np, ops)
    profiler = cProfile.Profile()
    profiler.runcall(hovis.trace, fn, spec, spec)
    out = io.StringIO()
    pstats.Stats(profiler, stream=out).strip_dirs().sort_stats("tottime").print_stats(lines)
    return "\n".join(line for line in out.getvalue().splitlines() if line.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, default=1000)
    parser.add_argument("--profile", type=int, default=15, help="lines of the profile; 0 for none")
    parser.add_argument("--json", help="write the numbers here as well")
    args = parser.parse_args()

    ours, theirs = measure_hovis(args.ops), measure_jax(args.ops)
    print(f"hovis.trace, {args.ops} operations: {ours['seconds'] * 1e3:.1f} ms, {ours['us_per_instruction']:.2f} µs an interpreted instruction "
          f"({ours['instructions']}), {ours['us_per_op']:.2f} µs an emitted op ({ours['ops']}), restarts: {ours['restarts']}")
    print(f"of these, reading the bytecode {ours['read'] * 1e3:.1f} ms, cleaning the result {ours['clean'] * 1e3:.1f} ms")
    if theirs:
        print(f"jax.make_jaxpr: {theirs['seconds'] * 1e3:.1f} ms, {theirs['us_per_equation']:.2f} µs an equation ({theirs['equations']})")
        print(f"ratio, hovis per op to JAX per equation: {ours['us_per_op'] / theirs['us_per_equation']:.2f}")
    else:
        print("jax is not installed here: `make bench` has it")
    loops = {
        "pow(Int, const(100000))": lambda: hovis.trace(fresh(pow), hovis.Int, hovis.const(100000)),
        "1000 trips over NumPy code": lambda: hovis.trace(fresh(repeated), hovis.Array(np.dtype("float64"), (8,))),
        "pow(2, 1000), all known": lambda: hovis.trace(fresh(pow), 2, 1000),
    }
    took = {name: seconds(call, 3) for name, call in loops.items()}
    for name, t in took.items():
        print(f"{name}: {t * 1e3:.1f} ms")
    if args.profile:
        print("\nwhere the time goes:")
        print(profile(args.ops, args.profile))
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"hovis": ours, "jax": theirs, "loops": took}, f, indent=1)


if __name__ == "__main__":
    main()
