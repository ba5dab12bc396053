"""Calls of cached functions on known arguments: what they give is known, and what becomes of the cache is what CPython makes of it."""

import os
import random

import pytest

import hovis
from hovis import Int

EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "25"))

FUNCTIONS = """
import functools
RATE, LOG = 2, []

{0}
def square(n, by=1): return n * n + by

{1}
def rated(n): return n * RATE

{2}
def told(n):
    LOG.append(n)
    return -n

{3}
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)

{4}
def parts(n): return tuple(k * k for k in range(n))

{5}
def kept(n): return [n, n]

{6}
def wrong(n):
    if n > 2: raise ValueError(n)
    return n

{7}
def named(*, key): return key + "!"

{8}
def settings(): return {{"rate": RATE, "mode": "fast"}}

CACHED = square, rated, told, fib, parts, kept, wrong, named, settings
def clear(): rated.cache_clear()
"""
DECORATORS = ("@functools.lru_cache", "@functools.cache", "@functools.lru_cache(maxsize=2)", "@functools.lru_cache(typed=True)", "@functools.lru_cache(maxsize=0)")
USES = (
    "s += square(3)", "s += square(1, 2)", "s += square(n=2, by=1)", "s += square(2, by=x % 2)", "s += rated(3)", "s += told(4)", "s += fib(12)", "s += sum(parts(4))",
    "s += len(parts(40))", "kept(2).append(x); s += len(kept(2))", "s += wrong(2)", "s += wrong(3)", "s += len(named(key='a'))", "s += settings()['rate']",
    "settings()['rate'] = x", "s += square(x)", "clear()", "global RATE; RATE = x", "s += rated.cache_info().hits", "s += sum(map(rated, (1, 2, 3)))", "s += square.__wrapped__(2)",
    "try: s += wrong(5)\n    except ValueError as e: s += e.args[0]", "for k in range(x % 3): s += rated(k) + rated(1)", "s += rated(1) if x > 2 else told(1)",
)  # fmt: skip
BEFORE = ("square(3)", "square(3.0)", "square(True, 2.0)", "square(1.0, 2)", "rated(3)", "rated(3.0)", "fib(5)", "parts(4)", "kept(2)", "settings()", "told(4)", "named(key='a')")
BETWEEN = ("RATE += 1", "rated.cache_clear()", "square.cache_clear(); square(3.0)", "settings()['rate'] = 7", "settings.cache_clear()", "kept(2).clear()", "square(1.0, 2)", "square(2, 1)")


def run(fn, *args):
    try:
        return repr(fn(*args))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def state(space):
    return [cached.cache_info() for cached in space["CACHED"]], space["LOG"], space["RATE"]


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_results_and_caches_are_those_of_python(seed):
    draw = random.Random(seed)
    body = draw.sample(USES, draw.randint(1, 6))
    body.sort(key=lambda line: not line.startswith("global"))
    text = FUNCTIONS.format(*draw.choices(DECORATORS, k=9)) + "def program(x):\n    s = 0\n" + "".join(f"    {line}\n" for line in body) + "    return s\n"
    before, between = draw.sample(BEFORE, draw.randint(0, 3)), draw.sample(BETWEEN, draw.randint(0, 2))
    spaces = [{"__name__": f"caches_{seed}_{k}"} for k in range(2)]
    for space in spaces:
        exec(text, space)
        for line in before:
            exec(line, space)
    plain, jitted = spaces[0]["program"], hovis.jit(spaces[1]["program"])
    for x, changes in ((1, ()), (2, between), (3, ()), (5, between), (0, ())):
        for space in spaces:
            for line in changes:
                exec(line, space)
        assert run(jitted, x) == run(plain, x), text
        assert state(spaces[1]) == state(spaces[0]), text


def made(body, *before):
    space = {"__name__": "made"}
    exec(FUNCTIONS.format(*("@functools.lru_cache",) * 9) + f"def program(x):\n{body}", space)
    for line in before:
        exec(line, space)
    return space


@pytest.mark.parametrize("body", ["return x * square(3)", "return x + fib(40)", "return x * settings()['rate']", "return x + sum(parts(4))", "return x + len(named(key='a'))"])
def test_what_follows_from_a_known_result_is_known(body):
    space = made(f"    {body}", *BEFORE)
    jitted, other = hovis.jit(space["program"]), made(f"    {body}", *BEFORE)
    assert [jitted(x) for x in (1, 2)] == [other["program"](x) for x in (1, 2)]
    assert state(space) == state(other)
    first = jitted.traces[-1].function.blocks[0].terminator
    likely = first.true.block
    while hasattr(likely.terminator, "true"):
        likely = likely.terminator.true.block
    assert [op.type for op in likely.ops if not op.effect & hovis.ir.model.Effect.READS] == [Int], str(jitted.traces[-1])


def test_nothing_is_asked_while_tracing():
    space = made("    return x + square(3) + kept(2)[0] + told(4)")
    before = state(space)
    hovis.trace(space["program"], Int)
    assert state(space) == before


def test_equal_keys_of_other_classes():
    space = made("    return square(1, 2) * x", "square(1.0, 2.0)")
    assert repr(hovis.jit(space["program"])(2)) == repr(space["program"](2)) == "6.0"
    assert repr(hovis.specialize(space["program"], Int)(2)) == "6.0"


def test_a_cache_that_has_been_cleared_holds_something_else():
    space = made("    return rated(3) * x", "rated(3)")
    jitted = hovis.jit(space["program"])
    assert jitted(1) == 6
    space["RATE"] = 5
    assert jitted(1) == 6
    space["rated"].cache_clear()
    assert jitted(1) == 15


def test_explain_tells():
    space = made("    return x * square(3)")
    told = str(hovis.explain(hovis.trace(space["program"], Int)))
    assert "call of square stays: the contents of its cache and the number of its calls can be observed; its result is expected to be 10, and is checked" in told
