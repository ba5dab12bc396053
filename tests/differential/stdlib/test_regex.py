"""Regular expressions, known and unknown, through specialize and jit beside CPython."""
from __future__ import annotations

import re
import string
import warnings

import pytest

import hovis
from hovis import Any, Int, Str, const
from hovis.lattice import Const, Refined, contains
from hovis.library.stdlib import regex, regex_matches
from tests.differential.harness.compare import fresh, observe, same

PAIR = re.compile(r"(?P<key>\w+)=(?P<value>\d+)?(?:;(x)|,(y))?")
WORD = re.compile(rb"[a-z]+")
TABLE = str.maketrans({"a": "b", "c": None, "d": 101})


def parts(text):
    m = PAIR.match(text)
    if m is None:
        return "no"
    return m.group(), m.group(1).upper(), m.group("value"), m["key"], m[2], m.group(1, 3), m.groups(), m.groups("-"), m.groupdict(), m.start(1), m.end(), m.span("value"), m.re is PAIR, m.string, m.pos, m.endpos, m.lastindex, m.lastgroup


def by_truth(text):
    if m := re.search("(a+)(b)?", text, re.IGNORECASE | re.MULTILINE):
        return m, m[0], not m, bool(m)
    return not m


def misused(text):
    m = re.match("(a)", text)
    found = []
    for group in (1, 2, "x", -1):
        try:
            found.append(m[group])
        except IndexError as error:
            found.append(repr(error))
        except TypeError as error:
            found.append(type(error))
        except AttributeError as error:
            found.append(str(error))
    return found


def replaced(text):
    return PAIR.sub(lambda m: m["key"][::-1], text), PAIR.subn(lambda m: None, text), re.sub("x*", lambda m: "-", text, 2), re.sub("b", lambda m: "-", text, -1), re.sub("b", lambda m: "-", text, count=-1), re.sub("b", r"<\g<0>>", text)


def replaced_wrongly(text):
    return re.sub("a", lambda m: 3, text)


def raised_inside(text):
    def raising(m):
        print(m.span())
        if m.start():
            raise KeyError(m.group())
        return ""
    return re.sub(".", raising, text)


def taken_apart(text):
    return re.split(r"\s+", text), re.split("(a)|b", text, 1), re.findall("a|b", text), re.findall("(a)(b)?", text), [m.span() for m in re.finditer("a", text)]


def fresh_each_time(text):
    a, b = re.match("a", text), re.match("a", text)
    return a is b, a == a, a


def of_bytes(data):
    return WORD.match(data), WORD.findall(data), WORD.sub(b"-", data)


def mixed(data):
    return PAIR.match(data)


def template(text, names):
    return string.Template(text).substitute(names)


def safely(text, names):
    return string.Template(text).safe_substitute(names, k=1)


def compiled(pattern, text):
    p = re.compile(pattern)
    return p.pattern, p.flags, p.groups, dict(p.groupindex), p.findall(text), re.compile(p) is p


def again(pattern):
    return re.compile(pattern) is re.compile(pattern)


def translated(text):
    return text.translate(TABLE), text.translate({97: "z"}), text.translate(str.maketrans("ab", "xy", "c"))


def bounded(text, low, high):
    return PAIR.match(text, low, high), re.compile("a").search(text, low)


CASES = [
    (parts, [("ab=12;x",), ("k=",), ("=",), ("q=1,y",), (3,)]),
    (by_truth, [("caab",), ("A",), ("",), (b"a",)]),
    (misused, [("a",), ("b",)]),
    (replaced, [("ab=1 c=2;x bxb",), ("",), (None,)]),
    (replaced_wrongly, [("b",), ("a",)]),
    (raised_inside, [("ab",), ("",)]),
    (taken_apart, [("a b ab",), ("",)]),
    (fresh_each_time, [("ab",), ("b",)]),
    (of_bytes, [(b"ab cd",), (b"",), ("ab",)]),
    (mixed, [(b"a=1",), (bytearray(b"a=1"),)]),
    (template, [("$who likes ${what} $$5", {"who": "tim", "what": 1}), ("$a", {}), ("bad $", {}), ("", {}), ("$who", {"who": None})]),
    (safely, [("$who likes ${what} $$5 $k", {"who": "tim"}), ("bad $", {})]),
    (compiled, [("(?i)(?P<a>x)|y", "XyZ"), ("(", "a"), ("a", 3), (b"a", b"aa"), (3, "a")]),
    (again, [("ab+",), (b"ab+",)]),
    (translated, [("abcd",), ("",), (3,)]),
    (bounded, [("xa=1", 1, 4), ("a", -5, 2**70), ("a=", 0, 0)]),
]


