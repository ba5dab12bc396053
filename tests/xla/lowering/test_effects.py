"""What compiled code does that can be seen: in order, once, and with the exceptions of the original."""
import contextlib
import io
import logging
import os
import random
import sys
import time
import traceback
import warnings

import numpy as np
import pytest

import hovis
import hovis_xla
from tests.xla.harness.checking import agree, check, compiled

pytestmark = pytest.mark.xla

X = np.arange(8.0) - 3


def variants(jitted):
    return list(jitted._variants.values())


def whole(fn, *calls):
    """fn agrees with itself compiled, call by call, and is one executable."""
    jitted = compiled(fn)
    for args in calls:
        agree(fn, jitted, *args)
        agree(fn, jitted, *args)
    assert all(v.decision.executable is not None for v in variants(jitted))
    return jitted


def raised(fn, *args):
    """The exception of a call, the lines of this file in its traceback, and what was printed."""
    out = io.StringIO()
    stdout, sys.stdout = sys.stdout, out
    try:
        fn(*args)
    except BaseException as error:
        frames = [(f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__][1:]
        others = [f.filename for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        return type(error), error.args, repr(error.__cause__), repr(error.__context__), frames, others, out.getvalue()
    finally:
        sys.stdout = stdout
    raise AssertionError("nothing was raised")


# ------------------------------------------------------------------------------------------------- texts


def tells(x, n):
    print("start", x.shape, x)
    s = 0.0
    for i in range(n):
        s += x[i % 8] ** 2
        if i % 25 == 0:
            print(f"i={i} s={s:.3f} {s!r:>20}", x[:2], [i, s], {"a": (s, i)}, sep="|", end="!\n", flush=True)
    print("%d rounds, %.2f, %s" % (n, s, s), str(n) + "!", repr(x[0]), "{:>8.1f}|{}".format(s, n))
    return s, f"{s:.2f}", str(x[0])


def test_texts_of_numbers_and_containers():
    whole(tells, (X, 60), (X, 0), (X + 5, 26))


def test_a_text_that_can_not_be_made():
    def f(n, x):
        print("before")
        text = f"{n:s}" if x > 0 else f"{n:d}"
        print(text)
        return text

    whole(f, (3, -1.0), (3, 1.0))


# ------------------------------------------------------------------------------------------------- giving up after an act


def grows(n):
    q = 1
    for i in range(n):
        q = q * 3 + i
        print("q", i, end=";")
        if i % 7 == 0:
            print()
    return q


def test_an_integer_past_64_bits_after_prints():
    whole(grows, (5,), (100,), (41,))


def looks_too_far(x, k):
    for i in range(k):
        print("try", i)
        print("got", x[i])
    return "all"


def divides(a, b):
    t = 0
    for i in range(3):
        for j in range(2):
            print("divide", i, j, a - i)
        t += b // (a - i)
    return t


def complains(x, limit):
    for i in range(len(x)):
        print("at", i)
        if x[i] > limit:
            try:
                print("over")
                raise KeyError(i)
            except KeyError as error:
                print("caught")
                raise ValueError(f"bad {x[i]} at {i}") from error
        if x[i] <= -10:
            raise AssertionError(f"{x[i]:.1f} is low")  # an assert is pytest's own here, and much to trace
    return "fine"


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (looks_too_far, (X[:3], 5)),
        (divides, (2, 10)),
        (divides, (0, 10)),
        (complains, (X, 2.0)),
        (complains, (X - 20, 2.0)),
    ],
)
def test_exceptions_after_prints(fn, args):
    jitted = hovis_xla.jit(fn, target="xla")
    assert raised(jitted, *args) == raised(fn, *args)
    assert raised(jitted, *args) == raised(fn, *args)


def test_those_that_do_not_raise_print_all():
    for fn, args in [(looks_too_far, (X, 8)), (divides, (7, 10)), (complains, (X, 100.0))]:
        whole(fn, args)


def test_a_variant_that_gives_up_again_and_again():
    jitted = hovis_xla.jit(divides, target="xla")
    for _ in range(12):
        agree(divides, jitted, 1, 5)
    assert "gave up" in jitted.explain()
    agree(divides, jitted, 9, 5)


# ------------------------------------------------------------------------------------------------- what acts raise


class Broken(io.StringIO):
    """A stream that breaks at the third write."""

    def __init__(self, error, after):
        super().__init__()
        self.error = error
        self.left = after

    def write(self, text):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return super().write(text)


def patient(x, n):
    done = 0
    try:
        for i in range(n):
            print(i, x * i)
            done = i
    except OSError as error:
        return "broken", done, error.args
    return "fine", done


