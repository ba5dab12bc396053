"""The laws of the lattice."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hovis.lattice import ANY, BOTTOM, RAISED, SOME, Array, Const, Partial, Type, Union, contains, forget, join, leq
from hovis.lattice.constants import constant_key, is_immutable, same_constant
from hovis.lattice.values import UNION_CAP


class Box:
    def __init__(self, a, b):
        self.a = a
        self.b = b


NAN = float("nan")
A_LIST = [1]
AN_ARRAY = np.zeros((2, 3))
VALUES = [0, 1, True, False, 0.0, -0.0, 1.0, NAN, "a", b"a", None, (), (1,), (1.0,), (1, "a"), (NAN,), A_LIST, [1, "a"], {}, {"a": 1}, {"a": 1, "b": "x"}, {"b": 1, "a": 1},
          Box(1, 2), Box("a", None), AN_ARRAY, np.zeros(3), np.asfortranarray(np.ones((2, 3))), 1j, Box, len, KeyError(1)]  # fmt: skip

FLOAT64 = np.dtype("float64")
CLASSES = [int, float, bool, str, type(None), tuple, list, KeyError, OSError]

types = st.sampled_from([Type(cls) for cls in CLASSES])
arrays = st.sampled_from([Array(np.ndarray, FLOAT64, rank, layout) for rank in (1, 2) for layout in ("", "C", "F")])
consts = st.sampled_from(VALUES).map(Const)
simple = st.one_of(st.just(BOTTOM), st.sampled_from([ANY, SOME, RAISED]), types, consts, arrays)


def partials(inner):
    return st.one_of(
        st.lists(inner, max_size=2).map(lambda parts: Partial(tuple, range(len(parts)), parts)),
        st.lists(inner, max_size=2).map(lambda parts: Partial(list, range(len(parts)), parts)),
        st.lists(inner, min_size=2, max_size=2).map(lambda parts: Partial(dict, ["a", "b"], parts)),
        st.lists(inner, min_size=2, max_size=2).map(lambda parts: Partial(Box, ["a", "b"], parts)),
    )


def unions(inner):
    return st.lists(inner, min_size=2, max_size=3).map(lambda found: _all(found))


def _all(found):
    result = BOTTOM
    for one in found:
        result = join(result, one)
    return result


elements = st.recursive(simple, lambda inner: st.one_of(partials(inner), unions(inner)), max_leaves=5)
values = st.sampled_from(VALUES)


@given(elements)
def test_idempotent(a):
    assert join(a, a) == a
    assert leq(a, a)


@given(elements, elements)
def test_commutative(a, b):
    assert join(a, b) == join(b, a)


@given(elements, elements, elements)
def test_associative(a, b, c):
    assert join(join(a, b), c) == join(a, join(b, c))


@given(elements, elements)
def test_upper_bound(a, b):
    assert leq(a, join(a, b))
    assert leq(b, join(a, b))


@given(elements, elements, elements)
def test_least_of_those(a, b, c):
    if leq(a, c) and leq(b, c):
        assert leq(join(a, b), c)


@given(elements)
def test_ends(a):
    assert join(BOTTOM, a) == a
    assert join(a, ANY) == ANY
    assert leq(BOTTOM, a)
    assert leq(a, ANY)


@given(elements, elements, values)
def test_join_contains_both(a, b, value):
    if contains(a, value) or contains(b, value):
        assert contains(join(a, b), value)


@given(elements, elements, values)
def test_order_is_inclusion(a, b, value):
    if leq(a, b) and contains(a, value):
        assert contains(b, value)


@given(elements, values)
def test_forget_goes_up(a, value):
    assert leq(a, forget(a))
    if contains(a, value):
        assert contains(forget(a), value)


@given(elements, elements)
def test_equal_elements_have_equal_hashes(a, b):
    if a == b:
        assert hash(a) == hash(b)
        assert repr(a) == repr(b)


@given(st.lists(elements, min_size=30, max_size=30))
def test_ascending_chains_end(found):
    at, steps = BOTTOM, 0
    for one in found:
        higher = join(at, one)
        steps += higher != at
        at = higher
    # Bottom, Const, Partial, the parts of it, Type, a Union that grows, Any
    assert steps <= UNION_CAP + 12


def test_unions_have_a_cap():
    made = [type(f"C{k}", (), {}) for k in range(UNION_CAP + 1)]
    at = BOTTOM
    for cls in made[:UNION_CAP]:
        at = join(at, Type(cls))
    assert isinstance(at, Union)
    assert len(at.members) == UNION_CAP
    assert join(at, Type(made[0])) == at
    assert join(at, Type(made[-1])) is SOME
    assert join(SOME, Type(type(None))) is ANY


def test_unions_hold_types_alone():
    assert join(Const(1), Const("a")) == join(Type(int), Type(str))
    assert join(Partial(tuple, [0], [Type(int)]), Const(1)) == join(Type(tuple), Type(int))


def test_arrays_differ_in_layout_only_until_they_meet():
    c, f, unknown = (Array(np.ndarray, FLOAT64, 2, layout) for layout in ("C", "F", ""))
    assert join(c, f) == unknown
    assert join(c, c) == c
    assert isinstance(join(c, Array(np.ndarray, FLOAT64, 1)), Union)
    assert join(c, Type(np.ndarray)) == Type(np.ndarray)


@pytest.mark.parametrize(("a", "b"), [(1, True), (1, 1.0), (0.0, -0.0), ((1,), (1.0,)), ((0.0,), (-0.0,)), ([], []), ("a", b"a"), (0j, -0j), (range(3), range(0, 3, 2))])
def test_constants_that_differ(a, b):
    assert not same_constant(a, b)
    assert Const(a) != Const(b)


@pytest.mark.parametrize(("a", "b"), [(NAN, float("nan")), ((NAN, 1), (float("nan"), 1)), (10**30, 10**30), ("ab", "a" + "b"), (range(3), range(0, 3, 1)), (A_LIST, A_LIST)])
def test_constants_that_are_the_same(a, b):
    assert same_constant(a, b)
    assert hash(Const(a)) == hash(Const(b))
    assert constant_key(a) == constant_key(b)


@pytest.mark.parametrize(("value", "expected"), [(1, True), ((1, "a"), True), ((1, [2]), False), ([], False), (slice(1, 2), True), (frozenset({1}), True), (len, False)])
def test_what_cannot_change(value, expected):
    assert is_immutable(value) is expected


def test_printing():
    assert repr(join(Type(type(None)), join(Type(float), Type(int)))) == "Int | Float | None"
    assert repr(Const(len)) == "const(len)"
    assert repr(Partial(dict, ["a"], [Type(int)])) == "{'a': Int}"
