"""Random functions that mix loops of numbers with lists, dicts, texts, prints, masks, handlers and exceptions, against CPython."""
import os
import random

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree
from tests.xla.harness.random_blocks import scope_of

pytestmark = pytest.mark.xla

SEEDS = int(os.environ.get("HOVIS_EXAMPLES", "6"))

#: The arguments: an array, a number, a list to fill.
CALLS = [
    (np.arange(7.0) - 3, 3, []),
    (np.arange(7.0) - 3, 40, []),
    (np.arange(7.0) * 2, 5, [1]),
    (np.array([1.0, -2.0, 0.5, 4.0]), 3, []),
    (np.array([1, 2, 3, 4, 5, 6, 7]), 4, []),
]


class Writer:
    """Writes a function, statement by statement.  s is a float, n an int, a an array, out a list, d a dict."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.names = 0

    def pick(self, *ways):
        return self.random.choice(ways)

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def number(self):
        return self.pick("s", "n", "k", "s + n", "s * 0.5", "n * 3 + 1", "x[n % len(x)]", "len(out)", "n % 7", "a[0]", "float(n)", "n // 2")

    def test(self):
        return self.pick(f"{self.number()} > {self.pick(0, 2, 10, 1000)}", "n % 3 == 0", "s < 5", "len(x) > 4", "k > 3", "(x > 0).any()")

    def simple(self, depth):
        name = f"v{self.random.randrange(3)}"
        way = self.random.randrange(17)
        if way == 0:
            self.line(depth, f"out.append({self.number()})")
        elif way == 1:
            self.line(depth, f"d[{self.pick('n % 4', 'str(n % 3)', repr('key'))}] = {self.number()}")
        elif way == 2:
            self.line(depth, f"print({self.pick('n', 's', 'n, s', 'len(d), n')}, {self.number()})")
        elif way == 3:
            self.line(depth, f"print(f'{{n}} and {{s:.1f}} at {self.random.randrange(9)}')")
        elif way == 4:
            self.line(depth, f"s = s {self.pick('+', '-', '*')} {self.number()}")
        elif way == 5:
            self.line(depth, f"n = (n * {self.pick(3, 5, 7)} + {self.random.randrange(9)}) {self.pick('% 1000', '% 97', '', '& 255')}")
        elif way == 6:
            self.line(depth, f"a = {self.pick('x * 2 + n', 'a - s', 'np.where(a > 0, a, 1.0)', 'x[x > 0]', 'a[a < 5]', 'np.concatenate([a, x])[:9]', 'np.cumsum(x)', 'np.zeros(n % 5 + 1)')}")
        elif way == 7:
            self.line(depth, f"s = float({self.pick('a.sum()', 'x.sum()', 'np.sum(a * a)', 'np.max(x)')}) + {self.pick(0, 1)}")
        elif way == 8:
            self.line(depth, f"if {self.test()}: raise {self.pick('ValueError', 'KeyError', 'RuntimeError')}({self.pick('n', 's', chr(102) + repr('bad {n}'))})")
        elif way == 9:
            self.line(depth, f"s = s + n // ({self.pick('n % 5', 'k - 3', 'len(d)')} + {self.pick(0, 1)})")
        elif way == 10:
            self.line(depth, f"{name} = {self.pick('d.get(n % 4, 0)', 'out[-1] if out else 1', 'max(n, 3)', 'min(s, 2.0)', 'abs(s)', 'round(n / 3)')}")
            self.line(depth, f"n = n + int({name}) % 11")
        elif way == 11:
            self.line(depth, f"if {self.test()}: return {self.pick('n', 's', 'out', '(n, s)', 'a', 'd', 'x')}")
        elif way == 12:
            self.line(depth, "b = a.copy()")
            self.line(depth, f"b[{self.pick('0', 'n % len(b)', '-1')}] = {self.number()}")
            self.line(depth, "a = b")
        elif way == 13:
            self.line(depth, f"s = s + helper({self.pick('n', 's')}, k)")
        elif way == 14:
            self.line(depth, f"s = s + x[{self.pick('n % 9', 'k', '-1', 'n % len(x)')}]")
        else:
            self.line(depth, f"s = s * 0.5 + {self.number()}")

    def block(self, depth, loops, inside):
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, loops, inside)

    def statement(self, depth, loops, inside):
        way = self.random.random() if depth < 4 else 1.0
        if way < 0.28 and loops:
            self.names += 1
            name = f"i{self.names}"
            if self.random.random() < 0.7:
                self.line(depth, f"for {name} in range({self.pick('k', 'len(x)', '13', '60', 'n % 6', 'k * 4')}):")
            else:
                self.line(depth, f"{name} = {self.random.randrange(40)}")
                self.line(depth, f"while {name} > 0:")
                self.line(depth + 1, f"{name} -= {self.pick(1, 2, 3)}")
            self.line(depth + 1, f"n = n + {name}")
            self.block(depth + 1, loops - 1, True)
            if self.random.random() < 0.3:
                self.line(depth + 1, f"if {self.test()}: {self.pick('break', 'continue')}")
        elif way < 0.42:
            self.line(depth, f"if {self.test()}:")
            self.block(depth + 1, loops, inside)
            if self.random.random() < 0.5:
                self.line(depth, "else:")
                self.block(depth + 1, loops, inside)
        elif way < 0.48:
            self.line(depth, "try:")
            self.block(depth + 1, loops, inside)
            self.line(depth, f"except {self.pick('ZeroDivisionError', 'IndexError', '(ValueError, KeyError)', 'Exception')} as error:")
            self.line(depth + 1, f"{self.pick('out.append(str(error))', 'print(repr(error))', 's = -1.0', 'n = 0')}")
        else:
            self.simple(depth)

    def text(self):
        self.line(0, "def fn(x, k, out):")
        self.line(1, "s, n, d, a = 0.5, k, {}, x + 1")
        for _ in range(self.random.randrange(3, 6)):
            self.statement(1, 2, False)
        self.line(1, "return s, n, a, out, d")
        return "\n".join(self.lines) + "\n"


HELPER = """
def helper(u, v):
    t = 0
    for i in range(v % 5):
        if u > 100:
            return t - i
        t = t + u * i
    return t
"""


def made(seed):
    text = HELPER + Writer(seed).text()
    return scope_of(text, f"<random parts {seed}>", np=np)["fn"], text


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_parts(seed):
    fn, text = made(seed)
    jitted = hovis_xla.jit(fn)
    try:
        with np.errstate(all="ignore"):
            for args in CALLS:
                for _ in range(2):
                    agree(fn, jitted, *args)
    except BaseException:
        print(text)
        raise
