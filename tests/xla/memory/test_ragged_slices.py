"""Parts of arrays whose bounds are known at run time only, together with others that stand elsewhere."""
import numpy as np
import pytest

import hovis_xla
from tests.xla.harness.checking import agree


def first_part_is_kept(x, y, a, b, shift):
    """Parts with other bounds come to where the first one is."""
    x[a:b] = np.maximum(x[a:b], y[a - shift : b - shift] * 2.0) - x[: b - a]
    return x[a:b].sum() + (x[a:b] < y[a + 1 : b + 1]).sum()


def parts_in_rows(m, a, b):
    m[:, a:b] += m[:, : b - a] * m[0, a - 1 : b - 1]
    m[a:b] = m[a:b] - m[a - 1 : b - 1] + m[0, 1:2]
    return m


def by_a_reversed_part(x, a, b):
    return x[a:b] + x[: b - a][::-1], x[a:b][::-1] * x[a + 1 : b + 1], np.where(x[a:b] > 0.0, x[1 : b - a + 1], -1.0)


def in_rounds(x, bounds):
    for a in bounds:
        x[a:] = np.maximum(x[a:], x[:-a] + 1.0)
    return x


BOUNDS = [(3, 9), (5, 5), (1, 12), (7, 4), (4, 13), (13, 13), (12, 30), (-5, -2)]


@pytest.mark.parametrize(("a", "b"), BOUNDS)
def test_parts_that_stand_at_other_places(a, b):
    x = np.random.default_rng(7).normal(size=13)
    x[3], x[4] = -0.0, np.nan
    for fn, args in ((first_part_is_kept, (x[::-1].copy(), a, b, 2)), (parts_in_rows, (a, b)), (by_a_reversed_part, (a, b))):
        agree(fn, GOT[fn], np.outer(x, x[::-1]) if fn is parts_in_rows else x.copy(), *args)


def test_parts_that_stand_at_other_places_in_rounds():
    for bounds in ([1, 4, 12], [13, 2], [40, 1], [1, -3]):
        agree(in_rounds, GOT[in_rounds], np.arange(13.0) % 5, np.array(bounds))


GOT = {fn: hovis_xla.jit(fn, target="xla") for fn in (first_part_is_kept, parts_in_rows, by_a_reversed_part, in_rounds)}
