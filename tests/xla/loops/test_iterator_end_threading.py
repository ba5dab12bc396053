"""Loops over several iterators at a time: what brings the end goes on to where it leads, and items have a type."""
import operator

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.ir import verify
from hovis_xla.prepare.iterator_end_threading import merge_lockstep_iterators, thread_iterator_ends
from tests.xla.harness.checking import agree, compiled


def rows_of_a_knapsack(weights, values, best):
    for w, v in zip(weights, values):
        best[w:] = np.maximum(best[w:], best[:-w] + v)
    return best[-1]


def left_early(x, y, n):
    s = 0
    for a, b in zip(x, y):
        if a == n:
            break
        s = s * 2 + a - b
    else:
        return s, None
    return s, b


def three(x, y, n):
    total = 0
    for k, (a, b, i) in enumerate(zip(x, y, range(n))):
        total += a * k - b + i
    return total


LENGTHS = [(0, 0), (5, 0), (0, 5), (5, 5), (3, 20), (20, 3), (19, 20)]


@pytest.mark.parametrize("fn", [left_early, three], ids=lambda fn: fn.__name__)
def test_iterators_of_any_lengths(fn):
    for n, m in LENGTHS:
        agree(fn, compiled(fn), np.arange(n) % 7, np.arange(m) % 5, 4)


def test_a_bound_of_a_slice_that_comes_out_of_zip():
    got = compiled(rows_of_a_knapsack)
    for weights in ([1, 2, 5], [3, 12, 2], [-1, 2, 1], [11, 1, 1], [1, 1, 0], [-20, 3, 1]):
        agree(rows_of_a_knapsack, got, np.array(weights), np.array([4, 9, 11]), np.arange(12) % 5)


def test_items_have_a_type():
    function = thread_iterator_ends(hovis_xla.jit(rows_of_a_knapsack).trace(np.arange(5), np.arange(5), np.arange(9)).function)
    assert not any(op.callee in (operator.is_, operator.is_not) for op in function.ops())
    verify(function)


def test_iterators_that_go_in_step_have_one_place():
    def weighed(x, y, z):
        total = 0
        for k, (a, b, c) in enumerate(zip(x, y, z)):
            total = total * 3 + k * a - b * c
        return total

    x = np.arange(40)
    function = merge_lockstep_iterators(thread_iterator_ends(hovis_xla.jit(weighed).trace(x, x + 1, x - 2).function))
    assert sorted(len(block.params) for block in function.blocks) == [0, 0, 2, 3], function
    verify(function)
    agree(weighed, compiled(weighed), x, x + 1, x - 2)


def test_what_asks_for_no_end_is_left_alone():
    function = hovis.trace(lambda x: x + 1, hovis.Int).function
    assert thread_iterator_ends(function) is function
    assert merge_lockstep_iterators(function) is function


def test_counters_that_go_in_step_are_one():
    def products(x, n, late):
        i = k = j = 0
        total = 0.0
        while i < n:
            total = total * 0.5 + x[i] * x[k] - x[j]
            i, k, j = i + 1, k + 1, j if i == late else j + 1
        return total, i, k, j

    x = np.arange(30.0)
    function = hovis_xla.jit(products).trace(x, 30, 7).function
    assert sum(len(b.params) for b in merge_lockstep_iterators(function).blocks) < sum(len(b.params) for b in function.blocks)
    for late in (7, 40):
        agree(products, compiled(products), x, 30, late)
