"""`hovis.parse` on any text: a Function that prints and parses to the same, or a ParseError; and soon."""
from __future__ import annotations

import functools
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import hovis
from hovis import Float, Int, Str, const, float32, float64
from hovis.errors import ParseError, VerifierError
from hovis.ir import names_of, parse, show, verify
from tests.unit.ir.random_functions import random_function

#: Texts that are mutated; HOVIS_EXAMPLES=30000 gives a hundred thousand of them.
EXAMPLES = 10 * int(os.environ.get("HOVIS_EXAMPLES", "60")) // 3
SEED = int(os.environ.get("HOVIS_SEED", "0"))


class Node:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest


def loops(xs, n):
    total, seen = 0, {}
    for k, x in enumerate(xs):
        try:
            total += x / (k - n)
        except ZeroDivisionError as error:
            seen[k] = str(error)
        if total > 1e9:
            break
    return total, seen


def arrays(a, b, n):
    c = np.maximum(a @ b, 0.0) * n
    return c.sum(axis=0)[1:] + np.float32(2.5), c.shape


def counted(n, step=1):
    while n:
        got = yield n
        n -= got if got is not None else step


def told(x, words=("a", "bb")):
    found = Node(x, [w for w in words if w != x])
    return found if x else {"x": x, "more": found.rest, None: 2j, 1.5: -0.0}


def nested(x):
    def inner(y):
        return y + x if y is not None else slice(x, None), range(3), b"\x00'", "\n\"'\u2028"
    return inner, inner(x), [inner(None)] * 2


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@functools.cache
def corpus():
    """Texts, and what is known by name in them."""
    functions = [random_function(random.Random(seed)) for seed in range(12)]
    for fn, *specs in (
        (loops, list, Int), (loops, [Int, Float], 1), (arrays, float64[:, 3], float64[3, 4], Int), (arrays, float32[2, 2], float32[2, 2], 2.0), (counted, Int),
        (told, Str), (told, Int | None), (nested, Int), (fib, Int), (told, const("a")), (lambda x, y: (x, y), (Int, {"a": Float, 3: [Str]}), 2),
    ):  # fmt: skip
        traced = hovis.trace(fn, *specs)
        functions += [traced.function, traced.passes().function]
    found = []
    for function in functions:
        names = names_of(function)
        found += [(show(function, full=True), names), (show(function, full=False), names)]
    return found


TOKENS = [
    "%1", "%2", "%3", "%99", "%err", "#0", "#1", "(", ")", "[", "]", "{", "}", ",", ":", "::", "=", "!", "|", "…", "...", "Int", "Float", "Str", "None", "Any", "Bottom", "list",
    "const(", "const(3)", "float64[:]", "float64[", "float64[%1, 3]", "layout=C", "cls=list", "place=#0", "(+)", "(is not)", "1", "-1", "0", "007", "1e999", "nan", "-inf",
    "0x1f", "(1+2j)", "1j", "np.int8(300)", "np.float64((1, 2))", "np.bool(2)", "np.True_", "range(1, 2, 0)", "range('a')", "slice()", "slice(1, (2,))", "'a'", "b'\\xff'", "'\\x'",
    "'\\N{DASH}'", "'\\ud800'", "'\\d'", "'", '"', "\\", "br 2", "br 2 (1)", "br 3 (%2) unless %1", "return", "return %1", "raise %1", "reraise %2", ", or 2", "{io}", "{raises, io}", "{x}",
    "fn f(", "fn f()", "fn pow(%1 :: Int) :: Int", "(generator)", "guard ", "# x", "1:", "2: (%5 :: Int)", "print", "print!", "os.path.join", "a.b.c.d", "numpy.nothing",
    "getattr", "<lambda>", "Node", "Node(value=", "object(x=%1)", "²", "٣", "\x00", "\ud800", "\u2028", "\t", "é", "9" * 5000, "(" * 300, "[" * 300, "const(" * 120, "-" * 50,
]  # fmt: skip


def mutated(rng, texts):
    text, names = rng.choice(texts)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(8)
        if kind == 0:
            text = text[:at] + rng.choice(TOKENS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + rng.choice((1, 1, 2, 5, 20)) :]
        elif kind == 2:
            text = text[:at] + chr(rng.choice((*range(32, 127), 10, 0, 0xB2, 0x663, 0xD800))) + text[at + 1 :]
        elif kind == 3:
            words = text.split(" ")
            words[rng.randrange(len(words))] = rng.choice(TOKENS)
            text = " ".join(words)
        elif kind == 4:
            words = text.split(" ")
            one, other = rng.randrange(len(words)), rng.randrange(len(words))
            words[one], words[other] = words[other], words[one]
            text = " ".join(words)
        else:
            lines = text.split("\n")
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            if kind == 5:
                del lines[one]
            elif kind == 6:
                lines.insert(one, lines[other])
            else:
                lines[one] = rng.choice(rng.choice(texts)[0].split("\n"))
            text = "\n".join(lines)
    return text, names


