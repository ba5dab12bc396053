"""Memory that several arrays share: what is stored into one of them is in the others, and so it is with cotangents, tangents and lanes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hovis
import hovis_xla

X = np.array([0.7, -1.2, 0.4, 1.9])
D = np.array([0.3, 0.5, -1.0, 0.2])


def square(a: Any) -> Any:
    return a.reshape(2, 2)


#: What shows the memory of an array, or is a copy of it that looks like that.
SHOWING: dict[str, Callable[[Any], Any]] = {
    "reshape": square,
    "ravel": np.ravel,
    "mT": lambda a: square(a).mT,
    "rollaxis": lambda a: np.rollaxis(square(a), 1),
    "rot90": lambda a: np.rot90(square(a)),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 4)),
    "broadcast_arrays": lambda a: np.broadcast_arrays(a, np.ones((2, 1)))[0],
    "flipud": np.flipud,
    "asarray": np.asarray,
    "diagonal": lambda a: np.diagonal(square(a)),
    "diag": lambda a: np.diag(square(a)),
    "split": lambda a: np.split(a, 2)[1],
    "unstack": lambda a: np.unstack(square(a))[1],
    "astype": lambda a: a.astype(float, copy=False),
    "array": lambda a: np.array(a, copy=None),
    "einsum": lambda a: np.einsum("ii->i", square(a)),
    "meshgrid": lambda a: np.meshgrid(a, a, copy=False)[0],
    "conj": lambda a: a.conj(),
    "diff": lambda a: np.diff(a, n=0),
    "pos": lambda a: +a,
    "pad": lambda a: np.pad(a, 0),
    "take": lambda a: np.take(a, [0, 2]),
}


def later(show: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The array is stored into when it has been shown."""

    def f(x: Any) -> Any:
        a = np.zeros(4)
        b = show(a)
        for i in range(4):
            a[i] = a[i - 1] * 0.5 + x[i] * x[0]
        return np.sum(b**2) + a[1]

    return f


