"""A restart discards only what was reached from the changed site; the IR is the same as from scratch."""
from __future__ import annotations

import pytest

import hovis
from hovis.arguments.specs import Any, Int
from hovis.engine import worklist
from tests.golden.cases import interpreters as shown


def machine(code, x, n):
    pc, acc = 0, 0
    while pc < len(code):
        op, arg = code[pc]
        if op == "add":
            acc += x
        elif op == "jump_if_less":
            n -= 1
            if n > 0:
                pc = arg
                continue
        elif op == "neg":
            acc = -acc
        pc += 1
    return acc


def toggles(xs):
    sign, total = 1, 0
    for x in xs:
        total = total + x if sign > 0 else total - x
        sign = -sign
    return total


def counts(limit, step):
    i = total = 0
    while i < limit:
        for j in range(1000):
            if j > i:
                total += step
        i += 1
    return total


CASES = [
    (machine, ((("add", 0), ("neg", 0), ("add", 0), ("jump_if_less", 0), ("add", 0)), Int, Int)),
    (toggles, (list,)),
    (toggles, (Any,)),
    (counts, (Int, Int)),
    (counts, (100, Int)),
    (shown.flat, (shown.NESTED, shown.jumps(shown.NESTED), list)),
    (shown.tree, (shown.parse(shown.NESTED), 0, list)),
]


@pytest.mark.parametrize(("fn", "specs"), CASES, ids=[f"{fn.__name__}-{k}" for k, (fn, _) in enumerate(CASES)])
def test_the_same_as_from_scratch(fn, specs, monkeypatch):
    incremental = hovis.trace(fn, *specs)
    monkeypatch.setattr(worklist.Engine, "_discard", lambda self, site, current: self._begin())
    assert str(incremental) == str(hovis.trace(fn, *specs))


def test_some_of_these_restart():
    assert sum(hovis.trace(fn, *specs).stats["restarts"] for fn, specs in CASES) > 3
