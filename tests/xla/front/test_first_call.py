"""A first call with little work has a program that is compiled quickly; what that is decided by is how often loops go round."""
import io
from contextlib import redirect_stdout

import numpy as np
import pytest

import hovis_xla
from hovis_xla.analysis.trip_counts import Argument, Early, times
from hovis_xla.choice import cost_model
from hovis_xla.emit.values import NotLowerable
from hovis_xla.jaxlib import compilation, disk_cache
from hovis_xla.lowering.module import lower
from hovis_xla.runtime import executable, jaxlib_checks

pytestmark = pytest.mark.xla


@pytest.fixture
def compiles(monkeypatch):
    """Of each compile: was it quick?"""
    jaxlib_checks.missing()  # compiles, too
    disk_cache.write_waiting()
    monkeypatch.setattr(executable, "QUICKLY", True)
    found = []
    real = compilation.compile_module
    monkeypatch.setattr(compilation, "compile_module", lambda *what: found.append(what[4].quick) or real(*what))
    return found


def wave(x):
    return np.sin(x) + x


def smooth(x, n):
    for _ in range(n):
        x[1:-1] = (x[:-2] + x[2:]) / 2
    return x.sum()


def swept_back(x, n):
    total = 0.0
    for i in range(n - 1, -1, -1):
        total = total * 0.5 + x[i]
    return total


