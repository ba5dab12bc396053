"""Lists, dicts and objects of the arguments that are changed: one executable, and the caller's objects are what they would be."""

import copy
import enum
import gc
import importlib
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
micrograd = importlib.import_module("micrograd")


class Thing:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


KNOWN = Thing(x=1.0)


def shown(value: Any, seen: dict[int, int]) -> Any:
    """All that can be told of a value: classes, keys in order, which objects are the same."""
    if id(value) in seen:
        return "again", seen[id(value)]
    if isinstance(value, list | dict | Thing | Slotted | np.ndarray):
        seen[id(value)] = len(seen)
    if isinstance(value, list | tuple):
        return type(value), [shown(v, seen) for v in value]
    if isinstance(value, Slotted):
        return "slots", [(name, shown(getattr(value, name), seen)) for name in ("a", "b") if hasattr(value, name)]
    if isinstance(value, dict | Thing):
        held = value if isinstance(value, dict) else vars(value)
        return type(value), [(k, shown(v, seen)) for k, v in held.items()]
    return (value.dtype.str, value.tolist()) if isinstance(value, np.ndarray) else (type(value), value)


def swapped(o: Any) -> Any:
    o.a, o.b = o.b, o.a
    return o


def grown(values: Any, x: Any) -> Any:
    values.append(x * 2.0)
    values.append([x])
    return len(values)


def popped(d: Any) -> Any:
    v = d.pop("x")
    d["z"] = v + 1.0
    return v


def looping(o: Any) -> Any:
    k = 0
    while o.x > 1.0:
        o.x = o.x / 2.0
        o.n += 1
        k += 1
    return k


def branching(o: Any, x: Any) -> Any:
    if x > 0.0:
        o.x = x
    else:
        o.y = x * 2.0
    return o.x + o.y


def raising(o: Any, x: Any) -> Any:
    o.x = x + 1.0
    if x > 10.0:
        raise ValueError("big")
    return o.x


def parent(o: Any) -> Any:
    o.child = Thing(v=o.x * 2.0, parent=o)
    return o.child


def arrays(o: Any) -> Any:
    o.w -= 0.1 * o.g
    o.g = np.zeros_like(o.g)
    o.last = o.w
    o.part = o.w[1:]
    return np.sum(o.w)


def told_apart(o: Any) -> Any:
    return (1.0 if o is KNOWN else 2.0) * o.x


def beside_a_global(o: Any) -> Any:
    o.x = o.x + KNOWN.x
    return KNOWN.x


def tied(a: Any, b: Any) -> Any:
    a.x = a.x * 2.0
    return b.x


def moments(state: Any, grads: Any, rate: Any) -> Any:
    state["t"] += 1
    for k, g in grads.items():
        m = state["m"][k]
        m *= 0.9
        m += 0.1 * g
        state["p"][k] = state["p"][k] - rate * m / (1 - 0.9 ** state["t"])
    return state["t"]


def deleted(o: Any) -> Any:
    x = o.x
    del o.x
    o.y = x * 2.0
    return x


def exchanged(items: Any) -> Any:
    items[0], items[1] = items[1], items[0]
    items[2].x = items[0].x + 1.0
    return items[0]


def each(items: Any) -> Any:
    total = 0.0
    for item in items:
        item.x += 1.0
        total += item.x
    items.reverse()
    return total


def round_about(o: Any) -> Any:
    o.next.next.x = o.x * 3.0
    return o.next.x


def one_of_two(a: Any, b: Any, x: Any) -> Any:
    c = a if x > 0.0 else b
    c.x = x
    return c


def ring() -> Any:
    one, other = Thing(x=1.0), Thing(x=2.0)
    one.next, other.next = other, one
    return (one,)


def twice() -> Any:
    return [Thing(x=3.0)] * 2


