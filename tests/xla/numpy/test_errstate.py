"""``with np.errstate(…)``: compiled where it asks for calm, Python's where errors are to be heard."""
import random
import warnings

import numpy as np
import pytest

import hovis
import hovis_xla
from hovis_xla.abi import errstate
from tests.xla.harness.checking import agree, check, stays_python

A = np.array([1.0, 0.0, -1.0, np.inf])
B = np.array([0.0, 0.0, 2.0, np.inf])


def test_calm_blocks_are_compiled_and_nest():
    def fn(a, b):
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(b > 0, a / b, 0.0)
        for i in range(3):
            with np.errstate(all="ignore"):
                q += a / b
                with np.errstate(over="warn"):
                    q = np.exp(q) if i == 1 else q
        return q

    check(fn, (A, B), (B, A))


def test_a_block_is_left_by_return_break_and_exceptions():
    def fn(a, k):
        found = -1.0
        for i in range(4):
            try:
                with np.errstate(all="ignore"):
                    x = 1 / a[i + k]
                    if x > 0.9:
                        return x, i
                    if np.isnan(x):
                        break
                    found += x
            except IndexError:
                return found, "beyond"
        return found, "end"

    check(fn, (A, 0), (A, 1), (A, 3), (np.array([np.nan, 2.0]), 0))


def test_what_is_raised_within_is_raised():
    def fn(a, k):
        with np.errstate(all="ignore"):
            return (1 / a)[k]

    check(fn, (A, 1), (A, 4))


def test_the_state_is_what_it_was():
    def fn(a):
        with np.errstate(all="ignore"):
            return 1 / a

    jitted = hovis_xla.jit(fn)
    before = np.geterr()
    agree(fn, jitted, A)
    assert np.geterr() == before
    with np.errstate(all="raise"):
        # nothing is heard within, and everything after it
        agree(fn, jitted, A)
        with pytest.raises(FloatingPointError):
            np.ones(1) / 0


def test_errors_that_are_to_be_heard_are():
    def fn(a, b):
        with np.errstate(divide="raise"):
            with np.errstate(all="ignore"):
                x = a / b
            try:
                return b / a, x
            except FloatingPointError as error:
                return str(error), x

    stays_python(fn, A, B)
    stays_python(fn, B, A)


def test_a_mode_that_is_an_argument():
    def fn(a, mode):
        with np.errstate(divide=mode):
            return 1 / a

    jitted = hovis_xla.jit(fn)
    for mode in ("ignore", "warn", "raise", "loud", "ignore"):
        agree(fn, jitted, A, mode)


# ------------------------------------------------------------------------------------------------- warnings

MINDED = (RuntimeWarning, DeprecationWarning, FutureWarning, np.exceptions.ComplexWarning, np.exceptions.VisibleDeprecationWarning, np.exceptions.RankWarning)


@pytest.fixture
def minded(monkeypatch):
    """Filters count, as they do outside of pytest."""
    monkeypatch.setattr(errstate, "MINDED", MINDED)
    monkeypatch.setattr(errstate, "_calm", [object(), None])
    with warnings.catch_warnings():
        warnings.resetwarnings()
        yield


def reciprocal(a):
    return 1.0 / a


def printed(a):
    for k in range(3):
        print(k)
        a = 1.0 / (a * a)
    return a


@pytest.mark.parametrize("fn", [reciprocal, printed])
@pytest.mark.parametrize("target", ["xla", "auto", "python"])
def test_a_warning_that_is_an_error_is_raised(minded, fn, target, capsys):
    jitted = hovis_xla.jit(fn, target=target)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.isinf(jitted(A[:2])[1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                jitted(A[:2])
            assert jitted(A[:1]) == 1.0
    capsys.readouterr()


def test_so_it_is_of_what_is_compiled_ahead_of_time(minded):
    compiled = hovis_xla.compile(hovis.trace(reciprocal, hovis.Array("float64", (2,))))
    loaded = hovis_xla.load(compiled.serialize(), fallback=reciprocal)
    for fn in (compiled, loaded):
        warnings.simplefilter("ignore")
        assert np.isinf(fn(A[:2])[1])
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            fn(A[:2])


def test_a_filter_that_the_function_sets_counts_from_there_on(minded):
    def fn(a):
        b = 1.0 / (a + 2.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            b = b + 1.0 / a
        return b

    jitted = hovis_xla.jit(fn)
    assert (jitted(A[:1]) == fn(A[:1])).all()
    with pytest.raises(RuntimeWarning):
        jitted(A[:2])


def test_filters_of_other_warnings_are_compiled(minded):
    jitted = hovis_xla.jit(reciprocal)
    for category in (ResourceWarning, ImportWarning, BytesWarning, SyntaxWarning):
        warnings.simplefilter("error", category)
        assert np.isinf(jitted(A[:2])[1]) and not errstate.is_watched()
    assert "one XLA executable" in jitted.explain()


def test_filters_that_are_drawn(minded):
    """Whatever is done to the filters: it is the residual that runs where Python's own warning is raised."""
    draw = random.Random(7)
    jitted = hovis_xla.jit(reciprocal)
    kinds = [Warning, RuntimeWarning, UserWarning, DeprecationWarning]
    for _ in range(300):
        match draw.randrange(5):
            case 0:
                warnings.simplefilter(draw.choice(["error", "ignore"]), draw.choice(kinds), append=draw.random() < 0.5)
            case 1:
                message, module = draw.choice(["divide", "", "other"]), draw.choice(["", "elsewhere", __name__.replace(".", r"\.")])
                warnings.filterwarnings(draw.choice(["error", "ignore"]), message, draw.choice(kinds), module, draw.choice([0, 1]))
            case 2:
                warnings.resetwarnings()
                warnings.simplefilter("ignore", append=True)
            case 3 if warnings.filters:
                draw.shuffle(warnings.filters)
                warnings._filters_mutated()
            case _:
                warnings.filters = list(warnings.filters)
                warnings._filters_mutated()
        found = []
        for fn in (reciprocal, jitted):
            with warnings.catch_warnings():
                if not any(action == "error" for action, *_ in warnings.filters):
                    warnings.simplefilter("ignore")
                try:
                    found.append(str(fn(A[:2])))
                except RuntimeWarning as error:
                    found.append(repr(error))
        assert found[0] == found[1], warnings.filters
