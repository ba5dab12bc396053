"""The work of tracing: what is interpreted, how often states are joined, how much of it is in the result, and where the time goes.

    python benchmarks/tracing.py [-k PATTERN] [--way specialize|jit] [--json FILE]

A row for each program, which has a process of its own. The programs are cases of libraries/cases.py (by default eight of them; a library that
is not installed is left out), examples (futamura.py) and guest programs (guests.py).

``instr``: interpreted instructions, in all attempts; ``chains``: evaluated chains of instructions, an entry's own each time; ``kept``: entries
that are in the result; ``useful``: the share of the instructions that is in the last chains of these. ``joins``: arrivals of a state at an
entry that exists already; ``changed``: the share of these that changed the entry, or led to a restart. ``restarts``: how often the trace began again,
as a whole or in a part. ``CPU s``: the time of hovis.specialize, or of the first call of a jitted function, and its parts in percent:
``chain`` interpreting chains, ``join`` joins, keys and the worklist, ``SSA`` the analyses and the construction of the functions after each fixpoint,
``pass`` passes, ``asm`` assembling the residual, ``rest`` what is left. ``ops``, ``opaque``: operations of the result, and opaque ones.
The last row has geometric means, of n + 1 less 1 for all but the seconds; the percentages in it are those of the whole time.

To count, methods of the engine are wrapped, which costs time itself: two readings of the clock for each chain and each join, so the
seconds are a little more than without. The numbers are reported and never gate.
"""
import argparse
import functools
import json
import math
import re
import time
from collections import Counter
from functools import partial
from pathlib import Path

import guests
from libraries.cases import CASES
from libraries.measuring import apart, left

import hovis
from hovis.backend.entry import prologue
from hovis.engine import trace as engine
from hovis.engine.merge.entry_update import EntryUpdate
from hovis.engine.merge.merging import Merger
from hovis.engine.worklist import Engine
from hovis.front import tracing
from hovis.lattice import Const
from hovis.passes import pipeline

#: The cases of libraries that are traced by default: a template, a grammar, schemas, an expression, binary formats, a command line.
LIBRARIES = ("jinja2", "arpeggio", "jsonschema", "voluptuous", "py_expression_eval", "bitstruct", "kaitaistruct", "docopt")
#: The examples, and the guest programs with their sizes.
EXAMPLES = ("template", "regex", "plan")
GUESTS = {"stack": 120, "closures": 120, "frames": 120}

#: The parts of the time.
PHASES = ("chain", "join", "SSA", "pass", "asm", "rest")


# ------------------------------------------------------------------------------------------------- programs


def of_library(name):
    """Return a program: what makes its residual, the function to jit, and arguments of it."""
    fn, inputs = CASES[name].make()
    return partial(hovis.specialize, fn, *CASES[name].specs), fn, inputs[0]


def of_example(name):
    import importlib

    from futamura import PROGRAMS

    example = importlib.import_module(name)
    interpret, calls = PROGRAMS[name](example)
    return example.specialized, called(interpret), calls[0]


def of_guest(name):
    fn, specs, values = getattr(guests, name)(GUESTS[name])
    known = [spec.value for spec in specs if isinstance(spec, Const)]  # these come first
    return partial(hovis.specialize, fn, *specs), called(partial(fn, *known)), values


def called(interpret):
    """Return a function that calls a partial, which hovis.jit would leave alone."""
    return lambda *data: interpret(*data)


def programs():
    """Return for each program, by name, a function that makes it."""
    return {
        **{name: partial(of_library, name) for name in CASES},
        **{f"example {name}": partial(of_example, name) for name in EXAMPLES},
        **{f"guest {name}": partial(of_guest, name) for name in GUESTS},
    }


def is_default(name):
    return name in LIBRARIES or name not in CASES


# ------------------------------------------------------------------------------------------------- counting and timing


