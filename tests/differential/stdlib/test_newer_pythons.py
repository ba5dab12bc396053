"""What CPython 3.14 and 3.15 have added: template strings, annotations made later, lazy imports, comprehensions that unpack, new builtins."""
from __future__ import annotations

import sys
import types

import pytest

import hovis
from hovis.ir.model import Effect
from tests.differential.harness.compare import difference, fresh, observe

#: By the version: programs, and arguments.
PROGRAMS = {
    (3, 14): {
        "parts": ("def f(x, y):\n t = t'a{x!r:{y}}b{x}'\n return t.strings, t.values, [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations]", [(1, ">5"), ("é", "")]),
        "empty": ("def f(x): return [*t''], [*t'{x}'], [*t'{x}{x=}'], t''.strings, t'{x}'.strings", [(1,), (None,)]),
        "formatted": ("""
def f(x, y):
    out = []
    for part in t'<{x}>{y!s:^9}|':
        if isinstance(part, str):
            out.append(part)
        else:
            value = str(part.value) if part.conversion == 's' else part.value
            out.append(format(value, part.format_spec))
    return ''.join(out)
""", [(1, 2.5), ("a", "b"), ([1], None)]),
        "escaping": ("def f(x): return [repr(t'a{x}'), repr(t'{x!r}' + t'b'), hash(t'{x}') is not None]", [(1,), ("x",)]),
        "taken apart": ("def f(x):\n t = iter(t'a{x}b')\n next(t)\n return [type(p).__name__ for p in t], type(t).__name__", [(1,)]),
        "matched": ("""
def f(x):
    from string.templatelib import Interpolation
    found = []
    for part in t'{x!r:>4}-{x}':
        match part:
            case Interpolation(value, expression, conversion, spec): found.append((value, expression, conversion, spec))
            case str(): found.append(part)
    return found
""", [(1,), ("a",)]),
        "made by hand": ("""
def f(x, y):
    from string.templatelib import Interpolation, Template
    made = Template('a', 'b', Interpolation(x, 'x', None, y), Interpolation(y))
    try: Interpolation(x, 'x', y)
    except (TypeError, ValueError) as e: told = str(e)
    else: told = None
    try: Template(x)
    except TypeError as e: told = told, str(e)
    return made.strings, made.values, [repr(i) for i in made.interpolations], told
""", [(1, "r"), ("a", "q"), (2, 3)]),
        "raises in a generator": ("""
def rendered(t):
    return ''.join(part if isinstance(part, str) else format(part.value, part.format_spec) for part in t)
def f(p):
    kept = []
    p += p
    try: kept.append(rendered(t'{[]:{2}}|'))
    except (ValueError, TypeError) as e0: print(type(e0).__name__, e0.args)
    return p, p, p, kept
""", [(1,), ("a",)]),
        "in a loop": ("def f(xs):\n t = t''\n for x in xs: t = t + t'{x},'\n return t.strings, t.values", [([],), ([1, 2, "a"],)]),
        "except without parentheses": ("def f(x):\n try: return 1 // x\n except ZeroDivisionError, TypeError: return 'no'", [(0,), (1,), ("a",)]),
        "annotations": ("""
def f(x):
    def g(a: int, b: Later = 3) -> list: return a
    class C:
        y: int = x
        z: list
        def m(self): return self.y
    return g(x), C().m(), C.__annotations__, list(g.__annotate__.__code__.co_varnames), C.y
Later = str
""", [(1,), ("a",)]),
        "annotations that fail": ("""
def f(x):
    def g(a: missing): return a
    try: g.__annotations__
    except NameError as e: told = str(e), e.name
    g.__annotations__ = {'a': int}
    return told, g.__annotations__, g.__annotate__
""", [(1,)]),
        "map, strict": ("def f(xs, ys):\n try: return list(map(lambda a, b: a + b, xs, ys, strict=True))\n except ValueError as e: return str(e)", [([1], [2]), ([1, 2], [3]), ([], [1])]),
        "all of a generator": ("def f(xs): return all(x > 1 for x in xs), any(x > 1 for x in xs), tuple(x + 1 for x in xs)", [([],), ([1, 2],), ([2, 3],), ((2,),)]),
        "managers": ("""
class M:
    def __init__(self, log, *names):
        self.log = log
    def __enter__(self): self.log.append('in'); return self
    def __exit__(self, *a): self.log.append(a[0] and a[0].__name__); return True
class OnlyEnter:
    def __enter__(self): pass
class OnlyExit:
    def __exit__(self, *a): pass
class Waits(OnlyEnter):
    async def __aenter__(self): pass
    async def __aexit__(self, *a): pass
def f(x):
    log = []
    with M(log) as m, M(log):
        1 // x
    for made in (OnlyEnter, OnlyExit, Waits, list):
        try:
            with made(): pass
        except TypeError as e: log.append(str(e))
    return log
""", [(0,), (1,)]),
    },
    (3, 15): {
        "unpacking": ("def f(xs, ds): return [*x for x in xs], {*x for x in xs}, {**d for d in ds}, list((*x for x in xs))", [([[1], (2, 3)], [{"a": 1}, {"a": 2, "b": 3}]), ([], [])]),
        "lazy imports": ("lazy import colorsys\nlazy from fractions import Fraction\ndef f(x): return colorsys.rgb_to_hsv(x, 0, 0), Fraction(x), colorsys.__name__", [(1,), (2,)]),
        "lazy imports that fail": ("lazy import no_such_module_at_all\ndef f(x):\n try: return no_such_module_at_all.x\n except ImportError as e: return type(e), str(e)", [(1,)]),
        "frozendict": ("def f(x):\n d = frozendict({'a': x, 'b': 2})\n return d['a'], len(d), sorted(d), {**d}, d | {'c': 3}, hash(d) == hash(frozendict(b=2, a=x))", [(1,), ("a",)]),
        "sentinel": ("def f(x):\n s = sentinel('S')\n return repr(s), s is s, (x if x is not s else 0)", [(1,)]),
        "iterators": ("def f(xs):\n out = []\n for i, x in enumerate(xs):\n  if i > 1: break\n  out.append(x)\n g = (x for x in xs)\n return out, next(g, None), list(g), [*zip(xs, xs[1:])]", [([1, 2, 3],), ((),), ("abc",)]),
    },
}  # fmt: skip
CASES = [(version, name) for version, programs in PROGRAMS.items() for name in programs]
WAYS = {
    "jit": lambda fn, args: hovis.jit(fn),
    "typed": lambda fn, args: hovis.specialize(fn, *map(type, args)),
    "unknown": lambda fn, args: hovis.specialize(fn, *[hovis.Any] * len(args)),
}


