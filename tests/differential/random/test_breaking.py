"""Programs that break specialisers, found on paper; and input that is no function to specialise.

Each compares a residual with CPython through `compare.same`, on fresh arguments for each side.
"""
from __future__ import annotations

import copy
import functools
import gc
import types
import warnings

import numpy as np
import pytest

import hovis
from tests.differential.harness.compare import observe, same

Int, Float, Any, const = hovis.Int, hovis.Float, hovis.Any, hovis.const


def agree(fn, specs, *calls):
    """On the unknown arguments the residual, and `evaluate`, do what fn does on all; a call gives them all, and each side gets a copy."""
    known = [isinstance(spec, type(const(0))) for spec in specs]
    for call in calls:
        theirs = copy.deepcopy(call)
        expected = observe(fn, theirs)
        for way in (hovis.specialize, lambda *a: functools.partial(hovis.evaluate, hovis.trace(*a))):
            ours = copy.deepcopy(call)
            residual = way(fn, *[const(value) if k else spec for value, spec, k in zip(ours, specs, known)])
            unknown = tuple(value for value, k in zip(ours, known) if not k)
            same(expected, observe(residual, unknown, watch=(ours, {})), f"{fn.__name__}{call}")


# ------------------------------------------------------------------------------------------ aliasing


def twice(a, b):
    a.append(1)
    b.append(2)
    return a == b, a is b, len(a)


def test_one_list_as_two_arguments():
    shared = [0]
    agree(twice, (list, list), (shared, shared), ([0], [0]))


def test_one_list_as_two_arguments_with_known_structure():
    shared = [0]
    residual = hovis.specialize(twice, [Int], [Int])
    expected = observe(twice, (shared, shared), watch=shared)
    shared = [0]
    same(expected, observe(residual, (shared, shared), watch=shared))


def overlap(a, b):
    a[0] = 7.0
    total = b.sum()
    b += 1.0
    return total, a.tolist()


def test_overlapping_views():
    def views(step):
        base = np.arange(6.0)
        return base, (base[:4], base[step:step + 4])
    for specs in ((np.ndarray, np.ndarray), (hovis.Array(np.dtype("float64"), (4,)), hovis.Array(np.dtype("float64"), (4,)))):
        residual = hovis.specialize(overlap, *specs)
        for step in (0, 1, 2):
            base, args = views(step)
            expected = observe(overlap, args, watch=base)
            base, args = views(step)
            same(expected, observe(residual, args, watch=base), f"step {step}, {specs}")


def through_both(config, d):
    before = config["n"]
    d["n"] = before + 1
    return config["n"], d["n"]


def test_a_static_dict_that_is_also_an_argument():
    theirs, ours, other = {"n": 1}, {"n": 1}, {"n": 5}
    expected = observe(through_both, (theirs, theirs))
    residual = hovis.specialize(through_both, const(ours), dict)
    same(expected, observe(residual, (ours,), watch=((ours, ours), {})))
    ours = {"n": 1}
    residual = hovis.specialize(through_both, const(ours), dict)
    same(observe(through_both, ({"n": 1}, dict(other))), observe(residual, (second := dict(other),), watch=((ours, second), {})))


def folded_list(x):
    made = [1, 2, 3]
    made.append(x)
    return made


def folded_constant():
    return [len("abc"), [0] * 3, {"k": (1, 2)}, np.zeros(2)]


def test_two_calls_do_not_share_one_folded_object():
    for fn, specs, args in ((folded_list, (const(4),), ()), (folded_list, (Int,), (4,)), (folded_constant, (), ())):
        residual = hovis.specialize(fn, *specs)
        first, second = residual(*args), residual(*args)
        assert first is not second
        for a, b in zip(first, second):
            assert a is not b or isinstance(a, int)
        first.append("changed")
        assert "changed" not in [v for v in residual(*args) if isinstance(v, str)]


def default(x, seen=[]):
    seen.append(x)
    return seen


def test_a_mutable_default_is_one_object():
    residual = hovis.specialize(default, Int)
    default.__defaults__[0].clear()
    assert residual(1) is residual(2) is default.__defaults__[0]
    assert default.__defaults__[0] == [1, 2]


# --------------------------------------------------------------------------------------- exceptions


def mutate_then_raise(d, callback):
    d["a"] = 1
    try:
        callback(d)
        d["b"] = 2
    except KeyError as error:
        return d["a"], sorted(d), error.args
    return d["a"]


def spoils(d):
    d["a"] = 100
    d["c"] = 3
    raise KeyError("spoilt")


def test_a_callback_that_mutates_and_then_raises():
    agree(mutate_then_raise, (dict, Any), ({}, spoils), ({}, len))


def local_spoilt(x, callback):
    d = {"a": x}
    try:
        callback(d)
    except KeyError:
        pass
    return d["a"], len(d)


def test_a_callback_that_mutates_a_local_and_then_raises():
    agree(local_spoilt, (Int, Any), (1, spoils), (1, len))


def extended(xs):
    ys = [0]
    try:
        ys.extend(int(x) for x in xs)
    except ValueError:
        return ys
    return ys, "fine"


