"""Random programs in which objects, generators, closures, dicts and exceptions hold arrays, store into them and pass them on.

    python -m tests.xla.harness.random_mixed --programs 1000 --seed 1 --processes 2

Each program is called several times, with arrays of different dtypes and shapes, in plain Python, under hovis.jit, and under hovis_xla.jit for each target.
Its results, exceptions and output, and the arguments and globals afterwards, must be the same. Numbers are multiples of powers of two, so that no branch
depends on the last bit.
"""

import argparse
import math
import os
import random
import subprocess
import sys
import warnings

import numpy as np

import hovis
import hovis_xla
from hovis.base import deadline
from tests.xla.harness.checking import outcome, same
from tests.xla.harness.random_blocks import Blocks, scope_of
from tests.xla.harness.random_loops import agrees

#: The ways to run a program besides plain Python, by name.
WAYS = {
    "hovis.jit": hovis.jit,
    "hovis_xla.jit": hovis_xla.jit,
    "python": lambda fn: hovis_xla.jit(fn, target="python"),
    "xla": lambda fn: hovis_xla.jit(fn, target="xla"),
}
ERRORS = ["IndexError", "ZeroDivisionError", "ValueError", "KeyError", "TypeError", "(IndexError, KeyError)", "Exception", "LookupError"]


