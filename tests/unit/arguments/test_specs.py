"""Specs of one of several kinds: what `|` makes of all that can stand beside it."""
from __future__ import annotations

import dataclasses
import itertools
import os
import typing
from collections import namedtuple

import numpy as np
import pytest

import hovis
from hovis import Any, Array, Float, Instance, Int, NoneType, OneOf, SpecError, Str, const, float32, float64
from hovis.backend.entry.prologue import taker
from hovis.diagnostics import explain
from hovis.lattice import ANY, BOTTOM, SOME, Const, Partial, Refined, Type, join
from tests.differential.harness import compare

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Config:
    size: object
    kind: object = int


class Own:
    def __init__(self, x=1):
        self.x = x


def told(x):
    if x is None:
        return "none"
    if isinstance(x, bool):
        return not x
    if isinstance(x, (int, float)):
        return x + 1, x is True
    if isinstance(x, str):
        return x.upper()
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.name, x.sum(), x + 1
    if isinstance(x, (list, tuple, dict)):
        return type(x).__name__, len(x), list(x)
    if isinstance(x, Own):
        return x.x
    return type(x).__name__


#: What may stand on a side of `|`, and values that fit it.
SIDES = {
    "Int": (Int, [3, 2**70]),
    "Str": (Str, ["a"]),
    "Any": (Any, [3, None, "a", Own()]),
    "NoneType": (NoneType, [None]),
    "None": (None, [None]),
    "int": (int, [3]),
    "str": (str, ["a"]),
    "float": (float, [2.5, -0.0]),
    "Own": (Own, [Own()]),
    "object": (object, []),
    "3": (3, [3]),
    "True": (True, [True]),
    "text": ("a", ["a"]),
    "const": (const(3), [3]),
    "const None": (const(None), [None]),
    "OneOf": (OneOf(1, "b"), [1, "b"]),
    "array": (float64[3], [np.arange(3.0)]),
    "array of any size": (float64[:], [np.arange(4.0)]),
    "array of floats": (float32[2, :], [np.ones((2, 3), np.float32)]),
    "array in C order": (Array("float64", (None, None), "C"), [np.ones((2, 2))]),
    "list": ([Int], [[1]]),
    "tuple": ((Int, 2), [(1, 2)]),
    "dict": ({"a": Int}, [{"a": 1}]),
    "known list": ([1, 2], []),
    "Instance": (Instance(Own, x=Int), [Own(4)]),
    "Point": (Point(Int, 3), [Point(1, 3)]),
    "an array": (np.zeros(2), []),
    "a number of NumPy": (np.float64(2.0), []),
    "hint": (int | None, [3, None]),
    "alias": (list[int], [[1]]),
    "facts": (Refined(bytes, 3, len), [b"abc"]),
}
VALUES = [3, 0, True, None, "a", "b", 2.5, np.float64(2.0), np.arange(3.0), np.arange(4), np.ones((2, 3), np.float32), np.ones((2, 2)).T[::2],
          [1], (1, 2), (1, "x"), {"a": 1}, Own("s"), Point(1, 3), b"abc", b"", object, 1j]


def alternatives():
    for k, pair in enumerate(itertools.combinations_with_replacement(SIDES.items(), 2)):
        (left, (a, _)), (right, (b, _)) = pair[:: 1 if k % 2 else -1]
        try:
            spec = a | b
        except SpecError:
            raise AssertionError(f"{left} | {right}") from None
        except TypeError:
            # neither side is hovis's
            continue
        if any(isinstance(part, int | float | str | list | dict | tuple | np.generic | np.ndarray | typing.ForwardRef) for part in typing.get_args(spec)):
            continue  # neither side is hovis's, and a union may have anything in it (3.14)
        if not isinstance(spec, (int, str, dict, np.ndarray, Const)):
            yield left, right, spec


def test_what_fits_one_side_fits_both_and_all_others_run_the_original():
    seen, step = 0, 1 if "HOVIS_EXAMPLES" in os.environ else 7
    for left, right, spec in alternatives():
        residual = hovis.specialize(told, spec)
        fits = taker(residual.trace.signature.unknown[0].part)
        for value in SIDES[left][1] + SIDES[right][1]:
            assert fits(value) is not None, (left, right, value)
        if "Any" not in (left, right) and "object" not in (left, right):
            assert fits(bytearray()) is None, (left, right, spec)
        for value in VALUES[seen % step::step]:
            compare.same(compare.observe(told, compare.fresh((value,))), compare.observe(residual, compare.fresh((value,))))
        seen += 1
    assert seen > 300


