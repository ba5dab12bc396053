"""The cost of a call of a jitted function: finding the residual by its specialization key, and checking its guards.

    python benchmarks/dispatch.py [--calls 20000]

Each row is a function that relies on a number of guards: nanoseconds of a plain call and of a call through hovis.jit, and the
share of the guards in it. Further rows are for arguments of several kinds. The numbers are reported and never gate.
"""
import argparse
import time
import timeit

import hovis

#: Numbers of globals that are folded, with a guard each, or of classes; the function itself adds one more guard.
GUARDS = (0, 10, 50)


def reading(count):
    """Make a function that adds `count` globals."""
    names = [f"G{k}" for k in range(count)]
    namespace = {name: k for k, name in enumerate(names)}
    exec("def f(x):\n    return x" + "".join(f" + {name}" for name in names) + "\n", namespace)
    return namespace["f"]


def methods(count):
    """Make a function that calls methods of `count` classes: a guard on each class and one on its MRO."""
    lines = [line for k in range(count) for line in (f"class C{k}:", "    def go(self, x):", f"        return x + {k}")]
    namespace = {"__name__": "made"}
    exec("\n".join([*lines, "def f(x):", "    return x" + "".join(f" + C{k}().go(x)" for k in range(count)), ""]), namespace)
    return namespace["f"]


def one(x):
    return x


def three(x, y, mode):
    return x if mode == "x" else y


def nested(x, options):
    return x * options["scale"] + options["shift"]


def rest(*args, key=None):
    return args[0]


ARGUMENTS = {
    "one int": (one, (1,), {}),
    "three, a str": (three, (1, 2.0, "x"), {}),
    "a dict": (nested, (1, {"scale": 2, "shift": 3}), {}),
    "*args, a keyword": (rest, (1, 2, 3), {"key": None}),
}


def nanoseconds(call, calls):
    """Return the CPU time of a call, the minimum of several runs: nothing here waits, and the machine may be busy."""
    return min(timeit.repeat(call, number=calls, repeat=7, timer=time.process_time)) / calls * 1e9


def compared(plain, jitted, calls, args=(1,), kwargs=None):
    """Format the cost of a call, plain and jitted."""
    named = kwargs or {}
    times = nanoseconds(lambda: plain(*args, **named), calls), nanoseconds(lambda: jitted(*args, **named), calls)
    return f"plain {times[0]:7.0f} ns  jit {times[1]:7.0f} ns  x{times[1] / times[0]:5.2f}"


def by_guards(make, calls):
    """Print the rows for functions with increasing numbers of guards."""
    for count in GUARDS:
        plain = make(count)
        jitted = hovis.jit(plain)
        jitted(1)
        variant = next(iter(jitted._variants.values()))
        guards = len(variant.trace.guards)
        each = nanoseconds(variant.holds, calls)
        print(f"{make.__name__:18} {guards:6} guards  {compared(plain, jitted, calls)}  guards {each:7.0f} ns, {each / guards:6.1f} ns each")


def by_arguments(calls):
    """Print the rows for the kinds of arguments."""
    for name, (plain, args, kwargs) in ARGUMENTS.items():
        jitted = hovis.jit(plain)
        jitted(*args, **kwargs)
        print(f"{name:33}  {compared(plain, jitted, calls, args, kwargs)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000)
    calls = parser.parse_args().calls
    for make in (reading, methods):
        by_guards(make, calls)
    by_arguments(calls)


if __name__ == "__main__":
    main()
