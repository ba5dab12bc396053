"""Random programs on arguments, views of views, names for one of several arrays and in-place operators, beside CPython."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree
from tests.xla.harness.random_blocks import Blocks, scope_of

pytestmark = pytest.mark.xla

#: Names of arrays of six floats, all defined from the start.
NAMES = "abcuv"


class Writer(Blocks):
    def __init__(self, seed):
        super().__init__(seed)
        self.lines = [
            "def f(a, b, m, n):", *self.helper(), " c = np.zeros(6)", f" u = {self.choose('a', 'b', 'c', 'm[1]', 'a[::-1]', 'm[:, 2]')}",
            f" v = {self.choose('u', 'u[::-1]', 'a * 2', 'm[n]', 'm.T[1]', 'b.reshape(2, 3).T.reshape(6)')}", " i = j = k = 0; s = 0.0",
        ]
        for _ in range(3):
            self.block(1, 0, False)
        self.lines.append(f" {self.result()}")

    def helper(self):
        """A function within, with returns of its own."""
        ways = self.choose("x", "y", "x[::-1]"), self.choose("x", "y", "y * 2", "x + y", "x.copy()")
        return " def g(x, y):", f"  {self.choose('x[0] = 1.5', 'y = y * 1', 'pass')}", f"  if {self.choose('x[1] > y[2]', 'n > 3')}: return {ways[0]}", f"  return {ways[1]}"

    def result(self):
        return f"return {self.choose('a', 'u', 'v', '(u, v)', '(v, u)', '(c, v[1:])', 's', 'u * 2', 'c', '(u * 2, c)', '(v, c * 2)', 'a + b')}, s * 1.0"

    def array(self):
        name = self.choose(*NAMES)
        return self.choose(name, name, name + "[::-1]", "m[j % 6]", "m[:, i % 6]", f"m.T[{self.index()}]")

    def index(self):
        return self.choose("i % 6", "(i + j) % 6", "0", "-1", "k % 6")

    # NumPy's own copy of one row to an overlapping column is not what it would be with a copy between: hence the * 1
    def part(self):
        """(a part of an array, one of the same shape)."""
        x, y = self.array(), self.array()
        bounds = self.choose("", ":", "1:4", "::2", "4:0:-2", "i % 3:i % 3 + 2", ":j % 6", "k % 6:")
        return (x, y) if not bounds else (f"{x}[{bounds}]", f"{y}[{bounds}]")

    def value(self):
        return self.choose(f"{self.array()}[{self.index()}]", "1.5", "i", f"{self.array()}.sum()")

    def test(self):
        return self.choose(f"{self.array()}[{self.index()}] > {self.array()}[{self.index()}]", "i > j", "(i + k) % 2 == 0", "s > 0")

    def statement(self, pad, depth, nested, loop):
        kind = self.random.random()
        x, y = self.part()
        if kind < 0.25:
            self.lines.append(f"{pad}{self.array()}[{self.index()}] {self.choose('=', '+=', '*=')} {self.value()}")
        elif kind < 0.5:
            shown = x if x.endswith("]") else x + "[...]"
            self.lines.append(pad + self.choose(f"{shown} += {y}", f"{shown} = {y} * 1", f"{shown} -= 0.5", f"{shown} = {y} * 0.5 + 1", f"s += {x}.sum()"))
        elif kind < 0.68:
            p, q = self.choose(*NAMES), self.choose(*NAMES)
            self.lines.append(pad + self.choose(
                f"{p} = {q}", f"{p} = {q} * 0.5", f"{p}, {q} = {q}, {p}", f"{p} += {q}", f"{p} = {q}[::-1]", f"{p} = {q}.copy()", f"{p} = m[{self.index()}]",
                f"{p}[{q} > 0] = 0.25", f"{p} = g({q}, {p})", f"{p}.fill(s * 0.01)", f"np.multiply({p}, 0.5, out={q})",
            ))  # fmt: skip
        elif kind < 0.85 and nested < 3:
            self.branch(pad, depth, nested, loop)
        elif nested < 2:
            self.loop(pad, depth, nested)


def program(seed):
    source = Writer(seed).text()
    return scope_of(source, f"<memory {seed}>", np=np)["f"], source


@pytest.mark.parametrize("seed", range(8))
def test_random_memory(seed):
    fn, _ = program(seed)
    jitted = hovis_xla.jit(fn, target="xla")
    x = np.random.default_rng(seed).normal
    for n in (0, 4):
        agree(fn, jitted, x(size=6), x(size=6), x(size=(6, 6)), n)