def pairs(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total += abs(x[i] - x[j])
    return total


def until(x):
    rounds = 0
    while x > 1.0:
        x = x / 2.0
        rounds += 1
    return rounds


def left_early(x, n):
    for i in range(1, n):
        if x[i] > 5.0:
            return i
    return -1


def told(x, n):
    for i in range(n):
        print("round", i)
        x[i] += 1.0
    if n > 4:
        raise ValueError("many", n)
    return x.sum()


X = np.arange(8.0)


@pytest.mark.parametrize(("fn", "args", "quick"), [
    (wave, (X,), True), (smooth, (X, 3), True), (swept_back, (X, 8), True), (pairs, (X,), True), (left_early, (X, 8), True), (until, (9.0,), True),
    (smooth, (X, 50_000_000), False), (pairs, (np.zeros(6000),), False),
], ids=["straight", "argument", "down", "nest", "early", "while", "many", "long"])  # fmt: skip
def test_what_is_sure_to_be_little_is_compiled_quickly_first(fn, args, quick, compiles, monkeypatch):
    if not quick:
        # nothing is run
        monkeypatch.setattr(executable.Executable, "enter", property(lambda self: lambda *leaves: compiles.append(False)))
        hovis_xla.jit(fn, target="xla")(*args)
        assert compiles == [False]
        return
    f = hovis_xla.jit(fn, target="xla")
    for _ in range(3):
        given, wanted = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args], [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
        assert np.allclose(f(*given), fn(*wanted), rtol=1e-14)
        assert all(np.allclose(a, b) for a, b in zip(given, wanted, strict=True))
    assert compiles == [True, False]


def drained(x, y):
    """Nobody knows how often; rounds within rounds, and stores into what is passed."""
    rounds = 0
    while y[0] > 1.0:
        y[0] = y[0] / 2.0
        for i in range(len(x)):
            k = i
            while k > 0 and x[k] < x[k - 1]:
                x[k], x[k - 1] = x[k - 1], x[k]
                k -= 1
                rounds += 1
        x[0] += 3.0
    return rounds


@pytest.mark.parametrize(("fuel", "compiled"), [(cost_model.FUEL, [True]), (0.2, [True, False]), (0.0, [True, False])], ids=["enough", "some", "none"])
def test_where_nobody_knows_it_may_run_so_long(fuel, compiled, compiles, monkeypatch):
    monkeypatch.setattr("hovis_xla.lowering.control.compile_budget.FUEL", fuel)
    f = hovis_xla.jit(drained, target="xla")
    given, wanted = [X[::-1].copy(), np.array([40.0])], [X[::-1].copy(), np.array([40.0])]
    assert f(*given) == drained(*wanted)
    assert all(np.array_equal(a, b) for a, b in zip(given, wanted, strict=True))
    assert compiles == compiled


def test_what_gives_up_early_and_raises(compiles, monkeypatch):
    monkeypatch.setattr("hovis_xla.lowering.control.compile_budget.FUEL", 0.0)

    def found(x, wanted):
        k = 0
        while x[k] != wanted:
            k += 1
        return k

    f = hovis_xla.jit(found, target="xla")
    with pytest.raises(IndexError):
        f(X, 9.0)
    assert f(X, 6.0) == 6


def test_what_can_be_seen_has_no_fuel_to_run_out_of(compiles, monkeypatch):
    monkeypatch.setattr("hovis_xla.lowering.control.compile_budget.FUEL", 0.0)

    def said(x):
        while x > 1.0:
            x = x / 2.0
            print("at", x)
        return x

    f = hovis_xla.jit(said, target="xla")
    with redirect_stdout(io.StringIO()) as output:
        assert f(5.0) == 0.625
    assert output.getvalue() == "at 2.5\nat 1.25\nat 0.625\n"
    assert compiles == [False]


def test_it_is_the_first_call_that_counts(compiles):
    f = hovis_xla.jit(smooth, target="xla")
    f(np.copy(X), 2)
    f(np.copy(X), 2)
    assert compiles == [True, False]
    f.explain()
    assert len(compiles) == 2


def test_objects_that_are_changed(compiles):
    def step(state, n):
        for _ in range(n):
            state["x"] = state["x"] * 0.5 + 1.0
        state["log"].append(n)

    f = hovis_xla.jit(step, target="xla")
    for k in range(3):
        given, wanted = {"x": X + k, "log": [k]}, {"x": X + k, "log": [k]}
        f(given, 3)
        step(wanted, 3)
        assert np.array_equal(given["x"], wanted["x"])
        assert given["log"] == wanted["log"]
    assert compiles == [True, False]


def test_calls_of_another_kind_compile_nothing(compiles):
    f = hovis_xla.jit(swept_back, target="xla")
    f(X, 3)
    for _ in range(3):
        assert f(np.float32(X), 3) == swept_back(np.float32(X), 3)
    assert compiles == [True, True, False]


def test_what_can_be_seen_is_done_once(compiles):
    f = hovis_xla.jit(told, target="xla")
    for n in (3, 5, 2):
        given, wanted, outputs = np.copy(X), np.copy(X), [io.StringIO(), io.StringIO()]
        ends = []
        for fn, x, output in ((told, wanted, outputs[0]), (f, given, outputs[1])):
            with redirect_stdout(output):
                try:
                    ends.append(fn(x, n))
                except ValueError as error:
                    ends.append(error.args)
        assert ends[0] == ends[1]
        assert outputs[0].getvalue() == outputs[1].getvalue()
        assert np.array_equal(given, wanted)


def test_what_raises_first(compiles):
    f = hovis_xla.jit(told, target="xla")
    with pytest.raises(ValueError, match="many"), redirect_stdout(io.StringIO()):
        f(np.copy(X), 6)
    with redirect_stdout(io.StringIO()):
        assert f(np.copy(X), 2) == X.sum() + 2


def test_what_is_on_disk_in_full_is_used(compiles, tmp_path, monkeypatch):
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(tmp_path / "programs"))
    monkeypatch.setattr(disk_cache, "WORTH", 0.0)
    for calls in (1, 2, 1):
        f = hovis_xla.jit(smooth, target="xla")
        for _ in range(calls):
            assert f(np.copy(X), 3) == smooth(np.copy(X), 3)
    assert compiles == [True, False]


def test_loops_do_several_rounds_at_a_time_in_full_only(compiles, monkeypatch):
    found = []
    real = compilation.compile_module
    monkeypatch.setattr(compilation, "compile_module", lambda *what: found.append((what[4].quick, str(what[0]).count("stablehlo.while"))) or real(*what))
    f = hovis_xla.jit(swept_back, target="xla")
    for n in (8, 5, 0, 8):
        assert f(X, n) == swept_back(X, n)
    assert found == [(True, 1), (False, 2)]
    assert compiles == [True, False]


def test_a_short_program_asks_for_the_long_one_on_disk(compiles, tmp_path, monkeypatch):
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(tmp_path / "programs"))
    monkeypatch.setattr(disk_cache, "WORTH", 0.0)
    read = []
    real = compilation.deserialize
    monkeypatch.setattr(compilation, "deserialize", lambda *what: read.append(what[4].quick) or real(*what))
    for calls in (1, 2, 1):
        f = hovis_xla.jit(swept_back, target="xla")
        for _ in range(calls):
            assert f(X, 8) == swept_back(X, 8)
        disk_cache.write_waiting()
    assert compiles == [True, False]
    assert read == [True, False]


