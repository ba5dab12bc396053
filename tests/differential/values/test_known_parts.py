"""What builtins give in known parts, and functions of the standard library that are called while tracing."""
from __future__ import annotations

import base64
import calendar
import json
import math
import os
import shlex
import statistics
import textwrap
import urllib.parse

import pytest

import hovis
from hovis import Any, Float, Int, Str
from hovis.ir import Effect
from tests.differential.harness.compare import observe, same


def divided(x, y):
    q, r = divmod(x, 60)
    return q + 1, r * 2


def divided_by_unknown(x, y):
    a, *rest = divmod(x, y)
    return a, rest


def parted(x, y):
    head, mark, tail = str(x).partition("1")
    return head.upper(), mark, [c for c in tail], len(head)


def too_many(x, y):
    a, b, c = divmod(x, 7)
    return a


def median(x, y):
    return statistics.median([x, y, 3]), sorted([x, y])[0], sorted([x, y, 1], reverse=True)


def changed_afterwards(x, y):
    items = sorted([x, y, 2])
    same_one = items
    items.append(5)
    items[0] = "first"
    return items, same_one is items, len(items), sorted(items[1:])


def shown_to_others(x, y):
    items = sorted([x, y])
    seen = []
    seen.append(items)
    items.sort(key=lambda v: -v)
    return items, seen, items[0], min(items)


def summed(x, y):
    return math.fsum([x, y]), math.fsum((x, 0.5)), statistics.fmean([x, y])


def path(x, y):
    return os.fspath(str(x)), os.path.splitext(f"a/b.{x}"), os.path.join("a", str(y))


def ahead(x, y):
    return json.loads('{"a": [1, 2.5, null], "b": {"c": true}}')["a"][x], textwrap.dedent("  a\n  b"), calendar.isleap(2024)


def fresh_each_time(x, y):
    found = json.loads("[1, [2]]")
    found[1].append(x)
    return found


def ahead_of_structures(x, y):
    return json.dumps({"a": [1, {"b": None}]}, indent=1), json.dumps({"a": x}), urllib.parse.urlencode({"a": 1, "b": "c d"}), shlex.join(["a b", "c"])


def raising(x, y):
    return json.loads("[1,")


def badly(x, y):
    return base64.b64decode("a"), x


def hooked(x, y):
    return json.loads("[1.5]", parse_float=str), json.loads('{"a": 1}', object_hook=lambda d: list(d))


FOLDED = [divided, parted, median, path, ahead, fresh_each_time]
OTHERS = [divided_by_unknown, too_many, changed_afterwards, shown_to_others, summed, ahead_of_structures, raising, badly, hooked]


@pytest.mark.parametrize("fn", FOLDED + OTHERS, ids=lambda f: f.__name__)
def test_beside_itself(fn):
    calls = [hovis.jit(fn), *(hovis.specialize(fn, *specs) for specs in ((Int, Int), (Float, Float), (Any, Any), (Str, Str), (Int, 2)))]
    for args in ((1, 2), (0, 0), (-7, 3), (1.5, 0.5), ("1b", "a"), (True, 2)):
        for call in calls[:-1]:
            same(observe(fn, args), observe(call, args), f"{fn.__name__}{args}")
    same(observe(fn, (1, 2)), observe(lambda x, _: calls[-1](x), (1, 2)), fn.__name__)


@pytest.mark.parametrize("fn", FOLDED, ids=lambda f: f.__name__)
def test_nothing_is_opaque(fn):
    trace = hovis.trace(fn, Int, Int)
    assert not [op for op in trace.ops if op.effect & Effect.OPAQUE], trace


def test_data_of_known_text_is_there():
    assert not [op for op in hovis.trace(lambda: json.loads('{"a": [1, 2]}')["a"][1]).ops]


def backwards(x, y):
    return [i for i in reversed(range(3))], list(reversed(range(1, 10, 4))), sum(i for i in reversed(range(x))), next(reversed(range(2, 2)), "end")


def backwards_between(x, y):
    found = []
    for i in reversed(range(x, y)):
        found.append(i)
    return found, reversed(range(x, 3)), list(reversed(range(y, x, -1)))


def backwards_over_much(x, y):
    return next(reversed(range(2**70))), type(reversed(range(2**70))).__name__, len(range(3)), list(reversed(range(0, -5, -2)))


def parts_of_int(x, y):
    return x.numerator, x.denominator, x.real, x.imag, True.numerator


@pytest.mark.parametrize("fn", [backwards, backwards_between, backwards_over_much, parts_of_int], ids=lambda f: f.__name__)
def test_ranges_and_ints(fn):
    test_beside_itself(fn)


def in_order_by_names(x, y):
    table = {"c": x, "a": y, "b": x * 2}
    rows = [(3, y), (1, x), (2, x)]
    told = [(k, v) for k, v in sorted(table.items())]
    rows.sort(reverse=True)
    return told, sorted(table.items(), reverse=True), rows, sorted([(1, y), (1, x)]), sorted([("a", x), ("a", y), ("A", y)])


def in_order_by_what_can_not_be_compared(x, y):
    return sorted([(1, x), ("a", y)])


@pytest.mark.parametrize("fn", [in_order_by_names, in_order_by_what_can_not_be_compared], ids=lambda f: f.__name__)
def test_what_tuples_begin_with_decides(fn):
    test_beside_itself(fn)
    assert "sorted" not in str(hovis.trace(lambda x: [v for _, v in sorted({"b": x, "a": 1.0}.items())], Float))
