"""What models are made of: iterators that are unpacked, parts of arrays, stacks; and a deep one is one executable."""
import copy
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import hovis
import hovis_xla
from tests.xla.harness.checking import agree, check

pytestmark = pytest.mark.xla

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))


def test_an_iterator_is_unpacked():
    def heads(x, n):
        q, k = (np.split(part, n, axis=-1) for part in np.split(x, 2, axis=-1))
        return np.hstack([a * b.sum() for a, b in zip(q, k)])

    check(heads, (np.arange(24.0).reshape(2, 12), 3), (np.arange(16.0).reshape(2, 8), 2))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_unpacking_counts_as_ever(count):
    def first(n):
        a, b = (k * k for k in range(n))
        return a + b

    agree(first, hovis.jit(first), count)


def test_an_iterator_is_stepped_once_more_than_there_are_names():
    def fn(x):
        seen = []

        def items():
            try:
                for k in range(4):
                    seen.append(k)
                    yield x + k
            finally:
                seen.append("closed")

        try:
            a, b = items()
        except ValueError as error:
            seen.append(str(error))
        return seen

    agree(fn, hovis.jit(fn), 1)
    agree(fn, hovis.specialize(fn, hovis.Int), 1)


def test_what_index_arrays_pick_has_a_shape():
    def fn(x, i):
        return x[i], x[i, 0], x[:, i], x[i, :, None], x[i[:, None], i]

    text = str(hovis_xla.jit(fn).trace(np.zeros((4, 5)), np.zeros(3, int)))
    for shape in ("[3, 5]", "[4, 3]", "[3, 1, 5]", "[3, 3]"):
        assert shape.replace("[3, 1, 5]", "[3, 5, 1]") in text, text


def test_stacks_have_shapes():
    def fn(a, b):
        return np.hstack([a, b]), np.vstack([a, b]), np.dstack([a, b]), np.column_stack([a, b])

    text = str(hovis_xla.jit(fn).trace(np.zeros((2, 3)), np.zeros((2, 3))))
    assert ":]" not in text, text


def test_twelve_layers_are_one_executable():
    gpt = importlib.import_module("gpt")
    jitted = hovis_xla.jit(gpt.gpt, target="xla")
    args = np.array([5, 17, 42, 8]), gpt.parameters(gpt.CONFIG), gpt.CONFIG
    agree(gpt.gpt, jitted, *copy.deepcopy(args))
    assert "one XLA executable" in jitted.explain()


@pytest.mark.parametrize("sections", [np.array([1, 3]), np.array(2), np.array([3, 1], np.uint8), (0, 5), 2.5, 4, 0])
def test_where_arrays_are_split(sections):
    """At places that an array has, too; a number is anything that ``int`` takes."""

    def fn(x, sections):
        try:
            return [len(part) for part in np.array_split(x, sections)], np.split(x, sections)
        except ValueError as error:
            return str(error), type(error.__context__)

    x = np.arange(6.0)
    want = repr(fn(x, sections))
    assert repr(hovis_xla.jit(fn)(x, sections)) == want
    assert repr(hovis.specialize(fn, hovis.Array("f8", (6,)))(x, sections)) == want
    assert repr(hovis.specialize(fn, hovis.Array("f8", (6,)), hovis.const(sections))(x)) == want
