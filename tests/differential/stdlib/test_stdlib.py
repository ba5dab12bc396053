"""Functions of the standard library, jitted and specialized, on their usual inputs and on odd ones, beside themselves.

Each case is a function and the calls of it; one jitted function serves them all, and each call is made twice.
"""
from __future__ import annotations

import ast
import base64
import calendar
import collections
import colorsys
import copy
import csv
import dataclasses
import difflib
import email.utils
import enum
import fnmatch
import fractions
import functools
import gettext
import graphlib
import html
import importlib
import io
import ipaddress
import json
import os
import posixpath
import pprint
import random
import re
import reprlib
import shlex
import statistics
import string
import sys
import textwrap
import urllib.parse

import pytest

import hovis
from hovis import Any
from tests.differential.harness.compare import fresh, observe, same


def pure(name, *accelerators):
    """A copy of a module, imported without the C code that would stand in for its Python."""
    held = {n: sys.modules.pop(n, None) for n in (name, *accelerators)}
    for n in accelerators:
        sys.modules[n] = None
    try:
        return importlib.import_module(name)
    finally:
        for n, module in held.items():
            sys.modules.pop(n, None)
            if module is not None:
                sys.modules[n] = module


heapq = pure("heapq", "_heapq")
bisect = pure("bisect", "_bisect")
Fraction = fractions.Fraction
try:
    datetime = importlib.import_module("_pydatetime")
except ImportError:
    datetime = pure("datetime", "_datetime")

TEXT = "The quick brown fox jumped over the lazy dog, and then -- well-known as it is -- it slept for\n a very-long-hyphenated-word.\n\n  and\ttabs  "
NUMBERS = [1.5, 2.5, 2.5, 2.75, 3.25, 4.75]
URL = "http://user:pw@host.com:80/p/a;th?q=1&r=a%20b#frag"
CASES: dict[str, tuple] = {}


def case(fn, *calls):
    CASES[f"{fn.__module__}.{fn.__qualname__}"] = fn, calls


def calls(*all_of_them):
    def mark(fn):
        case(fn, *all_of_them)
        return fn
    return mark


# ------------------------------------------------------------------------------------------------- text

case(textwrap.wrap, (TEXT, 20), ("", 10), ("aaaaaaaaaaaaaaaaaaaaaaaaaa b", 5), (TEXT, 0))
case(textwrap.fill, (TEXT, 30), (None,))
case(textwrap.dedent, ("  a\n    b\n  c\n",), ("\ta\n  b",), ("",))
case(textwrap.indent, ("a\n\nb\n", "> "), ("", "-"), ("a", 3))
case(textwrap.shorten, ("Hello  world!", 12), ("Hello  world!", 11), ("Hello world", 3))
case(string.capwords, ("hello  world foo",), ("a-b c", "-"), ("",))
case(html.escape, ("<a href='x'>&</a>",), ("<", False))
case(shlex.quote, ("a b",), ("safe",), ("",), ("it's",))
case(re.escape, ("a.b*c",), (b"x-y",), (3,))
case(re._compiler.compile, ("a+b|[c-e]",), ("(",), (b"x(?P<n>y)?",), (3,))
case(fnmatch.translate, ("*.py[co]",), ("[!a]?",), ("",))
case(json.decoder.py_scanstring, ('"a\\n\\u00e9\\ud83d\\ude00"', 1), ('"unterminated', 1), ('"bad \\x"', 1), ('"\x01"', 1, False))
case(json.encoder.py_encode_basestring_ascii, ('abc é \U0001f600 "\\\n',), ("",))
case(reprlib.repr, ([1] * 10,), ({"a": "x" * 50},), ("x" * 50,))
case(email.utils.parseaddr, ('"A B" <a@b.c>',), ("x",), ("",))
case(email.utils.parsedate, ("Mon, 20 Nov 1995 19:12:08 -0500",), ("bad",))


@calls(("$who likes ${what} $$5", {"who": "tim", "what": "x"}), ("$a", {}), ("bad $", {}), ("", {}))
def template(text, names):
    return string.Template(text).substitute(names)


@calls(("{x}|{x!s:>8}|{x!r}", "v"), ("{x.real}", 3), ("{x[0]}", [7]), ("{y}", 1))
def formatter(text, x):
    return string.Formatter().format(text, x=x)


