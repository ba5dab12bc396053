"""How the time to specialize grows with the size of a function: it should be linear.

    python benchmarks/scaling.py [NAME ...]

Each row is a kind of program at growing sizes: processor milliseconds, blocks of the residual, and the exponent of growth
between the two largest sizes (1 is linear). Where n variables are live across n merge points, n² values cross edges, and
the exponent shows it. Further rows are for functions that are compiled, from tracing to the program given to XLA, and for
interpreters (guests.py) with guest programs of a given number of operations. The numbers are reported and never gate.
"""
import linecache
import math
import sys
import time

import guests

import hovis
import hovis_xla
from hovis import Int


def straight(n):
    """n lines of straight-line code."""
    return "def f(x, y):\n" + "".join(f"    x = x {'+-*&|'[i % 5]} y\n" for i in range(n)) + "    return x\n"


def branches(n):
    """n unknown branches in sequence."""
    return "def f(x, y):\n" + "".join(f"    if x > {i}:\n        y = y + {i}\n    else:\n        y = y - x\n" for i in range(n)) + "    return y\n"


def flags(n):
    """n unknown branches that set flags, and n tests of the flags: 2**n combinations."""
    sets = "".join(f"    b{i} = False\n    if x > {i}:\n        b{i} = True\n" for i in range(n))
    return f"def f(x, y):\n{sets}" + "".join(f"    if b{i}:\n        y += {i}\n" for i in range(n)) + "    return y\n"


def modes(n):
    """n unknown branches that set strings, and n comparisons of the strings: 2**n combinations."""
    sets = "".join(f"    m{i} = 'off'\n    if x > {i}:\n        m{i} = 'on'\n" for i in range(n))
    return f"def f(x, y):\n{sets}" + "".join(f"    if m{i} == 'on':\n        y += {i}\n" for i in range(n)) + "    return y\n"


def objects(n):
    """A dict that gets another key on one side of each of n branches."""
    return "def f(x, y):\n    d = {}\n" + "".join(f"    if x > {i}:\n        d['k{i}'] = y\n" for i in range(n)) + "    return d\n"


def classes(n):
    """n classes, an instance and a method call of each."""
    made = "".join(f"class C{i}:\n    def __init__(self, v):\n        self.v = v\n    def go(self, x):\n        return self.v * x + {i}\n" for i in range(n))
    return made + "def f(x, y):\n" + "".join(f"    y += C{i}({i}).go(x)\n" for i in range(n)) + "    return y\n"


def calls(n):
    """n helper functions, each with an unknown branch."""
    made = "".join(f"def g{i}(x):\n    return x + {i} if x else {i}\n" for i in range(n))
    return made + "def f(x, y):\n" + "".join(f"    x = g{i}(x)\n" for i in range(n)) + "    return x\n"


def loops(n):
    """n loops with an unknown trip count."""
    return "def f(x, y):\n" + "".join(f"    for i in range(x):\n        y += i * {k}\n" for k in range(n)) + "    return y\n"


def handlers(n):
    """n try statements around an operation that may raise."""
    tries = "".join(f"    try:\n        y += x // (y - {k})\n    except ZeroDivisionError:\n        y = {k}\n" for k in range(n))
    return f"def f(x, y):\n{tries}    return y\n"


def configs(n):
    """n nested loops, each with trip counts and factors from its own configuration."""
    made = "".join(f"C{i} = dict(a=[{i}, {i + 1}], b=dict(c={i}))\n" for i in range(n))
    body = "".join(f"    for i in range(x):\n        for j in range(C{k}['a'][0]):\n            y += C{k}['b']['c'] * j\n" for k in range(n))
    return f"{made}def f(x, y):\n{body}    return y\n"


def questions(n):
    """n loops whose condition is a conjunction of two tests."""
    body = "".join(f"    i = {k}\n    while i < x and y * 2 < 1000:\n        y += i\n        i += 1\n" for k in range(n))
    return f"def f(x, y):\n{body}    return y\n"


def maxima(n):
    """n loops that start with known values."""
    body = "    best = 1\n    for i in range(x):\n        if i * y % 7 > best: best = i * y % 7\n    y += best\n" * n
    return f"def f(x, y):\n{body}    return y\n"


SIZES = {
    straight: (500, 1000, 2000), branches: (16, 64, 256), flags: (4, 8, 16, 32), modes: (4, 8, 16, 32), objects: (8, 16, 32),
    classes: (25, 50, 100), calls: (50, 100, 200), loops: (16, 32, 64), handlers: (16, 32, 64),
}

#: Sizes of the functions that are compiled.
COMPILED = {loops: (25, 50, 100), branches: (64, 256), configs: (12, 25, 50), questions: (12, 25, 50), maxima: (12, 25, 50)}


#: Numbers of operations of a guest program.
OPERATIONS = 500, 2000, 10_000


def compiled(make, n):
    source, file = make(n), f"<{make.__name__} {n}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    namespace = {}
    exec(compile(source, file, "exec"), namespace)
    return namespace["f"]


def measure_compiled(make, n):
    """Return the CPU seconds from tracing to the program given to XLA, and the number of loops in the program."""
    jitted = hovis_xla.jit(compiled(make, n))
    start = time.process_time()
    text = jitted.lower(3, 4).as_text()
    return time.process_time() - start, text.count("stablehlo.while")


def measure(make, n, guest):
    """Return the CPU seconds to specialize a fresh function, the best of three (one for a guest), and the number of blocks of the residual."""
    best, blocks = math.inf, 0
    for _ in range(1 if guest else 3):
        fn, specs, _ = make(n) if guest else (compiled(make, n), (Int, Int), ())
        start = time.process_time()
        residual = hovis.specialize(fn, *specs)
        best = min(best, time.process_time() - start)
        blocks = -1 if residual.trace.fallback else len(residual.trace.blocks)
    return best, blocks


def main():
    wanted = sys.argv[1:]
    hovis.specialize(compiled(branches, 2), Int, Int)
    hovis_xla.jit(compiled(branches, 2)).lower(3, 4)
    for make, sizes in {**SIZES, **dict.fromkeys(guests.GUESTS, OPERATIONS)}.items():
        if wanted and make.__name__ not in wanted:
            continue
        times = [measure(make, n, make in guests.GUESTS) for n in sizes]
        cells = [f"{n}: {seconds * 1e3:.0f} ms, {'left as a call' if blocks < 0 else f'{blocks} blocks'}"
                 for n, (seconds, blocks) in zip(sizes, times, strict=True)]
        show(make.__name__, sizes, times, cells)
    for make, sizes in COMPILED.items():
        if wanted and make.__name__ not in wanted:
            continue
        times = [measure_compiled(make, n) for n in sizes]
        show(make.__name__, sizes, times, [f"{n}: {seconds * 1e3:.0f} ms, {loops} loops" for n, (seconds, loops) in zip(sizes, times, strict=True)])


def show(name, sizes, times, cells):
    power = math.log(times[-1][0] / times[-2][0]) / math.log(sizes[-1] / sizes[-2])
    print(f"{name:10} n**{power:.1f}   {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