def through(show: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What shows the array is stored into."""

    def f(x: Any) -> Any:
        a = x * 1.0
        b = show(a)
        b[...] = b * x[1]
        return np.sum(a**3)

    return f


def differences(f: Callable[[Any], Any]) -> Any:
    return np.array([(f(X + e) - f(X - e)) / 2e-6 for e in np.eye(4) * 1e-6])


#: Views that can't be stored into.
READ_ONLY = {"broadcast_to", "broadcast_arrays", "diagonal", "diag", "meshgrid"}


#: Where the memory is stored into later, these are refused: by forward mode, and by both.
NO_PUSH = {"broadcast_to", "broadcast_arrays", "asarray", "diagonal", "diag", "split", "unstack", "astype", "array", "einsum", "meshgrid", "conj", "diff"}
NEITHER = {"broadcast_to", "broadcast_arrays", "meshgrid"}


@pytest.mark.parametrize("way", [later, through])
@pytest.mark.parametrize("name", SHOWING)
def test_what_is_stored_into_shared_memory_is_differentiated(name: str, way: Any) -> None:
    """None of them is wrong; which are refused is said above."""
    if way is through and name in READ_ONLY:
        return
    f = way(SHOWING[name])
    expected = differences(f)
    try:
        assert np.allclose(hovis.grad(f)(X), expected, rtol=1e-5, atol=1e-5)
    except hovis.DerivativeError:
        assert name in NEITHER
    try:
        assert np.isclose(hovis.jvp(f, (X,), (D,))[1], expected @ D, rtol=1e-5, atol=1e-5)
    except hovis.DerivativeError:
        assert name in NO_PUSH
    if name in ("ravel", "flipud", "asarray", "reshape", "broadcast_to"):
        assert np.allclose(hovis.vmap(f)(np.stack([X, D])), [f(X), f(D)])


def test_what_is_shown_when_all_has_been_stored_is_a_copy() -> None:
    def f(x: Any, n: int) -> Any:
        a = np.zeros(3)
        for i in range(n):
            a[i % 3] = a[i % 3] * 0.5 + x * i
        return np.sum(np.broadcast_to(a, (2, 3)) ** 2)

    assert np.isclose(hovis.grad(f)(1.3, 5), (f(1.3 + 1e-6, 5) - f(1.3 - 1e-6, 5)) / 2e-6)


def test_a_store_within_try_is_differentiated() -> None:
    def f(x: Any, w: Any) -> Any:
        try:
            w[2] = x * w[0] + 0.3
        except ValueError:
            x = 3.0
        return 0.7 * np.sum(w)

    by_x, by_w = hovis.grad(f, argnums=(0, 1))(0.8, np.array([1.0, 2.0, 3.0]))
    assert np.isclose(by_x, 0.7)
    assert np.allclose(by_w, [1.26, 0.7, 0.0])


def test_a_list_that_has_changed_is_not_taken_for_what_it_was() -> None:
    def f(items: Any) -> Any:
        items[0], items[1] = items[1], np.sum(np.array(items)) * 0.3
        return np.sum(np.array(items)) * 0.3

    assert np.allclose(hovis.grad(f)([1.0, 2.0]), [0.09, 0.39])
    assert np.isclose(hovis.jvp(f, ([1.0, 2.0],), ([1.0, 0.0],))[1], 0.09)


def test_the_tangent_of_what_does_not_change_is_zero() -> None:
    assert hovis.jvp(lambda x: np.sum(np.round(x)), (X,), (D,))[1] == 0.0
    assert np.array_equal(hovis.jvp(np.round, (X,), (D,))[1], np.zeros(4))


def test_a_dtype_is_passed_on_to_each_lane() -> None:
    assert np.array_equal(hovis.vmap(lambda x: np.require(x, dtype=np.float64))(np.ones((2, 3))), np.ones((2, 3)))


def test_a_function_whose_own_variable_is_bound_anew_within_it_is_recorded() -> None:
    def f(x: Any) -> Any:
        kept = [x]

        def more(t: Any) -> Any:
            nonlocal x
            x = x * 0.8 + t * 0.1
            return x * t

        kept.append(more(x) + next(iter(kept)))
        return sum(kept) + x

    assert np.isclose(hovis.grad(f)(1.5), (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6)


TWICE = np.array([1, 0, 2, 1])


def put_twice(a: Any, v: Any, at: Any) -> Any:
    a = a * 1.0
    a[at] = v
    return a * a[0]


def added_twice(a: Any, v: Any, at: Any) -> Any:
    a = a * 1.0
    a[at] += v * a[3]
    a[[1, 1]] *= v[:2]
    return a


def rows_twice(a: Any, v: Any, at: Any) -> Any:
    m = np.outer(a, a)
    m[:, at] *= v
    m[at, at] = v[0] * v
    m[np.ix_(at, at[:2])] += v[:2] * m[0, 0]
    return m


def held_in_a_list(a: Any, v: Any, at: Any) -> Any:
    held = [a * 1.0]
    for _ in range(2):
        held[0][at] = held[0] * v
    return held[0]


@pytest.mark.parametrize("f", [put_twice, added_twice, rows_twice, held_in_a_list])
def test_of_what_is_stored_at_one_place_the_last_is_there(f: Any) -> None:
    def known(a: Any, v: Any) -> Any:
        return np.sum(f(a, v, TWICE) * np.cos(np.arange(4.0)))

    def unknown(a: Any, v: Any, at: Any) -> Any:
        return np.sum(f(a, v, at) * np.cos(np.arange(4.0)))

    steps = 1e-6 * np.eye(4)
    want = np.array([[known(X + h, D) - known(X - h, D), known(X, D + h) - known(X, D - h)] for h in steps]).T / 2e-6
    derived = hovis.grad(unknown, argnums=(0, 1))
    assert np.allclose(hovis.grad(known, argnums=(0, 1))(X, D), want)
    assert np.allclose(derived(X, D, TWICE), want)
    assert np.allclose(hovis_xla.jit(derived)(X, D, TWICE), want)


def test_it_is_so_with_second_derivatives() -> None:
    def slope(x: Any) -> Any:
        return np.sum(hovis.grad(lambda a: np.sum(put_twice(a, a * a, TWICE) * D))(x * X))

    assert np.isclose(hovis.grad(slope)(1.0), (slope(1.0 + 1e-6) - slope(1.0 - 1e-6)) / 2e-6)


def test_a_small_float_tells_apart_which_of_many_was_last() -> None:
    at = np.arange(6000) * 7 % 4000
    last = np.isin(np.arange(6000), [np.flatnonzero(at == k)[-1] for k in set(at.tolist())])

    def f(v: Any) -> Any:
        a = np.zeros(4000, np.float16)
        a[at] = v
        return np.sum(a.astype(float))

    assert np.array_equal(hovis.grad(f)(np.ones(6000, np.float16)), last)


def test_an_array_in_a_list_that_was_stored_into_is_seen_where_it_is_joined() -> None:
    def f(a: Any) -> Any:
        for _ in zip(a, a, strict=True):
            pass
        z = np.zeros(4)
        z[:] = a
        return np.sum(np.stack([z, z]) ** 2)

    assert np.allclose(hovis.grad(f)(X), 4 * X)
    assert np.allclose(hovis.grad(lambda a: np.sum(hovis.grad(f)(a)))(X), 4.0)


def exchanged(m: Any) -> Any:
    m = m * 1.0
    m[:] = [m[1], m[0]]
    return m * D


def exchanged_in_a_list(m: Any) -> Any:
    held = [m * 1.0]
    held[0][:] = [held[0][1], held[0][0] * 2.0]
    return held[0] * D


@pytest.mark.parametrize("f", [exchanged, exchanged_in_a_list])
def test_a_list_of_parts_of_an_array_is_stored_one_after_the_other(f: Any) -> None:
    m = np.stack([X, X * X])
    want = [np.sum(f(m + h) - f(m)) for h in np.eye(8).reshape(8, 2, 4)]
    assert np.allclose(np.ravel(hovis.grad(lambda m: np.sum(f(m)))(m)), want)
    assert np.allclose(hovis.jvp(lambda m: np.sum(f(m)), (m,), (np.ones_like(m),))[1], sum(want))
    assert np.array_equal(hovis.vmap(f)(np.stack([m, m]))[1], f(m))


def test_a_list_is_broadcast_where_it_is_stored() -> None:
    def f(m: Any, v: Any, x: float) -> Any:
        v[-1:] = [x]
        m[:2] = [[x * x]]
        m[1:] = [v * 2.0]
        m[0] += [x, 1.0]
        return np.sum(m * m * [[1.0], [2.0], [3.0]])

    m, v, x = np.ones((3, 2)), np.array([0.3, 0.7]), 0.6
    found = hovis.grad(f, argnums=(1, 2))(m.copy(), v.copy(), x)
    step = 1e-6
    slope = (f(m.copy(), v.copy(), x + step) - f(m.copy(), v.copy(), x - step)) / (2 * step)
    np.testing.assert_allclose(found[1], slope, rtol=1e-6)
    np.testing.assert_allclose(found[0], [40 * v[0], 0.0])


def test_weights_are_differentiated_where_they_are_counted_and_what_is_not_known_is_refused() -> None:
    at = np.array([0, 2, 0, 1])

    def f(x: Any) -> Any:
        return np.bincount(at, weights=x * x) @ np.array([1.0, 2.0, 3.0])

    assert np.allclose(hovis.grad(f)(X), 2 * X * np.array([1.0, 3.0, 1.0, 2.0]))
    assert np.isclose(hovis.jvp(f, (X,), (D,))[1], hovis.grad(f)(X) @ D)
    for refused in (np.unique, lambda x: np.histogram(x)[1]):
        with pytest.raises(hovis.DerivativeError):
            hovis.grad(lambda x, refused=refused: np.sum(refused(x)))(X)
