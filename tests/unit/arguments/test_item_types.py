"""What type hints tell of the items of containers: it is used as long as nothing can change them, and what does not fit is right all the same."""
from __future__ import annotations

import copy
import random
import sys

import pytest

import hovis
from hovis import Int, SpecError
from hovis.ir.model import Effect
from hovis.ir.printer import names_of


def total(xs):
    s = 0
    for v in xs:
        s += v * 2
    return s


def kinds(xs):
    return [isinstance(v, int) for v in xs]


def ends(xs):
    return xs[0], xs[-1], len(xs)


def appended(xs):
    xs.append("a")
    return [isinstance(v, int) for v in xs], xs[0]


def changed_by_others(xs):
    change(xs)
    return [type(v) is int for v in xs]


def change(xs):
    exec("xs[0] = 'new'", {"xs": xs})


def by_key(d):
    return [d[k] for k in d], isinstance(d.get("a"), float)


def put(d):
    d["a"] = None
    return [isinstance(v, float) for v in d.values()]


def members(s):
    return sorted(map(str, s)), all(isinstance(v, int) for v in s)


def several(xs, k):
    return xs if xs is None else xs[k] + 1


def with_places(xs):
    return [k * v for k, v in enumerate(xs, 1)], [v for v in reversed(xs)], list(zip(xs, xs))


def ordered(xs):
    return sorted(xs), min(xs), max(xs), min(xs, default=0), sorted(xs, reverse=True)[0]


def summed(xs):
    s = sum(xs)
    return s, s + 1, sum(xs, 0.5), isinstance(s, int), set(xs), tuple(xs), list(xs)


def sorted_and_changed(xs):
    ys = sorted(xs)
    ys.append("a")
    return [type(v) is int for v in ys]


def by_step(xs):
    over = iter(xs)
    return next(over) + 1, next(over, None), [v for v in over]


def pairs(d):
    s = 0.0
    for k, v in d.items():
        s += v * len(k)
    return s, [k + "!" for k in d.keys()], sum(d.values()), [v + 1 for v in d.values()], list(d.items()), sorted(d)


def changed_while_gone_through(d):
    for k, v in d.items():
        d[k + k] = v
    return len(d)


def nested(xs):
    s = 0
    for row in xs:
        for v in row:
            s += v * 2
    return s, [sum(row) for row in xs], xs[0][0] if xs and xs[0] else None


def inner_changed(xs):
    for row in xs:
        row.append("a")
    return [type(v) is int for row in xs for v in row]


def of_rows(d):
    return {k: (len(v), sum(v), max(v)) for k, v in d.items()}, [v for row in d.values() for v in row]


LISTS = [[], [1], [1, 2, 3], [1, 2.5], ["a"], [True, 2], list(range(1000)), [*range(1000), "a"], (1, 2), None]
TUPLES = [(), (1,), (1, 2, 3), (1, 2.5), tuple(range(1000)), (*range(300), None), [1]]
DICTS = [{}, {"a": 1.0}, {"a": 1}, {1: 2.0}, {"b": 2.0, "a": 3.0}, {k: 1.0 for k in map(str, range(500))}, 3]
SETS = [set(), {1, 2}, {1, "a"}, set(range(600)), frozenset({1})]
ROWS = [[], [[]], [[1], [2, 3]], [[1], [2.5]], [[1], ["a"]], [[1], (2,)], [1], [list(range(200))] * 3, [[1]] * 400]
TABLES = [{}, {"a": [1.0]}, {"a": [1.0, 2.0], "b": [0.5]}, {"a": [1.0], "b": [1]}, {"a": [1.0], "b": (2.0,)}, {"a": []}, {k: [1.0, 2.0] for k in map(str, range(300))}]
CASES = [
    *((f, list[int], LISTS) for f in (total, kinds, ends, appended, changed_by_others)), (total, list[int | float], LISTS), (kinds, list[bool | None], LISTS),
    (total, tuple[int, ...], TUPLES), (kinds, tuple[int, ...], TUPLES), (ends, tuple[int, ...], TUPLES), (by_key, dict[str, float], DICTS), (put, dict[str, float], DICTS),
    *((f, list[hint], LISTS) for f in (with_places, ordered, summed, sorted_and_changed, by_step) for hint in (int, int | float)),
    (with_places, tuple[int, ...], TUPLES), (summed, set[int], SETS), (summed, list[float], [[], [1.0], [1.0, 2.5], [0.1] * 10, [1], ["a"]]), (ordered, list[str], [["b", "a"], [], [1]]),
    (pairs, dict[str, float], DICTS), (changed_while_gone_through, dict[str, float], DICTS), (nested, list[list[int]], ROWS), (inner_changed, list[list[int]], ROWS),
    (nested, tuple[list[int], ...], [((), [1]), ([1],), ([1], ["a"])]), (inner_changed, tuple[list[int], ...], [([1], [2]), ()]),
    (nested, list[tuple[int, ...]], [[(1, 2), ()], [(1, "a")], [[1]]]), (of_rows, dict[str, list[float]], TABLES), (members, set[int], SETS), (members, frozenset[int], SETS), (kinds, list[list[int]], [[[1]], [1], [[1], ["a"]]]),
]  # fmt: skip


def outcome(f, value):
    given = copy.deepcopy(value)
    try:
        result = repr(f(given))
    except Exception as error:
        result = type(error), error.args
    return result, given