@calls(({"b": [1, 2.5, None, True], "a": {}},), ([],), ({1: (1, 2)},), ("text",), ({(1, 2): 3},))
def iterencode(value):
    encode = json.encoder._make_iterencode({}, repr, json.encoder.py_encode_basestring_ascii, None, float.__repr__, ": ", ", ", True, False, False)
    return "".join(encode(value, 0))


class PyDecoder(json.JSONDecoder):
    def __init__(self):
        super().__init__()
        self.parse_object, self.parse_array = json.decoder.JSONObject, json.decoder.JSONArray
        self.parse_string = json.decoder.py_scanstring
        self.scan_once = json.scanner.py_make_scanner(self)


DECODER = PyDecoder()


@calls(('{"a": [1, 2.5, true, null, "x\\u0041"], "b": {}}',), ("[]",), ("[1,",), ("",), ("1 2",), ('{"a" 1}',), ("NaN",), ("[[[[1]]]]",))
def decode(text):
    return DECODER.decode(text)


@calls(("hello world 42",), ("",))
def substitute(text):
    return re.sub(r"(\w+) (\w+)", r"\2 \1", text), re.split(r"\W+", text), re.findall(r"\d+", text)


@calls((["one\n", "two\n", "three\n"], ["ore\n", "tree\n", "emu\n"]), ([], []))
def ndiff(a, b):
    return list(difflib.ndiff(a, b))


@calls((["a", "b", "c"], ["a", "x", "c", "d"]), ([], []), (["q"], ["q"]))
def unified(a, b):
    return list(difflib.unified_diff(a, b, "x", "y", lineterm=""))


@calls(("abcd", "bcde"), ("", ""), ([1, 2], [2, 3]))
def ratio(a, b):
    matcher = difflib.SequenceMatcher(None, a, b)
    return matcher.ratio(), matcher.quick_ratio(), matcher.get_opcodes(), matcher.get_matching_blocks()


case(difflib.get_close_matches, ("appel", ["ape", "apple", "peach", "puppy"]), ("x", []), ("x", ["y"], 0), ("a", ["a"], 1, 2.0))


# ------------------------------------------------------------------------------------------------- numbers

for fn in (statistics.mean, statistics.fmean, statistics.median, statistics.mode, statistics.stdev, statistics.pvariance):
    case(fn, (NUMBERS,), ([1, 2, 3, 4],), ([],), ([5],), ([Fraction(1, 2), Fraction(3, 4)],))
case(statistics.quantiles, (NUMBERS,), ([1, 2, 3],), ([],))
case(statistics.linear_regression, ([1, 2, 3], [2, 4.5, 6]), ([1], [1]), ([1, 1], [1, 2]))
for fn in (colorsys.rgb_to_yiq, colorsys.rgb_to_hls, colorsys.hls_to_rgb, colorsys.rgb_to_hsv, colorsys.hsv_to_rgb):
    case(fn, (0.1, 0.5, 0.9), (0.0, 0.0, 0.0), (1, 1, 1), ("a", 1, 2))
case(calendar.monthrange, (2024, 2), (2023, 13), (1, 1))
case(calendar.weekday, (2024, 1, 1), (0, 1, 1))


@calls((1, 2, 3, 4), (-7, 3, 5, -9), (1, 0, 1, 1), (0, 5, 1, 3), (1, 2, 0, 1))
def fraction(a, b, c, d):
    x, y = Fraction(a, b), Fraction(c, d)
    return x + y, x - y, x * y, x / y, x // y, x % y, -x, abs(x), x < y, x == y, hash(x), str(x), float(x), round(x), int(y), x**2


@calls(("3/4",), (" -1.25e2 ",), ("x",), (0.5,), (float("nan"),), (10**30,))
def fraction_of(value):
    return Fraction(value)


@calls((2024, 2, 29), (2023, 2, 29), (1, 1, 1), (9999, 12, 31), ("x", 1, 1))
def date(year, month, day):
    x = datetime.date(year, month, day)
    return x.toordinal(), x.weekday(), x.isoformat(), tuple(x.isocalendar()), (x + datetime.timedelta(days=40)).isoformat(), x.replace(day=1).isoformat()