class Writer(Blocks):
    """Writes a module: two classes, a generator, a closure, helpers, and f, a function of two vectors, a matrix, an int and a float."""

    def __init__(self, seed):
        super().__init__(seed)
        self.lines = ["LOG = []", *self.classes(), *self.generators(), *self.closure(), *self.helpers(), "def f(a, b, m, n, x):"]
        self.vectors = ["a", "b", "m[0]", "m[:, 1]"]
        self.names = ["s", "x", "n", "k"]
        self.fuel = self.choose(1, 2, 2, 3, 4, 6)
        self.lines.append(f" s, t, k = {self.choose('x', '0', '1.5', 'n')}, {self.choose('a', 'b[::-1]', 'm[n % 2]', 'a * 2', 'np.zeros(5)')}, 0")
        self.lines.append(f" c = {self.choose('Cell', 'Wide')}({self.choose(*self.vectors, 't', 'a[1:]', 'a + 1')}, {self.choose('s', '0', '1', 'x')})")
        self.lines.append(f" o = {self.choose('Cell', 'Wide', 'Wide')}({self.choose(*self.vectors, 't', 'b[::-1]', 'c.w', 'c.w[::-1]')}, {self.choose('s', '2', 'c')})")
        self.lines.append(f" add = make({self.choose(*self.vectors, 't', 'c.w', 'b[:3]')})")
        table = ", ".join(f"{key!r}: {self.choose(*self.vectors, 't', 't', 'c.w', 'o.w', 'a[::-1]', 'b * 2')}" for key in ("lo", "mid", "hi"))
        state = self.choose("'lo'", "'lo'", "'mid' if x > 0 else 'hi'")
        self.lines.append(f" table, state = {{{table}}}, {state}")
        self.vectors += ["t", "t", "c.w", "o.w", "table[state]"]
        self.names += ["c.s", "t[0]", "a[n % 4]", "b[-1]"]
        for _ in range(self.choose(1, 1, 1, 2, 3)):
            self.statement(" ", 1, 0, False)
        self.lines.append(f" {self.result()}")

    def text(self):
        return "\n".join(self.lines) + "\n"

    def chance(self, p):
        return self.random.random() < p

    # --------------------------------------------------------------------------------------------- definitions before f

    def classes(self):
        step = self.choose("self.w[self.at] += y", "self.w += y", "self.w = self.w + y", "self.w[1:] = self.w[:-1] * 1", "self.w[::2] -= y", "touch(self.w, y)")
        yield from ("class Cell:", " made = 0", " def __init__(self, w, s):", "  self.w, self.s, self.at = w, s, 0")
        if self.chance(0.3):
            yield "  Cell.made += 1"
        yield from (" def step(self, y):", f"  {step}", f"  {self.choose('self.at += 1', 'self.s = self.s + 1', 'self.at = (self.at + 1) % 3', 'LOG.append(self.at)')}")
        yield f"  return {self.choose('self', 'self.w', 'y', 'self.w[0]', 'self.w[::-1]')}"
        yield from (" def __getitem__(self, i):", f"  return self.w[{self.choose('i', '-i', 'i % len(self.w)')}]", " def __setitem__(self, i, y):")
        yield f"  self.w[{self.choose('i', 'i', 'i % len(self.w)')}] {self.choose('=', '=', '+=')} y"
        yield from (" def __len__(self):", "  return len(self.w)", " @property", " def part(self):", f"  return self.w[{self.choose('1:', '::2', ':2', '::-1')}]")
        yield from (" def __iter__(self):", f"  {self.choose('yield from self.w', 'yield from feed(self.w, 3)', 'return iter(self.w)')}")
        yield from (" def __enter__(self):", f"  {self.choose('self.w[0] += 1', 'self.at = 1', 'pass')}", f"  return {self.choose('self', 'self.w', 'self.part')}")
        yield from (" def __exit__(self, kind, error, trace):", f"  {self.choose('self.w[-1] = 3', 'self.s = 0', 'LOG.append(1)')}")
        yield f"  return {self.choose('False', 'kind is IndexError', 'None', 'kind is not None')}"
        yield from ("class Wide(Cell):", f" {self.choose('made = 5', '__slots__ = ()', 'pass')}", " def step(self, y):")
        yield f"  {self.choose('super().step(y)', 'super().step(y + 1)', 'got = super().step(y)', 'Cell.step(self, -y)')}"
        yield f"  {self.choose('self.w[-1] -= 1', 'self.s = y', 'self.w = self.w[::-1]', 'self.w[:2] *= 2')}"
        yield f"  return {self.choose('self', 'self.part', 'self.s')}"

    def generators(self):
        item = self.choose("u[i]", "u[i % len(u)]", "u[i:]", "(i, u[i % 3])", "u", "u[:i + 1]", "i")
        guarded = self.chance(0.5)
        pad = "  " if guarded else " "
        yield "def feed(u, n):"
        if guarded:
            yield " try:"
        yield f"{pad}for i in range({self.choose('n', '3', 'len(u)', 'n % 4')}):"
        yield f"{pad} {self.choose('pass', 'u[0] += 1', 'if u[i % 3] > 2: return', 'if i == 2: continue', 'u[i] = i', 'LOG.append(i)')}"
        yield f"{pad} {self.choose('', 'got = ')}yield {item}"
        yield f"{pad} {self.choose('pass', 'u[-1] -= 1', 'u *= 2', 'i += 1')}"
        if guarded:
            if self.chance(0.3):
                yield from (" except GeneratorExit:", "  u[1] = 5", f"  {self.choose('raise', 'return')}")
            if self.chance(0.3):
                yield from (" except IndexError:", "  u[0] = 9")
                if self.chance(0.5):
                    yield from (" else:", "  u[0] -= 1")
            yield from (" finally:", f"  {self.choose('u[1] += 1', 'LOG.append(-1)', 'u[0] = 0')}")
        yield from ("def pairs(u, v):", f" for y in {self.choose('feed(u, 3)', 'u', 'v[::-1]')}:", f"  v[0] += {self.choose('1', '2')}", f"  yield y, {self.choose('v[0]', 'v', 'u[0]')}")

    def closure(self):
        yield from ("def make(u):", " hits, last = 0, None", " def add(i, y):", "  nonlocal hits, last, u", "  hits += 1")
        yield f"  {self.choose('u[i] += y', 'u[i % len(u)] += y', 'u += y', 'u = u + y', 'u[hits:] = y', 'u[hits % 3], last = y, u[0]')}"
        yield f"  {self.choose('last = u', 'last = y', 'pass', 'if last is not None: u[0] = 1', 'last = u[::-1]')}"
        yield f"  return {self.choose('hits', 'u', 'last', 'u[0]', '(hits, u[-1])')}"
        yield " return add"

    def helpers(self):
        yield from ("def touch(v, y):", f" {self.choose('v += y', 'v[1:] -= y', 'v *= 2', 'v[::-1][0] = y', 'w = v[1:]; w += 1', 'v[v > 1] = 0', 'v.fill(1)', 'v -= v[0]')}")
        yield f" {self.choose('v[0] += 1', 'np.add(v, 1, out=v)', 'if y > 1: return v[::-1]', 'v[:2] = v[-2:] * 1', 'v.sort()', 'pass')}"
        yield f" return {self.choose('v', 'v[1:]', 'v + 1', 'v.sum()', 'v.copy()')}"
        yield from ("def pick(flag, u, v):", f" if {self.choose('flag', 'flag and u[0] > 0', 'not flag')}: return {self.choose('u', 'u[::-1]')}")
        yield f" {self.choose('v[0] = 2', 'pass')}"
        yield f" return {self.choose('v', 'v', 'u + v', 'v[1:]')}"

    # --------------------------------------------------------------------------------------------- expressions

    def vector(self):
        v = self.choose(*self.vectors)
        return self.choose(v, v, v, v, f"{v}[::-1]", f"{v}[1:]", "c.part", "o.part", f"{v}[:3]")

    def index(self):
        return self.choose("0", "-1", "k % 3", "k % 4", "n % 5", "k", "n", "c.at", "i % 3" if "i" in self.names else "1", "2")

    def number(self):
        v = self.choose(*self.names)
        return self.choose(v, v, v, "1", "2", "0.5", "-1", f"{v} + 1", f"{v} * 2", f"{self.vector()}[{self.index()}]", f"{self.vector()}.sum()", "len(c)", "c[0]")

    def test(self):
        v = self.vector()
        return self.choose(
            f"{self.number()} {self.choose('>', '<', '==', '!=', '<=')} {self.number()}", f"{v}[0] > {self.choose('0', '1', 'x')}", "k % 2", "n > 2",
            "state == 'lo'", "state != 'hi'", f"({v} > 0).any()", "isinstance(o, Wide)", "c.at > 0", "x", "t is a",
        )  # fmt: skip

    def result(self):
        more = [self.choose("c.w", "o.w", "table['lo']", "table", "s", "k", "state", "c.at", "o.s if o.s is not c else 0", "len(LOG)", "a", "Cell.made", "m[0]", "t * 2") for _ in range(2)]
        return f"return {self.choose('t', 't', 't[1:]', 'c.w', 's')}, {', '.join(more)}, k"

    # --------------------------------------------------------------------------------------------- statements

    def statement(self, pad, depth, nested, loop):
        self.fuel -= 1
        kind = self.random.random() if self.fuel > 0 and depth < 5 else 1.0
        if kind < 0.14:
            self.branch(pad, depth, nested, loop)
        elif kind < 0.34 and nested < 2:
            self.loop(pad, depth, nested)
        elif kind < 0.56:
            self.attempt(pad, depth, nested, loop)
        elif kind < 0.64:
            self.lines.append(f"{pad}with {self.choose('c', 'o')}{self.choose('', ' as t') if depth < 3 else ''}:")
            self.block(depth + 1, nested, loop)
        elif kind < 0.74:
            self.machine(pad, depth)
        else:
            self.lines.append(pad + self.choose(self.store, self.store, self.act, self.act, self.rebind)())

    def loop(self, pad, depth, nested):
        v, u = "ij"[nested], self.vector()
        head = self.choose(
            f"for {v} in range({self.choose('n', '3', 'n % 4')}):", f"for y in feed({u}, {self.choose('n', '3')}):", f"for y in {self.choose('c', 'o', u)}:",
            f"for y, z in pairs({u}, {self.vector()}):", f"for {v}, y in enumerate({self.choose('c', u)}):", f"for y, z in zip(feed({u}, 2), {self.vector()}):",
        )  # fmt: skip
        self.lines.append(pad + head)
        known = self.names
        self.names = [*known, v] if f" {v} " in head or f" {v}," in head else [*known, *["z"] * (" z " in head)]
        self.block(depth + 1, nested + 1, True)
        self.names = known
        if self.chance(0.2):
            self.lines.append(pad + "else:")
            self.block(depth + 1, nested + 1, False, 1)

    def attempt(self, pad, depth, nested, loop):
        self.lines.append(pad + "try:")
        self.block(depth + 1, nested, loop)
        if self.chance(0.4):
            self.lines.append(f"{pad} if {self.test()}: raise {self.choose('ValueError(k)', 'IndexError', 'KeyError(state)')}")
        ends = self.chance(0.45)
        if not ends or self.chance(0.6):
            self.lines.append(f"{pad}except {self.choose(*ERRORS)}{self.choose('', ' as error')}:")
            self.block(depth + 1, nested, loop, 1)
            if self.chance(0.15):
                self.lines.append(pad + " raise")
            if self.chance(0.4):
                self.lines.append(pad + "else:")
                self.block(depth + 1, nested, loop, 1)
        if ends:
            self.lines.append(pad + "finally:")
            self.block(depth + 1, nested, False, 1)
            if self.chance(0.1):
                self.lines.append(f"{pad} if {self.test()}: {self.choose('return t, s', *['break'] * loop)}")

    def machine(self, pad, depth):
        """Write a step of a state machine whose states are keys of a dict of arrays."""
        states = ["'lo'", "'mid'", "'hi'", "state"]
        if self.chance(0.4):
            self.lines.append(f"{pad}for _ in range({self.choose('n', '4')}):")
            pad += " "
        self.lines.append(f"{pad}y = table[{self.choose('state', 'state', *states)}]")
        self.lines.append(pad + self.choose(f"y[{self.index()}] += {self.number()}", "table[state] = y + 1", "touch(y, 1)", "table[state] = y[::-1]", "table[state] += 1", "s = s + y[0]"))
        ways = [self.choose(*states) for _ in range(2)]
        self.lines.append(pad + self.choose(
            f"state = {ways[0]} if {self.test()} else {ways[1]}", f"if y[0] > {self.choose('1', '0', 's')}: state = {ways[0]}",
            "state = {'lo': 'mid', 'mid': 'hi', 'hi': 'lo'}[state]", f"table[{ways[0]}], table[{ways[1]}] = table[{ways[1]}], table[{ways[0]}]",
        ))  # fmt: skip

    def store(self):
        v, i = self.vector(), self.index()
        shown = v if v.endswith("]") else f"{v}[...]"
        return self.choose(
            f"{v}[{i}] {self.choose('=', '+=', '-=', '*=')} {self.number()}", f"{shown} += {self.number()}", f"{v}[{self.choose('1:', '::2', ':2', 'k % 3:')}] = {self.number()}",
            f"{v}[{v} > {self.choose('0', '1')}] = {self.number()}", f"c[{i}] = {self.number()}", f"o[{i}] += {self.number()}", f"m[{self.choose('0', '1', 'k % 2')}, {i}] = {self.number()}",
            f"m[:, 0] += {self.number()}", f"{v}[{i}] //= {self.number()}", f"{v}[:2] = {self.vector()}[-2:] * 1", "c.w += o.w[0]", "c.w[:2], o.w[:2] = o.w[:2] * 1, c.w[:2] * 1",
        )  # fmt: skip

    def act(self):
        v, y = self.vector(), self.number()
        return self.choose(
            f"c.step({y})", f"o.step({y})", f"s = add({self.index()}, {y}); s = 1 if s is None or isinstance(s, tuple) else s", f"add({self.index()}, {y})", f"touch({v}, {y})",
            f"t = pick({self.test()}, {v}, {self.vector()})", f"t = touch({v}, {y}) * 1", f"g = feed({v}, 3); k += len(list(g))", f"g = feed({v}, 3); next(g, None); g.close()",
            f"g = feed({v}, 3); next(g); s = s + 1; next(g)", f"s = sum(y for y in {v})", f"k += sum(1 for y in feed({v}, 2))", f"k += [y for y in pairs({v}, {self.vector()})][0][0].size",
            f"print(k, {self.choose('state', 'c.at', 'len(t)', 'type(s).__name__')})", "LOG.append(k)", f"s = max(c.w[0], {y})", "s, *rest = c.w", f"o.step({y}); c.step({y})",
        )  # fmt: skip

    def rebind(self):
        v = self.vector()
        return self.choose(
            f"t = {v}", f"t = {v}[::-1]", f"t = {v} * 1", "c, o = o, c", f"c.w = {v}", f"s = {self.number()}", "s += 1", f"a = {v}", f"k += {self.choose('1', '2', 'c.at')}",
            f"add = make({v})", f"c = {self.choose('Cell', 'Wide')}({v}, {self.number()})", "o.s = c.s", f"table['mid'] = {v}", f"table.update(hi={v})", "t = table.get(state, a)",
            f"t = np.where({v} > 0, {v}, 0)", f"t = np.concatenate([{v}[:2], {self.vector()}[1:]])", "a, b = b, a",
        )  # fmt: skip


