"""What grows in a loop: numbers that sizes hang on, and lists; and loops over data within loops."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree, same

pytestmark = pytest.mark.xla

X = np.random.default_rng(0).random(64)
TABLE = [[], [0.5], [0.25, 0.25], [0.1, 0.2, 0.3], [0.3, 0.1, 0.2, 0.4], [0.2, 0.1, 0.4, 0.1, 0.2]]


def written(x, n):
    out, k = np.zeros(50), 3
    for _ in range(n):
        out[k] = x[k - 1] * 2
        k += 2
    return out[:k]


def read(x, n):
    k, total = 1, 0.0
    for _ in range(n):
        total += x[:k].max()
        k += 1
    return total


def of_both(x, n):
    """The size and its neighbour grow in step."""
    low, high, out = 0, 1, np.zeros(80)
    for _ in range(n):
        out[high] = np.max(x[low : high + 1]) - x[low]
        low, high = low + 1, high + 2
    return out[:high], low


def starts_again(x, n):
    """A size that is the same in each round is told apart, whatever it is within the round."""
    total = x[:4] * 0.0
    for _ in range(n):
        width = len(x)
        part = x
        while width > 4:
            width //= 2
            part = part[:width] + part[width:]
        total = total + part
    return total


@pytest.mark.parametrize("fn", [written, read, of_both, starts_again], ids=lambda fn: fn.__name__)
def test_sizes_that_grow_in_a_loop_of_any_number_of_rounds(fn):
    jitted = hovis_xla.jit(fn, target="xla", strict=True)
    for n in (4, 0, 1, 7, 20):
        assert same(jitted(X, n), fn(X, n))
    assert len(jitted.trace(X, 4).function.blocks) < 20, "rounds are not told apart"


def stages(x, h, n):
    """Rows of a table within a loop whose end is not known, and a list that is summed over beside each of them."""
    taken = 0
    while taken < n and np.sum(x) < 100.0:
        slopes = [np.cos(x)]
        for row in TABLE[1:]:
            slopes.append(np.cos(x + h * sum(a * k for a, k in zip(row, slopes, strict=True))) * x[0])
        x = x + h * sum(slopes) / len(slopes)
        taken += 1
    return x, taken


def collected(x, n):
    """A list of arrays, made anew in each round, that is put together."""
    for _ in range(n):
        parts = [np.log(1.0 + x[k] ** 2) + np.sum(x * x[k]) / (1.0 + k) - np.sqrt(np.abs(x)) * np.exp(-x[k]) for k in range(6)]
        x = np.max(np.stack(parts, axis=1), axis=1) / 3.0
    return x, n


@pytest.mark.parametrize(("fn", "args"), [(stages, (X[:4], 0.1)), (collected, (X[:7],))], ids=["stages", "collected"])
def test_data_and_lists_within_loops(fn, args):
    jitted = hovis_xla.jit(fn, target="xla", strict=True)
    for n in (3, 0, 1, 9):
        (found, rounds), (expected, wanted) = jitted(*args, n), fn(*args, n)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        assert rounds == wanted


def test_a_list_of_many_numbers():
    def squares(n):
        out = [n * k for k in range(300)]
        return sum(out), out[-1], len(out)

    assert hovis_xla.jit(squares)(7) == squares(7)


def as_index(l, x):
    return x[l] + x[range(len(l))], x[range(len(l)), l]


def as_arrays(l, x):
    return np.array(l) * x[0, :3], np.array([l, l]), np.asarray(l)[:, None]


def of_lists(l, x):
    return np.array([l, [3, 2, 1], l]) @ x[:3]


@pytest.mark.parametrize("fn", [as_index, as_arrays, of_lists], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("given", [[1, 2, 3], [0, 0, 0], [-1, 4, 2]], ids=str)
def test_lists_among_the_arguments_that_numpy_makes_arrays_of(fn, given):
    agree(fn, hovis_xla.jit(fn, target="xla", strict=True), given, X[:30].reshape(5, 6))


def grown(l, x):
    l.append(0)
    l[0] += 1
    return x[l], np.cumsum(l), l


def emptied(l, x):
    l.clear()
    return x[np.array(l, dtype=int)], np.array(l).shape


@pytest.mark.parametrize("fn", [grown, emptied], ids=lambda fn: fn.__name__)
def test_lists_that_are_changed_before(fn):
    jitted = hovis_xla.jit(fn)
    for given in ([1, 2, 3], [0, 0, 0], [3]):
        agree(fn, jitted, given, X[:30].reshape(5, 6))


def test_what_is_no_index_is_told_as_numpy_tells_it():
    x = X[:30].reshape(5, 6)
    for given in ([1, 2, 7], [1, 2, 1.5], [1, -6]):
        agree(as_index, hovis_xla.jit(as_index), given, x)