@pytest.mark.parametrize(("fn", "given"), CASES, ids=lambda x: x.__name__ if callable(x) else "")
def test_beside_itself(fn, given):
    jitted = hovis.jit(fn)
    for args in given:
        expected = observe(fn, fresh(args))
        by_type, unknown = hovis.specialize(fn, *map(type, args)), hovis.specialize(fn, *[Any] * len(args))
        for call in (jitted, jitted, by_type, unknown):
            same(expected, observe(call, fresh(args)), f"{fn.__name__}{args!r}")
        if all(type(a) in (str, bytes, int) for a in args):
            expected = observe(lambda args=args: fn(*args))
            same(expected, observe(hovis.specialize(fn, *map(const, args))), f"{fn.__name__}{args!r}, known")


def test_a_known_pattern_is_compiled_while_tracing():
    trace = hovis.trace(lambda text: re.compile("a+b").fullmatch(text) is None, Str)
    assert [op.callee.__name__ for op in trace.ops] == ["fullmatch", "is_"]


def test_an_unknown_pattern_is_compiled_by_one_call():
    trace = hovis.trace(lambda pattern, text: re.match(pattern, text), Str, Str)
    assert [op.callee.__name__ for op in trace.ops] == ["_compile", "match"]
    assert trace.stats["instructions"] < 100


def test_a_known_template_is_text_with_holes():
    string.Template("").substitute()  # since 3.14, the first one compiles the pattern of the class
    trace = hovis.trace(lambda who, what: string.Template("$who: ${what}!").substitute(who=who, what=what), Str, Int)
    assert [op.callee.__name__ for op in trace.passes("default").ops] == ["str", "join_strings"]


def test_what_warns_warns_when_it_runs():
    def warns(text):
        return re.match("[[a]", text)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        residual = hovis.specialize(warns, Str)
        assert not caught
    outcomes = []
    for fn in (warns, residual):
        re.purge()
        outcomes.append(observe(fn, ("a",)))
    same(*outcomes)
    assert outcomes[0].warnings


PATTERNS = [
    "(a)|b", "(a)?b", "(a*)(b+)", "((a)|(b))+", "(?:(a)|b)*c", "(?=(a))a", "(?!(a))b", "(?<=(a))b", "(a)(?(1)b|c)", "(?P<x>a)(?P=x)", "(a){0}b",
    "(a){0,2}b", "(a){1,2}", "(?>(a))b", "(a)++b", "(a|(b))c", "()", "(^)a|b", "(a)(b)?(c(d)?)", "(?:a(b))?c(d)", "((?:a|(b))(c))*", r"(\b)a", "x*",
]  # fmt: skip
TEXTS = ["", "a", "b", "ab", "aab", "abc", "bc", "aa", "c", "acd", "abcd", "xx", "acbc", "cd"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_is_known_of_a_match_holds(pattern):
    """The types of groups, for matches that are known and for others; what sub does with a function."""
    known = re.compile(pattern)
    for text in TEXTS:
        for found in filter(None, (known.match(text), known.search(text), known.fullmatch(text))):
            for kind in (Refined(re.Match, (known, str, fact)) for fact in (None, found)):
                assert all(contains(regex_matches.group(kind, Const(n)).type, found.group(n)) for n in range(known.groups + 1))
                assert all(contains(regex_matches.groups_of(kind, Const(other)).type, found.groups(other)) for other in (None, "-", 3))
        for count in (0, 1, 2, -1):
            assert known.subn(shown, text, count) == regex.replaced(known, shown, text, count)


def shown(match):
    return f"<{match.group()}{match.span()}>"


def slow(text):
    return re.match("(a+)+$", text) is None


def test_what_may_take_for_ever_is_left_to_run_time():
    assert hovis.specialize(slow, const("a" * 64 + "b")).trace.ops
