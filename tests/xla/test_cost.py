"""What is not worth a call of XLA stays Python, and is told so; nothing here measures time."""
import math

import numpy as np
import pytest

import hovis_xla
from hovis_xla import cost
from hovis_xla.cost import Trial, Work
from tests.xla.checking import same

pytestmark = pytest.mark.xla


def jit(fn, **options):
    return hovis_xla.jit(fn, target="auto", **options)


def newton(x):
    y = x
    for _ in range(6):
        y = 0.5 * (y + x / y)
    return y


def test_small_work_is_never_compiled():
    f = jit(newton, strict=True)  # strict complains of what can't be compiled, not of what need not be
    assert f(2.0) == newton(2.0)
    assert "newton runs as residual Python: about" in f.explain()
    assert "a call of XLA costs" in f.explain()
    (variant,) = f._variants.values()
    assert variant.decision.executable._program is None
    small = jit(lambda a, b: a @ b + 1)
    small(np.eye(3), np.ones(3))
    assert "residual Python" in small.explain()


def test_to_lower_is_to_compile():
    lowered = jit(newton).lower(2.0)
    assert "stablehlo" in lowered.as_text()
    assert lowered.compile()(2.0) == newton(2.0)


def test_large_work_is_compiled():
    a = np.linspace(0, 1, 100_000)
    f = jit(lambda x: np.exp(np.sin(x) * x) + np.tanh(x) ** 2)
    for _ in range(3):
        assert same(f(a), f.__wrapped__(a))
    assert "XLA executable" in f.explain()


def test_what_to_run_can_be_told(monkeypatch):
    f = hovis_xla.jit(newton, target="python")
    assert f(2.0) == newton(2.0)
    assert f.explain() == "It runs as residual Python, as it was told to."
    f = hovis_xla.jit(newton, target="xla")
    assert same(f(2.0), newton(2.0))
    assert "XLA executable" in f.explain()
    monkeypatch.setenv("HOVIS_TARGET", "elsewhere")
    with pytest.raises(ValueError, match="HOVIS_TARGET is one of 'auto', 'xla', 'python', not 'elsewhere'"):
        hovis_xla.jit(newton)(2.0)
    with pytest.raises(ValueError, match="target is one of"):
        hovis_xla.jit(newton, target="elsewhere")


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_results_are_right_whoever_is_tried():
    f = jit(collatz)
    for n in [27, 3, 9, 97, 6, 7, 8, 2, 15, 18, 871, 27, 2**70, 27, 3, 1, 1, 1, 1, 97, 871]:
        assert f(n) == collatz(n)
    g = jit(lambda n: [math.sqrt(k) for k in range(n)][-1] if n else None)
    for n in [1, 2, 0, 3, 0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]:
        assert same(g(n), g.__wrapped__(n))


def test_effects_are_done_once_while_both_ways_are_tried(capsys):
    def count(n):
        for k in range(n):
            print(k)
        return n

    f = jit(count)
    for n in range(20):
        assert f(n) == n
        assert capsys.readouterr().out == "".join(f"{k}\n" for k in range(n))


def test_exceptions_come_out_of_a_trial():
    def f(n, x):
        for _ in range(n):
            x = 1 / x
        return x

    g = jit(f)
    for k in range(30):
        if k % 3 == 2:
            with pytest.raises(ZeroDivisionError):
                g(3, 0.0)
        else:
            assert g(3, 2.0) == 0.5


def settled(verdict, monkeypatch):
    """A function whose trial is over."""
    monkeypatch.setattr(Trial, "verdict", property(lambda trial: verdict if trial.calls > 2 else None))
    f = jit(collatz)
    for _ in range(3):
        assert f(27) == 111
    return f


def test_python_is_left_where_the_work_grows(monkeypatch):
    f = settled("python", monkeypatch)
    assert "residual Python, which is quicker" in f.explain()
    assert f(30) == collatz(30)
    assert "residual Python" in f.explain()
    assert f(837_799) == 524  # far larger than what was tried
    assert "XLA executable" in f.explain()
    assert f(27) == 111


def test_xla_stays(monkeypatch):
    f = settled("xla", monkeypatch)
    assert "XLA executable" in f.explain()
    assert f(2**65) == 65


def trial(work, xla, python):
    made = Trial(work, 6.0)
    made.seconds = {"xla": xla, "python": python}
    return made.verdict


def test_verdicts():
    loop, line = Work(), Work()
    loop.loops, loop.round_python, loop.round_xla = True, 4.0, 0.1
    line.python = 50.0
    assert trial(loop, [], []) is None
    assert trial(loop, [10e-6], []) is None  # hardly more than the bare call: Python is tried
    assert trial(loop, [1.0], []) == "xla"  # Python might take a minute
    assert trial(line, [5e-6], []) == "xla"  # the estimate is far above it
    assert trial(line, [40e-6], []) is None
    assert trial(line, [40e-6] * 2, [10e-6] * 2) == "python"
    assert trial(line, [40e-6] * 2, [38e-6] * 2) is None
    assert trial(line, [40e-6] * 5, [39e-6] * 5) == "xla"
    assert trial(line, [40e-6] * 5, [30e-6] * 5) == "python"
    assert trial(line, [10e-6] * 2, [90e-6] * 2) == "xla"


def test_turns():
    made, turns = Trial(Work(), 6.0), []
    for _ in range(6):
        turns.append(made.turn)
        made.run(lambda: None)
    assert turns == ["xla", "xla", "python", "xla", "python", "xla"]
    assert len(made.seconds["xla"]) == 3  # the first one compiles


def test_arrays_cost_more():
    f = hovis_xla.jit(lambda a, b: (a + b, a * b)).lower(np.ones(3), np.ones(3))
    low = f._executable.lowered
    assert cost.of_call(low.inputs, low.outputs, 0) > cost.CALL + 2 * cost.ARRAY_IN
    assert not low.work.loops
    assert 0.5 < low.work.python < 2
