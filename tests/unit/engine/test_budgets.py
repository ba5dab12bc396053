"""What would multiply is joined: counted in blocks, not in seconds."""
import dataclasses
import operator

import numpy as np
import pytest

import hovis
from hovis import Int
from hovis.engine.state import budget
from hovis.engine.state.specialization_tables import Tables


def flags(n, true, test):
    sets = "".join(f"    b{i} = {true[0]}\n    if x > {i}:\n        b{i} = {true[1]}\n" for i in range(n))
    tests = "".join(f"    if {test.format(b=f'b{i}')}:\n        y += {i}\n" for i in range(n))
    namespace = {}
    exec(f"def f(x, y):\n{sets}{tests}    return y\n", namespace)
    return namespace["f"]


@pytest.mark.parametrize(("true", "test"), [(("False", "True"), "{b}"), (("'off'", "'on'"), "{b} == 'on'"), (("None", "0"), "{b} is not None")])
def test_independent_flags_do_not_multiply(true, test):
    fn = flags(16, true, test)
    residual = hovis.specialize(fn, Int, Int)
    assert not residual.trace.fallback
    assert len(residual.trace.blocks) < 100
    for x in range(-1, 18):
        assert residual(x, 100) == fn(x, 100)


def test_a_flag_or_two_are_threaded():
    fn = flags(2, ("False", "True"), "{b}")
    trace = hovis.trace(fn, Int, Int)
    # each test of x leads straight to the sum that its outcome asks for: no flag is ever tested
    assert {op.callee for op in trace.ops} <= {operator.gt, operator.add}
    assert [hovis.specialize(fn, Int, Int)(x, 0) for x in range(4)] == [fn(x, 0) for x in range(4)]


class Counted:
    made = 0


@dataclasses.dataclass
class Row:
    n: int
    parts: list = dataclasses.field(default_factory=list)


def test_what_tracing_makes_anew_is_no_reason_to_go_on():
    """Each round has another known i, and makes other tuples of fields, without end."""
    kept = []

    def rows(q):
        for i in range(q % 5):
            Counted.made += 1
            kept.append(dataclasses.asdict(dataclasses.replace(Row(1), n=i)))
        return len(kept)

    assert hovis.jit(rows)(2) == 2
    assert kept == [{"n": 0, "parts": []}, {"n": 1, "parts": []}]


def nested_counts(n, m):
    if n == 0:
        return [m, 1]
    d, total, t = 1, m, 0
    while True:
        n -= 1
        while True:
            d -= 1
            total += 1
            t += 1
            if d == 0:
                break
        while True:
            t -= 1
            d += 1
            if t == 0:
                break
        d += 2
        if n == 0:
            break
    return [total, d]


def test_known_numbers_that_cost_more_from_round_to_round_are_let_go():
    residual = hovis.specialize(nested_counts, Int, Int)
    assert not residual.trace.fallback
    assert len(residual.trace.blocks) < 20
    for n in range(5):
        assert residual(n, 10) == nested_counts(n, 10)


def labels(grid):
    """The connected parts of a grid, each filled from a stack of places."""
    found, parts = np.zeros_like(grid), 0
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            if grid[i, j] and not found[i, j]:
                parts += 1
                stack = [(i, j)]
                while stack:
                    a, b = stack.pop()
                    if 0 <= a < grid.shape[0] and 0 <= b < grid.shape[1] and grid[a, b] and not found[a, b]:
                        found[a, b] = parts
                        stack.extend([(a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)])
    return found, parts


def test_in_the_last_attempt_no_states_are_told_apart():
    trace = hovis.options(fuel=100_000, known_sizes=True, frozen=False).trace(labels, hovis.Array(np.dtype(np.int64), (7, 7)))
    assert not trace.fallback
    assert len(trace.blocks) < 65
    for seed in range(3):
        grid = np.random.default_rng(seed).integers(0, 2, (7, 7))
        (found, parts), (wanted, count) = trace(grid), labels(grid)
        assert parts == count and np.array_equal(found, wanted)


def test_the_first_attempt_is_short_where_little_dissolves():
    effort = budget.Effort(Tables())
    effort.begin(100_000, 1.0, first=True)
    effort.emitted, effort.opaque = 30, 10
    assert effort.limit() == 100_000
    effort.opaque = 11
    assert effort.limit() == 100_000 * budget.UNDISSOLVED
    effort.steps = 25_001
    effort.begin(40_000, 1.0)
    effort.emitted, effort.opaque = 30, 30
    assert effort.limit() == 65_001
    effort.begin(15_000, 1.0, first=True)
    effort.emitted, effort.opaque = 30, 30
    assert effort.limit() == 25_001 + budget.LEAST


def test_what_nobody_else_is_to_blame_for_is_tried_all_the_same(monkeypatch):
    """One long function of 9,900 instructions without a call that could be left: it has all of the first attempt (14,400; the next one has 6,400)."""
    text = "def long(x, y):\n" + "".join(f"    if x.left({k}):\n        y += x.leaf({k})\n    else:\n        y -= x.first({k})\n" for k in range(300)) + "    return y\n"
    namespace = {}
    exec(text, namespace)
    monkeypatch.setattr(budget, "LEAST", 100)
    monkeypatch.setattr(budget, "UNDISSOLVED", 0.001)
    monkeypatch.setattr(budget, "PER_INSTRUCTION", 0)
    assert not hovis.options(fuel=40_000).trace(namespace["long"], hovis.Any, Int).fallback
