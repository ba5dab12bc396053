"""Reverse mode through what is real: containers that grow, objects, generators, and stores that reverse mode has no reverse of."""

import copy
import functools
import heapq
import math
import operator
from collections import defaultdict, deque
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.engine import trace
from hovis.errors import DerivativeError
from hovis.functional import nested_transforms
from hovis.transforms.record.recorder import recorded_python, run
from hovis.transforms.record.tape import Tape

STEP = 1e-6


def drawn(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape)


def differences(f: Any, args: Any) -> Any:
    """The gradient in the first argument, a float or an array, by central differences."""
    x = np.array(args[0])
    found = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = x.copy()
            moved[at] += step
            ends.append(f(*copy.deepcopy((moved if isinstance(args[0], np.ndarray) else float(moved), *args[1:]))))
        found[at] = (ends[0] - ends[1]) / (2 * STEP)
    return found


def check(f: Any, *args: Any, jitted: bool = False) -> None:
    g = hovis.grad(f)
    found = (hovis_xla.jit(g) if jitted else g)(*copy.deepcopy(args))
    assert type(found) is type(args[0])
    np.testing.assert_allclose(found, differences(f, args), rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------------------------------- containers


def recurrent(w, xs, n):
    hidden, states = np.zeros(3), []
    for k in range(n):
        hidden = np.tanh(w @ hidden + xs[k])
        states.append(hidden)
    return np.sum(np.stack(states) ** 2) + np.sum(states[-1])


def back_references(x, n):
    out = [x]
    for k in range(1, n):
        out.append(out[k - 1] * x + math.sin(out[-1]))
    out[0], out[1] = out[1] * x, out[0]
    return out[0] * out[-1] + sum(out)


def as_long_as_it_takes(x):
    steps, y = [], x
    while y < 50.0:
        y = y * x + 0.5
        steps.append(y)
    return sum(steps) / len(steps)


def memoized(x, n):
    memo = {0: x, 1: x * x}
    for k in range(2, n + 2):
        memo[k] = memo[k - 1] * x + math.sin(memo[k - 2])
    return sum(memo.values())


def in_groups(v, names):
    groups = defaultdict(list)
    for k in range(len(names)):
        groups[names[k]].append(v[k])
    return sum(np.mean(np.array(one)) ** 2 for one in groups.values())


def lists_in_place(x, n):
    items = []
    for k in range(n):
        items.insert(0, x * k * k)
    items.reverse()
    items.extend([x, x * x])
    items[1:3] = [x**3]
    del items[0]
    return sum(item * k for k, item in enumerate(items))


def queues(v, n):
    queue, last, heap = deque(maxlen=2), 1.0, []
    for k in range(n):
        queue.append(v[k] * last)
        last = queue[0] + v[0]
        heapq.heappush(heap, queue[-1])
    return last * heapq.heappop(heap) * queue[1]


def sorted_by(v, n):
    pairs = [(v[k], k) for k in range(n)]
    pairs.sort(key=lambda pair: -pair[0])
    return sum(pair[0] * k for k, pair in enumerate(pairs))


def functions_in_a_list(x, n):
    made = [lambda y, k=k: y**k * x for k in range(n)]
    total = x
    for one in made:
        total = one(total) + math.sin(total)
    return functools.reduce(operator.mul, [one(x) for one in made[:3]], total)


def stops_by_exception(v):
    kept, k = [], 0
    while True:
        try:
            kept.append(v[k] ** 2)
            k += 1
        except IndexError:
            return sum(kept)


# ------------------------------------------------------------------------------------------------- objects and generators


class Node:
    def __init__(self, value, after):
        self.value, self.after = value, after

    def weighted(self, x):
        return math.sin(self.value) * x


def linked(x, n):
    head = None
    for k in range(n):
        head = Node(x * (k + 1.0), head)
    total = 0.0
    while head is not None:
        total = total * x + head.weighted(x)
        head = head.after
    return total


class Value:
    def __init__(self, data, children=(), local=()):
        self.data, self.children, self.local, self.grad = data, children, local, 0.0

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def sine(self):
        return Value(math.sin(self.data), (self,), (math.cos(self.data),))


def scalar_engine(x, n):
    start = Value(x)
    y = start
    for _ in range(n):
        y = (y + start).sine()
    y.grad = 1.0
    todo = [y]
    while todo:
        value = todo.pop()
        todo += value.children[:1]
        for child, local in zip(value.children, value.local, strict=True):
            child.grad += local * value.grad
    return start.grad


def powers(x, n):
    t = x
    for k in range(n):
        t = t * x + math.cos(t) * k
        yield t


def generated(x, n):
    found = list(powers(x, n))
    return found[-1] * found[0]


# ------------------------------------------------------------------------------------------------- arrays


def into_arrays(v, c):
    made = np.empty(4)
    np.multiply(v, c, out=made)
    np.sin(made, made)
    other = np.zeros(4)
    np.copyto(other, v)
    filled = np.empty(4)
    filled.fill(v[1])
    np.add.at(other, [0, 2, 2], made[:3] * v[0])
    other.sort()
    made[1:] *= other[:-1]
    return np.sum(made * other * filled)


def views_in_a_list(v, n):
    y = v * 1.0
    views = [y[:2], y[2:]]
    for k in range(n):
        views[k % 2] *= k + 2.0
    views[0][0] = views[1][1] * 3.0
    return np.sum(y**2)


def store(a, k, value, depth):
    if depth == 0:
        a[k] = value * value
        return
    store(a, k, value, depth - 1)


def stored_elsewhere(v, n):
    a = v.copy()
    for k in range(n):
        store(a, k, a[k + 1] * 0.5, k)
    return np.sum(a * a)


def lists_into_arrays(v, n):
    y, kept = v * 1.0, []
    for k in range(n):
        kept.append(v[k] * v[k + 1])
        y[0:2] = [kept[-1], v[0]]
        y[...] = (y[1] * 2.0, y[0], v[3], 1.0)
        y[2:] += [kept[0], v[1:2]][0]
    return np.sum(y * np.array([v[0], 1.0, kept[-1], kept[0]])) + np.sum(np.stack([kept, [v[0]] * n]) ** 2)


def placed_by_arguments(v, n):
    y, square = v * 1.0, np.outer(v, v)
    for k in range(n):
        np.put(y, [1, 3, 1], v[1:] ** 2)
        y.put(k, v[k] * y[3])
        np.place(y, y > 0.1, v[:2] * y[:2])
        np.putmask(y, y < 0.0, y**2)
        np.multiply.at(y, [0, 1, 1], v[1:])
        np.sin.at(y, [2, 2])
        np.fill_diagonal(square, y)
        np.put_along_axis(square, np.array([[1], [0], [3], [2]]), y[:, None] * 2.0, axis=1)
        square[k].partition(2)
    return np.sum(y * square[0]) + np.sum(square**2)


def several_times(v, n):
    kept = []
    for k in range(n):
        kept.append(v[k] * v[k + 1])
    several = kept[:1] * n + n * [v[0]]
    return np.sum(np.stack([several, [v[1]] * (2 * n)]) ** 2) + np.max([kept[0], kept[-1] * v[0]]) * np.sum([v[0], kept[0]])


def picked(v, n):
    kept = [v * v]
    for _ in range(n):
        kept.append(kept[-1] * v)
    return kept[-1].tolist()[0] + np.sum(kept[0][np.array([0, 2, 0])] ** 3)


CONTAINERS: list[Any] = [
    (recurrent, drawn(3, 3), drawn(5, 3, seed=1), 5), (back_references, 0.7, 6), (as_long_as_it_takes, 1.3), (memoized, 0.4, 4),
    (in_groups, drawn(6), (0, 1, 0, 2, 1, 0)), (lists_in_place, 0.3, 7), (queues, drawn(5), 5), (sorted_by, drawn(5), 4), (functions_in_a_list, 0.7, 4),
    (stops_by_exception, drawn(4)),
]  # fmt: skip
OBJECTS: list[Any] = [(linked, 0.6, 5), (scalar_engine, 0.7, 3), (generated, 0.5, 6)]
ARRAYS: list[Any] = [(into_arrays, drawn(4, seed=3), 0.3), (views_in_a_list, drawn(4), 3), (stored_elsewhere, drawn(4), 3), (picked, drawn(6), 3),
                     (lists_into_arrays, drawn(4), 2), (placed_by_arguments, drawn(4, seed=4), 2), (several_times, drawn(4), 2)]  # fmt: skip


@pytest.mark.parametrize("case", [*CONTAINERS, *OBJECTS, *ARRAYS], ids=lambda case: case[0].__name__)
def test_agrees_with_central_differences(case):
    check(*case)


@pytest.mark.parametrize("case", [CONTAINERS[0], OBJECTS[0], ARRAYS[0], ARRAYS[2]], ids=lambda case: case[0].__name__)
def test_under_jit(case):
    check(*case, jitted=True)


def test_derivatives_nest():
    def f(x, n):
        kept = [x]
        for _ in range(n):
            kept.append(kept[-1] * x)
        return kept[-1]

    first = recorded_python(lambda x: (f(x, 4),), 1, 1)
    second = recorded_python(lambda x: (first(x)[1],), 1, 1)
    assert first(0.5) == (0.5**5, 5 * 0.5**4)
    assert second(0.5) == (5 * 0.5**4, 20 * 0.5**3)


def test_the_caller_sees_no_boxes():
    def f(x, kept, n):
        for k in range(n):
            kept.append(x * k)
        kept[0] = Node([x * x], None)
        return kept[-1] * x, {"kept": kept, "last": (kept[-1],)}

    kept: list[Any] = []
    gradient, aux = hovis.grad(f, has_aux=True)(0.5, kept, 3)
    assert gradient == 2.0
    assert aux["kept"] is kept
    assert [type(item) for item in kept] == [Node, float, float]
    assert kept[0].value == [0.25]
    assert aux["last"] == (1.0,)
    assert type(aux["last"][0]) is float


def test_an_object_of_the_callers():
    def f(x, node, n):
        for k in range(n):
            node.value = node.value * x + k
        return node.value

    node = Node(1.0, None)
    assert hovis.grad(f)(0.5, node, 3) == 1.75
    assert node.value == 2.625


def test_the_caller_sees_what_the_function_stores():
    def f(x, n):
        kept = []
        for k in range(n):
            x[k] *= 2.0
            kept.append(x[k] * x[0])
        return sum(kept)

    x = drawn(4)
    given = x.copy()
    np.testing.assert_allclose(hovis.grad(f)(given, 3), differences(f, (x, 3)), rtol=1e-6)
    np.testing.assert_array_equal(given, [*(x[:3] * 2.0), x[3]])


def test_what_has_no_derivative_names_the_line():
    def f(x, n):
        kept = []
        for _ in range(n):
            kept.append(np.array([x, x]))
        return float(np.frombuffer(kept[-1].tobytes())[0])

    with pytest.raises(DerivativeError, match=r"tobytes.*test_recorded.py:\d+"):
        hovis.grad(f)(0.5, 2)


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: sum(float(t) for t in np.nditer(x)), "has no derivative"),
        (lambda x: np.pad(x, 2, mode=lambda v, *_: None).sum(), r"np\.pad.*modes that have names.*test_recorded.py:\d+.*custom_vjp"),
        (lambda x: np.linalg.qr(np.outer(x, x), mode="raw")[1].sum(), r"mode='raw'.*test_recorded.py:\d+"),
    ],
)
def test_no_silent_zeros(f, why):
    with pytest.raises(DerivativeError, match=why):
        hovis.grad(f)(drawn(3))
    with pytest.raises(DerivativeError):
        hovis.jvp(lambda x: np.linalg.qr(np.outer(x, x), mode="raw")[1], (drawn(3),), (drawn(3),))


