"""Products of matrices in loops are native code, in whatever order they are multiplied; and they are what NumPy gives."""
import itertools

import numpy as np
import pytest

import hovis_xla
from hovis_xla.hlo import dot_layout
from hovis_xla.hlo.module import Module
from hovis_xla.jaxlib import adapter, compilation
from hovis_xla.jaxlib.hlo_text import Loops, loops_of
from tests.xla.harness.checking import agree

RNG = np.random.default_rng(0)


def loops(fn, *args):
    """The loops of fn, compiled for these arguments; it has to give what NumPy gives."""
    jitted = hovis_xla.jit(fn, target="xla")
    agree(fn, jitted, *args)
    return jitted.lower(*args).compile().loops


def descent(x, y, w, steps):
    for _ in range(steps):
        w -= 0.01 * x.T @ (x @ w - y)


def in_all_orders(x, y, steps):
    found = []
    for k in range(steps):
        x = x + y.T @ y / (k + 10)
        found.append((x @ x.T).sum() + (y @ x).sum())
        x = (x.T @ x.T) / 50 + (x @ y.T) @ y / 50
    return x, found


def stacks(x, y, total):
    for k in range(len(x)):
        total += x[k] @ np.swapaxes(y, 1, 2) + np.swapaxes(x[k] @ y, 1, 2)


def with_what_is_no_number(x, y, steps):
    for _ in range(steps):
        x = x.T @ y
    return x


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_loop_with_products_in_it_is_native(dtype):
    x, y, w = (RNG.normal(size=shape).astype(dtype) for shape in ((40, 9), (40, 3), (9, 3)))
    assert loops(descent, x, y, w, 5).walked == 0


def test_so_is_one_with_products_in_all_orders_and_of_stacks():
    assert loops(in_all_orders, RNG.normal(size=(9, 9)), RNG.normal(size=(3, 9)), 4).walked == 0
    assert loops(stacks, RNG.normal(size=(4, 2, 6, 6)), RNG.normal(size=(2, 6, 6)), np.zeros((2, 6, 6))).walked == 0


def test_nan_and_infinities_stay_in_their_rows_and_columns():
    x, y = RNG.normal(size=(7, 7)), RNG.normal(size=(7, 7))
    x[2, 3], x[4, 4], y[5, 6] = np.nan, np.inf, -np.inf
    loops(with_what_is_no_number, x, y, 1)
    loops(with_what_is_no_number, x, y, 3)


def spectrum(x, w, steps):
    for _ in range(steps):
        w = x @ w / 9
    return np.fft.fft(w[:, 0])


def test_what_all_cores_do_keeps_them():
    assert loops(spectrum, RNG.normal(size=(9, 9)), RNG.normal(size=(9, 9)), 5).walked == 1


def test_large_products_are_left_to_the_library(monkeypatch):
    monkeypatch.setattr(dot_layout, "MOST", 100)
    x, y, w = RNG.normal(size=(40, 9)), RNG.normal(size=(40, 5)), RNG.normal(size=(9, 5))
    assert loops(descent, x, y, w, 5).walked == 1


_PRODUCT = "%r{n} = stablehlo.dot_general %a{n}, %b{n}, {batch} contracting_dims = [{first}] x [{second}] : ({x}, {y}) -> {z}"


def test_a_product_is_the_same_in_whatever_order_it_is_written(monkeypatch):
    monkeypatch.setattr(dot_layout, "outermost_loop", lambda op: op)
    given, wanted, lines = [], [], []
    for (rows, pairs, columns, *batch), first, second in itertools.product([(5, 6, 7), (5, 4, 6, 2), (30, 3, 18)], (0, 1), (0, 1)):
        a = RNG.normal(size=(*batch, rows, pairs) if first else (*batch, pairs, rows))
        b = RNG.normal(size=(*batch, columns, pairs) if second else (*batch, pairs, columns))
        c = (a if first else np.swapaxes(a, -1, -2)) @ (np.swapaxes(b, -1, -2) if second else b)
        x, y, z = (f"tensor<{'x'.join(map(str, s.shape))}xf64>" for s in (a, b, c))
        dims = {"batch": "batching_dims = [0] x [0]," if batch else "", "first": len(batch) + first, "second": len(batch) + second}
        lines.append((_PRODUCT.format(n=len(lines), x=x, y=y, z=z, **dims), f"%a{len(lines)}: {x}, %b{len(lines)}: {y}", z))
        given += [a, b]
        wanted.append(c)
    body, arguments, types = ("\n".join(x for x, _, _ in lines), ", ".join(x for _, x, _ in lines), ", ".join(x for _, _, x in lines))
    results = ", ".join(f"%r{n}" for n in range(len(lines)))
    with adapter.context(), adapter.ir.Location.unknown(adapter.context()):
        module = adapter.ir.Module.parse(f"func.func @main({arguments}) -> ({types}) {{ {body}\n return {results} : {types} }}")
        module.operation.attributes["sym_name"] = adapter.ir.StringAttr.get("products")
        assert dot_layout.assign_dot_layouts(Module(module), native=True)
        assert module.operation.verify()
    shapes = [[(s.shape, s.dtype) for s in some] for some in (given, wanted)]
    program = compilation.compile_module(module, *shapes, recipe=compilation.Recipe(native=True, tiles=True))
    for found, one in zip(program(given), wanted):
        np.testing.assert_allclose(found, one, rtol=1e-12, atol=1e-12)


_TEXT = """HloModule m
%kernel (p: f64[300,2]) -> f64[2,300] {
  %p = f64[300,2]{1,0} parameter(0)
  %t = f64[2,300]{0,1} transpose(%p)
  ROOT %c = f64[2,300]{1,0} copy(%t)
}
%copies (p: f64[300,2]) -> f64[300,2] {
  %p = f64[300,2]{1,0} parameter(0)
  ROOT %c = f64[300,2]{1,0} copy(%p)
}
%body (p: (f64[300,2])) -> (f64[300,2]) {
  %a = f64[2,300]{1,0} fusion(%x), kind=kLoop, calls=%kernel
  %b = f64[300,2]{1,0} fusion(%x), kind=kLoop, calls=%copies
}
ENTRY %main (p: (f64[300,2])) -> (f64[300,2]) {
  %w = (f64[300,2]{1,0}) while(%p), condition=%test, body=%body
}
"""


def test_a_copy_in_a_kernel_that_does_something_else_is_none():
    assert loops_of(_TEXT) == Loops(0, 1, 1)