@calls((1, 2, 3), (-1, 0, 5), (0, 0, 0), (0.5, 1.5, 2.5), (10**10, 0, 0))
def duration(days, seconds, micros):
    t = datetime.timedelta(days, seconds, micros)
    return str(t), repr(t), (t * 2).days, (-t).seconds, t.total_seconds(), bool(t), t < t * 2


@calls(("gauss", (0, 1)), ("choice", ([1, 2, 3],)), ("choice", ([],)), ("randrange", (3, 9)), ("randrange", (0,)), ("sample", ([1, 2, 3, 4], 2)))
def drawn(name, given):
    source = random.Random(7)
    return [getattr(source, name)(*given) for _ in range(3)]


@calls(("n != 1", 1), ("n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2", 21), ("(n", 1))
def plural(rule, n):
    return gettext.c2py(rule)(n)


# ------------------------------------------------------------------------------------------------- containers

case(heapq.heappop, ([1, 2, 3],), ([],))
case(heapq.heappushpop, ([1, 2, 3], 0), ([1, 2, 3], 2), ([], 1))
case(heapq.nlargest, (2, [3, 1, 4, 1, 5]), (0, [1]), (1, [1, 2]), (5, [2, 1]), (2, []))
case(heapq.nsmallest, (2, [3, 1, 4, 1, 5]), (1, [1, 2]), (2, ["b", "a", 1]))
case(bisect.bisect_left, ([1, 2, 2, 3], 2), ([], 1), (["a", "b"], "ab"), ([1, 2], "x"), ([1, 2, 3], 2, -1))
case(bisect.insort, ([1, 3], 2), ([], 1))
case(copy.deepcopy, ([1, [2, {"a": (3, [4])}]],), ((1, 2),), ({1, 2},), (None,))
case(pprint.pformat, ([1, {"a": list(range(30))}],), ("x",), ({"b": 1, "a": (1,)},))


@calls(([3, 1, 2],), ([],), ([5, 5, 1, "a"],), ([(2, "b"), (1, "z")],))
def heapsorted(items):
    heap = []
    for item in items:
        heapq.heappush(heap, item)
    return [heapq.heappop(heap) for _ in range(len(heap))]


@calls(([1, 3, 5], [2, 4]), ([], []), ([1], ["a"]))
def merged(a, b):
    return list(heapq.merge(a, b)), list(heapq.merge(a, b, key=str, reverse=True))


@calls(({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}},), ({},), ({"a": {"b"}, "b": {"a"}},))
def ordered(graph):
    return sorted(graphlib.TopologicalSorter(graph).static_order())


@calls(({"a": 1}, {"b": 2}), ({}, {}))
def chained(a, b):
    chain = collections.ChainMap(a, b)
    chain["z"] = 1
    return dict(chain), chain.maps, len(chain), "q" in chain, chain.new_child().parents == chain, chain["a"]


@calls(({"a": 1},), ({},))
def user_dict(items):
    made = collections.UserDict(items)
    made["x"] = 1
    return dict(made), len(made), "x" in made, made.get("y", 3), made | {"k": 1}


@calls(("abracadabra",), ("",), ([1, 1, 2],))
def counted(items):
    counts = collections.Counter(items)
    return counts.most_common(2), dict(counts + counts), counts - collections.Counter("a")


# ------------------------------------------------------------------------------------------------- classes


@dataclasses.dataclass(order=True)
class Record:
    a: int
    b: list = dataclasses.field(default_factory=list)


@calls((1,), ("s",), (2.5,))
def dataclass(a):
    record = Record(a)
    record.b.append(a)
    return dataclasses.asdict(record), dataclasses.astuple(record), dataclasses.replace(record, a=9), repr(record), record < Record(a, [a])


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Right(enum.Flag):
    R = 4
    W = 2
    X = 1


@calls((1,), (2,), (7,), ("x",))
def enumeration(value):
    color = Color(value)
    return color, color.name, color is Color.RED, list(Color), Color["RED"], color == Color.GREEN, repr(color)


@calls((4,), (0,), (7,))
def flags(value):
    right = Right(value)
    return right, right | Right.X, right & Right.R, ~right, Right.R in right, bool(right)


