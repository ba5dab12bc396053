"""Names of builtins in the text of residuals: what a program calls so, and what it puts in their places."""
import builtins
import keyword
import linecache
import os
import random
import re
import sys
import types

import pytest

import hovis
from hovis import Any, Int

#: A function that has most of what the text writes by itself, and three places for a name.
PROGRAM = '''
def FUNCTION(PARAMETER, y):
    VARIABLE = [*PARAMETER, 1]
    b = {"k": y, **{"j": 2}}
    c = (*VARIABLE, y), VARIABLE[1:3], VARIABLE[y:], tuple_(VARIABLE), {*VARIABLE}, NAN if y else 1j
    h = None
    try:
        h = b["nope"]
    except KeyError_ as error:
        h = error.args
    finally:
        y += 1
    try:
        h = (h, PARAMETER.nope)
    except BaseException_ as error:
        h = (h, type_(error).__name__)
    i = [v for v in zip_(VARIABLE, range_(9)) if v]
    t = 0
    for k in range_(y):
        t += k * y
    u = set_()
    for k in PARAMETER:
        u.add(k)
    n = 0
    while n < y:
        h, n = (h, n), n + 1
    n = 0
    while True:
        n += 1
        try:
            if n > y:
                break
        except ValueError_:
            continue
    steps = iter_(PARAMETER)
    z = next_(steps, None)
    for one in steps:
        z = one, z
    class Made:
        a = 1
    def inner(w=y):
        return VARIABLE, w, y
    match PARAMETER:
        case [first, *rest]:
            m = first, rest
        case _:
            m = None
    made = Made()
    made.at = y
    return VARIABLE, b, c, len_(u), h, i, t, n, f"{y!r:>5}{VARIABLE}", z, inner(), m, made.at, isinstance_(y, int_), 3 in PARAMETER, abs_(y), print_, slice_, slice_(1, 2)
'''
HELD = ("len", "zip", "range", "isinstance", "int", "KeyError", "BaseException", "ValueError", "set", "iter", "next", "abs", "print", "slice", "tuple", "type")
PLACES = ("FUNCTION", "PARAMETER", "VARIABLE")
NAMES = [name for name in dir(builtins) if name.isidentifier() and not keyword.iskeyword(name) and (not name.startswith("_") or name in ("__import__", "__build_class__"))]
FEW = ("BaseException", "END", "TypeError", "range", "set", "slice", "type")


def chosen():
    count = int(os.environ.get("HOVIS_EXAMPLES", 0))
    others = random.Random(sys.version_info.minor).sample(NAMES, min(len(NAMES), 2 + count // 5))
    return sorted({*FEW, *others})


def outcome(fn, *args):
    try:
        return re.sub("0x[0-9a-f]+", "", repr(fn(*args)))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", chosen())
def test_what_a_program_calls_like_a_builtin(name, place, tmp_path):
    source = PROGRAM.replace(place, name)
    for other in PLACES:
        source = source.replace(other, other.lower())
    file = f"<{place.lower()} {name}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    module = {"__name__": "program", "NAN": float("nan"), **{f"{held}_": getattr(builtins, held) for held in HELD}}
    exec(compile(source, file, "exec"), module)
    fn = module[name if place == "FUNCTION" else "function"]
    for specs in ((list, Int), (Any, Any)):
        traced = hovis.trace(fn, *specs)
        loaded = traced.text().load()
        traced.save(tmp_path / "written.py", refuse=True)
        written = hovis.load(tmp_path / "written.py")
        for x in ([1, 2], "ab", []):
            for y in (3, 0, True):
                wanted = outcome(fn, x, y)
                assert outcome(loaded, x, y) == wanted
                told = outcome(written, x, y)
                assert told == wanted or (specs[0] is list and told[0] == "TypeError" and "it takes no other arguments" in told[1])


def counted(xs, n):
    print("counted", len(xs))
    total = 0
    for x in sorted(xs):
        total += abs(x) * n
    return total, sum(xs), [*range(n)], isinstance(xs, list)


REPLACED = ("abs", "sum", "sorted", "print", "range")


@pytest.mark.parametrize("when", ["before the text is loaded", "after that"])
def test_what_is_put_in_the_place_of_a_builtin_is_not_what_the_text_means(when, monkeypatch, capsys):
    traced = hovis.trace(counted, Any, Any)
    compiled, text = traced.compile(), traced.text()
    loaded = text.load() if when == "after that" else None
    wanted, told = counted([3, -1], 2), capsys.readouterr().out
    for name in REPLACED:
        monkeypatch.setattr(builtins, name, lambda *args: pytest.fail("this is another one"))
    loaded = loaded or text.load()
    found = []
    for residual in (compiled, loaded):
        found.append((residual([3, -1], 2), capsys.readouterr().out))
    monkeypatch.undo()
    assert found == [(wanted, told)] * 2


def test_what_was_in_the_place_of_a_builtin_is_called_by_what_was_traced_then(monkeypatch):
    monkeypatch.setattr(builtins, "abs", lambda x: ("another", x))
    module = types.ModuleType("shadowing")
    exec("def sum(xs):\n    return 'its own', xs\ndef f(xs):\n    return abs(xs[0]), sum(xs), max(xs)\n", vars(module))
    text = hovis.trace(module.f, list).text()
    monkeypatch.undo()
    assert text.load()([-3, 2]) == (("another", -3), ("its own", [-3, 2]), 2)
