"""Every public method and operator of every builtin container, on receivers of which more or less is known, against CPython.

The receiver is written down in the function (all of it known), made of unknown elements, an unknown value of a known
class, or unknown altogether. Each call stands in a `try`, so that what it leaves behind when it raises is seen as well. `HOVIS_EXAMPLES=7200` tries all.
`container_cases.txt` holds whole programs; what stands above each is what it is called with.
"""
from __future__ import annotations

import builtins
import linecache
import math
import os
import pathlib
import re
import zlib

import pytest

import hovis
from tests.differential.harness.compare import difference, fresh, observe

EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "60"))

#: class → the source of an object with {} for its items, and the items.
RECEIVERS = {
    "list": ("[{}]", [["3", "1", "2"], ["'b'", "1.0", "True"]]),
    "tuple": ("({},)", [["3", "1", "2"], ["'b'", "1.0", "True"]]),
    "set": ("set([{}])", [["3", "1", "2"], ["'b'", "9"]]),
    "frozenset": ("frozenset([{}])", [["3", "1", "2"], ["'b'", "9"]]),
    "dict": ("dict([{}])", [["('k', 3)", "('m', 1)"], ["(1, 'x')", "(2, 'y')"]]),
    "str": ("{}", [["'hello World'"], ["'a,b,,ç'"]]),
    "bytes": ("{}", [["b'hello World'"], ["b'a,b,,c'"]]),
    "bytearray": ("bytearray({})", [["b'hello World'"]]),
    "range": ("range({})", [["0", "10", "3"], ["5"]]),
    "slice": ("slice({})", [["1", "10", "3"]]),
}

SPECIAL = "getitem setitem delitem contains len iter reversed add iadd mul imul rmul eq ne lt le gt ge or ror ior and iand sub isub xor ixor mod repr str format".split()

#: What every method is called with; most of it does not fit.
ANYTHING = ["()", "(3)", "(3, 1)", "('a')", "(None)", "(x)", "([7, 3])", "('k', 5)", "((1, 2))", "({'k': 9})", "({3, 8})", "(-1)", "(10 ** 20)", "(2.0)", "(b'l')", "(zz=1)", "(iter([5, 6]))", "([['k', 1]])"]

_SLICES = ["(slice(None, None, -1))", "(slice(0, 2, 0))", "(slice(5, 1, -2))", "(slice(1, None))"]
_TEXT = {
    "center": ["(20, '*')"], "count": ["('l', 4)", "('')"], "encode": ["('ascii')", "('latin-1', 'replace')", "('nope')"], "find": ["('l', 4, -1)", "('l', None)"],
    "format": ["(1, k=2)"], "index": ["('l', 4)", "('zz')"], "join": ["(['a', 'b'])", "(['a', 1])", "(str(i) for i in range(3))", "([])"], "ljust": ["(20, '*')"],
    "maketrans": ["('ab', 'cd', 'e')", "({'a': 1})"], "partition": ["('o')", "('')"], "replace": ["('l', 'LL', 1)", "('', '-')"], "rfind": ["('l', 4)"], "rindex": ["('l')"],
    "rjust": ["(20, '*')"], "rpartition": ["(',')"], "rsplit": ["(',', 1)"], "split": ["(',')", "('')", "(None, 1)", "(sep='o', maxsplit=1)"], "splitlines": ["(True)"],
    "startswith": ["(('x', 'he'))", "('l', 2, 3)"], "endswith": ["(('x', 'ld'))"], "strip": ["('hd')"], "translate": ["({104: 'H', 108: None})"], "zfill": ["(20)"],
    "removeprefix": ["('he')"], "removesuffix": ["('ld')"], "expandtabs": ["(tabsize=2)"], "__getitem__": _SLICES, "__format__": ["('>20')", "('x')"], "__mod__": ["((1,))"],
}
_BYTES = {name: [re.sub("'([^']*)'", r"b'\1'", call) for call in calls] for name, calls in _TEXT.items() if name not in ("encode", "format", "__format__")}
_BYTES |= {"decode": ["('ascii')", "('nope')"], "hex": ["(':')"], "fromhex": ["('00ff')", "('zz')"]}
_SETS = {name: ["([3], [1])", "(frozenset([1, 9]))", "(set())"] for name in ("union", "intersection", "difference", "update", "intersection_update", "difference_update")}
_SETS |= {f"__{name}__": ["({3})", "(frozenset([1, 9]))", "({1, 2, 3})"] for name in ("or", "and", "sub", "xor", "le", "lt", "ge", "gt", "eq", "ne", "ior", "iand", "isub", "ixor")}
_SEARCHES = {"index": ["(1, 1)", "(1, -2, -1)", "(1.0)", "(True)"], "count": ["(1.0)", "(True)"], "__getitem__": _SLICES}

