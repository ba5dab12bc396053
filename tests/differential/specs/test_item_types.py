"""Random programs on containers of which hints tell the classes of the items, whatever items they are really given, and whoever changes them meanwhile."""

import copy
import gc
import linecache
import math
import os
import random
import weakref

import pytest

import hovis

EXAMPLES = int(os.environ.get("HOVIS_EXAMPLES", "60")) // 3


class Whole(int):
    def __mul__(self, other):
        return f"{int(self)} * {other!r}"

    def __index__(self):
        return 1


class Point:
    def __init__(self, x):
        self.x = x

    def scaled(self, by):
        return Point(self.x * by)

    def __add__(self, other):
        return self.x + other

    def __repr__(self):
        return f"Point({self.x!r})"


class Deep(Point):
    def scaled(self, by):
        return [self.x, by]


LIMIT = 3
KINDS = {
    "list[int]": [0, 1, -5, 2**70, 7, 3], "list[float]": [0.5, -0.0, math.inf, math.nan, 2.0], "list[int | None]": [1, None, 4, 2**65],
    "list[str]": ["", "a", "ab"], "list[Point]": [Point(1), Point(2.5), Point("p")], "list[list[int]]": [[], [1], [1, 2, 3]],
    "tuple[int, ...]": [3, 1, 2], "dict[str, int]": [1, 2, 9], "list[tuple[int, str]]": [(1, "a"), (2, "b")], "set[int]": [1, 2, 3],
}  # fmt: skip
ODD = [True, Whole(4), None, 2.5, "x", 1, Deep(3), [1.5], (), 2**80, math.nan]
#: Statements over the container c, an item v and the results so far.
BODIES = [
    "out.append(isinstance(v, int))", "out.append(type(v).__name__)", "s = s + v if isinstance(v, (int, float)) else s", "s += v",
    "out.append(v * 2)", "if v is None: continue", "if isinstance(v, str): out.append(len(v))", "out.append(v.scaled(2))", "out.append(v + 1)",
    "if isinstance(v, list): out.append(sum(v))", "for w in v: out.append(isinstance(w, int))", "a, b = v; out.append((type(a) is int, b))",
    "if len(out) > LIMIT and type(v) is int: break", "put(c, s)", "if type(c) is list and len(c) < 9: c.append('new')", "if type(c) is list: c[0] = v",
    "other = c; out.append(type(v) is type(last)); last = v", "out.append(f'{v!s:>4}')", "out.append([isinstance(w, int) for w in c])",
    "match v:\n    case int(): out.append('int')\n    case str() | None: out.append('other')\n    case [x, *_]: out.append(x)",
    "try: s += v.x\nexcept AttributeError as e: out.append(e.args)", "out.append((LIMIT, isinstance(v, float)))",
    "if isinstance(v, (int, float)) and v > 1: s += v * v", "out.append(v.__class__ is int)", "yielded(v)",
]  # fmt: skip
HEADS = [
    "for v in c:", "for v in (list(c) if type(c) is not dict else c.values()):", "for k, v in enumerate(c):", "for v, w in zip(c, c):",
    "for v in (reversed(c) if type(c) in (list, tuple) else c):", "for k in range(len(c)):\n    v = c[k] if type(c) in (list, tuple) else k",
    "for k, v in (c.items() if type(c) is dict else enumerate(c)):", "it = iter(c)\nwhile (v := next(it, LIMIT)) is not LIMIT:",
    "for v in [w for w in c if type(w) is not bool]:",
]  # fmt: skip


def put(c, s):
    """What hovis does not look into."""
    exec("if type(c) is list and c and len(c) < 8: c[-1] = str(s)", {"c": c, "s": s})


def yielded(v):
    return [w for w in (lambda: (yield v))()]


def drawn(rng):
    """The text of a function on a container."""
    text = ["def f(c, c2):", "    out, s, last = [], 0, None", "    try:"]
    for _ in range(rng.choice((1, 1, 2))):
        head = rng.choice(HEADS)
        text += [f"        {line}" for line in head.split("\n")]
        text += [f"            {line}" for body in rng.sample(BODIES, rng.randint(1, 3)) for line in body.split("\n")]
        if rng.random() < 0.3:
            text.append("        c = c2")
    text += ["    except (TypeError, ValueError, KeyError, RuntimeError, AttributeError, IndexError) as error:", "        out.append((type(error), error.args))"]
    return "\n".join([*text, "    return out, s, c", ""])


def inputs(rng, hint):
    """Containers that fit the hint, and some that do not."""
    for size, chances in ((0, (0.0,)), (1, (0.0, 1.0)), (3, (0.0, 0.3, 1.0)), (5, (0.0, 0.2, 0.5)), (70, (0.01,))):
        for odd in chances:
            items = [rng.choice(ODD if rng.random() < odd else KINDS[hint]) for _ in range(size)]
            if hint.startswith("dict"):
                yield {str(k): v for k, v in enumerate(items)}
            elif hint.startswith("set"):
                yield {v for v in items if type(v) in (int, str, float, bool)}
            else:
                yield tuple(items) if hint.startswith("tuple") else items


def outcome(f, pair):
    """What a call gives, and what becomes of its arguments, as text: nan is not itself."""
    given = copy.deepcopy(pair)
    try:
        result = repr(f(*given))
    except Exception as error:
        result = type(error), error.args
    return result, repr(given)


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_random_programs(seed, monkeypatch):
    rng = random.Random(seed)
    text, hint = drawn(rng), rng.choice(list(KINDS))
    name, scope = f"<items {seed}>", globals()
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(True), name))
    exec(compile(text, name, "exec"), scope)
    f = scope.pop("f")
    told = eval(hint)
    f.__annotations__ = {"c": told, "c2": told}
    frozen, jitted = hovis.specialize(f, told, told), hovis.jit(f, annotations=True)
    tests = list(inputs(rng, hint))
    rng.shuffle(tests)
    for k, given in enumerate(tests):
        for pair in ((given, given), (given, tests[k - 1])):
            assert outcome(frozen, pair) == outcome(f, pair), text
            monkeypatch.setitem(scope, "LIMIT", 3 + (k > 5))
            assert outcome(jitted, pair) == outcome(f, pair), text
            monkeypatch.setitem(scope, "LIMIT", 3)


def test_arguments_that_a_hint_was_checked_against_are_not_kept():
    def f(p: dict[str, int | float]):
        p["b"] = 1
        return p

    traced = hovis.jit(f, annotations=True)
    alive = weakref.WeakSet()
    for item in (Point(2), 1, Point(3)):
        if isinstance(item, Point):
            alive.add(item)
        assert traced({"a": item}) == {"a": item, "b": 1}
    item = None
    gc.collect()
    assert not alive
