"""Functions of the standard library that are called while tracing: whatever they read may be replaced between two calls."""

import ast
import base64
import calendar
import colorsys
import difflib
import fnmatch
import html
import json
import os
import posixpath
import random
import re
import shlex
import statistics
import string
import sys
import textwrap
import urllib.parse
from types import FunctionType, ModuleType

import pytest

import hovis
from hovis.library.stdlib.compile_time_calls import AHEAD

EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "3"))

CALLS = {
    ast: {"literal_eval": ["[1, (2, -3.5), {'a': None}]"]},
    base64: {
        "b16decode": [b"AB"], "b16encode": [b"ab"], "b32decode": [b"MFRGG==="], "b32encode": [b"abc"], "b64decode": [b"YWJj"], "b64encode": [b"abc"],
        "urlsafe_b64decode": [b"YWJj"], "urlsafe_b64encode": [b"abc"], "a85encode": [b"abc"], "b85encode": [b"abc"],
    },
    calendar: {"isleap": [2024], "leapdays": [1900, 2024], "monthrange": [2024, 2], "weekday": [2024, 2, 29]},
    colorsys: {
        "hls_to_rgb": [0.1, 0.2, 0.3], "hsv_to_rgb": [0.1, 0.2, 0.3], "rgb_to_hls": [0.1, 0.2, 0.3], "rgb_to_hsv": [0.1, 0.2, 0.3],
        "rgb_to_yiq": [0.1, 0.2, 0.3], "yiq_to_rgb": [0.1, 0.2, 0.3],
    },
    difflib: {"get_close_matches": ["abc", ["abd", "x", "abcd"]]},
    fnmatch: {"translate": ["a*[b]?"]},
    html: {"escape": ["<a href='b'>"], "unescape": ["&lt;&#33;&amp"]},
    json: {"dumps": [{"a": [1, 2.5, None]}], "loads": ['{"a": [1, 2.5, null]}']},
    posixpath: {
        "basename": ["a/b"], "commonpath": [["/a/b", "/a/c"]], "dirname": ["a/b"], "isabs": ["/a"], "join": ["a", "b"], "normpath": ["a/../b"],
        "split": ["a/b"], "splitext": ["a/b.c"],
    },
    re: {"escape": ["a.b"]},
    shlex: {"join": [["a b", "c"]], "quote": ["a b"], "split": ["a 'b c' d"]},
    statistics: {
        "fmean": [[1, 2.5]], "mean": [[1, 2.5, 3]], "median": [[3, 1, 2]], "mode": [[1, 1, 2]], "pvariance": [[1, 2, 4]], "quantiles": [[1, 2, 3, 4]],
        "stdev": [[1, 2.5, 3]], "variance": [[1, 2, 4]],
    },
    string: {"capwords": ["ab cd"]},
    textwrap: {
        "dedent": ["  a\n  b"], "fill": ["a b c d e f", 5], "indent": ["a\nb", "> "], "shorten": ["a b c d e f", 7], "wrap": ["a b c d e f", 5],
    },
    urllib.parse: {
        "parse_qs": ["a=1&b=2"], "parse_qsl": ["a=1&b=2"], "quote": ["a b/c"], "quote_plus": ["a b"], "unquote": ["a%20b%c3%a9"],
        "unquote_plus": ["a+b"], "urlencode": [{"a": 1, "b": "c d"}], "urljoin": ["http://a/b/c", "d"],
    },
}  # fmt: skip
CASES = [(module, name, args) for module, names in CALLS.items() for name, args in names.items()]
ALSO = {"json": (json.decoder, json.encoder, json.scanner), "statistics": (sys.modules["fractions"],)}


def of_python():
    return {f"{fn.__module__}.{fn.__name__}" for fn in AHEAD.actions if isinstance(fn, FunctionType)}


def test_there_is_a_call_of_each_function():
    assert of_python() <= {f"{module.__name__}.{name}" for module, name, _ in CASES}


def changed(value):
    """Something else in place of value; None: nothing."""
    if isinstance(value, FunctionType | type(len)):
        return lambda *args, **named: "patched"
    if type(value) is re.Pattern:
        return re.compile("b" if type(value.pattern) is str else b"b")
    if type(value) in (str, bytes, tuple, list):
        return value[1:]
    if type(value) in (int, float, bool):
        return value + 1
    if type(value) in (dict, set, frozenset):
        return type(value)()
    if isinstance(value, type) and not issubclass(value, BaseException):
        return type("Patched", (), {})
    return None


