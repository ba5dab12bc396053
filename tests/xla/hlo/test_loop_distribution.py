"""What needs no other round is done for all rounds at once, in front of a loop: the loop gives what Python's gives, and less of it is left."""
import numpy as np
import pytest

import hovis_xla
from hovis_xla.hlo import loop_distribution
from hovis_xla.hlo.module import Module
from hovis_xla.jaxlib import adapter
from hovis_xla.lowering import pipeline
from tests.xla.harness.checking import agree, compiled

RNG = np.random.default_rng(0)


def edit_distance(a, b, d):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)


def highest(a, b, d):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = max(max(d[i, j - 1] - 1, b[j]), d[i - 1, j] * a[i])


def time_warp(x, y, d):
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] = abs(x[i] - y[j]) + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])


def likeliest(x, y, d):
    back = np.zeros(d.shape, np.int64)
    for t in range(1, d.shape[0]):
        for s in range(40):
            best, arg = -np.inf, 0
            for r in range(5):
                value = d[t - 1, r] + y[r] * s
                if value > best:
                    best, arg = value, r
            d[t, s] = best + x[t]
            back[t, s] = arg
    return back


def down_columns(x, y, d):
    d = d.T.copy()
    for j in range(1, 3):
        for i in range(39, -1, -1):
            d[i, j] = d[i, j - 1] * 2 + x[i] - y[j]
    return d


def same_row(x, y, d):
    for i in range(2):
        for j in range(39):
            d[i, j] = d[i, j + 1] + d[i, j] * x[j]


def row_before_and_row_behind(x, y, d):
    for i in range(2):
        for j in range(1, 39):
            d[i, j] = d[i, j + 1] + d[i, j - 1] * 2


def unknown_rows(x, y, d):
    for k in range(3):
        for i in range(3):
            for j in range(39):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def stored_twice(x, y, d):
    for j in range(38):
        d[1, j] = x[j] + 1
        d[1, j + 1] = y[j] * 2


def stored_and_read(x, y, d):
    s = x[0]
    for j in range(40):
        d[1, j] = x[j] * 2 + y[j]
        s = s + d[1, j] * d[0, j]
    return s


def two_rows(x, y, d):
    for j in range(40):
        d[0, j] = d[1, j] + x[j]
        d[1, j] = y[j] + 1


def with_steps(x, y, d):
    for j in range(1, 40, 2):
        d[0, j] = x[j] + y[j - 1]
    for j in range(39, 0, -3):
        d[1, j] = d[1, j] + x[j - 1]


def under_a_condition(x, y, d):
    for j in range(40):
        if x[j] > 0:
            d[2, j] = x[j] + y[39 - j]


def from_the_end(x, y, d):
    for j in range(40):
        d[0, j] = x[j - 3] + y[j]


def counted(x, y, d):
    last = x[0]
    for j in range(40):
        last = x[j] * j + last
        d[0, j] = j
        d[1, j] = x[2]
    return last, j


def views(x, y, d):
    a, b = d[:, 1:], d[:, :-1]
    for j in range(39):
        a[0, j] = b[0, j] + x[j]
    for j in range(39):
        b[1, j] = a[1, j] + x[j]


def places_that_are_read(x, y, d):
    k = np.array([2, 0, 1])
    for i in range(3):
        for j in range(40):
            d[k[i], j] = d[k[i], j] + y[j]


INTEGERS = RNG.integers(-9, 9, 40), RNG.integers(-9, 9, 40), RNG.integers(-20, 20, (3, 40))
SMALL = tuple(a.astype(np.int8) * 7 for a in INTEGERS)
LARGE = tuple(np.where(a > 5, 2**63 - 1, np.where(a < -5, -(2**63), a)) for a in INTEGERS)
FLOATS = tuple(a / 3 for a in INTEGERS)
ODD = tuple(np.choose(abs(a) % 5, [np.nan, np.inf, -np.inf, -0.0, 1.5]) for a in INTEGERS)
ALL = [
    edit_distance, highest, time_warp, likeliest, down_columns, same_row, row_before_and_row_behind, unknown_rows, stored_twice, stored_and_read, two_rows,
    with_steps, under_a_condition, from_the_end, counted, views, places_that_are_read,
]  # fmt: skip


@pytest.mark.parametrize("fn", ALL, ids=lambda fn: fn.__name__)
def test_loops_give_what_python_gives(fn):
    got = compiled(fn)
    with np.errstate(all="ignore"):
        for args in (INTEGERS, LARGE, FLOATS, ODD):
            agree(fn, got, *args)


@pytest.mark.parametrize("fn", [edit_distance, highest], ids=lambda fn: fn.__name__)
def test_integers_of_eight_bits_and_no_columns(fn):
    got = compiled(fn)
    agree(fn, got, *SMALL)
    agree(fn, got, *INTEGERS[:2], INTEGERS[2][:, :0])


def ahead(x, y, d, k, n):
    for j in range(n):
        d[0, j] = x[j + k] * 2 + y[j]
    return d[0, 0]


@pytest.mark.parametrize("k", [0, -1, -41])
def test_an_index_out_of_range_is_one_in_its_round(k):
    got = hovis_xla.jit(ahead, static=("n",), target="xla")
    for n in (40, 23, 41):
        agree(ahead, got, *INTEGERS, k, n)


def begun(x, y, d, go):
    for j in range(0 if go else 40, 40):
        d[0, j] = x[j] + 1
    return d


def test_a_loop_that_is_not_begun_stores_nothing():
    got = compiled(begun)
    for go in (True, False):
        agree(begun, got, *INTEGERS, go)


@pytest.mark.parametrize(("fn", "left"), [(down_columns, 0), (begun, 0), (places_that_are_read, 2)], ids=lambda x: getattr(x, "__name__", x))
def test_loops_in_which_no_round_needs_another_are_stores_of_rows(fn, left):
    lowered = hovis_xla.jit(fn).lower(*INTEGERS, *([True] if fn is begun else []))
    with adapter.context():
        module = adapter.ir.Module.parse(lowered.as_text())
        pipeline.rewrite(loop_distribution.distribute_loops, Module(module))
        module.operation.verify()
    assert adapter.text_of(module).count("stablehlo.while") <= left


def test_what_waits_for_no_other_round_is_read_in_one_piece():
    lowered = hovis_xla.jit(edit_distance).lower(*INTEGERS)
    with adapter.context():
        module = adapter.ir.Module.parse(lowered.as_text())
        pipeline.rewrite(loop_distribution.distribute_loops, Module(module))
    inner = adapter.text_of(module).split("stablehlo.while")[2]
    assert inner.count("stablehlo.minimum") + inner.count("stablehlo.select") == 8  # a cell is the less of two
    assert inner.count("stablehlo.dynamic_slice") == 2  # the cell to the left, and what has been found out of eight
