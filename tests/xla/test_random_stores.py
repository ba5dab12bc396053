"""Random programs that store into two arrays, under branches and in loops, beside CPython."""
import linecache
import random

import numpy as np
import pytest

import hovis_xla
from tests.xla.checking import agree

pytestmark = pytest.mark.xla


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def f(x, n):", " a = x.copy(); b = np.zeros(6); i = 0; j = 0; k = 0; s = 0.0"]
        self.block(1, 0, False)
        self.block(1, 0, False)
        self.lines.append(" return a, b, k + n, s * 1.0")

    def index(self):
        return self.random.choice(["i % 6", "j % 6", "(i + j) % 6", "0", "5", "-1", "k % 6"])

    def value(self):
        return self.random.choice([f"{name}[{self.index()}]" for name in "abx"] + ["1.5", "i", "j"])

    def test(self):
        return self.random.choice([f"a[{self.index()}] > b[{self.index()}]", f"x[{self.index()}] > 0", "i > j", "j % 2 == 0"])

    def block(self, depth, nested, loop):
        self.lines.append(" " * depth + "k += 1")
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, nested, loop)

    def statement(self, depth, nested, loop):
        r, pad = self.random, " " * depth
        kind = r.random()
        if kind < 0.5:
            self.lines.append(f"{pad}{r.choice('ab')}[{self.index()}] {r.choice(['=', '+=', '-='])} {self.value()}")
        elif kind < 0.58:
            self.lines.append(f"{pad}a[{self.index()}], b[{self.index()}] = {self.value()}, {self.value()}")
        elif kind < 0.66:
            self.lines.append(pad + r.choice(["a[1:4] = b[2:5]", "a = a * 0.5", "b = a + x", "s = a.sum()"]))
        elif kind < 0.85 and nested < 3:
            self.lines.append(f"{pad}if {self.test()}:")
            self.block(depth + 1, nested + 1, loop)
            if r.random() < 0.5:
                self.lines.append(pad + "else:")
                self.block(depth + 1, nested + 1, loop)
            elif loop and r.random() < 0.4:
                self.lines.append(pad + " " + r.choice(["break", "continue"]))
        elif nested < 2:
            self.lines.append(f"{pad}for {'ij'[nested]} in range({r.choice(['n', '3'])}):")
            self.block(depth + 1, nested + 1, True)


@pytest.mark.parametrize("seed", range(16))
def test_random_stores(seed):
    source = "\n".join(Writer(seed).lines)
    name = f"<stores {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)
    jitted = hovis_xla.jit(scope["f"])
    for n in (0, 4):
        agree(scope["f"], jitted, np.random.default_rng(seed).normal(size=6), n)
