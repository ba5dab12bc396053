"""The hints: what they change in a residual, what explain says of them, and that they change no result."""
from __future__ import annotations

import pytest

import hovis
from hovis import Any, Bool, Float, Int, TraceError
from hovis.ir.model import Effect
from tests.differential.harness import compare


def scaled(x, steps):
    return x * hovis.static(steps)


def chosen(x, flag):
    factor = 2 if hovis.static(flag) else 3
    return [x * factor, factor]


def picked(x):
    big = hovis.static(x > 100)
    return (1 if big else 2), big


def cycled(x, n):
    mode = 0
    for _ in range(n):
        mode = hovis.static((mode + 1) % 3)
        x += 10 if mode == 1 else 20
    return x


def levels(x, n):
    level = 0
    while x > n:
        x -= 2 if level > 10 else 1
        level += 1
    return x


def told_levels(x, n):
    level = 0
    while x > n:
        level = hovis.static(min(level, 11))
        x -= 2 if level > 10 else 1
        level += 1
    return x


def in_structure(x, n):
    state = {"at": 0, "names": ("a", "b")}
    for _ in range(n):
        state["at"] = (state["at"] + 1) % 2
        hovis.static(state)
        x += state["at"]
    return x, state["names"]


def rolled(x):
    total = 0
    for k in range(300):
        total += x * k
    return total


def unrolled(x):
    total = 0
    for k in hovis.unroll(range(300)):
        total += x * k
    return total


def unrolled_items(x):
    total = 0
    for a, b in hovis.unroll([(1, 2.5), (3, 4)] * 100):
        total += x * a + b
    return total


def unrolled_unknown(xs):
    total = 0
    for x in hovis.unroll(xs):
        total += x
    return total


def forgotten(x):
    for k in range(hovis.dynamic(4)):
        x += k
    return x


def forgotten_flag(x):
    fast = hovis.dynamic(True)
    return x + 1 if fast else x - 1


def forgotten_list(x):
    items = [1, 2, x]
    same = hovis.dynamic(items)
    same.append(4)
    return items, same is items, len(items), hovis.dynamic(None) is None, hovis.dynamic("ab") + "c", hovis.dynamic(2.5)


@hovis.boundary
def audited(x):
    print("audit", x)
    return x + 1


class Checker:
    @hovis.boundary
    def check(self, x):
        return x > 0

    @staticmethod
    @hovis.boundary
    def twice(x):
        return 2 * x

    @hovis.boundary
    @classmethod
    def named(cls, x):
        return cls.__name__, x


def calls(x):
    checker = Checker()
    return audited(x) + audited(2), checker.check(x), Checker.twice(x), Checker.named(3)


PROGRAMS = [
    (scaled, [Int, Int], [(3, 4)]),
    (scaled, [Float, 3], [(2.5, 3)]),
    (chosen, [Int, Bool], [(3, True), (3, False)]),
    (chosen, [Int, Any], [(3, "yes"), (3, "")]),
    (picked, [Int], [(3,), (300,)]),
    (cycled, [Int, Int], [(3, 0), (3, 7)]),
    (told_levels, [Int, Int], [(50, 2)]),
    (in_structure, [Int, Int], [(5, 3)]),
    (unrolled, [Int], [(3,)]),
    (unrolled_items, [Int], [(3,)]),
    (unrolled_unknown, [Any], [([1, 2],), (5,)]),
    (unrolled_unknown, [[1, 2, 3]], [([1, 2, 3],)]),
    (forgotten, [Int], [(3,)]),
    (forgotten_flag, [Int], [(3,)]),
    (forgotten_list, [Int], [(3,)]),
    (calls, [Int], [(3,), (-3,)]),
    (calls, [Any], [(3,), ("x",)]),
]


@pytest.mark.parametrize(("fn", "specs", "all_args"), PROGRAMS, ids=[f"{fn.__name__}-{k}" for k, (fn, _, _) in enumerate(PROGRAMS)])
@pytest.mark.parametrize("way", ["specialize", "text", "jit"])
def test_as_cpython(fn, specs, all_args, way):
    if way == "jit":
        residual = hovis.jit(fn)
    else:
        made = hovis.specialize(fn, *specs)
        assert not made.trace.fallback
        residual = made if way == "specialize" else made.trace.text().load()
    known = [type(spec) in (int, list) for spec in specs]
    for args in all_args:
        given = args if way == "jit" else tuple(arg for arg, fixed in zip(args, known, strict=True) if not fixed)
        expected, got = compare.observe(fn, compare.fresh(args)), compare.observe(residual, compare.fresh(given))
        assert (expected.value, expected.stdout) == (got.value, got.stdout)


def blocks(fn, *specs):
    return len(hovis.trace(fn, *specs).blocks)


def test_static_decides_a_bool():
    trace = hovis.trace(chosen, Int, Bool)
    assert [block.terminator.value for block in trace.blocks[1:]] == [block.ops[-1] for block in trace.blocks[1:]]
    assert blocks(picked, Int) == 3


def test_static_tells_constants_apart():
    assert blocks(cycled, Int, Int) > blocks(levels, Int, Int) - 1
    assert not any(op.callee is min or op.args[1:2] == (11,) for op in hovis.trace(told_levels, Int, Int).ops)
    assert blocks(told_levels, Int, Int) > 2 * blocks(levels, Int, Int)


def test_static_makes_a_number_part_of_the_key():
    jitted = hovis.jit(scaled)
    assert (jitted(2, 3), jitted(2, 4), jitted(5, 3)) == (6, 8, 15)
    assert len(jitted.traces) == 2


def test_unroll():
    assert blocks(rolled, Int) > 1
    assert blocks(unrolled, Int) == 1
    assert len(hovis.trace(unrolled, Int).ops) == 600


def test_dynamic():
    assert blocks(forgotten, Int) == 4
    assert len(hovis.trace(forgotten_list, Int).ops) > 3


def test_boundary():
    opaque = [op.callee for op in hovis.trace(calls, Int).ops if op.effect & Effect.OPAQUE]
    assert opaque.count(audited) == 2
    assert Checker.check in opaque


def test_a_hint_is_nothing_where_nothing_is_traced():
    made = [1]
    assert hovis.static(made) is hovis.dynamic(made) is hovis.unroll(made) is made
    assert hovis.boundary(scaled) is scaled
    del scaled.__hovis_boundary__


def remarks(fn, *specs):
    return [(remark.what, remark.hint) for remark in hovis.explain(hovis.trace(fn, *specs)).remarks]


def test_explain_says_which_hint_would_help():
    assert ("level has too many values here to specialize for each of them", "hovis.static(level) here would specialize for each of them") in remarks(levels, Int, Int)
    assert any("hovis.unroll(…) around its iterable" in hint for _, hint in remarks(rolled, Int))
    report = hovis.explain(hovis.trace(levels, Int, Int))
    assert next(remark for remark in report.remarks if remark.hint.startswith("hovis.static")).location.line == levels.__code__.co_firstlineno + 3


def test_explain_says_which_hint_has_no_effect():
    assert ("hovis.static has no effect here: the value is not known while tracing", "a spec for steps would help") in remarks(scaled, Int, Int)
    assert any(what.startswith("hovis.unroll has no effect here") for what, _ in remarks(unrolled_unknown, list))
    assert not remarks(scaled, Int, 3)
    with pytest.raises(TraceError, match="hovis.static has no effect here"):
        hovis.options(strict=True).trace(scaled, Int, Int)