class Phases:
    """The CPU seconds of each part of the work; those of a part within another count for the inner one alone."""

    def __init__(self):
        self.seconds = Counter()
        self._stack = ["rest"]
        self._since = time.process_time()

    def turn(self):
        """Charge the time since the last turn to the part that is at work."""
        now = time.process_time()
        self.seconds[self._stack[-1]] += now - self._since
        self._since = now

    def during(self, phase, fn):
        """Wrap a function whose time belongs to a part."""

        @functools.wraps(fn)
        def timed(*args, **kwargs):
            if self._stack[-1] == phase:
                return fn(*args, **kwargs)
            self.turn()
            self._stack.append(phase)
            try:
                return fn(*args, **kwargs)
            finally:
                self.turn()
                self._stack.pop()

        return timed


class Counts:
    """What the engine does, counted by wrappers around its methods."""

    def __init__(self):
        self.instructions = self.chains = self.kept = self.useful = self.joins = self.changed = self.restarts = 0
        #: for each trace that is under way, as one can be within another: the instructions in the last chain of each entry, by its number
        self._last = []
        self._has_changed = False

    def follow(self, fn):
        """Wrap the trace of a function, which returns a Result."""

        def follow(at, *args, **kwargs):
            self._last.append({})
            self.restarts -= 1  # the first beginning is none
            try:
                result = fn(at, *args, **kwargs)
                numbers = {entry.number for entry in reached(at.keys.start)}
                self.kept += len(numbers)
                self.useful += sum(self._last[-1][number] for number in numbers)
                return result
            finally:
                self._last.pop()

        return follow

    def chain(self, fn):
        """Wrap the evaluation of a chain, which returns whether it is complete."""

        def chain(at, entry):
            self.chains += 1
            at.steps = 0  # in case that it ends before it begins
            done = False
            try:
                done = fn(at, entry)
                return done
            finally:
                self.instructions += at.steps
                self._last[-1][entry.number] = at.steps if done else 0

        return chain

    def join(self, fn):
        """Wrap the join of a state into an entry."""

        def join(merger, entry, state):
            self.joins += 1
            self._has_changed = True
            try:
                fn(merger, entry, state)
            finally:
                self.changed += self._has_changed

        return join

    def update(self, fn):
        """Wrap the update of an entry within a join, which returns whether the entry has changed."""

        def update(at, dropped):
            changed = fn(at, dropped)
            self._has_changed = changed or dropped
            return changed

        return update

    def restart(self, fn):
        """Wrap what discards entries and evaluates others again."""

        def restart(*args):
            self.restarts += 1
            return fn(*args)

        return restart


def reached(start):
    """Return the entries that are in the result: those that can be reached from START."""
    found, todo = {start}, [start]
    while todo:
        entry = todo.pop()
        for _, target, _ in (*entry.exits, *entry.calls):
            if target not in found:
                found.add(target)
                todo.append(target)
    return found


def wrap(counts, phases):
    """Wrap the methods and functions of hovis that are counted or timed."""
    for owner, name, wrapper in (
        (Engine, "_chain", counts.chain),
        (Engine, "_begin", counts.restart),
        (Engine, "_discard", counts.restart),
        (EntryUpdate, "run", counts.update),
        (Merger, "_join", counts.join),
        (engine, "follow", counts.follow),
        (Engine, "_chain", partial(phases.during, "chain")),
        (Engine, "run", partial(phases.during, "join")),
        (Merger, "edge", partial(phases.during, "join")),
        (Merger, "arrive", partial(phases.during, "join")),
        (engine, "follow", partial(phases.during, "SSA")),
        (pipeline, "run", partial(phases.during, "pass")),
        (tracing, "put_in", partial(phases.during, "pass")),
        (tracing, "expanded", partial(phases.during, "pass")),
        (prologue, "compile_residual", partial(phases.during, "asm")),
        (prologue, "with_kinds", partial(phases.during, "asm")),
    ):
        setattr(owner, name, wrapper(getattr(owner, name)))