def changed(t, x, n):
    t["l"].append(x * t["l"][0])
    t["d"]["p"] *= 2.0
    t["l"][0] = t["d"]["p"] + t["l"][1] * x
    t["o"].value, t["o"].more = t["o"].value * x, [x]
    t["same"] = t["l"]
    t["w"][0] = x
    for k in range(n):
        t["d"][k] = x * k
    return t["l"][0] * t["d"]["p"] + t["o"].value + t["w"][0] + len(t["d"])


@pytest.mark.parametrize("n", [1, np.int64(2)])
@pytest.mark.parametrize("jitted", [False, True])
def test_containers_that_are_wanted_and_changed(n, jitted):
    def given():
        return {"l": [1.0, 2.0], "d": {"p": 3.0}, "o": Node(2.0, None), "w": np.ones(3), "u": [3.0]}

    expected, t = given(), given()
    array, inner = t["w"], t["l"]
    changed(expected, 1.5, n)
    g = hovis.grad(changed)
    found = (hovis_xla.jit(g) if jitted else g)(t, 1.5, n)
    assert (found["l"], found["d"], found["o"].value) == ([0.0, 9.0], {"p": 30.0}, 1.5)
    assert vars(t.pop("o")) == vars(expected.pop("o"))
    np.testing.assert_array_equal(t.pop("w"), expected.pop("w"))
    assert t == expected
    assert t["l"] is t["same"] is inner
    assert array[0] == 1.5