#: class → method → further arguments that suit it.
FITTING: dict[str, dict[str, list[str]]] = {
    "list": _SEARCHES | {
        "sort": ["(reverse=True)", "(key=str)", "(key=lambda v: 0)", "(key=lambda v: str(v), reverse=True)", "(key=len)"], "__delitem__": _SLICES,
        "__setitem__": ["(slice(0, 1), 'ab')", "(slice(None, None, 2), [7, 8])", "(slice(None), x)", "(slice(0, 2), iter([4]))", "(-1, 5)"],
    },
    "tuple": _SEARCHES,
    "dict": {
        "fromkeys": ["([1, 2], 3)", "('ab')"], "update": ["(a=1)", "({'k': 2}, m=3)", "([('k', 1)], k=2)", "([(1, 2, 3)])"], "get": ["('k')", "(1.0)", "([])", "('no', 7)"],
        "pop": ["('k')", "(1.0, 2)", "([])"], "setdefault": ["('k')", "('no', [])", "(1.0, 'q')"], "__getitem__": ["('k')", "(True)", "([])"], "__contains__": ["('k')", "(1.0)", "([])"],
        "__setitem__": ["('k', 3)", "(1.0, 2)", "([], 1)"], "__delitem__": ["('k')", "(1.0)"], "__or__": ["({'z': 1, 'k': 2})"], "__ior__": ["([('a', 1)])"], "__eq__": ["({'m': 1.0, 'k': 3})"],
    },
    "set": _SETS, "frozenset": _SETS, "str": _TEXT, "bytes": _BYTES, "bytearray": _BYTES, "range": {"__getitem__": _SLICES, "__eq__": ["(range(0, 10, 3))"]}, "slice": {"indices": ["(5)", "(-1)"]},
}

#: Expressions and statements for receivers of every class.
OPERATORS = """
x + x; x * 2; 2 * x; x == x; x != x; x < x; len(x); not x; list(x); tuple(x); set(x); sorted(x); sorted(x, reverse=True); sorted(x, key=str); sum(x); min(x); max(x, key=str); any(x)
[*x, 1]; {*x}; list(reversed(x)); list(zip(x, x)); str(x); f'{x!r:>20}'; '%s' % (x,); hash(x); iter(x) is iter(x); next(iter(x), 'd'); 1 in x; 'a' in x; [] in x; x in [x]; x is x
x and 1; x[0]; x[-1]; x[100]; x[True]; x['a']; x[::-1]; x[1:]; x[::0]; x[None]; x == [3, 1, 2]; x < [3, 2]; x | x; x & {3}; x - x; x ^ x; x % 1; -x; {a: 1 for a in x}; ''.join(x); dict(x)
(lambda a, *b: (a, b))(*x); x.nosuch; [x, x][0] is x; x in {1: x}.values(); [x] == [x]; (x, 1) < (x, 2); [x].index(x); {'a': x} == {'a': x}; bool(x); repr([x])
""".replace("\n", ";").split(";")
STATEMENTS = """
x += [1]; x += x; x *= 2; x |= {5}; x &= {3}; x -= {3}; del x[0]; del x[::2]; del x['k']; x[0] = 7; x['k'] = 7; x[1:2] = 'ab'; x[::2] = [0]; x[1:1] = x; x[0] += 1; a, *r = x; *r, b = x; a, b, c = x
for i in x: x.append(i) if len(x) < 9 else None; for i in x: x.add(99); for i in x: x['zz'] = 1; for i in x: del x[i]; for i in x: x.remove(i); for i in x: x.clear(); for k in x: x[k] = 0
for k in list(x): del x[k]; t = (x,); t[0] += [5]; r = x[0] = 5; x.append(x); x[0] = x; x['me'] = x
""".replace("\n", ";")

