"""A self-test of jaxlib: one small program is compiled and run for each kind of behaviour that the package relies on."""

import re

import numpy as np

from hovis_xla.jaxlib.adapter import context, ir
from hovis_xla.jaxlib.buffers import pinned
from hovis_xla.jaxlib.compilation import compile_module

_LOOP = """
func.func @main(%a: tensor<100000xi64>, %n: tensor<i64>) -> tensor<100000xi64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i64>, tensor<100000xi64>
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
    stablehlo.return %j, %z : tensor<i64>, tensor<100000xi64>
  }
  return %r#1 : tensor<100000xi64>
}
func.func private @bar(%a: tensor<1xi64>, %b: tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>) { return %a, %b : tensor<1xi64>, tensor<1xi64> }
"""


#: An iteration touches more bytes than 0.10 allows by default for a native loop, and fewer than our threshold.
_WIDE_LOOP = """
func.func @main(%a: tensor<4000xf64>, %n: tensor<i64>) -> tensor<4000xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i64>, tensor<4000xf64>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i64>
    %y = stablehlo.add %x, %a : tensor<4000xf64>
    stablehlo.return %j, %y : tensor<i64>, tensor<4000xf64>
  }
  return %r#1 : tensor<4000xf64>
}
"""


def _is_native(text: str) -> bool:
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(text)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("self_test_wide")
    shape = ((4000,), np.float64)
    return "xla_cpu_small_call" in compile_module(module, [shape, ((), np.int64)], [shape]).as_text()


def self_test() -> dict[str, bool]:
    """Return, for each behaviour that the package expects of jaxlib, whether it holds; each entry has to be True.

    On a jaxlib that fails one of the last three, loops are slow but right; the others concern the results (``jaxlib_checks``).
    """
    with context(), ir.Location.unknown(context()):
        module = ir.Module.parse(_LOOP)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("self_test")
    shape = ((100000,), np.int64)
    program = compile_module(module, [shape, ((), np.int64)], [shape])
    source = np.arange(100000)
    (result,) = program([source, 99999])
    array, buffer = pinned((2,), np.float64)
    array[:] = 1.0, 2.0
    copies = re.findall(r"= s64\[100000\]\S* copy\(", program.as_text())
    return {
        "runs": bool((result == np.roll(source, -1)).all()),
        "results are writable": bool(result.flags.writeable),
        "inputs are left alone": bool((source == np.arange(100000)).all()),
        "aligned arrays are not copied": np.array(buffer).tolist() == [1.0, 2.0],
        "a loop becomes one native function": "xla_cpu_small_call" in program.as_text(),
        "the threshold for that can be set": _is_native(_WIDE_LOOP),
        "a barrier keeps stores in place": len(copies) <= 1 and 'inlineable="false"' in program.as_text(),
    }