def test_a_push_changes_what_it_is_given():
    def f(t):
        t["l"].append(t["l"][0] * 3.0)
        t["p"] = t["l"][-1]
        return t["p"]

    t = {"l": [1.0]}
    assert hovis.jvp(f, (t,), ({"l": [2.0]},)) == (3.0, 6.0)
    assert t == {"l": [1.0, 3.0], "p": 3.0}


def test_an_adaptive_loop_that_is_entered_in_two_places():
    def solve(k, y):
        t, h = 0.0, 0.1
        while t < 1.0:
            if t + h > 1.0:
                h = 1.0 - t
            k1 = -k * y
            k2 = -k * (y + h * k1)
            error = abs(k2 - k1) * h
            if error > 1e-2:
                h *= 0.5
                continue
            y = y + h * 0.5 * (k1 + k2)
            t += h
            if error < 1e-3:
                h *= 1.5
        return y

    check(solve, 0.8, 1.0)


def test_functions_made_anew_are_followed_each_time() -> None:
    """However many there are: what is not followed is lost to NumPy, and its derivative would be zero."""

    def loss(x: Any, fn: Any) -> Any:
        parts: list[Any] = []
        while len(parts) < 2 + int(x[0]):
            parts.append(np.sum(fn(x)))
        return parts[0] * parts[-1]

    x = np.array([0.5, 1.5])
    for k in range(20):
        g = hovis.grad(loss)(x, lambda v, k=k: np.asarray(v) * (k + 1.0))
        np.testing.assert_allclose(g, 2 * (k + 1.0) ** 2 * x.sum() * np.ones(2))