def program(seed):
    """Return the text of a program."""
    return Writer(seed).text()


def loaded(seed, source):
    """Execute the text of a program; return its new scope."""
    return scope_of(source, f"<mixed {seed}>", np=np, math=math)


def arguments(seed, number):
    """Draw the arguments of a program: values, dtypes and shapes differ with the number."""
    drawn = random.Random(f"{seed} {number // 2}")
    dtype, size = drawn.choice(["f8", "f8", "f4", "i8", "i4"]), drawn.choice([4, 5, 5, 6, 3, 1])
    if number < 2:
        dtype, size = "f8", max(size, 4)
    values = random.Random(f"{seed} {number}")
    a, b = (np.array([values.randrange(-8, 9) / (2 if dtype[0] == "f" else 1) for _ in range(size)], dtype) for _ in range(2))
    m = np.array([[values.randrange(-4, 5) for _ in range(size)] for _ in range(drawn.choice([2, 2, 3]))], dtype)
    return a, b, m, values.choice([0, 1, 2, 3, 4, 5, -1]), values.choice([0.0, 1.0, 0.5, -2.5, 3.0])


def differing(seed, ways=WAYS):
    """Return (way, number of the arguments, expected, actual) for the first difference, or None if there is none."""
    source, numbers = program(seed), (0, 1, 2 + seed % 2 * 2, 0)
    wanted = _run(loaded(seed, source), lambda fn: fn, seed, numbers)
    for name, way in ways.items():
        for number, a, b in zip(numbers, wanted, _run(loaded(seed, source), way, seed, numbers), strict=True):
            if not (agrees(a[0], b[0]) and same(a[1], b[1])):
                return name, number, a, b
    return None


