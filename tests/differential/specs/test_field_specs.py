"""Named tuples and dataclass instances as specs: of which the fields are known or unknown, one by one."""

import dataclasses
from collections import namedtuple
from typing import Any, NamedTuple

import pytest

import hovis
from hovis import Float, Int, Str
from hovis.ir.model import Effect
from tests.differential.harness import compare

P = namedtuple("P", "x y")


class Line(NamedTuple):
    a: Any
    b: Any = P(0, 0)

    def slope(self):
        return (self.b.y - self.a.y) / (self.b.x - self.a.x)


class Sub(P):
    __slots__ = ()

    def norm(self):
        return self.x * self.x + self.y * self.y


@dataclasses.dataclass
class Config:
    size: Any
    name: Any = "c"
    kind: Any = int


def swap(p):
    x, y = p
    return P(y, x), p.x + p[1], p._replace(x=9), len(p), p == (x, y), isinstance(p, P), p


def slope(line):
    return line.slope(), line.a, line


def norm(s):
    return s.norm(), type(s).__name__, list(s)


def configured(c):
    c.size += 1
    return c.size, c.name, c.kind("3"), c


def pick(p, table=("a", "b", "c")):
    return table[p.x], p.y


CASES = [
    (swap, P(Int, Int), P(1, 2)),
    (swap, P(Int, 5), P(1, 5)),
    (swap, P(Str, hovis.Any), P("a", 2.5)),
    (slope, Line(P(Int, Int), P(Float, Float)), Line(P(1, 2), P(3.0, 4.0))),
    (slope, Line(P(Int, 0)), Line(P(1, 0))),
    (norm, Sub(Int, Float), Sub(1, 2.0)),
    (configured, Config(Int), Config(4)),
    (configured, Config(Int, Str), Config(4, "z")),
]


@pytest.mark.parametrize(("fn", "spec", "value"), CASES, ids=[f"{fn.__name__}-{k}" for k, (fn, *_) in enumerate(CASES)])
def test_as_cpython(fn, spec, value):
    residual = hovis.specialize(fn, spec)
    assert not residual.trace.fallback
    want, got = compare.fresh((value,)), compare.fresh((value,))
    compare.same(compare.observe(fn, want), compare.observe(residual, got))
    compare.same(compare.observe(fn, compare.fresh((value,))), compare.observe(hovis.jit(fn), compare.fresh((value,))))


def test_fields_are_unknown_numbers():
    assert not [op for op in hovis.trace(swap, P(Int, Int)).ops if Effect.OPAQUE in op.effect]
    assert not [op for op in hovis.trace(slope, Line(P(Int, Int), P(Float, Float))).ops if Effect.OPAQUE in op.effect]


def test_what_does_not_fit_runs_the_original():
    residual = hovis.specialize(swap, P(Int, 5))
    for value in (P(1, 6), (1, 5), P(1.0, 5), Sub(1, 5)):
        compare.same(compare.observe(lambda p: [*p], (value,)), compare.observe(lambda p: [*p], (value,)))
        if isinstance(value, P):
            compare.same(compare.observe(swap, (value,)), compare.observe(residual, (value,)))


def test_jit_takes_named_tuples_apart():
    jitted = hovis.jit(pick)
    for value in (P(0, 1), P(1, 2.5), P(2, "z"), (0, 1)):
        compare.same(compare.observe(pick, (value,)), compare.observe(jitted, (value,)))


def test_a_dataclass_instance_of_values_is_known():
    assert hovis.specialize(lambda c: c.size + 1, Config(3))() == 4