@pytest.mark.parametrize("error", [OSError(5, "gone"), KeyboardInterrupt(), SystemExit(3)])
def test_a_stream_that_breaks(error):
    jitted = hovis_xla.jit(patient, target="xla")
    jitted(1.5, 2)
    found = []
    for fn in (patient, jitted):
        stdout, sys.stdout = sys.stdout, Broken(error, 9)
        try:
            found.append(fn(1.5, 6))
        except BaseException as caught:
            found.append(caught)
        finally:
            text, sys.stdout = sys.stdout.getvalue(), stdout
        found.append(text)
    assert found[:2] == found[2:]
    if not isinstance(error, OSError):
        assert found[2] is error


# ------------------------------------------------------------------------------------------------- other acts

LOG = logging.getLogger("hovis.tests.effects")
LEVEL = 1


class Keeps(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append((record.levelname, record.getMessage(), record.lineno, record.funcName))


class Changes(Keeps):
    def emit(self, record):
        global LEVEL
        super().emit(record)
        LEVEL += 1


def logs(x, n):
    s = 0
    for i in range(n):
        s += i * LEVEL
        LOG.warning("i=%d s=%s x=%.1f", i, s, x[i % 8])
    LOG.info("not shown %s", s)
    return s


@pytest.mark.parametrize("kind", [Keeps, Changes])
def test_logging(kind):
    global LEVEL
    jitted = hovis_xla.jit(logs, target="xla")
    seen = []
    for fn in (logs, jitted, jitted):
        handler = kind()
        LEVEL = 1
        LOG.addHandler(handler)
        LOG.propagate = False
        try:
            seen.append((fn(X, 12), handler.texts, LEVEL))
        finally:
            LOG.removeHandler(handler)
    assert seen[0][0] == seen[1][0] == seen[2][0]
    assert [t[:2] for t in seen[0][1]] == [t[:2] for t in seen[1][1]] == [t[:2] for t in seen[2][1]]
    assert seen[0][2] == seen[1][2]


def writes(x, n):
    s = 0.0
    for i in range(n):
        s = s + x[i % 8]
        sys.stdout.write(f"{i}: {s}\n")
        print("to stderr", i, file=sys.stderr)
    sys.stdout.flush()
    return s


def test_streams(capfd):
    jitted = hovis_xla.jit(writes, target="xla")
    told = []
    for fn in (writes, jitted, jitted):
        told.append((fn(X, 11), *capfd.readouterr()))
    assert told[0] == told[1] == told[2]


def warns(x):
    s = x.sum()
    if s > 3:
        warnings.warn("large", RuntimeWarning, stacklevel=1)
    print("sum", s)
    return s


def test_warnings():
    jitted = hovis_xla.jit(warns, target="xla")
    for x in (X, X + 3):
        told = []
        for fn in (warns, jitted):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fn(x)
            told.append([(str(w.message), w.category, w.filename, w.lineno) for w in caught])
        assert told[0] == told[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert raised(jitted, X + 3) == raised(warns, X + 3)


def draws(n):
    inside = 0
    for i in range(n):
        a = random.random()
        b = random.random()
        inside += a * a + b * b < 1
        if i % 10 == 0:
            print(i, f"{a:.6f}")
    return inside, 10 // (inside - 9)


def test_random_numbers_are_drawn_once():
    jitted = hovis_xla.jit(draws, target="xla")
    for seed in range(6):
        found = []
        for fn in (draws, jitted):
            random.seed(seed)
            try:
                found.append(fn(12))
            except ZeroDivisionError:
                found.append("zero")
            found.append(random.random())
        assert found[:2] == found[2:], seed


def timed(x):
    begin = time.perf_counter()
    s = x.sum()
    end = time.perf_counter()
    return s, end >= begin, end - begin < 10


def test_clocks():
    whole(timed, (X,))


def test_two_threads_print_at_once():
    import threading

    def f(x, n):
        for i in range(n):
            print(x, i)
        return x * n

    jitted = check(f, (1.0, 2))
    results = []
    out, stdout = io.StringIO(), sys.stdout
    sys.stdout = out
    try:
        threads = [threading.Thread(target=lambda k=k: results.append(jitted(float(k), 200))) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.stdout = stdout
    assert sorted(results) == [0.0, 200.0, 400.0, 600.0]
    lines = out.getvalue().splitlines()
    assert len(lines) == 800
    for k in range(4):
        assert [line for line in lines if line.startswith(f"{float(k)} ")] == [f"{float(k)} {i}" for i in range(200)]


def test_a_stream_that_calls_the_function_again():
    def f(x, n):
        for i in range(n):
            print(x, i)
        return x

    jitted = check(f, (1.0, 2))

    class Nested(io.StringIO):
        deep = 0

        def write(self, text):
            if text == "5.0" and not self.deep:
                Nested.deep = 1
                jitted(7.0, 2)
            return super().write(text)

    out, stdout = Nested(), sys.stdout
    sys.stdout = out
    try:
        jitted(5.0, 2)
    finally:
        sys.stdout = stdout
    assert out.getvalue() == "7.0 0\n7.0 1\n5.0 0\n5.0 1\n"


# ------------------------------------------------------------------------------------------------- in pieces


def prints_in_pieces(x, out, k):
    out.append(os.getpid())
    s = 0
    for i in range(k):
        s = s * 3 + i
        if i % 16 == 0:
            print(f"{i}: {s}", x[i % 8])
            LOG.debug("unseen")
        if s == k:
            raise ValueError(f"{s} at {i}")
    out.append(s)
    t = 0.0
    for i in range(len(x)):
        print("second", i) if i % 64 == 0 else None
        t = t + x[i]
    out.append(t)
    return out


def test_pieces_that_act_and_give_up():
    jitted = hovis_xla.jit(prints_in_pieces)
    long = np.arange(400.0)
    for args in [(long, [], 20), (long, [], 100), (X, [], 5), (long, [], 14), (long, [1], 1), (long, [], 33)]:
        for _ in range(2):
            agree(prints_in_pieces, jitted, *args)
    assert sum(p.calls for v in variants(jitted) if v.parts for p in v.parts.pieces) > 2, jitted.explain()


class Settings:
    def __init__(self, rate, steps):
        self.rate, self.steps = rate, steps


def descend(x, settings, state, log):
    losses = []
    for step in range(settings.steps):
        x = x - settings.rate * x * state["scale"]
        loss = float((x * x).sum())
        losses.append(loss)
        if step % 2 == 0:
            log.info("step %d: %.6f", step, loss)
    log.debug("done %s", x)
    return x, losses


def logger_with(name, handler):
    log = logging.Logger(name)
    log.propagate = False
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return log


def test_logging_beside_objects_of_the_callers():
    def told(run, *args, handler=None):
        stream = io.StringIO()
        handler = handler or logging.StreamHandler(stream)
        handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        PLAIN.handlers[:] = [handler]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x, losses = run(*args)
        return x.tolist(), losses, stream.getvalue()

    def fn(x, settings, state):
        return descend(x, settings, state, PLAIN)

    x = np.linspace(-1.0, 1.0, 5)
    got = hovis_xla.jit(fn, strict=True, target="xla")
    for steps in (5, 5, 8, 0):
        wanted, seen = (told(run, x, Settings(0.25, steps), {"scale": 0.5}) for run in (fn, got))
        assert np.allclose(seen[0], wanted[0], rtol=1e-12)
        assert np.allclose(seen[1], wanted[1], rtol=1e-12)
        assert seen[2] == wanted[2]

    class Meddling(logging.Handler):
        """It changes what the program reads."""

        def __init__(self, settings, state):
            super().__init__()
            self.settings, self.state = settings, state

        def emit(self, record):
            self.settings.rate = 0.125 if record.args[0] else 1
            self.state["scale"] = 2.0

    for run in (hovis_xla.jit(fn, target="xla"), hovis.jit(fn)):
        told(run, x, Settings(0.25, 5), {"scale": 0.5})
        settings, state = Settings(0.25, 5), {"scale": 0.5}
        wanted = told(fn, x, settings, state, handler=Meddling(settings, state))
        settings, state = Settings(0.25, 5), {"scale": 0.5}
        seen = told(run, x, settings, state, handler=Meddling(settings, state))
        assert np.allclose(seen[0], wanted[0], rtol=1e-12)
        assert np.allclose(seen[1], wanted[1], rtol=1e-12)


PLAIN = logger_with("plain", logging.NullHandler())


class Tally:
    def __init__(self, weights):
        self.weights, self.count, self.best = weights, 0, None

    def add(self, row, every):
        self.weights = self.weights + row
        self.count += 1
        if self.count % every == 0:
            print(f"after {self.count}: {self.weights.sum():.3f}", self.count)
        if self.weights[0] > 10:
            raise OverflowError("too much", self.count)


def test_objects_are_changed_between_prints():
    def method(tally, rows, every):
        for row in rows:
            tally.add(row, every)
        return f"{tally.count} rows"

    def table(held, values):
        for k, v in enumerate(values):
            held["total"] += v
            print(k, held["total"], end=";")
            if v < 0:
                raise ValueError(f"{v} is negative")
        print([held["total"], len(values)])
        return held

    def shown(tally, x):
        tally.count += 1
        print([tally.count, x])
        return tally.count

    rows = np.arange(12.0).reshape(4, 3)
    for rows_given in (rows, rows + 1.0):
        check(method, (Tally(np.ones(3)), rows_given[:3], 2))
        agree(method, hovis_xla.jit(method, target="xla"), Tally(np.ones(3)), rows_given + 2.0, 1)
    check(table, ({"total": 0.5, "other": [1]}, rows[0]))
    got = hovis_xla.jit(table, target="xla")
    for values in (rows[1], rows[2], -rows[1], rows[1] - 4.0):
        agree(table, got, {"total": 0.5, "other": [1]}, values)
        wanted, found = {"total": 0.5}, {"total": 0.5}
        for run, held in ((table, wanted), (got, found)):
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(ValueError):
                run(held, values)
        assert wanted == found
    agree(shown, hovis_xla.jit(shown, target="xla"), Tally(np.ones(3)), 2.0)