@pytest.mark.parametrize(("spec", "shown"), [
    (Int | None, "Int | None"), (None | Int, "Int | None"), (Int | str, "Int | Str"), (str | Int, "Int | Str"), (Int | 3, "Int"), (Str | 3, "Int | Str"),
    (Int | Any, "Any"), (Int | OneOf(1, 2), "Int"), (OneOf(1, 2) | None, "OneOf(1, 2, None)"), (OneOf(1, 2) | OneOf(2, 3), "OneOf(1, 2, 3)"),
    (float64[3] | None, "float64[:] | None"), (float64[3] | float64[4], "float64[:]"), (float64[3] | float32[3] | Int, "Int | float32[:] | float64[:]"),
    (OneOf([Int], None), "list | None"), (OneOf(Int, Str), "Int | Str"), (OneOf(Int, 3, None), "Int | None"), (Int | (Int, Str), "Int | tuple"),
    (Instance(Own, x=Int) | None, "Own | None"), (SOME, "Any"), (Partial(tuple, (0, 1), (Int, Type(str))), "(Int, Str)"),
    (join(Type(int), Refined(bytes, 3)), "Int | Bytes"), (OneOf((int, str), None), "OneOf(a tuple, None)"),
])  # fmt: skip
def test_what_is_meant(spec, shown):
    [unknown] = hovis.trace(lambda x: x, spec).signature.unknown
    assert explain.fits(unknown.part) == shown


def test_the_branches_of_none_are_both_there():
    def f(x):
        return 0 if x is None else x + 1

    for spec in (Int | None, None | Int, int | None, OneOf(Int, None)):
        residual = hovis.specialize(f, spec)
        assert (residual(None), residual(4), residual(2.5)) == (0, 5, 3.5)
        assert not any(remark.loss for remark in hovis.explain(residual.trace).remarks)


def is_none(x):
    return x is None


def test_of_more_classes_than_are_told_apart_nothing_is_known(tmp_path):
    """The join of so many says only that it is not None, which is checked nowhere."""
    spec = Int | str | float | bytes | list | dict | tuple | set | bytearray | complex
    traced = hovis.trace(is_none, spec)
    traced.save(tmp_path / "kept.py")
    chosen = hovis.trace(is_none, OneOf(1, "", 2.0, b"", True, (), frozenset(), 1j, range(3), ...))
    chosen.save(tmp_path / "chosen.py")
    for residual in (traced.compile(), hovis.load(tmp_path / "kept.py"), chosen.compile(), hovis.load(tmp_path / "chosen.py")):
        assert residual(None) and not residual(3) and not residual(object())


@pytest.mark.parametrize("spec", [float64[3] | None, float64[:, :] | float32[2] | int, Array("float64", (None, None), "F") | Float])
def test_written_modules_hold_arguments_against_the_same(spec, tmp_path):
    hovis.trace(told, spec).save(tmp_path / "kept.py")
    kept = hovis.load(tmp_path / "kept.py")
    for value in (*VALUES, np.asfortranarray(np.ones((2, 3)))):
        compare.same(compare.observe(told, compare.fresh((value,))), compare.observe(kept, compare.fresh((value,))))


@pytest.mark.parametrize("spec", [BOTTOM, float64 | None, Int | float64, OneOf(float64, 3)])
def test_specs_of_no_value(spec):
    with pytest.raises(SpecError):
        hovis.trace(told, spec)


def test_containers_that_contain_themselves():
    known: list = [1]
    known.append(known)
    assert hovis.specialize(lambda x: len(x), known)() == 2
    spec: list = [Int]
    spec.append(spec)
    with pytest.raises(SpecError, match="contain itself"):
        hovis.trace(len, spec)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SpecError, match="nested too deeply"):
        hovis.trace(lambda x: x, deep)


def test_a_known_value_that_is_in_many_places_is_looked_through_once():
    known: list = [1]
    for _ in range(60):
        known = [known, known]
    assert hovis.specialize(lambda x: len(x), known)() == 2


class Slotted:
    __slots__ = ("__dict__", "x", "y")


def test_an_instance_has_the_attributes_that_are_told_and_no_others():
    def told(o):
        return o.x, hasattr(o, "y"), hasattr(o, "z")

    def instance(**attributes):
        o = Slotted()
        for name, value in attributes.items():
            setattr(o, name, value)
        return o

    for names in ("x", "xy", "xz", "xyz"):
        traced = hovis.trace(told, hovis.Instance(Slotted, **dict.fromkeys(names, Int)))
        for filled in ("x", "xy", "xz", "xyz"):
            o = instance(**dict.fromkeys(filled, 1))
            assert traced.compile()(o) == told(o)
            if filled == names:
                assert hovis.evaluate(traced, o) == told(o)
            else:
                with pytest.raises(SpecError, match="does not fit"):
                    hovis.evaluate(traced, o)


def test_any_is_any():
    assert (Int | ANY) is ANY and (ANY | None) is ANY and (SOME | int) is ANY