def test_a_short_program_is_on_disk_when_the_process_has_ended(compiles, tmp_path, monkeypatch):
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(disk_cache, "WORTH", 0.0)
    for fn in (swept_back, wave):
        f = hovis_xla.jit(fn, target="xla")
        args = (X, 8) if fn is swept_back else (X,)
        assert np.array_equal(f(*args), fn(*args))
        assert not list(tmp_path.iterdir())
        disk_cache.write_waiting()
        assert len(list(tmp_path.iterdir())) == 1
        f = hovis_xla.jit(fn, target="xla")
        for _ in range(2):
            assert np.allclose(f(*args), fn(*args), rtol=1e-14)
        for entry in tmp_path.iterdir():
            entry.unlink()
    assert compiles == [True, False] * 2
    for k in range(2 * disk_cache.WAITING):
        hovis_xla.jit(lambda x, k=k: x + k, target="xla")(X)
    assert len(list(tmp_path.iterdir())) == disk_cache.WAITING
    disk_cache.write_waiting()


def test_what_has_been_compiled_in_full_waits_no_longer(compiles, tmp_path, monkeypatch):
    monkeypatch.setenv("HOVIS_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(disk_cache, "WORTH", 0.0)
    for fn, args in ((swept_back, (X, 8)), (wave, (X,))):
        f = hovis_xla.jit(fn, target="xla")
        for _ in range(2):
            assert np.allclose(f(*args), fn(*args), rtol=1e-14)
    written = sorted(tmp_path.iterdir())
    disk_cache.write_waiting()
    assert sorted(tmp_path.iterdir()) == written


def test_what_is_refused_in_full_goes_on_as_it_is(compiles, monkeypatch):
    """Seen where views of results are told apart only as long as a loop is not written out."""

    def f(x, n):
        found = x * 2
        while n > 0:
            n //= 2
            found = found + n
        return found

    def plainly(*args, bounded=False, **more):
        if not bounded:
            raise NotLowerable("nothing is lowered in full")
        return lower(*args, bounded=True, **more)

    monkeypatch.setattr(executable, "lower", plainly)
    jitted = hovis_xla.jit(f, target="xla")
    for _ in range(3):
        assert np.array_equal(jitted(np.arange(3.0), 9), f(np.arange(3.0), 9))
    assert compiles


def test_what_asks_the_host_has_no_fuel_in_full(compiles):
    """It gave up for good where a loop took long, as the first lowering was kept."""

    def f(a, x, least):
        n = 0
        while np.abs(x).max() > least:
            x = np.linalg.solve(a, x)
            n += 1
        return x, n

    jitted = hovis_xla.jit(f, target="xla")
    for _ in range(2):
        assert jitted(2.0 * np.eye(3), np.ones(3), 0.1)[1] == 4
    (variant,) = jitted._variants.values()
    assert not variant.xla.lowered.bounded
    assert str(int(cost_model.FUEL * 1000)) not in variant.xla.stablehlo()


def test_exact_programs_are_as_they_are(compiles):
    hovis_xla.jit(smooth, target="xla", exact=True)(np.copy(X), 3)
    assert compiles == [False]


def test_how_often():
    assert times((), ()) == 1
    assert times((3, Argument(1, 2)), (0.5, 6)) == 12
    assert times((3, Argument(0, 2)), (1,)) == 0
    assert times((Early(Argument(0, 1)), 2), (4,)) == 6
    assert times((3, None), ()) == times((Argument(0, 0),), (2.5,)) == float("inf")
    work = cost_model.Work()
    work.xla = {(Argument(0, 0),): cost_model.LITTLE / 10}
    assert work.is_little([10]) and not work.is_little([11], bounded=True)
    work.xla = {(Early(Argument(0, 0)),): cost_model.LITTLE / 100}
    assert work.is_little([200], bounded=True) and not work.is_little([200])
    work.xla = {(None,): cost_model.LITTLE}
    assert not work.is_little([], bounded=True)
