"""What it costs to call a jitted function: finding the residual by its key, and looking at its guards.

    python benchmarks/dispatch.py [--calls 20000]

Each row is a function that relies on a number of guards: nanoseconds of a plain call and of a call through hovis.jit, what
the guards take of that, and the same for arguments of several kinds. Numbers, not a gate.
"""
import argparse
import time
import timeit

import hovis

#: Globals that are folded, a guard each, or classes; the function itself is one more.
GUARDS = (0, 10, 50)


def reading(count):
    """A function that adds that many globals."""
    names = [f"G{k}" for k in range(count)]
    namespace = {name: k for k, name in enumerate(names)}
    exec("def f(x):\n    return x" + "".join(f" + {name}" for name in names) + "\n", namespace)
    return namespace["f"]


def methods(count):
    """One that calls methods of that many classes: a guard on each class, one on its MRO."""
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
    """The least of a few runs: nothing here waits, and the machine may be busy."""
    return min(timeit.repeat(call, number=calls, repeat=7, timer=time.process_time)) / calls * 1e9


def compared(plain, jitted, calls, args=(1,), kwargs=None):
    """The text of what a call costs, plain and jitted."""
    named = kwargs or {}
    times = nanoseconds(lambda: plain(*args, **named), calls), nanoseconds(lambda: jitted(*args, **named), calls)
    return f"plain {times[0]:7.0f} ns  jit {times[1]:7.0f} ns  x{times[1] / times[0]:5.2f}"


def by_guards(make, calls):
    """Rows for functions with more and more guards."""
    for count in GUARDS:
        plain = make(count)
        jitted = hovis.jit(plain)
        jitted(1)
        variant = next(iter(jitted._variants.values()))
        guards = len(variant.trace.guards)
        each = nanoseconds(variant.holds, calls)
        print(f"{make.__name__:18} {guards:6} guards  {compared(plain, jitted, calls)}  guards {each:7.0f} ns, {each / guards:6.1f} ns each")


def by_arguments(calls):
    """Rows for what is passed."""
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