CALLS: list[tuple[Any, Any]] = [
    (swapped, lambda: (Thing(a=1.0, b=2.5),)),
    (swapped, lambda: (Slotted(1.0, np.ones(2)),)),
    (grown, lambda: ([1.0, 2.0], 3.0)),
    (popped, lambda: ({"x": 1.0, "y": 2},)),
    (looping, lambda: (Thing(x=50.0, n=3),)),
    (branching, lambda: (Thing(x=1.0, y=2.0), 3.0)),
    (branching, lambda: (Thing(x=1.0, y=2.0), -3.0)),
    (raising, lambda: (Thing(x=1.0), 3.0)),
    (raising, lambda: (Thing(x=1.0), 30.0)),
    (parent, lambda: (Thing(x=2.0),)),
    (arrays, lambda: (Thing(w=np.arange(3.0), g=np.ones(3)),)),
    (told_apart, lambda: (Thing(x=2.0),)),
    (told_apart, lambda: (KNOWN,)),
    (beside_a_global, lambda: (Thing(x=4.0),)),
    (beside_a_global, lambda: (KNOWN,)),
    (tied, lambda: (Thing(x=1.0), Thing(x=5.0))),
    (tied, lambda: tuple(twice())),
    (moments, lambda: ({"t": 0, "p": {"w": np.ones(2), "b": 2.0}, "m": {"w": np.zeros(2), "b": 0.0}}, {"w": np.ones(2), "b": 1.0}, 0.1)),
    (deleted, lambda: (Thing(x=1.0, q=2),)),
    (exchanged, lambda: ([Thing(x=1.0), Thing(x=2.0), Thing(x=3.0)],)),
    (exchanged, lambda: ([*twice(), Thing(x=9.0)],)),
    (each, lambda: ([Thing(x=1.0), Thing(x=2.0)],)),
    (each, lambda: (twice(),)),
    (round_about, ring),
]


def outcome(fn: Any, args: Any, monkeypatch: Any) -> Any:
    monkeypatch.setattr(KNOWN, "x", 1.0)
    try:
        result = fn(*args)
    except ValueError as error:
        result = repr(error)
    return shown((result, args), {})


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_objects_are_changed_for_the_caller(number: int, monkeypatch: Any) -> None:
    fn, args = CALLS[number]
    compiled = hovis_xla.jit(fn, target="xla")
    for _ in range(2):
        assert repr(outcome(compiled, args(), monkeypatch)) == repr(outcome(fn, args(), monkeypatch))
    assert compiled.explain().startswith(f"{fn.__name__} runs as one XLA executable.")


def test_other_arguments_than_it_was_compiled_for(monkeypatch: Any) -> None:
    """What hangs together in another way, or is of another class, is another call."""
    compiled = hovis_xla.jit(tied, target="xla")
    same = Thing(x=3.0)
    odd = Thing(x=3)
    for args in ((Thing(x=1.0), Thing(x=5.0)), (same, same), (Thing(x=1.0), odd), (Thing(x=1.0), Thing(x=7.0)), (Thing(x=1.0), Thing(y=1, x=7.0))):
        other = copy.deepcopy(args)
        assert repr(outcome(compiled, args, monkeypatch)) == repr(outcome(tied, other, monkeypatch))


def test_which_object_is_meant_is_not_known(monkeypatch: Any) -> None:
    compiled = hovis_xla.jit(one_of_two, target="xla")
    for x in (3.0, -3.0):
        args = Thing(x=1.0), Thing(x=2.0), x
        assert repr(outcome(compiled, args, monkeypatch)) == repr(outcome(one_of_two, copy.deepcopy(args), monkeypatch))
    assert "residual Python" in compiled.explain()


def step(network: Any, xs: Any, ys: Any, rate: Any) -> Any:
    """Parameters are objects that the caller has, in several places of the network."""
    loss = sum([(network(x) - y) ** 2 for x, y in zip(xs, ys, strict=True)]) * (1.0 / len(xs))
    for value in network.values:
        value.grad = 0.0
    loss.backward()
    for value in network.values:
        value.data -= rate * value.grad
    return loss.data