def places(module):
    """What can be replaced: globals, attributes of classes, the contents of lists and dicts, the defaults of functions."""
    for one in (module, *ALSO.get(module.__name__, ())):
        for name, value in vars(one).items():
            if name.startswith("__") or isinstance(value, ModuleType):
                continue
            yield "attribute", one, name
            if type(value) in (list, dict):
                yield "contents", value, name
            if isinstance(value, FunctionType) and value.__defaults__:
                yield "attribute", value, "__defaults__"
            if isinstance(value, type) and value.__module__ == one.__name__:
                yield from (("attribute", value, at) for at, held in vars(value).items() if isinstance(held, FunctionType | re.Pattern))


def told(fn):
    try:
        return repr(fn(1))
    except Exception as error:
        return re.sub(" at 0x[0-9a-f]+", "", f"{type(error).__name__}: {error}")


def compare(fn, jitted, kind, holder, name):
    """Before, while and after something is replaced."""
    assert told(jitted) == told(fn)
    if kind == "contents":
        before = holder.copy()
        holder.clear()
    else:
        before = getattr(holder, name)
        other = changed(before)
        if other is None:
            return
        setattr(holder, name, other)
    try:
        first, second = told(jitted), told(jitted)
        expected = told(fn)
    finally:
        if kind == "attribute":
            setattr(holder, name, before)
        elif isinstance(holder, list):
            holder[:] = before
        else:
            holder.update(before)
    assert (first, second) == (expected, expected)
    assert told(jitted) == told(fn)


@pytest.mark.parametrize(("module", "name", "args"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_what_it_reads_may_be_replaced(module, name, args):
    space = {"module": module}
    exec(f"def call(x): return x, module.{name}(*{args!r})", space)
    found = list(places(module))
    drawn = random.Random(name).sample(found, min(EXAMPLES, len(found)))
    for kind, holder, at in drawn:
        compare(space["call"], hovis.jit(space["call"]), kind, holder, at)


def loaded(x):
    return x, json.loads('{"a": [1, 2]}')


def filled(x):
    return x, textwrap.fill("a b c d e f", 5)


def unescaped(x):
    return x, html.unescape("&amp;")


def dumped(x):
    return x, json.dumps({"a": "\u00e9"})


@pytest.mark.parametrize(
    ("fn", "kind", "holder", "name"),
    [
        (loaded, "attribute", json.JSONDecoder, "raw_decode"),
        (loaded, "attribute", json.decoder.JSONDecoder.decode, "__defaults__"),
        (loaded, "attribute", json._default_decoder, "scan_once"),
        (filled, "attribute", textwrap.TextWrapper, "_wrap_chunks"),
        (filled, "attribute", textwrap.TextWrapper, "wordsep_re"),
        (unescaped, "contents", html._html5, ""),
        (dumped, "attribute", json.encoder, "encode_basestring_ascii"),
    ],
)
def test_it_is_read_again(fn, kind, holder, name):
    compare(fn, hovis.jit(fn), kind, holder, name)


def test_digits_of_ints_are_limited_at_run_time():
    space = {"json": json, "ast": ast}
    exec(f"def call(x): return x, json.loads({'9' * 700!r}), ast.literal_eval({'9' * 700!r})", space)
    jitted, limit = hovis.jit(space["call"]), sys.get_int_max_str_digits()
    assert told(jitted) == told(space["call"])
    sys.set_int_max_str_digits(640)
    try:
        assert told(jitted) == told(space["call"])
        assert "Exceeds the limit" in told(jitted)
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("make", [hovis.jit, hovis.specialize], ids=["jit", "specialize"])
def test_the_program_itself_replaces_it(make):
    def call(x):
        first = textwrap.indent("a", "- "), calendar.monthrange(2023, 2)
        before = calendar.mdays[2]
        calendar.mdays[2] = x
        try:
            return first, calendar.monthrange(2023, 2)
        finally:
            calendar.mdays[2] = before

    assert make(call)(7) == call(7) == (("- a", (2, 28)), (2, 7))


def test_under_a_profiler_calls_stay():
    seen = []
    jitted = hovis.jit(loaded)
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    try:
        assert jitted(1) == loaded(1)
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
    assert any(op.callee is json.loads for op in jitted.traces[-1].ops)


def test_what_takes_long_to_compare_is_left_to_run_time():
    jitted = hovis.jit(unescaped)
    assert jitted(1) == unescaped(1)
    assert any(op.callee is html.unescape for op in jitted.traces[-1].ops)
    assert not any(op.callee is html.unescape for op in hovis.trace(unescaped, hovis.Int).ops)
