"""What is not worth a call of XLA stays Python, and is told so; nothing here measures time."""
import copy
import math
import random

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis.front.autotuner import Contest
from hovis_xla.choice import cost_model
from hovis_xla.jaxlib import compilation
from hovis_xla.runtime import jaxlib_checks
from tests.xla.harness.checking import same

pytestmark = [pytest.mark.xla, pytest.mark.usefixtures("in_full")]


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
    assert f.explain() == "It runs as residual Python, because its target is 'python'."
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
    """A function whose contest is over."""
    monkeypatch.setattr(Contest, "_decide", lambda self: self._settle(verdict) if self.seconds["residual"] else None)
    f = jit(collatz)
    for _ in range(6):
        assert f(27) == 111
    return f


def test_python_is_left_where_the_work_grows(monkeypatch):
    f = settled("residual", monkeypatch)
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


def test_arrays_cost_more():
    f = hovis_xla.jit(lambda a, b: (a + b, a * b)).lower(np.ones(3), np.ones(3))
    low = f._executable.lowered
    assert cost_model.of_call(low.inputs, low.outputs, 0) > cost_model.CALL + 2 * cost_model.ARRAY_IN
    assert not low.work.loops
    assert 0.5 < low.work.python < 2


def summed(a, rounds):
    total = np.zeros(a.shape)
    for k in range(rounds):
        total += a * k
    return total


def swept(a, rounds):
    for k in range(rounds):
        a[k + 1] = a[k] + a[k + 2]


def halved(x):
    while x > 1.0:
        x = 0.5 * x
    return x


def plus(a, b):
    return a + b


def total_of(a):
    return np.sum(a)


LONG, VAST = cost_model.FEW + 1, 1 << 21


@pytest.mark.parametrize(("fn", "args", "small"), [
    (collatz, (27,), True),
    (plus, (np.ones(cost_model.FEW), 1.0), True),
    (plus, (np.ones(LONG), 1.0), False),
    (total_of, (np.ones(LONG),), True),  # what is read is no kernel of its own
    (swept, (np.ones(VAST), 5), True),  # items of a long array
    (summed, (np.ones(LONG), 5), True),  # a native loop has no kernels
    (summed, (np.ones(VAST), 5), False),
    (hovis.grad(halved), (9.0,), True),  # tapes are items, too
], ids=["numbers", "small", "long", "read", "items", "native", "rounds", "tape"])  # fmt: skip
def test_what_is_small_is_compiled_quickly(fn, args, small, monkeypatch):
    jaxlib_checks.missing()  # compiles, too
    asked = []
    real = compilation.compile_module
    monkeypatch.setattr(compilation, "compile_module", lambda *what: asked.append(what[4].small) or real(*what))
    wanted = copy.deepcopy(args)
    assert same(hovis_xla.jit(fn, target="xla")(*args), fn(*wanted))
    assert same(args, wanted)
    assert asked == [small]


def made(fn, calls):
    """How many variants were made for these calls, each of which was right."""
    f = jit(fn)
    for k, args in enumerate(calls):
        assert same(f(*copy.deepcopy(args)), fn(*args)), (k, args)
    return f.cache_info()["made"]


class Box:
    def __init__(self, value, **more):
        self.value = value
        self.__dict__.update(more)

    @hovis_xla.jit(target="auto")
    def times(self, x):
        return self.value * x


def of_text(x, text):
    return x.sum() * len(text) if text.startswith("a") else x.max()