def test_a_network_of_objects_learns_in_place() -> None:
    one, other = (micrograd.Network([2, 1, 1], micrograd.numbers_of([2, 1, 1])) for _ in range(2))
    compiled = hovis_xla.jit(step, target="xla")
    for _ in range(3):
        assert compiled(one, micrograd.XS[:2], micrograd.YS[:2], 0.1) == pytest.approx(step(other, micrograd.XS[:2], micrograd.YS[:2], 0.1), rel=1e-12)
        for a, b in zip(one.values, other.values, strict=True):
            assert (a.data, a.grad) == pytest.approx((b.data, b.grad), rel=1e-12, abs=1e-15)
    assert compiled.explain() == "step runs as one XLA executable."


def one_from_the_other(p: Any, count: Any) -> Any:
    losses = []
    for _ in range(count):
        p["a"] = p["a"] * 2.0
        p["b"] = p["b"] - p["a"]
        losses.append(np.sum(p["b"]))
    return losses


@pytest.mark.parametrize("count", [0, 3])
def test_arrays_that_a_loop_may_have_replaced(count: int, monkeypatch: Any) -> None:
    compiled = hovis_xla.jit(one_from_the_other, target="xla")
    one, other = ({"a": np.ones(3), "b": np.arange(3.0)} for _ in range(2))
    first = list(one.values())
    assert repr(outcome(compiled, (one, count), monkeypatch)) == repr(outcome(one_from_the_other, (other, count), monkeypatch))
    assert [new is old for new, old in zip(one.values(), first, strict=True)] == [count == 0] * 2
    assert compiled.explain().startswith("one_from_the_other runs as one XLA executable.")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_view_that_a_loop_may_have_made(count: int) -> None:
    def turned(a: Any, count: Any) -> Any:
        b = a
        for _ in range(count):
            b = b[::-1]
        return b

    a = np.arange(4.0)
    found = hovis_xla.jit(turned, target="xla")(a, count)
    np.testing.assert_array_equal(found, turned(a, count))
    assert np.shares_memory(found, a)


def by_either_name(o: Any, d: Any) -> Any:
    d["x"] = o.x + 5.0
    seen = o.x
    o.x = seen * 2.0
    return d["x"] + seen


def through_its_own(o: Any) -> Any:
    o.held["x"] = 4.0
    return o.x


def given_another(o: Any) -> Any:
    o.__dict__ = {"x": o.x * 2.0, "z": 1.0}
    return o.x


def its_attributes(o: Any) -> Any:
    o.x += 1.0
    return vars(o)


def beside_a_known(d: Any) -> Any:
    d["x"] = d["x"] + 1.0
    return KNOWN.x


def with_its_dict(**attributes: Any) -> Any:
    made = Thing(**attributes)
    return made, vars(made)


def holding_its_dict() -> Any:
    made = Thing(x=1.0)
    made.held = vars(made)
    return (made,)


@pytest.mark.parametrize("target", ["xla", "python"])
@pytest.mark.parametrize(
    ("fn", "calls"),
    [
        (by_either_name, [lambda: (Thing(x=1.0), {"x": 1.0}), lambda: with_its_dict(x=1.0)]),
        (by_either_name, [lambda: with_its_dict(x=1.0), lambda: (Thing(x=1.0), {"x": 1.0})]),
        (through_its_own, [holding_its_dict, lambda: (Thing(x=1.0, held={"x": 2.0}),)]),
        (given_another, [lambda: (Thing(x=1.0),)]),
        (its_attributes, [lambda: (Thing(x=1.0),)]),
        (beside_a_known, [lambda: ({"x": 1.0},), lambda: (vars(KNOWN),)]),
    ],
    ids=["two", "one", "held", "replaced", "returned", "known"],
)
def test_attributes_that_are_a_dict_of_somebody(fn: Any, calls: Any, target: str, monkeypatch: Any) -> None:
    """An object's attributes are a dict: it may be an argument, held by one, or returned."""
    compiled = hovis_xla.jit(fn, target=target)
    for args in (*calls, *calls):
        assert repr(outcome(compiled, args(), monkeypatch)) == repr(outcome(fn, args(), monkeypatch))


