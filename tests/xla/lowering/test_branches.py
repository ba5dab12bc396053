"""Loops on the sides of branches, where the branch goes: they go round, and store, only where their side is come to."""
import numpy as np
import pytest

from tests.xla.loops.test_native_loops import loops


def until_one_is_far(weights, far, large=16):
    """Stores in front of a loop that reads, on the side of a branch that goes on."""
    n = len(weights)
    distance, done = np.full(n, far), np.zeros(n, dtype=bool)
    distance[0] = 0
    for _ in range(n):
        u = int(np.argmin(np.where(done, far + 1, distance)))
        if distance[u] >= far:
            break
        done[u] = True
        for v in range(n):
            if not done[v] and distance[u] + weights[u, v] < distance[v]:
                distance[v] = distance[u] + weights[u, v]
    return distance, done


def where_it_is_large(x, limit):
    total = 0.0
    for k in range(len(x)):
        if x[k] > limit:
            x[k] = -x[k]
            x[k - 1] += 1.0
            for i in range(len(x)):
                total += x[i] * i
        total = total / 2 + x[k] - x[k - 1]
    return total


def rows_that_are_large(x, limit):
    for k in range(2, len(x) - 40):
        if x[k] > limit:
            x[k : k + 2] = x[k : k + 2] * 0.5
            x[k - 2] = limit
            for i in range(3, len(x)):
                x[i] += 0.01 * x[i - 3]
        x[k + 1] += x[k] + x[k - 2]
    return x


def one_branch_in_another(x, limit):
    seen = 0.0
    for k in range(1, len(x)):
        if x[k] > 0.0:
            if x[k] > limit:
                x[k] -= limit
                for i in range(k):
                    seen += x[i]
            x[k - 1] = x[k] + 0.25
        seen = seen * 0.5 + x[k]
    return seen


@pytest.mark.parametrize("fn", [where_it_is_large, rows_that_are_large, one_branch_in_another], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("limit", [0.5, -9.0, 9.0, np.nan])
def test_a_store_in_front_of_a_loop_on_one_side_of_a_branch(fn, limit):
    found = loops(fn, np.random.default_rng(3).normal(size=90), limit, large=16)
    assert (found.walked, found.copies) == (0, 0)


def test_what_is_done_before_a_loop_that_may_be_left_is_not_copied():
    weights = np.random.default_rng(1).integers(1, 30, (70, 70)).astype(float)
    weights[:, 20:] += 1e6
    for far in (1e6, 1e9, 0.0):
        found = loops(until_one_is_far, weights, far, large=16)
        assert (found.walked, found.copies) == (0, 0)