def checked(text, names):
    """Parsed at all?"""
    try:
        function = parse(text, names)
    except ParseError as error:
        assert len(str(error)) < 1000
        return False
    shown = show(function, full=True)
    again = parse(shown, names_of(function))
    assert show(again, full=True) == shown
    try:
        verify(function)
    except VerifierError:
        return True
    verify(again)
    return True


def test_texts_of_functions_are_parsed():
    parsed = [checked(text, names) for text, names in corpus()]
    assert all(parsed[::2])  # the others are cut, maybe


def test_mutated_texts():
    rng, texts, parsed = random.Random(SEED), corpus(), 0
    for _ in range(EXAMPLES):
        text, names = mutated(rng, texts)
        try:
            parsed += checked(text, names)
        except Exception as error:
            error.add_note(f"the text:\n{text!a}"[:3000])
            raise
    assert parsed >= EXAMPLES // 100


def test_token_soup():
    rng = random.Random(SEED)
    for _ in range(EXAMPLES // 2):
        lines = ["1: (%1 :: Int)", *("  " + " ".join(rng.choices(TOKENS, k=rng.randrange(1, 6))) for _ in range(rng.randrange(1, 4))), "  return %1"]
        checked("\n".join(lines), {})


@pytest.mark.parametrize("text", [
    "", "1:", "x", "fn f", "fn f()\n1:\n  return 1\nfn f()\n1:\n  return 2", "1:\n  %err = f()\n  return 1", "1:\n  %2  = len(1)\n  return %2",
    "1: (%1 :: Int)\n  return %1 {", "1:\n  %2 = len(1) {x}\n  return 1", "1:\n  br ²", "1:\n  return " + "9" * 5000, "9" * 5000 + ":\n  return 1", "1:\n  return 007",
    "1: (%1 :: float64[\n  return 1", "1: (%1 :: float64[x])\n  return 1", "1: (%1 :: nothing[3])\n  return 1", "1: (%1 :: float64[%7])\n  return 1", "1:\n  return '\\x'",
    "1:\n  return range(1, 2, 0)", "1:\n  return np.int8(300)", "1:\n  return np.float64((1, 2))", "1:\n  return " + "(" * 10**5, "1: (%1 :: " + "[" * 10**5, "1: (%1 :: len(x=Int))\n  return 1",
    "1: (%1 :: float64[:, cls=len])\n  return 1", "1:\n  br 1 (a=2)", "1:\n  return '\x00'", "1:\n  return '\ud800'", "1:\n  return b'é'", 3, None, b"1:\n  return 1",
], ids=lambda text: ascii(text)[:30])  # fmt: skip
def test_no_text_of_a_function(text):
    with pytest.raises(ParseError):
        parse(text)


PROGRAM = """
import itertools
import numpy
from hovis.errors import ParseError
from hovis.ir import parse
ends = ["", "x", ")", "j", ".", "'", "::"]
starts = ["", "1: (%1 :: ", "1:\\n  return ", "1:\\n  %2 = ", "fn ", "1: (%1 :: const(", "1:\\n  %1 = print(", "1:\\n  br "]
tokens = ["1", "9", "(", ")", "[", "{", "%", "%1", "%1 ", "'", "''", "'a'", "\\"", "-", "+", "(-", "(+)", " ", "\\n", "a", "a.", "os.", ".", "#", "#0", "\\\\", "'\\\\", "const(", "(1,",
          "1,", "1.", "1e", "0x", "1j", "(1+1j)", "Int |", "Int, ", "(Int), ", "{1: Int}, ", "float64[:", ":, ", "1:\\n", "fn f\\n", "fn f()\\n1:\\n", "\\n  br 1", "x=1,", "::", "!", "|", "=", "…", "é", "<>"]
for k, (start, token) in enumerate(itertools.product(starts, tokens)):
    if k % STEP == 0:
        print(f"{start!r} {token!r}", flush=True)
        try:
            parse(start + token * (M // len(token)) + ends[k % len(ends)])
        except ParseError:
            pass
"""


def test_long_texts_end():
    """A megabyte of one token takes a second or two at most; what is quadratic takes hours."""
    step, length = (1, 1 << 20) if "HOVIS_EXAMPLES" in os.environ else (19, 1 << 17)
    program = f"M, STEP = {length}, {step}\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=1200, cwd=os.getcwd())
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-2000:])