ROW = np.linspace(-1, 1, 500)
#: what comes with something else in each call: a function, and the arguments of the k-th call
EVER_NEW = {
    "texts": (of_text, lambda k: (ROW, f"a{k}")),
    "lambdas": (lambda g, x: g(x) + 1, lambda k: (lambda x: x * k, 2.0)),
    "keys": (lambda d: sum(d.values()), lambda k: ({f"{k}": 1.0, "b": k},)),
    "lists": (lambda xs: [x * 2 for x in xs], lambda k: ([0.5] * (k % 90),)),
    "arrays in lists": (lambda xs: [x.sum() for x in xs], lambda k: ([ROW[: k + j] for j in range(k % 7)],)),
    "classes of numbers": (lambda xs: sum(xs), lambda k: ([(int, float, np.float64)[k // 3**j % 3](j) for j in range(6)],)),
    "sizes": (lambda n: np.arange(n).sum(), lambda k: (k,)),
    "objects": (lambda b, x: b.value * x, lambda k: (Box(k, **{f"a{k}": 1}), 2.0)),
    "lengths that are stored into": (lambda x: np.add(x, 1, out=x), lambda k: (np.zeros(k + 1),)),
    "lengths of a loop": (lambda x: [float(v) for v in x if v > 0], lambda k: (ROW[:k],)),
}


@pytest.mark.parametrize("name", EVER_NEW)
def test_what_comes_with_something_new_in_each_call_is_not_traced_each_time(name):
    fn, arguments = EVER_NEW[name]
    assert made(fn, [arguments(k) for k in range(100)]) <= 30  # or else 100


def test_methods_of_new_objects():
    for k in range(100):
        assert Box(k * 0.5).times(3.0) == k * 1.5
    assert vars(Box)["times"].cache_info()["made"] <= 2


def test_small_arrays_of_all_lengths_are_for_one_residual():
    def squares(x):
        return (x * x).sum()

    f = jit(squares)
    for k in [*range(20, 120), *range(20, 120)]:
        assert same(f(ROW[:k]), squares(ROW[:k]))
    assert f.cache_info() == {"kept": 2, "made": 2}
    assert not any(e._program for v in f._variants.values() if v.sized is not None for e in v.sized.executables)


def test_what_is_kept_is_bounded():
    f = jit(lambda x, **more: x.sum() + len(more))
    for k in range(700):
        assert f(ROW[: 5 + k % 60], **{f"k{k}": 1}) == f.__wrapped__(ROW[: 5 + k % 60], **{f"k{k}": 1})
    assert max(map(len, (f._quick, f._by_head, f._families, f._seen, f._variants))) <= 512


def test_strict_is_strict_for_kinds_that_come_late():
    f = jit(lambda x, s: x + len(s) if isinstance(s, str) else x.tobytes(), strict=True)
    for k in range(20):
        assert f(1.0, "a" * k) == 1.0 + k
    with pytest.raises(hovis.TraceError):
        f(np.ones(3), 1)


def grown(x, n, scale):
    """Stores, a loop, numbers that grow."""
    x[0] = scale
    total = 0
    for k in range(n):
        total = total * 3 + k
        x[k % len(x)] += total % 7
    return x[::2], total, scale


def swapped(a, b):
    a[1:] = b[:-1]
    b += a
    return a, b, a is b


def looked_into(d, which):
    d["count"] = d["count"] + 1
    return d["values"][which] * d["count"], d


@pytest.mark.parametrize("seed", range(2))
def test_calls_of_all_kinds_in_any_order(seed):
    """Whoever does a call, its result, what it stores and what it raises are those of the plain function."""
    r = random.Random(seed)
    whole = np.arange(20.0)

    def array():
        n = r.choice([0, 1, 2, 5, 6, 7, 30])
        return np.arange(n).astype(r.choice([np.float64, np.int64, np.float32]))

    def pair():
        base = whole.copy()
        k = r.randrange(3)
        return [(base, base), (base[:10], base[5:15]), (base[:10], base[10:])][k]

    draws = {
        grown: lambda: (array(), r.choice([0, 1, 5, 40, 90]), r.choice([1, 2.5, -0.0, float("nan"), np.float32(3)])),
        swapped: pair,
        looked_into: lambda: ({"count": r.choice([0, 1.5, 2**63]), "values": [array(), 3, "x"][: r.randrange(1, 4)]}, r.randrange(3)),
    }
    jitted = {fn: jit(fn) for fn in draws}
    for _ in range(150):
        fn = r.choice(list(draws))
        state = r.getstate()
        args = draws[fn]()
        r.setstate(state)
        other = draws[fn]()
        with np.errstate(all="ignore"):
            assert outcome(jitted[fn], args) == outcome(fn, other), (fn, args)
        assert repr(args) == repr(other)


def test_arrays_that_share_memory_are_no_reason_to_leave_xla():
    def shift(a, b):
        for k in range(len(b) - 1):
            a[k + 1] = b[k] * 0.5 + a[k]
        return a.sum()

    f, memory = jit(shift), np.arange(6000.0)
    for k in range(40):
        base, other = memory.copy(), memory.copy()
        one, two = [(x[:3000], x[1500:4500]) if k % 3 else (x[:3000], x[3000:]) for x in (base, other)]
        assert same(f(*one), shift(*two))
        assert same(base, other)
        assert f(base, base) == shift(other, other)
    assert "share memory" in f.explain()
    assert all(v.contest.scales for v in f._variants.values())


def outcome(fn, args):
    try:
        return repr(fn(*args))
    except Exception as error:
        return repr(error)