@functools.singledispatch
def kind(x):
    return "object"


kind.register(int, lambda x: "int")
kind.register(list, lambda x: "list")


@calls((1,), ([],), ("s",), (True,))
def dispatched(x):
    return kind(x)


@functools.total_ordering
class Version:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        return self.v < other.v

    def __eq__(self, other):
        return self.v == other.v


@calls((1, 2), ("a", "b"), (1, "x"))
def compared(a, b):
    x, y = Version(a), Version(b)
    return x < y, x <= y, x > y, x >= y, x == y


# ------------------------------------------------------------------------------------------------- names and formats

for fn in (posixpath.normpath, posixpath.splitext, posixpath.basename, posixpath.split):
    case(fn, ("/a/../b//c.txt",), ("",), (b"/x/y",), (3,))
case(posixpath.join, ("a", "b", "/c", "d"), ("",), ("a", b"b"), ("a/",))
case(posixpath.commonpath, (["/usr/lib", "/usr/local"],), ([],), (["a", "/b"],))
case(posixpath.relpath, ("/a/b", "/a/c"), ("",))
case(urllib.parse.urljoin, ("http://a/b/c/d;p?q", "../g"), ("http://a", "//x/y"), ("", "x"))
case(urllib.parse.quote, ("a b/ü",), ("",), (b"\xff",))
case(urllib.parse.unquote, ("a%20b%C3%BC",), ("%zz",), ("",))
case(urllib.parse.urlencode, ({"a": 1, "b": [1, 2]},), ({"a": 1, "b": [1, 2]}, True), ([("x", "y z")],), (5,))
case(base64.b32decode, (b"NBSWY3DP",), (b"1",))
case(base64.a85encode, (b"hello world",), (b"",), ("str",))
case(ipaddress.ip_address, ("192.168.0.1",), ("2001:db8::1",), ("999.1.1.1",), (3232235521,), (b"\x01\x02\x03\x04",), ("::ffff:1.2.3.4",))
case(ast.literal_eval, ("[1, 'a', (2.5, None), {1: {2}}]",), ("-1+2j",), ("",), ("(",))


@calls(("192.168.0.0/29",), ("10.0.0.0/33",), ("192.168.0.1/24",))
def network(text):
    net = ipaddress.ip_network(text)
    return net.num_addresses, str(net), net.prefixlen, str(net.netmask), [str(host) for host in net.hosts()]


@calls(("a 'b c' \"d\\\"e\" f#g",), ("a 'b",), ("",))
def words(text):
    return shlex.split(text)


@calls(("a,b\n1,2\n3\n",), ("",))
def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@calls(("x = 1 + 2*3",), ("def f(a, *b, c=1): return [i for i in a if i]",))
def unparsed(text):
    return ast.unparse(ast.parse(text))


# ------------------------------------------------------------------------------------------------- the test


#: Instructions that a trace may take here: what has no end is left to run time the sooner.
FUEL = 250_000 if "HOVIS_EXAMPLES" in os.environ else 60_000


@pytest.mark.parametrize("name", CASES)
def test_jitted(name):
    fn, given = CASES[name]
    jitted = hovis.jit(fn, fuel=FUEL)
    for args in given:
        expected = observe(fn, fresh(args), seconds=300)
        for _ in range(2):
            same(expected, observe(jitted, fresh(args), seconds=300), f"{name}{args!r}")


KNOWN_BY_TYPE = (int, float, str, bytes)


@pytest.mark.parametrize("name", CASES)
def test_specialized(name):
    """By the exact types of numbers and texts; what they do not fit goes to the original."""
    fn, given = CASES[name]
    residuals = {}
    for args in given:
        specs = tuple(type(a) if type(a) in KNOWN_BY_TYPE else Any for a in args)
        if specs not in residuals and len(residuals) < 2:
            residuals[specs] = hovis.options(fuel=FUEL).specialize(fn, *specs)
        expected = observe(fn, fresh(args), seconds=300)
        for specs, residual in residuals.items():
            if len(specs) == len(args):
                same(expected, observe(residual, fresh(args), seconds=300), f"{name}{args!r} by {specs}")
