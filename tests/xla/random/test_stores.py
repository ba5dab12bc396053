"""Random programs that store into two arrays, under branches and in loops, beside CPython."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree
from tests.xla.harness.random_blocks import Blocks, scope_of

pytestmark = pytest.mark.xla


class Writer(Blocks):
    def __init__(self, seed):
        super().__init__(seed)
        self.lines = ["def f(x, n):", " a = x.copy(); b = np.zeros(6); i = 0; j = 0; k = 0; s = 0.0"]
        self.block(1, 0, False)
        self.block(1, 0, False)
        self.lines.append(f" {self.result()}")

    def result(self):
        return "return a, b, k + n, s * 1.0"

    def index(self):
        return self.random.choice(["i % 6", "j % 6", "(i + j) % 6", "0", "5", "-1", "k % 6"])

    def value(self):
        return self.random.choice([f"{name}[{self.index()}]" for name in "abx"] + ["1.5", "i", "j"])

    def test(self):
        return self.random.choice([f"a[{self.index()}] > b[{self.index()}]", f"x[{self.index()}] > 0", "i > j", "j % 2 == 0"])

    def statement(self, pad, depth, nested, loop):
        r = self.random
        kind = r.random()
        if kind < 0.5:
            self.lines.append(f"{pad}{r.choice('ab')}[{self.index()}] {r.choice(['=', '+=', '-='])} {self.value()}")
        elif kind < 0.58:
            self.lines.append(f"{pad}a[{self.index()}], b[{self.index()}] = {self.value()}, {self.value()}")
        elif kind < 0.66:
            self.lines.append(pad + r.choice(["a[1:4] = b[2:5]", "a = a * 0.5", "b = a + x", "s = a.sum()"]))
        elif kind < 0.85 and nested < 3:
            self.branch(pad, depth, nested, loop)
        elif nested < 2:
            self.loop(pad, depth, nested)


@pytest.mark.parametrize("seed", range(16))
def test_random_stores(seed):
    source = Writer(seed).text()
    fn = scope_of(source, f"<stores {seed}>", np=np)["f"]
    jitted = hovis_xla.jit(fn)
    for n in (0, 4):
        agree(fn, jitted, np.random.default_rng(seed).normal(size=6), n)
