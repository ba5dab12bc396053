"""A first call takes no longer than it may: what is not traced by then is left to Python, and that time is not spent again."""
from __future__ import annotations

import functools
import io
import itertools
import os
import random
import sys
import threading
import time

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis import Int
from hovis.base import deadline, progress
from hovis.engine.state import budget
from hovis.front import jit
from hovis_xla.jaxlib import progress as compiling


class Clock:
    """Time that passes by being looked at: ``tick`` seconds each time, ``late`` seconds at once after so many looks."""

    def __init__(self, tick=0.0, after=None):
        self.tick, self.after, self.looks = tick, after, 0

    def __call__(self):
        self.looks += 1
        return self.looks * self.tick + (1e9 if self.after is not None and self.looks > self.after else 0.0)


@pytest.fixture
def ticking(monkeypatch):
    """Two seconds for a first call, and a clock for them, at which the engine looks often."""

    def begin(tick=0.0, after=None):
        clock = Clock(tick, after)
        monkeypatch.setattr(deadline, "clock", clock)
        return clock

    monkeypatch.setenv("HOVIS_TRACE_SECONDS", "2")
    monkeypatch.setattr(budget, "SELDOM", 16)
    return begin


# ------------------------------------------------------------------------------------------------- programs


class Value:
    """A number that knows how it was made."""

    def __init__(self, data, made_of=()):
        self.data, self.grad = data, 0.0
        self.back = lambda: None
        self.made_of = set(made_of)

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def back():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.back = back
        return out

    def backward(self):
        order, seen = [], set()

        def build(value):
            if value not in seen:
                seen.add(value)
                for one in value.made_of:
                    build(one)
                order.append(value)

        build(self)
        self.grad = 1.0
        for value in reversed(order):
            value.back()


def gradients(x, n):
    leaf = out = Value(x)
    for _ in range(n % 4 + 1):
        out = out * leaf
    out.backward()
    return leaf.grad


def words(text, n):
    found = {}
    for word in text.split():
        at = 0
        while at < len(word) and (word[at].isalpha() or word[at] == "'"):
            at += 1
        found.setdefault(word[:at].lower(), []).append(at + n)
    return sorted(found.items())


def closures(n, x):
    table = {}
    for k in range(12):
        def op(y, k=k):
            return (y * 3 + k) % 1009 if y & 1 else y - k
        table[k] = op
    for i in range(n):
        x = table[i % 12](x)
    return x


def cycle(n, x):
    def even(k):
        return x if k <= 0 else odd(k - 1)

    def odd(k):
        return -x if k <= 0 else even(k - 1)

    def items():
        yield even(n)
        yield odd(n)

    table = {"even": even, "odd": odd, "items": items}
    even.table = odd.table = table
    return list(table["items"]()), [f.table is table for f in (even, odd)]


def swings(x, n):
    total = 0.0
    for k in range(n):
        if x[k % 3] > 0.5:
            x = x * 0.5 + k
        else:
            total += float(x.sum())
            x = np.sin(x) + 1.0
    print("total", round(total, 6))
    return x.round(9).tolist()


PROGRAMS = [(gradients, (1.5, 3)), (words, ("What's here, isn't there; what is THERE?", 2)), (closures, (7, 5)), (cycle, (3, 2.5)),
            (swings, (np.array([0.1, 0.6, 2.0]), 9))]  # fmt: skip
