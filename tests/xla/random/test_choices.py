"""Random programs that hand arrays around: in tuples, dicts and objects, by helpers and branches with returns of their own; beside CPython."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree
from tests.xla.harness.random_blocks import Blocks, scope_of

pytestmark = pytest.mark.xla


class Held:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def swap(self):
        self.x, self.y = self.y, self.x

    def get(self, first):
        return self.x if first else self.y


class Writer(Blocks):
    def __init__(self, seed):
        super().__init__(seed)
        choose = self.choose
        self.lines = [
            "def f(a, b, n, c):",
            " def g(x, y, k):", "  if k > 1: return x", f"  {choose('x[0] = k', 'y = y + 1', 'pass')}", f"  return {choose('y', 'x * 2', 'y[::-1]', 'np.maximum(x, y)')}",
            " def h(x, y):", "  for q in range(2):", f"   if x[q] > y[q]: return {choose('x', 'y', 'x + y')}, q", f"  return {choose('x', 'y', 'y * 3')}, -1",
            f" u = a * 2; v = np.zeros(4); w = {choose('a', 'b', 'u', 'v', 'a + b')}",
            " t = (u, v); d = {'u': u, 'v': w}; o = Held(v, w); k = i = j = 0; s = 0.0",
        ]  # fmt: skip
        self.block(1, 0, False, 4)
        self.lines.append(f" {self.result()}")

    def array(self):
        return self.choose("u", "v", "w", "u", "v", "w", "a", "b", "d['u']", "d['v']", "t[0]", "t[1]", "o.x", "o.y")

    def name(self):
        return self.choose("u", "v", "w", "d['u']", "d['v']", "o.x", "o.y")

    def index(self):
        return self.choose("0", "-1", "1", "i % 4", "k % 4", "j")

    def test(self):
        return self.choose(f"{self.array()}[{self.index()}] > {self.choose('0', '0.5', '1')}", "n > 2", "k > 3", "c > 0", "i > 0", f"{self.array()}.sum() > s")

    def expression(self):
        x, y = self.array(), self.array()
        return self.choose(
            x, x, f"{x} * 2", f"{x} + {y}", f"{x}[::-1]", f"g({x}, {y}, k)", f"g({x}, {y}, n)", f"h({x}, {y})[0]", f"o.get({self.choose('c > 0', 'k > 1')})",
            f"np.where({x} > 0, {x}, {y})", f"{x} if {self.test()} else {y}", f"{x}.copy()", f"({x}, {y})[k % 2]", f"np.minimum({x}, {y})",
        )  # fmt: skip

    def result(self):
        found = self.choose("u", "v", "(u, v, w)", "t", "d", "(o.x, o.y)", "(a, u)", "w * 2, s", "[u, v + 1]", "h(u, v)", "g(u, w, k), s", "d['u'], k")
        return f"return {found}"

    def statement(self, pad, depth, nested, loop):
        kind = self.random.random()
        x, y = self.array(), self.array()
        if kind < 0.2:
            self.lines.append(f"{pad}{x}[{self.index()}] {self.choose('=', '+=', '*=')} {self.choose('1.5', 'k', 's * 0.1', f'{y}[{self.index()}]')}")
        elif kind < 0.3:
            self.lines.append(pad + self.choose(
                f"{x}[1:] = {y}[:-1] * 1", f"{self.name()} += {y} * 0.5", f"{self.name()} *= 0.5", f"s += {x}.sum()", f"{x}[::2] = 0.25", f"{x}[1:][0] = s * 0.1",
                f"{x}[::-1][0] -= 1",
            ))  # fmt: skip
        elif kind < 0.6:
            self.lines.append(f"{pad}{self.name()} = {self.expression()}")
        elif kind < 0.68:
            self.lines.append(pad + self.choose(
                "u, v = v, u", "t = (v, w)", f"t = (w, u) if {self.test()} else (u, v)", "o.swap()", "d = {'u': v, 'v': u}", "o = Held(u, w)", "u, w = w, u",
                "w, j = h(u, v)", "d['u'], o.x = o.x, d['u']",
            ))  # fmt: skip
        elif kind < 0.85 and nested < 3:
            self.branch(pad, depth, nested, loop)
        elif nested < 2:
            self.loop(pad, depth, nested)


def program(seed):
    source = Writer(seed).text()
    return scope_of(source, f"<choices {seed}>", np=np, Held=Held)["f"], source


@pytest.mark.parametrize("seed", range(8))
def test_random_choices(seed):
    fn, _ = program(seed)
    jitted = hovis_xla.jit(fn, target="xla")
    x = np.random.default_rng(seed).normal
    for n, c in ((0, 1), (3, -1), (4, 1)):
        agree(fn, jitted, x(size=4), x(size=4), n, c)


def test_one_of_a_tuple_in_a_loop():
    """Where the variable is an array in any case, it is the one that was chosen, or stored into, or an argument itself."""

    def made(a, b, n):
        v, p = b * 2, b + 1
        u = v
        for i in range(n):
            u = (p, v)[i % 2]
        return u

    def stored(a, b, n):
        v, w = b * 2, b * 3
        v[0], w[1] = 7, 5
        u = v
        for i in range(n):
            u = (w, v)[i % 2]
            u[2] += 1
        return u, v, w

    def arguments(a, b, n):
        u = b
        for i in range(n):
            u = (a, b, b * 2)[i % 3]
        return u

    def numbers(a, b, n):
        u = 0.0
        for i in range(n):
            u = (a[0], 2.5, n, b[1])[i % 4]
        return u

    for fn in (made, stored, arguments, numbers):
        jitted = hovis_xla.jit(fn, strict=True, target="xla")
        for n in range(5):
            agree(fn, jitted, np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.25, 4.0, -1.0, 2.0]), n)