@pytest.mark.parametrize(("f", "hint", "values"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_calls_are_right_whatever_the_items_are(f, hint, values):
    traced = hovis.trace(f, hint)
    text = traced.text().load()
    for value in values:
        expected = outcome(f, value)
        assert outcome(traced.compile(), value) == expected
        assert outcome(text, value) == expected
    values = random.Random(1).sample(values, len(values))
    f.__annotations__ = {f.__code__.co_varnames[0]: hint}
    try:
        jitted = hovis.jit(f, annotations=True)
        for value in values:
            assert outcome(jitted, value) == outcome(f, value)
    finally:
        f.__annotations__ = {}


def test_the_classes_of_items_are_used():
    assert hovis.return_type(total, list[int]) == hovis.return_type(total, tuple[int, ...]) == Int
    assert "list[Int]" in str(hovis.trace(total, list[int]))
    assert hovis.return_type(lambda d: d["a"], dict[str, float]) == hovis.Float
    assert hovis.trace(kinds, list[int]).compile()([1, 2]) == [True, True]


@pytest.mark.parametrize(
    ("f", "hint"), [(with_places, list[int]), (ordered, list[int]), (summed, list[int]), (pairs, dict[str, float]), (nested, list[list[int]]), (of_rows, dict[str, list[float]])]
)
def test_what_goes_through_containers_knows_their_items(f, hint):
    traced = hovis.trace(f, hint)
    assert not any(op.effect & Effect.OPAQUE for function in traced.functions for op in function.ops()), str(traced)


def test_nothing_is_taken_for_granted_where_something_may_change():
    for f in (appended, changed_by_others):
        assert "list[Int]" not in str(hovis.trace(f, list[int]))


def calls_of(builtin, f, *args):
    """How often a call makes one of a builtin."""
    found = []
    sys.setprofile(lambda frame, event, arg: found.append(arg) if event == "c_call" and arg is builtin else None)
    try:
        f(*args)
    finally:
        sys.setprofile(None)
    return len(found)


def only_adds(xs):
    s = 0
    for v in xs:
        s += v * 2
    return s


def test_long_containers_are_looked_at_item_by_item():
    ways = [hovis.specialize(kinds, list[int]), hovis.specialize(changed_by_others_later, list[int])]
    for residual in ways:
        assert calls_of(isinstance, residual, list(range(1000))) == 0
        assert calls_of(isinstance, residual, [*range(500), "a", *range(99)]) == 100  # from there on nothing is told
    # where knowing a class spares nothing, nobody asks for it
    assert not any(op.callee is type for op in hovis.trace(only_adds, list[int]).runs().ops)


def changed_by_others_later(xs):
    found = [isinstance(v, int) for v in xs]
    change(xs)
    return found


THEN = 1


def test_what_other_items_need_is_looked_at_again():
    """A residual that is made for items of other classes reads globals of its own."""
    def first(xs: list[int]):
        return THEN if type(xs[0]) is str else 0
    jitted = hovis.jit(first, annotations=True)
    global THEN
    for THEN in (1, 2, 3):
        assert (jitted([1]), jitted(["a"]), jitted([2] * 300), jitted(["a"] * 300)) == (0, THEN, 0, THEN)


def test_the_text_of_a_trace_can_be_read_back():
    for f, hint, _ in CASES:
        traced = hovis.trace(f, hint)
        for one in (traced, traced.runs()) if traced.runs else (traced,):
            again = hovis.parse(str(one), {**names_of(one.functions), f.__name__: f})
            assert [repr(op.type) for op in again.ops()] == [repr(op.type) for op in one.ops]
            assert again.params[-1].type == one.params[-1].type


def test_what_does_not_fit_a_trace_is_said():
    assert hovis.evaluate(hovis.trace(total, list[int]), [1, 2]) == 6
    with pytest.raises(SpecError, match=r"the argument 'xs' does not fit its spec"):
        hovis.evaluate(hovis.trace(total, list[int]), [1, "a"])


def test_one_of_several():
    residual = hovis.specialize(several, list[int] | None, Int)
    assert residual([1], 0) == 2 and residual(None, 0) is None and residual([1.5], 0) == 2.5
    with pytest.raises(TypeError):
        residual(["a"], 0)


# ------------------------------------------------------------------------------------------------- jit


def test_annotations_of_a_jitted_function():
    def f(x: int, by: "float | None" = None, *more, k: str = "a"):
        return x, by, k, isinstance(x, int), more
    jitted = hovis.jit(f, annotations=True)
    calls = [((1,), {}), ((True,), {}), ((2.5,), {}), (("s",), {}), ((1, 2.0), {}), ((1,), {"by": 3.0, "k": "b"}), ((1,), {"k": "c"}), ((1,), {"k": 7}), ((1, 2, 3), {})]
    for args, kwargs in calls * 2:
        assert repr(jitted(*args, **kwargs)) == repr(f(*args, **kwargs))
    made = jitted.cache_info()["made"]
    for k in range(20):
        assert jitted(1, k=f"text {k}")[2] == f"text {k}"
    assert jitted.cache_info()["made"] == made     # a text is unknown where it is annotated
    assert any("Float | None" in str(trace) for trace in jitted.traces)


def test_annotations_of_no_use():
    jitted = hovis.jit(lambda x: x, annotations=True)
    assert jitted(3) == 3

    def f(x: "Undefined"):  # noqa: F821
        return x
    with pytest.raises(SpecError, match="can't be resolved"):
        hovis.jit(f, annotations=True)(1)