def _run(scope, way, seed, numbers):
    """Return the outcome of each call, and the globals after it."""
    fn = way(scope["f"])
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in numbers:
            found.append((_plain(outcome(fn, arguments(seed, number))), [scope["LOG"][:], scope["Cell"].made, scope["Wide"].made]))
    return found


def _plain(value, around=()):
    """Replace the objects of the program in a value by tuples of their attributes."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(_plain(item, around) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, around) for key, item in value.items()}
    if type(value).__name__ not in ("Cell", "Wide"):
        return value
    return (type(value).__name__, *((key, "itself") if any(item is one for one in around) else (key, _plain(item, (*around, value))) for key, item in vars(value).items()))


# ------------------------------------------------------------------------------------------------- long runs


def work(first, last, ways):
    """Run the programs of these seeds; print each seed at its start, since the process may die."""
    os.environ.setdefault(deadline.VARIABLE, "60")  # so that programs are not left to Python on a busy machine
    for seed in range(first, last):
        print(f"seed {seed}", flush=True)
        try:
            found = differing(seed, ways)
        except Exception as error:
            found = type(error).__name__, str(error)
        if found:
            print(f"wrong {seed} {found[0]}, arguments {found[1]}: wanted {found[2:3]} got {found[3:]}".replace("\n", " "), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    last = options.seed + options.programs
    if options.worker:
        work(options.seed, last, {name: WAYS[name] for name in options.ways.split(",")})
        return 0
    waiting = [(first, min(first + 100, last)) for first in reversed(range(options.seed, last, 100))]
    wrong, running = 0, []
    while waiting or running:
        while waiting and len(running) < options.processes:
            first, until = waiting.pop()
            command = [sys.executable, "-m", "tests.xla.harness.random_mixed", "--worker", "--seed", str(first), "--programs", str(until - first), "--ways", options.ways]
            running.append((until, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ)))
        until, process = running.pop(0)
        at = until
        for line in process.stdout:
            if line.startswith("seed "):
                at = int(line.split()[1])
            else:
                wrong += 1
                print(line.rstrip(), flush=True)
        if process.wait():
            wrong += 1
            print(f"wrong {at}: the process died with {process.returncode}", flush=True)
            if at + 1 < until:
                waiting.append((at + 1, until))
    print(f"{options.programs} programs, {wrong} wrong", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