def test_half_of_an_extend():
    agree(extended, (list,), (["1", "2", "no", "4"],), (["1"],))


def in_finally(x):
    try:
        return 10 // x
    finally:
        print("leaving", x)


def test_finally_on_both_ways_out():
    agree(in_finally, (Int,), (0,), (3,))


# ------------------------------------------------------------------------------------------- numbers


def is_zero(x):
    if x == 0.0:
        return x, str(x), 1 / (x + 5e-324)
    return x


def test_zero_has_a_sign():
    agree(is_zero, (Float,), (0.0,), (-0.0,), (float("nan"),), (1.0,))


def identities(x):
    return x + 0, x * 0, x - x, x == x, x * 1, x / 1, 0 + x, x ** 0


@pytest.mark.parametrize("x", [True, 3, -0.0, float("nan"), float("inf"), 2.5, 1j, np.float64(-0.0), np.int8(-128)])
def test_what_looks_like_an_identity(x):
    agree(identities, (type(x),), (x,))


def warns(x):
    return x / 0


@pytest.mark.parametrize("spec", ["known", "unknown"])
def test_a_warning_comes_at_run_time_and_not_while_tracing(spec):
    def divide():
        return np.float64(1) / 0
    fn, specs, args = (divide, (), ()) if spec == "known" else (warns, (np.float64,), (np.float64(1),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        residual = hovis.specialize(fn, *specs)
    same(observe(fn, args), observe(residual, args))


def expensive(x):
    if x:
        return len(str(2 ** 10 ** 9)) if x > 1 else 2
    return 1


def test_an_expensive_fold_is_not_done_while_tracing():
    residual = hovis.specialize(expensive, Int)
    same(observe(expensive, (0,)), observe(residual, (0,)))
    same(observe(expensive, (1,)), observe(residual, (1,)))


def shifts(x):
    if x:
        return (1 << 10 ** 12, "a" * 10 ** 13, [0] * 10 ** 13, range(10 ** 30)[10 ** 29])
    return 0


def test_a_huge_fold_is_not_done_while_tracing():
    residual = hovis.specialize(shifts, Int)
    same(observe(shifts, (0,)), observe(residual, (0,)))


# ------------------------------------------------------------------------------- objects and classes


class Greeter:
    def greet(self):
        return "class"

    def __init__(self):
        self.name = "g"


def greets(g):
    return g.greet()


def test_a_method_shadowed_by_an_instance_attribute():
    residual = hovis.specialize(greets, Greeter)
    plain, shadowed = Greeter(), Greeter()
    shadowed.greet = lambda: "instance"
    for g in (plain, shadowed):
        same(observe(greets, (g,)), observe(residual, (g,)))


class Noisy:
    def __init__(self, key):
        self.key = key

    def __lt__(self, other):
        print("compared", self.key, other.key)
        return self.key < other.key


def in_order(xs):
    return [x.key for x in sorted(xs)]


def in_order_here(a, b):
    return [x.key for x in sorted([Noisy(a), Noisy(b), Noisy(0)])]


def test_sorted_under_a_comparison_with_effects():
    agree(in_order, (list,), ([Noisy(3), Noisy(1), Noisy(2)],), ([],))
    agree(in_order_here, (Int, Int), (2, 1), (-1, 5))
    agree(in_order_here, (const(2), const(1)), (2, 1))


# ------------------------------------------------------------------------------------- environment

SCALE = 2


def rescale(value):
    global SCALE
    SCALE = value


def scaled(x, callback):
    before = x * SCALE
    callback(10)
    return before, x * SCALE


def test_a_global_changed_by_a_callback_in_mid_call():
    jitted = hovis.jit(scaled)
    try:
        for start in (2, 3):
            rescale(start)
            expected = observe(scaled, (5, rescale))
            rescale(start)
            same(expected, observe(jitted, (5, rescale)))
    finally:
        rescale(2)


def test_a_global_changed_between_calls():
    jitted = hovis.jit(scaled)
    try:
        for start in (2, 7, 2):
            rescale(start)
            same(observe(scaled, (5, abs)), observe(jitted, (5, abs)))
    finally:
        rescale(2)


# --------------------------------------------------------------------------------------- lifetimes


def first_of(n):
    def numbers():
        try:
            yield from range(n)
        finally:
            print("closed")
    for x in numbers():
        break
    print("after")
    g = numbers()
    next(g, None)
    g = None
    print("end")
    return n


def test_the_end_of_a_generator_shows():
    agree(first_of, (Int,), (3,), (0,))
    agree(first_of, (const(3),), (3,))


class Handle:
    def __init__(self, name):
        self.name = name
        print("open", name)

    def __del__(self):
        print("close", self.name)


def handles(n):
    h = Handle("a")
    print("using", h.name)
    h = Handle("b")
    print("rebound")
    for i in range(n):
        h = Handle(str(i))
    del h
    print("end")


def test_the_end_of_an_object_with_a_finaliser_shows():
    gc.collect()
    agree(handles, (Int,), (0,), (2,))
    agree(handles, (const(2),), (2,))


def reads(path):
    total = 0
    for line in open(path):
        total += len(line)
    with open(path) as f:
        return total, f.read(), f.closed


def test_a_file(tmp_path):
    path = tmp_path / "text"
    path.write_text("one\ntwo\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        agree(reads, (hovis.Str,), (str(path),))
        agree(reads, (const(""),), (str(path),))


# --------------------------------------------------------------------------------------------- depth


def dense(x, layer):
    return x @ layer["w"]


def relu(x, layer):
    return np.maximum(x, 0.0)


def norm(x, layer):
    return x / layer["s"]


KINDS = {"dense": dense, "relu": relu, "norm": norm}


def network(x, layers):
    for layer in layers:
        if x.sum() > 1e6:
            x = x / 2.0
        x = KINDS[layer["kind"]](x, layer)
    return x


def test_96_layers_of_three_kinds_under_an_unknown_branch():
    rng = np.random.default_rng(0)
    kinds = ["dense", "relu", "norm"]
    layers = [{"kind": kinds[(i * i + i // 5) % 3], "w": rng.normal(size=(4, 4)), "s": 1.5} for i in range(96)]
    spec = hovis.Array(np.dtype("float64"), (4,))
    trace = hovis.trace(network, spec, const(layers))
    body = str(trace).partition("\n")[2]         # the first line has the parameters
    assert not any(word in body for word in ("kind", "KINDS", "dense", "relu", "norm(")), "a test of the kind is left"
    residual = trace.compile()
    for x in (rng.normal(size=4), rng.normal(size=4) * 1e7):
        same(observe(network, (x.copy(), layers), watch=()), observe(residual, (x.copy(),), watch=()))


# -------------------------------------------------------------------------------------- bad input


def two(a, b):
    return a + b


def test_too_many_specs():
    with pytest.raises(TypeError, match=r"two|argument"):
        hovis.trace(two, Int, Int, Int)


def test_an_unknown_name():
    with pytest.raises(TypeError, match="c"):
        hovis.trace(two, Int, c=Int)


def test_a_name_given_twice():
    with pytest.raises(TypeError, match="a"):
        hovis.trace(two, Int, a=Int)


@pytest.mark.parametrize("thing", [3, "two", None, [1]], ids=repr)
def test_what_is_not_callable(thing):
    with pytest.raises(TypeError, match=r"callable|function"):
        hovis.trace(thing, Int)


def raises_at_call(trace, args):
    with pytest.raises(TypeError):
        hovis.evaluate(trace, *args)


def test_evaluate_on_arguments_that_do_not_fit():
    trace = hovis.trace(two, Int, Int)
    raises_at_call(trace, ("a", "b"))
    raises_at_call(trace, (1,))


def test_a_residual_called_with_other_types_runs_the_original():
    residual = hovis.specialize(two, Int, Int)
    assert residual("a", "b") == "ab"
    assert residual(a=1, b=2) == 3
    assert residual(1.5, 2) == 3.5


def test_a_keyword_that_is_also_an_option_elsewhere():
    def picky(x, strict, static=0):
        return x, strict, static
    assert hovis.specialize(picky, Int, strict=const(True), static=Int)(1, 2) == (1, True, 2)


class Adder:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return x + self.k

    def add(self, x):
        return x + self.k

    @classmethod
    def made(cls, x):
        return cls(x).k

    @staticmethod
    def plain(x):
        return x + 1


def generator(n):
    print("started")
    yield n
    yield n + 1


async def coroutine(n):
    return n + 1


SOURCE_LESS: dict = {}
exec("def source_less(x):\n    return x * 3", SOURCE_LESS)

WORKING = {
    "builtin": (abs, Int, -3),
    "class": (Adder, Int, 3),
    "builtin class": (int, hovis.Str, "12"),
    "lambda": (lambda x: x * 2, Int, 4),
    "partial": (functools.partial(two, 10), Int, 4),
    "partial with keyword": (functools.partial(two, b=10), Int, 4),
    "callable object": (Adder(5), Int, 4),
    "bound method": (Adder(5).add, Int, 4),
    "classmethod": (Adder.made, Int, 4),
    "staticmethod": (Adder.plain, Int, 4),
    "builtin method": ([1, 2].count, Int, 2),
    "ufunc": (np.sin, Float, 1.0),
    "source-less": (SOURCE_LESS["source_less"], Int, 4),
    "new function": (types.FunctionType(two.__code__, {}, "renamed", (1,)), Int, 4),
    "wrapped": (functools.lru_cache(lambda x: x + 1), Int, 4),
    "generator function": (generator, Int, 4),
}


@pytest.mark.parametrize("name", WORKING)
def test_every_kind_of_callable(name):
    fn, spec, value = WORKING[name]
    try:
        residual = hovis.specialize(fn, spec)
    except TypeError as error:        # a clear one will do
        assert "argument" in str(error) or "function" in str(error) or "callable" in str(error), error
        return
    same(observe(fn, (value,)), observe(residual, (value,)))


def test_a_coroutine_function():
    residual = hovis.specialize(coroutine, Int)
    awaiting = residual(4)
    with pytest.raises(StopIteration) as stopped:
        awaiting.send(None)
    assert stopped.value.value == 5