def test_memory_is_not_handed_over_by_a_box() -> None:
    """What NumPy takes of an object by itself is no part of the tape: an error, and no zero."""
    with Tape(run) as tape:
        box = tape.begin(np.arange(3.0))
        for take in (np.array, np.ascontiguousarray, lambda v: np.array([v, v])):
            with pytest.raises(DerivativeError):
                take(box)


class Branching:
    def __init__(self, x: Any, depth: int) -> None:
        self.x = x
        self.kids = [Branching(x, depth - 1) for _ in range(2)] if depth else []

    def total(self) -> Any:
        return self.x + sum(kid.total() * 0.5 for kid in self.kids)


def test_what_takes_too_long_to_trace_is_tried_once(monkeypatch: Any) -> None:
    """A trace that begins anew does not spend the fuel again."""
    tried: list[Any] = []
    function = nested_transforms._function

    def counted(m: Any, mirror: Any, *rest: Any) -> Any:
        tried.append((*rest[0], *mirror.key))
        return function(m, mirror, *rest)

    monkeypatch.setattr(nested_transforms, "_function", counted)
    monkeypatch.setattr(trace, "FUEL", 1_500)
    assert hovis.grad(lambda x, depth: Branching(x * x, depth).total())(1.5, 2) == pytest.approx(9.0)
    assert tried
    assert all(tried.count(key) == 1 for key in tried)


# ------------------------------------------------------------------------------------------------- what stays a call


def cube(t: Any) -> Any:
    return t * t * t


def by_name(*given: Any, f: Any = cube, scale: float = 2.0) -> Any:
    return float(f(given[0])) * scale


