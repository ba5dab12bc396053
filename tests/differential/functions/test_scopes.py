"""Scopes, frames and warnings, beside CPython: who looks at variables, who looks at frames, and what they see.

PYTEST_DONT_REWRITE: some of the programs look at their variables.
"""
# ruff: noqa: E731, B028  (programs as people write them)

import importlib
import inspect
import logging
import sys
import traceback
import warnings

import pytest

import hovis
from tests.differential.harness.splits import check


def l1(a, b):
    c = a + b
    return locals()


def l2(x):
    d = locals()
    y = x + 1
    e = locals()
    return d is e, "y" in d, list(d), list(e)


def l3(x):
    d = locals()
    d["zz"] = 5
    d["x"] = 100
    e = locals()
    return x, e.get("zz"), e["x"], sorted(e)


def l4(x):
    y = 1

    def inner():
        return x

    d = locals()
    del y
    e = locals()
    return sorted(d), sorted(e), e["x"], inner()


def l5(x):
    def inner(z):
        q = x + z
        return locals()

    return inner(2)


def l6(x):
    if x > 2:
        y = 1
    return locals()


def l7(x):
    r = [sorted(locals()) for i in range(2)]
    return r


def l8(x):
    out = []
    for i in range(3):
        out.append(dict(locals()))
    return out


def l9(x):
    return vars(), dir()


def l10(x):
    return "{x} {y}".format(**locals(), y=3)


def l11(x):
    y = 5
    return eval("x + y")


def l12(x):
    exec("z = x * 2")
    return locals().get("z", "none")


def l13(x):
    ns = {"x": x}
    exec("y = x + 1", ns)
    return ns["y"], eval("y * 2", {"y": x}), eval("a+b", {"a": 1}, {"b": x})


def l14(x):
    return eval("[i for i in range(3)]"), eval("__name__") is not None


def l15(x):
    print(locals())
    y = 3
    print(locals())
    return locals()


def l16(x):
    try:
        return eval("undefined_ + x")
    except NameError as e:
        return str(e), e.name


def l17(x):
    def helper():
        y = x
        return eval("y + x")

    return helper()


def l18(x):
    return (lambda q: locals())(x)


def l19(x):
    y = None
    del y
    if x:
        y = 2
    return dir()


def l20(x):
    class C:
        a = x
        b = sorted(k for k in locals() if not k.startswith("__"))

    return C.b


def l21(x):
    locals()["x"] = 9
    return x


def w1(x):
    warnings.warn("m1")
    warnings.warn(f"m{x}", DeprecationWarning, stacklevel=1)
    return x


def helper2(x):
    warnings.warn("h", stacklevel=2)
    return x + 1


def w2(x):
    a = helper2(x)
    return a + helper2(a)


def helper3(x):
    return helper4(x)


def helper4(x):
    warnings.warn("h3", UserWarning, stacklevel=3)
    return x


def w3(x):
    return helper3(x)


def w5(x):
    warnings.warn(DeprecationWarning("inst"))
    try:
        warnings.warn("x", int)
    except TypeError as e:
        print(e)
    try:
        warnings.warn("x", x)
    except TypeError as e:
        print(e)


def w6(x):
    for i in range(3):
        warnings.warn("loop", stacklevel=1)


def w7(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("asexc")
        except UserWarning as e:
            return str(e), [(t.name, t.lineno) for t in traceback.extract_tb(e.__traceback__)]


def who():
    return sys._getframe(1).f_code.co_name, sys._getframe(1).f_lineno


def f1(x):
    return who()


def f2(x):
    def g():
        return who()

    return g(), x


def deep():
    return [s.name for s in traceback.extract_stack()][-3:]


def f4(x):
    def g():
        return deep()

    return g()


def f5(x):
    return inspect.currentframe().f_code.co_name


def caller_name():
    f = inspect.currentframe()
    return f.f_back.f_code.co_name, f.f_back.f_back.f_code.co_name if 0 else 0


def f6(x):
    def g():
        return caller_name()

    return g()


class H(logging.Handler):
    def emit(self, r):
        print(r.funcName, r.lineno, r.getMessage(), r.exc_info and r.exc_info[0])


LOG = logging.getLogger("exc.probe")
LOG.addHandler(H())
LOG.propagate = False
LOG.setLevel("INFO")


def f7(x):
    LOG.info("hello %s", x)

    def g():
        LOG.warning("in g")

    g()
    try:
        1 // 0
    except ZeroDivisionError:
        LOG.exception("oops")


def f8(x):
    try:
        1 // x
    except ZeroDivisionError:
        return sys.exc_info()[1].args, sys.exception().args
    return sys.exc_info(), sys.exception()


def f9(x):
    def h():
        return sys.exc_info()[0]

    try:
        raise KeyError(x)
    except KeyError:
        return h()


def f10(x):
    try:
        try:
            raise KeyError(x)
        except KeyError:
            try:
                raise ValueError(2)
            except ValueError:
                pass
            return sys.exception().args
    finally:
        print(sys.exc_info())


CASES = [
    (l1, [(1, 2)]),
    (l2, [1, 3]),
    (l3, [1, 3]),
    (l4, [1, 3]),
    (l5, [1, 3]),
    (l6, [1, 3]),
    (l7, [1, 3]),
    (l8, [1, 3]),
    (l9, [1, 3]),
    (l10, [1, 3]),
    (l11, [1, 3]),
    (l12, [1, 3]),
    (l13, [1, 3]),
    (l14, [1, 3]),
    (l15, [1, 3]),
    (l16, [1, 3]),
    (l17, [1, 3]),
    (l18, [1, 3]),
    (l19, [0, 1]),
    (l20, [1, 3]),
    (l21, [1, 3]),
    (w1, [1, 3]),
    (w2, [1, 3]),
    (w3, [1, 3]),
    (w5, [1, 3]),
    (w6, [1, 3]),
    (w7, [1, 3]),
    (f1, [1, 3]),
    (f2, [1, 3]),
    (f4, [1, 3]),
    (f5, [1, 3]),
    (f6, [1, 3]),
    (f7, [1, 3]),
    (f8, [0, 1]),
    (f9, [1, 3]),
    (f10, [1, 3]),
]
#: What gives away a frame is left as it is.
WHOLE = {f5}


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_scopes(fn, calls):
    check(fn, calls, fn in WHOLE)


def warns_its_caller(x):
    warnings.warn("outside", stacklevel=2)
    return x


@pytest.mark.parametrize("made", [lambda: hovis.specialize(warns_its_caller, hovis.Int), lambda: hovis.jit(warns_its_caller)])
def test_a_warning_names_the_caller_of_a_residual(made):
    called = made()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        called(3)
        line = inspect.currentframe().f_lineno - 1
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]


