"""Calls of jitted functions: whatever the generated dispatch tests, each call does what the function itself does."""
import gc
import inspect
import sys
import threading
import traceback
import weakref

import pytest

import hovis
from hovis.front.jit_cache import call_dispatch

jitting = sys.modules["hovis.front.jit"]


@pytest.fixture(autouse=True)
def residuals_do_all_calls(monkeypatch):
    monkeypatch.setattr(jitting, "CONTESTED", False)


def combine(a, b=2, *more, c=3, **named):
    return a, b, more, c, named


def test_all_kinds_of_arguments():
    jitted = hovis.jit(combine)
    calls = [
        lambda f: f(1), lambda f: f(1, 2), lambda f: f(1.5, 2), lambda f: f("a"), lambda f: f([1], 2, 3), lambda f: f(1, b=5), lambda f: f(1, c=5, p0=7, rest=8),
        lambda f: f(*range(9)), lambda f: f(1, **{"missing": 1, "named": 2}), lambda f: f({}, None), lambda f: f(True), lambda f: f(a=1), lambda f: f(int, len),
    ]  # fmt: skip
    for _ in range(4):
        for call in calls:
            found, wanted = call(jitted), call(combine)
            assert found == wanted and type(found[0]) is type(wanted[0])


def test_wrong_calls_have_the_message_of_the_function():
    def area(width, height, /, *, unit):
        return width * height, unit

    jitted = hovis.jit(area)
    for _ in range(3):
        assert jitted(2, 3, unit="m") == (6, "m")
        for call in (lambda f: f(), lambda f: f(1), lambda f: f(1, 2), lambda f: f(1, 2, 3, unit=1), lambda f: f(1, height=2, unit=1), lambda f: f(1, 2, p0=1)):
            with pytest.raises(TypeError) as wanted:
                call(area)
            with pytest.raises(TypeError) as found:
                call(jitted)
            assert str(found.value) == str(wanted.value)


def test_a_function_without_arguments():
    state = [0]

    def tick():
        state[0] += 1
        return state[0]

    jitted = hovis.jit(tick)
    assert [jitted() for _ in range(5)] == [1, 2, 3, 4, 5]


def test_the_bound_call_outlives_the_jitted_object():
    def twice(x):
        return x + x

    call = hovis.jit(twice).__call__
    gc.collect()
    assert call(2) == 4 and call("a") == "aa" and list(map(hovis.jit(twice).__call__, [1, 2])) == [2, 4]


def test_a_jitted_function_ends_with_its_last_reference():
    class Held:
        pass

    held = Held()

    def peek(x):
        return x, held

    jitted, seen = hovis.jit(peek), weakref.ref(held)
    ended = weakref.ref(jitted)
    gc.disable()
    try:
        del jitted
        assert ended() is None  # nothing refers to it that it refers to
    finally:
        gc.enable()
    del peek, held
    gc.collect()
    assert seen() is None


def test_methods_are_bound():
    class Account:
        def __init__(self):
            self.total = 0

        @hovis.jit
        def add(self, amount, times=1):
            self.total += amount * times
            return self.total

    account = Account()
    assert [account.add(2), account.add(1.5), account.add(2, times=3), Account.add(account, 1)] == [2, 3.5, 9.5, 10.5]


def test_no_entry_of_hovis_is_in_a_traceback():
    def fail(x):
        return 1 // x

    jitted = hovis.jit(fail)
    for _ in range(4):
        assert jitted(5) == 0
        with pytest.raises(ZeroDivisionError) as caught:
            jitted(0)
        names = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
        assert names == ["test_no_entry_of_hovis_is_in_a_traceback", "fail"]


RATE = 2


def price(x):
    return x * RATE


def test_a_changed_environment_is_seen_by_generated_code(monkeypatch):
    jitted = hovis.jit(price)
    assert [jitted(3), jitted(3)] == [6, 6]
    monkeypatch.setitem(globals(), "RATE", 5)
    assert [jitted(3), jitted(1.5)] == [15, 7.5]
    code = price.__code__
    try:
        price.__code__ = (lambda x: -x).__code__
        assert [jitted(3), jitted(1.5)] == [-3, -1.5]
    finally:
        price.__code__ = code
    assert jitted(3) == 15


def test_a_recursive_function():
    @hovis.jit
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    assert depth(50) == 50 and depth(120) == 120


def test_more_kinds_of_calls_than_generated_code_tells_apart():
    def first(*values):
        return values[:1]

    jitted = hovis.jit(first)
    for _ in range(3):
        for count in range(call_dispatch.MOST + 4):
            assert jitted(*[1.5] * count) == (1.5,) * min(count, 1)


def test_threads_call_while_other_kinds_of_calls_are_traced():
    def total(values, start):
        for value in values:
            start += value
        return start

    jitted, wrong = hovis.jit(total), []

    def work(number):
        for k in range(60):
            values = [number] * (k % 5) if k % 2 else tuple([0.5] * (k % 3))
            if jitted(values, k) != total(values, k):
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_it_is_shown_as_the_function():
    jitted = hovis.jit(combine)
    assert inspect.signature(jitted) == inspect.signature(combine) and callable(jitted) and jitted.__name__ == "combine"
