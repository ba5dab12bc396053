"""What looks at the frame of its caller sees the original's, by whatever way it is called; and tracebacks tell the line that raised."""
import functools
import itertools
import sys
import types
import typing
import warnings

import pytest

import hovis

WAYS = [hovis.jit, hovis.specialize]

# ------------------------------------------------------------------------------------------------- eval, exec, locals, by others

#: How a builtin that is given one text gets called, each the text of an expression.
CALLS = [
    "list(map(eval, texts))", "[v for v in map(eval, texts)]", "list(filter(eval, texts))", "sum(map(eval, texts))", "any(map(eval, texts))", "max(texts, key=eval)",
    "sorted(texts, key=eval)", "list(itertools.starmap(eval, zip(texts)))", "list(itertools.takewhile(eval, texts))", "dict(zip(texts, map(eval, texts)))",
    "next(iter(functools.partial(eval, texts[0]), None))", "functools.partial(eval, texts[-1])()", "list(map(functools.partial(eval), texts))",
    "list(map(exec, texts))", "sorted(functools.partial(locals)())", "functools.reduce(lambda a, t: a, map(eval, texts))", "(lambda get: sorted(get()))(locals)",
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("call", CALLS)
def test_variables_are_the_callers(way, call):
    scope = {"itertools": itertools, "functools": functools, "g": 7}
    exec(f"def f(n, texts):\n k = n + 1\n return {call}\ndef outer(n, texts):\n k = g\n return f(n, texts), k", scope)
    for name, texts in itertools.product(("f", "outer"), (["n", "k"], ["g", "n - n"], ["1 + 1"])):
        assert outcome(way(scope[name]), 3, texts) == outcome(scope[name], 3, texts)


def outcome(fn, *args):
    try:
        return fn(*args)
    except Exception as error:
        return type(error), str(error)


def filled_in(text):
    return text.format(**sys._getframe(1).f_locals)


def filled_in_by_frames(text):
    frame = typing.cast(types.FrameType, sys._getframe())
    return text.format(**frame.f_back.f_locals)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("fill", [filled_in, filled_in_by_frames])
def test_a_callee_may_read_variables(way, fill):
    def greet(name, n):
        k = n + 1
        return fill("hi {name} {k}")

    def around(name):
        return [greet(name, n) for n in range(3)]

    assert way(greet)("you", 1) == "hi you 2"
    assert way(around)("you") == around("you")


# ------------------------------------------------------------------------------------------------- hooks


@typing.runtime_checkable
class Named(typing.Protocol):
    name: str


@typing.runtime_checkable
class Closes(typing.Protocol):
    def close(self): ...


class WithName:
    def __init__(self):
        self.name = "x"


@functools.singledispatch
def told(x):
    return "something"


@told.register(Closes)
def _(x):
    return "closes"


class WithClose:
    def close(self):
        pass


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_protocols_are_asked(way):
    def asked(x):
        return isinstance(x, Named), isinstance(x, Closes), issubclass(type(x), Closes), told(x), [issubclass(type(x), Named)] if x == 3 else None

    fn = way(asked)
    for x in (WithName(), WithClose(), 2, "a", 3):
        assert outcome(fn, x) == outcome(asked, x)


def test_modules_are_asked_for_a_path(monkeypatch):
    module = types.ModuleType("hovis_test_lazy")
    asked = []

    def find(name):
        asked.append(name)
        if name.startswith("__"):
            raise AttributeError(name)
        return name

    module.__getattr__ = find
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def imports(x):
        from hovis_test_lazy import something  # noqa: PLC0415

        return something, x

    assert imports(1) == ("something", 1)
    wanted = asked[:]
    for way in WAYS:
        fn = way(imports)
        asked.clear()
        assert fn(1) == ("something", 1)
        assert asked == wanted


# ------------------------------------------------------------------------------------------------- lines

#: Statements that raise, where x is 0 or 1.
RAISING = ["raise KeyError('k')", "raise KeyError", "raise SHARED", "assert not y", "x.nothing", "x / 0", "raise ValueError('v') from None", "call(x)"]
#: Where two of them stand, so that what follows is the same.
PLACES = [
    "if x:\n  {0}\n {0}",
    "if x:\n  {0}\n else:\n  {0}",
    "try:\n  x[0]\n except TypeError:\n  if x: {0}\n  {0}",
    "try:\n  if x: x.foo\n except AttributeError: {0}\n try:\n  x.foo\n except AttributeError: {0}",
    "while x:\n  {0}\n {0}",
]  # fmt: skip


def lines(fn, *args):
    """The lines of the traceback of what is raised, and of what was raised before."""
    SHARED.__traceback__ = SHARED.__context__ = None
    found = []
    try:
        fn(*args)
    except Exception as error:
        while error is not None:
            trace = error.__traceback__
            found.append([])
            while trace is not None:
                found[-1].append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
                trace = trace.tb_next
            error = error.__context__
    return [[place for place in one if place[0] in ("f", "caught", "call")] for one in found]


SHARED = ValueError("shared")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("statement", RAISING)
def test_lines_of_raises_that_are_alike(way, place, statement):
    caught = place.replace("\n", "\n ").format(statement)
    text = f"""
def call(x):
 raise LookupError(x)
def f(x, y=1):
 {place.format(statement)}
def caught(x, y=1):
 try:
  {caught}
 except Exception as error:
  return error.__traceback__.tb_lineno
"""
    scope = {"SHARED": SHARED}
    exec(compile(text, "<lines>", "exec"), scope)
    f, seen = way(scope["f"]), way(scope["caught"])
    for x in (0, 1, 0):
        assert lines(f, x) == lines(scope["f"], x)
        SHARED.__traceback__ = None
        wanted = scope["caught"](x)
        SHARED.__traceback__ = None
        assert seen(x) == wanted


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_warnings_of_others(way):
    def warns(messages):
        return list(map(warnings.warn, messages))

    fn = way(warns)
    with warnings.catch_warnings(record=True) as wanted:
        warnings.simplefilter("always")
        warns(["a", "b"])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fn(["a", "b"])
    assert [(str(w.message), w.filename, w.lineno) for w in found] == [(str(w.message), w.filename, w.lineno) for w in wanted]