def keyword_defaults(x: Any) -> Any:
    held = [by_name(x), x]
    held.append(float(held.pop()) * held[0])
    return held[-1]


def derived_ones(x: Any) -> Any:
    ways = [hovis.grad(cube), hovis.grad(lambda t: math.sin(t))]
    out = [way(x) * x for way in ways]
    squares = hovis.vmap(lambda t: t * t if t > 1.0 else t)
    out.append(np.sum(squares(np.array([x, 2.0 * x]))))
    while len(out) > 1:
        out.append(out.pop() + out.pop() * x)
    return out[0]


@hovis.boundary
def left(x: Any, f: Any) -> Any:
    return f(x)


@pytest.mark.parametrize("f", [keyword_defaults, derived_ones])
def test_what_stays_a_call_is_followed_where_it_is_recorded(f: Any) -> None:
    check(lambda x: 2.0 * left(x, f), 0.7)
    found, push = hovis.jvp(lambda x: left(x, f), (0.7,), (1.0,))
    assert (found, push) == pytest.approx((f(0.7), hovis.grad(f)(0.7)))


def test_the_memory_of_an_array_is_not_taken_by_itself() -> None:
    def strided(x: Any) -> Any:
        items = [x]
        while len(items) < 4:
            items.append(items[-1] * x)
        return np.sum(np.lib.stride_tricks.as_strided(np.array(items), (2, 2), (8, 0)))

    with pytest.raises(DerivativeError, match="sliding_window_view"):
        hovis.grad(strided)(1.5)


SOME = np.array([1.0, 2.0, 3.0])


def in_place(x: Any) -> Any:
    w = SOME + x
    for _ in range(2):
        np.multiply(w[:2], x, out=w[:2])
    return np.sum(w**2)


def stored_from_a_list(x: Any) -> Any:
    w, rest = SOME * x, sorted([x, x * x])
    w[0:2] = [rest[0] * w[2], rest[1]]
    return np.sum(w * w)


def steps(x: Any) -> Any:
    t, y, h, n = 0.0, 1.0, 0.1, 0
    while t < 2.0:
        slope = -x * y + np.sin(t)
        if abs(h * slope) < 0.01:
            t += h
            y += h * slope
            h = min(h * 1.5, 0.5)
        else:
            h *= 0.5
        n += 1
        if n > 10000:
            break
    return y


def joined(x: Any) -> Any:
    w = np.zeros(3)
    held = [w, w * 1.0]
    np.add(w, x, out=w)
    return np.sum(np.concatenate(held) ** 2)


def joined_along_an_axis(x: Any) -> Any:
    w = np.zeros((2, 3))
    np.add(w, x, out=w)
    return np.sum(np.stack([w[0], w[1] * x], axis=1)[0] ** 2) + np.sum(np.concatenate([w, w * w], axis=-1)[0] ** 2)


@pytest.mark.parametrize("f", [in_place, stored_from_a_list, steps, joined, joined_along_an_axis])
def test_the_second_derivative_of_what_is_recorded(f: Any) -> None:
    first = hovis.grad(f)
    np.testing.assert_allclose(hovis.grad(first)(1.3), differences(first, (1.3,)), rtol=1e-6, atol=1e-6)


def test_a_product_of_one_array_with_itself() -> None:
    def powers(x: Any) -> Any:
        w = np.ones((2, 2))
        np.multiply(w, x, out=w)
        return np.linalg.multi_dot([w, w, w])[0, 1]

    np.testing.assert_allclose(hovis.grad(powers)(0.3), 12 * 0.3**2, rtol=1e-12)


def test_a_rule_may_come_to_a_constant() -> None:
    """Beyond its points np.interp is what it is at the last one, whatever it is given."""

    def f(a: Any, b: Any) -> Any:
        for _ in zip(a, b, strict=True):
            pass
        return np.interp(np.sum(b), np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]))

    assert np.array_equal(hovis.grad(f, argnums=1)(np.ones(3), np.ones(3)), np.zeros(3))
    assert np.array_equal(hovis.grad(f, argnums=1)(np.ones(3), np.full(3, 0.5)), np.full(3, 2.0))
