"""Interpreters with a known program: the residual beside the interpreter, and beside what an expert would write.

    python benchmarks/futamura.py [--seconds 0.5]

Each row is an example: how often faster the residual is than the interpreter, its time as a multiple of the code written
by hand, how long it took to specialize, and after how many calls that has paid off. Where the ecosystem's own specializer is
installed (sklearn, jsonschema, fastjsonschema, jinja2, sympy), its time is a multiple of the residual's. All runs of a row alternate.
Numbers, not a gate.
"""
import argparse
import importlib
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

#: Of each example: the interpreter with its program, and what all are called with.
PROGRAMS = {
    "trees": lambda e: (partial(e.predict, e.MODEL), [(row,) for row in e.ROWS]),
    "packets": lambda e: (partial(e.parse, e.SENSOR), [(e.PACKET, 0)]),
    "vm": lambda e: (partial(e.main, e.PROGRAM), [(8,)]),
    "expressions": lambda e: (partial(e.at, e.EXPRESSION), [(0.5, -2.0), (3.25, 1.0)]),
    "template": lambda e: (partial(e.render, e.PARSED, "list"), [(e.VALUES,)]),
    "schema": lambda e: (partial(e.errors_of, e.SCHEMA), [(document,) for document in e.DOCUMENTS]),
}


def peer(name, example):
    """What others make of the same program: a name and a callable, or None."""
    try:
        if name == "schema":
            module = importlib.import_module("fastjsonschema")
            compiled = module.compile(example.SCHEMA)

            def validate(document):
                try:
                    return compiled(document)
                except module.JsonSchemaException as error:
                    return error

            return "fastjsonschema", validate
        if name == "expressions":
            sympy = importlib.import_module("sympy")
            x, y = sympy.symbols("x y")
            formula = sympy.sin(2 * x + y) * sympy.exp(-(x**2)) / (y * y + 1) + sympy.sqrt(x * x + y * y)
            return "sympy.lambdify", sympy.lambdify((x, y), formula, "math")
        if name == "template":
            jinja2 = importlib.import_module("jinja2")
            loader = jinja2.DictLoader({key: text.replace("extends page", 'extends "page"') for key, text in example.TEMPLATES.items()})
            made = jinja2.Environment(loader=loader)
            made.filters.update(money=example.FILTERS["money"], default=example.FILTERS["default"])
            template = made.get_template("list")
            return "jinja2", lambda values: template.render(values)
    except ImportError:
        pass
    return None


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
    print(f"{'':12} {'x interpreter':>14} {'of by hand':>11} {'specialize':>11} {'pays after':>11}")
    for name, program in PROGRAMS.items():
        example = importlib.import_module(name)
        interpret, calls = program(example)
        start = time.process_time()
        residual = example.specialized()
        specialize = time.process_time() - start
        other = peer(name, example)
        fns = [interpret, residual, example.by_hand, *([other[1]] if other else [])]
        times = measured(fns, calls, chosen.seconds)
        saved = (times[0] - times[1]) / len(calls)
        pays = f"{specialize / saved:.0f} calls" if saved > 0 else "never"
        row = f"{name:12} {times[0] / times[1]:13.1f}x {times[1] / times[2]:10.2f}x {specialize * 1e3:8.0f} ms {pays:>11}"
        print(row + (f"   {other[0]}: {times[3] / times[1]:.1f}x the residual" if other else ""))


if __name__ == "__main__":
    main()
