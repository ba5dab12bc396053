"""What no round of a loop changes: what is dear is computed once, in front of it, the rest where it is needed."""

import numpy as np
import pytest

import hovis_xla
from hovis_xla.hlo import licm
from hovis_xla.hlo.module import Module
from hovis_xla.jaxlib import adapter
from tests.xla.harness.checking import agree


def damped(table, rows, k, c):
    for i in range(1, rows):
        for j in range(1, table.shape[1]):
            w = 1.0 / c
            table[i, j] = table[i - 1, j] * np.exp(-k) + min(table[i, j - 1] * w, table[i - 1, j - 1])


def parenthesized(dims):
    n = len(dims) - 1
    best = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best[i, j] = 2**62
            for k in range(i, j):
                best[i, j] = min(best[i, j], best[i, k] + best[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1])
    return best


@pytest.mark.parametrize("args", [
    (5, 0.3, 2.0), (1, 0.3, 2.0), (0, 0.3, 0.0), (5, 0.3, 0.0), (5, np.inf, -0.0), (5, np.nan, 1e-320), (5, -1e4, 0.5), (7, 0.3, 2.0),
])  # fmt: skip
def test_loops_give_what_python_gives(args):
    table = np.random.default_rng(0).normal(size=(5, 6))
    table[0, :2] = np.nan, -0.0
    with np.errstate(all="ignore"):
        agree(damped, hovis_xla.jit(damped), table, *args)


def test_what_is_many_and_light_does_not_go_round():
    fn = hovis_xla.jit(parenthesized, strict=True)
    for n in (9, 2, 1):
        agree(parenthesized, fn, np.arange(1, n + 1))
    compiled = fn.lower(np.arange(1, 10)).compile()
    largest = max(line.partition(" while(")[0].count("[") for line in compiled.as_text().splitlines() if " while(" in line)
    assert largest < 20
    assert (compiled.loops.walked, compiled.loops.copies) == (0, 0)


MODULE = """
func.func @main(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %n, %s = %x) : tensor<i64>, tensor<f64>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %a = stablehlo.negate %x : tensor<f64>
    %b = stablehlo.exponential %a : tensor<f64>
    %d = stablehlo.exponential %a : tensor<f64>
    %e = stablehlo.add %s, %b : tensor<f64>
    %f = stablehlo.add %e, %d : tensor<f64>
LIGHT
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %f : tensor<i64>, tensor<f64>
  }
  return %r#1 : tensor<f64>
}
"""


@pytest.mark.parametrize(("many", "wide"), [(1, False), (licm.MANY, False), (licm.MANY, True)])
def test_what_is_dear_is_taken_out_once(many, wide):
    light = [f"    %l{k} = stablehlo.add %n, %n : tensor<i64>" for k in range(many)]
    light += ["    %w = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f64>) -> tensor<8xf64>", "    %v = stablehlo.add %w, %w : tensor<8xf64>"] * wide
    with adapter.context(), adapter.ir.Location.unknown(adapter.context()):
        module = adapter.ir.Module.parse(MODULE.replace("LIGHT", "\n".join(light)))
        stays = licm.hoist_invariants(Module(module))
        assert module.operation.verify()
    assert stays == (many == licm.MANY and not wide)
    before, _, inside = str(module).partition("stablehlo.while")
    assert (before.count("exponential"), inside.count("exponential")) == ((1, 0) if stays else (0, 2))
    assert inside.count("stablehlo.add %arg1, %arg1 : tensor<i64>") == many
