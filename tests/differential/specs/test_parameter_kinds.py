"""Residuals take their arguments as the original does: by position or by name alone, from *args and **kwargs, with its defaults."""

import inspect
import itertools
import os
import random

import pytest

import hovis
from hovis import Any, Int

PROGRAMS = int(os.environ.get("HOVIS_EXAMPLES", "40"))


def drawn(seed):
    """The text of a function of parameters of all kinds, those that a residual is made for, and the text of what calls it with these."""
    r = random.Random(seed)
    names = iter("pqrstuvw")
    before, plain, only = ([next(names) for _ in range(r.choice(some))] for some in ((0, 0, 1, 2), (0, 1, 2, 2), (0, 0, 1, 2)))
    star, double = r.random() < 0.4, r.random() < 0.4
    first = r.randrange(len(before + plain) + 1)
    defaults = {name: k for k, name in enumerate(before + plain) if k >= first} | {name: 10 * k for k, name in enumerate(only) if r.random() < 0.5}
    given = {name: r.choice((Int, Any, 7, 7)) for name in before + plain + only if r.random() < 0.5 and name not in before}
    if before and r.random() < 0.5:
        given = {}

    def head(names_left):
        def shown(ones):
            return [f"{n}={defaults[n]}" if n in defaults else n for n in ones if n in names_left]

        parts = shown(before) + ["/"] * any(n in names_left for n in before) + shown(plain)
        rest = shown(only)
        return ", ".join([*parts, *(["*a"] if star else ["*"] if rest else []), *rest, *["**kw"] * double])

    every = before + plain + only
    known = {name: value for name, value in given.items() if value == 7}
    # after a known one a default may stand in front of a parameter without; neither can be written
    result = f"({', '.join([*every, *['a'] * star, *['sorted(kw.items())'] * double])},)"
    fn = f"def f({head(every)}):\n return {result}\n"
    passed = [*(f"{n}" if n not in known else "7" for n in before + plain), *["*a"] * star, *(f"{n}={n if n not in known else 7}" for n in only), *["**kw"] * double]
    reference = f"def g({head([n for n in every if n not in known])}):\n return f({', '.join(passed)})\n"
    return fn, given, reference


def calls(seed, known):
    r = random.Random(f"calls {seed}")
    names = sorted(set("pqrstuvwxyz") - known)
    for _ in range(12):
        args = [r.choice((1, 2, "three")) for _ in range(r.randrange(6))]
        yield args, {name: r.choice((4, 5.0)) for name in r.sample(names, r.randrange(min(4, len(names))))}


def outcome(fn, args, named):
    try:
        return fn(*args, **named)
    except TypeError as error:
        return str(error).replace("g()", "f()")


@pytest.mark.parametrize("late", [False, True], ids=["traced", "one call of the original"])
def test_kinds(late):
    chosen = hovis.Options(seconds=1e-9) if late else hovis.Options()
    for seed in range(PROGRAMS):
        text, given, reference = drawn(seed)
        scope = {}
        exec(text + reference, scope)
        traced = chosen.trace(scope["f"], **given)
        assert traced.fallback == late
        made, text_of, wanted = traced.compile(), traced.text().load(), scope["g"]
        assert inspect.signature(made) == inspect.signature(wanted), text
        for args, named in calls(seed, {name for name, spec in given.items() if spec == 7}):
            expected = outcome(wanted, args, named)
            assert outcome(made, args, named) == expected, (text, given, args, named)
            assert outcome(text_of, args, named) == expected, (text, given, args, named)


def kept(x, n=2, *rest, k=4, **more):
    return x, n, rest, k, more


def test_arguments_beyond_the_parameters():
    residual = hovis.specialize(kept, Int, Int, Int, 5, k=2, z=Int, q=3)
    assert residual(1, 2, 3, z=4) == kept(1, 2, 3, 5, k=2, z=4, q=3)
    assert residual("1", 2, 3, z=4) == kept("1", 2, 3, 5, k=2, z=4, q=3)
    with pytest.raises(TypeError, match="positional"):
        residual(1, 2, 3, 4)


def test_defaults_stay_where_others_have_specs():
    def f(x=1, n=2, *, k=3):
        return x, n, k

    for specs in itertools.product([{}, {"x": Int}], [{}, {"n": Int}], [{}, {"k": Int}]):
        residual = hovis.specialize(f, **{name: spec for one in specs for name, spec in one.items()})
        assert residual() == (1, 2, 3)
        assert residual(n=5) == (1, 5, 3)
        assert residual(7, k="k") == (7, 2, "k")


def test_coroutines_and_generators():
    async def awaited(x, *rest, k=3):
        return x, rest, k

    def items(x, *rest, k=3, **more):
        yield from (x, *rest, k, more)

    coroutine = hovis.specialize(awaited, Int)(1, 2, k=5)
    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    assert end.value.value == (1, (2,), 5)
    assert list(hovis.specialize(items, Int)(1, 2, z=3)) == [1, 2, 3, {"z": 3}]
    assert list(hovis.jit(items)(1, 2, z=3)) == [1, 2, 3, {"z": 3}]
