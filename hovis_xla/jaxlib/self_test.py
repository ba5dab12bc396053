"""A self-test of jaxlib: a small program is compiled and run that needs each kind of behaviour that the package relies on."""

import re

import numpy as np

from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.jaxlib.buffers import pinned
from hovis_xla.jaxlib.compilation import compile_module

#: An iteration touches more bytes than 0.10 allows by default for a native loop, and fewer than our threshold.
_LOOP = """
func.func @main(%a: tensor<100000xi64>, %n: tensor<i64>, %w: tensor<4000xf64>) -> (tensor<100000xi64>, tensor<4000xf64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %s = %w) : tensor<i64>, tensor<100000xi64>, tensor<4000xf64>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i64>
    %u = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<100000xi64>, tensor<i64>) -> tensor<1xi64>
    %v = stablehlo.dynamic_slice %x, %j, sizes = [1] : (tensor<100000xi64>, tensor<i64>) -> tensor<1xi64>
    %b:2 = func.call @bar(%u, %v) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<1xi64>, tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>)
    %y = stablehlo.dynamic_update_slice %x, %b#1, %i : (tensor<100000xi64>, tensor<1xi64>, tensor<i64>) -> tensor<100000xi64>
    %z = stablehlo.dynamic_update_slice %y, %b#0, %j : (tensor<100000xi64>, tensor<1xi64>, tensor<i64>) -> tensor<100000xi64>
    %t = stablehlo.add %s, %w : tensor<4000xf64>
    stablehlo.return %j, %z, %t : tensor<i64>, tensor<100000xi64>, tensor<4000xf64>
  }
  return %r#1, %r#2 : tensor<100000xi64>, tensor<4000xf64>
}
func.func private @bar(%a: tensor<1xi64>, %b: tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>) { return %a, %b : tensor<1xi64>, tensor<1xi64> }
"""


def self_test() -> dict[str, bool]:
    """Return, for each behaviour that the package expects of jaxlib, whether it holds; each entry has to be True.

    On a jaxlib that fails one of the last two, loops are slow but right; the others concern the results (``jaxlib_checks``).
    """
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(_LOOP)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("self_test")
    int64, float64 = np.dtype(np.int64), np.dtype(np.float64)
    numbers, count, wide = ((100000,), int64), ((), int64), ((4000,), float64)
    program = compile_module(module, [numbers, count, wide], [numbers, wide])
    source, text = np.arange(100000), program.as_text()
    result, _ = program([source, 999, np.ones(4000)])
    array, buffer = pinned((2,), float64)
    array[:] = 1.0, 2.0
    copies = re.findall(r"= s64\[100000\]\S* copy\(", text)
    return {
        "runs": bool((result == [*range(1, 1000), 0, *range(1000, 100000)]).all()),
        "results are writable": bool(result.flags.writeable),
        "inputs are left alone": bool((source == np.arange(100000)).all()),
        "aligned arrays are not copied": np.array(buffer).tolist() == [1.0, 2.0],
        "a loop becomes one native function": "xla_cpu_small_call" in text,
        "a barrier keeps stores in place": len(copies) <= 1 and 'inlineable="false"' in text,
    }
