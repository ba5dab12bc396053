"""hovis.jit finds out whether a residual is quicker than the function itself; whoever does a call, it is done once, and right."""

import contextlib
import sys
import threading

import numpy as np
import pytest

import hovis
from hovis.front import autotuner
from hovis.front.autotuner import Contest
from hovis.front.jit_cache import plans
from hovis.front.jit_cache.recursion import may_recur
from hovis.functional import transformed

jitting = sys.modules["hovis.front.jit"]


@pytest.fixture(autouse=True)
def contested(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", True)
    monkeypatch.setattr(autotuner, "DISTURBING", [])  # other tests of this process may have left threads that compile


def settled(fn, residual, plain):
    """A jitted function after some calls that have taken so many seconds by its residual and by itself."""
    seconds = {"residual": residual, "plain": plain}

    class Timed(Contest):
        def note(self, way, taken):
            super().note(way, seconds[way])

    made = hovis.jit(fn)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plans, "Contest", Timed)
        made(0)
    for k in range(128):
        assert made(k) == fn(k)
    return made


def double(x):
    return x + x


def test_the_quicker_way_is_kept():
    quick = settled(double, 1e-6, 2e-6)
    assert [v.contest for v in quick._variants.values()] == [None] and quick._by_itself == 0
    assert "quicker" not in str(hovis.explain(quick))
    slow = settled(double, 2e-6, 1e-6)
    assert slow._by_itself > 900
    assert "The function itself is called, which is quicker: residual 2.0 µs, plain 1.0 µs." in str(hovis.explain(slow))
    level = settled(double, 1e-6, 1.04e-6)
    assert level._by_itself > 900, "what is 4 % quicker is not worth it"


def timed_by(seconds):
    """A class of contests in which a call takes what seconds[way] returns."""

    class Timed(Contest):
        def note(self, way, taken):
            super().note(way, seconds[way]())

    return Timed


def test_calls_with_other_arguments_do_not_decide(monkeypatch):
    """At first the function is called with arguments for which the residual is faster, then with others of the same classes."""
    slower = []
    monkeypatch.setattr(plans, "Contest", timed_by({"residual": lambda: 2e-6 if slower else 0.2e-6, "plain": lambda: 1e-6}))
    made = hovis.jit(double)
    calls = 0
    while not (variants := list(made._variants.values())) or not variants[0].has_won:
        assert made(calls) == 2 * calls
        calls += 1
    slower.append(True)
    for k in range(128):
        assert made(k) == 2 * k
    assert made._by_itself > 900 and variants[0].contest is not None


def test_lookups_in_vain_are_spared(monkeypatch):
    """The residual for one known text wins, the one for another loses: calls that only find the latter go to the function without a lookup."""
    text = ["win"]

    def greet(name, x):
        return x * 2 if name == "win" else x * 3

    seconds = {"residual": lambda: 1e-5 if text[0] == "win" else 3e-5, "plain": lambda: 2e-5}
    monkeypatch.setattr(plans, "Contest", timed_by(seconds))
    made = hovis.jit(greet)
    made._plans.settled = True
    for text[0] in ("win", "lose"):
        for k in range(200):
            assert made(text[0], k) == greet(text[0], k)
    assert sorted(v.contest is None for v in made._variants.values()) == [False, True]
    made._by_itself = 0
    for k in range(2 * jitting.LOSSES):
        assert made("lose", k) == 3 * k
    assert made._by_itself > 900
    made._by_itself = 0
    for k in range(4 * jitting.LOSSES):
        assert made("win", k) == 2 * k and made("lose", k) == 3 * k
    assert made._by_itself == 0, "the calls that gain make up for the lookups of the others"


def test_it_is_tried_again():
    slow = settled(double, 2e-6, 1e-6)
    waits = []
    for _ in range(4):
        waits.append(slow._by_itself)
        slow._by_itself = 1
        for k in range(128):
            assert slow(k) == 2 * k
    assert waits == sorted(waits) and waits[-1] > 20 * waits[0]


def test_other_kinds_of_calls_are_right_in_any_case():
    slow = settled(double, 2e-6, 1e-6)
    assert slow("ab") == "abab" and slow([1]) == [1, 1] and slow(2.5) == 5.0
    with pytest.raises(TypeError, match="unsupported operand"):
        slow(None)
    with pytest.raises(TypeError, match="double"):
        slow()


def test_each_call_is_done_once():
    done = []

    def tell(x):
        done.append(x)
        if x % 5 == 4:
            raise ValueError(x)
        return len(done)

    jitted = hovis.jit(tell)
    for k in range(3000):
        with contextlib.suppress(ValueError):
            assert jitted(k) == k + 1
    assert done == [*range(3000)]


SCALE = 3


def scaled(x):
    return x * SCALE


def test_what_changes_is_seen_by_either(monkeypatch):
    jitted = hovis.jit(scaled)
    for k in range(200):
        monkeypatch.setitem(globals(), "SCALE", k // 3)
        assert jitted(k) == k * (k // 3)


class Tree:
    def __init__(self, depth):
        self.inner = Tree(depth - 1) if depth else None

    def depth(self):
        return 0 if self.inner is None else 1 + self.inner.depth()


def test_recursion_is_as_deep():
    """The function itself would take two frames a call: it is called by the jitted function, which it calls."""
    scope = {}
    exec("def down(n):\n    return 0 if n == 0 else 1 + down(n - 1)\ndef even(n):\n    return True if n == 0 else odd(n - 1)\ndef odd(n):\n    return n != 0 and even(n - 1)\n", scope)
    deep = sys.getrecursionlimit() - 150
    for name in ("down", "even", "odd"):
        scope[name] = hovis.jit(scope[name])
    for name in ("down", "even"):
        for n in [1, 2] * 40:
            scope[name](n)
        scope[name](deep // 3)
        assert may_recur(scope[name].__wrapped__)
    assert may_recur(Tree.depth)

    def search(pattern):
        return pattern.search("abc")

    assert not may_recur(search)
    assert not may_recur(double)


def test_generators_are_no_contest():
    def items(n):
        yield from range(n)

    jitted = hovis.jit(items)
    for _ in range(40):
        assert [*jitted(3)] == [0, 1, 2]
    assert jitted._by_itself == 0


def test_strict_functions_and_transforms_are_no_contest():
    """strict is to say of each kind of calls what is left; what stands for a transform is only there to be traced."""
    strict = hovis.jit(double, strict=True)
    gradient, lanes = hovis.grad(lambda x: x * x), hovis.vmap(lambda x: x + 1)
    before = set(map(id, transformed._eager.values()))
    for k in range(40):
        assert strict(k) == 2 * k
        assert gradient(1.5) == 3.0
        assert lanes(np.arange(3)).tolist() == [1, 2, 3]
    made = [eager for eager in transformed._eager.values() if id(eager) not in before]
    assert len(made) == 2
    assert [variant.contest for one in (strict, *made) for variant in one._variants.values()] == [None] * 3


def test_threads():
    jitted, wrong = hovis.jit(double), []

    def work():
        for k in range(3000):
            if jitted(k) != 2 * k:
                wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_tracebacks_are_the_users():
    def fails(x):
        return 1 / x

    jitted = hovis.jit(fails)
    for _ in range(60):
        with pytest.raises(ZeroDivisionError) as error:
            jitted(0)
        assert [at.name for at in error.traceback][-1] == "fails"
        names, tb = [], error.value.__traceback__
        while tb is not None:
            names.append(tb.tb_frame.f_code.co_name)
            tb = tb.tb_next
        assert names[-1] == "fails" and "_contested" not in names, names