def defined(version, name):
    """Return a function that makes the program's function in a new module, and the arguments of the calls."""
    if sys.version_info < version:
        pytest.skip("newer syntax")
    text, calls = PROGRAMS[version][name]

    def make():
        module = types.ModuleType("newer")
        exec(compile(text, f"<{name}>", "exec"), module.__dict__)
        return module.f

    return make, calls


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("version", "name"), CASES, ids=[name for _, name in CASES])
def test_agrees_with_cpython(version, name, way):
    make, calls = defined(version, name)
    for args in calls:
        plain, compiled = make(), WAYS[way](make(), args)
        for _ in range(2):
            expected, got = observe(plain, fresh(args)), observe(compiled, fresh(args))
            assert not difference(expected, got), difference(expected, got)


@pytest.mark.parametrize(("version", "name"), CASES, ids=[name for _, name in CASES])
def test_all_known(version, name):
    make, calls = defined(version, name)
    for args in calls:
        held = fresh(args)
        expected, got = observe(make(), fresh(args)), observe(hovis.specialize(make(), *map(hovis.const, held)), watch=(held, {}))
        assert not difference(expected, got), difference(expected, got)


class NoIterator:
    def __iter__(self):
        raise ValueError("no")


def over(items):
    return [sum(1 for item in items), {"a": 1}["b"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("items", [3, NoIterator(), [1]])
def test_frames_of_generator_expressions_in_tracebacks(way, items):
    expected, got = observe(over, (items,)), observe(WAYS[way](over, (items,)), (items,))
    assert not difference(expected, got), difference(expected, got)
    assert [frame for frame in got.frames if frame[0] == __file__] == [frame for frame in expected.frames if frame[0] == __file__]


def test_a_template_dissolves():
    make, _ = defined((3, 14), "matched")
    traced = hovis.trace(make(), *[hovis.Any] * make().__code__.co_argcount)
    named = {getattr(op.callee, "__name__", "") for op in traced.ops}
    assert not named & {"Template", "Interpolation", "make_template"}
    assert not [op for op in traced.ops if op.effect & Effect.OPAQUE and getattr(op.callee, "__name__", "") not in ("format", "type", "str")]


def test_restarts_end():
    make, _ = defined((3, 14), "raises in a generator")
    assert not hovis.trace(make(), hovis.Any).fallback


@pytest.mark.skipif(sys.version_info < (3, 15), reason="lazy imports came with 3.15")
@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_read_is_not_imported(way, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "lazy_inner.py").write_text("print('imported'); X = 5")
    (tmp_path / "lazy_outer.py").write_text("lazy import lazy_inner\nlazy from lazy_inner import X, missing\nZ = 1")
    text = """
lazy import lazy_inner
import lazy_outer
def looked_at(n):
    print('begin')
    return type(globals()['lazy_inner']).__name__, 'lazy_inner' in globals()
def taken(n):
    print('begin')
    from lazy_outer import X, Z
    from lazy_outer import lazy_inner as inner
    return X, Z, inner.X
def failing(n):
    print('begin')
    return getattr(lazy_outer, 'missing', 3)
"""
    for name in ("looked_at", "taken", "failing"):
        results = []
        for make in (lambda fn, args: fn, WAYS[way]):
            for module in ("lazy_inner", "lazy_outer"):
                sys.modules.pop(module, None)
            scope = types.ModuleType("newer").__dict__
            exec(compile(text, "<newer>", "exec"), scope)
            made = make(scope[name], (1,))
            results.append([observe(made, (1,)) for _ in range(2)])
        for expected, got in zip(*results, strict=True):
            assert not difference(expected, got), difference(expected, got)