#: Moments at which the time runs out, of each program on each way.
MOMENTS = max(1, int(os.environ.get("HOVIS_EXAMPLES", "60")) // 30)
WAYS = {
    "jit": hovis.jit,
    "xla": lambda fn: hovis_xla.jit(fn, target="xla"),
    "auto": hovis_xla.jit,
    "specialize": lambda fn: lambda *args: hovis.specialize(fn, *(type(a) if i else hovis.Any for i, a in enumerate(args)))(*args),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_time_may_run_out_at_any_moment(fn, args, way, ticking, capsys):
    clock = ticking()
    WAYS[way](fn)(*args)
    looks = clock.looks
    capsys.readouterr()
    expected, out = fn(*args), capsys.readouterr().out
    moments = random.Random(fn.__name__ + way).sample(range(looks), min(looks, MOMENTS))
    for after in sorted(moments):
        ticking(after=after)
        compiled = WAYS[way](fn)
        for _ in range(2):
            assert compiled(*args) == expected, after
            assert capsys.readouterr().out == out, after


@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_a_first_call_ends(fn, args, ticking):
    """However long a look takes, the looks come to an end soon after the time is up: whoever works looks again and again."""
    expected = fn(*args)
    for tick in (0.5, 0.05):
        for make in (hovis.jit, hovis_xla.jit):
            clock = ticking(tick)
            assert make(fn)(*args) == expected
            assert clock.looks < 2 * 2 / tick + 60


# ------------------------------------------------------------------------------------------------- what becomes of it


def slow(x, mode):
    return sum(map(int, f"{x * k}"[0]) == mode for k in range(1, 30)) if mode else x


def steps(x, key):
    found = []
    for k in range(25):
        found.append((x + k) % 7 if x > k else key)
    return found


def test_the_time_is_not_spent_again(ticking):
    clock = ticking(0.05)
    compiled = hovis.jit(steps)
    spent = []
    for key in itertools.chain(range(3), "abcdefghijklmnopqrstuvwxyz", (None, 2.5, b"", (), True)):
        before = clock.looks
        assert compiled(9, key) == steps(9, key)
        spent.append((clock.looks - before) * clock.tick)
    assert all(trace.fallback for trace in compiled.traces)
    assert spent[0] > 1.5 and max(spent[1:]) < 1.0
    # the first takes all, others a tenth each until that comes to as much again, and then nothing is tried
    assert sum(spent[1:]) < 8.0
    assert spent[-1] < 0.3
    told = [hovis.explain(trace).remarks[0].why for trace in compiled.traces]
    assert told[0] == "tracing it took longer than 2 s of work; set HOVIS_TRACE_SECONDS or options(seconds=…) to allow more"
    assert told[-1] == "tracing it for other arguments took longer than 2 s of work; set HOVIS_TRACE_SECONDS or options(seconds=…) to allow more"


def test_a_callee_that_takes_too_long_is_left_as_a_call(ticking):
    def around(x, key):
        return [x * 2, steps(x, key), x * 3]

    ticking(0.012)
    compiled = hovis.jit(around)
    assert compiled(9, "a") == around(9, "a")
    [trace] = compiled.traces
    assert not trace.fallback
    assert any(op.callee is steps for op in trace.ops)
    [remark] = [one for one in hovis.explain(compiled).remarks if "left as it is" in one.what]
    assert "steps was left as it is: tracing it takes too long; set HOVIS_TRACE_SECONDS or options(seconds=…) to allow more" in remark.what


def test_what_cost_too_much_once_is_hardly_tried_again():
    """With less fuel than the callee takes: the first trace finds out that it does, those for other arguments try a fifth of it."""

    def around(x, key):
        return [x * 2, steps(x, key), x * 3]

    compiled = hovis.jit(around, fuel=600)
    worked = []
    for key in ("a", "b", "c"):
        assert compiled(9, key) == around(9, key)
        trace = compiled.traces[-1]
        assert not trace.fallback and any(op.callee is steps for op in trace.ops)
        worked.append(trace.stats["instructions"])
    assert max(worked[1:]) < worked[0] / 2
    compiled = hovis.jit(around)
    for key in ("a", "b"):
        assert compiled(9, key) == around(9, key)
    assert not any(op.callee is steps for trace in compiled.traces for op in trace.ops)


def test_all_kinds_of_calls_share_the_time_until_a_residual_has_won(ticking, monkeypatch):
    """What there was no time for is traced when it is called once one has."""
    monkeypatch.setattr(jit, "CONTESTED", True)
    compiled = hovis.jit(steps, seconds=2)
    clock = ticking(0.006)
    spent = []
    for key in ("a", "b", "c"):
        before = clock.looks
        assert compiled(9, key) == steps(9, key)
        spent.append((clock.looks - before) * clock.tick)
    fallbacks = [trace.fallback for trace in compiled.traces]
    assert not fallbacks[0] and fallbacks[-1] and sum(spent) < 3 and spent[-1] < 0.5
    [first, *_] = compiled._variants.values()
    first.contest.winner, first.has_won = "residual", True
    compiled._settle(first, first.contest, (9, "a"), {})
    assert [trace.fallback for trace in compiled.traces] == [False] * fallbacks.count(False)
    assert compiled(9, "c") == steps(9, "c")
    assert not compiled.traces[-1].fallback


@pytest.mark.parametrize("make", [hovis.jit, hovis_xla.jit])
def test_how_long_is_an_option(make, ticking):
    for options, fallback in (({}, True), ({"seconds": 1e6}, False), ({"seconds": 0}, True), ({"seconds": float("inf")}, False)):
        ticking(0.05)
        compiled = make(steps, **options)
        assert compiled(9, "a") == steps(9, "a")
        assert [trace.fallback for trace in compiled.traces] == [fallback], options


def test_what_is_asked_for_by_name_may_take_ten_times_as_long(ticking, monkeypatch):
    clock = ticking(0.05)
    assert not hovis.trace(steps, Int, "a").fallback
    assert 2.0 < clock.looks * 0.05 < 20.0
    ticking(0.5)
    for residual in (hovis.specialize(steps, Int, "a"), hovis.options(seconds=20).specialize(steps, Int, "a")):
        assert residual.trace.fallback
        assert residual(9) == steps(9, "a")
        assert "tracing it took longer than 20 s of work" in str(hovis.explain(residual))
    with hovis.options(seconds=1e6):
        assert not hovis.trace(steps, Int, "a").fallback
    monkeypatch.setenv("HOVIS_TRACE_SECONDS", "500")
    assert not hovis.trace(steps, Int, "a").fallback
    with pytest.raises(hovis.TraceError, match="tracing it took longer than 0.5 s of work"):
        hovis.options(seconds=0.5, strict=True).trace(steps, Int, "a")


@pytest.mark.parametrize("wrong", [-1, float("nan"), -0.5])
def test_seconds_are_not_negative(wrong):
    for make in (hovis.options, functools.partial(hovis.jit, steps), functools.partial(hovis_xla.jit, steps)):
        with pytest.raises(ValueError, match="seconds must be a number of seconds"):
            make(seconds=wrong)


@pytest.mark.parametrize("text", ["fast", "-2", "nan", "1,5"])
def test_a_variable_that_is_no_number_is_said_once(text, monkeypatch):
    monkeypatch.setenv("HOVIS_TRACE_SECONDS", text)
    monkeypatch.setattr(deadline, "_unread", set())
    with pytest.warns(RuntimeWarning, match="HOVIS_TRACE_SECONDS must be a number of seconds, not"):
        assert deadline.default() == 2.0
    assert deadline.default() == 2.0


def test_lowering_counts_and_the_residual_runs(ticking, monkeypatch):
    """The trace is there when the time is up: XLA gets nothing, residual Python does the calls."""
    clock = ticking()
    hovis_xla.jit(swings, target="xla").trace(np.ones(3), 4)
    traced = clock.looks
    ticking(after=traced + 40)
    compiled = hovis_xla.jit(swings, target="xla")
    x = np.array([0.1, 0.6, 2.0])
    assert compiled(x, 4) == swings(x, 4)
    assert not compiled.traces[0].fallback
    assert compiled.explain().startswith("It runs as residual Python: tracing it took longer than 2 s of work; set HOVIS_TRACE_SECONDS")


def test_each_thread_has_its_own_time():
    seen = []

    def other():
        with deadline.within(1e-9):
            start = time.thread_time()
            while time.thread_time() < start + 1e-6:
                pass
            with pytest.raises(deadline.OutOfTime):
                deadline.check()
            seen.append(hovis.trace(slow, Int, 0).fallback)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    deadline.check()
    assert seen == [True]
    assert not hovis.trace(slow, Int, 0).fallback


def test_what_is_within_ends_with_what_is_around_it(ticking):
    clock = ticking(1.0)
    with deadline.within(10.0):
        with deadline.within(1000.0):
            assert deadline.left() < 10.0
        with deadline.unbounded():
            for _ in range(100):
                deadline.check()
        assert 0.0 < deadline.left() < 10.0
        clock.looks += 10
        with pytest.raises(deadline.OutOfTime):
            deadline.check()
    deadline.check()


# ------------------------------------------------------------------------------------------------- what is told


class Terminal(io.StringIO):
    def isatty(self):
        return True


def waiting_for(stream, text):
    for _ in range(1000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)


def test_progress_is_told_on_a_terminal(monkeypatch):
    monkeypatch.setattr(compiling, "PATIENCE", 0.01)
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file, None):
        monkeypatch.setattr(sys, "stderr", stream)
        with compiling.told("compiling f"):
            if stream is terminal:
                waiting_for(stream, "…")
    assert terminal.getvalue().startswith("\rhovis_xla: compiling f, 0 s …")
    assert terminal.getvalue().endswith("\r")
    assert file.getvalue() == ""


def test_where_no_thread_can_be_started_nothing_is_told(monkeypatch):
    """As at the end of a process, when finalizers run."""
    def refuse(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert hovis.jit(steps)(9, "a") == steps(9, "a")
    with pytest.raises(RuntimeError, match="its own"), progress.told("something"):
        raise RuntimeError("its own")


def test_tracing_is_told_with_its_place_and_one_line_is_enough(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    line = steps.__code__.co_firstlineno
    with hovis.front.tracing.at_work(steps, hovis.options()):
        waiting_for(terminal, "tracing steps")
        with compiling.told("compiling steps"):
            waiting_for(terminal, "compiling steps")
    assert "\rhovis: tracing steps, " in terminal.getvalue()
    assert f"test_deadline.py:{line}, 0 s …" in terminal.getvalue()
    assert "hovis_xla: compiling steps, " in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")


def test_options_reach_programs_that_are_recorded(monkeypatch):
    """What is recorded traces the functions that it calls while it runs: they have as long as the options say."""
    from hovis.transforms.record import recorder
    seen = []
    known_of = recorder._known_of
    monkeypatch.setattr(recorder, "_known_of", lambda *args: seen.append(deadline.left()) or known_of(*args))

    parts = [recorder.Leaf(recorder.Param(recorder.Type(float)))]
    with hovis.options(seconds=123456.0):
        recorder._trace(lambda x: x * x, 0, parts, ())
    recorder._trace(lambda x: x * x, 0, parts, ())
    assert 100000.0 < seen[0] < 123456.0 and seen[1] <= deadline.default()