class Closed(Thing):
    """Nothing is known of what is in one."""

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)


def beside_another(o: Any, other: Any) -> Any:
    o.x += 1.0
    return o is other


@pytest.mark.parametrize("target", ["xla", "python"])
def test_what_was_another_object_is_one_of_these(target: str) -> None:
    compiled = hovis_xla.jit(beside_another, target=target)
    for other in (Closed(x=1.0), Closed(x=1.0), None):
        o = Thing(x=1.0)
        assert compiled(o, other or o) is (other is None)
        assert o.x == 2.0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def beside_a_name(o: Any, color: Any, slope: Any) -> Any:
    o.x += slope(o.x)
    o.slope = slope
    return color is Color.RED, color


@pytest.mark.parametrize("target", ["xla", "python"])
@pytest.mark.parametrize("made", [lambda: None, lambda: hovis.grad(beside), lambda: hovis.jit(beside), lambda: hovis.grad(hovis.checkpoint(beside))])
def test_what_is_known_by_itself_is_no_object_to_look_into(made: Any, target: str) -> None:
    compiled = hovis_xla.jit(beside_a_name, target=target)
    kept = made() or beside
    for color in (*Color, *Color):
        for slope in (kept, made() or beside):
            one, other = Thing(x=2.0), Thing(x=2.0)
            assert compiled(one, color, slope) == beside_a_name(other, color, slope)
            assert one.x == other.x and one.slope is slope
    assert len(compiled.traces) < 8


def beside(x: Any) -> Any:
    return x * x


class Ending(Thing):
    def __del__(self) -> None:
        KNOWN.x += 1.0


def let_go(items: Any) -> Any:
    items.pop()
    items[0] += 1.0
    return items


def let_go_first(items: Any) -> Any:
    items.pop()
    items[0][0] += 1.0
    return items


def test_objects_whose_ends_show_are_not_adopted() -> None:
    """They would end behind the call; so would what somebody else has a weak reference to."""
    compiled = hovis_xla.jit(let_go, target="xla")
    compiled([1.0, Ending(x=1.0)])
    assert "residual Python" in compiled.explain()
    compiled = hovis_xla.jit(let_go, target="xla")
    assert compiled([1.0, Thing(x=1.0)]) == [2.0]
    assert compiled.explain().startswith("let_go runs as one XLA executable.")
    seen = []
    given = [[1.0], Thing(x=1.0)]
    watch = weakref.ref(given[1], lambda _: seen.append(given[0][0]))
    assert hovis_xla.jit(let_go_first, target="xla")(given) == [[2.0]]
    assert (watch(), seen) == (None, [1.0])


def test_objects_are_not_kept_alive() -> None:
    compiled = hovis_xla.jit(looping, target="xla")
    given = Thing(x=5.0, n=1)
    seen = weakref.ref(given)
    compiled(given)
    del given
    gc.collect()
    assert seen() is None
    assert compiled.explain().startswith("looping runs as one XLA executable.")


def popped_on_the_way(d: Any) -> Any:
    seen = []
    for k in d:
        seen.append(k)
        d[k] = d.pop(k) + 1.0
        if k == "y":
            break
    return seen


def deleted_on_the_way(d: Any) -> Any:
    seen = []
    for k, v in d.items():
        seen.append(k)
        del d[k]
        d[k] = v + 1.0
        if k == "y":
            break
    return seen


@pytest.mark.parametrize("target", ["xla", "python"])
@pytest.mark.parametrize("fn", [popped_on_the_way, deleted_on_the_way])
def test_a_dict_that_is_iterated_over_loses_keys(fn: Any, target: str, monkeypatch: Any) -> None:
    """The iterator goes on behind the gap."""
    compiled = hovis_xla.jit(fn, target=target)
    for _ in range(2):
        one, other = {"x": 1.0, "y": 2.0, "z": 3.0}, {"x": 1.0, "y": 2.0, "z": 3.0}
        assert repr(outcome(compiled, (one,), monkeypatch)) == repr(outcome(fn, (other,), monkeypatch))
