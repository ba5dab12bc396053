"""What ``hovis.vmap`` gives is what a loop over the lanes gives: dtypes, layouts, stores, and what is done once a lane."""

import math
from typing import Any

import numpy as np
import pytest

import hovis
from hovis.transforms.vmap import divergence
from tests.transforms.harness import fuzz_vmap
from tests.transforms.harness.fuzz_vmap import same

R = np.random.default_rng(0)
X, V, S, I = R.uniform(0.2, 1.5, (4, 2, 3)), R.uniform(0.2, 1.5, (4, 3)), R.uniform(0.2, 1.5, 4), np.array([1, 2, 3, 4])
F, B = X.astype(np.float32), (X * 9).astype(np.uint8)
ROUNDED = np.array([5.015, 2.675, 0.285, 1.005])


def in_place(v: Any, s: Any) -> Any:
    v = v.copy()
    v *= float(s)
    return v


NUMBERS = [
    (lambda x: ((float(x) > 0.5) + (float(x) > 0.6), -(float(x) > 0.5), (float(x) > 0.5) // (float(x) > 0.1), (float(x) > 0.5) * 2, (float(x) > 0.5) & int(x)), S),
    (lambda v, s: (v * float(s), v + int(s), v**2, v[0, 0] * float(s), v > float(s), np.where(v > 0.5, v, float(s)), np.maximum(v, float(s))), F, S),
    (lambda v, s: (np.clip(v, 0.1, float(s)), np.arctan2(float(s), v), v**int(s), np.ldexp(v, int(s)), 2.0 * v), F, S),
    (lambda v, s: (v + int(s), v < int(s) * 200, v * float(s), v // int(s)), B, I),
    (in_place, F, S),
    (lambda s: (math.sin(s), math.atan2(s, 1.0)), S.astype(np.float32)),
    (lambda s, k: (round(float(s), 2), round(s, 2), round(float(s), int(k))), ROUNDED, I),
]


@pytest.mark.parametrize("k", range(len(NUMBERS)))
def test_numbers_have_the_dtypes_that_they_have_one_by_one(k: int) -> None:
    fn, *args = NUMBERS[k]
    assert same(fn, args) == "right"


def test_ints_that_do_not_fit_beside_small_ones() -> None:
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        hovis.vmap(lambda v, k: v + int(k))(B, I * 100)


def stored(dtype: Any, index: Any, made: Any) -> Any:
    def fn(x: Any) -> Any:
        a = np.zeros(2, dtype)
        a[index] = made(x)
        return a

    return fn


def stored_where_it_is_larger(x: Any) -> Any:
    a = np.zeros(3, np.int8)
    if x > 2:
        a[1:] = [x, 2]
    for k in range(int(abs(x)) % 4):
        a[k % 2] = int(x) * 100
    return a


ELEMENTS = [
    lambda x: np.array([int(x) * 100, 2], np.int8), lambda x: np.array(x, np.int8), lambda x: np.asarray([[x], [1]], dtype=np.uint8), stored_where_it_is_larger,
    *[stored(np.int8, index, made) for index in (0, [0, 1], slice(None)) for made in (int, float, lambda x: x)],
    stored(np.uint8, 0, float), stored(np.uint8, 0, lambda x: x), stored(np.int8, slice(None), lambda x: [x, 1]), stored(float, slice(None), lambda x: (1, x)),
]  # fmt: skip


@pytest.mark.parametrize("lanes", [[1.0, 2.5, -1.5], [1.0, 300.5], [-3.0, math.nan]], ids=str)
@pytest.mark.parametrize("k", range(len(ELEMENTS)))
def test_numbers_that_are_put_into_arrays_have_to_fit_one_by_one(k: int, lanes: list[float]) -> None:
    assert same(ELEMENTS[k], (np.array(lanes),)) in ("right", "raises", "warns")


def stored_behind(view: Any) -> Any:
    def fn(x: Any) -> Any:
        y = view(x)
        y[0] = 5.0
        return x.sum() + y.sum()

    return fn


ARRAYS = [
    (lambda x: (x.reshape((3, 2), order="F"), np.reshape(x, (3, 2), "F"), x.ravel("F"), np.reshape(x, shape=(6,))), X),
    *[(stored_behind(lambda x: x.flatten()), a) for a in (X, V)],
    *[(stored_behind(lambda x: x.ravel()), a) for a in (X, V)],
    *[(stored_behind(lambda x: x.T.reshape(-1)), a) for a in (X, V)],
    (lambda s, t: np.array([[s, t], [t, 1.0]]), S, S),
    (lambda v: (np.array(v, ndmin=2), np.tril(v), np.triu(v, 1), np.zeros_like(v, shape=(5,)), v.nbytes + v.itemsize + v.size), V),
    (lambda x: (np.argmax(x, keepdims=True), np.concatenate([x, x], axis=None), np.concatenate(x), np.tril(x), np.triu(x)), X),
    (lambda x: (x.transpose(1, 0), x.transpose((1, 0)), x.transpose(), np.transpose(x, (1, 0)), np.transpose(x, axes=(0, 1))), X),
    (lambda v, e: np.polymul(v, e), V, V),
]


@pytest.mark.parametrize("k", range(len(ARRAYS)))
def test_shapes_and_memory(k: int) -> None:
    fn, *args = ARRAYS[k]
    assert same(fn, args) == "right"


def test_memory_of_lanes_that_are_not_in_front() -> None:
    for view in (lambda x: x.ravel(), lambda x: x.reshape(-1)):
        assert same(stored_behind(view), [X], (2,)) == "right"
        assert same(stored_behind(view), [V], (1,)) == "right"


M = {rank: R.normal(size=(2, 2, 4, 3)[-1 - rank :] if rank > 1 else (2, 3)) for rank in (1, 2, 3)}
T = {rank: R.normal(size=(2, 2, 3, 4)[-1 - rank :] if rank > 1 else (2, 3)) for rank in (1, 2, 3)}


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_products_of_all_ranks(axes: Any) -> None:
    for a in (1, 2, 3):
        args = [x if axis == 0 else x[0] for b in (1, 2, 3) for x, axis in ((M[a], axes[0]), (T[b], axes[1]))]
        assert same(lambda a, b, c, d, e, f: (a @ b, c @ d, e @ f), args, axes * 3) == "right"


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_systems_of_all_ranks(axes: Any) -> None:
    a, b = [R.normal(size=(2, 3, 3)), R.normal(size=(2, 2, 3, 3))], [R.normal(size=(2, 3)), R.normal(size=(2, 3, 4)), R.normal(size=(2, 2, 3, 2))]
    args = [x if axis == 0 else x[0] for one in a for other in b for x, axis in ((one, axes[0]), (other, axes[1]))]
    assert same(lambda *all: tuple([np.linalg.solve(m, n) for m, n in zip(all[::2], all[1::2], strict=True)]), args, axes * 6) == "right"


def adds(x: Any, a: Any) -> Any:
    a[0] += 1.0
    return x * a[0]


def overwrites(x: Any, a: Any) -> Any:
    a[1:] = 5.0
    return x * a[1]


def sorts(x: Any, a: Any) -> Any:
    a[0] += x
    a.sort()
    return x * a[2]


def stores_into_a_part(k: Any, a: Any) -> Any:
    row = a[k]
    row[0] = 5.0
    part = a[:, k]
    a[0, k] += 1.0
    a[int(k)] *= 2.0
    return a.sum() + part[0] + row[0]


def test_parts_that_differ_from_lane_to_lane_are_views() -> None:
    k = np.array([1, 2, 0, 0])
    assert same(stores_into_a_part, [k, R.normal(size=(4, 3, 3))]) == "right"
    assert same(lambda k: stores_into_a_part(k, np.ones((3, 3))), [k]) == "right"


@pytest.mark.parametrize("fn", [adds, overwrites, sorts])
def test_each_lane_sees_what_those_before_it_have_stored(fn: Any) -> None:
    assert same(fn, [S, np.zeros(3)], (0, None)) == "right"


def test_numbers_are_drawn_for_each_lane() -> None:
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    assert same(lambda x: x + ours.normal(), [S], reference=lambda x: x + theirs.normal()) == "right"


def test_lanes_of_a_size_that_is_not_known() -> None:
    f = hovis.jit(lambda v, t: hovis.vmap(lambda t: np.sum(v * t))(t))
    for n in (2, 3, 4):
        np.testing.assert_array_equal(f(np.ones(3), np.ones(n)), np.full(n, 3.0))


def refuses(x: Any) -> Any:
    if x < 0.3:
        raise KeyError("the line above, but a lane below")
    if x < 0.9:
        raise ValueError(f"too small: {x}")
    return x


RAISING = [
    (refuses, np.array([1.0, 0.5, 0.1])),
    (lambda x: 1.0 / float(x), np.array([1.0, 0.0])),
    (lambda x: 5 // int(x), np.array([1.0, 0.0])),
    (lambda x: 1.0 / max(x, 0.0), np.array([1.0, -1.0])),
    (lambda k: V[int(k) + 1], I),
    (lambda x: np.linalg.inv(np.eye(2) * x), np.array([1.0, 0.0])),
]


@pytest.mark.parametrize("k", range(len(RAISING)))
def test_the_first_lane_that_raises_is_the_one(k: int) -> None:
    fn, *args = RAISING[k]
    assert same(fn, args) == "raises"


def stores_and_raises(x: Any, v: Any) -> Any:
    v[0] += x
    if x < 0.3:
        raise KeyError(3)
    return x


def test_what_has_been_stored_is_not_stored_again() -> None:
    v = np.zeros((3, 2))
    with pytest.raises(KeyError):
        hovis.vmap(stores_and_raises)(np.array([1.0, 0.5, 0.1]), v)
    assert v[0, 0] == 1.0


def test_numbers_that_are_pythons_in_some_lanes() -> None:
    x = np.array([0.5, -2.0, 3.0])
    assert same(lambda x: (max(x, 0.0) + 1.0, (1.0 if x > 2.0 else x) / (0.5 if x > 2.0 else x), max(x, 0.0) ** 2), [x]) == "right"


def one_or_the_other(x: Any, n: Any) -> Any:
    a = np.zeros(4)
    for k in range(int(n)):
        if x > 0.6:
            a[k] = x * k
        else:
            a[k - 1] += x
            a *= 1.5
        if a[k] > 1.0:
            return a, a.sum()
    return a, a[0]


def made_in_rounds(v: Any, n: Any) -> Any:
    total, k = np.zeros((2, 3)), 0
    while k < n:
        row = v * k
        row[k % 3] -= 1.0
        if row[0] < 0.5:
            row[1:] = row[:-1]
        other = row
        other += 0.25
        total[k % 2] += row
        k += 1
    return total, np.log(total.max() + 2.0)


def into_arguments(x: Any, v: Any, m: Any) -> Any:
    first = m[0]
    if x > 0.6:
        v[0] = x
        first[1:] = v[:2]
        m[:, 0] *= 2.0
    elif x > 0.4:
        v[[0, 2]] = 7
    return v.sum() + m[0, 1] + first[0]


def one_of_several(x: Any, v: Any) -> Any:
    a, b = v.copy(), np.ones(3)
    for _ in range(3):
        c = a if x > a[0] else b
        c[0] += x
        a, b = b, a
    return a, b


def ints_and_truths(x: Any, n: Any) -> Any:
    counts, seen = np.zeros(3, np.int64), np.zeros(3, np.bool_)
    while n > 0:
        counts[n % 3] += n
        seen[n - 2] = x > 0.3
        n -= 1
        if seen.all():
            break
    return counts, seen, n


def in_place_by_some(v: Any, x: Any) -> Any:
    shared, several, narrow = np.ones(3), np.ones((2, 3)), np.ones(3, np.float32)
    if x > 0.6:
        shared *= 2.0
    rounds = 0
    while shared.sum() < 20 * x + 3:
        shared *= 1.5
        shared += 0.1
        rounds += 1
    several += v
    several[1:] -= several[:-1]
    several @= np.outer(v, v)
    narrow -= v
    return shared, several, narrow, rounds


def truths_in_place(v: Any, x: Any) -> Any:
    found, ints = v > 2, (v * 10).astype(np.int64)
    found &= v < 7
    found |= x > 0.6
    if x > 0.4:
        ints >>= 1
        ints |= 8
    ints //= 3
    return found, ints


def does_not_fit(v: Any, x: Any) -> Any:
    ints = np.zeros(3, np.int64)
    if x > 0.6:
        ints += v
    return ints


def grows(v: Any, x: Any) -> Any:
    row = v * x
    row += v[:, None].T
    return row


STORED = [
    (one_or_the_other, S, I), (made_in_rounds, V, I), (into_arguments, S, V, X), (in_place_by_some, V, S), (truths_in_place, V, S),
    (one_of_several, S, V), (ints_and_truths, S, I),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(STORED)))
def test_stores_where_lanes_have_parted(monkeypatch: Any, k: int) -> None:
    if k < 5:
        monkeypatch.setattr(divergence.Diverging, "__init__", lambda self, why: pytest.fail(f"one after the other: {why}"))
    fn, *args = STORED[k]
    assert same(fn, args) == "right"
    if k == 0:
        assert same(fn, args, jit=True) == "right"


@pytest.mark.parametrize("fn", [does_not_fit, grows])
def test_what_an_array_can_not_take_in_place(fn: Any) -> None:
    assert same(fn, [V, S]) == "raises"


def harmonic(n: Any) -> Any:
    total, k = 0.0, 0
    while k < n:
        k += 1
        total += 1.0 / k
    return total


def test_few_lanes_that_go_on_for_long() -> None:
    n = np.array([3000, 1, 0, 2])
    f = hovis.vmap(harmonic)
    want = [harmonic(int(k)) for k in n]
    for g in (f, f, f, hovis.jit(lambda n: hovis.vmap(harmonic)(n))):
        np.testing.assert_allclose(g(n), want)


@pytest.mark.parametrize("seed", [0, 3, 5, 8])
def test_a_drawn_program(seed: int) -> None:
    assert fuzz_vmap.compare(seed) in ("right", "raises")