#: Iterators and views show themselves in what they give.
SHOWN = "[type(r).__name__, *r] if 'iterator' in type(r).__name__ or type(r).__name__ in ('reversed', 'dict_keys', 'dict_values', 'dict_items') else r"


def public_methods(cls: str) -> list[str]:
    there = dir(getattr(builtins, cls))
    return [name for name in there if not name.startswith("_")] + [f"__{name}__" for name in SPECIAL if f"__{name}__" in there]


def statements(cls: str):
    for name in public_methods(cls):
        for call in [*FITTING[cls].get(name, []), *ANYTHING]:
            yield f"r = x.{name}{call}"
    yield from (f"r = {text.strip()}" for text in OPERATORS if text.strip())
    yield from (text.strip().replace("|~", ";") for text in STATEMENTS.replace("(x,); t[0]", "(x,)|~ t[0]").split(";") if text.strip())


def program(text: str, name: str = "<program>"):
    """The function f of a source text, which tracebacks can quote."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {"__name__": __name__}
    exec(compile(text, name, "exec", dont_inherit=True), namespace)
    return namespace["f"]


BODY = """
    a = b = c = r = t = None
    same = x
    try:
        {}
    except Exception as e:
        r = e
    return {}, x, same, a, b, c
"""


def splits(cls: str, items: list[str], statement: str):
    """The program with more or less known of the receiver: parameters, specs, arguments."""
    form = RECEIVERS[cls][0]
    body = BODY.format(statement, SHOWN)
    values = [eval(item) for item in items]
    names = [f"p{k}" for k in range(len(items))]
    whole = eval(form.format(", ".join(items)))
    yield f"def f():\n    x = {form.format(', '.join(items))}{body}", [], ()
    made = f"def f({', '.join(names)}):\n    x = {form.format(', '.join(names))}{body}"
    yield made, [type(v) for v in values], tuple(values)
    yield made, [hovis.Any] * len(values), tuple(values)
    yield f"def f(x):{body}", [type(whole)], (whole,)
    yield f"def f(x):{body}", [hovis.Any], (whole,)


def plainly(outcome) -> str:
    """Without addresses, and without the class that a method complains for when it is given too much."""
    text = re.sub("0x[0-9a-f]+", "0x", "\n".join(outcome.lines()))
    return re.sub(r"(\w+\.)?(\w+\(\) takes)", r"\2", text)


def disagreement(text: str, specs, args) -> str | None:
    """How the residual differs from CPython."""
    fn = program(text)
    expected, got = observe(fn, fresh(args)), observe(hovis.specialize(fn, *specs), fresh(args))
    seen = difference(expected, got)
    return f"{text}{specs}\n{seen}" if seen and plainly(expected) != plainly(got) else None


#: One in so many of the calls that fit is tried, and of those that do not: others for each class, method and split.
FITS, OTHERS = max(1, 960 // EXAMPLES), max(1, 7200 // EXAMPLES)


@pytest.mark.parametrize("cls", RECEIVERS)
def test_methods(cls):
    wrong = []
    for which, items in enumerate(RECEIVERS[cls][1]):
        for statement in statements(cls):
            for split, (text, specs, args) in enumerate(splits(cls, items, statement)):
                drawn = zlib.crc32(f"{cls}{which}{statement}{split}".encode())
                if drawn % (OTHERS if any(statement.endswith(call) for call in ANYTHING) else FITS):
                    continue
                seen = disagreement(text, specs, args)
                wrong += [seen] if seen else []
    assert not wrong, "\n".join(wrong[:5])


CASES = [case for case in (pathlib.Path(__file__).parent / "container_cases.txt").read_text().split("\n\n\n") if case.strip()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "case")
def test_programs(case):
    head, _, text = case.strip().partition("\n")
    calls = eval(head.removeprefix("# "), {"nan": math.nan, "inf": math.inf})
    fn = program(text)
    for k, args in enumerate(calls):
        expected = observe(fn, fresh(args))
        ways = [[type(a) for a in args], [hovis.Any] * len(args), None]
        for specs in ways[k % 2 :: 2] if k else ways:
            ours = fresh(args)
            residual = hovis.specialize(fn, *(map(hovis.const, ours) if specs is None else specs))
            got = observe(residual, () if specs is None else ours, watch=(ours, {}))
            seen = difference(expected, got)
            assert not seen or plainly(expected) == plainly(got), f"{text}\n{args} {specs}\n{seen}"
