"""Calls that XLA has no operation for: NumPy does them while the compiled program waits."""
import numpy as np
import pytest

import hovis_xla
from hovis.library.standard import STANDARD
from hovis_xla.abi.host_callbacks import result_of
from hovis_xla.emit.values import Num
from tests.xla.harness.checking import agree, check, hovis, outcome

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


def hosted(jitted):
    text = jitted.explain()
    assert "one XLA executable" in text, text
    return text


def test_a_function_without_a_row_is_called_on_the_host():
    def fn(a):
        return np.linalg.pinv(a * 2.0) + 1

    jitted = check(fn, A, A[::-1], A.T)
    assert "numpy.linalg.pinv" in hosted(jitted)
    assert f"{__file__}:" in jitted.explain()


def test_in_loops_and_branches():
    def fn(a, n):
        s = 0.0
        for i in range(n):
            if i % 2 == 0:
                s += np.median(a * i)
        return s

    check(fn, (A, 7), (A, 0), (-A, 3))


def test_its_exception_is_raised_by_python_on_the_users_line():
    def fn(a, v):
        x = a * 2.0
        return np.linalg.tensorsolve(x, v)

    jitted = hovis_xla.jit(fn)
    agree(fn, jitted, A, A[0])
    hosted(jitted)
    agree(fn, jitted, A * 0, A[0])
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as caught:
        jitted(A * 0, A[0])
    assert any(entry.path.name == "test_host_calls.py" and "tensorsolve" in str(entry.statement) for entry in caught.traceback[1:])


def test_a_shape_that_depends_on_values_is_not_promised():
    def fn(a):
        return np.flatnonzero(a > 1.0).sum() + (a * 2).sum()

    agree(fn, hovis_xla.jit(fn), A)


def test_the_whole_of_a_program_is_not_left_to_the_host():
    def fn(a):
        return np.linalg.pinv(a)

    jitted = hovis_xla.jit(fn)
    agree(fn, jitted, A)
    assert "residual Python" in jitted.explain()


def test_after_a_print_it_may_not_give_up():
    def fn(a):
        print(a.shape)
        return np.linalg.pinv(a) + 1

    jitted = hovis_xla.jit(fn)
    assert outcome(jitted, (A,))[1] == outcome(fn, (A,))[1]
    agree(fn, jitted, A)


def test_stored_and_loaded():
    def fn(a):
        return np.linalg.pinv(a) + 1

    loaded = hovis_xla.load(hovis_xla.jit(fn).lower(A).compile().serialize())
    assert np.array_equal(loaded(A), fn(A))


def test_a_primitive_of_the_users_own():
    calls = []

    def twice(x):
        calls.append((type(x), x.flags.writeable))
        return 2 * x

    def fn(x):
        return twice(x) + 1.5

    library = hovis.primitive(twice, lambda x: x) | STANDARD
    compiled = hovis_xla.compile(hovis.options(library=library).trace(fn, hovis.Array("float64", (3, 3))))
    calls.clear()
    assert np.array_equal(compiled(A), 2 * A + 1.5)
    assert calls == [(np.ndarray, False)]


def test_real_or_complex_as_it_happens():
    def fn(a):
        return np.linalg.eig(a * 2.0)

    for a in (A, np.array([[0.0, 1.0], [-1.0, 0.0]])):
        agree(fn, hovis_xla.jit(fn), a)


def test_large_operands_are_asked_for_with_small_ones():
    nums = [Num("array", np.dtype(float), (30000, 2000))]
    leaf = (("leaf", 0),)
    assert [n.shape for n in result_of(np.linalg.qr, leaf, (), nums)[1]] == [(30000, 2000), (2000, 2000)]
    assert result_of(np.linalg.svdvals, leaf, (), nums)[1][0].shape == (2000,)
    assert result_of(np.unique, leaf, (), nums) is None
    assert result_of(np.transpose, leaf, (), nums) is None
