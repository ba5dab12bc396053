"""Long chains of operations, which are cut."""

import numpy as np
import pytest

import hovis_xla
from hovis_xla.hlo import chain_splitting


def chain(lines, start=""):
    namespace = {"np": np}
    exec("def f(x, y):\n" + start + "".join(f"    x = {lines[k % len(lines)]}\n" for k in range(60)) + "    return x\n", namespace)
    return namespace["f"]


@pytest.mark.parametrize(
    ("lines", "start", "x"),
    [
        (("(x + y) % 1003", "(x - y) // 2", "(x * y) % 1009"), "", 5),
        (("x * 0.5 + y", "np.maximum(x, y) - 1.0", "np.where(x > y, x, -x)"), "", np.linspace(0.0, 9.0, 100)),
        (("(x + y) % 1003", "x ^ (y + 1)"), "    x = np.stack([x, x + 1])\n    y = x[1] - x[0]\n    x = x[0]\n", np.arange(6)),
    ],
    ids=["numbers", "floats", "arrays"],
)
def test_chains_are_cut(monkeypatch, lines, start, x):
    monkeypatch.setattr(chain_splitting, "DEEPEST", 20)
    fn = chain(lines, start)
    compiled = hovis_xla.jit(fn)
    np.testing.assert_allclose(compiled.lower(x, 3).compile()(x, 3), fn(x, 3))
    np.testing.assert_allclose(compiled(x, 3), fn(x, 3))


def test_chains_in_loops_are_cut(monkeypatch):
    monkeypatch.setattr(chain_splitting, "DEEPEST", 20)
    monkeypatch.setattr(chain_splitting, "DEEPEST_IN_LOOPS", 30)
    body = "".join(f"        x = (x * {k + 3} + y) % 100{k}3\n" for k in range(10))
    namespace = {}
    exec(f"def f(x, y):\n    for _ in range(x * 1000):\n{body}    return x\n", namespace)
    assert hovis_xla.jit(namespace["f"])(5, 3) == namespace["f"](5, 3)


def test_a_program_of_thousands_of_lines():
    """It took more than a thread's stack to compile."""
    namespace = {}
    exec("def f(x, y):\n" + "".join(f"    x = (x {'+-*&|'[k % 5]} y) % 100003\n" for k in range(2000)) + "    return x\n", namespace)
    assert hovis_xla.jit(namespace["f"])(5, 3) == namespace["f"](5, 3)