def test_a_warning_is_shown_once_a_place():
    def twice(x):
        for _ in range(2):
            warnings.warn("again")
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        globals().pop("__warningregistry__", None)
        hovis.specialize(twice, hovis.Int)(1)
        twice(1)
    assert len(caught) == 1


def stops(x):
    y = x + 1
    breakpoint()  # noqa: T100
    return y


def test_a_debugger_sees_the_variables(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.append(dict(sys._getframe(1).f_locals)))
    assert hovis.specialize(stops, hovis.Int)(3) == 4
    assert hovis.specialize(lambda x: stops(x) + 1, hovis.Int)(3) == 5
    assert seen == [{"x": 3, "y": 4}] * 2


def divides(a, b):
    return a // b


def divided(x, *rest, k=1):
    total = x + k
    return divides(total, x)


@pytest.mark.parametrize("make", [lambda: hovis.specialize(divided, hovis.Int), lambda: hovis.jit(divided)])
def test_a_tracer_sees_lines_of_the_user_alone(make):
    residual, seen = make(), []

    def tracer(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            seen.append((event, frame.f_code.co_name))
        return tracer

    residual(2)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with pytest.raises(ZeroDivisionError):
            residual(0)
    finally:
        sys.settrace(before)
    assert ("call", "divides") not in seen and ("exception", "divided") in seen


def test_a_residual_has_the_signature_of_what_is_unknown():
    assert str(inspect.signature(hovis.specialize(divided, hovis.Int, k=2))) == "(x, *rest)"
    assert inspect.getsource(hovis.specialize(divided, hovis.Int)).startswith("def divided")


def test_what_takes_too_long_is_left_alone():
    def long(n):
        return [i * k for i in range(n) for k in range(n)]

    residual = hovis.options(fuel=20_000).specialize(lambda x: sum(long(200)) + x, hovis.Int)
    assert not residual.trace.fallback and residual(1) == sum(long(200)) + 1


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package whose functions import by relative names."""
    inner = tmp_path / "hovis_relative" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("base = 3\n")
    (inner.parent / "tools.py").write_text("def double(x): return x + x\n")
    (inner.parent / "later.py").write_text("print('later is loaded')\nvalue = 7\n")
    (inner / "__init__.py").write_text("")
    (inner / "user.py").write_text(
        "def run(x):\n    from ..tools import double\n    from .. import base, tools\n    from . import user as me\n"
        "    return double(x) + base, tools.double(x), me.__name__\n"
        "def load(x):\n    from .. import later\n    return later.value + x\n"
        "def wrong(x):\n    from ... import nothing\n    return nothing\n"
        "def missing(x):\n    from ..tools import nothing\n    return nothing\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("hovis_relative.inner.user")
    for name in [name for name in sys.modules if name.partition(".")[0] == "hovis_relative"]:
        del sys.modules[name]


def test_relative_imports(package, capsys):
    assert package.run(1) == (5, 2, "hovis_relative.inner.user")  # this loads the modules
    residual = hovis.specialize(package.run, hovis.Int)
    assert residual(4) == package.run(4) == (11, 8, "hovis_relative.inner.user")
    assert "import" not in str(residual.trace) and "!" not in str(residual.trace)
    jitted = hovis.jit(package.run)
    assert jitted(4) == (11, 8, "hovis_relative.inner.user")
    sys.modules["hovis_relative.tools"].double = abs
    try:
        assert jitted(-4) == package.run(-4) == (7, 4, "hovis_relative.inner.user")
    finally:
        sys.modules["hovis_relative.tools"].double = lambda x: x + x
    jitted = hovis.jit(package.load)
    assert [jitted(1), jitted(2)] == [8, 9]
    assert capsys.readouterr().out == "later is loaded\n"
    for name in ("wrong", "missing"):
        wanted, found = (pytest.raises(ImportError, fn, 1) for fn in (getattr(package, name), hovis.jit(getattr(package, name))))
        assert str(found.value) == str(wanted.value)


def test_the_package_of_a_relative_import_may_change(package, monkeypatch):
    jitted = hovis.jit(package.run)
    assert jitted(4)[0] == 11
    monkeypatch.setitem(vars(package), "__package__", "hovis_elsewhere.inner")
    with warnings.catch_warnings(action="ignore"):  # __package__ is not that of __spec__
        wanted, found = (pytest.raises(ImportError, fn, 4) for fn in (package.run, jitted))
    assert str(found.value) == str(wanted.value)