# ------------------------------------------------------------------------------------------------- in the process of a program


def one(x):
    return x if x > 0 else -x


def measure(name, way):
    """Return the numbers of a program, or why there are none."""
    try:
        specialized, fn, args = programs()[name]()
    except ImportError as missing:
        return {"state": "not installed", "why": str(missing)}
    hovis.specialize(one, hovis.Int)  # what is made once for each process
    hovis.jit(one)(1)
    counts = Counts()
    phases = Phases()
    wrap(counts, phases)
    phases.turn()
    phases.seconds.clear()
    if way == "specialize":
        traces = [specialized().trace]
    else:
        jitted = hovis.jit(fn)
        jitted(*args)
        traces = jitted.traces
    phases.turn()
    ops, opaque = left(traces)
    return {
        "state": "traced",
        "why": "left as one call" if any(trace.fallback for trace in traces) else "",
        "instructions": counts.instructions, "chains": counts.chains, "kept": counts.kept, "joins": counts.joins,
        "changed": percent(counts.changed, counts.joins), "restarts": counts.restarts, "useful": percent(counts.useful, counts.instructions),
        "seconds": sum(phases.seconds.values()), "phases": {phase: phases.seconds[phase] for phase in PHASES}, "ops": ops, "opaque": opaque,
    }  # fmt: skip


def percent(part, whole):
    return 100 * part / whole if whole else 0.0


# ------------------------------------------------------------------------------------------------- the table

#: The numbers of a row and the form of each; the parts of the time come before the operations.
COLUMNS = {
    "instructions": ("instr", "9.0f"), "chains": ("chains", "7.0f"), "kept": ("kept", "6.0f"), "useful": ("useful", "6.1f"), "joins": ("joins", "7.0f"),
    "changed": ("changed", "7.1f"), "restarts": ("restarts", "8.0f"), "seconds": ("CPU s", "7.2f"), **{phase: (phase, "6.1f") for phase in PHASES},
    "ops": ("ops", "6.0f"), "opaque": ("opaque", "6.0f"),
}  # fmt: skip


def head():
    return f"{'':18}" + " ".join(f"{title:>{form.partition('.')[0]}}" for title, form in COLUMNS.values())


def told(name, row):
    """Format a row of the table."""
    numbers = {**row, **{phase: percent(row["phases"][phase], row["seconds"]) for phase in PHASES}}
    return f"{name:18}" + " ".join(f"{numbers[column]:{form}}" for column, (_, form) in COLUMNS.items()) + f"   {row['why']}".rstrip()


def means(rows):
    """Return the row of means."""
    found = {column: math.expm1(sum(math.log1p(row[column]) for row in rows) / len(rows)) for column in COLUMNS if column not in PHASES}
    found["seconds"] = math.exp(sum(math.log(row["seconds"]) for row in rows) / len(rows))
    sums = {phase: sum(row["phases"][phase] for row in rows) for phase in PHASES}
    whole = sum(sums.values())
    return {**found, "phases": {phase: took / whole * found["seconds"] for phase, took in sums.items()}, "why": ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", metavar="PATTERN", help="a regular expression: the programs in whose names it is found, all libraries included")
    parser.add_argument("--way", choices=("specialize", "jit"), default="specialize")
    parser.add_argument("--json", metavar="FILE", help="write the numbers here as well")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.way)))
        return
    rows = {}
    print(head())
    for name in programs():
        if is_default(name) if chosen.k is None else re.search(chosen.k, name):
            row = apart(__file__, "--one", name, "--way", chosen.way)
            if row["state"] == "traced":
                rows[name] = row
                print(told(name, row), flush=True)
            else:
                print(f"{name:18}{row['state']}: {row['why']}", flush=True)
    if rows:
        print(told("geometric means", means(list(rows.values()))))
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
