"""Random programs that fill, empty and read lists in loops of unknown length, against CPython."""

import random

import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree

pytestmark = pytest.mark.xla

X = np.array([1.0, -2.0, 3.0, 0.5, -1.0])

#: What a list starts with, and what is put into it.
KINDS = {"int": (["[]", "[n]"], ["i * 2 - n", "c", "len(a)"]), "float": (["[]", "[t]"], ["t * i", "i * 0.5"]), "mixed": (["[]", "[t]"], ["t * i", "x[i % 5]"])}
TESTS = ["i % 2", "t > i", "x[i % 5] > 0", "not a", "c % 3 == 1"]


def statements(draw, kind, indent, depth):
    put = draw.choice(KINDS[kind][1])
    forms = [
        [f"a.append({put})"], [f"a.append({put})"], ["if a:", "    c += 1", "    s = s + a.pop()"], ["if len(a) > 1: s = s + a[1] * 0.5"],
        [f"if len(a) > 2: a[-2] = {put}"], ["if c % 5 == 4: a.clear()"], ["a.reverse()"], ["if len(a) > 5: a = []"], ["c = c + len(a)"], ["s = s + t"],
    ]  # fmt: skip
    lines = []
    for _ in range(draw.randint(1, 3)):
        if depth < 2 and draw.random() < 0.3:
            lines += [f"if {draw.choice(TESTS)}:", *statements(draw, kind, "    ", depth + 1)]
            if draw.random() < 0.5:
                lines += ["else:", *statements(draw, kind, "    ", depth + 1)]
        else:
            lines += draw.choice(forms)
    return [indent + line for line in lines]


def program(seed):
    draw = random.Random(seed)
    kind = draw.choice(list(KINDS))
    loop = draw.choice([["    for i in range(n):"], ["    while i < n:", "        i += 1"]])
    result = draw.choice(["a", "np.array(a)", "len(a)", "a, a"])
    lines = ["def f(x, n, t):", f"    a = {draw.choice(KINDS[kind][0])}", "    s = 0.0", "    c = i = 0", *loop, *statements(draw, kind, "        ", 0)]
    scope = {"np": np}
    exec("\n".join([*lines, f"    return s, c, {result}"]), scope)
    return scope["f"]


@pytest.mark.parametrize("seed", range(10))
def test_random_lists(seed):
    fn = program(seed)
    jitted = hovis_xla.jit(fn, target="xla")
    for args in ((X, 7, 1.5), (X * 2, 0, 0.5), (X - 1, 23, -0.25)):
        agree(fn, jitted, *args)
